"""Learned linear and affine maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from ncd.axes import Array, Axis, Signature, Type
from ncd.op import Op, Site
from ncd.ops.places import at_end, code_at_end, named_sizes, over, own_ports, text
from ncd.ops.reshape import Group, Split
from ncd.ops.spec import REARRANGE, Code, Glyph, Mark, Run
from ncd.terms import Term


@dataclass(frozen=True, repr=False)
class Linear(Op):
    """A learned linear map over all axes on the left at once, to all axes on the right.

    With ``bias`` it is affine (drawn L₊). Notebook, figures 19 and 21.

    >>> str((Linear("m:8 -> k:4 h:2", "Q")).lift(Linear("m:8 -> m", "X").dom))
    'k h'
    """

    pattern: Signature
    name: str = "L"
    bias: bool = False
    role: ClassVar[str] = "linear"
    form: ClassVar[str] = "m* -> k*"

    @property
    def signature(self) -> Signature:
        return self.pattern

    def layer(self, site: Site) -> nn.Module:
        return nn.Linear(site.dom[0].numel, site.cod[0].numel, bias=self.bias, device="meta")

    def run(self, site: Site) -> Run:
        own, new = site.dom[0], site.cod[0]
        dims, shape = len(own.shape), new.shape

        def function(layer: nn.Linear, x: Tensor) -> Tensor:
            x = x.flatten(-dims) if dims > 1 else x if dims else x.unsqueeze(-1)
            x = layer(x)  # (…, all axes on the right as one)
            return x if len(shape) == 1 else x.unflatten(-1, shape) if shape else x.squeeze(-1)

        return at_end(site, function)

    def glyph(self, site: Site) -> Glyph:
        plus = "_+" if self.bias else ""
        mark = Mark(
            "letter",
            f"L{plus}^{{{self.name}}}" if len(self.name) == 1 and self.name != "L" else f"L{plus}",
            ins=own_ports(site.ins, site.dom),
            outs=own_ports(site.outs, site.cod),
        )
        return over(site, mark)

    def code(self, site: Site) -> Code:
        own, new = site.dom[0], site.cod[0]
        expression, imports = "{0}", []
        if not own:
            expression = "{0}[..., None]"
        elif len(own.shape) > 1:
            expression = f'rearrange({expression}, "... {text(own)} -> ... ({text(own)})")'
            imports.append(REARRANGE)
        expression = f"{{layer}}({expression})"
        if not new:
            expression += "[..., 0]"
        elif len(new.shape) > 1:
            shape = f'"... ({text(new)}) -> ... {text(new)}", {named_sizes(new)}'
            expression = f"rearrange({expression}, {shape})"
            imports.append(REARRANGE)
        bias = "" if self.bias else ", bias=False"
        layer = f"nn.Linear({_product(own)}, {_product(new)}{bias})"
        out = self.name.lower() if self.name in tuple("QKV") else "x"
        return code_at_end(site, Code(expression, layer, out, tuple(imports)))

    def flops(self, site: Site) -> int:
        (array,), (own,), (new,) = site.ins, site.dom, site.cod
        return 2 * (array.numel // own.numel) * own.numel * new.numel

    def formula(self, site: Site) -> str:
        bias = " + b" if self.bias else ""
        axes = r"\,".join(a.identifier.replace("_", "") for a in site.dom[0])
        new = r"\,".join(a.identifier.replace("_", "") for a in site.cod[0])
        return rf"z_{{{new}}} = \sum_{{{axes}}} W_{{{new},\,{axes}}}\, x_{{{axes}}}{bias}"

    def words(self, site: Site) -> str:
        kind = "affine" if self.bias else "linear"
        return f"learned {kind} map {self.name}, {site.dom} to {site.cod}"

    def expansion(self, site: Site) -> Term | None:
        """A map of several axes: they are read as one, mapped, and read as several again."""
        (own,), (new,) = site.dom, site.cod
        if not (own and new) or len(own) == len(new) == 1:
            return None
        before, after = _joined(own), _joined(new)
        term: Term = Linear(Signature(Type((before,)), Type((after,))), self.name, self.bias)
        if len(own) > 1:
            term = Group(Signature(site.dom, Type((before,)))) >> term
        return term >> Split(Signature(Type((after,)), site.cod)) if len(new) > 1 else term


def _product(array: Array) -> str:
    """The number of features as the source writes it: ``k * h``, from the sizes of the class."""
    return " * ".join(n for a in array for n in _sizes(a)) or "1"


def _sizes(axis: Axis) -> tuple[str, ...]:
    return tuple(map(str, axis.shape)) if axis.spatial else (axis.identifier,)


def _joined(array: Array) -> Array:
    """The axis that several are read as: ``k h`` as ``kh``."""
    name = "".join(axis.identifier for axis in array)
    return array if len(array) == 1 else Array((Axis(name, array.numel),))
