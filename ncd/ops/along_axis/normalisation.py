"""Batch norm, layer norm and root-mean-square norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from ncd.lang.errors import SizeError
from ncd.lang.formulas import expr as ex
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import ARRAY, FLAG, NAME, SMALL, ArrayField, spelled
from ncd.lang.terms.op import Initial, Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.terms.streaming import Streamed
from ncd.lang.types.axes import Array
from ncd.ops.along_axis.standardised import affine, standardised, streamed_moments
from ncd.ops.linear_maps.weight_init import filled
from ncd.ops.structure.axis_places import at_end, on_own


class _Norm(Op):
    """The base of the norms, which keep all axes in place."""

    role: ClassVar[str] = "activate"
    in_place: ClassVar[bool] = True
    mark: ClassVar[str] = "barred"
    axes: Array
    eps: float

    def torch(self, site: Site) -> tuple[ex.Expr, ...]:
        return at_end(site, lambda x, rest: ex.Layer((x,)))

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, self.mark, keep=self.axes.names)

    def formula(self, site: Site) -> str:
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

    >>> from ncd.lang.types.axes import Type
    >>> str(BatchNorm("b n").lift(Type.parse("b:2 n:3 x:4x4")))
    'b n x'
    """

    axes: ArrayField = spelled(ARRAY)
    name: str = spelled(NAME, "norm")
    eps: float = spelled(SMALL, 1e-5)
    affine: bool = spelled(FLAG, True)
    mark: ClassVar[str] = "circle"
    form: ClassVar[str] = "b c"

    def check_numbers(self, site: Site) -> None:
        if any(axis.size is None for axis in site.axes):
            return
        batch, channel = site.dom[0]
        if site.ins[0].numel == channel.numel:
            raise SizeError(
                f"it normalises over all but {channel.name}, and that is one number",
                cure=f"{batch.name} = 2",
                axis=batch.name,
                nearest=2,
            ).at(where=f"{self.label} ({self.signature})", bound=site.ins.axes, op=self)

    def _order(self, site: Site) -> tuple[ex.Group, ...]:
        """Returns the dimensions for torch: the merged batch, the merged channel, the others.

        The others are merged if there are more than three. They also are if one of them or the
        batch has size 1: there torch confuses two memory layouts on the CPU, and the gradient is
        wrong where it arrives permuted.
        """
        batch, channel = site.dom[0]
        others = site.rest.dims
        ambiguous = batch.numel == 1 or any(dim.size == 1 for dim in others)
        if len(others) > 3 or (len(others) > 1 and ambiguous):
            return (batch.dims, channel.dims, others)
        return (batch.dims, channel.dims, *ex.groups(site.rest))

    def layer(self, site: Site) -> ex.Call:
        kind = max(1, len(self._order(site)) - 2)
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        more = {} if self.affine else {"affine": False}
        return ex.call(f"nn.BatchNorm{kind}d", ex.Size((site.dom[0][1],)), **named, **more)

    def initial(self, site: Site) -> Mapping[str, Initial]:
        channel = Array((site.dom[0][1],))
        learned = {"weight": filled(channel, 1), "bias": filled(channel, 0)}
        return {
            **(learned if self.affine else {}),
            "running_mean": filled(channel, 0, learned=False),
            "running_var": filled(channel, 1, learned=False),
            "num_batches_tracked": filled(Array(), 0, learned=False),
        }

    def torch(self, site: Site) -> tuple[ex.Expr, ...]:
        given, order = ex.groups(site.ins[0]), self._order(site)
        layer = ex.Layer((ex.arranged(ex.Arg(0), given, order),))
        return (ex.arranged(layer, order, given),)

    def words(self, site: Site) -> str:
        return f"batch norm {self.name}, each {site.dom[0][1].name} over all the rest"

    def streamed(self, site: Site, axis: str) -> Streamed:
        return super().streamed(replace(site, dom=site.ins, cod=site.outs), axis)

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        channel = Array(site.dom[0][1:])
        over = [axis.name for axis in site.ins[0] if axis.name not in channel.names]
        x = standardised(steps, ins[0], over, self.eps)
        return (affine(steps, x, channel, True, channel) if self.affine else x,)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
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

    >>> from ncd.lang.types.axes import Type
    >>> str(LayerNorm("m").lift(Type.parse("y:2 m:3")))
    'y m'
    """

    axes: ArrayField = spelled(ARRAY)
    name: str = spelled(NAME, "norm")
    eps: float = spelled(SMALL, 1e-5)
    bias: bool = spelled(FLAG, True)
    affine: bool = spelled(FLAG, True)
    form: ClassVar[str] = "m+"

    def layer(self, site: Site) -> ex.Call:
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        more = {} if self.bias else {"bias": False}
        more = more if self.affine else {"elementwise_affine": False}
        return ex.call("nn.LayerNorm", _shape(site.dom[0]), **named, **more)

    def initial(self, site: Site) -> Mapping[str, Initial]:
        weight = {"weight": filled(site.dom[0], 1)}
        if not self.affine:
            return {}
        return {**weight, "bias": filled(site.dom[0], 0)} if self.bias else weight

    def words(self, site: Site) -> str:
        return f"layer norm {self.name} over {site.dom[0]}"

    def streamed(self, site: Site, axis: str) -> Streamed:
        if axis not in self.axes.names:
            return super().streamed(site, axis)
        return streamed_moments(self.eps, True, self.affine, self.bias)

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        x = standardised(steps, ins[0], self.axes.names, self.eps)
        return (affine(steps, x, site.dom[0], self.bias) if self.affine else x,)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
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

    >>> from ncd.lang.types.axes import Type
    >>> str(RMSNorm("m").lift(Type.parse("y:2 m:3")))
    'y m'
    """

    axes: ArrayField = spelled(ARRAY)
    name: str = spelled(NAME, "norm")
    eps: float = spelled(SMALL, 1e-6)
    mark: ClassVar[str] = "rms"
    form: ClassVar[str] = "m+"

    def layer(self, site: Site) -> ex.Call:
        return ex.call("nn.RMSNorm", _shape(site.dom[0]), eps=self.eps)

    def initial(self, site: Site) -> Mapping[str, Initial]:
        return {"weight": filled(site.dom[0], 1)}

    def formula(self, site: Site) -> str:
        return r"z = \gamma\,\frac{a}{\sqrt{\overline{a^2} + \epsilon}}"

    def words(self, site: Site) -> str:
        return f"root-mean-square norm {self.name} over {site.dom[0]}"

    def streamed(self, site: Site, axis: str) -> Streamed:
        if axis not in self.axes.names:
            return super().streamed(site, axis)
        return streamed_moments(self.eps, centred=False, affine=True, bias=False)

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        x = standardised(steps, ins[0], self.axes.names, self.eps, centred=False)
        return (affine(steps, x, site.dom[0], False),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("m"), "m:5", "F.rms_norm(a, (5,), w[0], 1e-6)"),
            Sample(cls("y m", "rms", 1e-3), "y:2 m:5", "F.rms_norm(a, (2, 5), w[0], 1e-3)"),
        )


def _shape(array: Array) -> ex.Expr:
    """Returns the sizes of the dimensions, in the form that torch's norms take."""
    sizes = [
        ex.Const(size) if axis.spatial else ex.Size((axis,))
        for axis in array
        for size in axis.shape
    ]
    return sizes[0] if len(sizes) == 1 else ex.Tuple(tuple(sizes))
