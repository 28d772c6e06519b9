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
    Elementwise,
    Id,
    LayerNorm,
    LimitError,
    Linear,
    NCDError,
    Repeat,
    Rewrite,
    RMSNorm,
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
            "Insert on v1: there is no axes 'z'. Try one of k.",
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
