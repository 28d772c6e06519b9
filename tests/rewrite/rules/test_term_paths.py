"""An id of a drawing means one op or block of the term, and parts can be put in its place."""

from __future__ import annotations

import pytest

import ncd
from ncd import (
    Add,
    Beside,
    Block,
    Copy,
    Elementwise,
    Equation,
    Id,
    Linear,
    MismatchError,
    Repeat,
    Scan,
    Softmax,
    Term,
    Then,
    UnknownNameError,
    elaborate,
)
from ncd.language.axes import Type
from ncd.rewrite.rules.term_paths import (
    TermPaths,
    ancestors,
    identity,
    on_array,
    part_at,
    replace_parts,
    with_names,
)

RELU = Elementwise("relu")
LAYER = Block(Linear("m:4 -> m:4", "L") >> RELU, "Layer", "linear")
STACK = Id("y:3 m:4") >> LAYER >> Repeat((LAYER, LAYER), "layers") >> Softmax("m")


def paths_of(term: Term) -> TermPaths:
    return TermPaths(elaborate(term))


@pytest.mark.parametrize("name", ["multi-head-attention", "unet", "gru", "t5", "recall"])
def test_the_path_of_an_id_leads_to_its_op_or_block(name: str) -> None:
    paths = paths_of(ncd.catalogue[name].build())
    term = paths.circuit.term
    for cell in paths.circuit.cells:
        assert part_at(term, paths.path(cell.id)) == cell.op
    for fence in paths.circuit.fences:
        assert part_at(term, paths.path(fence.id)) == fence.term
    assert paths.ids == {path: id for id, path in paths.by_id.items()}
    assert len(paths.ids) == len(paths.circuit.cells) + len(paths.circuit.fences)


def test_the_copy_that_an_equation_makes_has_no_path() -> None:
    sides = Linear("m:3 -> k:2", "A") >> RELU, Linear("m:3 -> k:2", "A") >> RELU
    paths = paths_of(Equation(*sides))
    assert set(paths.by_id) == {"n1", "n2", "n3", "n4"}
    assert {paths.path(id) for id in ("n1", "n3")} == {(0, 0), (1, 0)}
    assert set(paths.copies("n1")) == {"n1", "n3"}  # one layer on both sides


def test_an_unknown_id_is_refused() -> None:
    with pytest.raises(UnknownNameError, match=r"^there is no op or block 'n99'") as raised:
        paths_of(STACK).path("n99")
    assert raised.value.cure == "an id such as n0 or f0"
    for path in ((4,), (1, 0, 2)):
        with pytest.raises(UnknownNameError) as raised:
            part_at(STACK, path)
        assert (raised.value.fact, raised.value.cure) == (
            f"there is no part {path}",
            "a path of this term",
        )


def test_the_copies_of_an_op_stand_in_every_body_of_the_repetitions_around_it() -> None:
    inner = Repeat((LAYER, LAYER), "inner")
    paths = paths_of(Id("m:4") >> Repeat((inner, inner, inner), "outer") >> LAYER)
    linear = [cell.id for cell in paths.circuit.cells if isinstance(cell.op, Linear)]
    assert len(linear) == 7
    for id in linear[:-1]:
        copies = paths.copies(id)
        assert copies[0] == id and sorted(copies) == sorted(linear[:-1])
    assert paths.copies(linear[-1]) == (linear[-1],)


def test_a_body_of_another_structure_has_no_copy() -> None:
    other = Block(RELU >> Linear("m:4 -> m:4", "L"), "Layer", "linear")
    paths = paths_of(Id("m:4") >> Repeat((LAYER, other, LAYER), "layers"))
    first, _, _, last = (c.id for c in paths.circuit.cells if c.id not in ("n2", "n3"))
    assert paths.copies("n0") == ("n0", "n4") == (first, "n4") and last == "n5"


def test_layers_keep_the_names_that_their_parameters_have() -> None:
    two = Id("m:4") >> Linear("m -> m:4", "L") >> Linear("m -> m:4", "L") >> Linear("m -> m:4", "L")
    paths = paths_of(two)
    assert paths.unwritten_names == {paths.path("n1"): "L_2", paths.path("n2"): "L_3"}
    own = paths.with_own_names
    assert [c.name for c in own.circuit.cells] == ["L", "L_2", "L_3"]
    assert own.unwritten_names == {} and own.with_own_names is own
    blocks = (
        Id("m:4")
        >> Block(RELU >> Linear("m -> m:4", "L"), name="b")
        >> Block(Linear("m -> m:4", "L"), name="b")
    )
    assert [*paths_of(blocks).unwritten_names.values()] == ["b_2"]


def test_the_ancestors_are_the_terms_on_the_way() -> None:
    whole = elaborate(STACK).term
    path = TermPaths(elaborate(STACK)).path("n2")
    on_the_way = [*ancestors(whole, path)]
    assert on_the_way[0] is whole and isinstance(on_the_way[1], Repeat)
    assert len(on_the_way) == len(path)
    assert all(part_at(whole, path[:n]) is term for n, term in enumerate(on_the_way))


# --- other parts


@pytest.mark.parametrize("name", ["multi-head-attention", "unet", "gru", "t5", "streamed-norm"])
def test_a_part_put_in_its_own_place_changes_nothing(name: str) -> None:
    paths = paths_of(ncd.catalogue[name].build())
    term = paths.circuit.term
    for id, path in paths.by_id.items():
        assert replace_parts(term, {path: part_at(term, path)}) == term, id


def test_a_new_part_stands_at_its_path_and_nowhere_else() -> None:
    term = elaborate(STACK).term
    paths = TermPaths(elaborate(STACK))
    for id, count in (("n0", 1), ("n1", 1), ("n2", 2), ("n5", 2), ("n6", 1)):  # 2 equal bodies
        path = paths.path(id)
        new = replace_parts(term, {path: Linear("m:4 -> m:4", "New")})
        assert part_at(new, path) == Linear("m:4 -> m:4", "New")
        assert [cell.name for cell in elaborate(new).cells].count("New") == count
        assert len(elaborate(new).cells) == len(paths.circuit.cells)
    assert replace_parts(term, {(): RELU}, keep_inputs=False) == RELU


def test_of_what_is_removed_nothing_is_left() -> None:
    term = Linear("m:3 -> k:2", "A") >> RELU >> Softmax("k")
    assert replace_parts(term, {(1,): Id("k")}) == Linear("m:3 -> k:2", "A") >> Softmax("k")
    every = {(i,): Id("k:2") for i in (1, 2)} | {(0,): Id("m:3")}
    assert replace_parts(term, every) == Id("m:3")
    blocks = Id("m:3") >> Block(RELU, "One", "linear") >> RELU
    assert replace_parts(blocks, {(1, 0): Id("m:3")}) == Id("m:3") >> RELU
    own = Block(RELU, "One", "linear", local=True)
    assert isinstance(replace_parts(own, {(0,): Id("m:3")}), Id)
    side = Beside(RELU, Softmax("m"))
    assert replace_parts(side, {(0,): Id("m"), (1,): Id("m")}, keep_inputs=False) == Id("m, m")
    kept = replace_parts(side, {(0,): Id("m")}, keep_inputs=False)
    assert isinstance(kept, Beside) and kept.children == (Id("m"), Softmax("m"))


def test_the_whole_term_takes_the_arrays_of_before() -> None:
    term = Softmax("k") >> RELU
    new = replace_parts(term, {(0,): RELU})
    assert new.dom == term.dom and new == Id("k") >> RELU >> RELU
    assert replace_parts(term, {(0,): RELU}, keep_inputs=False) == RELU >> RELU


def test_equal_bodies_stay_equal_and_others_are_let_be() -> None:
    term = Repeat((LAYER, LAYER, LAYER), "layers")
    new = replace_parts(term, {(0, 0, 1): Softmax("m"), (2, 0, 1): Softmax("m")})
    assert isinstance(new, Repeat)
    assert new.bodies[0] == new.bodies[1] == new.bodies[2] != LAYER
    other = Block(RELU, "Other", "linear")
    mixed = replace_parts(Repeat((LAYER, other), "layers"), {(0, 0, 1): Softmax("m")})
    assert isinstance(mixed, Repeat) and mixed.bodies[1] == other
    scan = ncd.catalogue["gru"].build()
    assert any(isinstance(part, Scan) for part in [scan, *scan.children])


def test_a_typed_block_loses_its_type_where_that_has_changed() -> None:
    typed = Block(Linear("m:3 -> k:2", "A"), "Map", "linear", type="m:3 -> k:2")
    assert typed.type is not None
    same = replace_parts(typed, {(0,): Linear("m:3 -> k:2", "B")})
    other = replace_parts(typed, {(0,): Linear("m:3 -> j:5", "B")})
    assert isinstance(same, Block) and same.type == typed.type
    assert isinstance(other, Block) and other.type is None


def test_names_at_paths_become_others() -> None:
    term = Id("m:4") >> Linear("m:4 -> m:4", "A") >> Repeat((LAYER, LAYER), "layers")
    new = with_names(term, {(1,): "B", (2, 0, 0, 0): "C", (2,): "stack"})
    assert part_at(new, (1,)) == Linear("m:4 -> m:4", "B")
    assert part_at(new, (2, 0, 0, 0)) == Linear("m:4 -> m:4", "C")
    assert part_at(new, (2, 1)) == LAYER and part_at(new, (2,)).name == "stack"
    assert with_names(term, {}) is term
    sides = Equation(Linear("m:3 -> k:2", "A"), Linear("m:3 -> k:2", "A"))
    left = with_names(sides, {(0,): "B"})
    assert isinstance(left, Equation)
    assert [side.name for side in left.sides] == ["B", "A"]


def test_wires_for_arrays_in_which_a_name_stands_for_two_sizes() -> None:
    assert identity(Type.parse("m:3, m:3 k:2")) == Id("m:3, m:3 k:2")
    two = identity(Type.parse("m:3, m:4"))
    assert isinstance(two, Beside) and (two.dom, two.cod) == (Type.parse("m:3, m:4"),) * 2
    arrays = Type.parse("m:3, x:2, k:5")
    assert on_array(Softmax("m"), arrays, 0) == Softmax("m")
    assert on_array(Softmax("k"), arrays, 2) == Id("m:3, x:2") @ Softmax("k")


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(MismatchError):
        replace_parts(Linear("m:3 -> k:2", "A") >> Softmax("k"), {(0,): Linear("m:3 -> j:2", "A")})
    assert isinstance(Copy("m") >> Add(), Then)
