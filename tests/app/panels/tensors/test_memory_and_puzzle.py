"""Numbers in memory, the puzzle of their order, and patches: what is drawn and said, by torch."""

from __future__ import annotations

import itertools
import re

import pytest
import torch

from ncd.app.panels.tensors import memory_order
from ncd.app.panels.tensors.memory_order import (
    CELL,
    EDGE,
    GAP,
    MEMORY_ORDER,
    PERMUTATION_PUZZLE,
    ROW,
    TOP,
    _pick,
    wanted_order,
)
from ncd.app.panels.tensors.patch_raster import PATCH_RASTER
from ncd.app.state import knobs
from ncd.systems.tensors.memory_layout import ORDERS
from tests.app.panels.views import inside, scene, shown, tags, text

SIZES = {"b": 2, "c": 3, "h": 2, "w": 2}


def order(name: str) -> int:
    return ORDERS.index(tuple(name))


@pytest.mark.parametrize(("name", "at"), [("bchw", 0), ("hbwc", 13), ("chwb", 23)])
def test_a_number_is_read_at_the_sum_of_its_strides(name: str, at: int) -> None:
    told = shown(MEMORY_ORDER, scene("memory-order", **SIZES, order=order(name)), read=at)
    numbers = torch.arange(24).view(2, 3, 2, 2)
    turned = numbers.permute(*("bchw".index(axis) for axis in name))
    table = turned.reshape(turned.shape[0] * turned.shape[1], -1)
    place = int(table.flatten()[at])
    assert told.sliders == {"read": (0, at, 23)}
    p, q = divmod(at, table.shape[1])
    assert f"Number {at} that is read, at p = {p}, q = {q}, is the one at" in told.text
    index = dict(zip(name, torch.unravel_index(torch.tensor(at), turned.shape), strict=True))
    sums = " + ".join(
        f"{int(index[axis])}·{stride}" for axis, stride in zip(name, turned.stride(), strict=True)
    )
    assert f"Each index times its stride: {sums} = {place}, its place in memory" in told.text
    rows = told.rows
    figure = [row[1:] for row in rows[1 : 1 + len(table)]]
    assert figure == [list(map(str, row)) for row in table.tolist()]
    pressed = [own["aria-pressed"] == "true" for own in tags(told.html, "button")]
    assert [n for n, on in enumerate(pressed) if on] == [at]
    strides = [row[3] for row in rows[-3:]]
    wanted = (numbers.stride(), turned.stride(), table.stride())
    assert strides == [" ".join(map(str, own)) for own in wanted]
    copied = table.data_ptr() != turned.data_ptr()
    assert ("a copy in the new order" in rows[-1][-1]) == copied
    line = list(re.findall(r'<span style="([^"]*)">(\d+)</span>', told.html))
    assert [int(n) for _, n in line] == list(range(24))
    assert [int(n) for style, n in line if "var(--touch)" in style] == [place]


def test_the_path_goes_through_the_numbers_in_their_order() -> None:
    told = shown(MEMORY_ORDER, scene("memory-order", **SIZES, order=order("hbwc")), read=5)
    found = memory_order.memory_reading(scene("memory-order", **SIZES, order=order("hbwc")))
    centres = [memory_order._centre(found, place) for place in found.places]
    arcs = [re.findall(r"-?\d+", own["d"]) for own in tags(told.html, "path")]
    ends = [tuple(map(int, (*own[:2], *own[-2:]))) for own in arcs]
    wanted = [tuple(round(n) for n in (*one, *two)) for one, two in itertools.pairwise(centres)]
    assert ends == [*wanted, wanted[4]]  # the last is the way to the chosen number
    (start,) = tags(told.html, "circle")
    assert (int(start["cx"]), int(start["cy"])) == tuple(map(round, centres[0]))
    first = shown(MEMORY_ORDER, scene("memory-order", **SIZES, order=order("hbwc")), read=0)
    assert len(tags(first.html, "path")) == len(wanted)
    boxes = [
        tuple(int(own[key]) for key in ("x", "y", "width", "height"))
        for own in tags(told.html, "rect")
    ]
    assert len(boxes) == 24 and {box[2:] for box in boxes} == {(CELL, ROW)}
    apart = {
        abs(a[0] - b[0]) >= CELL or abs(a[1] - b[1]) >= ROW
        for n, a in enumerate(boxes)
        for b in boxes[:n]
    }
    assert apart == {True}
    (frame,) = tags(told.html, "svg")
    wide, tall = int(frame["width"]), int(frame["height"])
    assert (wide, tall) == (EDGE + 3 * (2 * CELL + GAP), TOP + 2 * (2 * ROW + GAP))
    assert frame["viewBox"] == f"0 0 {wide} {tall}"
    assert all(0 <= x <= wide - CELL and 0 <= y <= tall - ROW for x, y, _, _ in boxes)
    lit = [own for own in tags(told.html, "rect") if "touch" in own["style"]]
    assert (int(lit[0]["x"]) + CELL // 2, len(lit)) == (round(centres[5][0]), 1)


def test_labels_stand_at_their_images_channels_and_numbers() -> None:
    here = scene("memory-order", **SIZES, order=order("bchw"))
    told, found = shown(MEMORY_ORDER, here, read=3), memory_order.memory_reading(here)
    places = [
        (text(words), float(own["x"]), float(own["y"]))
        for own, words in zip(tags(told.html, "text"), inside(told.html, "text"), strict=True)
    ]
    centre = dict(enumerate(memory_order._centre(found, n) for n in range(24)))
    for i in range(2):
        ys = [centre[12 * i + n][1] for n in range(12)]
        assert places[i] == (f"b = {i}", 0, pytest.approx((min(ys) + max(ys)) / 2 + 4, abs=0.6))
    for i in range(3):
        xs = [centre[4 * i + n][0] for n in range(4)]
        assert places[2 + i] == (f"c = {i}", pytest.approx((min(xs) + max(xs)) / 2, abs=0.6), 14)
    for n, (words, x, y) in enumerate(places[5:]):
        assert words == str(n) and (x, y) == (centre[n][0], centre[n][1] + 5)
    white = [
        words
        for own, words in zip(tags(told.html, "text"), places, strict=True)
        if own["fill"] == "#fff"
    ]
    assert [words for words, _, _ in white] == ["3"]


@pytest.mark.parametrize(("c", "drawn"), [(16, True), (17, False)])
def test_many_numbers_have_their_strides_alone(c: int, drawn: bool) -> None:
    here = scene("memory-order", b=4, c=c, h=2, w=2)
    assert ("<svg" in shown(MEMORY_ORDER, here).html) == drawn
    assert ("272 numbers: they are drawn up to 256." in shown(MEMORY_ORDER, here).text) != drawn
    puzzle = shown(PERMUTATION_PUZZLE, here).text
    assert ("The tables are drawn up to 256 numbers." in puzzle) != drawn


# --- the puzzle -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sizes", "said"),
    [
        ("hbwc", (2, 3, 2, 2), "✓ Solved: all 24 numbers stand where they should."),
        ("hbcw", (2, 2, 2, 2), "✗ 8 of 16 numbers stand where they should."),
        ("hcbw", (2, 3, 2, 2), "✗ The table should have 4 rows of 6."),
    ],
)
def test_the_table_that_is_asked_for_is_that_of_torch(
    name: str, sizes: tuple[int, ...], said: str
) -> None:
    knobs = dict(zip("bchw", sizes, strict=True))
    told = shown(PERMUTATION_PUZZLE, scene("memory-order", **knobs, order=order(name)))
    numbers = torch.arange(torch.tensor(sizes).prod()).view(sizes)
    goal = numbers.permute(2, 0, 3, 1).reshape(sizes[2] * sizes[0], -1).tolist()
    ours = numbers.permute(*("bchw".index(axis) for axis in name))
    ours = ours.reshape(ours.shape[0] * ours.shape[1], -1).tolist()
    assert [list(row) for row in wanted_order(sizes)] == goal
    assert said in told.text
    rows = told.rows
    assert rows[: len(goal)] == [list(map(str, row)) for row in goal]
    alike = len(goal) == len(ours)
    ticks = [
        [f"{n}{' ✓' if alike and n == goal[i][j] else ''}" for j, n in enumerate(row)]
        for i, row in enumerate(ours)
    ]
    assert rows[len(goal) :] == ticks
    chosen = [
        own["value"]
        for own in tags(told.html.replace(" selected", ' selected=""'), "option")
        if "selected" in own
    ]
    assert chosen == list(name)
    shape = f".reshape({len(ours)}, {len(ours[0])})"
    assert shape in told.text


def test_hints_ask_for_strides_of_axes_longer_than_1() -> None:
    told = shown(PERMUTATION_PUZZLE, scene("memory-order", b=2, c=3, h=2, w=1))
    hints = [text(own) for own in inside(told.html, "li")]
    strides = [n for own in hints for n in re.findall(r"goes on by (\d+)\.", own)]
    assert strides == ["2", "6", "1"]  # c, b and h, of which w lies inside
    places = [own.rpartition("It stands ")[2] for own in hints]
    assert places == ["last.", "second.", "first."]
    assert "Hints" not in shown(PERMUTATION_PUZZLE, scene("memory-order", b=1, c=1, h=1, w=1)).text


@pytest.mark.parametrize(
    ("picked", "put"),
    [("place0=c", "cbhw"), ("place3=w", "bchw"), ("place4=w", None), ("place0=x", None)],
)
def test_an_axis_changes_places_with_the_one_there(
    picked: str, put: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    _pick(tuple("bchw"), picked)
    assert sent == ([{"order": order(put)}] if put else [])


def test_a_cut_is_shown_with_its_code_and_count() -> None:
    told = shown(PATCH_RASTER, scene("memory-order"))
    assert "✓ 16 of 16 patches are squares" in told.text or "✓ 64 of 64" in told.text
    assert "data-node" not in told.html.partition('class="drawing"')[2]
    assert told.html.count("<img") == 2
