"""The diagram on the page, with axis chips and callouts; several side by side.

One component shows all of it. A second, invisible component carries what a knob changes: that
message is small, and the large one is not sent again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from math import prod
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import urlencode

import streamlit as st
from markupsafe import Markup

from ncd.app.figure import code_listing
from ncd.app.figure.legend_page import CSS, legend_html
from ncd.app.parts.html_panel import apply_component_selection, sent_value
from ncd.app.scene import own_entry
from ncd.app.scene.edited_system import shape
from ncd.app.scene.panel import Panel, panel_of_part
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import LABELS, ON_WIRES, VALUES, Scene
from ncd.app.scene.session_edits import MOTION_KEY
from ncd.app.scene.url import message_number
from ncd.app.state import hide_sizes, knobs, selection
from ncd.app.state.cache import cached_value
from ncd.app.state.knobs import FORMATS
from ncd.app.state.link_text import compress_text
from ncd.app.state.session import session
from ncd.circuit.circuit import Circuit, Fence, array_names
from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.callouts import with_callouts
from ncd.drawing.equation import draw_equation
from ncd.drawing.pipeline import CollapseOption, draw, draw_part
from ncd.drawing.plan.collapse import blocks
from ncd.language.arguments import Labels
from ncd.language.axes import Array, Axis
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.markup import DIAGRAM_CSS, PANEL_CSS, mathml
from ncd.site.op_cards import title
from ncd.site.scripts import script
from ncd.systems.catalogue_entry import Entry

# --- Opens the box in which the array or op of a question lies


def open_asked_block(drawing: Drawing, circuit: Circuit, id: str) -> frozenset[str] | None:
    """Returns the blocks to collapse so that an array, op or block is seen; None if it is.

    Of the box around it only the way to it opens: its other blocks become boxes.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build()
    >>> drawing = ncd.draw(term, width=320)
    >>> open_asked_block(drawing, ncd.elaborate(term), "v7")
    frozenset()
    >>> open_asked_block(drawing, ncd.elaborate(term), "v0")
    """
    seen = {wire.array for wire in drawing.wires} | {glyph.node for glyph in drawing.glyphs}
    seen |= {fence.id for fence in drawing.fences}
    ends = {
        id,
        *(unit.id for found in (circuit.producers, circuit.consumers) if (unit := found.get(id))),
        *(cell.id for cell in circuit.cells if id in cell.fences),
    }
    boxes = {g.node: g.cells for g in drawing.glyphs if selection.BLOCK.fullmatch(g.node)}
    box = next((box for box, cells in boxes.items() if not ends.isdisjoint(cells)), None)
    if id in seen or box is None:
        return None
    cells = [cell for cell in circuit.cells if cell.id in boxes[box]]
    outside = (
        takewhile(lambda fence: fence != id, cell.fences) for cell in cells if cell.id in ends
    )
    way = set(chain.from_iterable(outside))
    inside = (cell.fences[cell.fences.index(box) + 1 :] for cell in cells if box in cell.fences)
    beside = (next((fence for fence in fences if fence not in way), None) for fences in inside)
    return frozenset(boxes) - {box} | frozenset(filter(None, beside))


# --- The axes of a diagram as chips: buttons that lock their highlight, and sizes to drag


def axis_chips_html(circuit: Circuit) -> str:
    """Returns the axes as buttons that lock their highlight, then the products of grouped axes.

    Axes with one label, such as c_λ on every level, share the button of the first.
    """
    found: dict[str, list[Axis]] = {}
    for axis in circuit.axes:
        found.setdefault(axis.display_name, []).append(axis)
    axes, groups = map(_chip, found.values()), map(_product, products(circuit))
    return f'<div class="legend">{"".join((*axes, *groups))}</div>'


def _chip(alike: Sequence[Axis]) -> str:
    axis, last = alike[0], alike[-1]
    name, size, told = markup.text(axis.name), "", ""
    if axis.size is not None:
        size = told = f" {markup.text(axis.size_text)}"
    if has_ambiguous_names(alike):
        size, told = "", " of several sizes"
    elif size and last.size not in (None, axis.size):
        size = told = f"{size} … {markup.text(last.size_text)}"
    label = markup.axis(axis) + size
    shown = markup.text(Markup(label).striptags())
    return (
        f'<button class="chip" data-axis="{name}" aria-pressed="false" '
        f'aria-label="{shown}: axis {name}{told}, light it everywhere">'
        f"{label}</button>"
    )


def has_ambiguous_names(alike: Sequence[Axis]) -> bool:
    """Returns whether blocks use one name for axes of different sizes, such as the queries y.

    >>> has_ambiguous_names([Axis("y", 16), Axis("y", 12)])
    True
    >>> has_ambiguous_names([Axis("c_1", 4), Axis("c_2", 8)])
    False
    """
    return len({axis.name for axis in alike}) < len({axis.size for axis in alike})


def products(circuit: Circuit) -> tuple[Array, ...]:
    """Returns the groups of axes that learned maps take or give together, such as ``k h``."""
    groups: dict[str, Array] = {}
    for cell in circuit.cells:
        if cell.name:
            for array in (*cell.site.own_inputs, *cell.site.own_outputs):
                if len(array) > 1 and cell.op.role == "linear":
                    groups.setdefault(str(array), array)
    return tuple(groups.values())


def _product(array: Array) -> str:
    if any(axis.size is None for axis in array):
        return ""
    names = "·".join(map(markup.axis, array))
    return f'<span class="product">{names} = {prod(axis.numel for axis in array):,}</span>'


# --- The callouts as a list below the diagram, for a phone: they have no room beside it

LITERAL_BRACES = re.compile(
    r"(?<![_^])\{([^{}]*)\}"
)  # braces that a drawing shows; others group an index


def callouts_html(scene: Scene) -> str:
    """Returns the list; nothing on wider screens, or while callouts are off or hidden."""
    if not (scene.narrow and scene.show_callouts) or scene.hidden_sizes:
        return ""
    notes = scene.entry.callouts(scene.settings).values()
    return f"<ul>{''.join(f'<li>{note_html(note)}</li>' for note in notes)}</ul>" if notes else ""


def note_html(note: str) -> str:
    """Returns a callout's text as HTML; what stands between dollars is mathematics.

    >>> note_html("of ${0, 1}$").count('<mo stretchy="false">')
    2
    """
    parts = enumerate(note.split("$"))
    return "".join(
        mathml(LITERAL_BRACES.sub(r"\\{\1\\}", part)) if at % 2 else markup.text(part)
        for at, part in parts
    )


# --- The diagram on the page: the drawing with its axis chips, its label switch and its legend

LABEL_RADIOS = "".join(
    f'<label><input type="radio" name="labels" value="{name}"><span>{name}</span></label>'
    for name in ON_WIRES
)
# Ids and keyboard attributes, which inert drawings must not have.
INTERACTIVE_ATTRIBUTES = re.compile(r' (?:data-(?:node|array|fence)|tabindex|role)="[^"]*"')

_diagram = st.components.v2.component(
    "ncd_diagram",
    html=f"""<div class="ncd"><button class="skip">Skip the diagram</button>
<div class="drawing whole"></div><div class="listing"></div>
<span class="after" tabindex="-1"></span>
<div class="noted"></div>
<div class="under"><div class="chips"></div><div class="showing"><div class="keys"></div>
<label class="callouts" hidden><input type="checkbox"><span>callouts</span></label>
<fieldset class="labels"><legend>On the wires</legend>{LABEL_RADIOS}</fieldset></div></div>
<div class="foot"><div class="cost"></div>
<a class="change" href="yours" hidden>Change it</a>
<label class="quiz"><input type="checkbox"><span>quiz</span></label></div>
<div class="words" hidden></div></div>""",
    css=PANEL_CSS + DIAGRAM_CSS + CSS,
    js=script("app/figure/component.js"),
)

_message = st.components.v2.component("ncd_told", js=script("app/figure/broadcast.js"))


class DiagramMessage(NamedTuple):
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


def render(scene: Scene, link: str, panels: Sequence[Panel]) -> None:
    """Shows the diagram of a scene. A click on a wire, an op or a block selects it, and opens the
    panel that says most about it.

    ``link`` is the query of the address, from its "?" on; what comes later belongs to the drawing
    with the same one. Only what the drawing needs is computed here; :func:`line` sends the rest
    once the drawing is on its way.
    """
    found = _message_now(scene)
    _send(scene, found, link)
    listed = (
        scene.entry.listing and not scene.hidden_sizes and not scene.build_refusal
    )  # sizes are known
    listing = code_listing.html(scene) if listed else ""
    data = {
        "page": scene.entry.name,
        "keys": found.keys,
        "listing": listing,
        "height": scene.entry.height,
        "changeable": not (scene.entry.text or scene.hidden_sizes or scene.build_refusal),
    }
    _diagram(
        key="diagram",
        data=data,
        on_select_change=lambda: apply_component_selection(
            "diagram", partial(panel_of_part, panels, scene.circuit)
        ),
        on_sizes_change=lambda: knobs.apply_dragged_sizes(
            scene.entry, sent_value("diagram", "sizes")
        ),
    )


def send_cost_line(scene: Scene, link: str, line: str, timed: bool = False) -> None:
    """Sends the line under the diagram; ``timed`` if its time was measured just now.

    After a slow measurement it is sent a second time, by another event.
    """
    event = "ncd-time" if timed and scene.starts_on_demand else "ncd-line"
    data = {
        "event": event,
        "page": scene.entry.name,
        "link": link,
        "cost": line,
        **message_number(),
    }
    _message(key="told-time" if timed else "told-line", data=data)


def cost_line(scene: Scene, seconds: float | None) -> str:
    """Returns parameters, FLOPs and, once measured, time in one line."""
    if not scene.has_all_sizes or scene.hidden_sizes:
        return ""
    parts = [
        markup.plural(scene.cost.parameters, "parameter"),
        markup.flops(scene.cost.flops),
    ]
    if not scene.formats.is_float32:
        weights = markup.amount(scene.cost.weight_bytes, "B")
        parts.append(f"weights {weights} in {scene.formats.weights}")
    if scene.can_run and seconds is not None:
        parts.append(f"{markup.amount(seconds, 's')} on {markup.text(scene.device)}")
    return f'<p class="muted">{" · ".join(parts)}</p>'


def _send(scene: Scene, found: DiagramMessage, link: str) -> None:
    noted = scene.entry.callouts(scene.settings)
    _message(
        key="told-drawn",
        data={
            "event": "ncd-drawn",
            "page": scene.entry.name,
            **changing_part(found),
            "ask": drawing_query(scene),
            "labels": scene.on_wires,
            "callouts": None if scene.hidden_sizes or not noted else scene.show_callouts,
            **({"quiz": True} if st.session_state.get(selection.QUIZ) else {}),
            **({"veiled": True} if scene.hidden_sizes else {}),
            **edit_motion(scene.entry),
            "noted": callouts_html(scene),
            "wide": scene.column_width,
            "widths": selection.WIDTHS,
            "link": link,
            "selected": scene.selected_id,
            "lit": selection.axes(scene.circuit, scene.entry),
        },
    )


def edit_motion(entry: Entry) -> dict[str, object]:
    """Returns from which drawing the last edit has come, with the old ids of all parts."""
    motion = st.session_state.get(MOTION_KEY)
    mark = shape(entry)
    return {"shape": mark, "motion": motion} if mark else {}


def changing_part(found: DiagramMessage) -> dict[str, object]:
    """Returns the part of a drawing that is sent whenever a size changes."""
    return {"svg": found.svg, "chips": found.chips, "told": found.hover, "folds": found.folds}


def drawing_query(scene: Scene) -> str:
    """Returns the query by which the browser requests a drawing from the live endpoint."""
    if scene.hidden_sizes:
        return ""  # the live endpoint does not draw quizzes
    more = {
        "labels": scene.on_wires,
        "dark": int(scene.dark),
        "callouts": "on" if scene.show_callouts else "off",
        "folded": selection.folded_text(),
        selection.WIDTH_KEY: scene.column_width,
        **({} if scene.formats.is_float32 else {FORMATS: scene.formats.spec}),
        **({"about": scene.subject_id} if scene.subject_id else {}),
        **({"held": ",".join(scene.inputs_spec.lengths)} if scene.inputs_spec.lengths else {}),
        **({own_entry.TEXT_KEY: compress_text(scene.entry.text)} if scene.entry.text else {}),
    }
    return urlencode({**scene.settings, **more})


def current_on_wires() -> str:
    """Returns what stands on the wires, one of ``ON_WIRES``, from the session."""
    chosen = session().get(selection.LABELS)
    return chosen if chosen in ON_WIRES else ON_WIRES[0]


def wire_options(chosen: str) -> dict[str, Any]:
    """Returns the fields of a scene for what stands on the wires; names for an unknown choice.

    >>> wire_options("values"), wire_options("both")
    ({'labels': 'names', 'shows_values': True}, {'labels': 'both', 'shows_values': False})
    """
    labels = chosen if chosen in LABELS else LABELS[0]
    return {"labels": labels, "shows_values": chosen == VALUES}


def callouts_on() -> bool:
    """Returns whether callouts are shown, from the session."""
    return bool(session().get(selection.CALLOUTS) != "off")


def _message_now(scene: Scene) -> DiagramMessage:
    return diagram_message(scene, scene.build_refusal, selection.folded_text())


def diagram_message(scene: Scene, refused: Refusal | None, folding: str) -> DiagramMessage:
    """Returns the drawing of a scene with collapsed blocks, and a mark where sizes do not fit.

    What is only too large to run has no mark: its sizes fit, and the page says what takes most.
    """
    mark = (refused.op_id if refused else None) or ""
    folded = selection.folded_in(scene.circuit, folding)
    look = (
        scene.labels,
        scene.dark,
        scene.show_callouts,
        scene.column_width,
        mark,
        folded,
        scene.hidden_sizes,
    )
    what = scene.entry.key, *look, scene.subject_id, scene.formats
    run = (scene.is_preview, *scene.run_key) if scene.thumbnails else ()
    return cached_value("diagram", scene.term, *what, *run, make=lambda: _draw(scene, mark, folded))


def _draw(scene: Scene, mark: str, folded: CollapseOption) -> DiagramMessage:
    drawing = draw(scene.term, **scene.draw_options, mark=mark, folded=folded)
    if scene.subject_id and folded == "auto":
        shut = open_asked_block(drawing, scene.circuit, scene.subject_id)
        if shut is not None:
            drawing = draw(scene.term, **scene.draw_options, mark=mark, folded=shut)
    hover = tooltips(scene.circuit)
    if scene.hidden_sizes:
        drawing = hide_sizes.hide_in_drawing(drawing, scene.circuit, scene.hidden_sizes)
        hover = hide_sizes.hide_in_tooltips(scene.circuit, scene.hidden_sizes, hover)
    boxes = {glyph.node for glyph in drawing.glyphs if selection.BLOCK.fullmatch(glyph.node)}
    collapsed = boxes if folded == "auto" else frozenset(folded)
    worth = {block.id for block in blocks(scene.circuit)}
    seen = boxes | {f.id for f in drawing.fences if f.id in worth or f.id[0] == "s"}
    folds = {id: ",".join(sorted(collapsed ^ {id})) or selection.NONE for id in sorted(seen)}
    return DiagramMessage(
        drawing.svg(fonts=False),
        legend_html(drawing, scene.dark),
        "" if scene.hidden_sizes else axis_chips_html(scene.circuit),
        hover,
        folds,
        tuple(boxes),
    )


def tooltips(circuit: Circuit) -> dict[str, str]:
    """Returns the hover text of every array (name and shape) and block (inputs and outputs)."""
    names = array_names(circuit)
    arrays = {
        value.id: f"{markup.text(names.get(value.id, ''))} {markup.axes_with_sizes(value.array)}"
        for value in circuit.values.values()
    }
    return arrays | {fence.id: _gist(fence) for fence in circuit.fences}


def _gist(fence: Fence) -> str:
    ins, outs = (markup.arrays(v.array for v in fence.states[end]) for end in (0, -1))
    return f"{markup.text(title(fence))}: {ins} → {outs}"


def block_inside(scene: Scene, id: str) -> str:
    """Returns the inside of a block as SVG with the ids of the whole; empty if it has no ops."""

    def make() -> str:
        drawing = draw_part(scene.term, id, scene.labels, dark=scene.dark)
        return _drawing_html(drawing) if drawing.glyphs else ""

    return cached_value("part", scene.term, id, scene.labels, scene.dark, make=make)


def inert_drawing(
    term: Term, scene: Scene, labels: Labels | None = None, folded: tuple[str, ...] | None = None
) -> str:
    """Returns a term that is not the page's as SVG; only its axes take part in highlighting.

    ``labels`` and ``folded`` are as in :func:`ncd.draw`; by default the labels are the page's.
    """
    look: Labels = labels or scene.labels
    shut: CollapseOption = "auto" if folded is None else folded

    def make() -> str:
        drawing = draw(term, look, dark=scene.dark, width=scene.width, folded=shut)
        return INTERACTIVE_ATTRIBUTES.sub("", _drawing_html(drawing))

    return cached_value("apart", term, look, scene.dark, scene.width, folded, make=make)


def _drawing_html(drawing: Drawing) -> str:
    return f'<div class="drawing part">{drawing.svg(fonts=False)}</div>'


def fold_button(scene: Scene, id: str) -> str:
    """Returns the button that collapses or expands a block, or an empty text."""
    found = _message_now(scene)
    if id not in found.folds:
        return ""
    word = "Unfold" if id in found.boxes else "Fold"
    return f'<p><button class="plain" data-fold="{id}">{word} in the diagram</button></p>'


# --- Drawings of other terms side by side, as the two sides of an equation

WIDTH = 1280  # pixels, where the column is not known; wider drawings continue below


def terms_in_a_row(
    terms: Sequence[Term],
    sign: str,
    scene: Scene,
    notes: Mapping[str, str] = MappingProxyType({}),
    *,
    cells: bool = False,
    paint: str = "ink",
    box: str = "",
) -> str:
    """Returns the terms with a sign between them; only their axes take part in highlighting.

    A sign is ``=``, or has words before it, as in ``×4 Broadcasting ↦``. With ``paint`` it stands
    in an arrow of that colour. With ``box``, the title of a block, the first term is collapsed to
    it. The notes are callouts of the last term; on a phone they are sentences above. A panel may be
    narrower than the diagram's column, beside which it stands: it then shows a figure for a phone.
    """
    notes = dict(notes) if scene.show_callouts else {}
    bands, room = scene.entry.bands, float(scene.column_width or WIDTH)

    def figure(width: float, is_narrow: bool) -> str:
        look: dict[str, Any] = {"bands": bands, "cells": cells, "dark": scene.dark, "width": width}
        shut: list[CollapseOption] = [(box,) if box else "auto", *["auto"] * len(terms[1:])]
        pairs = zip(terms, shut, strict=True)
        parts = [draw(term, scene.labels, folded=own, **look) for term, own in pairs]
        whole = draw_equation(parts, sign, width, paint)
        above = "".join(f"<p>{note_html(note)}</p>" for note in notes.values() if is_narrow)
        if not above:
            whole = with_callouts(whole, elaborate(terms[-1]), notes)
        return above + INTERACTIVE_ATTRIBUTES.sub(
            "", f'<div class="drawing">{whole.svg(fonts=False)}</div>'
        )

    def make() -> str:
        if scene.narrow:
            return figure(room, True)
        tight = figure(float(selection.WIDTHS[0]), True)
        return f'<div class="roomy">{figure(room, False)}</div><div class="tight">{tight}</div>'

    key = (*terms[:-1], sign, *notes.items(), box, cells, paint, scene.labels, scene.dark, room)
    return cached_value("beside", terms[-1], *key, make=make)
