"""What a source takes from other files: stand-ins, boxes with a name, usual sizes and inputs."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

from ncd.circuit.elaborate import elaborate
from ncd.language.op import Op
from ncd.notation.call_form import call_form
from ncd.ops import Linear, Opaque
from ncd.read.python_source.other_files import _widths
from ncd.read.python_source.source_reader import read_source
from ncd.read.recognise import Reading
from ncd.run.guard import ValuesEnd, check_calls

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
GRAPH = f"""{HEAD}from torch_geometric.nn import GCNConv
class Net(nn.Module):
    def __init__(self, in_channels, hidden_channels):
        super().__init__()
        self.conv = GCNConv(in_channels, hidden_channels)
        self.head = nn.Linear(hidden_channels, 5)
    def forward(self, x, edge_index):
        return self.head(F.relu(self.conv(x, edge_index)))
"""
BACKBONE = f"""{HEAD}from .encoder import Encoder
from helpers import pool
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(Encoder(8), nn.Linear(8, 3))
    def forward(self, x):
        return pool(self.parts(x))
2x8
"""
WRONG = BACKBONE.replace("nn.Linear(8, 3)", "nn.Linear(9, 3)")
TIMM = f"""{HEAD}from timm.layers import PatchEmbed, Mlp, DropPath, trunc_normal_
from timm.models.vision_transformer import Attention
class Net(nn.Module):
    def __init__(self, img_size=32):
        super().__init__()
        self.embed = PatchEmbed(img_size, 16, 3, 24)
        self.place = nn.Parameter(torch.zeros(1, self.embed.num_patches, 24))
        self.attend, self.mlp, self.drop = Attention(24, 4), Mlp(24, 48), DropPath(0.1)
        trunc_normal_(self.place, std=0.02)
    def forward(self, x):
        x = self.embed(x) + self.place
        x = x + self.drop(self.attend(x))
        return x + self.drop(self.mlp(x))
"""
LLAMA = f"""{HEAD}import fairscale.nn.model_parallel.initialize as fs_init
from fairscale.nn.model_parallel.layers import ColumnParallelLinear, RowParallelLinear
from transformers.activations import ACT2FN
class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.heads = 4 // fs_init.get_model_parallel_world_size()
        self.up = ColumnParallelLinear(dim, 3 * self.heads, bias=False, gather_output=False)
        self.down = RowParallelLinear(3 * self.heads, dim, bias=False, input_is_parallel=True)
        self.act = ACT2FN["silu"]
    def forward(self, x):
        return self.down(self.act(self.up(x)))
2x8
"""
INITIAL = f"""{HEAD}import numpy as np
class Net(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.layer = nn.Linear(dim, 3)
        self.table = nn.Parameter(torch.randn(5000, 3000))
        self.initialize_weights()
    def initialize_weights(self):
        grid = np.meshgrid(np.arange(4), np.arange(4))
        self.layer.weight.data.copy_(torch.from_numpy(grid.reshape(2, 4)))
    def forward(self, x):
        return self.layer(x)
2x6
"""
BASED = f"""{HEAD}from diffusers import ModelMixin
class Net(ModelMixin):
    def __init__(self, config):
        super().__init__(config)
        self.layer = nn.Linear(4, 2)
    def forward(self, x):
        return self.layer(x)
model = Net(None)
2x4
"""
DATASET = f"""{HEAD}from datasets import Cora
dataset = Cora("data")
class Net(nn.Module):
    def __init__(self, width=7):
        super().__init__()
        self.layer = nn.Linear(width, dataset.num_classes)
    def forward(self, x):
        return self.layer(x)
"""
TIMED = f"""{HEAD}
class Net(nn.Module):
    def __init__(self, dim, num_classes):
        super().__init__()
        self.first, self.time = nn.Conv2d(3, dim, 3, padding=1), nn.Linear(1, dim)
        self.names = nn.Embedding(num_classes, dim)
    def forward(self, x, t, y, mask=None):
        place = self.time(t[:, None]) + self.names(y)
        return self.first(x) + place[:, :, None, None]
"""
VIDEO = f"""{HEAD}from einops.layers.torch import Rearrange
class Net(nn.Module):
    def __init__(self, *, image_size, frames, dim, channels=2):
        super().__init__()
        self.embed = nn.Sequential(
            Rearrange("b c (f p) (h q) (w r) -> b (f h w) (p q r c)", p=4, q=16, r=16),
            nn.Linear(4 * 16 * 16 * channels, dim))
    def forward(self, video):
        return self.embed(video)
"""
DECODER = f"""{HEAD}
class Decoder(nn.Module):
    def __init__(self, encoder_channels):
        super().__init__()
        self.last = nn.ConvTranspose2d(encoder_channels[-1], encoder_channels[-2], 2, 2)
    def forward(self, features):
        return torch.cat([self.last(features[-1]), features[-2]], dim=1)
"""
SHAPES = {
    "graph": (GRAPH, (10, 5)),
    "backbone": (BACKBONE, (2, 3)),
    "timm": (TIMM, (1, 4, 24)),
    "llama": (LLAMA, (2, 8)),
    "initial": (INITIAL, (2, 3)),
    "based": (BASED, (2, 2)),
    "dataset": (DATASET, (1, 10)),
    "timed": (TIMED, (1, 64, 32, 32)),
    "video": (VIDEO, (1, 64, 64)),
    "decoder": (DECODER, (1, 512, 4, 4)),
}


def _ops(found: Reading) -> list[Op]:
    return [cell.op for cell in elaborate(found.term).cells]


def _read(name: str) -> Reading:
    return read_source(SHAPES[name][0])


@pytest.mark.parametrize("name", SHAPES)
def test_what_comes_out_has_the_shape_that_torch_gives(name: str) -> None:
    found = _read(name)
    assert found.failure is None
    assert found.shapes == (SHAPES[name][1],)


def test_a_module_of_another_file_is_a_box_without_values() -> None:
    found = _read("graph")
    boxes = [op for op in _ops(found) if isinstance(op, Opaque)]
    assert [box.title for box in boxes] == ["gcn_conv"]
    assert len(boxes[0].dom) == 2, "the nodes and the edges"
    assert found.note.endswith(
        "GCNConv is of another file: a box whose result is assumed to be like the input. "
        "Values end there."
    )
    with pytest.raises(ValuesEnd) as error:
        check_calls(elaborate(found.term))
    assert "values end here: it comes from another file" in str(error.value)


def test_boxes_in_a_row_and_of_a_function_are_named() -> None:
    found = _read("backbone")
    titles = [op.title for op in _ops(found) if isinstance(op, Opaque)]
    assert titles == ["encoder", "pool"]
    assert "Encoder, pool are of other files: boxes whose results are assumed" in found.note


def test_what_stops_behind_a_box_is_told_of_the_box() -> None:
    found = read_source(WRONG)
    assert found.failure is not None
    assert str(found.failure).startswith("line 9, column")
    assert "Encoder is not known here" in str(found.failure)
    titles = [op.title for op in _ops(found) if isinstance(op, Opaque)]
    assert titles == ["encoder"], "it is drawn up to the call that stops"


def test_stand_ins_are_whole_layers() -> None:
    ops = [type(op).__name__ for op in _ops(_read("timm"))]
    assert "Opaque" not in ops
    assert ops.count("Linear") == 4, "qkv, proj, fc1, fc2"
    assert sum(isinstance(op, Linear) for op in _ops(_read("llama"))) == 2


def test_assumed_sizes_and_inputs_are_told() -> None:
    assert "Cora(…)(num_classes=10) is taken" in _read("dataset").note
    given = "torch.randn(1, 3, 32, 32), torch.randn(1), torch.randint(10, (1,))"
    assert given in _read("timed").call.line
    assert "([torch.randn(1, 3, 64, 64), torch.randn(1, 64, 32, 32)," in _read("decoder").call.line


CLASSES = f"""{HEAD}
class Part(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, width)
    def forward(self, x):
        return self.layer(x)
class Net(nn.Module):
    def __init__(self, hidden_dim, num_layers):
        super().__init__()
        self.parts = nn.Sequential(*[Part(hidden_dim) for _ in range(num_layers)])
    def forward(self, x):
        return self.parts(x)
class Post(nn.Module):
    def forward(self, x):
        return x.softmax(-1)
class Wrapper(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model
    def forward(self, x):
        return self.model(x)
"""


def test_of_several_classes_the_most_complete_one_is_drawn() -> None:
    found = read_source(CLASSES.replace("class Post(nn.Module):", "class Post(Wrapped):"))
    assert found.call.line.startswith("Net(hidden_dim=64, num_layers=2)(")
    assert found.call.classes[:2] == ("Net", "Wrapper")


def test_a_class_that_cannot_be_made_is_told() -> None:
    text = CLASSES.partition("class Post")[0].replace("num_layers):", "num_layers, encoder_dim):")
    text = text.replace(
        "super().__init__()\n        self.parts", "raise ValueError('no')\n        x"
    )
    found = read_source(text)
    assert (
        "Net is not drawn: line 13: the assumed Net(hidden_dim=64, num_layers=2, encoder_dim=64) "
        "may not fit: ValueError: no."
    ) in found.note
    assert found.call.line == "Part(width=64)(torch.randn(1, 64))"


@pytest.mark.parametrize(
    ("args", "named", "widths"),
    [
        ((), {}, [0, 0]),
        ((8,), {"out_channels": 3}, [8, 3]),
        ((2, 3, 4), {}, [2, 3]),
        ((2, "mean", 4), {}, [2, 0]),
        ((True, 3), {}, [0, 0]),
        ((nn.Linear(4, 6),), {}, [4, 6]),  # it is led through layers that it is given
        ((), {"mlp": nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 7))}, [4, 7]),
        ((nn.ReLU(),), {"in_channels": 2}, [2, 0]),
        ((nn.Linear(4, 6),), {"in_channels": 2, "out_channels": 3}, [2, 3]),
    ],
)
def test_the_widths_of_a_layer_of_another_file(
    args: tuple[Any, ...], named: dict[str, Any], widths: list[int]
) -> None:
    assert _widths(args, named) == widths


POOLED = f"""{HEAD}from .layers import Pool, Gate
class Net(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.gate, self.pool, self.head = Gate(dim), Pool(), nn.Linear(dim, 10)
    def forward(self, x):
        return self.head(self.pool(self.gate(x)))
"""


def test_the_shape_of_what_a_box_gives_may_be_stated() -> None:
    found = read_source(f"{POOLED}Pool.result = torch.empty(3, 5, 64)\n")
    assert found.shapes == ((3, 5, 10),) and found.failure is None
    assert found.note == (
        ".layers.Gate, .layers.Pool are of other files: boxes whose results are assumed to be like "
        "the input, of Pool as a line states. Values end there."
    )
    (gate, pool) = [op for op in _ops(found) if isinstance(op, Opaque)]
    assert str(gate.cod) != str(pool.cod)


def test_a_box_stands_in_no_block_of_its_own() -> None:
    term = read_source(POOLED).term
    assert [type(part).__name__ for part in term.children] == ["Id", "Opaque", "Opaque", "Linear"]


def test_a_form_asks_for_what_boxes_give_and_reads_what_is_typed() -> None:
    form = call_form(POOLED, read_source(POOLED).call)
    names = ["result of Gate", "result of Pool", "x"]
    assert [(one.name, one.kind, one.assumed) for one in form.fields] == [
        (name, "shape", True) for name in names
    ]
    typed = [x if isinstance(x, str) else x.value.replace("10,", "7,") for x in form.parts]
    text = f"{POOLED}{''.join(typed)}\n"
    found = read_source(text)
    assert found.shapes == ((7, 10),) and found.call.line == ""
    again = call_form(text, found.call)  # in which all can be changed once more
    assert (again.first, again.last) == (form.first, form.first + 2)
    assert [(one.name, one.value) for one in again.fields] == [(name, "7, 64") for name in names]


def test_a_stated_result_keeps_its_field_while_others_are_assumed() -> None:
    found = read_source(f"{POOLED}Pool.result = torch.empty(2, 64)\nNet\n")
    fields = call_form(f"{POOLED}Pool.result = torch.empty(2, 64)\nNet\n", found.call).fields
    assert [(one.name, one.value, one.assumed) for one in fields] == [
        ("result of Gate", "10, 64", True),
        ("result of Pool", "2, 64", False),
        ("x", "10, 64", True),
    ]


def test_a_box_of_two_shapes_has_no_field() -> None:
    twice = POOLED.replace("self.gate(x)", "self.gate(self.gate(x).unsqueeze(0))")
    form = call_form(twice, read_source(twice).call)
    assert [one.name for one in form.fields] == ["result of Pool", "x"]


def test_a_stated_result_of_no_box_is_told() -> None:
    found = read_source(f"{POOLED}Poool.result = torch.empty(2, 64)\n")
    assert found.note.endswith("No box is called Poool, whose result is stated.")
    own = read_source(f"{POOLED}Net.result = torch.empty(2, 64)\n")  # an attribute of a class
    assert own.shapes == ((10, 10),) and "is stated" not in own.note
