"""Every question has one right answer, and it is what the term itself says."""

from __future__ import annotations

import pytest

import ncd
from ncd.language.axes import Array, Axis
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import Question, question
from tests.support.sampling import sample

MHA, LENET = ncd.catalogue["multi-head-attention"], ncd.catalogue["lenet"]


def asked(entry: Entry, ask: str, **sizes: int) -> Question:
    found = question(entry, entry.settings(sizes), ask)
    assert found is not None, ask
    return found


def right(entry: Entry, ask: str, **sizes: int) -> object:
    found = asked(entry, ask, **sizes)
    return found.answers[found.answer_index]


def parts(answer: object) -> object:
    """What makes an answer another one: the axes of a shape in any order, or its words."""
    if isinstance(answer, Array):
        return sorted((axis.display_name, axis.size_text) for axis in answer)
    return answer.display_name if isinstance(answer, Axis) else answer


@pytest.mark.catalogue
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_a_shape_is_asked_with_one_right_answer(entry: Entry) -> None:
    circuit = ncd.elaborate(entry.build())
    ids = sample(list(circuit.producers), 4, entry.name)
    for found in (question(entry, entry.settings({}), f"shape:{id}") for id in ids):
        if found is None:  # such as a number, or one of several arrays that leave an op
            continue
        assert found.hides
        array = circuit.values[found.subject_id].array
        same = [answer for answer in found.answers if parts(answer) == parts(array)]
        assert same == [found.answers[found.answer_index]]
        assert 2 <= len(found.answers) <= 4
        assert len({str(parts(answer)) for answer in found.answers}) == len(found.answers)


def test_costs_are_those_of_the_changed_term() -> None:
    for what in ("parameters", "flops"):
        before = getattr(ncd.cost(MHA.build()), what)
        for change in ({"h": 8}, {"x": 44}, {"k": 8}, {"h": 8, "k": 8}):
            found = asked(MHA, f"{what}:{','.join(f'{n}={v}' for n, v in change.items())}")
            after = getattr(ncd.cost(MHA.build(**change)), what)
            assert f"{before:,}" in found.text and f"{after:,}" in found.explanation
            words = {0.5: "half as many", 1.0: "just as many", 2.0: "twice as many"}.get(
                after / before
            )
            assert found.answers[found.answer_index] == (
                words or f"{after / before:.3g} times as many"
            )


def test_axes_numbers_and_layers() -> None:
    assert parts(right(MHA, "gone:n4")) == "k"
    assert parts(right(MHA, "along:n6")) == "x"
    assert right(MHA, "numbers:v7") == f"{20 * 22 * 4:,}"
    assert right(MHA, "numbers:v7", h=2, y=5) == f"{5 * 22 * 2:,}"
    assert right(LENET, "most:parameters") == "Linear linear1"
    assert right(LENET, "most:flops") == "Conv conv1"


@pytest.mark.parametrize(
    "ask",
    [
        *("", "shape", "shape:v0", "shape:v99", "shape:n4", "gone:n6", "along:n4", "most:money"),
        *("most:parameters", "parameters:", "parameters:h", "parameters:h=4", "parameters:h=0"),
        *("parameters:h=4.5", "flops:z=3", "flops:causal=1", "flops:h=99999999", "numbers:v7:v8"),
    ],
)
def test_what_cannot_be_asked_is_no_question(ask: str) -> None:
    assert question(MHA, MHA.settings({}), ask) is None
