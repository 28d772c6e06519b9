"""Marks and roles: each shape in one place, and nothing unknown passes in silence."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_args

import pytest

import ncd
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Point, line
from ncd.drawing.elements.style import role_colour
from ncd.drawing.lint.lint import lint
from ncd.drawing.marks.marks import MARKS, takes_cap
from ncd.drawing.pipeline import draw
from ncd.errors import LimitError, SizeError, UnknownNameError
from ncd.language.arguments import Palette
from ncd.language.axes import Signature
from ncd.language.blocks import ROLES
from ncd.language.fields import SIGNATURE, TEXT, term_field
from ncd.language.op import Glyph, Mark, Op

DRAWING = Path(ncd.__file__).parent / "drawing"


@dataclass(frozen=True, repr=False, eq=False)
class Shown(Op):
    """An op drawn as one mark over all that it takes and gives."""

    pattern: Signature = term_field(SIGNATURE)
    shape: str = term_field(TEXT, "box")
    text: str = term_field(TEXT, "f")

    @property
    def signature(self):
        return self.pattern

    def glyph(self, site):
        ins, outs = (tuple(range(sum(map(len, t)))) for t in (site.inputs, site.outputs))
        return Glyph(marks=(Mark(self.shape, self.text, ins, outs),))


def test_every_role_has_a_fill_and_no_other():
    assert set(style.PALETTES) == set(get_args(Palette))
    for name, fills in style.PALETTES.items():
        assert set(fills) == set(ROLES), name


def test_an_unknown_role_has_no_fill():
    with pytest.raises(UnknownNameError) as error:
        role_colour("softmix")
    assert str(error.value) == "fill: there is no role 'softmix'. Try softmax."


def test_an_unknown_mark_is_refused():
    with pytest.raises(UnknownNameError) as error:
        draw(Shown("a:2 -> b:3", "pentagram"))
    assert str(error.value) == "there is no mark 'pentagram'. Try pentagon."


@pytest.mark.parametrize("shape", MARKS)
def test_the_arrow_of_a_cap_leads_to_a_factor_or_to_what_takes_one_number(shape):
    glyph = Glyph(marks=(Mark("box", "f"), Mark(shape, "f")))
    assert takes_cap(glyph) == (shape == "arrow")
    assert takes_cap(glyph, alone=True) == (shape in ("arrow", "elementwise"))


@pytest.mark.parametrize("shape", MARKS)
def test_every_mark_stands_in_its_wires(shape):
    pattern = "-> c:2 d:3" if shape == "cup" else "a:2 b:3 -> c:2 d:3"
    drawing = draw(Shown(pattern, shape, "3|2T|L" if shape == "trapezoid" else "f"))
    assert lint(drawing) == []
    (glyph,) = drawing.glyphs
    assert glyph.items or shape == "cup"  # which is all wire


@pytest.mark.parametrize("shape", ["array", "bar", "box", "function", "italic", "letter", "word"])
@pytest.mark.parametrize(
    "pattern", ["a:2, b:3 c:4, d:5 -> e:2", "-> a:2 b:3", "a:2 -> b:2, c:2 d:2"]
)
def test_marks_stand_over_any_number_of_arrays(shape, pattern):
    assert lint(draw(Shown(pattern, shape, "projection"))) == []


def test_a_mark_is_as_wide_as_its_text():
    for shape in ("array", "box", "function", "italic", "letter", "load", "pentagon", "word"):
        short, long = (MARKS[shape].width(Mark(shape, text)) for text in ("f", "function of all"))
        assert long > short + 50


def test_no_interpreter_asks_what_op_it_draws():
    """But the legend, whose pictures are drawings of ops."""
    for file in set(DRAWING.rglob("*.py")) - set(DRAWING.glob("legend/*.py")):
        lines = file.read_text(encoding="utf-8").splitlines()
        code = [line for line in lines if not line.strip().startswith(">>>")]
        assert not [line for line in code if "ncd.ops" in line], file


@pytest.fixture(scope="module")
def small():
    return draw(Shown("a:2 -> b:2"))


def test_a_picture_of_more_than_100_megapixels_is_refused(small):
    with pytest.raises(LimitError) as error:
        small.png(1000)
    units = small.box.width * small.box.height
    assert str(error.value).startswith(
        f"png: at 1000 pixels a unit the picture has {units:,.0f} megapixels, more than the limit "
        "of 100. Try scale "
    )


@pytest.mark.parametrize("scale", [0, -1, float("nan"), float("inf")])
def test_a_picture_has_a_positive_scale(small, scale):
    with pytest.raises(SizeError) as error:
        small.png(scale)
    assert str(error.value) == f"png: a picture cannot have {scale} pixels a unit. Try scale 2."


def test_a_wire_may_end_in_the_open_only_where_its_op_says_nothing_of_it(small):
    whole = small.wires[0]
    start, end = whole.path[0].a, whole.path[-1].d
    broken = replace(whole, path=(line(start, Point((start.x + end.x) / 2, start.y)),))
    assert any("ends in the open" in f for f in lint(replace(small, wires=(broken,))))
    loose = replace(broken, open_ends=frozenset({"ends"}))
    assert lint(replace(small, wires=(loose,))) == []
