"""What a source needs from other files or from data: it stays unknown until a number is needed."""

from __future__ import annotations

import ast
import math

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source import source_reader
from ncd.read.python_source.interpreter import STEPS, Scope
from ncd.read.python_source.source_reader import new_machine, read_source

HEAD = "import torch\nimport torch.nn as nn\nimport math\nimport numpy as np\n"


def net(init: str, forward: str, takes: str = "x", given: str = "") -> str:
    """Returns the source of a class with such bodies."""
    first = "".join(f"        {line}\n" for line in init.splitlines())
    last = "".join(f"        {line}\n" for line in forward.splitlines())
    return (
        f"class Net(nn.Module):\n    def __init__(self{given}):\n        super().__init__()\n"
        f"{first}    def forward(self, {takes}):\n{last}"
    )


GRAPH = net(
    "self.w = nn.Parameter(torch.empty(size=(in_features, n_hidden)))",
    "return torch.spmm(adj_mat, x @ self.w)",
    "x, adj_mat",
    ", in_features, n_hidden",
)
CASES = {
    "a model is made of the shape of loaded data": (
        f"{HEAD}from data import load\nfeatures, adjacency = load()\n{GRAPH}"
        "net = Net(features.shape[1], 8)\n",
        ((10, 8),),
        "Net(in_features=64) is taken, as not all sizes are given.",
    ),
    "a number is set by the branch of a choice": (
        f"{HEAD}import argparse\np = argparse.ArgumentParser()\np.add_argument('--data')\n"
        "opt = p.parse_args()\nif opt.data == 'colour':\n    nc = 3\n"
        "elif opt.data == 'grey':\n    nc = 1\n"
        + net("self.a = nn.Conv2d(nc, 8, 1)", "return self.a(x)")
        + "2x3x8x8",
        ((2, 8, 8, 8),),
        "nc is taken as 3, as it is not known.",
    ),
    "sizes are those of a part that is given": (
        HEAD
        + net(
            "self.encoder = encoder\nplaces, encoder_dim = encoder.pos_embedding.shape[-2:]\n"
            "self.patch = nn.Sequential(*encoder.to_patch[1:])\n"
            "self.out = nn.Linear(encoder_dim, 5)",
            "x = self.patch(x) + self.encoder.pos_embedding[:, 1:]\nreturn self.out(x)",
            given=", encoder",
        )
        + "2x7x64",
        ((2, 7, 5),),
        "encoder_dim is taken as 64, as it is not known.",
    ),
    "a condition asks another file": (
        f"{HEAD}from inspect import signature\n"
        + net(
            "self.short = 'x' in signature(net.forward).parameters\nself.net = net",
            "x = self.net(x)\nif self.short:\n    x = x[:, :1]\nreturn x",
            given=", net",
        )
        + "2x6",
        ((2, 6),),
        "signature(…).parameters is taken as false, as it is not known.",
    ),
    "what looks like a number is an object": (
        HEAD
        + net(
            "assert model.attn_layers.causal\nself.model = model\n"
            "self.out = nn.Linear(model.attn_layers.dim, 5)",
            "return self.out(self.model(x))",
            given=", model: nn.Module",
        )
        + "2x64",
        ((2, 5),),
        "model.attn_layers(dim=64) is taken",
    ),
    "an argument is a module because it is called": (
        HEAD + net("self.f = stem", "return self.f(x)", given=", stem") + "2x6",
        ((2, 6),),
        "stem is of another file: a box whose result is assumed to be like the input.",
    ),
    "a table of another file is given tokens": (
        f"{HEAD}from lora import Embedding\n"
        + net("self.t = Embedding(100, 6, r=4)", "return self.t(input_ids)", "input_ids"),
        ((1, 16, 6),),
        "Embedding is of another file",
    ),
    "the inner width of a layer is no width of its result": (
        f"{HEAD}from layers import DecoderLayer\nfrom parts import FeedForward\n"
        + net(
            "self.a, self.b = DecoderLayer(6, 24, 2), FeedForward(6, 24)",
            "return self.b(self.a(x))",
        )
        + "2x5x6",
        ((2, 5, 6),),
        "DecoderLayer, FeedForward are of other files",
    ),
    "a mask is filled with a number that is larger than whole ones": (
        HEAD
        + net("pass", "return torch.where(x > 0, x, -9e16 * torch.ones_like(x)).softmax(-1)")
        + "2x3",
        ((2, 3),),
        "",
    ),
    "a mask of a run that is only tried is not kept": (
        f"{HEAD}from parts import Encoder\n"
        + net(
            "self.l, self.a, self.mask = nn.Linear(6, 6), Encoder(6), None",
            "if self.mask is None:\n    self.mask = torch.ones(len(x), len(x)).tril().bool()\n"
            "return self.a(self.l(x), self.mask) + t",
            "x, t",
        ),
        None,
        "Encoder is of another file",
    ),
    "buffers of an unknown function are no arrays": (
        f"{HEAD}from tables import places\n"
        + net(
            "self.register_buffer('p', places(8))\nself.q = nn.Parameter(places(6))",
            "return x + self.p + self.q",
        )
        + "2x6",
        ((2, 6),),
        "places is of another file",
    ),
    "a linear layer of torch_geometric has weights": (
        f"{HEAD}from torch_geometric.nn.dense.linear import Linear\n"
        + net("self.a = Linear(6, 4)", "return x @ self.a.weight.t() + self.a.bias")
        + "2x6",
        ((2, 4),),
        "",
    ),
    "helpers have their usual meaning": (
        f"{HEAD}from .helpers import exists, default\n"
        + net(
            "self.a = nn.Linear(dim, default(out, lambda: 2 * dim))",
            "return self.a(x) if exists(x) else x",
            given=", dim=3, out=None",
        )
        + "2x3",
        ((2, 6),),
        "",
    ),
    "activations have names": (
        f"{HEAD}from timm.layers import get_act_layer\n"
        + net(
            "self.a = nn.Sequential(*(get_act_layer(n)() for n in "
            "('GELU', 'LeakyReLU', 'hard_swish', 'HardSigmoid')))",
            "return self.a(x)",
        )
        + "2x3",
        ((2, 3),),
        "",
    ),
    "bases of torch's layers stand in its files": (
        HEAD
        + net(
            "self.a = nn.BatchNorm1d(3)\nnorm = nn.modules.batchnorm._BatchNorm\n"
            "self.n = sum(isinstance(m, norm) for m in self.modules())\n"
            "self.b = nn.Linear(3, 3 * self.n)\n"
            "self.c = 2 if self.a.__class__.__name__.find('BatchNorm') != -1 else 1",
            "return torch.cat([self.b(self.a(x))] * self.c, dim=1)",
        )
        + "2x3",
        ((2, 6),),
        "",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_source_that_needs_other_files_is_drawn_and_says_what_is_assumed(name: str) -> None:
    source, shapes, note = CASES[name]
    found = read_source(source)
    assert found.failure is None
    assert shapes is None or found.shapes == shapes
    assert note in found.note


def test_a_loop_over_what_is_not_known_is_refused() -> None:
    source = f"{HEAD}from parts import sizes\n" + net(
        "self.a = nn.ModuleList([nn.Linear(2, 2) for n in sizes()])", "return x"
    )
    with pytest.raises(Exception, match=r"line 9, .*: sizes\(…\) is not known here"):
        read_source(source + "2x2")


def test_a_module_in_evaluation_that_cannot_be_drawn_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise TextError("it is too large to be drawn", 3, 1)

    monkeypatch.setattr(source_reader, "_in_its_mode", refused)
    with pytest.raises(TextError, match="it is too large to be drawn"):
        read_source("n = nn.Linear(2, 3)\nn.eval()\nn(torch.randn(4, 2))")


def test_a_table_of_positions_is_that_of_python() -> None:
    """Its numbers are computed in fewer steps than its formula has parts."""
    n, d, few = 500, 400, 30
    lists = f"[[p / np.power(1e4, 2 * (i // 2) / {d}) for i in range({d})] for p in range({n})]"
    more = f"[-(i ** 2) % 7 + math.sqrt(i) for i in range({few})]"
    machine, scope = new_machine(), Scope()
    machine.run(ast.parse(f"{HEAD}t = {lists}\nu = {more}").body, scope)
    parts = 10  # names, numbers and operators of an item
    assert n * d * parts > STEPS
    assert scope.names["u"] == [-(i**2) % 7 + math.sqrt(i) for i in range(few)]
    table = scope.names["t"]
    assert table == [[p / 1e4 ** (2 * (i // 2) / d) for i in range(d)] for p in range(n)]
