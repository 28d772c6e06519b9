"""The signs of one op: those of its marks by their role and text, and those of its wires."""

from __future__ import annotations

import pytest

import ncd
from ncd import (
    Add,
    Copy,
    Einsum,
    Elementwise,
    Function,
    Id,
    Linear,
    Rename,
    Softmax,
    Swap,
    Wire,
    draw,
)
from ncd.drawing.legend.legend import SIGNS, SignPlace, legend_entries, of_mark, of_unit, wire_sign
from ncd.drawing.legend.signs import WIRE_LENGTH
from ncd.language.op import Mark
from ncd.language.terms import Term


@pytest.mark.parametrize(
    ("mark", "role", "sign"),
    [
        (Mark("bar", ins=(0, 1), outs=(0,)), "concat", "concat"),
        (Mark("bar", ins=(0,), outs=(0, 1)), "concat", "cut"),
        (Mark("bar", ins=(0, 1), outs=(0,)), "reshape", "group"),
        (Mark("bar", ins=(0,), outs=(0, 1)), "reshape", "split"),
        (Mark("bar", outs=(0, 1)), "reshape", "split"),
        (Mark("box", "★3"), "index", "convolution"),
        (Mark("box", "Roll 1"), "index", "roll"),
        (Mark("box", "Roll 1"), "neutral", "formula"),
        (Mark("box", "Top 2"), "index", "top"),
        (Mark("box", "pad"), "concat", "pad"),
        (Mark("box", "Σ"), "einsum", "cumulative"),
        (Mark("box", "a + b"), "neutral", "formula"),
        (Mark("elementwise", "D"), "", "dropout"),
        (Mark("elementwise", "R"), "", "elementwise"),
        (Mark("italic", "F^T"), "", "turned"),
        (Mark("italic", "F"), "", "letter"),
        (Mark("letter", "L_+^{Q}"), "", "affine"),
        (Mark("letter", "L^{Q}"), "", "linear"),
        *((Mark("word", text), "", sign) for text, sign in
          (("Max", "extreme"), ("Min", "extreme"), ("Σ", "sum"), ("Π", "product"), ("𝔼", "mean"))),
        (Mark("trapezoid", "3|2T|Max"), "", "transposed"),
        (Mark("triangle"), "", "softmax"),
    ],
)  # fmt: skip
def test_a_mark_is_told_by_its_shape_its_role_and_its_text(
    mark: Mark, role: str, sign: str
) -> None:
    assert of_mark(mark, role) == sign
    assert sign in SIGNS


@pytest.mark.parametrize(
    ("term", "signs"),
    [
        (Softmax("m:3"), {"softmax"}),
        (Id("y:2 m:3") >> Softmax("m"), {"softmax", "broadcast"}),
        (Id("y:2 m:3") >> Linear("m -> k:2"), {"linear", "broadcast"}),
        (Linear("m:3 -> k:2"), {"linear"}),
        (Copy("m:3"), {"copy"}),
        (Id("m:3, m:3") >> Add(), {"add"}),
        (Einsum("a:2 b:3, b c:4 -> a c"), {"cap"}),
        (Einsum("a:2 h:3, b:4 h -> a b h"), {"diagonal"}),
        (Einsum("a:2 k:3 h:2, b:4 k h -> a b h"), {"cap", "diagonal"}),
        (Einsum("a:2, b:3 -> a b"), {"outer"}),
        (Einsum("a:2 b:3 -> b a"), {"transpose"}),
        (Swap("a:2", "b:3"), {"swap"}),
        (Wire("a:2, b:3 -> a"), {"drop"}),
        (Id("a:2") >> Rename("a -> b"), {"rename"}),
        (Id("a:2 c:3") >> Rename("a -> b"), {"rename"}),
        (Wire("a:2, b:3 -> b, a"), {"swap"}),
        (Wire("a:2, b:3 c:4 -> b c, a"), {"swap"}),
        (Id("a:2") >> Elementwise("relu"), {"elementwise"}),
    ],
    ids=lambda part: ", ".join(sorted(part)) if isinstance(part, set) else str(part),
)
def test_the_signs_of_an_op(term: Term, signs: set[str]) -> None:
    drawing = draw(term)
    unit = drawing.glyphs[-1].unit
    assert unit and of_unit(unit) == signs
    assert {found.sign.name for found in legend_entries(drawing)} >= signs


@pytest.mark.parametrize(
    ("term", "signs"),
    [
        (Id("m:3"), ["axis"]),
        (Id("~m:3"), ["sequence"]),
        (Id("x:3x3"), ["spatial"]),
        (Id("a:2 b:3"), ["axis", "array"]),
        (Id("a:2, b:3"), ["axis", "tuple"]),
    ],
    ids=str,
)
def test_the_signs_of_wires_alone(term: Term, signs: list[str]) -> None:
    drawing = draw(Id(term.dom) >> Elementwise("relu")) if len(term.dom) == 1 else draw(
        term >> Softmax("a") @ Softmax("b")
    )  # fmt: skip
    names = {found.sign.name: found.places for found in legend_entries(drawing)}
    kinds = {"axis", "sequence", "spatial", "array", "tuple"}
    assert {name for name in names if name in kinds} == set(signs)
    assert {wire_sign(wire) for wire in drawing.wires} == {signs[0]}


def test_places_are_told_from_left_to_right_by_their_kind() -> None:
    drawing = draw(Id("y:2 m:3, x:4") >> Softmax("m") @ Softmax("x"))
    found = {each.sign.name: each for each in legend_entries(drawing)}
    assert found["axis"].places == (
        SignPlace("axis", "y"),
        SignPlace("axis", "m"),
        SignPlace("axis", "x"),
    )
    assert found["axis"].ids("axis") == ("y", "m", "x") and found["axis"].ids("node") == ()
    assert found["array"].ids("array") == ("v0", "v2")
    assert found["tuple"].places == (SignPlace("part", "dash"),)
    assert found["softmax"].ids("node") == ("n0", "n1")
    assert found["broadcast"].ids("node") == ("n0",)


def test_a_number_and_what_stands_beside_the_circuit_have_signs() -> None:
    product = draw(Einsum("a:2, a:2 ->"))
    assert {f.sign.name: f.places for f in legend_entries(product)}["number"] == (
        SignPlace("node", "n0"),
    )
    assert "number" not in {f.sign.name for f in legend_entries(draw(Softmax("a:2")))}
    block = ncd.Block(Id("4 3") >> Function("G", "3 -> 2", "tanh"), "Rows")
    for look, sign in (({"bands": True}, "columns"), ({"cells": True}, "cells"), ({}, "fence")):
        names = [found.sign.name for found in legend_entries(draw(block, **look))]
        assert sign in names
    assert "misfit" not in names


@pytest.mark.parametrize("sign", [s for s in SIGNS.values() if s.mark], ids=lambda sign: sign.name)
def test_the_picture_of_a_mark_is_cut_to_it_and_its_wires(sign) -> None:
    drawing, box = draw(sign.term(), **sign.options), sign.picture().box
    glyph = next(
        g for g in drawing.glyphs if g.unit and sign.mark in [m.shape for m in g.unit.glyph.marks]
    )
    left, right = WIRE_LENGTH * bool(glyph.unit.ins), WIRE_LENGTH * bool(glyph.unit.outs)
    assert box == (
        glyph.hit_box.x0 - left,
        glyph.hit_box.y0,
        glyph.hit_box.x1 + right,
        glyph.hit_box.y1,
    )
