"""The command ``bench``: how fast it all is, and against what.

Everything that is compared is timed in turns within one run, so that a noisy machine is as noisy
for all. Times are medians, after a warm-up, on a device that has been waited for.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import torch.nn.functional as F
from einops import einsum, rearrange
from torch import Tensor, nn

from ncd.circuit import elaborate
from ncd.models import CATALOGUE
from ncd.models.attention import multi_head_attention
from ncd.run import CircuitModule, compile, example_inputs, trace
from ncd.run.measure import backward_call, forward_call, medians
from ncd.terms import Term

# --- peers ---------------------------------------------------------------------------------------


class ByHand(nn.Module):
    """Multi-head attention as the notebook writes it (figure 21), with a module's weights."""

    def __init__(self, module: CircuitModule, k: int, h: int) -> None:
        super().__init__()
        self.k, self.h = k, h
        self.Q, self.K, self.V, self.O = (module.get_submodule(name) for name in "QKVO")

    def split(self, x: Tensor) -> Tensor:
        return rearrange(x, "... (k h) -> ... k h", h=self.h)

    def forward(self, target: Tensor, source: Tensor) -> Tensor:
        q, k, v = self.split(self.Q(target)), self.split(self.K(source)), self.split(self.V(source))
        x = einsum(q, k, "... y k h, ... x k h -> ... y x h") / math.sqrt(self.k)
        x = einsum(x.softmax(-2), v, "... y x h, ... x k h -> ... y k h")
        out: Tensor = self.O(rearrange(x, "... k h -> ... (k h)"))
        return out


class Fused(ByHand):
    """The same with torch's ``scaled_dot_product_attention``, which never keeps the weights."""

    def split(self, x: Tensor) -> Tensor:
        return rearrange(x, "... y (k h) -> ... h y k", h=self.h)

    def forward(self, target: Tensor, source: Tensor) -> Tensor:
        q, k, v = self.split(self.Q(target)), self.split(self.K(source)), self.split(self.V(source))
        x = F.scaled_dot_product_attention(q, k, v)
        out: Tensor = self.O(rearrange(x, "... h y k -> ... y (k h)"))
        return out


# --- the command ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One measurement, and what it is held against, if anything."""

    what: str
    seconds: float
    against: str = ""
    ratio: float | None = None


def bench(
    knobs: Mapping[str, int], seed: int, device: str, progress: Callable[[int, int, str], None]
) -> list[Line]:
    """All measurements: of multi-head attention at the knobs, then with 512 queries and keys."""
    entry = CATALOGUE["multi-head-attention"]
    settings = entry.settings(knobs)
    lines: list[Line] = []
    for index, sizes in enumerate((settings, {**settings, "y": 512, "x": 512})):
        progress(index, 3, f"run, y {sizes['y']}, x {sizes['x']}")
        lines += run_lines(sizes, seed, device, rounds=200 if index == 0 else 30)
    progress(2, 3, "term and views")
    lines += view_lines(settings)
    progress(3, 3, "")
    return lines


def run_lines(sizes: Mapping[str, int], seed: int, device: str, rounds: int) -> list[Line]:
    """The compiled module against the hand-written ones, and capture against a plain forward."""
    term = multi_head_attention(**{**sizes, "causal": 0})
    module = compile(term, seed=seed, device=device)
    inputs = tuple(x.requires_grad_() for x in example_inputs(term, seed, device))
    peers = {
        "by hand": ByHand(module, sizes["k"], sizes["h"]),
        "fused": Fused(module, sizes["k"], sizes["h"]),
    }
    modules: dict[str, nn.Module] = {"compiled": module, **peers}
    forward = medians(
        {name: forward_call(m, inputs) for name, m in modules.items()}
        | {"capture": lambda: trace(module, *inputs)},
        device=device,
        rounds=rounds,
    )
    both = medians(
        {name: backward_call(m, inputs) for name, m in modules.items()},
        device=device,
        rounds=rounds,
    )
    at = f"y {sizes['y']}, x {sizes['x']}"
    return [
        *_against(f"forward, {at}", forward, "compiled", peers),
        *_against(f"forward and backward, {at}", both, "compiled", peers),
        *_against(f"forward, {at}", forward, "capture", ["compiled"]),
    ]


def _against(what: str, times: Mapping[str, float], name: str, others: Iterable[str]) -> list[Line]:
    own = times[name]
    return [
        Line(f"{what}: {name}", own, f"{other} {times[other] * 1e3:.3f} ms", own / times[other])
        for other in others
    ]


def view_lines(settings: Mapping[str, int]) -> list[Line]:
    """From knobs to each view; every turn has a size that no cache has seen."""
    from ncd.draw import draw
    from ncd.source import source

    lengths = itertools.count(settings["y"])

    def build() -> Term:
        return multi_head_attention(**{**settings, "y": next(lengths)})

    start = time.perf_counter()
    draw(build()).svg()
    first = time.perf_counter() - start
    term = build()
    calls: dict[str, Callable[[], object]] = {
        "knobs to term": build,
        "knobs to circuit": lambda: elaborate(build()),
        "knobs to SVG": lambda: draw(build()).svg(),
        "knobs to source": lambda: source(build()),
        "term to SVG, drawn before": lambda: draw(term).svg(),
    }
    times = medians(calls, rounds=50)
    return [
        Line("first knobs to SVG of the process", first),
        *(Line(name, seconds) for name, seconds in times.items()),
    ]
