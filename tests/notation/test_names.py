"""A name of an axis is held by every notation, or refused where the axis is made."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import ncd
from ncd import Axis, Block, Cumulative, Einsum, Id, Index, Linear, Map, Reduce, Softmax, Term
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Then
from ncd.language.wire import Wire
from tests.support.properties import PROPERTIES
from tests.support.sampling import count

HELD = (
    *("self", "d/2", "2c", "lambda", "import", "None", "class", "sizes", "term", "define", "Axes"),
    *("a/b/c", "é", "ℓ", "x²", "²", "١", "q_", "forward", "torch", "n", "e", "pi", "where", "F"),
)
REFUSED = (
    "k'",
    "<script>",
    "a,b",
    "x y",
    "",
    "_",
    "x:3",
    "a#b",
    "~x",
    "a->b",
    'a"b',
    "x\n",
    "\ud800",
)
TERMS: dict[str, Callable[[Axis], Term]] = {
    "Softmax": lambda n: Then(Id(_of(n, Q)), Softmax(Array((n,)))),
    "Linear": lambda n: Linear(Signature(_of(n), _of(Q)), "W", bias=True),
    "Index": lambda n: Index(_array(n, Q).spec, {n.name: 2}),
    "Reduce": lambda n: Reduce(Signature(_of(n, Q), _of(Q)), "mean"),
    "Cumulative": lambda n: Then(Id(_of(n, Q)), Cumulative(Array((n,)), "product")),
    "Einsum": lambda n: Einsum(Signature(Type((_array(n, Q), _array(n))), _of(Q))),
    "Map": lambda n: Map(Signature(_of(n), _of(n)), f"$1 * {n.identifier} + n_{n.identifier}"),
    "Block": lambda n: Block(Linear(Signature(_of(n), _of(Q)), "W"), "B", local=True),
    "unused": lambda n: Then(
        Wire(Signature(_of(n), Type((_array(n), _array(n))))),
        Linear(Signature(_of(n), _of(Q)), "W"),
        Wire(Signature(Type((_array(Q), _array(n))), _of(n)), "2"),
    ),
}
Q = Axis("q", 2)


def _array(*axes: Axis) -> Array:
    return Array(axes)


def _of(*axes: Axis) -> Type:
    return Type((Array(axes),))


def ops(term: Term) -> list[tuple[str, ...]]:
    """Every op with its path and its arrays, without wires."""
    cells = [cell for cell in ncd.elaborate(term).cells if not isinstance(cell.op, Wire)]
    return sorted(
        (c.op.display_name, c.path, c.site.inputs.spec, c.site.outputs.spec) for c in cells
    )


def assert_held(term: Term) -> None:
    """Every notation gives the term back, and its source runs."""
    PROPERTIES["text and JSON"](term)
    assert ncd.parse(repr(term)) == term
    assert ncd.parse(ncd.spell(term)) == term
    again = ncd.parse(ncd.spell(term, "lines"))
    assert (again.dom, again.cod) == (term.dom, term.cod)
    assert ops(again) == ops(term)
    assert ops(ncd.parse(ncd.spell(again, "lines"))) == ops(term)
    PROPERTIES["source"](term)


def assert_gradient_held(term: Term) -> None:
    back = ncd.gradient(term)
    PROPERTIES["text and JSON"](back)
    assert ncd.parse(ncd.spell(back)) == back


@pytest.mark.few(25)
@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("kind", TERMS)
def test_every_notation_holds_a_name(kind: str, name: str) -> None:
    term = TERMS[kind](Axis(name, 3))
    assert_held(term)
    assert_gradient_held(term)


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_no_text_holds_is_refused(name: str) -> None:
    with pytest.raises(ncd.ParseError, match="is no name of an axis") as caught:
        Axis(name, 3)
    assert Axis(str(caught.value.cure), 3)  # the cure is a name


@settings(max_examples=count(40, 1000), deadline=None)
@given(st.text(min_size=1, max_size=6), st.sampled_from([*TERMS]))
@example("Q", "Linear")
def test_any_name_is_held_or_refused(name: str, kind: str) -> None:
    assume(name != "q")
    try:
        axis = Axis(name, 3)
    except ncd.NCDError as error:
        assert isinstance(error, ncd.ParseError) or name.isdecimal()
        return
    term = TERMS[kind](axis)
    assert_held(term)
    assert_gradient_held(term)


def test_two_names_of_one_identifier() -> None:
    """``x/s`` and ``x_s`` are both x_s in a formula."""
    one, two = Axis("x/s", 3), Axis("x_s", 2)
    for term in (
        Then(Id(_of(one, two)), Softmax(_array(one)), Index(_array(one, two).spec, {"x/s": 1})),
        Then(Id(_of(one, two)), Cumulative(_array(one), "product")),
    ):
        assert_held(term)


def test_labels_with_quotes_are_written_in_lines() -> None:
    """One name for axes of two sizes, so that no decorator can hold them."""
    term = ncd.parse("""Id('c"c_λ":4 d:2') @ Id('c"c_λ":3')""")
    text = ncd.spell(term, "lines")
    assert '"c_λ"' in text and ncd.parse(text).dom == term.dom


def test_arrays_that_come_in_have_the_letters_in_their_order_and_then_numbers() -> None:
    text = ncd.spell(Id(", ".join(f"{axis}:2" for axis in "abcdefgh")), "lines")
    assert text.endswith("    return x, y, z, u, v, w, x_2, y_2")
