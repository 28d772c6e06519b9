"""How fast a drawing is: from knobs to SVG, seen or never seen, and for more and more ops."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial

from ncd.code import source
from ncd.drawing import draw, lanes, seen
from ncd.drawing.lint import lint
from ncd.lang import resized
from ncd.lang.elaborate import elaborate
from ncd.lang.terms import Term, Then
from ncd.measured import Line, against
from ncd.models import attention
from ncd.models.attention import multi_head_attention
from ncd.peers import layer, resnet, seen_by_torchview
from ncd.run import compile, example_inputs
from ncd.run.measure import medians

SMALL = {"h": 4, "k": 16, "m": 128, "y": 20, "x": 22}
LAYERS = (1, 8, 18)  # 20, 160 and 360 ops
Call = Callable[[], object]


def forget() -> None:
    """Empties all that is kept of a structure; how names are set in type is still known."""
    seen.forget()
    resized.forget()
    attention.forget()
    lanes.levels.cache_clear()


def knobs() -> Callable[[], Term]:
    """Multi-head attention; every turn has a size that no cache has seen."""
    lengths = itertools.count(SMALL["y"])
    return lambda: multi_head_attention(**{**SMALL, "y": next(lengths)})


def view_lines(rounds: int = 50) -> list[Line]:
    """From knobs to each view."""
    build = knobs()
    start = time.perf_counter()
    draw(build()).svg()
    first = time.perf_counter() - start
    term = build()
    calls: dict[str, Call] = {
        "knobs to term": build,
        "knobs to circuit": lambda: elaborate(build()),
        "knobs to SVG, structure drawn before": lambda: draw(build()).svg(),
        "knobs to source": lambda: source(build()),
        "term to SVG, drawn before": lambda: draw(term).svg(),
    }
    times = medians(calls, rounds=rounds)
    size = f"{len(draw(term).svg().encode()):,} bytes"
    return [
        Line("first knobs to SVG of the process", first, size),
        *(Line(name, seconds) for name, seconds in times.items()),
    ]


def drawing_lines(seed: int, rounds: int = 20) -> list[Line]:
    """Drawings whose structure no cache has seen, against their lint and torchview with dot."""
    whats: dict[str, Callable[[], Term]] = {
        "multi-head attention": knobs(),
        "six residual blocks": resnet,
    }
    return [line for what, build in whats.items() for line in _drawn(what, build, seed, rounds)]


def _drawn(what: str, build: Callable[[], Term], seed: int, rounds: int) -> list[Line]:
    def anew() -> Term:
        forget()
        return build()

    term = build()
    drawing = draw(term)

    def again() -> object:
        forget()
        return draw(term)

    calls: dict[str, Call] = {
        "knobs to SVG": lambda: draw(anew()).svg(),
        "draw": again,
        "lint": lambda: lint(drawing),
    }
    module, inputs = compile(term, seed=seed), example_inputs(term, seed)
    peer = seen_by_torchview(module, inputs)
    if peer is not None:
        calls["torchview and dot"] = peer
    times = medians(calls, rounds=rounds)
    never = f"never seen, {what}"
    lines = against(never, times, "knobs to SVG", [n for n in times if n == "torchview and dot"])
    lines = lines or [Line(f"{never}: knobs to SVG", times["knobs to SVG"])]
    return [*lines, *against(what, times, "lint", ["draw"])]


def size_lines(layers: Sequence[int] = LAYERS, rounds: int = 5) -> list[Line]:
    """A transformer of more and more layers, nothing folded, by the op."""
    lengths = itertools.count(2)

    def svg(n: int) -> str:
        forget()
        term = Then(*[layer(next(lengths))] * n)
        return draw(term, folded=(), width=None).svg()

    calls: dict[str, Call] = {str(n): partial(svg, n) for n in layers}
    times = medians(calls, rounds=rounds, warm=1)
    counts = {n: len(elaborate(Then(*[layer(2)] * n)).cells) for n in layers}
    each = {n: times[str(n)] / counts[n] for n in layers}
    first = each[layers[0]]
    return [
        Line(
            f"knobs to SVG, {counts[n]} ops",
            times[str(n)],
            f"{1e3 * each[n]:.3f} ms an op",
            each[n] / first if n != layers[0] else None,
        )
        for n in layers
    ]
