"""What a quiz knows of axes: which go into an op, and which have a size that it computes."""

from __future__ import annotations

import pytest

from ncd import Axes, Conv, Copy, Group, Id, Linear, Pad, Softmax, Split, Term, elaborate
from ncd.site.quiz_facts import computed_axes, taken_axes


@pytest.mark.parametrize(
    ("term", "given", "computed"),
    [
        (Axes(c=1, x=8)(Conv("c x -> f:2 y", "conv", 3)), {}, {"y"}),
        (Axes(c=1, x=8)(Conv("c x -> f:2 y", "conv", 3)), {"y": 6}, set()),  # it has a knob
        (Id("x:8") >> Pad("x -> u", 1, 2) >> Softmax("u"), {}, {"u"}),
        (Id("h:2 k:3") >> Group("h k -> d"), {}, {"d"}),
        (Id("d:6") >> Split("d -> h:2 k"), {}, set()),  # one of the two is chosen
        (Linear("m:4 -> k:3", "L") >> Softmax("k"), {}, set()),  # a size of its own
    ],
)
def test_the_axes_whose_size_is_computed(
    term: Term, given: dict[str, int], computed: set[str]
) -> None:
    assert computed_axes(elaborate(term), given) == computed


def test_the_axes_that_go_into_an_op() -> None:
    circuit = elaborate(Id("y:2 m:4") >> Linear("m -> k:3", "L") >> Copy("k"))
    first, *_ = circuit.cells
    assert taken_axes(circuit, first.outputs[0].id) == ("y", "m")
    assert taken_axes(circuit, circuit.outputs[1].id) == ("y", "k")
    assert taken_axes(circuit, circuit.inputs[0].id) == ()
