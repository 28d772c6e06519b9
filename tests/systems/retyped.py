"""What the notebook's code, retyped, is held against a system with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from zlib import crc32

import torch
from torch import Tensor, nn

CLOSE = 1e-5  # of the largest number
Function = Callable[..., Tensor | tuple[Tensor, ...]]
Pairs = Sequence[tuple[Tensor, Tensor]]


def given(*shapes: Iterable[int], seed: int = 0) -> tuple[Tensor, ...]:
    """Random arrays of these shapes that want gradients."""
    random = torch.Generator().manual_seed(seed)
    return tuple(torch.randn(*shape, generator=random).requires_grad_() for shape in shapes)


def close(ours: Tensor, theirs: Tensor) -> None:
    assert ours.shape == theirs.shape
    most = max(1.0, float(theirs.detach().abs().max()))
    torch.testing.assert_close(ours, theirs, rtol=CLOSE, atol=CLOSE * most)


def same(
    ours: Function,
    theirs: Function,
    inputs: Sequence[Tensor],
    weights: Pairs = (),
    turned: Callable[[Tensor], Tensor] = lambda gradient: gradient,
) -> None:
    """Asserts the same outputs, and the same gradients of the inputs and of pairs of weights.

    ``turned`` lays out gradients of our weights as the other ones are.
    """
    one, two = _several(ours(*inputs)), _several(theirs(*inputs))
    for mine, its in zip(one, two, strict=True):
        close(mine, its)
    random = torch.Generator().manual_seed(1)
    upstream = [torch.randn(mine.shape, generator=random) for mine in one]
    mine, its = (
        torch.autograd.grad(outputs, [*inputs, *(pair[i] for pair in weights)], upstream)
        for i, outputs in enumerate((one, two))
    )
    for n, (a, b) in enumerate(zip(mine, its, strict=True)):
        close(a if n < len(inputs) else turned(a), b)


def _several(found: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return (found,) if isinstance(found, Tensor) else tuple(found)


def in_order(ours: Iterable[nn.Module], theirs: Iterable[nn.Module]) -> list[tuple[Tensor, Tensor]]:
    """Gives layers the weights of others, in order; the pairs of weights."""
    pairs = []
    for mine, its in zip(ours, theirs, strict=True):
        its.load_state_dict(mine.state_dict())
        pairs += zip(mine.parameters(), its.parameters(), strict=True)
    return pairs


def layers(module: nn.Module) -> list[nn.Module]:
    """What has numbers of its own, in the order in which it stands."""
    return [m for m in module.modules() if [*chain(m.parameters(False), m.buffers(False))]]


def matrix(letter: str, out: int, size: int, place: int = 0) -> Tensor:
    """The matrix by which a function of this letter takes its input number ``place``."""
    rows, columns = torch.arange(out)[:, None] + 1, 2 * torch.arange(size) + 3
    turn = (rows * columns * 31 + crc32(letter.encode()) % 97 + 7 * place) % 97
    return torch.cos(turn * (2 * torch.pi / 97))
