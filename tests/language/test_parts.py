"""Parts of terms at their edges: traced circuits, wires, arrays, names, and kinds of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from ncd import (
    Add,
    Array,
    Axes,
    Axis,
    Block,
    Copy,
    Equation,
    Group,
    Id,
    Linear,
    Repeat,
    Scan,
    Softmax,
    Split,
    Term,
    Then,
    Wire,
)
from ncd.circuit.elaborate import elaborate
from ncd.circuit.resize import clear_caches
from ncd.circuit.sized_system import ParametricTerm, traced_circuit
from ncd.errors import NCDError, ParseError
from ncd.formulas.traced_sizes import is_symbolic
from ncd.language.terms import arguments
from tests.support.size_pairs import outcome


def line(sizes: Mapping[str, int]) -> Term:
    return Axes(m=sizes["m"], k=sizes["k"])(Id("y:2 m") >> Linear("m -> k", "L"))


def split(sizes: Mapping[str, int]) -> Term:
    """A size is part of a name here, which a size that stays open cannot be."""
    return line(sizes) >> Linear(f"k -> {'n' if sizes['m'] == 3 else sizes['m']}:3", "M")


def wrong(sizes: Mapping[str, int]) -> Term:
    return line(sizes) >> Softmax("none")


@pytest.mark.parametrize("sizes", [(), ("m",), ("k",), ("m", "k")])
def test_sizes_stay_open_in_a_traced_circuit(sizes: tuple[str, ...]) -> None:
    found = traced_circuit(line, {"m": 3, "k": 4}, sizes)
    if not sizes:
        assert found is None
        return
    assert found is not None
    (cell,) = found[1].cells
    kinds = {
        axis.name: is_symbolic(axis.size)
        for axis in (*cell.site.own_inputs[0], *cell.site.own_outputs[0])
    }
    assert kinds == {"m": "m" in sizes, "k": "k" in sizes}
    assert traced_circuit(wrong, {"m": 3, "k": 4}, sizes) is None


def test_sizes_that_formulas_may_contain_are_those_that_are_not_plain() -> None:
    system = ParametricTerm((), {}, line, ("k",))
    assert system.traceable == ()


@pytest.mark.parametrize(
    ("wire", "formula"),
    [
        ("m, k -> k, m, k", r"(a, b) \mapsto (b, a, b)"),
        ("m -> m", r"(a) \mapsto (a)"),
        (
            "a, b, c, d, e, f, g, h, i -> i, a",
            r"(a, b, c, d, e, f, g, h, a) \mapsto (a, a)",
        ),
    ],
)
def test_the_formula_of_a_wire_names_what_goes_where(wire: str, formula: str) -> None:
    op = Wire(wire)
    assert op.latex(op.apply_to(op.dom)) == formula


def _failing() -> Iterator[Axis]:
    yield Axis("m")
    raise TypeError("of its own")


def test_an_array_takes_axes_and_lets_the_errors_of_others_pass() -> None:
    for axes in (3, [3], "m", [None], Axis("m")):
        with pytest.raises(ParseError):
            Array(axes)  # type: ignore[arg-type]
    with pytest.raises(ParseError):
        Array([Axis("m")], below=3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="of its own"):
        Array(_failing())
    assert Array(iter([Axis("m"), Axis("k")])).names == ("m", "k")


@pytest.mark.parametrize(("name", "cure"), [("a b", "a_b"), ("?", "m"), ("?a-b!", "a_b"), (3, "3")])
def test_a_name_that_is_none_has_a_near_one(name: object, cure: str) -> None:
    with pytest.raises(ParseError) as error:
        Axis(name)  # type: ignore[arg-type]
    assert str(error.value).endswith(
        f"is no name of an axis, which has letters, digits, _ and /. Try {cure}."
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Linear("m#v -> k"),
            "(m#v) holds whole numbers below v, which is not what it works on. "
            'Try "m", or Map to make real ones.',
        ),
        (
            lambda: Group("a b -> m#v"),
            '(m#v) holds whole numbers below v, but nothing that it takes does. Try "m".',
        ),
    ],
)
def test_a_pattern_of_whole_numbers_stands_where_they_can_be(make: object, message: str) -> None:
    with pytest.raises(NCDError) as error:
        make()  # type: ignore[operator]
    assert str(error.value).endswith(message)
    assert Group("a b#v -> m#v").cod[0].below is not None


def test_a_name_of_two_sizes_has_both_at_other_sizes() -> None:
    step = Id("n, n") >> Add() >> Copy("n")
    sketch = (Scan(step, "t") >> Id("n") @ Split("n -> h:2 k")) @ Id("n:7, y:2#n:7")
    for first, second in (
        ({"t": 5, "k": 3}, {"t": 4, "k": 2}),
        ({"t": 1, "k": 1}, {"t": 2, "k": 9}),
    ):
        clear_caches()
        outcome(sketch, first)
        assert outcome(sketch, second) == outcome(sketch, second, solved=True)
    term = elaborate(Axes(t=4, k=2)(sketch)).term
    assert term.dom.spec == "n:4, t:4 n:4, n:7, y:2#n:7"


@pytest.mark.parametrize(
    ("term", "written"),
    [
        (Linear("m -> k"), ["'m -> k'"]),
        (Linear("m -> k", "L", True), ["'m -> k'", "'L'", "True"]),
        (Linear("m -> k", bias=True), ["'m -> k'", "'L'", "True"]),
        (Repeat((Id("m"),) * 2), ["2 terms"]),
        (Repeat((Id("m"),), shared=True), ["1 terms", "'layers'", "True"]),
        (Block(Id("m"), "A"), ["a term", "'A'"]),
        (Then(Id("m"), Linear("m -> k")), ["a term", "a term"]),
        (Equation(Id("m"), Id("m"), Id("m")), ["a term"] * 3),
    ],
    ids=repr,
)
def test_arguments_of_a_term_are_written_up_to_the_last_that_is_not_usual(
    term: Term, written: list[str]
) -> None:
    assert [*arguments(term, lambda _: "a term", lambda own: f"{len(own)} terms")] == written
