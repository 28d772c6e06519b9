"""A convolution at all its settings beside ``torch.nn``: outputs, gradients, published counts."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.systems.images.convolution_layers import PADDING_MODES

ENTRY = ncd.catalogue["convolution"]
LAYERS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
PARAMETERS = {
    "lenet-conv1": 156,  # LeCun et al. 1998, section II.B
    "alexnet-conv1": 64 * (3 * 11 * 11 + 1),
    "resnet-conv1": 9_408 + 64,  # with the bias that the network leaves out
    "vit-patches": 590_592,
    "mobilenet-depthwise": 288 + 32,
    "cyclegan-conv1": 64 * (3 * 7 * 7 + 1),
}
PLACES = {"lenet-conv1": 28, "alexnet-conv1": 55, "resnet-conv1": 112, "vit-patches": 14}
PLACES |= {"cyclegan-conv1": 256}


def assert_same_layer(module: nn.Module, layer: nn.Module, x: torch.Tensor) -> None:
    """Compares outputs and gradients with those of a layer of torch on one example."""
    one, two = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, theirs = module(one), layer(two[None])[0]
    torch.testing.assert_close(ours, theirs)
    weigh = torch.randn_like(ours)
    found = torch.autograd.grad((ours * weigh).sum(), (one, *module.parameters()))
    wanted = torch.autograd.grad((theirs * weigh).sum(), (two, *layer.parameters()))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "knobs",
    [
        {},
        {"k": 5, "s": 3, "p": 2, "d": 2, "x": 21, "c": 3, "f": 2},
        {"k": 2, "p": 0, "x": 9, "c": 2, "f": 3, "g": 4},
        {"n": 1, "k": 7, "s": 2, "p": 8, "x": 11, "c": 2},
        {"n": 3, "k": 2, "s": 3, "p": 1, "d": 3, "x": 8, "g": 2},
        *({"mode": mode} for mode in (1, 2, 3)),
        *({"n": 1, "k": 5, "s": 2, "p": 7, "x": 8, "g": 3, "mode": mode} for mode in (1, 2, 3)),
        *({"n": 3, "k": 3, "d": 2, "p": 2, "x": 8, "c": 2, "mode": mode} for mode in (1, 2, 3)),
        {"p": 0, "mode": 1},
    ],
    ids=str,
)
def test_it_is_the_layer_of_torch(knobs: dict[str, int]) -> None:
    own = ENTRY.settings(knobs)
    term = ENTRY.build(**knobs)
    module = ncd.compile(term, seed=3)
    (x,) = ncd.example_inputs(term, 1)
    sizes = [own[name] for name in "kspdg"]
    mode = PADDING_MODES[own["mode"]]
    layer = LAYERS[own["n"]](own["g"] * own["c"], own["g"] * own["f"], *sizes, padding_mode=mode)
    layer.load_state_dict(
        {name.removeprefix("conv."): w for name, w in module.state_dict().items()}
    )
    assert_same_layer(module, layer, x)


def test_a_published_layer_has_its_published_parameters_and_places() -> None:
    assert [*PARAMETERS] == [preset.name for preset in ENTRY.presets]
    for preset in ENTRY.presets:
        term = ENTRY.build(**preset.knobs)
        assert ncd.cost(term).parameters == PARAMETERS[preset.name]
        side = PLACES.get(preset.name, 112)
        assert term.cod[0][-1].shape == (side, side)
