"""Limits of sizes that are computed, at their edges."""

from __future__ import annotations

from unittest.mock import patch

from ncd import Linear, elaborate
from ncd.circuit import size_solver, sized_system
from ncd.formulas.formula import parse
from ncd.language.patterns import Binding
from tests.support.limits import Limit


def test_a_power_has_so_many_bits_at_most() -> None:
    for text, bits in (("3 ** 5", 10), ("(1 / 9) ** 2", 8)):
        Limit(
            size_solver,
            "BITS",
            bits,
            lambda text=text: size_solver.evaluate(parse(text), Binding()),
            f"has more than {bits - 1} bits. Try a smaller power.",
        ).check()


def test_sizes_that_follow_from_others_are_looked_for_in_small_terms() -> None:
    term = Linear("m:8 -> k:4", "Q") >> Linear("k:4 -> n:2", "R")
    for axes, asked in ((3, True), (2, False)):
        with (
            patch.object(sized_system, "AXES", axes),
            patch.object(sized_system, "_follows", return_value=False) as follows,
        ):
            found = sized_system.parametric_term(term, elaborate(term))
        assert bool(follows.call_args_list) == asked
        assert dict(found.settings) == {"m": 8, "k": 4, "n": 2}
