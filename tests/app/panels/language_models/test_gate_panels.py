"""Gates, and updates that are merged into a weight, as their panels show them."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from ncd.app.panels.language_models import gates, merged_weights
from ncd.app.panels.language_models.gates import (
    ENDS,
    GATE,
    GATE_MAP,
    GATES,
    TALL,
    curve,
    gate_values,
    parts,
)
from ncd.app.panels.language_models.merged_weights import MERGED_WEIGHTS
from ncd.app.state import knobs
from ncd.explain.colour_scale import ColourRange
from tests.app.panels.views import bars, scene, shown, tags

# --- gates ----------------------------------------------------------------------------------------


def test_a_gate_times_its_value_is_the_product() -> None:
    here = scene("swiglu", m=12, d=16)
    found = parts(here)
    module, x = here.module, here.inputs[0]
    assert torch.allclose(found["product"], found["gate"] * found["value"])
    assert found["gate"].shape == (len(x), 16)
    assert sum(p.numel() for p in module.parameters()) == 3 * 12 * 16
    told = shown(GATE_MAP, here)
    shut = (found["gate"].abs() < 0.05).float().mean()
    assert f"{100 * shut:.0f} % of the gates are nearer to 0 than 0.05" in told.text
    assert told.rows[1:] == [
        ["SwiGLU, here", "16", "576"],
        ["plain, as large", "24", "576"],
        ["plain, 4 m", "48", "1,152"],
        ["SwiGLU, 8/3 m", "32", "1,152"],
    ]
    for name in ("gate", "value", "product"):
        map_ = shown(GATE_MAP, here, hidden=name).map
        assert map_ is not None and map_.ends.low < 0
        assert np.array_equal(map_.pooled_maps.maps, found[name].numpy())


def test_the_curves_of_silu_and_relu_have_their_values() -> None:
    lines = [
        [tuple(map(float, point.split(","))) for point in own["points"].split()]
        for own in tags(curve(), "polyline")
    ]
    (axes,) = tags(curve(), "path")
    zero, middle = map(float, re.findall(r"M0 ([\d.]+)H260M([\d.]+) 0V120", axes["d"])[0])
    relu, silu = ([(x - middle, zero - y) for x, y in line] for line in lines)
    unit = middle / ENDS  # pixels of 1 to the right
    up = relu[-1][1] / ENDS  # and upwards
    assert relu == pytest.approx(np.array([(-middle, 0), (0, 0), (middle, 4 * up)]), abs=0.11)
    wanted = torch.nn.functional.silu(torch.tensor([x / unit for x, _ in silu]))
    assert [y / up for _, y in silu] == pytest.approx(wanted.tolist(), abs=0.01)
    assert (len(silu), silu[0][0], silu[-1][0]) == (81, -middle, middle)
    assert all(0 <= y <= TALL for line in lines for _, y in line)


def test_a_gate_near_0_counts_as_closed() -> None:
    here = scene("swiglu", t=4, m=6, d=8)
    numbers = torch.tensor([[0.0, 0.0499, -0.0499, 0.05], [1.0, -0.06, 0.2, 0.3]])
    said = gates._gate_map_summary(here, numbers)
    assert "38 % of the gates are nearer to 0 than 0.05" in said


@pytest.mark.parametrize("name", ["lstm", "gru"])
def test_gates_are_between_0_and_1_and_the_state_is_what_the_network_gives(name: str) -> None:
    here = scene(name, t=5)
    names, found = gates.WATCHED_ARRAYS[name], gate_values(here)
    assert len(names) == len(found)
    output = next(iter(here.trace.outputs)).detach().numpy()
    for at, (title, numbers) in enumerate(zip(names, found, strict=True)):
        assert numbers.shape[1] == 5
        signed = "gate" not in title
        told = shown(GATES, here, **{GATE.name: str(at)})
        assert told.map is not None and np.allclose(told.map.pooled_maps.maps, numbers)
        ends = told.map.ends
        assert (ends.low < 0) == bool(numbers.min() < 0) and (signed or numbers.min() >= 0)
        if numbers.min() >= 0:
            assert (ends.low, ends.high) == (0, 1) and numbers.max() <= 1
        assert title.capitalize() in told.text
    assert any(np.allclose(numbers.T, output, atol=1e-6) for numbers in found)


# --- a merged update ------------------------------------------------------------------------------


def test_a_map_without_negative_numbers_is_that_of_a_gate() -> None:
    assert gates._ends(np.zeros((2, 2), np.float32)) == ColourRange(0.0, 1.0, 0, 1.0)
    signed = gates._ends(np.float32([[-0.25, 0.125]]))
    assert (signed.low, signed.high) == (-0.25, 0.25)


def test_an_update_is_a_product_of_two_thin_maps() -> None:
    here = scene("lora", m=20, d=7, r=2, a=4)
    own, found = dict(here.module.named_parameters()), merged_weights.compare_merged(here)
    update = 2 * own["B.weight"] @ own["A.weight"]
    assert torch.allclose(found.update, update, atol=1e-6)
    assert torch.equal(found.map, own["W.weight"])
    assert found.output_difference < 1e-5 and found.gradients < 1e-5
    assert found.flops > found.flops_merged > 0
    told = shown(MERGED_WEIGHTS, here)
    d, m = found.map.shape
    ranks = {"1": 1, "2 (here)": 2, "4": 4}
    rows = [[name, str(r * (m + d))] for name, r in ranks.items()]
    assert [row[:2] for row in told.rows[1:]] == [*rows, ["all of W", str(m * d)]]
    counts = [m + d, 2 * (m + d), 4 * (m + d), m * d]
    assert bars(told.html) == pytest.approx([n / max(counts) for n in counts], abs=0.01)
    assert told.sliders["r"] == (1, 2, 7)
    sums = {"W": found.map, "update": found.update, "sum": found.map + found.update}
    for name, matrix in sums.items():
        map_ = shown(MERGED_WEIGHTS, here, matrix=name).map
        assert map_ is not None and np.allclose(map_.pooled_maps.maps, matrix.detach().numpy())
        assert map_.ends.low < 0


@pytest.mark.parametrize(
    ("value", "put"), [("3", 3), ("0", 1), ("999", 999), ("1000", None), ("x", None)]
)
def test_the_slider_of_a_rank_sets_its_knob(
    value: str, put: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[object] = []
    monkeypatch.setattr(knobs, "set_values", sent.append)
    merged_weights._pick("r", value)
    merged_weights._pick("s", value)
    assert sent == ([{"r": put}] if put else [])


@pytest.mark.parametrize(
    ("sizes", "ends"),
    [({"m": 2, "d": 1, "r": 1}, (1, 1, 2)), ({"m": 100, "d": 90, "r": 3}, (1, 3, 64))],
)
def test_a_rank_is_at_most_the_smaller_side(
    sizes: dict[str, int], ends: tuple[int, int, int]
) -> None:
    assert shown(MERGED_WEIGHTS, scene("lora", **sizes)).sliders["r"] == ends
