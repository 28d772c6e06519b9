"""The receptive field: by formula, by gradient, and as the layers of torch have it."""

from __future__ import annotations

import random
from base64 import b64decode
from dataclasses import replace
from io import BytesIO
from unittest.mock import patch

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.nn import functional as F

import ncd
from ncd.app.panels.images import receptive_field
from ncd.app.panels.images.receptive_field import RECEPTIVE_FIELD, SeenField, observed_field
from ncd.app.parts import heatmap
from ncd.app.scene.scene import Scene
from ncd.explain.colour_scale import ColourRange
from ncd.systems.images.convolution_layers import field_sizes, field_start, stack_of, visible_places
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs
from tests.app.panels.images.test_convolution_window import sent_by
from tests.app.panels.views import images, inside, scene, tags, text

ENTRY = ncd.catalogue["receptive-field"]
KNOBS = [
    {"n": 4},
    {"n": 2, "k": 2, "s": 2, "x": 17},
    {"n": 3, "k": 5, "s": 3, "x": 40},
    {"n": 3, "k": 3, "d": 2, "x": 21},
    {"n": 5, "double": 1, "x": 64},
    {"n": 3, "k": 1, "s": 2, "x": 16},
    {"n": 1, "k": 6, "s": 3, "d": 4, "x": 16},
]


def page(**knobs: int) -> Scene:
    own = scene("receptive-field", **knobs)
    return replace(own, inputs_spec=opening_inputs(own.entry, own.term, own.settings))


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
def test_the_gradient_is_where_the_formula_says(knobs: dict[str, int]) -> None:
    """In double precision: what is exactly 0 is what a number does not depend on."""
    own, draw = page(**{"f": 2, **knobs}), random.Random(0)
    stack = stack_of(**own.settings)
    module = ncd.compile(own.term, 5).double()
    (x,) = (each.double().requires_grad_() for each in own.inputs)
    side = own.term.cod[0][-1].shape[0]
    for place in {0, side // 2, side - 1, draw.randrange(side)}:
        (gradient,) = torch.autograd.grad(module(x)[0, place, place], x)
        rows = gradient[0].abs().sum(1).nonzero().flatten().tolist()
        assert rows == sorted(visible_places(stack, own.settings["x"], place)[0])
        first = field_start(stack, place)
        last = first + field_sizes(stack)[-1] - 1
        if first >= 0 and last < own.settings["x"]:
            assert (rows[0], rows[-1]) == (first, last)


@pytest.mark.parametrize("knobs", KNOBS[:4], ids=str)
def test_the_panel_finds_both_equal(knobs: dict[str, int]) -> None:
    own = page(**knobs)
    side = own.term.cod[0][-1].shape[0]
    found = observed_field(own, (side // 2, side - 1))
    assert found.equal and found.formula.any() and not found.formula.all()
    other = replace(found, gradient=np.zeros_like(found.gradient))
    assert not other.equal


def test_it_is_a_stack_of_layers_of_torch() -> None:
    settings = ENTRY.settings({"n": 3, "k": 3, "s": 2, "d": 1, "double": 1, "x": 20, "f": 3})
    term = ENTRY.build(**settings)
    module = ncd.compile(term, 2)
    layers = nn.Sequential(
        *(
            nn.Conv2d(1 if i == 0 else 3, 3, 3, one.stride, one.padding, one.dilation)
            for i, one in enumerate(stack_of(**settings))
        )
    )
    pairs = zip(layers.parameters(), module.parameters(), strict=True)
    with torch.no_grad():
        for theirs, ours in pairs:
            theirs.copy_(ours)
    (x,) = ncd.example_inputs(term, 1)
    one, two = x.clone().requires_grad_(), x.clone().requires_grad_()
    torch.testing.assert_close(module(one), layers(two))
    found = torch.autograd.grad(module(one).square().sum(), (one, *module.parameters()))
    wanted = torch.autograd.grad(layers(two).square().sum(), (two, *layers.parameters()))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("preset", "side"), [("vgg-two", 5), ("vgg-three", 7), ("context-module", 63)]
)
def test_a_published_stack_sees_what_is_published(preset: str, side: int) -> None:
    settings = ENTRY.settings(ENTRY.preset(preset).knobs)
    assert field_sizes(stack_of(**settings))[-1] == side


def test_what_is_sent_says_the_field_and_that_both_agree() -> None:
    own = page()
    data = sent_by(RECEPTIVE_FIELD, own)
    assert (data["field"], data["jump"], data["first"], data["at"]) == (9, 1, -4, (16, 16))
    said = text(str(data["foot"]))
    assert "The field is 9 × 9. ✓ By formula and by gradient it is the same 81 pixels" in said
    assert sent_by(RECEPTIVE_FIELD, own, seen_from="99.0")["at"] == (31, 0)


# --- what is sent ---------------------------------------------------------------------------------


def opacities(address: str) -> np.ndarray:
    """The opacity of every pixel of an image in an address."""
    data = b64decode(address.partition(",")[2])
    return np.asarray(Image.open(BytesIO(data)).convert("RGBA"))[..., 3]


@pytest.mark.parametrize("knobs", KNOBS[:4], ids=str)
def test_the_layers_are_rows_of_cells_and_each_adds_to_the_field(knobs: dict[str, int]) -> None:
    own = page(**{"f": 2, **knobs})
    stack, side = stack_of(**own.settings), own.settings["x"]
    data = sent_by(RECEPTIVE_FIELD, own)
    at = own.term.cod[0][-1].shape[0] // 2
    assert data["at"] == (at, at)
    lines = [torch.empty(1, 1, side, device="meta")]
    for layer in stack:
        weight = torch.empty(1, 1, layer.kernel, device="meta")
        lines.append(F.conv1d(lines[-1], weight, None, layer.stride, layer.padding, layer.dilation))
    html, seen = str(data["layers"]), visible_places(stack, side, at)
    cells = tags(html, "rect")
    for level, (line, lit) in enumerate(zip(lines[::-1], seen[::-1], strict=True)):
        row, size = [cell for cell in cells if cell["y"] == str(2 * level)], line.shape[-1]
        assert [cell["class"] == "lit-cell" for cell in row] == [i in lit for i in range(size)]
        ends = [(float(cell["x"]), float(cell["width"])) for cell in row]
        wide = side / size
        for i, end in enumerate(ends):
            assert end == pytest.approx((i * wide + 0.05, wide - 0.1), abs=0.006)
    assert f'viewBox="0 0 {side} {2 * len(lines)}"' in html
    assert f"it sees {len(seen[0])} places" in html
    rows = [[text(own) for own in inside(row, "td")] for row in inside(html, "tr")][1:]
    before, jump = 1, 1
    for n, (layer, row) in enumerate(zip(stack, rows, strict=True), 1):
        field = before + layer.dilation * (layer.kernel - 1) * jump
        adds = f"{before} + {layer.dilation}·{layer.kernel - 1}·{jump}"
        assert row == [str(n), adds, str(field)]
        before, jump = field, jump * layer.stride
    assert (before, jump) == (data["field"], data["jump"])
    for limit, drawn in ((side, True), (side - 1, False)):
        with patch.object(receptive_field, "WIDEST", limit):
            assert ("<svg" in receptive_field.layer_rows(stack, side, at)) == drawn


def test_the_heat_is_the_gradient_and_the_map_is_the_first() -> None:
    own = page(f=2, n=2, x=16)
    data, found = sent_by(RECEPTIVE_FIELD, own), observed_field(own, (8, 8))
    share = np.sqrt(found.gradient / found.gradient.max())
    wanted = np.where(found.gradient > 0, np.round(255 * (0.25 + 0.75 * share)), 0)
    assert opacities(str(data["heat"])).tolist() == wanted.tolist()
    assert not opacities(receptive_field._heat_address(np.zeros((2, 2), np.float32))).any()
    first = own.trace.outputs[0][0].numpy()
    ends = ColourRange.from_numbers(first, signed=True)
    assert data["made"] == heatmap.data_url(first, ends, heatmap.scale(True))
    (picture,) = images(f'<img src="{data["taken"]}">')
    assert picture[..., 0].tolist() == np.round(255 * own.inputs[0][0].numpy()).tolist()
    plain = replace(own, inputs_spec=InputSpec()).inputs[0][0].numpy()
    address = receptive_field._input_address(replace(own, inputs_spec=InputSpec()))
    signed = ColourRange.from_numbers(plain, signed=True)
    assert address == heatmap.data_url(plain, signed, heatmap.scale(True))


def test_what_counts_most_is_a_quarter_and_numbers_too_small_are_said() -> None:
    stack = stack_of(**ENTRY.settings({"n": 1, "k": 3}))
    seen = np.zeros((5, 5), bool)
    seen[1:4, 1:4] = True
    gradient = np.where(seen, np.float32(1), np.float32(0))
    gradient[2, 2], gradient[1, 1] = 6, 0  # 13 in all, and the largest two of nine have 7
    said = text(receptive_field._formula_and_gradient(SeenField(seen, gradient), stack))
    assert said == (
        "The field is 3 × 3. By formula 9 pixels, by gradient 8: some are too small for these "
        "numbers; the quarter that counts most has 54 % of the gradient."
    )
    one = SeenField(np.eye(1, dtype=bool), np.full((1, 1), 0.5, np.float32))
    said = text(receptive_field._formula_and_gradient(one, stack))
    assert "it is the same 1 pixels; the quarter that counts most has 100 %" in said
