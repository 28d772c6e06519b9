"""Each row of the table of decoders gives the model of the library `transformers`."""

from __future__ import annotations

import pytest
import torch
import transformers
from packaging.version import Version

import ncd
from ncd.read.configs.config_reader import read_config
from tests.read.configs.decoder_models import DECODERS, decoder, decoder_weights
from tests.read.configs.transformers_models import weights_of

WORDS = torch.arange(9) * 7 % 90 + 3


@pytest.mark.few(12)
@pytest.mark.parametrize("name", DECODERS)
def test_its_outputs_and_parameters_are_those_of_the_library(name: str) -> None:
    if name == "dbrx" and Version(transformers.__version__) < Version("5.15"):
        pytest.skip("its router takes the width of the experts there")
    config, theirs = decoder(name)
    model = read_config(config.to_json_string(use_diff=False))
    ours = ncd.compile(model.system(**{**model.sizes, "t": 9})).eval()
    ours.load_state_dict(decoder_weights(name, theirs, ours.state_dict()))
    with torch.no_grad():
        (wanted,) = theirs(WORDS[None], use_cache=False).logits
        assert torch.allclose(ours(WORDS), wanted, atol=1e-4, rtol=1e-4)
    count = sum(weight.numel() for weight in weights_of(theirs).values())
    assert ncd.cost(ours.term).parameters == count
