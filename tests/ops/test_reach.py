"""The places that an op says that it looks at are those whose change its result notices."""

from __future__ import annotations

import math

import pytest
import torch

import ncd
from ncd.language.axes import Array, Type
from ncd.language.op import Sample
from ncd.language.terms import Id, Then
from ncd.ops import CATALOGUE

OPS = {op.__name__: op for op in CATALOGUE if any(sample.dom for sample in op.examples())}
# Those that go along another axis in the result than in their input, for so many axes of samples.
MOVED = {"Concat": 7, "Cut": 5, "Conv": 1, "ConvTranspose": 1, "Pad": 3, "MaxPool": 2, "Rename": 3}
MOVED |= {"Window": 2}
# These may look at fewer places than they say: at every second one, or by weights that are 0.
LOOSE = ("Conv", "ConvTranspose", "Linear", "MaxPool", "Roll", "Scatter")


def wide(sample: Sample) -> Then:
    """A sample on arrays with one axis more in front."""
    given = Type.parse(sample.dom)
    return Then(Id(Type(a.with_axes((*Array.parse("b_0:3"), *a)) for a in given)), sample.op)


def noticed(term: Then, source: int, axis: str, target: int, along: str) -> set[int]:
    """The distances, along an axis, from a place of the result to one whose change it notices."""
    module, circuit = ncd.compile(term, 0).double().eval(), ncd.elaborate(term)
    inputs = [x.double() if x.is_floating_point() else x for x in ncd.example_inputs(term, 0)]
    (before,) = circuit.inputs[source].array.position(axis)
    (behind,) = circuit.outputs[target].array.position(along)

    def result(given: list[torch.Tensor]) -> torch.Tensor:
        with torch.no_grad():
            found = module(*given)
        return (found if isinstance(found, tuple) else (found,))[target].movedim(behind, 0)

    whole, found = result(inputs), set[int]()
    noise = torch.rand(inputs[source].shape, generator=torch.Generator().manual_seed(1))
    for place in range(inputs[source].shape[before]):
        other = [x.clone() for x in inputs]
        other[source].select(before, place).add_(noise.select(before, place))
        changed = (result(other) != whole).reshape(len(whole), -1).any(1)
        found |= {place - at for at in changed.nonzero()[:, 0].tolist()}
    return found


@pytest.mark.parametrize("name", OPS)
def test_an_op_notices_just_the_places_that_it_says_that_it_reaches(name: str) -> None:
    moved = 0
    for term in (wide(own) for own in OPS[name].examples() if own.dom and not own.alone):
        circuit = ncd.elaborate(term)
        cell = circuit.cells[-1]
        ends = [(k, n) for k in range(len(circuit.inputs)) for n in range(len(circuit.outputs))]
        for (source, target), axis in [(e, a) for e in ends for a in circuit.inputs[e[0]].array]:
            reach = cell.op.reach(cell.site, axis.name, source, target)
            if not reach.axis:
                assert reach.is_everything
            elif circuit.inputs[source].array.below is None and not axis.spatial:
                moved += reach.axis != axis.name
                seen = noticed(term, source, axis.name, target, reach.axis)
                case = (term.steps[-1], source, axis.name, target, reach, seen)
                assert all(reach.start <= far <= reach.end for far in seen), case
                if seen and not (reach.is_everything and name in LOOSE):
                    first, last = min(seen), max(seen)
                    assert first == reach.start or (first < 0 and reach.start == -math.inf), case
                    assert last == reach.end or (last > 0 and reach.is_everything), case
    assert moved == MOVED.get(name, 0)
