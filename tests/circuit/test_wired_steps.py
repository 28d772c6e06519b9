"""Steps on named arrays, wired to a term, compute what the same steps do in plain Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import ncd
from ncd import (
    Add,
    Beside,
    Block,
    Elementwise,
    Id,
    Linear,
    Map,
    MismatchError,
    ParseError,
    Repeat,
    Term,
    Wire,
)
from ncd.circuit.definition import Definition
from ncd.language.step_wires import ABREAST
from ncd.language.terms import Then

Plain = Callable[..., Any]
# Terms that take and give arrays (m), with what they do in plain torch.
STEPS: tuple[tuple[Term, Plain], ...] = (
    (Elementwise("sin"), torch.sin),
    (Map("m, m -> m", "$1 - 2 * $2"), lambda a, b: a - 2 * b),
    (Add(), lambda a, b: a + b),
    (Wire("m, m -> $2, $1, $1"), lambda a, b: (b, a, a)),
    (Map("-> m:3", "m + 0.5"), lambda: torch.arange(3.0) + 0.5),
    (Block(Elementwise("exp") >> Map("m -> m", "$1 / 2"), "Half"), lambda a: a.exp() / 2),
    (Repeat((Map("m -> m", "$1 + 1"),) * 2), lambda a: a + 2),
    (Linear("m -> m:3", "L"), lambda a, w: a @ w.T),
    (Linear("m -> m:3", "A") >> Elementwise("tanh"), lambda a, w: (a @ w.T).tanh()),
)


@given(st.data(), st.integers(0, 3), st.integers(0, 9))
def test_random_steps_give_what_plain_calls_give(data: st.DataObject, inputs: int, n: int) -> None:
    definition = Definition({f"x{i}": "m:3" for i in range(inputs)})
    named: list[Any] = [*definition.inputs.values()]
    calls: list[tuple[Plain, list[int], bool]] = []
    for _ in range(n if inputs else n + 1):
        term, plain = data.draw(st.sampled_from(STEPS if named else STEPS[4:5]))
        at = [data.draw(st.integers(0, len(named) - 1)) for _ in term.dom]
        made = definition.call(term, tuple(named[i] for i in at))
        calls.append((plain, at, any(isinstance(s, Linear) for s in (term, *term.children))))
        named += made if isinstance(made, tuple) else (made,)
    outputs = data.draw(st.lists(st.integers(0, len(named) - 1), min_size=1, max_size=4))
    module = ncd.compile(term := definition.term(tuple(named[i] for i in outputs)))
    given = [x.squeeze() for x in torch.randn(inputs, 3).split(1)] if inputs else []
    weights = iter([*module.parameters()])
    known: list[Tensor] = [*given]
    for plain, at, learned in calls:
        found = plain(*(known[i] for i in at), *((next(weights),) if learned else ()))
        known += found if isinstance(found, tuple) else (found,)
    assert next(weights, None) is None
    ours = module(*given)
    assert len(ours) == len(term.cod) if isinstance(ours, tuple) else len(term.cod) == 1
    for one, i in zip(ours if isinstance(ours, tuple) else (ours,), outputs, strict=True):
        torch.testing.assert_close(one, known[i])


def test_axes_of_one_name_and_two_sizes_are_kept_apart() -> None:
    definition = Definition({"x": "m:2", "y": "m:3", "z": "m:2"})
    x, y, z = definition.inputs.values()
    term = definition.term((y, definition.call(Add(), (z, x)), z))
    assert [array.spec for array in ncd.elaborate(term).term.cod] == ["m:3", "m:2", "m:2"]
    one, two, three = torch.randn(2), torch.randn(3), torch.randn(2)
    found = ncd.compile(term)(one, two, three)
    for ours, plain in zip(found, (two, one + three, three), strict=True):
        torch.testing.assert_close(ours, plain)


def test_a_call_of_all_inputs_in_their_order_alone_is_the_term_itself() -> None:
    pair = Map("m:3, m:3 -> m:3", "$1 - $2")
    for order, whole in (((0, 1), True), ((1, 0), False), ((0, 0), False)):
        definition = Definition({"x": "m:3", "y": "m:3"})
        inputs = [*definition.inputs.values()]
        term = definition.term(definition.call(pair, tuple(inputs[i] for i in order)))
        assert (term is pair) == whole
    definition = Definition({"x": "m:3"})
    (x,) = definition.inputs.values()
    assert isinstance(definition.term((definition.call(Elementwise("sin"), (x,)), x)), Then)
    sized = Definition({"x": "b m:3"})
    assert str(sized.term(sized.call(Elementwise("sin"), (*sized.inputs.values(),))).dom) == "b m"


def test_wrong_calls_say_what_is_wrong() -> None:
    definition = Definition({"x": "m:3"})
    (x,) = definition.inputs.values()
    stranger = Definition({"x": "m:3"}).inputs["x"]
    refused: list[tuple[Plain, str]] = [
        (lambda: definition.call(Add(), (x,)), "Add: it takes 2 arrays (, ), but is given 1."),
        (lambda: definition.call(Add(), (x, 3)), "Add: 3 is no array of this definition. Try x."),
        (lambda: definition.call(Add(), (x, stranger)), "Add: NamedArray(axes="),
        (lambda: definition.term((x, None)), "it returns None, which is no array. Try return x."),
        (lambda: definition.term(stranger), "it returns NamedArray(axes="),
        (lambda: iter(x), "(m) is one array. Try one name for it."),
    ]
    for call, why in refused:
        with pytest.raises(MismatchError) as caught:
            call()
        assert str(caught.value).startswith(why.split("(, )")[0])
    for axes in ("m, k", ""):
        with pytest.raises(ParseError, match=rf"^the axes of x are '{axes}', but it is one array"):
            Definition({"x": axes})


def test_ops_stand_beside_each_other_that_need_no_other_and_blocks_stand_alone() -> None:
    sin, table = Elementwise("sin"), Map("-> m:3", "m")
    half, twice = Block(sin, "Half"), Repeat((sin, sin))
    for terms, beside in (
        ([sin, sin], [2]),
        ([sin] * ABREAST, [ABREAST]),
        ([sin] * (ABREAST + 1), [ABREAST]),
        ([table, table], [2]),
        *((pair, []) for pair in ([sin, half], [half, sin], [twice, sin], [sin, table])),
        ([Linear("m -> m:3", "A"), Linear("m -> m:3", "B")], [2]),
    ):
        definition = Definition({f"x{i}": "m:3" for i in range(ABREAST + 1)})
        inputs = definition.inputs.values()
        given = [(x,) if term.dom else () for x, term in zip(inputs, terms, strict=False)]
        outputs = tuple(definition.call(t, x) for t, x in zip(terms, given, strict=True))
        steps = definition.term(outputs).children
        rows = [step.parts for step in steps if isinstance(step, Beside)]
        counts = [sum(not isinstance(part, Id) for part in row) for row in rows]
        groups = [count for count in counts if count > 1]
        assert groups == beside, terms
