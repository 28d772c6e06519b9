"""Sources as they are pasted: written anew, with what well-known files are made of."""

from __future__ import annotations

LANGUAGE_MODEL = '''
"""A language model in one file."""
import math
import inspect
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F


class Norm(nn.Module):
    """A layer norm whose bias may be left out."""

    def __init__(self, size, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.bias = nn.Parameter(torch.zeros(size)) if bias else None

    def forward(self, input):
        return F.layer_norm(input, self.weight.shape, self.weight, self.bias, 1e-5)


class SelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.width % config.heads == 0, f"{config.width} does not split into heads"
        self.pack = nn.Linear(config.width, 3 * config.width, bias=config.bias)
        self.out = nn.Linear(config.width, config.width, bias=config.bias)
        self.drop_scores, self.drop = nn.Dropout(config.dropout), nn.Dropout(config.dropout)
        self.heads, self.width, self.dropout = config.heads, config.width, config.dropout
        self.fast = hasattr(torch.nn.functional, 'scaled_dot_product_attention')
        if config.slow or not self.fast:
            self.fast = False
            print("slow attention")
            mask = torch.tril(torch.ones(config.context, config.context))
            self.register_buffer("mask", mask.view(1, 1, config.context, config.context))

    def forward(self, x):
        B, T, C = x.size()  # batch, time, channels
        q, k, v = self.pack(x).split(self.width, dim=2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        if self.fast:
            y = F.scaled_dot_product_attention(
                q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0,
                is_causal=True,
            )
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float('-inf'))
            y = self.drop_scores(F.softmax(scores, dim=-1)) @ v
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.drop(self.out(y))


class FeedForward(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.wide = nn.Linear(config.width, 4 * config.width, bias=config.bias)
        self.act = nn.GELU()
        self.narrow = nn.Linear(4 * config.width, config.width, bias=config.bias)
        self.drop = nn.Dropout(config.dropout)

    def forward(self, x):
        x = self.wide(x)
        x = self.act(x)
        return self.drop(self.narrow(x))


class Layer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.before = Norm(config.width, bias=config.bias)
        self.attention = SelfAttention(config)
        self.between = Norm(config.width, bias=config.bias)
        self.mlp = FeedForward(config)

    def forward(self, x):
        x = x + self.attention(self.before(x))
        x = x + self.mlp(self.between(x))
        return x


@dataclass
class Config:
    context: int = 32
    vocabulary: int = 96
    layers: int = 3
    heads: int = 4
    width: int = 32
    dropout: float = 0.0
    bias: bool = True  # in linear layers and norms
    slow: bool = False


class Model(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.vocabulary is not None
        self.config = config
        self.transformer = nn.ModuleDict(dict(
            tokens=nn.Embedding(config.vocabulary, config.width),
            places=nn.Embedding(config.context, config.width),
            drop=nn.Dropout(config.dropout),
            h=nn.ModuleList([Layer(config) for _ in range(config.layers)]),
            norm=Norm(config.width, bias=config.bias),
        ))
        self.head = nn.Linear(config.width, config.vocabulary, bias=False)
        self.transformer.tokens.weight = self.head.weight  # tied
        self.apply(self._begin)
        for name, p in self.named_parameters():
            if name.endswith('narrow.weight'):
                torch.nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * config.layers))
        print("number of parameters: %.2fM" % (self.count() / 1e6,))

    def count(self, without_places=True):
        n = sum(p.numel() for p in self.parameters())
        if without_places:
            n -= self.transformer.places.weight.numel()
        return n

    def _begin(self, module):
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, tokens, targets=None):
        device = tokens.device
        b, t = tokens.size()
        assert t <= self.config.context, f"{t} tokens, at most {self.config.context}"
        places = torch.arange(0, t, dtype=torch.long, device=device)
        x = self.transformer.tokens(tokens) + self.transformer.places(places)
        x = self.transformer.drop(x)
        for layer in self.transformer.h:
            x = layer(x)
        x = self.transformer.norm(x)
        if targets is not None:
            scores = self.head(x)
            loss = F.cross_entropy(
                scores.view(-1, scores.size(-1)), targets.view(-1), ignore_index=-1
            )
        else:
            scores = self.head(x[:, [-1], :])  # of the last place alone
            loss = None
        return scores, loss

    def crop(self, context):
        self.config.context = context
        self.transformer.places.weight = nn.Parameter(self.transformer.places.weight[:context])
        for layer in self.transformer.h:
            if hasattr(layer.attention, 'mask'):
                layer.attention.mask = layer.attention.mask[:, :, :context, :context]

    @classmethod
    def from_pretrained(cls, kind, override_args=None):
        assert kind in {'small', 'large'}
        from transformers import GPT2LMHeadModel
        config = Config(**{'small': dict(layers=12), 'large': dict(layers=36)}[kind])
        model = cls(config)
        given = GPT2LMHeadModel.from_pretrained(kind).state_dict()
        for key in [k for k in given.keys() if not k.endswith('.mask')]:
            with torch.no_grad():
                model.state_dict()[key].copy_(given[key])
        return model

    def configure_optimizers(self, decay, rate, betas, device_type):
        params = {name: p for name, p in self.named_parameters() if p.requires_grad}
        groups = [{'params': [p for p in params.values() if p.dim() >= 2], 'weight_decay': decay}]
        fused = 'fused' in inspect.signature(torch.optim.AdamW).parameters
        more = dict(fused=True) if fused else dict()
        return torch.optim.AdamW(groups, lr=rate, betas=betas, **more)

    @torch.no_grad()
    def generate(self, tokens, count, temperature=1.0, best=None):
        for _ in range(count):
            scores, _ = self(tokens[:, -self.config.context:])
            scores = scores[:, -1, :] / temperature
            if best is not None:
                v, _ = torch.topk(scores, min(best, scores.size(-1)))
                scores[scores < v[:, [-1]]] = -float('Inf')
            tokens = torch.cat((tokens, torch.multinomial(F.softmax(scores, -1), 1)), dim=1)
        return tokens
'''

RESIDUAL = '''
from functools import partial
from typing import Any, Callable, List, Optional, Type, Union

import torch
import torch.nn as nn
from torch import Tensor

from ..transforms._presets import Classification
from ..utils import _log_api_usage_once
from ._api import Weights, WeightsEnum, register_model
from ._utils import _ovewrite_named_param, handle_legacy_interface

__all__ = ["Residual", "Small_Weights", "small"]


def conv3(inside: int, outside: int, stride: int = 1, groups: int = 1) -> nn.Conv2d:
    """A convolution with a border."""
    return nn.Conv2d(inside, outside, kernel_size=3, stride=stride, padding=1, groups=groups,
                     bias=False)


def conv1(inside: int, outside: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inside, outside, kernel_size=1, stride=stride, bias=False)


class Basic(nn.Module):
    expansion: int = 1

    def __init__(self, inside: int, planes: int, stride: int = 1,
                 shortcut: Optional[nn.Module] = None,
                 norm_layer: Optional[Callable[..., nn.Module]] = None) -> None:
        super().__init__()
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        if stride > 9:
            raise NotImplementedError("a stride over 9")
        self.conv1 = conv3(inside, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.shortcut = shortcut
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        if self.shortcut is not None:
            identity = self.shortcut(x)
        out += identity
        return self.relu(out)


class Residual(nn.Module):
    def __init__(self, block: Type[Union[Basic, Basic]], layers: List[int],
                 num_classes: int = 10, zero_init: bool = False,
                 norm_layer: Optional[Callable[..., nn.Module]] = None) -> None:
        super().__init__()
        _log_api_usage_once(self)
        if norm_layer is None:
            norm_layer = nn.BatchNorm2d
        self._norm_layer = norm_layer
        self.inside = 8
        self.conv1 = nn.Conv2d(3, self.inside, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = norm_layer(self.inside)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 8, layers[0])
        self.layer2 = self._make_layer(block, 16, layers[1], stride=2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(16 * block.expansion, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if zero_init:
            for m in self.modules():
                if isinstance(m, Basic) and m.bn2.weight is not None:
                    nn.init.constant_(m.bn2.weight, 0)  # type: ignore[arg-type]

    def _make_layer(self, block: Type[Basic], planes: int, blocks: int,
                    stride: int = 1) -> nn.Sequential:
        norm_layer = self._norm_layer
        shortcut = None
        if stride != 1 or self.inside != planes * block.expansion:
            shortcut = nn.Sequential(
                conv1(self.inside, planes * block.expansion, stride),
                norm_layer(planes * block.expansion),
            )
        layers = []
        layers.append(block(self.inside, planes, stride, shortcut, norm_layer))
        self.inside = planes * block.expansion
        for _ in range(1, blocks):
            layers.append(block(self.inside, planes, norm_layer=norm_layer))
        return nn.Sequential(*layers)

    def _forward_impl(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer2(self.layer1(x))
        x = torch.flatten(self.avgpool(x), 1)
        return self.fc(x)

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _residual(block: Type[Basic], layers: List[int], weights: Optional[WeightsEnum],
              progress: bool, **kwargs: Any) -> Residual:
    if weights is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = Residual(block, layers, **kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


_COMMON_META = {"min_size": (1, 1)}


class Small_Weights(WeightsEnum):
    V1 = Weights(
        url="https://example.org/small.pth",
        transforms=partial(Classification, crop_size=224),
        meta={**_COMMON_META, "num_params": 11689512, "_metrics": {"acc@1": 69.758}},
    )
    DEFAULT = V1


@register_model()
@handle_legacy_interface(weights=("pretrained", Small_Weights.V1))
def small(*, weights: Optional[Small_Weights] = None, progress: bool = True,
          **kwargs: Any) -> Residual:
    """A small one, as in `a paper <https://example.org>`__."""
    weights = Small_Weights.verify(weights)
    return _residual(Basic, [2, 2], weights, progress, **kwargs)
'''

LENET = """
import torch
import torch.nn as nn
import torch.nn.functional as F

class LeNet(nn.Module):
    def __init__(self):
        super(LeNet, self).__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        with torch.no_grad():
            size = self.features(torch.zeros(1, 1, 28, 28)).shape[1]
        self.fc1 = nn.Linear(size, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def features(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), (2, 2))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return x.view(-1, self.num_flat_features(x))

    def forward(self, x):
        x = F.relu(self.fc1(self.features(x)))
        x = F.relu(self.fc2(x))
        return self.fc3(x)

    def num_flat_features(self, x):
        count = 1
        for s in x.size()[1:]:
            count *= s
        return count

if __name__ == "__main__":
    net = LeNet()
    out = net(torch.randn(2, 1, 28, 28))
    print(out.shape)
"""

PATCHES = """
import torch
from torch import nn
from einops import rearrange, repeat
from einops.layers.torch import Rearrange

def pair(t):
    return t if isinstance(t, tuple) else (t, t)

class Attention(nn.Module):
    def __init__(self, dim, heads = 8, dim_head = 64, dropout = 0.):
        super().__init__()
        inner_dim = dim_head * heads
        project_out = not (heads == 1 and dim_head == dim)
        self.heads = heads
        self.scale = dim_head ** -0.5
        self.attend = nn.Softmax(dim = -1)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias = False)
        self.to_out = nn.Sequential(
            nn.Linear(inner_dim, dim), nn.Dropout(dropout)
        ) if project_out else nn.Identity()

    def forward(self, x):
        qkv = self.to_qkv(x).chunk(3, dim = -1)
        q, k, v = map(lambda t: rearrange(t, 'b n (h d) -> b h n d', h = self.heads), qkv)
        dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale
        out = torch.matmul(self.attend(dots), v)
        return self.to_out(rearrange(out, 'b h n d -> b n (h d)'))

class Patches(nn.Module):
    def __init__(self, *, image_size, patch_size, dim, depth, heads, channels = 3, pool = 'cls'):
        super().__init__()
        height, width = pair(image_size)
        p1, p2 = pair(patch_size)
        assert height % p1 == 0 and width % p2 == 0, 'patches do not fit'
        assert pool in {'cls', 'mean'}
        self.embed = nn.Sequential(
            Rearrange('b c (h p1) (w p2) -> b (h w) (p1 p2 c)', p1 = p1, p2 = p2),
            nn.LayerNorm(channels * p1 * p2),
            nn.Linear(channels * p1 * p2, dim),
        )
        count = (height // p1) * (width // p2)
        self.pos = nn.Parameter(torch.randn(1, count + 1, dim))
        self.cls = nn.Parameter(torch.randn(1, 1, dim))
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([
                nn.LayerNorm(dim), Attention(dim, heads = heads, dim_head = 8),
            ]))
        self.pool = pool
        self.head = nn.Linear(dim, 10)

    def forward(self, img):
        x = self.embed(img)
        b, n, _ = x.shape
        cls = repeat(self.cls, '1 1 d -> b 1 d', b = b)
        x = torch.cat((cls, x), dim = 1)
        x += self.pos[:, :(n + 1)]
        for norm, attn in self.layers:
            x = attn(norm(x)) + x
        x = x.mean(dim = 1) if self.pool == 'mean' else x[:, 0]
        return self.head(x)

model = Patches(image_size = 16, patch_size = 8, dim = 32, depth = 2, heads = 2)
model(torch.randn(1, 3, 16, 16))
"""
