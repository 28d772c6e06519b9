"""The base of ops with sliding windows: their sizes, and the dimensions that torch takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

from ncd.lang.errors import MismatchError, SizeError
from ncd.lang.formulas.expr import Arg, Expr, Group, arranged, groups
from ncd.lang.glyph import Glyph, Mark, Ports
from ncd.lang.terms.field_spelling import Spelling, whole
from ncd.lang.terms.op import Op, Site
from ncd.lang.types.axes import Array, Axis, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.linear_maps.weight_init import beside
from ncd.ops.structure.axis_places import over, own_ports, ports

MOST_SIDES = 3  # dimensions of a window

Sides = int | tuple[int, ...]  # one number for every dimension, or one for each


def _read_sides(by: Spelling) -> Callable[[Any, str], Sides]:
    def read(value: Any, name: str) -> Sides:
        if not isinstance(value, tuple | list):
            one: int = by.read(value, name)
            return one
        found = tuple(by.read(each, name) for each in value)
        if not 1 <= len(found) <= MOST_SIDES:
            raise SizeError(
                f"the {name} has {len(found)} numbers, but a window has 1 to {MOST_SIDES} sides",
                cure=f"{name} = 1",
                axis=name,
            )
        return found[0] if len(set(found)) == 1 else found

    return read


def sides(least: int = 0) -> Spelling:
    """Returns the spelling of a whole number, or of one for each dimension of a window.

    >>> sides(1).read((3, 3), "kernel"), sides(1).read([3, 1], "kernel")
    (3, (3, 1))
    """
    return Spelling(
        "a whole number, or one for each dimension",
        _read_sides(whole(least)),
        lambda value: list(value) if isinstance(value, tuple) else value,
    )


def side(value: Sides, i: int) -> int:
    """Returns the number of a dimension."""
    return value[i] if isinstance(value, tuple) else value


def spread(value: Sides, n: int) -> tuple[int, ...]:
    """Returns a number for each of ``n`` dimensions."""
    return tuple(side(value, i) for i in range(n))


def written(value: Sides) -> str:
    """Returns the numbers as they are drawn: ``3×1``."""
    return "×".join(map(str, value)) if isinstance(value, tuple) else str(value)


class Sliding(Op):
    """The base of ops whose window slides over the last axis on the left.

    The size of the output follows from that of the input, and the other way where it is unique: for
    a convolution only if the stride is 1.
    """

    role: ClassVar[str] = "convolution"
    kernel: Sides
    stride: Sides
    padding: Sides | None
    dilation: Sides = 1

    @property
    def places(self) -> tuple[Axis, Axis]:
        """The axes of positions before and after."""
        return self.dom[0][-1], self.signature.cod[0][-1]

    @property
    def pad(self) -> Sides:
        """The number of positions that are added at each end."""
        return self.padding or 0

    def span(self, i: int) -> int:
        """Returns the number of positions from the first to the last of a window."""
        return side(self.dilation, i) * (side(self.kernel, i) - 1) + 1

    def least(self, i: int) -> int:
        """Returns the smallest size that gives at least one position."""
        return max(1, self.span(i) - 2 * side(self.pad, i))

    def result(self, size: int, i: int) -> int:
        """Returns the output size of an input size, along one dimension."""
        return (size + 2 * side(self.pad, i) - self.span(i)) // side(self.stride, i) + 1

    def source(self, size: int, i: int) -> int | None:
        """Returns the input size of an output size; None if it is not unique."""
        if side(self.stride, i) != 1:
            return None
        return size - 1 + self.span(i) - 2 * side(self.pad, i)

    def solve(self, binding: Binding) -> None:
        first, second = self.places
        old, new = binding[first.name], binding[second.name]
        for axis in (old, new):
            self._check_sides(axis)
        if old.size is not None:
            sizes = tuple(self.result(size, i) for i, size in enumerate(old.shape))
            self._check_sizes(old, new, sizes)
            _learned(binding, new, old, sizes)
        elif new.size is not None:
            before = [self.source(size, i) for i, size in enumerate(new.shape)]
            known = tuple(size for size in before if size is not None)
            if len(known) == len(before):
                self._check_sources(new, known)
                _learned(binding, old, new, known)

    def _check_sides(self, axis: Axis) -> None:
        """Raises MismatchError for settings of another number of dimensions than the axis."""
        for name in ("kernel", "stride", "padding", "dilation"):
            value = getattr(self, name, 1)
            if isinstance(value, tuple) and axis.size is not None and len(value) != len(axis.shape):
                raise MismatchError(
                    f"the {name} is {written(value)}, but {axis.name} has {len(axis.shape)} "
                    f"dimension{'s' * (len(axis.shape) != 1)}",
                    cure=f"{name} = {value[0]}",
                    axis=name,
                )

    def _check_sizes(self, old: Axis, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            n = len(sizes)
            spans, least = ([f(i) for i in range(n)] for f in (self.span, self.least))
            window = spans[0] if len(set(spans)) == 1 else "×".join(map(str, spans))
            raise SizeError(
                f"axis {old.name} has size {old.size_text}, too small for a window of {window}",
                cure=f"{old.name} = {'×'.join(map(str, least))}",
                axis=old.name,
                nearest=max(least),
            )
        if new.name == old.name and sizes != old.shape:
            raise SizeError(
                f"axis {old.name} would go from {old.size_text} to "
                f"{'×'.join(map(str, sizes))}, but keeps its name",
                cure=("stride = 1, or " if max(spread(self.stride, len(sizes))) > 1 else "")
                + f"another name than {new.name} on the right",
                axis=old.name,
            )

    def _check_sources(self, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            nearest = [self.result(self.least(i), i) for i in range(len(sizes))]
            raise SizeError(
                f"axis {new.name} has size {new.size_text}, fewer than come out of any window",
                cure=f"{new.name} = {'×'.join(map(str, nearest))}",
                axis=new.name,
                nearest=max(nearest),
            )

    def check(self, binding: Binding) -> None:
        """Raises MismatchError for positions of more than three dimensions."""
        place = binding[self.places[0].name]
        if place.size is not None and len(place.shape) > 3:
            raise MismatchError(
                f"a window slides over 1 to 3 dimensions, but {place.name} has {len(place.shape)}",
                cure="places such as x:16x16",
            )

    def flat(self, site: Site) -> int:
        """Returns the number of torch dimensions of the positions."""
        return len(site.dom[0][-1].shape)

    def windowed(self, site: Site, call: Callable[[Expr], Expr], leads: int) -> tuple[Expr]:
        """Returns a call on leading dimensions, the merged channels, and the positions.

        The dimensions that the op is broadcast over lead; they are merged if there are more than
        ``leads``. A window without channels has at least one leading dimension.
        """
        (array,), (out,), (own,), (new,) = site.ins, site.outs, site.dom, site.cod
        rest = site.rest.dims
        lead: tuple[Group, ...] = (rest,) if len(rest) > leads else groups(site.rest)
        if not rest and len(own) == 1:  # torch needs a channel
            lead = ((),)
        if len(lead) < leads and self.flat(site) == 3:  # without a batch torch refuses some strides
            lead = ((), *lead)
        before, after = (*lead, *_layered(own)), (*lead, *_layered(new))
        x = arranged(Arg(0), groups(array), before)
        return (arranged(call(x), after, groups(out)),)

    @property
    def setting(self) -> str:
        """The kernel and the stride in words."""
        stride = f", stride {written(self.stride)}" if self.stride != 1 else ""
        return f"kernel {written(self.kernel)}{stride}"

    def window(self, site: Site, taken: tuple[str, ...], name: str = "w") -> Array:
        """Returns an axis for the positions in a window, with a name that is not taken."""
        sizes = spread(self.kernel, self.flat(site))
        return beside(taken, name, sizes if len(sizes) > 1 else sizes[0])

    def trapezoid(self, site: Site, end: str = "", note: str = "", turned: str = "") -> Glyph:
        """Returns the glyph of windows that change the number of positions.

        ``end`` is the text at the end of the window axis; empty if that axis is an output.
        """
        n = self.flat(site) if site.dom[0][-1].size is not None else 1
        one = isinstance(self.kernel, int)
        kernel = f"{self.kernel}^{n}" if n > 1 and one else written(self.kernel)
        old, new = self.places[::-1] if turned and not end else self.places
        ins = _first(old, site.ins, own_ports(site.ins, site.dom))
        outs = _first(new, site.outs, own_ports(site.outs, site.cod))
        stride = "" if self.stride == 1 else written(self.stride)
        text = f"{kernel}|{stride}{turned}|{end}"
        return over(site, Mark("trapezoid", text, ins, outs, note))


def _first(place: Axis, arrays: Type, own: Ports) -> Ports:
    """Returns the ports, with that of the positions first."""
    (at,) = (port for port, _, name in ports(arrays) if name == place.name)
    return (at, *(port for port in own if port != at))


def _layered(own: Array) -> tuple[Group, ...]:
    """Returns the dimensions of the own axes for torch: merged channels, then positions."""
    channels = Array(own[:-1]).dims
    return (*((channels,) if len(own) > 1 else ()), *groups(Array(own[-1:])))


def _learned(binding: Binding, new: Axis, old: Axis, sizes: tuple[int, ...]) -> None:
    size = sizes if old.spatial else sizes[0]
    binding.meet(new, replace(new, size=size, sequence=old.sequence))
