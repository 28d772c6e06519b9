"""Sliding windows as a separate axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.formulas.expr import (
    Arg,
    Cast,
    Const,
    Expr,
    Group,
    Infix,
    Method,
    Position,
    arranged,
    call,
    groups,
    method,
    several,
)
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import SIGNATURE, SignatureField, spelled
from ncd.lang.terms.op import Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array, Axis, Dim, Signature
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import at_end
from ncd.ops.windows.window_shapes import Sides, Sliding, side, sides, spread


@dataclass(frozen=True, repr=False, eq=False)
class Window(Sliding):
    """Turns the windows of an axis into a separate axis (``Tensor.unfold``).

    Window y holds the positions s y + d w - p of x, and 0 beyond the ends. A convolution is a
    ``Window`` and a ``Linear``, max pooling a ``Window`` and a ``Reduce``.

    Args:
        pattern: The axis, and the axes of windows and of positions in them, ``"x -> y w"``.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window, or one for each dimension; so are the next two.
        padding: The number of zeros at each end.
        dilation: The distance between positions of the window.

    Raises:
        SizeError: For a window longer than the padded axis.

    Source: Notebook, figure 26: a convolution with stride has a window axis.

    >>> from ncd.lang.types.axes import Type
    >>> Window("x -> y w", 3, stride=2, padding=1).lift(Type.parse("c:2 x:8x8")).spec
    'c:2 y:4x4 w:3x3'
    """

    pattern: SignatureField = spelled(SIGNATURE)
    kernel: Sides = spelled(sides(1), 2)
    stride: Sides = spelled(sides(1), 1)
    padding: Sides = spelled(sides(), 0)
    dilation: Sides = spelled(sides(1), 1)
    role: ClassVar[str] = "window"
    form: ClassVar[str] = "x -> y w"
    any_kind: ClassVar[bool] = True

    @property
    def places(self) -> tuple[Axis, Axis]:
        return self.dom[0][0], self.signature.cod[0][0]

    def solve(self, binding: Binding) -> None:
        super().solve(binding)
        place = next((a for p in self.places if (a := binding[p.name]).size is not None), None)
        if place is not None:
            window = spread(self.kernel, len(place.shape))
            size = window if place.spatial else window[0]
            binding.learn(self.signature.cod[0][1].name, size)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        n = self.flat(site)

        def slid(x: Expr, rest: Array) -> Expr:
            if self.padding:
                pads = reversed(spread(self.padding, n))  # torch begins with the last dimension
                x = call("F.pad", x, several(tuple(pad for pad in pads for _ in range(2))))
            for i in range(n):  # each dimension in turn is the first of the positions
                x = method(x, "unfold", -n, self.span(i), side(self.stride, i))
            return self._thinned(x, site) if self.dilation != 1 else x

        return at_end(site, slid)

    def _thinned(self, x: Expr, site: Site) -> Expr:
        """Selects every ``dilation``-th position of each window."""
        dims = site.cod[0][1].dims
        for i, dim in enumerate(dims):
            index = Infix("*", Position(dim, (dim,)), Const(side(self.dilation, i)))
            x = Method(x, "index_select", (Const(i - len(dims)), index))
        return x

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site)

    def formula(self, site: Site) -> str:
        x, y, w = self.dom[0].names[0], *self.signature.cod[0].names
        names = [name.replace("_", "").replace("/", "") for name in (x, y, w)]
        d = "" if self.dilation == 1 else _factor(self.dilation, r"\delta")
        s = "" if self.stride == 1 else _factor(self.stride, "s")
        p = "" if self.padding == 0 else f" - {_factor(self.padding, 'p').strip()}"
        return rf"z_{{{names[1]},\,{names[2]}}} = a_{{{s}{names[1]} + {d}{names[2]}{p}}}"

    def words(self, site: Site) -> str:
        return f"sliding windows, {self.setting}: {site.dom} to {site.cod}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        fold = Fold(
            Signature(site.cod, site.dom), self.kernel, self.stride, self.padding, self.dilation
        )
        return steps.call(fold, grads[0])

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("x -> y w", 3), "x:5", "a.unfold(0, 3, 1)"),
            Sample(
                cls("x -> y w", 2, 2, 1),
                "x:4x6",
                "F.unfold(F.pad(a, (1,) * 4)[None], 2, stride=2)"
                ".view(2, 2, 3, 4).permute(2, 3, 0, 1)",
            ),
            Sample(
                cls("x -> y w", 2, 1, 1, 3),
                "x:6",
                "torch.stack((F.pad(a, (1, 1))[:5], F.pad(a, (1, 1))[3:]), 1)",
            ),
            Sample(
                cls("x -> y w", (2, 1), (1, 2), (0, 1), (2, 1)),
                "x:4x3",
                "F.pad(a, (1, 1)).unfold(0, 3, 1).unfold(1, 1, 2)[..., ::2, :]",
            ),
        )


@dataclass(frozen=True, repr=False, eq=False)
class Fold(Sliding):
    """Adds windows up where they overlap: the adjoint of :class:`Window` (``torch.nn.Fold``).

    A transposed convolution is a product with weights and a ``Fold``, and so is the gradient of a
    convolution.

    Args:
        pattern: The axes of windows and of positions in them, and the axis, ``"y w -> x"``. Its
            size is the smallest with these windows, unless it is given.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window, or one for each dimension; so are the next two.
        padding: The number of positions that are left out at each end.
        dilation: The distance between positions of the window.

    Raises:
        SizeError: For an axis that has other windows.

    Source: ``torch.nn.Fold``; Notebook, figure 27, whose way up is made of it.

    >>> from ncd.lang.types.axes import Type
    >>> Fold("y w -> x", 3, stride=2).lift(Type.parse("c:2 y:4x4 w:3x3")).spec
    'c:2 x:9x9'
    """

    pattern: SignatureField = spelled(SIGNATURE)
    kernel: Sides = spelled(sides(1), 2)
    stride: Sides = spelled(sides(1), 1)
    padding: Sides = spelled(sides(), 0)
    dilation: Sides = spelled(sides(1), 1)
    role: ClassVar[str] = "window"
    form: ClassVar[str] = "y w -> x"

    @property
    def places(self) -> tuple[Axis, Axis]:
        return self.signature.cod[0][0], self.dom[0][0]

    def flat(self, site: Site) -> int:
        return len(site.cod[0][0].shape)

    def source(self, size: int, i: int) -> int:
        """Returns the smallest size with so many windows."""
        return (size - 1) * side(self.stride, i) + self.span(i) - 2 * side(self.padding, i)

    def torch(self, site: Site) -> tuple[Expr, ...]:
        """Returns a transposed convolution whose weights are an identity matrix."""
        (array,), (out,), (own,), (new,) = site.ins, site.outs, site.dom, site.cod
        n, rest = self.flat(site), site.rest.dims
        x = arranged(Arg(0), groups(array), (rest, own[1].dims, *groups(Array(own[:1]))))
        more = tuple(
            size - self.source(count, i)
            for i, (size, count) in enumerate(zip(new[0].shape, own[0].shape, strict=True))
        )
        named = {
            "stride": self.stride,
            "padding": self.padding,
            "output_padding": more,
            "dilation": self.dilation,
        }
        usual = {"stride": 1, "padding": 0, "output_padding": (0,) * n, "dilation": 1}
        named = {name: value for name, value in named.items() if value != usual[name]}
        x = call(f"F.conv_transpose{n}d", x, _identity(own[1]), **named)
        return (arranged(x, (rest, (), *groups(new)), groups(out)),)

    def flops(self, site: Site) -> int:
        """Returns those of the transposed convolution, whose weights torch multiplies too."""
        places, window = site.dom[0]
        return 2 * site.rest.numel * places.numel * window.numel**2

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site, turned="T")

    def formula(self, site: Site) -> str:
        return r"z_{s y + \delta w - p} \mathrel{+}= a_{y,\,w} \quad\text{for all } y, w"

    def words(self, site: Site) -> str:
        return f"adds windows up, {self.setting}: {site.dom} to {site.cod}"

    def pullback(
        self, site: Site, steps: StepWriter, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[Slot | None, ...]:
        window = Window(
            Signature(site.cod, site.dom), self.kernel, self.stride, self.padding, self.dilation
        )
        return steps.call(window, grads[0])

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        apart = "F.pad(a[:, 0], (0, 2)) + F.pad(a[:, 1], (1, 1)) + F.pad(a[:, 2], (2, 0))"
        flat = "a.permute(2, 3, 0, 1).reshape({}, -1)"
        return (
            Sample(cls("y w -> x", 3), "y:4 w:3", apart),
            Sample(
                cls("y w -> x", 2, 2, 1),
                "y:3x4 w:2x2",
                f"F.fold({flat.format(4)}, (4, 6), 2, stride=2, padding=1)[0]",
            ),
            Sample(
                cls("y w -> x:6x5", 2, (2, 1), 0, (1, 2)),
                "y:3x3 w:2x2",
                f"F.fold({flat.format(4)}, (6, 5), 2, (1, 2), 0, (2, 1))[0]",
            ),
        )


def _identity(window: Axis) -> Expr:
    """Returns weights that put every position of a window where it belongs."""
    own = window.dims
    kernel = tuple(Dim("kernel", i, dim.size) for i, dim in enumerate(own))
    both = (*own, *kernel)
    same: Expr | None = None
    for a, b in zip(own, kernel, strict=True):
        one = Infix("==", Position(a, both), Position(b, both))
        same = one if same is None else Infix("&", same, one)
    assert same is not None
    singles: tuple[Group, ...] = tuple((dim,) for dim in both)
    return arranged(Cast(same, "real"), singles, (own, (), *singles[len(own) :]))


def _factor(value: Sides, letter: str) -> str:
    """Returns a number in a formula, or a letter where each dimension has its own."""
    return f"{value if isinstance(value, int) else letter} "
