"""What a fused loop is said to compute and to move is what torch counts while it runs."""

from __future__ import annotations

import pytest
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Linear, Top
from tests.rewrite.test_loop import ATTENTION

KEYS_FROM_X = Id("y:8 k:4, x:6 m:3") >> Id("y k") @ Linear("m -> k:4", "K")
PRODUCTS: dict[str, tuple[Term, dict[str, int], tuple[str, int] | None]] = {
    "a product": (Einsum("a:8 b:9, b:9 c:7 -> a c"), {"a": 3, "c": 4}, ("b", 2)),
    "attention": (Id("y:9 k:4, x:14 k:4, x:14 v:5") >> ATTENTION, {"y": 4}, ("x", 3)),
    "keys of every group": (KEYS_FROM_X >> Einsum("y k, x k -> y x"), {"y": 3}, ("x", 4)),
    "two grouped axes": (KEYS_FROM_X >> Einsum("y k, x k -> y x"), {"y": 5, "x": 2}, None),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_operations_are_those_that_torch_counts(name: str) -> None:
    """What does not depend on a grouped axis is computed again for each of its groups."""
    term, grouped, streamed = PRODUCTS[name]
    loop = ncd.stream(term, grouped, streamed)
    module = ncd.compile(term, 0)
    with FlopCounterMode(display=False) as counter:
        ncd.run_stream(loop, ncd.example_inputs(term, 0), module)
    assert counter.get_total_flops() == loop.flops


def test_whole_numbers_move_64_bits_in_every_format() -> None:
    term = Id("y:6 m:4") >> Top("m -> k:2")
    for formats, bits in ((ncd.Formats(), 32), (ncd.Formats("int8", "bfloat16"), 16)):
        loop = ncd.stream(term, {"y": 2}, formats=formats)
        assert [(move.kind, loop.bits(move.id)) for move in loop.moves] == [
            ("read", bits),
            ("write", bits),
            ("write", 64),
        ]
        assert loop.bytes_moved == (6 * 4 * bits + 6 * 2 * bits + 6 * 2 * 64) // 8
