"""The Step by step panel: figure 18 as a sequence of equations, each animated."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import streamlit as st

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.morph import morph
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached
from ncd.explain.equation_proof import SideComparison
from ncd.language.blocks import Equation
from ncd.site import markup
from ncd.site.markup import DIAGRAM_CSS, HIGHLIGHT_JS, PANEL_CSS
from ncd.systems.tensors import graphical_algebra

MOST = 8  # the greatest number of values that are shown for a side


class Step(NamedTuple):
    """The title of a step, and its justification."""

    title: str
    why: str


STEPS = (
    Step(
        "Turn an output into an input",
        "F takes <i>a</i> and gives <i>b</i> and <i>c</i>. Lay a second wire <i>b</i> beside it, "
        "and let both <i>b</i> meet in a cap, the inner product. What F gave along <i>b</i> it now "
        "takes: this is its associated transpose, F<sup>T</sup>. It has the numbers of F, read "
        "from another side.",
    ),
    Step(
        "A bent wire is a wire",
        "In a unit two wires begin in one curve, in an inner product two end in one. Behind each "
        "other they hand every number on as it is, since a product with the unit matrix changes "
        "nothing. So the wire may be pulled straight.",
    ),
    Step(
        "Bend the wire between two maps",
        "First G, then H. The wire between them is the identity, and so is a bent one.",
    ),
    Step(
        "Slide H along its wire",
        "H works on the lower wire alone, in the same way for every place on the others: it is "
        "broadcast. So it may come before the cap.",
    ),
    Step(
        "Read H from its other side",
        "Nothing goes into H together with the unit, and two wires come out. That is "
        "H<sup>T</sup>, the table of the numbers of H with both of its sides on the right.",
    ),
    Step(
        "Slide it past G",
        "G and H<sup>T</sup> work on different wires, so neither waits for the other, and "
        "H<sup>T</sup> may come first.",
    ),
    Step(
        "Shift an outer product",
        "Where the dashed line ends two arrays become one: each number of the first times each of "
        "the second. G and H work on one of them each, so that may be before them or behind.",
    ),
)

_walk = st.components.v2.component(
    "ncd_walk",
    html=read_static("panels/tensors/equation_walk.html"),
    css=PANEL_CSS + DIAGRAM_CSS + read_static("panels/tensors/equation_walk.css"),
    js=HIGHLIGHT_JS + read_static("panels/tensors/equation_walk.js"),
)


def show_equation_walk(scene: Scene) -> None:
    """Shows the chosen step: its text, an animation from one side to the other, its numbers."""
    step = scene.settings["step"]
    sizes = {name: n for name, n in scene.settings.items() if name != "step"}
    pair = graphical_algebra.pair(step, **sizes)
    found = cached(
        "walk",
        pair,
        scene.seed,
        make=lambda: scene.run_in_pool(partial(ncd.prove, pair, scene.seed, double=False)),
    )
    moving = cached("morph", pair, make=lambda: morph(*map(ncd.draw, pair.sides)))
    data = {
        "steps": _steps(step),
        "told": _told(step),
        "begin": _begin(step, sizes, scene),
        "turn": _turn(step),
        "morph": moving,
        "foot": _numbers(pair, found),
    }
    _walk(key="walk", data=data, on_pick_change=_pick, on_select_change=lambda: None)


EQUATION_WALK = Panel("Step by step", show_equation_walk)


def _pick() -> None:
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


def _told(now: int) -> str:
    """Returns the title of a step, and its justification."""
    return f"<h2>{now}. {STEPS[now - 1].title}</h2><p>{STEPS[now - 1].why}</p>"


def _begin(now: int, sizes: dict[str, int], scene: Scene) -> str:
    """Returns the picture that the first step starts from: the map itself."""
    if now > 1:
        return ""
    apart = diagram.inert_drawing(graphical_algebra.plain(**sizes), scene)
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
        _row(name, side[0].flatten().tolist())
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


def _row(name: str, numbers: list[float]) -> str:
    cells = "".join(f'<td class="number">{markup.digits(n)}</td>' for n in numbers[:MOST])
    more = f"<td>… {len(numbers) - MOST} more</td>" if len(numbers) > MOST else ""
    return f'<tr><th scope="row">{name}</th>{cells}{more}</tr>'
