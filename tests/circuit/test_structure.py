"""Structure: stated types, scopes, local names, repetitions, scans, equations, limits."""

from __future__ import annotations

import pickle

import pytest

from ncd import (
    Add,
    Array,
    Axes,
    Beside,
    Block,
    Conv,
    Copy,
    Einsum,
    Elementwise,
    Equation,
    Group,
    Id,
    LimitError,
    Linear,
    MismatchError,
    Param,
    ParseError,
    Repeat,
    Scan,
    SizeError,
    Split,
    Term,
    Then,
    Type,
    UnknownNameError,
    Wire,
    abreast,
    catalogue,
    elaborate,
)


def paths(term: Term) -> list[str]:
    return [cell.path for cell in elaborate(term).cells if cell.name]


# --- types that are stated -----------------------------------------------------------------------


def test_a_stated_type_catches_a_map_that_silently_takes_one_array_more() -> None:
    beside = Id("a b") >> Linear("a -> c") @ Linear("b -> d")
    assert str(beside.dom) == "a b, b"  # the trap
    with pytest.raises(MismatchError) as caught:
        Block(beside, "Outer", type="a b -> c d")
    assert str(caught.value) == (
        "Block 'Outer': it takes (a b, b), but its type says (a b). "
        'Try type="a b, b -> c b, d", or other steps.'
    )


def test_maps_side_by_side_on_one_array() -> None:
    assert str(abreast(Linear("a -> c"), Linear("b -> d")).cod) == "c d"
    with pytest.raises(MismatchError, match="two maps take the axis a"):
        abreast(Linear("a -> c"), Linear("a -> d"))


def test_an_unknown_role_is_refused() -> None:
    with pytest.raises(UnknownNameError) as caught:
        Block(Id("m"), "", "linaer")
    assert str(caught.value) == "Block: there is no role 'linaer'. Try linear."


# --- scopes --------------------------------------------------------------------------------------


def test_a_named_block_is_a_submodule() -> None:
    attention = Block(Linear("m -> m:4", "Q") >> Linear("m -> m:4", "Q"), name="self_attn")
    layer = Block(attention >> attention, name="layer")
    term = Id("m:4") >> Repeat((layer,) * 2, "encoder")
    assert paths(term) == [
        f"encoder.{i}.layer.{block}.{name}"
        for i in range(2)
        for block in ("self_attn", "self_attn_2")
        for name in ("Q", "Q_2")
    ]


def test_shared_bodies_have_one_path() -> None:
    term = Id("m:4") >> Repeat((Linear("m -> m:4", "W"),) * 3, shared=True)
    assert paths(term) == ["layers.W"] * 3


@pytest.mark.parametrize("name", ["forward", "training", "type", "execute", "double"])
def test_a_layer_whose_name_a_module_has_already_gets_a_number(name: str) -> None:
    assert paths(Id("m:4") >> Linear("m -> m:4", name)) == [f"{name}_2"]
    assert paths(Id("m:4") >> Repeat((Linear("m -> m:4", name),))) == [f"layers.0.{name}_2"]


def test_a_layer_name_that_hides_the_module_itself_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        Linear("m -> m", "_parameters")
    assert str(caught.value) == "Linear: '_parameters' is no name for a layer. Try parameters."


# --- names of a block's own ----------------------------------------------------------------------


def test_a_local_block_reads_its_arrays_by_place() -> None:
    block = Block(Einsum("y k, x k -> y x"), "Scores", local=True)
    inputs = Type.parse("b:2 q:3 d:4, b:2 s:5 d:4")
    assert block.infer_outputs(inputs).spec == "b:2 q:3 s:5"


def test_a_local_block_refuses_a_name_that_would_mean_two_axes() -> None:
    block = Block(Add() >> Linear("m -> n:3"), "Sum", local=True)
    with pytest.raises(MismatchError) as caught:
        block.infer_outputs(Type.parse("a:4, b:4"))
    assert str(caught.value).startswith("Block 'Sum': its axis m stands for a and for b.")


# --- repetitions ---------------------------------------------------------------------------------


def test_bodies_leave_arrays_behind_and_take_them_again() -> None:
    down = Repeat((Copy("m"),) * 3, "downs")
    up = Repeat((Block(Add(), type="m, m -> m"),) * 3, "ups")
    assert (str(down.dom), str(down.cod)) == ("m", "m, m, m, m")
    assert (str(up.dom), str(up.cod)) == ("m, m, m, m", "m")
    circuit = elaborate(Axes(m=2)(Id("m") >> down >> up))
    adds = [cell for cell in circuit.cells if isinstance(cell.op, Add)]
    copies = [cell for cell in circuit.cells if isinstance(cell.op, Copy)]
    taken = [add.inputs[1].id for add in adds]
    assert taken == [copy.outputs[1].id for copy in reversed(copies)]  # the latest first


def test_a_repetition_is_one_unit_of_the_circuit_with_a_circuit_a_body() -> None:
    term = Axes(m=2)(Repeat((Repeat((Linear("m -> m", "W"),) * 2, "inner"),) * 3, "outer"))
    (loop,) = elaborate(term).units
    assert len(loop.bodies) == 3
    assert [len(body.units[0].bodies) for body in loop.bodies] == [2, 2, 2]
    assert loop.bodies[0].inputs == loop.inputs
    assert loop.bodies[1].inputs == loop.bodies[0].outputs
    assert loop.outputs == loop.bodies[2].outputs
    assert len(paths(term)) == 6


def test_memory_is_given_to_every_body() -> None:
    body = Id("y m") @ Linear("m -> m", "W") >> Id("y m, x m") >> Wire("y m, x m -> y m")
    term = Axes(y=2, x=3, m=4)(Repeat((body,) * 3, memory=1))
    assert (str(term.dom), str(term.cod)) == ("y m, x m", "y m")
    maps = [cell for cell in elaborate(term).cells if cell.name]
    assert len({cell.inputs[0].id for cell in maps}) == 1


def test_what_comes_out_of_a_memory_is_known_to_come_from_it() -> None:
    body = Id("y m, x m") >> Wire("y m, x m -> x m")
    first = Id("y m") @ Id("x m") >> Wire("y m, x m -> y m")
    assert Repeat((first,) * 2, memory=1).origins == ((0,),)
    assert Repeat((body,), memory=1).origins == ((1,),)


def test_a_body_with_memory_gives_as_many_arrays_as_it_takes_beside_it() -> None:
    with pytest.raises(MismatchError) as caught:
        Repeat((Id("y, x"),), memory=1)
    assert str(caught.value) == (
        "Repeat: a body takes 1 arrays beside the memory, but gives 2. Try a body that gives as "
        "many arrays as it takes beside the memory."
    )


# --- scans ---------------------------------------------------------------------------------------

STEP = Id("n, n") >> Add() >> Copy("n")


def test_a_scan_has_its_axis_on_inputs_and_outputs_only() -> None:
    scan = Scan(STEP, "t")
    assert (str(scan.dom), str(scan.cod)) == ("n, t n", "n, t n")
    assert scan.infer_outputs(Type.parse("b:2 n:3, b:2 t:4 n:3")).spec == "b:2 n:3, b:2 t:4 n:3"


def test_a_scan_refuses_what_cannot_run() -> None:
    with pytest.raises(MismatchError, match="a body \\(state, x\\) -> \\(state, y\\)"):
        Scan(Linear("n -> n"), "t")
    with pytest.raises(MismatchError, match="so far: n 3"):
        Scan(STEP, "t").infer_outputs(Type.parse("n:3, n:3"))
    with pytest.raises(MismatchError, match="its body takes the states"):
        Scan(Linear("n -> m") @ Id("n"), "t")


def test_cells_of_a_scan_run_once_a_position() -> None:
    (add, copy) = elaborate(Axes(n=3, t=5)(Scan(STEP, "t"))).cells
    assert (add.run_count, copy.run_count) == (5, 5)


def test_a_size_passes_into_a_scan_and_out_of_it() -> None:
    """By its place: a name that has another size elsewhere tells nothing."""
    made = Id("h:2 k:3, t:5 n") >> Group("h k -> n") @ Id("t n") >> Scan(STEP, "t")
    split = Scan(STEP, "t:5") >> Id("n") @ Split("n -> h:2 k:3")
    types = [elaborate(term @ Id("n:7")).term for term in (made, split)]
    assert [(term.dom.spec, term.cod.spec) for term in types] == [
        ("h:2 k:3, t:5 n:6, n:7", "n:6, t:5 n:6, n:7"),
        ("n:6, t:5 n:6, n:7", "n:6, t:5 h:2 k:3, n:7"),
    ]


def test_the_fence_of_a_scan_names_its_axis_and_that_of_a_repetition_its_bodies() -> None:
    scan, repeat = Scan(STEP, "t"), Repeat((Linear("m -> m"),) * 3)
    fences = elaborate(Axes(n=3, t=5, m=2)(scan @ repeat)).fences
    assert [(fence.title, fence.repeats) for fence in fences] == [("Scan along t", 0), ("", 3)]


# --- equations -----------------------------------------------------------------------------------


def test_the_sides_of_an_equation_share_layers_of_one_name() -> None:
    term = Axes(m=2, d=3)(Equation(Linear("m -> d", "Q"), Linear("m -> d", "Q"), sign="≝"))
    assert paths(term) == ["Q", "Q"]
    assert str(term.cod) == "d, d"


def test_sides_of_two_types_are_no_equation() -> None:
    with pytest.raises(MismatchError, match="it gives \\(e\\), but its type says \\(d\\)"):
        Equation(Linear("m -> d"), Linear("m -> e"))


# --- terms as data -------------------------------------------------------------------------------

TERMS = [
    Id("y:2 m:3") >> Block(Linear("m -> m:3", "Q"), "Part", "linear", "q", "y m -> y m"),
    Repeat((Linear("m -> m", "W"),) * 2, shared=True),
    Scan(STEP, "~t:5", "rnn"),
    Equation(Id("m"), Id("m"), sign="≝"),
    Id('c"c_{5-λ}":4 ~x, 3') >> Elementwise("relu"),
    Beside(Param("v m", "wte"), Id("y#v")),
    Then(Wire("q, z ->")),
    Beside(Id("m:3")),
]


@pytest.mark.parametrize("term", TERMS, ids=repr)
def test_a_term_comes_back_from_its_repr_and_from_pickle(term: Term) -> None:
    import ncd

    again = eval(repr(term), vars(ncd))
    assert again == term
    assert hash(again) == hash(term)
    assert pickle.loads(pickle.dumps(term)) == term


def test_arrays_of_two_kinds_are_not_equal() -> None:
    assert Array.parse("y#v") != Array.parse("y")
    assert Id("y#v") != Id("y")


# --- limits --------------------------------------------------------------------------------------


def test_blocks_that_carry_two_arrays_build_in_linear_time() -> None:
    """Each level asked twice for the type of the one inside, so 12 levels took seconds."""
    term: Term = Id("a, b")
    for _ in range(60):
        term = Block(Id("a, b") >> term >> Id("a, b"), "")
    assert len(elaborate(term).fences) == 60


def test_nesting_has_a_limit_that_everything_can_walk() -> None:
    term: Term = Id("m:2")
    with pytest.raises(LimitError) as caught:
        for _ in range(300):
            term = Block(term, "")
    assert str(caught.value) == "the term is nested more than 200 deep. Try a flatter term."
    assert elaborate(term).term == term
    assert len(repr(term)) > 1000


def test_a_step_that_wants_more_arrays_takes_them_from_the_left() -> None:
    term = Then(*(Id(", ".join(["a"] * count)) for count in range(1, 60)))
    assert len(term.dom) == 59


def test_a_group_and_an_array_have_bounds() -> None:
    with pytest.raises(SizeError, match="a group of 9 dimensions, at most 8 can be"):
        Id("x:" + "x".join("2" * 9))
    with pytest.raises(ParseError, match="at most 64 axes"):
        Id(" ".join(f"a{i}" for i in range(65)))


def test_numbers_of_one_kind_do_not_meet_the_other() -> None:
    with pytest.raises(MismatchError) as caught:
        Id("y#v:5") >> Linear("y -> m:3", "Q")
    assert str(caught.value) == (
        "Linear Q (y -> m): it takes real numbers, but the array that meets it, (y#v), holds whole "
        "numbers below v. Bound so far: v 5. Try Index to look the numbers up, or Map to make real "
        "ones of them."
    )


def test_an_axis_named_for_one_array_is_not_broadcast_over_in_another() -> None:
    """The einsum kept k, though its pattern drops it."""
    with pytest.raises(MismatchError) as caught:
        Id("k:3, k:3 m:2") >> Einsum("k, m -> m")
    assert str(caught.value) == (
        "Einsum (k, m -> m): the array (k m) has axis k, but the pattern takes (m) there and names "
        "k elsewhere. Bound so far: k 3, m 2. Try k in the pattern of this array too, or another "
        "name for it."
    )


def test_layers_of_one_name_are_alike_in_all_that_makes_them() -> None:
    """Also where their weights have the same shapes."""
    near, far = (Conv("c:2 x:9 -> d:3 y", "conv", 3, 1, n, dilation=n) for n in (1, 2))
    assert elaborate(Equation(near, near)).cells
    with pytest.raises(MismatchError) as caught:
        elaborate(Equation(near, far))
    assert str(caught.value) == (
        "Conv conv: the layer conv is Conv 3×2×3, 3 at one place and Conv 3×2×3, 3 at another. "
        "Try another name for one of them, or one body for all."
    )


@pytest.mark.parametrize("name", ["lstm", "unet", "multi-head-attention", "gpt-2"])
def test_a_fence_stands_where_its_arrays_are(name: str) -> None:
    """Its arrays are among those of its circuit, state by state; an equation begins with a copy."""
    term = catalogue[name].build()
    beside = Id("m:3") >> Block(Elementwise("tanh"), "B") >> Block(Elementwise("relu"), "C")
    for whole in (elaborate(term), elaborate(Equation(beside, beside))):
        circuits = [whole]
        for circuit in circuits:
            circuits += [body for loop in circuit.loops for body in loop.bodies]
        places = [[{value.id for value in state} for state in c.states] for c in circuits]
        assert whole.fences
        for fence in whole.fences:
            wanted = [{value.id for value in state} for state in fence.states]
            assert any(
                len(states) >= fence.first_state + len(wanted)
                and all(one <= states[i] for i, one in enumerate(wanted, fence.first_state))
                for states in places
            ), fence.id
