"""Convolutions in simpler ops: windows, products with the weights, and sums of windows."""

from __future__ import annotations

from typing import Protocol

from ncd.lang.terms.op import Site
from ncd.lang.terms.step_writer import Slot, StepWriter
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops.linear_maps.weight_init import apart, beside
from ncd.ops.structure.reshape import Group, Split
from ncd.ops.windows.sliding_window import Fold, Window
from ncd.ops.windows.window_shapes import Sides


class Convolution(Protocol):
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


def convolved(op: Convolution, groups: int, site: Site, steps: StepWriter, x: Slot) -> Slot:
    """Writes a convolution as windows and a product with the weights.

    Source: ``torch.nn.Unfold``, whose documentation says so.
    """
    (old,), (new,), (out,) = site.dom, site.cod, site.outs
    window = op.window(site, (*site.every,))
    slid = _of(Array(old[-1:]), Array((*new[-1:], *window)))
    (x,) = steps.call(Window(slid, op.kernel, op.stride, op.pad, op.dilation), x)
    c, d = op.channels(site)
    if groups > 1:
        z = _by_groups(op, groups, site, steps, x, window)
    else:
        inner = apart(c, (*site.every, *window.names))
        weight = steps.param("weight", d, inner, kept=window)
        z = steps.product((steps.renamed(x, c, inner), weight), out)
    return _biased(op, steps, z, d)


def _by_groups(
    op: Convolution, groups: int, site: Site, steps: StepWriter, x: Slot, window: Array
) -> Slot:
    """Writes a convolution whose groups of channels are convolved separately."""
    c, d = op.channels(site)
    taken, sizes = (*site.every, *window.names), (c.numel // groups, d.numel // groups)
    (group,) = beside(taken, "group", groups)
    (first,) = beside((*taken, "group"), "from", sizes[0])
    (last,) = beside((*taken, "group"), "to", sizes[1])
    x = resplit(steps, x, c, Array((group, first)))
    weight = steps.param("weight", Array((group, last)), Array((first,)), kept=window)
    (place,) = site.cod[0][-1:]
    rest = (axis for axis in site.outs[0] if axis.name not in (*d.names, place.name))
    z = steps.product((x, weight), Array((*rest, group, last, place)))
    return steps.product((resplit(steps, z, Array((group, last)), d),), site.outs[0])


def transposed(op: Convolution, site: Site, steps: StepWriter, x: Slot) -> Slot:
    """Writes a transposed convolution as a product with the weights, and a sum of windows.

    Source: ``torch.nn.Fold``.
    """
    (old,), (new,), (out,) = site.dom, site.cod, site.outs
    c, d = op.channels(site)
    window = op.window(site, (*site.every,))
    inner = apart(c, (*site.every, *window.names))
    weight = steps.param("weight", inner, d, kept=window)
    rest = (axis for axis in out if axis.name not in new.names)
    x = steps.renamed(x, c, inner)
    z = steps.product((x, weight), Array((*rest, *d, *old[-1:], *window)))
    summed = _of(Array((*old[-1:], *window)), Array(new[-1:]))
    (z,) = steps.call(Fold(summed, op.kernel, op.stride, op.pad), z)
    return _biased(op, steps, steps.product((z,), out), d)


def _biased(op: Convolution, steps: StepWriter, z: Slot, channels: Array) -> Slot:
    if not op.bias:
        return z
    return steps.map("$1 + $2", (z, steps.param("bias", channels)), z.axes)


def resplit(steps: StepWriter, x: Slot, old: Array, new: Array) -> Slot:
    """Merges some axes and splits the result into others."""
    if old == new:
        return x
    if len(old) == 1 and len(new) > 1:
        return steps.call(Split(_of(old, new)), x)[0]
    if len(new) == 1 and len(old) > 1:
        return steps.call(Group(_of(old, new)), x)[0]
    flat = beside((*x.axes.names, *new.names), "flat", old.numel)
    (x,) = steps.call(Group(_of(old, flat)), x)
    return steps.call(Split(_of(flat, new)), x)[0]


def _of(before: Array, after: Array) -> Signature:
    """Returns the type of a map of one array to one."""
    return Signature(Type((before,)), Type((after,)))
