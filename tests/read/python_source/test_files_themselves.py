"""What a file itself tells of its model: examples in docstrings, own forwards, tables, bases."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from ncd.read.python_source.source_reader import read_source

OTHERS = "import torch\nfrom torch import nn\nfrom others import thing\n"
EXAMPLE = (
    OTHERS
    + '''
class Net(nn.Module):
    """A layer of another width.

    >>> from somewhere import Net
    >>> net = Net(width=7,
    ...           depth={depth})
    >>> net(torch.rand([4, 9, {given}])).shape
    torch.Size([4, 9, 5])
    """
    def __init__(self, width, depth):
        super().__init__()
        assert depth < 9
        self.a = nn.Linear(width, 5)
    def forward(self, x):
        return self.a(x)
'''
)
CHOICE = (
    OTHERS
    + """
class Part(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.forward = self.twice if way == "twice" else self.once
    def once(self, x):
        return x
    def twice(self, x):
        return torch.cat([x, x], 1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Part("twice"), Part("once")
    def forward(self, x):
        return self.b(self.a(x))
Net()(torch.randn(2, 8))
"""
)
TABLE = (
    OTHERS
    + """
KINDS = {"wide": 8, "narrow": 2}
class Net(nn.Module):
    def __init__(self, dim, mode):
        super().__init__()
        self.a = nn.Linear(dim, KINDS[mode])
    def forward(self, x):
        return self.a(x)
"""
)
BASES = (
    OTHERS
    + """
class Base(nn.Module):
    def __init__(self, c_in, c_out, wide=False):
        super().__init__()
        self.a = nn.Linear(c_in, 9 if wide else c_out)
    def forward(self, x):
        return self.a(x)
class Net(Base):
    def __init__(self, *args, wide=True, **kwargs):
        super().__init__(*args, wide=wide, **kwargs)
"""
)
OF_ANOTHER_FILE = """
import torch
from torch import nn
from others import Base
class Net(Base):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.head = nn.Linear(self.embed_dim, 5)
    def forward(self, x):
        return self.head(x)
"""
KEPT = """
import torch
from torch import nn
from others import Base
class Net(Base):
    def __init__(self, in_features=16, both=True, encoder=None):
        super().__init__(in_features, both, encoder)
        self.head = nn.Linear(self.in_features, 5)
    def forward(self, x):
        return (self.head(self.encoder(x)), x) if self.both else x
"""
GRAPH = """
import torch
from torch import nn
from torch_geometric.nn import GCN2Conv, max_pool
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.conv = nn.Linear(7, 32), GCN2Conv(32, 0.5, 1.0, 1)
    def forward(self, data):
        data = max_pool(0.5, data)
        return self.conv(self.first(data.x), data.edge_index)
Net()
"""
ROWS = (
    OTHERS
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 3)
    def forward(self, x, edge_index, root_n_id):
        source, target = edge_index
        return self.a(x[source] + x[target]).sum(0) + self.a(x[root_n_id])
Net()
"""
)
MEDICAL = """
import torch
from torch import nn
from monai.networks.blocks import Convolution
from monai.networks.layers import Norm, get_pool_layer
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Convolution(3, 2, 8, strides=2, act=("leakyrelu", {"negative_slope": 0.1}))
        self.b = Convolution(3, 8, 4, strides=2, is_transposed=True, norm="batch", dropout=0.1)
        self.n, self.p = Norm[Norm.GROUP](2, 4), get_pool_layer(("max", {"kernel_size": 4}), 3)
    def forward(self, x):
        return self.p(self.n(self.b(self.a(x))))
Net()(torch.randn(1, 2, 8, 8, 8))
"""
NUMPY = (
    OTHERS
    + """
import numpy as np
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        sides = np.atleast_1d(3)
        width = np.clip(40, 2, 12) + np.maximum(1, 2) + np.mod(7, 4)
        self.a = nn.Conv2d(3, width, tuple(int(n) for n in sides)[0])
    def forward(self, x):
        return self.a(x)
Net()(torch.randn(1, 3, 8, 8))
"""
)
FUNCTION = (
    OTHERS
    + """
from einops.layers.torch import Rearrange
class Times(nn.Module):
    def __init__(self, dim, factor):
        super().__init__()
        self.factor = factor
    def forward(self, x):
        return self.factor * x
def make_net(image_size, time_size, patch_size, dim):
    patches = (image_size // patch_size) ** 2 * time_size // 4
    return nn.Sequential(
        Rearrange("b c (t a) (h p) (w q) -> b (t h w) (p q a c)", a=4, p=patch_size, q=patch_size),
        nn.Linear(3 * 4 * patch_size**2, dim),
        nn.Conv1d(patches, 5, 1),
        Times(dim, 2),
    )
"""
)
EVALUATION = (
    OTHERS
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 3)
    def forward(self, x, y):
        if self.training:
            raise ValueError("another loss is given")
        return self.a(x) + self.a(y)
"""
)
FUNCTION_GIVEN = (
    OTHERS
    + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.rand(1, 3).erfinv_())
    def forward(self, x):
        def inverse(y):
            return y / self.a
        return x * self.a, inverse
Net()(torch.randn(2, 3))
"""
)
SHAPES = {
    "an example in a docstring": (EXAMPLE.format(depth=3, given=7), ((4, 9, 5),)),
    "an example that stops": (EXAMPLE.format(depth=3, given=6), ((1, 5),)),
    "an example that makes nothing": (EXAMPLE.format(depth=9, given=7), ((1, 5),)),
    "a forward that is set": (CHOICE, ((2, 16),)),
    "a key of a table": (TABLE, ((1, 8),)),
    "arguments of a base": (BASES, ((1, 9),)),
    "a size of a base in another file": (OF_ANOTHER_FILE, ((1, 5),)),
    "an object of arrays": (GRAPH, ((10, 32),)),
    "an argument that a base in another file keeps": (KEPT, ((1, 5), (1, 16))),
    "rows by whole numbers": (ROWS, ((10, 3),)),
    "factories of medical images": (MEDICAL, ((1, 4, 2, 2, 2),)),
    "numbers of numpy": (NUMPY, ((1, 17, 6, 6),)),
    "a pattern of a function": (FUNCTION, ((1, 5, 64),)),
    "a function beside an array": (FUNCTION_GIVEN, ((2, 3),)),
    "a module that only runs in evaluation": (EVALUATION, ((1, 3),)),
}


@pytest.mark.parametrize("name", SHAPES)
def test_what_a_file_tells_of_its_model_gives_the_shapes_of_torch(name: str) -> None:
    text, shapes = SHAPES[name]
    reading = read_source(text)
    assert (reading.shapes, reading.failure) == (shapes, None)


# Files as packages have them: what their classes are made with and called on is assumed.
ASSUMED = {
    "settings whose default is None": (
        """
kinds = {"small": 4, "wide": 9}
class Net(nn.Module):
    def __init__(self, params=None):
        super().__init__()
        self.a = nn.Linear(6, kinds[params.kind])
        self.b = nn.Linear(kinds[params.kind], params.num_classes)
    def forward(self, x):
        return self.b(self.a(x))
""",
        ((1, 10),),
        "kind='small', num_classes=10",
    ),
    "settings as a dictionary": (
        """
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.a = nn.Linear(config["hidden_size"], 5 if config.twice or not config.thrice else 7)
    def forward(self, x):
        return self.a(x)
""",
        ((1, 5),),
        "hidden_size=64, twice=False, thrice=False",
    ),
    "a layer of torch without an __init__": (
        """
class Norm(nn.LayerNorm):
    def forward(self, x):
        b, n, d = x.shape
        return super().forward(x) + d
""",
        ((1, 16, 64),),
        "Norm(normalized_shape=64)",
    ),
    "a layer of torch that is handed all arguments": (
        """
class Scaled(nn.Conv2d):
    def __init__(self, *args, gain=2, **kwargs):
        super(Scaled, self).__init__(*args, **kwargs)
        self.gain = gain
    def forward(self, x):
        return super().forward(x) * self.gain
""",
        ((1, 8, 62, 62),),
        "Scaled(in_channels=3, out_channels=8, kernel_size=3)",
    ),
    "two choices, one of which must be taken": (
        """
class Net(nn.Module):
    def __init__(self, dim, first=False, second=False):
        super().__init__()
        assert first ^ second
        self.a = nn.Linear(dim, 3 if first else 5)
    def forward(self, x):
        return self.a(x)
""",
        ((1, 3),),
        "Net(dim=64, first=True)",
    ),
    "an odd size, and a share over 0": (
        """
class Net(nn.Module):
    def __init__(self, drop_prob, block_size):
        super().__init__()
        assert block_size % 2 == 1, "block_size must be odd"
        assert 0 < drop_prob <= 1
        self.a = nn.Conv2d(3, 4, block_size)
    def forward(self, x):
        return self.a(x)
""",
        ((1, 4, 34, 34),),
        "Net(drop_prob=0.1, block_size=31)",
    ),
    "an optional input that is asked for": (
        """
class Net(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, 3)
    def forward(self, x, latents=None, mask=None):
        assert latents is not None, "the latents are to be passed in"
        return self.a(x @ latents.transpose(1, 2) @ latents)
""",
        ((1, 16, 3),),
        "Net(dim=64)(torch.randn(1, 16, 64), torch.randn(1, 16, 64))",
    ),
    "a part of a class that is too large": (
        """
class Part(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.a = nn.Linear(dim, 3)
    def forward(self, x):
        return self.a(x)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part(6)
    def forward(self, x):
        return self.part(x) * torch.randn(200000, 200000).sum()
""",
        ((1, 3),),
        "Part(dim=6)",
    ),
    "modules that are kept together": (
        """
class Net(nn.Module):
    def __init__(self, flow, jump):
        super().__init__()
        self.flow, self.jump = flow, jump
    def forward(self, x):
        return self.flow(torch.zeros(len(x), self.jump.hidden_size) + self.jump(x).sum())
""",
        ((1, 64),),
        "Net(flow=nn.Module(), jump=nn.Module())",
    ),
    "whole numbers below the rows that are taken by them": (
        """
class Net(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.a = nn.Parameter(torch.zeros(num_tags, num_tags))
    def forward(self, emissions, tags):
        if emissions.shape[:2] != tags.shape:
            raise ValueError(f"{tuple(emissions.shape[:2])} and {tuple(tags.shape)} must match")
        return emissions @ self.a + self.a[tags]
""",
        ((1, 16, 4),),
        "torch.randint(4, (1, 16))",
    ),
}


@pytest.mark.parametrize("name", ASSUMED)
def test_what_a_file_leaves_open_is_assumed(name: str) -> None:
    text, shapes, words = ASSUMED[name]
    reading = read_source(OTHERS + text)
    assert (reading.shapes, reading.failure) == (shapes, None)
    assert words in reading.call.line


LINES = {  # of an ``__init__`` or a ``forward``, by what they set
    "os.environ": ("import os", 'n = 3 if os.environ.get("FAST") == "1" else 5', "y = self.a(x)"),
    "a default of another file": (
        "from config import setting",
        'n = setting("WIDTH", cast=int, default=5)',
        "y = self.a(x)",
    ),
    "a gradient in a forward": (
        "from torch import autograd",
        "n = 5",
        "y = self.a(x); g, = autograd.grad(y.sum(), x); y = y * g.norm(2, 1, True)",
    ),
    "one process": (
        "import torch.distributed as dist",
        "n = 5 * dist.get_world_size() if dist.get_rank() == 0 else 3",
        "y = x if dist.is_initialized() else self.a(x)",
    ),
    "a function for a value": (
        "from inspect import isclass, isfunction",
        "n = 5 if isclass(nn.ReLU) and not isclass(3) else 4",
        "f = lambda: 1; y = self.a(x) + (f() if isfunction(f) and not isfunction(self.a) else f)",
    ),
    "a name of torch": ("", 'n = 5 if "sigmoid" in dir(torch) else 3', "y = self.a(x)"),
    "a result with names": (
        "from others import Encoder",
        "n = 5; self.e = Encoder(8)",
        'y = self.a(self.e(x).embedding + self.e(x)["rows"])',
    ),
    "gradients that are set": (
        "",
        "n = 5",
        "with torch.set_grad_enabled(True):\n            y = self.a(x)",
    ),
    "a new array": ("", "n = 5", "y = self.a(x) + x.new(2, 5).zero_() + x.new(x.size()).sum()"),
    "a condition of bytes": ("", "n = 5", "y = torch.where((x > 0).byte(), x, 0 * x)[:, :5]"),
    "several rearrangements": (
        "from einops_exts import rearrange_many",
        "n = 5",
        'u, v = rearrange_many((x, x), "b (h d) -> b h d", h=2); y = self.a(u.flatten(1) * x)',
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_of_files_are_read(name: str) -> None:
    top, first, run = LINES[name]
    text = f"""{OTHERS}{top}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        {first}
        self.a = nn.Linear(8, n)
    def forward(self, x):
        {run}
        return y
Net()(torch.randn(2, 8))"""
    reading = read_source(text)
    assert (reading.shapes, reading.failure) == (((2, 5),), None)


PENALTY = (
    OTHERS
    + """
class Penalty(nn.Module):
    def forward(self, x, f):
        g, *_ = torch.autograd.grad(outputs=f, inputs=x, grad_outputs=f.new_ones(f.shape))
        return ((g.reshape(len(x), -1).norm(2, dim=-1) - 1) ** 2).mean(), g
Penalty()(torch.randn(4, 3, 8, 8), torch.randn(4, 1))
"""
)


def test_a_gradient_in_a_forward_is_a_box_that_is_told_of() -> None:
    reading = read_source(PENALTY)
    assert (reading.shapes, reading.failure) == (((), (4, 3, 8, 8)), None)
    assert "torch.autograd.grad is a box with the shapes of its inputs." in reading.note


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("more", ["", ", 2, bidirectional=True", ", batch_first=True"])
def test_a_recurrent_layer_has_the_shapes_of_torch_in_a_search(kind: str, more: str) -> None:
    text = f"""{OTHERS}
class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.{kind}(width, 5{more})
    def forward(self, x, other):
        return self.a(x), other + x
"""
    layer = getattr(nn, kind)(64, 5, **_words(more))
    shapes = [tuple(x.shape) for x in tree_leaves(layer(torch.zeros(1, 16, 64)))]
    assert [*read_source(text).shapes] == [*shapes, (1, 16, 64)]


def _words(more: str) -> dict[str, bool | int]:
    named = {word: True for word in ("bidirectional", "batch_first") if word in more}
    return named | ({"num_layers": 2} if "2" in more else {})


def test_an_example_that_is_run_is_told_of() -> None:
    told = "The example in the docstring of Net is run."
    assert told in read_source(EXAMPLE.format(depth=3, given=7)).note
    assert told not in read_source(EXAMPLE.format(depth=3, given=6)).note


def test_a_module_of_one_mode_says_why_it_is_read_in_it() -> None:
    reading = read_source(EVALUATION)
    assert "It is read in evaluation, as in training no usual input is accepted." in reading.note
    assert not reading.call.training
