"""Number formats on a device: rounding to the bit, runs in them, and products by hardware."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

import ncd
from ncd.language.number_formats import BITS, PLAIN_FORMATS, Formats
from ncd.run.measurement import medians
from ncd.run.module import FLOATS, round_to_format
from ncd.run.seeding import generator
from ncd.systems.catalogue import CATALOGUE
from tools.bench.measurements import Line, amount
from tools.gpu.agreement import Setting, apart, furthest
from tools.gpu.findings import Finding

SYSTEMS = ("multi-head-attention", "gpt-2", "lenet")
EPS = {"bfloat16": 2**-8, "float16": 2**-11, "float8": 2**-4, "int8": 2**-7, "int4": 2**-3}
FLIPS = 8  # roundings that may fall on the other side, each by one step
FP8 = (8, 9)  # the compute capability from which a GPU multiplies numbers of 8 bits
REACH = 2.0 ** torch.arange(-30, 20)  # the sizes of the numbers that are rounded


def formats(setting: Setting) -> Iterator[Finding]:
    """Measures each format: the rounding, systems with all their numbers in it, products."""
    names = [name for name in BITS if name != PLAIN_FORMATS]
    for name in names:
        yield _rounding(name, setting)
    for name in names:
        yield _runs(name, setting)
    for name in ("bfloat16", "float16"):
        yield _module(name, setting)
    yield from _products(setting)


def _rounding(name: str, setting: Setting) -> Finding:
    random = generator(0, "formats")
    numbers = torch.randn(setting.pick(20_000, 100), len(REACH), generator=random) * REACH
    numbers[0, :3] = torch.tensor([torch.inf, -torch.inf, 0])
    mine, theirs = (
        round_to_format(numbers.to(setting.device), name).cpu(),
        round_to_format(numbers, name),
    )
    other = int((mine != theirs).logical_and(~(mine.isnan() & theirs.isnan())).sum())
    line = Line(f"{name}: numbers rounded otherwise", other, f"cpu, of {numbers.numel():,}", None)
    return Finding(_counted(line), f"{other} are not the CPU's" if other else "")


def _counted(line: Line) -> Line:
    return Line(line.what, line.value, line.against, line.ratio, "numbers")


def _runs(name: str, setting: Setting) -> Finding:
    """Runs systems with weights and arrays in a format, on the device and on the CPU.

    A sum in another order may be rounded to the neighbour, a step away.
    """
    found: dict[str, float] = {}
    for system in SYSTEMS[: setting.pick(3, 1)]:
        term, both = CATALOGUE[system].build(), []
        for device in (setting.device, "cpu"):
            module = ncd.compile(term, device=device, formats=Formats(name, name))
            with torch.no_grad():
                both.append(module.execute(ncd.example_inputs(term, device=device)))
        found[system] = furthest(*both)
    worst = max(found, key=lambda system: found[system])
    fault = "" if found[worst] <= FLIPS * EPS[name] else f"more than {FLIPS} steps apart"
    what = f"{name}: outputs of {len(found)} systems, the furthest {worst}"
    return Finding(Line(what, found[worst], "cpu", unit=""), fault, {"systems": found})


def _module(name: str, setting: Setting) -> Finding:
    """Runs a module whose numbers are held in 16 bits, as ``module.to`` makes it."""
    size = setting.pick(1024, 32)
    term = CATALOGUE["multi-head-attention"].build(y=size, x=size, m=512, k=64, h=8)
    module = ncd.compile(term, device=setting.device)
    inputs = ncd.example_inputs(term, device=setting.device)
    with torch.no_grad():
        plain = module(*inputs).clone()
        module.to(FLOATS[name])
        short = [x.to(FLOATS[name]) for x in inputs]
        off = apart(module(*short).float(), plain)
    fault = "" if off < FLIPS * EPS[name] else f"more than {FLIPS} steps apart"
    return Finding(Line(f"module.to({name}), y = x = {size}", off, "float32", unit=""), fault)


# --- what the hardware multiplies -----------------------------------------------------------------


def _products(setting: Setting) -> Iterator[Finding]:
    """Measures a product of square matrices in each format that the device multiplies."""
    side = setting.pick(8192, 128, on_cpu=512)
    random = generator(0, "products")
    left, right = (torch.randn(side, side, generator=random).to(setting.device) for _ in range(2))
    calls = {"float32": lambda: left @ right}
    for name in ("float16", "bfloat16"):
        a, b = left.to(FLOATS[name]), right.to(FLOATS[name])
        calls[name] = lambda a=a, b=b: a @ b
    fp8 = setting.device.startswith("cuda") and torch.cuda.get_device_capability() >= FP8
    if fp8:
        a, b = left.to(FLOATS["float8"]), right.mT.contiguous().mT
        calls["float8"] = _scaled(a, b.to(FLOATS["float8"]), left.device)
    times = medians(calls, device=setting.device, rounds=setting.pick(10, 1), warm=2)
    for name, seconds in times.items():
        rate = 2 * side**3 / seconds / 1e12
        at = f"product of {side}² numbers in {name}: {amount(seconds, 's')}"
        yield Finding(Line(at, rate, "float32", times["float32"] / seconds, "TFLOP/s"))
    if not fp8:
        yield Finding(Line("product in float8: not on this device", 0, unit="TFLOP/s"))


def _scaled(a: Tensor, b: Tensor, device: torch.device):  # type: ignore[no-untyped-def]
    one = torch.ones((), device=device)
    return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
