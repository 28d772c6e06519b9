"""How fast a device is: torch's compiler beside attention fused by hand, and the flash loop."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.run.limits import Limits
from ncd.run.measurement import backward_call, forward_call, medians
from ncd.systems.tensors.flash_attention import flash_attention
from ncd.systems.transformers.multi_head import multi_head_attention
from tools.bench.measurements import Line, against
from tools.bench.peers import Fused
from tools.gpu.agreement import CLOSE, Setting, apart, furthest
from tools.gpu.findings import Finding

Call = Callable[[], object]
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
STEP = {"float32": CLOSE, "bfloat16": 2e-2}
FREE = Limits(bytes=60 * 10**9, flops=10**15)


def compiled(setting: Setting) -> Iterator[Finding]:
    """Measures attention as compiled by ncd, then by torch, beside torch's own fused function."""
    length = setting.pick(2048, 32)
    sizes = {"h": 8, "k": 64, "m": 512, "y": length, "x": length, "causal": 0}
    for name in list(DTYPES)[: setting.pick(2, 1)]:
        module = ncd.compile(multi_head_attention(**sizes), device=setting.device, limits=FREE)
        peer = Fused(module, sizes["k"], sizes["h"])
        modules = {"ncd": module, "fused by hand": peer}
        for each in modules.values():
            each.to(DTYPES[name])
        given = ncd.example_inputs(module.term, device=setting.device)
        inputs = tuple(x.to(DTYPES[name]).requires_grad_() for x in given)
        at = f"y = x = {length}, {name}"
        yield from _beside(modules, inputs, at, setting, ("ncd",), STEP[name])
        modules["ncd, torch.compile"] = _compiled(module, setting)
        yield from _beside(modules, inputs, at, setting, ("ncd, torch.compile",), STEP[name])


def _compiled(module: nn.Module, setting: Setting) -> nn.Module:
    """Compiles a module; a quick run takes the backend that writes no code."""
    backend = "aot_eager" if setting.quick else "inductor"
    made: nn.Module = torch.compile(module, backend=backend, dynamic=False)
    return made


def _beside(
    modules: Mapping[str, nn.Module],
    inputs: tuple[Tensor, ...],
    at: str,
    setting: Setting,
    wanted: tuple[str, ...],
    close: float,
) -> Iterator[Finding]:
    """Times modules forward, and forward and backward, and compares what they give."""
    for what, call in (("forward", forward_call), ("forward and backward", backward_call)):
        calls = {name: call(module, inputs) for name, module in modules.items()}
        times = medians(calls, device=setting.device, rounds=setting.pick(30, 1))
        for name in wanted:
            (line,) = against(f"{what}, {at}", times, name, ["fused by hand"])
            yield Finding(line, more={"device seconds": times})
    with torch.no_grad():
        found = [modules[name](*inputs) for name in ("fused by hand", *wanted)]
    off = furthest(found[:1] * len(wanted), found[1:])
    fault = "" if off < close else f"more than {close:g} apart"
    yield Finding(Line(f"{', '.join(wanted)}, {at}", off, "fused by hand", unit=""), fault)


def flash(setting: Setting) -> Iterator[Finding]:
    """Measures the fused loop over tiles beside torch's fused attention and the plain steps."""
    length, tile, k = setting.pick(4096, 64), setting.pick(256, 32), 64
    term = flash_attention(y=length, x=length, k=k)
    loop = ncd.stream(term, {"y": tile}, ("x", tile))
    inputs = ncd.example_inputs(term, device=setting.device, limits=FREE)
    q, key, value = (x[None, None] for x in inputs)
    module = ncd.compile(term, device=setting.device, limits=FREE)
    calls: dict[str, Call] = {
        "loop over tiles": lambda: ncd.run_stream(loop, inputs).outputs[0],
        "torch's fused attention": lambda: F.scaled_dot_product_attention(q, key, value)[0, 0],
        "plain steps": lambda: ncd.trace(module, *inputs).outputs[0],
    }
    with torch.no_grad():
        times = medians(calls, device=setting.device, rounds=setting.pick(10, 1), warm=1)
        found = {name: call() for name, call in calls.items()}
        held = {name: _held(call, setting.device) for name, call in calls.items()}
    at, own = f"y = x = {length}, tiles of {tile}", "loop over tiles"
    others = [name for name in calls if name != own]
    for line in against(f"flash attention, {at}", times, own, others):
        yield Finding(line, more={"device seconds": times})
    for name in others:
        off = apart(found[own], found[name])
        fault = "" if off < CLOSE else f"more than {CLOSE:g} apart"
        yield Finding(Line(f"{own}, {at}", off, name, unit=""), fault)
    yield from _moved(loop, inputs, held, at)


def _held(call: Callable[[], object], device: str) -> int:
    """Returns the most bytes that a call holds beside what was there; 0 on a CPU."""
    if not device.startswith("cuda"):
        return 0
    torch.cuda.synchronize(device)
    before = torch.cuda.memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    made = call()
    torch.cuda.synchronize(device)
    peak = torch.cuda.max_memory_allocated(device) - before
    del made
    return peak


def _moved(
    loop: ncd.Stream, inputs: tuple[Tensor, ...], held: Mapping[str, int], at: str
) -> Iterator[Finding]:
    done = ncd.run_stream(loop, inputs)
    stated, counted = loop.bytes_moved, done.bytes_moved
    fault = "" if stated == counted else "the loop moved other bytes than it stated"
    line = Line(f"bytes moved, {at}", counted, f"stated {stated:,}", counted / stated, "bytes")
    yield Finding(line, fault)
    least = sum(x.nbytes for x in (*inputs, *done.outputs))
    line = Line(f"bytes moved, {at}", counted, f"each once {least:,}", counted / least, "bytes")
    yield Finding(line)
    scores = held["plain steps"]
    for name, most in held.items() if scores else ():
        against = f"plain steps {scores:,}"
        yield Finding(
            Line(f"held beside the inputs: {name}", most, against, most / scores, "bytes")
        )
