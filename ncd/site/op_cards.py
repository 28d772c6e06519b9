"""Facts, formula and source of each op and block."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ncd.circuit.circuit import Cell, Circuit, Fence
from ncd.circuit.costs import Cost, cost_of
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.plan.collapse import CollapsibleBlock
from ncd.language.axes import Array
from ncd.language.blocks import Block
from ncd.language.op import Op
from ncd.site import markup
from ncd.site.collapse_states import collapsed_ids, drawn_circuits
from ncd.site.live_texts import LiveFacts, SizeDependentTexts
from ncd.site.markup import mathml
from ncd.site.source_listing import Listing, coloured_lines, excerpt
from ncd.words import plain_text
from ncd.write.torch_source.source_file import lines

# --- The facts of an op or a block as HTML: arrays, parameters, FLOPs, bytes

Facts = dict[str, str]


def of_cell(cell: Cell, cost: Cost | None) -> Facts:
    """Returns the facts of one op; without a cost, only its arrays."""
    ins = [value.array for value in cell.inputs]
    outs = [value.array for value in cell.outputs]
    return _arrays(ins, outs, cost) | _costs(cost, {cell.id})


def of_block(circuit: Circuit, fence: Fence, cost: Cost | None) -> Facts:
    """Returns the facts of a block: those of all its ops together."""
    ins = [value.array for value in fence.states[0]]
    outs = [value.array for value in fence.states[-1]]
    return _arrays(ins, outs, cost) | _costs(cost, circuit.cell_ids_by_fence.get(fence.id, ()))


def block_op_ids(circuit: Circuit, fence: Fence) -> frozenset[str]:
    """Returns the ids of the ops in a block, including nested ones."""
    return frozenset(circuit.cell_ids_by_fence.get(fence.id, ()))


def title(fence: Fence) -> str:
    """Returns the name of a block: its title, its only op's name, or its role."""
    if fence.title.strip() or fence.repeats:
        return plain_text(fence.title.strip()) or f"Repeated {fence.repeats} times"
    body = fence.term.body if isinstance(fence.term, Block) else None
    return body.display_name if isinstance(body, Op) else fence.role.capitalize()


def facts_html(facts: Mapping[str, str]) -> str:
    """Returns facts as an HTML description list."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts.items())
    return f'<dl class="stats">{rows}</dl>'


def _arrays(ins: Sequence[Array], outs: Sequence[Array], cost: Cost | None) -> Facts:
    def sized(arrays: Sequence[Array]) -> str:
        sizes = f" <span class='muted'>({markup.shapes(arrays)})</span>" if cost else ""
        return f"{markup.arrays(arrays)}{sizes}"

    return {"Takes": sized(ins), "Gives": sized(outs)}


def _costs(cost: Cost | None, nodes: Collection[str]) -> Facts:
    if cost is None:
        return {}
    costs = [cost.by_node[node] for node in nodes if node in cost.by_node]
    return {
        "Parameters": f"{sum(op.parameters for op in costs):,}",
        "Costs": markup.flops(sum(op.flops for op in costs)),
        "Makes": markup.amount(sum(op.bytes for op in costs), "B"),
    }


# --- The cards of a page: the facts, formula and source of each op and block

LINES = 60  # lines of source on a card
Pieces = dict[str, Callable[[], str]]  # the contents of a card by name, made when needed


@dataclass
class Content:
    """The parts of cards; ``cost`` and ``source`` exist only if all sizes are known."""

    circuit: Circuit
    drawn_ops: frozenset[str]  # the ops that one of the drawings shows
    cost: Cost | None = None
    source: Listing = field(default_factory=Listing)
    facts: LiveFacts = field(default_factory=dict)  # what the source depends on, at traced sizes

    @staticmethod
    def from_circuit(circuit: Circuit, drawn: frozenset[str]) -> Content:
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
            "words": lambda: f"<p>{markup.text(cell.op.description(cell.site))}</p>",
            "formula": lambda: mathml(cell.op.latex(cell.site), block=True),
            "facts": lambda: facts_html(of_cell(cell, self.cost)),
            "code": lambda: self.lines({cell.id}),
        }

    def block(self, part: Circuit, fence: Fence) -> Pieces:
        """Returns the pieces of a block's card."""
        return {
            "facts": lambda: facts_html(of_block(part, fence, self.cost)),
            "code": lambda: self.lines(block_op_ids(part, fence)),
        }

    def lines(self, nodes: Collection[str]) -> str:
        return excerpt(self.source, self.circuit, None, frozenset(nodes), LINES)


@dataclass
class Cards:
    """The cards of one page, at the current sizes and at traced ones."""

    current_content: Content
    traced_content: Content
    live: SizeDependentTexts
    fold: frozenset[str]  # the blocks that can be collapsed

    @staticmethod
    def from_drawings(
        live: SizeDependentTexts, drawings: Collection[Drawing], blocks: Iterable[CollapsibleBlock]
    ) -> Cards:
        drawn = frozenset(glyph.node for drawing in drawings for glyph in drawing.glyphs)
        plain = Content.from_circuit(live.plain, drawn)
        if live.is_traceable:
            own, facts = live.make_with_facts(lambda circuit: Content.from_circuit(circuit, drawn))
            own.facts = facts
        else:
            own = plain
        return Cards(plain, own, live, frozenset(block.id for block in blocks))

    def html(self, drawings: Collection[Drawing]) -> Iterator[tuple[str, str]]:
        """Yields the id and the card of each op and block in one of the drawings."""
        ids = {fence.id for drawing in drawings for fence in drawing.fences}.union(
            *map(collapsed_ids, drawings)
        )
        both = zip(
            *map(drawn_circuits, (self.current_content.circuit, self.traced_content.circuit)),
            strict=True,
        )
        for part, own in both:
            fences = {fence.id: fence for fence in own.fences}
            for fence in part.fences:
                if fence.id in ids:
                    mine = self.traced_content.block(own, fences[fence.id])
                    yield (
                        fence.id,
                        self._block(fence, self.current_content.block(part, fence), mine),
                    )
        cells = {cell.id: cell for cell in self.traced_content.circuit.cells}
        for cell in self.current_content.circuit.cells:
            if cell.id in self.current_content.drawn_ops:
                inside = self._pieces(
                    cell.id, self.current_content.op(cell), self.traced_content.op(cells[cell.id])
                )
                card = _card(cell.id, cell.op.display_name, cell.op.role, "".join(inside.values()))
                yield cell.id, card

    def _block(self, fence: Fence, plain: Pieces, own: Pieces) -> str:
        fold = f'<p><button type="button" data-fold="{fence.id}">Fold</button></p>'
        pieces = self._pieces(fence.id, plain, own)
        inside = pieces["facts"] + (fold if fence.id in self.fold else "") + pieces["code"]
        return _card(fence.id, title(fence), fence.role, inside)

    def _pieces(self, id: str, plain: Pieces, own: Pieces) -> Mapping[str, str]:
        found = {}
        for name, make in plain.items():
            facts = self.traced_content.facts if name in ("code", "facts") else {}
            html = self.live.part(f"{id}.{name}", make(), own[name], facts)
            found[name] = f'<div data-live="{id}.{name}">{html}</div>' if html else ""
        return found


def _card(id: str, title: str, role: str, inside: str) -> str:
    return (
        f'<article class="card" id="card-{id}" aria-label="{markup.text(title)}" tabindex="-1">'
        f'<button class="close" type="button" aria-label="Close">×</button>'
        f"<h3>{markup.role(role, None)}{markup.text(title)}</h3>{inside}</article>"
    )
