"""Runs both sides of a rewrite in 64 bits on the same inputs and weights, and compares them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from ncd.errors import MismatchError
from ncd.language.terms import Term
from ncd.rewrite.rewriting import Rewrite, rewrite_change
from ncd.rewrite.rules.rule import Change
from ncd.run.guard import compile
from ncd.run.limits import Limits
from ncd.run.module import CircuitModule
from ncd.run.seeding import example_inputs


class Difference(NamedTuple):
    """The largest difference of two sides, as parts of the largest number.

    Args:
        outputs: Of the outputs.
        gradients: Of the gradients of the inputs.
    """

    outputs: float
    gradients: float


def carried_weights(
    change: Change, old: Mapping[str, Tensor], new: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Returns the parameters of a rewritten term: those of the old one, as far as they fit.

    Args:
        change: The rewrite.
        old: The parameters of the old term, trained perhaps.
        new: Those of the new term, at their first values.
    """
    made = change.weights(old)
    found = {}
    for name, x in new.items():
        for source in (made, old):
            if name in source and source[name].shape == x.shape:
                found[name] = source[name]
                break
        else:
            found[name] = x
    return found


def compare_sides(
    term: Term, rewrite: Rewrite, seed: int = 0, *, limits: Limits | None = None
) -> Difference:
    """Returns how much the outputs and the gradients differ on both sides of a rewrite.

    Raises:
        MismatchError: If the two sides take or give other arrays.
        NCDError: For a rewrite that does not apply.
        LimitError: If a run would exceed the limits.

    >>> from ncd.ops import Softmax
    >>> compare_sides(Softmax("x:4"), Rewrite("write", "n0", (("as", "steps"),))).outputs < 1e-12
    True
    """
    change = rewrite_change(term, rewrite)
    modules = [compile(one, seed, limits=limits).double().eval() for one in (term, change.term)]
    old, new = modules[0].state_dict(), modules[1].state_dict()
    modules[1].load_state_dict(carried_weights(change, old, new))
    given = example_inputs(term, seed, limits=limits)
    results = [_run(module, given, seed) for module in modules]
    if [x.shape for x in results[0][0]] != [x.shape for x in results[1][0]]:
        raise MismatchError("the two sides give other arrays", where=rewrite.title)
    return Difference(*(_relative(*pair) for pair in zip(*results, strict=True)))


Arrays = tuple[Tensor, ...]


def _run(module: CircuitModule, given: Arrays, seed: int) -> tuple[Arrays, Arrays]:
    """Returns the outputs of a module, and the gradients of a sum of them by its inputs."""
    inputs = tuple(x.double().requires_grad_() if x.is_floating_point() else x for x in given)
    outputs: Arrays = module.execute(inputs)
    draw = torch.Generator().manual_seed(seed)
    total = sum(
        (torch.rand(x.shape, generator=draw, dtype=x.dtype) * x.masked_fill(~x.isfinite(), 0)).sum()
        for x in outputs
        if x.requires_grad
    )
    real = [x for x in inputs if x.requires_grad]
    if not isinstance(total, Tensor) or not real:
        return outputs, ()
    grads = torch.autograd.grad(total, real, allow_unused=True)
    return outputs, tuple(
        torch.zeros_like(x) if g is None else g for x, g in zip(real, grads, strict=True)
    )


def _relative(one: Arrays, two: Arrays) -> float:
    """Returns the largest difference, of arrays beyond 1 as a part of their largest number.

    Infinities may be equal, and so may what is no number.
    """
    worst = 0.0
    for a, b in zip(one, two, strict=True):
        same = (a == b) | (a.isnan() & b.isnan())
        off = torch.where(same, 0.0, (a.detach().double() - b.detach().double()).abs())
        finite = a.detach().double()[a.isfinite()].abs()
        largest = float(finite.max().clamp(min=1.0)) if finite.numel() else 1.0
        if off.numel():
            worst = max(worst, float(off.max().nan_to_num(1e30, 1e30)) / largest)
    return worst
