"""A drawing whose like has been drawn before is, to the byte, what it is when it is laid out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

import ncd
from ncd import (
    Axes,
    Block,
    Conv,
    Equation,
    Id,
    Index,
    Linear,
    Softmax,
    Term,
    Then,
    elaborate,
    space,
)
from ncd.drawing import layout_cache
from ncd.drawing.backends.drawing import Drawing
from tests.support.draws import Seeded
from tests.support.sampling import count, sample
from tests.support.size_pairs import outcome, resized_pair
from tools.bench.peers import layer

LOOKS: tuple[dict[str, Any], ...] = (
    {},
    {"labels": "sizes"},
    {"labels": "both", "dark": True},
    {"folded": (), "width": None},
    {"cells": True},
    {"bands": True},
)


def anew(term: Term, look: dict[str, Any]) -> tuple[Drawing, str, str]:
    layout_cache.clear_cache()
    return written(ncd.draw(term, **look))


def written(drawing: Drawing) -> tuple[Drawing, str, str]:
    return drawing, drawing.svg(), drawing.svg(fonts=False)


def after(before: Term, term: Term, look: dict[str, Any]) -> tuple[Drawing, str, str]:
    """The same when another term has been drawn and written twice."""
    layout_cache.clear_cache()
    for _ in range(2):
        written(ncd.draw(before, **look))
    return written(ncd.draw(term, **look))


@pytest.mark.parametrize("look", LOOKS, ids=str)
def test_random_terms_of_other_sizes(look: dict[str, Any]) -> None:
    for seed in range(LOOKS.index(look), count(60, 240), len(LOOKS)):
        sketch, *sizes = resized_pair(Seeded(seed))
        one, other = (outcome(sketch, given) for given in sizes)
        if not isinstance(one, str) and not isinstance(other, str):  # the sizes fit
            assert after(one.term, other.term, look) == anew(other.term, look), seed


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_every_knob_of_every_entry(entry: Any) -> None:
    for knob in sample(entry.knobs, 1, entry.name):
        every = [
            entry.with_clamped_indexes({**entry.settings({}), knob.name: n})
            for n in (knob.min, knob.max)
        ]
        one, other = (entry.build(**settings) for settings in every)
        notes, more = (entry.callouts(settings) for settings in every)
        look = {"notes": notes} if notes == more else {}
        assert after(one, other, look) == anew(other, look)


def test_large_systems_that_fold() -> None:
    one, other = (Then(*[layer(y)] * 6) for y in (7, 8))
    assert len(ncd.draw(one).glyphs) < len(elaborate(one).cells)
    assert any(glyph.cells for glyph in ncd.draw(one, folded=("Layer",)).glyphs)
    for look in ({}, {"folded": ("Layer",)}, {"folded": ("Layer",), "width": None}):
        assert after(one, other, look) == anew(other, look)


def test_an_equation() -> None:
    def both(m: int) -> Term:
        return Axes(m=m)(Equation(Linear("m -> m", "F"), Linear("m -> m", "F") >> Id("m")))

    assert after(both(3), both(4), {}) == anew(both(4), {})


def test_sizes_alone_need_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = ncd.catalogue["multi-head-attention"]
    layout_cache.clear_cache()
    ncd.draw(entry.build())
    monkeypatch.setattr("ncd.drawing.pipeline.lay", None)
    drawing = ncd.draw(entry.build(y=33))
    assert drawing.wires[0].description == "sequence axis y, size 33, of array (y m)"
    with pytest.raises(TypeError):
        ncd.draw(entry.build(causal=1))
    with pytest.raises(TypeError):
        ncd.draw(entry.build(), "sizes")


def test_what_can_be_seen_is_told_apart() -> None:
    """Terms that differ by what the layout reads; each is drawn after all the others."""
    sizes = Axes(a=2, b=3, x=space(4, 4))
    terms = [
        Linear("a -> b"),
        Linear("a -> b", "Q"),
        Linear("a -> b", bias=True),
        Linear('a"α" -> b'),
        Linear("~a -> b"),
        Linear("b -> a"),
        Linear("x -> b"),
        Block(Linear("a -> b")),
        Block(Linear("a -> b"), "Title"),
        Block(Linear("a -> b"), "Title", "linear"),
        Softmax("a") >> Linear("a -> b"),
        Equation(Linear("a -> b"), Linear("a -> b")),
        Equation(Linear("a -> b"), Linear("a -> b"), sign="≝"),
        Index("a b", a=0),
        Index("a b", a=1),
        Conv("a x -> b x", kernel=3),
        Conv("a x -> b x", kernel=1),
    ]
    sized = [term if "~" in repr(term) or '"α"' in repr(term) else sizes(term) for term in terms]
    alone = [anew(term, {})[1] for term in sized]
    layout_cache.clear_cache()
    assert [ncd.draw(term).svg() for term in sized * 3] == alone * 3


def test_a_drawing_that_is_changed_is_written_as_it_is() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    for _ in range(3):
        drawing = ncd.draw(term)
        drawing.svg()
    assert replace(drawing, dark=True).svg() == ncd.draw(term, dark=True).svg()
    assert replace(drawing, labels=()).svg().count("<text") < drawing.svg().count("<text")


def test_a_title_that_looks_like_a_gap_is_a_title() -> None:
    def titled(m: int) -> Term:
        return Block(Axes(m=m)(Softmax("m")), "⦃0⦄ ⦃2⦄")

    assert after(titled(3), titled(4), {}) == anew(titled(4), {})


def test_each_label_of_a_wire_is_named_by_what_it_shows() -> None:
    """A cast stands on the first wire's first one alone; the op that fails says so."""
    build = ncd.catalogue["multi-head-attention"].build
    look = {"bands": True, "formats": ncd.Formats(activations="bfloat16"), "mark": "n1"}
    found = after(build(h=2), build(h=3), look)
    assert found == anew(build(h=3), look)
    names = re.findall("<title>([^:;<]+)[:;][^<]*array \\(y m\\)</title>", found[2])
    assert names == ["y → bf 16", "y", "m", "m"]
    assert found[2].count("; this does not fit</title>") == 1


def test_words_are_escaped_as_everywhere() -> None:
    sketch = Block(Linear("m -> k", "Q"), "<\"&'>")
    one, other = Axes(m=2, k=3)(sketch), Axes(m=4, k=5)(sketch)
    assert after(one, other, {}) == anew(other, {})


def test_a_circuit_that_was_drawn_is_still_that_of_its_term() -> None:
    term = ncd.catalogue["multi-head-attention"].build(y=9)
    assert elaborate(term) is elaborate(term)
