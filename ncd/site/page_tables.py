"""Parts below a diagram: steps, source, key.

``dark`` chooses the colours of the pictures; with None they are variables of the page's theme.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial

from ncd.circuit.circuit import Cell
from ncd.circuit.costs import COUNTING_RULES, remarks
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.legend.legend import COLOURS, GROUPS, Kind, PlacedSign, legend_entries
from ncd.drawing.legend.signs import LegendEntry
from ncd.site import markup
from ncd.site.collapse_states import svg
from ncd.site.live_texts import SizeDependentTexts
from ncd.site.op_cards import Cards, Content
from ncd.site.source_listing import excerpt

# --- Rows of the key to a diagram as HTML: the picture of each sign, its name and its meaning

KINDS: tuple[Kind, ...] = ("node", "array", "axis", "fence", "part")
SCALE = 0.9  # scale of the pictures
# Interactive parts of a drawing, which the pictures of signs must not have.
_OF_DIAGRAMS = re.compile(
    r"<(title|desc)\b.*?</\1>| (?:data-\w+|tabindex|role)=\"[^\"]*\"", re.DOTALL
)
_STYLE = re.compile(r"<style>(.*?)</style>(?:<filter.*?</filter>)?", re.DOTALL)
_SIZE = re.compile(r'(?<= )(width|height)="([\d.]+)"')


def row(sign: LegendEntry, dark: bool | None, attributes: Mapping[str, str], more: str = "") -> str:
    """Returns the row of a sign: picture, name, sentence and line of torch."""
    given = "".join(f' {name}="{markup.text(value)}"' for name, value in attributes.items())
    code = f"<code>{markup.text(sign.code)}</code>" if sign.code else ""
    return (
        f'<li class="entry"{given}><span class="look">{picture(sign, dark)}</span>'
        f"<div><b>{markup.text(sign.title)}</b><p>{markup.text(sign.explanation)}</p>"
        f"{code}{more}</div></li>"
    )


def colour(role: str, dark: bool | None) -> str:
    """Returns the row of a role's colour."""
    return markup.role(role, dark) + markup.text(COLOURS[role])


def places(found: PlacedSign) -> dict[str, str]:
    """Returns the attributes by which a row is highlighted with the diagram.

    An op's row is highlighted by the op; otherwise by arrays, then axes, and so on.
    """
    of = {kind: found.ids(kind) for kind in KINDS}
    return {"tabindex": "0"} | {f"data-{kind}": " ".join(ids) for kind, ids in of.items() if ids}


@lru_cache(maxsize=256)
def picture(sign: LegendEntry, dark: bool | None) -> str:
    """Returns the picture of a sign as inert SVG."""

    def scaled(found: re.Match[str]) -> str:
        return f'{found[1]}="{SCALE * float(found[2]):.0f}"'

    head, end, rest = inert(_STYLE.sub("", _svg(sign, dark))).partition(">")
    return f"{_SIZE.sub(scaled, head)}{end}{rest}"


def inert(svg: str) -> str:
    """Returns a drawing without the ids, roles and titles that make it interactive.

    >>> inert('<svg role="group"><title>m</title><path data-axis="m" d="M0 0"/></svg>')
    '<svg aria-hidden="true"><path d="M0 0"/></svg>'
    """
    shown = _OF_DIAGRAMS.sub("", svg).replace(' class="op marked"', ' class="op"')
    return shown.replace("<svg", '<svg aria-hidden="true"', 1)


def rules(signs: Iterable[LegendEntry], dark: bool | None) -> str:
    """Returns the style sheet for the pictures of these signs."""
    found: dict[str, None] = {}
    for sign in signs:
        for text in _STYLE.findall(_svg(sign, dark)):
            found |= dict.fromkeys(re.findall(r"[^{}]+{[^{}]*}", text))
    return f"<style>{''.join(found)}</style>"


@lru_cache(maxsize=256)
def _svg(sign: LegendEntry, dark: bool | None) -> str:
    return svg(sign.picture(False)) if dark is None else sign.picture(dark).svg(fonts=False)


# --- Parts below a diagram: its steps with shapes and cost, its source, and the key to its signs

HEAD = ("Step", "Arrays", "Sizes", "Parameters", "FLOPs", "Bytes made")
STEPS = 400  # rows of the table
LINES = 600  # lines of source
FAMILIAR_SIGNS = GROUPS["Axes and arrays"]


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
    said = " ".join((COUNTING_RULES, *remarks(content.circuit, cost)))
    return markup.table(HEAD, rows, foot, (3, 4, 5)) + f'<p class="muted">{markup.text(said)}</p>'


def _row(cell: Cell, counts: tuple[str, ...]) -> str:
    ids = " ".join(value.id for value in (*cell.inputs, *cell.outputs))
    ins, outs = ([value.array for value in end] for end in (cell.inputs, cell.outputs))
    return (
        f'<tr data-node="{cell.id}" data-array="{ids}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, None)}{markup.text(cell.op.display_name)}</td>"
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
    found = sorted(
        legend_entries(drawing), key=lambda each: each.sign in FAMILIAR_SIGNS
    )  # the familiar signs last
    signs = [each.sign for each in found]
    rows = "".join(row(each.sign, None, places(each)) for each in found)
    link = f'<p><a href="{markup.text(legend)}">All signs of the notation</a></p>' if legend else ""
    html = (
        f"{rules(signs, None)}<details class='key'><summary>Key to the "
        f"{markup.plural(len(found), 'sign')} in this diagram</summary>"
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


def parts_that_open(live: SizeDependentTexts, cards: Cards) -> Iterator[tuple[str, str]]:
    """Yields the name and the HTML of each closed part, if all sizes are known."""
    if cards.current_content.cost is None:
        return
    for name, (_, make) in PARTS.items():
        own = partial(make, cards.traced_content)
        yield name, live.part(name, make(cards.current_content), own, cards.traced_content.facts)


def closed_part(name: str) -> str:
    """Returns the place of a part, which is filled when somebody opens it."""
    return (
        f'<details class="told" data-later="{name}"><summary>{PARTS[name][0]}</summary>'
        f'<div data-live="{name}"></div></details>'
    )
