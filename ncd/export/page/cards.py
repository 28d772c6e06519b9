"""The cards of a page: the facts, formula and source of each op and block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ncd.code import lines
from ncd.costs import Cost, cost_of
from ncd.drawing import Drawing
from ncd.drawing.collapse.collapsed_blocks import Block
from ncd.export import markup, op_facts
from ncd.export.collapse_states import drawn_circuits, folded
from ncd.export.mathml import mathml
from ncd.export.page.live_texts import Facts, LiveTexts
from ncd.export.source_listing import Listing, coloured_lines, excerpt
from ncd.lang.circuits.circuit import Cell, Circuit, Fence

LINES = 60  # lines of source on a card
Pieces = dict[str, Callable[[], str]]  # the contents of a card by name, made when needed


@dataclass
class Content:
    """The parts of cards; ``cost`` and ``source`` exist only if all sizes are known."""

    circuit: Circuit
    drawn: frozenset[str]  # the ops that one of the drawings shows
    cost: Cost | None = None
    source: Listing = field(default_factory=Listing)
    facts: Facts = field(default_factory=dict)  # what the source depends on, at traced sizes

    @staticmethod
    def of(circuit: Circuit, drawn: frozenset[str]) -> Content:
        if any(axis.size is None for axis in circuit.axes):
            return Content(circuit, drawn)
        own = [
            replace(line, nodes=tuple(node for node in line.nodes if node in drawn))
            for line in lines(circuit.term)
        ]
        return Content(circuit, drawn, cost_of(circuit), coloured_lines(own, circuit))

    def op(self, cell: Cell) -> Pieces:
        """Returns the pieces of an op's card."""
        return {
            "words": lambda: f"<p>{markup.text(cell.op.words(cell.site))}</p>",
            "formula": lambda: mathml(cell.op.formula(cell.site), block=True),
            "facts": lambda: op_facts.listed(op_facts.of_cell(cell, self.cost)),
            "code": lambda: self.lines({cell.id}),
        }

    def block(self, part: Circuit, fence: Fence) -> Pieces:
        """Returns the pieces of a block's card."""
        return {
            "facts": lambda: op_facts.listed(op_facts.of_block(part, fence, self.cost)),
            "code": lambda: self.lines(op_facts.inside(part, fence)),
        }

    def lines(self, nodes: Collection[str]) -> str:
        return excerpt(self.source, self.circuit, None, frozenset(nodes), LINES)


@dataclass
class Cards:
    """The cards of one page, at the current sizes and at traced ones."""

    plain: Content
    own: Content
    live: LiveTexts
    fold: frozenset[str]  # the blocks that can be collapsed

    @staticmethod
    def of(live: LiveTexts, drawings: Collection[Drawing], blocks: Iterable[Block]) -> Cards:
        drawn = frozenset(glyph.node for drawing in drawings for glyph in drawing.glyphs)
        plain = Content.of(live.plain, drawn)
        if live.follows:
            own, facts = live.shared(lambda circuit: Content.of(circuit, drawn))
            own.facts = facts
        else:
            own = plain
        return Cards(plain, own, live, frozenset(block.id for block in blocks))

    def html(self, drawings: Collection[Drawing]) -> Iterator[tuple[str, str]]:
        """Yields the id and the card of each op and block in one of the drawings."""
        ids = {fence.id for drawing in drawings for fence in drawing.fences}.union(
            *map(folded, drawings)
        )
        both = zip(*map(drawn_circuits, (self.plain.circuit, self.own.circuit)), strict=True)
        for part, own in both:
            fences = {fence.id: fence for fence in own.fences}
            for fence in part.fences:
                if fence.id in ids:
                    mine = self.own.block(own, fences[fence.id])
                    yield fence.id, self._block(fence, self.plain.block(part, fence), mine)
        cells = {cell.id: cell for cell in self.own.circuit.cells}
        for cell in self.plain.circuit.cells:
            if cell.id in self.plain.drawn:
                inside = self._pieces(cell.id, self.plain.op(cell), self.own.op(cells[cell.id]))
                card = _card(cell.id, cell.op.label, cell.op.role, "".join(inside.values()))
                yield cell.id, card

    def _block(self, fence: Fence, plain: Pieces, own: Pieces) -> str:
        fold = f'<p><button type="button" data-fold="{fence.id}">Fold</button></p>'
        pieces = self._pieces(fence.id, plain, own)
        inside = pieces["facts"] + (fold if fence.id in self.fold else "") + pieces["code"]
        return _card(fence.id, op_facts.title(fence), fence.role, inside)

    def _pieces(self, id: str, plain: Pieces, own: Pieces) -> Mapping[str, str]:
        found = {}
        for name, make in plain.items():
            facts = self.own.facts if name in ("code", "facts") else {}
            html = self.live.part(f"{id}.{name}", make(), own[name], facts)
            found[name] = f'<div data-live="{id}.{name}">{html}</div>' if html else ""
        return found


def _card(id: str, title: str, role: str, inside: str) -> str:
    return (
        f'<article class="card" id="card-{id}" aria-label="{markup.text(title)}" tabindex="-1">'
        f'<button class="close" type="button" aria-label="Close">×</button>'
        f"<h3>{markup.role(role, None)}{markup.text(title)}</h3>{inside}</article>"
    )
