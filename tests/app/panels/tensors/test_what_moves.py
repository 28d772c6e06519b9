"""The What moves panel without a browser: numbers, refusals, the roofline and the walk."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.app.panels.tensors import memory_bound as measured
from ncd.app.panels.tensors.memory_bound import (
    MACHINES,
    RooflinePoint,
    WhatMoves,
    _loop_sentence,
    machines,
    points,
    ridge,
    roofline,
    this_cpu,
)
from tests.app.page.test_pages import fine, page

PAGES = ("matrix-product", "flash-attention", "fused-mlp", "streamed-norm", "multi-head-attention")


@pytest.mark.parametrize("name", PAGES)
def test_the_panel_stands_and_refuses(name: str) -> None:
    app = page(name, panel="What moves")
    fine(app)
    app.session_state["group_of"], app.session_state["fast_memory"] = "9", "8"
    fine(app.run())


def test_attention_that_is_published_has_the_panel() -> None:
    """GPT-2 repeats its layers: the loop is the scores of the first."""
    app = page("gpt-2", panel="What moves")
    fine(app)
    term = ncd.catalogue["gpt-2"].build()
    told = _loop_sentence(ncd.stream(term, {"y": 4}, ("x", 4), around=False))
    assert "<code>h.0.attn</code>, the first with these axes" in told


def test_the_group_of_a_short_axis_is_as_long_as_the_axis() -> None:
    panel = WhatMoves(("a", "c"), "b", around=True)
    said = []
    for a in (64, 1):
        term = ncd.catalogue["matrix-product"].build(a=a, b=64, c=64)
        said.append(panel._groups(ncd.stream(term, {"a": 32, "c": 32}, ("b", 8))))
    assert said == ["g_a = g_c = 32", "g_a = 1, g_c = 32"]


def test_the_walk_stands_at_both_ends() -> None:
    app = page("flash-attention", panel="From three passes to one")
    for step in ("1", "2", "99"):
        app.session_state["flash_step"] = step
        fine(app.run())


def test_machines_stand_where_their_rates_meet() -> None:
    """312 TFLOP/s and 2.039 TB/s need 153 operations for each byte; in float32 fewer."""
    assert ridge(MACHINES[0], 16) == pytest.approx(153.0, abs=0.1)
    assert ridge(MACHINES[0], 32) == pytest.approx(9.56, abs=0.01)
    whole = [
        RooflinePoint("scores", 1000, 10),
        RooflinePoint("softmax", 0, 10),
        RooflinePoint("scale", 10, 80),
    ]
    *roofs, parts = roofline(whole, 16).data
    assert [line.name for line in roofs] == [machine.name for machine in machines()]
    assert parts.x == (0.125, 100)  # a part without operations cannot stand on a log axis
    assert parts.y == (0.125 * MACHINES[1].bandwidth, 100 * MACHINES[1].bandwidth)


def test_this_cpu_is_measured_once() -> None:
    """A copy that moves less than 0.1 GB/s, or a product faster than any CPU, were not measured."""
    cpu = this_cpu()
    assert cpu is this_cpu() is machines()[-1]
    assert 1e8 < cpu.bandwidth < 2e12
    assert 1e8 < cpu.float32_flops < 1e14
    assert 1e7 < cpu.float16_flops < 1e14


def test_one_loop_does_more_for_each_byte() -> None:
    term = ncd.catalogue["flash-attention"].build()
    found = {p.name: p for p in points(ncd.stream(term, {"y": 32}, ("x", 16)))}
    assert found["one loop"].flops == found["all, one by one"].flops
    assert found["one loop"].intensity > 2 * found["all, one by one"].intensity


def test_a_product_of_matrices_has_two_operations_for_each_pair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(measured, "_seconds", lambda act: 0.5)
    assert measured._product_rate(8, torch.float32) == 2 * 8 * 8 * 8 / 0.5
