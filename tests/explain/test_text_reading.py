"""What a language model makes of a text, against its own run and plain torch."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

import ncd
from ncd.explain.text_reading import choice_probabilities, drawn_word, read_text
from ncd.run.seeding import example_inputs
from ncd.systems.training.sequence_data import STORY_MODELS

TERM = ncd.catalogue["gpt-2"].build(n=3)
WRITERS = pytest.mark.parametrize("name", STORY_MODELS)


def read(text: torch.Tensor, n: int, term: ncd.Term = TERM):
    module = ncd.compile(term)
    with torch.no_grad():
        return module(text), read_text(module, ncd.trace(module, text), n)


@WRITERS
def test_the_last_layer_says_what_the_model_says_and_the_others_what_their_sums_give(
    name: str,
) -> None:
    term = ncd.catalogue[name].build(n=3)
    (text,) = example_inputs(term)
    scores, found = read(text, 12, term)
    assert found.layers.shape == (3, 12, 256)
    torch.testing.assert_close(found.scores, scores)
    short = ncd.catalogue[name].build(n=1)
    module = ncd.compile(short)
    own = ncd.compile(term).state_dict()  # the first layer, and the norm and table of the end
    module.load_state_dict({name: own[name] for name in module.state_dict()})
    with torch.no_grad():
        torch.testing.assert_close(found.layers[0], module(text))


@WRITERS
def test_words_behind_the_text_change_nothing_of_it(name: str) -> None:
    term = ncd.catalogue[name].build(n=3)
    (text,) = example_inputs(term)
    other = text.clone()
    other[7:] = 0
    (_, one), (_, two) = read(text, 7, term), read(other, 7, term)
    assert one.layers.shape == (3, 7, 256) and torch.equal(one.layers, two.layers)
    assert [weights.shape for weights in one.maps.values()] == [(7, 7)] * 12
    for head, weights in one.maps.items():
        assert torch.equal(weights, two.maps[head])
        torch.testing.assert_close(weights.sum(1), torch.ones(7))
        assert not weights.triu(1).any()


def test_the_probability_of_a_text_is_the_exponential_of_its_loss() -> None:
    (text,) = example_inputs(TERM)
    scores, found = read(text, 12)
    chances = torch.tensor(found.word_probabilities(text.tolist()))
    assert len(chances) == 11
    loss = F.cross_entropy(scores[:-1], text[1:])
    torch.testing.assert_close(chances.log().mean(), -loss)


@pytest.mark.parametrize("temperature", [0.1, 0.5, 1, 3])
@pytest.mark.parametrize("k", [1, 4, 50, 1000])
def test_temperature_and_k_are_those_of_plain_torch(temperature: float, k: int) -> None:
    scores = torch.randn(50, generator=torch.Generator().manual_seed(k))
    found = choice_probabilities(scores, temperature, k)
    kept = scores >= scores.sort(descending=True).values[min(k, 50) - 1]
    expected = (scores / temperature).masked_fill(~kept, float("-inf")).softmax(0)
    torch.testing.assert_close(found, expected)
    assert int((found > 0).sum()) <= k and found.argmax() == scores.argmax()


def test_a_word_is_drawn_as_often_as_it_is_likely() -> None:
    chances, random = torch.tensor([0.0, 0.25, 0.75]), torch.Generator().manual_seed(0)
    drawn = torch.tensor([drawn_word(chances, random) for _ in range(2000)])
    shares = drawn.bincount(minlength=3) / 2000
    assert shares[0] == 0 and abs(float(shares[1]) - 0.25) < 0.04
