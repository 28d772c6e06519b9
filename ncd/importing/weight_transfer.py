"""Copies weights between a torch module and the module of its term."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn

from ncd.importing.base.import_values import Constant
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.terms.op import Initial
from ncd.run.base.seeding import begin
from ncd.run.execution.module import CircuitModule

COUNTED = "num_batches_tracked"


def _places(module: CircuitModule) -> Iterator[tuple[nn.Module, str, Initial]]:
    """Yields the part, the name and the first value of all tensors, in the order of the steps."""
    seen: set[str] = set()
    for cell in module.circuit.cells:
        if cell.path in seen or not (cell.layer is not None or cell.initial):
            continue
        seen.add(cell.path)
        home = module.get_submodule(".".join(cell.scope)) if cell.scope else module
        if cell.layer is None:
            yield home, cell.name, next(iter(cell.initial.values()))
            continue
        layer = getattr(home, cell.name)
        yield from ((layer, name, initial) for name, initial in cell.initial.items())


def _is_given(name: str, initial: Initial) -> bool:
    """Returns whether a tensor is a constant, or only counts batches: no weight of the module."""
    return bool(initial.numbers) or name == COUNTED


def _tensors(module: CircuitModule) -> Iterator[Tensor]:
    """Yields the tensors of all ops in the order of the steps, without those of constants."""
    places = _places(module)
    return (getattr(home, name) for home, name, first in places if not _is_given(name, first))


def borrowing(circuit: Circuit, weights: Sequence[Constant]) -> CircuitModule:
    """Returns a compiled circuit that uses the tensors of a torch module, and copies none."""
    module = CircuitModule(circuit, None)
    given = iter(weights)
    for home, name, initial in _places(module):
        empty = getattr(home, name)
        if _is_given(name, initial):
            tensor = torch.empty(empty.shape, dtype=empty.dtype)
            begin(tensor, initial, 0, name)
        else:
            tensor = next(given).tensor.to("cpu", empty.dtype).reshape(empty.shape)
        if isinstance(empty, nn.Parameter):
            tensor = nn.Parameter(tensor, requires_grad=False)
        setattr(home, name, tensor)
    return module


def filled(module: CircuitModule, weights: Sequence[Constant]) -> None:
    """Copies the weights of a torch module into the module of its term."""
    with torch.no_grad():
        for mine, given in zip(_tensors(module), weights, strict=True):
            mine.copy_(given.tensor.reshape(mine.shape))


def state_dict(
    module: CircuitModule, weights: Sequence[Constant], source: nn.Module
) -> dict[str, Tensor]:
    """Returns the tensors of a module under the names of the torch module that it comes from."""
    found = {name: x.detach().clone() for name, x in source.state_dict().items()}
    for mine, given in zip(_tensors(module), weights, strict=True):
        shape = given.tensor.shape
        tensor = mine.detach().reshape(shape)
        if given.order:
            back = [given.order.index(i) for i in range(len(given.order))]
            tensor = tensor.permute(back)
        for name in _names(given.name, source):
            if given.rows is None:
                found[name] = tensor.reshape(found[name].shape).clone()
            else:
                rows = found[name][given.rows[0] : given.rows[1]]
                rows[:] = tensor.reshape(rows.shape)
    return found


def _names(name: str, source: nn.Module) -> list[str]:
    """Returns all names of a tensor, of which tied weights have several."""
    state = source.state_dict()
    return [key for key, x in state.items() if x.data_ptr() == state[name].data_ptr()]
