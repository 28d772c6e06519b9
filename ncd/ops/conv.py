"""Windows that slide: convolution, transposed convolution, max pooling."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from ncd.axes import Axis, Signature
from ncd.binding import Binding
from ncd.errors import MismatchError, SizeError, shown
from ncd.op import Op, Site
from ncd.ops.places import at_end, code_at_end, over, own_ports
from ncd.ops.spec import FUNCTIONAL, Code, Glyph, Mark, Run


def _resize(axis: Axis, sizes: tuple[int, ...], new: Axis, binding: Binding) -> None:
    size = sizes if axis.spatial else sizes[0]
    binding.meet(new, replace(new, size=size, sequence=axis.sequence))


def _batched(x: Tensor, dims: int) -> tuple[Tensor, tuple[int, ...]]:
    """All axes in front of the last ``dims`` as one, as torch's convolutions want them."""
    lead = tuple(x.shape[:-dims])
    return (x.flatten(0, len(lead) - 1), lead) if len(lead) > 1 else (x, ())


def _unbatched(x: Tensor, lead: tuple[int, ...]) -> Tensor:
    return x.unflatten(0, lead) if lead else x


class _Window(Op):
    """What the sliding windows share: channels before places, ``c x -> d x/s``."""

    pattern: Signature
    kernel: int
    stride: int

    @property
    def signature(self) -> Signature:
        return self.pattern

    @property
    def places(self) -> tuple[Axis, Axis]:
        """The places before and after."""
        return self.dom[0][-1], self.signature.cod[0][-1]

    def result(self, size: int) -> int:
        """How many places come out of ``size`` places, along one dimension."""
        raise NotImplementedError

    def solve(self, binding: Binding) -> None:
        self._check_window()
        old, new = binding[self.places[0].name], self.places[1]
        if old.size is None:
            return
        if len(old.shape) > 3 or any(binding[a.name].spatial for a in self.dom[0][:-1]):
            raise MismatchError(
                f"a window slides over one axis of 1 to 3 dimensions, not over ({self.dom[0]})",
                cure="a plain channel axis, and places such as x:16x16",
            )
        sizes = tuple(self.result(size) for size in old.shape)
        if min(sizes) < 1:
            need = self.least
            raise SizeError(
                f"axis {old.name} has size {old.size_text}, "
                f"too small for a window of {self.kernel}",
                cure=f"{old.name} = {'×'.join([str(need)] * len(sizes))}",
                axis=old.name,
                nearest=need,
            )
        if new.name == old.name and sizes != old.shape:
            raise SizeError(
                f"axis {old.name} would go from {old.size_text} to "
                f"{'×'.join(map(str, sizes))}, but keeps its name",
                cure=f"stride = 1, or another name than {new.name} on the right",
                axis=old.name,
            )
        _resize(old, sizes, new, binding)

    def _check_window(self) -> None:
        for what, value, least in (
            ("kernel", self.kernel, 1),
            ("stride", self.stride, 1),
            ("padding", self.pad, 0),
        ):
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise SizeError(
                    f"the {what} is {shown(value)}, but it is a whole number, {least} or more",
                    cure=f"{what} = {least}",
                    axis=what,
                    nearest=least,
                )

    @property
    def pad(self) -> int:
        return 0

    @property
    def least(self) -> int:
        """The fewest places from which one comes out."""
        return self.kernel - 2 * self.pad

    def flat(self, site: Site) -> int:
        """How many torch dimensions the places have."""
        return len(site.dom[0][-1].shape)

    def _run(self, site: Site, function: object = None) -> Run:
        dims = len(site.dom[0].shape)

        def call(layer: nn.Module, x: Tensor) -> Tensor:
            x, lead = _batched(x, dims)
            return _unbatched(layer(x), lead)

        return at_end(site, call)

    def _code(self, site: Site, expression: str, layer: str = "", *imports: str) -> Code:
        dims = len(site.dom[0].shape)
        if len(site.ins[0].shape) > dims + 1:
            # torch takes one batch axis, so the others join it and leave it again
            inner = expression.replace("{0}", f"{{0}}.flatten(0, {-dims - 1})")
            expression = f"{inner}.unflatten(0, {{0}}.shape[:{-dims}])"
        return code_at_end(site, Code(expression, layer, imports=imports))

    @property
    def setting(self) -> str:
        return f"kernel {self.kernel}" + (f", stride {self.stride}" if self.stride != 1 else "")


@dataclass(frozen=True, repr=False)
class Conv(_Window):
    """Convolution: ``Conv("c x -> d x", "conv", kernel=3)``; padding kernel // 2 unless given.

    Drawn as a box ★ k where the places keep their number, else as a trapezoid with the stride.
    Notebook, figures 26 to 28.

    >>> site = Conv("c x -> d:8 x/s", stride=2).site(Conv("c:3 x:16x16 -> d x").dom)
    >>> site.outs.spec
    'd:8 x/s:8x8'

    Raises SizeError for a kernel or stride that is no positive whole number, or a window that is
    larger than the padded image.
    """

    pattern: Signature
    name: str = "conv"
    kernel: int = 1
    stride: int = 1
    padding: int | None = None
    bias: bool = True
    role: ClassVar[str] = "convolution"
    form: ClassVar[str] = "c x -> d x"

    @property
    def pad(self) -> int:
        if self.padding is None:
            return self.kernel // 2 if isinstance(self.kernel, int) else 0
        return self.padding

    def result(self, size: int) -> int:
        return (size + 2 * self.pad - self.kernel) // self.stride + 1

    def layer(self, site: Site) -> nn.Module:
        kind = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[self.flat(site) - 1]
        c, d = site.dom[0][0].numel, site.cod[0][0].numel
        return kind(c, d, self.kernel, self.stride, self.pad, bias=self.bias, device="meta")

    def run(self, site: Site) -> Run:
        return self._run(site)

    def glyph(self, site: Site) -> Glyph:
        ins, outs = own_ports(site.ins, site.dom), own_ports(site.outs, site.cod)
        if site.dom[0][-1].name == site.cod[0][-1].name:
            return over(site, Mark("box", f"★{self.kernel}", ins, outs))
        return over(site, Mark("trapezoid", f"{self.kernel}|{self.stride}", ins, outs))

    def code(self, site: Site) -> Code:
        c, d = site.dom[0][0].identifier, site.cod[0][0].identifier
        stride = f", stride={self.stride}" if self.stride != 1 else ""
        pad = f", padding={self.pad}" if self.pad else ""
        bias = "" if self.bias else ", bias=False"
        layer = f"nn.Conv{self.flat(site)}d({c}, {d}, {self.kernel}{stride}{pad}{bias})"
        return self._code(site, "{layer}({0})", layer)

    def flops(self, site: Site) -> int:
        (array,), (own,), (new,) = site.ins, site.dom, site.cod
        batch = array.numel // own.numel
        window = self.kernel ** self.flat(site)
        return 2 * batch * new.numel * own[0].numel * window

    def formula(self, site: Site) -> str:
        return r"z_{d,x} = b_d + \sum_{c,\,j} W_{d,c,j}\; a_{c,\;s x + j - p}"

    def words(self, site: Site) -> str:
        return f"convolution {self.name}, {self.setting}: {site.dom} to {site.cod}"


@dataclass(frozen=True, repr=False)
class ConvTranspose(_Window):
    """Transposed convolution (the trapezoid marked T). Notebook, figures 27 and 28.

    >>> up = ConvTranspose("c x -> d:8 y", kernel=2, stride=2)
    >>> up.site(Conv("c:3 x:16x16 -> d x").dom).outs.spec
    'd:8 y:32x32'
    """

    pattern: Signature
    name: str = "up"
    kernel: int = 2
    stride: int = 2
    padding: int = 0
    bias: bool = True
    role: ClassVar[str] = "convolution"
    form: ClassVar[str] = "c x -> d y"

    @property
    def pad(self) -> int:
        return self.padding

    @property
    def least(self) -> int:
        return 1 + max(0, -((self.kernel - 2 * self.pad - 1) // self.stride))

    def result(self, size: int) -> int:
        return (size - 1) * self.stride - 2 * self.padding + self.kernel

    def layer(self, site: Site) -> nn.Module:
        kind = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[self.flat(site) - 1]
        c, d = site.dom[0][0].numel, site.cod[0][0].numel
        return kind(c, d, self.kernel, self.stride, self.padding, bias=self.bias, device="meta")

    def run(self, site: Site) -> Run:
        return self._run(site)

    def glyph(self, site: Site) -> Glyph:
        ins, outs = own_ports(site.ins, site.dom), own_ports(site.outs, site.cod)
        return over(site, Mark("trapezoid", f"{self.kernel}|{self.stride}T", ins, outs))

    def code(self, site: Site) -> Code:
        c, d = site.dom[0][0].identifier, site.cod[0][0].identifier
        pad = f", padding={self.padding}" if self.padding else ""
        bias = "" if self.bias else ", bias=False"
        sizes = f"{self.kernel}, stride={self.stride}{pad}{bias}"
        layer = f"nn.ConvTranspose{self.flat(site)}d({c}, {d}, {sizes})"
        return self._code(site, "{layer}({0})", layer)

    def flops(self, site: Site) -> int:
        (array,), (own,), (new,) = site.ins, site.dom, site.cod
        batch = array.numel // own.numel
        window = self.kernel ** self.flat(site)
        return 2 * batch * own.numel * new[0].numel * window

    def formula(self, site: Site) -> str:
        return r"z_{d,\;s x + j - p} \mathrel{+}= W_{c,d,j}\; a_{c,x} \quad\text{for all } c, x, j"

    def words(self, site: Site) -> str:
        return f"transposed convolution {self.name}, {self.setting}: {site.dom} to {site.cod}"


@dataclass(frozen=True, repr=False)
class MaxPool(_Window):
    """The largest number in each window (the window axis ends in Max➤). Notebook, figure 27.

    >>> MaxPool("x -> y").site(Conv("c x:8x8 -> d x").dom).outs.spec
    'c y:4x4'
    """

    pattern: Signature
    kernel: int = 2
    stride: int = 2
    role: ClassVar[str] = "convolution"
    form: ClassVar[str] = "x -> y"

    def result(self, size: int) -> int:
        return (size - self.kernel) // self.stride + 1

    def run(self, site: Site) -> Run:
        dims = self.flat(site)
        pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
        kernel, stride = self.kernel, self.stride

        def function(layer: object, x: Tensor) -> Tensor:
            x, lead = _batched(x, dims + 1) if x.dim() > dims + 1 else (x, ())
            if x.dim() == dims:  # torch wants a channel axis
                return pool(x[None], kernel, stride)[0]
            return _unbatched(pool(x, kernel, stride), lead)

        return at_end(site, function)

    def glyph(self, site: Site) -> Glyph:
        ins, outs = own_ports(site.ins, site.dom), own_ports(site.outs, site.cod)
        return over(site, Mark("trapezoid", f"{self.kernel}|{self.stride}|Max", ins, outs))

    def code(self, site: Site) -> Code:
        dims = self.flat(site)
        call = f"F.max_pool{dims}d({{0}}, {self.kernel}, {self.stride})"
        front = len(site.ins[0].shape) - dims
        if front == 0:
            call = call.replace("{0}", "{0}[None]") + "[0]"
        if front > 2:
            inner = call.replace("{0}", f"{{0}}.flatten(0, {-dims - 2})")
            call = f"{inner}.unflatten(0, {{0}}.shape[:{-dims - 1}])"
        return code_at_end(site, Code(call, imports=(FUNCTIONAL,)))

    def formula(self, site: Site) -> str:
        return r"z_x = \max_{j} a_{s x + j}"

    def words(self, site: Site) -> str:
        return f"max pooling, {self.setting}: {site.dom} to {site.cod}"
