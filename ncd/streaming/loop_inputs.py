"""Checks of the tensors and the module that a fused loop is given."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn

from ncd.lang.errors import MismatchError, ParseError, shown
from ncd.run.execution.input_checks import check_shapes, whole
from ncd.streaming.plan import Stream


def checked_inputs(
    plan: Stream, inputs: Sequence[Tensor], module: nn.Module | None
) -> list[Tensor]:
    """Returns the inputs; raises MismatchError if they, or the weights, are not the loop's."""
    if not isinstance(plan, Stream):
        fact = f"{shown(plan)} is not a fused loop"
        raise ParseError(fact, where="run_stream", cure="ncd.stream(term)")
    schedule = plan.schedule
    wanted = tuple(v.array for v in schedule.inputs)
    if not isinstance(inputs, Sequence) or len(inputs) != len(wanted):
        arrays = ", ".join(f"({array})" for array in wanted)
        many = isinstance(inputs, Sequence)
        count = f"{len(inputs)} array{'s' * (len(inputs) != 1)}" if many else shown(inputs)
        fact = f"the loop reads {arrays or 'no arrays'}, not {count}"
        raise MismatchError(fact, cure=arrays or "[]")
    for array, x in zip(wanted, inputs, strict=True):
        shape = tuple(getattr(x, "shape", ()))
        if not isinstance(x, Tensor) or shape != array.shape:
            fact = f"the array ({array}) has shape {array.shape}, but is given {_shown(x)}"
            raise MismatchError(fact, where="run_stream", cure=f"a tensor of shape {array.shape}")
    check_shapes(wanted, tuple(inputs))
    weights = [weight.id for op in schedule.ops for weight in op.weights]
    known = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    missing = [id for id in weights if id not in known]
    if missing:
        fact = f"the loop reads the weights {', '.join(missing)}, which the module lacks"
        fact = fact if known else f"the loop reads the weights {', '.join(missing)} of a module"
        raise MismatchError(fact, where="run_stream", cure="module=ncd.compile(term)")
    return [
        x if array.below is None else whole(array, x)
        for array, x in zip(wanted, inputs, strict=True)
    ]


def _shown(x: object) -> str:
    return f"one of shape {tuple(x.shape)}" if isinstance(x, Tensor) else shown(x)
