"""The signs of the notation, each by its primitives."""

import pytest

from ncd import (
    BatchNorm,
    CausalMask,
    Conv,
    Cut,
    Einsum,
    Elementwise,
    Function,
    Id,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
    Reduce,
    RMSNorm,
    Unit,
    draw,
)
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Dot
from ncd.drawing.lint.lint import lint
from ncd.ops import CATALOGUE
from tests.drawing.sign_parts import around, only, painted, said, strokes, texts, wire

SAMPLES = [(op.__name__, sample) for op in CATALOGUE for sample in op.examples()]


@pytest.mark.parametrize(("name", "sample"), SAMPLES)
def test_every_sample_is_drawn_without_a_fault_and_legible(name, sample):
    drawing = draw(Id(sample.dom) >> sample.op if sample.dom else sample.op)
    assert lint(drawing) == []
    sizes = [span.size for text in drawing.texts for span in text.label.spans]
    assert min(sizes, default=11) >= 11


# --- letters and boxes ---------------------------------------------------------------------------


def test_a_function_of_one_array_is_a_letter_in_the_wire():
    glyph = only(draw(Id("w:4 a:3") >> Function("G", "a -> b:2")))
    (letter,) = glyph.items
    assert letter.label.words == "G"
    assert (letter.label.spans[0].face.style, letter.label.spans[0].face.weight) == ("italic", 400)


def test_a_function_of_several_arrays_is_a_box_over_all_their_wires():
    drawing = draw(Id("w:4 a:3, b:4") >> Function("H", "a, b -> c:2"))
    glyph = only(drawing)
    box = around(painted(glyph, "none")[0])
    ends = [w.path[-1].d for w in drawing.wires if w.axis in ("a", "b")]
    assert all(end.x == box.x0 and box.y0 < end.y < box.y1 for end in ends)
    assert wire(drawing, "w", 0).path[0].a.y < box.y0  # what it is broadcast over passes by


def test_the_transposed_map_has_a_t():
    glyph = only(draw(Id("b:2") >> Function("F", "b -> a:3", of="a -> b")))
    assert said(glyph) == ["F superscript T"]


def test_a_long_name_stands_beside_its_letter_and_over_its_wire():
    long = "encoder_layers_3_self_attention_out"
    drawing = draw(Id("y:5 m:8") >> Linear("m -> k:4", long, True))
    letter, name = texts(only(drawing))
    assert letter.label.words == "L sub plus"
    assert name.label.words == "encoder_layers_3…f_attention_out"
    assert name.label.spans[0].face.family == "NCD Sans"
    assert name.box.x0 > letter.box.x1
    assert name.box.y1 < wire(drawing, "k").path[0].a.y
    assert lint(drawing) == []


def test_a_short_name_stands_over_its_letter():
    assert said(only(draw(Id("m:8") >> Linear("m -> k:4", "Q")))) == ["L superscript Q"]


def test_a_learned_array_begins_its_wires_in_bold():
    drawing = draw(Param("v:5 m:3", "wte"))
    (name,) = texts(only(drawing))
    assert (name.label.words, name.label.spans[0].face.weight) == ("wte", 700)
    assert all(w.path[0].a.x == name.box.x1 + style.GAP for w in drawing.wires)


def test_a_long_formula_is_cut_in_its_box_and_whole_in_the_words():
    formula = "where($1 > 0, sin(x / 100) * $1, cos(x / 100) ** 2)"
    glyph = only(draw(Id("x:4") >> Map("x -> x", formula)))
    (text,) = said(glyph)
    assert text.endswith("to")  # as … is said
    assert formula.replace("$1", "a") in glyph.description
    box = around(painted(glyph, "neutral")[0])
    (label,) = texts(glyph)
    assert box.x0 < label.box.x0 < label.box.x1 < box.x1
    assert box.y0 < label.box.y0 < label.box.y1 < box.y1


# --- ends and beginnings -------------------------------------------------------------------------


def test_a_pentagon_ends_each_axis_that_is_indexed():
    drawing = draw(Id("y:3 m:4 h:2") >> Index("y m h", y=-1, h=0))
    glyph = only(drawing)
    first, second = (around(shape) for shape in painted(glyph, "touch"))
    for axis, box in (("y", first), ("h", second)):
        end = wire(drawing, axis).path[-1].d
        assert end.x == box.x0
        assert (box.y0 + box.y1) / 2 == end.y
    assert [(t.label.words, t.paint) for t in texts(glyph)] == [
        ("minus 1", "light"),
        ("0", "light"),
    ]


@pytest.mark.parametrize("dark", [False, True])
def test_what_is_written_on_a_pentagon_can_be_read(dark):
    assert contrast(style.paint_colour("light", dark), style.paint_colour("touch", dark)) >= 4.5


def test_a_lookup_leads_from_its_places_to_the_axis_that_it_ends():
    drawing = draw(Id("y:3#v:5, v:5 m:2") >> Index("y#v, v m -> y m"))
    glyph = only(drawing)
    arrow, pentagon = (around(shape) for shape in painted(glyph, "touch"))
    (link,) = strokes(glyph)
    assert link.path[0].a.y == wire(drawing, "y", 0).path[0].a.y  # from the wire of the places
    assert arrow.y1 == pentagon.y0
    assert wire(drawing, "v").path[-1].d.x == pentagon.x0
    assert said(glyph) == ["i sub v"]


@pytest.mark.parametrize(
    ("how", "word"),
    [
        *(("max", "Max"), ("mean", "expectation"), ("min", "Min"), ("product", "pi")),
        ("sum", "sigma"),
    ],
)
def test_each_axis_that_is_reduced_ends_in_a_word_and_an_arrow(how, word):
    drawing = draw(Id("x:3 c:4 y:2") >> Reduce("x c y -> c", how))
    glyph = only(drawing)
    assert len(said(glyph)) == len(painted(glyph, "ink")) == 2
    assert word in said(glyph)[0].lower() or word == said(glyph)[0]
    for text, axis in zip(texts(glyph), ("x", "y"), strict=True):
        assert wire(drawing, axis).path[-1].d.x == text.box.x0 - style.GAP


def test_a_unit_is_one_curve_for_both_wires():
    drawing = draw(Unit("a:3 b"))
    one, two = (wire(drawing, axis).path for axis in "ab")
    assert one[0].a == two[0].a
    assert one[0].b.x == one[0].a.x  # upright where the two meet
    assert lint(drawing) == []


def test_a_cut_is_a_bar_from_which_the_pieces_leave():
    drawing = draw(Id("d:5") >> Cut("d -> p:2, q"))
    bar = around(painted(only(drawing), "ink")[0])
    assert wire(drawing, "d").path[-1].d.x == bar.x0
    assert all(wire(drawing, axis).path[0].a.x == bar.x1 for axis in "pq")


# --- norms, masks, scalars -----------------------------------------------------------------------


def test_norms_are_told_apart_without_colour():
    batch, layer, rms = (
        only(draw(term))
        for term in (
            Id("b:4 c:3") >> BatchNorm("b c"),
            Id("c:3") >> LayerNorm("c"),
            Id("c:3") >> RMSNorm("c"),
        )
    )
    assert [type(item) for item in batch.items] == [Dot]
    assert len(strokes(layer)) == 1  # the bar
    assert not texts(layer)
    assert said(rms) == ["rms"]


def test_a_layer_norm_of_several_axes_takes_all_of_them():
    drawing = draw(Id("y:2 m:5") >> LayerNorm("y m"))
    box = only(drawing).ink[0]
    for axis in ("y", "m"):
        assert wire(drawing, axis, 0).path[-1].d.x == box.x0
        assert wire(drawing, axis).path[0].a.x == box.x1


@pytest.mark.parametrize(
    "term", [Id("y:3 x:4") >> CausalMask("y x"), Map("-> y:3 x:4", "x <= y", "mask")]
)
def test_a_causal_mask_is_a_half_filled_square(term):
    glyph = only(draw(term))
    square, half = painted(glyph, "page")[0], painted(glyph, "ink")[0]
    assert around(half) == around(square)
    (_, y0, x1, _), points = around(square), [curve.a for curve in half.path]
    assert not any((p.x, p.y) == (x1, y0) for p in points)  # the upper right stays open


def test_the_sign_of_a_function_of_a_number_is_strung_on_its_arrow():
    drawing = draw(Id("a:2, a:2") >> Einsum("a, a ->") >> Elementwise("relu"))
    sign = drawing.glyphs[-1]
    (text,) = texts(sign)
    (line,) = strokes(sign)
    assert line.path[0].a.y == (text.box.y0 + text.box.y1) / 2
    assert line.path[0].d.x < text.box.x0


def contrast(one, two):
    def light(colour):
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    bright, dim = sorted((light(one), light(two)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def test_a_function_of_one_number_stands_between_arrows_over_the_wires():
    drawing = draw(Id("a:4 b:3") >> Function("f", "() -> ()", "tanh"))
    (text,) = texts(only(drawing))
    assert text.label.words == "f"
    assert text.box.y1 < min(w.path[0].a.y for w in drawing.wires)
    assert lint(drawing) == []


# --- convolutions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conv", "shown", "words"),
    [
        (Conv("c x -> d:4 x", "conv", 3), {"3"}, "kernel 3"),
        (Conv("c x -> d:4 x", "conv", 3, groups=4), {"3 , depthwise"}, "kernel 3, depthwise"),
        (
            Conv("c x -> d:4 x", "conv", 3, dilation=2, groups=2),
            {"3 , dilation 2 , 2 groups"},
            "kernel 3, dilation 2, 2 groups",
        ),
        (Conv("c x -> d:4 u", "conv", 3, 2, 1), {"3", "2", "L sub plus"}, "kernel 3, stride 2"),
        (
            Conv("c x -> d:4 u", "conv", 3, 2, 1, groups=4),
            {"3", "2", "L sub plus", "depthwise"},
            "kernel 3, stride 2, depthwise",
        ),
        (
            Conv("c x -> d:4 u", "down", 3, 2, 1, False, groups=2),
            {"3", "2", "L", "down, 2 groups"},
            "kernel 3, stride 2, 2 groups",
        ),
    ],
)
def test_a_convolution_shows_its_groups_and_its_dilation(conv, shown, words):
    drawing = draw(Id("c:4 x:9") >> conv)
    assert lint(drawing) == []
    assert {text.label.words for text in only(drawing).items if hasattr(text, "label")} == shown
    site = conv.apply_to((Id("c:4 x:9") >> conv).dom)
    assert site is not None and f", {words}: " in conv.description(site)
