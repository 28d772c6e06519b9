"""Where an op's own axes lie in the arrays around it; shared by the families of ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from einops import rearrange
from torch import Tensor

from ncd.axes import Array
from ncd.op import Site
from ncd.ops.spec import REARRANGE, Code, Glyph, Mark, Run


def text(array: Array) -> str:
    """The array in einops' words: ``Array.parse("x:4x4 c:3")`` is ``x_h x_w c``."""
    return " ".join(array.identifiers)


def named_sizes(array: Array) -> str:
    """The sizes that einops must be told to take these axes apart, all but the first.

    ``k=self.k``, for the class stores its sizes; numbers for a spatial group.
    """
    pairs = [
        (name, str(size) if axis.spatial else f"self.{name}")
        for axis in array
        for name, size in zip(axis.identifiers, axis.shape, strict=True)
    ]
    return ", ".join(f"{name}={size}" for name, size in pairs[1:])


def rest(array: Array, own: Array) -> Array:
    """The axes that are broadcast over."""
    return Array(axis for axis in array if axis.name not in own.names)


def last(array: Array, own: Array) -> bool:
    """Whether ``own`` are the last axes of ``array``, so that nothing need be moved."""
    return array.names[len(array) - len(own) :] == own.names


def pattern(array: Array, own: Array) -> str:
    """The einops pattern that moves an op's own axes to the end."""
    return f"... {text(array)} -> ... {text(Array((*rest(array, own), *own)))}"


def back(array: Array, own: Array) -> str:
    """The einops pattern that moves them from the end to where they belong."""
    return f"... {text(Array((*rest(array, own), *own)))} -> ... {text(array)}"


def at_end(site: Site, function: Callable[[Any, Tensor], Tensor]) -> Run:
    """Runs a function of the layer and a tensor on the last axes, wherever the site has them."""
    (array,), (own,), (out,), (new,) = site.ins, site.dom, site.outs, site.cod
    if last(array, own) and last(out, new):
        return lambda layer, xs: (function(layer, xs[0]),)
    there, again = pattern(array, own), back(out, new)
    return lambda layer, xs: (rearrange(function(layer, rearrange(xs[0], there)), again),)


def code_at_end(site: Site, code: Code) -> Code:
    """The source of :func:`at_end`."""
    (array,), (own,), (out,), (new,) = site.ins, site.dom, site.outs, site.cod
    if last(array, own) and last(out, new):
        return code
    inner = code.expression.replace("{0}", f'rearrange({{0}}, "{pattern(array, own)}")')
    return Code(
        f'rearrange({inner}, "{back(out, new)}")',
        code.layer,
        code.out,
        (*code.imports, REARRANGE),
    )


def ports(arrays: tuple[Array, ...]) -> list[tuple[int, int, str]]:
    """Every wire of some arrays: its port, the number of its array, the name of its axis."""
    wires = [(k, axis.name) for k, array in enumerate(arrays) for axis in array]
    return [(port, k, name) for port, (k, name) in enumerate(wires)]


def over(site: Site, *marks: Mark, keep: tuple[str, ...] = ()) -> Glyph:
    """A glyph whose broadcast wires go straight on; so do the op's own axes named in ``keep``."""
    ins, outs = ports(site.ins), ports(site.outs)
    own_in = {name for array in site.dom for name in array.names} - set(keep)
    own_out = {name for array in site.cod for name in array.names} - set(keep)
    targets = {name: port for port, _, name in outs if name not in own_out}
    through = tuple((p, targets[n]) for p, _, n in ins if n not in own_in and n in targets)
    return Glyph(through=through, marks=marks)


def own_ports(arrays: tuple[Array, ...], own: tuple[Array, ...]) -> tuple[int, ...]:
    """The ports of an op's own axes."""
    return tuple(port for port, k, name in ports(arrays) if name in own[k].names)
