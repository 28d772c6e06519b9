"""Each optimiser's step beside that of torch.optim: parameters and states, step after step."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.app.panels.learning.optimiser_paths import LENGTH, SURFACES, new_optimiser, path
from ncd.systems.networks.optimiser_steps import COUNTS, KINDS, MUON, RATES, STATES

ENTRY = ncd.catalogue["optimisers"]


@pytest.mark.parametrize("sides", [(4, 6), (7, 3), (1, 2)], ids=str)
@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_its_steps_are_those_of_torch(kind: int, sides: tuple[int, int]) -> None:
    """Muon multiplies in bfloat16 in torch, so that its directions differ by a hundredth."""
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(sides, generator=draw)
    theirs, states = nn.Parameter(x.clone()), [torch.zeros(sides) for _ in STATES[kind]]
    rate = float(RATES[2])
    optimiser = new_optimiser(kind, theirs, rate)
    for n in range(2):  # the first two steps, for which the corrections are strongest
        gradient = torch.randn(sides, generator=draw)
        term = ENTRY.build(o=sides[0], i=sides[1], kind=kind, rate=2, n=n)
        made = ncd.compile(term)(x, gradient, *states)
        x, *states = made if isinstance(made, tuple) else (made,)
        theirs.grad = gradient
        optimiser.step()
        slack = 0.03 * rate * max(1, sides[0] / sides[1]) ** 0.5 if kind == MUON else 1e-6
        torch.testing.assert_close(x, theirs.detach(), rtol=1e-5, atol=(n + 1) * slack)
    kept = [value for name, value in optimiser.state[theirs].items() if name != "step"]
    assert len(kept) == len(STATES[kind])
    for ours, own in zip(states, kept, strict=True):
        torch.testing.assert_close(ours, own)


@pytest.mark.parametrize("n", range(len(COUNTS)), ids=COUNTS)
def test_adam_corrects_its_means_for_the_step(n: int) -> None:
    x, gradient, m, v = torch.randn(4, 2, 3, generator=torch.Generator().manual_seed(1))
    theirs = nn.Parameter(x.clone())
    optimiser = new_optimiser(2, theirs, float(RATES[1]))
    step = torch.tensor(float(COUNTS[n]) - 1)
    optimiser.state[theirs] = {"step": step, "exp_avg": m.clone(), "exp_avg_sq": v.abs()}
    theirs.grad = gradient
    optimiser.step()
    ours, *_ = ncd.compile(ENTRY.build(o=2, i=3, n=n))(x, gradient, m, v.abs())
    torch.testing.assert_close(ours, theirs.detach())


def test_muon_makes_all_directions_about_as_long_as_each_other() -> None:
    x, gradient = torch.zeros(4, 6), torch.randn(4, 6, generator=torch.Generator().manual_seed(2))
    before = torch.linalg.svdvals(gradient)
    term = ENTRY.build(kind=MUON, rate=3)
    after, _ = ncd.compile(term)(x, gradient, torch.zeros(4, 6))
    directions = torch.linalg.svdvals(after) / float(RATES[3])
    assert before.max() / before.min() > 2
    assert directions.min() > 0.6 and directions.max() < 1.3


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=KINDS)
def test_a_path_is_made_of_steps_of_the_term(kind: int) -> None:
    start, rate = (-1.8, 1.0), float(RATES[3])
    _, ours, *_ = path(kind, "valley", start, rate)
    slope = torch.tensor([SURFACES["valley"].slope(*start)])
    term = ENTRY.build(o=1, i=2, kind=kind, rate=3)
    made = ncd.compile(term)(torch.tensor([start]), slope, *torch.zeros(len(STATES[kind]), 1, 2))
    first = made[0] if isinstance(made, tuple) else made
    torch.testing.assert_close(torch.tensor([ours]), first, atol=3e-3, rtol=1e-3)


@pytest.mark.parametrize("name", SURFACES)
def test_the_slope_of_a_surface_is_its_gradient(name: str) -> None:
    at = torch.randn(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    for point in at:
        x, y = point.requires_grad_()
        height = SURFACES[name].height(x, y)  # type: ignore[arg-type]
        (wanted,) = torch.autograd.grad(height, point)  # type: ignore[arg-type]
        assert SURFACES[name].slope(*point.tolist()) == pytest.approx(wanted.tolist())
    assert len(path(0, name, (0.1, 0.1), 0.01)) == LENGTH + 1
