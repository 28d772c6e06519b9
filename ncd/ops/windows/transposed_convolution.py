"""Transposed convolution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from ncd.lang.errors import SizeError
from ncd.lang.formulas.expr import Call
from ncd.lang.glyph import Glyph
from ncd.lang.terms.field_spelling import FLAG, NAME, SIGNATURE, SignatureField, spelled
from ncd.lang.terms.op import Initial, Sample, Site
from ncd.lang.terms.step_writer import Slot, Slots, StepWriter
from ncd.ops.windows.convolution import Learned
from ncd.ops.windows.convolution_steps import transposed
from ncd.ops.windows.window_shapes import Sides, side, sides, spread


@dataclass(frozen=True, repr=False, eq=False)
class ConvTranspose(Learned):
    """A transposed convolution (``torch.nn.ConvTranspose2d``); drawn as a trapezoid marked T.

    Args:
        pattern: Channels and positions, such as ``"c x -> d y"``.
        name: The name of the layer.
        kernel: The length of the window along every dimension, or along each: ``(3, 1)``.
        stride: The step of the window in the output, or one for each dimension.
        padding: The number of positions that are cut off at each end.
        bias: Whether a learned bias is added.

    Raises:
        SizeError: If the padding leaves no position, or no input has the size of the output.

    Source: Notebook, figures 27 and 28.

    >>> from ncd.lang.types.axes import Type
    >>> up = ConvTranspose("c x -> d:8 y", kernel=2, stride=2)
    >>> up.lift(Type.parse("c:3 x:16x16")).spec
    'd:8 y:32x32'
    """

    pattern: SignatureField = spelled(SIGNATURE)
    name: str = spelled(NAME, "up")
    kernel: Sides = spelled(sides(1), 2)
    stride: Sides = spelled(sides(1), 2)
    padding: Sides = spelled(sides(), 0)
    bias: bool = spelled(FLAG, True)
    form: ClassVar[str] = "c+ x -> d+ y"

    def least(self, i: int) -> int:
        over = side(self.kernel, i) - 2 * side(self.pad, i) - 1
        return 1 + max(0, -(over // side(self.stride, i)))

    def result(self, size: int, i: int) -> int:
        steps = (size - 1) * side(self.stride, i)
        return steps - 2 * side(self.padding, i) + side(self.kernel, i)

    def source(self, size: int, i: int) -> int | None:
        over = size - side(self.kernel, i) + 2 * side(self.padding, i)
        steps, left = divmod(over, side(self.stride, i))
        if left or steps < 0:
            y = self.places[1].name
            nearest = self.result(max(self.least(i), steps + 1), i)
            raise SizeError(
                f"axis {y} has size {size}, which no transposed window gives",
                cure=f"{y} = {nearest}",
                axis=y,
                nearest=nearest,
            )
        return steps + 1

    def layer(self, site: Site) -> Call:
        named = {"stride": self.stride, "padding": self.padding}
        return self._layer(site, "ConvTranspose", named)

    def initial(self, site: Site) -> Mapping[str, Initial]:
        return self._weights(site, *self.channels(site))

    def glyph(self, site: Site) -> Glyph:
        return self.trapezoid(site, *self.sign("up"), turned="T")

    def flops(self, site: Site) -> int:
        window = prod(spread(self.kernel, self.flat(site)))
        return 2 * site.rest.numel * site.dom[0].numel * self.channels(site)[1].numel * window

    def formula(self, site: Site) -> str:
        return r"z_{d,\;s x + j - p} \mathrel{+}= W_{c,d,j}\; a_{c,x} \quad\text{for all } c, x, j"

    def words(self, site: Site) -> str:
        return f"transposed convolution {self.name}, {self.setting}: {site.dom} to {site.cod}"

    def written_out(self, site: Site, steps: StepWriter, ins: Slots) -> tuple[Slot, ...]:
        return (transposed(self, site, steps, ins[0]),)

    @classmethod
    def samples(cls) -> tuple[Sample, ...]:
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
        )
