"""The diagram on the page: the drawing with its axis chips, its label switch and its legend.

One component shows all of it. A second, invisible component carries what a knob changes: that
message is small, and the large one is not sent again.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlencode

import streamlit as st

from ncd.drawing import Drawing, Labels, draw
from ncd.drawing.collapse.collapsed_blocks import blocks
from ncd.drawing.pipeline import Folded
from ncd.drawing.subdiagram import draw_part
from ncd.export import markup, op_facts
from ncd.export.shared_assets import DIAGRAM_CSS, LIGHT_JS, PANEL_CSS, POLYNOMIALS_JS
from ncd.lang.circuits.array_names import called
from ncd.lang.circuits.circuit import Circuit, Fence
from ncd.lang.terms.terms import Term
from ncd.view.base import hide_sizes, knobs, selection
from ncd.view.base.cache import remember
from ncd.view.base.html_panel import asked, heed
from ncd.view.base.static_files import static
from ncd.view.diagram import asked_block, axis_chips, callout_list, code_listing, legend
from ncd.view.session import number_formats, own_entry
from ncd.view.session.link_text import packed
from ncd.view.session.refusal import Refusal
from ncd.view.session.scene import LABELS, Scene
from ncd.view.session.url import JS as LINK_JS

CHOICES = "".join(
    f'<label><input type="radio" name="labels" value="{name}"><span>{name}</span></label>'
    for name in LABELS
)
SCRUB_JS = POLYNOMIALS_JS + static("diagram/live_numbers.js", "diagram/scrub.js")
# Ids and keyboard attributes, which inert drawings must not have.
FOREIGN = re.compile(r' (?:data-(?:node|array|fence)|tabindex|role)="[^"]*"')

_diagram = st.components.v2.component(
    "ncd_diagram",
    html=f"""<div class="ncd"><button class="skip">Skip the diagram</button>
<div class="drawing whole"></div><div class="listing"></div>
<span class="after" tabindex="-1"></span>
<div class="noted"></div>
<div class="under"><div class="chips"></div><div class="showing"><div class="keys"></div>
<label class="callouts" hidden><input type="checkbox"><span>callouts</span></label>
<fieldset class="labels"><legend>On the wires</legend>{CHOICES}</fieldset></div></div>
<div class="foot"><div class="cost"></div>
<label class="quiz"><input type="checkbox"><span>quiz</span></label></div>
<div class="words" hidden></div></div>""",
    css=PANEL_CSS + DIAGRAM_CSS + legend.CSS + static("diagram/scrub.css"),
    js=LIGHT_JS + LINK_JS + SCRUB_JS + static("diagram/reconnect.js", "diagram/component.js"),
)

_message = st.components.v2.component("ncd_told", js=static("diagram/broadcast.js"))


class Drawn(NamedTuple):
    """Everything that is sent to the browser for one term.

    ``folds`` maps each block to the ids that are collapsed after a click on it, ``boxes`` are
    the blocks collapsed now.
    """

    svg: str
    keys: str
    chips: str
    hover: dict[str, str]
    folds: dict[str, str]
    boxes: tuple[str, ...]


def show(scene: Scene, link: str) -> None:
    """Shows the diagram of a scene. A click on a wire, an op or a block selects it.

    ``link`` is the query of the address, from its "?" on. Only what the drawing needs is computed
    here; :func:`line` sends the rest once the drawing is on its way.
    """
    found = _current(scene)
    _send(scene, found, link)
    listed = scene.entry.listing and not scene.veil and not scene.refused  # sizes are known
    listing = code_listing.html(scene) if listed else ""
    data = {"page": scene.entry.name, "keys": found.keys, "listing": listing}
    _diagram(
        key="diagram",
        data=data,
        on_select_change=lambda: heed("diagram"),
        on_sizes_change=lambda: knobs.scrubbed(scene.entry, asked("diagram", "sizes")),
    )


def line(scene: Scene, link: str, line: str, timed: bool = False) -> None:
    """Sends the line under the diagram; ``timed`` if its time was measured just now.

    After a slow measurement it is sent a second time, by another event.
    """
    event = "ncd-time" if timed and scene.long else "ncd-line"
    data = {"event": event, "page": scene.entry.name, "link": link, "cost": line}
    _message(key="told-time" if timed else "told-line", data=data)


def _send(scene: Scene, found: Drawn, link: str) -> None:
    noted = scene.entry.callouts(scene.settings)
    _message(
        key="told-drawn",
        data={
            "event": "ncd-drawn",
            "page": scene.entry.name,
            **as_message(found),
            "ask": drawing_query(scene),
            "labels": scene.labels,
            "callouts": None if scene.veil or not noted else scene.notes,
            **({"quiz": True} if st.session_state.get(selection.QUIZ) else {}),
            **({"veiled": True} if scene.veil else {}),
            "noted": callout_list.html(scene),
            "wide": scene.wide,
            "widths": selection.WIDTHS,
            "link": link,
            "selected": scene.selected,
            "lit": selection.axes(scene.circuit, scene.entry),
        },
    )


def as_message(found: Drawn) -> dict[str, object]:
    """Returns the part of a drawing that is sent whenever a size changes."""
    return {"svg": found.svg, "chips": found.chips, "told": found.hover, "folds": found.folds}


def drawing_query(scene: Scene) -> str:
    """Returns the query by which the browser requests a drawing from the live endpoint."""
    if scene.veil:
        return ""  # the live endpoint does not draw quizzes
    more = {
        "labels": scene.labels,
        "dark": int(scene.dark),
        "callouts": "on" if scene.notes else "off",
        "folded": selection.folding(),
        selection.WIDE: scene.wide,
        **({} if scene.formats.plain else {number_formats.FORMATS: scene.formats.said}),
        **({"about": scene.about} if scene.about else {}),
        **({"held": ",".join(scene.feed.lengths)} if scene.feed.lengths else {}),
        **({own_entry.TEXT: packed(scene.entry.text)} if scene.entry.text else {}),
    }
    return urlencode({**scene.settings, **more})


def labels() -> Labels:
    """Returns the kind of labels on the wires, from the session."""
    chosen = st.session_state.get(selection.LABELS, LABELS[0])
    return chosen if chosen in LABELS else LABELS[0]


def notes() -> bool:
    """Returns whether callouts are shown, from the session."""
    return bool(st.session_state.get(selection.CALLOUTS) != "off")


def _current(scene: Scene) -> Drawn:
    return drawn(scene, scene.refused, selection.folding())


def drawn(scene: Scene, refused: Refusal | None, folding: str) -> Drawn:
    """Returns the drawing of a scene with collapsed blocks, and a mark where sizes do not fit.

    What is only too large to run has no mark: its sizes fit, and the page says what takes most.
    """
    mark = (refused.node if refused else None) or ""
    folded = selection.folded(scene.circuit, folding)
    look = scene.labels, scene.dark, scene.notes, scene.wide, mark, folded, scene.veil
    what = scene.entry.key, *look, scene.about, scene.formats
    return remember("diagram", scene.term, *what, make=lambda: _draw(scene, mark, folded))


def _draw(scene: Scene, mark: str, folded: Folded) -> Drawn:
    drawing = draw(scene.term, **scene.look, mark=mark, folded=folded)
    if scene.about and folded == "auto":
        shut = asked_block.opened(drawing, scene.circuit, scene.about)
        if shut is not None:
            drawing = draw(scene.term, **scene.look, mark=mark, folded=shut)
    hover = words(scene.circuit)
    if scene.veil:
        drawing = hide_sizes.drawing(drawing, scene.circuit, scene.veil)
        hover = hide_sizes.words(scene.circuit, scene.veil, hover)
    boxes = {glyph.node for glyph in drawing.glyphs if selection.BLOCK.fullmatch(glyph.node)}
    collapsed = boxes if folded == "auto" else frozenset(folded)
    worth = {block.id for block in blocks(scene.circuit)}
    seen = boxes | {f.id for f in drawing.fences if f.id in worth or f.id[0] == "s"}
    folds = {id: ",".join(sorted(collapsed ^ {id})) or selection.NONE for id in sorted(seen)}
    return Drawn(
        drawing.svg(fonts=False),
        legend.drawer(drawing, scene.dark),
        "" if scene.veil else axis_chips.html(scene.circuit),
        hover,
        folds,
        tuple(boxes),
    )


def words(circuit: Circuit) -> dict[str, str]:
    """Returns the hover text of every array (name and shape) and block (inputs and outputs)."""
    names = called(circuit)
    arrays = {
        value.id: f"{markup.text(names.get(value.id, ''))} {markup.sized(value.array)}"
        for value in circuit.values.values()
    }
    return arrays | {fence.id: _gist(fence) for fence in circuit.fences}


def _gist(fence: Fence) -> str:
    ins, outs = (markup.arrays(v.array for v in fence.states[end]) for end in (0, -1))
    return f"{markup.text(op_facts.title(fence))}: {ins} → {outs}"


def block_inside(scene: Scene, id: str) -> str:
    """Returns the inside of a block as SVG with the ids of the whole; empty if it has no ops."""

    def make() -> str:
        drawing = draw_part(scene.term, id, scene.labels, dark=scene.dark)
        return _framed(drawing) if drawing.glyphs else ""

    return remember("part", scene.term, id, scene.labels, scene.dark, make=make)


def other_term(
    term: Term, scene: Scene, labels: Labels | None = None, folded: tuple[str, ...] | None = None
) -> str:
    """Returns a term that is not the page's as SVG; only its axes take part in highlighting.

    ``labels`` and ``folded`` are as in :func:`ncd.draw`; by default the labels are the page's.
    """
    look: Labels = labels or scene.labels
    shut: Folded = "auto" if folded is None else folded

    def make() -> str:
        drawing = draw(term, look, dark=scene.dark, width=scene.width, folded=shut)
        return FOREIGN.sub("", _framed(drawing))

    return remember("apart", term, look, scene.dark, scene.width, folded, make=make)


def _framed(drawing: Drawing) -> str:
    return f'<div class="drawing part">{drawing.svg(fonts=False)}</div>'


def fold_button(scene: Scene, id: str) -> str:
    """Returns the button that collapses or expands a block, or an empty text."""
    found = _current(scene)
    if id not in found.folds:
        return ""
    word = "Unfold" if id in found.boxes else "Fold"
    return f'<p><button class="plain" data-fold="{id}">{word} in the diagram</button></p>'
