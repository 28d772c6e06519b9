"""SwiGLU against plain torch, and the sizes of published models."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.language_models.gates import parts
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["swiglu"]
SIZES = ({"m": 5, "d": 7, "t": 4}, {"m": 1, "d": 1, "t": 1}, {"m": 6, "d": 2, "t": 3})


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equation 6: (Swish(x W) ⊗ x V) W₂."""
    return module.W2(F.silu(module.W(x)) * module.V(x))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


def test_the_panel_shows_what_ran() -> None:
    found = parts(scene("swiglu"))
    torch.testing.assert_close(found["product"], found["gate"] * found["value"])
    assert found["gate"].min() > -0.3  # the least that SiLU gives is about -0.28


def test_a_layer_of_llama_has_the_published_parameters() -> None:
    cost = ncd.cost(ENTRY.build(**ENTRY.preset("llama-2-7b").knobs))
    assert cost.parameters == 3 * 4096 * 11008
