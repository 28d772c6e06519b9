"""What a rule is told of its place, the options that it reads, and the names that it gives."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd import (
    Block,
    Elementwise,
    Id,
    Linear,
    MismatchError,
    ParseError,
    Repeat,
    Softmax,
    Term,
    UnknownNameError,
    elaborate,
)
from ncd.language.axes import Type
from ncd.rewrite.rules.rule import (
    Target,
    cells_within,
    count_option,
    fresh_copy,
    move_parameters,
    names_kept,
    op_at,
    pick,
    scope_around,
    unused_axis_name,
    unused_layer_name,
)
from ncd.rewrite.rules.term_paths import TermPaths, part_at

RELU = Elementwise("relu")
LAYER = Block(Linear("m:4 -> m:4", "L") >> RELU, "Layer", "linear", name="layer")
TERM = Id("y:3 m:4") >> LAYER >> Repeat((LAYER, LAYER), "layers") >> Softmax("m")


def target(place: str, term: Term = TERM) -> Target:
    return Target(TermPaths(elaborate(term)), place)


# --- places


def test_a_place_is_of_one_kind() -> None:
    op, array, block, axis, whole = map(target, ("n0", "v0", "f0", "axis:m", ""))
    assert op.cell is not None and op.cell.op == op.part == Linear("m:4 -> m:4", "L")
    assert array.value is not None and array.value.id == "v0"
    assert block.fence is not None and block.part == LAYER
    assert axis.axis == "m" and whole.part == whole.term and whole.path == ()
    for one, kind in ((op, "cell"), (array, "value"), (block, "fence")):
        known = {name for name in ("cell", "value", "fence") if getattr(one, name) is not None}
        assert known == {kind} and one.axis == ""
    assert [one.is_part for one in (op, array, block, axis, whole)] == [
        True,
        False,
        True,
        False,
        False,
    ]


def test_a_place_takes_and_gives_arrays() -> None:
    shapes = Type.parse("y:3 m:4"), Type.parse("y:3 m:4")
    wide = Id("y:3 m:4") >> Block(Linear("m -> k:5", "K") >> RELU, "B") >> Softmax("k")
    assert (target("n0").inputs, target("n0").outputs) == shapes
    for place, gives in (("f0", "y:3 k:5"), ("n0", "y:3 k:5"), ("", "y:3 k:5")):
        one = target(place, wide)
        assert (str(one.inputs), str(one.outputs)) == (
            str(Type.parse("y:3 m:4")),
            str(Type.parse(gives)),
        )
    assert str(target("n2", wide).inputs) == str(Type.parse("y:3 k:5"))


@pytest.mark.parametrize("place", ["n9", "v99", "f7", "axis:q", "m"])
def test_a_place_that_is_not_there_is_refused(place: str) -> None:
    with pytest.raises(UnknownNameError) as raised:
        target(place).check()
    assert raised.value.fact == f"there is no place {place!r}"
    assert raised.value.cure == "an id such as n0, v0 or f0, or axis:NAME"


@pytest.mark.parametrize("place", ["", "n0", "v0", "f0", "axis:m", "axis:y"])
def test_a_place_that_is_there_is_not(place: str) -> None:
    target(place).check()


def test_an_array_has_copies_where_the_op_has_that_gives_it() -> None:
    whole = target("")
    inside = [c for c in whole.circuit.cells if len(c.fences) > 1 and isinstance(c.op, Linear)]
    copies = target(inside[0].outputs[0].id).copies()
    assert [one.place for one in copies] == [cell.outputs[0].id for cell in inside]
    assert len(copies) == 2
    assert [one.place for one in target("v0").copies()] == ["v0"]  # an input
    assert [one.place for one in target("axis:m").copies()] == ["axis:m"]


# --- options


def test_an_option_is_one_of_some_names() -> None:
    assert pick({"to": "b"}, "to", ["a", "b"], "Rule") == "b"
    for options in ({"to": "c"}, {"to": 1}, {"to": None}, {}):
        with pytest.raises(UnknownNameError):
            pick(options, "to", ["a", "b"], "Rule")


@pytest.mark.parametrize("value", [1, 2, 7])
def test_a_count_is_from_1_to_the_most(value: int) -> None:
    assert count_option({"n": value}, "n", 7, "Rule") == value


@pytest.mark.parametrize("value", [0, 8, -1, 2.0, True, "2", None])
def test_any_other_count_is_refused(value: object) -> None:
    with pytest.raises(ParseError) as raised:
        count_option({"n": value}, "n", 7, "Rule")
    assert raised.value.fact == f"n is {value!r}, but it is a whole number from 1 to 7"
    assert raised.value.cure == "n = 2"
    with pytest.raises(ParseError, match=r"1 to 1,000\b"):
        count_option({"n": value}, "n", 1000, "Rule") if value != 8 else count_option(
            {}, "n", 1000, "Rule"
        )
    with pytest.raises(ParseError) as raised:
        count_option({"n": 2}, "n", 1, "Rule")
    assert raised.value.cure == "n = 1"


def test_an_op_stands_at_the_place_of_an_op_alone() -> None:
    assert op_at(target("n0"), "Rule").id == "n0"
    for place, fact in (("f0", "f0 is no op"), ("", "the whole term is no op")):
        with pytest.raises(MismatchError) as raised:
            op_at(target(place), "Rule")
        assert (raised.value.fact, raised.value.cure) == (fact, "the id of an op, such as n0")


# --- names


def test_a_new_layer_has_a_name_that_none_has() -> None:
    circuit = target("").circuit
    assert unused_layer_name(circuit, "New") == "New"
    assert unused_layer_name(circuit, "layer") not in {
        word for cell in circuit.cells for word in (cell.name, *cell.module_path)
    }
    two = target("", Id("m:4") >> Linear("m -> m:4", "L") >> Linear("m -> m:4", "L")).circuit
    assert unused_layer_name(two, "L") == "L_3"
    assert (unused_axis_name(circuit, "m"), unused_axis_name(circuit, "k")) == ("m2", "k")
    three = target("", Id("m:4 m2:3")).circuit
    assert unused_axis_name(three, "m") == "m3"


def test_the_ops_of_a_place_and_the_submodules_around_it() -> None:
    assert [cell.id for cell in cells_within(target("f0"))] == ["n0", "n1"]
    assert [cell.id for cell in cells_within(target("n1"))] == ["n1"]
    assert cells_within(target("v0")) == ()
    assert scope_around(target("n0")) == ("layer",) and scope_around(target("f0")) == ()
    inner = next(c for c in target("").circuit.cells if c.module_path[:1] == ("layers",))
    assert scope_around(target(inner.id)) == ("layers", "0", "layer")
    shared = Id("m:4") >> Repeat((Linear("m:4 -> m:4", "L"),) * 2, "same", shared=True)
    assert scope_around(target("n0", shared)) == ("same",)
    stacks = [Id("m:4") >> Repeat((LAYER, LAYER), "stack", shared=once) for once in (True, False)]
    assert [scope_around(target("f1", term)) for term in stacks] == [("stack",), ("stack", "0")]


def test_parameters_move_with_their_layers() -> None:
    circuit = target("").circuit
    moved = move_parameters(circuit.cells, lambda path: f"a.{path}")
    old = dict(ncd.compile(TERM).state_dict())
    new = moved({**old, "layer.Lx.weight": torch.ones(1)})
    assert set(new) == {f"a.{name}" for name in old}
    assert all(new[f"a.{name}"] is old[name] for name in old)


def test_a_copy_has_weights_of_its_own() -> None:
    circuit = target("").circuit
    new = fresh_copy(LAYER, circuit)
    assert new.name != "layer" and part_at(new, (0,)) == part_at(LAYER, (0,))
    plain = fresh_copy(Linear("m:4 -> m:4", "L") >> RELU, circuit)
    assert part_at(plain, (0,)).name == "L_2" and part_at(plain, (1,)) == RELU
    assert fresh_copy(RELU, circuit) == RELU


def test_names_are_kept_where_a_layer_of_the_same_name_changes() -> None:
    two = Id("m:4") >> Linear("m -> m:4", "L") >> Linear("m -> m:4", "L") >> Softmax("m")
    kept = names_kept(target("n0", two))
    assert [cell.name for cell in kept.circuit.cells][:2] == ["L", "L_2"]
    assert part_at(kept.term, kept.paths.path("n1")) == Linear("m -> m:4", "L_2")
    other = target("n2", two)
    assert names_kept(other) is other  # a softmax takes no name away
    alone = target("n0")
    assert names_kept(alone).place == "n0"
