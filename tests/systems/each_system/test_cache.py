"""Keys and values kept from step to step give what the whole sequence gives at once."""

from __future__ import annotations

import pytest
import torch

import ncd
from tests.systems.each_system.modern import biased, cached_step, sized


@pytest.mark.parametrize("length", [2, 5, 9])
def test_steps_with_a_cache_are_the_full_pass(length: int) -> None:
    h, k = 3, 5
    whole = ncd.compile(sized(lambda: biased("$1"))(t=length, h=h, k=k), seed=4)
    (x,) = ncd.example_inputs(whole.term, seed=5)
    expected = whole(x)
    kept = [(x[:1] @ layer.weight.T).view(1, h, k) for layer in (whole.k, whole.v)]
    for i in range(1, length):
        step = ncd.compile(sized(cached_step)(s=i, h=h, k=k))
        step.load_state_dict(whole.state_dict())
        out, *kept = step(x[i : i + 1], *kept)
        torch.testing.assert_close(out[0], expected[i])
        assert [tuple(a.shape) for a in kept] == [(i + 1, h, k)] * 2
