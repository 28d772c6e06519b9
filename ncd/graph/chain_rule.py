"""The backward pass op by op: the gradient of every array, by the chain rule."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from ncd.graph.module_copy import isolated_copy
from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.errors import MismatchError
from ncd.run.base.seeding import generator
from ncd.run.execution.input_checks import check_shapes
from ncd.run.execution.module import CircuitModule


def cotangents(outputs: Sequence[Tensor], seed: int) -> list[Tensor]:
    """Returns the gradients that a backward pass starts from: 1 for a number, else random."""
    random = generator(seed, "cotangent")
    drawn = [torch.randn(y.shape, generator=random).to(y) for y in outputs]
    return [g if y.ndim else torch.ones_like(y) for y, g in zip(outputs, drawn, strict=True)]


class Gradients(NamedTuple):
    """Gradients by array id and by parameter name."""

    arrays: Mapping[str, Tensor]
    parameters: Mapping[str, Tensor]


def scanless(circuit: Circuit) -> bool:
    """Returns whether every array is made once, so that it has one gradient."""
    return all(loop.kind != "scan" for loop in circuit.loops)


def backward(
    module: CircuitModule, *inputs: Tensor, seed: int = 0, frozen: Collection[str] = ()
) -> Gradients:
    """Returns the gradient of every array and parameter, computed op by op.

    It starts like :func:`ncd.autograd`. ``frozen`` names parameters, and input arrays by id, that
    need no gradient. Arrays that no gradient reaches are left out. The module and the inputs are
    not changed.

    >>> import ncd
    >>> term = ncd.catalogue["autograd"].build()
    >>> found = backward(ncd.compile(term), *ncd.example_inputs(term))
    >>> [*found.parameters], [tuple(found.arrays[v].shape) for v in ("v0", "v1")]
    (['w'], [(4, 3), (4, 2)])

    Raises MismatchError for inputs that do not fit, and for a circuit with a scan, whose arrays are
    made anew at every position.
    """
    if not scanless(module.circuit):
        raise MismatchError("the arrays of a scan are made anew at every position", cure="autograd")
    tape = _Tape(isolated_copy(module, frozen))
    given = input_leaves(module.circuit, inputs, frozen)
    with torch.enable_grad():
        outputs = tape.module.execute(given, watch=tape.watch)
    return tape.back(outputs, seed)


def input_leaves(
    circuit: Circuit, inputs: Sequence[Tensor], frozen: Collection[str]
) -> tuple[Tensor, ...]:
    """Returns copies of the inputs, which need a gradient unless they are frozen.

    Raises MismatchError for inputs that do not fit.
    """
    check_shapes(circuit.term.dom, tuple(inputs))
    pairs = zip(inputs, circuit.inputs, strict=True)
    return tuple(_detached(x.clone(), value.id not in frozen) for x, value in pairs)


def _detached(x: Tensor, wanted: bool) -> Tensor:
    """Returns a tensor on the same numbers, without a past, that may need a gradient."""
    real = x.is_floating_point() or x.is_complex()
    return x.detach().requires_grad_(wanted and real)


class _Tape:
    """Records the inputs and outputs of each op; outputs are detached before the next op."""

    def __init__(self, module: CircuitModule) -> None:
        self.module = module
        self.steps: list[tuple[Cell, tuple[Tensor, ...], tuple[Tensor, ...]]] = []

    def watch(
        self, cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        self.steps.append((cell, given, made))
        return tuple(_detached(x, x.requires_grad) for x in made)

    def back(self, outputs: tuple[Tensor, ...], seed: int) -> Gradients:
        ends = zip(self.module.circuit.outputs, outputs, cotangents(outputs, seed), strict=True)
        arrays = {value.id: start for value, y, start in ends if y.requires_grad}
        parameters: dict[str, Tensor] = {}
        while self.steps:
            cell, given, made = self.steps.pop()
            own = dict(_own(self.module, cell))
            came = [arrays.get(value.id) for value in cell.outputs]
            came_to = [(y, g) for y, g in zip(made, came, strict=True) if g is not None]
            wanted = {v.id: x for v, x in zip(cell.inputs, given, strict=True) if x.requires_grad}
            leaves = [*wanted.values(), *own.values()]
            if not came_to or not leaves:
                continue
            ys, gs = zip(*came_to, strict=True)
            found = torch.autograd.grad(ys, leaves, gs, allow_unused=True)
            _add(arrays, wanted, found[: len(wanted)])  # an array may be used at several places
            _add(parameters, own, found[len(wanted) :])  # a weight may be used at several places
        return Gradients(arrays, parameters)


def _add(sums: dict[str, Tensor], names: Iterable[str], grads: Sequence[Tensor | None]) -> None:
    for name, grad in zip(names, grads, strict=True):
        if grad is not None:
            sums[name] = sums[name] + grad if name in sums else grad


def _own(module: CircuitModule, cell: Cell) -> Iterator[tuple[str, Tensor]]:
    """Yields the parameters of an op that need a gradient, with their names."""
    if not cell.name:
        return
    home = module.get_submodule(".".join(cell.scope))
    part = home._modules.get(cell.name)
    if part is None:
        found = home._parameters.get(cell.name)
        named = {} if found is None else {cell.path: found}
    else:
        named = dict(part.named_parameters(prefix=cell.path))
    for name, parameter in named.items():
        if parameter.requires_grad:
            yield name, parameter
