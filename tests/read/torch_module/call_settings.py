"""Calls of torch's functions with settings at their ends, and calls that have no op."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.read.torch_module.functions import WINDOWS, Function


def _stopped(x: Tensor) -> Tensor:
    with torch.no_grad():
        chosen = (x > 0).float() * torch.arange(8.0)
    return x * chosen


def _squared(x: Tensor) -> Tensor:
    return x.mT @ x


# Settings of them, at their ends; several that share no op in a line.
MORE: dict[str, Function] = {
    "whole activations": lambda x: (
        x.argmax(-1).sigmoid() + x.argmax(-1).relu() + (x[..., 0] > 0).tanh()
    ),
    "oblong mask": lambda x: x.masked_fill(torch.ones(4, 8).triu(1) > 0, -9).softmax(-1),
    "many numbers": lambda x: x.sum() + torch.linspace(0, 1, 5000).sin(),
    "its own pixels": lambda x: _squared(F.max_pool2d(x.reshape(2, 2, 4, 4), 2, 1).flatten(2)),
    "rows by columns": lambda x: x[:, 0, :, None] @ x[:, 1, None, :],
    "mask of truths": lambda x: F.scaled_dot_product_attention(
        x, x, x, attn_mask=(x @ x.mT > 0) | torch.eye(4, dtype=torch.bool)
    ),
    "sides of one row": lambda x: x[:, :3, :5].flatten(1) + x.flatten(1)[:, :15],
    "a row of sides": lambda x: x.flatten(1)[:, :15] * x[:, :3, :5].flatten(1),
    "a row of a picture": lambda x: (
        F.max_pool2d(x.reshape(WINDOWS), (2, 4), 1).flatten(1) - x.flatten(1)[:, 3:18]
    ),
    "a picture of a row": lambda x: (
        x.flatten(1)[:, 3:18] - F.max_pool2d(x.reshape(WINDOWS), (2, 4), 1).flatten(1)
    ),
    "heads of a row": lambda x: (
        x.reshape(2, 4, 2, 4).transpose(1, 2).flatten(1) - x.flatten(1)[:, list(range(31, -1, -1))]
    ),
    "softplus beta": lambda x: F.softplus(x, 1, 0.5) + F.softplus(x, 2),
    "softplus thr": lambda x: F.softplus(x, 1, 20) + F.softplus(x, 1, 30),
    "round": lambda x: x.round(decimals=1) + x.round(decimals=0),
    "clamp array, number": lambda x: x.clamp(min=x * 0 - 0.1, max=None) + x.clamp(max=x * 0 + 0.1),
    "clamp min number": lambda x: x.clamp(min=-0.5) + x.clamp(max=0.25) * 2,
    "div floor": lambda x: torch.div(x.argmax(-1), 2, rounding_mode="floor"),
    "div arr": lambda x: x.argmax(-1) // (x.argmax(-2)[:, :4] + 1),
    "int rem": lambda x: x.argmax(-1).fmod(3) + x.argmax(-1).remainder(2),
    "add alpha": lambda x: (
        torch.add(x, x, alpha=2)
        + torch.sub(x, 1, alpha=3)
        + torch.add(x, 0)
        - torch.sub(x, 2, alpha=0)
    ),
    "mul nums": lambda x: 2 * x + x * 1 + x / 1 + x / 4 - 3 / (x.abs() + 1) + 2**x + x**2,
    "rsub": lambda x: torch.rsub(x, 1) + torch.rsub(x, x * 2),
    "number constants": lambda x: (
        x + torch.tensor(2.0) + x * torch.tensor([3.0]) - x / torch.tensor([[[4.0]]])
    ),
    "compared": lambda x: (
        (x == 0).float()
        + (x != x.round()).float()
        + (x < 1).float()
        + (x <= torch.tensor(0.5)).float()
        + (x >= x * 2).float()
        + x
    ),
    "isnan": lambda x: (
        (x / (x > 0)).isinf().float()
        + x.isnan().float()
        + x.isfinite().float()
        + (x / (x > 0)).isposinf().float()
        + torch.isneginf(x / (x > 0)).float()
    ),
    "hypot": lambda x: torch.hypot(x, x + 1),
    "sum one": lambda x: x.sum().sum() + x.mean([]) + x.amax(),
    "sum dims": lambda x: x.sum((2, 0)) + x.sum((-1, 0)) + x.prod(1).mean(1).sum(),
    "var0": lambda x: (
        x.var((0, 2))
        + x.var((0, 1), unbiased=False)[:4]
        + x.std(unbiased=False)
        + x.std(1, correction=2).mean()
    ),
    "varmean": lambda x: (
        torch.cat(torch.var_mean(x, 1, keepdim=True)) + torch.cat(torch.std_mean(x, 1))[:, None]
    ),
    "cat dims": lambda x: torch.cat((x, x * 2, x[:, :1]), -2),
    "cat empty": lambda x: torch.cat((torch.empty(0), x[:, :1], x), 1),
    "gather rows": lambda x: x.gather(1, x.argmax(1, keepdim=True)),
    "gather neg": lambda x: x.gather(-1, x[:, :, :3].argsort(-1)),
    "outer rows": lambda x: x[:, [[0], [2]], [1, 3, 4]] + 1,
    "outer rows neg": lambda x: x[[[-1], [0]], [-1, 0, 2]] + 1,
    "outer 3": lambda x: x[
        torch.tensor([[[0]], [[1]]]), torch.tensor([[2], [0]]), torch.tensor([5, -1])
    ],
    "index 2d": lambda x: x[:, torch.tensor([[0, 3], [-1, 2]])] * 2,
    "index select": lambda x: x.index_select(-1, torch.tensor([3, 3, 0])) * 2,
    "unfold": lambda x: x.unfold(1, 2, 1) + 1,
    "unfold whole": lambda x: x.unfold(2, 8, 1) + 1,
    "bags sum": lambda x: F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), x[0], mode="sum"),
    "bags offs": lambda x: F.embedding_bag(
        torch.tensor([0, 2, 1, 1, 3, 0]), x[0], torch.tensor([0, 3]), mode="mean"
    ),
    "max two": lambda x: torch.max(x, x * 2) + torch.min(x, -x) + x.max() - x.min(),
    "max place": lambda x: x.round().max(1).indices + x.round().min(1).indices,
    "max keep": lambda x: x.max(1, keepdim=True).values + x.min(-1, True).values,
    "argmax keep": lambda x: x.argmax(1, keepdim=True) + x.argmin(0, keepdim=True),
    "median": lambda x: x.median(1).values + x.median(1, keepdim=True).values[:, 0],
    "medianodd": lambda x: x[:, :3].median(1).values + x[:, :3, :3].median(),
    "sort": lambda x: x.sort(0).values + x.sort(-1, True).values,
    "sort stable": lambda x: x.sort(stable=True).values,
    "argsort": lambda x: x.argsort(1),
    "argsort falling": lambda x: x.argsort(-1, descending=True),
    "flip": lambda x: x.flip(0, 1, 2) + x[:, :1].flip(1),
    "roll": lambda x: x.roll(1, -1) + x.roll((2, -1), (0, 1)) + x.roll(8, 2),
    "pads": lambda x: F.pad(x, (0, 0, 1, 0)) + F.pad(x, (0, 0, 0, 1), value=2.0),
    "pad refl": lambda x: F.pad(x, (0, 1), "reflect") - F.pad(x, (1, 0), "replicate"),
    "cum": lambda x: x.cumsum(0) + x.cumprod(-1) + (x > 0).cumsum(-1) + x.sum().cumsum(0),
    "repeat": lambda x: x[:, :1].repeat(1, 4, 1) + x[:1].repeat(2, 1, 1) + x[0].repeat(2, 1, 1),
    "interleave": lambda x: x.repeat_interleave(3, -1) + 1,
    "expand": lambda x: (
        x[:1].expand(2, -1, -1)
        + x[:, :1].expand(2, 4, 8)
        + x[0].expand(2, 4, 8)
        + torch.ones(8).expand(4, 8)
    ),
    "masked": lambda x: (
        x.masked_fill(x > 0, torch.tensor(2.0)) + x.masked_fill(torch.tensor([False]), 3.0)
    ),
    "const filled": lambda x: (
        torch.ones(2, 4, 8).masked_fill(x > 0, -1e9).clamp(min=-5)
        + torch.zeros_like(x)
        + torch.ones_like(x)
        + torch.full_like(x, 2.5)
        + x
    ),
    "where nums": lambda x: (
        torch.where(x > 0, 1.0, -2.0)
        + torch.where(x > 0, x, 3.0)
        + torch.where(x > 0, 4.0, x)
        + torch.where(x > 0, x, x * 2)
    ),
    "where const": lambda x: (
        torch.where(torch.ones(8).cumsum(0) > 3, x, 0.5)
        + torch.where(torch.ones(8).cumsum(0) > 3, 0.5, x)
        + torch.where(torch.ones(8).cumsum(0) > 3, x, x * 2)
    ),
    "lower masks": lambda x: (
        (x[:, :, :4] + torch.full((4, 4), -torch.inf).triu(1)).softmax(-1)
        + (x[:, :, :4] + torch.full((4, 4), -3.0).triu(1)).softmax(-1)
    ),
    "lower fill": lambda x: (
        x[:, :, :4].masked_fill(torch.ones(4, 4).triu(1).bool(), -1e4).softmax(-1)
        + x[:, :, :4].masked_fill(torch.ones(4, 4).triu(1).bool(), -2.0).softmax(-1)
        + x[:, :, :4].masked_fill(torch.ones(4, 4).triu(0).bool(), -1e9)
    ),
    "mask zeros": lambda x: x + torch.zeros(8) + torch.zeros(4, 1) - torch.zeros(1),
    "mask larger": lambda x: x[0] + torch.zeros(3, 4, 8),
    "mask of batches": lambda x: (
        x[:, :, :4] + torch.stack([torch.full((4, 4), -1e9).triu(1), torch.zeros(4, 4)])
    ).softmax(-1),
    "softmax0": lambda x: x.softmax(0) + x.log_softmax(-2) + x[0, 0, 0].softmax(0),
    "matvec": lambda x: x[0] @ x[0, 0] + (x[0, :, 0] @ x[0]).sum() + x[0, 0] @ x[1, 0],
    "einsum": lambda x: (
        torch.einsum("btd,bsd->bts", x, x * 2)
        + torch.einsum("btd,btd->bt", x, x)[..., None]
        + torch.einsum("btd->db", x).sum()
    ),
    "baddbmm": lambda x: torch.baddbmm(x[:, :, :4], x, x.transpose(1, 2), beta=0.5, alpha=2),
    "addmm": lambda x: torch.addmm(x[0, :, :4], x[0], x[1].T),
    "complex": lambda x: torch.view_as_real(
        torch.view_as_complex(x.reshape(2, 4, 4, 2)) * torch.polar(torch.ones(4), torch.arange(4.0))
    ).flatten(2),
    "complex both": lambda x: torch.view_as_real(
        torch.view_as_complex(x.reshape(2, 4, 4, 2)) * torch.view_as_complex(x.reshape(2, 4, 4, 2))
    ),
    "adaptive": lambda x: (
        F.adaptive_avg_pool1d(x, 4)
        + F.adaptive_avg_pool1d(x, 8)[..., :4]
        + F.adaptive_max_pool1d(x, 4)
        + F.adaptive_max_pool1d(x, 8)[..., :4]
    ),
    "adaptive mixed": lambda x: (
        F.adaptive_avg_pool2d(x.reshape(WINDOWS), (4, 3))
        + F.adaptive_max_pool2d(x.reshape(WINDOWS), (4, 3))
    ),
    "slice write": lambda x: (
        x.slice_scatter(x[:, :2] * 2, 1, 1, 3) + x.select_scatter(x[:, 0] * 2, 1, -1)
    ),
    "chunks": lambda x: (
        sum(p.sum(-1) for p in x.split([1, 3, 4], -1)) + x.chunk(2, 1)[1].sum(1)[:, :4]
    ),
    "unbind": lambda x: x.unbind(1)[-1] + x.unbind(-1)[0].sum(),
    "group norm pic": lambda x: F.group_norm(x.reshape(2, 4, 2, 4), 2),
    "rms2": lambda x: F.rms_norm(x, (4, 8), x[0] + 1, 0.5),
    "ln2": lambda x: F.layer_norm(x, (4, 8), x[0] + 1, x[1], 0.5),
    "pool ceil": lambda x: (
        F.max_pool1d(x, 3, 2, ceil_mode=True) + F.avg_pool1d(x, 3, 2, ceil_mode=True)
    ),
    "conv const": lambda x: F.conv1d(x, torch.arange(12.0).reshape(1, 4, 3), padding="same"),
    "conv const2": lambda x: F.conv2d(
        x.reshape(WINDOWS),
        torch.arange(6.0).reshape(1, 1, 2, 3),
        stride=(1, 2),
        padding=(1, 0),
        dilation=(2, 1),
    ),
    "conv valid": lambda x: F.conv1d(x, torch.arange(12.0).reshape(1, 4, 3), padding="valid"),
    "scaled by roots": lambda x: (
        x * 8**-0.5 + x.sum(-1, keepdim=True) * 8**-0.5 + x[:, :, :1] * 1.0
    ),
    "scaled product": lambda x: (x @ x.transpose(1, 2)) * 8**-0.5,
    "hard tanh, leaky and scaled": lambda x: (
        F.hardtanh(x) + F.leaky_relu(x) + F.elu(x, 0.5) + torch.ops.aten.elu(x, 1, 2)
    ),
    "batches beside themselves": lambda x: (x @ x[0].T).sum() + x.unsqueeze(1) @ x.transpose(1, 2),
    "quotients below 0": lambda x: (
        torch.div(x.argmax(-1), -2, rounding_mode="trunc")
        + (x.argmax(-1) - 3) // 2
        + (x.argmax(-1) - 3) % 2
        + (x.argmax(-1) - 3).fmod(2)
    ),
    "no gradient": lambda x: _stopped(x),
    "one more example": lambda x: torch.cat((x[:1], x[0].unsqueeze(0)), 1),
    "one number at all places": lambda x: (
        torch.full((2, 4, 8), 3.0).gather(2, x.argmax(-1, keepdim=True)) + x
    ),
    "numbers at places": lambda x: (
        torch.arange(64.0).reshape(2, 4, 8).gather(2, x.argmax(-1, keepdim=True)) + x
    ),
    "computed scales": lambda x: (
        F.layer_norm(x, (8,), x[0, 0], x[0, 1])
        + F.rms_norm(x, (8,), x[0, 0])
        + F.group_norm(x, 2, x[0, :, 0], x[1, :, 0])
    ),
    "scale or shift": lambda x: (
        F.layer_norm(x, (8,), x[0, 0])
        + F.layer_norm(x, (8,), None, x[0, 0])
        + F.group_norm(x, 2, x[0, :, 0])
    ),
    "absolute distances": lambda x: torch.cdist(x, x + 1, p=1),
    "distances of another norm": lambda x: torch.cdist(x, x + 1, p=3),
    "largest of all": lambda x: (
        F.adaptive_max_pool1d(x, 1) + x[:, :1].squeeze(1).amax() + x[:, 1:2].squeeze().sum()
    ),
}

# Calls that no op can do as torch does, and why.
REFUSED: dict[str, tuple[Function, str]] = {
    "alpha_dropout": (
        lambda x: F.alpha_dropout(x, training=True),
        "numbers that are drawn at random",
    ),
    "rrelu": (lambda x: F.rrelu(x, training=True), "slopes that are drawn at random"),
    "fmod": (
        lambda x: x.fmod(torch.inf) + x.fmod(-torch.inf),
        "a rounded quotient of real numbers",
    ),
    "bitwise_and": (lambda x: x.argmax(-1) & 3, "bitwise_and has no op of its own"),
    "var": (lambda x: x[:, :2].var(1, correction=2), "a variance of too few numbers"),
    "topk": (lambda x: x.topk(2, largest=False).values, "the smallest numbers"),
    "index": (lambda x: x[[0, 1], [1, 2]], "positions that several dimensions share"),
    "index of dimensions apart": (lambda x: x[[0], :, [1]], "positions along several dimensions"),
    "gather": (
        lambda x: x.gather(2, torch.tensor([[[1]], [[2]]])),
        "a lookup in a part of the rows",
    ),
    "pad": (
        lambda x: F.pad(x, (1, 1), value=-torch.inf),
        "a padding that is not with one finite number",
    ),
    "argmax": (lambda x: torch.argmax(x, None, True), "a place in all dimensions"),
    "sort": (
        lambda x: x.sort(stable=True).indices,
        "an order that keeps equal numbers as they are",
    ),
    "adaptive_max_pool1d": (
        lambda x: F.adaptive_max_pool1d(x, 4, return_indices=True)[1],
        "the places of the largest numbers",
    ),
    "conv1d": (
        lambda x: F.conv1d(x, torch.ones(1, 4, 2), padding="same"),
        "an even kernel with the same size",
    ),
    "einsum": (
        lambda x: torch.einsum("bii->bi", x[:, :, :4]),
        "an einsum with dots, or with a letter twice",
    ),
    "cummax": (lambda x: x.cummax(-1).values, "cummax has no op of its own"),
    "div": (lambda x: torch.div(x, 2, rounding_mode="trunc"), "a rounded quotient of real numbers"),
    "atan2": (lambda x: torch.atan2(x, x.sum(-1, keepdim=True)), "atan2 has no op of its own"),
    "index_add": (
        lambda x: x.index_add(0, torch.tensor([0, 1]), x),
        "index_add has no op of its own",
    ),
    "avg_pool2d": (
        lambda x: F.avg_pool2d(x.reshape(WINDOWS), 3, 2, 1, True, divisor_override=4),
        "windows that are cut off, and divided by one number",
    ),
    "scatter": (
        lambda x: x.scatter(1, torch.zeros(2, 1, 8).long(), x[:, :1]),
        "scatter has no op of its own",
    ),
}

UNKNOWN = "a result that is no tensor of a known shape"

# Calls that cannot be made at all, since their results have no known shape.
FAILED: dict[str, tuple[Function, str]] = {
    "mask": (
        lambda x: x[:, torch.tensor([True, False, True, False])],
        f"aten.index.Tensor cannot be imported: {UNKNOWN}",
    ),
    "times": (
        lambda x: x.repeat_interleave(torch.tensor([1, 2]), 0),
        f"aten.repeat_interleave.self_Tensor cannot be imported: {UNKNOWN}",
    ),
    "bits": (
        lambda x: x.view(torch.int32),
        "aten.view.dtype cannot be imported: an argument torch.int32",
    ),
    "below 0": (
        lambda x: torch.atan2(x, torch.tensor([-1] * 8)),
        "aten.atan2.default cannot be imported: whole numbers below 0, or huge ones",
    ),
}
