"""The stops of a run that is walked through: one for each op that computes something."""

from __future__ import annotations

import pytest

from ncd.circuit.elaborate import elaborate
from ncd.language.terms import Id, Term
from ncd.ops import Add, Copy, Elementwise, Param, Rename
from ncd.site.forward_steps import stops

STOPS: dict[str, tuple[Term, list[list[str]]]] = {
    "a rename first": (
        Rename("m:4 -> k") >> Elementwise("relu"),
        [["v0", "n0", "v1"], ["n1", "v2"]],
    ),
    "a rename last": (
        Id("m:4") @ Id("m:4") >> Add() >> Rename("m -> k"),
        [["v0", "v1"], ["n0", "v2", "n1", "v3"]],
    ),
    "a copy gives two arrays": (Copy("m:4") >> Add(), [["v0"], ["n0", "v1", "v2"], ["n1", "v3"]]),
    "no input": (Param("m:4", "p") >> Elementwise("relu"), [["n0", "v0"], ["n1", "v1"]]),
}


@pytest.mark.parametrize("name", STOPS)
def test_a_new_name_of_an_array_has_no_stop_of_its_own(name: str) -> None:
    term, ids = STOPS[name]
    assert [list(stop.ids) for stop in stops(elaborate(term))] == ids
