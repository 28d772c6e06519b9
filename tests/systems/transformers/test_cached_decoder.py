"""A decoder that writes step by step with its cache gives what the whole sequence gives."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.app.panels.attention import kv_cache
from ncd.run.module import CircuitModule
from tests.support.sampling import sample
from tests.systems.retyped import close

NAMES = ("decoder-only-block", "decoder-block", "encoder-decoder")
DECODER = ncd.catalogue[NAMES[0]]
SIZES = {"h": 3, "k": 5, "d": 8}


@pytest.mark.parametrize(
    ("name", "n", "t", "prenorm"),
    sample([(name, *nt, pre) for name in NAMES for nt in ((1, 2), (3, 4)) for pre in (0, 1)], 6),
)
def test_every_step_gives_its_row_of_the_whole(name: str, n: int, t: int, prenorm: int) -> None:
    """Of an encoder's positions the keys and values are made at the first step, and stay."""
    knobs = {**SIZES, "n": n, "prenorm": prenorm} | ({} if name == NAMES[0] else {"s": 4})
    whole = ncd.compile(ncd.catalogue[name].build(t=t, **knobs), seed=3)
    x, *memory = ncd.example_inputs(whole.term, seed=4)
    expected, kept = whole(x, *memory), tuple(memory)
    for i in range(t):
        step = ncd.compile(ncd.catalogue[name].build(t=i + 1, cache=1, **knobs))
        borrow(step, whole)
        run = ncd.trace(step, x[i : i + 1], *kept)
        close(run.outputs[0], expected[i : i + 1])
        kept = tuple(run.values[id] for id in kv_cache.cached_arrays(step.circuit))
        own = [(i + 1, 3, 5)] * 2
        assert [tuple(a.shape) for a in kept] == (own + [(4, 3, 5)] * 2 * len(memory)) * n


def borrow(step: CircuitModule, whole: CircuitModule) -> None:
    """Gives a step the weights of the whole: it has them all but those for what is kept."""
    own = step.state_dict()
    step.load_state_dict({name: w for name, w in whole.state_dict().items() if name in own})
    assert all(".k." in n or ".v." in n or "encoder" in n for n in whole.state_dict().keys() - own)


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_step_of_a_decoder_costs_the_same_each_time_but_for_its_scores(name: str) -> None:
    """And nothing for the encoder or its positions but their scores."""
    build = ncd.catalogue[name].build
    steps = [ncd.cost(build(t=t, s=4, cache=1, n=1, **SIZES)).flops for t in (2, 3, 4)]
    assert steps[1] - steps[0] == steps[2] - steps[1] == 2 * 2 * 3 * 5
    more = ncd.cost(build(t=2, s=5, cache=1, n=1, **SIZES)).flops
    assert more - steps[0] == 2 * 2 * 3 * 5


def test_a_step_costs_one_position_and_its_scores() -> None:
    """Scores and mixtures take 2 FLOPs for each position, head and feature, the rest is fixed."""
    knobs = {**SIZES, "n": 1}
    steps = [ncd.cost(DECODER.build(t=t, cache=1, **knobs)).flops for t in (2, 3, 4)]
    assert steps[1] - steps[0] == steps[2] - steps[1] == 2 * 2 * 3 * 5
    whole = [ncd.cost(DECODER.build(t=t, **knobs)).flops for t in (2, 4)]
    assert whole[1] > 2 * whole[0]


def test_the_gradient_of_a_step_is_that_of_the_row() -> None:
    """Of the last position; the keys and values before it are given."""
    whole = ncd.compile(DECODER.build(n=1, t=4, **SIZES), seed=3)
    (x,) = ncd.example_inputs(whole.term, seed=4)
    run = ncd.trace(whole, x)
    before = [run.values[c.outputs[0].id][:3] for c in whole.circuit.cells if c.name in ("k", "v")]
    step = ncd.compile(DECODER.build(n=1, t=4, cache=1, **SIZES))
    step.load_state_dict(whole.state_dict())
    last = x[3:].clone().requires_grad_()
    ours = torch.autograd.grad(step(last, *(a.detach() for a in before)).square().sum(), last)[0]
    given = x.clone().requires_grad_()
    theirs = torch.autograd.grad(whole(given)[3].square().sum(), given)[0]
    close(ours[0], theirs[3])
