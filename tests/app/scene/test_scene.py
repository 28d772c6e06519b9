"""What a page derives from its settings: how it is drawn, how long it runs, what it shares."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch

import ncd
from ncd.app.scene import scene as module
from ncd.app.scene.scene import LARGE, LONG_RUN_FLOPS, PHONE, QUICK, SUBSCRIPTS, Scene, build_term
from ncd.app.state import cache, selection
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.circuit.costs import Cost
from ncd.language.number_formats import Formats
from tests.app.panels.views import scene

ATTENTION = "scaled-dot-product-attention"


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    """Nothing is known from another test."""
    saved = dict(cache.CACHE)
    cache.CACHE.clear()
    yield
    cache.CACHE.clear()
    for key, value in saved.items():
        cache.CACHE[key] = value


def costing(flops: int, parameters: int = 0) -> Any:
    return patch.object(
        Scene, "cost", SimpleNamespace(spec=Cost, flops=flops, parameters=parameters)
    )


@pytest.mark.parametrize(
    ("wide", "width", "narrow"),
    [
        (None, 1280.0, False),
        (selection.WIDTHS[0], PHONE * selection.WIDTHS[0], True),
        (selection.WIDTHS[1], SUBSCRIPTS * selection.WIDTHS[1], False),
        (9999, 1280.0, False),
    ],
)
def test_a_diagram_fits_its_column(wide: int | None, width: float, narrow: bool) -> None:
    own = replace(scene(ATTENTION), column_width=wide)
    assert (own.width, own.narrow) == (pytest.approx(width), narrow)
    assert own.draw_options["width"] == own.width


def test_callouts_are_drawn_where_there_is_room_and_nobody_is_asked() -> None:
    own = scene(ATTENTION)
    noted = next(one for one in map(scene, ncd.catalogue) if one.draw_options["notes"])
    assert not replace(noted, show_callouts=False).draw_options.get("notes")
    assert not replace(noted, column_width=selection.WIDTHS[0]).draw_options.get("notes")
    assert replace(noted, column_width=selection.WIDTHS[1]).draw_options.get("notes")
    hidden = replace(own, labels="both", hidden_sizes=HiddenSizes("v0")).draw_options
    assert (hidden["labels"], hidden["notes"]) == ("names", {})
    assert replace(own, labels="both").draw_options["labels"] == "both"


@pytest.mark.parametrize(
    ("flops", "parameters", "quick", "long"),
    [
        (QUICK - 1, QUICK // 100 - 1, True, False),
        (QUICK, 0, False, False),
        (0, QUICK // 100, False, False),
        (LONG_RUN_FLOPS, LONG_RUN_FLOPS // 100, False, False),
        (LONG_RUN_FLOPS + 1, 0, False, True),
        (0, LONG_RUN_FLOPS // 100 + 1, False, True),
    ],
)
def test_a_run_is_quick_or_long_by_its_cost(
    flops: int, parameters: int, quick: bool, long: bool
) -> None:
    with costing(flops, parameters):
        assert (scene(ATTENTION).is_quick, scene(ATTENTION).starts_on_demand) == (quick, long)


@pytest.mark.parametrize(
    ("flops", "rests"), [(QUICK - 1, 0), (LARGE, 0), (LARGE + 1, 1), (LONG_RUN_FLOPS + 1, 1)]
)
def test_a_large_run_waits_until_a_slider_rests(flops: int, rests: int) -> None:
    with costing(flops), patch.object(module, "sleep") as sleep:
        assert scene(ATTENTION).run_in_pool(lambda: 7) == 7
    assert sleep.call_count == rests


def test_a_module_is_made_once_for_what_it_depends_on() -> None:
    own = scene("multi-head-attention")
    assert not own.is_compiled
    made = own.module
    assert own.is_compiled and own.module is made
    assert replace(own, selected_id="n1").module is made
    for other in (replace(own, seed=1), replace(own, formats=Formats(weights="int8"))):
        assert not other.is_compiled and other.module is not made
    assert own.weights_key != replace(own, formats=Formats(weights="int8")).weights_key
    assert made.training is own.entry.training
    layer = scene("layer-norm") if "layer-norm" in ncd.catalogue else own
    assert replace(layer, entry=replace(layer.entry, training=False)).module.training is False


def test_all_arrays_of_a_run_are_those_of_the_module() -> None:
    own = scene(ATTENTION)
    outputs = own.module(*own.inputs)
    (last,) = own.circuit.outputs
    assert torch.allclose(own.trace.values[last.id], outputs, atol=1e-6)
    assert own.trace is own.trace and own.can_run and own.has_all_sizes
    assert own.with_selection("n3").selected_id == "n3"
    assert own.axis_words("y") == ()


@pytest.mark.parametrize(
    ("flops", "more", "timed"), [(QUICK - 1, 0, False), (QUICK - 1, 1, True), (QUICK, 0, True)]
)
def test_only_a_run_of_large_or_many_ops_is_timed(flops: int, more: int, timed: bool) -> None:
    own = scene(ATTENTION)
    assert own.known_seconds is None
    with costing(flops), patch.object(module, "MANY_OPS", len(own.circuit.cells) - more):
        assert own.trace
        taken = cache.peek("run seconds", own.term, "cpu")
        assert (taken is not None) == timed
        assert 0 < own.seconds == own.known_seconds
        assert taken in (None, own.seconds)


@pytest.mark.parametrize(("once", "calls"), [(0.0005, 2), (0.001, 2), (0.002, 1)])
def test_a_brief_run_is_timed_again(once: float, calls: int) -> None:
    asked = list[dict[str, Any]]()

    def medians(own: dict[str, Any], **how: Any) -> dict[str, float]:
        asked.append(how)
        return {"forward": once if how["rounds"] == 1 else 0.25}

    with patch.object(module, "medians", medians):
        assert scene(ATTENTION)._time() == (0.25 if calls == 2 else once)
    assert [how["rounds"] for how in asked] == [1, 3][:calls]
    assert all(how["warm"] == 0 for how in asked)


def test_what_is_built_or_too_large_is_known_by_its_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    entry = ncd.catalogue[ATTENTION]
    term, refused = build_term(entry, entry.settings({}))
    assert term is not None and refused is None
    assert build_term(entry, entry.settings({}))[0] is term
    unet = ncd.catalogue["unet"]
    sketch, refused = build_term(unet, unet.settings({}) | {"x": 33})
    assert refused is not None and refused.op_id is not None and sketch is not None
    own = scene(ATTENTION)
    assert own.refusal is None
    monkeypatch.setenv("NCD_MAX_FLOPS", "10")
    assert own.refusal is not None and own.refusal.is_too_large and not own.can_run
    monkeypatch.delenv("NCD_MAX_FLOPS")
    assert own.refusal is None
    assert replace(own, build_refusal=refused).refusal is refused
