"""The base of ops with sliding windows: their sizes, and the dimensions that torch takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

from ncd.lang.errors import MismatchError, SizeError
from ncd.lang.formulas.expr import Arg, Expr, Group, arranged, groups
from ncd.lang.glyph import Glyph, Mark, Ports
from ncd.lang.terms.op import Op, Site
from ncd.lang.types.axes import Array, Axis, Type
from ncd.lang.types.pattern_binding import Binding
from ncd.ops.structure.axis_places import over, own_ports, ports


class Sliding(Op):
    """The base of ops whose window slides over the last axis on the left.

    The size of the output follows from that of the input, and the other way where it is unique: for
    a convolution only if the stride is 1.
    """

    role: ClassVar[str] = "convolution"
    kernel: int
    stride: int
    padding: int | None
    dilation: int = 1

    @property
    def places(self) -> tuple[Axis, Axis]:
        """The axes of positions before and after."""
        return self.dom[0][-1], self.signature.cod[0][-1]

    @property
    def pad(self) -> int:
        """The number of positions that are added at each end."""
        return self.padding or 0

    @property
    def span(self) -> int:
        """The number of positions from the first to the last of a window."""
        return self.dilation * (self.kernel - 1) + 1

    @property
    def least(self) -> int:
        """The smallest size that gives at least one position."""
        return max(1, self.span - 2 * self.pad)

    def result(self, size: int) -> int:
        """Returns the output size of an input size, along one dimension."""
        return (size + 2 * self.pad - self.span) // self.stride + 1

    def source(self, size: int) -> int | None:
        """Returns the input size of an output size; None if it is not unique."""
        return size - 1 + self.span - 2 * self.pad if self.stride == 1 else None

    def solve(self, binding: Binding) -> None:
        first, second = self.places
        old, new = binding[first.name], binding[second.name]
        if old.size is not None:
            sizes = tuple(self.result(size) for size in old.shape)
            self._check_sizes(old, new, sizes)
            _learned(binding, new, old, sizes)
        elif new.size is not None:
            before = [self.source(size) for size in new.shape]
            known = tuple(size for size in before if size is not None)
            if len(known) == len(before):
                self._check_sources(new, known)
                _learned(binding, old, new, known)

    def _check_sizes(self, old: Axis, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            raise SizeError(
                f"axis {old.name} has size {old.size_text}, too small for a window of {self.span}",
                cure=f"{old.name} = {'×'.join([str(self.least)] * len(sizes))}",
                axis=old.name,
                nearest=self.least,
            )
        if new.name == old.name and sizes != old.shape:
            raise SizeError(
                f"axis {old.name} would go from {old.size_text} to "
                f"{'×'.join(map(str, sizes))}, but keeps its name",
                cure=("stride = 1, or " if self.stride > 1 else "")
                + f"another name than {new.name} on the right",
                axis=old.name,
            )

    def _check_sources(self, new: Axis, sizes: tuple[int, ...]) -> None:
        if min(sizes) < 1:
            nearest = self.result(self.least)
            raise SizeError(
                f"axis {new.name} has size {new.size_text}, fewer than come out of any window",
                cure=f"{new.name} = {'×'.join([str(nearest)] * len(sizes))}",
                axis=new.name,
                nearest=nearest,
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
        return f"kernel {self.kernel}" + (f", stride {self.stride}" if self.stride != 1 else "")

    def trapezoid(self, site: Site, end: str = "", note: str = "", turned: str = "") -> Glyph:
        """Returns the glyph of windows that change the number of positions.

        ``end`` is the text at the end of the window axis; empty if that axis is an output.
        """
        n = self.flat(site) if site.dom[0][-1].size is not None else 1
        kernel = f"{self.kernel}^{n}" if n > 1 else str(self.kernel)
        old, new = self.places
        ins = _first(old, site.ins, own_ports(site.ins, site.dom))
        outs = _first(new, site.outs, own_ports(site.outs, site.cod))
        text = f"{kernel}|{self.stride}{turned}|{end}"
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
