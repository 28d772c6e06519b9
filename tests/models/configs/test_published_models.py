"""A published configuration gives the model that `transformers` makes of it."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.models.configs.reader import read_config
from tests.models.configs.published_models import CONFIGS, our_weights, published, weights_of

T = 9


@pytest.mark.parametrize("name", CONFIGS)
def test_outputs_and_gradients_are_those_of_the_published_code(name: str) -> None:
    config, theirs = published(name)
    model = read_config(config.to_json_string(use_diff=False))
    ours = ncd.compile(model.system(**{**model.sizes, "t": T})).eval()
    ours.load_state_dict(our_weights(name, theirs, ours.state_dict()))

    words = torch.arange(T) * 7 % 90 + 3  # not the word that fills, which learns nothing
    segments = (words % 2,) if name == "bert" else ()
    more = {"token_type_ids": segments[0][None]} if segments else {"use_cache": False}
    given = theirs(words[None], **more)
    wanted = [given[0][0], *([given[1][0]] if segments else [])]
    made = ours(words, *segments)
    made = [*made] if isinstance(made, tuple) else [made]

    for a, b in zip(made, wanted, strict=True):
        assert torch.allclose(a, b, atol=1e-5, rtol=1e-4)
    _loss(made).backward()
    _loss(wanted).backward()
    assert ncd.cost(ours.term).parameters == sum(
        weight.numel() for weight in weights_of(theirs).values()
    )
    assert _gradients(ours) == pytest.approx(_gradients(theirs), rel=1e-4)


def _gradients(model: nn.Module) -> float:
    """Returns the sum of the sizes of all gradients."""
    return sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)


def _loss(outputs: list[Tensor]) -> Tensor:
    return torch.stack([(x.double() ** 2).sum() for x in outputs]).sum()
