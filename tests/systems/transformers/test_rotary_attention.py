"""Rotary positions against complex numbers, as the paper writes them; and what a shift changes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention import position_panels
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["rotary"]
SIZES = (
    {"h": 3, "k": 6, "t": 5},
    {"h": 2, "k": 4, "t": 7, "s": 13},
    {"h": 1, "k": 2, "t": 1, "s": 1},
)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equation 12: a pair is a complex number, times e to the i m θ."""
    h, half = sizes["h"], sizes["k"] // 2
    angles = 10000.0 ** (-2 * torch.arange(half).double() / sizes["k"])
    positions = sizes["s"] + torch.arange(len(x)).double()
    turn = torch.polar(torch.ones(len(x), half).double(), positions[:, None] * angles)[:, None]

    def turned(a: Tensor) -> Tensor:
        z = torch.complex(*a.chunk(2, -1)) * turn
        return torch.cat((z.real, z.imag), -1)

    q, k, v = (f(x).unflatten(-1, (h, -1)) for f in (module.Q, module.K, module.V))
    heads = (a.transpose(0, 1) for a in (turned(q), turned(k), v))
    return module.O(F.scaled_dot_product_attention(*heads).transpose(0, 1).flatten(1))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


@pytest.mark.parametrize("s", [0, 1, 200])
def test_a_shift_turns_queries_and_leaves_scores(s: int) -> None:
    found = position_panels.compare_shifted(scene("rotary", s=s))
    assert found.queries > 0.1
    assert found.scores < 1e-4 and found.outputs < 1e-4


def test_the_panel_shows_the_scores_of_the_run() -> None:
    here = scene("rotary")
    queries, keys = position_panels.rotated_queries_and_keys(here)
    cell = next(cell for cell in here.circuit.cells if cell.op.display_name.endswith("scores"))
    own = here.trace.values[cell.outputs[0].id]
    torch.testing.assert_close(own[:, :, 0], queries[:, 0] @ keys[:, 0].T)
