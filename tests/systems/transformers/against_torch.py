"""A system of the catalogue beside plain torch: outputs and all gradients."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

import ncd

Reference = Callable[..., Tensor]  # from the module, its sizes and its inputs to the output


def equals_torch(entry: ncd.Entry, sizes: dict[str, int], reference: Reference) -> None:
    """Compares the term with a reference on the module's own weights, in 64 bits."""
    term = entry.build(**sizes)
    module: nn.Module = ncd.compile(term, seed=1).double()
    arrays = [x.double().requires_grad_() for x in ncd.example_inputs(term, seed=2)]
    wanted = [*arrays, *module.parameters()]
    ours = module(*arrays)
    theirs = reference(module, entry.settings(sizes), *arrays)
    torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-9)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(0)).double()
    pairs = zip(
        torch.autograd.grad(ours, wanted, upstream),
        torch.autograd.grad(theirs, wanted, upstream),
        strict=True,
    )
    for one, two in pairs:
        torch.testing.assert_close(one, two, rtol=1e-6, atol=1e-8)
