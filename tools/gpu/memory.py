"""The memory that the guard states beside what a device took, and what happens when it is full."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

import ncd
from ncd.errors import LimitError
from ncd.language.terms import Term
from ncd.run.device import free_bytes
from ncd.run.guard import peak
from ncd.run.module import CircuitModule
from ncd.run.run_memory import Storages, measured_peak, scalar_of_outputs
from ncd.systems.catalogue import CATALOGUE
from tools.bench.measurements import Line
from tools.gpu.agreement import Setting, apart
from tools.gpu.findings import Finding
from tools.gpu.speed import FREE

LARGE: Mapping[str, Mapping[str, int]] = {
    "multi-head-attention": {"y": 4096, "x": 4096, "m": 1024, "k": 64, "h": 16},
    "grouped-queries": {"g": 4, "q": 4, "k": 65, "m": 1024, "t": 2048},  # no fused kernel
    "encoder-block": {"n": 4, "h": 8, "k": 64, "d": 2048, "t": 1024},
    "gpt-2": {"n": 4, "h": 8, "k": 64, "d": 2048, "t": 1024, "u": 1024, "v": 8192},
    "llama": {"n": 4, "m": 512, "g": 4, "q": 2, "k": 64, "d": 2048, "t": 1024, "v": 8192},
    "mixture-of-experts": {"e": 8, "c": 2, "t": 256, "m": 512, "d": 1024},
    "vit": {"n": 4, "x": 16, "s": 14, "h": 8, "k": 64, "d": 2048, "v": 1000},
    "unet": {"depth": 4, "c": 32, "x": 256},
    "identity-resnet": {"b": 8, "x": 64, "n1": 64, "n2": 128, "n3": 256, "n4": 512},
    "convnext": {"n": 2, "N": 2, "c": 64, "x": 256},
    "residual-block": {"b": 16, "n0": 64, "n1": 256, "x": 64, "s": 2},
    "flash-attention": {"y": 8192, "x": 8192, "k": 64},
}
SMALL = ("multi-head-attention", "lenet")
SHARE, FEWEST = 4, 128  # on a CPU, sizes from so many on are so many times smaller
LOOSE = 2.0  # a statement may be so many times what was taken, and some bytes more
BESIDE = 100_000_000


def memory(setting: Setting) -> Iterator[Finding]:
    """Measures runs forward and backward: the guard must state what they take, or more."""
    names = SMALL if setting.quick else tuple(LARGE)
    for watched in (False, True)[: setting.pick(2, 1)]:
        for name in names:
            term = CATALOGUE[name].build(**_sizes(name, setting))
            yield _stated(name, term, watched, setting.device)


def _sizes(name: str, setting: Setting) -> Mapping[str, int]:
    """Returns large sizes; on a CPU they are smaller, so that all runs end in the same minutes.

    >>> _sizes("flash-attention", Setting("cpu"))
    {'y': 2048, 'x': 2048, 'k': 64}
    """
    if setting.quick:
        return {}
    share = setting.pick(1, 1, on_cpu=SHARE)
    return {knob: n // share if n >= FEWEST else n for knob, n in LARGE[name].items()}


def _stated(name: str, term: Term, watched: bool, device: str) -> Finding:
    what = f"{name}{', every array kept' if watched else ''}"
    try:
        module = ncd.compile(term, device=device, limits=FREE)
        given = ncd.example_inputs(term, device=device, limits=FREE)
        inputs = tuple(x.requires_grad_() if x.is_floating_point() else x for x in given)
        stated = peak(module.circuit, watched=watched, device=device)
        found = measured_peak(module, inputs, watched=watched)
        counted = _counted(module, inputs, watched)
    except Exception as error:  # the other systems are measured still
        words = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Finding(Line(what, torch.inf, unit="bytes"), words)
    taken = found.backward
    fault = "" if taken <= stated else "more than the guard states"
    if stated > LOOSE * taken + BESIDE:
        fault = f"the guard states more than {LOOSE:g} times as much"
    line = Line(what, taken, f"stated {stated:,}", taken / stated, "bytes")
    return Finding(line, fault, {"forward": found.forward, "storages": counted, "stated": stated})


def _counted(module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool) -> int:
    """Returns the most bytes in storages that torch made on the device, without its kernels'."""
    kept: dict[str, Tensor] | None = {} if watched else None
    with Storages([*inputs, *module.parameters(), *module.buffers()]) as counted:
        total = scalar_of_outputs(module.execute(inputs, keep=kept))
        if total.requires_grad:
            total.backward()
    for x in (*inputs, *module.parameters()):
        x.grad = None
    return counted.peak


# --- a full device --------------------------------------------------------------------------------


def full(setting: Setting) -> Iterator[Finding]:
    """Fills the device: one run is refused, another fails, and the next one works."""
    device, small = setting.device, CATALOGUE["multi-head-attention"].build()
    before = _outputs(small, device)
    large = CATALOGUE["mixture-of-experts"].build(t=256, m=setting.pick(512, 16), d=512)
    with _filled(device):
        yield _refused(large, device, setting.quick)
        if device.startswith("cuda"):
            yield _failed(device)
        off = apart(_outputs(small, device), before)
        yield Finding(
            Line("the next run, on the full device", off, "before", unit=""),
            "" if off == 0 else "it gives other numbers",
        )
    gc.collect()
    off = apart(_outputs(small, device), before)
    fault = "" if off == 0 else "it gives other numbers"
    yield Finding(Line("the next run, on the free device", off, "before", unit=""), fault)


class _filled:
    """Takes nearly all memory of a GPU for a while; elsewhere it takes nothing."""

    def __init__(self, device: str, rest: int = 1_500_000_000) -> None:
        self.device, self.rest, self.taken = device, rest, torch.empty(0)

    def __enter__(self) -> None:
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()
            free = free_bytes(self.device) or 0
            size = max(0, free - self.rest)
            self.taken = torch.empty(size, dtype=torch.uint8, device=self.device)

    def __exit__(self, *_: object) -> None:
        self.taken = torch.empty(0)
        if self.device.startswith("cuda"):
            torch.cuda.empty_cache()


def _refused(large: Term, device: str, quick: bool) -> Finding:
    """Compiles a system that does not fit; a quick run has a small limit instead of a full GPU."""
    limits = ncd.Limits(bytes=1_000_000) if not device.startswith("cuda") or quick else FREE
    need = peak(ncd.elaborate(large), device=device)
    what = "compile what does not fit"
    try:
        ncd.compile(large, device=device, limits=limits)
    except LimitError as error:
        clear = f"{error.need or need:,}" in str(error)
        line = Line(what, need, "is refused", unit="bytes")
        fault = "" if clear else "the refusal does not name the need"
        return Finding(line, fault, {"words": str(error)})
    return Finding(Line(what, need, unit="bytes"), "it was not refused")


def _failed(device: str) -> Finding:
    """Takes more than there is, as others may between the check and the run."""
    more = 2 * (free_bytes(device) or 0)
    what = "a run that no guard has seen"
    try:
        torch.empty(more, dtype=torch.uint8, device=device)
    except torch.OutOfMemoryError as error:
        return Finding(Line(what, more, "fails", unit="bytes"), more={"words": str(error)})
    return Finding(Line(what, more, unit="bytes"), "it did not fail")


def _outputs(term: Term, device: str) -> Tensor:
    module = ncd.compile(term, device=device)
    with torch.no_grad():
        made: Tensor = module(*ncd.example_inputs(term, device=device))
    return made.cpu()
