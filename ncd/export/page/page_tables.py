"""Parts below a diagram: its steps with shapes and cost, its source, and the key to its signs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from ncd.costs import COUNTED, remarks
from ncd.drawing import Drawing
from ncd.export import markup
from ncd.export.page import legend_rows
from ncd.export.page.cards import Cards, Content
from ncd.export.page.live_texts import LiveTexts
from ncd.export.source_listing import excerpt
from ncd.key import GROUPS, key
from ncd.lang.circuits.circuit import Cell

HEAD = ("Step", "Arrays", "Sizes", "Parameters", "FLOPs", "Bytes made")
STEPS = 400  # rows of the table
LINES = 600  # lines of source
FIRST = GROUPS["Axes and arrays"]


@dataclass(frozen=True)
class Drawer:
    """The key to a diagram as HTML, and the drawings in it."""

    html: str
    drawings: tuple[Drawing, ...]


def step_table(content: Content) -> str:
    """Returns the shapes and the cost of every step, and the totals."""
    cost = content.cost
    if cost is None:
        return ""
    ops = {op.node: op for op in cost.ops}
    cells = content.circuit.cells
    rows = []
    for cell in cells[:STEPS]:
        op = ops[cell.id]
        counts = f"{op.parameters:,}", markup.amount(op.flops), markup.amount(op.bytes, "B")
        rows.append(_row(cell, counts))
    more = f" of {len(cells):,} steps; the first {STEPS} are listed" if len(cells) > STEPS else ""
    totals = f"{cost.parameters:,}", markup.amount(cost.flops), markup.amount(cost.bytes, "B")
    foot = f"<tr><td>Total{more}</td><td></td><td></td>{''.join(map(_number, totals))}</tr>"
    said = " ".join((COUNTED, *remarks(content.circuit, cost)))
    return markup.table(HEAD, rows, foot, (3, 4, 5)) + f'<p class="muted">{markup.text(said)}</p>'


def _row(cell: Cell, counts: tuple[str, ...]) -> str:
    ids = " ".join(value.id for value in (*cell.inputs, *cell.outputs))
    ins, outs = ([value.array for value in end] for end in (cell.inputs, cell.outputs))
    return (
        f'<tr data-node="{cell.id}" data-array="{ids}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, None)}{markup.text(cell.op.label)}</td>"
        f"<td>{markup.arrays(ins)} → {markup.arrays(outs)}</td>"
        f"<td>{markup.shapes(ins)} → {markup.shapes(outs)}</td>"
        f"{''.join(map(_number, counts))}</tr>"
    )


def _number(text: str) -> str:
    return f'<td class="number">{text}</td>'


def key_drawer(drawing: Drawing, legend: str = "") -> Drawer:
    """Returns the signs of a drawing, each highlighted with its places.

    ``legend`` is the address of the page of all signs, if there is one.
    """
    found = sorted(key(drawing), key=lambda each: each.sign in FIRST)  # the familiar signs last
    signs = [each.sign for each in found]
    rows = "".join(legend_rows.row(each.sign, None, legend_rows.places(each)) for each in found)
    link = f'<p><a href="{markup.text(legend)}">All signs of the notation</a></p>' if legend else ""
    html = (
        f"{legend_rows.rules(signs, None)}<details class='key'><summary>Key to the "
        f"{markup.counted(len(found), 'sign')} in this diagram</summary>"
        f'<ul class="signs">{rows}</ul>{link}</details>'
    )
    return Drawer(html, tuple(sign.picture(False) for sign in signs))


def listing(content: Content) -> str:
    """Returns the source of a system."""
    return excerpt(content.source, content.circuit, None, most=LINES)


# The parts that are closed at first: the title of each, and what writes it.
PARTS: Mapping[str, tuple[str, Callable[[Content], str]]] = {
    "steps": ("Shapes and cost of every step", step_table),
    "source": ("PyTorch source", listing),
}


def parts_that_open(live: LiveTexts, cards: Cards) -> Iterator[tuple[str, str]]:
    """Yields the name and the HTML of each closed part, if all sizes are known."""
    if cards.plain.cost is None:
        return
    for name, (_, make) in PARTS.items():
        own = partial(make, cards.own)
        yield name, live.part(name, make(cards.plain), own, cards.own.facts)


def closed_part(name: str) -> str:
    """Returns the place of a part, which is filled when somebody opens it."""
    return (
        f'<details class="told" data-later="{name}"><summary>{PARTS[name][0]}</summary>'
        f'<div data-live="{name}"></div></details>'
    )
