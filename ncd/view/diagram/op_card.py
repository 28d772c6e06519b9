"""The card of an op or a block: its place, meaning, cost, inside and source."""

from __future__ import annotations

from ncd.code import lines
from ncd.export import markup, op_facts, source_listing
from ncd.export.collapse_states import drawn_circuits
from ncd.export.mathml import mathml
from ncd.lang.circuits.circuit import Cell, Circuit, Fence
from ncd.models.references import REFERENCES
from ncd.view.base import html_panel
from ncd.view.base.cache import remember
from ncd.view.diagram import component
from ncd.view.session.scene import Scene


def show(scene: Scene) -> bool:
    """Shows the card of the selection; returns False if it is neither an op nor a block."""
    id = scene.selected
    if id.startswith("n"):
        html = _op(scene, scene.circuit.cell(id))
    elif found := _fence(scene.circuit, id):
        html = _block(scene, *found)
    else:
        return False
    html_panel.show(f'<article class="card">{html}</article>', "card")
    return True


def _fence(circuit: Circuit, id: str) -> tuple[Circuit, Fence] | None:
    """Returns a block and its circuit (for a stack of layers, the stacked circuit), or None."""
    if id.startswith("f"):
        return circuit, next(fence for fence in circuit.fences if fence.id == id)
    if not id.startswith("s"):
        return None
    every = ((whole, fence) for whole in drawn_circuits(circuit) for fence in whole.fences)
    return next(((whole, fence) for whole, fence in every if fence.id == id), None)


def _op(scene: Scene, cell: Cell) -> str:
    """Returns name, formula, pattern, arrays, cost and source lines of one op."""
    pattern, facts = str(cell.op.signature), {}
    if pattern.strip("() ->"):
        arrow = pattern.replace("->", "→")
        facts["Written on"] = source_listing.pattern(arrow, scene.circuit)
    facts |= op_facts.of_cell(cell, scene.cost)
    term = cell.op.expansion(cell.site)
    return (
        _around(scene.circuit, cell.fences)
        + _head(cell.op.label, cell.op.role, scene.dark)
        + f"<p>{markup.text(cell.op.words(cell.site))}</p>"
        + mathml(cell.op.formula(cell.site), block=True)
        + op_facts.listed(facts)
        + _reference(scene.circuit, cell.fences)
        + _inside("Written out", "" if term is None else component.other_term(term, scene))
        + _source(scene, frozenset({cell.id}))
    )


def _block(scene: Scene, circuit: Circuit, fence: Fence) -> str:
    """Returns arrays, cost and source lines of a block, and its inside as a diagram."""
    chain = _chain(circuit, fence.parent)
    first = f", the first of {fence.repeats}" if fence.repeats else ""
    return (
        _around(circuit, chain)
        + _head(op_facts.title(fence), fence.role, scene.dark)
        + op_facts.listed(op_facts.of_block(circuit, fence, scene.cost))
        + _reference(circuit, (*chain, fence.id))
        + component.fold_button(scene, fence.id)
        + _inside(f"What is inside{first}", component.block_inside(scene, fence.id))
        + _source(scene, op_facts.inside(circuit, fence))
    )


def _chain(circuit: Circuit, id: str) -> tuple[str, ...]:
    """Returns the ids of a fence and of those around it, the outermost first."""
    parents = {fence.id: fence.parent for fence in circuit.fences}
    chain: list[str] = []
    while id in parents:
        chain.insert(0, id)
        id = parents[id]
    return tuple(chain)


def _around(circuit: Circuit, chain: tuple[str, ...]) -> str:
    """Returns the breadcrumb of the blocks around a block, the outermost first."""
    known = {fence.id: fence for fence in circuit.fences}
    steps = " › ".join(_step(known[id]) for id in chain if id in known)
    return f'<nav class="around" aria-label="The blocks around it">{steps}</nav>' if steps else ""


def _reference(circuit: Circuit, chain: tuple[str, ...]) -> str:
    """Returns links to the paper and the published code of the innermost block that has some."""
    titles = {fence.id: fence.title.strip() for fence in circuit.fences}
    blocks = (REFERENCES.get(titles.get(id, "")) for id in reversed(chain))
    found = next(filter(None, blocks), None)
    if found is None:
        return ""
    links = [_link(found.paper_address, found.paper)]
    if found.code_address:
        links.append(_link(found.code_address, f"{found.name} in transformers"))
    return f'<p class="muted">Published: {" · ".join(links)}</p>'


def _link(address: str, said: str) -> str:
    return f'<a href="{address}" target="_blank" rel="noopener">{markup.text(said)}</a>'


def _step(fence: Fence) -> str:
    title = markup.text(op_facts.title(fence))
    return f'<button data-fence="{fence.id}" data-select="{fence.id}">{title}</button>'


def _head(title: str, role: str, dark: bool) -> str:
    return f"<h2>{markup.role(role, dark)}{markup.text(title)}</h2>"


def _source(scene: Scene, nodes: frozenset[str]) -> str:
    term, circuit = scene.term, scene.circuit
    source = remember(
        "painted", term, make=lambda: source_listing.coloured_lines(lines(term), circuit)
    )
    html = source_listing.excerpt(source, circuit, scene.dark, nodes)
    return f'<p class="muted">Its lines of source</p>{html}' if html else ""


def _inside(title: str, drawn: str) -> str:
    return f'<p class="muted">{title}</p>{drawn}' if drawn else ""
