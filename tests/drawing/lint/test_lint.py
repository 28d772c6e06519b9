"""The lint: silent on sound drawings, each rule sees the fault that is planted in one."""

from __future__ import annotations

from dataclasses import replace

import pytest

import ncd
from ncd import Id, Softmax
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math
from ncd.drawing.elements.primitives import Curve, Point, Rectangle, Text, line
from ncd.drawing.lint.lint import lint
from tests.drawing.hard_terms import TERMS
from tests.drawing.lint.planted_faults import dashed, middle, sees, shown, wire


@pytest.mark.parametrize("name", ["attention", "plain", "turned", "product"])
def test_sound_drawings_have_no_lint(name, request):
    assert lint(request.getfixturevalue(name)) == []


# --- names and marks ------------------------------------------------------------------------------


def test_lint_sees_two_labels_on_one_place(attention):
    first, second, *rest = attention.labels
    moved = replace(attention, labels=(first, replace(second, position=first.position), *rest))
    assert any("overlap" in fault and "labels" in fault for fault in lint(moved))


def test_lint_sees_a_label_on_a_foreign_wire(attention):
    label = attention.labels[0]
    foreign = next(w for w in attention.wires if w.array != label.array).path[0].a
    moved = replace(attention, labels=(replace(label, position=Point(foreign.x, foreign.y + 5)),))
    assert any("lies on a wire" in fault for fault in lint(moved))


def test_lint_sees_a_label_on_a_glyph(attention):
    box = next(g for g in attention.glyphs if g.node == "n1").ink[0]
    moved = replace(
        attention, labels=(replace(attention.labels[0], position=Point(box.x0, box.y1)),)
    )
    assert any("lies on the glyph of n1" in fault for fault in lint(moved))


def test_lint_sees_two_glyphs_on_one_place(attention):
    one, two, *rest = attention.glyphs
    moved = replace(attention, glyphs=(one, replace(two, ink=one.ink), *rest))
    assert any("glyphs of n0" in fault and "overlap" in fault for fault in lint(moved))


def test_lint_sees_a_gap_a_loose_end_and_a_missing_wire(attention):
    whole = wire(attention, "v4", "k")
    others = tuple(w for w in attention.wires if w is not whole)
    for path, fault in (
        (whole.path[:1] + whole.path[2:], "has a gap"),
        (whole.path[2:], "begins in the open"),
        ((), "is not drawn"),
    ):
        broken = replace(attention, wires=(*others, replace(whole, path=path)))
        assert any(fault in found for found in lint(broken)), fault


def test_lint_sees_wires_that_cross_for_no_reason(attention):
    top, other = wire(attention, "v0", "y"), wire(attention, "v1", "x")
    swapped = replace(
        top,
        path=tuple(c._replace(d=Point(c.d.x, 500.0), c=Point(c.c.x, 500.0)) for c in top.path[:1]),
        taken_by="",
        made_by="",
    )
    crossing = replace(attention, wires=(swapped, replace(other, path=other.path)))
    assert any("cross" in fault for fault in lint(crossing))


def test_lint_sees_what_is_cut_off(attention):
    small = replace(attention, box=attention.box._replace(x1=attention.box.x1 - 60))
    assert any("is cut off" in fault for fault in lint(small))


def test_lint_sees_a_dashed_line_that_is_cut_off(attention):
    y = attention.box.y1
    planted = dashed(attention, Point(100, y - 3), Point(150, y + 3))
    sees(planted, "a dashed line is cut off")


def test_lint_sees_fences_that_overlap(attention):
    one, two, *rest = attention.fences
    aside = two.box._replace(x0=one.box.x0 - 20, x1=one.box.x0 + 20)
    sees(replace(attention, fences=(one, replace(two, box=aside), *rest)), "the fences")


def test_lint_sees_a_border_that_runs_through_a_mark_or_a_name(attention):
    fence, ink, name = attention.fences[-1], attention.glyphs[-1].ink[0], attention.labels[0]
    for box, fault in ((ink, f"runs through the glyph of {attention.glyphs[-1].node}"),
                       (name.box, f"runs through label {name.label.words!r}")):  # fmt: skip
        cut = Rectangle(middle(box).x, box.y0 - 20, box.x1 + 20, box.y1 + 20)
        sees(replace(attention, fences=(replace(fence, box=cut),)), fault)


# --- extras ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["arrow", "cells", "note", "sign"])
def test_nothing_shown_besides_lies_on_a_mark_a_name_or_a_wire(plain, kind):
    ink, name = plain.glyphs[0].ink[0], plain.labels[0]
    at = wire(plain, "v2", "z").path[0].a
    sees(shown(plain, kind, ink.grown(1)), f"the {kind} 'planted' lies on the glyph of n0")
    sees(shown(plain, kind, name.box.grown(1)), "lies on label")
    sees(shown(plain, kind, Rectangle.from_center(at, 6)), "lies on a wire z (v2)")


def test_bands_lie_behind_all(plain):
    assert lint(shown(plain, "band", plain.box.grown(-5), behind=True)) == []


def test_an_extra_may_touch_what_it_is_about(plain):
    at = wire(plain, "v2", "z").path[-1].d
    box = Rectangle(at.x - 3, at.y - 3, at.x + 5, at.y + 3)
    assert lint(shown(plain, "arrow", box, of="v2")) == []


def test_two_extras_on_one_place(plain):
    box = Rectangle(plain.box.x0 + 2, plain.box.y1 - 8, plain.box.x0 + 20, plain.box.y1 - 2)
    one = shown(plain, "sign", box).extras[0]
    sees(replace(plain, extras=(one, replace(one, words="another"))), "'another' overlap")


def test_an_extra_that_is_cut_off(plain):
    box = Rectangle(plain.box.x1 - 5, plain.box.y1 - 5, plain.box.x1 + 5, plain.box.y1)
    sees(shown(plain, "note", box), "note 'planted' is cut off")


# --- the whole ------------------------------------------------------------------------------------


def test_a_drawing_much_higher_than_what_stands_in_it(attention):
    """All rows three times as far apart."""
    wires = tuple(
        replace(w, path=tuple(Curve(*(Point(p.x, 3 * p.y) for p in c)) for c in w.path))
        for w in attention.wires
    )
    box = Rectangle(attention.box.x0, 3 * attention.box.y0, attention.box.x1, 3 * attention.box.y1)
    sees(replace(attention, wires=wires, box=box), "high, where")


def test_a_drawing_much_wider_than_what_stands_in_it(plain):
    """The last names 200 units further right than they need to be."""
    wires = []
    for w in plain.wires:
        end = w.path[-1].d
        longer = line(end, Point(end.x + 200, end.y))
        wires.append(w if w.taken_by else replace(w, path=(*w.path, longer)))
    box = plain.box._replace(x1=plain.box.x1 + 200)
    sees(replace(plain, wires=tuple(wires), box=box), "nothing stands between")


def test_text_too_small_for_the_width(plain):
    fits = plain.box.width
    assert lint(plain, width=fits) == []
    name = plain.labels[0].label.words
    found = lint(plain, width=fits / 2)
    assert any(
        f"at {fits / 2:.0f} pixels" in fault and "are less than 11 high" in fault for fault in found
    ), (name, found)


def test_a_wide_drawing_is_not_asked_for_its_text_without_a_width(attention):
    wide = replace(attention, box=attention.box._replace(x1=10 * attention.box.x1))
    assert not any("pixels" in fault for fault in lint(wide))


# --- terms that are hard to draw ------------------------------------------------------------------


@pytest.mark.parametrize("name", TERMS)
def test_terms_that_are_hard_to_draw(name):
    assert lint(ncd.draw(TERMS[name]()), width=1280) == []


def test_a_dashed_line_beside_an_array_without_axes_is_on_the_page():
    assert lint(ncd.draw(Id("(), u:3, y:2 m:3") >> Id("()") @ Softmax("u"))) == []


def test_a_label_far_from_its_wire_is_none_of_these(plain):
    label = Text(math("q", style.NAME), Point(plain.box.x0 + 2, plain.box.y1 + 20))
    lower = plain.box._replace(y1=plain.box.y1 + 40)
    assert lint(replace(plain, labels=(*plain.labels, label), box=lower)) == []
