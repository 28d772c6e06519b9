"""The Values panel: statistics of an array, where it comes from, and its map."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

from ncd.app.figure import picked_cell
from ncd.app.panels.walk import values
from ncd.app.panels.walk.values import BINS, VALUES, statistics, statistics_html
from ncd.language.axes import Array
from tests.app.panels.views import inside, scene, shown, tags, text

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize(
    ("numbers", "mean", "spread", "ends", "masked", "undefined"),
    [
        ([1.0, 3.0], 2, 1, (1, 3), 0, 0),
        ([5.0], 5, 0, (5, 5), 0, 0),
        ([1.0, 3.0, -INF], 2, 1, (1, 3), 1, 0),
        ([1.0, 3.0, INF], 2, 1, (1, 3), 0, 1),
        ([1.0, 3.0, NAN, -INF, -INF, INF], 2, 1, (1, 3), 2, 2),
        ([-INF, -INF], 0, 0, (0, 0), 2, 0),
        ([NAN], 0, 0, (0, 0), 0, 1),
    ],
)
def test_statistics_are_those_of_the_finite_numbers(
    numbers: list[float], mean: float, spread: float, ends: object, masked: int, undefined: int
) -> None:
    found = statistics(torch.tensor(numbers))
    assert (found.mean, found.deviation) == (mean, spread)
    assert (found.smallest, found.largest) == ends
    assert (found.masked_count, found.undefined_count) == (masked, undefined)
    finite = len(numbers) - masked - undefined
    assert sum(found.bins) == finite and len(found.bins) == (BINS if finite else 0)
    assert found.different == 0


def test_the_first_and_the_last_bin_hold_the_ends() -> None:
    found = statistics(torch.tensor([0.0, 0.0, 0.0, 1.0]))
    assert (found.bins[0], found.bins[-1], sum(found.bins)) == (3, 1, 4)


def facts(array: str, tensor: torch.Tensor) -> dict[str, str]:
    html = statistics_html(Array.parse(array), statistics(tensor))
    names = [text(name) for name in inside(html, "dt")]
    return dict(zip(names, map(text, inside(html, "dd")), strict=True))


def test_whole_numbers_say_how_many_are_different_and_real_ones_their_mean() -> None:
    assert facts("y:3#v:2000", torch.tensor([7, 7, 1999])) == {
        "Shape": "3",
        "Numbers": "3",
        "Whole numbers below": "v = 2,000",
        "Different": "2",
        "Smallest": "7",
        "Largest": "1,999",
    }
    real = facts("y:2 m:2", torch.tensor([[1.0, 3.0], [-INF, NAN]]))
    assert real["Shape"] == "2 × 2" and real["Numbers"] == "4" and real["Mean"] == "2"
    assert [value for name, value in real.items() if name.startswith("Masked")] == ["1"]
    assert real["Infinite or no number"] == "1"
    plain = facts("()", torch.tensor(1.5))
    assert plain["Shape"] == "a number" and not [name for name in plain if "Masked" in name]
    assert "Infinite or no number" not in plain


MHA = scene("multi-head-attention", y=3, x=4, h=2, k=5)


@pytest.mark.parametrize("id", sorted(MHA.circuit.values))
def test_an_array_says_who_makes_and_who_takes_it_and_is_shown_as_it_is(id: str) -> None:
    told = shown(VALUES, replace(MHA, selected_id=id))
    makers = [cell for cell in MHA.circuit.cells if any(v.id == id for v in cell.outputs)]
    takers = [cell for cell in MHA.circuit.cells if any(v.id == id for v in cell.inputs)]
    linked = [own["data-node"] for own in tags(told.html, "span") if "data-node" in own]
    assert linked[: len(makers) + len(takers)] == [cell.id for cell in (*makers, *takers)]
    assert ("what goes in" in told.text) == (not makers)
    assert (", the output. " in told.text) == (not takers)
    assert (f"made by {makers[0].op.display_name}" in told.text) if makers else True
    tensor = MHA.trace.values[id].detach()
    assert told.map is not None
    grid = tensor.reshape(tensor.shape[0], -1) if tensor.dim() == 2 else tensor[..., 0]
    assert np.allclose(told.map.pooled_maps.maps, grid.numpy(), equal_nan=True)
    assert (told.map.ends.low < 0) == bool(tensor[tensor.isfinite()].min() < 0)


def test_without_a_selection_the_output_is_shown() -> None:
    output = MHA.circuit.outputs[0].id
    (title,) = [own["data-array"] for own in tags(shown(VALUES, MHA).html, "h2")]
    assert title == output


def test_an_array_of_a_scan_is_said_to_be_that_of_its_last_position() -> None:
    here = scene("lstm", t=3)
    (loop,) = here.circuit.loops
    inner = {id for body in loop.bodies for id in body.values}
    made_anew = "It is made anew at every position of the scan; these are its last numbers."
    for id in sorted(here.circuit.values):
        said = shown(VALUES, replace(here, selected_id=id)).text
        assert (made_anew in said) == (id in inner), id


@pytest.mark.parametrize(
    ("positions", "shown_", "one", "index"),
    [
        ((2, 0, 0), (1, 2), (3, 4), [2, 3, 4]),
        ((-1, 0, 0), (1, 2), (3, 4), [0, 3, 4]),  # without a position it is the first
        ((0, 1, 0), (0, 2), (3, 4), [3, 1, 4]),
        ((2, 0), (1,), (0, 4), [2, 4]),
    ],
)
def test_a_picked_cell_is_a_number_of_the_slice(
    positions: tuple[int, ...], shown_: tuple[int, ...], one: tuple[int, int], index: list[int]
) -> None:
    value: Any = SimpleNamespace(id="v1")
    cut: Any = SimpleNamespace(positions=positions, picture_dims=shown_)
    focus: Any = SimpleNamespace(pooled_maps=SimpleNamespace(shape=(9, 9)))
    with (
        patch.object(picked_cell, "selected_cell", return_value=one),
        patch.object(picked_cell, "pooled_note", return_value=""),
        patch.object(picked_cell, "number_html", return_value="told") as told,
    ):
        assert values._arithmetic(scene("lora"), value, cut, focus) == "told"
    assert told.call_args.args[1:3] == ("v1", index)
