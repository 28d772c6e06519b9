"""How fast a drawing is: from knobs to SVG, seen or never seen, and for more and more ops."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence
from functools import partial

from ncd.circuit import resize
from ncd.circuit.elaborate import elaborate
from ncd.drawing import layout_cache
from ncd.drawing.lint.lint import lint
from ncd.drawing.pipeline import draw
from ncd.drawing.placement.coordinates import levels
from ncd.language.terms import Term, Then
from ncd.run.guard import compile
from ncd.run.measurement import medians
from ncd.run.seeding import example_inputs
from ncd.site.document import html
from ncd.systems.transformers import multi_head
from ncd.systems.transformers.multi_head import multi_head_attention
from ncd.write.torch_source.source_file import source
from tools.bench.measurements import Line, against, amount
from tools.bench.peers import layer, resnet, seen_by_torchview

SMALL = {"h": 4, "k": 16, "m": 128, "y": 20, "x": 22}
LAYERS = (1, 8, 18)  # 20, 160 and 360 ops
Call = Callable[[], object]


def forget() -> None:
    """Empties all that is kept of a structure; how names are set in type is still known."""
    layout_cache.clear_cache()
    resize.clear_caches()
    multi_head.forget()
    levels.cache_clear()


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
        "knobs to source": lambda: source(build()),
        "term to SVG, drawn before": lambda: draw(term).svg(),
    }
    times = medians(calls, rounds=rounds)
    return [
        Line("first knobs to SVG of the process", first),
        *(Line(name, seconds) for name, seconds in times.items()),
    ]


def drawing_lines(seed: int, rounds: int = 20) -> list[Line]:
    """Drawings seen and never seen, against their lint and torchview with dot; what they weigh."""
    whats: dict[str, Callable[[], Term]] = {
        "multi-head attention": knobs(),
        "six residual blocks": resnet,
    }
    return [line for what, build in whats.items() for line in _drawn(what, build, seed, rounds)]


def _drawn(what: str, build: Callable[[], Term], seed: int, rounds: int) -> list[Line]:
    term = build()
    drawing = draw(term)

    def svg() -> object:
        return draw(build()).svg()

    peer = seen_by_torchview(compile(term, seed=seed), example_inputs(term, seed))
    peers = {} if peer is None else {"torchview and dot": peer}
    new = "knobs to SVG, structure never drawn"
    seen = "knobs to SVG, structure drawn before"
    checks: dict[str, Call] = {"draw": lambda: draw(term), "lint": lambda: lint(drawing)}
    first = medians({new: svg, **checks, **peers}, rounds=rounds, before=forget)
    later = medians({seen: svg, **peers}, rounds=rounds)
    return [
        *against(what, first, new, peers),
        *against(what, later, seen, peers),
        *against(what, first, "lint", ["draw"]),
        *_weights(what, term),
    ]


def _weights(what: str, term: Term) -> list[Line]:
    drawing = draw(term)
    sizes = {
        "SVG with its fonts": drawing.svg(),
        "SVG without fonts": drawing.svg(fonts=False),
        "HTML": html(term),
    }
    return [
        Line(f"{what}: {kind}", len(text.encode()), unit="bytes") for kind, text in sizes.items()
    ]


def size_lines(layers: Sequence[int] = LAYERS, rounds: int = 5) -> list[Line]:
    """A transformer of more and more layers, nothing folded, by the op."""
    lengths = itertools.count(2)

    def svg(n: int) -> str:
        term = Then(*[layer(next(lengths))] * n)
        return draw(term, folded=(), width=None).svg()

    calls: dict[str, Call] = {str(n): partial(svg, n) for n in layers}
    times = medians(calls, rounds=rounds, warm=1, before=forget)
    counts = {n: len(elaborate(Then(*[layer(2)] * n)).cells) for n in layers}
    each = {n: times[str(n)] / counts[n] for n in layers}
    first = layers[0]
    return [
        Line(
            f"knobs to SVG, nothing folded, {counts[n]} ops: each op",
            each[n],
            f"of {counts[first]} ops {amount(each[first], 's')}" if n != first else "",
            each[n] / each[first] if n != first else None,
        )
        for n in layers
    ]
