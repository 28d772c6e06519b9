"""Attention as one function: the same numbers and gradients, and not where it could be another."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from ncd.circuit.elaborate import Axes
from ncd.language.axes import Type
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.ops import Add, CausalMask, Dropout, Einsum, Map, Named, Scale, Softmax
from ncd.run.guard import compile
from ncd.run.module import CircuitModule, trace

SIZES = Axes(y=5, x=7, k=3, h=4, a=2, g=2, i=3, z=2)


def attention(
    *masks: Term,
    more: str = "",
    scores: str = "y k h, x k h -> y x h",
    values: str = "y x h, x k h -> y k h",
    scale: bool = True,
) -> Term:
    """Attention of a query, a key, what the masks take, and a value."""
    value = Type.parse(values.partition("->")[0])[1]
    term: Term = Id(f"{scores.partition('->')[0]}{more}, {value}") >> Einsum(scores)
    for step in (*([Scale("k")] if scale else []), *masks):
        term = term >> step
    return SIZES(term >> Softmax("x") >> Einsum(values))


PAD = Map("y x, x#a -> y x", "where($2 > 0, -inf, $1)")
KEEP = Map("y x, x#a -> y x", "where($2 == 1, $1, -inf)")
BIAS = Map("y x, y x -> y x", "$1 + $2")
WIDE = "h y k i g, x k g h -> g y x i h"

FUSED = {
    "plain": attention(),
    "no factor": attention(scale=False),
    "another factor": attention(Map("y x -> y x", "0.1 * $1")),
    "causal": attention(CausalMask("y x")),
    "causal by a formula": attention(Map("y x -> y x", "where(x <= y, $1, -inf)")),
    "anticausal": attention(Map("y x -> y x", "where(x < y, -inf, $1)")),
    "window": attention(Map("y x -> y x", "where(abs(y - x) > 3, -inf, $1)")),
    "padding": attention(PAD, more=", x#a"),
    "what to keep": attention(KEEP, more=", x#a"),
    "additive": attention(BIAS, more=", y x"),
    "additive, a head each": attention(Map("y x h, h y x -> y x h", "$1 + $2"), more=", h y x"),
    "slopes": attention(Map("y x h -> y x h", "$1 - (y - x) * 2 ** -h")),
    "all at once": attention(CausalMask("y x"), PAD, BIAS, more=", x#a, y x"),
    "a sum": attention(Add(), more=", y x h"),
    "grouped queries": attention(
        CausalMask("y x"), scores="y g h k, x h k -> y g h x", values="y g h x, x h k -> y g h k"
    ),
    "one key for all heads": attention(
        PAD, more=", x#a", scores="y h k, x k -> h y x", values="h y x, x k -> y h k"
    ),
    "one query": attention(scores="k h, x k h -> x h", values="x h, x k h -> h k"),
    "one head": attention(scores="y k, x k -> y x", values="y x, x z -> y z"),
    "keys first": attention(scores="x k h, y k h -> h y x", values="h y x, x k h -> y h k"),
    "axes apart": attention(
        PAD, more=", x#a", scores=WIDE, values="g y x i h, h z g x -> i h g y z"
    ),
    "names": attention(Named("y x", "S")),
    "the other way round": SIZES(
        Id("y k h, x k h, y k h")
        >> Einsum("y k h, x k h -> y x h")
        >> Softmax("y")
        >> Einsum("y x h, y k h -> x k h")
    ),
}
KEPT = {
    "dropped weights": SIZES(
        Id("y k h, x k h, x k h")
        >> Einsum("y k h, x k h -> y x h")
        >> Softmax("x")
        >> Dropout(0.1)
        >> Einsum("y x h, x k h -> y k h")
    ),
    "a factor after a mask": attention(BIAS, Scale("k"), more=", y x", scale=False),
    "a negative factor": attention(Map("y x -> y x", "$1 * -2")),
    "a finite mask": attention(Map("y x, x#a -> y x", "where($2 > 0, -9, $1)"), more=", x#a"),
    "a mask of the scores": attention(Map("y x -> y x", "where($1 > 0, -inf, $1)")),
    "twice the scores": attention(Map("y x -> y x", "$1 + $1")),
    "a sum over the queries": attention(values="y x h, x k h -> k h"),
    "values of each query": attention(values="y x h, x y k h -> y k h"),
    "a key that is summed": attention(scores="y k h, x k h z -> y x h"),
}


def steps(module: CircuitModule) -> int:
    """How many of the steps are attentions."""
    return sum(step.cell is None for step in module._program(plain=False).steps)  # type: ignore[union-attr]


def inputs_of(term: Term, batch: tuple[int, ...], dtype: torch.dtype) -> list[Tensor]:
    """Inputs in which no query is without a key."""
    found = []
    for array in term.dom:
        if array.below is None:
            found.append(torch.randn(*batch, *array.shape, dtype=dtype).requires_grad_())
        else:
            x = torch.randint(2, (*batch, *array.shape))
            x[..., 0] = 0
            found.append(x)
    return found


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_fused_and_not_give_the_same(name: str, batch: tuple[int, ...]) -> None:
    term = FUSED[name]
    module = compile(term)
    assert steps(module) == 1
    torch.manual_seed(0)
    inputs = inputs_of(term, batch, torch.float64)
    if name == "what to keep":
        inputs[2] = 1 - inputs[2]
    fused, plain = module(*inputs), trace(module, *inputs).outputs[0]
    torch.testing.assert_close(fused, plain)
    real = [x for x in inputs if x.requires_grad]
    start = torch.randn_like(plain)
    ours = torch.autograd.grad(fused, real, start)
    theirs = torch.autograd.grad(plain, real, start)
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two)


@pytest.mark.parametrize("name", KEPT)
def test_what_is_no_attention_is_left_as_it_is(name: str) -> None:
    module = compile(KEPT[name]).eval()
    assert steps(module) == 0
    inputs = inputs_of(module.term, (), torch.float32)
    torch.testing.assert_close(module(*inputs), trace(module, *inputs).outputs[0])


def test_weights_that_are_used_twice_are_kept() -> None:
    from ncd.ops import Copy

    term = SIZES(
        Id("y k, x k, x k")
        >> Einsum("y k, x k -> y x")
        >> Softmax("x")
        >> Copy("y x")
        >> Id("y x") @ Einsum("y x, x k -> y k")
    )
    assert steps(compile(term)) == 0


class _Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(
        self, func: object, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))  # type: ignore[operator]


@pytest.mark.parametrize("name", ["plain", "causal", "padding", "additive", "slopes"])
def test_torch_takes_its_fast_path(name: str) -> None:
    inputs = [x.detach() for x in inputs_of(FUSED[name], (), torch.float32)]
    with _Seen() as seen:
        compile(FUSED[name])(*inputs)
    assert "aten._scaled_dot_product_flash_attention_for_cpu.default" in seen.names


def test_a_causal_mask_is_told_to_torch() -> None:
    """Without a mask of its own, of the size of the scores."""
    for name in ("causal", "causal by a formula"):
        (step,) = compile(FUSED[name])._program(plain=False).steps
        assert step.kernel.causal and not step.kernel.masks  # type: ignore[union-attr]
    (step,) = compile(FUSED["anticausal"])._program(plain=False).steps
    assert not step.kernel.causal and len(step.kernel.masks) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(("mask", "hidden"), [(PAD, 1), (BIAS, -math.inf)])
def test_a_query_that_sees_nothing_gives_no_number(mask: Term, hidden: float) -> None:
    """As a softmax of nothing does, in the gradients too."""
    more = ", x#a" if mask is PAD else ", y x"
    module = compile(attention(mask, more=more))
    torch.manual_seed(0)
    inputs = [torch.randn(a.shape).requires_grad_() for a in module.term.dom]
    kind = torch.int64 if mask is PAD else torch.float32
    inputs[2] = torch.full(module.term.dom[2].shape, hidden, dtype=kind)
    fused, plain = module(*inputs), trace(module, *inputs).outputs[0]
    assert plain.isnan().all()
    torch.testing.assert_close(fused, plain, equal_nan=True)
    real = [x for x in inputs if x.requires_grad]
    ours, theirs = (torch.autograd.grad(x.sum(), real) for x in (fused, plain))
    for one, two in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, two, equal_nan=True)


def test_only_the_blind_query_gives_no_number() -> None:
    module = compile(attention(BIAS, more=", y x"))
    torch.manual_seed(0)
    inputs = [torch.randn(a.shape) for a in module.term.dom]
    inputs[2][1] = -math.inf
    fused, plain = module(*inputs), trace(module, *inputs).outputs[0]
    assert plain[1].isnan().all() and plain.isnan().sum() == plain[1].numel()
    torch.testing.assert_close(fused, plain, equal_nan=True)


def test_names_that_are_local_to_a_block_do_not_matter() -> None:
    inner = (
        Einsum("a c, b c -> a b")
        >> Scale("c")
        >> Block(Softmax("q"), "Soft", type="q -> q", local=True)
        >> Einsum("a b, b d -> a d")
    )
    term = Axes(y=5, x=7, k=3, z=2)(
        Id("y k, x k, x z") >> Block(inner, "Attention", type="a c, b c, b d -> a d", local=True)
    )
    module = compile(term)
    assert steps(module) == 1
    q, k, v = torch.randn(5, 3), torch.randn(7, 3), torch.randn(7, 2)
    expected = F.scaled_dot_product_attention(q[None], k[None], v[None])[0]
    torch.testing.assert_close(module(q, k, v), expected)


def test_two_attentions_are_two_steps() -> None:
    module = compile(FUSED["one head"] @ FUSED["one head"])
    assert steps(module) == 2
    inputs = inputs_of(module.term, (), torch.float32)
    for a, b in zip(module(*inputs), trace(module, *inputs).outputs, strict=True):
        torch.testing.assert_close(a, b)
