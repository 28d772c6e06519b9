"""Functions of numbers that are far apart, small, huge or at an edge: all as torch gives it."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ncd import from_torch

FAR = torch.tensor([[-300.0, 0.0, 300.0, 5.0], [200.0, -1e4, 3.0, 0.1], [1e-3, -1e-3, 90.0, -90.0]])
SMALL = torch.tensor([1e-9, -1e-9, 1e-20, -1e-5, 0.3, 4.0])
ENDS = torch.tensor([0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 6, -6, 4]).reshape(3, 4)
ZERO = torch.tensor([[0.0, 0, 0, 0], [1, 1, 0, -1], [2, 2, 2, 2]])  # a vector, differences
SHARES = torch.tensor([[0.0, 0, 1, 1], [1e-6, 0.5, 1 - 1e-6, 0.25]])
TARGETS = torch.tensor([[0.0, 1, 0, 1], [1, 0, 0.5, 0]])
BLIND = torch.ones(3, 3, dtype=torch.bool).tril(-1)  # the first row sees nothing
AT_ENDS: dict[str, Callable[[Tensor], Tensor]] = {
    **{f.__name__: f for f in (F.relu, F.relu6, F.hardtanh, F.hardsigmoid, F.hardswish)},
    **{f.__name__: f for f in (F.leaky_relu, F.elu, F.hardshrink, F.softshrink, torch.sinc)},
    **{f.__name__: f for f in (F.rrelu, torch.abs, torch.sign, torch.square, torch.prod)},
    "hardtanh from 0": lambda x: F.hardtanh(x, 0.0, 2.0),
    "falling below 0": lambda x: F.leaky_relu(x, -0.5),
    "prelu": lambda x: F.prelu(x, torch.tensor([0.25])),
    "threshold": lambda x: F.threshold(x, 1.0, -1.0),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp by arrays": lambda x: x.clamp(x * 0, x * 0 + 1),
    "larger of two": lambda x: torch.maximum(x, x * 0),
    "largest of equals": lambda x: (x * 0).amax(-1),
    "power of 0": lambda x: x**0 + 2**x,
    "xlogy": lambda x: torch.xlogy(x.relu().detach() * 0, x.relu() + 1),
    "products so far": lambda x: x.cumprod(-1),
    "hinge": lambda x: F.hinge_embedding_loss(x, torch.ones_like(x)),
    "huber": lambda x: F.huber_loss(x, x * 0) + F.smooth_l1_loss(x, x * 0) + F.l1_loss(x, x * 0),
}
AT_ZERO: dict[str, Callable[[Tensor], Tensor]] = {
    **{f"norm {p}": lambda x, p=p: torch.linalg.vector_norm(x, p, -1) for p in (0.5, 1, 2, 3)},
    **{f"normalize {p}": lambda x, p=p: F.normalize(x, p, -1) for p in (1.0, 2.0, 3.0)},
    "norm of all": lambda x: (x * 0).norm(),
    "norm of a matrix": lambda x: torch.linalg.matrix_norm(x * 0),
    "largest": lambda x: torch.linalg.vector_norm(x, float("inf"), -1),
    "cosine": lambda x: F.cosine_similarity(x, x + 0, -1),
    "pairs": lambda x: F.pairwise_distance(x, x + 0),
    "distances": lambda x: torch.cdist(x, x) + torch.cdist(x, x, p=1.0),
    "deviation": lambda x: x.std(-1),
    "attention of a row that sees nothing": lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=BLIND
    ),
    "attention with -inf": lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=torch.zeros(3, 3).masked_fill(~BLIND, -torch.inf)
    ),
}
PLACES, PARTS = torch.tensor([0, 1, 3]), torch.tensor([[0.1, 0.2, 0.3, 0.4]] * 3)
FUNCTIONS: dict[str, tuple[Callable[[Tensor], Tensor], Tensor]] = {
    "log softmax": (lambda x: F.log_softmax(x, -1), FAR),
    "log softmax of columns": (lambda x: x.log_softmax(0), FAR),
    "log softmax, a layer": (nn.LogSoftmax(1), FAR),
    "log softmax of pictures": (lambda x: x.reshape(1, 3, 2, 2).log_softmax(1), FAR),
    "cross entropy": (lambda x: F.cross_entropy(x, PLACES), FAR),
    "cross entropy of parts": (lambda x: F.cross_entropy(x, PARTS, label_smoothing=0.1), FAR),
    "nll loss": (lambda x: F.nll_loss(F.log_softmax(x, 1), PLACES), FAR),
    "kullback-leibler": (lambda x: F.kl_div(x.log_softmax(1), PARTS, reduction="sum"), FAR),
    "logsigmoid": (F.logsigmoid, FAR),
    "logsumexp": (lambda x: torch.logsumexp(x, (0, 1)), FAR),
    "logaddexp": (lambda x: torch.logaddexp(x, x.flip(1)), FAR),
    "softplus": (lambda x: F.softplus(x, 2.0, 10.0), FAR),
    "binary cross entropy": (lambda x: F.binary_cross_entropy_with_logits(x, PARTS), FAR),
    "mish": (F.mish, FAR),
    "elu": (lambda x: F.elu(x, 2.0), FAR),
    "celu": (lambda x: F.celu(x, 0.5), FAR),
    "selu": (F.selu, FAR),
    "elu of small numbers": (lambda x: F.elu(x, 2.0), SMALL),
    "selu of small numbers": (F.selu, SMALL),
    "log1p": (torch.log1p, SMALL),
    "expm1": (torch.expm1, SMALL),
    "sinh": (torch.sinh, SMALL),
    **{f"{name} at its ends": (function, ENDS) for name, function in AT_ENDS.items()},
    **{f"{name} at 0": (function, ZERO) for name, function in AT_ZERO.items()},
    "binary cross entropy of 0 and 1": (
        lambda x: F.binary_cross_entropy(x, TARGETS, weight=TARGETS + 1, reduction="none"),
        SHARES,
    ),
    "mean binary cross entropy of 0 and 1": (lambda x: nn.BCELoss()(x, TARGETS), SHARES),
}


class Called(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_exact_far_from_one_and_at_its_edges(name: str) -> None:
    function, numbers = FUNCTIONS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = from_torch(Called(function), numbers)
    assert (found.boxes, found.notes) == ((), ())
    mine, theirs = (numbers.clone().requires_grad_() for _ in range(2))
    one, two = found.module()(mine), function(theirs)
    torch.testing.assert_close(one, two, rtol=1e-5, atol=0.0)
    weights = torch.linspace(-1, 2, two.numel()).reshape(two.shape)
    one.backward(weights), two.backward(weights)
    assert torch.isfinite(theirs.grad).all()  # type: ignore[arg-type]
    torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-4, atol=1e-6)
