"""Numbers in memory, the order of reading, and a puzzle about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place
from ncd.site import markup
from ncd.systems.tensors.memory_layout import AXES, ORDERS

# --- The In memory panel: numbers in memory, and the order in which they are read

READ = Place("read")  # of the selected number in the reading order
MAX_NUMBERS = 256  # the greatest number of values that are drawn
CELL, ROW, GAP, EDGE, TOP = 42, 32, 16, 46, 22  # pixels
BEND = 0.18  # the bend of an arc, as a share of its length
HALO = (
    'fill="currentColor" paint-order="stroke" stroke="var(--st-background-color)" stroke-width="5"'
)
HEAD = ("Array", "Axes", "Sizes", "Strides", "In memory")


@dataclass(frozen=True)
class MemoryReading:
    """An array on ``AXES`` with these sizes, permuted to ``order`` and read as a table.

    ``places`` are memory positions in reading order; empty if there are too many to show.
    ``strides`` are those of the array, of the permuted array, and of the table; ``is_copy`` says
    whether the table is a copy.
    """

    sizes: tuple[int, ...]
    order: tuple[str, ...]
    places: tuple[int, ...]
    strides: tuple[tuple[int, ...], ...]
    is_copy: bool

    @property
    def table(self) -> tuple[int, int]:
        """The rows and columns of the table."""
        first, second, third, fourth = (self.sizes[AXES.index(name)] for name in self.order)
        return first * second, third * fourth

    def index(self, place: int) -> dict[str, int]:
        """Returns the index in the array of a memory position."""
        found = {}
        for name, size in reversed(tuple(zip(AXES, self.sizes, strict=True))):
            place, found[name] = divmod(place, size)
        return {name: found[name] for name in self.order}


def show_memory_order(scene: Scene) -> None:
    """Shows the array with the reading path, the table, the line in memory, and the strides."""
    found = memory_reading(scene)
    if not found.places:
        count = f"{prod(found.sizes):,}"
        limit = f"{count} numbers: they are drawn up to {MAX_NUMBERS}."
        told = f"<p>{limit} The strides are as always.</p>"
        html_panel.render(told + _strides(found), "in memory")
        return
    at = READ.among(len(found.places))
    slider = READ.html(f"read: number {at}", len(found.places), at)
    both = (
        '<div style="display:flex;flex-wrap:wrap;gap:0.6rem 2.4rem;align-items:center">'
        f'<div class="cells">{_array(found, at)}</div>'
        f'<div class="cells">{table(found, at)}</div></div>'
    )
    parts = (slider, both, _number_html(found, at), _line(found, at), _strides(found))
    html_panel.render("".join(parts), "in memory", MEMORY_ORDER.controls)


MEMORY_ORDER = Panel("In memory", show_memory_order, controls=(READ,), follows_moves=True)


def memory_reading(scene: Scene) -> MemoryReading:
    """Returns the reading order that this system uses, for the numbers 0, 1, 2, …."""
    return cached_value(
        "memory order",
        scene.term,
        scene.device,
        make=lambda: scene.run_in_pool(lambda: _run(scene)),
    )


def _run(scene: Scene) -> MemoryReading:
    sizes, order = tuple(scene.settings[name] for name in AXES), ORDERS[scene.settings["order"]]
    places: tuple[int, ...] = ()
    if prod(sizes) <= MAX_NUMBERS:
        numbers = torch.arange(prod(sizes), dtype=torch.float32, device=scene.device)
        places = tuple(scene.module(numbers.view(sizes)).flatten().long().tolist())
    strides, copied = strides_and_copy(sizes, order)
    return MemoryReading(sizes, order, places, strides, copied)


def strides_and_copy(
    sizes: Sequence[int], order: Sequence[str]
) -> tuple[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]], bool]:
    """Returns the strides of an array, of it permuted and of the table, and whether that copies.

    >>> strides_and_copy((2, 2, 2, 2), "hbwc")
    (((8, 4, 2, 1), (2, 8, 1, 4), (4, 1)), True)
    """
    array = torch.empty(tuple(sizes), device="meta")  # has strides but no memory
    turned = array.permute(*(AXES.index(name) for name in order))
    rows = turned.shape[0] * turned.shape[1]
    table = turned.reshape(rows, -1)
    return (array.stride(), turned.stride(), table.stride()), not _views(turned, table)


def _views(turned: Tensor, table: Tensor) -> bool:
    try:
        turned.view(table.shape)
    except RuntimeError:
        return False
    return True


# --- as pictures ----------------------------------------------------------------------------------


def _centre(found: MemoryReading, place: int) -> tuple[float, float]:
    """Returns the position of a number in the picture: images in rows, channels side by side."""
    b, c, h, w = (found.index(place)[name] for name in AXES)
    high, wide = found.sizes[2:]
    x = EDGE + c * (wide * CELL + GAP) + w * CELL + CELL / 2
    return x, TOP + b * (high * ROW + GAP) + h * ROW + ROW / 2


def _array(found: MemoryReading, at: int) -> str:
    """Returns the array as SVG, with the path from the first number read to the last."""
    (b, c, h, w), places = found.sizes, found.places
    wide, tall = EDGE + c * (w * CELL + GAP), TOP + b * (h * ROW + GAP)
    cells = "".join(_memory_cell(found, n, n == places[at]) for n in range(len(places)))
    size = f'viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}"'
    words = "The array, and a line through its numbers in the order in which they are read"
    return (
        f'<svg {size} role="img" aria-label="{words}" style="max-width:100%;height:auto">'
        f"{_names(found)}{cells}{_path(found, at)}{_numbers(found, at)}</svg>"
    )


def _path(found: MemoryReading, at: int) -> str:
    """Returns arcs from each number to the next one read."""
    ends = [_centre(found, place) for place in found.places]
    lit = '<g fill="none" stroke="var(--st-primary-color)" stroke-width="{}" opacity="{}">{}</g>'
    (x, y), arcs = ends[0], list(map(_arc, ends, ends[1:]))
    start = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="9" stroke-width="2"/>'
    last = arcs[at - 1] if at else ""
    return lit.format(1.6, 0.6, start + "".join(arcs)) + lit.format(3.5, 1, last)


def _arc(start: tuple[float, float], end: tuple[float, float]) -> str:
    """Returns an arc that bends to the left, so that both directions differ."""
    (x0, y0), (x1, y1) = start, end
    x, y = (x0 + x1) / 2 + BEND * (y1 - y0), (y0 + y1) / 2 - BEND * (x1 - x0)
    return f'<path d="M{x0:.0f} {y0:.0f}Q{x:.0f} {y:.0f} {x1:.0f} {y1:.0f}"/>'


def _names(found: MemoryReading) -> str:
    """Returns the labels of images and channels."""
    (b, c, h, w), text = found.sizes, 'fill="currentColor" font-size="13" font-style="italic"'
    rows = (
        f'<text x="0" y="{TOP + i * (h * ROW + GAP) + h * ROW / 2 + 4:.0f}" {text}>b = {i}</text>'
        for i in range(b)
    )
    columns = (
        f'<text x="{EDGE + i * (w * CELL + GAP) + w * CELL / 2:.0f}" y="14" text-anchor="middle" '
        f"{text}>c = {i}</text>"
        for i in range(c)
    )
    return "".join((*rows, *columns))


def _memory_cell(found: MemoryReading, place: int, lit: bool) -> str:
    x, y = _centre(found, place)
    fill = "var(--touch)" if lit else "none"
    return (
        f'<rect x="{x - CELL / 2:.0f}" y="{y - ROW / 2:.0f}" width="{CELL}" height="{ROW}" '
        f'stroke="currentColor" stroke-opacity="0.45" style="fill:{fill}"/>'
    )


def _numbers(found: MemoryReading, at: int) -> str:
    """Returns the numbers as text above the path."""
    texts = []
    for place in range(len(found.places)):
        x, y = _centre(found, place)
        lit = place == found.places[at]
        look = 'fill="#fff"' if lit else HALO
        texts.append(
            f'<text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" font-size="14" {look}>'
            f"{place}</text>"
        )
    return "".join(texts)


def table(found: MemoryReading, at: int) -> str:
    """Returns the table as HTML; a click on a number selects it."""
    rows, columns = found.table
    body = "".join(
        f"<tr><th>{p}</th>"
        + "".join(_read(found, p * columns + q, p * columns + q == at) for q in range(columns))
        + "</tr>"
        for p in range(rows)
    )
    head = "".join(f"<th>{q}</th>" for q in range(columns))
    return (
        "<figure><figcaption>read as a table, <i>p q</i></figcaption>"
        f"<table><tr><td></td>{head}</tr>{body}</table></figure>"
    )


def _read(found: MemoryReading, n: int, lit: bool) -> str:
    touched = ' class="touch"' if lit else ""
    return (
        f'<td{touched}><button type="button" data-pick="{READ.action(n)}" '
        f'aria-pressed="{str(lit).lower()}">{found.places[n]}</button></td>'
    )


def _line(found: MemoryReading, at: int) -> str:
    """Returns the memory as a line of numbers."""
    lit = "color:#fff;background:var(--touch);"
    cells = "".join(
        f'<span style="{lit if n == found.places[at] else ""}display:inline-block;'
        "min-width:2em;text-align:center;border:1px solid var(--st-border-color);"
        f'margin:0 2px 2px 0">{n}</span>'
        for n in range(len(found.places))
    )
    return f'<div class="cells"><div>{cells}</div></div>'


# --- in words -------------------------------------------------------------------------------------


def _number_html(found: MemoryReading, at: int) -> str:
    """Returns how the address of the selected number is computed from the strides."""
    place, (p, q) = found.places[at], divmod(at, found.table[1])
    stride = dict(zip(found.order, found.strides[1], strict=True))
    index = found.index(place)
    where = ", ".join(f"<i>{name}</i> = {i}" for name, i in index.items())
    sum_ = " + ".join(f"{i}·{stride[name]}" for name, i in index.items())
    return (
        f"<p>Number {at} that is read, at <i>p</i> = {p}, <i>q</i> = {q}, is the one at {where}. "
        f"Each index times its stride: {sum_} = <b>{place}</b>, its place in memory:</p>"
    )


def _strides(found: MemoryReading) -> str:
    """Returns torch's strides of the three arrays."""
    sizes = dict(zip(AXES, found.sizes, strict=True))
    at = ", ".join(str(AXES.index(name)) for name in found.order)
    kept = "a copy in the new order: no two strides could say it"
    rows = (
        ("a", AXES, found.sizes, "as it was made: the last axis has stride 1"),
        (
            f"a.permute({at})",
            found.order,
            tuple(sizes[name] for name in found.order),
            "the same memory: only the strides have changed places",
        ),
        (
            f".reshape({', '.join(map(str, found.table))})",
            "pq",
            found.table,
            kept if found.is_copy else "the same memory: two strides can say it",
        ),
    )
    body = [
        f"<tr><td><code>{code}</code></td><td><i>{' '.join(names)}</i></td>"
        f"<td>{_number_list(shape)}</td><td>{_number_list(strides)}</td><td>{told}</td></tr>"
        for (code, names, shape, told), strides in zip(rows, found.strides, strict=True)
    ]
    note = "The numbers in the array are their places in memory; all strides are torch’s own."
    return f'{markup.table(HEAD, body)}<p class="muted">{note}</p>'


def _number_list(numbers: Sequence[int]) -> str:
    return " ".join(f"{number:,}" for number in numbers)


# --- The Puzzle panel: find the permutation that makes a table, axis by axis

PLACE = "place"  # session key, followed by a number: "place2=h" sets the third axis
ANSWER = tuple("hbwc")

Table = tuple[tuple[int, ...], ...]


def show_permutation_puzzle(scene: Scene) -> None:
    """Shows the line of code with its four choices, the resulting table, and the goal."""
    found = memory_reading(scene)
    if not found.places:
        html_panel.render(f"<p>The tables are drawn up to {MAX_NUMBERS} numbers.</p>", "puzzle")
        return
    goal, ours = wanted_order(found.sizes), rows(found.places, found.table[1])
    html = (
        "<p>The numbers are their places in memory. Which permutation makes the table "
        f"<i>b</i>? The diagram follows.</p>{_code(found)}{_puzzle_status(goal, ours)}"
        '<div style="display:flex;flex-wrap:wrap;gap:0.4rem 2.4rem;align-items:start">'
        f"{_grid('b, which is asked for', goal, ())}{_grid('what this gives', ours, goal)}</div>"
        f"{_hints(found)}"
    )
    html_panel.render(html, "puzzle", on_pick=lambda picked: _pick(found.order, picked))


PERMUTATION_PUZZLE = Panel("Puzzle", show_permutation_puzzle)


def _pick(order: tuple[str, ...], picked: str) -> None:
    """Moves an axis to a position, in exchange for the one there; a callback."""
    place, _, name = picked.partition("=")
    places = [f"{PLACE}{i}" for i in range(len(order))]
    if place in places and name in order:
        knobs.set_values({"order": ORDERS.index(swapped_order(order, places.index(place), name))})


def swapped_order(order: tuple[str, ...], place: int, name: str) -> tuple[str, ...]:
    """Returns the order after moving an axis to a position.

    >>> swapped_order(("b", "c", "h", "w"), 0, "h")
    ('h', 'c', 'b', 'w')
    """
    other = {name: order[place], order[place]: name}
    return tuple(other.get(axis, axis) for axis in order)


def rows(places: Sequence[int], columns: int) -> Table:
    """Returns numbers as rows of a given length."""
    return tuple(tuple(places[i : i + columns]) for i in range(0, len(places), columns))


def wanted_order(sizes: tuple[int, ...]) -> Table:
    """Returns the table of the notes: ``a.permute(2, 0, 3, 1)`` read as a table.

    >>> wanted_order((2, 2, 2, 2))[0]
    (0, 4, 1, 5)
    """
    b, c, h, w = sizes
    steps = (
        j * h * w + i * w + k + n * c * h * w
        for i in range(h)
        for n in range(b)
        for k in range(w)
        for j in range(c)
    )
    return rows(tuple(steps), w * c)


def _code(found: MemoryReading) -> str:
    """Returns the line of torch with a choice at each place."""
    choices = ", ".join(_choice(found.order, i) for i in range(len(found.order)))
    shape = ", ".join(map(str, found.table))
    return f'<p class="code" style="white-space:normal">a.permute({choices}).reshape({shape})</p>'


def _choice(order: tuple[str, ...], place: int) -> str:
    options = "".join(
        f'<option value="{name}"{" selected" if name == order[place] else ""}>{n} ({name})</option>'
        for n, name in enumerate(AXES)
    )
    return (
        f'<select data-set="{PLACE}{place}" aria-label="axis at place {place}" '
        f'style="font:inherit">{options}</select>'
    )


def _puzzle_status(goal: Table, ours: Table) -> str:
    """Returns a sentence about how much of the table is right."""
    count = sum(map(len, goal))
    if goal == ours:
        words = f"✓ Solved: all {count} numbers stand where they should."
    elif list(map(len, goal)) != list(map(len, ours)):
        words = f"✗ The table should have {len(goal)} rows of {len(goal[0])}."
    else:
        pairs = zip(sum(goal, ()), sum(ours, ()), strict=True)
        right = sum(one == two for one, two in pairs)
        words = f"✗ {right} of {count} numbers stand where they should."
    return f'<p role="status">{words}</p>'


def _grid(title: str, table: Table, goal: Table) -> str:
    """Returns a table with ticks on numbers that match the goal."""
    same = list(map(len, table)) == list(map(len, goal))
    body = "".join(
        f"<tr>{''.join(_puzzle_cell(n, same and n == goal[i][j]) for j, n in enumerate(row))}</tr>"
        for i, row in enumerate(table)
    )
    return (
        f'<div class="cells"><figure><figcaption>{markup.text(title)}</figcaption>'
        f"<table>{body}</table></figure></div>"
    )


def _puzzle_cell(number: int, right: bool) -> str:
    return f'<td class="way">{number} ✓</td>' if right else f"<td>{number}</td>"


def _hints(found: MemoryReading) -> str:
    """Returns a question for each axis, from the first one read."""
    sizes = dict(zip(AXES, found.sizes, strict=True))
    stride = dict(zip(AXES, found.strides[0], strict=True))
    asked = [name for name in reversed(ANSWER) if sizes[name] > 1]
    told = ("last", "last but one", "second", "first")
    places = dict(zip(reversed(ANSWER), told, strict=True))
    hints = "".join(
        f"<li>{_step(name)} <i>b</i> goes on by {stride[name]}. Which axis of a has this "
        f"stride? It stands {places[name]}.</li>"
        for name in asked
    )
    return f"<details><summary>Hints</summary><ul>{hints}</ul></details>" if hints else ""


def _step(name: str) -> str:
    return {
        "c": "From one number to the next in a row",
        "w": "Where that axis has come to its end",
        "b": "From one row to the next",
        "h": "Where that axis of the rows has come to its end",
    }[name]
