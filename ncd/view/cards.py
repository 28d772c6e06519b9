"""The card of an op or a block: what it is, what it takes and gives, its cost, its source."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ncd.code import lines
from ncd.lang.axes import Array
from ncd.lang.circuit import Cell, Fence
from ncd.lang.terms import Term
from ncd.view import diagram, listing, markup, panel
from ncd.view.scene import Scene


def op(scene: Scene, cell: Cell) -> None:
    """Name, formula, pattern, arrays, cost and lines of one op."""
    ins = [value.array for value in cell.inputs]
    outs = [value.array for value in cell.outputs]
    pattern = str(cell.op.signature)
    facts = {"Written on": _pattern(pattern, scene)} if pattern.strip("() ->") else {}
    facts |= _facts(scene, ins, outs, {cell.id})
    words = cell.op.words(cell.site)
    head = _head(cell.op.label, cell.op.role, scene.dark)
    left, right = st.columns([3, 2])
    with left:
        panel.show(f"{head}<p>{markup.text(words)}</p>{_list(facts)}", "card", scene.selected)
    with right:
        st.latex(cell.op.formula(cell.site))
    _source(scene, {cell.id})
    if (term := cell.op.expansion(cell.site)) is not None:
        _expansion(term, scene)


def block(scene: Scene, fence: Fence) -> None:
    """Arrays, cost and lines of a block, and its inside as a diagram."""
    nodes = {cell.id for cell in scene.circuit.cells if fence.id in cell.fences}
    ins = [value.array for value in fence.states[0]]
    outs = [value.array for value in fence.states[-1]]
    title = fence.title or (f"Repeated {fence.repeats} times" if fence.repeats else fence.role)
    facts = _facts(scene, ins, outs, nodes)
    panel.show(_head(title, fence.role, scene.dark) + _list(facts), "card", scene.selected)
    if fence.term is not None and fence.term.children:
        _expansion(fence.term.children[0], scene)  # a repetition's first body, drawn once
    _source(scene, nodes)


def _head(title: str, role: str, dark: bool) -> str:
    return f"<h4>{markup.role(role, dark)}{markup.text(title)}</h4>"


def _facts(
    scene: Scene, ins: Sequence[Array], outs: Sequence[Array], nodes: set[str]
) -> dict[str, str]:
    costs = [op for op in scene.cost.ops if op.node in nodes]
    return {
        "Takes": f"{markup.arrays(ins)} <span class='muted'>({markup.shapes(ins)})</span>",
        "Gives": f"{markup.arrays(outs)} <span class='muted'>({markup.shapes(outs)})</span>",
        "Parameters": f"{sum(op.parameters for op in costs):,}",
        "Costs": markup.amount(sum(op.flops for op in costs), "FLOP"),
        "Makes": markup.amount(sum(op.bytes for op in costs), "B"),
    }


def _list(facts: dict[str, str]) -> str:
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    return f'<dl class="stats">{rows}</dl>'


def _pattern(pattern: str, scene: Scene) -> str:
    return listing.pattern(pattern.replace("->", "→"), scene.circuit)


def _source(scene: Scene, nodes: set[str]) -> None:
    html = listing.html(lines(scene.term), scene.circuit, scene.dark, frozenset(nodes))
    if html:
        panel.show(f'<p class="muted">Its lines of source</p>{html}', "lines", scene.selected)


def _expansion(term: Term, scene: Scene) -> None:
    st.caption("What is inside")
    diagram.show_part(term, scene, "inside")
