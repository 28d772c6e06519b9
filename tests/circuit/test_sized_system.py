"""Terms as functions of their sizes: which sizes are settings, and which follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from ncd import Axes, Id, Linear, Softmax, Split, Term, elaborate
from ncd.circuit.knob import Knob
from ncd.circuit.sized_system import (
    ParametricTerm,
    named_in,
    parametric_term,
    traced_circuit,
)
from ncd.errors import ParseError, SizeError
from ncd.formulas.traced_sizes import SizeTrace


@pytest.mark.parametrize(
    ("term", "settings"),
    [
        (Linear("m:8 -> k:4", "Q"), {"m": 8, "k": 4}),
        (Id("d:6") >> Split("d -> h:2 k:3"), {"h": 2, "k": 3}),  # d follows
        (Id("x:2x3 m:4"), {"m": 4}),  # a group has no slider
        (Softmax("m:2") @ Softmax("m:3"), {}),  # two sizes of one name
        (Id("m"), {}),
    ],
)
def test_the_sizes_that_are_settings(term: Term, settings: dict[str, int]) -> None:
    assert dict(parametric_term(term, elaborate(term)).settings) == settings


def test_a_slider_goes_to_twice_its_size_and_sixteen_at_least() -> None:
    term = Linear("m:8 -> k:9", "Q")
    found = parametric_term(term, elaborate(term))
    assert [(size.name, size.min, size.max, size.step) for size in found.sizes] == [
        ("m", 1, 16, 1),
        ("k", 1, 18, 1),
    ]


def test_a_term_is_built_again_at_other_sizes_and_open_ones_stay_open() -> None:
    term = Linear("m:8 -> k", "Q") >> Linear("k -> n:2", "R")
    found = parametric_term(term, elaborate(term))
    assert repr(found.build({"m": 3, "n": 5, "k": 7})) == (
        "Linear('m:3 -> k', 'Q') >> Linear('k -> n:5', 'R')"
    )


def test_an_index_is_in_no_formula() -> None:
    sizes = (Knob("m", 1, 9, 4), Knob("i", 0, 8, 2))
    term = ParametricTerm(sizes, {"m": 4, "i": 2}, lambda _: Id("m"), fixed_names=("i",))
    assert term.traceable == ("m",)


# --- the circuit at sizes that stay open ----------------------------------------------------------


def named(given: Mapping[str, int]) -> Term:
    return Axes(m=given["m"], k=given["k"])(Linear("m -> k", f"L{given['n']}"))


SETTINGS = {"m": 2, "k": 3, "n": 4}


@pytest.mark.parametrize(
    ("asked", "traced"),
    [
        ({"m"}, ["m"]),
        ({"m", "k"}, ["m", "k"]),
        ({"m", "n"}, ["m"]),  # part of a name, so it stays a number
    ],
)
def test_the_sizes_that_a_circuit_keeps_open(asked: set[str], traced: list[str]) -> None:
    found = traced_circuit(named, SETTINGS, asked)
    assert found is not None
    trace, circuit = found
    assert list(trace.sizes) == traced
    (cell,) = circuit.cells
    assert (cell.name, cell.flops) == ("L4", 2 * 2 * 3)
    sizes = {axis.name: type(axis.size) for axis in circuit.axes}
    assert {name for name in sizes if sizes[name] is not int} == set(traced)


def refused(given: Mapping[str, int]) -> Term:
    raise ParseError("no term")


@pytest.mark.parametrize("build", [named, refused])
def test_a_circuit_without_open_sizes_is_none(build: Callable[..., Term]) -> None:
    asked = {"n"} if build is named else {"m"}
    assert traced_circuit(build, SETTINGS, asked) is None


def test_the_sizes_that_an_error_names() -> None:
    trace = SizeTrace()
    m, k, n = (trace.size(name, value) for name, value in SETTINGS.items())
    assert named_in(trace, SizeError(f"{m * k} is too large")) == {"m", "k"}
    assert str(n) and named_in(trace, SizeError("2 is too large")) == set()
