"""Maps: what a formula means, and what it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import ncd
from ncd.circuit.elaborate import Axes
from ncd.errors import NCDError, ParseError
from ncd.explain.autograd_dag import rule
from ncd.formulas.formula import parse
from ncd.language.axes import Type
from ncd.language.terms import Id
from ncd.language.torch_code import Arg
from ncd.ops.einsum import Unit
from ncd.ops.elementwise import CausalMask, Elementwise, Map, Scale
from tests.ops.values import values


def real(*shape: int) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


Y, X = torch.arange(3.0, dtype=torch.float64), torch.arange(4.0, dtype=torch.float64)
A, B = real(3, 4), real(4)
MEANT = [
    # operands are apart from axes: an axis b is a position, $2 an array
    (Map("y b, b -> y b", "b + $1 * $2"), "y:3 b:4, b:4", (A, B), X + A * B),
    (Map("e -> e", "$1 + e"), "e:4", (B,), B + X),
    (Map("y -> y", "$1 + e"), "y:3", (Y,), Y + math.e),
    # truth values count 0 and 1, alone or together
    (Map("-> y:3 x:4", "(x < y) + (x < y) * 2"), "", (), 3.0 * (Y[:, None] > X)),
    (Map("-> y:3", "-(y > 0)"), "", (), -(Y > 0).double()),
    (Map("-> y:3", "(y > 0) == 1"), "", (), (Y > 0).double()),
    (Map("x -> x", "where($1, 1, 2)"), "x:4", (X,), 2 - (X != 0).double()),
    (Map("x -> x", "not $1 or x > 2 and $1 > 0"), "x:4", (X,), ((X == 0) | (X > 2)).double()),
    (Map("-> x:4", "(n_x > 3) + x"), "", (), X + 1),
    # whole numbers: / gives real ones, // and % stay whole and floor
    (Map("-> x:4", "x / 2"), "", (), X / 2),
    (Map("-> x:4", "(x - 3) // 2"), "", (), (X - 3) // 2),
    (Map("-> x:4", "(x - 3) % 2"), "", (), (X - 3) % 2),
    (Map("-> x:4", "x // x"), "", (), X // X),
    (Map("-> x:4", "(x + 1) ** -1"), "", (), 1 / (X + 1)),
    (Map("-> x:4", "2 ** x"), "", (), 2**X),
    # 64 bits all the way, also where torch would take 32 of two plain numbers
    (Map("-> x:4", "x * 0.1"), "", (), X * 0.1),
    (Map("-> x:4", "where(x > 1, 0.1, 0.2)"), "", (), 0.2 - (X > 1).double() * 0.1),
    (Map("-> x:4", "sin(x)"), "", (), X.sin()),
    (Map("-> x:4", "exp(-n_x / 3)"), "", (), math.exp(-4 / 3) + 0 * X),
    (Map("-> y:3 x:4", "y"), "", (), Y[:, None].expand(3, 4)),
    (Map("-> y:3 x:4", "softplus(2) + sign(-3)"), "", (), F.softplus(2 + 0 * A) - 1),
    (Map("() -> ()", "min($1, 0.5)"), "()", (real(),), real().clamp(max=0.5)),
    (Map("-> x:4", "x + min(n_x, 3) - min(2, n_x)"), "", (), X + 1),
    (Map("-> x:4", "x + max(n_x, 3) - max(5, n_x)"), "", (), X - 1),
    (Map("x -> x", "max(min($1, x), n_x / 8)"), "x:4", (B,), B.minimum(X).clamp(min=0.5)),
    (Map("x -> x", "clamp($1, -0.5, n_x / 8)"), "x:4", (B,), B.clamp(-0.5, 0.5)),
    (Map("x -> x", "clamp($1, 0 * x, 0.5)"), "x:4", (B,), B.clamp(0, 0.5)),
    (Map("-> x:4", "clamp(x, 1, 2) // 2"), "", (), X.clamp(1, 2) // 2),
    (Map("-> x:4", "clamp(5, x, 7) + clamp(-1, 0, 7)"), "", (), 5 + 0 * X),
    (Map("x -> x", "elu($1) + elu(-1) + rsqrt(4)"), "x:4", (B,), F.elu(B) + math.exp(-1) - 0.5),
    (Map("-> x:4", "rsqrt(x + 1)"), "", (), (X + 1).rsqrt()),
    (Map("x/s -> x/s", "$1 + x_s"), "x/s:4", (B,), B + X),
    (Map("x -> y:3 x", "$1 - y"), "x:4", (B,), B - Y[:, None]),
]


@pytest.mark.parametrize(("op", "dom", "inputs", "wanted"), MEANT, ids=lambda v: str(v)[:60])
def test_meaning(op: Map, dom: str, inputs: tuple[Tensor, ...], wanted: Tensor) -> None:
    (found,) = values(op, dom, *inputs)
    assert found.dtype == torch.float64
    torch.testing.assert_close(found, wanted.double(), atol=1e-12, rtol=1e-12, equal_nan=True)


def test_whole_numbers_come_and_go() -> None:
    ids = torch.tensor([0, 3, 4])
    (odd,) = values(Map("y#v -> y#2", "$1 % 2 == 1"), "y:3#v:5", ids)
    assert (odd.dtype, odd.tolist()) == (torch.int64, [0, 1, 0])
    (half,) = values(Map("y#v -> y#v", "$1 / n_v * 2.9"), "y:3#v:5", ids)
    assert half.tolist() == [0, 1, 2]


def test_axes_between_and_around() -> None:
    scores = real(2, 3, 5, 4)
    (found,) = values(CausalMask("y x"), "b:2 y:3 h:5 x:4", scores)
    later = torch.ones(3, 4, dtype=torch.bool).triu(1)[:, None]
    assert torch.equal(found, scores.masked_fill(later, -math.inf))
    assert str(CausalMask("y x").infer_outputs(Type.parse("b y h x"))) == "b y h x"
    # an axis that would read as a constant changes nothing
    (found,) = values(CausalMask("inf e"), "inf:3 e:4", A)
    assert torch.equal(found, A.masked_fill(torch.ones(3, 4, dtype=torch.bool).triu(1), -math.inf))


def test_a_batch_in_front_of_every_operand() -> None:
    op = Map("h y x, x -> h y x", "where($2 > 0, -inf, $1)")
    scores, mask = real(4, 4, 3, 4), real(4, 4)
    (found,) = values(op, "h:4 y:3 x:4, x:4", scores, mask)
    wanted = torch.stack(
        [s.masked_fill(m > 0, -math.inf) for s, m in zip(scores, mask, strict=True)]
    )
    assert torch.equal(found, wanted)


def test_gradients() -> None:
    a = A.clone().requires_grad_()
    b = B.clone().requires_grad_()
    op = Map("y x, x -> y x", "where(x <= y, $1 * sigmoid($2), $1 ** 2)")
    (found,) = values(op, "y:3 x:4, x:4", a, b)
    seen = torch.ones(3, 4, dtype=torch.bool).tril()
    wanted = torch.where(seen, a * b.sigmoid(), a**2)
    grads = [torch.autograd.grad(x.sum(), (a, b), retain_graph=True) for x in (found, wanted)]
    for mine, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(mine, theirs)


# A division without remainder goes up in steps: its gradient is 0 wherever it has one. Where torch
# has no backward at all (floor_divide, and remainder of a plain number) the op takes another way.
Values = Callable[[Tensor], Tensor]
HALVED = 'torch.div(x, 2, rounding_mode="floor")'
DIVIDED = 'torch.div(x.new_full((), 7), x, rounding_mode="floor")'
STEPS: list[tuple[str, str, Values, Values]] = [
    ("$1 // 2", HALVED, lambda a: a // 2, lambda a: 0 * a),
    ("7 // $1", DIVIDED, lambda a: 7 // a, lambda a: 0 * a),
    ("$1 // 2 + $1", f"{HALVED} + x", lambda a: a // 2 + a, lambda a: 0 * a + 1),
    ("7 % $1", "x.new_full((), 7) % x", lambda a: 7 % a, lambda a: -(7 // a)),
    ("$1 % 2", "x % 2", lambda a: a % 2, lambda a: 0 * a + 1),
]


@pytest.mark.parametrize(("formula", "line", "value", "slope"), STEPS)
def test_steps_have_a_gradient(formula: str, line: str, value: Values, slope: Values) -> None:
    a = (3 * B.abs() + 0.3).requires_grad_()
    op = Map("x -> x", formula)
    (found,) = values(op, "x:4", a)
    (grad,) = torch.autograd.grad(found.sum(), a)
    torch.testing.assert_close((found, grad), (value(a), slope(a)))
    term = Axes(x=4)(Id("x") >> op)
    assert f"return {line}\n" in ncd.source(term)
    dag = ncd.autograd(ncd.compile(term), *ncd.example_inputs(term))
    made = [node.label for node in dag.nodes if node.kind == "function"]
    assert made and not any("chain rule" in rule(label) for label in made)


def test_an_operand_alone_is_no_step() -> None:
    op = Map("m -> m", "$1")
    assert op.torch_code(op.apply_to(Type.parse("b:2 m:3"))) == (Arg(0),)


def test_sizes_that_are_only_read_are_solved_and_kept() -> None:
    term = Axes(m=3, k=4)(Map("m -> m", "$1 / n_k ** 0.5") >> Id("m"))
    assert repr(term) == "Map('m:3 -> m:3', '$1 / n_k ** 0.5', '', 'k:4') >> Id('m:3')"
    assert eval(repr(term), {"Map": Map, "Id": Id}) == term
    assert Axes(x=5)(Unit("a x")).cod.spec == "a:5 x:5"
    assert Axes(a=5)(Unit("a x")).cod.spec == "a:5 x:5"


REFUSED = [
    (
        lambda: Map("-> y x", "x <= z"),
        "Map (-> y x): z is no axis of the result, no size and no constant. "
        "Try one of y, x, n_y, n_x, e, inf, pi.",
    ),
    (
        lambda: Map("-> n_x x", "n_x + x"),
        "Map (-> n_x x): n_x could be the position of axis n_x or the size of axis x. "
        "Try another name for one of the axes.",
    ),
    (
        lambda: Map("-> x/s x_s", "x_s"),
        "Map (-> x/s x_s): x_s could be the position of axis x/s or the position of axis x_s. "
        "Try another name for one of the axes.",
    ),
    (
        lambda: Map("m -> m", "$2"),
        "Map (m -> m): there is no $2, it takes 1 array. Try $1.",
    ),
    (
        lambda: Map("-> m", "$0"),
        "Map (-> m): there is no $0, it takes 0 arrays. Try an array on the left.",
    ),
    (
        lambda: Map("m, x -> m x", "$2"),
        "Map (m, x -> m x): the formula $2 does not use $1, (m). "
        "Try a pattern without it, and Wire to drop the array.",
    ),
    (
        lambda: Map("m n -> m", "$1"),
        "Map (m n -> m): axis n stands on the left but not on the right. "
        "Try Reduce or Einsum, to sum over n.",
    ),
    (
        lambda: Map("y#v -> y", "$1 + v"),
        "Map (y#v -> y): v is no axis of the result (y). Try n_v for its size.",
    ),
    (
        lambda: Map("m -> m, m", "$1"),
        "Map (m -> m, m): a map gives one array. Try a Map for each of them.",
    ),
    (
        lambda: Map("m -> m", "$1", reads="k"),
        "Map (m -> m): it says that it reads the size of k, but it need not. "
        "Try n_k in the formula.",
    ),
    (
        lambda: Map("-> x:2x3", "x").cod,
        "Map (-> x): axis x is a group of 2 dimensions, which has no single position. "
        'Bound so far: x 2×3. Try Group("x -> …") before it.',
    ),
    (
        lambda: Map("-> x:3", "1 / (n_x - 3)").cod,
        "Map (-> x): 1 / (n_x - 3) is no number with these sizes. Bound so far: x 3. "
        "Try other sizes.",
    ),
    (
        lambda: Map("-> x:3", "9 ** 9 ** 9").cod,
        "Map (-> x): 9 ** 9 ** 9 is no number with these sizes. Bound so far: x 3. "
        "Try other sizes.",
    ),
    (
        lambda: Map("-> x:3", "x + 9999999999999999999").cod,
        "Map (-> x): 9999999999999999999 is over 2**53, too large for a whole number. "
        "Bound so far: x 3. Try 1e30.",
    ),
    (
        lambda: Map("-> x:3#v:2", "n_x").cod,
        "Map (-> x#v): it gives 3, but its numbers are whole ones below v 2. "
        "Bound so far: x 3, v 2. Try a whole number, 0 or more, below it.",
    ),
    (
        lambda: Map("y -> y", "$1").infer_outputs(Type.parse("y#v")),
        "Map (y -> y): it takes real numbers, but the array that meets it, (y#v), holds whole "
        "numbers below v. Try Index to look the numbers up, or Map to make real ones of them.",
    ),
    (
        lambda: Elementwise("rel"),
        "Elementwise: there is no elementwise function 'rel'. Try relu.",
    ),
    (
        lambda: Elementwise("swish"),
        "Elementwise: there is no elementwise function 'swish'. Try silu.",
    ),
    (
        lambda: Scale("k", "1.5"),
        'Scale: \'1.5\' is no power. Try "-1/2", or "2".',
    ),
    (
        lambda: CausalMask("y x").infer_outputs(Type.parse("y:2x2 x:3")),
        "CausalMask (y x -> y x): axis y is a group of 2 dimensions, which has no single position. "
        'Bound so far: y 2×2, x 3. Try Group("y -> …") before it.',
    ),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=[m[:50] for _, m in REFUSED])
def test_refused(build: Callable[[], object], message: str) -> None:
    with pytest.raises(NCDError) as found:
        build()
    assert str(found.value) == message


def test_a_long_formula_is_refused_before_python_gives_up() -> None:
    assert str(parse("1" + "+1" * 64)).count("+") == 64
    with pytest.raises(ParseError) as found:
        parse("1" + "+1" * 400)
    assert str(found.value) == (
        "the formula has more than 64 operations in a row. "
        "Try a shorter one, or brackets that share them out."
    )
