"""An op spelled out in simpler ops gives what the op gives, with the same weights."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.language.axes import Type
from ncd.language.op import Sample
from ncd.language.terms import Id, Term, Then
from ncd.ops import CATALOGUE
from ncd.run.guard import compile as compiled


def inside(sample: Sample) -> Term | None:
    cell = ncd.elaborate(Then(Id(sample.dom), sample.op)).cells[0]
    return cell.op.expansion(cell.site)


SAMPLES = [sample for op in CATALOGUE for sample in op.examples()]
LIFTED = [
    Sample(ncd.Linear("k h -> m:5", "O", bias=True), "b:2 k:3 h:2", ""),
    Sample(ncd.Linear("k h -> m:5 n:2", "L"), "k:3 b:2 h:2", ""),
    Sample(ncd.Conv("c x -> d:4 y", "conv", 3, stride=2), "b:2 c:3 p:2 x:7x8", ""),
    Sample(ncd.MaxPool("x -> y"), "x:4x4 b:2 c:3", ""),
]
SPELLED = [sample for sample in (*SAMPLES, *LIFTED) if inside(sample) is not None]


@pytest.mark.parametrize("sample", SPELLED, ids=lambda s: f"{s.op!r} on {s.dom}")
def test_an_expansion_gives_the_same_values_and_gradients(sample: Sample) -> None:
    whole, spelled = Then(Id(sample.dom), sample.op), Then(Id(sample.dom), inside(sample))
    assert [array.spec for array in ncd.elaborate(spelled).term.cod] == [
        array.spec for array in ncd.elaborate(whole).term.cod
    ]
    inputs = ncd.example_inputs(whole)
    one, other = compiled(whole), compiled(spelled)
    with torch.no_grad():  # the same numbers, in the same order, in other dimensions
        for mine, its in zip(other.parameters(), one.parameters(), strict=True):
            mine.copy_(its.reshape(mine.shape))
    torch.testing.assert_close(other(*inputs), one(*inputs))
    for module in (one, other):
        module(*inputs).square().sum().backward() if [*module.parameters()] else None
    for mine, its in zip(other.parameters(), one.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, its.grad.reshape(mine.shape))


def test_these_ops_have_an_expansion() -> None:
    found = {type(sample.op).__name__ for sample in SPELLED}
    assert {"Conv", "Einsum", "Linear", "MaxPool"} <= found


@pytest.mark.parametrize(
    ("op", "on"),
    [
        (ncd.Softmax("k"), "k:3"),
        (ncd.Linear("m -> k:3", "Q"), "m:4"),
        (ncd.Einsum("i j -> i"), "i:2 j:3"),  # a sum alone
        (ncd.Einsum("i, j -> i j"), "i:2, j:3"),  # a product alone
    ],
)
def test_what_cannot_be_spelled_out_has_none(op: ncd.Op, on: str) -> None:
    assert op.expansion(op.apply_to(Type.parse(on))) is None


def test_an_einsum_is_a_product_and_then_a_sum() -> None:
    op = ncd.Einsum("i k, k j -> j i")
    spelled = op.expansion(op.apply_to(Type.parse("i:2 k:3, k:3 j:4")))
    assert spelled == ncd.Einsum("i:2 k:3, k:3 j:4 -> j:4 i:2 k:3") >> ncd.Einsum(
        "j:4 i:2 k:3 -> j:4 i:2"
    )
