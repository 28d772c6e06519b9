"""Normalisation: batch norm and layer norm."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from einops import rearrange
from torch import Tensor, nn

from ncd.axes import Array, Signature, Type
from ncd.errors import SizeError
from ncd.op import Op, Site
from ncd.ops.places import at_end, code_at_end, over, own_ports, text
from ncd.ops.spec import REARRANGE, Code, Glyph, Mark, Run


@dataclass(frozen=True, repr=False)
class BatchNorm(Op):
    """Normalises each channel over the batch and the places (a circle that the batch touches).

    Notebook, figure 26: ``BatchNorm("b n")``. The compiled layer is in training mode and
    normalises with the statistics of the batch it is given.

    >>> str(BatchNorm("b n").lift(Type.parse("b:2 n:3 x:4x4")))
    'b n x'

    Raises SizeError when a channel has one number only: there is nothing to normalise over.
    """

    axes: Array
    name: str = "norm"
    role: ClassVar[str] = "activate"
    form: ClassVar[str] = "b c"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((self.axes,)))

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        site = replace(site, outs=site.ins)  # the axes stay where they are
        if any(axis.size is None for axis in site.axes):
            return site
        channel = site.dom[0][-1]
        if site.ins[0].numel == channel.numel:
            batch = site.dom[0][0].name
            raise SizeError(
                f"it normalises over all but {channel.name}, and that is one number",
                where=self.label,
                bound=site.axes,
                cure=f"{batch} = 2",
                axis=batch,
                nearest=2,
            ).at(op=self)
        return site

    def layer(self, site: Site) -> nn.Module:
        count = site.dom[0][-1].numel
        kinds = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}
        return kinds[self._places(site)](count, device="meta")

    def _places(self, site: Site) -> int:
        return len(site.ins[0].shape) - len(site.dom[0].shape)

    def _order(self, site: Site) -> Array:
        """The array as torch's batch norm wants it: batch, channel, places."""
        own = site.dom[0]
        return Array((*own, *(a for a in site.ins[0] if a.name not in own.names)))

    def run(self, site: Site) -> Run:
        array, order, dims = site.ins[0], self._order(site), len(site.ins[0].shape)
        there = f"... {text(array)} -> ... {text(order)}"
        again = f"... {text(order)} -> ... {text(array)}"

        def function(layer: nn.Module, x: Tensor) -> Tensor:
            lead = x.shape[: x.dim() - dims]
            if lead:  # a batch in front of the arrays joins the batch that is normalised over
                batch = x.flatten(0, len(lead))
                return layer(batch).unflatten(0, (*lead, x.shape[len(lead)]))
            return layer(x)

        if array == order:
            return lambda layer, xs: (function(layer, xs[0]),)  # type: ignore[arg-type]
        return lambda layer, xs: (
            rearrange(function(layer, rearrange(xs[0], there)), again),  # type: ignore[arg-type]
        )

    def glyph(self, site: Site) -> Glyph:
        own = own_ports(site.ins, site.dom)
        return over(site, Mark("circle", ins=own, outs=own), keep=self.axes.names)

    def code(self, site: Site) -> Code:
        kind = self.layer(site).__class__.__name__
        layer = f"nn.{kind}({site.dom[0][-1].identifier})"
        array, order = site.ins[0], self._order(site)
        if array == order:
            return Code("{layer}({0})", layer)
        inner = f'{{layer}}(rearrange({{0}}, "{text(array)} -> {text(order)}"))'
        again = f'"{text(order)} -> {text(array)}"'
        return Code(f"rearrange({inner}, {again})", layer, imports=(REARRANGE,))

    def formula(self, site: Site) -> str:
        return r"z = \gamma\,\frac{a - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"

    def words(self, site: Site) -> str:
        return f"batch norm {self.name}, each {site.dom[0][-1].name} over all the rest"


@dataclass(frozen=True, repr=False)
class LayerNorm(Op):
    """Normalises over an array's own axes, with the biased variance. Unit-testing notebook.

    >>> str(LayerNorm("m").lift(Type.parse("y:2 m:3")))
    'y m'
    """

    axes: Array
    name: str = "norm"
    role: ClassVar[str] = "activate"
    form: ClassVar[str] = "m+"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((self.axes,)))

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        return replace(site, outs=site.ins)  # the axes stay where they are

    def layer(self, site: Site) -> nn.Module:
        return nn.LayerNorm(list(site.dom[0].shape), device="meta")

    def run(self, site: Site) -> Run:
        return at_end(site, lambda layer, x: layer(x))

    def glyph(self, site: Site) -> Glyph:
        own = own_ports(site.ins, site.dom)
        return over(site, Mark("circle", ins=own, outs=own), keep=self.axes.names)

    def code(self, site: Site) -> Code:
        names = ", ".join(site.dom[0].identifiers)
        shape = names if len(site.dom[0].shape) == 1 else f"({names})"
        if any(axis.spatial for axis in site.dom[0]):
            shape = str(site.dom[0].shape)
        return code_at_end(site, Code("{layer}({0})", f"nn.LayerNorm({shape})"))

    def formula(self, site: Site) -> str:
        return r"z = \gamma\,\frac{a - \mu}{\sqrt{\sigma^2 + \epsilon}} + \beta"

    def words(self, site: Site) -> str:
        return f"layer norm {self.name} over {site.dom[0]}"
