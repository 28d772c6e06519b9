"""Batch, layer, root-mean-square and group norm, and the steps that they share."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.errors import MismatchError, SizeError
from ncd.language import torch_code as ex
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.broadcasting import IN_PLACE
from ncd.language.fields import ARRAY, FLAG, NAME, SMALL_NUMBER, ArrayField, integer, term_field
from ncd.language.op import (
    ArrayHandle,
    DeferredSummand,
    Glyph,
    InitialValue,
    Op,
    RunningStatistic,
    Sample,
    Site,
    Slots,
    TermBuilder,
    TilingRule,
)
from ncd.language.patterns import Binding
from ncd.ops.axis_places import single_mark_glyph, with_axes_last
from ncd.ops.reshape import Group, Split
from ncd.ops.weights import constant_init, distinct_axes

# --- The steps that the norms share when they are written out in simpler ops


def write_standardised(
    steps: TermBuilder, x: ArrayHandle, over: Collection[str], eps: float, centred: bool = True
) -> ArrayHandle:
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

    def rule(back: TermBuilder, gradient: ArrayHandle) -> ArrayHandle:
        count = array.numel // square.axes.numel
        scaled = back.map(root, (gradient, square), array)
        slots = [scaled, made, back.product((made, scaled), square.axes)]
        formula = f"$1 - $2 * $3 / {count}"
        if centred:
            slots.append(back.product((scaled,), square.axes))
            formula += f" - $4 / {count}"
        return back.map(formula, slots, array)

    steps.override_pullback(since, first, made, rule)
    return made


def _mean(steps: TermBuilder, x: ArrayHandle, over: Collection[str]) -> ArrayHandle:
    rest = Array(axis for axis in x.axes if axis.name not in over)
    count = x.axes.numel // rest.numel
    return steps.map(f"$1 / {count}", (steps.product((x,), rest),), rest)


def write_affine(
    steps: TermBuilder, x: ArrayHandle, weights: Array, bias: bool, *groups: Array
) -> ArrayHandle:
    """Multiplies by learned weights and adds a learned bias, on some of the axes."""
    kept = Array() if groups else weights
    x = steps.map("$1 * $2", (x, steps.param("weight", *groups, kept=kept)), x.axes)
    if not bias:
        return x
    return steps.map("$1 + $2", (x, steps.param("bias", *groups, kept=kept)), x.axes)


def moments_tiling_rule(eps: float, centred: bool, affine: bool, bias: bool) -> TilingRule:
    """Returns the rule of a norm whose own axes come in tiles: it keeps the first two moments.

    What it normalises by is known after the last tile, so its result is a sum of parts: the numbers
    times their weight, the weight alone for the mean, and the bias.
    """
    square = RunningStatistic("q", "sum", "$1 ** 2")
    scaled = "$1 * weight" if affine else "$1"
    if not centred:
        return TilingRule(
            statistics=(square,), parts=(DeferredSummand(scaled, f"1 / sqrt(q / n + {eps!r})"),)
        )
    root = f"sqrt(q / n - (t / n) ** 2 + {eps!r})"
    parts = [
        DeferredSummand(scaled, f"1 / {root}"),
        DeferredSummand("weight" if affine else "1", f"-t / n / {root}"),
    ]
    if affine and bias:
        parts.append(DeferredSummand("bias", "1"))
    return TilingRule(statistics=(RunningStatistic("t", "sum", "$1"), square), parts=tuple(parts))


# --- Group norm


@dataclass(frozen=True, repr=False, eq=False)
class GroupNorm(Op):
    """Normalises each group of channels over all of its positions.

    Args:
        axes: The channels and the positions, such as ``"c x"``.
        name: The name of the layer.
        groups: The number of groups.
        eps: The number that is added to the variance.

    Raises:
        SizeError: For groups that do not divide the channels.
        MismatchError: For channels that are a spatial group.

    Source: Wu and He 2018, "Group Normalization", section 3; ``torch.nn.GroupNorm``.

    >>> from ncd import Type
    >>> str(GroupNorm("c x", groups=2).infer_outputs(Type.parse("b:2 c:4 x:3x3")))
    'b c x'
    """

    axes: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "norm")
    groups: int = term_field(integer(1), 1)
    eps: float = term_field(SMALL_NUMBER, 1e-5)
    role: ClassVar[str] = "activate"
    pattern_form: ClassVar[str] = "c x+"
    broadcasting = IN_PLACE
    torch_backward_rules: ClassVar[Mapping[str, str]] = {
        "NativeGroupNorm": "With x̂ the normalised numbers of a group and g = G · γ: "
        "∇x = (g − mean(g) − x̂ · mean(g · x̂)) / σ, ∇γ is the sum of G · x̂, and ∇β that of G.",
    }

    def check_axes(self, binding: Binding) -> None:
        channel = binding[self.axes[0].name]
        if channel.spatial:
            raise MismatchError(
                f"the channels of a group norm are a plain axis, but {channel.name} is a group",
                cure="a plain channel axis, and places such as x:16x16",
            )
        if channel.size is not None and channel.numel % self.groups:
            nearest = -(-channel.numel // self.groups) * self.groups
            raise SizeError(
                f"{channel.name} = {channel.numel} channels are not {self.groups} groups of one "
                "size",
                cure=f"{channel.name} = {nearest}, or groups = 1",
                axis=channel.name,
                nearest=nearest,
            )

    def layer_call(self, site: Site) -> ex.Call:
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        return ex.call("nn.GroupNorm", self.groups, ex.Size((site.own_inputs[0][0],)), **named)

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        channel = Array((site.own_inputs[0][0],))
        return {"weight": constant_init(channel, 1), "bias": constant_init(channel, 0)}

    def torch_code(self, site: Site) -> tuple[ex.TorchExpr, ...]:
        given, (channel, *places) = ex.groups(site.inputs[0]), site.own_inputs[0]
        order = (site.broadcast_axes.dims, channel.dims, *ex.groups(Array(places)))
        layer = ex.Layer((ex.rearrange(ex.Arg(0), given, order, exact=True),))
        return (ex.rearrange(layer, order, given, exact=True),)

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, "barred", keep=self.axes.names)

    def latex(self, site: Site) -> str:
        return r"z = \gamma_c\,\frac{a - \mu_g}{\sqrt{\sigma_g^2 + \epsilon}} + \beta_c"

    def description(self, site: Site) -> str:
        groups = f"{self.groups} group{'s' * (self.groups > 1)}"
        places = " ".join(self.axes.names[1:])
        return f"group norm {self.name}: {groups} of {self.axes.names[0]}, each over all {places}"

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        channel, *places = site.own_inputs[0]
        sizes = (self.groups, channel.numel // self.groups)
        pair = (Axis("group", sizes[0]), Axis("member", sizes[1]))
        groups, members = distinct_axes(Array(pair), tuple(site.axes_by_name))
        parts = Signature(Type((Array((channel,)),)), Type((Array((groups, members)),)))
        (x,) = steps.call(Split(parts), ins[0])
        over = (members.name, *(axis.name for axis in places))
        x = write_standardised(steps, x, over, self.eps)
        (x,) = steps.call(Group(Signature(parts.cod, parts.dom)), x)
        x = steps.product((x,), site.outputs[0])
        return (write_affine(steps, x, Array((channel,)), True),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("c x", "norm", 2), "c:4 x:5", "F.group_norm(a[None], 2, w[0], w[1])[0]"),
            Sample(cls("c x", "g", 1, 1e-3), "c:3 x:2x3", "F.group_norm(a[None], 1, *w, 1e-3)[0]"),
            Sample(cls("c y x", "norm", 3), "c:6 y:2 x:4", "F.group_norm(a[None], 3, *w)[0]"),
        )


# --- Batch norm, layer norm and root-mean-square norm


class _Norm(Op):
    """The base of the norms, which keep all axes in place."""

    role: ClassVar[str] = "activate"
    broadcasting = IN_PLACE
    mark: ClassVar[str] = "barred"
    axes: Array
    eps: float

    def torch_code(self, site: Site) -> tuple[ex.TorchExpr, ...]:
        return with_axes_last(site, lambda x, rest: ex.Layer((x,)))

    def glyph(self, site: Site) -> Glyph:
        return single_mark_glyph(site, self.mark, keep=self.axes.names)

    def latex(self, site: Site) -> str:
        plain = r"\frac{a - \mu}{\sqrt{\sigma^2 + \epsilon}}"
        return rf"z = \gamma\,{plain} + \beta" if getattr(self, "affine", True) else f"z = {plain}"


@dataclass(frozen=True, repr=False, eq=False)
class BatchNorm(_Norm):
    """Normalises each channel over all other axes; drawn as a circle that the batch touches.

    The compiled layer is in training mode and normalises with the statistics of its batch.

    Args:
        axes: The batch and the channel, such as ``"b n"``.
        name: The name of the layer.
        eps: The number that is added to the variance.
        affine: Whether a learned weight and bias of each channel follow.

    Raises:
        SizeError: If a channel has one number only.

    Source: Notebook, figure 26; ``torch.nn.BatchNorm2d``.

    >>> from ncd import Type
    >>> str(BatchNorm("b n").infer_outputs(Type.parse("b:2 n:3 x:4x4")))
    'b n x'
    """

    axes: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "norm")
    eps: float = term_field(SMALL_NUMBER, 1e-5)
    affine: bool = term_field(FLAG, True)
    mark: ClassVar[str] = "circle"
    pattern_form: ClassVar[str] = "b c"

    def check_numbers(self, site: Site) -> None:
        if any(axis.size is None for axis in site.axes):
            return
        batch, channel = site.own_inputs[0]
        if site.inputs[0].numel == channel.numel:
            raise SizeError(
                f"it normalises over all but {channel.name}, and that is one number",
                cure=f"{batch.name} = 2",
                axis=batch.name,
                nearest=2,
            ).with_context(
                where=f"{self.display_name} ({self.signature})", bound=site.inputs.axes, op=self
            )

    def _order(self, site: Site) -> tuple[ex.Group, ...]:
        """Returns the dimensions for torch: the merged batch, the merged channel, the others.

        The others are merged if there are more than three. They also are if one of them or the
        batch has size 1: there torch confuses two memory layouts on the CPU, and the gradient is
        wrong where it arrives permuted.
        """
        batch, channel = site.own_inputs[0]
        others = site.broadcast_axes.dims
        ambiguous = batch.numel == 1 or any(dim.size == 1 for dim in others)
        if len(others) > 3 or (len(others) > 1 and ambiguous):
            return (batch.dims, channel.dims, others)
        return (batch.dims, channel.dims, *ex.groups(site.broadcast_axes))

    def layer_call(self, site: Site) -> ex.Call:
        kind = max(1, len(self._order(site)) - 2)
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        more = {} if self.affine else {"affine": False}
        return ex.call(f"nn.BatchNorm{kind}d", ex.Size((site.own_inputs[0][1],)), **named, **more)

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        channel = Array((site.own_inputs[0][1],))
        learned = {"weight": constant_init(channel, 1), "bias": constant_init(channel, 0)}
        return {
            **(learned if self.affine else {}),
            "running_mean": constant_init(channel, 0, learned=False),
            "running_var": constant_init(channel, 1, learned=False),
            "num_batches_tracked": constant_init(Array(), 0, learned=False),
        }

    def torch_code(self, site: Site) -> tuple[ex.TorchExpr, ...]:
        given, order = ex.groups(site.inputs[0]), self._order(site)
        layer = ex.Layer((ex.rearrange(ex.Arg(0), given, order, exact=True),))
        return (ex.rearrange(layer, order, given, exact=True),)

    def description(self, site: Site) -> str:
        return f"batch norm {self.name}, each {site.own_inputs[0][1].name} over all the rest"

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        return super().tiling_rule(
            replace(site, own_inputs=site.inputs, own_outputs=site.outputs), axis
        )

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        channel = Array(site.own_inputs[0][1:])
        over = [axis.name for axis in site.inputs[0] if axis.name not in channel.names]
        x = write_standardised(steps, ins[0], over, self.eps)
        return (write_affine(steps, x, channel, True, channel) if self.affine else x,)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        norm = "F.batch_norm({}, None, None, w[0], w[1], True)"
        return (
            Sample(cls("b c"), "b:4 c:3", norm.format("a"), alone=True),
            Sample(cls("b c"), "b:2 c:3 x:2x3", norm.format("a"), alone=True),
            Sample(cls("b c"), "b:1 c:3 x:2x3", norm.format("a"), alone=True),
            Sample(
                cls("b c", affine=False),
                "b:4 c:3",
                "F.batch_norm(a, None, None, training=True)",
                alone=True,
            ),
            Sample(
                cls("b c"),
                "x:2 b:3 y:2 c:3",
                f"{norm.format('a.permute(1, 3, 0, 2)')}.permute(2, 0, 3, 1)",
                alone=True,
            ),
            Sample(
                cls("b c"),
                "b:2x2 c:3x2 p:2 q:3 r:2 s:2",
                f"{norm.format('a.reshape(4, 6, 24)')}.reshape(a.shape)",
                alone=True,
            ),
        )


@dataclass(frozen=True, repr=False, eq=False)
class LayerNorm(_Norm):
    """Normalises over its own axes, with the biased variance.

    Args:
        axes: The axes that it normalises over, such as ``"m"``.
        name: The name of the layer.
        eps: The number that is added to the variance.
        bias: Whether a learned bias is added.
        affine: Whether a learned weight, and that bias, follow at all.

    Raises:
        ParseError: For no axis.

    Source: Unit-testing notebook; ``torch.nn.LayerNorm``.

    >>> from ncd import Type
    >>> str(LayerNorm("m").infer_outputs(Type.parse("y:2 m:3")))
    'y m'
    """

    axes: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "norm")
    eps: float = term_field(SMALL_NUMBER, 1e-5)
    bias: bool = term_field(FLAG, True)
    affine: bool = term_field(FLAG, True)
    pattern_form: ClassVar[str] = "m+"

    def layer_call(self, site: Site) -> ex.Call:
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        more = {} if self.bias else {"bias": False}
        more = more if self.affine else {"elementwise_affine": False}
        return ex.call("nn.LayerNorm", _shape(site.own_inputs[0]), **named, **more)

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        weight = {"weight": constant_init(site.own_inputs[0], 1)}
        if not self.affine:
            return {}
        return {**weight, "bias": constant_init(site.own_inputs[0], 0)} if self.bias else weight

    def description(self, site: Site) -> str:
        return f"layer norm {self.name} over {site.own_inputs[0]}"

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        if axis not in self.axes.names:
            return super().tiling_rule(site, axis)
        return moments_tiling_rule(self.eps, True, self.affine, self.bias)

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        x = write_standardised(steps, ins[0], self.axes.names, self.eps)
        return (write_affine(steps, x, site.own_inputs[0], self.bias) if self.affine else x,)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("m"), "m:5", "F.layer_norm(a, (5,), w[0], w[1])"),
            Sample(cls("y m", "ln", 1e-3), "y:2 m:5", "F.layer_norm(a, (2, 5), w[0], w[1], 1e-3)"),
            Sample(cls("x", "ln", bias=False), "x:2x3", "F.layer_norm(a, (2, 3), w[0])"),
            Sample(cls("m", affine=False), "m:5", "F.layer_norm(a, (5,))"),
        )


@dataclass(frozen=True, repr=False, eq=False)
class RMSNorm(_Norm):
    """Divides by the root of the mean square over its own axes.

    Args:
        axes: The axes that it normalises over, such as ``"m"``.
        name: The name of the layer.
        eps: The number that is added to the mean square.

    Raises:
        ParseError: For no axis.

    Source: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization", section 3.

    >>> from ncd import Type
    >>> str(RMSNorm("m").infer_outputs(Type.parse("y:2 m:3")))
    'y m'
    """

    axes: ArrayField = term_field(ARRAY)
    name: str = term_field(NAME, "norm")
    eps: float = term_field(SMALL_NUMBER, 1e-6)
    mark: ClassVar[str] = "rms"
    pattern_form: ClassVar[str] = "m+"

    def layer_call(self, site: Site) -> ex.Call:
        return ex.call("nn.RMSNorm", _shape(site.own_inputs[0]), eps=self.eps)

    def initial_values(self, site: Site) -> Mapping[str, InitialValue]:
        return {"weight": constant_init(site.own_inputs[0], 1)}

    def latex(self, site: Site) -> str:
        return r"z = \gamma\,\frac{a}{\sqrt{\overline{a^2} + \epsilon}}"

    def description(self, site: Site) -> str:
        return f"root-mean-square norm {self.name} over {site.own_inputs[0]}"

    def tiling_rule(self, site: Site, axis: str) -> TilingRule:
        if axis not in self.axes.names:
            return super().tiling_rule(site, axis)
        return moments_tiling_rule(self.eps, centred=False, affine=True, bias=False)

    def written_out(self, site: Site, steps: TermBuilder, ins: Slots) -> tuple[ArrayHandle, ...]:
        x = write_standardised(steps, ins[0], self.axes.names, self.eps, centred=False)
        return (write_affine(steps, x, site.own_inputs[0], False),)

    @classmethod
    def examples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("m"), "m:5", "F.rms_norm(a, (5,), w[0], 1e-6)"),
            Sample(cls("y m", "rms", 1e-3), "y:2 m:5", "F.rms_norm(a, (2, 5), w[0], 1e-3)"),
        )


def _shape(array: Array) -> ex.TorchExpr:
    """Returns the sizes of the dimensions, in the form that torch's norms take."""
    sizes = [
        ex.Const(size) if axis.spatial else ex.Size((axis,))
        for axis in array
        for size in axis.shape
    ]
    return sizes[0] if len(sizes) == 1 else ex.Tuple(tuple(sizes))
