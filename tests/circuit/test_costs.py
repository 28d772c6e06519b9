"""The stated cost is what torch counts, exactly."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd import Einsum, Entry, Id, Linear, Term
from ncd.circuit.costs import remarks
from ncd.cli.check import extreme_settings as ends
from ncd.formulas.prefixed_amounts import amount
from ncd.run.run_memory import Storages
from tests.support.legal_terms import legal_term
from tests.support.sampling import count, sample
from tests.support.strategies import terms

SMALL = 12  # a knob goes no further, or one step up from its least if that is more
ENTRIES = pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)


@st.composite
def knobs(draw: st.DrawFn, entry: Entry) -> dict[str, int]:
    """Random settings, the least and size 1 among them, every index within its axis."""

    def values(knob: ncd.Knob) -> st.SearchStrategy[int]:
        top = min(knob.max, max(knob.min + knob.step, SMALL))
        return st.integers(0, (top - knob.min) // knob.step).map(lambda n: knob.min + n * knob.step)

    every = st.fixed_dictionaries({knob.name: values(knob) for knob in entry.knobs})
    return entry.with_clamped_indexes(draw(every))


def assert_exact(term: Term) -> None:
    stated, module = ncd.cost(term), ncd.compile(term)
    inputs = ncd.example_inputs(term)
    with FlopCounterMode(display=False) as counted:
        ncd.trace(module, *inputs)  # op by op: torch does not count its own attention on the CPU
    assert stated.parameters == sum(p.numel() for p in module.parameters())
    if all(a.numel > 1 for cell in module.circuit.cells for a in cell.site.axes_by_name.values()):
        assert stated.flops == counted.get_total_flops()
    else:  # torch drops an axis of size 1, and counts no product that sums over nothing
        assert stated.flops >= counted.get_total_flops()
    assert stated.parameters == sum(op.parameters for op in stated.ops)
    assert stated.flops == sum(op.flops for op in stated.ops)
    assert stated.bytes == sum(op.bytes for op in stated.ops)


@pytest.mark.few(20)
@ENTRIES
@settings(max_examples=count(4, 15), deadline=None)
@given(data=st.data())
def test_every_entry_at_random_knobs(entry: Entry, data: st.DataObject) -> None:
    assert_exact(legal_term(entry, data.draw(knobs(entry))))


@pytest.mark.few(25)
@ENTRIES
def test_every_entry_at_the_ends_of_its_knobs(entry: Entry) -> None:
    terms = [entry.build(**setting) for setting in sample(ends(entry), 3, entry.name)]
    for term in terms:
        cost = ncd.cost(term)
        if cost.flops < 10**10 and cost.parameters < 10**8:  # a preset is not run
            assert_exact(term)


@settings(max_examples=count(40, 100), deadline=None)
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


def test_a_copy_or_a_name_makes_nothing_new() -> None:
    term = Id("y:5 m:3") >> ncd.Named("y m", "X") >> ncd.Copy("y m")
    assert [op.bytes for op in ncd.cost(term).ops] == [0, 0]


def test_counting_allocates_nothing() -> None:
    term = ncd.Axes(m=10**6, k=10**6, y=1)(Id("y m") >> Linear("m -> k", "huge"))
    with Storages() as counted:
        assert ncd.cost(term).parameters == 10**12
    assert counted.peak == 0


def test_a_shared_layer_counts_once_and_a_scan_as_often_as_it_runs() -> None:
    body = Linear("m:4 -> m", "Q")
    three = ncd.cost(Id("m:4") >> ncd.Repeat((body,) * 3, shared=True))
    assert [op.parameters for op in three.ops] == [16, 0, 0]
    assert [op.flops for op in three.ops] == [32, 32, 32]
    scan = ncd.cost(ncd.Scan(body, ncd.Array.parse("t:5"), states=0))
    assert [(op.parameters, op.flops, op.bytes) for op in scan.ops] == [(16, 5 * 32, 5 * 16)]


def test_whole_numbers_take_eight_bytes() -> None:
    assert ncd.cost(ncd.Map("-> y:5#v:9", "y")).bytes == 5 * 8
    assert ncd.cost(ncd.Map("-> y:5", "y")).bytes == 5 * 4


def test_a_learned_array_has_parameters_and_a_constant_has_none() -> None:
    assert ncd.cost(ncd.Param("v:3 m:4", "wte")).parameters == 12
    norm = ncd.cost(Id("b:2 m:4") >> ncd.BatchNorm("b m"))
    assert norm.parameters == 8  # the running statistics are not learned


# --- what is said beside the counts ---------------------------------------------------------------


def remarked(name: str, preset: str = "") -> tuple[str, ...]:
    entry = ncd.catalogue[name]
    term = entry.build(**(entry.preset(preset).knobs if preset else {}))
    return remarks(ncd.elaborate(term), ncd.cost(term))


def test_copies_of_weights_are_told_from_what_a_kernel_needs() -> None:
    layers, tokens, chosen, m, d = 32, 12, 2, 4096, 14336
    copied = layers * 3 * tokens * chosen * m * d * 4
    assert remarked("mixtral", "mixtral-8x7b") == (
        f"{amount(copied, 'B')} are copies of learned weights, one for each position that chose "
        "them: a kernel that takes the positions of an expert together reads them in place.",
    )
    assert remarked("mixture-of-experts") and remarked("deepseek")
    assert remarked("gpt-2") == ()  # rows of an embedding are what it needs


def test_products_with_ones_and_zeros_are_told_from_those_of_a_sparse_kernel() -> None:
    edges, nodes = 10858, 2708
    knobs = ncd.catalogue["gcn"].preset("cora").knobs
    assert (knobs["e"], knobs["n"]) == (edges, nodes)
    for name in ("gcn", "gat"):
        assert remarked(name, "cora") == (
            f"{amount(2 * edges * nodes**2, 'FLOP')} multiply by tables of ones and zeros: a "
            "sparse kernel adds at the ones alone.",
        )
    assert remarked("multi-head-attention") == ()


def test_large_amounts_have_a_prefix_that_fits() -> None:
    assert [amount(10**n * 1.0976, "FLOP") for n in (15, 16, 18, 21)] == [
        "1.1 PFLOP",
        "11 PFLOP",
        "1.1 EFLOP",
        "1098 EFLOP",
    ]
    assert amount(999_499, "B") == "999 kB" and amount(999_500, "B") == "1 MB"


def test_a_weight_in_int8_has_a_scale_for_each_row_of_its_output() -> None:
    scale, formats = 4, ncd.Formats(weights="int8")
    for term, numbers, rows, bias in (
        (ncd.Param("v:3 m:4", "table"), 12, 3, 0),
        (Linear("m:4 -> h:2 k:3", "Q"), 24, 6, 0),
        (Linear("m:4 -> k:3", "Q", bias=True), 12, 3, 3 * 4),  # in float32: not under 16 bits
    ):
        assert ncd.cost(term, formats).weight_bytes == numbers + rows * scale + bias
        assert ncd.cost(term).weight_bytes == 4 * numbers + bias  # and no scales


def test_the_table_of_costs_has_its_numbers_at_the_right() -> None:
    cost = ncd.cost(Linear("m:30 -> k:20", "Q") >> ncd.Softmax("k"))
    assert str(cost).splitlines() == [
        "op        parameters  FLOPs  bytes",
        "Linear Q         600  1,200     80",
        "Softmax            0      0     80",
        "total            600  1,200    160",
    ]
