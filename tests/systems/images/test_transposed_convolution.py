"""A transposed convolution at all its settings beside ``torch.nn``, and as a gradient."""

from __future__ import annotations

import random

import pytest
import torch
from torch import nn

import ncd
from ncd.app.panels.images.convolution_matrix import gradient_of_convolution, line_matrix
from tests.systems.images.test_convolution import assert_same_layer

ENTRY = ncd.catalogue["transposed-convolution"]
LAYERS = {1: nn.ConvTranspose1d, 2: nn.ConvTranspose2d, 3: nn.ConvTranspose3d}
PARAMETERS = {
    "unet-up": 1024 * 512 * 4 + 512,
    "dcgan-up": 512 * 256 * 16 + 256,
    "cyclegan-up": 256 * 128 * 9 + 128,
    "sam-up": 256 * 64 * 4 + 64,
    "hifi-gan-up": 512 * 256 * 16 + 256,
}
PLACES = {"unet-up": 56, "dcgan-up": 8, "cyclegan-up": 128, "sam-up": 128, "hifi-gan-up": 256}


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"k": 5, "s": 3, "p": 2, "o": 2, "d": 2, "x": 7, "c": 3, "f": 2},
        {"k": 2, "p": 0, "o": 0, "x": 9, "c": 2, "f": 3},
        {"n": 1, "k": 7, "s": 4, "p": 8, "o": 3, "x": 11, "c": 2},
        {"n": 3, "k": 2, "s": 3, "d": 3, "x": 4},
    ],
    ids=str,
)
def test_it_is_the_layer_of_torch(knobs: dict[str, int]) -> None:
    own, term = ENTRY.settings(knobs), ENTRY.build(**knobs)
    module = ncd.compile(term, seed=3)
    (x,) = ncd.example_inputs(term, 1)
    k, s, p, o, d = (own[name] for name in "kspod")
    layer = LAYERS[own["n"]](own["c"], own["f"], k, s, p, o, dilation=d)
    layer.load_state_dict({name.removeprefix("up."): w for name, w in module.state_dict().items()})
    assert_same_layer(module, layer, x)


def test_a_published_layer_has_its_published_parameters_and_places() -> None:
    assert [*PARAMETERS] == [preset.name for preset in ENTRY.presets]
    for preset in ENTRY.presets:
        term = ENTRY.build(**preset.knobs)
        assert ncd.cost(term).parameters == PARAMETERS[preset.name]
        assert set(term.cod[0][-1].shape) == {PLACES[preset.name]}


def test_it_is_the_gradient_of_a_convolution_and_its_matrix_turned_over() -> None:
    draw = random.Random(0)
    for _ in range(40):
        k, s, p, d, x, n = (
            draw.randint(*ends) for ends in ((1, 4), (1, 3), (0, 2), (1, 2), (3, 5), (1, 3))
        )
        o = draw.randrange(s)
        if (x - 1) * s - 2 * p + d * (k - 1) + o < 0:
            continue
        term = ENTRY.build(k=k, s=s, p=p, o=o, d=d, x=x, n=n, c=2, f=3)
        module = ncd.compile(term)
        (given,) = ncd.example_inputs(term)
        made = module(given) - module.get_parameter("up.bias").view(-1, *[1] * n)
        weight = module.get_parameter("up.weight").detach()
        found = gradient_of_convolution(weight, given, made.shape[-1], s, p, d)
        torch.testing.assert_close(found, made.detach(), rtol=1e-4, atol=1e-4)
        line, row = torch.randn(k), torch.randn(x)
        wanted = nn.functional.conv_transpose1d(row[None], line[None, None], None, s, p, o, 1, d)
        torch.testing.assert_close(torch.tensor(line_matrix(line, x, s, p, o, d)) @ row, wanted[0])
