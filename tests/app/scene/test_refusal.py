"""The settings that are offered where a system cannot be built."""

from __future__ import annotations

import pytest

from ncd import catalogue
from ncd.app.scene import refusal
from ncd.app.scene.own_entry import custom_entry
from ncd.app.scene.scene import build_term, limit_refusal
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError
from ncd.run.guard import check_run


def test_only_knobs_that_have_a_part_in_an_error_are_tried() -> None:
    entry = catalogue["unet"]
    _, found = build_term(entry, {**entry.settings({}), "x": 33})
    assert found is not None
    assert found.error.fact.startswith("an image of 33 × 33 cannot be halved")
    part = {knob.name: refusal._matters(found, knob) for knob in entry.knobs if knob.is_size}
    assert part == {"depth": True, "c": False, "x": True, "y": False}
    assert found.fixes == ({"x": 32},)


PUBLISHED = [(entry.name, preset.name) for entry in catalogue.values() for preset in entry.presets]


@pytest.mark.few(12)
@pytest.mark.parametrize(("name", "preset"), [*PUBLISHED, ("multi-head-attention", "")])
def test_no_cure_makes_a_size_smaller_than_the_page_has_it_at_first(name: str, preset: str) -> None:
    entry = catalogue[name]
    long = {"y": 65536, "x": 65536}
    settings = entry.settings(entry.preset(preset).knobs if preset else long)
    term, _ = build_term(entry, settings)
    assert term is not None
    try:
        check_run(elaborate(term), watched=True)
    except LimitError as error:
        ways = refusal.Refusal(error, None, entry, settings).fixes
        assert ways
        knobs = {knob.name: knob for knob in entry.knobs}
        for way in ways:
            assert refusal.works(entry, {**settings, **way})
            assert all(knobs[one].default <= value or len(way) > 1 for one, value in way.items())


def test_a_small_llama_is_small_in_all_its_sizes() -> None:
    entry = catalogue["llama"]
    settings = entry.settings(entry.preset("llama-3-8b").knobs)
    error = LimitError("a run takes at least 60,000,000,000 bytes of memory", cure="less")
    (way,) = refusal.Refusal(error, None, entry, settings).fixes
    assert way == {"n": 6, "m": 256, "k": 64, "d": 512, "v": 1024}
    assert all(knob.min <= way.get(knob.name, knob.default) <= knob.max for knob in entry.knobs)


def test_no_setting_is_offered_that_torch_refuses_too() -> None:
    entry = custom_entry('Opaque("b:2 d:4 -> b k:2", "aten.glu", "a")')
    settings = entry.settings({"d": 5})
    term, _ = build_term(entry, settings)
    assert term is not None
    found = limit_refusal(entry, settings, term)
    assert found is not None and "torch refuses it: Halving dimension" in found.error.fact
    assert found.fixes == ({"d": 4},)
    check_run(elaborate(entry.build(**{**settings, **found.fixes[0]})), watched=True)
