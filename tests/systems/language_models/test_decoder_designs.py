"""A decoder's design gives the values of the library `transformers`, beside other ones drawn."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.read.configs.config_reader import read_config
from tests.read.configs.decoder_models import DECODERS, decoder, decoder_weights

WORDS = torch.arange(7) * 5 % 90 + 3


@pytest.mark.few(16)
@pytest.mark.parametrize("name", DECODERS)
def test_a_design_has_the_values_of_the_library(name: str) -> None:
    config, theirs = decoder(name)
    model = read_config(config.to_json_string(use_diff=False))
    ours = ncd.compile(model.system(**{**model.sizes, "t": 7})).eval()
    ours.load_state_dict(decoder_weights(name, theirs, ours.state_dict()))
    with torch.no_grad():
        (wanted,) = theirs(WORDS[None], use_cache=False).logits
        torch.testing.assert_close(ours(WORDS), wanted, atol=1e-4, rtol=1e-4)
