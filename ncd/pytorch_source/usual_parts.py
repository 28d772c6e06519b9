"""Small modules that many sources import from other files, such as ``DropPath``.

They are written here as a source, which is interpreted like that of a visitor.
"""

from __future__ import annotations

import ast

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Scope
from ncd.pytorch_source.usual.activations import ACTIVATIONS, PARALLEL

SOURCE = """
from torch import nn, Tensor

def to_2tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x)

def to_3tuple(x):
    return tuple(x) if isinstance(x, (list, tuple)) else (x, x, x)

def to_ntuple(n):
    return lambda x: tuple(x) if isinstance(x, (list, tuple)) else (x,) * n

_pair, _triple, _ntuple = to_2tuple, to_3tuple, to_ntuple

def exists(value):
    return value is not None

def default(value, other):
    return value if value is not None else other() if callable(other) else other

def trunc_normal_(tensor, *args, **named):
    return tensor

def lecun_normal_(tensor):
    return tensor

def _log_api_usage_once(value):
    return None

class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob = drop_prob
    def forward(self, x):
        return x

class StochasticDepth(nn.Module):
    def __init__(self, p, mode):
        super().__init__()
        self.p, self.mode = p, mode
    def forward(self, x):
        return x

def drop_path(x, *args, **named):
    return x

def stochastic_depth(input, *args, **named):
    return input

def _make_divisible(v, divisor=8, min_value=None):
    near = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return near + divisor if near < 0.9 * v else near

make_divisible = _make_divisible

class CfgNode:
    def __init__(self, **settings):
        self.merge_from_dict(settings)
    def merge_from_dict(self, settings):
        for name in settings:
            setattr(self, name, settings[name])

class WeightsEnum:
    @classmethod
    def verify(cls, value):
        return None

class ConvNormActivation(nn.Sequential):
    layer = nn.Conv2d
    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU, dilation=1, inplace=True,
                 bias=None):
        if padding is None:
            sides = zip(to_2tuple(kernel_size), to_2tuple(dilation))
            padding = tuple((k - 1) // 2 * d for k, d in sides)
            padding = padding[0] if isinstance(kernel_size, int) else padding
        bias = norm_layer is None if bias is None else bias
        parts = [self.layer(in_channels, out_channels, kernel_size, stride, padding,
                            dilation=dilation, groups=groups, bias=bias)]
        if norm_layer is not None:
            parts.append(norm_layer(out_channels))
        if activation_layer is not None:
            parts.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*parts)
        self.out_channels = out_channels

class Conv2dNormActivation(ConvNormActivation):
    pass

class Conv3dNormActivation(ConvNormActivation):
    layer = nn.Conv3d
    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm3d, activation_layer=nn.ReLU, **named):
        if padding is None:
            padding = tuple((k - 1) // 2 for k in to_3tuple(kernel_size))
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups,
                         norm_layer, activation_layer, **named)

class FrozenBatchNorm2d(nn.BatchNorm2d):
    pass

class SqueezeExcitation(nn.Module):
    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU,
                 scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()
    def forward(self, input):
        scale = self.fc2(self.activation(self.fc1(self.avgpool(input))))
        return self.scale_activation(scale) * input

class MLP(nn.Sequential):
    def __init__(self, in_channels, hidden_channels, norm_layer=None, activation_layer=nn.ReLU,
                 inplace=None, bias=True, dropout=0.0):
        settings = {} if inplace is None else {"inplace": inplace}
        parts = []
        for width in hidden_channels[:-1]:
            parts.append(nn.Linear(in_channels, width, bias=bias))
            if norm_layer is not None:
                parts.append(norm_layer(width))
            parts += [activation_layer(**settings), nn.Dropout(dropout, **settings)]
            in_channels = width
        parts += [nn.Linear(in_channels, hidden_channels[-1], bias=bias),
                  nn.Dropout(dropout, **settings)]
        super().__init__(*parts)

class Permute(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.dims = dims
    def forward(self, x):
        return x.permute(self.dims)
"""


def share(machine: Machine) -> None:
    """Makes these modules available to an interpretation, without counting steps."""
    scope = Scope()
    tree = ast.parse(SOURCE + ACTIVATIONS + PARALLEL)
    for node in ast.walk(tree):  # an error in one is told at the first line
        if isinstance(node, ast.stmt | ast.expr):
            node.lineno = node.end_lineno = 1
            node.col_offset = node.end_col_offset = 0
    machine.run(tree.body, scope)
    known = {*machine.libraries["torch.nn"].names, "nn", "Tensor"}
    machine.shared = {name: value for name, value in scope.names.items() if name not in known}
    machine.steps = 0
