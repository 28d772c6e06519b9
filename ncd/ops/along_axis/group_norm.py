"""Group norm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ncd.lang.errors import MismatchError, SizeError
from ncd.lang.formulas import expr as ex
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import ARRAY, NAME, SMALL, ArrayField, spelled, whole
from ncd.lang.terms.op import Initial, Op, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.lang.types.axes import Array, Axis, Signature, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.along_axis.standardised import affine, standardised
from ncd.ops.linear_maps.weight_init import apart, filled
from ncd.ops.structure.axis_places import on_own
from ncd.ops.structure.reshape import Group, Split


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

    >>> from ncd.lang.types.axes import Type
    >>> str(GroupNorm("c x", groups=2).lift(Type.parse("b:2 c:4 x:3x3")))
    'b c x'
    """

    axes: ArrayField = spelled(ARRAY)
    name: str = spelled(NAME, "norm")
    groups: int = spelled(whole(1), 1)
    eps: float = spelled(SMALL, 1e-5)
    role: ClassVar[str] = "activate"
    in_place: ClassVar[bool] = True
    form: ClassVar[str] = "c x+"
    backward: ClassVar[Mapping[str, str]] = {
        "NativeGroupNorm": "With x̂ the normalised numbers of a group and g = G · γ: "
        "∇x = (g − mean(g) − x̂ · mean(g · x̂)) / σ, ∇γ is the sum of G · x̂, and ∇β that of G.",
    }

    def check(self, binding: Binding) -> None:
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

    def layer(self, site: Site) -> ex.Call:
        named = {} if self.eps == 1e-5 else {"eps": self.eps}
        return ex.call("nn.GroupNorm", self.groups, ex.Size((site.dom[0][0],)), **named)

    def initial(self, site: Site) -> Mapping[str, Initial]:
        channel = Array((site.dom[0][0],))
        return {"weight": filled(channel, 1), "bias": filled(channel, 0)}

    def torch(self, site: Site) -> tuple[ex.Expr, ...]:
        given, (channel, *places) = ex.groups(site.ins[0]), site.dom[0]
        order = (site.rest.dims, channel.dims, *ex.groups(Array(places)))
        layer = ex.Layer((ex.arranged(ex.Arg(0), given, order),))
        return (ex.arranged(layer, order, given),)

    def glyph(self, site: Site) -> Glyph:
        return on_own(site, "barred", keep=self.axes.names)

    def formula(self, site: Site) -> str:
        return r"z = \gamma_c\,\frac{a - \mu_g}{\sqrt{\sigma_g^2 + \epsilon}} + \beta_c"

    def words(self, site: Site) -> str:
        groups = f"{self.groups} group{'s' * (self.groups > 1)}"
        places = " ".join(self.axes.names[1:])
        return f"group norm {self.name}: {groups} of {self.axes.names[0]}, each over all {places}"

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        channel, *places = site.dom[0]
        sizes = (self.groups, channel.numel // self.groups)
        pair = (Axis("group", sizes[0]), Axis("member", sizes[1]))
        groups, members = apart(Array(pair), tuple(site.every))
        parts = Signature(Type((Array((channel,)),)), Type((Array((groups, members)),)))
        (x,) = steps.call(Split(parts), ins[0])
        over = (members.name, *(axis.name for axis in places))
        x = standardised(steps, x, over, self.eps)
        (x,) = steps.call(Group(Signature(parts.cod, parts.dom)), x)
        x = steps.product((x,), site.outs[0])
        return (affine(steps, x, Array((channel,)), True),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
        return (
            Sample(cls("c x", "norm", 2), "c:4 x:5", "F.group_norm(a[None], 2, w[0], w[1])[0]"),
            Sample(cls("c x", "g", 1, 1e-3), "c:3 x:2x3", "F.group_norm(a[None], 1, *w, 1e-3)[0]"),
            Sample(cls("c y x", "norm", 3), "c:6 y:2 x:4", "F.group_norm(a[None], 3, *w)[0]"),
        )
