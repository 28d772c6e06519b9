"""A term is written step by step, on arrays that are known by what they are."""

from __future__ import annotations

import pytest

from ncd import Block, Einsum, Given, Id, Map, Rename, Repeat, Softmax, elaborate
from ncd.formulas.formula import parse
from ncd.language.axes import Array, Type
from ncd.language.op import ArrayHandle
from ncd.rewrite.rules.term_recorder import Parameters, TermRecorder, _fresh, merged_axes


def given(name: str) -> Given:
    return Given("m:2", name, (1.0, 2.0))


def recorder() -> TermRecorder:
    return TermRecorder(Parameters())


def handle(text: str) -> ArrayHandle:
    return ArrayHandle(Array.parse(text))


# --- parameters


def test_parameters_stand_in_the_modules_of_their_paths() -> None:
    paths = ("a.weight", "b.0.x", "b.0.y", "b.2.x", "c")
    parameters = Parameters({path: given(path.rpartition(".")[2]) for path in paths})
    term, names = parameters.term()
    assert sorted(names) == sorted(paths)
    block, loop, alone = term.children
    assert isinstance(block, Block) and block.name == "a" and block.children == (given("weight"),)
    assert isinstance(loop, Repeat) and loop.name == "b" and len(loop.bodies) == 3
    assert isinstance(loop.bodies[1], Id) and loop.bodies[2] == given("x")
    assert alone == given("c")
    circuit = elaborate(term)
    made = {value.id: cell.path for cell in circuit.cells for value in cell.outputs}
    assert [made[value.id] for value in circuit.outputs] == names


def test_one_parameter_stands_alone_and_none_is_nothing() -> None:
    assert Parameters({"w": given("w")}).term() == (given("w"), ["w"])
    term, names = Parameters().term()
    assert (term.cod, names) == (Type(), [])


# --- steps


def test_a_step_gives_the_arrays_of_its_term() -> None:
    written, x = recorder(), handle("y:3 m:4")
    (made,) = written.call(Softmax("m"), x)
    assert str(made.axes) == "y m" and written.steps[0].takes == (x,)
    assert written.steps[0].gives == (made,)


def test_a_product_of_one_array_that_has_its_axes_is_itself() -> None:
    written, x, y = recorder(), handle("y:3 m:4"), handle("m:4 k:2")
    assert written.product((x,), x.axes) is x and written.steps == []
    assert str(written.product((x, y), Array.parse("y:3 k:2")).axes) == "y k"
    turned = written.product((x,), Array.parse("m:4 y:3"))
    assert str(turned.axes) == "m y"
    assert [type(step.term) for step in written.steps] == [Einsum, Einsum]
    wide = written.product((x,), Array.parse("y:3 m:4 b:2"))
    assert str(wide.axes) == "y m b" and isinstance(written.steps[-1].term, Map)
    assert len(written.steps) == 3  # what it has needs no product first


def test_a_formula_takes_the_arrays_that_it_names_in_their_order() -> None:
    written, x, y, z = recorder(), *map(handle, ("m:4", "m:4", "m:4"))
    written.map("$3 - $1", (x, y, z), x.axes, "difference")
    (step,) = written.steps
    assert step.takes == (x, z) and isinstance(step.term, Map)
    assert step.term.function == parse("$2 - $1") and step.term.title == "difference"
    assert written.zeros(x.axes).axes == x.axes and written.steps[-1].takes == ()


def test_axes_are_renamed_also_if_they_exchange_their_names() -> None:
    written, x = recorder(), handle("a:2 b:2")
    assert written.rename(x, x.axes, x.axes) is x
    assert str(written.rename(x, Array.parse("a:2"), Array.parse("c:2")).axes) == "c b"
    assert len(written.steps) == 1
    swapped = written.rename(x, Array.parse("a:2 b:2"), Array.parse("b:2 a:2"))
    assert str(swapped.axes) == "b a"
    assert [type(step.term) for step in written.steps] == [Rename] * 3  # by way of other names


def test_an_array_is_reversed_along_one_axis() -> None:
    written, x = recorder(), handle("a:3 b:2")
    (axis,) = Array.parse("a:3")
    assert written.reverse(x, axis).axes == x.axes
    order, lookup, back = written.steps
    assert isinstance(order.term, Map) and "2 - " in str(order.term)
    assert lookup.takes == (order.gives[0], x) and isinstance(back.term, Rename)
    taken = recorder()
    held = handle("a:3 a_r:2")
    assert taken.reverse(held, axis).axes == held.axes


# --- names


def test_new_names_are_taken_by_nothing() -> None:
    taken = {"a", "a_", "b"}
    assert _fresh(Array.parse("a:2 b:3"), taken).names == ("a__", "b_")
    assert taken == {"a", "a_", "b", "a__", "b_"}


@pytest.mark.parametrize(
    ("groups", "kept", "axes"),
    [
        (("a:2", "b:3"), "", "a:2 b:3"),
        (("a:2 b:3",), "", "ab:6"),
        (("x:4x4",), "", "x_:16"),
        (("",), "", "one:1"),
        (("a:2 b:3",), "ab:5", "ab_:6"),
        (("a:2 b:3", "a:2 b:3"), "", "ab:6 ab_:6"),
    ],
)
def test_axes_are_merged_as_torch_stores_them(groups, kept, axes) -> None:
    def array(text: str) -> Array:
        return Array.parse(text) if text else Array()

    found = merged_axes([array(group) for group in groups], array(kept))
    assert [(axis.name, axis.numel) for axis in found] == [
        (word.split(":")[0], int(word.split(":")[1])) for word in axes.split()
    ]
