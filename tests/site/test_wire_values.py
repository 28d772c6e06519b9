"""Values on the wires of a page: which arrays have them, and what a byte stands for."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import numpy as np
import pytest
import torch

import ncd
from ncd.explain.thumbnails import cells_of_run
from ncd.run.guard import compile
from ncd.site import wire_values
from ncd.site.collapse_states import NO_VALUES
from ncd.site.scripts import script
from ncd.site.wire_values import opening_values, random_values, values_of_run
from ncd.systems.training.trained_weights import shipped_weights
from tests.support.javascript import called


def of(text: str, values: torch.Tensor) -> dict[str, Any]:
    """Returns the data of an array that goes in, with these numbers."""
    module = compile(ncd.Id(text))
    (found,) = values_of_run(module, ncd.trace(module, values), "").data["arrays"].values()
    return dict(found)


def shades(data: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.frombuffer(b64decode(data["cells"]), np.uint8)


def test_a_byte_is_a_place_on_the_scale_and_0_a_number_that_is_not_known() -> None:
    numbers = torch.tensor([[0.0, 1.0, 2.0], [float("inf"), 4.0, 3.0]])
    data = of("y:2 m:3", numbers)
    assert (data["painting"], data["shape"], data["signed"]) == ("map", (1, 2, 3), False)
    np.testing.assert_array_equal(shades(data), [1, 65, 128, 0, 255, 191])


def test_numbers_below_zero_have_a_scale_with_zero_in_its_middle() -> None:
    data = of("m:4", torch.tensor([-2.0, 0.0, 1.0, 2.0]))
    assert data["signed"]
    np.testing.assert_array_equal(shades(data), [1, 128, 191, 255])


def test_tiles_are_the_heads_and_stand_within_their_frame() -> None:
    found = random_values(ncd.catalogue["multi-head-attention"].build(h=4), 0)
    data, frame = found.data["arrays"]["v9"], found.frames["v9"]
    assert data["shape"] == (4, 20, 22) and len(shades(data)) == 4 * 20 * 22
    module = compile(ncd.catalogue["multi-head-attention"].build(h=4), 0)
    run = ncd.trace(module, *ncd.example_inputs(module.term))
    boxes = dict(cells_of_run(module.circuit, run))["v9"].grid.boxes
    np.testing.assert_allclose(
        data["tiles"], [(b.x0, b.y0, b.width, b.height) for b in boxes], rtol=0, atol=0.00501
    )
    for left, top, width, height in data["tiles"]:
        assert left >= 0 and left + width <= frame.width + 0.01
        assert top >= 0 and top + height <= frame.height + 0.01


def test_a_distribution_is_bars_and_a_picture_keeps_its_colours() -> None:
    data = random_values(ncd.ops.Softmax("k:5"), 0).data["arrays"]["v1"]
    assert data["painting"] == "bars" and shades(data).max() == 255
    picture = torch.zeros(3, 2, 2)
    picture[0] = 1
    data = of("c:3 x:2x2", picture)
    assert data["painting"] == "colour"
    np.testing.assert_array_equal(shades(data), [255, 0, 0] * 4)


def test_a_page_opens_with_the_weights_that_ship_and_its_example() -> None:
    entry = ncd.catalogue["lenet"]
    settings = entry.settings({})
    found, weights = opening_values(entry, settings), shipped_weights(entry, settings)
    assert weights is not None and weights.summary in found.data["said"]
    assert "digit 7" in found.data["said"].lower()
    last = found.data["arrays"][ncd.elaborate(entry.build()).outputs[0].id]
    assert shades(last).argmax() == 7


AGAIN = """
function again(told, data, dims) {
  const { cells, shape, signed, said } = thumbnailCells(told, { data, dims });
  return { cells: [...cells], shape, signed, said };
}
"""
torch.manual_seed(0)
ARRAYS = [
    ("~y:20 ~x:22 h:4", torch.rand(20, 22, 4)),
    ("~y:70 ~x:90 h:3", torch.randn(70, 90, 3)),  # pooled
    ("~x:120 h:2", torch.eye(120)[:, :2] * 9),  # pooled, with means that would hide them
    ("~y:6 m:200", torch.randn(6, 200)),  # the features with the largest numbers
    ("~y:6 k:16 h:4", torch.randn(6, 16, 4)),
    ("c:20 x:9x7", torch.randn(20, 9, 7) * torch.arange(20)[:, None, None]),  # the liveliest
    ("c:3 x:5x4", torch.rand(3, 5, 4)),
    ("c:1 x:5x4", torch.rand(1, 5, 4)),
    ("b:2 c:3 x:5x4", torch.rand(2, 3, 5, 4)),
    ("x:5x4 c:3 b:10", torch.rand(5, 4, 3, 10)),
    ("b:3 x:5x4", torch.rand(3, 5, 4)),
    ("m:300", torch.randn(300)),
    ("~y:8 m:8", torch.cat([torch.randn(63), torch.tensor([900.0])]).reshape(8, 8)),  # an outlier
    ("~y:4 m:3", torch.tensor([[float("-inf"), 1, 2]] * 4)),
]


@pytest.mark.parametrize(("text", "values"), ARRAYS, ids=[text for text, _ in ARRAYS])
def test_a_run_in_the_browser_shows_the_numbers_that_python_shows(
    text: str, values: torch.Tensor
) -> None:
    told = of(text, values)
    numbers = [n if np.isfinite(n) else None for n in values.flatten().tolist()]
    page = script("site/static/figure/thumbnail_cells.js") + AGAIN
    (found,) = called(page, "again", [(told, numbers, list(values.shape))])
    assert tuple(found["shape"]) == told["shape"] and found["signed"] == told["signed"]
    apart = np.abs(np.int16(found["cells"]) - np.int16(shades(told)))
    assert apart.max() <= 1  # numbers of 32 bits there, of 64 here
    assert (np.array(found["cells"]) == 0).sum() == (shades(told) == 0).sum()
    assert found["said"].split(" from ")[0] == told["said"].split(" from ")[0]


def test_a_run_at_other_sizes_fills_as_many_tiles_as_there_are() -> None:
    told = of("~y:3 ~x:4 h:4", torch.rand(3, 4, 4))
    page = script("site/static/figure/thumbnail_cells.js") + AGAIN
    two, six = (torch.rand(5, 6, heads) for heads in (2, 6))
    calls = [(told, x.flatten().tolist(), list(x.shape)) for x in (two, six)]
    fewer, more = called(page, "again", calls)
    assert fewer["shape"] == [2, 5, 6] and more["shape"] == [4, 5, 6]
    assert more["said"].endswith("; the first 4 of 6 pictures")


@pytest.mark.parametrize(
    ("bytes", "flops", "shown"), [(0, 0, True), (-1, 0, False), (0, -1, False)]
)
def test_a_run_at_the_limits_has_values(
    bytes: int, flops: int, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    term = ncd.Linear("y:2 m:3 -> y:2 k:4", "L")
    cost = ncd.cost(term)
    monkeypatch.setattr(wire_values, "MAX_BYTES", cost.bytes + 4 * cost.parameters + bytes)
    monkeypatch.setattr(wire_values, "MAX_FLOPS", cost.flops + flops)
    assert (random_values(term, 0) != NO_VALUES) == shown


def test_what_has_no_sizes_or_takes_long_has_no_values() -> None:
    assert random_values(ncd.Id("y m"), 0) == NO_VALUES
    assert random_values(ncd.Axes(m=40_000)(ncd.ops.Linear("m -> k:40000")), 0) == NO_VALUES
