"""The card of an op or a block: what it is, what it takes and gives, its cost, its source."""

from __future__ import annotations

import streamlit as st

from ncd.code import lines
from ncd.export import facts, listing, markup
from ncd.lang.circuit import Cell, Fence
from ncd.lang.terms import Term
from ncd.view import diagram, panel
from ncd.view.scene import Scene


def op(scene: Scene, cell: Cell) -> None:
    """Name, formula, pattern, arrays, cost and lines of one op."""
    pattern = str(cell.op.signature)
    told = {"Written on": _pattern(pattern, scene)} if pattern.strip("() ->") else {}
    told |= facts.of_cell(cell, scene.cost)
    words = cell.op.words(cell.site)
    head = _head(cell.op.label, cell.op.role, scene.dark)
    left, right = st.columns([3, 2])
    with left:
        panel.show(f"{head}<p>{markup.text(words)}</p>{facts.listed(told)}", "card", scene.selected)
    with right:
        st.latex(cell.op.formula(cell.site))
    _source(scene, frozenset({cell.id}))
    if (term := cell.op.expansion(cell.site)) is not None:
        _expansion(term, scene)


def block(scene: Scene, fence: Fence) -> None:
    """Arrays, cost and lines of a block, and its inside as a diagram."""
    told = facts.listed(facts.of_block(scene.circuit, fence, scene.cost))
    head = _head(facts.title(fence), fence.role, scene.dark)
    panel.show(head + told, "card", scene.selected)
    if fence.term is not None and fence.term.children:
        _expansion(fence.term.children[0], scene)  # a repetition's first body, drawn once
    _source(scene, facts.inside(scene.circuit, fence))


def _head(title: str, role: str, dark: bool) -> str:
    return f"<h4>{markup.role(role, dark)}{markup.text(title)}</h4>"


def _pattern(pattern: str, scene: Scene) -> str:
    return listing.pattern(pattern.replace("->", "→"), scene.circuit)


def _source(scene: Scene, nodes: frozenset[str]) -> None:
    html = listing.html(lines(scene.term), scene.circuit, scene.dark, nodes)
    if html:
        panel.show(f'<p class="muted">Its lines of source</p>{html}', "lines", scene.selected)


def _expansion(term: Term, scene: Scene) -> None:
    st.caption("What is inside")
    diagram.show_part(term, scene, "inside")
