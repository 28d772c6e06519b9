"""What a source needs from other files or from data: it stays unknown until a number is needed."""

from __future__ import annotations

import ast
import math
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from torch import nn

import ncd
from ncd.errors import NCDError
from ncd.notation.term_reader import TextError
from ncd.read.python_source import input_search, source_reader
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
        "model.attn_layers(causal=True, dim=64) is taken",
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
    for end in ("\nn.eval()\n", "  # in training\n"):
        with pytest.raises(TextError, match="it is too large to be drawn"):
            read_source(f"n = nn.Linear(2, 3){end}n(torch.randn(4, 2))")


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ("import_folded", ValueError("it is odd\nat 3"), "it cannot be drawn: it is odd. "
         "Try smaller sizes."),
        ("import_folded", KeyError(), "it cannot be drawn: KeyError. Try smaller sizes."),
        ("import_folded", NCDError("no such op."), "no such op."),
        ("run_lines", RecursionError(), "it is nested too deep. Try shorter functions."),
    ],
)  # fmt: skip
def test_what_nobody_has_thought_of_is_told_in_words(
    place: str, error: Exception, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_reader, place, Mock(side_effect=error))
    with pytest.raises(TextError) as raised:
        read_source("n = nn.Linear(2, 3)\nn(torch.randn(4, 2))")
    assert str(raised.value) == f"line 1, column 1: {said}"


def test_a_part_whose_name_is_code_is_refused() -> None:
    model = nn.Sequential(nn.Linear(2, 3))
    source_reader._check_names(model)
    model[0].__dict__["a; b"] = 3
    with pytest.raises(TextError) as raised:
        source_reader._check_names(model)
    said = "line 1, column 1: 'a; b' is no name of a part of 0. Try letters and digits."
    assert str(raised.value) == said


def test_shapes_are_told_up_to_the_line_that_stops() -> None:
    lines = {7: ((1, 2),), 3: ((4,),), 9: ((5,), (6,))}
    found: Any = SimpleNamespace(term=SimpleNamespace(cod=[SimpleNamespace(shape=(8,))]))
    for line, told in (
        (0, lines),
        (4, lines),
        (7, {7: ((8,),)}),
        (9, {7: ((1, 2),), 3: ((4,),), 9: ((8,),)}),
    ):
        failure = TextError("it stops", line, 1) if line else None
        assert source_reader._up_to(failure, lines, found) == told


def test_a_table_of_positions_is_that_of_python() -> None:
    """Its numbers are computed in fewer steps than its formula has parts."""
    n, d, few = 250, 200, 30
    lists = f"[[p / np.power(1e4, 2 * (i // 2) / {d}) for i in range({d})] for p in range({n})]"
    more = f"[-(i ** 2) % 7 + math.sqrt(i) for i in range({few})]"
    machine, scope = new_machine(), Scope()
    machine.run(ast.parse(f"{HEAD}t = {lists}\nu = {more}").body, scope)
    parts = 10  # names, numbers and operators of an item
    assert n * d * parts > STEPS
    assert scope.names["u"] == [-(i**2) % 7 + math.sqrt(i) for i in range(few)]
    table = scope.names["t"]
    assert table == [[p / 1e4 ** (2 * (i // 2) / d) for i in range(d)] for p in range(n)]


# --- Parts in lists, choices and widths of boxes that a source leaves to others

PAIRS = """
class Pair(nn.Module):
    def __init__(self, f, g):
        super().__init__()
        self.f, self.g = f, g
    def forward(self, x):
        return self.g(self.f(x)) + x
class Stack(nn.Module):
    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleList([Pair(f, g) for f, g in blocks])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
"""
LOOP = """
class Stack(nn.Module):
    def __init__(self, layers, routes={}):
        super().__init__()
        self.layers = layers
    def forward(self, x):
        both = list(zip(self.layers, [{}] * len(self.layers)))
        for (f, g), named in both:
            x = g(f(x, **named)) + x
        return x
"""
STAGES = """
class Net(nn.Module):
    def __init__(self, in_channels, channels, strides: list[int]):
        super().__init__()
        sizes = [in_channels, *channels]
        self.layers = nn.Sequential(*[
            nn.Conv2d(sizes[i], sizes[i + 1], 3, stride=s, padding=1) for i, s in enumerate(strides)
        ])
    def forward(self, x):
        return self.layers(x)
"""
CHOICE = """
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        if kind == "wide":
            self.a = nn.Linear(dim, 48)
        elif kind == "narrow":
            self.a = nn.Linear(dim, 2)
        else:
            raise ValueError(kind)
    def forward(self, x):
        return self.a(x)
"""
CHECKED = """
from other.models import Language
class Trainer(nn.Module):
    def __init__(self, net):
        super().__init__()
        assert isinstance(net, Language), "it trains a Language"
        self.net = net
    def forward(self, x):
        return self.net(x).mean(dim=-1)
"""
FITTED = """
from other.parts import attended
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.out = nn.Linear(24, 48), nn.Linear(24, 6)
    def forward(self, x):
        return self.out(attended(self.q(x), x))
"""
GRAPH = """
from torch_geometric.nn import GINConv, MLP
class Net(nn.Module):
    def __init__(self, in_channels):
        super().__init__()
        self.a = GINConv(nn=MLP([in_channels, 24, 12]))
        self.b = MLP([12, 7])
    def forward(self, x, edge_index, batch_size: int):
        return self.b(self.a(x, edge_index))[:batch_size]
"""
ANY = """
class Net(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net
    def forward(self, *args, **named):
        return self.net(*args, **named)
"""
CLASSES = """
from other.norms import Norm
class Block(nn.Module):
    def __init__(self, dim, norm_layer=Norm):
        super().__init__()
        self.norm, self.a = norm_layer(dim), nn.Linear(dim, 5)
    def forward(self, x):
        return self.a(self.norm(x))
class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.block = Block(dim, norm_layer=Norm)
    def forward(self, x):
        return self.block(x)
"""
LENGTH = """
class Net(nn.Module):
    def __init__(self, dim, seq_len):
        super().__init__()
        self.a, self.mix = nn.Linear(dim, 6), nn.Parameter(torch.randn(seq_len, seq_len))
    def forward(self, x):
        return torch.einsum("b n d, m n -> b m d", self.a(x), self.mix)
"""
PATCHES = """
from einops.layers.torch import Rearrange
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(
            Rearrange("b c (h p) (w q) -> b (c p q) h w", p=4, q=4), nn.Conv2d(48, 6, 1),
            nn.AdaptiveAvgPool2d(1),
        )
    def forward(self, x):
        x = self.a(x)
        return x.flatten(1)
"""
TURNED = """
from einops.layers.torch import Reduce
class Net(nn.Sequential):
    def __init__(self, dim):
        super().__init__(nn.Linear(dim, 6), Reduce("b n c -> b c", "mean"))
"""
LEFT = {
    "a layer of einops that takes three axes": (TURNED, ((1, 6),)),
    "channels of patches of a picture": (PATCHES, ((1, 6),)),
    "pairs of modules in a list": (PAIRS, ((1, 16, 64),)),
    "pairs of modules that a forward takes apart": (LOOP, ((1, 16, 64),)),
    "sizes for each stage": (STAGES, None),
    "a choice by a text": (CHOICE, ((1, 48),)),
    "a check of a class of another file": (CHECKED, None),
    "a box before a layer": (FITTED + "Net()(torch.randn(2, 5, 24))", ((2, 5, 6),)),
    "rows of a graph, and a whole number": (GRAPH, ((4, 7),)),
    "any inputs": (ANY, None),
    "a class of another file is no number": (CLASSES, ((10, 5),)),
    "a length that a setting fixes": (LENGTH, ((1, 32, 6),)),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_source_that_leaves_parts_to_others_is_drawn_whole(name: str) -> None:
    source, shapes = LEFT[name]
    found = read_source(HEAD + source)
    assert found.failure is None
    assert found.shapes and (shapes is None or found.shapes == shapes)


def test_the_width_that_a_layer_fixes_is_said_of_its_box() -> None:
    found = read_source(HEAD + FITTED + "Net()(torch.randn(2, 5, 24))")
    assert "in attended with the width that the next layer takes. Values end there." in found.note


OWN = """
from collections import namedtuple
from typing import NamedTuple
Sides = namedtuple("Sides", "low high", defaults=[2.0])
class Both(NamedTuple):
    one: torch.Tensor
    two: torch.Tensor
class Kept(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sides):
        ctx.save_for_backward(x)
        return x.clamp(sides.low, sides.high) * 3
    @staticmethod
    def backward(ctx, grad):
        return grad, None
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 3)
    def forward(self, x):
        low, high = Sides(-1.0)
        both = Both(self.a(x), two=Kept.apply(self.a(x), Sides(**Sides(low)._asdict())))
        return both.one + both[1] * high
3x4
"""


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.a(x)
        return y + 2 * 3 * y.clamp(-1.0, 2.0)


def test_named_tuples_and_functions_with_gradients_of_their_own_run_as_in_torch() -> None:
    found = read_source(HEAD + OWN)
    plain = Plain()
    x = torch.randn(3, 4)
    module = ncd.compile(found.term)
    module.load_state_dict(dict(zip(module.state_dict(), plain.state_dict().values(), strict=True)))
    torch.testing.assert_close(module(x), plain(x))
    assert "Kept is drawn by its forward: the gradient that it has of its own" in found.note


def test_many_numbers_of_a_constant_are_written_with_the_digits_that_tell_them_apart() -> None:
    table = "self.register_buffer('t', torch.arange(6400.).reshape(80, 80).sin() / 3)"
    found = read_source(
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        {table}\n    def forward(self, x):\n        return x + self.t\n80x80"
    )
    x = torch.randn(80, 80)
    expected = x + torch.arange(6400.0).reshape(80, 80).sin() / 3
    torch.testing.assert_close(ncd.compile(found.term)(x), expected, rtol=0, atol=0)
    assert len(str(found.term)) < 6400 * 16


def test_another_class_is_drawn_where_one_depends_on_other_files_and_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(input_search, "SECONDS", 0.1)  # no input is found
    inner = "class Rows(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
    inner += (
        "        self.a = nn.Linear(dim, 3)\n    def forward(self, x):\n        return self.a(x)\n"
    )
    whole = "class Net(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
    whole += "        self.a = Rows(dim)\n    def forward(self, x):\n"
    whole += "        raise ValueError('no picture')\n"
    found = read_source(f"{HEAD}from other.parts import helper\n{inner}{whole}")
    assert found.shapes == ((1, 3),)
    assert found.note == "Net is not drawn: line 17: ValueError: no picture."
    with pytest.raises(TextError, match=r"line 16, .*: ValueError: no picture") as raised:
        read_source(HEAD + inner + whole)  # which stands whole in the source
    assert raised.value.call is not None
    assert raised.value.call.line == "Net(dim=64)(torch.randn(1, 64))"
    assert raised.value.call.assumed == ("dim", "x")


def test_a_star_import_hands_on_the_standard_library_and_its_own_base_begins_itself() -> None:
    source = "from other.layers import *\nimport torch.nn as nn\nclass Net(Module):\n"
    source += (
        "    def __init__(self):\n        parts = OrderedDict(a=nn.Linear(4, 3), b=nn.ReLU())\n"
    )
    source += "        self.both = nn.Sequential(parts)\n    def forward(self, x):\n"
    found = read_source(source + "        return self.both(x)\n2x4")
    assert (found.shapes, found.note) == (((2, 3),), "")


def test_a_name_of_a_library_that_is_tried_is_a_box_and_what_torch_loads_is_not_known() -> None:
    source = "try:\n    from other.parts import Gate\nexcept ImportError:\n    pass\n"
    source += "class Net(nn.Module):\n    def __init__(self, path):\n        super().__init__()\n"
    source += "        self.layer, self.gate = nn.Linear(4, 3), Gate(3)\n"
    source += "        self.kept = torch.load(open(path))\n"
    found = read_source(
        f"{source}    def forward(self, x):\n        return self.gate(self.layer(x))"
    )
    assert found.shapes == ((1, 3),)
    assert "Gate is of another file: a box" in found.note


def test_a_block_that_adds_its_input_has_equal_widths() -> None:
    source = "class Block(nn.Module):\n    def __init__(self, in_channels, out_channels):\n"
    source += "        super().__init__()\n"
    source += "        self.map = nn.Conv1d(in_channels, out_channels, 3, padding=1)\n"
    source += "    def forward(self, x):\n        return {}self.map(x)\n"
    found = read_source(source.format("x + "))
    assert found.call.line == ("Block(in_channels=64, out_channels=64)(torch.randn(1, 64, 16))")
    assert found.failure is None and found.shapes == ((1, 64, 16),)
    assert read_source(source.format("")).shapes == ((1, 8, 16),), "where they may differ, they do"


def test_what_makes_a_list_of_one_thing_or_several_is_taken_as_that_list() -> None:
    source = "from .utils import *\nclass Net(nn.Module):\n    def __init__(self, sizes=6):\n"
    source += "        super().__init__()\n        sizes = listify(sizes) + listify([5, 4])\n"
    source += "        self.maps = nn.Sequential(*[nn.Linear(8, n) for n in sizes[:1]])\n"
    source += "        self.count = len(sizes)\n    def forward(self, x):\n"
    found = read_source(f"{source}        return self.maps(x) * self.count\n2x8")
    assert found.shapes == ((2, 6),)
    assert "listify(…) is taken as [5, 4], as it is not known." in found.note
    assert "$1 * 3" in repr(found.term)


OWN_GRADIENTS = """
class Twice(torch.autograd.Function):
    @classmethod
    def scaled(cls, x):
        return x * 2
    @classmethod
    def forward(cls, ctx, x, dim):
        return cls.scaled(x).sum(dim)
class Thrice(Twice):
    @classmethod
    def scaled(cls, x):
        return super().scaled(x) * 1.5
    @classmethod
    def forward(cls, ctx, x):
        return super().forward(ctx, x, dim=1)
class Net(nn.Module):
    def forward(self, x):
        return Thrice.apply(x)
Net()(torch.randn(2, 5, 3))
"""


def test_a_function_that_extends_one_with_a_gradient_of_its_own_is_itself() -> None:
    found = read_source(OWN_GRADIENTS)
    x = torch.randn(2, 5, 3)
    assert found.shapes == ((2, 3),)
    assert torch.allclose(ncd.compile(found.term)(x), 3 * x.sum(1), atol=1e-5)


def test_private_names_are_those_of_their_class() -> None:
    source = """
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.__scale = 2
    def __scaled(self, x):
        return x * self.__scale
    def forward(self, x):
        return self.__scaled(x)
class Net(Base):
    def __init__(self):
        super().__init__()
        self.__scale = 5
    def __scaled(self, x):
        return x * 7
    def forward(self, x):
        return super().forward(x) + self.__scale
Net()(torch.randn(3, 4))
"""
    x = torch.randn(3, 4)
    assert torch.allclose(ncd.compile(read_source(source).term)(x), 2 * x + 5)


@pytest.mark.parametrize(
    "test",
    [
        "torch.isnan(x).any() or torch.isinf(x).any()",
        "not torch.isfinite(x).all()",
        "x.isnan().any()",
        "torch.any(torch.isnan(x))",
    ],
)
def test_a_test_for_numbers_that_are_none_fails_and_is_told(test: str) -> None:
    found = read_source(f"""class Net(nn.Module):
    def forward(self, x):
        if {test}:
            raise ValueError("no numbers")
        return x[:1] * 2
Net()(torch.randn(2, 3))
""")
    assert found.failure is None and found.shapes == ((1, 3),)
    told = "Whether a number is NaN or infinite is taken as false, as it is not known."
    assert found.note == told


def test_a_condition_on_other_numbers_is_still_refused() -> None:
    text = "class Net(nn.Module):\n    def forward(self, x):\n        if (x > 3).any():\n"
    with pytest.raises(TextError, match="depends on the numbers of a tensor"):
        read_source(f"{text}            return x\n        return x * 2\nNet()(torch.randn(2, 3))")


# --- Excerpts that leave their imports out are read with the usual ones

EXCERPT = """
@dataclass
class Config:
    width: int = 6
class Net(pl.LightningModule):
    def __init__(self, settings: Optional[Config] = None):
        super().__init__()
        norm = partial(nn.LayerNorm, eps=1e-6)
        self.score = Accuracy(task="multiclass")
        self.net = nn.Sequential(OrderedDict([("a", nn.Linear(6, 4)), ("b", norm(4))]))
    def forward(self, x):
        return self.net(rearrange(x, "b (h d) -> b (d h)", h=2)) * np.sqrt(2)
"""


def test_what_an_excerpt_does_not_import_is_known_by_its_usual_name() -> None:
    assert read_source(f"{EXCERPT}2x6").shapes == ((2, 4),)
    options = (
        "p = ArgumentParser()\np.add_argument('--n', type=int, default=5)\na = p.parse_args()\n"
    )
    assert read_source(f"{options}nn.Linear(a.n, 3)\n2x5").shapes == ((2, 3),)


def test_a_name_that_nothing_sets_is_an_error_unless_it_is_a_class_of_an_excerpt() -> None:
    net = "class Head(nn.Module):\n    def __init__(self, weight=3):\n        super().__init__()\n"
    end = "        self.own = {}\n    def forward(self, x):\n        return x\n2x3"
    for name, cure in (("wieght", "weight"), ("Haed", "Head"), ("zzz", "a name that is set above")):
        with pytest.raises(TextError, match=f"nothing called '{name}'. Try {cure}"):
            read_source(net + end.format(name))
    assert read_source(net + end.format("Accuracy(3)")).shapes == ((2, 3),)
    with pytest.raises(TextError, match="nothing called 'Accuracy'"):
        read_source(f"import torch\nfrom torch import nn\n{net}{end.format('Accuracy(3)')}")


def test_a_layer_for_which_torch_has_no_rule_of_shapes_has_no_op() -> None:
    text = (
        "nn.CTCLoss()(torch.randn(9, 6, 5), torch.ones(6, 3).long(), torch.ones(6), torch.ones(6))"
    )
    assert "CTCLoss has no op in a diagram" in str(read_source(f"loss = {text}").failure)
