"""Whether a device gives the CPU's numbers: every system's arrays, outputs and gradients."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

import ncd
from ncd.run.measurement import wanted_by
from ncd.run.module import CircuitModule
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from tools.bench.measurements import Line
from tools.gpu.findings import Finding

CLOSE = 1e-4  # of the largest number of an array, or of 1
FEW = ("multi-head-attention", "lenet", "lstm", "broadcasting")
CONVOLUTION = "residual-block"


@dataclass(frozen=True)
class Setting:
    """The device, and whether everything is to be small, as in a test."""

    device: str
    quick: bool = False

    def pick(self, large: int, small: int, on_cpu: int | None = None) -> int:
        """Returns a size, or the one of a quick run, or the one of a whole run on a CPU."""
        if self.quick:
            return small
        return on_cpu if on_cpu is not None and self.device == "cpu" else large


def apart(one: Tensor, two: Tensor) -> float:
    """Returns the largest difference, as a share of the largest number, or of 1.

    It is infinite where one is finite and the other is not, or they are not the same infinity.

    >>> round(apart(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 4.4])), 3)
    0.091
    """
    one, two = one.detach().cpu(), two.detach().cpu()
    if one.shape != two.shape:
        return torch.inf
    finite = two.isfinite()
    rest, others = one[~finite], two[~finite]
    if not bool(((rest == others) | (rest.isnan() & others.isnan())).all()):
        return torch.inf
    one, two = one[finite].double(), two[finite].double()
    if not two.numel():
        return 0.0
    off = float((one - two).abs().max() / two.abs().max().clamp_min(1))
    return torch.inf if off != off else off


def furthest(ones: Iterable[Tensor], twos: Iterable[Tensor]) -> float:
    """Returns the largest difference between the tensors of two lists."""
    return max((apart(a, b) for a, b in zip(ones, twos, strict=True)), default=0.0)


def arrays(entry: Entry, device: str) -> dict[str, Tensor]:
    """Returns every array of a run at the defaults; raises ValueError for one on another device."""
    term = entry.build()
    module = ncd.compile(term, seed=0, device=device)
    with torch.no_grad():
        found = ncd.trace(module, *ncd.example_inputs(term, seed=0, device=device)).values
    for id, value in found.items():
        if value.device.type != torch.device(device).type:
            raise ValueError(f"the array {id} is on {value.device}")
    return {id: value.cpu() for id, value in found.items()}


def outputs(entry: Entry, device: str) -> list[Tensor]:
    """Returns what a run gives where no array is looked at, so that attention is fused."""
    term = entry.build()
    module = ncd.compile(term, seed=0, device=device)
    with torch.no_grad():
        return [x.cpu() for x in module.execute(ncd.example_inputs(term, seed=0, device=device))]


def gradients(entry: Entry, device: str, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Returns the gradients of all real inputs and weights, of the sum of squares of the outputs.

    In 64 bits no relu is on the other side of 0 by rounding.
    """
    term = entry.build()
    module = ncd.compile(term, seed=0, device=device).to(dtype)
    given = ncd.example_inputs(term, seed=0, device=device)
    inputs = tuple(x.to(dtype).requires_grad_() if x.is_floating_point() else x for x in given)
    found = _gradients(module, inputs)
    return [x.cpu() for x in found]


def _gradients(module: CircuitModule, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    results = [x for x in module.execute(inputs) if x.requires_grad]
    learned = wanted_by(module, inputs)
    if not learned or not results:
        return []
    total = torch.stack([x.square().sum() for x in results]).sum()
    return [x for x in torch.autograd.grad(total, learned, allow_unused=True) if x is not None]


def array_difference(entry: Entry, device: str) -> float:
    """Returns how far every array and every output is from the CPU's."""
    mine, theirs = arrays(entry, device), arrays(entry, "cpu")
    if mine.keys() != theirs.keys():
        raise ValueError(f"there are other arrays: {mine.keys() ^ theirs.keys()}")
    fused = furthest(outputs(entry, device), outputs(entry, "cpu"))
    return max(fused, furthest(mine.values(), (theirs[id] for id in mine)))


def gradient_difference(entry: Entry, device: str) -> float:
    """Returns how far every gradient is from the CPU's."""
    return furthest(gradients(entry, device), gradients(entry, "cpu"))


def systems(setting: Setting) -> Iterator[Finding]:
    """Measures every system at its defaults, and whether another run gives the same numbers."""
    for name in FEW if setting.quick else CATALOGUE:
        entry = CATALOGUE[name]
        for what, difference in (
            ("arrays and outputs", array_difference),
            ("gradients", gradient_difference),
        ):
            line = f"{name}: {what}"
            try:
                off = difference(entry, setting.device)
            except Exception as error:  # the other systems are measured still
                yield Finding(Line(line, torch.inf, "cpu", unit=""), _words(error))
            else:
                yield Finding(Line(line, off, "cpu", unit=""), _fault(off))
    yield from _again(setting)


def _again(setting: Setting) -> Iterator[Finding]:
    """Runs each system twice in float32: the same seed is to give the same numbers, to the bit."""
    other = []
    for name in FEW if setting.quick else CATALOGUE:
        runs = [gradients(CATALOGUE[name], setting.device, torch.float32) for _ in range(2)]
        if not all(map(torch.equal, *runs)):
            other.append(f"{name} by {furthest(*runs):.1e}")
    fault = f"not those of {', '.join(other)}" if other else ""
    what = "systems whose gradients are others at another run"
    yield Finding(Line(what, len(other), unit="systems"), fault)


def precision(setting: Setting) -> Iterator[Finding]:
    """Measures a convolution without TF32, which the app switches off, and with it."""
    sizes = {} if setting.quick else {"b": 4, "n0": 64, "n1": 128, "x": 32}
    term = CATALOGUE[CONVOLUTION].build(**sizes)
    truth = ncd.compile(term)(*ncd.example_inputs(term))
    module = ncd.compile(term, device=setting.device)
    inputs = ncd.example_inputs(term, device=setting.device)
    off = apart(module(*inputs), truth)
    yield Finding(Line(f"{CONVOLUTION}, TF32 off", off, "cpu", unit=""), _fault(off))
    torch.backends.cudnn.allow_tf32 = True
    try:
        rough = apart(module(*inputs), truth)
    finally:
        torch.backends.cudnn.allow_tf32 = False
    yield Finding(Line(f"{CONVOLUTION}, TF32 on, as torch begins", rough, "cpu", unit=""))


def _fault(off: float) -> str:
    return "" if off < CLOSE else f"more than {CLOSE:g} apart"


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0]
