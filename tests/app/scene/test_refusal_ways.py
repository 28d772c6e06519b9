"""What a refusal says and offers: reasons, presets, and sizes that are halved together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain, repeat
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import streamlit as st

import ncd
from ncd.app.scene import own_entry, refusal
from ncd.app.scene.refusal import PATIENCE, Refusal
from ncd.circuit.knob import Knob
from ncd.errors import LimitError, SizeError
from ncd.systems.catalogue_entry import Entry, Preset

KNOBS = tuple(Knob(name, 2, 64, 8) for name in ("a", "b", "c"))
ENTRY = Entry("some", "Some", "", KNOBS, lambda **_: ncd.Id("m:3"))


def fitting(most: int) -> Any:
    """Lets only settings run whose sizes multiply to so much at most."""

    def works(entry: Entry, own: Mapping[str, int]) -> bool:
        return own["a"] * own["b"] * own["c"] <= most

    return patch.object(refusal, "works", works)


@pytest.mark.parametrize(
    ("settings", "most", "way"),
    [
        ({"a": 64, "b": 32, "c": 2}, 1024, {"a": 32, "b": 16}),
        ({"a": 64, "b": 32, "c": 2}, 4095, {"a": 32, "b": 16}),
        ({"a": 64, "b": 32, "c": 2}, 100, {"a": 8, "b": 4}),
        ({"a": 64, "b": 64, "c": 64}, 1000, {"a": 2, "b": 2}),
        ({"a": 64, "b": 64, "c": 64}, 200, {"a": 4, "b": 4, "c": 4}),
        ({"a": 64, "b": 64, "c": 64}, 8, {"a": 2, "b": 2, "c": 2}),
        ({"a": 64, "b": 64, "c": 64}, 7, None),
    ],
)
def test_the_largest_sizes_are_halved_together_until_they_fit(
    settings: dict[str, int], most: int, way: dict[str, int] | None
) -> None:
    with fitting(most), patch.object(refusal, "thread_time", lambda: 0.0):
        assert [*refusal._together(ENTRY, settings, 1.0)] == ([way] if way else [])


def test_more_than_two_sizes_are_tried_in_time_only() -> None:
    settings = {"a": 64, "b": 64, "c": 64}
    with fitting(200), patch.object(refusal, "thread_time", lambda: 2.0):
        assert [*refusal._together(ENTRY, settings, 1.0)] == []
    with fitting(4096), patch.object(refusal, "thread_time", lambda: 2.0):
        assert [*refusal._together(ENTRY, settings, 1.0)] == [{"a": 8, "b": 8}]


@pytest.mark.parametrize(
    ("seconds", "most", "ways"),
    [
        (0.0, 1024, ({"a": 16}, {"b": 16})),
        (0.0, 64, ({"a": 8, "b": 8},)),
        (PATIENCE / 2, 1024, ({"a": 16}, {"b": 16})),
        (PATIENCE, 1024, ({"a": 32, "b": 32},)),
    ],
)
def test_one_size_is_searched_for_as_long_as_patience_lasts(
    seconds: float, most: int, ways: tuple[dict[str, int], ...]
) -> None:
    """The search begins at 7 s of CPU time, and every look at the clock finds so many more."""
    clock = chain([7.0], repeat(7.0 + seconds))
    error = LimitError("large")
    with fitting(most), patch.object(refusal, "thread_time", lambda: next(clock)):
        assert Refusal(error, None, ENTRY, {"a": 64, "b": 64, "c": 1})._find_fixes() == ways


def test_of_a_published_model_a_smaller_one_is_offered() -> None:
    large, small = {"a": 64, "b": 64, "c": 64}, {"a": 4, "b": 4, "c": 4}
    presets = tuple(Preset(str(n), own, "") for n, own in enumerate((large, {"a": 2}, small)))
    own = replace(ENTRY, presets=presets, text="text")
    with fitting(64):
        assert refusal._smaller_preset(own, large) == small
        assert refusal._smaller_preset(own, {**large, "a": 63}) == {}
        assert refusal._smaller_preset(own, {"a": 2, "b": 8, "c": 8}) == {}
        assert Refusal(LimitError("large"), None, own, large)._find_fixes() == (small,)
    with fitting(63):
        assert refusal._smaller_preset(own, large) == {}


@pytest.mark.parametrize(("value", "count"), [(64, 0), (65, 3)])
def test_a_size_is_large_beyond_its_slider(value: int, count: int) -> None:
    assert refusal._oversize_count(ENTRY, dict.fromkeys("abc", value)) == count


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        ("it takes at least 5 bytes", "takes at least 2 kB of memory, forward and backward, most"),
        ("it takes 5 bytes", "takes 2 kB of memory, forward and backward, most of it in X, and"),
        ("it takes 5 FLOPs", "takes 2 kFLOP, most of it in X, and this server allows 1 kFLOP"),
    ],
)
def test_a_reason_names_the_limit_and_what_takes_most(fact: str, told: str) -> None:
    error = LimitError(fact, where="X")
    error.need, error.limit = 2000, 1000
    said = Refusal(error, None, ENTRY, {}).reason
    assert told in said
    assert ("(NCD_MAX_BYTES)" in said) == ("bytes" in fact)
    assert ("(NCD_MAX_FLOPS)" in said) == ("FLOPs" in fact)
    for other in (SizeError("wrong", cure="right"), LimitError("large", cure="small")):
        assert Refusal(other, None, ENTRY, {}).reason == str(other)


def test_a_button_has_the_name_of_a_preset_or_its_sizes() -> None:
    own = replace(ENTRY, presets=(Preset("p", {"a": 4}, "", "Published"),))
    ways = ({"a": 4}, {"a": 5})
    with (
        patch.object(Refusal, "fixes", ways),
        patch.object(st, "container", MagicMock()),
        patch.object(st, "markdown") as title,
        patch.object(st, "text"),
        patch.object(st, "button") as button,
    ):
        refusal.render(Refusal(SizeError("wrong"), None, own, {}))
    assert title.call_args.args == ("**This does not fit yet.**",)
    assert [call.args[0] for call in button.call_args_list] == ["Published", "a = 5"]


@pytest.mark.parametrize("name", ["aten.glu", "aten.sigmoid", "other.f"])
def test_a_box_that_visitors_may_not_call_is_closed(name: str) -> None:
    op = ncd.Opaque("b:2 d:4 -> b k:2", name, "a")
    found = own_entry._with_closed_names(op)
    may = own_entry._may_run(op)
    assert (found == op) == may
    assert own_entry._may_run(found)
    assert found.dom == op.dom and found.cod == op.cod


def test_a_function_of_torch_is_no_slip_of_a_name() -> None:
    assert (
        own_entry._no_function("aten.mm.out").fact == "this page does not call aten.mm.out of torch"
    )
    wrong = own_entry._no_function("aten.sigmoyd")
    assert wrong.fact == "there is no function on this page 'aten.sigmoyd'"
