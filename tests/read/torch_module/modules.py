"""Plain torch modules, as people write them, with inputs for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Case = tuple[nn.Module, tuple[Any, ...]]


class SelfAttention(nn.Module):
    """Causal self-attention with one map for queries, keys and values, as in nanoGPT."""

    def __init__(self, m: int, h: int, longest: int) -> None:
        super().__init__()
        self.c_attn, self.c_proj, self.h = nn.Linear(m, 3 * m), nn.Linear(m, m), h
        self.register_buffer("bias", torch.ones(longest, longest).tril()[None, None])

    def forward(self, x: Tensor) -> Tensor:
        b, t, m = x.size()
        q, k, v = (
            part.view(b, t, self.h, m // self.h).transpose(1, 2)
            for part in self.c_attn(x).split(m, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / k.size(-1) ** 0.5)
        scores = scores.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
        mixed = F.softmax(scores, dim=-1) @ v
        return self.c_proj(mixed.transpose(1, 2).contiguous().view(b, t, m))


class Layer(nn.Module):
    def __init__(self, m: int, h: int, longest: int) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(m), nn.LayerNorm(m)
        self.attn = SelfAttention(m, h, longest)
        self.mlp = nn.Sequential(nn.Linear(m, 4 * m), nn.GELU(), nn.Linear(4 * m, m))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class LanguageModel(nn.Module):
    """A small nanoGPT, whose output map is its table of embeddings."""

    def __init__(self, v: int = 50, m: int = 32, h: int = 4, longest: int = 16) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(v, m), nn.Embedding(longest, m)
        self.h = nn.ModuleList(Layer(m, h, longest) for _ in range(3))
        self.ln_f, self.lm_head = nn.LayerNorm(m), nn.Linear(m, v, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.wte(ids) + self.wpe(torch.arange(ids.shape[1]))
        for layer in self.h:
            x = layer(x)
        return self.lm_head(self.ln_f(x))


class BasicBlock(nn.Module):
    """The residual block of ResNet-18."""

    def __init__(self, c: int, d: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(c, d, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(d, d, 3, 1, 1, bias=False)
        self.bn1, self.bn2, self.relu = nn.BatchNorm2d(d), nn.BatchNorm2d(d), nn.ReLU(True)
        short = nn.Sequential(nn.Conv2d(c, d, 1, stride, bias=False), nn.BatchNorm2d(d))
        self.downsample = short if stride > 1 or c != d else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, c, 7, 2, 3, bias=False), nn.BatchNorm2d(c)
        self.maxpool, self.avgpool = nn.MaxPool2d(3, 2, 1), nn.AdaptiveAvgPool2d((1, 1))
        self.layer1 = nn.Sequential(BasicBlock(c, c, 1), BasicBlock(c, c, 1))
        self.layer2 = nn.Sequential(BasicBlock(c, 2 * c, 2), BasicBlock(2 * c, 2 * c, 1))
        self.fc = nn.Linear(2 * c, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.flatten(self.avgpool(self.layer2(self.layer1(x))), 1))


def _plain_norms() -> nn.Module:
    """Norms that learn nothing, after one batch whose statistics they keep."""
    batch, layer = nn.BatchNorm2d(4, affine=False), nn.LayerNorm(6, elementwise_affine=False)
    batch(_normal(8, 4, 5, 6) * 2 + 1)
    return nn.Sequential(batch, layer).eval()


def _twice(c: int, d: int) -> nn.Sequential:
    first, second = nn.Conv2d(c, d, 3, padding=1), nn.Conv2d(d, d, 3, padding=1)
    return nn.Sequential(first, nn.ReLU(), second, nn.ReLU())


class UNet(nn.Module):
    def __init__(self, c: int = 4) -> None:
        super().__init__()
        self.d1, self.d2, self.mid = _twice(1, c), _twice(c, 2 * c), _twice(2 * c, 4 * c)
        self.u2, self.u1 = (
            nn.ConvTranspose2d(4 * c, 2 * c, 2, 2),
            nn.ConvTranspose2d(2 * c, c, 2, 2),
        )
        self.e2, self.e1, self.out = _twice(4 * c, 2 * c), _twice(2 * c, c), nn.Conv2d(c, 2, 1)
        self.pool = nn.MaxPool2d(2)

    def forward(self, x: Tensor) -> Tensor:
        a = self.d1(x)
        b = self.d2(self.pool(a))
        y = self.e2(torch.cat([b, self.u2(self.mid(self.pool(b)))], 1))
        return self.out(self.e1(torch.cat([a, self.u1(y)], 1)))


class Attention(nn.Module):
    """Torch's own attention, with masks of several kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(
        self, q: Tensor, k: Tensor, mask: Tensor | None = None, padding: Tensor | None = None
    ) -> Tensor:
        found, _ = self.inner(q, k, k, attn_mask=mask, key_padding_mask=padding, need_weights=False)
        return found


class ConvNeXt(nn.Module):
    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.stem, self.depthwise = nn.Conv2d(3, c, 4, 4), nn.Conv2d(c, c, 7, padding=3, groups=c)
        self.norm, self.p1, self.p2 = nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.Linear(4 * c, c)
        self.gamma = nn.Parameter(torch.full((c,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        y = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        y = self.gamma * self.p2(F.gelu(self.p1(y)))
        return x + y.permute(0, 3, 1, 2)


class VisionTransformer(nn.Module):
    def __init__(self, m: int = 16) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, m, 8, 8)
        self.token = nn.Parameter(torch.randn(1, 1, m))
        self.places = nn.Parameter(torch.randn(1, 17, m))
        layer = nn.TransformerEncoderLayer(m, 4, 32, 0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(m, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.places
        return self.head(self.encoder(x)[:, 0])


class GraphAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W = nn.Linear(8, 12, bias=False)
        self.a, self.b = nn.Linear(12, 1, bias=False), nn.Linear(12, 1, bias=False)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.W(x)
        scores = F.leaky_relu(self.a(h) + self.b(h).T, 0.2)
        scores = scores.masked_fill(edges == 0, float("-inf"))
        return F.elu(torch.softmax(scores, 1) @ h)


class ShiftedWindows(nn.Module):
    """Attention in windows that are shifted by half, as in Swin."""

    def __init__(self, c: int = 8, w: int = 4, h: int = 2) -> None:
        super().__init__()
        self.qkv, self.proj, self.w, self.h = nn.Linear(c, 3 * c), nn.Linear(c, c), w, h

    def forward(self, x: Tensor) -> Tensor:
        (b, height, width, c), w, h = x.shape, self.w, self.h
        y = torch.roll(x, (-2, -2), (1, 2)).view(b, height // w, w, width // w, w, c)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, w * w, c)
        parts = self.qkv(y).reshape(y.shape[0], w * w, 3, h, c // h).permute(2, 0, 3, 1, 4)
        q, k, v = parts.unbind(0)
        weights = ((q * (c // h) ** -0.5) @ k.transpose(-2, -1)).softmax(-1)
        y = self.proj((weights @ v).transpose(1, 2).reshape(y.shape[0], w * w, c))
        y = y.view(b, height // w, width // w, w, w, c).permute(0, 1, 3, 2, 4, 5)
        return x + torch.roll(y.reshape(b, height, width, c), (2, 2), (1, 2))


class Gated(nn.Module):
    """Channels that are scaled by what they have in common: squeeze and excitation."""

    def __init__(self, c: int = 8) -> None:
        super().__init__()
        self.conv, self.avgpool = nn.Conv2d(3, c, 3, padding=1), nn.AdaptiveAvgPool2d(1)
        self.fc1, self.fc2 = nn.Conv2d(c, 2, 1), nn.Conv2d(2, c, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        return x * torch.sigmoid(self.fc2(F.relu(self.fc1(self.avgpool(x)))))


class Tied(nn.Module):
    """A matrix that is turned once and used twice."""

    def __init__(self) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(4, 4))

    def forward(self, x: Tensor) -> Tensor:
        turned = self.W.t()
        return (x @ turned).relu() @ turned


class RootNorm(nn.Module):
    """A root-mean-square norm written out, as language models have it: an RMSNorm by its class."""

    def __init__(self, m: int) -> None:
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.rand(m)), 1e-6

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


RootNorm.__name__ = RootNorm.__qualname__ = "OwnRMSNorm"


class Rotary(nn.Module):
    """Grouped queries with rotary positions: complex numbers turn pairs of the queries."""

    def __init__(self, m: int = 16, g: int = 2, q: int = 2, k: int = 4) -> None:
        super().__init__()
        self.Q, self.K, self.V = nn.Linear(m, g * q * k), nn.Linear(m, g * k), nn.Linear(m, g * k)
        self.O, self.norm, self.sizes = nn.Linear(g * q * k, m), RootNorm(m), (g, q, k)

    def turned(self, x: Tensor) -> Tensor:
        k = x.shape[-1]
        angles = torch.arange(x.shape[2])[:, None] / 100 ** (torch.arange(0, k, 2) / k)
        turns = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(3)

    def forward(self, x: Tensor) -> Tensor:
        (b, t, _), (g, q, k) = x.shape, self.sizes
        x = self.norm(x)
        query = self.turned(self.Q(x).view(b, t, g * q, k).transpose(1, 2))
        key = self.turned(self.K(x).view(b, t, g, k).transpose(1, 2))
        value = self.V(x).view(b, t, g, k).transpose(1, 2)
        key, value = (
            each[:, :, None].expand(b, g, q, t, k).reshape(b, g * q, t, k) for each in (key, value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.O(mixed.transpose(1, 2).reshape(b, t, g * q * k))


def _encoder_layer(dropout: float = 0.0) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(32, 4, 64, dropout, batch_first=True)


def _normal(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


def _sides() -> nn.Sequential:
    """Windows with a number for each side."""
    return nn.Sequential(
        *(nn.Conv2d(4, 6, (3, 1), (2, 1), (0, 1), (1, 2), 2), nn.GroupNorm(3, 6), nn.ReLU(True)),
        *(nn.MaxPool2d((1, 2), (1, 1)), nn.ConvTranspose2d(6, 2, (2, 1), (2, 1))),
        *(nn.Conv2d(2, 2, (1, 3), padding="same"), nn.AvgPool2d((2, 3), padding=(1, 0))),
    )


def _lenet() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.AvgPool2d(2)),
        *(nn.Conv2d(6, 16, 5), nn.Tanh(), nn.AvgPool2d(2), nn.Flatten()),
        *(nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 10)),
    )


QUERIES = (_normal(2, 5, 16), _normal(2, 7, 16))
IDS = torch.arange(16).view(2, 8) * 3

CASES: Mapping[str, Callable[[], Case]] = {
    "mlp": lambda: (nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (_normal(3, 8),)),
    "encoder layer": lambda: (_encoder_layer(), (_normal(3, 6, 32),)),
    "encoder layer with dropout": lambda: (_encoder_layer(0.1), (_normal(3, 6, 32),)),
    "encoder": lambda: (
        nn.TransformerEncoder(_encoder_layer(), 3, enable_nested_tensor=False),
        (_normal(2, 6, 32),),
    ),
    "encoder of one example": lambda: (
        nn.TransformerEncoder(_encoder_layer(), 2, enable_nested_tensor=False),
        (_normal(1, 6, 32),),
    ),
    "decoder layer": lambda: (
        nn.TransformerDecoderLayer(32, 4, 64, 0.0, batch_first=True),
        (_normal(3, 6, 32), _normal(3, 5, 32)),
    ),
    "nanogpt": lambda: (LanguageModel(), (IDS,)),
    "resnet in training": lambda: (ResNet(), (_normal(2, 3, 32, 32),)),
    "resnet": lambda: (ResNet().eval(), (_normal(2, 3, 32, 32),)),
    "unet": lambda: (UNet(), (_normal(2, 1, 16, 16),)),
    "norm of which a view is changed": lambda: (
        nn.Sequential(nn.BatchNorm2d(3), nn.Flatten(2), nn.ReLU(inplace=True)).eval(),
        (_normal(2, 3, 4, 4),),
    ),
    "group norm": lambda: (nn.GroupNorm(2, 4), (_normal(2, 4, 5, 5),)),
    "norms without weights": lambda: (_plain_norms(), (_normal(2, 4, 5, 6),)),
    "sides": lambda: (_sides(), (_normal(2, 4, 9, 8),)),
    "squeeze and excitation": lambda: (Gated(), (_normal(2, 3, 8, 8),)),
    "tied and turned": lambda: (Tied(), (_normal(3, 4),)),
    "depthwise": lambda: (nn.Conv2d(6, 6, 3, groups=6), (_normal(2, 6, 8, 8),)),
    "attention": lambda: (Attention(), QUERIES),
    "attention with scores": lambda: (Attention(), (*QUERIES, _normal(5, 7))),
    "attention with a mask": lambda: (Attention(), (*QUERIES, torch.ones(5, 7).triu(1).bool())),
    "attention with padding": lambda: (Attention(), (*QUERIES, None, _normal(2, 7) > 0.8)),
    "convnext": lambda: (ConvNeXt(), (_normal(2, 3, 32, 32),)),
    "vision transformer": lambda: (VisionTransformer(), (_normal(2, 3, 32, 32),)),
    "lenet": lambda: (_lenet(), (_normal(1, 1, 28, 28),)),
    "graph attention": lambda: (
        GraphAttention(),
        (_normal(6, 8), (_normal(6, 6) > 0).float() + torch.eye(6)),
    ),
    "shifted windows": lambda: (ShiftedWindows(), (_normal(2, 8, 8, 8),)),
    "rotary": lambda: (Rotary(), (_normal(2, 6, 16),)),
    "lstm": lambda: (nn.LSTM(4, 5, batch_first=True), (_normal(2, 3, 4),)),
    "gru": lambda: (nn.GRU(4, 5, batch_first=True), (_normal(2, 3, 4),)),
    "two layers of lstm": lambda: (
        nn.LSTM(4, 5, 2),
        (_normal(3, 2, 4), (_normal(2, 2, 5), _normal(2, 2, 5) * 2)),
    ),
    "gru without bias": lambda: (nn.GRU(4, 5, bias=False), (_normal(3, 2, 4), _normal(1, 2, 5))),
    "recurrence by a tanh": lambda: (nn.RNN(4, 5, 2, batch_first=True), (_normal(2, 3, 4),)),
    "both ways": lambda: (nn.GRU(4, 5, bidirectional=True), (_normal(3, 2, 4),)),
}
LAYERS = {
    "encoder of one example": [("layers", 2)],
    "encoder": [("layers", 3)],
    "nanogpt": [("h", 3)],
    "resnet": [("layer1", 2)],
    "resnet in training": [("layer1", 2)],
    "vision transformer": [("layers", 2)],
}
