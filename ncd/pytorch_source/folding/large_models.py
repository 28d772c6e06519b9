"""A module as a term; of a large one the upper levels, with the modules below them as boxes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._pytree import tree_map_only

from ncd.importing import from_torch
from ncd.importing.comparison import PARTLY_USED
from ncd.importing.imported import Imported
from ncd.importing.torch_export import quiet
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Interpreted, own_names
from ncd.pytorch_source.folding.folding import Folding

PARTS = 40  # modules of a model that may be large
MOST = 700  # calls of torch that are drawn in a few seconds


def drawn(
    machine: Machine,
    model: nn.Module,
    inputs: tuple[Any, ...],
    named: dict[str, Any],
    axes: dict[str, str],
) -> Imported:
    """Returns a module as a term, whose modules are folded as far as it is too large otherwise.

    Args:
        machine: The interpretation, which notes what is folded.
        model: The module.
        inputs: What it is called on.
        named: Those by name.
        axes: The axes of inputs, by their names.
    """
    machine.folded.clear()
    folding = _folding(machine, model, inputs, named)
    with folding.applied() if folding else nullcontext():
        found = from_torch(model, *inputs, axes=axes, **named)
    if not folding:
        return found
    machine.folded.update(folding.boxes)
    return replace(found, notes=tuple(x for x in found.notes if not x.startswith(PARTLY_USED)))


def run(machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Runs a module on arrays without numbers; of a large one the calls inside it are recorded."""
    machine.recorded = None
    with _unchanged(model):
        if not is_large(model):
            return model(*inputs, **named)
        folding = Folding(model)
        found = folding.record(inputs, named)
        machine.recorded = _call_of(model, inputs, named), folding
    return found


def is_large(model: nn.Module) -> bool:
    """Returns whether a run of a model is recorded, so that its modules can be folded.

    An input of such a model is tried at once: to draw up to a failure takes seconds, and a run that
    is recorded does not have to be repeated.
    """
    return sum(1 for _ in model.modules()) >= PARTS


@contextmanager
def _unchanged(model: nn.Module) -> Iterator[None]:
    """Takes back what a run sets on the modules of a source, such as a mask that is made once.

    The arrays of this run have no numbers.
    """
    parts = [part for part in model.modules() if isinstance(part, Interpreted)]
    before = [[{**values} for values in _state(part)] for part in parts]
    try:
        yield
    finally:
        for part, kept in zip(parts, before, strict=True):
            for values, old in zip(_state(part), kept, strict=True):
                for name in [*values]:
                    if name not in old:
                        del values[name]
                values.update(old)


def _state(part: nn.Module) -> tuple[dict[str, Any], ...]:
    """Returns where the attributes of a module of the source are stored."""
    return part.__dict__, own_names(part), part._buffers


def _call_of(model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Returns what tells a run of a model from others: its mode and the shapes of its inputs."""
    modes = tuple(part.training for part in model.modules())
    return id(model), modes, str(tree_map_only(Tensor, _kind, (inputs, named)))


def _kind(x: Tensor) -> tuple[Any, ...]:
    return *x.shape, x.dtype


def _folding(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Folding | None:
    """Returns which modules of a model are folded; None for a small one, or one that stops."""
    known = machine.recorded
    if known is None or known[0] != _call_of(model, inputs, named):
        try:
            with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
                run(machine, model, *tree_map_only(Tensor, mode.from_tensor, (inputs, named)))
        except Exception:  # what stops is drawn up to the call that does
            machine.failure = None
            return None
    folding: Folding | None = machine.recorded[1] if machine.recorded else None
    return folding if folding is not None and folding.choose(MOST) else None


def folded_modules(machine: Machine) -> str:
    """Returns a sentence about the modules that are folded; empty if none is."""
    if not machine.folded:
        return ""
    own = {each.name for each in machine.classes.values()}
    order = sorted(machine.folded, key=lambda name: name not in own)  # those of the source first
    counts = {name: machine.folded[name] for name in order}
    names = [f"{name} ({n:,} times)" if n > 1 else name for name, n in counts.items()]
    more = f" and {len(names) - 5} more" * (len(names) > 5)
    fact = (
        "It is large, so that its inner modules are folded to boxes, with torch's shapes and "
        f"without values: {', '.join(names[:5])}{more}."
    )
    return f"{fact} A last line `{order[0]}` opens that class." if order[0] in own else fact
