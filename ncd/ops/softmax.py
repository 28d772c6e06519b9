"""Softmax, and the mask that goes before it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from torch import Tensor

from ncd.axes import Array, Signature, Type
from ncd.op import Op, Site
from ncd.ops.places import over, own_ports
from ncd.ops.spec import Code, Glyph, Mark, Run


@dataclass(frozen=True, repr=False)
class Softmax(Op):
    """Positive weights that sum to 1 along one axis (a triangle in the wire). Notebook, figure 20.

    >>> str(Softmax("x").cod)
    'x'
    """

    axis: Array
    out: str = "weights"
    role: ClassVar[str] = "softmax"
    form: ClassVar[str] = "x"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axis,)), Type((self.axis,)))

    def run(self, site: Site) -> Run:
        dims = site.ins[0].dims(self.axis[0].name)
        if len(dims) == 1:
            return lambda layer, xs: (xs[0].softmax(dims[0]),)
        return lambda layer, xs: (_spatial(xs[0], dims),)

    def glyph(self, site: Site) -> Glyph:
        own = own_ports(site.ins, site.dom)
        return over(site, Mark("triangle", ins=own, outs=own), keep=self.axis.names)

    def code(self, site: Site) -> Code:
        dims = site.ins[0].dims(self.axis[0].name)
        if len(dims) == 1:
            return Code(f"{{0}}.softmax({dims[0]})", out=self.out)
        flat = f"{{0}}.flatten({dims[0]}, {dims[-1]}).softmax({dims[-1]})"
        return Code(f"{flat}.view_as({{0}})", out=self.out)

    def formula(self, site: Site) -> str:
        x = self.axis[0].identifier
        return rf"z_{{{x}}} = e^{{a_{{{x}}}}} \Big/ \sum_{{{x}'}} e^{{a_{{{x}'}}}}"

    def words(self, site: Site) -> str:
        return f"softmax along {self.axis}: the weights sum to 1 over {self.axis}"


def _spatial(x: Tensor, dims: tuple[int, ...]) -> Tensor:
    return x.flatten(dims[0], dims[-1]).softmax(dims[-1]).view_as(x)


@dataclass(frozen=True, repr=False)
class CausalMask(Op):
    """Sets to −∞ every score of a position that comes later than the one that asks.

    ``CausalMask("y x")``: query y sees keys x ≤ y, as ``is_causal`` of torch's
    ``scaled_dot_product_attention``. Unit-testing notebook, "Make a masked attention".

    >>> str(CausalMask("y x").cod)
    'y x'
    """

    axes: Array
    role: ClassVar[str] = "mask"
    form: ClassVar[str] = "y x"

    @property
    def signature(self) -> Signature:
        return Signature(Type((self.axes,)), Type((self.axes,)))

    def site(self, inputs: Type) -> Site:
        site = super().site(inputs)
        return replace(site, outs=site.ins)  # the axes stay where they are

    def _shape(self, site: Site) -> tuple[int, ...]:
        array, (y, x) = site.ins[0], self.axes.names
        return tuple(n if axis.name in (y, x) else 1 for axis in array for n in axis.shape)

    def run(self, site: Site) -> Run:
        y, x = (axis.numel for axis in site.dom[0])
        shape = self._shape(site)

        def function(scores: Tensor) -> Tensor:
            later = torch.ones(y, x, dtype=torch.bool, device=scores.device).triu(1)
            return scores.masked_fill(later.view(shape), float("-inf"))

        return lambda layer, xs: (function(xs[0]),)

    def glyph(self, site: Site) -> Glyph:
        own = own_ports(site.ins, site.dom)
        y, x = self.axes.names
        return over(site, Mark("box", f"{x}≤{y}", ins=own, outs=own), keep=self.axes.names)

    def code(self, site: Site) -> Code:
        names = tuple(axis.name for axis in site.ins[0] for _ in axis.shape)
        names = names[names.index(self.axes[0].name) :]
        ones = f"torch.ones_like({{0}}{self._index(names, '0')}, dtype=torch.bool)"
        later = f"{ones}.triu(1){self._index(names, 'None')}"
        return Code(f'{{0}}.masked_fill({later}, float("-inf"))')

    def _index(self, names: tuple[str, ...], other: str) -> str:
        """The index that leaves y and x, and puts ``other`` for an axis between or after them."""
        places = [":" if name in self.axes.names else other for name in names]
        while places and places[0] == ":":
            places.pop(0)
        return f"[..., {', '.join(places)}]" if places else ""

    def formula(self, site: Site) -> str:
        y, x = (axis.identifier for axis in self.axes)
        return rf"z_{{{y}{x}}} = a_{{{y}{x}}} \text{{ if }} {x} \le {y}, \text{{ else }} -\infty"

    def words(self, site: Site) -> str:
        y, x = self.axes.names
        return f"causal mask: position {y} sees only {x} up to itself"
