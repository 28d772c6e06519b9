"""The stated cost is what torch counts, exactly; memory is stated beside what is measured."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd import Einsum, Entry, Id, Linear, Term
from ncd.check import settings as ends
from ncd.run.measure import Storages, measured_peak
from tests.strategies import terms

SMALL = {"h": 4, "k": 12, "m": 24, "y": 9, "x": 9, "b": 4, "n0": 9, "n1": 24, "s": 4, "causal": 1}
ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)


@st.composite
def knobs(draw: st.DrawFn, entry: Entry) -> dict[str, int]:
    """Random settings, the ends and size 1 among them."""

    def values(knob: ncd.Knob) -> st.SearchStrategy[int]:
        top = max(knob.min, min(knob.max, SMALL[knob.name]))
        return st.integers(0, (top - knob.min) // knob.step).map(lambda n: knob.min + n * knob.step)

    return draw(st.fixed_dictionaries({knob.name: values(knob) for knob in entry.knobs}))


def assert_exact(term: Term) -> None:
    stated, module = ncd.cost(term), ncd.compile(term)
    inputs = ncd.example_inputs(term)
    with FlopCounterMode(display=False) as counted:
        module(*inputs)
    assert stated.parameters == sum(p.numel() for p in module.parameters())
    assert stated.flops == counted.get_total_flops()
    assert stated.parameters == sum(op.parameters for op in stated.ops)
    assert stated.flops == sum(op.flops for op in stated.ops)
    assert stated.bytes == sum(op.bytes for op in stated.ops)


@ENTRIES
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_every_entry_at_random_knobs(entry: Entry, data: st.DataObject) -> None:
    assert_exact(entry.build(**data.draw(knobs(entry))))


@ENTRIES
def test_every_entry_at_the_ends_of_its_knobs(entry: Entry) -> None:
    for setting in ends(entry):
        assert_exact(entry.build(**setting))


@settings(max_examples=100, deadline=None)
@given(terms())
def test_random_terms(term: Term) -> None:
    assert_exact(term)


EINSUMS = [
    "y k h, x k h -> y x h",
    "i j, j k -> i k",
    "i, j -> i j",
    "i, i -> i",
    "i, i -> ()",
    "i j, i j -> ()",
    "i j, j -> j",
    "i j k, j -> i",
    "i j, k l -> i l",
    "i j, j k, k l -> i l",
    "i, j, k -> i k",
    "i j, i, j -> ()",
    "i j -> j i",
    "i j -> i",
]


@pytest.mark.parametrize("pattern", EINSUMS)
@settings(max_examples=15, deadline=None)
@given(st.fixed_dictionaries({name: st.integers(1, 3) for name in "ijklyxh"}))
def test_einsums_with_axes_of_size_1(pattern: str, sizes: dict[str, int]) -> None:
    assert_exact(ncd.Axes(**sizes)(Einsum(pattern)))


def test_numbers_that_one_can_check_by_hand() -> None:
    cost = ncd.cost(Id("y:5 m:3") >> Linear("m -> k:2", "Q", bias=True) >> ncd.Softmax("k"))
    linear, softmax = cost.ops
    assert (linear.parameters, linear.flops, linear.bytes) == (3 * 2 + 2, 2 * 5 * 3 * 2, 4 * 5 * 2)
    assert (softmax.parameters, softmax.flops, softmax.bytes) == (0, 0, 4 * 5 * 2)
    assert cost.peak == 4 * (8 + 5 * 3 + 5 * 2 + 5 * 2)


def test_a_copy_or_a_name_makes_nothing_new() -> None:
    term = Id("y:5 m:3") >> ncd.Named("y m", "X") >> ncd.Copy("y m")
    assert [op.bytes for op in ncd.cost(term).ops] == [0, 0]


def test_counting_allocates_nothing() -> None:
    term = ncd.Axes(m=10**6, k=10**6, y=1)(Id("y m") >> Linear("m -> k", "huge"))
    with Storages() as counted:
        assert ncd.cost(term).parameters == 10**12
    assert counted.peak == 0


# --- memory: stated beside measured --------------------------------------------------------------


def test_the_measurement_sees_what_lives_and_what_is_freed() -> None:
    with Storages() as counted:
        x = torch.ones(1000)
        assert counted.now == 4000
        y = x + 1
        z = y.view(10, 100)  # a view is no new storage
        del x
        assert counted.now == 4000
        del y, z
    assert (counted.now, counted.peak) == (0, 8000)


def test_weights_and_inputs_count_as_well() -> None:
    term = Id("y:5 m:3") >> Linear("m -> k:2", "Q")
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    peak = measured_peak(module, tuple(x.requires_grad_() for x in inputs))
    assert peak.forward >= 4 * (6 + 15 + 10)
    assert peak.backward >= peak.forward


@ENTRIES
@pytest.mark.parametrize("end", ["min", "default", "max"])
def test_the_stated_peak_bounds_a_forward_pass(
    entry: Entry, end: str, record_property: pytest.RecordProperty
) -> None:
    """The stated peak is what the guard holds against its limit: not far from what is measured."""
    term = entry.build(**{knob.name: getattr(knob, end) for knob in entry.knobs})
    inputs = tuple(x.requires_grad_() for x in ncd.example_inputs(term))
    stated, measured = ncd.cost(term).peak, measured_peak(ncd.compile(term), inputs)
    record_property("stated", stated)
    record_property("forward", measured.forward)
    record_property("forward and backward", measured.backward)
    print(f"{entry.name} at {end}: stated {stated}, measured {measured}")
    if end != "min":  # a few numbers of a loss and of statistics weigh as much as tiny arrays
        assert 0.5 < measured.forward / stated < 1.1
        assert measured.backward / stated < 2.5
