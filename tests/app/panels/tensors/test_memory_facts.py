"""What moves: formulas, drawing, charts and verdicts against the loop; labels of the roofline."""

from __future__ import annotations

import re
from math import exp, log10, sqrt

import pytest
import torch

import ncd
from ncd.app.panels.tensors.memory_bound import (
    LABEL_ROOM_FACTOR,
    MACHINES,
    REACH,
    REWRITE_TEXTS,
    TILE_WALK,
    RooflinePoint,
    RunningRow,
    Walk,
    WhatMoves,
    _tiles,
    _unfused_sentence,
    labels,
    machines,
    ridge,
    roofline,
    walk_tiles,
    what_moves,
)
from ncd.site import markup
from tests.app.panels.views import inside, scene, shown, tags, text

PRODUCT = WhatMoves(("a", "c"), "b", around=True, product=True)


@pytest.mark.parametrize(("fast", "fits"), [(18, True), (8, False)])
def test_a_loop_that_does_not_fit_is_refused_with_tiles_that_do(fast: int, fits: bool) -> None:
    here = scene("matrix-product", a=64, b=64, c=64)
    told = shown(
        what_moves(("a", "c"), "b", around=True, product=True),
        here,
        group_of=3,
        tile_of=2,
        fast_memory=fast,
    )
    loop = ncd.stream(here.term, {"a": 8, "c": 8}, ("b", 4), around=True)
    assert told.sliders == {
        "group_of": (0, 3, 7),
        "tile_of": (0, 2, 9),
        "fast_memory": (8, fast, 18),
    }
    if fits:
        moved, need = (markup.amount(n, "B") for n in (loop.bytes_moved, loop.fast_bytes))
        assert f"One loop moves {moved} and needs {need} of fast memory." in told.text
    else:
        assert "Refused. The loop needs" in told.text and loop.fast_bytes > 256
        assert "g_" not in told.text and "<i>g</i><sub>a</sub>" in told.html
        (cure,) = (own["data-pick"] for own in tags(told.html, "button"))
        group, tile = map(int, cure.removeprefix("fitting=").split("-"))
        again = ncd.stream(
            here.term, {"a": 1 << group, "c": 1 << group}, ("b", 1 << tile), around=True
        )
        assert again.fast_bytes <= 256
        session: dict[str, str] = {}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("streamlit.session_state", session)
            assert told.pick is not None
            told.pick(cure)
            told.pick("else=1-1")
        assert session == {"group_of": str(group), "tile_of": str(tile)}
    machine = told.rows[-len(machines()) :]
    now = loop.flops / loop.bytes_moved
    assert [row[2] for row in machine] == [
        "memory" if now < ridge(own, 32) else "arithmetic" for own in machines()
    ]
    assert f"The loop does {markup.digits(now)} operations for each byte" in told.text
    curve, roofs = told.charts
    (one, least, star) = curve.data
    powers = [ncd.stream(here.term, {"a": n, "c": n}, ("b", 4), around=True) for n in (1, 8, 64)]
    points = dict(zip(one.x, one.y, strict=True))
    assert all(points[own.fast_bytes] == own.bytes_moved for own in powers)
    assert list(one.x) == sorted(one.x)
    assert (star.x[0], star.y[0]) == (loop.fast_bytes, loop.bytes_moved)
    bound = [4 * (2 * 64**3 / sqrt(m / 4) + 64 * 64) for m in one.x]
    assert list(least.y) == pytest.approx(bound)
    assert curve.layout.shapes[0].x0 == 1 << fast
    assert roofs.data[-1].name == "parts, on H100 SXM; red: bound by memory"
    assert [figure.layout.title.x for figure in told.charts] == [0, 0]  # at the left, as all are


def test_a_loop_says_what_would_move_op_by_op() -> None:
    here = scene("flash-attention", y=64, x=64, k=4)
    loop = ncd.stream(here.term, {"y": 32}, ("x", 8))
    times = loop.apart_bytes / loop.bytes_moved
    apart = markup.amount(loop.apart_bytes, "B")
    said = f"Op by op {apart} would move: {markup.digits(times)} times as much."
    assert times > 1 and _unfused_sentence(loop) == said
    small = ncd.stream(here.term, {"y": 1}, ("x", 8))
    assert small.apart_bytes < small.bytes_moved
    assert _unfused_sentence(small).startswith("If each array moved only once, it would be")


def test_wires_have_their_level_and_their_cut() -> None:
    here = scene("flash-attention", y=8, x=8, k=4)
    told = shown(what_moves(), here, group_of=2, tile_of=1)
    loop = WhatMoves().loop(here, 4, 2)
    wires = re.findall(r'<g class="wire([^"]*)" data-axis="([^"]+)"', told.html)
    assert wires and all(
        (" grouped" in kind, " streamed" in kind) == (axis == "y", axis == "x")
        for kind, axis in wires
    )
    levels = {level for kind, _ in wires for level in kind.split() if level in ("slow", "fast")}
    assert levels == {"slow", "fast"}
    assert "a group of y, a dotted one a tile of x" in told.text
    rows = [row for row in told.rows if len(row) == 4 and row[3].endswith("B")]
    assert [row[3] for row in rows] == [
        markup.amount(own.amount.bytes(loop.sizes, loop.tiles), "B") for own in loop.moves
    ]
    assert "data-node" not in told.html.partition('class="drawing part"')[2].partition("</svg>")[0]


def test_a_term_that_is_no_loop_is_refused_in_words() -> None:
    told = shown(what_moves(("m",), "x"), scene("lora"))
    assert told.text.startswith("This is not one loop over tiles:") and not told.charts


# --- the roofline ---------------------------------------------------------------------------------


def test_roofs_meet_the_ridge_and_points_lie_on_the_line() -> None:
    wide, small = RooflinePoint("wide", 10**6, 1), RooflinePoint("small", 1, 100)
    *roofs, parts = roofline([wide, small], 16).data
    for own, roof in zip(machines(), roofs, strict=True):
        turn = ridge(own, 16)
        left, right = small.intensity / LABEL_ROOM_FACTOR, LABEL_ROOM_FACTOR * wide.intensity
        assert roof.x[0] == pytest.approx(left) and roof.x[2] == pytest.approx(right)
        assert roof.x[1] == pytest.approx(turn)
        assert roof.y[0] == pytest.approx(roof.x[0] * own.bandwidth)
        assert roof.y[1] == roof.y[2] == pytest.approx(turn * own.bandwidth)
    assert parts.text == ("small", "wide")
    assert parts.y == pytest.approx((0.01 * MACHINES[1].bandwidth, MACHINES[1].float16_flops))
    assert list(parts.marker.symbol) == ["circle", "diamond"]
    assert [own[0] for own in zip(parts.textposition, parts.x, strict=False)] == [
        "top left",
        "bottom right",
    ]
    *roofs, _ = roofline([RooflinePoint("none", 0, 1)], 16).data
    assert roofs[0].x[0] == 0.1
    assert roofs[0].x[2] == pytest.approx(4 * max(ridge(own, 16) for own in machines()))


def test_labels_that_would_meet_stand_further_away() -> None:
    far = [RooflinePoint(n, 10 ** (i + 1), 1) for i, n in enumerate("abcde")]
    assert labels(far) == ["a", "b", "c", "d", "e"]
    near = [RooflinePoint(n, 100 + i, 1) for i, n in enumerate("abcdef")]
    found = labels(near)
    away = [own.count("<br>") for own in found]
    assert away == [0, 2, 1, 1, 2, 0]
    assert [own.startswith("<br>") for own in found] == [False, True, False, True, False, False]
    edge = [
        RooflinePoint("a", 1000, 1),
        RooflinePoint("x", 1500, 1),
        RooflinePoint("b", round(1000 * 10**REACH) + 9, 1),
    ]
    assert log10(edge[2].intensity / edge[0].intensity) > REACH
    assert labels(edge)[2] == "b"
    assert labels([RooflinePoint("one loop", 1, 1)]) == ["<b>one loop</b>"]


# --- tile by tile ---------------------------------------------------------------------------------


@torch.no_grad()
def test_the_walk_keeps_the_maximum_and_the_sum_so_far() -> None:
    here = scene("flash-attention", y=3, x=10, k=4)
    walk = walk_tiles(here, 4)
    assert [row.keys for row in walk.rows] == [(0, 4), (4, 8), (8, 10)]
    assert walk.difference < 1e-5
    softmax = next(c for c in here.circuit.cells if c.op.role == "softmax")
    scores = here.trace.values[softmax.inputs[0].id][0]
    for (_, end), top, total, _ in walk.rows:
        assert top == pytest.approx(float(scores[:end].max()), abs=1e-5)
        assert total == pytest.approx(float((scores[:end] - top).exp().sum()), rel=1e-4)
    assert walk.rows[-1].result == pytest.approx(
        float(here.trace.outputs[0].flatten()[0]), abs=1e-5
    )
    told = shown(TILE_WALK, here, tile_of=2, flash_step=3)
    assert told.sliders["flash_step"] == (0, 3, 4)
    assert "step 4 of 5: One pass, tile 2" in told.html and "1 more tiles of keys" in told.text
    assert [row[:2] for row in told.rows[1:]] == [["1", "0 to 3"], ["2", "4 to 7"]]


def test_a_row_says_by_what_all_before_it_is_multiplied() -> None:
    rows = [RunningRow((4 * n, 4 * n + 4), float(n), n + 1.0, 0.5) for n in range(14)]
    html = _tiles(Walk(rows, 1e-7), 13)
    seen = [[text(cell) for cell in inside(row, "td")] for row in inside(html, "tr")][1:]
    assert [row[0] for row in seen] == [str(n) for n in range(3, 15)]
    assert {row[3] for row in seen} == {markup.digits(exp(-1))}
    assert tags(html, "tr")[-1].get("class") == "chosen" and "✓ After the last tile" in html
    first = _tiles(Walk(rows, 1e-7), 0)
    assert [text(own) for own in inside(first, "td")] == ["1", "0 to 3", "0", "1", "1", "0.5"]
    assert "13 more tiles of keys to come." in first
    assert len(inside(_tiles(Walk(rows[:2], 0.0), 9), "tr")) == 3


def test_the_first_steps_are_proved_on_numbers() -> None:
    here = scene("flash-attention", y=3, x=4, k=2)
    for at, other in ((0, "the diagram above"), (1, "the step before")):
        told = shown(TILE_WALK, here, flash_step=at)
        assert f"✓ On random numbers it differs from {other} by" in told.text
        assert text(inside(told.html, "h2")[0]) == REWRITE_TEXTS[at][0]
