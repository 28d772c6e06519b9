"""The Cached pass panel: what is kept at a position, its placements, and what looks ahead."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from ncd import CausalMask, Id, Softmax, Term, catalogue, decode
from ncd.app.panels.attention import cached_pass
from ncd.app.panels.attention.cached_pass import (
    CACHED_PASS,
    NoCachedPass,
    cached_layer_names,
    derive,
    position_axis,
    refusal_html,
)
from ncd.language.number_formats import Formats
from ncd.site import markup
from tests.app.page.test_pages import fine, page
from tests.app.panels.views import inside, scene, shown, tags, text

PAGES = ("latent-attention", "gpt-2", "mamba", "lstm", "encoder-decoder", "sliding-window")


@pytest.mark.parametrize("name", PAGES)
def test_the_panel_stands_at_the_least_and_with_every_switch(name: str) -> None:
    app = page(name, panel=CACHED_PASS.title)
    fine(app)
    knobs = catalogue[name].knobs
    switches = [{knob.name: not knob.default} for knob in knobs if knob.switch]
    for changed in (*switches, {knob.name: knob.min for knob in knobs if not knob.switch}):
        for key, value in changed.items():
            app.session_state[key] = value
        fine(app.run())


def test_a_system_that_looks_ahead_is_told_with_its_array() -> None:
    found = derive(Id("t:4 s:4") >> Softmax("t"))
    assert found == NoCachedPass(
        "Softmax: it joins all places along t, and no place is left that would see them",
        "n0",
        "v0",
    )
    html = refusal_html(found, "t")
    assert 'data-select="v0"' in html
    assert "no place is left that would see them" in html


@pytest.mark.parametrize(
    ("term", "axis"),
    [
        (Id("m:2 t:3"), "t"),
        (Id("m:2, ~y:3 m:2"), "y"),
        (Id("b:2 m:3"), "b"),
        (CausalMask("y x"), "y"),
    ],
)
def test_the_axis_of_positions(term: Term, axis: str) -> None:
    assert position_axis(term) == axis


def test_equal_layers_are_counted_together() -> None:
    assert cached_layer_names(decode(catalogue["gpt-2"].build(n=3)).caches) == "3 × k, 3 × v"
    assert cached_layer_names(decode(catalogue["swiglu"].build()).caches) == "nothing"


# --- the picture ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "at", "window", "filled", "label"),
    [
        (5, 2, None, range(3), "positions 1 to 3 of 5"),
        (5, 0, None, range(1), "positions 1 to 1 of 5"),
        (5, 4, 2, range(3, 5), "positions 4 to 5 of 5"),
        (5, 2, 9, range(3), "positions 1 to 3 of 5"),
        (64, 0, None, range(1), "positions 1 to 1 of 64"),  # two positions in a cell
        (64, 31, None, range(16), "positions 1 to 32 of 64"),
        (64, 63, 32, range(16, 32), "positions 33 to 64 of 64"),
        (2048, 1023, None, range(16), "positions 1 to 1,024 of 2,048"),
    ],
)
def test_the_cells_of_the_positions_that_are_kept_are_filled(
    length: int, at: int, window: int | None, filled: range, label: str
) -> None:
    cache: Any = SimpleNamespace(kind="window" if window else "all", window=window)
    html = cached_pass._strip(cache, length, at)
    cells = tags(html, "rect")
    assert [cell["x"] for cell in cells] == [str(14 * i) for i in range(min(length, 32))]
    assert [i for i, cell in enumerate(cells) if cell["opacity"] == "0.7"] == [*filled]
    (frame,) = tags(html, "svg")
    assert frame["width"] == str(14 * len(cells) - 2) and frame["aria-label"] == label


@pytest.mark.parametrize(("rows", "more"), [(2, ""), (1, "and 1 array more")])
def test_each_array_that_is_kept_has_a_row_and_the_numbers_of_all_are_added(
    rows: int, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_pass, "ROWS", rows)
    here = scene("gpt-2", n=2)
    found = decode(here.term)
    assert len(found.caches) == 2
    told, middle = shown(CACHED_PASS, here, decoded_position=3), found.length // 2
    kept = [row[2] for row in told.rows[1 : 1 + rows]]
    assert kept == [f"{cache.count(4):,}" for cache in found.caches[:rows]]
    total = sum(cache.count(4) for cache in found.caches)
    assert f"After position 4 it holds {total:,} numbers." in told.text
    assert ("array more" in told.text) == bool(more) and more in told.text
    assert shown(CACHED_PASS, here).sliders["decoded_position"] == (0, middle, found.length - 1)


def test_a_state_and_what_is_made_once_are_said_in_words() -> None:
    cache: Any = SimpleNamespace(kind="state")
    assert cached_pass._strip(cache, 5, 2) == "one state, carried on"
    cache.kind = "once"
    assert cached_pass._strip(cache, 5, 2) == "made once, at the first position"
    alone = shown(CACHED_PASS, scene("swiglu")).text
    assert "is worked out alone: nothing is kept." in alone and "Work" not in alone


# --- the placements -------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "knobs"), [("gpt-2", {"n": 2}), ("lstm", {})])
@pytest.mark.parametrize("format", ["float32", "int8"])
def test_every_placement_has_its_costs_and_the_fastest_is_bold(
    name: str, knobs: dict[str, int], format: str
) -> None:
    here = replace(scene(name, **knobs), formats=Formats(cache=format))
    found, said = decode(here.term), "bfloat16" if format == "float32" else format
    told = shown(CACHED_PASS, here, cached_context=10)
    context, count = 1 << cached_pass.CONTEXT.start, len(found.placements)
    best = found.best(context, said)
    (table,) = (own for own in inside(told.html, "table") if "Context" in own)
    rows = [inside(row, "td") for row in inside(table, "tr")][1:]
    assert [[text(cell) for cell in row] for row in rows] == [
        [
            cached_layer_names(each.caches),
            markup.amount(each.bytes_per_position(said), "B"),
            markup.amount(each.bytes(context, said), "B"),
            markup.amount(each.flops(context), "FLOP"),
            markup.amount(each.bytes_moved(context, said), "B"),
        ]
        for each in found.placements
    ]
    assert ["<b>" in row[0] for row in rows] == [each == best for each in found.placements]
    assert f"Numbers are in {said}." in told.text and len(inside(told.html, "li")) == count


@pytest.mark.parametrize(
    ("longest", "said"),
    [(None, "any length"), (0, "not even the weights"), (1234, "1,234 positions")],
)
def test_so_long_a_context_fits_in_a_memory(longest: int | None, said: str) -> None:
    asked: list[tuple[int, str]] = []

    def context(memory: int, name: str) -> int | None:
        asked.append((memory, name))
        return longest

    each = SimpleNamespace(longest_context=context, caches=(), parameters=1)
    found: Any = SimpleNamespace(placements=[each])
    with patch("streamlit.session_state", {"cache_memory": "2"}):
        html = cached_pass._memory(found, "int8")
    assert asked == [(2_000_000_000, "int8")]
    assert f"Beside 1 parameter there is room for one sequence ofnothing: {said}" in text(html)
