"""Linear maps as diagrams: attention's scores in steps (notebook, figure 17), and figure 18."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block, Equation
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Function, Inner, Named, Rename, Scale, Unit
from ncd.systems.catalogue_entry import Entry


def einsum_attention(y: int = 3, x: int = 5, k: int = 4, h: int = 2) -> Term:
    """The scaled scores of h heads, in four steps and in one einsum. Sizes as in the notebook."""
    return Axes(y=seq(y), x=seq(x), k=k, h=h, q=k)(_scores())


@lru_cache
def _scores() -> Term:
    arrays = Named("y k h", "Q") @ Named("x k h", "K")
    scale = Block(Scale("k"), "", "scale")
    steps = (
        Id("y k h") @ Block(Einsum("x k h -> k x h"), "", "transpose")
        >> Id("y k h") @ Rename('k -> q"k"')
        >> Block(Einsum('y k h, q"k" x h -> y k q"k" x h'), "", "diagonal")
        >> Block(Inner("k q"), "", "einsum")
        >> scale
    )
    at_once = Block(Einsum("y k h, x k h -> y x h"), "", "einsum") >> scale
    return Equation(arrays >> steps, arrays >> at_once)


def linear_algebra(step: int = 1, a: int = 3, b: int = 4, c: int = 5, d: int = 3) -> Term:
    """Returns the line of figure 18 that contains a step of the walk through it."""
    return Axes(a=a, b=b, c=c, d=d, p=b, q=b, r=b)(_line(line(step)))


def pair(step: int, a: int = 3, b: int = 4, c: int = 5, d: int = 3) -> Equation:
    """Returns a step of the walk: two sides that are equal."""
    sizes = Axes(a=a, b=b, c=c, d=d, p=b, q=b, r=b)
    whole = _line(line(step))
    assert isinstance(whole, Equation)
    if line(step) != 1:
        found = whole
    elif step == 2:
        found = Equation(Id("b") >> UNIT >> CAP, Id("b") >> Rename('b -> r"b"'))
    else:
        found = Equation(*whole.sides[step - 3 : step - 1])
    equation = sizes(found)
    assert isinstance(equation, Equation)
    return equation


def linear_map(a: int = 3, b: int = 4, c: int = 5, d: int = 3) -> Term:
    """Returns the map F that the figure starts from."""
    return Axes(a=a, b=b, c=c)(Function("F", "a -> b c"))


def line(step: int) -> int:
    """Returns the number of the figure's line, from 0, that contains a step.

    >>> [line(step) for step in range(1, 8)]
    [0, 1, 1, 1, 1, 1, 2]
    """
    return 0 if step < 2 else 1 if step < 7 else 2


@lru_cache
def _line(n: int) -> Term:
    return (_transpose, _shift, _outer)[n]()


UNIT, CAP = Unit('q"b" r"b"', outer=True), Inner('b q"b"')


def _transpose() -> Term:
    """Returns two equal terms: an axis of F bent by a wire, and the transposed matrix of F."""
    bent = Function("F", 'a -> q"b" c')
    turned = Function("F", "b a -> c", of="a -> b c")
    return Equation(Id("b a") >> bent >> Inner('b q"b"'), turned)


def _shift() -> Term:
    """Returns two equal terms: a map before and behind a wire made of a cup and a cap."""
    g, h = Function("G", "a -> b"), Function("H", 'r"b" -> c')
    turned = Function("H", '() -> q"b" c', of='q"b" -> c')
    return Equation(
        g >> Function("H", "b -> c"),
        g >> Block(UNIT >> CAP, "Identity") >> h,
        g >> UNIT >> h >> CAP,
        g >> turned >> CAP,
        Id("a") >> turned >> g >> CAP,
    )


def _outer() -> Term:
    """Returns two equal terms: arrays multiplied before two maps, or behind them."""
    g, h = Function("G", 'a -> p"b"'), Function("H", "b -> c")
    k = Function("K", 'p"b" c -> d')
    return Equation(
        Einsum("a, b -> a b") >> g >> h >> k,
        g @ h >> Einsum('p"b", c -> p"b" c') >> k,
    )


def _notes(step: int = 1, **sizes: int) -> Mapping[str, str]:
    """Returns the published callouts of a line."""
    return (
        {},
        {
            "Identity": "The unit and the inner product arranged in this manner give the identity.",
            "": "Naturality among linear functions with respect to broadcasting allows them to be "
            "horizontally shifted.",
        },
        {
            "": "Simultaneously broadcasting linear operations is an outer product, meaning outer "
            "products can be shifted."
        },
    )[line(step)]


_LONG_WAY_REASON = "the long way makes y · k · k · x · h numbers"
_SIZE_REASON = "a few are enough to see that both sides agree"

EINSUM_ATTENTION = Entry(
    name="einsum-attention",
    title="Attention as einsum",
    source="Notebook, figure 17",
    knobs=(
        Knob("y", 1, 64, 3, help="queries", reason=f"3 in the notebook; {_LONG_WAY_REASON}"),
        Knob("x", 1, 64, 5, help="keys", reason=f"5 in the notebook; {_LONG_WAY_REASON}"),
        Knob(
            "k", 1, 32, 4, help="features a head", reason=f"4 in the notebook; {_LONG_WAY_REASON}"
        ),
        Knob("h", 1, 8, 2, help="heads", reason=f"2 in the notebook; {_LONG_WAY_REASON}"),
    ),
    system=einsum_attention,
    section="Linear algebra",
)

LINEAR_ALGEBRA = Entry(
    name="linear-algebra",
    title="Graphical linear algebra",
    source="Notebook, figure 18",
    knobs=(
        Knob(
            "step", 1, 7, 1, help="place in the walk", reason="it goes through the figure", most=7
        ),
        Knob("a", 1, 32, 3, help="numbers that go in", reason=_SIZE_REASON),
        Knob("b", 1, 32, 4, help="numbers on the bent wire", reason=_SIZE_REASON),
        Knob("c", 1, 32, 5, help="numbers that come out", reason=_SIZE_REASON),
        Knob("d", 1, 32, 3, help="numbers behind K", reason=_SIZE_REASON),
    ),
    system=linear_algebra,
    section="Linear algebra",
    notes=_notes,
    width=800.0,
)
