"""Models on top of a course's or a training library, and layers that take any input."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.read.python_source.functions_and_classes import _shapes_alone
from ncd.read.python_source.source_reader import new_machine, read_source

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


POOLS = """
from timm.layers import EffectiveSEModule, create_pool2d
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rounded = create_pool2d("{kind}", kernel_size=3, stride=2, padding="same")
        self.plain = create_pool2d("{kind}", 3, 2)
        self.gate = EffectiveSEModule(8)
    def forward(self, x):
        return self.gate(self.rounded(x)), self.plain(x), self.rounded(x[..., :5])
1x8x6x7
"""


@pytest.mark.parametrize("kind", ["avg", "max"])
def test_a_pool_rounds_sizes_up_where_it_is_to_keep_them(kind: str) -> None:
    found = read_source(POOLS.format(kind=kind))
    assert found.shapes == ((1, 8, 3, 4), (1, 8, 3, 4), (1, 8, 3, 3))
    assert found.note == ""


def test_what_a_layer_gives_for_a_large_input_has_no_numbers_while_a_model_is_made() -> None:
    machine, layer = new_machine(), nn.Conv2d(3, 4, 3)
    found = _shapes_alone(machine, layer, (torch.zeros(1, 3, 256, 256),), {})
    assert found.shape == (1, 4, 254, 254) and found.untyped_storage().nbytes() == 4
    assert _shapes_alone(machine, layer, (torch.zeros(1, 3, 8, 8),), {}) is None
    assert _shapes_alone(machine, layer, (torch.zeros(1, 4, 256, 256),), {}) is None, "it stops"
