"""What whole files of published packages do: each kind by a small source, with torch's shapes."""

from __future__ import annotations

import pytest

from ncd.read.python_source.source_reader import read_source

IMPORTS = "import torch\nfrom torch import nn\n"
NET = """
class Net(nn.Module):
    def __init__(self{sizes}):
        super().__init__()
        {made}
    def forward(self, {inputs}):
        {body}
"""


def net(made: str, body: str, inputs: str = "x", sizes: str = "") -> str:
    lines = {"made": made, "body": body, "inputs": inputs, "sizes": sizes}
    return IMPORTS + NET.format(**lines)


ORDERED = net(
    "layers = OrderedDict[str, nn.Module]()\n"
    "        layers['a'] = nn.Linear(8, 4)\n"
    "        layers['b'] = nn.ReLU()\n"
    "        self.layers = nn.Sequential(layers)",
    "return self.layers(x)",
)
KINDS = {
    "layers in an OrderedDict": ("from collections import OrderedDict\n" + ORDERED, ((1, 4),)),
    "a name that a star imports": (
        "from .parts import *\n"
        + net("self.inc = DoubleConv(n_channels, 64)", "return self.inc(x)", sizes=", n_channels"),
        ((1, 64, 64, 64),),
    ),
    "a layer of another file in add_module": (
        "from other.layers import make_norm\n"
        + net("self.add_module('norm', make_norm(8))", "return self.norm(x)")
        + "1x8",
        ((1, 8),),
    ),
    "a module that is an argument": (
        net(
            "self.table, self.transformer = nn.Embedding(n_vocab, d_model), transformer\n"
            "        self.out = nn.Linear(d_model, n_vocab)",
            "return self.out(self.transformer(self.table(x)))",
            sizes=", n_vocab, d_model, transformer",
        ),
        ((1, 16, 1000),),
    ),
    "an argument whose hint is a class of another file, not a size": (
        "from other import AttentionLayers\n"
        + net(
            "self.first, self.layers = nn.Linear(8, attn_layers.dim), attn_layers",
            "return self.layers(self.first(x))",
            sizes=", attn_layers: AttentionLayers",
        ),
        ((1, 64),),
    ),
    "a box that gives several results": (
        "from other import Memory\n"
        + net(
            "self.memory = Memory(8)",
            "y, state = self.memory(x)\n        return y + state",
        )
        + "1x5x8",
        ((1, 5, 8),),
    ),
    "a dictionary as input": (
        net(
            "self.low, self.high = nn.Conv2d(low_channels, 5, 1), nn.Conv2d(high_channels, 5, 1)",
            "return self.low(input['low']) + self.high(input['high'])",
            inputs="input",
            sizes=", low_channels, high_channels",
        ),
        ((1, 5, 64, 64),),
    ),
    "a module without layers": (net("pass", "return x + y, x @ y.mT", "x, y"), None),
    "rows of a picture into an LSTM": (
        net(
            "self.rnn = nn.LSTM(28, 16, batch_first=True)\n        self.norm = nn.BatchNorm1d(16)",
            "y, _ = self.rnn(x.reshape(-1, 28, 28))\n        return self.norm(y[:, -1])",
        ),
        ((2, 16),),  # a batch norm in training takes no single example
    ),
    "input_size is the width of the first layer": (
        net("self.fc = nn.Linear(input_size, 10)", "return self.fc(x)", sizes=", input_size=784"),
        ((1, 10),),
    ),
    "labels that the classes ask for": (
        net(
            "self.num_classes, self.channels, self.image_size = num_classes, 3, 16\n"
            "        self.emb = nn.Linear(num_classes, 3)",
            "assert x.shape[1:] == (self.channels, self.image_size, self.image_size)\n"
            "        assert labels is not None\n"
            "        one = labels.float()[:, None].expand(-1, self.num_classes)\n"
            "        return x + self.emb(one)[:, :, None, None] + time.sum()",
            "x, time, self_cond=None, labels=None",
            ", num_classes",
        ),
        ((1, 3, 16, 16),),
    ),
    "what a script makes after a line that cannot be read": (
        net("self.fc = nn.Linear(size, 2)", "return self.fc(x)", sizes=", size")
        + "if __name__ == '__main__':\n    data = load('file')\n    model = Net(7)\n",
        ((1, 2),),
    ),
    "weights of 64 bits": (
        net("self.fc = nn.Linear(8, 2)", "return self.fc(x + torch.zeros(8).double())")
        + "model = Net()\nmodel.double()\n",
        ((1, 2),),
    ),
    "a function of another file whose name ends like a size": (
        "from other import modules\n"
        + net("self.norm = modules.get_norm_layer(8)", "return self.norm(x)")
        + "1x8",
        ((1, 8),),
    ),
    "an assertion about what is not known": (
        "from other import flag\n"
        + net("assert flag.ready()\n        self.fc = nn.Linear(8, 2)", "return self.fc(x)"),
        ((1, 2),),
    ),
    "channels that groups divide": (
        net(
            "self.norm = nn.GroupNorm(32, channels)\n        self.conv = nn.Conv2d(channels, 7, 1)",
            "return self.conv(self.norm(x))",
            sizes=", channels",
        ),
        ((1, 7, 64, 64),),
    ),
    "a class that is not to be made alone": (
        IMPORTS
        + "class Norm32(nn.GroupNorm):\n    def forward(self, x): return super().forward(x)"
        + net("self.norm = Norm32(2, 8)", "return self.norm(x)").removeprefix(IMPORTS)
        + "1x8x4x4",
        ((1, 8, 4, 4),),
    ),
    "the first layers of a network of torchvision": (
        "import torchvision\n"
        + net(
            "whole = torchvision.models.resnet18(weights=None)\n"
            "        self.body = nn.Sequential(*list(whole.children())[:-1])",
            "return self.body(x).flatten(1)",
        )
        + "1x3x64x64",
        ((1, 512),),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_published_files_is_read_with_the_shapes_of_torch(kind: str) -> None:
    source, shapes = KINDS[kind]
    reading = read_source(source)
    assert reading.failure is None
    assert shapes is None or reading.shapes == shapes
