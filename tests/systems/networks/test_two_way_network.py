"""The network against plain torch: holding its weights, and given them."""

import pytest
import torch
import torch.nn.functional as F

import ncd

ENTRY = ncd.catalogue["module-or-function"]
SIZES = {"b": 5, "i": 3, "h": 7}


def test_the_module_is_the_notebook_s_simple_mlp():
    module = ncd.compile(ENTRY.build(**SIZES), seed=2)
    plain = torch.nn.Sequential(torch.nn.Linear(3, 7), torch.nn.ReLU(), torch.nn.Linear(7, 1))
    for theirs, ours in zip(plain.parameters(), module.parameters(), strict=True):
        theirs.data.copy_(ours)
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    assert torch.allclose(module(x), plain(x), atol=1e-6)
    module(x).square().sum().backward()
    plain(x).square().sum().backward()
    for theirs, ours in zip(plain.parameters(), module.parameters(), strict=True):
        assert torch.allclose(ours.grad, theirs.grad, atol=1e-5)


@pytest.mark.parametrize("sizes", [{}, SIZES, {"b": 1, "i": 1, "h": 1}])
def test_the_function_holds_nothing_and_says_the_same(sizes):
    module = ncd.compile(ENTRY.build(**sizes), seed=1)
    function = ncd.compile(ENTRY.build(**sizes, function=1))
    assert not [*function.parameters()]
    (x,) = ncd.example_inputs(module.term)
    w1, b1, w2, b2 = (w.detach().requires_grad_() for w in module.parameters())
    found = function(x, w1, b1, w2, b2)
    assert torch.allclose(found, module(x), atol=1e-6)
    plain = F.linear(F.relu(F.linear(x, w1, b1)), w2, b2)
    random = torch.randn(found.shape, generator=torch.Generator().manual_seed(0))
    ours, theirs = (
        torch.autograd.grad((y * random).sum(), (w1, b1, w2, b2)) for y in (found, plain)
    )
    assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(ours, theirs, strict=True))
