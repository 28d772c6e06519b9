"""Every structure of the language is drawn: loops once between brackets, loose arrays, scalars."""

import pytest

import ncd
from ncd import (
    Add,
    Axes,
    Block,
    Copy,
    Einsum,
    Elementwise,
    Equation,
    Id,
    LayerNorm,
    Linear,
    Param,
    Repeat,
    Scale,
    Scan,
    Softmax,
    Term,
    Wire,
)
from ncd.drawing import Drawing, drawn_cells
from ncd.drawing.lint import lint
from ncd.ops import CATALOGUE

SIZES = Axes(a=2, b=3, n=3, m=4, t=5, x=7, c0=2, c1=3, c2=4, c3=5)


def down(i: int) -> Term:
    halves = Linear(f"c{i} -> c{i + 1}", "D") @ Id(f"c{i} x")
    return Copy(f"c{i} x") >> halves


def up(i: int) -> Term:
    wider = Linear(f"c{i} -> c{i - 1}", "U") @ Id(f"c{i - 1} x")
    return Id(f"c{i} x, c{i - 1} x") >> wider >> Add()


def recurrence() -> Term:
    return Id("n, m") >> Linear("n -> n", "W") @ Linear("m -> n", "V") >> Add() >> Copy("n")


def inner() -> Term:
    return Repeat((Linear("b -> b", "W") >> Elementwise("relu"),) * 3, "inner")


U_NET = Id("c0 x") >> Repeat(tuple(map(down, range(3))), "down")
U_NET = U_NET >> Linear("c3 -> c3", "M") >> Repeat(tuple(map(up, (3, 2, 1))), "up")

STRUCTURES = {
    "nested": Repeat((Block(inner() >> LayerNorm("b"), "Stage"),) * 2, "outer"),
    "beside": Repeat((Linear("b -> b", "W"),) * 3, "left")
    @ Block(Linear("a -> a", "V"), "Alone")
    @ Repeat((Linear("a -> a", "V") >> Elementwise("relu"),) * 5, "right"),
    "U-Net": U_NET,
    "memory": Repeat((Einsum("a m, b m -> a m") >> Linear("m -> m"),) * 3, "dec", memory=1),
    "scan": Id("n, t m") >> Scan(recurrence(), "t", "rnn"),
    "batched scan": Id("b n, t b m") >> Scan(recurrence(), "t"),
    "scan in a repetition": Repeat(
        (Scan(Id("n, n") >> Einsum("n, n -> n") >> Copy("n"), "t"),) * 2
    ),
    "equation": Equation(Linear("a -> b", "F"), Linear("a -> b", "F")),
    "no inputs": Param("a b", "w"),
    "a constant between": Id("b") @ Param("a b", "w") @ Id("a"),
    "three in one cap": Id("b, a b, b") >> Einsum("b, a b, b -> a"),
    "dropped": Id("b, a b, a") >> Id("b") @ Wire("a b ->") @ Linear("a -> a", "K"),
    "all dropped": Wire("a b, b ->"),
    "scalars": Id("a, a") >> Einsum("a, a ->") >> Elementwise("relu") >> Scale("a"),
    "a scalar block": Id("()") >> Block(Elementwise("relu"), "Scalar"),
    "nothing": Id(""),
    "a blank title": Block(Id("m") >> Softmax("m"), "  "),
    "blocks around nothing": Block(Block(Id("m"), "In") >> Block(Id("m"), "Next"), "Out"),
    "a loop that does nothing": Repeat((Id("m, n"),) * 3),
    "a loop that grows": Repeat((Param("a", "p"),) * 3),
    "a loop that shrinks": Repeat((Wire("a, a -> a"),) * 3),
    "local names": Id("b m") >> Block(Softmax("z"), "Local", local=True),
}


def drawn(name: str) -> Drawing:
    return ncd.draw(SIZES(STRUCTURES[name]))


def ends(drawing: Drawing, side: str) -> dict[str, set[str]]:
    """The wires that begin (or end) in the open, and the loop or op at which they do."""
    found: dict[str, set[str]] = {}
    for wire in drawing.wires:
        if side in wire.open:
            node = wire.made_by if side == "begins" else wire.taken_by
            found.setdefault(node, set()).add(f"{wire.array} {wire.axis}")
    return found


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("labels", ["names", "sizes", "both"])
def test_every_structure_is_drawn_without_lint(name, labels):
    term = SIZES(STRUCTURES[name])
    drawing = ncd.draw(term, labels)
    assert lint(drawing) == []
    nodes = [glyph.node for glyph in drawing.glyphs]
    assert sorted(nodes) == sorted(cell.id for cell in drawn_cells(ncd.elaborate(term)))
    assert drawing.svg().startswith("<svg")


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op.__name__)
def test_every_sample_of_every_op_is_drawn_without_lint(op):
    for sample in op.samples():
        doms = [ncd.Type.parse(sample.dom)]
        if not sample.alone:
            more = ncd.Array.parse("q0:3 q1:2")
            doms.append(ncd.Type(a.with_axes((*more, *a)) for a in doms[0]))
        for dom in doms:
            assert lint(ncd.draw(Id(dom) >> sample.op, "both")) == [], dom


def test_what_later_bodies_take_and_give_ends_and_begins_at_the_brackets():
    """Of three skips the first body's goes on, two begin at the right bracket; on the way up
    one is taken by the first body, two end at the left bracket."""
    drawing = drawn("U-Net")
    (first, begun), *others = ends(drawing, "begins").items()
    (second, ended), *more = ends(drawing, "ends").items()
    brackets = [fence for fence in drawing.fences if fence.brackets]
    assert [first, second] == [fence.id for fence in brackets]
    assert not others and not more
    assert sorted(name.split()[1] for name in begun) == ["c1", "c2", "x", "x"]
    assert sorted(name.split()[1] for name in ended) == ["c0", "c1", "x", "x"]


def test_a_scan_counts_its_axis_which_ends_and_begins_at_its_brackets():
    drawing = drawn("scan")
    (fence,) = drawing.fences
    assert [text.label.words for text in fence.title] == ["t equals 1", "t equals 5"]
    assert [name.split()[1] for name in ends(drawing, "ends")[fence.id]] == ["t"]
    assert [name.split()[1] for name in ends(drawing, "begins")[fence.id]] == ["t"]


def test_brackets_stand_around_their_loop_alone():
    """A short loop beside a long one closes before it, and both begin at one place."""
    left, right = (f for f in drawn("beside").fences if f.brackets)
    assert left.box.x0 == right.box.x0
    assert left.box.x1 < right.box.x1
    assert left.box.y1 < right.box.y0


def test_inner_brackets_lie_inside_the_outer_ones():
    outer, stage, inside = drawn("nested").fences
    for small, large in ((stage, outer), (inside, stage)):
        assert large.box.x0 < small.box.x0 and small.box.x1 < large.box.x1
        assert large.box.y0 < small.box.y0 and small.box.y1 < large.box.y1


def test_a_dropped_array_ends_in_the_open():
    assert {len(wires) for wires in ends(drawn("dropped"), "ends").values()} == {2}


def test_a_blank_title_is_none():
    (fence,) = drawn("a blank title").fences
    assert fence.title == () and fence.words == "neutral part"


def test_an_axis_shows_its_label_and_is_called_by_its_name():
    drawing = ncd.draw(Id('c"c_{5-λ}":64'))
    assert {text.label.words for text in drawing.labels} == {"c sub 5 minus lambda"}
    assert {text.axis for text in drawing.labels} == {"c"}


def test_whole_numbers_are_told_in_words():
    (wire,) = ncd.draw(Id("y:5#v:9")).wires
    assert wire.words == "axis y, size 5, of array (y#v), whole numbers below v"


@pytest.mark.parametrize("name", ["conv_in", "self_attn", "feed_forward_projection", "W_1"])
def test_a_layer_of_any_name_shows_it_whole(name):
    drawing = ncd.draw(Id("m:2") >> Linear("m -> m", name))
    (glyph,) = drawing.glyphs
    shown = "".join(span.text for item in glyph.items for span in item.label.spans)
    assert shown.replace(" ", "") == f"L{name.replace('_', '')}"


def test_terms_of_any_depth_are_drawn():
    term = Linear("b:3 -> b")
    for i in range(150):
        term = Block(term, f"F{i}")
    drawing = ncd.draw(term)
    assert len(drawing.fences) == 150
    assert lint(drawing) == []
    assert drawing.png(0.1)[:4] == b"\x89PNG"
