"""Axes, arrays and signatures as text; sizes given to a sketch; knobs and their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd import Array, Axes, Axis, Entry, Id, Knob, Linear, Signature, Type, seq, space
from tests.strategies import types

ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
NAMES = st.sampled_from(["m", "y", "n_0", "2c", "x/s", "λ", "c_12"])
SIZES = st.none() | st.integers(1, 999) | st.tuples(st.integers(1, 99), st.integers(1, 99))
AXIS = st.builds(Axis, NAMES, SIZES, st.booleans())


# --- text ----------------------------------------------------------------------------------------


@given(AXIS)
def test_an_axis_is_what_its_text_says(axis: Axis) -> None:
    assert Axis.parse(axis.spec) == axis
    assert axis.identifier.isidentifier()


@given(types())
def test_a_type_is_what_its_text_says(dom: Type) -> None:
    assert Type.parse(dom.spec) == dom
    assert eval(repr(dom), vars(ncd)) == dom
    assert hash(Type.parse(dom.spec)) == hash(dom)
    signature = Signature(dom, dom[:1] and Type(dom[:1]))
    assert Signature.parse(signature.spec) == signature


def test_arrays_without_axes() -> None:
    assert Type.parse("") == Type()
    assert Type.parse("()") == Type((Array(),))
    assert Array.parse("()").shape == ()
    assert Signature.parse("k, k ->").cod == Type((Array(),))


def test_dimensions_count_from_the_end_so_that_a_batch_may_stand_in_front() -> None:
    array = Array.parse("b:2 x:4x5 c:3")
    assert [array.dims(name) for name in "bxc"] == [(-4,), (-3, -2), (-1,)]
    assert (array.shape, array.numel) == ((2, 4, 5, 3), 120)
    assert array.identifiers == ("b", "x_h", "x_w", "c")


# --- sizes for a sketch --------------------------------------------------------------------------


@given(st.integers(1, 50), st.integers(1, 50), st.integers(1, 50))
def test_sizes_reach_every_place_where_the_name_stands(y: int, m: int, k: int) -> None:
    term = Axes(y=seq(y), m=m, k=k)(Id("y m") >> Linear("m -> k", "Q"))
    assert (term.dom[0].shape, term.cod[0].shape) == ((y, m), (y, k))
    assert term.dom[0][0].sequence
    assert not term.dom[0][1].sequence


def test_a_space_is_two_dimensions_and_one_wire() -> None:
    term = Axes(x=space(4, 6))(Id("x"))
    assert (len(term.dom[0]), term.dom[0].shape) == (1, (4, 6))
    assert term.dom[0][0].size_text == "4×6"


@given(types())
def test_sizes_that_are_there_already_stay(dom: Type) -> None:
    assert Axes(nobody=3)(Id(dom)) == Id(dom)


def test_a_table_of_sizes_serves_many_sketches() -> None:
    sizes = Axes(y=2, m=3)
    assert str(sizes(Id("y")).dom[0].shape) == "(2,)"
    assert str(sizes(Id("m")).dom[0].shape) == "(3,)"


# --- knobs ---------------------------------------------------------------------------------------


@st.composite
def knobs(draw: st.DrawFn) -> Knob:
    low = draw(st.integers(-20, 20))
    high = low + draw(st.integers(0, 40))
    return Knob("k", low, high, low, draw(st.integers(1, 7)))


@given(knobs(), st.integers(-100, 100))
def test_the_nearest_value_is_allowed_and_none_is_nearer(knob: Knob, value: int) -> None:
    allowed = range(knob.min, knob.max + 1, knob.step)
    nearest = knob.nearest(value)
    assert nearest in allowed
    assert abs(nearest - value) == min(abs(other - value) for other in allowed)
    assert knob.check(nearest) == nearest


@given(knobs(), st.integers(-100, 100))
def test_a_value_is_allowed_or_refused_with_one_that_is(knob: Knob, value: int) -> None:
    if value in range(knob.min, knob.max + 1, knob.step):
        assert knob.check(value) == value
        return
    with pytest.raises(ncd.SizeError) as caught:
        knob.check(value)
    assert str(caught.value).endswith(f"Try k = {caught.value.nearest}.")
    assert knob.check(caught.value.nearest) == caught.value.nearest


# --- the catalogue -------------------------------------------------------------------------------


@ENTRIES
def test_an_entry_builds_at_its_bounds_and_not_beyond(entry: Entry) -> None:
    for knob in entry.knobs:
        entry.build(**{knob.name: knob.min})
        entry.build(**{knob.name: knob.max})
        for value in (knob.min - knob.step, knob.max + knob.step):
            with pytest.raises(ncd.SizeError):
                entry.build(**{knob.name: value})


@ENTRIES
def test_an_entry_says_what_it_is(entry: Entry) -> None:
    assert ncd.catalogue[entry.name] is entry
    assert entry.name == entry.name.lower()
    assert entry.title
    assert entry.source
    assert entry.system.__doc__
    for knob in entry.knobs:
        assert knob.min <= knob.default <= knob.max
        assert knob.nearest(knob.default) == knob.default
        assert knob.nearest(knob.max) == knob.max
        assert knob.help
    assert entry.settings({}) == {knob.name: knob.default for knob in entry.knobs}


@ENTRIES
def test_the_defaults_are_those_of_the_function(entry: Entry) -> None:
    assert entry.build() == entry.system()


def test_the_catalogue_is_a_mapping() -> None:
    assert len(ncd.catalogue) == len(list(ncd.catalogue)) == len(ncd.catalogue.values())
    assert "nothing" not in ncd.catalogue
    assert {"multi-head-attention", "scaled-dot-product-attention", "residual-block"} <= set(
        ncd.catalogue
    )
