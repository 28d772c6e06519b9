"""A fused loop tile by tile: its bytes, its fast memory, and the roofline of machines."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import exp, log10, sqrt
from time import perf_counter
from typing import NamedTuple

import plotly.graph_objects as go
import torch

import ncd
from ncd.app.figure import diagram
from ncd.app.parts import charts, html_panel
from ncd.app.parts.charts import COLOURS, DASHES
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Range
from ncd.drawing.pipeline import draw
from ncd.errors import NCDError
from ncd.explain.equation_proof import SideComparison
from ncd.language.blocks import Equation
from ncd.language.number_formats import BITS
from ncd.language.terms import Term
from ncd.rewrite.tile_loop import Cut
from ncd.rewrite.tile_schedule import Stream, stream, too_large
from ncd.site import markup
from ncd.site.markup import mathml
from ncd.systems.tensors.flash_attention import flash_attention
from ncd.systems.tensors.flash_attention import passes as attention_passes

# --- Machines with their stated rates, and the roofline chart of an algorithm

HEIGHT = 380
REACH = 0.45  # powers of ten on the axis, as long as a label
LABEL_ROOM_FACTOR = 6  # times an intensity: room for a label between a point and the edge


class Machine(NamedTuple):
    """A machine: bytes a second from its memory, and FLOPs a second in two kinds of numbers.

    ``float32_flops`` is of float32 without tensor cores, ``float16_flops`` of 16-bit numbers with
    them, without sparsity and summed in float32. ``fast`` are the bytes of shared memory of one
    multiprocessor.
    """

    name: str
    bandwidth: float
    float32_flops: float
    float16_flops: float
    source: str


MACHINES = (
    Machine("A100 SXM 80 GB", 2.039e12, 19.5e12, 312e12, "NVIDIA A100 datasheet"),
    Machine("H100 SXM", 3.35e12, 67e12, 989.4e12, "NVIDIA H100 datasheet"),
    Machine("RTX 4090", 1.008e12, 82.6e12, 165.2e12, "NVIDIA Ada GPU architecture, V2"),
)


@cache
def this_cpu() -> Machine:
    """Returns the processor of this server, whose rates are measured once, in about 0.2 s.

    Bytes are those of a copy that no cache can hold, read and written; FLOPs those of products of
    square matrices.
    """
    numbers, copy = torch.ones(1 << 24), torch.ones(1 << 24)
    moved = 2 * numbers.nbytes / _seconds(lambda: copy.copy_(numbers))
    return Machine(
        "this server's CPU",
        moved,
        _product_rate(512, torch.float32),
        _product_rate(128, torch.bfloat16),
        "measured here: a copy of 67 MB, and a matrix product",
    )


def _product_rate(side: int, dtype: torch.dtype) -> float:
    matrix = torch.ones(side, side, dtype=dtype)
    return 2 * side**3 / _seconds(lambda: matrix @ matrix)


def _seconds(act: Callable[[], object]) -> float:
    """Returns the least time of a few tries: the others were disturbed."""
    found = []
    for _ in range(4):
        start = perf_counter()
        act()
        found.append(perf_counter() - start)
    return min(found)


def machines() -> tuple[Machine, ...]:
    """Returns the machines to compare with."""
    return (*MACHINES, this_cpu())


class RooflinePoint(NamedTuple):
    """A part of an algorithm: its operations, and the bytes that it moves."""

    name: str
    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Its operations for each byte."""
        return self.flops / self.bytes


def rate(machine: Machine, bits: int) -> float:
    """Returns the FLOPs a second of a machine in numbers of so many bits."""
    return machine.float32_flops if bits >= 32 else machine.float16_flops


def ridge(machine: Machine, bits: int) -> float:
    """Returns the operations for each byte above which a machine is bound by its arithmetic.

    >>> round(ridge(MACHINES[1], 16))
    295
    """
    return rate(machine, bits) / machine.bandwidth


def roofline(points: Sequence[RooflinePoint], bits: int) -> go.Figure:
    """Returns the rate that each machine can reach at each intensity, and where parts stand.

    Source: Williams, Waterman and Patterson 2009, "Roofline: An Insightful Visual Performance
    Model for Multicore Architectures".
    """
    shown = [point for point in points if point.flops and point.bytes]
    every = machines()
    ridges = [ridge(machine, bits) for machine in every]
    low = min([0.1, *(p.intensity / LABEL_ROOM_FACTOR for p in shown)])
    high = max([4 * max(ridges), *(LABEL_ROOM_FACTOR * p.intensity for p in shown)])
    figure = go.Figure()
    for n, (machine, turn) in enumerate(zip(every, ridges, strict=True)):
        top = rate(machine, bits)
        figure.add_scatter(
            x=[low, turn, high],
            y=[low * machine.bandwidth, top, top],
            name=machine.name,
            mode="lines",
            line={"color": COLOURS[n], "dash": DASHES[n], "width": 2},
        )
    _add_points(figure, shown, bits)
    axis = {"type": "log", "exponentformat": "SI", "dtick": 1}
    figure.update_layout(
        height=HEIGHT,
        title={"text": "Roofline", "x": 0, "font": {"size": 15}},
        margin={"l": 60, "r": 12, "t": 44, "b": 90},
        xaxis={**axis, "title": "operations for each byte (FLOP/B)"},
        yaxis={**axis, "title": "reachable rate (FLOP/s)"},
        legend={"orientation": "h", "y": -0.28},
    )
    return figure


def _add_points(figure: go.Figure, points: Sequence[RooflinePoint], bits: int) -> None:
    """Adds the parts on the line of the second machine; hollow ones are bound by its memory."""
    machine = MACHINES[1]
    turn, top = ridge(machine, bits), rate(machine, bits)
    points = sorted(points, key=lambda point: point.intensity)
    bound = [point.intensity < turn for point in points]
    figure.add_scatter(
        x=[point.intensity for point in points],
        y=[min(top, point.intensity * machine.bandwidth) for point in points],
        text=labels(points),
        hovertext=[point.name for point in points],
        name=f"parts, on {machine.name}; red: bound by memory",
        mode="markers+text",
        textfont={"shadow": "auto"},  # so that they can be read across a line
        textposition=["top left", "bottom right"] * (len(points) // 2 + 1),
        marker={
            "size": 11,
            "color": ["#c0392b" if slow else "#2e7d32" for slow in bound],
            "symbol": ["circle" if slow else "diamond" for slow in bound],
        },
        hovertemplate="%{hovertext}: %{x:.3g} FLOP/B<extra></extra>",
    )


def labels(points: Sequence[RooflinePoint]) -> list[str]:
    """Returns the labels of points from left to right, above and below the line in turn.

    A label that would meet the next one on its side stands a line further away.

    >>> labels([RooflinePoint(name, n, 4) for n, name in enumerate("abcd", 10)])
    ['a', '<br>b', 'c<br>', 'd']
    """
    away = [0] * len(points)

    def give_way(n: int, other: int) -> None:
        if abs(log10(points[n].intensity / points[other].intensity)) < REACH:
            away[n] = away[other] + 1

    for n in range(2, len(points), 2):  # above
        give_way(n, n - 2)
    for n in reversed(range(1, len(points) - 2, 2)):  # below
        give_way(n, n + 2)
    names = [f"<b>{p.name}</b>" if p.name.startswith("one loop") else p.name for p in points]
    lines = ["<br>" * count for count in away]
    pairs = enumerate(zip(names, lines, strict=True))
    return [line + name if n % 2 else name + line for n, (name, line) in pairs]


# --- The What moves panel: a fused loop over tiles, its bytes, its fast memory, its roofline

POWERS = range(10)  # of two: tiles of 1 to 512
GROUP, TILE = Range("group_of", POWERS, 5), Range("tile_of", POWERS, 3)
FAST = Range("fast_memory", range(8, 19), 15)  # powers of two: 256 bytes to 256 kB
FIT = "fitting"  # an action that sets both sizes of tiles
MAX_OPS = 16  # ops of a diagram that is drawn here
WIRE = re.compile(r'<g class="wire([^"]*)" data-axis="([^"]+)" data-array="([^"]+)"')
FOREIGN = re.compile(r' (?:data-(?:node|fence|array)|tabindex|role)="[^"]*"')
STYLE = """
<style>
.moves { --slow: light-dark(#0a62b5, #6cb8ff); --fast: light-dark(#b63c00, #ff9c5a); }
.moves .wire.slow path:not(.hit) { stroke: var(--slow); }
.moves .wire.fast path:not(.hit) { stroke: var(--fast); }
.moves .wire.fast text, .moves .key .fast { fill: var(--fast); color: var(--fast); }
.moves .wire.slow text, .moves .key .slow { fill: var(--slow); color: var(--slow); }
.moves .wire.fast.grouped path:not(.hit) { stroke-dasharray: 9 4; stroke-width: 2; }
.moves .wire.fast.streamed path:not(.hit) { stroke-dasharray: 2 4; stroke-width: 2.6; }
.moves .drawing > svg { max-width: 100%; height: auto; }
.moves .key { margin: 0.2rem 0 0.6rem; } .moves .large { font-size: 1.15em; }
.moves math { font-size: 1.15em; }
.moves math[display="block"] { overflow-x: auto; max-width: 100%; padding-bottom: 0.3rem; }
</style>
"""


CONTROLS = (GROUP, TILE, FAST)


def what_moves(
    grouped: tuple[str, ...] = ("y",),
    streamed: str = "x",
    around: bool = False,
    product: bool = False,
) -> Panel:
    """Returns the What moves panel of a page.

    Args:
        grouped: The axes that are cut into groups, all of one size.
        streamed: The axis whose tiles come one after the other.
        around: Whether the whole term is one loop; else only what takes or gives the scores.
        product: Whether it is a matrix product, for which the least that must move is known.
    """
    loop = WhatMoves(grouped, streamed, around, product)
    return Panel("What moves", loop.show, needs_run=False, controls=CONTROLS)


@dataclass(frozen=True)
class WhatMoves:
    """The fused loop of a page, its bytes and its drawing; the fields are as in what_moves."""

    grouped_axes: tuple[str, ...] = ("y",)
    streamed_axis: str = "x"
    around: bool = False
    product: bool = False

    def show(self, scene: Scene) -> None:
        """Shows the sliders, what moves at these sizes or a refusal, the charts and the drawing."""
        group, tile = 1 << GROUP.number, 1 << TILE.number
        try:
            loop = self.loop(scene, group, tile)
        except NCDError as error:
            said = f'<p role="status">This is not one loop over tiles: {markup.text(error)}</p>'
            html_panel.render(said, "moves", CONTROLS, _pick)
            return
        budget = 1 << FAST.number
        html_panel.render(self.html(scene, loop, budget), "moves", CONTROLS, _pick)
        charts.render(
            self.curve(scene, loop, tile, budget),
            "moves curve",
            "The bytes that move against the fast memory, for groups of every size",
        )
        figure = roofline(points(loop), BITS[scene.formats.activations])
        charts.render(figure, "roofline", "Each part's operations for each byte, and four machines")

    def loop(self, scene: Scene, group: int, tile: int) -> Stream:
        """Returns the loop at these sizes of groups and tiles."""
        grouped = tuple((name, group) for name in self.grouped_axes)

        def make() -> Stream:
            given = dict(grouped), (self.streamed_axis, tile)
            return stream(scene.term, *given, formats=scene.formats, around=self.around)

        return cached_value("loop", scene.term, grouped, tile, scene.formats, self, make=make)

    def html(self, scene: Scene, loop: Stream, budget: int) -> str:
        """Returns the sliders, the numbers and the table of what moves."""
        tile = loop.tiles[self.streamed_axis]
        last = max(loop.sizes[name] for name in self.grouped_axes).bit_length()
        sliders = (
            _slider(self._groups(loop), GROUP, POWERS[: last + 1])
            + _slider(f"tile g_{self.streamed_axis} = {tile}", TILE)
            + _slider(f"fast memory {budget:,} B", FAST)
        )
        return (
            f'{STYLE}<div class="moves"><div class="told">{sliders}</div>'
            f"{self._verdict(loop, budget)}{self._drawing(scene, loop)}{_table(loop)}"
            f"{_machine_table(loop)}</div>"
        )

    def _groups(self, loop: Stream) -> str:
        """Returns the sizes of the groups; those of a short axis are smaller."""
        sizes = {f"g_{name}": loop.tiles[name] for name in self.grouped_axes}
        if len({*sizes.values()}) > 1:
            return ", ".join(f"{name} = {size}" for name, size in sizes.items())
        return " = ".join((*sizes, str(loop.tiles[self.grouped_axes[0]])))

    def _verdict(self, loop: Stream, budget: int) -> str:
        """Returns H and M as formulas and numbers, or the refusal of a loop that does not fit."""
        if loop.fast_bytes > budget:
            tiles = loop.fitting(budget)
            reason = markup.text(too_large(loop, budget, tiles)).replace("the loop", "The loop", 1)
            reason = re.sub(r"\bg_(\w+)", r"<i>g</i><sub>\1</sub>", reason)
            head = f'<p role="alert"><b>Refused.</b> {reason} {self._cure(tiles)}</p>'
        else:
            head = (
                f'<p role="status" class="large">One loop moves '
                f"<b>{markup.amount(loop.bytes_moved, 'B')}</b> and needs "
                f"<b>{markup.amount(loop.fast_bytes, 'B')}</b> of fast memory. "
                f"{_unfused_sentence(loop)}</p>"
            )
        moved = mathml("H = " + loop.moved_numbers.latex(), block=True)
        kept = mathml("M = " + loop.fast.latex(), block=True)
        return (
            f"{head}{moved}{kept}"
            '<p class="muted">In numbers; bytes are these times the width of each.</p>'
        )

    def _cure(self, tiles: dict[str, int] | None) -> str:
        """Returns a button that chooses the tiles that fit and move least; nothing for none."""
        if not tiles:
            return ""
        group = max(tiles[name] for name in self.grouped_axes)
        powers = [(size - 1).bit_length() for size in (group, tiles[self.streamed_axis])]
        return (
            f'<button type="button" class="plain" data-pick="{FIT}={powers[0]}-{powers[1]}">'
            "Take these tiles</button>"
        )

    def _drawing(self, scene: Scene, loop: Stream) -> str:
        if len(scene.circuit.cells) > MAX_OPS:
            return _loop_sentence(loop)
        key = self.grouped_axes, self.streamed_axis, scene.dark, scene.width
        svg = cached_value(
            "moved", scene.term, *key, make=lambda: self._svg_with_levels(scene, loop)
        )
        fast = (
            ', <b class="fast">orange</b> ones in fast memory. There a dashed wire is a '
            f"group of {markup.text(' and '.join(self.grouped_axes))}, a dotted one a tile of "
            f"{markup.text(self.streamed_axis)}."
        )
        if len(loop.alone) == 1:
            fast = ". A single op has no array in between: fast memory holds parts of these."
        said = f'<p class="key"><b class="slow">Blue</b> wires lie in slow memory{fast}</p>'
        return f'<div class="drawing part">{svg}</div>{said}'

    def _svg_with_levels(self, scene: Scene, loop: Stream) -> str:
        """Returns the drawing with the level of every wire, and marks on the axes that are cut."""
        drawing = draw(scene.term, dark=scene.dark, width=scene.width, folded=())
        slow = {move.id for move in loop.moves}
        for op in loop.schedule.ops:
            if op.cell.passes_arrays_on and all(v.id in slow for v in op.cell.inputs):
                slow |= {v.id for v in op.cell.outputs}
        inside = {v.id for op in loop.schedule.ops for v in op.cell.outputs} - slow

        def marked(found: re.Match[str]) -> str:
            more, axis, array = found.groups()
            level = " slow" if array in slow else " fast" if array in inside else ""
            cut = " grouped" if axis in self.grouped_axes else " streamed"
            cut = cut if axis in (*self.grouped_axes, self.streamed_axis) else ""
            return f'<g class="wire{more}{level}{cut}" data-axis="{axis}"'

        return FOREIGN.sub("", WIRE.sub(marked, drawing.svg(fonts=False)))

    def curve(self, scene: Scene, loop: Stream, tile: int, budget: int) -> go.Figure:
        """Returns H against M for groups of every size, the current one marked."""
        every = [self.loop(scene, 1 << power, tile) for power in POWERS]
        moved = {own.fast_bytes: own.bytes_moved for own in every}
        figure = go.Figure()
        xs = sorted(moved)
        figure.add_scatter(x=xs, y=[moved[m] for m in xs], name="this loop", mode="lines+markers")
        if self.product:
            a, b, c = (loop.sizes[name] for name in "abc")
            least = [4 * (2 * a * b * c / sqrt(m / 4) + a * c) for m in xs]
            figure.add_scatter(x=xs, y=least, name="2abc/√M + ac", line={"dash": "dot"})
        figure.add_scatter(
            x=[loop.fast_bytes],
            y=[loop.bytes_moved],
            name="now",
            mode="markers",
            marker={"size": 15, "symbol": "star", "color": "#c0392b"},
        )
        figure.add_vline(x=budget, line_dash="dash", line_color="#888")
        axis = {"type": "log", "tickformat": "~s", "dtick": "D2"}  # at 1, 2 and 5, in full
        figure.update_layout(
            height=320,
            title={"text": "What moves, against fast memory", "x": 0, "font": {"size": 15}},
            margin={"l": 60, "r": 12, "t": 44, "b": 80},
            xaxis={**axis, "title": "fast memory M (B); dashed: what there is"},
            yaxis={**axis, "title": "moved H (B)"},
            legend={"orientation": "h", "y": -0.32},
        )
        return figure


def points(loop: Stream) -> list[RooflinePoint]:
    """Returns each op by itself, all of them one after the other, and the fused loop."""
    alone = [RooflinePoint(*own) for own in loop.alone]
    flops = sum(point.flops for point in alone)
    whole = [RooflinePoint("all, one by one", flops, loop.apart_bytes)] if len(alone) > 1 else []
    return [*alone, *whole, RooflinePoint("one loop", loop.flops, loop.bytes_moved)]


def _pick(picked: str) -> None:
    name, _, value = picked.partition("=")
    if name == FIT:
        group, _, tile = value.partition("-")
        GROUP.put(group)
        TILE.put(tile)


def _slider(said: str, control: Range, numbers: range | None = None) -> str:
    """Returns a slider; in its label, what follows "_" is an index."""
    label = re.sub(r"g_(\S+)", r"<i>g</i><sub>\1</sub>", said)
    return control.html(said, f"<span>{label}</span>", numbers)


def _unfused_sentence(loop: Stream) -> str:
    """Returns how much would move if each op moved each of its arrays once."""
    apart, times = markup.amount(loop.apart_bytes, "B"), loop.apart_bytes / loop.bytes_moved
    if times >= 1:
        return f"Op by op {apart} would move: {markup.digits(times)} times as much."
    return f"If each array moved only once, it would be {apart}."


def _loop_sentence(loop: Stream) -> str:
    """Returns which part of a system that is not drawn here the loop is."""
    path = loop.schedule.ops[0].cell.path.rstrip(".")
    which = f": <code>{markup.text(path)}</code>, the first with these axes" if path else ""
    return f"<p>The loop is one attention, from its scores to the sum of its values{which}.</p>"


def _table(loop: Stream) -> str:
    rows = (
        f"<tr><td>{markup.text(move.kind)}</td><td>({markup.array(move.array)})"
        f"{' ' + markup.text(move.id) if '.' in move.id else ''}</td>"
        f"<td><math>{mathml(move.amount.latex()).partition('>')[2].rpartition('</math>')[0]}</math>"
        f'</td><td class="number">'
        f"{markup.amount(move.amount.bytes(loop.sizes, loop.tiles), 'B')}</td></tr>"
        for move in loop.moves
    )
    return markup.table(("", "Array", "Numbers", "Bytes"), rows, numbers=(3,))


def _machine_table(loop: Stream) -> str:
    """Returns which machines the loop leaves waiting for their memory, with their sources."""
    bits = BITS[loop.formats.activations]
    now = loop.flops / loop.bytes_moved
    rows = []
    for machine in machines():
        turn = ridge(machine, bits)
        kind = "memory" if now < turn else "arithmetic"
        rows.append(
            f"<tr><td>{machine.name}</td><td class='number'>{markup.digits(turn)}</td>"
            f'<td>{kind}</td><td class="source">{machine.source}</td></tr>'
        )
    table = markup.table(("Machine", "FLOP/B it needs", "Bound by", "Source"), rows, numbers=(1,))
    return (
        f"<p>The loop does {markup.digits(now)} operations for each byte that moves.</p>{table}"
        '<p class="muted">Rates of 16-bit numbers on GPUs are those of tensor cores without '
        "sparsity. An op that counts no FLOPs, such as a softmax, is always bound by memory and "
        "not in the chart.</p>"
    )


# --- The Three passes to one panel: attention rewritten step by step, and its loop tile by tile

STEP = Place("flash_step")
ROWS = 12  # the greatest number of tiles in the table
QUERY = 0  # the query whose numbers are shown


class RunningRow(NamedTuple):
    """The numbers of one query after a tile: the last key, maximum, sum, and result so far."""

    keys: tuple[int, int]
    top: float
    total: float
    result: float


class Walk(NamedTuple):
    """The numbers after every tile, and the difference of the result from plain attention."""

    rows: list[RunningRow]
    difference: float


REWRITE_TEXTS = (
    (
        "Three passes",
        "A softmax as it is computed: one pass over the scores finds the largest of each query, "
        "a second one the sum of the exponentials, and a third one divides. The largest is taken "
        "away first, so that no exponential overflows; it cancels out.",
    ),
    (
        "Divide at the end: two passes",
        "The product with the values is linear, and the sum is one number for each query. So the "
        "exponentials may be multiplied by the values first and divided afterwards. Sum and "
        "product now share a pass; only the maximum still needs one of its own.",
    ),
)
LOOP = (
    "One pass",
    "The maximum so far is enough. When a tile has a larger score, all that was added up is "
    "multiplied by the exponential of the old maximum minus the new one.",
)


def show_tile_walk(scene: Scene) -> None:
    """Shows a step: an equation that is proved on numbers, or the loop after one of its tiles."""
    sizes = {name: scene.settings[name] for name in ("y", "x", "k")}
    tile = 1 << TILE.number
    count = len(REWRITE_TEXTS) + -(-sizes["x"] // tile)
    at = STEP.among(count)
    title = (
        REWRITE_TEXTS[at][0]
        if at < len(REWRITE_TEXTS)
        else f"{LOOP[0]}, tile {at - len(REWRITE_TEXTS) + 1}"
    )
    slider = STEP.html(f"step {at + 1} of {count}: {title}", count, at)
    if at < len(REWRITE_TEXTS):
        body = _rewritten(scene, at, sizes)
    else:
        make = partial(scene.run_in_pool, partial(walk_tiles, scene, tile))
        walk = cached_value("tile walk", scene.term, tile, *scene.run_key, make=make)
        body = _tiles(walk, at - len(REWRITE_TEXTS))
    head = f'<div class="told">{slider}</div><div class="ncd moves" aria-live="polite">'
    html_panel.render(f"{STYLE}{head}{body}</div>", "tile walk", TILE_WALK.controls)


TILE_WALK = Panel("From three passes to one", show_tile_walk, controls=(STEP, TILE))


def _rewritten(scene: Scene, step: int, sizes: Mapping[str, int]) -> str:
    """Returns a step: its text, both sides, and how far they are apart on random numbers."""
    before: Term = flash_attention(**sizes) if step == 0 else attention_passes(0, **sizes)
    pair = Equation(before, attention_passes(step, **sizes))
    found: SideComparison = cached_value(
        "passes",
        pair,
        scene.seed,
        make=lambda: scene.run_in_pool(lambda: ncd.prove(pair, scene.seed)),
    )
    title, why = REWRITE_TEXTS[step]
    other = "the step before" if step else "the diagram above"
    drawn = diagram.inert_drawing(pair.sides[1], scene)
    sign = "✓" if found else "✗"
    return (
        f"<h2>{title}</h2><p>{why}</p>{drawn}"
        f'<p role="status">{sign} On random numbers it differs from {other} by '
        f"{markup.digits(found.difference)}.</p>"
    )


def walk_tiles(scene: Scene, tile: int) -> Walk:
    """Returns the numbers of one query after each tile of the loop."""
    loop = ncd.stream(scene.term, {"y": 1}, ("x", tile))
    softmax = next(op.cell.id for op in loop.schedule.ops if op.rule.statistics)
    out = loop.schedule.outputs[0].id
    rows: list[RunningRow] = []

    def watch(cut: Cut, kept: Mapping[str, torch.Tensor]) -> None:
        if cut["y"][0] == QUERY:
            top, total = (kept[f"{softmax}.{name}"].item() for name in "ms")
            rows.append(RunningRow(cut["x"], top, total, kept[out].flatten()[0].item() / total))

    with torch.no_grad():
        found = ncd.run_stream(loop, scene.inputs, watch=watch)
    gap = (found.outputs[0] - scene.trace.outputs[0]).abs().max().item()
    return Walk(rows, gap)


def _tiles(walk: Walk, at: int) -> str:
    """Returns the table of the numbers after each tile so far."""
    title, why = LOOP
    at = min(at, len(walk.rows) - 1)
    rows = (_row(walk, n, n == at) for n in range(max(0, at + 1 - ROWS), at + 1))
    head = ("Tile", "Keys", "Largest score m", "Before it times", "Sum s", "Result so far")
    table = markup.table(head, rows, numbers=(2, 3, 4, 5))
    last = at == len(walk.rows) - 1
    end = (
        f"✓ After the last tile all results differ from plain attention by "
        f"{markup.digits(walk.difference)}."
        if last
        else f"{len(walk.rows) - 1 - at} more tiles of keys to come."
    )
    return (
        f"<h2>{title}</h2><p>{why}</p>{table}"
        f'<p role="status">{end}</p><p class="muted">The real numbers of the first query; of the '
        "result its first feature, divided by the sum so far.</p>"
    )


def _row(walk: Walk, n: int, chosen: bool) -> str:
    """Returns the numbers after a tile, and what those before it were multiplied by."""
    (start, end), top, total, out = walk.rows[n]
    shrunk = exp(walk.rows[n - 1].top - top) if n else 1
    cells = "".join(
        f'<td class="number">{markup.digits(number)}</td>' for number in (top, shrunk, total, out)
    )
    mark = ' class="chosen"' if chosen else ""
    return f"<tr{mark}><td>{n + 1}</td><td>{start} to {end - 1}</td>{cells}</tr>"
