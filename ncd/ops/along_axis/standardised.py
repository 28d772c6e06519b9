"""The steps that the norms share when they are written out in simpler ops."""

from __future__ import annotations

from collections.abc import Collection

from ncd.lang.terms.step_writer import Slot, StepWriter
from ncd.lang.terms.streaming import Part, Running, Streamed
from ncd.lang.types.axes import Array


def standardised(
    steps: StepWriter, x: Slot, over: Collection[str], eps: float, centred: bool = True
) -> Slot:
    """Divides by the root of the mean square over some axes; first subtracts the mean.

    The gradient is divided by the same root, and loses its mean and its share along the result.

    Source: ``torch.nn.LayerNorm``, whose variance is the biased one; Ioffe and Szegedy 2015, "Batch
    Normalization", section 3, for the gradient.
    """
    array, since, first = x.axes, steps.count, x
    if centred:
        x = steps.map("$1 - $2", (x, _mean(steps, x, over)), array)
    square = _mean(steps, steps.map("$1 ** 2", (x,), array), over)
    root = f"$1 / sqrt($2 + {eps!r})"
    made = steps.map(root, (x, square), array)

    def rule(back: StepWriter, gradient: Slot) -> Slot:
        count = array.numel // square.axes.numel
        scaled = back.map(root, (gradient, square), array)
        slots = [scaled, made, back.product((made, scaled), square.axes)]
        formula = f"$1 - $2 * $3 / {count}"
        if centred:
            slots.append(back.product((scaled,), square.axes))
            formula += f" - $4 / {count}"
        return back.map(formula, slots, array)

    steps.ruled(since, first, made, rule)
    return made


def _mean(steps: StepWriter, x: Slot, over: Collection[str]) -> Slot:
    rest = Array(axis for axis in x.axes if axis.name not in over)
    count = x.axes.numel // rest.numel
    return steps.map(f"$1 / {count}", (steps.product((x,), rest),), rest)


def affine(steps: StepWriter, x: Slot, weights: Array, bias: bool, *groups: Array) -> Slot:
    """Multiplies by learned weights and adds a learned bias, on some of the axes."""
    kept = Array() if groups else weights
    x = steps.map("$1 * $2", (x, steps.param("weight", *groups, kept=kept)), x.axes)
    if not bias:
        return x
    return steps.map("$1 + $2", (x, steps.param("bias", *groups, kept=kept)), x.axes)


def streamed_moments(eps: float, centred: bool, affine: bool, bias: bool) -> Streamed:
    """Returns the rule of a norm whose own axes come in tiles: it keeps the first two moments.

    What it normalises by is known after the last tile, so its result is a sum of parts: the numbers
    times their weight, the weight alone for the mean, and the bias.
    """
    square = Running("q", "sum", "$1 ** 2")
    scaled = "$1 * weight" if affine else "$1"
    if not centred:
        return Streamed(states=(square,), parts=(Part(scaled, f"1 / sqrt(q / n + {eps!r})"),))
    root = f"sqrt(q / n - (t / n) ** 2 + {eps!r})"
    parts = [Part(scaled, f"1 / {root}"), Part("weight" if affine else "1", f"-t / n / {root}")]
    if affine and bias:
        parts.append(Part("bias", "1"))
    return Streamed(states=(Running("t", "sum", "$1"), square), parts=tuple(parts))
