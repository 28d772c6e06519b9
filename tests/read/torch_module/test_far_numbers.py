"""Functions of numbers that are far apart, very small or huge: values and gradients as torch's."""

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
}


class Called(nn.Module):
    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_exact_far_from_one(name: str) -> None:
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
