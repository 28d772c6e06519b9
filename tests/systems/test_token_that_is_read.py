"""The token that is read: without what the layers add, the result depends on it alone."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch

import ncd


class Reading(NamedTuple):
    """A system, the input and the output looked at, and the word that is read; None for none."""

    name: str
    input: int
    output: int
    word: int | None


READINGS = (
    Reading("vit", 0, 0, None),  # the learned token before the patches
    Reading("clip", 0, 0, None),
    Reading("clip", 1, 0, -1),
    Reading("bert", 0, 1, 0),
)
LAST = ("out.weight", "out.bias", "output.weight", "output.bias", "fc2.weight", "fc2.bias")


@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_the_result_depends_on_the_token_alone(reading: Reading) -> None:
    term = ncd.catalogue[reading.name].build()
    module = ncd.compile(term, 0)
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if name.endswith(LAST):  # of attention and feed-forward: they add nothing now
                weight.zero_()
    inputs = ncd.example_inputs(term, 0)

    def result(changed: torch.Tensor) -> torch.Tensor:
        made = module(*inputs[: reading.input], changed, *inputs[reading.input + 1 :])
        return made[reading.output] if isinstance(made, tuple) else made

    before = inputs[reading.input]
    if reading.word is None:
        torch.testing.assert_close(result(before + 1), result(before), rtol=0, atol=1e-6)
        return
    changed = (before + 1) % 2  # words 0 and 1, whatever they were
    changed[..., reading.word] = before[..., reading.word]
    torch.testing.assert_close(result(changed), result(before), rtol=0, atol=1e-6)
    changed[..., reading.word] += 1
    assert not torch.allclose(result(changed), result(before), atol=1e-3)
