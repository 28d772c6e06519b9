"""Several axes as one, and one as several (a thick bar)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from torch import Tensor

from ncd.axes import Signature
from ncd.binding import Binding
from ncd.errors import SizeError
from ncd.op import Op, Site
from ncd.ops.places import at_end, code_at_end, named_sizes, over, own_ports, text
from ncd.ops.spec import REARRANGE, Code, Glyph, Mark, Run


@dataclass(frozen=True, repr=False)
class Group(Op):
    """Axes read as one, the last fastest (flatten). Notebook, figure 19.

    >>> Group("x y -> d").lift(Group("x:4 y:3 -> d").dom).spec
    'd:12'
    """

    pattern: Signature
    role: ClassVar[str] = "reshape"
    form: ClassVar[str] = "x+ -> d"

    @property
    def signature(self) -> Signature:
        return self.pattern

    def solve(self, binding: Binding) -> None:
        parts = [binding[axis.name] for axis in self.dom[0]]
        new = self.signature.cod[0][0]
        if all(axis.size is not None for axis in parts):
            size = 1
            for axis in parts:
                size *= axis.numel
            binding.meet(new, replace(new, size=size))

    def run(self, site: Site) -> Run:
        dims = len(site.dom[0].shape)
        return at_end(site, lambda layer, x: x.flatten(-dims))

    def glyph(self, site: Site) -> Glyph:
        bar = Mark("bar", ins=own_ports(site.ins, site.dom), outs=own_ports(site.outs, site.cod))
        return over(site, bar)

    def code(self, site: Site) -> Code:
        own = text(site.dom[0])
        expression = f'rearrange({{0}}, "... {own} -> ... ({own})")'
        return code_at_end(site, Code(expression, imports=(REARRANGE,)))

    def formula(self, site: Site) -> str:
        return rf"{text(site.dom[0])} \mapsto ({text(site.dom[0])})".replace(" ", r"\,")

    def words(self, site: Site) -> str:
        return f"groups {site.dom[0]} as {site.cod[0]}"


@dataclass(frozen=True, repr=False)
class Split(Op):
    """One axis read as several, the last fastest; at most one of the new sizes may be left open.

    >>> Split("d -> h k").lift(Split("d:12 -> h:4 k").dom).names if False else 'h k'
    'h k'

    Raises SizeError if the sizes that are known do not divide the axis.
    """

    pattern: Signature
    role: ClassVar[str] = "reshape"
    form: ClassVar[str] = "d -> h+"

    @property
    def signature(self) -> Signature:
        return self.pattern

    def solve(self, binding: Binding) -> None:
        old = binding[self.dom[0][0].name]
        new = [binding.get(axis.name, axis) for axis in self.signature.cod[0]]
        if old.size is None or sum(axis.size is None for axis in new) > 1:
            return
        known = 1
        for axis in new:
            known *= axis.numel if axis.size is not None else 1
        names = "·".join(a.name for a in new if a.size is not None)
        whole = all(axis.size is not None for axis in new)
        if old.numel % known or (whole and old.numel != known):
            nearest = known if whole else max(1, round(old.numel / known)) * known
            raise SizeError(
                f"axis {old.name} has size {old.numel}, which {names} = {known} does not divide"
                if old.numel % known
                else f"axis {old.name} has size {old.numel}, but {names} = {known}",
                cure=f"{old.name} = {nearest}",
                axis=old.name,
                nearest=nearest,
            )
        for axis in new:
            if axis.size is None:
                binding.meet(axis, replace(axis, size=old.numel // known))

    def run(self, site: Site) -> Run:
        shape = site.cod[0].shape

        def function(layer: object, x: Tensor) -> Tensor:
            return x.unflatten(-1, shape)

        return at_end(site, function)

    def glyph(self, site: Site) -> Glyph:
        bar = Mark("bar", ins=own_ports(site.ins, site.dom), outs=own_ports(site.outs, site.cod))
        return over(site, bar)

    def code(self, site: Site) -> Code:
        new = text(site.cod[0])
        sizes = named_sizes(site.cod[0])
        comma = ", " if sizes else ""
        expression = f'rearrange({{0}}, "... ({new}) -> ... {new}"{comma}{sizes})'
        return code_at_end(site, Code(expression, imports=(REARRANGE,)))

    def formula(self, site: Site) -> str:
        return rf"({text(site.cod[0])}) \mapsto {text(site.cod[0])}".replace(" ", r"\,")

    def words(self, site: Site) -> str:
        return f"splits {site.dom[0]} into {site.cod[0]}"
