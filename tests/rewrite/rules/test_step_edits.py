"""Steps of a block are changed one by one, and arrays cross the borders of blocks."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd import (
    Add,
    Block,
    Copy,
    Elementwise,
    Id,
    Linear,
    MismatchError,
    Repeat,
    Softmax,
    Term,
    Wire,
    elaborate,
)
from ncd.language.axes import Array
from ncd.rewrite.rules.block_steps import PLAIN_WIRES, BlockStep, BlockSteps, read_steps
from ncd.rewrite.rules.step_edits import (
    LawSite,
    bring,
    change_region,
    find_slot,
    find_step,
    leave_out,
    new_slot,
    put_before,
    put_behind,
    region_at,
    substitute,
)
from tests.rewrite.rules.test_block_steps import layers

RELU = Elementwise("relu")
INNER = Block(Linear("m:4 -> m:4", "In") >> RELU, "Inner", "linear", name="inner")
OUTER = Block(INNER >> Linear("m:4 -> m:4", "Out"), "Outer", "linear", name="outer")
TERM = Id("y:3 m:4") >> Linear("m:4 -> m:4", "A") >> OUTER >> Softmax("m")


def steps_of(term: Term) -> BlockSteps:
    return read_steps(elaborate(term))


def ops(term: Term) -> list[str]:
    """The ops in their order, without wires: layers by their paths."""
    cells = [cell for cell in elaborate(term).cells if not isinstance(cell.op, PLAIN_WIRES)]
    return [cell.path if cell.name else type(cell.op).__name__ for cell in cells]


def test_a_step_is_found_in_its_region() -> None:
    steps = steps_of(TERM)
    assert find_step(steps, "n0") == ((), 0) and find_step(steps, "f0") == ((), 1)
    region = ((1, 0), (0, 0))
    assert find_step(steps, "n2") == (region, 1) and find_step(steps, "n3") == (region[:1], 1)
    assert find_step(steps, "n9") is None
    assert [step.id for step in region_at(steps, region).steps] == ["n1", "n2"]
    assert region_at(steps, ()) is steps


def test_an_array_is_found_in_the_outermost_region_that_has_it() -> None:
    steps, circuit = steps_of(TERM), elaborate(TERM)
    given = {cell.id: cell.outputs[0].id for cell in circuit.cells}
    assert find_slot(steps, "v0") == () == find_slot(steps, given["n0"])
    assert find_slot(steps, given["n1"]) == ((1, 0), (0, 0))
    assert find_slot(steps, "v99") is None


def test_a_changed_region_changes_nothing_else() -> None:
    steps = steps_of(TERM)
    region = ((1, 0), (0, 0))

    def without_relu(own: BlockSteps) -> BlockSteps:
        return leave_out(own, 1, 0)

    new = change_region(steps, region, without_relu)
    assert ops(TERM) == ["A", "outer.inner.In", "Elementwise", "outer.Out", "Softmax"]
    assert ops(new.term()) == ["A", "outer.inner.In", "outer.Out", "Softmax"]
    assert new.source is None and steps.term() == elaborate(TERM).term


def test_a_region_at_any_depth_is_changed() -> None:
    term, region = RELU, ()
    for depth in range(4):
        steps = steps_of(Id("m:4") >> RELU >> term)
        new = change_region(steps, region, lambda own: leave_out(own, 0, 0))
        assert len(ops(new.term())) == depth + 1
        term, region = Block(RELU >> term, f"B{depth}"), ((1, 0), *region)


def test_a_new_array_has_a_name_that_none_has() -> None:
    steps = steps_of(TERM)
    one, first = new_slot(steps, Array.parse("m:4"))
    two, second = new_slot(one, Array.parse("k:2"))
    assert (first, second) == ("a0", "a1") and str(two.arrays["a1"]) == "k"
    assert "a0" not in steps.arrays


def test_a_step_is_put_before_or_behind_another() -> None:
    steps = steps_of(TERM)
    before = put_before(steps, 2, 0, BlockStep(RELU, (), ()))
    behind = put_behind(steps, 0, BlockStep(RELU, (), ()), steps.steps[0].gives[0])
    last = put_behind(steps, 2, BlockStep(RELU, (), ()), steps.steps[2].gives[0])
    whole = ["A", "outer.inner.In", "Elementwise", "outer.Out", "Softmax"]
    assert ops(before.term()) == [*whole[:4], "Elementwise", "Softmax"]
    assert ops(behind.term()) == ["A", "Elementwise", *whole[1:]]
    assert ops(last.term()) == [*whole, "Elementwise"]
    assert last.outputs == last.steps[-1].gives
    added = put_before(steps, 2, 0, BlockStep(Add(), (), ()), steps.inputs[0])
    assert ops(added.term())[-2:] == ["Add", "Softmax"]
    assert added.steps[2].takes == (steps.steps[2].takes[0], steps.inputs[0])


def test_what_nothing_needs_any_more_goes_with_a_step() -> None:
    term = Copy("m:4") >> Linear("m:4 -> m:4", "A") @ Linear("m:4 -> m:4", "B") >> Add() >> RELU
    steps = steps_of(term)
    add = next(i for i, step in enumerate(steps.steps) if isinstance(step.term, Add))
    for place, kept in ((0, "A"), (1, "B")):
        assert ops(leave_out(steps, add, place).term()) == [kept, "Elementwise"]
    assert ops(leave_out(steps, add + 1, 0).term()) == ["A", "B", "Add"]


def test_what_nothing_needed_before_stays() -> None:
    term = Copy("m:4") >> Linear("m:4 -> a:2", "Idle") @ RELU >> Wire("a, m -> m") >> RELU
    steps = steps_of(term)
    assert [type(step.term).__name__ for step in steps.steps] == [
        "Linear",
        "Elementwise",
        "Elementwise",
    ]
    left = leave_out(steps, 2, 0)
    assert [step.id for step in left.steps] == [step.id for step in steps.steps[:2]]


def test_arrays_are_put_in_the_place_of_others() -> None:
    steps = steps_of(TERM)
    given, taken = steps.steps[0].gives[0], steps.inputs[0]
    new = substitute(steps, {given: taken, steps.outputs[0]: given})
    assert new.steps[1].takes == (taken,) and new.outputs == (given,)
    assert new.steps[2].takes == steps.steps[2].takes


# --- over the borders of blocks


def add_at(term: Term, id: str, source: str) -> Term:
    """The term, in which an op takes its input plus another array."""
    steps = steps_of(term)
    found = find_step(steps, id)
    assert found is not None
    region, i = found
    wanted = region_at(steps, region).arrays[region_at(steps, region).steps[i].takes[0]]
    steps, name = bring(steps, source, region, wanted)

    def add(own: BlockSteps) -> BlockSteps:
        return put_before(own, i, 0, BlockStep(Add(), (), ()), name)

    return elaborate(change_region(steps, region, add).term()).term


@pytest.mark.parametrize("id", ["n1", "n2", "n3", "n4"])
def test_an_array_comes_into_blocks(id: str) -> None:
    new = add_at(TERM, id, "v0")
    at = ops(TERM).index(ops(TERM)[int(id[1:])])
    assert ops(new) == [*ops(TERM)[:at], "Add", *ops(TERM)[at:]]
    assert layers(new) == layers(TERM) and (new.dom, new.cod) == (TERM.dom, TERM.cod)


def test_an_array_comes_out_of_blocks() -> None:
    inner = elaborate(TERM).cells[1].outputs[0].id
    for id in ("n3", "n4"):
        new = add_at(TERM, id, inner)
        assert ops(new).count("Add") == 1
        assert layers(new) == layers(TERM)
        assert [fence.title for fence in elaborate(new).fences] == ["Outer", "Inner"]


def test_the_array_that_is_brought_is_the_one_that_is_asked_for() -> None:
    circuit = elaborate(TERM)
    module, x = ncd.compile(TERM), torch.randn(3, 4)
    values = ncd.trace(module, x).values
    *_, last, _ = (values[cell.outputs[0].id] for cell in circuit.cells)
    for id in ("v0", *(cell.outputs[0].id for cell in circuit.cells[:3])):
        other = ncd.compile(add_at(TERM, "n4", id))
        other.load_state_dict(module.state_dict())
        torch.testing.assert_close(other(x), (last + values[id]).softmax(-1))


def test_an_array_does_not_pass_the_border_of_a_loop() -> None:
    term = Id("m:4") >> RELU >> Repeat((INNER, INNER), "layers") >> Softmax("m")
    inside = next(c for c in elaborate(term).cells if c.name).id
    with pytest.raises(MismatchError) as raised:
        add_at(term, inside, "v0")
    assert raised.value.fact == "an array would pass the border of a repetition or a scan"
    assert raised.value.cure == "an array and an op of the same layer"


def test_an_array_of_other_axes_and_one_that_is_not_there_are_refused() -> None:
    other = Id("m:4") >> Linear("m:4 -> k:2", "K") >> Linear("k:2 -> m:4", "M") >> RELU
    with pytest.raises(MismatchError) as raised:
        add_at(other, "n2", elaborate(other).cells[0].outputs[0].id)
    assert (raised.value.fact, raised.value.cure) == (
        "the array is (k), and here is (m)",
        "an array (m)",
    )
    with pytest.raises(MismatchError) as raised:
        add_at(TERM, "n1", "v99")
    assert raised.value.fact == "no op takes or gives the array v99"


# --- the neighbours of a step


def test_a_law_sees_who_makes_and_who_takes_an_array() -> None:
    term = Copy("m:4") >> RELU @ Softmax("m") >> Add() >> RELU
    steps = steps_of(term)
    site = LawSite(steps, 2, elaborate(term))
    relu, softmax, add, last = steps.steps
    assert site.step is add and isinstance(site.step.term, Add)
    assert site.only_user(relu.gives[0]) == (2, 0) and site.only_user(softmax.gives[0]) == (2, 1)
    assert site.only_user(steps.inputs[0]) is None  # two take it
    assert site.only_user(last.gives[0]) is None  # it is the result
    kept = Id("m:4") >> RELU >> Copy("m") >> Softmax("m") @ Id("m:4")
    (first, second), whole = steps_of(kept).steps, elaborate(kept)
    assert second.takes == first.gives  # one takes it, and it is a result as well
    assert LawSite(steps_of(kept), 0, whole).only_user(first.gives[0]) is None
    assert (site.maker(relu.gives[0]), site.maker(last.gives[0])) == (0, 3)
    assert site.maker(steps.inputs[0]) is None
    cell = site.cell(1)
    assert cell is not None and cell.op == Softmax("m")
    block = steps_of(TERM)
    assert LawSite(block, 1, elaborate(TERM)).cell(1) is None
    less = site.with_steps({3: (), 0: (relu, relu)})
    assert less.steps == (relu, relu, softmax, add) and less.source is None
