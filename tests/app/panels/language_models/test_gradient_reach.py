"""The Unrolled panel: gradients beside products of Jacobians, and what is said of them."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import torch

import ncd
from ncd.app.panels.language_models import gradient_reach as gradient_reach_panel
from ncd.app.panels.language_models.gradient_reach import UNROLLED_STEPS, gradient_reach, verdict
from ncd.app.parts import input_feed
from ncd.app.state.session import session
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.recurrent.plain_recurrence import GAINS, rnn, unrolled_rnn
from tests.app.panels.views import scene, shown, tags


def test_the_gradient_passes_the_map_and_a_slope_for_each_step() -> None:
    module = ncd.compile(rnn(t=6, m=4, h=5, gain=2), 1).double()
    x = torch.randn(6, 4, dtype=torch.double)
    with torch.no_grad():
        states = module(x)
    own = {name: weight.detach() for name, weight in module.named_parameters()}
    carried = torch.randn(5, generator=generator(3, "gradients")).double()
    sizes = []
    for state in reversed(states):
        carried = carried * (1 - state**2)
        sizes.append(float((carried @ own["rnn.ih.weight"]).norm()))
        carried = carried @ own["rnn.hh.weight"]
    expected = [size / sizes[0] for size in reversed(sizes)]
    assert gradient_reach(module, x, 3) == pytest.approx(expected, rel=1e-5)


def test_every_gain_has_its_line_and_its_row() -> None:
    at = scene("rnn")
    found = shown(UNROLLED_STEPS, at)
    _, *rows = found.rows
    for kind, (gain, row) in enumerate(zip(GAINS, rows, strict=True)):
        own = scene("rnn", gain=kind)
        share = gradient_reach(own.module, own.inputs[0], own.seed)[0]
        assert row[0] == f"● {gain}" and row[1] == markup.digits(share) and row[2] == verdict(share)
    assert [row[2] for row in rows] == ["vanished", "vanished", "arrives", "arrives", "exploded"]
    assert re.findall(r"data-pick='gain=(\d)' aria-pressed='true'", found.html) == ["1"]
    lines = tags(found.html, "polyline")
    thick = [line["stroke"] for line in lines if line["stroke-width"] == "3.2"]
    assert thick == [gradient_reach_panel.COLOURS[1]] and len(lines) == len(GAINS)


def test_the_first_steps_are_drawn_one_by_one() -> None:
    with patch.object(gradient_reach_panel, "terms_in_a_row", return_value="") as drawing:
        found, few, three = (shown(UNROLLED_STEPS, scene("rnn", t=t)) for t in (9, 2, 3))
    drawn = [call.args[0] for call in drawing.call_args_list]
    assert drawn == [(unrolled_rnn(n, 16, 32),) for n in (3, 2, 3)]
    assert "The loop unrolled, its steps: each has" in three.text
    assert "The loop unrolled, the first 3 of its 9 steps: each has" in found.text
    assert "The loop unrolled, its steps: each has" in few.text


def test_a_pressed_gain_is_the_knob() -> None:
    found = shown(UNROLLED_STEPS, scene("rnn"))
    assert found.pick is not None
    with patch.object(input_feed.st, "session_state", {}):
        found.pick("gain=4")
        assert session()["gain"] == 4


@pytest.mark.parametrize(
    ("share", "said"),
    [(0.0, "vanished"), (0.0099, "vanished"), (0.01, "arrives"), (100.0, "arrives"),
     (100.1, "exploded")],
)  # fmt: skip
def test_what_has_become_of_a_gradient(share: float, said: str) -> None:
    assert verdict(share) == said
