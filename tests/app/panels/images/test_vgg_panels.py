"""Where the weights and the work of VGG stand, and what small windows see."""

from __future__ import annotations

import re

import pytest
from torch import nn

import ncd
from ncd.app.panels.images.vgg_weights import SMALL_WINDOWS, WEIGHTS_AND_WORK
from tests.app.panels.views import scene, shown, tags

STAGES = [f"stage {i}" for i in range(1, 6)]
DENSE = ["fc1", "fc2", "fc3"]


def lengths(html: str) -> list[float]:
    """The pieces of both bars, in percent."""
    return [float(n) for n in re.findall(r"flex:0 0 ([\d.]+)%", html)]


@pytest.mark.parametrize("settings", [{}, {"depth": 0, "n": 2, "m": 64, "x": 64, "y": 3}], ids=str)
def test_each_part_has_its_parameters_places_and_products(settings: dict[str, int]) -> None:
    here = scene("vgg", **settings)
    told = shown(WEIGHTS_AND_WORK, here)
    head, *rows, together = told.rows
    assert head == ["part", "parameters", "places of a map", "products"]
    assert [row[0] for row in rows] == [*STAGES, *DENSE]
    numbers = [[int(cell.replace(",", "")) for cell in row[1:]] for row in rows]
    module = ncd.compile(here.term)
    weights = {name: sum(w.numel() for w in own.parameters()) for name, own in (
        *module.named_children(), *module.classifier.named_children()
    )}  # fmt: skip
    paths = [name.replace(" ", "") for name in (*STAGES, *DENSE)]
    assert [own[0] for own in numbers] == [weights[path] for path in paths]
    x = here.settings["x"]
    assert [own[1] for own in numbers] == [*((x // 2**i) ** 2 for i in range(5)), 1, 1, 1]
    biases = [sum(w.numel() for w in getattr(module, path).parameters() if w.dim() == 1)
              for path in paths[:5]]  # fmt: skip
    for own, bias in zip(numbers, biases, strict=False):
        assert own[2] == own[1] * (own[0] - bias)  # each weight at each place
    assert sum(own[2] for own in numbers) * 2 == here.cost.flops
    cost = here.cost
    assert together == ["together", f"{cost.parameters:,}", "", f"{cost.flops // 2:,}"]


def test_the_bars_are_as_long_as_the_shares_and_the_sentence_says_them() -> None:
    here = scene("vgg")
    told = shown(WEIGHTS_AND_WORK, here)
    found = [ncd.cost(here.term).parameters, ncd.cost(here.term).flops // 2]
    table = [[int(cell.replace(",", "")) for cell in row[1:]] for row in told.rows[1:-1]]
    shares = [[own[i] / whole for own in table] for i, whole in zip((0, 2), found, strict=True)]
    assert lengths(told.html) == [round(100 * n, 2) for own in shares for n in own]
    bars = [own["aria-label"] for own in tags(told.html, "div") if own.get("role") == "img"]
    assert [bar.partition(":")[0] for bar in bars] == ["parameters", "products"]
    assert bars[0].endswith(", fc1 70 %, fc2 16 %, fc3 0.61 %")
    assert (
        "The first dense map has 70 % of the parameters and 0.61 % of the work; the convolutions "
        "have 14 % and 99 %." in told.text
    )
    nodes = [own["data-node"] for own in tags(told.html, "span") if "data-node" in own]
    assert (
        nodes == [own["data-select"] for own in tags(told.html, "tr") if "data-select" in own] * 2
    )
    known = {f.id for f in here.circuit.fences} | {c.id for c in here.circuit.cells}
    assert {*nodes} <= known and len({*nodes}) == 8


@pytest.mark.parametrize(("n", "side", "more"), [(2, 5, 39), (3, 7, 81), (4, 9, 125)])
def test_small_windows_see_as_much_with_fewer_weights(n: int, side: int, more: int) -> None:
    """Simonyan and Zisserman 2015: three of 3 × 3 beside one of 7 × 7, which has 81 % more."""
    here = scene("vgg", n=2)
    told = shown(SMALL_WINDOWS, here, windows=n)
    small = n * nn.Conv2d(16, 16, 3, bias=False).weight.numel()
    large = nn.Conv2d(16, 16, side, bias=False).weight.numel()
    assert told.rows == [
        ["", "weights", "number", "activations", ""],
        [f"{n} of 3 × 3", f"{n} · 3² · 16²", f"{small:,}", str(n), ""],
        [f"one of {side} × {side}", f"{side}² · 16²", f"{large:,}", "1", ""],
    ]
    assert (
        f"Both see {side} × {side} pixels. With 16 channels in and out, as in stage 5, one large "
        f"window has {more} % more weights" in told.text
    )
    widths = [float(own["width"]) for own in tags(told.html, "rect")][-2:]
    assert widths == [round(100 * small / large, 1), 100.0]
    towers = [own for own in tags(told.html, "svg") if "class" in own]
    assert [own["aria-label"].endswith(f"it sees {side} places") for own in towers] == [True, True]
    assert [own["viewBox"] for own in towers] == [f"0 0 {side + 4} {2 * (k + 1)}" for k in (n, 1)]
    pressed = [own["aria-pressed"] for own in tags(told.html, "button")]
    assert pressed == [str(k == n).lower() for k in (2, 3, 4)]
