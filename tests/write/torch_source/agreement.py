"""Whether the source of a term and its module are the same: names, values and gradients."""

from __future__ import annotations

import subprocess
import sys

import torch
from torch import Tensor, nn

import ncd
from tests.support.properties import calm, close, outputs_of
from tests.support.written_source import written

# torch takes just one batch here, or none
OWN_BATCH = {"BatchNorm", "Conv", "ConvTranspose", "Fold", "GroupNorm", "MaxPool", "Opaque"}


def takes_any_batch(term: ncd.Term) -> bool:
    """Whether torch takes several batch axes in front, which it does not to pad with copies."""
    ops = [cell.op for cell in ncd.elaborate(term).cells]
    return all(
        type(op).__name__ not in OWN_BATCH
        and not (isinstance(op, ncd.Pad) and op.mode != "constant")
        for op in ops
    )


def agree(term: ncd.Term, batch: tuple[int, ...] = ()) -> None:
    """Weights go both ways by name, and then both give the same, forward and backward."""
    module = calm(ncd.compile(term, seed=1).double())
    inputs = tuple(_ready(x, batch) for x in ncd.example_inputs(term))
    for einops in (True, False):
        made = calm(written(term, einops=einops).double())
        assert set(made.state_dict()) == set(module.state_dict())
        made.load_state_dict(module.state_dict())
        ncd.compile(term).load_state_dict(made.state_dict())
        ours, theirs = outputs_of(made, inputs), outputs_of(module, inputs)
        assert [x.shape for x in ours] == [x.shape for x in theirs]
        close(ours, theirs, f"source, einops={einops}")
        close(_gradients(made, inputs, ours), _gradients(module, inputs, theirs), "gradients")


def _ready(x: Tensor, batch: tuple[int, ...]) -> Tensor:
    wide = x.expand((*batch, *x.shape)).clone()
    return wide.double().requires_grad_() if x.is_floating_point() else wide


def _gradients(
    module: nn.Module, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]
) -> list[Tensor]:
    """Of every weight, by its name, and of every real input; zeros where nothing depends on it."""
    weights = [weight for _, weight in sorted(module.named_parameters())]
    leaves = [*weights, *(x for x in inputs if x.requires_grad)]
    reached = [x for x in outputs if x.requires_grad]
    if not leaves or not reached:
        return []
    ways = (torch.linspace(1, 2, x.numel(), dtype=x.dtype).view_as(x) for x in reached)
    total = sum((x * way).sum() for x, way in zip(reached, ways, strict=True))
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    pairs = zip(found, leaves, strict=True)
    return [torch.zeros_like(x) if grad is None else grad for grad, x in pairs]


def reads_well(*texts: str) -> None:
    """Ruff would lay them out as they are, and has nothing to say about them."""
    for text in texts:
        shape = _ruff("format", "--diff", text=text)
        assert shape.returncode == 0, shape.stdout
        lint = _ruff("check", "--select", "E,F,I,W,UP,B", text=text)
        assert lint.returncode == 0, lint.stdout


def _ruff(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length", "100", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True)
