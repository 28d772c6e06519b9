"""A published configuration gives the model that `transformers` makes of it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.read.configs.config_fields import OPENING_POSITIONS
from ncd.read.configs.config_reader import read_config
from ncd.read.configs.encoder_configs import ENCODERS
from tests.read.configs.transformers_models import CONFIGS, our_weights, published, weights_of
from tests.read.torch_module.published import PICTURE

T = 9


@pytest.mark.parametrize("name", CONFIGS)
def test_outputs_and_gradients_are_those_of_the_published_code(name: str) -> None:
    config, theirs = published(name)
    model = read_config(config.to_json_string(use_diff=False))
    ours = ncd.compile(model.system(**_short(model.sizes))).eval()
    ours.load_state_dict(our_weights(name, theirs, ours.state_dict()))

    given, wanted = _both(theirs, name)
    made = ours(*given)
    made = [*made] if isinstance(made, tuple) else [made]

    for a, b in zip(made, wanted, strict=True):
        assert torch.allclose(a, b, atol=1e-5, rtol=1e-4)
    _loss(made).backward()
    _loss(wanted).backward()
    assert ncd.cost(ours.term).parameters == sum(
        weight.numel() for weight in weights_of(theirs).values()
    )
    assert _gradients(ours) == pytest.approx(_gradients(theirs), rel=1e-4)


def _short(sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns the sizes with texts of T words."""
    return {key: T if n == OPENING_POSITIONS and key in "st" else n for key, n in sizes.items()}


def _gradients(model: nn.Module) -> float:
    """Returns the sum of the sizes of all gradients."""
    return sum(float(p.grad.abs().sum()) for p in model.parameters() if p.grad is not None)


def _loss(outputs: list[Tensor]) -> Tensor:
    return torch.stack([(x.double() ** 2).sum() for x in outputs]).sum()


def _both(model: nn.Module, name: str) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the arrays that our model is given, and what the published one makes of them."""
    words = torch.arange(T) * 7 % 90 + 3  # not the word that fills, which learns nothing
    if name in ("distilbert", "electra"):  # without a vector for the whole
        sentences = {} if name == "distilbert" else {"token_type_ids": words[None] % 2}
        return [words, words % 2][: 1 + len(sentences)], [model(words[None], **sentences)[0][0]]
    if name in ENCODERS:
        made = model(words[None], token_type_ids=words[None] % 2)
        return [words, words % 2], [made[0][0], made[1][0]]
    if name == "vit":
        return [PICTURE[0]], [model(PICTURE)[0][0]]
    if name.startswith("t5"):
        made = model(words[None], decoder_input_ids=words[None] // 2, use_cache=False)
        return [words, words // 2], [made[0][0]]
    if name == "whisper":
        sound = torch.linspace(-3, 3, 8 * 2 * T).sin().view(8, 2 * T)
        made = model(sound[None], decoder_input_ids=words[None] // 2, use_cache=False)
        return [sound, words // 2], [made[0][0]]
    return [words], [model(words[None], use_cache=False)[0][0]]
