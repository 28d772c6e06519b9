"""A long diagram breaks into rows; what is too much for a picture is folded."""

from collections import Counter
from itertools import pairwise

import pytest

import ncd
from ncd import Axes, Block, Copy, Elementwise, Id, Linear, Repeat, Softmax, Term, Then
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.plan_columns import PlanItem
from ncd.drawing.elements.primitives import move_drawing
from ncd.drawing.fit import _cheapest, breaks, estimate
from ncd.drawing.lint.lint import lint
from ncd.drawing.plan.build_plan import plan
from ncd.drawing.plan.collapse import collapsed
from tests.drawing.large_systems import LARGE

SIZES = Axes(t=5, m=4, **{f"m{n}": 4 for n in range(20)})


def chain(n: int) -> Term:
    """Maps to other axes, one after the other."""
    return Then(*(Linear(f"m{i} -> m{i + 1}", f"W{i}") for i in range(n)))


def rows(drawing: Drawing) -> list[float]:
    """Where the wires of each row begin, from top to bottom."""
    starts = (extra for extra in drawing.extras if extra.words == "t goes on from the row above")
    return sorted({round(extra.box.y1) for extra in starts})


def arrows(drawing: Drawing, words: str) -> list[str]:
    """The arrays and axes that an arrow at the end of a row is of."""
    found = [e for e in drawing.extras if e.kind == "arrow" and words in e.words]
    return [f"{e.target_id} {e.words.split()[0]}" for e in found]


@pytest.mark.parametrize("width", [200, 300, 500])
def test_a_long_diagram_is_broken_into_rows_that_arrows_join(width):
    drawing = ncd.draw(SIZES(Id("t m0") >> chain(12)), width=width)
    leaving, coming = arrows(drawing, "next row"), arrows(drawing, "row above")
    assert leaving == coming
    assert len(leaving) == 2 * len(rows(drawing))
    assert len(rows(drawing)) > 0
    assert drawing.box.width <= width * 16 / 11
    assert lint(drawing) == []


def test_rows_stand_below_each_other_about_as_long():
    drawing = ncd.draw(SIZES(Id("t m0") >> chain(12)), width=300)
    by_row: dict[int, list[float]] = {}
    tops = [0.0, *rows(drawing)]
    for glyph in drawing.glyphs:
        row = max(n for n, top in enumerate(tops) if glyph.hit_box.y1 > top - 60 or n == 0)
        by_row.setdefault(row, []).append(glyph.hit_box.x1)
    lengths = [max(ends) for ends in by_row.values()]
    assert min(lengths) > 0.5 * max(lengths)


def test_without_a_width_all_is_one_row_and_open():
    term = SIZES(Id("t m0") >> Block(chain(15), "Chain"))
    drawing = ncd.draw(term, width=None)
    assert not drawing.extras
    assert [fence.id for fence in drawing.fences] == ["f0"]


def test_names_stand_where_a_row_begins():
    drawing = ncd.draw(SIZES(Id("t m0") >> chain(12)), width=300)
    begun = {(e.target_id, e.words.split()[0]): e.box for e in drawing.extras if "above" in e.words}
    for (array, axis), box in begun.items():
        near = [t for t in drawing.labels if (t.array, t.axis) == (array, axis)]
        assert any(
            0 <= text.position.x - box.x1 < 40 and abs(text.position.y - box.y1) < 14
            for text in near
        )


def test_rows_break_between_blocks_rather_than_in_them():
    parts = (Block(Then(*(Linear(f"m{i} -> m{i + 1}", "W"),) * 1), f"P{i}") for i in range(12))
    drawing = ncd.draw(SIZES(Id("t m0") >> Then(*parts)), width=300, folded=())
    assert len(rows(drawing)) > 0
    assert len({fence.id for fence in drawing.fences}) == len(drawing.fences) == 12


def test_a_block_that_goes_over_a_break_is_drawn_in_both_rows():
    drawing = ncd.draw(SIZES(Id("t m0") >> Block(chain(12), "Chain")), width=300, folded=())
    assert {fence.id for fence in drawing.fences} == {"f0"}
    assert len(drawing.fences) == len(rows(drawing)) + 1


def test_a_repetition_that_goes_over_a_break_has_one_bracket_in_each_row():
    functions = ("relu", "tanh", "gelu", "sigmoid", "silu", "exp")
    body = Then(*(Linear("m -> m", name) >> Elementwise(name) for name in functions))
    term = SIZES(Id("t m") >> Repeat((body,) * 3))
    drawing = ncd.draw(term, width=300, folded=())
    assert len(drawing.fences) == len(rows(drawing)) + 1 > 1
    first, *_, last = drawing.fences
    assert [text.label.words for text in first.title] == ["lambda equals 1"]
    assert [text.label.words for text in last.title] == ["lambda equals 3"]
    assert len(first.brackets) == len(last.brackets) == 1
    assert sum(len(fence.brackets) for fence in drawing.fences) == 2


def test_blocks_are_open_as_far_as_they_can_be_read():
    """From the widest picture to the narrowest, less and less is open."""
    part = Copy("t m") >> Block(Softmax("m") >> Linear("m -> m") >> Softmax("m"), "In") @ Id("t m")
    part = Block(part >> ncd.Add(), "Out")
    term = SIZES(Id("t m") >> Block(Then(*(part, Linear("m -> m")) * 2), "All"))
    boxes = [
        {glyph.node for glyph in ncd.draw(term, width=width).glyphs if glyph.cells}
        for width in (1280, 200, 60)
    ]
    assert boxes[0] == set()
    assert boxes[1] and boxes[1] != {"f0"}
    assert boxes[2] == {"f0"}


@pytest.mark.parametrize("name", LARGE)
def test_large_systems_are_readable_at_1280_pixels(name):
    term = LARGE[name]()
    drawing = ncd.draw(term)
    scale = min(1.0, 1280 / drawing.box.width)
    assert 16 * scale >= 11
    assert drawing.box.height * scale <= 900
    assert lint(drawing) == []
    shown = {glyph.node for glyph in drawing.glyphs} | {
        id for glyph in drawing.glyphs for id in glyph.cells
    }
    assert {cell.id for cell in ncd.drawing.pipeline.drawn_cells(ncd.elaborate(term))} <= shown


def test_the_layers_of_a_transformer_written_out_are_two_stacks():
    drawing = ncd.draw(LARGE["transformer, unrolled"](), width=1400)
    ends = [f.title[-1].label.words for f in drawing.fences if f.brackets]
    assert ends == ["lambda equals 12"] * 2


def test_a_moved_drawing_is_the_same_further_on():
    drawing = ncd.draw(SIZES(Id("t m0") >> Block(chain(12), "Chain")), width=300, folded=())
    other = move_drawing(drawing, 7.0, -5.0)
    assert other != drawing
    assert (other.box.x0, other.box.y1) == (drawing.box.x0 + 7, drawing.box.y1 - 5)
    assert move_drawing(other, -7.0, 5.0).svg() == drawing.svg()


class Even:
    """An estimate in which all columns are equally wide."""

    def width_between(self, first: int, last: int) -> float:
        return 10.0 * (last - first)


@pytest.mark.parametrize(("columns", "at"), [(10, [0, 5, 10]), (16, [0, 5, 11, 16])])
def test_rows_are_as_even_as_they_can_be_where_all_breaks_cost_alike(columns, at):
    found = _cheapest(Even(), [0.0] * (columns + 1), 70.0, len(at) - 1)
    lengths = [b - a for a, b in pairwise(found)]
    assert sorted(lengths) == sorted(b - a for a, b in pairwise(at))


@pytest.mark.parametrize(
    ("steps", "width", "at"),
    [
        (0, 0.5, [0, 0]),
        (1, 5.0, [0, 1]),
        (1, 10.0, [0, 1]),
        (2, 20.0, [0, 2]),
        (2, 19.0, [0, 1, 2]),
        (2, 5.0, [0, 1, 2]),
        (4, 25.0, [0, 2, 4]),
    ],
)
def test_a_row_is_broken_as_soon_as_it_is_wider_than_it_may_be(steps, width, at):
    planned = plan(ncd.elaborate(SIZES(Id("m0") >> chain(steps) if steps else Id("m0"))))
    assert breaks(planned, Lone(), width) == at


class Lone(Even):
    """An even estimate in which a single state has a width too."""

    def width_between(self, first: int, last: int) -> float:
        return super().width_between(first, last) or 1.0


@pytest.mark.parametrize("name", ["unet", "decoder-block", "gpt-2", "lstm"])
def test_no_row_begins_with_the_end_of_a_loop_or_a_new_name(name):
    circuit = ncd.elaborate(ncd.catalogue[name].build())
    for shut in (frozenset(), frozenset(f.id for f in circuit.fences if f.role == "folded")):
        planned = plan(collapsed(circuit, shut))
        sizes = estimate(planned, "names")
        signs = [any(map(is_drawn, step)) for step in planned.steps]
        for width in range(300, 2400, 35):
            at = breaks(planned, sizes, width)
            assert all(signs[s] for s in at[1:-1]), (width, at)


def is_drawn(unit: PlanItem) -> bool:
    """Whether an op has a mark, or does more to its wires than to pass them straight on."""
    straight = tuple((n, n) for n in range(len(unit.outs)))
    return unit.cell is not None and bool(unit.glyph.marks or unit.glyph.through != straight)


@pytest.mark.parametrize("width", [800, 860, 1000, 1280])
def test_the_counter_of_a_loop_names_no_wire_behind_it(width):
    """There the array has a name of its own, x_5 and not x_{λ+1}."""
    term = ncd.catalogue["unet"].build()
    circuit = ncd.elaborate(term)
    inside = {value.id for loop in circuit.loops for value in loop.outputs}
    labels = ncd.draw(term, width=width, folded=()).labels
    named = Counter((label.array, label.axis) for label in labels if label.array in inside)
    assert named and set(named.values()) == {1}  # once, in front of its bracket
