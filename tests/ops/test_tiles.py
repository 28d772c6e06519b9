"""Ops on one tile of an axis after the other give what they give on the whole, or say why not."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.errors import NCDError
from ncd.language.axes import Array, Type
from ncd.language.op import Op
from ncd.language.terms import Id, Term, Then
from ncd.ops import CATALOGUE, Reduce

KINDS = {op.__name__: op for op in CATALOGUE if any(s.dom and not s.alone for s in op.examples())}
# The axes of the samples of an op along which it works on all numbers at once, alone and before a
# sum: a size of several dimensions too. All others can be cut.
WHOLE = {
    "Cumulative": "x x y",
    "GroupNorm": "c c c x x x y",
    "LayerNorm": "x",
    "Reduce": "x x",
    "Softmax": "x",
    "Top": "e e k k",
    "Add": "x",
    "Function": "a a a a b b b b c",
    "Map": "2 v z",
    "Einsum": "x",
    "Linear": "m u x",
    "Inner": "a a b b",
    "Unit": "a b",
    "Concat": "2c c c d e n p q r",
    "Cut": "d d h p q",
    "Index": "h k m m m m m v v v v v w x x y y y y y y y z",
    "Pad": "v x x x x x x y y y y y y",
    "Group": "a b c d d h k n u x x x y",
    "Rename": "k m u x x x y y",
    "Split": "c d d h h k k x x",
    "Roll": "v x x x y",
    "Scatter": "b m m v v v y y y",
    "Conv": "c c c c c c c d d d d h h k k u x x x x x x x x/s y",
    "MaxPool": "u u u u u x x x x x",
    "Fold": "w w w x x x y y y",
    "Window": "w w w w x x x x y y y y",
    "ConvTranspose": "c c c d d d d h k u u u u x x x x",
}


def cases(kind: type[Op]) -> list[Then]:
    """The samples on arrays with one axis more in front."""
    found = []
    for sample in kind.examples():
        if sample.dom and not sample.alone:
            given = Type.parse(sample.dom)
            wide = Type(a.with_axes((*Array.parse("b_0:3"), *a)) for a in given)
            found.append(Then(Id(wide), sample.op))
    return found


def refused(name: str) -> str:
    """The axes along which the samples of an op cannot be cut; compares the others with torch."""
    whole = []
    for term in cases(KINDS[name]):
        circuit = ncd.elaborate(term)
        for axis in dict.fromkeys(axis.name for axis in circuit.cells[-1].site.axes):
            if not same(term, axis):
                (first, *more) = circuit.outputs
                summed = not more and axis in first.array.names and not first.array.below
                if not (summed and same(Then(*term.steps, Reduce(f"{axis} ->")), axis)):
                    whole.append(axis)
    return " ".join(sorted(whole))


def same(term: Term, axis: str) -> bool:
    """Whether it can be cut in tiles of two; if so it gives what the term gives."""
    try:
        loop = ncd.stream(term, {}, (axis, 2))
    except NCDError as error:
        assert axis in str(error)
        return False
    given = [x.double() if x.is_floating_point() else x for x in ncd.example_inputs(term, 0)]
    module = ncd.compile(term, 0).double()
    whole = module(*given)
    found = ncd.run_stream(loop, given, module)
    for one, other in zip(
        found.outputs, whole if isinstance(whole, tuple) else (whole,), strict=True
    ):
        torch.testing.assert_close(one, other)
    return True


@pytest.mark.parametrize("name", KINDS)
def test_tiles_of_an_op_give_the_whole_along_all_axes_but_these(name: str) -> None:
    assert refused(name) == WHOLE.get(name, "")
