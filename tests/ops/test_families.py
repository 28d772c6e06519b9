"""What the samples do not show of the ops: sizes both ways, how weights begin, what is refused."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.errors import NCDError
from ncd.language.axes import Type
from ncd.language.terms import Id, Term, Then
from ncd.ops import (
    Add,
    BatchNorm,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Cut,
    Einsum,
    Group,
    LayerNorm,
    Linear,
    MaxPool,
    Param,
    Rename,
    RMSNorm,
    Softmax,
    Split,
    Swap,
    Window,
)
from ncd.run.guard import compile as compiled

# --- sizes, both ways ----------------------------------------------------------------------------

SOLVED = [
    (Linear("m:4 -> d") >> Split("d -> h:2 k:3"), "m:4", "h:2 k:3"),
    (Group("y:3 k -> d:12"), "y:3 k:4", "d:12"),
    (Split("d -> h:4 k:3"), "d:12", "h:4 k:3"),
    (Split("d:12 -> h k:3"), "d:12", "h:4 k:3"),
    (Concat("a:3, b -> c:7"), "a:3, b:4", "c:7"),
    (Concat("a, b:2, a -> c:8"), "a:3, b:2, a:3", "c:8"),
    (Cut("d -> a:2, b:3"), "d:5", "a:2, b:3"),
    (Cut("d:9 -> a, a, a"), "d:9", "a:3, a:3, a:3"),
    (Conv("c:2 x -> d:3 y:8", kernel=3, padding=0), "c:2 x:10", "d:3 y:8"),
    (Conv("c:2 x -> d:3 y:8x9", kernel=4, padding=1), "c:2 x:9x10", "d:3 y:8x9"),
    (ConvTranspose("c:2 x -> d:3 y:8x6"), "c:2 x:4x3", "d:3 y:8x6"),
    (Window("x -> y:4 w", 3), "x:6", "y:4 w:3"),
    (Window("x:9x9 -> y w", 3, 2), "x:9x9", "y:4x4 w:3x3"),
    (MaxPool("x -> y:4", 3, 1), "x:6", "y:4"),
    (Rename("~y:3 -> x"), "~y:3", "~x:3"),
    (Rename("y m -> x:3x3 k:2"), "y:3x3 m:2", "x:3x3 k:2"),
]


@pytest.mark.parametrize(("term", "dom", "cod"), SOLVED, ids=lambda part: repr(part))
def test_sizes_follow_in_either_direction(term: Term, dom: str, cod: str) -> None:
    solved = ncd.elaborate(term).term
    assert (solved.dom.spec, solved.cod.spec) == (dom, cod)


def test_where_two_sizes_are_possible_none_is_guessed() -> None:
    strided = ncd.elaborate(Conv("c:2 x -> d:3 y:8", kernel=3, stride=2)).term
    assert strided.dom.spec == "c:2 x"


# --- refused, with the cure ----------------------------------------------------------------------

REFUSED = [
    (
        lambda: Id("d:12") >> Split("d -> h:5 k"),
        "Split (d -> h k): axis d has size 12, which h = 5 does not divide. "
        "Bound so far: d 12, h 5. Try d = 10.",
    ),
    (
        lambda: Id("x:5 y:3") >> Group("x y -> d:12"),
        "Group (x y -> d): axis d has size 12, but x·y = 15. "
        "Bound so far: x 5, y 3, d 12. Try d = 15.",
    ),
    (
        lambda: Id("x:2x2, x:2x2") >> Concat("x, x -> n"),
        "Concat (x, x -> n): axis x is a group of 2 dimensions, which cannot be concatenated. "
        'Bound so far: x 2×2, n 8. Try Group("x -> …") before it.',
    ),
    (
        lambda: Id("a:2#v:8, a:2") >> Concat("a, a -> d"),
        "Concat (a, a -> d): the arrays (a#v) and (a) differ. Bound so far: a 2, v 8, d 4. "
        "Try arrays that share all other axes, in this order.",
    ),
    (
        lambda: Id("d:7") >> Cut("d -> a, a"),
        "Cut (d -> a, a): axis d has size 7, but is a + a. Bound so far: d 7. Try d = 6.",
    ),
    (
        lambda: Concat("a b, a -> b"),
        'Concat: "a b, a -> b" is not of the form "c, d -> e". '
        'Try something like Concat("c, d -> e").',
    ),
    (
        lambda: Einsum("->"),
        'Einsum (-> ()): an einsum takes one array or more. Try "i -> i".',
    ),
    (
        lambda: Id("i:3#v:3") >> Einsum("i -> i"),
        "Einsum (i -> i): it takes real numbers, but the array that meets it, (i#v), holds whole "
        "numbers below v. Bound so far: i 3, v 3. "
        "Try Index to look the numbers up, or Map to make real ones of them.",
    ),
    (
        lambda: Linear("y#v -> k"),
        "Linear L (y#v -> k): (y#v) holds whole numbers below v, which is not what it works on. "
        'Try "y", or Map to make real ones.',
    ),
    (
        lambda: Split("d -> h k#v"),
        "Split (d -> h k#v): (h k#v) holds whole numbers below v, but nothing that it takes does. "
        'Try "h k".',
    ),
    (
        lambda: Id(" ".join(f"a{i}:1" for i in range(60))) >> Einsum("a0 -> a0"),
        "Einsum (a0 -> a0): an einsum has at most 52 dimensions, but these arrays have 60. "
        f"Bound so far: {', '.join(f'a{i} 1' for i in range(20))}, …. "
        "Try Group before it, to make one of several axes.",
    ),
    (
        lambda: Id("c:4 x:5") >> Conv("c x -> d:6 x", "conv", 3, groups=4),
        "Conv conv (c x -> d x): d = 6 channels are not 4 groups of one size. "
        "Bound so far: c 4, x 5, d 6. Try d = 8, or groups = 1.",
    ),
    (
        lambda: Conv("c x -> d x", "conv", 3, stride=10**30),
        "Conv: the stride is 1000000000000000000000000000000, but it is a whole number, "
        "at most 1,000,000. Try stride = 1000000.",
    ),
    (
        lambda: Id("c:2 x:2x2x2x2") >> Conv("c x -> d:2 x"),
        "Conv conv (c x -> d x): a window slides over 1 to 3 dimensions, but x has 4. "
        "Bound so far: c 2, x 2×2×2×2, d 2. Try places such as x:16x16.",
    ),
    (
        lambda: MaxPool("x -> y", 3, padding=2),
        "MaxPool: the padding is 2, more than half of a window of 3. Try padding = 1.",
    ),
    (
        lambda: ncd.elaborate(ConvTranspose("c:2 x -> d:3 y:7")),
        "ConvTranspose up (c x -> d y): axis y has size 7, which no transposed window gives. "
        "Bound so far: c 2, d 3, y 7. Try y = 6.",
    ),
    (
        lambda: ncd.elaborate(Id("b:1 c:3") >> BatchNorm("b c")),
        "BatchNorm norm (b c -> b c): it normalises over all but c, and that is one number. "
        "Bound so far: b 1, c 3. Try b = 2.",
    ),
    (
        lambda: Param("v#3", "w"),
        "Param w: the array (v#3) holds whole numbers below 3, which cannot be learned. "
        'Try Param("v", "w").',
    ),
    (
        lambda: Param("v", "w", "n_m * normal"),
        "Param w: the initial value n_m * normal speaks of n_m. Try one of v, normal, uniform.",
    ),
    (
        lambda: Id("y:3 x:3") >> Rename("y -> x"),
        "Rename (y -> x): axis x would appear twice in the result (x x). "
        "Bound so far: y 3, x 3. Try another name for the new axis x.",
    ),
    (
        lambda: Id("m:2 n:3, n:3 m:2") >> Add(),
        "Add ((), () -> ()): the arrays (m n) and (n m) differ. Bound so far: m 2, n 3. "
        "Try two arrays that share these axes in this order.",
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m.split(":")[0] for _, m in REFUSED])
def test_what_cannot_be_is_refused_when_it_is_made(make, message: str) -> None:
    with pytest.raises(NCDError) as error:
        make()
    assert str(error.value) == message


# --- what torch does, on any axes ----------------------------------------------------------------


def output(term: Term, *inputs: Tensor) -> Tensor:
    return compiled(term)(*inputs)


def test_two_equal_arrays_swap() -> None:
    a, b = torch.arange(6.0).view(2, 3)
    assert torch.equal(torch.stack(output(Swap("m:3", "m:3"), a, b)), torch.stack((b, a)))


def test_a_reshape_hands_whole_numbers_on() -> None:
    term = Id("y:6#v:8") >> Split("y -> a:2 b") >> Copy("a b") >> Concat("a, a -> d")
    ids = torch.arange(6)
    assert term.cod.spec == "d:4 b:3#v:8"
    assert torch.equal(output(term, ids), ids.view(2, 3).repeat(2, 1))


def test_a_rename_is_the_array_itself() -> None:
    x = torch.randn(2, 3)
    assert output(Id("b:2 y:3") >> Rename("y -> x"), x).data_ptr() == x.data_ptr()


def test_an_array_of_many_dimensions_can_be_grouped_and_normalised() -> None:
    names = [f"a{i}" for i in range(10)]
    array = " ".join(f"{name}:2" for name in names)
    x = torch.randn(*(2,) * 10)
    merged = output(Id(array) >> Group(f"{' '.join(names[1:9])} -> d"), x)
    assert torch.equal(merged, x.reshape(2, 256, 2))
    torch.testing.assert_close(
        output(Id(array) >> BatchNorm("a0 a1"), x),
        F.batch_norm(x.flatten(2), None, None, training=True).view_as(x),
    )


def test_a_window_and_a_map_are_a_convolution_with_dilation_and_padding() -> None:
    setting = {"kernel": 3, "stride": 2, "padding": 1, "dilation": 2}
    whole = Id("b:2 c:3 x:9x8") >> Conv("c x -> d:4 y", **setting)
    spelled = (
        Id("b:2 c:3 x:9x8") >> Window("x -> y w", **setting) >> Linear("c w -> d:4", bias=True)
    )
    conv, linear = compiled(whole), compiled(spelled)
    with torch.no_grad():
        linear.L.weight.copy_(conv.conv.weight.flatten(1))
        linear.L.bias.copy_(conv.conv.bias)
    (x,) = ncd.example_inputs(whole)
    torch.testing.assert_close(conv(x), F.conv2d(x, *conv.parameters(), **_torch(setting)))
    torch.testing.assert_close(linear(x), conv(x))


def _torch(setting: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in setting.items() if name != "kernel"}


ALIKE = ["b:1 c:3 x:4x5", "b:2 c:3 x:1x5", "b:5 c:3 x:1x1", "b:1 c:3 x:2x3x2", "b:2 c:1 x:3x2"]


@pytest.mark.parametrize("array", ALIKE)
def test_batch_norm_has_the_right_gradient_however_it_arrives(array: str) -> None:
    """On the CPU torch itself takes one memory layout for another where a size is 1."""
    module = compiled(Id(array) >> BatchNorm("b c"))
    shape, random = Type.parse(array)[0].shape, torch.Generator().manual_seed(0)
    for order in itertools.permutations(range(len(shape))):
        x = torch.randn(shape, generator=random, requires_grad=True)
        back = [order.index(i) for i in range(len(shape))]
        gradient = torch.randn([shape[i] for i in order], generator=random).permute(back)
        (found,) = torch.autograd.grad(module(x), x, gradient)
        dims = [i for i in range(len(shape)) if i != 1]
        y = x.double()
        mean = y.mean(dims, keepdim=True)
        var = y.var(dims, keepdim=True, correction=0)
        (wanted,) = torch.autograd.grad((y - mean) / (var + 1e-5).sqrt(), x, gradient.double())
        torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


def test_a_batch_norm_in_eval_uses_what_it_has_seen() -> None:
    module = compiled(Id("b:4 c:3 x:2x2") >> BatchNorm("b c"))
    theirs = nn.BatchNorm2d(3)
    for seed in range(3):
        (x,) = ncd.example_inputs(module.term, seed)
        torch.testing.assert_close(module(x), theirs(x))
    module.eval(), theirs.eval()
    torch.testing.assert_close(module(x), theirs(x))
    assert module.norm.num_batches_tracked == 3


# --- how weights begin ---------------------------------------------------------------------------

LAYERS = [
    (Linear("m n -> k:40 h:2", bias=True), "m:30 n:2", nn.Linear(60, 80)),
    (Conv("c x -> d:40 y", kernel=3), "c:20 x:8x8", nn.Conv2d(20, 40, 3)),
    (Conv("c x -> d:40 y", kernel=3, groups=2), "c:20 x:8x8", nn.Conv2d(20, 40, 3, groups=2)),
    (ConvTranspose("c x -> d:40 y"), "c:20 x:8x8", nn.ConvTranspose2d(20, 40, 2)),
]


@pytest.mark.parametrize(("op", "array", "theirs"), LAYERS, ids=lambda part: repr(part))
def test_weights_begin_as_those_of_torch(op: Term, array: str, theirs: nn.Module) -> None:
    module = compiled(Id(array) >> op)
    for mine, its in zip(module.parameters(), theirs.parameters(), strict=True):
        assert mine.shape == its.shape
        bound = 1 / math.sqrt(nn.init._calculate_fan_in_and_fan_out(theirs.weight)[0])
        assert 0.9 * bound < mine.abs().max() <= bound
        if mine.numel() > 1000:
            assert mine.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.05)


@pytest.mark.parametrize("op", [BatchNorm("b c"), LayerNorm("c"), RMSNorm("c")])
def test_norms_begin_as_the_identity(op: Term) -> None:
    state = compiled(Id("b:2 c:3") >> op).state_dict()
    theirs = {**nn.BatchNorm1d(3).state_dict()}
    assert state
    for name, value in state.items():
        assert torch.equal(value, theirs[name.removeprefix("norm.")])


def test_a_formula_says_how_weights_begin() -> None:
    line = compiled(Id("m:4") >> Linear("m -> m", init="where(m == m_in, 2, 0)"))
    assert torch.equal(line.L.weight, 2 * torch.eye(4))
    flat = compiled(Id("m:2 n:3") >> Linear("m n -> k:5", init="k * n_n + n"))
    wanted = (torch.arange(5.0)[:, None, None] * 3 + torch.arange(3.0)).expand(5, 2, 3)
    assert torch.equal(flat.L.weight, wanted.reshape(5, 6))
    param = compiled(Then(Param("y:2 x:2x2", "w", init="x / n_x + y")))
    assert torch.equal(param.w, (torch.arange(4) / 4 + torch.arange(2)[:, None]).view(2, 2, 2))


def test_a_parameter_is_normal_unless_it_is_told_otherwise() -> None:
    weight = compiled(Then(Param("v:100 m:100", "wte"))).wte
    assert isinstance(weight, nn.Parameter)
    assert weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert weight.mean().abs().item() < 0.001


# --- floating-point operations -------------------------------------------------------------------

PRODUCTS = [
    ("i:2 j:3, j:3, k:4 i:2", "i j, j, k i -> k"),
    ("a:3 k:4, b:5 k:4, a:3 b:5", "a k, b k, a b -> k"),
    ("a:3 k:4, b:5 k:4", "a k, b k ->"),
    ("a:2 b:3 z:7, b:3 c:4, c:4 d:5 z:7", "a b z, b c, c d z -> a d z"),
    ("a:2 q:3, b:3", "a q, b -> b"),
    ("a:2 b:3", "a b -> b"),
]


@pytest.mark.parametrize(("arrays", "pattern"), PRODUCTS)
def test_an_einsum_costs_what_torch_counts(arrays: str, pattern: str) -> None:
    term = Id(arrays) >> Einsum(pattern)
    module, inputs = compiled(term), ncd.example_inputs(term)
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    assert flops(term) == counter.get_total_flops()


def flops(term: Term) -> int:
    return sum(cell.op.flops(cell.site) for cell in ncd.elaborate(term).cells)


def test_a_sum_over_one_position_counts_like_any_other() -> None:
    pattern = "y k h, x k h -> y x h"
    for y, x, k, h in itertools.product((1, 3), repeat=4):
        term = Id(f"y:{y} k:{k} h:{h}, x:{x} k:{k} h:{h}") >> Einsum(pattern)
        assert flops(term) == 2 * y * x * k * h
    assert flops(Id("i:3, i:3") >> Einsum("i, i -> i")) == 0


def test_a_softmax_of_a_group_in_the_middle_sums_to_one() -> None:
    term = Id("b:2 x:3x4 m:5") >> Softmax("x")
    (x,) = ncd.example_inputs(term)
    torch.testing.assert_close(output(term, x).sum((1, 2)), torch.ones(2, 5))
