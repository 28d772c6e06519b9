"""What can be rewritten at a place, and the terms afterwards."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

import ncd
from ncd import (
    Add,
    Block,
    Copy,
    Einsum,
    Elementwise,
    Id,
    LayerNorm,
    LimitError,
    Linear,
    NCDError,
    Repeat,
    Rewrite,
    RMSNorm,
    Scan,
    Softmax,
    Term,
)
from ncd.rewrite.rule_catalogue import RULES

TWO = Linear("m:3 -> k:2", "Q") >> Softmax("k")


def names(term: Term, at: str | None) -> set[str]:
    return {one.name for one in ncd.rewrites(term, at)}


def edit(term: Term, name: str, at: str, **options: object) -> Term:
    return ncd.apply(term, Rewrite(name, at, tuple(options.items())))


def test_a_place_is_an_id_of_the_drawing() -> None:
    assert "remove" in names(TWO, "n1") and "remove" not in names(TWO, "n0")
    assert names(TWO, "v1") == {"insert"}
    assert {one.at for one in ncd.rewrites(TWO, "n0") if one.name == "insert"} == {"v1"}


def test_a_rewrite_stands_in_a_link() -> None:
    for at in ("n0", "n1", "v1"):
        for one in ncd.rewrites(TWO, at):
            again = Rewrite.from_json(one.to_json())
            assert again == one and again.title == one.title
            assert ncd.apply(TWO, again) == ncd.apply(TWO, one)


def test_an_op_of_a_repetition_is_edited_in_every_body() -> None:
    term = Repeat((Linear("m:3 -> m", "L") >> Elementwise("relu"),) * 3)
    new = edit(term, "replace", "n1", by="gelu")
    assert new == Repeat((Linear("m:3 -> m", "L") >> Elementwise("gelu"),) * 3)
    again = edit(new, "remove", "n3")  # the same op, in the second body
    assert again == Repeat((Linear("m:3 -> m", "L"),) * 3)


def test_bodies_of_other_sizes_are_edited_alike() -> None:
    term = Repeat((Linear("c:2 -> d:3") >> LayerNorm("d"), Linear("d:3 -> c:2") >> LayerNorm("c")))
    wide = Repeat((Linear("c:2 -> c:2") >> LayerNorm("c"), Linear("c:2 -> c") >> Softmax("c")))
    assert edit(term, "replace", "n1", by="rms-norm") == Repeat(
        (
            Linear("c:2 -> d:3") >> RMSNorm("d", eps=1e-5),
            Linear("d:3 -> c:2") >> RMSNorm("c", eps=1e-5),
        )
    )
    assert edit(wide, "remove", "n1") == Repeat(
        (Linear("c:2 -> c:2"), Linear("c:2 -> c") >> Softmax("c"))
    )


def test_a_block_that_is_left_empty_goes_as_well() -> None:
    term = Linear("m:3 -> k:2") >> Block(Softmax("k"), "Weights")
    assert edit(term, "remove", "n1") == Linear("m:3 -> k:2")
    assert edit(term, "remove", "f0") == Linear("m:3 -> k:2")


def test_the_whole_term_takes_what_it_took() -> None:
    assert edit(Softmax("x:3"), "replace", "n0", by="relu") == Id("x:3") >> Elementwise("relu")
    assert edit(Id("y:2 x:3") >> Softmax("x"), "remove", "n0") == Id("y:2 x:3")


def test_a_second_input_is_led_through_a_new_op() -> None:
    assert edit(Id("m:2, k:3"), "insert", "v1", op="relu") == (
        Id("m:2") @ Elementwise("relu") >> Id("m:2, k:3")
    )


@pytest.mark.parametrize(
    ("at", "body"),
    [
        ("v2", Elementwise("relu") >> Id("n:2, n:2")),  # the state
        ("v3", Id("n:2") @ Elementwise("relu") >> Id("n:2, n:2")),
    ],
)
def test_an_op_is_put_on_what_the_body_of_a_scan_takes(at: str, body: Term) -> None:
    scan = Scan(Id("n:2, n:2") >> Add() >> Copy("n:2"), "t:3")
    new = edit(Id("n:2, t:3 n:2") >> scan, "insert", at, op="relu")
    assert new == Id("n:2, t:3 n:2") >> Scan(body >> Add() >> Copy("n:2"), "t:3")


def test_layers_keep_their_names_when_one_of_their_name_goes() -> None:
    term = Id("m:3") >> Linear("m -> m") >> Linear("m -> m") >> Linear("m -> m")
    new = edit(term, "remove", "n0")
    assert [cell.path for cell in ncd.elaborate(new).cells] == ["L_2", "L_3"]


def test_a_new_layer_takes_no_name_that_is_there() -> None:
    term = LayerNorm("m:3") >> Block(LayerNorm("m"), name="norm_2")
    new = edit(term, "insert", "v0", op="layer-norm")
    assert [cell.path for cell in ncd.elaborate(new).cells] == ["norm_3", "norm", "norm_2.norm"]


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: edit(TWO, "remove", "n0"),
            "Remove n0: it takes (m) and gives (k), so that nothing would give what comes after "
            "it. Bound so far: m 3. Try an op that gives the axes that it takes, or another op "
            "in its place.",
        ),
        (
            lambda: edit(TWO, "remove", "n7"),
            "there is no place 'n7'. Try an id such as n0, v0 or f0, or axis:NAME.",
        ),
        (
            lambda: edit(TWO, "insert", "v1", op="gleu"),
            "Insert on v1: there is no op 'gleu'. Try gelu.",
        ),
        (
            lambda: edit(TWO, "insert", "v1", op="layer-norm", axes="z"),
            "Insert on v1: there is no axis 'z'. Try one of k.",
        ),
        (
            lambda: edit(Id("y:2#v:5"), "insert", "v0", op="relu"),
            "Insert on v0: (y#v) holds whole numbers below v. Try an array of real numbers.",
        ),
        (
            lambda: edit(Id("m:2") >> Copy("m") >> Add(), "replace", "n1", by="relu"),
            "Replace n1: nothing stands for Add. Try one of Elementwise, LayerNorm, Linear, Map, "
            "RMSNorm, Reduce, Softmax.",
        ),
        (
            lambda: Rewrite.from_json('{"rewrite": "romove"}'),
            "there is no rewrite 'romove'. Try remove.",
        ),
        (
            lambda: Rewrite.from_json('{"rewrite": "remove", "at": "n0", "by": [1]}'),
            "Rewrite remove: an option is a number, a text, true or false. "
            'Try {"rewrite": "remove", "at": "n0"}.',
        ),
        (
            lambda: Rewrite.from_json("[]"),
            'Rewrite: [] is no rewrite. Try {"rewrite": "remove", "at": "n0"}.',
        ),
        (
            lambda: ncd.apply(TWO, "remove"),  # type: ignore[arg-type]
            'apply: \'remove\' is no rewrite. Try Rewrite("remove", "n0").',
        ),
        (
            lambda: ncd.rewrites(TWO, "n9"),
            "there is no place 'n9'. Try an id such as n0, v0 or f0, or axis:NAME.",
        ),
    ],
)
def test_what_cannot_be_says_why(work: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as error:
        work()
    assert str(error.value) == message


HEADS = ncd.catalogue["multi-head-attention"].build(y=3, x=4, m=4, k=2, h=2)
HEADS_SOFTMAX = next(c.id for c in ncd.elaborate(HEADS).cells if isinstance(c.op, Softmax))
SQUARE = Linear("m:3 -> m", "A")
UNEQUAL = Repeat((SQUARE, Linear("m:3 -> m", "B")))
RELU = Id("m:3") >> Elementwise("relu")
NEIGHBOUR = "Try an op whose neighbour keeps the axes."
REFUSED: list[tuple[Term, str, str, dict[str, object], str]] = [
    (
        TWO, "group-heads", "n1", {"heads": 1},
        "Group the heads of n1: n1 is no softmax between a map to keys and one to values. Try the "
        "softmax of an attention.",
    ),
    (
        HEADS, "group-heads", HEADS_SOFTMAX, {"heads": 3},
        f"Group the heads of {HEADS_SOFTMAX}: axis h has size 2, which 3 does not divide. Try a "
        "number that divides it.",
    ),
    (
        TWO, "insert", "", {"op": "relu"},
        "Insert on the whole term: the whole term is no array. Try the id of an array, such as v0.",
    ),
    (
        Id("()"), "insert", "v0", {"op": "softmax"},
        "Insert on v0: no axis of (()) fits a softmax. Try an array with such an axis.",
    ),
    (SQUARE, "skip", "n0", {"from": "v0", "input": 2},
     "Skip to n0: it has no input 2. Try input = 1."),
    (SQUARE, "skip", "n0", {"from": "v9"},
     "Skip to n0: there is no array 'v9'. Try an id such as v0."),
    (
        Id("m:3, m") >> Add(), "bypass", "n0", {"keep": 3},
        "Bypass n0: array 3 of what it takes is not of the axes that it gives. Try an array that "
        "is.",
    ),
    (
        Einsum("y:2 k:3, x:4 k -> y x"), "bypass", "n0", {"keep": 1},
        "Bypass n0: array 1 of what it takes is not of the axes that it gives. Try an array that "
        "is.",
    ),
    (Id("m:3, m") >> Add() >> Elementwise("relu"), "move", "n0", {"to": "later"},
     f"Move n0: it takes or gives several arrays. {NEIGHBOUR}"),
    (TWO, "move", "n0", {"to": "later"},
     f"Move n0: it gives other axes than it takes. {NEIGHBOUR}"),
    (RELU, "move", "n0", {"to": "later"}, f"Move n0: what follows is no single op. {NEIGHBOUR}"),
    (RELU >> Linear("m -> k:2"), "move", "n0", {"to": "later"},
     f"Move n0: what follows gives other axes. {NEIGHBOUR}"),
    (RELU, "move", "n0", {"to": "earlier"},
     f"Move n0: nothing stands before it here. {NEIGHBOUR}"),
    (Linear("k:2 -> m:3") >> Softmax("m"), "move", "n1", {"to": "earlier"},
     f"Move n1: what stands before it takes other axes. {NEIGHBOUR}"),
    (RELU >> Copy("m") >> Elementwise("sin") @ Id("m"), "move", "n2", {"to": "earlier"},
     f"Move n2: what stands before it is needed elsewhere. {NEIGHBOUR}"),
    (RELU, "move", "n0", {"to": "up"},
     "Move n0: there is no direction 'up'. Try one of later, earlier."),
    (UNEQUAL, "layer-count", "f0", {"count": 3},
     "Layers of f0: f0 is no repetition of equal layers. Try the id of a repetition."),
    (TWO, "layer-count", "n0", {"count": 3},
     "Layers of n0: n0 is no repetition of equal layers. Try the id of a repetition."),
    (UNEQUAL, "share-weights", "f0", {"shared": True},
     "Weights of f0: f0 is no repetition of equal layers. Try the id of a repetition."),
    (UNEQUAL, "unwrap", "f0", {}, "Unwrap f0: it has 2 layers. Try a repetition of one layer."),
    (TWO, "unwrap", "n0", {},
     "Unwrap n0: n0 is neither a block nor a repetition. Try the id of a block, such as f0."),
    (
        SQUARE >> Block(SQUARE, "Part", name="part"), "unwrap", "f0", {},
        "Unwrap f0: a layer A stands inside it and another one outside. Try another name for one "
        "of them.",
    ),
    (
        Repeat((SQUARE,) * 2, shared=True), "unroll", "f0", {},
        "Unroll f0: its layers share their weights or a memory, or they are many. Try a repetition "
        "of at most 8 layers with weights of their own.",
    ),
    (TWO, "unroll", "n0", {},
     "Unroll n0: n0 is no repetition. Try the id of a repetition, such as f0."),
    (
        Copy("m:3"), "write", "n0", {"as": "steps"},
        "Write out n0: Copy has no other form. Try an op such as a linear map or a softmax.",
    ),
    (TWO, "write", "n1", {"as": "einsum"},
     "Write out n1: there is no form 'einsum'. Try one of steps."),
    (TWO, "write", "v0", {"as": "steps"},
     "Write out v0: v0 is no op. Try the id of an op, such as n0."),
    (TWO, "write", "", {"as": "steps"},
     "Write out the whole term: the whole term is no op. Try the id of an op, such as n0."),
    (
        Id("m:3, m") >> Add(), "duplicate", "n0", {},
        "Duplicate n0: it takes (m, m) and gives (m). Try an op or a block that takes one array of "
        "real numbers and gives one.",
    ),
    (
        TWO, "repeat", "n0", {"times": 2},
        "Repeat n0: it takes (m) and gives (k). Bound so far: m 3. Try an op or a block that gives "
        "the axes that it takes.",
    ),
    (TWO, "low-rank-adapter", "n1", {"rank": 2},
     "Adapter of n1: Softmax is no linear map. Try the id of a Linear."),
]  # fmt: skip


@pytest.mark.parametrize(("term", "name", "at", "options", "message"), REFUSED)
def test_a_rewrite_that_does_not_fit_says_why(
    term: Term, name: str, at: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(NCDError) as error:
        edit(term, name, at, **options)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ('{"at": "n0"}', "a rewrite has a name and a place"),
        ('{"rewrite": "remove", "at": 3}', "a rewrite has a name and a place"),
        (3, "3 is no text"),
        (
            "{",
            "this is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 "
            "(char 1)",
        ),
        ("x" * 2001, "it has 2,001 letters, at most 2,000 are read"),
    ],
)
def test_a_text_that_is_no_rewrite(text: str, fact: str) -> None:
    with pytest.raises(NCDError) as error:
        Rewrite.from_json(text)
    assert str(error.value) == f'Rewrite: {fact}. Try {{"rewrite": "remove", "at": "n0"}}.'


def test_eight_layers_are_written_one_after_the_other_and_no_more() -> None:
    eight = edit(Repeat((SQUARE,) * 8), "unroll", "f0")
    assert [f.title for f in ncd.elaborate(eight).fences] == [f"Layer {i}" for i in range(1, 9)]
    with pytest.raises(NCDError, match="or they are many"):
        edit(Repeat((SQUARE,) * 9), "unroll", "f0")


def test_a_place_is_a_text() -> None:
    with pytest.raises(NCDError) as error:
        ncd.rewrites(TWO, 3)  # type: ignore[arg-type]
    assert str(error.value) == 'rewrites: the place is 3. Try at="n0".'


def test_a_link_with_other_options_is_refused_or_applies() -> None:
    """Whatever stands in a link, the answer is a term or an error of this project."""
    draw = random.Random(0)
    term = ncd.catalogue["multi-head-attention"].build(y=3, x=4, m=4, k=2, h=2)
    circuit = ncd.elaborate(term)
    places = [*circuit.cells_by_id, *circuit.values, "f0", "f3", "axis:m", "", "n99"]
    keys = "op axes by times title rank keep count shared to from input size first as into heads"
    values = (0, 1, 2, -1, 10**9, 1.5, True, "", "m", "v1", "gelu", "later", "a b", "\n", "x" * 300)
    for name in [*RULES] * 6:
        options = [(key, draw.choice(values)) for key in draw.sample(keys.split(), 4)]
        one = Rewrite(name, draw.choice(places), tuple(options))
        assert isinstance(one.title, str)
        try:
            ncd.apply(term, one)
        except NCDError as error:
            assert "Try " in str(error)


def test_what_is_offered_in_a_layer_fits_in_all_layers() -> None:
    """Here the layers call their channels by names of their own."""
    layers = tuple(Linear(f"{a}:4 -> {b}:4", "L", True) for a, b in ("pq", "qr", "rs"))
    term = Repeat(tuple(layer >> Elementwise("relu") for layer in layers))
    offered = [one for one in ncd.rewrites(term, "n0") if one.name == "insert"]
    assert [dict(one.options).get("axes") for one in offered] == [None] * len(offered) != []
    for one in offered:
        ncd.apply(term, one)


def test_a_rewrite_has_at_most_2_000_letters() -> None:
    def text(letters: int) -> str:
        return '{"rewrite": "remove", "at": "n0"}'.ljust(letters)

    assert Rewrite.from_json(text(2_000)) == Rewrite("remove", "n0")
    with pytest.raises(LimitError) as raised:
        Rewrite.from_json(text(2_001))
    assert raised.value.fact == "it has 2,001 letters, at most 2,000 are read"
