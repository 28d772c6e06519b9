"""Usual sizes of axes without one: which get them, and that those of others stay."""

from __future__ import annotations

import ncd
from ncd.circuit.default_sizes import LONG, MAX_DEFAULT_SIZES, USUAL, with_usual_sizes
from ncd.notation.term_reader import parse


def test_axes_without_a_size_get_usual_ones() -> None:
    _, known, usual = with_usual_sizes(parse('Id("~y m:8") >> Linear("m -> k", "W")'))
    assert {name: (mark.size, mark.sequence) for name, mark in usual.items()} == {
        "y": (LONG, True), "k": (USUAL, False),
    }  # fmt: skip
    assert {name: mark.size for name, mark in known.items()} == {"m": 8}
    _, known, usual = with_usual_sizes(parse('Id("a:2 b:3")'))
    assert ([*known], usual) == (["a", "b"], {})


def test_a_term_is_built_from_its_sizes_and_the_usual_ones() -> None:
    given = parse('Id("~y:5 m:8") >> Linear("m -> k", "W")')
    bare, known, usual = with_usual_sizes(given)
    assert all(axis.size is None for axis in bare.dom.axes)
    built = ncd.Axes(**known, **usual)(bare)
    assert built.dom == given.dom and built.cod.spec == f"~y:5 k:{USUAL}"


def test_so_many_axes_get_one_and_no_more() -> None:
    axes = " ".join(f"a{n}" for n in range(MAX_DEFAULT_SIZES + 5))
    _, _, usual = with_usual_sizes(parse(f'Id("{axes}")'))
    assert len(usual) == MAX_DEFAULT_SIZES
