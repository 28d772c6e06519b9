"""Convolution and transposed convolution, also written out in simpler ops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Protocol

from ncd.errors import MismatchError, SizeError
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.fields import FLAG, NAME, SIGNATURE, SignatureField, integer, optional, term_field
from ncd.language.op import ArrayHandle, Glyph, InitialValue, Sample, Site, Slots, TermBuilder
from ncd.language.patterns import Binding
from ncd.language.terms import Id, Term
from ncd.language.torch_code import Call, Layer, Size, TorchExpr, call, number_or_tuple
from ncd.ops.axis_places import single_mark_glyph, weight_letter
from ncd.ops.einsum import Einsum
from ncd.ops.linear import Linear
from ncd.ops.reshape import Group, Split
from ncd.ops.sliding_window import (
    Fold,
    Sides,
    SlidingWindowOp,
    Window,
    WindowWalk,
    factor,
    format_sides,
    per_dimension,
    side,
    sides,
)
from ncd.ops.weights import distinct_axes, uniform_init, unused_axis

# --- Convolutions in simpler ops: windows, products with the weights, and sums of windows


class ConvolutionSettings(Protocol):
    """The settings and methods that both convolutions share."""

    @property
    def kernel(self) -> Sides: ...
    @property
    def stride(self) -> Sides: ...
    @property
    def pad(self) -> Sides: ...
    @property
    def dilation(self) -> Sides: ...
    @property
    def bias(self) -> bool: ...

    def channels(self, site: Site) -> tuple[Array, Array]: ...
    def window(self, site: Site, taken: tuple[str, ...]) -> Array: ...


def write_convolution(
    op: ConvolutionSettings, groups: int, site: Site, steps: TermBuilder, x: ArrayHandle
) -> ArrayHandle:
    """Writes a convolution as windows and a product with the weights.

    Source: ``torch.nn.Unfold``, whose documentation says so.
    """
    (old,), (new,), (out,) = site.own_inputs, site.own_outputs, site.outputs
    window = op.window(site, (*site.axes_by_name,))
    slid = _array_signature(Array(old[-1:]), Array((*new[-1:], *window)))
    (x,) = steps.call(Window(slid, op.kernel, op.stride, op.pad, op.dilation), x)
    c, d = op.channels(site)
    if groups > 1:
        z = _by_groups(op, groups, site, steps, x, window)
    else:
        inner = distinct_axes(c, (*site.axes_by_name, *window.names))
        weight = steps.param("weight", d, inner, kept=window)
        z = steps.product((steps.rename(x, c, inner), weight), out)
    return _add_bias(op, steps, z, d)


def _by_groups(
    op: ConvolutionSettings,
    groups: int,
    site: Site,
    steps: TermBuilder,
    x: ArrayHandle,
    window: Array,
) -> ArrayHandle:
    """Writes a convolution whose groups of channels are convolved separately."""
    c, d = op.channels(site)
    taken, sizes = (*site.axes_by_name, *window.names), (c.numel // groups, d.numel // groups)
    (group,) = unused_axis(taken, "group", groups)
    (first,) = unused_axis((*taken, "group"), "from", sizes[0])
    (last,) = unused_axis((*taken, "group"), "to", sizes[1])
    x = resplit(steps, x, c, Array((group, first)))
    weight = steps.param("weight", Array((group, last)), Array((first,)), kept=window)
    (place,) = site.own_outputs[0][-1:]
    rest = (axis for axis in site.outputs[0] if axis.name not in (*d.names, place.name))
    z = steps.product((x, weight), Array((*rest, group, last, place)))
    return steps.product((resplit(steps, z, Array((group, last)), d),), site.outputs[0])


def write_transposed_convolution(
    op: ConvolutionSettings, site: Site, steps: TermBuilder, x: ArrayHandle
) -> ArrayHandle:
    """Writes a transposed convolution as a product with the weights, and a sum of windows.

    Source: ``torch.nn.Fold``.
    """
    (old,), (new,), (out,) = site.own_inputs, site.own_outputs, site.outputs
    c, d = op.channels(site)
    window = op.window(site, (*site.axes_by_name,))
    inner = distinct_axes(c, (*site.axes_by_name, *window.names))
    weight = steps.param("weight", inner, d, kept=window)
    rest = (axis for axis in out if axis.name not in new.names)
    x = steps.rename(x, c, inner)
    z = steps.product((x, weight), Array((*rest, *d, *old[-1:], *window)))
    summed = _array_signature(Array((*old[-1:], *window)), Array(new[-1:]))
    (z,) = steps.call(Fold(summed, op.kernel, op.stride, op.pad, op.dilation), z)
    return _add_bias(op, steps, steps.product((z,), out), d)


def _add_bias(
    op: ConvolutionSettings, steps: TermBuilder, z: ArrayHandle, channels: Array
) -> ArrayHandle:
    if not op.bias:
        return z
    return steps.map("$1 + $2", (z, steps.param("bias", channels)), z.axes)


def resplit(steps: TermBuilder, x: ArrayHandle, old: Array, new: Array) -> ArrayHandle:
    """Merges some axes and splits the result into others."""
    if old == new:
        return x
    if len(old) == 1 and len(new) > 1:
        return steps.call(Split(_array_signature(old, new)), x)[0]
    if len(new) == 1 and len(old) > 1:
        return steps.call(Group(_array_signature(old, new)), x)[0]
    flat = unused_axis((*x.axes.names, *new.names), "flat", old.numel)
    (x,) = steps.call(Group(_array_signature(old, flat)), x)
    return steps.call(Split(_array_signature(flat, new)), x)[0]


def _array_signature(before: Array, after: Array) -> Signature:
    """Returns the type of a map of one array to one."""
    return Signature(Type((before,)), Type((after,)))


# --- Convolution, and the base that it shares with the transposed one

DEFAULTS = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1, "groups": 1}  # of torch


class ConvolutionOp(SlidingWindowOp):
    """The base of both convolutions: channels before positions, weights and a bias."""

    name: str
    bias: bool

    def check_axes(self, binding: Binding) -> None:
        super().check_axes(binding)
        channels = (*self.dom[0][:-1], *self.signature.cod[0][:-1])
        if any(binding[axis.name].spatial for axis in channels):
            raise MismatchError(
                f"the channels of a convolution are plain axes, but ({self.dom[0]}) has a group",
                cure="a plain channel axis, and places such as x:16x16",
            )

    def weight_letter(self, usual: str) -> tuple[str, str]:
        """Returns the letter at the end of the window axis, and a long name beside it."""
        return weight_letter("L_+" if self.bias else "L", self.name, usual)

    def channels(self, site: Site) -> tuple[Array, Array]:
        """Returns the channels of the input and of the output."""
        return Array(site.own_inputs[0][:-1]), Array(site.own_outputs[0][:-1])

    def unusual(self, site: Site) -> tuple[str, ...]:
        """Returns the settings beside kernel and stride that are not the usual ones, in words."""
        return (f"dilation {format_sides(self.dilation)}",) if self.dilation != 1 else ()

    def letter_and_note(self, site: Site, usual: str) -> tuple[str, str]:
        """Returns the letter at the end of the window axis, and the unusual settings beside it."""
        letter, name = self.weight_letter(usual)
        if unusual := self.unusual(site):  # a name above the letter would run into it
            letter, _, above = letter.partition("^")
            name = ", ".join(filter(None, (name or above.strip("{}"), *unusual)))
        return letter, name

    def _layer(self, site: Site, kind: str, named: Mapping[str, Sides | Size]) -> Call:
        given = {key: value for key, value in named.items() if value != DEFAULTS[key]}
        bias = {} if self.bias else {"bias": False}
        c, d = self.channels(site)
        name = f"nn.{kind}{self.spatial_rank(site)}d"
        return call(
            name, Size(tuple(c)), Size(tuple(d)), number_or_tuple(self.kernel), **given, **bias
        )

    def _weights(self, site: Site, one: Array, two: Array) -> Mapping[str, InitialValue]:
        """Returns the weights of two groups of channels and a window, and the bias."""
        two = distinct_axes(two, one.names)
        window = self.window(site, (*one.names, *two.names), "kernel")
        array = Array((*one, *two, *window))
        start = uniform_init(two.numel * window.numel)
        weight = {"weight": InitialValue(array, start)}
        bias = InitialValue(self.channels(site)[1], start)
        return {**weight, "bias": bias} if self.bias else weight

    def torch_code(self, site: Site) -> tuple[TorchExpr, ...]:
        return self.call_on_windows(site, lambda x: Layer((x,)), leads=1)


@dataclass(frozen=True, repr=False, eq=False)
class Conv(ConvolutionOp):
    """A convolution over one to three dimensions (``torch.nn.Conv2d``).

    It is drawn as a box ★ k if the positions keep their axis, else as a trapezoid with the stride;
    the dilation and the number of groups of channels stand beside it.

    Args:
        pattern: Channels and positions, such as ``"c x -> d x"``; channels may be several axes.
        name: The name of the layer.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window, or one for each dimension; so are the next two.
        padding: The number of zeros at each end; half the window by default.
        bias: Whether a learned bias is added.
        dilation: The distance between positions of the window.
        groups: The number of groups of channels that are convolved separately.

    Raises:
        SizeError: For a window longer than the padded axis, or groups that do not divide channels.
        MismatchError: For a spatial axis among the channels, or settings of other dimensions.

    Source: Notebook, figures 26 to 28.

    >>> Conv("c x -> d:8 x/s", stride=2).infer_outputs(Type.parse("c:3 x:16x16")).spec
    'd:8 x/s:8x8'
    >>> Conv("k h x -> c:6 x", groups=2).infer_outputs(Type.parse("k:2 h:2 x:9")).spec
    'c:6 x:9'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    name: str = term_field(NAME, "conv")
    kernel: Sides = term_field(sides(1), 1)
    stride: Sides = term_field(sides(1), 1)
    padding: Sides | None = term_field(optional(sides()), None)
    bias: bool = term_field(FLAG, True)
    dilation: Sides = term_field(sides(1), 1)
    groups: int = term_field(integer(1), 1)
    pattern_form: ClassVar[str] = "c+ x -> d+ x"

    @property
    def pad(self) -> Sides:
        if self.padding is not None:
            return self.padding
        n = max(len(v) if isinstance(v, tuple) else 1 for v in (self.kernel, self.dilation))
        pairs = zip(per_dimension(self.dilation, n), per_dimension(self.kernel, n), strict=True)
        found = tuple(gap * (length // 2) for gap, length in pairs)
        return found[0] if len(set(found)) == 1 else found

    def check_axes(self, binding: Binding) -> None:
        super().check_axes(binding)
        for array in (self.dom[0], self.signature.cod[0]):
            sizes = [binding.size(axis.name) for axis in array[:-1]]
            channels = prod(size for size in sizes if size is not None)
            if None in sizes or channels % self.groups == 0:
                continue
            names, nearest = "·".join(array.names[:-1]), -(-channels // self.groups) * self.groups
            raise SizeError(
                f"{names} = {channels} channels are not {self.groups} groups of one size",
                cure=f"{names} = {nearest}, or groups = 1",
                axis=array.names[0],
                nearest=nearest if len(sizes) == 1 else None,
            )

    def layer_call(self, site: Site) -> Call:
        named = {"stride": self.stride, "padding": self.pad, "dilation": self.dilation}
        channels = self.channels(site)[0]
        depthwise = 1 < self.groups == channels.numel
        groups = Size(tuple(channels)) if depthwise else self.groups
        return self._layer(site, "Conv", {**named, "groups": groups})

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        c, d = self.channels(site)
        if self.groups > 1:
            name = "".join(axis.identifier for axis in c)
            c = Array((Axis(name, c.numel // self.groups),))
        return self._weights(site, d, c)

    def glyph(self, site: Site) -> Glyph:
        if self.position_axes[0].name == self.position_axes[1].name:
            return single_mark_glyph(
                site, "box", ", ".join((f"★{format_sides(self.kernel)}", *self.unusual(site)))
            )
        return self.trapezoid(site, *self.letter_and_note(site, "conv"))

    def unusual(self, site: Site) -> tuple[str, ...]:
        return (*super().unusual(site), *((self._groups(site),) if self.groups > 1 else ()))

    def _groups(self, site: Site) -> str:
        """Returns the groups in words, of which a number of channels may not be told."""
        channels = self.channels(site)[0]
        if any(axis.size is None for axis in channels):
            return "in groups"
        return "depthwise" if channels.numel == self.groups else f"{self.groups} groups"

    def flops(self, site: Site) -> int:
        window = prod(per_dimension(self.kernel, self.spatial_rank(site)))
        inner = self.channels(site)[0].numel // self.groups
        return 2 * site.broadcast_axes.numel * site.own_outputs[0].numel * inner * window

    def latex(self, site: Site) -> str:
        bias = "b_d + " if self.bias else ""
        gap = self.dilation if isinstance(self.dilation, int) else r"\delta"
        j = "j" if self.dilation == 1 else f"{gap} j"
        c = r"c \text{ in the group of } d" if self.groups > 1 else "c"
        return rf"z_{{d,x}} = {bias}\sum_{{{c},\,j}} W_{{d,c,j}}\; a_{{c,\;s x + {j} - p}}"

    def description(self, site: Site) -> str:
        settings = ", ".join(filter(None, (self.name, self.setting, *self.unusual(site))))
        return f"convolution {settings}: {site.own_inputs} to {site.own_outputs}"

    def expansion(self, site: Site) -> Term | None:
        """Returns a ``Window`` and a ``Linear``; None for several groups."""
        if self.groups > 1:
            return None
        (old,), (new,) = site.own_inputs, site.own_outputs
        window = self.window(site, tuple(site.axes_by_name))
        slid = Signature(Type((Array(old[-1:]),)), Type((Array((*new[-1:], *window)),)))
        c, d = self.channels(site)
        pattern = Signature(Type((Array((*c, *window)),)), Type((d,)))
        setting = (self.kernel, self.stride, self.pad, self.dilation)
        linear = Linear(pattern, self.name, self.bias)
        term = Id(site.inputs) >> Window(slid, *setting) >> linear
        astray = term.cod[0].names != site.outputs[0].names  # another axis is between the two
        return term >> Einsum(Signature(term.cod, site.outputs)) if astray else term

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        return (write_convolution(self, self.groups, site, steps, ins[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        two = "F.conv2d(a[None], w[0], w[1], padding=1)[0]"
        return (
            Sample(cls("c x -> d:4 x", "conv", 3), "c:2 x:5x6", two),
            Sample(
                cls("c x -> d:4 x/s", "conv", 3, 2),
                "c:2 x:7",
                "F.conv1d(a, w[0], w[1], 2, 1)",
            ),
            Sample(cls("c x -> d:4 u", padding=0, kernel=2), "c:2 x:3x4x3", "F.conv3d(a, *w)"),
            Sample(
                cls("c x -> k:2 h:3 x", "conv", 3, bias=False),
                "c:2 x:5",
                "F.conv1d(a, w[0], padding=1).view(2, 3, 5)",
            ),
            Sample(
                cls("k h x -> c:4 x", "conv", 3, dilation=2, groups=2),
                "k:2 h:3 x:6",
                "F.conv1d(a.flatten(0, 1), w[0], w[1], 1, 2, 2, 2)",
            ),
            Sample(cls("c x -> c x", "conv", 1), "c:3 x:2x2", "F.conv2d(a, w[0], w[1])"),
            Sample(
                cls("c x -> d:2 y", "conv", (3, 1), (1, 2), (0, 1), dilation=(2, 1)),
                "c:2 x:6x4",
                "F.conv2d(a[None], w[0], w[1], (1, 2), (0, 1), (2, 1))[0]",
            ),
        )


# --- Transposed convolution


@dataclass(frozen=True, repr=False, eq=False)
class ConvTranspose(ConvolutionOp):
    """A transposed convolution (``torch.nn.ConvTranspose2d``); drawn as a trapezoid marked T.

    Args:
        pattern: Channels and positions, such as ``"c x -> d y"``.
        name: The name of the layer.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window in the output, or one for each dimension.
        padding: The number of positions that are cut off at each end.
        bias: Whether a learned bias is added.
        output_padding: The number of positions that are added at the far end; several sizes become
            one under a stride, and it says which of them comes back.
        dilation: The distance between positions of the window.

    Raises:
        SizeError: If the padding leaves no position, no input has the size of the output, or the
            output padding reaches beyond a step.

    Source: Notebook, figures 27 and 28.

    >>> from ncd import Type
    >>> up = ConvTranspose("c x -> d:8 y", kernel=2, stride=2)
    >>> up.infer_outputs(Type.parse("c:3 x:16x16")).spec
    'd:8 y:32x32'
    """

    pattern: SignatureField = term_field(SIGNATURE)
    name: str = term_field(NAME, "up")
    kernel: Sides = term_field(sides(1), 2)
    stride: Sides = term_field(sides(1), 2)
    padding: Sides = term_field(sides(), 0)
    bias: bool = term_field(FLAG, True)
    output_padding: Sides = term_field(sides(), 0)
    dilation: Sides = term_field(sides(1), 1)
    pattern_form: ClassVar[str] = "c+ x -> d+ y"
    is_transposed: ClassVar[bool] = True

    def check_axes(self, binding: Binding) -> None:
        super().check_axes(binding)
        settings = (self.output_padding, self.stride, self.dilation)
        n = min((len(value) for value in settings if isinstance(value, tuple)), default=1)
        for more, *steps in zip(*(per_dimension(value, n) for value in settings), strict=True):
            if more >= max(steps):
                raise SizeError(
                    f"the output padding is {more}, but it stays below the stride "
                    f"or the dilation, here {max(steps)}",
                    cure=f"output_padding = {max(steps) - 1}",
                    axis="output_padding",
                    nearest=max(steps) - 1,
                )

    def walk(self, n: int) -> WindowWalk:
        """Returns the walk of the window turned round, over positions a stride apart."""
        before = tuple(self.span(i) - 1 - side(self.padding, i) for i in range(n))
        after = tuple(before[i] + side(self.output_padding, i) for i in range(n))
        stride, gap = (per_dimension(own, n) for own in (self.stride, self.dilation))
        return WindowWalk(before, after, stride, (1,) * n, gap)

    def one_window(self, i: int) -> int:
        """Returns the output size of a single position."""
        return self.span(i) - 2 * side(self.padding, i) + side(self.output_padding, i)

    def min_input_size(self, i: int) -> int:
        return 1 + max(0, -((self.one_window(i) - 1) // side(self.stride, i)))

    def _too_small(self, window: int | str) -> str:
        return f"and a padding of {format_sides(self.padding)} cuts off all that comes out"

    def output_size(self, size: int, i: int) -> int:
        return (size - 1) * side(self.stride, i) + self.one_window(i)

    def input_size(self, size: int, i: int) -> int | None:
        over = size - self.one_window(i)
        steps, left = divmod(over, side(self.stride, i))
        if left or steps < 0:
            y = self.position_axes[1].name
            nearest = self.output_size(max(self.min_input_size(i), steps + 1), i)
            raise SizeError(
                f"axis {y} has size {size}, which no transposed window gives",
                cure=f"{y} = {nearest}",
                axis=y,
                nearest=nearest,
            )
        return steps + 1

    def layer_call(self, site: Site) -> Call:
        named = {name: getattr(self, name) for name in DEFAULTS if name != "groups"}
        return self._layer(site, "ConvTranspose", named)

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        return self._weights(site, *self.channels(site))

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site, *self.letter_and_note(site, "up"), turned="T")

    def unusual(self, site: Site) -> tuple[str, ...]:
        more = format_sides(self.output_padding)
        added = (f"output padding {more}",) if self.output_padding != 0 else ()
        return (*super().unusual(site), *added)

    def flops(self, site: Site) -> int:
        window = prod(per_dimension(self.kernel, self.spatial_rank(site)))
        return (
            2
            * site.broadcast_axes.numel
            * site.own_inputs[0].numel
            * self.channels(site)[1].numel
            * window
        )

    def latex(self, site: Site) -> str:
        gap = "" if self.dilation == 1 else factor(self.dilation, r"\delta")
        place, every = f"s x + {gap}j - p", r"\quad\text{for all } c, x, j"
        return rf"z_{{d,\;{place}}} \mathrel{{+}}= W_{{c,d,j}}\; a_{{c,x}} {every}"

    def description(self, site: Site) -> str:
        settings = ", ".join((self.name, self.setting, *self.unusual(site)))
        return f"transposed convolution {settings}: {site.own_inputs} to {site.own_outputs}"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        return (write_transposed_convolution(self, site, steps, ins[0]),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(
                cls("c x -> d:3 u"),
                "c:2 x:3x4",
                "F.conv_transpose2d(a, w[0], w[1], 2)",
            ),
            Sample(
                cls("c x -> d:3 u", "up", (2, 3), (2, 1), (0, 1)),
                "c:2 x:3x4",
                "F.conv_transpose2d(a, w[0], w[1], (2, 1), (0, 1))",
            ),
            Sample(
                cls("k h x -> d:3 u", "up", 3, 2, 1, False),
                "k:2 h:2 x:4",
                "F.conv_transpose1d(a.flatten(0, 1), w[0], None, 2, 1)",
            ),
            Sample(
                cls("c x -> d:3 u", "up", 3, 2, 1, True, (1, 0), (1, 2)),
                "c:2 x:3x4",
                "F.conv_transpose2d(a, w[0], w[1], 2, 1, (1, 0), 1, (1, 2))",
            ),
        )
