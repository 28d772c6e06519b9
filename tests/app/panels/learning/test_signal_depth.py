"""Deviations layer by layer, as they are drawn, listed and explained."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.learning import signal_depth
from ncd.app.panels.learning.signal_depth import COLOURS, DEPTH
from ncd.app.parts.log_chart import DECADES, TALL, ChartLine, log_chart, logarithms
from ncd.app.state import knobs
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.networks.weight_initialisation import INITS
from tests.app.panels.views import Shown, scene, shown, tags


def depth(**at: int) -> Shown:
    return shown(DEPTH, scene("initialisation", **at))


def test_deviations_are_those_of_torch() -> None:
    term = ncd.catalogue["initialisation"].build(n=4, m=8, init=3)
    module, (x,) = ncd.compile(term, seed=1), ncd.example_inputs(term, 1)
    found = signal_depth.signal_depth(module, x, seed=5)
    values, value = [], x
    for layer in module.layers:
        value = F.relu(F.linear(value, layer.W.weight))
        values.append(value)
    last = torch.randn(value.shape, generator=generator(5, "gradients"))
    gradients = torch.autograd.grad(value, values, last)
    for ours, theirs in ((found.activations, values), (found.gradients, gradients)):
        assert ours == pytest.approx([float(a.detach().std(correction=0)) for a in theirs])
    ratio = float((value.detach().square().mean() / x.square().mean()) ** (1 / 8))
    assert found.growth == pytest.approx(ratio)


def test_every_choice_has_a_line_in_both_charts_and_a_row() -> None:
    found, here = depth(init=3), scene("initialisation", init=3)
    lines = tags(found.html, "polyline")
    order = [kind for kind in range(len(INITS)) if kind != 3] + [3]
    assert [line["stroke"] for line in lines] == 2 * [COLOURS[kind] for kind in order]
    assert {line["stroke-width"] for line in lines[4::5]} == {"3.2"}
    head, *rows = found.rows
    assert head == ["weights", "σ", "after layer 20", "gradient at 1", ""]
    assert [row[0] for row in rows] == [f"● {name}" for name in INITS]
    assert [row[-1] for row in rows] == [
        "✗ both vanish", "✗ both vanish", "✗ both vanish", "✓ both arrive", "✗ both explode"
    ]  # fmt: skip
    deviation = float(here.trace.outputs[0].std(correction=0))
    assert rows[3][2] == markup.digits(deviation)


def test_a_large_stack_has_the_chosen_line_only() -> None:
    assert [row[0] for row in depth(n=32, m=256, init=4).rows[1:]] == ["● 1"]


@pytest.mark.parametrize(
    ("at", "said"),
    [({}, "√(m / 2) σ = √(64 / 2) × 0.0721 = 0.408 times as large (measured: 0.409)"),
     ({"g": 0}, "√m σ = √64 × 0.0721 = 0.577 times as large"),
     ({"g": 2}, "A tanh never gives more than 1"), ({"g": 3}, "A GELU is almost a ReLU"),
     ({"norm": 1}, "so that there the weights cancel as well"),
     ({"residual": 1}, "large weights still make them explode"),
     ({"residual": 1, "norm": 1}, "numbers grow slowly, and nothing vanishes")],
)  # fmt: skip
def test_it_says_why(at: dict[str, int], said: str) -> None:
    assert said in depth(**at).text


def test_what_it_says_holds() -> None:
    """Norms make gradients alike; sums keep them; a tanh keeps numbers below 1, not gradients."""
    every = {
        (residual, norm, g): [
            signal_depth._depth(scene("initialisation", residual=residual, norm=norm, g=g, init=i))
            for i in range(len(INITS))
        ]
        for residual, norm, g in ((0, 1, 1), (1, 0, 1), (1, 1, 1), (0, 0, 2))
    }
    starts = [own.gradients[0] for own in every[0, 1, 1]]
    assert max(starts) < 1.5 * min(starts)
    for own in (*every[1, 0, 1], *every[1, 1, 1]):
        assert min(own.activations) > 0.5 and min(own.gradients) > 0.5
    assert every[1, 0, 1][-1].activations[-1] > 1e12
    assert max(own.activations[-1] for own in every[1, 1, 1]) < 30
    assert max(own.activations[-1] for own in every[0, 0, 2]) < 1 < every[0, 0, 2][-1].gradients[0]


def test_numbers_that_overflow_end_their_line_with_a_cross() -> None:
    html = depth(n=60, m=128, init=4).html
    assert "✗</tspan> 1</text>" in html and "measured: overflow" not in html
    assert "overflow" in shown(DEPTH, scene("initialisation", n=60, m=128, init=4)).text


def test_a_press_on_a_row_chooses_the_weights_and_nothing_else_does() -> None:
    pick = shown(DEPTH, scene("initialisation")).pick
    with patch.object(knobs, "set_values") as put:
        for picked in ("init=4", "init=-1", "init=x", "init"):
            pick(picked)
    put.assert_called_once_with({"init": 4})


# --- The chart


def test_a_line_ends_before_what_has_no_logarithm_and_stays_in_the_picture() -> None:
    assert logarithms([10.0, float("inf"), 1.0]) == [1.0]
    assert logarithms([10.0, float("nan")]) == [1.0] and logarithms([0.0]) == []
    assert logarithms([1e-300]) == [-DECADES]
    html = log_chart("Size", {"none": ChartLine((0.0, 0.0), "red", True)}, "step")
    assert tags(html, "polyline")[0]["points"] == "" and "✗</tspan> none" in html


def test_backwards_the_last_place_is_at_the_left() -> None:
    line = {"a": ChartLine((1.0, 10.0, 100.0), "red", True)}
    one, two = (log_chart("Size", line, "step", backwards) for backwards in (False, True))
    points = [
        [tuple(map(float, p.split(","))) for p in tags(html, "polyline")[0]["points"].split()]
        for html in (one, two)
    ]
    (_, first), _, (_, last) = points[0]
    assert first > last and [y for _, y in points[1]] == [y for _, y in points[0]][::-1]
    assert all(0 <= y <= TALL for _, y in points[0])
    assert one.index(">1</text>") < one.index(">3</text>")
    assert two.index(">3</text>") < two.rindex(">1</text>")
