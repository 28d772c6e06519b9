"""``nn.MultiheadAttention`` with biases and every mask."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

import ncd
from ncd import Axes, CausalMask, Einsum, Id, Linear, Map, Scale, Softmax, Term, Then, Wire, seq
from tests.systems.each_system.system import System, Weights, merged, run

# For each mask the array that it takes beside the scores, and the step.
MASKS = {
    "none": ("", ()),
    "causal": ("", (CausalMask("y x"),)),
    "key-padding": ("x#two", (Map("y x, x#two -> y x", "where($2 > 0, -inf, $1)"),)),
    "additive": ("y x", (Map("y x, y x -> y x", "$1 + $2"),)),
}


def multi_head(mask: str, y: int, x: int, h: int, k: int) -> Term:
    """Figure 21 with biases; a mask that is an array is the third input."""
    given, steps = MASKS[mask]
    also = f", {given}" if given else ""
    return Axes(y=seq(y), x=seq(x), m=h * k, h=h, k=k, two=2)(
        Wire(f"y m, x m{also} -> y m, x m{also}, x m")
        >> Linear("m -> h k", "q", True)
        @ Linear("m -> h k", "k", True)
        @ Id(given)
        @ Linear("m -> h k", "v", True)
        >> Einsum("y h k, x h k -> h y x", "scores")
        >> Scale("k")
        >> Then(*steps, Softmax("x"))
        >> Einsum("h y x, x h k -> y h k")
        >> Linear("h k -> m", "out", True)
    )


def reference(
    w: Weights, target: Tensor, source: Tensor, mask: Tensor | None = None, *, h: int, **sizes: int
) -> Tensor:
    layer = nn.MultiheadAttention(target.shape[-1], h, batch_first=True)
    options: dict[str, object] = {"need_weights": False}
    if mask is not None and mask.dim() == 1:
        options["key_padding_mask"] = mask.bool()
    elif mask is not None:
        options["attn_mask"] = mask
    return run(layer, merged(w), target, source, source, **options)[0]


def causal(w: Weights, target: Tensor, source: Tensor, **sizes: int) -> Tensor:
    hidden = torch.ones(len(target), len(source)).triu(1).bool()
    mask = torch.zeros(hidden.shape, dtype=target.dtype).masked_fill(hidden, -torch.inf)
    return reference(w, target, source, mask, **sizes)


def padded(w: Weights, target: Tensor, source: Tensor, *, h: int, pad: int, **sizes: int) -> Tensor:
    """Both masks as torch has them: True is left out."""
    layer = nn.MultiheadAttention(target.shape[-1], h, batch_first=True)
    masks = {
        "attn_mask": torch.ones(len(target), len(source)).triu(1).bool(),
        "key_padding_mask": torch.arange(len(source)) >= len(source) - pad,
    }
    return run(layer, merged(w), target, source, source, **masks)[0]


SIZES = (
    {"y": 5, "x": 7, "h": 3, "k": 5},
    {"y": 1, "x": 3, "h": 1, "k": 7},
    {"y": 9, "x": 5, "h": 5, "k": 1},
)

PADDED = tuple({**sizes, "pad": pad} for sizes, pad in zip(SIZES, (2, 1, 4), strict=True))

SYSTEMS = (
    *(
        System(
            f"multi-head attention, mask {mask}",
            lambda mask=mask, **sizes: multi_head(mask, **sizes),
            causal if mask == "causal" else reference,
            SIZES,
        )
        for mask in MASKS
    ),
    System(
        "torch-multihead-attention",
        partial(ncd.catalogue["torch-multihead-attention"].build, causal=1),
        padded,
        PADDED,
    ),
)
