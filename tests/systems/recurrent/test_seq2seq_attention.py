"""The encoder and decoder beside GRU layers of torch and attention written plainly."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.errors import SizeError
from ncd.systems.recurrent.seq2seq_attention import (
    LONGEST_DATE,
    READ_COUNT,
    WRITTEN_COUNT,
    WRITTEN_LENGTH,
)
from ncd.systems.training.written_dates import MONTHS, READ_SYMBOLS, WRITTEN_SYMBOLS

ENTRY = ncd.catalogue["seq2seq-attention"]
SIZES = {"s": 5, "t": 4, "m": 6, "h": 7, "a": 3, "v": 43, "w": 13}


class Reference(nn.Module):
    """Bahdanau et al. 2015, section 3.1, with an encoder that reads one way."""

    def __init__(self, m: int, h: int, a: int, v: int, w: int, attend: int, **_: int) -> None:
        super().__init__()
        self.read, self.written = nn.Embedding(v, m), nn.Embedding(w, m)
        self.encoder = nn.GRU(m, h)
        self.decoder = nn.GRUCell(m + h if attend else m, h)
        self.out = nn.Linear(h, w)
        self.attend = attend
        if attend:
            self.query = nn.Linear(h, a, bias=False)
            self.key = nn.Linear(h, a, bias=False)
            self.score = nn.Linear(a, 1, bias=False)

    def forward(self, read: Tensor, before: Tensor) -> tuple[Tensor, Tensor]:
        states, last = self.encoder(self.read(read))
        state, scores, weights = last[0], [], []
        for symbol in before:
            given = self.written(symbol)
            if self.attend:
                energies = self.score(torch.tanh(self.query(state) + self.key(states)))[:, 0]
                share = energies.softmax(0)
                weights.append(share)
                given = torch.cat((given, share @ states))
            state = self.decoder(given[None], state[None])[0]
            scores.append(self.out(state))
        return torch.stack(scores), torch.stack(weights) if weights else torch.zeros(0)


def pairs(module: nn.Module, twin: Reference) -> list[tuple[str, nn.Parameter]]:
    """The name of each weight of the circuit with that of the reference."""
    found = [
        ("encoder.E", twin.read.weight),
        ("out.weight", twin.out.weight),
        ("out.bias", twin.out.bias),
        ("decoder.steps.gru.F", twin.written.weight),
    ]
    for kind in ("weight", "bias"):
        for name in ("ih", "hh"):
            there = getattr(twin.encoder, f"{kind}_{name}_l0")
            found.append((f"encoder.steps.gru.{name}.{kind}", there))
            found.append(
                (f"decoder.steps.gru.{name}.{kind}", getattr(twin.decoder, f"{kind}_{name}"))
            )
    if twin.attend:
        for name, layer in zip("WUe", (twin.query, twin.key, twin.score), strict=True):
            found.append((f"decoder.steps.attention.{name}.weight", layer.weight))
    assert {name for name, _ in found} == dict(module.named_parameters()).keys()
    return found


@pytest.mark.parametrize("attend", [1, 0])
def test_outputs_and_gradients_are_those_of_torch(attend: int) -> None:
    torch.manual_seed(0)
    module = ncd.compile(ENTRY.build(**SIZES, attend=attend), 3)
    twin = Reference(**SIZES, attend=attend)
    own = dict(module.named_parameters())
    with torch.no_grad():
        for name, there in pairs(module, twin):
            there.copy_(own[name])
    read, before = torch.randint(43, (5,)), torch.randint(13, (4,))
    outputs = module(read, before)
    scores, weights = outputs if attend else (outputs, torch.zeros(0))
    expected = twin(read, before)
    torch.testing.assert_close((scores, weights), expected)
    pull = torch.randn(4, 13)
    more = torch.randn(weights.shape)
    ((scores * pull).sum() + (weights * more).sum()).backward()
    ((expected[0] * pull).sum() + (expected[1] * more).sum()).backward()
    for name, there in pairs(module, twin):
        assert there.grad is not None and there.grad.abs().max() > 1e-7, name
        torch.testing.assert_close(own[name].grad, there.grad, atol=1e-6, rtol=1e-5, msg=name)


def test_each_step_spreads_one_over_what_was_read() -> None:
    module = ncd.compile(ENTRY.build(**SIZES))
    _, weights = module(torch.arange(5), torch.arange(4))
    assert weights.shape == (4, 5) and bool((weights > 0).all())
    torch.testing.assert_close(weights.sum(1), torch.ones(4))


@pytest.mark.parametrize("attend", [1, 0])
def test_what_is_written_later_changes_nothing_before(attend: int) -> None:
    module = ncd.compile(ENTRY.build(**SIZES, attend=attend))

    def scores(before: list[int]) -> Tensor:
        found = module(torch.arange(5), torch.tensor(before))
        return found[0] if attend else found

    one, other = scores([1, 2, 3, 4]), scores([1, 2, 9, 4])
    assert torch.equal(one[:2], other[:2]) and bool((one[2:] != other[2:]).any(1).all())


def test_its_defaults_are_those_of_the_dates() -> None:
    longest = max(len(f"30, 1998 {month}") for month in MONTHS)
    assert (longest, len("1998-11-03")) == (LONGEST_DATE, WRITTEN_LENGTH)
    assert (len(READ_SYMBOLS), len(WRITTEN_SYMBOLS)) == (READ_COUNT, WRITTEN_COUNT)
    assert len({*READ_SYMBOLS}) == READ_COUNT and len({*WRITTEN_SYMBOLS}) == WRITTEN_COUNT


def test_fewer_symbols_than_dates_have_are_refused() -> None:
    with pytest.raises(SizeError, match=r"v is 39, but it is 40 or more\. Try v = 40\."):
        ENTRY.build(v=39)
