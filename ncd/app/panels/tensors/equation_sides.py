"""Each side of an equation on one input, by index, and as a sequence of equations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice, product
from typing import NamedTuple

import streamlit as st
import torch

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.morph import morph
from ncd.app.parts import heatmap, html_panel, map_component, slice_picker
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.parts.slice_picker import ArraySlice
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin, with_tooltip
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.drawing.elements.style import role_colour
from ncd.drawing.equation import sides
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.explain.equation_proof import SideComparison, max_difference
from ncd.language.blocks import Equation
from ncd.run.measurement import medians
from ncd.site import markup
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS
from ncd.site.scripts import script
from ncd.systems.tensors import graphical_algebra

# --- The Sides panel: the result of each side of an equation on the same input, and its time

DIFFERENCE = "difference"
SIDE = Choice("side", ("", *map(str, range(2, 10)), DIFFERENCE), "")
HEAD = ("Side", "Steps", "Bytes made", "Time", "")
NUMBERS = (2, 3)
EQUAL = 1e-4  # relative to the largest number; larger than the rounding error of 32 bits
ROUNDING = (
    "a number of 32 bits keeps about seven digits, and sums in another order are rounded "
    "differently; one of 64 bits keeps about sixteen"
)


@dataclass(frozen=True)
class Sides:
    """The sides as circuits, with the ids of their ops in the whole equation, and their results.

    ``difference`` is the largest difference between two sides, ``largest`` the largest number of
    any side, and ``double`` the difference in 64 bits, or None if it was not computed.
    """

    circuits: tuple[Circuit, ...]
    costs: tuple[Cost, ...]
    seconds: tuple[float, ...]
    difference: float
    largest: float
    double: float | None

    @property
    def agree(self) -> bool:
        """Whether all sides are equal up to rounding."""
        return self.difference <= EQUAL * (self.largest or 1.0)


def show_equation_sides(scene: Scene) -> None:
    """Shows whether the sides agree, their costs, and the numbers as pictures."""
    if not isinstance(scene.term, Equation):
        html_panel.render("<p>Nothing is compared here: this is no equation.</p>", "no sides")
        return
    found = cached_value(
        "sides",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: run_sides(scene)),
    )
    head = _verdict(found) + _sides_table(found, scene)
    outputs = scene.circuit.outputs
    every = outputs[:: len(outputs) // len(found.circuits)]  # the first array of each side
    cut = slice_picker.chosen_slice(every[0].array)
    if not cut.dimensions:
        given = (markup.digits(float(scene.trace.values[value.id])) for value in every)
        numbers = f"<p>Each gives a number: {', '.join(given)}.</p>"
        map_component.render("sides", on_pick=_on_side_action, head=head + numbers)
        return
    grids = run_in_thread(lambda: [slice_picker.grid(scene.trace.values[v.id], cut) for v in every])
    chosen = _selected_side(len(grids))
    map_component.render(
        "sides",
        (SIDE, slice_picker.PICTURE),
        _on_side_action,
        head=head,
        side=slice_picker.controls(cut) + _pictures(grids, chosen),
        map=_focus(grids, chosen, cut, scene),
        foot=f'<p class="muted">{numbers_origin(scene)}</p>',
    )


EQUATION_SIDES = Panel("Sides", show_equation_sides, controls=(SIDE, *slice_picker.CONTROLS))


def run_sides(scene: Scene) -> Sides:
    """Runs all sides on the same inputs: together, and each separately."""
    assert isinstance(scene.term, Equation)
    own = scene.term.sides
    circuits = tuple(map(elaborate, own))
    modules = [ncd.compile(side, scene.seed, scene.device) for side in own]
    inputs = scene.inputs
    outputs = scene.trace.outputs
    n = len(outputs) // len(own)
    pairs = [
        (a, b)
        for i, j in combinations(range(0, len(outputs), n), 2)
        for a, b in zip(outputs[i : i + n], outputs[j : j + n], strict=True)
    ]
    calls = {str(i): (lambda module=module: module(*inputs)) for i, module in enumerate(modules)}
    with torch.no_grad():
        seconds = medians(calls, device=scene.device, rounds=15, warm=2, budget=0.1)
    return Sides(
        sides(scene.circuit),
        tuple(map(cost_of, circuits)),
        tuple(seconds.values()),
        max((max_difference(a, b) for a, b in pairs), default=0.0),
        max((float(a.abs().max()) for a in outputs), default=0.0),
        None if scene.starts_on_demand else ncd.prove(scene.term, scene.seed).difference,
    )


def _on_side_action(name: str, value: str) -> None:
    if name == "seed":
        knobs.set_values({"seed": (knobs.seed() + 1) % (knobs.SEED.max + 1)})
    else:
        slice_picker.pick(name, value)


# --- in words and as a table ----------------------------------------------------------------------


def _verdict(found: Sides) -> str:
    """Returns whether the sides agree, and by how much they differ."""
    count = len(found.circuits)
    both = "Both sides" if count == 2 else f"All {count} sides"
    said = f"{both} give the same" if found.agree else f"{both} do not give the same"
    numbers = f"of numbers up to {markup.digits(found.largest)} in size"
    if found.difference == 0:
        told = f"{said}, to the last bit, {numbers}."
    else:
        far = with_tooltip(markup.digits(found.difference), ROUNDING)
        more = "" if found.double is None else f", and in 64 bits by {markup.digits(found.double)}"
        told = f"{said}: they differ by at most {far}, {numbers}{more}."
    button = '<button type="button" class="plain" data-pick="seed=next">Another input</button>'
    return f'<p role="status">{"✓" if found.agree else "✗"} {told} {button}</p>'


def _sides_table(found: Sides, scene: Scene) -> str:
    longest = max(found.seconds)
    rows = [
        _side_row(n, circuit, cost, seconds, longest, scene.dark)
        for n, (circuit, cost, seconds) in enumerate(
            zip(found.circuits, found.costs, found.seconds, strict=True), 1
        )
    ]
    return markup.table(HEAD, rows, numbers=NUMBERS)


def _side_row(n: int, own: Circuit, cost: Cost, seconds: float, longest: float, dark: bool) -> str:
    ids = " ".join(cell.id for cell in own.cells)
    working = (cell for cell, op in zip(own.cells, cost.ops, strict=True) if op.bytes)
    steps = " → ".join(_step(cell, dark) for cell in working)
    return (
        f'<tr data-node="{ids}"><td>{n}.</td><td>{steps}</td>'
        f'<td class="number">{markup.amount(cost.bytes, "B")}</td>'
        f'<td class="number">{markup.amount(seconds, "s")}</td>'
        f"<td>{markup.meter(seconds / longest, role_colour('data', dark))}</td></tr>"
    )


def _step(cell: Cell, dark: bool) -> str:
    return (
        f'<span class="unbroken" data-node="{cell.id}" data-select="{cell.id}" role="button" '
        f'tabindex="0">{markup.role(cell.op.role, dark)}{markup.text(cell.op.display_name)}</span>'
    )


# --- the numbers ----------------------------------------------------------------------------------


def _selected_side(count: int) -> str:
    return "" if SIDE.value.isdecimal() and int(SIDE.value) > count else SIDE.value


def _pictures(grids: list[CellGrid], chosen: str) -> str:
    """Returns every side, and the difference of the last from the first, in one colour scale."""
    ends = ColourRange.from_numbers(grids[0], signed=True).with_outliers
    named = {str(n) if n > 1 else "": (f"side {n}", grid) for n, grid in enumerate(grids, 1)}
    named[DIFFERENCE] = ("difference", grids[-1] - grids[0])
    stops = heatmap.scale(signed=True)
    buttons = [
        (
            SIDE.action(key),
            name,
            heatmap.data_url(heatmap.pool(grid, heatmap.SMALL).maps, ends, stops),
        )
        for key, (name, grid) in named.items()
    ]
    return map_component.thumbnail_buttons(buttons, SIDE.action(chosen))


def _focus(grids: list[CellGrid], chosen: str, cut: ArraySlice, scene: Scene) -> Heatmap:
    count = len(grids)
    grid = grids[int(chosen) - 1] if chosen.isdecimal() else grids[0]
    label = f"What side {chosen or 1} gives"
    if chosen == DIFFERENCE:
        grid, label = grids[-1] - grids[0], f"What side {count} gives less what side 1 gives"
    return Heatmap(
        f"{cut.picture} {grid.shape}",
        label,
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=True).with_outliers,
        _side(cut.rows, scene),
        _side(cut.columns, scene),
        square_cells=cut.alike,
    )


def _side(dimension: slice_picker.Dimension | None, scene: Scene) -> AxisLabels:
    if dimension is None:
        return AxisLabels()
    words = () if dimension.axis.spatial else scene.axis_words(dimension.axis.name)
    return AxisLabels(dimension.html, dimension.words, words)


# --- The Every pair panel: the sides of an equation for each pair of indexes

MAX_PAIRS = 144  # the greatest number of pairs


def show_index_pairs(scene: Scene) -> None:
    """Shows the table of all pairs; each number is marked if all sides agree on it."""
    settings = scene.settings
    first = scene.entry.build(**{**settings, "i": 0, "j": 0})  # the same for all pairs
    agree = cached_value(
        "pairs", first, *scene.run_key, make=lambda: scene.run_in_pool(lambda: check_pairs(scene))
    )
    right, every = sum(agree.values()), settings["a"] * settings["b"]
    told = f"{right} of {markup.plural(len(agree), 'pair')}"
    more = f", the first of {every:,}" if len(agree) < every else ""
    sign = "✓" if right == len(agree) else "✗"
    html_panel.render(
        f'<p role="status">{sign} All three sides give the same number for {told}{more}. '
        f"A click on a number sets both indexes.</p>"
        f'<div class="cells">{_pairs_table(scene, agree)}</div>',
        "pairs",
        on_pick=_on_pair_action,
    )


INDEX_PAIRS = Panel("Every pair", show_index_pairs)


def check_pairs(scene: Scene) -> dict[tuple[int, int], bool]:
    """Returns for each pair of indexes whether all sides give the number in the table."""
    a, b = scene.settings["a"], scene.settings["b"]
    (table,) = scene.inputs
    found = {}
    for i, j in islice(product(range(a), range(b)), MAX_PAIRS):
        module = ncd.compile(scene.entry.build(a=a, b=b, i=i, j=j), scene.seed, scene.device)
        with torch.no_grad():
            found[i, j] = all(bool(x == table[i, j]) for x in module(table))
    return found


def _on_pair_action(picked: str) -> None:
    said, _ = knobs.parse_sizes(picked)
    if said.keys() == {"i", "j"} and all(place.isdecimal() for place in said.values()):
        knobs.set_values({name: int(place) for name, place in said.items()})


def _pairs_table(scene: Scene, agree: dict[tuple[int, int], bool]) -> str:
    (table,) = scene.inputs
    at = scene.settings["i"], scene.settings["j"]
    rows, columns = (sorted({pair[n] for pair in agree}) for n in (0, 1))
    head = "".join(f"<th>{j}</th>" for j in columns)
    body = "".join(
        f"<tr><th>{i}</th>"
        + "".join(_cell(float(table[i, j]), (i, j), at, agree.get((i, j))) for j in columns)
        + "</tr>"
        for i in rows
    )
    return f"<figure><table><tr><td></td>{head}</tr>{body}</table></figure>"


def _cell(number: float, pair: tuple[int, int], at: tuple[int, int], agree: bool | None) -> str:
    shared = sum(one == two for one, two in zip(pair, at, strict=True))
    lit = ("", ' class="way"', ' class="touch"')[shared]
    sign = "" if agree is None else " ✓" if agree else " ✗"
    text = f"{number:.2f}".replace("-", "−")
    return (
        f'<td{lit}><button type="button" data-pick="i={pair[0]} j={pair[1]}" '
        f'title="i = {pair[0]}, j = {pair[1]}">{text}{sign}</button></td>'
    )


# --- The Step by step panel: figure 18 as a sequence of equations, each animated

MAX_WALK_VALUES = 8  # the greatest number of values that are shown for a side


class ProofStep(NamedTuple):
    """The title of a step, and its justification."""

    title: str
    justification: str


STEPS = (
    ProofStep(
        "Turn an output into an input",
        "F takes <i>a</i> and gives <i>b</i> and <i>c</i>. Lay a second wire <i>b</i> beside it, "
        "and let both <i>b</i> meet in a cap, the inner product. What F gave along <i>b</i> it now "
        "takes: this is its associated transpose, F<sup>T</sup>. It has the numbers of F, read "
        "from another side.",
    ),
    ProofStep(
        "A bent wire is a wire",
        "In a unit two wires begin in one curve, in an inner product two end in one. Behind each "
        "other they hand every number on as it is, since a product with the unit matrix changes "
        "nothing. So the wire may be pulled straight.",
    ),
    ProofStep(
        "Bend the wire between two maps",
        "First G, then H. The wire between them is the identity, and so is a bent one.",
    ),
    ProofStep(
        "Slide H along its wire",
        "H works on the lower wire alone, in the same way for every place on the others: it is "
        "broadcast. So it may come before the cap.",
    ),
    ProofStep(
        "Read H from its other side",
        "Nothing goes into H together with the unit, and two wires come out. That is "
        "H<sup>T</sup>, the table of the numbers of H with both of its sides on the right.",
    ),
    ProofStep(
        "Slide it past G",
        "G and H<sup>T</sup> work on different wires, so neither waits for the other, and "
        "H<sup>T</sup> may come first.",
    ),
    ProofStep(
        "Shift an outer product",
        "Where the dashed line ends two arrays become one: each number of the first times each of "
        "the second. G and H work on one of them each, so that may be before them or behind.",
    ),
)

_walk = st.components.v2.component(
    "ncd_walk",
    html=read_static("panels/tensors/equation_walk.html"),
    css=PANEL_CSS + DIAGRAM_CSS + read_static("panels/tensors/equation_walk.css"),
    js=script("app/panels/tensors/equation_walk.js"),
)


def show_equation_walk(scene: Scene) -> None:
    """Shows the chosen step: its text, an animation from one side to the other, its numbers."""
    step = scene.settings["step"]
    sizes = {name: n for name, n in scene.settings.items() if name != "step"}
    pair = graphical_algebra.pair(step, **sizes)
    found = cached_value(
        "walk",
        pair,
        scene.seed,
        make=lambda: scene.run_in_pool(partial(ncd.prove, pair, scene.seed, double=False)),
    )
    moving = cached_value("morph", pair, make=lambda: morph(*map(ncd.draw, pair.sides)))
    data = {
        "steps": _steps(step),
        "told": _step_html(step),
        "begin": _begin(step, sizes, scene),
        "turn": _turn(step),
        "morph": moving,
        "foot": _numbers(pair, found),
    }
    _walk(key="walk", data=data, on_pick_change=_on_walk_action, on_select_change=lambda: None)


EQUATION_WALK = Panel("Step by step", show_equation_walk)


def _on_walk_action() -> None:
    name, _, value = str(sent_value("walk", "pick") or "").partition("=")
    if name == "step" and value.isdecimal():
        knobs.set_values({"step": int(value)})
    elif name == "seed":
        knobs.set_values({"seed": (knobs.seed() + 1) % (knobs.SEED.max + 1)})


def _steps(now: int) -> str:
    """Returns the list of steps, with the current one highlighted."""
    here = ' aria-current="step"'
    rows = (
        f'<li><button type="button" data-pick="step={n}"{here if n == now else ""}>'
        f"{step.title}</button></li>"
        for n, step in enumerate(STEPS, 1)
    )
    return f"<ol>{''.join(rows)}</ol>"


def _step_html(now: int) -> str:
    """Returns the title of a step, and its justification."""
    return f"<h2>{now}. {STEPS[now - 1].title}</h2><p>{STEPS[now - 1].justification}</p>"


def _begin(now: int, sizes: dict[str, int], scene: Scene) -> str:
    """Returns the picture that the first step starts from: the map itself."""
    if now > 1:
        return ""
    apart = diagram.inert_drawing(graphical_algebra.linear_map(**sizes), scene)
    return f'{apart}<span class="maps" title="becomes">↦</span>'


def _turn(now: int) -> str:
    """Returns buttons to the previous and the next step."""
    return "".join(
        f'<button type="button" class="plain" data-pick="step={n}"'
        f"{'' if 1 <= n <= len(STEPS) else ' disabled'}>{word}</button>"
        for word, n in (("Back", now - 1), ("Next", now + 1))
    )


def _numbers(pair: Equation, found: SideComparison) -> str:
    """Returns the results of both sides, and their difference."""
    rows = [
        _walk_row(name, side[0].flatten().tolist())
        for name, side in zip(("before", "after"), found.sides, strict=True)
    ]
    axis = markup.array(pair.sides[0].cod[0])
    apart = markup.digits(found.difference)
    far = f"but for {apart} of rounding" if found.difference else "to the last bit"
    said = f"both give the same, {far}" if found else f"the two differ by {apart}"
    return (
        f'<p role="status">{"✓" if found else "✗"} On random numbers {said}. '
        '<button type="button" class="plain" data-pick="seed=next">Another input</button></p>'
        f'<div class="scroll"><table><tbody>{rows[0]}{rows[1]}</tbody></table></div>'
        f'<p class="muted">What comes out along {axis}.</p>'
    )


def _walk_row(name: str, numbers: list[float]) -> str:
    cells = "".join(
        f'<td class="number">{markup.digits(n)}</td>' for n in numbers[:MAX_WALK_VALUES]
    )
    more = (
        f"<td>… {len(numbers) - MAX_WALK_VALUES} more</td>"
        if len(numbers) > MAX_WALK_VALUES
        else ""
    )
    return f'<tr><th scope="row">{name}</th>{cells}{more}</tr>'
