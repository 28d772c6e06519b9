"""An op that has a type where further axes join it has one on its own pattern, of which it is part.

Terms are typed from the inside out: a body of a repetition or a part beside others meets its
pattern alone before the arrays around it are known.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import ncd
from ncd import Axes, BatchNorm, Beside, Block, Id, Repeat, SizeError, Term, space
from ncd.errors import NCDError
from ncd.language.axes import Array, Axis, Type
from ncd.language.op import Op
from ncd.language.terms import rewrite_axes
from ncd.ops import CATALOGUE

SAMPLES = [
    pytest.param(sample.op, sample.dom, id=f"{sample.op.display_name} {sample.dom}")
    for kind in CATALOGUE
    for sample in kind.examples()
]


def single(axis: Axis) -> Axis:
    """The axis with one place in each dimension."""
    size = axis.size
    return replace(axis, size=(1,) * len(size) if isinstance(size, tuple) else 1)


@pytest.mark.parametrize(("op", "dom"), SAMPLES)
def test_fewer_axes_are_never_refused_where_more_are_not(op: Op, dom: str) -> None:
    for sized in (lambda axis: axis, single):
        try:
            one, arrays = rewrite_axes(op, sized), rewrite_axes(Type.parse(dom), sized)
            one.apply_to(Type(Array((Axis("zz", 3), *array), array.below) for array in arrays))
        except NCDError:  # with more axes it is refused too
            continue
        assert one.infer_outputs(arrays)


NORM = BatchNorm("b:1 c:3", "norm")
AROUND: dict[str, Term] = {
    "alone": NORM,
    "repeated": Repeat((NORM, NORM)),
    "in a block": Block(NORM, "Norm", "activate"),
    "in a block of blocks": Block(Repeat((Block(NORM, "Norm", "activate"),)), "Net", "neutral"),
}


@pytest.mark.parametrize("part", AROUND.values(), ids=AROUND)
def test_a_batch_norm_at_batch_1_is_part_of_any_term(part: Term) -> None:
    """Each channel has the numbers of all places, which its pattern does not name."""
    term = Axes(b=1, c=3, x=space(4, 5))(Id("b c x") >> part)
    assert ncd.compile(term)(*ncd.example_inputs(term)).shape == (1, 3, 4, 5)
    beside = Axes(x=space(4, 5))(Beside(Id("b:1 c:3 x"), Id("b c x")) >> Beside(part, part))
    assert len(ncd.elaborate(beside).outputs) == 2


@pytest.mark.parametrize("part", AROUND.values(), ids=AROUND)
def test_one_number_a_channel_is_refused_where_the_arrays_are_known(part: Term) -> None:
    with pytest.raises(SizeError) as caught:
        ncd.elaborate(Id("b:1 c:3") >> part)
    assert str(caught.value) == (
        "BatchNorm norm (b c -> b c): it normalises over all but c, and that is one number. "
        "Bound so far: b 1, c 3. Try b = 2."
    )
