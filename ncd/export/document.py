"""Exports a term as one HTML file: the diagram with hover, legend, collapse and cards; no server.

Styles, fonts and drawings are in the file, and its content policy lets it load nothing else.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from ncd.code import lines
from ncd.costs import Cost, cost_of
from ncd.drawing import Drawing, Labels
from ncd.drawing.base import style
from ncd.drawing.base.fonts import font_faces
from ncd.drawing.collapse.collapsed_blocks import Block
from ncd.drawing.collapse.collapsed_blocks import blocks as blocks_of
from ncd.export import markup, op_facts
from ncd.export.collapse_states import compressed, drawn_circuits, folded, state_name, states, svg
from ncd.export.mathml import mathml
from ncd.export.shared_assets import DIAGRAM_CSS, FOLDER, LIGHT_JS, PANEL_CSS
from ncd.export.source_listing import ColouredLine, coloured_lines, excerpt
from ncd.lang.circuits.circuit import Cell, Circuit, Fence
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.arguments import check_term, check_text
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Axis

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; font-src data:"
LINES = 60  # lines of source on a card
DEEPEST = 12  # levels of nested blocks that collapse in a file: each state is one more drawing
PAGE = (FOLDER / "document.html").read_text()
JS = LIGHT_JS + (FOLDER / "document.js").read_text()


def policy(js: str) -> str:
    """Returns the content policy of a file: it runs this script alone and loads nothing.

    >>> policy("go()").split("; ")[2][:34]
    "script-src 'sha256-5KYv+PUboo5h+0+"
    """
    return POLICY.format(b64encode(sha256(js.encode()).digest()).decode())


def html(term: Term, labels: Labels = "names", title: str = "") -> str:
    """Exports a term as one HTML file, with a card for each op and block.

    Args:
        term: The system; axes without sizes are shown by name.
        labels: The texts on the wires: "names", "sizes" or "both".
        title: The title of the page; by default that of the outermost block.

    Returns:
        The text of the file. It needs no server and loads nothing.

    Raises:
        SizeError: If sizes contradict each other.

    Source: after the HTML views of Treescope and the legend of pyncd.

    >>> from ncd.lang.terms.terms import Id
    >>> html(Id("y:2 m:3"))[:15]
    '<!doctype html>'
    """
    check_term(term, "html")
    check_text(title, "title", "html")
    circuit = elaborate(term)
    parts = drawn_circuits(circuit)
    depths = _depths(block for part in parts for block in blocks_of(part))
    blocks = [block for block, depth in depths.items() if depth < DEEPEST]
    drawings = states(term, {block.id: block.parent for block in blocks}, labels)
    every = tuple(drawings.values())
    wires = {wire.axis for drawing in every for wire in drawing.wires}
    first, cards = every[0], _Cards.of(circuit, every, blocks)
    return PAGE.format(
        policy=policy(JS),
        title=markup.text(title or first.title),
        css=css(every),
        summary=_summary(circuit, cards.cost),
        svg=svg(first),
        axes="".join(_axis(axis) for axis in _axes(circuit) if axis.name in wires) or "None.",
        blocks="".join(_rows(depths, blocks, parts)) or "None.",
        cards="".join(cards.cards(parts, every)),
        words=markup.text(first.description),
        state=state_name(folded(first)),
        states=compressed(drawings),
        js=JS,
    )


def css(drawings: Iterable[Drawing]) -> str:
    """Returns the style sheet of a file with these drawings, and the fonts for their labels."""
    spans = (span for d in drawings for text in d.texts for span in text.label.spans)
    names = (*style.COLOURS, *style.ROLES)
    colours = ";".join(
        f"--{name}:light-dark({style.paint(name)},{style.paint(name, dark=True)})" for name in names
    )
    page = (FOLDER / "document.css").read_text()
    return f"{font_faces(spans)}:root{{{colours}}}\n{PANEL_CSS}{DIAGRAM_CSS}{page}"


def _axes(circuit: Circuit) -> tuple[Axis, ...]:
    """Returns every axis, each name once."""
    found: dict[str, Axis] = {}
    for axis in circuit.axes:
        found.setdefault(axis.name, axis)
    return tuple(found.values())


def _summary(circuit: Circuit, cost: Cost | None) -> str:
    types = f"({markup.arrays(circuit.term.dom)}) → ({markup.arrays(circuit.term.cod)})"
    if cost is None:
        return types
    parameters = markup.counted(cost.parameters, "parameter")
    return f"{types} · {parameters} · {markup.amount(cost.flops, 'FLOP')}"


def _axis(axis: Axis) -> str:
    """Returns a row of the legend, which locks the highlight of its axis."""
    kind = "sequence" if axis.sequence else "spatial" if axis.spatial else ""
    size = "" if axis.size is None else markup.text(axis.size_text)
    own = markup.text(axis.name)
    return (
        f'<button class="row" type="button" data-axis="{own}" data-select="axis:{own}">'
        f'{markup.axis(axis)}<b>{size}</b><span class="muted">{kind}</span></button>'
    )


def _depths(blocks: Iterable[Block]) -> dict[Block, int]:
    """Returns how many blocks are around each block; outer blocks come before inner ones."""
    depths = {"": -1}
    found: dict[Block, int] = {}
    for block in blocks:
        depths[block.id] = found[block] = depths[block.parent] + 1
    return found


def _rows(
    depths: Mapping[Block, int], blocks: Sequence[Block], parts: Iterable[Circuit]
) -> Iterator[str]:
    """Returns a button for each block that collapses it, indented by depth, in reading order."""
    roles = {fence.id: fence.role for part in parts for fence in part.fences}
    begin: dict[str, int] = {}
    for cell in (cell for part in parts for cell in part.cells):
        begin = dict.fromkeys(cell.fences, len(begin)) | begin
    for block in sorted(blocks, key=lambda block: (begin[block.id], depths[block])):
        yield (
            f'<button class="row" type="button" data-fold="{block.id}" data-fence="{block.id}" '
            f'style="margin-left:{depths[block]}em">{markup.role(roles[block.id], None)}'
            f"{markup.text(' '.join(block.name.split()))}</button>"
        )


# --- cards ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Cards:
    """The content of the cards; ``cost`` and ``source`` only if all sizes are known."""

    circuit: Circuit
    drawn: frozenset[str]  # the ops that one of the drawings shows
    fold: frozenset[str]  # the blocks that can be collapsed
    cost: Cost | None = None
    source: Sequence[ColouredLine] = ()

    @staticmethod
    def of(circuit: Circuit, drawings: Collection[Drawing], blocks: Iterable[Block]) -> _Cards:
        drawn = frozenset(glyph.node for drawing in drawings for glyph in drawing.glyphs)
        fold = frozenset(block.id for block in blocks)
        if any(axis.size is None for axis in _axes(circuit)):
            return _Cards(circuit, drawn, fold)
        own = [
            replace(line, nodes=tuple(node for node in line.nodes if node in drawn))
            for line in lines(circuit.term)
        ]
        return _Cards(circuit, drawn, fold, cost_of(circuit), coloured_lines(own, circuit))

    def cards(self, parts: Iterable[Circuit], drawings: Iterable[Drawing]) -> Iterator[str]:
        """Yields a card for each op and block in one of the drawings."""
        ids = {fence.id for drawing in drawings for fence in drawing.fences}.union(
            *map(folded, drawings)
        )
        for part in parts:
            yield from (self.block(part, fence) for fence in part.fences if fence.id in ids)
        yield from (self.op(cell) for cell in self.circuit.cells if cell.id in self.drawn)

    def op(self, cell: Cell) -> str:
        formula = mathml(cell.op.formula(cell.site), block=True)
        words = f"<p>{markup.text(cell.op.words(cell.site))}</p>{formula}"
        facts = op_facts.listed(op_facts.of_cell(cell, self.cost))
        inside = f"{words}{facts}{self.lines({cell.id})}"
        return _card(cell.id, cell.op.label, cell.op.role, inside)

    def block(self, part: Circuit, fence: Fence) -> str:
        facts = op_facts.listed(op_facts.of_block(part, fence, self.cost))
        code = self.lines(op_facts.inside(part, fence))
        fold = f'<p><button type="button" data-fold="{fence.id}">Fold</button></p>'
        fold = fold if fence.id in self.fold else ""
        return _card(fence.id, op_facts.title(fence), fence.role, f"{facts}{fold}{code}")

    def lines(self, nodes: Collection[str]) -> str:
        return excerpt(self.source, self.circuit, None, frozenset(nodes), LINES)


def _card(id: str, title: str, role: str, inside: str) -> str:
    return (
        f'<article class="card" id="card-{id}" aria-label="{markup.text(title)}" tabindex="-1" '
        f'hidden><button class="close" type="button" aria-label="Close">×</button>'
        f"<h3>{markup.role(role, None)}{markup.text(title)}</h3>{inside}</article>"
    )
