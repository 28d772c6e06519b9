"""The diagram on the page: the drawing, and the legend of its axes with their sizes."""

from __future__ import annotations

from math import prod

import streamlit as st

from ncd.drawing import Labels
from ncd.export import markup
from ncd.export.assets import DIAGRAM_CSS, LIGHT_JS, PANEL_CSS
from ncd.lang.axes import Array, Axis, Type
from ncd.lang.circuit import Circuit
from ncd.lang.terms import Term
from ncd.view.panel import FOLDER, heed
from ncd.view.scene import LABELS, Scene, drawing

_diagram = st.components.v2.component(
    "ncd_diagram",
    html=(
        '<div class="ncd"><button class="skip">Skip the diagram</button>'
        '<div class="drawing"></div><span class="after" tabindex="-1"></span></div>'
    ),
    css=PANEL_CSS + DIAGRAM_CSS,
    js=LIGHT_JS + (FOLDER / "diagram.js").read_text(),
)


def show(scene: Scene) -> None:
    """The diagram of the scene's term. A click on a wire, an op or a fence selects it."""
    _diagram(
        key="diagram",
        data={"svg": scene.svg(), "selected": scene.selected, "largest": 1.6},
        on_select_change=lambda: heed("diagram"),
    )


def choose_labels() -> Labels:
    """What stands on the wires."""
    chosen = st.segmented_control(
        "On the wires",
        LABELS,
        default=LABELS[0],
        required=True,
        key="labels",
        bind="query-params",
        label_visibility="collapsed",
    )
    return chosen or LABELS[0]


def show_part(term: Term, scene: Scene, key: str) -> None:
    """The diagram of a part, such as a block's body; its axes are lit with the page's."""
    svg = drawing(term, scene.labels, scene.dark)
    _diagram(key=key, data={"svg": svg, "selected": "", "largest": 1.1})


def legend(circuit: Circuit) -> str:
    """The axes as buttons that lock an axis alight, then the products that maps group."""
    found: dict[str, Axis] = {}
    for axis in Type(value.array for value in circuit.values.values()).axes:
        found.setdefault(axis.name, axis)
    chips = "".join(map(_chip, found.values()))
    return f'<div class="legend">{chips}{"".join(map(_product, products(circuit)))}</div>'


def _chip(axis: Axis) -> str:
    size = "" if axis.size is None else f" {markup.text(axis.size_text)}"
    name = markup.text(axis.name)
    return (
        f'<button class="chip" data-axis="{name}" data-select="axis:{name}" '
        f'aria-label="axis {name}{size}: light it everywhere">{markup.axis(axis)}{size}</button>'
    )


def products(circuit: Circuit) -> tuple[Array, ...]:
    """The groups of axes that learned maps take or give as one: ``k h``."""
    groups: dict[str, Array] = {}
    for cell in circuit.cells:
        if cell.name:
            for array in (*cell.site.dom, *cell.site.cod):
                if len(array) > 1 and cell.op.role == "linear":
                    groups.setdefault(str(array), array)
    return tuple(groups.values())


def _product(array: Array) -> str:
    if any(axis.size is None for axis in array):
        return ""
    names = "·".join(map(markup.axis, array))
    return f'<span class="product">{names} = {prod(axis.numel for axis in array):,}</span>'
