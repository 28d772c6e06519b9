"""A loss of one matrix product: the graph with which autograd is explained."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.models.catalogue_entry import Entry, Knob
from ncd.ops import Einsum, Map, Named, Param, Reduce


def autograd(b: int = 4, m: int = 3, k: int = 2) -> Term:
    """``loss = L(x @ w)``: L is the mean of the squares of z − y."""
    return Axes(b=b, m=m, k=k)(_loss())


@lru_cache
def _loss() -> Term:
    squares = (
        Map("b k, b k -> b k", "$1 - $2", "z − y")
        >> Map("b k -> b k", "$1 ** 2", "square")
        >> Reduce("b k ->", "mean")
    )
    return (
        Named("b m", "x") @ Param("m k", "w", "normal") @ Named("b k", "y")
        >> Einsum("b m, m k -> b k", "z") @ Id("b k")
        >> Block(squares, "L", "residual")
    )


_SMALL = "a few, so that every number can be followed"

AUTOGRAD = Entry(
    name="autograd",
    title="Autograd",
    source="From autograd to transformers, part 1",
    knobs=(
        Knob("b", 1, 16, 4, help="examples", reason=_SMALL),
        Knob("m", 1, 16, 3, help="features that go in", reason=_SMALL),
        Knob("k", 1, 16, 2, help="features that come out", reason=_SMALL),
    ),
    system=autograd,
    section="Learning",
    type="b m, b k -> ()",
    notes={"L": "The mean of the squares of z − y: one number, from which backward() begins."},
)
