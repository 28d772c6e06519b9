"""Functions and layers of torch whose imports are compared with torch, by their names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.read.torch_module.test_kinds import drawn

Function = Callable[[Tensor], Any]
WINDOWS = (2, 1, 4, 8)  # the shape in which the functions of pictures take their input
HALVES = torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.2, -0.2])

# Of an input of 2 × 4 × 8: each has ops of its own, or a decomposition into some.
FUNCTIONS: dict[str, Function] = {
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 9),
    "adaptive mean": lambda x: F.adaptive_avg_pool2d(x.reshape(WINDOWS), (3, 5)),
    "adaptive maximum": lambda x: F.adaptive_max_pool2d(x.reshape(WINDOWS), (3, 5)),
    "adaptive maximum of one": lambda x: F.adaptive_max_pool1d(x, 2),
    "area": lambda x: F.interpolate(x.reshape(WINDOWS), size=(3, 5), mode="area"),
    "argmax": lambda x: x.round().argmax(-1),
    "argmin of all": lambda x: x.round().argmin(),
    "bags": lambda x: F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), x[0], mode="max"),
    "bilinear": lambda x: F.bilinear(x, x, torch.arange(192.0).reshape(3, 8, 8) / 99),
    "binary cross-entropy": lambda x: F.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "binary logits": lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid()),
    "celu": lambda x: F.celu(x, 0.5),
    "channel shuffle": lambda x: F.channel_shuffle(x.reshape(2, 4, 2, 4), 2),
    "clamp by arrays": lambda x: x.clamp(min=x * 0, max=x * 0 + 0.3),
    "cosine": lambda x: F.cosine_similarity(x, x + 1),
    "cross-entropy": lambda x: F.cross_entropy(x[:, 0], torch.tensor([0, 1]), label_smoothing=0.1),
    "deviation": lambda x: x.std((0, 2)),
    "diagonals": lambda x: torch.diag_embed(x),
    "differences": lambda x: x.diff(dim=1),
    "distances": lambda x: torch.cdist(x, x + 1),
    "error": lambda x: x.erfc() + x.exp2() + x.sinh() - x.cosh(),
    "even": lambda x: (x * 0 + HALVES).round() + x.trunc() + x.frac(),
    "flip": lambda x: x.flip(-1, 1),
    "fold": lambda x: F.fold(x[:, :, :2].repeat(1, 1, 3), (4, 7), 2, stride=2),
    "fold with gaps": lambda x: F.fold(x[:, :, :1], (3, 4), 2, dilation=(2, 3)),
    "glu": lambda x: F.glu(x, 1),
    "huber": lambda x: F.huber_loss(x, x * 2, delta=0.3),
    "infinite": lambda x: (x / (x > 0)).nan_to_num(1, 2, 3),
    "instance norm": lambda x: F.instance_norm(x),
    "kernel of numbers": lambda x: F.conv1d(
        x, torch.arange(24.0).reshape(6, 2, 2), x[0, 0, :6], 2, 1, 2, 2
    ),
    "kullback-leibler": lambda x: F.kl_div(x.log_softmax(-1), x.softmax(-1), log_target=False),
    "largest": lambda x: torch.cat([each.float() for each in x.round().max(1)]),
    "lengths": lambda x: F.normalize(x, dim=1) + torch.linalg.vector_norm(x, 3),
    "linear": lambda x: F.interpolate(x, 5, mode="linear"),
    "local response": lambda x: F.local_response_norm(x, 3),
    "logit": lambda x: x.sigmoid().logit(),
    "losses": lambda x: F.mse_loss(x, x * 2) + F.smooth_l1_loss(x, x * 2) + F.l1_loss(x, -x),
    "lp pool": lambda x: F.lp_pool2d(x.reshape(WINDOWS).abs(), 2, 2),
    "median": lambda x: x.median(-1).values + x.median(),
    "nearest": lambda x: F.interpolate(x.reshape(WINDOWS), scale_factor=2),
    "nearest of others": lambda x: F.interpolate(x.reshape(WINDOWS), size=(6, 5)),
    "nearest exact": lambda x: F.interpolate(x, 11, mode="nearest-exact"),
    "norm of batches": lambda x: F.batch_norm(x, None, None, x[0, :, 0], x[1, :, 0], True),
    "numbers in order": lambda x: x.sort(-1, descending=True).values - x.sort(1).values,
    "of whole numbers": lambda x: x.argmax(-1) // 2 + x.argmax(-1) % 3,
    "outer": lambda x: torch.outer(x[0, 0], x[0, 1]) + torch.kron(x[0, :2, :2], x[0, :, :4]),
    "pairs": lambda x: F.pairwise_distance(x, x + 1),
    "pictures": lambda x: F.pixel_shuffle(x.reshape(2, 4, 2, 4), 2),
    "pictures back": lambda x: F.pixel_unshuffle(x.reshape(WINDOWS), 2),
    "pool with gaps": lambda x: F.max_pool2d(x.reshape(WINDOWS), 2, 2, 1, 2),
    "pool rounded up": lambda x: F.max_pool2d(x.reshape(WINDOWS), 3, 2, 1, ceil_mode=True),
    "mean rounded up": lambda x: F.avg_pool2d(x.reshape(WINDOWS), 3, 2, 1, True),
    "mean of what is there": lambda x: F.avg_pool2d(x.reshape(WINDOWS), 3, 2, 1, False, False),
    "mean by a number": lambda x: F.avg_pool2d(x.reshape(WINDOWS), 3, 2, 1, divisor_override=5),
    "reflection": lambda x: F.pad(x.reshape(WINDOWS), (2, 1, 1, 2), "reflect"),
    "replication": lambda x: F.pad(x, (1, 2), "replicate"),
    "circle": lambda x: F.pad(x, (3, -1), "circular"),
    "circle of whole numbers": lambda x: F.pad(x.argmax(-1), (1, 2), "circular"),
    "edge of a square": lambda x: F.pad(x @ x.transpose(1, 2), (1, 1, 1, 1), "reflect"),
    "edge of pictures": lambda x: F.pad(x.reshape(WINDOWS), (1, 2, 1, 2), "circular"),
    "mirrored, then cut": lambda x: F.pad(x[..., :3], (2, -1), "reflect"),
    "repeated, then cut": lambda x: F.pad(x[..., :2], (-2, 3, 1, -1), "replicate"),
    "root mean square": lambda x: F.rms_norm(x, (4, 8)),
    "selu": lambda x: F.selu(x) + F.softsign(x) + F.hardshrink(x) + F.softshrink(x),
    "softplus": lambda x: F.softplus(x, 2, 0.5) + F.threshold(x, 0.1, -1) + F.softmin(x, 1),
    "sums of exponentials": lambda x: x.logsumexp(1),
    "triangles": lambda x: x.tril(1) * 2 + torch.triu(x, -1),
    "transposed kernel of numbers": lambda x: F.conv_transpose1d(
        x, torch.arange(24.0).reshape(4, 3, 2), x[0, 0, :6], 2, 1, 1, 2, 3
    ),
    "turned": lambda x: x.rot90(1, (1, 2)),
    "upwards": lambda x: F.interpolate(x.reshape(WINDOWS), (7, 5), mode="bilinear"),
    "corners": lambda x: F.interpolate(
        x.reshape(WINDOWS), scale_factor=2, mode="bilinear", align_corners=True
    ),
    "by a factor": lambda x: F.interpolate(x, scale_factor=1.7, mode="linear"),
    "variance": lambda x: x.var(-1, correction=0, keepdim=True) + x.var(),
    "windows": lambda x: x.unfold(-1, 4, 3),
    "windows of pictures": lambda x: F.unfold(x.reshape(WINDOWS), 2, padding=1),
    "xlogy": lambda x: torch.xlogy(x.relu(), x.abs() + 1),
}


class _Ended(nn.Module):
    """A layer, and then a squeeze of one of its axes."""

    def __init__(self, layer: nn.Module, axis: int) -> None:
        super().__init__()
        self.layer, self.axis = layer, axis

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x).squeeze(self.axis)


class _Begun(nn.Module):
    """A recurrent layer whose first state is a part of its input."""

    def __init__(self, layer: nn.GRU) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, x[:1, :1, : self.layer.hidden_size])[0]


# Layers, each with its input; their parameters are drawn at random.
LAYERS: dict[str, tuple[Callable[[], nn.Module], tuple[Tensor, ...]]] = {
    "bags": (lambda: nn.EmbeddingBag(9, 4), (torch.tensor([[0, 8, 2], [3, 3, 1]]),)),
    "both ways": (
        lambda: nn.LSTM(8, 5, 2, batch_first=True, bidirectional=True),
        (drawn(2, 4, 8),),
    ),
    "both ways, one state": (
        lambda: nn.GRU(8, 5, bias=False, bidirectional=True),
        (drawn(4, 2, 8),),
    ),
    "lstm cell": (lambda: nn.LSTMCell(8, 5), (drawn(3, 8),)),
    "gru cell": (lambda: nn.GRUCell(8, 5), (drawn(3, 8),)),
    "plain cell": (lambda: nn.RNNCell(8, 5), (drawn(3, 8),)),
    "batch of one": (
        lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
        (drawn(1, 5, 8), drawn(1, 4, 8)),
    ),
    "prelu": (lambda: nn.PReLU(4), (drawn(2, 4, 3),)),
    "rrelu": (lambda: nn.RReLU(), (drawn(2, 4),)),
    "alpha dropout": (lambda: nn.AlphaDropout(), (drawn(2, 4),)),
    "instance norm": (lambda: nn.InstanceNorm2d(4, affine=True), (drawn(2, 4, 3, 5),)),
    "batch norm": (lambda: nn.BatchNorm1d(4, track_running_stats=False), (drawn(5, 4, 3),)),
    "norm without weights": (lambda: nn.RMSNorm(8, elementwise_affine=False), (drawn(2, 8),)),
    "longer": (
        lambda: nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1, groups=2),
        (drawn(2, 4, 3, 5),),
    ),
    "with gaps": (lambda: nn.ConvTranspose1d(4, 6, 3, dilation=2), (drawn(2, 4, 5),)),
    "computed kernel": (
        lambda: nn.utils.parametrizations.weight_norm(nn.Conv2d(4, 6, 3, 2, 1, groups=2)),
        (drawn(2, 4, 5, 7),),
    ),
    "padded in a circle": (
        lambda: nn.Conv2d(4, 6, 3, padding=1, padding_mode="circular"),
        (drawn(2, 4, 5, 7),),
    ),
    "picture of one channel": (
        lambda: nn.Sequential(nn.Unflatten(1, (1, 4)), nn.Conv2d(1, 3, 2)),
        (drawn(2, 4, 8),),
    ),
    "one feature": (
        lambda: nn.Sequential(nn.Unflatten(1, (4, 1)), nn.Linear(1, 3)),
        (drawn(2, 4),),
    ),
    "signal in groups": (
        lambda: nn.Sequential(nn.Conv1d(4, 6, 3), nn.GroupNorm(2, 6)),
        (drawn(2, 4, 8),),
    ),
    "one channel is left": (lambda: _Ended(nn.Conv1d(4, 1, 1), 1), (drawn(2, 4, 8),)),
    "one example is left": (lambda: _Ended(nn.Linear(8, 3), 0), (drawn(1, 4, 8),)),
    "first state from an input": (lambda: _Begun(nn.GRU(8, 5)), (drawn(4, 1, 8),)),
}
