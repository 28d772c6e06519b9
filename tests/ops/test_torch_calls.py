"""Functions of torch by their names: called once, and with batch axes in front."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

import ncd
from ncd import Opaque


class Called(TorchDispatchMode):
    """Counts the calls of each function."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


TOP = Opaque("y:3 m:4 -> y k:2, y k:2#m", "aten.topk", "a, 2, 1")


def test_a_call_with_several_results_runs_once() -> None:
    module, x = ncd.compile(TOP), torch.linspace(-1, 1, 12).sin().view(3, 4)
    with Called() as seen:
        best, places = module(x)
    assert seen.names.count("aten.topk.default") == 1
    wanted = x.topk(2, 1)
    assert torch.equal(best, wanted.values) and torch.equal(places, wanted.indices)


def test_a_call_takes_batch_axes_in_front() -> None:
    module, x = ncd.compile(TOP), torch.linspace(-3, 3, 120).sin().view(5, 2, 3, 4)
    wanted = x.topk(2, -1)
    for found, like in zip(module(x), (wanted.values, wanted.indices), strict=True):
        assert torch.equal(found, like)
    both = ncd.compile(Opaque("y:3 m:4, y:3 -> y m", "aten.mul", "a, b.unsqueeze(1)"))
    a, b = torch.ones(7, 3, 4), torch.arange(3.0)
    assert torch.equal(both(a, b), a * b[:, None])
