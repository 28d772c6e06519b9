"""The LSTM and the GRU equal torch's, outputs and gradients, with and without their gates."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.func import functional_call

import ncd
from ncd.systems.recurrent.gated_cells import WATCHED_ARRAYS, with_gates

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU}
SIZES = ({"t": 5, "m": 3, "h": 4}, {"t": 1, "m": 1, "h": 2}, {"t": 7, "m": 4, "h": 1})


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", LAYERS)
def test_it_equals_torch(name: str, sizes: dict[str, int]) -> None:
    module = ncd.compile(ncd.catalogue[name].build(**sizes), seed=1).double()
    own = dict(module.named_parameters())
    theirs = {
        f"{kind}_{part}_l0": own[f"{name}.{part}.{kind}"]
        for kind in ("weight", "bias")
        for part in ("hh", "ih")
    }
    x = torch.randn(sizes["t"], sizes["m"], dtype=torch.float64, requires_grad=True)
    layer = LAYERS[name](sizes["m"], sizes["h"]).double()
    wanted, _ = functional_call(layer, theirs, (x,))
    given = module(x)
    torch.testing.assert_close(given, wanted)
    leaves = [x, *own.values()]
    pairs = (torch.autograd.grad((y * y.detach()).sum(), leaves) for y in (given, wanted))
    for one, two in zip(*pairs, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("name", LAYERS)
def test_the_gates_are_those_of_the_same_run(name: str) -> None:
    sizes = {"t": 6, "m": 3, "h": 4}
    plain, watched = ncd.compile(ncd.catalogue[name].build(**sizes)), with_gates(name, **sizes)
    module = ncd.compile(watched)
    module.load_state_dict(plain.state_dict())
    x = torch.randn(6, 3)
    arrays = dict(zip(WATCHED_ARRAYS[name], module(x), strict=True))
    arrays = {key: array.detach() for key, array in arrays.items()}
    hidden = arrays["hidden state"]
    torch.testing.assert_close(hidden, plain(x))
    gates = {key: array for key, array in arrays.items() if key.endswith("gate")}
    assert all(float(array.min()) > 0 and float(array.max()) < 1 for array in gates.values())
    if name == "lstm":
        torch.testing.assert_close(hidden, arrays["cell state"].tanh() * arrays["output gate"])
    else:
        old = torch.cat([torch.zeros(1, 4), hidden[:-1]])
        new = (hidden - gates["update gate"] * old) / (1 - gates["update gate"])
        assert bool((new.abs() <= 1 + 1e-5).all())


def test_published_sizes_have_their_weights() -> None:
    """Sutskever et al. 2014, section 3.4: 32M in four layers, here with torch's two biases."""
    entry = ncd.catalogue["lstm"]
    found = ncd.cost(entry.build(**entry.preset("seq2seq").knobs)).parameters
    assert found == 32_000_000 // 4 + 2 * 4 * 1000
    entry = ncd.catalogue["gru"]
    found = ncd.cost(entry.build(**entry.preset("rnn-encoder-decoder").knobs)).parameters
    assert found == 3 * 1000 * (100 + 1000) + 2 * 3 * 1000
