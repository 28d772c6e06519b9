"""Max pooling and average pooling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.errors import SizeError
from ncd.language.axes import Array, Signature, Type
from ncd.language.fields import SIGNATURE, SignatureField, term_field
from ncd.language.op import ArrayHandle, Glyph, Sample, Site, Slots, TermBuilder
from ncd.language.terms import Term
from ncd.language.torch_code import TorchExpr, call, number_or_tuple
from ncd.ops.reductions import Cumulative, Reduce
from ncd.ops.reshape import Group, Split
from ncd.ops.sliding_window import (
    Sides,
    SlidingWindowOp,
    Window,
    format_sides,
    per_dimension,
    sides,
)
from ncd.ops.weights import unused_axis

# --- Average pooling, which is a ``Window`` and a ``Reduce``


def mean_of_windows(pattern: Signature, kernel: Sides, stride: Sides, padding: Sides = 0) -> Term:
    """Returns the mean in each window; the zeros of a padding count too.

    The positions of the pattern have sizes.

    Source: ``torch.nn.AvgPool2d``.
    """
    (old,), (new,) = pattern.dom, pattern.cod
    sizes = per_dimension(kernel, len(new.dims))
    window = unused_axis((*old.names, *new.names), "w", sizes if len(sizes) > 1 else sizes[0])
    slid = Signature(Type((old,)), Type((Array((*new, *window)),)))
    mean = Reduce(Signature(Type((window,)), Type((Array(),))), "mean")
    return Window(slid, kernel, stride, padding) >> mean


# --- Max pooling


@dataclass(frozen=True, repr=False, eq=False)
class MaxPool(SlidingWindowOp):
    """Returns the largest number in each window; the window axis ends in Max➤.

    Args:
        pattern: The positions before and after, such as ``"x -> y"``.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window, or one for each dimension.
        padding: The number of positions that are added at each end.

    Raises:
        SizeError: For a padding of more than half a window, or a window longer than the axis.

    Source: Notebook, figure 27; ``torch.nn.MaxPool2d``.

    >>> MaxPool("x -> y").infer_outputs(Type.parse("c:3 x:8x8")).spec
    'c:3 y:4x4'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    kernel: Sides = term_field(sides(1), 2)
    stride: Sides = term_field(sides(1), 2)
    padding: Sides = term_field(sides(), 0)
    pattern_form: ClassVar[str] = "x -> y"

    def check_pattern(self) -> None:
        super().check_pattern()
        n = max(len(v) if isinstance(v, tuple) else 1 for v in (self.kernel, self.padding))
        half = tuple(length // 2 for length in per_dimension(self.kernel, n))
        if any(pad > most for pad, most in zip(per_dimension(self.padding, n), half, strict=True)):
            raise SizeError(
                f"the padding is {format_sides(self.padding)}, more than half of a window of "
                f"{format_sides(self.kernel)}",
                where="MaxPool",
                cure=f"padding = {half[0] if len(set(half)) == 1 else half}",
                axis="padding",
                nearest=min(half),
            )

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        n = self.spatial_rank(site)
        named = {"padding": self.padding} if self.padding else {}

        def pooled(x: TorchExpr) -> TorchExpr:
            return call(
                f"F.max_pool{n}d",
                x,
                number_or_tuple(self.kernel),
                number_or_tuple(self.stride),
                **named,
            )

        return self.call_on_windows(site, pooled, leads=2)

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site, "Max")

    def latex(self, site: Site) -> str:
        return rf"z_x = \max_{{j}} a_{{s x + j{' - p' if self.padding else ''}}}"

    def description(self, site: Site) -> str:
        return f"max pooling, {self.setting}: {site.own_inputs} to {site.own_outputs}"

    def expansion(self, site: Site) -> Term | None:
        """Returns a ``Window`` and a ``Reduce``; None with padding."""
        if self.padding:
            return None
        (old,), (new,) = site.own_inputs, site.own_outputs
        window = self.window(site, tuple(site.axes_by_name))
        slid = Signature(Type((old,)), Type((Array((*new, *window)),)))
        return Window(slid, self.kernel, self.stride) >> Reduce(f"{window.spec} ->", "max")

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        """Returns the largest number of each window, of those that are not padding.

        Of equal ones it is the first, as in torch, so that it gets the whole gradient.
        """
        (old,), (new,), (x,) = site.own_inputs, site.own_outputs, ins
        window = self.window(site, tuple(site.axes_by_name))
        slid = Signature(Type((old,)), Type((Array((*new, *window)),)))
        slide = Window(slid, self.kernel, self.stride, self.padding)
        (x,) = steps.call(slide, x)
        if self.padding:
            (inside,) = steps.call(slide, steps.map("1", (), old))
            x = steps.map("where($2 > 0, $1, -1e999)", (x, inside), x.axes)
        summed = Signature(Type((window,)), Type((Array(),)))
        (most,) = steps.call(Reduce(summed, "max"), x)
        largest = steps.map("$1 == $2", (x, most), x.axes)
        so_far = _cumulative_sums(steps, largest, window)
        x = steps.map("where($2 > 0 and $3 == 1, $1, 0)", (x, largest, so_far), x.axes)
        return (steps.product(steps.call(Reduce(summed), x), site.outputs[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x -> u"), "x:4x6", "F.max_pool2d(a[None], 2)[0]"),
            Sample(cls("x -> u", 3, 2), "x:9", "F.max_pool1d(a[None], 3, 2)[0]"),
            Sample(cls("x -> u", 3, 2, 1), "x:7", "F.max_pool1d(a[None], 3, 2, 1)[0]"),
            Sample(
                cls("x -> u", (3, 2), (2, 1), (1, 0)),
                "x:5x4",
                "F.max_pool2d(a[None], (3, 2), (2, 1), (1, 0))[0]",
            ),
            Sample(cls("x -> u"), "x:4x2x2", "F.max_pool3d(a[None], 2)[0]"),
        )


def _cumulative_sums(steps: TermBuilder, x: ArrayHandle, window: Array) -> ArrayHandle:
    """Adds the sums so far along a window, row by row."""
    (axis,) = window
    if not axis.spatial:
        return steps.call(Cumulative(window), x)[0]
    (flat,) = unused_axis(x.axes.names, "places", axis.numel)
    one, two = Type((window,)), Type((Array((flat,)),))
    (x,) = steps.call(Group(Signature(one, two)), x)
    (x,) = steps.call(Cumulative(two[0]), x)
    return steps.call(Split(Signature(two, one)), x)[0]
