"""The receptive field: by formula, by gradient, and as the layers of torch have it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import ncd
from ncd.app.panels.images.receptive_field import RECEPTIVE_FIELD, observed_field
from ncd.app.scene.scene import Scene
from ncd.systems.images.convolution_layers import field_sizes, field_start, stack_of, visible_places
from ncd.systems.inputs.run_inputs import opening_inputs
from tests.app.panels.images.test_convolution_window import sent_by
from tests.app.panels.views import scene, text

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
