"""Sampling beside the warpers of transformers and torch's own search: chances, draws, gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ncd
from ncd.errors import SizeError
from ncd.systems.language_models.token_sampling import RESOLUTION, SHARES, TEMPERATURES, WORD_COUNT
from ncd.systems.training.story_grammar import STORY_WORDS

ENTRY = ncd.catalogue["sampling"]
V, B = 30, 7


def warped(scores: Tensor, k: int, t: int, p: int) -> Tensor:
    """The chances of all tokens, as transformers' generation has them."""
    from transformers import (
        TemperatureLogitsWarper,
        TopKLogitsWarper,
        TopPLogitsWarper,
    )

    ids, rows = torch.zeros(1, 1, dtype=torch.long), scores[None]
    for warper in (
        TemperatureLogitsWarper(float(TEMPERATURES[t])),
        TopKLogitsWarper(k),
        TopPLogitsWarper(float(SHARES[p])),
    ):
        rows = warper(ids, rows)
    return rows[0].softmax(0)


@pytest.mark.parametrize("p", range(len(SHARES)), ids=SHARES)
@pytest.mark.parametrize("t", range(len(TEMPERATURES)), ids=TEMPERATURES)
@pytest.mark.parametrize("k", [1, 6, V])
def test_tokens_and_log_chances_are_those_of_transformers(k: int, t: int, p: int) -> None:
    """In outputs, and in the gradient of the log chances."""
    module = ncd.compile(ENTRY.build(v=V, k=k, b=B, t=t, p=p))
    scores = torch.randn(V, generator=torch.Generator().manual_seed(10 * t + p)).requires_grad_()
    z = torch.linspace(1, RESOLUTION - 1, B).long()
    tokens, logs = module(scores, z)
    chances = warped(scores, k, t, p)
    order = scores.detach().argsort(descending=True)
    sums = chances.detach()[order].cumsum(0)
    places = torch.searchsorted(sums, (z + 0.5) / RESOLUTION, right=True)
    assert torch.equal(tokens, order[places])
    torch.testing.assert_close(logs, chances[tokens].log())
    weights = torch.arange(1.0, B + 1)
    ours, theirs = (
        torch.autograd.grad((weights * made).sum(), scores, retain_graph=True)[0]
        for made in (logs, chances[tokens].log())
    )
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_tokens_are_drawn_as_often_as_their_chances_say() -> None:
    count = 40_000
    term = ENTRY.build(v=V, k=5, b=count, t=3, p=len(SHARES) - 1)
    scores, z = ncd.example_inputs(term, 3)
    tokens, _ = ncd.compile(term)(scores, z)
    shares = tokens.bincount(minlength=V) / count
    assert (shares - warped(scores, 5, 3, len(SHARES) - 1)).abs().max() < 0.012
    assert int((shares > 0).sum()) == 5


def test_a_number_however_large_falls_on_a_token_that_is_left() -> None:
    module = ncd.compile(ENTRY.build(v=V, k=6, b=2, p=0))
    tokens, logs = module(torch.linspace(0, 3, V), torch.tensor([0, RESOLUTION - 1]))
    assert tokens.tolist()[0] == V - 1 and bool(logs.isfinite().all())


def test_it_opens_with_all_words_of_the_small_model() -> None:
    assert len(STORY_WORDS) == WORD_COUNT == ENTRY.build().dom[0].numel


def test_no_more_tokens_are_kept_than_there_are() -> None:
    with pytest.raises(SizeError, match="axis k has size 11, but there are only 10 along v"):
        ENTRY.build(v=10, k=11)
