"""An op spelled out in simpler ops gives what the op gives."""

import pytest
import torch

import ncd
from ncd.draw.lint import lint

SPELLED = [
    ("y:3 k:4 h:2, x:5 k:4 h:2", ncd.Einsum("y k h, x k h -> y x h")),
    ("y:3 k:4, x:5 k:4", ncd.Einsum("k, k ->")),
    ("y:3 m:4", ncd.Linear("m:4 -> k:3 h:2", "Q")),
    ("b:2 k:3 h:2", ncd.Linear("k:3 h:2 -> m:5", "O", bias=True)),
    ("k:3 b:2 h:2", ncd.Linear("k:3 h:2 -> m:5 n:2", "L")),
]


@pytest.mark.parametrize(("arrays", "op"), SPELLED, ids=lambda part: repr(part))
def test_an_expansion_gives_the_same_values_with_the_same_weights(arrays, op):
    whole = ncd.Id(arrays) >> op
    cell = ncd.elaborate(whole).cells[0]
    inside = cell.op.expansion(cell.site)
    spelled = ncd.Id(arrays) >> inside
    inputs = ncd.example_inputs(whole)
    one, other = ncd.compile(whole), ncd.compile(spelled)
    other.load_state_dict(one.state_dict())
    torch.testing.assert_close(other(*inputs), one(*inputs))
    assert spelled.cod == whole.cod
    assert lint(ncd.draw(inside)) == []


@pytest.mark.parametrize("op", [ncd.Softmax("k"), ncd.Linear("m:4 -> k:3", "Q")])
def test_what_cannot_be_spelled_out_has_none(op):
    site = op.site(ncd.Type.parse("k:3") if isinstance(op, ncd.Softmax) else op.dom)
    assert op.expansion(site) is None
