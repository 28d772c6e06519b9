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
    Then,
    Wire,
)
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import DrawnGlyph, Text
from ncd.drawing.lint.lint import lint
from ncd.drawing.pipeline import drawn_cells
from ncd.drawing.plan.build_plan import plan
from ncd.drawing.plan.collapse import blocks
from ncd.drawing.plan.repeated_layers import fold_repetitions
from ncd.ops import CATALOGUE
from tests.support.sampling import count

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


def texts(glyph: DrawnGlyph) -> list[Text]:
    return [item for item in glyph.items if isinstance(item, Text)]


def ends(drawing: Drawing, side: str) -> dict[str, set[str]]:
    """The wires that begin (or end) in the open, and the loop or op at which they do."""
    found: dict[str, set[str]] = {}
    for wire in drawing.wires:
        if side in wire.open_ends:
            node = wire.made_by if side == "begins" else wire.taken_by
            found.setdefault(node, set()).add(f"{wire.array} {wire.axis}")
    return found


@pytest.mark.parametrize("name", STRUCTURES)
@pytest.mark.parametrize("labels", ["names", "sizes", "both"])
def test_every_structure_is_drawn_without_lint(name, labels):
    term = SIZES(STRUCTURES[name])
    drawing = ncd.draw(term, labels)
    assert lint(drawing) == []
    nodes = [glyph.node for glyph in drawing.glyphs if glyph.role != "note"]
    assert sorted(nodes) == sorted(cell.id for cell in drawn_cells(ncd.elaborate(term)))
    assert drawing.svg().startswith("<svg")


@pytest.mark.parametrize("op", CATALOGUE, ids=lambda op: op.__name__)
def test_every_sample_of_every_op_is_drawn_without_lint(op):
    for sample in op.examples():
        doms = [ncd.Type.parse(sample.dom)]
        if not sample.alone:
            more = ncd.Array.parse("q0:3 q1:2")
            doms.append(ncd.Type(a.with_axes((*more, *a)) for a in doms[0]))
        for dom in doms:
            assert lint(ncd.draw(Id(dom) >> sample.op, "both")) == [], dom


def test_what_a_repetition_leaves_for_another_is_saved_to_memory_and_loaded():
    """Each way down leaves an array and each way up takes the latest, so they count alike."""
    drawing = drawn("U-Net")
    notes = {glyph.node: glyph for glyph in drawing.glyphs if glyph.role == "note"}
    said = {node: [item.label.words for item in texts(glyph)] for node, glyph in notes.items()}
    save, load = sorted(notes, reverse=True)
    assert save.startswith("save-v") and said[save][0].endswith("C sub lambda")
    assert load.startswith("load-v") and "C sub 4 minus lambda" in said[load][0]
    assert not ends(drawing, "begins") and not ends(drawing, "ends")
    assert [w.taken_by for w in drawing.wires if w.array == save[5:]] == [save] * 2
    assert [w.made_by for w in drawing.wires if w.array == load[5:]] == [load] * 2
    assert notes[save].description == "(c0 x) saved to memory as C_λ"


def test_notes_stay_while_one_of_two_repetitions_is_collapsed():
    """A collapsed repetition loads inside its box; if both are collapsed, wires join the boxes."""
    term = ncd.catalogue["unet"].build()
    down, up = (b.id for b in blocks(ncd.elaborate(term)) if "×" in b.name)
    expected = {(): ["load", "save"], (up,): ["save"], (down,): ["load"], (down, up): []}
    for folded, kinds in expected.items():
        drawing = ncd.draw(term, folded=folded)
        notes = [glyph.node for glyph in drawing.glyphs if glyph.role == "note"]
        assert sorted(node.split("-")[0] for node in notes) == kinds
        assert lint(drawing) == []


def test_a_box_around_boxes_and_notes_hides_all_ops_in_them():
    """Of U-Net's two repetitions one is collapsed here, after the convolutions inside it."""
    term = ncd.catalogue["unet"].build(skips=0)
    drawing = ncd.draw(term, "both", width=800)
    boxes = [glyph.cells for glyph in drawing.glyphs if len(glyph.cells) > 1]
    assert boxes
    known = {cell.id for cell in ncd.elaborate(term).cells}
    assert all(known.issuperset(cells) for cells in boxes)


def test_what_only_one_repetition_knows_of_begins_at_its_bracket():
    """Nothing loads them here: what the later bodies leave begins at the right bracket."""
    only = Id("c0 x") >> Repeat(tuple(map(down, range(3))), "down")
    drawing = ncd.draw(SIZES(only))
    ((node, begun),) = ends(drawing, "begins").items()
    assert node == next(fence.id for fence in drawing.fences if fence.brackets)
    assert sorted(name.split()[1] for name in begun) == ["c1", "c2", "x", "x"]


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
    assert wire.description == "axis y, size 5, of array (y#v), whole numbers below v"


@pytest.mark.parametrize("name", ["conv_in", "self_attn", "feed_forward_projection", "W_1"])
def test_a_layer_of_any_name_shows_it_whole(name):
    drawing = ncd.draw(Id("m:2") >> Linear("m -> m", name))
    (glyph,) = drawing.glyphs
    shown = "".join(span.text for item in glyph.items for span in item.label.spans)
    assert shown.replace(" ", "") == {"W_1": "LW1"}.get(name, f"L{name}")


def test_terms_of_any_depth_are_drawn():
    term = Linear("b:3 -> b")
    depth = count(60, 150)
    for i in range(depth):
        term = Block(term, f"F{i}")
    drawing = ncd.draw(term)
    assert len(drawing.fences) == depth
    assert lint(drawing) == []
    assert drawing.png(0.1)[:4] == b"\x89PNG"


FEW = Linear("m:3 -> m", "W")
LONG = Repeat((Linear("b:3 -> b", "V") >> Softmax("b") >> Linear("b -> b", "V"),) * 3)


@pytest.mark.parametrize(
    ("term", "columns"),
    [
        (Block(Repeat((FEW,) * 3), "T") @ LONG, (0, 2)),
        (LONG @ Block(Repeat((FEW,) * 3), "T"), (0, 2)),
        (Block(FEW, "T") @ LONG, (0, 1)),
        (Block(FEW >> Repeat((FEW,) * 3), "T") @ LONG, (0, 6)),
        ((Block(Repeat((FEW,) * 3), "T") >> Softmax("m")) @ LONG, (0, 2)),
    ],
    ids=str,
)
def test_a_block_ends_with_its_own_ops_beside_a_longer_loop(term, columns):
    (fence,) = (fence for fence in plan(ncd.elaborate(term)).fences if fence.title == "T")
    assert (fence.first_column, fence.last_column) == columns


# --- folded blocks -------------------------------------------------------------------------------


def block(n: int, name: str = "Part") -> Term:
    """Three ops in a block."""
    steps = Linear("m -> m", f"A{n}") >> Elementwise("relu") >> Linear("m -> m", f"B{n}")
    return Block(steps, name)


def test_a_folded_block_is_one_box_with_its_title_and_settings():
    term = SIZES(Id("t m") >> block(1, "Part (2, N)") >> Softmax("m"))
    drawing = ncd.draw(term, folded=["Part (2, N)"])
    box, _ = drawing.glyphs
    assert (box.node, box.role, box.cells) == ("f0", "folded", ("n0", "n1", "n2"))
    assert [text.label.words for text in texts(box)] == ["Part", "(2, N)"]
    assert box.description == "Part (2, N), folded: (t m) to (t m)"
    assert not drawing.fences
    assert lint(drawing) == []
    assert ncd.draw(term, folded=["f0"]) == drawing
    assert ncd.draw(term, folded=()).fences[0].id == "f0"


def test_wires_enter_a_box_at_its_left_and_leave_level_at_its_right():
    drawing = ncd.draw(SIZES(Id("t m") >> block(1) >> Softmax("m")), folded=["Part"])
    (ink,) = (glyph.ink[0] for glyph in drawing.glyphs if glyph.node == "f0")
    entering = [w.path[-1].d for w in drawing.wires if w.taken_by == "f0"]
    leaving = [w.path[0].a for w in drawing.wires if w.made_by == "f0"]
    assert [p.x for p in entering] == [ink.x0] * 2
    assert all(ink.x1 - style.BLOCK_DEPTH <= p.x <= ink.x1 for p in leaving)
    assert [p.y for p in leaving] == [p.y for p in entering]


def test_an_array_that_a_block_does_not_take_passes_beside_its_box():
    term = SIZES(Id("t m, b n") >> block(1) @ Id("b n") >> Softmax("m") @ Softmax("n"))
    drawing = ncd.draw(term, folded=["Part"])
    (ink,) = (glyph.ink[0] for glyph in drawing.glyphs if glyph.node == "f0")
    rows = {p.y for w in drawing.wires if w.array == "v1" for c in w.path for p in (c.a, c.d)}
    assert min(rows) > ink.y1
    assert lint(drawing) == []


def test_an_array_that_passes_through_a_block_does_not_enter_its_box():
    inner = block(1).body @ Id("b n")
    term = SIZES(Id("t m, b n") >> Block(inner, "Both") >> Softmax("m") @ Softmax("n"))
    drawing = ncd.draw(term, folded=["Both"])
    assert {w.array for w in drawing.wires if w.taken_by == "f0"} == {"v0"}
    (ink,) = (glyph.ink[0] for glyph in drawing.glyphs if glyph.node == "f0")
    assert min(c.a.y for w in drawing.wires if w.array == "v1" for c in w.path) > ink.y1
    assert lint(drawing) == []


def test_a_block_around_all_there_is_folds_to_a_model():
    drawing = ncd.draw(SIZES(Block(Linear("m -> m", "A") >> block(1), "Model")), folded=["Model"])
    (box,) = drawing.glyphs
    assert (box.role, box.cells) == ("model", ("n0", "n1", "n2", "n3"))


def test_a_repetition_folds_to_a_box_with_how_often_it_runs():
    term = SIZES(Id("t m") >> Repeat((block(1),) * 12) >> Softmax("m"))
    drawing = ncd.draw(term, folded=["f0"])
    box = drawing.glyphs[0]
    assert [text.label.words for text in texts(box)] == ["Part", "×12"]
    assert len(box.cells) == 36


def test_the_op_that_fails_marks_the_box_that_hides_it():
    term = SIZES(Id("t m") >> block(1) >> Softmax("m"))
    assert ncd.draw(term, folded=["Part"], mark="n1").highlighted_id == "f0"
    assert ncd.draw(term, folded=(), mark="n1").highlighted_id == "n1"


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure_can_be_folded(name):
    term = SIZES(STRUCTURES[name])
    circuit = ncd.elaborate(term)
    for one in blocks(circuit, least=0):
        assert lint(ncd.draw(term, folded=[one.id])) == [], one


# --- stacks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("copies", [3, 12])
def test_layers_that_are_alike_are_drawn_once(copies):
    term = SIZES(Id("t m") >> Then(*(block(n) for n in range(copies))) >> Softmax("m"))
    drawing = ncd.draw(term)
    outer, inner = drawing.fences
    assert (outer.id, inner.id) == ("s0", "f0")
    assert [text.label.words for text in outer.title] == [
        "lambda equals 1",
        f"lambda equals {copies}",
    ]
    assert [glyph.node for glyph in drawing.glyphs] == ["n0", "n1", "n2", f"n{3 * copies}"]
    folded = ncd.draw(term, folded=["s0"])
    assert [text.label.words for text in texts(folded.glyphs[0])] == ["Part", f"×{copies}"]
    assert len(folded.glyphs[0].cells) == 3 * copies
    assert len(ncd.draw(term, width=None).fences) == copies


def test_a_stack_starts_where_a_layer_starts_though_what_is_before_looks_alike():
    """The linear map before the layers is like the one that each of them ends with."""
    term = SIZES(Id("t m") >> Linear("m -> m", "first") >> Then(*(block(n) for n in range(4))))
    assert [
        (loop.id, len(loop.bodies)) for loop in fold_repetitions(ncd.elaborate(term)).loops
    ] == [("s1", 4)]


def test_a_pair_of_ops_is_a_stack_if_it_comes_often_enough():
    pair = Linear("m -> m") >> Elementwise("relu")
    found = [
        fold_repetitions(ncd.elaborate(SIZES(Id("t m") >> Then(*(pair,) * n)))).loops
        for n in (5, 9)
    ]
    assert [[len(loop.bodies) for loop in loops] for loops in found] == [[], [9]]


def test_two_layers_are_a_stack_if_they_are_long_enough():
    names = ("relu", "sin", "cos", "tanh", "exp", "sigmoid", "gelu", "silu")
    layers = [[Elementwise(name) for name in names[:n]] for n in (7, 8)]
    terms = [SIZES(Id("t m") >> Then(*layer, *layer)) for layer in layers]
    found = [fold_repetitions(ncd.elaborate(term)).loops for term in terms]
    assert [[len(loop.bodies) for loop in loops] for loops in found] == [[], [2]]


@pytest.mark.parametrize(
    "other",
    [
        Block(Linear("m -> m", "A") >> Elementwise("relu") >> Linear("m -> m", "B", True), "Part"),
        Block(Linear("m -> m", "A") >> Elementwise("tanh") >> Linear("m -> m", "B"), "Part"),
        block(9, "Other"),
        Copy("t m") >> block(9) @ Id("t m") >> Add(),
    ],
    ids=["another op", "another function", "another title", "another wiring"],
)
def test_layers_that_differ_are_no_stack(other):
    term = SIZES(Id("t m") >> block(1) >> other >> block(2))
    assert not fold_repetitions(ncd.elaborate(term)).loops


def test_a_memory_that_each_layer_hands_on_enters_the_stack():
    layer = (
        Id("t m, b m") >> Copy("t m") @ Id("b m") >> block(1) @ Id("t m, b m") >> Add() @ Id("b m")
    )
    (loop,) = fold_repetitions(ncd.elaborate(SIZES(Then(*(layer,) * 3)))).loops
    assert [v.id for v in loop.inputs] == ["v0"]
    use = Id("t m, b m") >> Wire("t m, b m -> t m, b m, b m")
    use = use >> Einsum("t m, b m -> t m") @ Id("b m") >> Softmax("m") @ Id("b m")
    (loop,) = fold_repetitions(ncd.elaborate(SIZES(Then(*(use,) * 3)))).loops
    assert [v.id for v in loop.inputs] == ["v0", "v1"]
