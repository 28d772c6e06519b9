"""Functions of torch that modules write out are read as these functions, and nothing else is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd import Imported, from_torch
from ncd.language.blocks import Block

SHAPE = (3, 5, 8)
ROW = torch.linspace(-1, 1, 8)


class Written(nn.Module):
    """A module with a factor ``w`` and a sum ``b``, and a function that uses them or not."""

    def __init__(
        self, function: Callable[..., Tensor], w: Tensor | None = ROW, b: Tensor | None = ROW
    ) -> None:
        super().__init__()
        self.function = function
        self.w = None if w is None else nn.Parameter(w.clone())
        self.b = None if b is None else nn.Parameter(b.clone() / 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x, *(row for row in (self.w, self.b) if row is not None))


def mean(x: Tensor) -> Tensor:
    return x.mean(-1, keepdim=True)


def textbook(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    variance = x.var(dim=-1, keepdim=True, unbiased=False)
    return w * (x - mean(x)) / torch.sqrt(variance + 1e-5) + b


def by_squares(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    centred = x - mean(x)
    return b + centred * torch.rsqrt(mean(centred * centred) + 1e-6) * w


def of_channels(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    x = x.transpose(1, 2)[..., None]
    u = x.mean(1, keepdim=True)
    s = (x - u).pow(2).mean(1, keepdim=True)
    x = (x - u) / torch.sqrt(s + 1e-6)
    return w[:, None, None] * x + b[:, None, None]


def root_mean_square(x: Tensor, w: Tensor) -> Tensor:
    norm = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
    return norm.type_as(x) * w


def gemma(x: Tensor, w: Tensor) -> Tensor:
    return x / (mean(x**2) + 1e-6).sqrt() * (1 + w)


def softmax(x: Tensor) -> Tensor:
    e = torch.exp(x - x.max(dim=-1, keepdim=True).values)
    return e / e.sum(dim=-1, keepdim=True)


def from_the_largest_of_all(x: Tensor) -> Tensor:
    e = torch.exp(x - torch.max(x))
    return e / torch.sum(e, 1).unsqueeze(1)


def tanh_gelu(x: Tensor) -> Tensor:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * torch.pow(x, 3))))


def nested_tanh_gelu(x: Tensor) -> Tensor:
    return x / 2 * (1 + torch.tanh(0.7978845608 * x * (1 + 0.044715 * x * x)))


NONE: tuple[None, None] = (None, None)
SPELLINGS: dict[str, tuple[Written, list[str]]] = {
    "layer norm": (Written(textbook), ["LayerNorm"]),
    "layer norm of squares": (Written(by_squares), ["LayerNorm"]),
    "layer norm of channels": (Written(of_channels), ["LayerNorm", "Map"]),
    "layer norm without a sum": (
        Written(lambda x, w: textbook(x, w, torch.zeros(8)), b=None),
        ["LayerNorm"],
    ),
    "layer norm that learns nothing": (
        Written(lambda x: (x - mean(x)) / (x.var(-1, False, keepdim=True) + 1e-5) ** 0.5, *NONE),
        ["LayerNorm"],
    ),
    "rms norm": (Written(root_mean_square, b=None), ["RMSNorm"]),
    "rms norm with a factor of one more": (
        Written(gemma, b=None),
        ["Elementwise", "Map", "Param", "Reduce"],
    ),
    "silu": (Written(lambda x: x * torch.sigmoid(x), *NONE), ["Elementwise"]),
    "silu as a quotient": (Written(lambda x: x / (1 + torch.exp(-x)), *NONE), ["Elementwise"]),
    "sigmoid": (Written(lambda x: 1 / (1 + (-x).exp()), *NONE), ["Elementwise"]),
    "gated silu": (
        Written(lambda x, w: x.sigmoid() * x * w, b=None),
        ["Elementwise", "Map", "Param"],
    ),
    "gelu": (
        Written(lambda x: x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0))), *NONE),
        ["Elementwise"],
    ),
    "gelu by tanh": (Written(tanh_gelu, *NONE), ["Map"]),
    "gelu by tanh, nested": (Written(nested_tanh_gelu, *NONE), ["Map"]),
    "softmax": (Written(softmax, *NONE), ["Softmax"]),
    "softmax of plain powers": (
        Written(lambda x: x.exp() / x.exp().sum(0, keepdim=True), *NONE),
        ["Softmax"],
    ),
    "softmax from the largest of all": (Written(from_the_largest_of_all, *NONE), ["Softmax"]),
}


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield


def ops(found: Imported) -> list[str]:
    """Returns the classes of a term's ops in order of the alphabet, without rearrangements."""
    cells = ncd.elaborate(found.term).cells
    names = {type(cell.op).__name__ for cell in cells}
    return sorted(names - {"Wire", "Einsum", "Id", "Given", "Rename"})


def check_values(module: Written, found: Imported) -> None:
    """Checks outputs and gradients against the module's own."""
    x = torch.randn(SHAPE, requires_grad=True)
    twin = x.detach().clone().requires_grad_()
    mine = found.module()
    ours, theirs = mine(twin), module(x)
    assert ours.shape == theirs.shape
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    weight = torch.randn(theirs.shape)
    (theirs * weight).sum().backward()
    (ours * weight).sum().backward()
    torch.testing.assert_close(twin.grad, x.grad, rtol=1e-3, atol=1e-5)
    rows = [row.grad for row in (module.w, module.b) if row is not None]
    given = [p.grad for p in mine.parameters()]
    assert len(rows) == len(given)
    for one, two in zip(given, rows, strict=True):
        torch.testing.assert_close(one.reshape(8), two, rtol=1e-3, atol=1e-4)
    module.zero_grad()


@pytest.mark.parametrize("name", SPELLINGS)
def test_what_is_written_out_is_read_as_its_function(name: str) -> None:
    module, expected = SPELLINGS[name]
    found = from_torch(module, torch.randn(SHAPE))
    assert not found.boxes and not found.notes
    assert ops(found) == expected
    check_values(module, found)


def unbiased(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return w * (x - mean(x)) / (x.std(-1, keepdim=True) + 1e-6) + b


def square_without_its_dimension(x: Tensor) -> Tensor:
    x = x[:, :3, :3]
    return (x - x.mean(-1)) / torch.sqrt(((x - x.mean(-1)) ** 2).mean(-1) + 1e-5)


OTHERS: dict[str, Written] = {
    "unbiased deviation": Written(unbiased),
    "unbiased variance": Written(
        lambda x: (x - mean(x)) / (x.var(-1, keepdim=True) + 1e-5).sqrt(), *NONE
    ),
    "means along other rows": Written(square_without_its_dimension, *NONE),
    "two dimensions": Written(
        lambda x: (x - x.mean(1, True)) / (x.var(2, False, keepdim=True) + 1e-5).sqrt(), *NONE
    ),
    "sigmoid of more": Written(lambda x: x * torch.sigmoid(1.702 * x), *NONE),
    "another array's sigmoid": Written(lambda x: x * torch.sigmoid(x.flip(2)), *NONE),
    "another constant": Written(lambda x: x * 0.5 * (1 + torch.erf(x / 1.5)), *NONE),
    "powers of two arrays": Written(lambda x: x.exp() / (x + 1).exp().sum(-1, keepdim=True), *NONE),
    "a factor of each number": Written(
        lambda x, w: x * torch.rsqrt(mean(x * x) + 1e-6) * w.sigmoid(), b=None
    ),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_only_looks_like_it_stays_as_it_is_written(name: str) -> None:
    module = OTHERS[name]
    found = from_torch(module, torch.randn(SHAPE))
    assert not {*ops(found)} & {"LayerNorm", "Softmax"}
    assert "silu" not in repr(found.term) and "gelu" not in repr(found.term)
    assert not found.notes and found.difference < 1e-5
    check_values(module, found)


def test_a_product_by_letters_is_scaled_by_the_size_over_which_it_sums() -> None:
    def attention(x: Tensor) -> Tensor:
        scores = torch.einsum("b i d, b j d -> b i j", x, x) * 8**-0.5
        return torch.einsum("b i j, b j d -> b i d", scores.softmax(-1), x)

    found = from_torch(Written(attention, *NONE), torch.randn(SHAPE))
    assert ops(found) == ["Scale", "Softmax"] and found.difference < 1e-6


def test_what_changes_in_place_is_no_idiom() -> None:
    def changed(x: Tensor) -> Tensor:
        y = x + 1
        gate = torch.sigmoid(y)
        y += 1
        return y * gate

    found = from_torch(Written(changed, *NONE), torch.randn(SHAPE))
    assert "silu" not in repr(found.term) and found.difference < 1e-6


def squared(x: Tensor) -> Tensor:
    x = torch.sigmoid(x)
    for _ in range(30):
        x = x * x  # each is an input of the next one twice
    return x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.exp() / 0,
        lambda x: x.exp() * (x * 0).rsqrt(),
        lambda x: x.exp() * (x * 0 - 1).sqrt(),
        lambda x: (x.exp() * 1e200) ** 2 * x,
        squared,
    ],
    ids=["divided by 0", "root of 0", "root of less than 0", "too large", "squared often"],
)
def test_odd_numbers_and_long_products_are_read_as_they_are(
    function: Callable[[Tensor], Tensor],
) -> None:
    found = from_torch(Written(function, *NONE), torch.randn(SHAPE))
    x = torch.randn(SHAPE)
    torch.testing.assert_close(found.module()(x), function(x), equal_nan=True)


def test_a_module_that_is_one_norm_or_activation_has_no_block() -> None:
    module = nn.Sequential(
        Written(textbook), nn.Linear(8, 4), Written(lambda x: x * x.sigmoid(), *NONE)
    )
    found = from_torch(module, torch.randn(2, 8))
    assert not any(isinstance(fence, Block) for fence in ncd.elaborate(found.term).fences)
    assert found.state_dict().keys() == module.state_dict().keys()
    assert found.difference < 1e-5


def written_norm(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return (x - mean(x)) / (x.var(-1, keepdim=True, unbiased=False) + 1e-5).sqrt() * w


def written_silu(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
    return x * x.sigmoid()


@pytest.mark.parametrize("function", [written_norm, written_silu, textbook])
def test_a_call_in_parts_has_no_result_of_a_call_of_its_name(
    function: Callable[..., Tensor],
) -> None:
    """The parts of ``glu`` end with a ``mul``, as what is written out before it does."""
    module = Written(lambda x, w, b: nn.functional.glu(function(x, w, b).relu(), -1) + b[:4])
    found = from_torch(module, torch.randn(SHAPE))
    assert found.difference < 1e-5 and found.boxes == ()
