"""The Compare panel: what its buttons pin, and what is told of two settings."""

from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.panels.walk import compare
from ncd.app.panels.walk.compared_diagrams import (
    NUMBERS,
    _numbers,
    amount,
    cost,
    match,
    shapes,
)
from ncd.app.scene import pin
from ncd.app.scene.pin import VIEW, VIEWS, Pin
from ncd.app.state import knobs
from ncd.language.number_formats import Formats
from tests.app.panels.views import inside, scene, tags, text

MHA = ncd.catalogue["multi-head-attention"]
GROUPED = ncd.catalogue["grouped-queries"]
NOW = {"h": 2, "k": 8}


def picked(button: str, held: Pin | None = None) -> tuple[list[object], dict[str, object]]:
    """What is pinned and set by a button, on a page at ``NOW`` and seed 5."""
    done: list[object] = []
    session: dict[str, object] = {}
    with (
        patch.object(st, "session_state", session),
        patch.object(knobs, "current", lambda entry: MHA.settings(NOW)),
        patch.object(knobs, "seed", lambda: 5),
        patch.object(knobs, "set_values", lambda said: done.append(said)),
        patch.object(pin, "set_pin", lambda entry, own: done.append(own)),
    ):
        compare._pick(MHA, held, button)
    return done, session


HELD = Pin(MHA.settings({"h": 3}), 7)
OTHER = Pin(GROUPED.settings({}), 7, GROUPED)
ALIKE = compare.in_line(MHA, MHA.settings(NOW), GROUPED)


@pytest.mark.parametrize(
    ("button", "held", "done"),
    [
        ("pin", None, [Pin(MHA.settings(NOW), 5)]),
        ("pin", HELD, [Pin(MHA.settings(NOW), 5)]),
        ("unpin", HELD, [None]),
        ("system=grouped-queries", None, [Pin(ALIKE, 5, GROUPED)]),
        ("system=multi-head-attention", None, []),
        ("system=nothing", None, []),
        ("preset=nothing", None, []),
        ("alike", OTHER, [Pin(ALIKE, 7, GROUPED)]),
        ("alike", HELD, []),
        ("alike", None, []),
        ("swap", HELD, [{**MHA.settings({"h": 3}), "seed": 7}, Pin(MHA.settings(NOW), 5)]),
        ("swap", OTHER, []),
        ("swap", None, []),
    ],
)
def test_a_button_pins_what_it_says(button: str, held: Pin | None, done: list[object]) -> None:
    assert picked(button, held)[0] == done


def test_views_and_published_settings_are_chosen_by_name() -> None:
    for view in VIEWS:
        assert picked(f"view={view}") == ([], {VIEW: view})
    assert VIEW not in picked("view=nothing")[1]
    bert = ncd.catalogue["bert"]
    preset = bert.presets[0]
    done: list[Pin] = []
    with (
        patch.object(knobs, "current", lambda entry: bert.settings({})),
        patch.object(knobs, "seed", lambda: 5),
        patch.object(pin, "set_pin", lambda entry, own: done.append(own)),
    ):
        compare._pick(bert, None, f"preset={preset.name}")
    assert done == [Pin(bert.settings(preset.knobs), 5)]


def buttons(held: Pin | None, view: str = "diagrams") -> dict[str, str | None]:
    with (
        patch.object(st, "session_state", {VIEW: view}),
        patch.object(knobs, "current", lambda entry: MHA.settings(NOW)),
    ):
        html = compare._acts(MHA, held)
    return {own["data-pick"]: own.get("aria-pressed") for own in tags(html, "button")}


def test_buttons_are_those_that_make_sense() -> None:
    assert set(buttons(None)) == {"pin"}
    views = {f"view={view}" for view in VIEWS}
    assert set(buttons(HELD)) == {*views, "pin", "swap", "unpin"}
    assert set(buttons(OTHER)) == {*views, "pin", "alike", "unpin"}
    assert set(buttons(Pin(ALIKE, 7, GROUPED))) == {*views, "pin", "unpin"}
    pressed = {pick for pick, on in buttons(HELD, "cost").items() if on == "true"}
    assert pressed == {"view=cost"}
    with patch.object(st, "session_state", {VIEW: "nothing"}):
        assert compare._view() == VIEWS[0]
    options = [own["value"] for own in tags(compare._others(MHA), "option")]
    assert "multi-head-attention" not in options and "grouped-queries" in options
    assert len(options) == len(ncd.catalogue)  # and "Pin another system"
    assert compare._preset_menu(MHA) == "" or MHA.presets


def test_settings_that_differ_are_told_and_no_others() -> None:
    one, two = scene("multi-head-attention", h=2), scene("multi-head-attention", h=3, seed=4)
    assert {name: text(said) for name, said in compare._settings(one, two).items()} == {
        "h": "2 → 3",
        "seed": "0 → 4",
    }
    same = scene("multi-head-attention", h=2)
    assert (
        text(compare._differences_html(one, same))
        == "Both are alike. Move a knob, and see what changes."
    )
    told = compare._differences_html(one, two)
    assert "2 → 3" in text(told) and "has this page’s sizes" not in told
    other = scene("grouped-queries")
    facts = {name: text(said) for name, said in compare._settings(one, other).items()}
    assert facts["System"] == f"{one.entry.title} → {other.entry.title}"
    assert all("–" in said or "→" in said for said in facts.values())
    assert compare._becomes("a<", "a<") == "a&lt;"


def test_a_pinned_system_says_which_sizes_it_shares() -> None:
    page = scene("multi-head-attention", h=2, k=8)
    alike = compare.in_line(page.entry, page.settings, GROUPED)
    shared = scene("grouped-queries", **alike)
    said = text(compare._in_line(shared, page))
    changed = [k for k in GROUPED.knobs if alike[k.name] != k.default]
    assert said.startswith(f"{GROUPED.title} has this page’s sizes: ") and "other sizes" not in said
    for knob in changed:
        other = pin.display_value(knob, alike[knob.name])
        assert f"= {other}, not {pin.display_value(knob, knob.default)}" in said
    apart = scene("grouped-queries", **{**alike, "k": alike["k"] * 2})
    told = text(compare._in_line(apart, page))
    assert f"is at other sizes: k = {alike['k'] * 2}, not {alike['k']}." in told
    assert compare._in_line(page, page) == ""


def test_the_cache_of_a_token_is_compared_where_both_keep_one() -> None:
    one, two = scene("grouped-queries", g=4, q=1), scene("grouped-queries", g=2, q=2)
    k = one.settings["k"]
    ((name, said),) = compare._cache(one, two).items()
    assert name == "Cache of a token, bfloat16"
    assert text(said).startswith(f"{2 * 4 * k * 2:,} B → {2 * 2 * k * 2:,} B")
    assert compare._cache(one, one) == {}
    assert compare._cache(scene("lora"), one) == {}
    small = replace(two, formats=Formats(cache="int8"))
    ((name, said),) = compare._cache(one, small).items()
    assert name == "Cache of a token, int8"
    assert text(said).startswith(f"{2 * 4 * k:,} B → {2 * 2 * k:,} B")


def test_sources_are_compared_line_by_line() -> None:
    one, two = scene("lora", r=2), scene("lora", r=3)
    same = compare._source(one, one, None)  # type: ignore[arg-type]
    assert "the same, letter by letter" in same
    assert "letter by letter" not in compare._source(one, two, None)  # type: ignore[arg-type]


def test_nothing_is_pinned_at_first() -> None:
    told = text(compare._begin(MHA))
    first, second = (knobs.subscript_name(knob.name) for knob in MHA.knobs[:2])
    assert f"then move a knob such as {first} or {second}, or go to another page" in told


@pytest.mark.parametrize(
    ("other", "shared"),
    [("multi-head-attention", {True}), ("rotary", {True, False}), ("gpt-2", {False})],
)
def test_a_row_is_an_op_of_both_or_of_one_side_alone(other: str, shared: set[bool]) -> None:
    one, two = scene(other), scene("multi-head-attention", h=3)
    found = match(one.circuit, two.circuit)
    assert [pair for pair in found.rows if not any(pair)] == []
    for html in (shapes(one, two, found), cost(one, two, found)):
        rows = [own for own in tags(html, "tr") if "class" in own or "data-node" in own]
        assert len(rows) == len(found.rows)
        for own, (first, second) in zip(rows, found.rows, strict=True):
            assert (own.get("class") == "alone") == (first is None or second is None)
            now = second.id if second else None
            assert own.get("data-node") == own.get("data-select") == now
    assert {first is not None and second is not None for first, second in found.rows} == shared


def test_numbers_that_only_one_side_has_are_dashes_on_the_other() -> None:
    numbers = dict.fromkeys(NUMBERS, 1000)
    cells = [text(cell) for cell in inside(_numbers(numbers, {}), "td")]
    assert cells[:2] == ["1 k", "–"] or cells[:2] == ["1,000", "–"]
    cells = [text(cell) for cell in inside(_numbers({}, numbers), "td")]
    assert cells[0] == "–" != cells[1] and len(cells) == 3 * len(NUMBERS)


def test_axes_that_one_circuit_lacks_or_has_at_another_size_differ() -> None:
    one, two = (ncd.elaborate(ncd.Id(array)) for array in ("m:3 k:2", "m:4"))
    assert match(one, two).axes == match(two, one).axes == {"m", "k"}
    assert match(one, one).axes == frozenset()
    assert match(one, ncd.elaborate(ncd.Id("k:2 m:4"))).axes == {"m"}


@pytest.mark.parametrize(
    ("number", "said"), [(99_999, "99,999"), (100_000, "100 k"), (0, "0"), (2_500_000, "2.5 M")]
)
def test_large_amounts_are_rounded(number: int, said: str) -> None:
    assert amount(number) == said
