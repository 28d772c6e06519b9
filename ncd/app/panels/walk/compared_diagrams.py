"""Two settings: diagrams at one scale, matched ops, shapes, costs, and the sizes that fit both.

Ops match by submodule path, name and axis names, whatever their sizes. So the fourth layer of
one circuit has no match in a circuit with three layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import NamedTuple

from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.circuit.costs import OpCost
from ncd.circuit.knob import Knob
from ncd.drawing.pipeline import draw
from ncd.errors import NCDError
from ncd.language.axes import Array
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry

# --- Sizes of one meaning in two systems, such as heads, so that they are compared at the same

POSITIONS, HEADS = "positions", "heads"
WIDTH, HEAD = "features of a position", "features of a head"
MEANINGS = {
    "queries": POSITIONS,
    "keys and values": POSITIONS,
    "keys": POSITIONS,
    "positions that are read": POSITIONS,
    "positions that are written": POSITIONS,
    "features a head": HEAD,
    "m: features": WIDTH,
    "k: features": HEAD,
    "query heads for each": "queries for each of them",
}
GROUPS, EACH = "heads of keys and values", "queries for each of them"


def meaning(knob: Knob) -> str:
    """Returns what a knob is the size of, in one word for all systems.

    >>> meaning(Knob("y", 1, 64, 20, help="queries")), meaning(Knob("m", 1, 64, 8, help="features"))
    ('positions', 'features of a position')
    """
    return MEANINGS.get(f"{knob.name}: {knob.help}") or MEANINGS.get(knob.help, knob.help)


def sizes(entry: Entry, settings: Mapping[str, int]) -> dict[str, int]:
    """Returns the size of each meaning; the first knob's, where several have one."""
    found: dict[str, int] = {}
    for knob in entry.knobs:
        if knob.help:  # the axes of one's own text have letters alone
            found.setdefault(meaning(knob), settings[knob.name])
    groups = _head_knobs(entry)
    if groups is not None:
        found[HEADS] = settings[groups[0].name] * settings[groups[1].name]
    if HEADS in found and HEAD in found:
        found.setdefault(WIDTH, found[HEADS] * found[HEAD])
    return found


def in_line(page: Entry, settings: Mapping[str, int], other: Entry) -> dict[str, int]:
    """Returns the settings of another system at the sizes that a page has, where both have some.

    >>> import ncd
    >>> page, other = ncd.catalogue["multi-head-attention"], ncd.catalogue["grouped-queries"]
    >>> in_line(page, page.settings({}), other)
    {'g': 2, 'q': 2, 'k': 16, 'm': 128, 't': 20}
    """
    asked, own = sizes(page, settings), other.settings({})
    found = {k.name: k.legal(asked.get(meaning(k), own[k.name])) for k in other.knobs}
    groups = _head_knobs(other)
    if groups is not None and HEADS in asked and GROUPS not in asked:
        shared, each = groups
        fits = max(n for n in range(1, own[shared.name] + 1) if asked[HEADS] % n == 0)
        found |= {shared.name: shared.legal(fits), each.name: each.legal(asked[HEADS] // fits)}
    try:
        other.build(**other.with_clamped_indexes(found))
    except NCDError:  # some other size of it does not fit these
        return own
    return other.with_clamped_indexes(found)


def _head_knobs(entry: Entry) -> tuple[Knob, Knob] | None:
    """Returns the knobs whose product is the number of heads, if there are two."""
    shared = next((knob for knob in entry.knobs if knob.help == GROUPS), None)
    each = next((knob for knob in entry.knobs if meaning(knob) == EACH), None)
    return (shared, each) if shared and each else None


# --- Matches the ops of two circuits of one system at different settings

IDS = re.compile(r' data-(axis|node|array|fence)="([^"]*)"')
DIFFERS, ALONE = ' data-differs=""', ' data-alone=""'
STILL = re.compile(r' (?:tabindex="0"|role="button")')
Row = tuple[Cell | None, Cell | None]


@dataclass(frozen=True)
class CircuitMatch:
    """The matched ops in one order, and the second circuit's ids for ids of the first.

    ``axes`` are the names of axes whose sizes differ, or that one circuit lacks.
    """

    rows: tuple[Row, ...]
    ids: Mapping[str, str]
    axes: frozenset[str]

    @property
    def alone(self) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        """The ops that only the first circuit has, and those that only the second has."""
        return (
            tuple(one for one, two in self.rows if one and not two),
            tuple(two for one, two in self.rows if two and not one),
        )


def match(one: Circuit, two: Circuit) -> CircuitMatch:
    """Matches the second circuit with the first.

    >>> import ncd
    >>> two = ncd.catalogue["multi-head-attention"]
    >>> found = match(ncd.elaborate(two.build(h=2)), ncd.elaborate(two.build(h=4)))
    >>> sorted(found.axes), found.alone, found.ids["n1"]
    (['h'], ((), ()), 'n1')
    >>> found = match(ncd.elaborate(two.build()), ncd.elaborate(two.build(causal=1)))
    >>> [cell.op.display_name for cell in found.alone[1]]
    ['CausalMask']
    """
    rows = tuple(_rows(one.cells, two.cells, (_structure, _loose_key)))
    values = list(zip(one.inputs, two.inputs, strict=False))
    ids: dict[str, str] = {}
    for first, second in rows:
        if first and second:
            ids[first.id] = second.id
            values += zip(first.inputs, second.inputs, strict=False)
            values += zip(first.outputs, second.outputs, strict=False)
    for mine, theirs in values:
        ids.setdefault(mine.id, theirs.id)
    sizes = [_sizes_by_name(circuit) for circuit in (one, two)]
    names = {*sizes[0], *sizes[1]}
    axes = frozenset(name for name in names if sizes[0].get(name) != sizes[1].get(name))
    return CircuitMatch(rows, ids, axes)


Cells = tuple[Cell, ...]
Key = Callable[[Cell], Hashable]


def _rows(one: Cells, two: Cells, keys: tuple[Key, ...]) -> list[Row]:
    """Pairs ops with equal keys, then the remaining ones by the next key."""
    key, *others = keys
    rows: list[Row] = []
    key_lists = [key(cell) for cell in one], [key(cell) for cell in two]
    found: SequenceMatcher[Hashable] = SequenceMatcher(None, *key_lists, autojunk=False)
    for what, i, j, m, n in found.get_opcodes():
        if what == "equal":
            rows += zip(one[i:j], two[m:n], strict=True)
        elif what == "replace" and others:
            rows += _rows(one[i:j], two[m:n], tuple(others))
        else:
            rows += [(cell, None) for cell in one[i:j]]
            rows += [(None, cell) for cell in two[m:n]]
    return rows


def _structure(cell: Cell) -> Hashable:
    """Returns the properties of an op that no size changes; an unnamed axis counts by its size."""
    arrays = (*cell.site.own_inputs, *cell.site.own_outputs)
    names = tuple(tuple("" if n.isdecimal() else n for n in array.names) for array in arrays)
    return _loose_key(cell), names


def _loose_key(cell: Cell) -> Hashable:
    """Returns a looser key, for ops whose axes have other names, as after a stride."""
    many = tuple(len(array) for array in (*cell.site.own_inputs, *cell.site.own_outputs))
    return cell.path, type(cell.op).__name__, cell.op.display_name, many


def _sizes_by_name(circuit: Circuit) -> dict[str, frozenset[str]]:
    """Returns all sizes of the axes with each name."""
    found: dict[str, set[str]] = {}
    for axis in circuit.axes:
        if not axis.name.isdecimal():
            found.setdefault(axis.name, set()).add("" if axis.size is None else axis.size_text)
    return {name: frozenset(sizes) for name, sizes in found.items()}


def equal_sizes(array: Array, other: Array | None) -> list[bool]:
    """Returns, for each axis of an array, whether the other array has the same size there.

    >>> equal_sizes(Array.parse("y:3 k:4"), Array.parse("y:3 k:5"))
    [True, False]
    """
    pairs = zip_longest(array, other or (), fillvalue=None)
    return [b is not None and a.size == b.size for a, b in pairs if a is not None]


def with_difference_marks(svg: str, axes: Collection[str], alone: Collection[str], ids: Ids) -> str:
    """Returns a drawing with marks on the wires in ``axes`` and the ops in ``alone``, and new ids.

    A collapsed block is marked if one of its ops is. The result has no keyboard handling.
    """

    def mark(found: re.Match[str]) -> str:
        kind, text = found.groups()
        if kind == "axis":
            return found.group() + (DIFFERS if text in axes else "")
        if kind == "fence":
            return ""
        own = text.split()
        lone = ALONE if kind == "node" and any(id in alone for id in own) else ""
        named = " ".join(filter(None, map(ids, own)))
        return lone + (f' data-{kind}="{named}"' if named else "")

    return STILL.sub("", IDS.sub(mark, svg))


Ids = Callable[[str], str | None]


# --- Two scenes of one system as HTML: diagrams at one scale, shapes and costs

MAX_NAMES = 6  # ops and axes named in a sentence
# The smallest scales of two drawings side by side: usually, and if they are tall.
LEAST, LEAST_HIGH = 0.55, 0.48
SIDES: tuple[str, ...] = ("Pinned", "Now")
NUMBERS = {"parameters": "Parameters", "flops": "FLOPs", "bytes": "Bytes made"}


class ScaledDrawing(NamedTuple):
    """A drawing, its width and height, and the titles of its collapsed blocks."""

    svg: str
    size: tuple[float, float]
    collapsed_titles: frozenset[str]


def amount(number: int) -> str:
    return f"{number:,}" if number < 100_000 else markup.amount(number)


def change(before: int, after: int) -> str:
    """Returns the difference and the ratio of two numbers; empty if they are equal.

    >>> change(2, 6)
    ' <span class="muted">+4 <span class="times">× 3</span></span>'
    >>> change(0, 3), change(3, 0), change(5, 5)
    (' <span class="muted">+3</span>', ' <span class="muted">−3</span>', '')
    """
    if before == after:
        return ""
    sign = "+" if after > before else "−"
    ratio = markup.digits(after / before) if before and after else ""
    times = f' <span class="times">× {ratio}</span>' if ratio else ""
    return f' <span class="muted">{sign}{amount(abs(after - before))}{times}</span>'


# --- diagrams -------------------------------------------------------------------------------------


def diagrams(one: Scene, two: Scene, found: CircuitMatch) -> str:
    """Returns both diagrams at one scale; wires of changed sizes and unmatched ops are marked."""
    drawn = _folded_alike(one, two)
    lone = [{cell.id for cell in cells} for cells in found.alone]
    ids: tuple[Callable[[str], str | None], ...] = (found.ids.get, lambda id: id)
    wide, high = (max(own.size[i] for own in drawn) for i in (0, 1))
    titles = SIDES
    if one.entry.key != two.entry.key:
        pairs = zip(SIDES, (one, two), strict=True)
        titles = tuple(f"{side}: {markup.text(scene.entry.title)}" for side, scene in pairs)
    sections = "".join(
        f'<section style="--wide:{own.size[0]:.0f}"><h2>{title}</h2><div class="drawing">'
        f"{with_difference_marks(own.svg, found.axes, alone, named)}</div></section>"
        for title, own, alone, named in zip(titles, drawn, lone, ids, strict=True)
    )
    least = LEAST_HIGH if 2 * high > wide else LEAST
    style = f"--least:{least};--room:{least * wide:.0f}px;--widest:{wide:.0f};--highest:{high:.0f}"
    return f'<div class="two" style="{style}">{sections}</div>{_alone(one, two, found)}'


def _folded_alike(one: Scene, two: Scene) -> list[ScaledDrawing]:
    """Returns both drawings with the same blocks collapsed."""
    drawn = [_scaled_drawing(scene, None) for scene in (one, two)]
    shut = drawn[0].collapsed_titles | drawn[1].collapsed_titles
    if drawn[0].collapsed_titles == drawn[1].collapsed_titles or "" in shut:
        return drawn
    return [
        _scaled_drawing(scene, shut & {fence.title.strip() for fence in scene.circuit.fences})
        for scene in (one, two)
    ]


def _scaled_drawing(scene: Scene, shut: frozenset[str] | None) -> ScaledDrawing:
    """Returns a drawing with sizes and these blocks collapsed; by default, the large ones."""

    def make() -> ScaledDrawing:
        folded = "auto" if shut is None else shut
        look = {**scene.draw_options, "labels": "both", "thumbnails": {}}
        drawing = draw(scene.term, **look, folded=folded)
        titles = {fence.id: fence.title.strip() for fence in scene.circuit.fences}
        boxes = (g.node for g in drawing.glyphs if selection.BLOCK.fullmatch(g.node))
        box = drawing.box
        return ScaledDrawing(
            drawing.svg(fonts=False),
            (box.x1 - box.x0, box.y1 - box.y0),
            frozenset(titles.get(id, "") for id in boxes),
        )

    what = (
        scene.entry.key,
        scene.dark,
        scene.show_callouts,
        scene.column_width,
        shut,
        scene.formats,
    )
    return cached_value("compared", scene.term, *what, make=make)


def _alone(one: Scene, two: Scene, found: CircuitMatch) -> str:
    """Returns a legend of the marks."""
    sentences = [
        f"Only {side.lower()}: {_named_cells(cells)}."
        for side, cells in zip(SIDES, found.alone, strict=True)
        if cells
    ]
    if found.axes:
        every = (*two.circuit.axes, *one.circuit.axes)
        axes = {axis.display_name: axis for axis in every if axis.name in found.axes}
        names = [markup.axis(axis) for axis in axes.values()]
        sentences.insert(0, f"Wires of another size: {_shortened_list(names)}.")
    return f'<p class="muted">{" ".join(sentences)}</p>' if sentences else ""


def _named_cells(cells: Iterable[Cell]) -> str:
    names = dict.fromkeys(cell.path if cell.name else cell.op.display_name for cell in cells)
    return _shortened_list([markup.text(name) for name in names])


def _shortened_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return ", ".join(names[:MAX_NAMES]) + more


# --- tables ---------------------------------------------------------------------------------------


def shapes(one: Scene, two: Scene, found: CircuitMatch) -> str:
    """Returns every op with its input and output sizes in both scenes."""
    head = ("Step", *SIDES, "Numbers that leave")
    return markup.table(head, (_shape_row(row, two) for row in found.rows), numbers=(3,))


def _shape_row(row: Row, scene: Scene) -> str:
    first, second = row
    before, after = (sum(v.array.numel for v in cell.outputs) if cell else 0 for cell in row)
    count = f"{amount(after)}{change(before, after)}" if second else "–"
    return (
        f"<tr{_row_attributes(row)}><td>{_step(row, scene)}</td>"
        f"<td>{_sizes_html(first, second)}</td>"
        f'<td>{_sizes_html(second, first)}</td><td class="number">{count}</td></tr>'
    )


def _row_attributes(row: Row) -> str:
    """Returns the attributes of a row: its highlight, or that only one side has it."""
    own = row[1]
    alone = "" if all(row) else ' class="alone"'
    return f'{alone} data-node="{own.id}" data-select="{own.id}" tabindex="0"' if own else alone


def _step(row: Row, scene: Scene) -> str:
    cell = row[1] or row[0]
    assert cell is not None
    return markup.role(cell.op.role, scene.dark) + markup.text(cell.op.display_name)


def _sizes_html(cell: Cell | None, other: Cell | None) -> str:
    if cell is None:
        return "–"
    ins, outs = (other.inputs, other.outputs) if other else ((), ())
    return f"{_arrays(cell.inputs, ins)} → {_arrays(cell.outputs, outs)}"


def _arrays(own: tuple[Value, ...], theirs: tuple[Value, ...]) -> str:
    others: list[Array | None] = [value.array for value in theirs]
    others += [None] * (len(own) - len(others))
    return markup.array_list(_array(v.array, o) for v, o in zip(own, others, strict=False))


def _array(array: Array, other: Array | None) -> str:
    """Returns an array's axes with sizes; those that differ from the other's are underlined."""
    alike = equal_sizes(array, other) if other is not None else [True] * len(array)
    sizes = (
        f"{markup.axis(axis)} {size if equal else f'<mark>{size}</mark>'}"
        for axis, equal in zip(array, alike, strict=True)
        for size in (markup.text(axis.size_text),)
    )
    return " ".join(sizes) or "1"


def cost(one: Scene, two: Scene, found: CircuitMatch) -> str:
    """Returns parameters, FLOPs and bytes of every op in both scenes."""
    own, theirs = ({op.node: op for op in scene.cost.ops} for scene in (one, two))
    rows = "".join(_cost_row(row, two, own, theirs) for row in found.rows)
    titles = "".join(f'<th scope="colgroup" colspan="3">{name}</th>' for name in NUMBERS.values())
    names = zip(("pinned", "now", "more or less"), (" first", "", ""), strict=True)
    heads = "".join(f'<th scope="col" class="number{own}">{name}</th>' for name, own in names)
    totals = _numbers(*({name: getattr(s.cost, name) for name in NUMBERS} for s in (one, two)))
    return (
        f'<div class="scroll"><table><thead><tr><td></td>{titles}</tr><tr><th scope="col">Op</th>'
        f"{heads * len(NUMBERS)}</tr></thead><tbody>{rows}</tbody>"
        f"<tfoot><tr><td>Total</td>{totals}</tr></tfoot></table></div>"
    )


def _cost_row(
    row: Row, scene: Scene, own: Mapping[str, OpCost], theirs: Mapping[str, OpCost]
) -> str:
    pairs = zip(row, (own, theirs), strict=True)
    sides = [{n: getattr(ops[c.id], n) for n in NUMBERS} if c else {} for c, ops in pairs]
    return f"<tr{_row_attributes(row)}><td>{_step(row, scene)}</td>{_numbers(*sides)}</tr>"


def _numbers(one: Mapping[str, int], two: Mapping[str, int]) -> str:
    """Returns three table cells for each number: before, after, change."""
    cells = []
    for name in NUMBERS:
        before, after = one.get(name), two.get(name)
        texts = ("–" if n is None else amount(n) for n in (before, after))
        cells += [*texts, change(before or 0, after or 0).strip()]
    return "".join(
        f'<td class="number{"" if i % 3 else " first"}">{text}</td>' for i, text in enumerate(cells)
    )
