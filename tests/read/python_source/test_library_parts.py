"""Libraries that models are built on: what their layers compute, and what is made of the rest.

Layers stand beside plain torch, with the same weights. Source: timm 1.0, torchvision 0.20, MONAI
1.4 and torch_geometric 2.6.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ncd
from ncd.read.python_source.functions_and_classes import _shapes_alone
from ncd.read.python_source.interpreter import (
    Interpreter,
    Scope,
    SourceException,
    UnknownValue,
    as_text_error,
)
from ncd.read.python_source.libraries import _add
from ncd.read.python_source.source_reader import new_machine, read_source
from ncd.read.python_source.source_tree import deep
from ncd.read.python_source.torch_layers import _shape as fitted_shape
from ncd.read.python_source.torch_layers import misfit

Shape = tuple[int, ...]
CONV, BN, LINEAR = nn.Conv2d, nn.BatchNorm2d, nn.Linear
COURSE = """
from d2l import torch as d2l
class LeNet(d2l.Classifier):
    def __init__(self, lr=0.1, num_classes=10):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(
            nn.LazyConv2d(6, kernel_size=5, padding=2), nn.LazyBatchNorm2d(), nn.Sigmoid(),
            nn.AvgPool2d(kernel_size=2, stride=2), nn.Flatten(),
            nn.LazyLinear(12), nn.Sigmoid(), nn.LazyLinear(self.num_classes))
        self.net.apply(d2l.init_cnn)
@d2l.add_to_class(d2l.Classifier)
def layer_summary(self, X_shape):
    for layer in self.net:
        print(layer)
"""
TRAINED = """
import argparse
import pytorch_lightning as pl
parser = argparse.ArgumentParser()
parser.add_argument("-w", "--the-width", type=int, default="12")
parser.add_argument("--plain", action="store_true")
args = parser.parse_args()
class Model(pl.LightningModule):
    def __init__(self, classes=3):
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(args.the_width, self.hparams.classes, bias=not args.plain)
    def forward(self, x):
        return self.layer(x)
pl.Trainer().fit(Model())
"""


@pytest.mark.parametrize(
    ("end", "shape"), [("", "1x1x28x28"), ("LeNet().layer_summary((2, 3, 8, 8))", "2x3x8x8")]
)
def test_a_lazy_layer_fits_the_first_input(end: str, shape: str) -> None:
    found = read_source(COURSE + end)
    b, c, side, _ = map(int, shape.split("x"))
    plain = nn.Sequential(
        *(nn.Conv2d(c, 6, 5, padding=2), nn.BatchNorm2d(6), nn.Sigmoid(), nn.AvgPool2d(2)),
        *(nn.Flatten(), nn.Linear(6 * (side // 2) ** 2, 12), nn.Sigmoid(), nn.Linear(12, 10)),
    )
    assert ncd.cost(found.term).parameters == sum(x.numel() for x in plain.parameters())
    assert [axis.size for axis in found.term.cod[0]] == [b, 10]


ADDED = """
from d2l import torch as d2l
class Net(d2l.Module):
    def __init__(self, width=4):
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(3, self.width)
@d2l.add_to_class(Net)
def forward(self, x):
    return self.twice(self.layer(x))
@d2l.add_to_class(Net)
def twice(self, x):
    return torch.cat([x, x], 1)
2x3"""


def test_methods_that_are_added_to_a_class_are_its_own() -> None:
    assert read_source(ADDED).shapes == ((2, 8),)
    machine, scope = new_machine(), Scope()
    machine.run(ast.parse("class A: pass\ndef f(): pass").body, scope)
    for owner, method in ((3, scope.names["f"]), (scope.names["A"], 3)):
        with pytest.raises(TypeError, match="add_to_class stands before a function"):
            _add(machine, owner, method)


@pytest.mark.parametrize(
    ("layers", "shape", "found"),
    [
        ([LINEAR(8, 3), LINEAR(3, 4)], (2, 8), None),
        ([LINEAR(8, 3), LINEAR(4, 4)], (2, 8), (1, 3, 4)),
        ([LINEAR(8, 3)], (2, 9), (0, 9, 8)),
        ([LINEAR(8, 3), nn.LayerNorm((2, 4))], (5, 2, 8), (1, 3, 4)),
        ([CONV(3, 8, 1), BN(8), CONV(9, 4, 1)], (1, 3, 4, 4), (2, 8, 9)),
        ([CONV(3, 8, 1), BN(9)], (1, 3, 4, 4), (1, 8, 9)),
        ([nn.ReLU(), nn.Flatten(), nn.Unflatten(1, (5, 5))], (2, 8), None),
    ],
)
def test_the_layer_that_an_array_does_not_fit(
    layers: list[nn.Module], shape: Shape, found: tuple[int, int, int] | None
) -> None:
    model = nn.Sequential(*layers)
    wrong = misfit(model, (torch.zeros(shape),), {})
    assert wrong == (found and (layers[found[0]], *found[1:]))
    assert misfit(model, (), {}) is None


def test_a_lazy_layer_takes_so_many_channels() -> None:
    for layer, shape in (
        (LINEAR(3, 6), (6, 5)),
        (CONV(4, 6, 3, groups=2), (6, 5, 3, 3)),
        (nn.ConvTranspose2d(4, 6, 3), (5, 6, 3, 3)),
        (BN(4), (5,)),
    ):
        n = 10 if layer.__dict__.get("groups", 1) == 2 else 5
        assert fitted_shape(layer, "weight", layer.weight, n) == shape
    bias = LINEAR(3, 6).bias
    assert fitted_shape(LINEAR(3, 6), "bias", bias, 5) == (6,)


def test_a_model_of_a_training_library_has_its_settings() -> None:
    assert "Linear('m:12 -> classes:3', 'layer', True)" in repr(read_source(TRAINED).term)


def test_what_a_library_has_besides_is_a_box() -> None:
    source = COURSE.replace("nn.Flatten()", "d2l.Flatten()")
    assert "d2l.torch.Flatten is of another file: a box" in read_source(source).note


def test_parts_are_gone_through_as_in_python() -> None:
    """``parameters()`` is an iterator, and ``keys()`` of a dictionary of layers has a length."""
    source = """
from torch import nn, ones
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleDict({"a": nn.Linear(4, 3), "b": nn.Linear(3, 2)})
        rows, _ = next(self.parts["a"].parameters()).shape
        self.last = nn.Linear(2, rows * len(self.parts.keys()) + len(self.parts.items()))
    def forward(self, x):
        for part in self.parts.values():
            x = part(x)
        return self.last(x)
Net()(ones(5, 4))
"""
    assert read_source(source).term.cod[0].shape == (5, 8)


def test_what_a_layer_gives_for_a_large_input_has_no_numbers_while_a_model_is_made() -> None:
    machine, layer = new_machine(), nn.Conv2d(3, 4, 3)
    found = _shapes_alone(machine, layer, (torch.zeros(1, 3, 256, 256),), {})
    assert found.shape == (1, 4, 254, 254) and found.untyped_storage().nbytes() == 4
    assert _shapes_alone(machine, layer, (torch.zeros(1, 3, 8, 8),), {}) is None
    assert _shapes_alone(machine, layer, (torch.zeros(1, 4, 256, 256),), {}) is None, "it stops"


# --- Layers, beside plain torch

Rows = dict[str, tuple[Shape, nn.Module]]  # by what makes a layer: its input, the same in torch
ROWS, WIDE, LAST = (2, 5, 8), (2, 8, 6, 7), (2, 6, 7, 8)
ROWS_OF_16, SCORES = (2, 5, 16), (2, 4, 7, 7)


class Plain(nn.Module):
    """A function of an input, and of layers or learned arrays of some shapes."""

    def __init__(self, function: Callable[..., Tensor], *parts: nn.Module | Shape) -> None:
        super().__init__()
        self.function = function
        self.parts = nn.ModuleList(p if isinstance(p, nn.Module) else Learned(p) for p in parts)

    def forward(self, x: Tensor) -> Tensor:
        parts = (one for one in self.parts if not isinstance(one, nn.Dropout))
        return self.function(x, *(p.own if isinstance(p, Learned) else p for p in parts))


class Learned(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.own = nn.Parameter(torch.zeros(shape))


def in_front(norm: nn.Module) -> nn.Module:
    """A norm of the channels, which stand second."""
    return Plain(lambda x, own: own(x.movedim(1, -1)).movedim(-1, 1), norm)


def pooled(x: Tensor) -> Tensor:
    return x.mean((2, 3), keepdim=True)


def squeezed(width: int, gate: nn.Module | None = None, bias: bool = True) -> nn.Module:
    narrow, wide = CONV(8, width, 1, bias=bias), CONV(width, 8, 1, bias=bias)
    last = gate or nn.Sigmoid()
    return Plain(lambda x, one, two: x * last(two(one(pooled(x)).relu())), narrow, wide)


def gated(dim: int, *, last: bool = True) -> Callable[..., Tensor]:
    def run(x: Tensor, one: nn.Module, *more: nn.Module) -> Tensor:
        a, b = one(x).chunk(2, dim)
        return nn.Sequential(*more)(a * b.sigmoid() if last else a.sigmoid() * b)

    return run


def attended(heads: int) -> Callable[..., Tensor]:
    def run(x: Tensor, qkv: nn.Module, *rest: nn.Module) -> Tensor:
        q, k, v = qkv(x).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
        q, k = (rest[0](q), rest[1](k)) if rest[1:] else (q, k)
        return rest[-1](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    return run


def response(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """The response normalisation of ConvNeXt V2, of channels that stand last."""
    norms = x.norm(dim=(1, 2), keepdim=True)
    return x + weight * (x * (norms / (norms.mean(-1, keepdim=True) + 1e-6))) + bias


def rounded_up(kind: Callable[..., Tensor], fill: float) -> nn.Module:
    """Windows of 3 in steps of 2 over 6 × 7 numbers, of which none is lost."""
    return Plain(lambda x: kind(F.pad(x, (1, 1, 0, 1), value=fill), 3, 2))


def head(*parts: nn.Module) -> nn.Module:
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), *parts)


def placed(last: nn.Module, most: int = 0) -> nn.Module:
    """Scores of 6 places and one token before them, with a bias that a network gives of places."""

    def run(x: Tensor, one: nn.Module, two: nn.Module) -> Tensor:
        bias = two(one(torch.zeros(2)).relu())
        bias = most * bias.sigmoid() if most else bias
        return x + F.pad(bias[:, None, None].expand(4, 6, 6), (1, 0, 1, 0))

    return Plain(run, LINEAR(2, 16), last, nn.Dropout(0.125))


DROP, FLAT = nn.Dropout(0.1), nn.Flatten()
TIMM: Rows = {
    "Linear(8, 3, bias=False)": (ROWS, LINEAR(8, 3, bias=False)),
    "Mlp(8)": (ROWS, nn.Sequential(LINEAR(8, 8), nn.GELU(), LINEAR(8, 8))),
    "Mlp(8, 6, 4, nn.Tanh, nn.LayerNorm, (False, True), (0.1, 0.2))": (
        ROWS,
        nn.Sequential(
            *(LINEAR(8, 6, bias=False), nn.Tanh(), DROP, nn.LayerNorm(6), LINEAR(6, 4)),
            nn.Dropout(0.2),
        ),
    ),
    "Mlp(8, use_conv=True)": (WIDE, nn.Sequential(CONV(8, 8, 1), nn.GELU(), CONV(8, 8, 1))),
    "ConvMlp(8)": (WIDE, nn.Sequential(CONV(8, 8, 1), nn.ReLU(), CONV(8, 8, 1))),
    "ConvMlp(8, 6, 4, nn.Tanh, nn.BatchNorm2d, (False, True), 0.1)": (
        WIDE,
        nn.Sequential(CONV(8, 6, 1, bias=False), BN(6), nn.Tanh(), DROP, CONV(6, 4, 1)),
    ),
    "GluMlp(8, drop=(0.1, 0.2))": (
        ROWS,
        Plain(gated(-1), LINEAR(8, 8), LINEAR(4, 8), DROP, nn.Dropout(0.2)),
    ),
    "GluMlp(8, 6, 4, nn.Sigmoid, nn.LayerNorm, (False, True), gate_last=False)": (
        ROWS,
        Plain(gated(-1, last=False), LINEAR(8, 6, bias=False), nn.LayerNorm(3), LINEAR(3, 4)),
    ),
    "GluMlp(8, use_conv=True)": (WIDE, Plain(gated(1), CONV(8, 8, 1), CONV(4, 8, 1))),
    "Attention(8, 2, attn_drop=0.1, proj_drop=0.2)": (
        ROWS,
        Plain(attended(2), LINEAR(8, 24, bias=False), LINEAR(8, 8), DROP, nn.Dropout(0.2)),
    ),
    "Attention(16, qkv_bias=True, qk_norm=True, proj_bias=False)": (
        ROWS_OF_16,
        Plain(
            *(attended(8), LINEAR(16, 48), nn.LayerNorm(2), nn.LayerNorm(2)),
            LINEAR(16, 16, bias=False),
        ),
    ),
    "LayerScale(8)": (ROWS, Plain(torch.mul, (8,))),
    "LayerScale2d(8)": (WIDE, Plain(lambda x, own: x * own[:, None, None], (8,))),
    "LayerNorm(8)": (ROWS, nn.LayerNorm(8, 1e-6)),
    "LayerNorm(8, 0.1, False)": (ROWS, nn.LayerNorm(8, 0.1, False)),
    "LayerNorm2d(8)": (WIDE, in_front(nn.LayerNorm(8, 1e-6))),
    "LayerNorm2d(8, 0.1, False)": (WIDE, in_front(nn.LayerNorm(8, 0.1, False))),
    "RmsNorm(8)": (ROWS, nn.RMSNorm(8, 1e-6)),
    "RmsNorm2d(8, affine=False)": (WIDE, in_front(nn.RMSNorm(8, 1e-6, False))),
    "GroupNorm1(8)": (WIDE, nn.GroupNorm(1, 8)),
    "BatchNormAct2d(8)": (WIDE, nn.Sequential(BN(8), nn.ReLU())),
    "BatchNormAct2d(8, 0.1, act_layer='silu')": (WIDE, nn.Sequential(BN(8, 0.1), nn.SiLU())),
    "BatchNormAct2d(8, apply_act=False)": (WIDE, BN(8)),
    "BatchNormAct2d(8, act_layer=None)": (WIDE, BN(8)),
    "ConvNormAct(8, 4)": (WIDE, nn.Sequential(CONV(8, 4, 1, bias=False), BN(4), nn.ReLU())),
    "ConvNormAct(8, 4, 5, 2, dilation=2, groups=2, bias=True, act_layer='tanh')": (
        WIDE,
        nn.Sequential(CONV(8, 4, 5, 2, 4, 2, 2), BN(4), nn.Tanh()),
    ),
    "ConvNormAct(8, 4, apply_norm=False, apply_act=False)": (WIDE, CONV(8, 4, 1, bias=False)),
    "ConvNormAct(8, 4, norm_layer=None, act_layer=None)": (WIDE, CONV(8, 4, 1, bias=False)),
    "create_conv2d(8, 8, 3, stride=2)": (WIDE, CONV(8, 8, 3, 2, 1, bias=False)),
    "create_conv2d(8, 8, (3, 5), padding='', dilation=2)": (
        WIDE,
        CONV(8, 8, (3, 5), 1, (2, 4), 2, bias=False),
    ),
    "create_conv2d(8, 8, 3, padding=2, groups=2, bias=True)": (WIDE, CONV(8, 8, 3, 1, 2, 1, 2)),
    "create_conv2d(8, 8, 3, groups=2, depthwise=True)": (
        WIDE,
        CONV(8, 8, 3, 1, 1, 1, 8, bias=False),
    ),
    "SEModule(8)": (WIDE, squeezed(8)),
    "SEModule(8, rd_ratio=0.6, rd_divisor=2, bias=False)": (WIDE, squeezed(4, bias=False)),
    "SqueezeExcite(8, rd_channels=3, gate_layer='hard_sigmoid')": (
        WIDE,
        squeezed(3, nn.Hardsigmoid()),
    ),
    "EffectiveSEModule(8)": (
        WIDE,
        Plain(lambda x, own: x * F.hardsigmoid(own(pooled(x))), CONV(8, 8, 1)),
    ),
    "EffectiveSEModule(8, add_maxpool=True, gate_layer='tanh')": (
        WIDE,
        Plain(
            lambda x, own: x * own((pooled(x) + x.amax((2, 3), keepdim=True)) / 2).tanh(),
            CONV(8, 8, 1),
        ),
    ),
    "GlobalResponseNorm(8)": (LAST, Plain(response, (8,), (8,))),
    "GlobalResponseNorm(8, channels_last=False)": (
        WIDE,
        Plain(lambda x, w, b: response(x.movedim(1, -1), w, b).movedim(-1, 1), (8,), (8,)),
    ),
    "SelectAdaptivePool2d()": (WIDE, nn.AdaptiveAvgPool2d(1)),
    "SelectAdaptivePool2d(2, 'max', flatten=True)": (
        WIDE,
        nn.Sequential(nn.AdaptiveMaxPool2d(2), FLAT),
    ),
    "SelectAdaptivePool2d(pool_type='')": (WIDE, nn.Identity()),
    "SelectAdaptivePool2d(pool_type='avg', input_fmt='NHWC')": (
        LAST,
        Plain(lambda x: x.mean((1, 2), keepdim=True)),
    ),
    "ClassifierHead(8, 3, drop_rate=0.1)": (WIDE, head(FLAT, DROP, LINEAR(8, 3))),
    "ClassifierHead(8, 3, use_conv=True)": (WIDE, head(CONV(8, 3, 1), FLAT)),
    "ClassifierHead(8, 3, '', use_conv=True)": (WIDE, CONV(8, 3, 1)),
    "ClassifierHead(8, 3, '')": (LAST, LINEAR(8, 3)),
    "ClassifierHead(8, 0)": (WIDE, head(FLAT)),
    "nn.Sequential(*create_classifier(8, 3, drop_rate=0.1))": (
        WIDE,
        head(FLAT, DROP, LINEAR(8, 3)),
    ),
    "NormMlpClassifierHead(8, 3)": (
        WIDE,
        head(in_front(nn.LayerNorm(8, 1e-6)), FLAT, LINEAR(8, 3)),
    ),
    "NormMlpClassifierHead(8, 3, 6, drop_rate=0.1)": (
        WIDE,
        head(
            *(in_front(nn.LayerNorm(8, 1e-6)), FLAT, LINEAR(8, 6), nn.Tanh(), DROP, LINEAR(6, 3)),
        ),
    ),
    "NormMlpClassifierHead(8, 0)": (WIDE, head(in_front(nn.LayerNorm(8, 1e-6)), FLAT)),
    "ClNormMlpClassifierHead(8, 3, 6)": (
        LAST,
        Plain(
            lambda x, *parts: nn.Sequential(*parts)(x.mean((1, 2))),
            *(nn.LayerNorm(8, 1e-6), LINEAR(8, 6), nn.GELU(), LINEAR(6, 3)),
        ),
    ),
    "ClNormMlpClassifierHead(8, 3, input_fmt='NLC')": (
        ROWS,
        Plain(lambda x, n, last: last(n(x.mean(1))), nn.LayerNorm(8, 1e-6), LINEAR(8, 3)),
    ),
    "PatchEmbed(8, 2, 8, 6)": (
        WIDE,
        Plain(lambda x, own: own(x).flatten(2).mT, CONV(8, 6, 2, 2)),
    ),
    "PatchEmbed(None, (2, 3), 8, 6, flatten=False, bias=False)": (
        WIDE,
        CONV(8, 6, (2, 3), (2, 3), bias=False),
    ),
    "PatchEmbed(8, 2, 8, 6, nn.LayerNorm, output_fmt='NHWC')": (
        WIDE,
        Plain(lambda x, own, n: n(own(x).movedim(1, -1)), CONV(8, 6, 2, 2), nn.LayerNorm(6)),
    ),
    "create_pool2d('avg', 3, 2, padding='same')": (WIDE, rounded_up(F.avg_pool2d, 0.0)),
    "create_pool2d('max', 3, 2, padding='same')": (WIDE, rounded_up(F.max_pool2d, -math.inf)),
    "create_pool2d('avg', 3, 2, count_include_pad=False)": (
        WIDE,
        nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    ),
    "create_pool2d('max', 3, padding='valid')": (WIDE, nn.MaxPool2d(3)),
    "create_pool2d('max', 3, 1, padding='same')": (WIDE, nn.MaxPool2d(3, 1, 1)),
    "create_pool2d('avg', 2, 2, padding=1)": (WIDE, nn.AvgPool2d(2, 2, 1)),
    "RelPosBias((2, 3), 4, 1)": (
        SCORES,
        Plain(lambda x, table: x + table[0][:, None, None], (3 * 5 + 3, 4)),
    ),
    "RelPosMlp((2, 3), 4, 16, 1)": (SCORES, placed(LINEAR(16, 4))),
    "RelPosMlp((2, 3), 4, 16, 1, 'swin')": (SCORES, placed(LINEAR(16, 4, bias=False), 16)),
    "PatchDropout(0.5)": (ROWS, nn.Identity()),
    "create_aa(nn.AvgPool2d, 8, 3)": (WIDE, nn.AvgPool2d(3)),
    "create_aa(nn.AvgPool2d, enable=False)": (WIDE, nn.Identity()),
    "create_aa(None, 8)": (WIDE, nn.Identity()),
    "create_attn('se', 8)": (WIDE, squeezed(8)),
    "get_attn('se')(8)": (WIDE, squeezed(8)),
    "get_norm_act_layer('batchnorm2d')(8)": (WIDE, nn.Sequential(BN(8), nn.ReLU())),
    "get_norm_act_layer('layer_norm', 'gelu')(8)": (
        ROWS,
        nn.Sequential(nn.LayerNorm(8, 1e-6), nn.GELU()),
    ),
    "create_norm_act_layer('batchnorm2d', 8, apply_act=False)": (WIDE, BN(8)),
    "create_norm_layer('rmsnorm', 8)": (ROWS, nn.RMSNorm(8, 1e-6)),
    "get_norm_layer('batchnorm')(8)": (WIDE, BN(8)),
    "get_norm_layer('group_norm')(8)": (WIDE, nn.GroupNorm(1, 8)),
    "get_norm_layer('RMSNorm2d')(8)": (WIDE, in_front(nn.RMSNorm(8, 1e-6))),
    "build_model_with_cfg(Linear, 'small', in_features=8, out_features=3)": (ROWS, LINEAR(8, 3)),
    "nn.Sequential(*[get_act_layer(n)() for n in ('relu', 'gelu_tanh', 'swish', 'leaky_relu')])": (
        ROWS,
        nn.Sequential(nn.ReLU(), nn.GELU("tanh"), nn.SiLU(), nn.LeakyReLU()),
    ),
    "nn.Sequential(create_act_layer('hard_swish'), get_act_layer(nn.ELU)())": (
        ROWS,
        nn.Sequential(nn.Hardswish(), nn.ELU()),
    ),
}


def residual(wide: int, *parts: nn.Module, down: nn.Module | None = None) -> nn.Module:
    """Convolutions with norms and ReLUs between them, whose input is added at the end."""

    def run(x: Tensor, *own: nn.Module) -> Tensor:
        y, last = x, len(parts) - 2
        for i in range(0, len(parts), 2):
            y = own[i + 1](own[i](y))
            y = y if i == last else y.relu()
        return (y + (x if down is None else own[-1](x))).relu()

    return Plain(run, *parts, *([down] if down else []))


def conv(a: int, b: int, side: int, stride: int = 1, groups: int = 1) -> tuple[nn.Module, ...]:
    own = CONV(a, b, side, stride, side // 2, groups=groups, bias=False)
    return own, BN(b)


def narrow(a: int, b: int, stride: int = 1, width: int = 0, groups: int = 1) -> nn.Module:
    width = width or b
    parts = (*conv(a, width, 1), *conv(width, width, 3, stride, groups), *conv(width, 4 * b, 1))
    down = nn.Sequential(*conv(a, 4 * b, 1, stride)) if (stride, a) != (1, 4 * b) else None
    return residual(4 * b, *parts, down=down)


def network(*blocks: nn.Module, width: int) -> nn.Module:
    begin = (*conv(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
    return nn.Sequential(*begin, *blocks, nn.AdaptiveAvgPool2d(1), FLAT, LINEAR(width, 5))


def plain_block(a: int, b: int, stride: int = 1) -> nn.Module:
    down = nn.Sequential(*conv(a, b, 1, stride)) if a != b else None
    return residual(b, *conv(a, b, 3, stride), *conv(b, b, 3), down=down)


TORCHVISION: Rows = {
    "ResNet(BasicBlock, [2, 1, 1, 1], num_classes=5)": (
        (1, 3, 32, 32),
        network(
            *(plain_block(64, 64), plain_block(64, 64), plain_block(64, 128, 2)),
            *(plain_block(128, 256, 2), plain_block(256, 512, 2)),
            width=512,
        ),
    ),
    "Bottleneck(64, 16)": ((1, 64, 4, 4), narrow(64, 16)),
    "ResNet(Bottleneck, [1, 1, 1, 1], 5, 32, 4)": (
        (1, 3, 32, 32),
        network(
            *(narrow(64, 64, 1, 128, 32), narrow(256, 128, 2, 256, 32)),
            *(narrow(512, 256, 2, 512, 32), narrow(1024, 512, 2, 1024, 32)),
            width=2048,
        ),
    ),
}
COUNTS = {  # of parameters, as torchvision's table of pre-trained weights has them
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "wide_resnet50_2": 68_883_240,
    "resnext50_32x4d": 25_028_904,
}


def act(*parts: nn.Module, norm: nn.Module | None = None, drop: float = 0.0) -> nn.Module:
    """MONAI's convolution, with its usual norm and activation behind it."""
    return nn.Sequential(*parts, norm or nn.InstanceNorm2d(8), nn.Dropout(drop), nn.PReLU())


BOTH = "get_act_layer(('leakyrelu', {'negative_slope': 0.1})), get_act_layer('GELU')"
MONAI: Rows = {
    "Convolution(2, 8, 8)": (WIDE, act(CONV(8, 8, 3, 1, 1))),
    "Convolution(2, 8, 8, (1, 2), (3, 5), dilation=2, groups=2, bias=False, dropout=0.1)": (
        WIDE,
        act(CONV(8, 8, (3, 5), (1, 2), (2, 4), 2, 2, False), drop=0.1),
    ),
    "Convolution(2, 8, 8, 2, is_transposed=True, norm='batch', act='relu')": (
        WIDE,
        nn.Sequential(nn.ConvTranspose2d(8, 8, 3, 2, 1, 1), BN(8), nn.ReLU()),
    ),
    "Convolution(2, 8, 8, 3, 5, output_padding=1, padding=1, is_transposed=True, norm=None)": (
        WIDE,
        nn.Sequential(nn.ConvTranspose2d(8, 8, 5, 3, 1, 1), nn.PReLU()),
    ),
    "Convolution(2, 8, 8, conv_only=True, padding=0)": (WIDE, CONV(8, 8, 3)),
    "Convolution(2, 8, 8, act=None, norm=None)": (WIDE, CONV(8, 8, 3, 1, 1)),
    "Convolution(1, 5, 4, adn_ordering='AN', act='tanh', norm=('group', {'num_groups': 2}))": (
        ROWS,
        nn.Sequential(nn.Conv1d(5, 4, 3, 1, 1), nn.Tanh(), nn.GroupNorm(2, 4)),
    ),
    "MLPBlock(8, 6, 0.1)": (
        ROWS,
        nn.Sequential(LINEAR(8, 6), nn.GELU(), DROP, LINEAR(6, 8), nn.Dropout(0.1)),
    ),
    "MLPBlock(8, 0, act='RELU')": (ROWS, nn.Sequential(LINEAR(8, 8), nn.ReLU(), LINEAR(8, 8))),
    f"nn.Sequential({BOTH})": (ROWS, nn.Sequential(nn.LeakyReLU(0.1), nn.GELU())),
    "get_norm_layer(('layer', {'normalized_shape': 8}))": (ROWS, nn.LayerNorm(8)),
    "get_norm_layer('', 1, 8)": (ROWS, nn.Identity()),
    "get_pool_layer(('avg', {'kernel_size': 2}), 2)": (WIDE, nn.AvgPool2d(2)),
    "get_dropout_layer(('dropout', {'p': 0.1}), 2)": (WIDE, nn.Dropout2d(0.1)),
    "nn.Sequential(get_pool_layer(''), get_act_layer(''), get_dropout_layer(0.1))": (ROWS, DROP),
    "SkipConnection(nn.Linear(8, 8), 2)": (
        ROWS,
        Plain(lambda x, own: torch.cat((x, own(x)), 2), LINEAR(8, 8)),
    ),
    "SkipConnection(nn.Linear(8, 8), mode='add')": (
        ROWS,
        Plain(lambda x, own: x + own(x), LINEAR(8, 8)),
    ),
    "SkipConnection(nn.Linear(8, 8), mode='mul')": (
        ROWS,
        Plain(lambda x, own: x * own(x), LINEAR(8, 8)),
    ),
}
NARROW = nn.Sequential(
    *(LINEAR(8, 6), nn.BatchNorm1d(6), nn.ReLU(), DROP, LINEAR(6, 6), nn.BatchNorm1d(6)),
    *(nn.ReLU(), nn.Dropout(0.1), LINEAR(6, 3)),
)
GRAPHS: Rows = {
    "Linear(8, 3, False, weight_initializer='glorot')": (ROWS, LINEAR(8, 3, False)),
    "MLP([8, 6, 6, 3], dropout=0.1)": ((5, 8), NARROW),
    "MLP(8, hidden_channels=6, out_channels=3, num_layers=3, dropout=0.1)": ((5, 8), NARROW),
    "MLP(in_channels=8, hidden_channels=6, out_channels=3, num_layers=2, norm=None, act=None)": (
        ROWS,
        nn.Sequential(LINEAR(8, 6), LINEAR(6, 3)),
    ),
    "MLP([8, 6], act='tanh', norm='layer_norm', bias=False, plain_last=False)": (
        ROWS,
        nn.Sequential(LINEAR(8, 6, False), nn.LayerNorm(6), nn.Tanh()),
    ),
}
PARALLEL: Rows = {
    "ColumnParallelLinear(8, 3, gather_output=False)": (ROWS, LINEAR(8, 3)),
    "RowParallelLinear(8, 3, bias=False)": (ROWS, LINEAR(8, 3, False)),
}
OPS: Rows = {
    "Conv2dNormActivation(8, 4)": (
        WIDE,
        nn.Sequential(CONV(8, 4, 3, 1, 1, bias=False), BN(4), nn.ReLU()),
    ),
    "Conv2dNormActivation(8, 4, (3, 5), 2, dilation=(2, 1), groups=2, activation_layer=nn.ELU)": (
        WIDE,
        nn.Sequential(CONV(8, 4, (3, 5), 2, 2, (2, 1), 2, False), BN(4), nn.ELU()),
    ),
    "Conv2dNormActivation(8, 4, 1, norm_layer=None, activation_layer=nn.GELU, inplace=None)": (
        WIDE,
        nn.Sequential(CONV(8, 4, 1), nn.GELU()),
    ),
    "Conv2dNormActivation(8, 4, padding=0, bias=True, activation_layer=None)": (
        WIDE,
        nn.Sequential(CONV(8, 4, 3), BN(4)),
    ),
    "Conv3dNormActivation(2, 4, (1, 3, 5))": (
        (1, 2, 3, 6, 7),
        nn.Sequential(
            nn.Conv3d(2, 4, (1, 3, 5), 1, (0, 1, 2), bias=False), nn.BatchNorm3d(4), nn.ReLU()
        ),
    ),
    "SqueezeExcitation(8, 3, scale_activation=nn.Hardsigmoid)": (
        WIDE,
        squeezed(3, nn.Hardsigmoid()),
    ),
    "MLP(8, [6, 3], dropout=0.1)": (
        ROWS,
        nn.Sequential(LINEAR(8, 6), nn.ReLU(), DROP, LINEAR(6, 3), nn.Dropout(0.1)),
    ),
    "MLP(8, [6, 3], nn.LayerNorm, nn.Tanh, bias=False)": (
        ROWS,
        nn.Sequential(LINEAR(8, 6, False), nn.LayerNorm(6), nn.Tanh(), LINEAR(6, 3, False)),
    ),
    "Permute((0, 2, 1))": (ROWS, Plain(lambda x: x.mT)),
    "FrozenBatchNorm2d(8)": (WIDE, BN(8)),
    "nn.Sequential(DropPath(0.1), StochasticDepth(0.1, 'row'))": (ROWS, nn.Identity()),
}
LIBRARIES = {
    "timm.layers": TIMM,
    "torchvision.models.resnet": TORCHVISION,
    "torchvision.ops.misc": OPS,
    "monai.networks.blocks": MONAI,
    "torch_geometric.nn": GRAPHS,
    "fairscale.nn.model_parallel": PARALLEL,
}


@lru_cache
def imported(library: str) -> tuple[Interpreter, Scope]:
    """Returns an interpretation behind an import of all that a library has."""
    machine, scope = new_machine(), Scope()
    lines = f"import torch\nfrom torch import nn\nfrom {library} import *"
    machine.run(ast.parse(lines).body, scope)
    scope.names = {**machine.known_file_values, **scope.names}
    return machine, scope


def interpreted(library: str, text: str) -> tuple[Interpreter, Any]:
    """Returns the value of an expression that has the names of a library."""
    machine, scope = imported(library)
    machine.tracing = False
    with deep():
        return machine, machine.value(ast.parse(text, mode="eval").body, scope)


UNSEEN = ("inplace", "p=0.0", "output_size", "start_dim")  # no settings, or seen in the numbers


def facts(model: nn.Module) -> list[str]:
    """Returns the settings of all layers, such as their strides."""
    every = (one.extra_repr().removesuffix(", inplace=True") for one in model.modules())
    return sorted(one for one in every if one and not one.startswith(UNSEEN))


def filled(model: nn.Module) -> nn.Module:
    """Gives a module numbers of its own, which depend on their order alone."""
    draw = torch.Generator().manual_seed(0)
    for part in model.modules():
        for name, own in part.named_parameters(recurse=False):
            setattr(part, name, nn.Parameter(torch.randn(own.shape, generator=draw) / 4))
    return model.eval()


@pytest.mark.parametrize(
    ("library", "text"), [(name, text) for name, rows in LIBRARIES.items() for text in rows]
)
def test_a_layer_of_a_library_gives_the_numbers_of_plain_torch(library: str, text: str) -> None:
    shape, plain = LIBRARIES[library][text]
    machine, own = interpreted(library, text)
    assert facts(own) == facts(plain)
    assert [p.shape for p in own.parameters()] == [p.shape for p in plain.parameters()]
    machine.tracing = True  # else a call of a layer is only noted
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    with deep(), torch.no_grad():
        torch.testing.assert_close(filled(own)(x), filled(plain)(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", COUNTS)
def test_a_published_network_has_its_published_parameters(name: str) -> None:
    model = interpreted("torchvision.models", f"{name}(weights=None, num_classes=7)")[1]
    others = 993 * (model.fc.in_features + 1)  # of the classes that are left out
    assert sum(one.numel() for one in model.parameters()) + others == COUNTS[name]


def test_a_published_network_has_the_classes_of_imagenet() -> None:
    for name in ("resnet18", "resnet34"):
        assert interpreted("torchvision.models", f"{name}()")[1].fc.out_features == 1000


VALUES: dict[str, dict[str, Any]] = {  # by a library: expressions, each with its value
    "timm.layers": {
        "[to_2tuple(3), to_2tuple([1, 2]), to_3tuple(3), to_3tuple((1, 2, 3)), to_ntuple(4)(5)]": [
            *((3, 3), (1, 2), (3, 3, 3), (1, 2, 3), (5, 5, 5, 5)),
        ],
        "[make_divisible(n) for n in (3, 12, 19, 20, 10, 45, 99)]": [8, 16, 24, 24, 16, 48, 96],
        "[make_divisible(10, 8, 24), make_divisible(10, 4)]": [24, 12],
        "make_divisible(10, 8, round_limit=0)": 8,
        "[get_padding(7), get_padding(3, 2), get_padding(3, 1, 2)]": [3, 1, 2],
        "[get_padding((3, 5), dilation=2), get_padding(3, [1, 4])]": [[2, 4], [1, 2]],
        "[PatchEmbed(32, (4, 8)).grid_size, PatchEmbed(32, (4, 8)).num_patches]": [(8, 4), 32],
        "[PatchEmbed(9, (4, 8)).feat_ratio(), PatchEmbed().feat_ratio(False)]": [8, (16, 16)],
        "[PatchEmbed().img_size, PatchEmbed(None).img_size]": [(224, 224), None],
        "[one.p for one in create_classifier(8, 3, drop_rate=0.2)[1:2]]": [0.2],
        "[create_aa(None, noop=None), create_attn('', 8), get_attn(None)]": [None] * 3,
        "[get_norm_act_layer(None), get_norm_layer(None)]": [None, None],
        "[calculate_drop_path_rates(0.1, 3), calculate_drop_path_rates(0.1, (1, 2), True)]": [
            *([0.0] * 3, [[0.0], [0.0, 0.0]]),
        ],
        "[use_fused_attn(), is_scripting(), is_tracing(), get_device_dtype(3)]": [False] * 3 + [{}],
        "[maybe_add_mask(3), maybe_add_mask(3, 4), checkpoint_seq([abs, float], -2)]": [3, 7, 2.0],
        "[Format.NCHW, Format.NLC, SelectAdaptivePool2d().feat_mult()]": ["NCHW", "NLC", 1],
        "[one.tolist() for one in ndgrid(torch.arange(2), torch.arange(3))]": [
            *([[0, 0, 0], [1, 1, 1]], [[0, 1, 2], [0, 1, 2]]),
        ],
        "build_model_with_cfg(lambda cfg, in_chans, num_classes: (cfg, in_chans, num_classes), "
        "'a', model_cfg=5, num_classes=7)": (5, 3, 7),
        "build_model_with_cfg(lambda **named: named, 'a', True, a=1)": {"a": 1},
    },
    "fairscale.nn.model_parallel": {
        "[get_model_parallel_world_size(), get_model_parallel_rank()]": [1, 0],
        "[one.padding_idx for one in (VocabParallelEmbedding(9, 4, 2), ParallelEmbedding(9, 4))]": [
            *(2, None),
        ],
    },
    "monai.networks.layers": {
        "[ensure_tuple_rep(3, 2), ensure_tuple_rep([1, 2], 2)]": [(3, 3), (1, 2)],
        "[ensure_tuple(3), ensure_tuple([1])]": [(3,), (1,)],
        "[same_padding(3), same_padding(5, 2), same_padding((3, 5, 7), 2)]": [1, 4, (2, 4, 6)],
        "[stride_minus_kernel_padding(1, 2), stride_minus_kernel_padding((1, 1, 1), (2, 1, 3))]": [
            *(1, (1, 0, 2)),
        ],
        "[Norm.BATCH, Act.PRELU, Norm['batch', 3] is nn.BatchNorm3d, Act['swish'] is nn.SiLU]": [
            *("batch", "prelu", True, True),
        ],
        "[look_up_option('a', {'a': 1}), look_up_option('a', ['a'])]": [1, "a"],
        "[one.tolist() for one in meshgrid_ij(torch.arange(2), torch.arange(1))]": [
            *([[0], [1]], [[0], [0]]),
        ],
    },
    "kornia.core.check": {
        "[KORNIA_CHECK_SHAPE(1, ['B']), KORNIA_CHECK_IS_TENSOR(2)]": [True, True],
        "is_compiling()": False,
    },
    "labml_nn.utils": {
        "[subsequent_mask(2).tolist(), len(clone_module_list(nn.ReLU(), 3))]": [
            *([[[True], [False]], [[True], [True]]], 3),
        ],
    },
    "packaging.version": {
        "[parse('2.13.0+cpu') >= parse('2.4'), Version('1.9') > version.parse('1.10')]": [
            *(True, False),
        ],
    },
}  # fmt: skip


@pytest.mark.parametrize(
    ("library", "text"), [(name, text) for name, rows in VALUES.items() for text in rows]
)
def test_an_expression_of_a_library_has_its_value(library: str, text: str) -> None:
    found = interpreted(library, text)[1]
    assert found == VALUES[library][text]
    assert type(found) is type(VALUES[library][text])


UNREAD = {  # what an import sets, if it is not known: its name, and why
    "import foo.bar as it": ("foo.bar", "the library foo.bar is not read"),
    "import foo as it": ("foo", "the library foo is not read"),
    "import torch.none as it": ("torch.none", "the library torch.none is not read"),
    "import torch.nn.none.more as it": (
        *("torch.nn.none.more", "the library torch.nn.none.more is not read"),
    ),
    "from foo.bar import it": ("it", "it is imported from foo.bar, which is not read"),
    "from ..bar import other as it": ("other", "it is imported from bar, which is not read"),
    "from . import it": ("it", "it is imported from another file, which is not read"),
    "from torch import zerros as it": ("torch.zerros", "it is not on the list; try zeros"),
    "from math import it": ("math.it", "it is not on the list"),
    "from timm.layers import it": ("timm.layers.it", "it of timm.layers is not read"),
    "from timm.layers import MLP as it": ("timm.layers.MLP", "MLP of timm.layers is not read"),
    "from timm import layers\nit = layers.other": (
        *("timm.layers.other", "layers of timm is not read"),
    ),
    "from foo import MLP as it": ("MLP", "it is imported from foo, which is not read"),
    "from foo import Permute as it": ("Permute", "it is imported from foo, which is not read"),
    "from functools import partial\nfrom foo import other\nit = partial(other, 3)": (
        *("other", "it is imported from foo, which is not read"),
    ),
}
READ = {  # what it sets: the name of a library, a class or a function
    "import torch.nn.functional as it": "torch.nn.functional",
    "import torch.nn.functional\nit = torch": "torch",
    "import numpy.random as it": "numpy.random",
    "from torch import nn as it": "torch.nn",
    "from torch.nn import functional as it": "torch.nn.functional",
    "import torchvision.models as it": "torchvision.models",
    "import timm\nit = timm": "timm",
    "from timm import models as it": "timm.models",
    "from foo import DropPath as it": "DropPath",
    "from torch_geometric.nn import MLP as it": "MLP",
    "from torchvision.ops import MLP as it": "MLP",
    "from .layers import Mlp as it": "Mlp",
    "from .models._builder import build_model_with_cfg as it": "build_model_with_cfg",
    "from .mlp import MLP as it": "MLP",
    "from timm.layers import make_divisible as it": "_make_divisible",
    "from torchvision.models import resnet18 as it": "resnet18",
}


@pytest.mark.parametrize("text", [*UNREAD, *READ])
def test_an_import_sets_what_is_known_or_says_why_it_is_not(text: str) -> None:
    machine, scope = new_machine(), Scope()
    machine.run(ast.parse(text).body, scope)
    found = scope.names["it"]
    assert isinstance(found, UnknownValue) == (text in UNREAD)
    wanted = UNREAD[text] if text in UNREAD else READ[text]
    assert ((found.name, found.reason) if text in UNREAD else found.name) == wanted


@pytest.mark.parametrize(("line", "file"), [("from .a.b import *", "a.b"), ("from . import *", "")])
def test_a_star_import_of_another_file_is_remembered(line: str, file: str) -> None:
    machine = new_machine()
    machine.run(ast.parse(line).body, Scope())
    assert machine.star_import == (file or "another file")


def test_what_is_written_here_takes_no_steps_of_a_source() -> None:
    machine, scope = new_machine(), Scope()
    assert machine.steps == 0
    machine.run(ast.parse("from timm.layers import Mlp").body, scope)
    assert machine.steps < 10
    assert not {"deepcopy", "add", "settings_of", "nn"} & {*machine.parts["timm"]}


def test_a_mistake_in_what_is_written_here_is_told_at_the_line_that_imports_it() -> None:
    text = "\n\nfrom timm.layers import PatchEmbed\n\nPatchEmbed(3, 0)"
    with pytest.raises(SourceException) as raised:
        machine = new_machine()
        machine.run(ast.parse(text).body, Scope())
    assert as_text_error(raised.value).line == 3
    text = "\nfrom foo import CfgNode\nCfgNode(a=1).merge_from_dict({3: 4})"
    with pytest.raises(SourceException) as raised:
        new_machine().run(ast.parse(text).body, Scope())
    assert as_text_error(raised.value).line == 1


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("import foo.bar as it", "foo.bar: the library foo.bar is not read"),
        ("from torch import none", "torch.none: it is not on the list"),
    ],
)
def test_a_library_that_need_not_be_there_is_missing(library: str, words: str) -> None:
    text = f"try:\n    {library}\n    it = 1\nexcept ImportError as error:\n    it = str(error)"
    scope = Scope()
    new_machine().run(ast.parse(text).body, scope)
    assert scope.names["it"].startswith(words)
