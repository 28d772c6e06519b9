"""Cells that are lit, pairs of indexes, and ways to apply an operation to every row."""

from __future__ import annotations

import re
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from ncd.app.panels.tensors import cells, equation_sides, three_ways
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.tensors.equation_sides import INDEX_PAIRS
from ncd.app.panels.tensors.three_ways import (
    LONGEST,
    LOOP,
    OWN,
    POINTWISE,
    THREE_WAYS,
    VMAP,
    BatchedRuns,
    ways,
)
from ncd.app.state import knobs
from ncd.site import markup
from tests.app.panels.views import bars, inside, scene, shown, tags, text


def number(x: float) -> str:
    return f"{x:.2f}".replace("-", "−")


# --- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [0, 2])
def test_a_table_has_the_numbers_and_lights_what_is_used(at: int) -> None:
    here = scene("indexes", a=4, b=3, i=at)
    told = shown(CELLS, here)
    (table,) = here.inputs
    first, *_ = inside(told.html, "table")
    rows = [re.findall(r"<td([^>]*)>([^<]*)</td>", row) for row in inside(first, "tr")]
    numbers = [[words for _, words in row if words] for row in rows][1:]
    assert numbers == [[number(x) for x in row] for row in table.tolist()]
    lit = [["touch" in kind for kind, words in row if words] for row in rows][1:]
    assert lit == [[i == at] * 3 for i in range(4)]
    heads = inside(first, "th")
    assert heads[:3] == ["0", "1", "2"]  # columns have no index here
    buttons = tags("".join(heads[3:]), "button")
    assert [own["data-pick"] for own in buttons] == [f"i={n}" for n in range(4)]
    assert [own["aria-pressed"] for own in buttons] == [str(n == at).lower() for n in range(4)]
    assert told.sliders == {"i": (0, at, 3)}
    assert "Blue is what the last numbers are made from." in told.text
    kinds = [own["class"] for own in tags(told.html, "span") if "data-select" in own]
    assert kinds == ["op index" if c.op.role == "index" else "op" for c in here.circuit.cells]


def test_sides_of_an_equation_stand_in_lines_with_its_sign() -> None:
    told = shown(CELLS, scene("subtensors", a=3, b=4, i=1, j=2))
    signs = [own["data-sign"] for own in tags(told.html, "div") if "data-sign" in own]
    assert signs == ["", "=", "="]
    assert told.sliders == {"i": (0, 1, 2), "j": (0, 2, 3)}
    lines = told.html.split('<div class="line"')[1:]
    kinds = [re.findall('<div class="(state|step)"', line) for line in lines]
    assert all(
        own[0] == own[-1] == "state" and own[1::2] == ["step"] * (len(own) // 2) for own in kinds
    )


def test_a_system_without_an_index_lights_nothing() -> None:
    told = shown(CELLS, scene("tensors"))
    assert "touch" not in told.html and "Blue is" not in told.text
    captions = [text(own) for own in inside(told.html, "figcaption")]
    assert captions == ["a", "b c", "d", "a", "p q", "r s"]


def test_of_three_axes_two_are_shown_at_a_place_of_the_first() -> None:
    here = scene("multi-head-attention", y=2, x=2, h=2)
    told = shown(CELLS, here)
    captions = [text(own) for own in inside(told.html, "figcaption")]
    at = captions.index("y k h at y = 1")
    (array,) = (
        v
        for v in here.circuit.values.values()
        if v.id == tags(told.html, "figure")[at]["data-array"]
    )
    values = here.trace.values[array.id][1]
    rows = inside(inside(told.html, "table")[at], "tr")[1:]
    assert [re.findall(r"<td[^>]*>([^<]*)</td>", row)[:2] for row in rows][:2] == [
        [number(float(x)) for x in row] for row in values[:2].tolist()
    ]


@pytest.mark.parametrize(
    ("size", "at", "places"),
    [
        (10, None, [*range(10)]),
        (11, None, [*range(9), None]),
        (11, 10, [None, *range(3, 11)]),
        (11, 4, [*range(9), None]),
        (11, 6, [None, *range(2, 10), None]),
        (20, 19, [None, *range(12, 20)]),
    ],
)
def test_of_many_places_those_around_the_index_are_shown(
    size: int, at: int | None, places: list[int | None]
) -> None:
    found = cells._slots(size, at)
    assert found == places
    assert at is None or at in found
    assert len(found) <= cells.MAX_CELLS


def test_whole_numbers_have_no_digits_behind_a_point() -> None:
    assert cells._figure(torch.tensor(-3)) == "−3"
    assert cells._figure(torch.tensor(-0.256)) == "−0.26"


@pytest.mark.parametrize(("picked", "put"), [("i=2", {"i": 2}), ("a=2", None), ("j=0", None)])
def test_a_click_sets_an_index_alone(
    picked: str, put: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    cells._pick(scene("indexes", a=4, b=3, i=1), picked)
    assert sent == ([put] if put else [])


# --- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("a", "b"), [(3, 4), (12, 12), (29, 5)])
def test_pairs_are_marked_where_all_sides_agree(a: int, b: int) -> None:
    here = scene("subtensors", a=a, b=b, i=1, j=2)
    told = shown(INDEX_PAIRS, here)
    shown_ = min(a * b, 144)
    more = f", the first of {a * b:,}" if a * b > 144 else ""
    assert (
        f"✓ All three sides give the same number for {shown_} of {shown_} pairs{more}." in told.text
    )
    (table,) = here.inputs
    row = told.rows[1]
    assert row == ["0", *(f"{number(float(x))} ✓" for x in table[0])]
    kinds = {
        own: kind
        for kind, own in re.findall(
            r'<td([^>]*)><button type="button" data-pick="([^"]*)"', told.html
        )
    }
    for i, j in product(range(min(a, 144 // b)), range(b)):
        wanted = ("", ' class="way"', ' class="touch"')[(i == 1) + (j == 2)]
        assert kinds[f"i={i} j={j}"] == wanted


def test_a_pair_on_which_sides_differ_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {(i, j): (i, j) != (1, 0) for i, j in product(range(2), range(3))}
    monkeypatch.setattr(equation_sides, "cached_value", lambda *key, make: found)
    told = shown(INDEX_PAIRS, scene("subtensors", a=2, b=3, i=0, j=0))
    assert "✗ All three sides give the same number for 5 of 6 pairs." in told.text
    assert told.rows[2][1].endswith("✗") and told.rows[1][1].endswith("✓")


@pytest.mark.parametrize(
    ("picked", "put"),
    [("i=1 j=2", {"i": 1, "j": 2}), ("i=1", None), ("i=1 j=x", None), ("i=1 j=2 k=3", None)],
)
def test_a_click_sets_both_indexes(
    picked: str, put: dict[str, int] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    equation_sides._on_pair_action(picked)
    assert sent == ([put] if put else [])


# --- ways -----------------------------------------------------------------------------------------


def test_ways_are_told_with_their_times() -> None:
    found = BatchedRuns(
        {4: {LOOP: 2e-3, VMAP: 1e-3, OWN: 1e-3}, 300: {LOOP: 8e-3, VMAP: 2e-3, OWN: 1e-3}},
        {LOOP: 0.0, VMAP: 9e-6, OWN: 0.0},
    )
    told = text(three_ways._ways_summary(found))
    assert told == (
        "✓ All three give the same as the diagram. On 300 rows the loop takes about 8 times as "
        "long as torch’s own rules."
    )
    far = BatchedRuns(
        found.seconds | {300: {LOOP: None, VMAP: 1.0, OWN: 1.0}}, {LOOP: None, OWN: 1e-5, VMAP: 0.0}
    )
    assert (
        text(three_ways._ways_summary(far))
        == "✗ Those that were run do not give the same as the diagram."
    )
    lift = three_ways.LIFTS["broadcasting"]
    html = three_ways._table(found, lift, scene("broadcasting"))
    rows = [[text(own) for own in inside(row, "td")] for row in inside(html, "tr")][1:]
    assert [row[1:] for row in rows] == [
        ["2 ms", "8 ms", "0"],
        ["1 ms", "2 ms", markup.digits(9e-6)],
        ["1 ms", "1 ms", "0"],
    ]
    heads = [text(own) for own in inside(html, "th")]
    assert heads == ["Way", "4 rows", "300 rows", "Off by"]
    assert all(row[0].startswith(way) for row, way in zip(rows, (LOOP, VMAP, OWN), strict=True))
    lengths = bars(html)
    assert lengths == pytest.approx([1, 1, 0.5, 0.25, 0.5, 0.125], abs=0.01)
    slow = three_ways._table(far, lift, scene("broadcasting"))
    assert "too long to wait" in slow and "–</td>" in slow


@pytest.mark.parametrize(
    ("name", "rows", "short"),
    [
        ("broadcasting", LONGEST, True),
        ("broadcasting", LONGEST + 1, False),
        ("elementwise", LONGEST // 5, True),
        ("elementwise", LONGEST // 5 + 1, False),
    ],
)
def test_a_loop_may_have_so_many_steps(name: str, rows: int, short: bool) -> None:
    here = SimpleNamespace(settings={"a": 5}, entry=SimpleNamespace(name=name))
    assert three_ways._steps(LOOP, here, rows) == short
    assert three_ways._steps(VMAP, here, rows)


@pytest.mark.parametrize("name", [*three_ways.LIFTS])
@pytest.mark.parametrize("spare", [0, -1])
def test_all_ways_are_run_on_the_rows_and_on_many_that_fit(
    name: str, spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, seen = scene(name), []

    def medians(calls: dict[str, Any], *, warm: int, **_: object) -> dict[str, float]:
        assert warm == 0
        results = [call() for call in calls.values()]
        assert all(torch.allclose(one, results[0], atol=1e-5) for one in results)
        seen.append(len(results[0]))
        return dict.fromkeys(calls, 0.5)

    lift, c = three_ways.LIFTS[name], here.settings["c"]
    term = lift.broadcast_term(c=c, **{axis: here.settings[axis] for axis in lift.takes})
    row, many = (term.dom[0].numel + term.cod[0].numel) // c, 3 * c
    monkeypatch.setattr(three_ways, "medians", medians)
    monkeypatch.setattr(three_ways, "MANY_ROWS", many)
    monkeypatch.setattr(three_ways, "LARGEST", many * row + spare)
    found = three_ways.measure_ways(here, lift)
    assert seen == [c, many][: 2 + spare] == [*found.seconds]
    assert all(times == dict.fromkeys((LOOP, VMAP, OWN), 0.5) for times in found.seconds.values())
    assert found.differences.keys() == {LOOP, VMAP, OWN}
    assert max(apart or 0 for apart in found.differences.values()) < 1e-5


def test_rows_are_repeated_from_the_table() -> None:
    table = torch.arange(6.0).view(3, 2)
    assert torch.equal(three_ways._rows(table, 7), table[[0, 1, 2, 0, 1, 2, 0]])


def test_a_figure_is_framed_where_it_shows_an_operation_on_a_value() -> None:
    told = shown(THREE_WAYS, scene("elementwise"))
    titles = "".join(inside(told.html, "title")).replace("$", "")
    assert "Element-wise" in titles and "Operation on a Value" in titles
    plain = shown(THREE_WAYS, scene("broadcasting"))
    assert "Operation on a Value" not in plain.html


# --- a convolution of one place -------------------------------------------------------------------


@pytest.mark.parametrize(("m", "t"), [(3, 5), (9, 10)])
def test_a_convolution_of_one_place_is_a_linear_map(m: int, t: int) -> None:
    here = scene("pointwise-feed-forward", m=m, t=t)
    found = ways(here)
    assert found.outputs < 1e-5 and found.gradients < 1e-4
    told, n = shown(POINTWISE, here), min(m, 8)
    x = here.inputs[0]
    rows = [row for row in told.rows if len(row) == 2 * n + 2][1:]
    assert len(rows) == min(t, 8)
    for i, row in enumerate(rows):
        total = float(x[i].sum())
        doubled = [total, 2 * total, *[total] * (n - 2)]
        given = [float(one) for one in x[i, :n]]
        assert row == [str(i), *map(number, (*given, total, *doubled))]
    head = ["t", "x", *[""] * (n - 1), "sum", "out", *[""] * (n - 1)]
    assert [row for row in told.rows if row[:1] == ["t"]] == [head]
    assert (f"The first {n} features." in told.text) == (m > 8)
