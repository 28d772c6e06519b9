"""Derivations: each law applies, and both sides of it are equal in 64 bits."""

from __future__ import annotations

import pytest

import ncd
from ncd.rewrite.derivations import DERIVATIONS, derivation_sentence
from ncd.rewrite.law_check import compare_sides

LAST = {  # the system that comes out: parts of its text, and its share of the operations
    "linear-attention": ("Einsum('x k, x v -> k v') >> Einsum('y k, k v -> y v')", 1 / 16),
    "latent-attention": ("Einsum('y x h, x c -> y h c')", 1 / 8),
    "lora": ("Id('t m') >> Linear('m -> k', 'W')", 131_072 / 147_456),
    "merged-qkv": ("Linear('m -> f', 'qkv')", 1),
}


@pytest.mark.parametrize("name", DERIVATIONS)
def test_each_step_is_a_law_that_holds(name: str) -> None:
    derivation = DERIVATIONS[name]
    first = term = ncd.elaborate(ncd.parse(derivation.text)).term
    for step in derivation.steps:
        assert step.rewrite.is_law
        assert step.rewrite in ncd.rewrites(term, step.rewrite.at)
        assert max(compare_sides(term, step.rewrite)) < 1e-12
        term = ncd.apply(term, step.rewrite)
    part, share = LAST[name]
    assert part in ncd.spell(term)
    assert ncd.cost(term).flops <= share * ncd.cost(first).flops


@pytest.mark.parametrize("name", DERIVATIONS)
def test_each_step_has_a_sentence(name: str) -> None:
    derivation = DERIVATIONS[name]
    for n, step in enumerate(derivation.steps, 1):
        assert derivation_sentence(derivation.text, derivation.rewrites[:n]) == step.sentence
        assert step.sentence.endswith(".") and step.sentence[0].isupper()
    assert derivation_sentence(derivation.text, ()) == ""
    assert derivation_sentence("another text", derivation.rewrites[:1]) == ""
