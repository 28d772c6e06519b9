"""Windows as an axis of their own, their sums, and the sizes of all ops with windows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

from ncd.errors import MismatchError, SizeError
from ncd.language.axes import Array, Axis, Dim, Signature, Type
from ncd.language.broadcasting import LEADING_ANY
from ncd.language.fields import SIGNATURE, FieldFormat, SignatureField, integer, term_field
from ncd.language.op import (
    ArrayHandle,
    Glyph,
    Mark,
    Op,
    Ports,
    Reach,
    Sample,
    Site,
    Slots,
    TermBuilder,
)
from ncd.language.patterns import Binding
from ncd.language.torch_code import (
    Arg,
    Cast,
    Const,
    Group,
    Infix,
    Method,
    Position,
    TorchExpr,
    call,
    groups,
    method,
    number_or_tuple,
    rearrange,
)
from ncd.ops.axis_places import axis_ports, broadcast_glyph, ports, with_axes_last
from ncd.ops.weights import unused_axis

# --- The base of ops with sliding windows: their sizes, and the dimensions that torch takes

MOST_SIDES = 3  # dimensions of a window

Sides = int | tuple[int, ...]  # one number for every dimension, or one for each


def _read_sides(by: FieldFormat) -> Callable[[Any, str], Sides]:
    def read(value: Any, name: str) -> Sides:
        if not isinstance(value, tuple | list):
            one: int = by.read(value, name)
            return one
        found = tuple(by.read(each, name) for each in value)
        if not 1 <= len(found) <= MOST_SIDES:
            raise SizeError(
                f"the {name} has {len(found)} numbers, but a window has 1 to {MOST_SIDES} sides",
                cure=f"{name} = 1",
                axis=name,
            )
        return found[0] if len(set(found)) == 1 else found

    return read


def sides(least: int = 0) -> FieldFormat:
    """Returns the spelling of a whole number, or of one for each dimension of a window.

    >>> sides(1).read((3, 3), "kernel"), sides(1).read([3, 1], "kernel")
    (3, (3, 1))
    """
    return FieldFormat(
        "a whole number, or one for each dimension",
        _read_sides(integer(least)),
        lambda value: list(value) if isinstance(value, tuple) else value,
    )


def side(value: Sides, i: int) -> int:
    """Returns the number of a dimension."""
    return value[i] if isinstance(value, tuple) else value


def per_dimension(value: Sides, n: int) -> tuple[int, ...]:
    """Returns a number for each of ``n`` dimensions."""
    return tuple(side(value, i) for i in range(n))


def format_sides(value: Sides) -> str:
    """Returns the numbers as they are drawn: ``3×1``."""
    return "×".join(map(str, value)) if isinstance(value, tuple) else str(value)


class WindowWalk(NamedTuple):
    """The steps of a window over the positions of each dimension.

    ``before`` and ``after`` are positions that are added at the ends, cut off if negative, and the
    positions are ``apart``; then ``stride`` and ``dilation`` are those of a convolution.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    apart: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]


class SlidingWindowOp(Op):
    """The base of ops whose window slides over the last axis on the left.

    The size of the output follows from that of the input, and the other way where it is unique: for
    a convolution only if the stride is 1.
    """

    role: ClassVar[str] = "convolution"
    kernel: Sides
    stride: Sides
    padding: Sides | None
    dilation: Sides = 1
    is_transposed: ClassVar[bool] = False

    @property
    def position_axes(self) -> tuple[Axis, Axis]:
        """The axes of positions before and after."""
        return self.dom[0][-1], self.signature.cod[0][-1]

    @property
    def pad(self) -> Sides:
        """The number of positions that are added at each end."""
        return self.padding or 0

    def span(self, i: int) -> int:
        """Returns the number of positions from the first to the last of a window."""
        return side(self.dilation, i) * (side(self.kernel, i) - 1) + 1

    def min_input_size(self, i: int) -> int:
        """Returns the smallest size that gives at least one position."""
        return max(1, self.span(i) - 2 * side(self.pad, i))

    def output_size(self, size: int, i: int) -> int:
        """Returns the output size of an input size, along one dimension."""
        return (size + 2 * side(self.pad, i) - self.span(i)) // side(self.stride, i) + 1

    def input_size(self, size: int, i: int) -> int | None:
        """Returns the input size of an output size; None if it is not unique."""
        if side(self.stride, i) != 1:
            return None
        return size - 1 + self.span(i) - 2 * side(self.pad, i)

    def solve(self, binding: Binding) -> None:
        first, second = self.position_axes
        old, new = binding[first.name], binding[second.name]
        for axis in (old, new):
            self._check_sides(axis)
        if old.size is not None:
            sizes = tuple(self.output_size(size, i) for i, size in enumerate(old.shape))
            self._check_sizes(old, new, sizes)
            _bind_size(binding, new, old, sizes)
        elif new.size is not None:
            before = [self.input_size(size, i) for i, size in enumerate(new.shape)]
            known = tuple(size for size in before if size is not None)
            if len(known) == len(before):
                self._check_sources(new, known)
                _bind_size(binding, old, new, known)

    def _check_sides(self, axis: Axis) -> None:
        """Raises MismatchError for settings of another number of dimensions than the axis."""
        for name in ("kernel", "stride", "padding", "output_padding", "dilation"):
            value = getattr(self, name, 1)
            if isinstance(value, tuple) and axis.size is not None and len(value) != len(axis.shape):
                raise MismatchError(
                    f"the {name} is {format_sides(value)}, but {axis.name} has {len(axis.shape)} "
                    f"dimension{'s' * (len(axis.shape) != 1)}",
                    cure=f"{name} = {value[0]}",
                    axis=name,
                )

    def _check_sizes(self, old: Axis, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            n = len(sizes)
            spans, least = ([f(i) for i in range(n)] for f in (self.span, self.min_input_size))
            window = spans[0] if len(set(spans)) == 1 else "×".join(map(str, spans))
            raise SizeError(
                f"axis {old.name} has size {old.size_text}, {self._too_small(window)}",
                cure=f"{old.name} = {'×'.join(map(str, least))}",
                axis=old.name,
                nearest=max(least),
            )
        if new.name == old.name and sizes != old.shape:
            raise SizeError(
                f"axis {old.name} would go from {old.size_text} to "
                f"{'×'.join(map(str, sizes))}, but keeps its name",
                cure=("stride = 1, or " if max(per_dimension(self.stride, len(sizes))) > 1 else "")
                + f"another name than {new.name} on the right",
                axis=old.name,
            )

    def _too_small(self, window: int | str) -> str:
        """Returns why no position comes out, behind the size of the axis."""
        return f"too small for a window of {window}"

    def _check_sources(self, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            nearest = [self.output_size(self.min_input_size(i), i) for i in range(len(sizes))]
            raise SizeError(
                f"axis {new.name} has size {new.size_text}, fewer than come out of any window",
                cure=f"{new.name} = {'×'.join(map(str, nearest))}",
                axis=new.name,
                nearest=max(nearest),
            )

    def check_axes(self, binding: Binding) -> None:
        """Raises MismatchError for positions of more than three dimensions."""
        place = binding[self.position_axes[0].name]
        if place.size is not None and len(place.shape) > 3:
            raise MismatchError(
                f"a window slides over 1 to 3 dimensions, but {place.name} has {len(place.shape)}",
                cure="places such as x:16x16",
            )

    def spatial_rank(self, site: Site) -> int:
        """Returns the number of torch dimensions of the positions."""
        return len(site.own_inputs[0][-1].shape)

    def walk(self, n: int) -> WindowWalk:
        """Returns how the window moves over positions of ``n`` dimensions."""
        pad, stride, gap = (per_dimension(own, n) for own in (self.pad, self.stride, self.dilation))
        return WindowWalk(pad, pad, (1,) * n, stride, gap)

    def call_on_windows(
        self, site: Site, call: Callable[[TorchExpr], TorchExpr], leads: int
    ) -> tuple[TorchExpr]:
        """Returns a call on leading dimensions, the merged channels, and the positions.

        The dimensions that the op is broadcast over lead; they are merged if there are more than
        ``leads``. A window without channels has at least one leading dimension.
        """
        (array,), (out,), (own,), (new,) = (
            site.inputs,
            site.outputs,
            site.own_inputs,
            site.own_outputs,
        )
        rest = site.broadcast_axes.dims
        lead: tuple[Group, ...] = (rest,) if len(rest) > leads else groups(site.broadcast_axes)
        if not rest and len(own) == 1:  # torch needs a channel
            lead = ((),)
        if (
            len(lead) < leads and self.spatial_rank(site) == 3
        ):  # without a batch torch refuses some strides
            lead = ((), *lead)
        before, after = (*lead, *_layer_groups(own)), (*lead, *_layer_groups(new))
        x = rearrange(Arg(0), groups(array), before)
        return (rearrange(call(x), after, groups(out)),)

    def reach(self, site: Site, axis: str, source: int = 0, target: int = 0) -> Reach:
        """Returns the window of a step of 1 along one dimension; other windows see everything."""
        old, new = self.position_axes
        if axis != old.name:
            return super().reach(site, axis, source, target)
        if self.is_transposed or site.axes_by_name[axis].spatial or side(self.stride, 0) != 1:
            return Reach(new.name, -math.inf, math.inf)
        pad = side(self.pad, 0)
        return Reach(new.name, -pad, self.span(0) - 1 - pad)

    @property
    def setting(self) -> str:
        """The kernel and the stride in words."""
        stride = f", stride {format_sides(self.stride)}" if self.stride != 1 else ""
        return f"kernel {format_sides(self.kernel)}{stride}"

    def window(self, site: Site, taken: tuple[str, ...], name: str = "w") -> Array:
        """Returns an axis for the positions in a window, with a name that is not taken."""
        sizes = per_dimension(self.kernel, self.spatial_rank(site))
        return unused_axis(taken, name, sizes if len(sizes) > 1 else sizes[0])

    def trapezoid(self, site: Site, end: str = "", note: str = "", turned: str = "") -> Glyph:
        """Returns the glyph of windows that change the number of positions.

        ``end`` is the text at the end of the window axis; empty if that axis is an output.
        """
        n = self.spatial_rank(site) if site.own_inputs[0][-1].size is not None else 1
        one = isinstance(self.kernel, int)
        kernel = f"{self.kernel}^{n}" if n > 1 and one else format_sides(self.kernel)
        old, new = self.position_axes[::-1] if turned and not end else self.position_axes
        ins = _positions_first(old, site.inputs, axis_ports(site.inputs, site.own_inputs))
        outs = _positions_first(new, site.outputs, axis_ports(site.outputs, site.own_outputs))
        stride = "" if self.stride == 1 else format_sides(self.stride)
        text = f"{kernel}|{stride}{turned}|{end}"
        return broadcast_glyph(site, Mark("trapezoid", text, ins, outs, note))


def _positions_first(place: Axis, arrays: Type, own: Ports) -> Ports:
    """Returns the ports, with that of the positions first."""
    (at,) = (port for port, _, name in ports(arrays) if name == place.name)
    return (at, *(port for port in own if port != at))


def _layer_groups(own: Array) -> tuple[Group, ...]:
    """Returns the dimensions of the own axes for torch: merged channels, then positions."""
    channels = Array(own[:-1]).dims
    return (*((channels,) if len(own) > 1 else ()), *groups(Array(own[-1:])))


def _bind_size(binding: Binding, new: Axis, old: Axis, sizes: tuple[int, ...]) -> None:
    size = sizes if old.spatial else sizes[0]
    binding.unify(new, replace(new, size=size, sequence=old.sequence))


# --- Sliding windows as a separate axis


@dataclass(frozen=True, repr=False, eq=False)
class Window(SlidingWindowOp):
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

    >>> from ncd import Type
    >>> Window("x -> y w", 3, stride=2, padding=1).infer_outputs(Type.parse("c:2 x:8x8")).spec
    'c:2 y:4x4 w:3x3'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    kernel: Sides = term_field(sides(1), 2)
    stride: Sides = term_field(sides(1), 1)
    padding: Sides = term_field(sides(), 0)
    dilation: Sides = term_field(sides(1), 1)
    role: ClassVar[str] = "window"
    pattern_form: ClassVar[str] = "x -> y w"
    broadcasting = LEADING_ANY

    @property
    def position_axes(self) -> tuple[Axis, Axis]:
        return self.dom[0][0], self.signature.cod[0][0]

    def solve(self, binding: Binding) -> None:
        super().solve(binding)
        place = next(
            (a for p in self.position_axes if (a := binding[p.name]).size is not None), None
        )
        if place is not None:
            window = per_dimension(self.kernel, len(place.shape))
            size = window if place.spatial else window[0]
            binding.bind_size(self.signature.cod[0][1].name, size)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        n = self.spatial_rank(site)

        def slid(x: TorchExpr, rest: Array) -> TorchExpr:
            if self.padding:
                pads = reversed(
                    per_dimension(self.padding, n)
                )  # torch begins with the last dimension
                x = call("F.pad", x, number_or_tuple(tuple(pad for pad in pads for _ in range(2))))
            for i in range(n):  # each dimension in turn is the first of the positions
                x = method(x, "unfold", -n, self.span(i), side(self.stride, i))
            return self._select_dilated(x, site) if self.dilation != 1 else x

        return with_axes_last(site, slid)

    def _select_dilated(self, x: TorchExpr, site: Site) -> TorchExpr:
        """Selects every ``dilation``-th position of each window."""
        dims = site.own_outputs[0][1].dims
        for i, dim in enumerate(dims):
            index = Infix("*", Position(dim, (dim,)), Const(side(self.dilation, i)))
            x = Method(x, "index_select", (Const(i - len(dims)), index))
        return x

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site)

    def latex(self, site: Site) -> str:
        x, y, w = self.dom[0].names[0], *self.signature.cod[0].names
        names = [name.replace("_", "").replace("/", "") for name in (x, y, w)]
        d = "" if self.dilation == 1 else factor(self.dilation, r"\delta")
        s = "" if self.stride == 1 else factor(self.stride, "s")
        p = "" if self.padding == 0 else f" - {factor(self.padding, 'p').strip()}"
        return rf"z_{{{names[1]},\,{names[2]}}} = a_{{{s}{names[1]} + {d}{names[2]}{p}}}"

    def description(self, site: Site) -> str:
        return f"sliding windows, {self.setting}: {site.own_inputs} to {site.own_outputs}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        fold = Fold(
            Signature(site.own_outputs, site.own_inputs),
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
        )
        return steps.call(fold, grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
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
class Fold(SlidingWindowOp):
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

    >>> from ncd import Type
    >>> Fold("y w -> x", 3, stride=2).infer_outputs(Type.parse("c:2 y:4x4 w:3x3")).spec
    'c:2 x:9x9'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    kernel: Sides = term_field(sides(1), 2)
    stride: Sides = term_field(sides(1), 1)
    padding: Sides = term_field(sides(), 0)
    dilation: Sides = term_field(sides(1), 1)
    role: ClassVar[str] = "window"
    pattern_form: ClassVar[str] = "y w -> x"

    @property
    def position_axes(self) -> tuple[Axis, Axis]:
        return self.signature.cod[0][0], self.dom[0][0]

    def spatial_rank(self, site: Site) -> int:
        return len(site.own_outputs[0][0].shape)

    def input_size(self, size: int, i: int) -> int:
        """Returns the smallest size with so many windows."""
        return (size - 1) * side(self.stride, i) + self.span(i) - 2 * side(self.padding, i)

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        """Returns a transposed convolution whose weights are an identity matrix."""
        (array,), (out,), (own,), (new,) = (
            site.inputs,
            site.outputs,
            site.own_inputs,
            site.own_outputs,
        )
        n, rest = self.spatial_rank(site), site.broadcast_axes.dims
        x = rearrange(Arg(0), groups(array), (rest, own[1].dims, *groups(Array(own[:1]))))
        more = tuple(
            size - self.input_size(count, i)
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
        return (rearrange(x, (rest, (), *groups(new)), groups(out)),)

    def flops(self, site: Site) -> int:
        """Returns those of the transposed convolution, whose weights torch multiplies too."""
        places, window = site.own_inputs[0]
        return 2 * site.broadcast_axes.numel * places.numel * window.numel**2

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site, turned="T")

    def latex(self, site: Site) -> str:
        return r"z_{s y + \delta w - p} \mathrel{+}= a_{y,\,w} \quad\text{for all } y, w"

    def description(self, site: Site) -> str:
        return f"adds windows up, {self.setting}: {site.own_inputs} to {site.own_outputs}"

    def pullback(
        self, site: Site, steps: TermBuilder, ins: Slots, outs: Slots, grads: Slots
    ) -> tuple[ArrayHandle | None, ...]:
        window = Window(
            Signature(site.own_outputs, site.own_inputs),
            self.kernel,
            self.stride,
            self.padding,
            self.dilation,
        )
        return steps.call(window, grads[0])

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
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


def _identity(window: Axis) -> TorchExpr:
    """Returns weights that put every position of a window where it belongs."""
    own = window.dims
    kernel = tuple(Dim("kernel", i, dim.size) for i, dim in enumerate(own))
    both = (*own, *kernel)
    same: TorchExpr | None = None
    for a, b in zip(own, kernel, strict=True):
        one = Infix("==", Position(a, both), Position(b, both))
        same = one if same is None else Infix("&", same, one)
    assert same is not None
    singles: tuple[Group, ...] = tuple((dim,) for dim in both)
    return rearrange(Cast(same, "real"), singles, (own, (), *singles[len(own) :]))


def factor(value: Sides, letter: str) -> str:
    """Returns a number in a formula, or a letter where each dimension has its own."""
    return f"{value if isinstance(value, int) else letter} "
