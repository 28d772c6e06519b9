"""What a system of the tests is: a term, and plain torch that says what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.func import functional_call

import ncd

Weights = Mapping[str, Tensor]  # of the compiled module: parameters and buffers, by name


@dataclass(frozen=True)
class System:
    """``build`` makes the term from sizes; ``reference`` computes the same in plain torch.

    The reference takes the module's weights by name, then the inputs, and the sizes by name; so
    the gradients of all weights go through it too, however torch's own layer lays them out.
    ``sizes`` are three odd choices.
    """

    name: str
    build: Callable[..., ncd.Term]
    reference: Callable[..., Tensor | tuple[Tensor, ...]]
    sizes: tuple[dict[str, int], ...]

    def inputs(self, term: ncd.Term, seed: int = 0) -> tuple[Tensor, ...]:
        """Its example inputs; a mask hides some positions, never the first."""
        arrays = ncd.example_inputs(term, seed)
        for array, x in zip(term.dom, arrays, strict=True):
            if array.below and array.below.name == "two":
                x[..., 0] = 0
        return arrays


def run(layer: nn.Module, weights: Weights, *inputs: Tensor, **options: object) -> Tensor:
    """A torch layer with these weights in place of its own; raises if a name is not its own."""
    names = {name for name, _ in (*layer.named_parameters(), *layer.named_buffers())}
    assert set(weights) == names, (set(weights) ^ names, "not the weights of the layer")
    return functional_call(layer, dict(weights), inputs, options, strict=False)


def under(weights: Weights, scope: str) -> dict[str, Tensor]:
    """The weights of a submodule, by their names in it."""
    start = f"{scope}."
    return {name.removeprefix(start): w for name, w in weights.items() if name.startswith(start)}


def merged(weights: Weights, *names: str) -> dict[str, Tensor]:
    """The names of ``nn.MultiheadAttention`` for the weights of our q, k, v and out."""
    q, k, v, out = names or ("q", "k", "v", "out")
    found = {
        "in_proj_weight": torch.cat([weights[f"{name}.weight"] for name in (q, k, v)]),
        "in_proj_bias": torch.cat([weights[f"{name}.bias"] for name in (q, k, v)]),
        "out_proj.weight": weights[f"{out}.weight"],
        "out_proj.bias": weights[f"{out}.bias"],
    }
    return found


def as_torch(weights: Weights, *attentions: str) -> dict[str, Tensor]:
    """The weights of a transformer, its attentions as ``nn.MultiheadAttention`` names them."""
    found = {name: w for name, w in weights.items() if not any(f"{a}." in name for a in attentions)}
    scopes = {name.rpartition(".")[0].rpartition(".")[0] for name in weights if name not in found}
    for scope in scopes:
        own = merged(under(weights, scope))
        found |= {f"{scope}.{name}": w for name, w in own.items()}
    return found
