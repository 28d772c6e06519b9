"""Measures how fast everything is, beside other tools.

Everything that is compared is timed in turns within one run, so that a noisy machine is as noisy
for all. Times are medians, after a warm-up, on a device that has been waited for.
"""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from importlib.util import find_spec
from operator import rshift
from typing import Any

import torch
from torch import Tensor

from ncd.app.host.serve import YOUNG
from ncd.circuit.costs import cost
from ncd.circuit.elaborate import elaborate
from ncd.errors import unknown_name_error
from ncd.explain.autograd_dag import autograd
from ncd.explain.graphviz_layout import svg
from ncd.language.terms import Term, Then
from ncd.run.guard import compile
from ncd.run.measurement import backward_call, forward_call, medians
from ncd.run.module import CircuitModule, trace
from ncd.run.seeding import example_inputs, generator
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.transformers.multi_head import multi_head_attention
from ncd.write.torch_source.source_file import source
from tools.bench.bench_drawing import SMALL, drawing_lines, size_lines, view_lines
from tools.bench.measurements import Line, against
from tools.bench.peers import ByHand, Fused, layer

LONG = {"h": 8, "k": 32, "m": 256}
LENGTHS = (512, 2048)
LAYERS = (12, 24, 48)
Call = Callable[[], object]
Measure = Callable[[], list[Line]]


def parts(seed: int, device: str) -> dict[str, list[Measure]]:
    """What is measured, by the names that choose it."""
    long = [
        partial(long_lines, n, causal, seed, device) for n in LENGTHS for causal in (False, True)
    ]
    return {
        "runs": [partial(small_lines, seed, device), *long],
        "graph": [partial(graph_lines, seed, device), partial(picture_lines, seed, device)],
        "drawings": [view_lines, partial(drawing_lines, seed), size_lines],
        "growth": [partial(growth_lines, seed)],
    }


def bench(
    seed: int, device: str, progress: Callable[[int, int, str], None], only: str = ""
) -> list[Line]:
    """All measurements, or one part: runs of multi-head attention, its graph, drawings, growth."""
    found = parts(seed, device)
    if only and only not in found:
        raise unknown_name_error("part", only, found, "bench")
    calls = [(name, call) for name, each in found.items() for call in each if only in ("", name)]
    lines: list[Line] = []
    with young():
        for done, (name, call) in enumerate(calls):
            progress(done, len(calls), name)
            lines += call()
    progress(len(calls), len(calls), "")
    return lines


@contextmanager
def young() -> Iterator[None]:
    """Garbage is collected as a server collects it: what dies young, and all only at rests."""
    gc.collect()
    gc.freeze()
    before = gc.get_threshold()
    gc.set_threshold(*YOUNG)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _module(
    sizes: Mapping[str, int], seed: int, device: str
) -> tuple[CircuitModule, tuple[Tensor, ...]]:
    term = multi_head_attention(**sizes)
    module = compile(term, seed=seed, device=device)
    return module, tuple(x.requires_grad_() for x in example_inputs(term, seed, device))


def small_lines(seed: int, device: str, rounds: int = 200) -> list[Line]:
    """The compiled module against the one written with einops, and capture against no capture."""
    module, inputs = _module(SMALL, seed, device)
    peer = ByHand(module, SMALL["k"], SMALL["h"])
    forward = {
        "compiled": forward_call(module, inputs),
        "einops by hand": forward_call(peer, inputs),
        "capture": lambda: trace(module, *inputs),
    }
    both = {
        "compiled": backward_call(module, inputs),
        "einops by hand": backward_call(peer, inputs),
    }
    at = f"y {SMALL['y']}, x {SMALL['x']}"
    times = medians(forward, device=device, rounds=rounds)
    backward = medians(both, device=device, rounds=rounds)
    return [
        *against(f"forward, {at}", times, "compiled", ["einops by hand"]),
        *against(f"forward and backward, {at}", backward, "compiled", ["einops by hand"]),
        *against(f"forward, {at}", times, "capture", ["compiled", "einops by hand"]),
    ]


def long_lines(length: int, causal: bool, seed: int, device: str, rounds: int = 20) -> list[Line]:
    """The compiled module against torch's fused attention, written by hand."""
    sizes = {**LONG, "y": length, "x": length, "causal": int(causal)}
    module, inputs = _module(sizes, seed, device)
    peer = Fused(module, LONG["k"], LONG["h"], causal)
    modules = {"compiled": module, "fused by hand": peer}
    at = f"y = x = {length}{', causal' if causal else ''}"
    lines: list[Line] = []
    for what, call in (("forward", forward_call), ("forward and backward", backward_call)):
        calls = {name: call(m, inputs) for name, m in modules.items()}
        times = medians(calls, device=device, rounds=rounds)
        lines += against(f"{what}, {at}", times, "compiled", ["fused by hand"])
    return lines


def graph_lines(seed: int, device: str, rounds: int = 50) -> list[Line]:
    """What the autograd graphs cost beyond the run, forward and backward, that they show."""
    return [
        line
        for entry in CATALOGUE.values()
        for line in _graph_lines(entry.title.lower(), entry.build(), seed, device, rounds)
    ]


def _graph_lines(name: str, term: Term, seed: int, device: str, rounds: int) -> list[Line]:
    module = compile(term, seed=seed, device=device)
    inputs = example_inputs(term, seed, device)
    calls: dict[str, Call] = {
        "graph": lambda: autograd(module, *inputs),
        "run": lambda: _there_and_back(module, inputs, seed),
    }
    if viz := _torchviz(module, inputs):
        calls["make_dot"] = viz
    return _beyond(f"autograd graph beyond its run, {name}", calls, "graph", device, rounds)


def picture_lines(seed: int, device: str, rounds: int = 20) -> list[Line]:
    """The graph of a whole ResNet, a node for each block, and its picture."""
    term = CATALOGUE["identity-resnet"].build()
    module = compile(term, seed=seed, device=device)
    inputs = example_inputs(term, seed, device)

    def picture() -> str:
        return svg(autograd(module, *inputs).dot(level="block"), patience=60)

    calls: dict[str, Call] = {
        "graph and picture": picture,
        "run": lambda: _there_and_back(module, inputs, seed),
    }
    if viz := _torchviz(module, inputs):
        calls["make_dot and dot"] = lambda: viz().pipe(format="svg")
    what = "autograd graph by blocks as a picture, beyond its run, identity resnet"
    return _beyond(what, calls, "graph and picture", device, rounds)


def _there_and_back(
    module: CircuitModule, inputs: tuple[Tensor, ...], seed: int
) -> tuple[Tensor, ...]:
    """Forward and backward from a random gradient, as the graph is made of."""
    given = _leaves(inputs)
    outputs, random = trace(module, *given).outputs, generator(seed, "cotangent")
    flows = [torch.randn(y.shape, generator=random).to(y) for y in outputs]
    leaves = [x for x in (*given, *module.parameters()) if x.requires_grad]
    return torch.autograd.grad(outputs, leaves, flows)


def _leaves(inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Inputs of which gradients are asked; whole numbers have none."""
    return [x.clone().requires_grad_(x.is_floating_point()) for x in inputs]


def _torchviz(module: CircuitModule, inputs: tuple[Tensor, ...]) -> Callable[[], Any] | None:
    """A call that makes torchviz's graph of a run that is done; only developers have it."""
    if not find_spec("torchviz"):
        return None
    from torchviz import make_dot

    outputs = trace(module, *_leaves(inputs)).outputs
    return partial(make_dot, outputs, params=dict(module.named_parameters()))


def _beyond(what: str, calls: Mapping[str, Call], own: str, device: str, rounds: int) -> list[Line]:
    """What one call takes beyond the run in it, and the last one if there is another."""
    times = medians(calls, device=device, rounds=rounds)
    beyond, peers = times[own] - times["run"], [name for name in calls if name not in (own, "run")]
    if not peers:
        return [Line(what, beyond)]
    return against(what, {**times, own: beyond}, own, peers)


UNSEEN = itertools.count(2)  # sizes that no cache has seen


def _layers(n: int) -> list[Term]:
    y = next(UNSEEN)
    return [layer(y) for _ in range(n)]


def _at_once(n: int) -> Term:
    return Then(*_layers(n))


def _one_by_one(n: int) -> Term:
    return reduce(rshift, _layers(n))


def _ready(n: int, count: int, what: str) -> Iterator[Term]:
    """Returns terms of n layers, elaborated unless that is what is timed."""
    terms = [_at_once(n) for _ in range(count)]
    for term in terms if what != "elaborate" else ():
        elaborate(term)
    return iter(terms)


def _of_next(use: Callable[[Term], object], terms: Iterator[Term]) -> object:
    return use(next(terms))


def growth_lines(
    seed: int, layers: Sequence[int] = LAYERS, rounds: int = 5, warm: int = 1
) -> list[Line]:
    """Times a transformer of more and more layers, each against the one before it."""
    uses: dict[str, Callable[[Term], object]] = {
        "elaborate": elaborate,
        "source": source,
        "cost": cost,
        "compile": lambda term: compile(term, seed=seed),
    }
    calls: dict[str, Call] = {}
    for n in layers:
        calls[f"build, {n} layers"] = partial(_at_once, n)
        calls[f"t = t >> layer, {n} layers"] = partial(_one_by_one, n)
        for what, use in uses.items():
            terms = _ready(n, rounds + warm, what)
            calls[f"{what}, {n} layers"] = partial(_of_next, use, terms)
    times = medians(calls, rounds=rounds, warm=warm)
    lines: list[Line] = []
    for what in ("build", "t = t >> layer", *uses):
        for few, many in itertools.pairwise(layers):
            own = {f"{n} layers": times[f"{what}, {n} layers"] for n in (few, many)}
            lines += against(what, own, f"{many} layers", [f"{few} layers"])
    return lines
