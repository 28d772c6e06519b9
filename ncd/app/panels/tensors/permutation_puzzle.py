"""The Puzzle panel: find the permutation that makes a table, axis by axis."""

from __future__ import annotations

from collections.abc import Sequence

from ncd.app.panels.tensors import memory_order
from ncd.app.panels.tensors.memory_order import Reading
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.site import markup
from ncd.systems.tensors.memory_layout import AXES, ORDERS

PLACE = "place"  # session key, followed by a number: "place2=h" sets the third axis
ANSWER = tuple("hbwc")

Table = tuple[tuple[int, ...], ...]


def show_permutation_puzzle(scene: Scene) -> None:
    """Shows the line of code with its four choices, the resulting table, and the goal."""
    found = memory_order.of(scene)
    if not found.places:
        html_panel.render(
            f"<p>The tables are drawn up to {memory_order.MOST} numbers.</p>", "puzzle"
        )
        return
    goal, ours = wanted(found.sizes), rows(found.places, found.table[1])
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
        knobs.set_values({"order": ORDERS.index(exchanged(order, places.index(place), name))})


def exchanged(order: tuple[str, ...], place: int, name: str) -> tuple[str, ...]:
    """Returns the order after moving an axis to a position.

    >>> exchanged(("b", "c", "h", "w"), 0, "h")
    ('h', 'c', 'b', 'w')
    """
    other = {name: order[place], order[place]: name}
    return tuple(other.get(axis, axis) for axis in order)


def rows(places: Sequence[int], columns: int) -> Table:
    """Returns numbers as rows of a given length."""
    return tuple(tuple(places[i : i + columns]) for i in range(0, len(places), columns))


def wanted(sizes: tuple[int, ...]) -> Table:
    """Returns the table of the notes: ``a.permute(2, 0, 3, 1)`` read as a table.

    >>> wanted((2, 2, 2, 2))[0]
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


def _code(found: Reading) -> str:
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
        f"<tr>{''.join(_cell(n, same and n == goal[i][j]) for j, n in enumerate(row))}</tr>"
        for i, row in enumerate(table)
    )
    return (
        f'<div class="cells"><figure><figcaption>{markup.text(title)}</figcaption>'
        f"<table>{body}</table></figure></div>"
    )


def _cell(number: int, right: bool) -> str:
    return f'<td class="way">{number} ✓</td>' if right else f"<td>{number}</td>"


def _hints(found: Reading) -> str:
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
