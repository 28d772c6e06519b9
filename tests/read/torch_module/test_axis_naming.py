"""Axes of pasted sources have names from the source, or customary ones from their roles."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import ncd
from ncd import from_torch
from ncd.answers.plain_answer import answer_of
from ncd.read.python_source.source_reader import read_source
from ncd.read.torch_calls.dimension_atoms import AxisFactor, CannotSplit, resolved_atoms, view_dims
from ncd.read.torch_module.axis_names import axis_name
from tests.read.torch_module.test_from_torch import Called, drawn

CLASSIFIER = """
class Net(nn.Module):
    def __init__(self, d_in=12, hidden_dim=32, num_classes=10):
        super().__init__()
        self.fc1 = nn.Linear(d_in, hidden_dim)
        self.fc2 = nn.Linear(hidden_dim, num_classes)
    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))
Net()(torch.randn(8, 12))
"""
BARE_NUMBERS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        self.fc = nn.Linear(4 * 6 * 6, 7)
    def forward(self, x):
        return F.log_softmax(self.fc(torch.flatten(self.conv(x), 1)), 1)
Net()(torch.randn(2, 1, 8, 8))
"""
WORDS = """
class Model(nn.Module):
    def __init__(self, vocab_size=50, n_embd=8, block_size=16):
        super().__init__()
        self.tokens = nn.Embedding(vocab_size, n_embd)
        self.places = nn.Embedding(block_size, n_embd)
        self.head = nn.Linear(n_embd, vocab_size, bias=False)
    def forward(self, idx):
        b, t = idx.size()
        return self.head(self.tokens(idx) + self.places(torch.arange(t)))
Model()(torch.randint(0, 50, (2, 6)))
"""
ATTENTION = """
class Attention(nn.Module):
    def __init__(self, d_model=16, num_heads=4):
        super().__init__()
        self.num_heads, self.d_k = num_heads, d_model // num_heads
        self.W_q, self.W_k = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
        self.W_v, self.W_o = nn.Linear(d_model, d_model), nn.Linear(d_model, d_model)
    def split(self, x):
        batch_size, seq_len, _ = x.shape
        return x.view(batch_size, seq_len, self.num_heads, self.d_k).transpose(1, 2)
    def forward(self, x%s):
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        weights = torch.softmax(q @ k.transpose(-2, -1) / self.d_k ** 0.5, -1)
        return self.W_o((weights @ v).transpose(1, 2).flatten(2))
Attention()(torch.randn(2, 5, 16))
"""
CHANNELS_LAST = """
class Attention(nn.Module):
    def __init__(self, dim=8, num_heads=2):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
    def forward(self, x):
        B, H, W, _ = x.shape
        qkv = self.qkv(x).reshape(B, H * W, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.reshape(3, B * self.num_heads, H * W, -1).unbind(0)
        attn = ((q * self.scale) @ k.transpose(-2, -1)).softmax(dim=-1)
        x = (attn @ v).view(B, self.num_heads, H, W, -1).permute(0, 2, 3, 1, 4)
        return self.proj(x.reshape(B, H, W, -1))
Attention()(torch.randn(1, 4, 6, 8))
"""
LATENT = """
class Encoder(nn.Module):
    def __init__(self, latent_dim=3):
        super().__init__()
        self.body, self.mu = nn.Linear(12, 8), nn.Linear(8, latent_dim)
    def forward(self, x):
        return self.mu(torch.relu(self.body(x)))
Encoder()(torch.randn(4, 12))
"""
SEGMENTER = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 2, 1)
    def forward(self, x):
        return self.two(self.one(x).relu())
Net()(torch.randn(1, 3, 8, 8))
"""
JAXTYPING = ': Float[Tensor, "batch seq d_model"]'
# Sources, what comes out, and the axes of the term with their sizes.
NAMED: dict[str, tuple[str, str, dict[str, int]]] = {
    "classes by their name": (
        CLASSIFIER,
        "out: 8 × 10 (batch, classes)",
        {"b": 8, "m": 12, "d": 32, "classes": 10},
    ),
    "classes by their role": (BARE_NUMBERS, "out: 2 × 7 (batch, classes)", {"b": 2, "classes": 7}),
    "words": (
        WORDS,
        "out: 2 × 6 × 50 (batch, tokens, vocabulary)",
        {"b": 2, "t": 6, "m": 8, "v": 50, "p": 16},
    ),
    "heads": (
        ATTENTION % "",
        "out: 2 × 5 × 16 (batch, tokens, features)",
        {"b": 2, "t": 5, "m": 16, "h": 4, "k": 4, "s": 5},
    ),
    "jaxtyping": (
        ATTENTION % JAXTYPING,
        "out: 2 × 5 × 16 (batch, seq, d_model)",
        {"batch": 2, "seq": 5, "d_model": 16, "h": 4, "k": 4},
    ),
    "channels last": (
        CHANNELS_LAST,
        "out: 1 × 4 × 6 × 8 (batch, height, width, features)",
        {"b": 1, "h": 4, "w": 6, "m": 8, "k": 4},
    ),
    "latent": (LATENT, "out: 4 × 3 (batch, latent)", {"b": 4, "latent": 3}),
    "images": (SEGMENTER, "out: 1 × 2 × 8 × 8 (batch, channels, height, width)", {"b": 1}),
}


def sizes(term: object) -> dict[str, int]:
    """Returns the axes of a term's text with their sizes."""
    return {name: int(n) for name, n in re.findall(r"(\w+):(\d+)\b(?!x)", repr(term))}


@pytest.mark.parametrize("name", NAMED)
def test_axes_have_the_names_of_their_sizes_or_roles(name: str) -> None:
    text, sentence, expected = NAMED[name]
    reading = read_source(text)
    assert answer_of(text, reading).sentence == sentence
    named = sizes(reading.term)
    assert expected.items() <= named.items()
    assert not {"u_2", "n_2", "w_2"} & {*named} or name == "channels last"


def test_a_single_layer_has_features_and_no_classes() -> None:
    text = "nn.Linear(8, 3)(torch.randn(5, 8))"
    assert answer_of(text, read_source(text)).sentence == "out: 5 × 3 (batch, features)"


class Head(nn.Module):
    def __init__(self, d_model: int = 8, n_actions: int = 4) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(d_model, 16), nn.ReLU(), nn.Linear(16, n_actions))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        found: torch.Tensor = self.body(x.reshape(b, t, c))
        return found


def test_a_real_module_has_the_names_of_its_source() -> None:
    term = from_torch(Head(), torch.randn(2, 3, 8)).term
    assert term.dom[0].names == ("b", "t", "c") and term.cod[0].names[-1] == "actions"


@pytest.mark.parametrize(
    ("size", "name"),
    {
        "num_heads": "h",
        "batch_size": "b",
        "hidden_size": "m",
        "d_ff": "",
        "in_features": "",
        "num_actions": "actions",
        "nb_classes": "classes",
        "seq_len": "t",
        "T": "t",
        "x1": "",
    }.items(),
)
def test_the_name_of_a_size_says_what_its_axis_is(size: str, name: str) -> None:
    assert axis_name(size) == name


def test_products_for_each_head_have_tokens_heads_and_keys() -> None:
    term = from_torch(Called(lambda x: x @ x.transpose(-1, -2)), drawn(2, 3, 4, 5)).term
    assert (term.dom.spec, term.cod.spec) == ("b:2 h:3 ~t:4 k:5", "b:2 h:3 ~t:4 ~s:4")
    pooled = from_torch(Called(lambda x: nn.functional.max_pool2d(x, 2)), drawn(2, 3, 4, 6)).term
    assert (pooled.dom.spec, pooled.cod.spec) == ("b:2 c:3 x:4x6", "b:2 c:3 x_2:2x3")
    rows = from_torch(Called(lambda a, b: a @ b), drawn(2, 4), drawn(4, 8)).term
    assert (rows.dom.spec, rows.cod.spec) == ("b:2 m:4, m:4 d:8", "b:2 d:8")


def test_results_that_are_as_many_as_the_rows_of_a_table_are_words() -> None:
    module = nn.Sequential(nn.Embedding(9, 4), nn.Linear(4, 9))
    assert from_torch(module, torch.zeros(2, 5).long()).term.cod.spec == "b:2 ~t:5 v:9"


class _Twice(nn.Module):
    """Runs a part twice, and others in turns; two of them take one parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.part, self.w = Called(lambda x: x.exp() * 2), nn.Parameter(drawn(4))
        turns = (lambda x: x.relu() + 1, lambda x: x.tanh() * 3)
        self.layers = nn.ModuleList(Called(turns[i % 2]) for i in range(6))
        self.one = Called(lambda x, w: (x * 2).exp() * w)
        self.two = Called(lambda x, w: (x + w).relu())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.part(self.part(x) + 1)
        for layer in self.layers:
            x = layer(x)
        return self.two(self.one(x, self.w), self.w)


def test_blocks_have_the_names_of_their_modules_and_stand_in_their_order() -> None:
    found = from_torch(_Twice(), drawn(2, 4))
    text = repr(found.term)
    assert found.difference == 0 and not found.notes
    assert "'part')" in text and "'part_2')" in text and "'part_3')" not in text
    assert text.count("'2 layers'") == 3 and text.count("'layer_1'") == 3
    assert [len(loop.bodies) for loop in ncd.elaborate(found.term).loops] == [3]
    assert text.index("'2 layers'") < text.index("Param(") < text.index("'$1 * $2'")
    assert re.search(r"\)\) >> Param\(.* >> Block\(Id\('b:2 m:4, m:4'\)", text)  # around both


class _Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(4, 3)
        self.two = Called(lambda a, b: a.sum(-1, keepdim=True).exp() + b)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.two(x, self.one(x))
        return found


def test_a_block_takes_the_output_of_the_step_before_it_first() -> None:
    text = repr(from_torch(_Pair(), drawn(2, 4)).term)
    assert "Block(Id('b:2 d:3, b:2 m:4')" in text, text


@pytest.mark.parametrize(
    ("sizes", "shape", "found"),
    [
        ((2, 3), (3,), None),
        ((2, 3), (2,), None),
        ((1, 3), (3,), [2]),
        ((2, 3), (6,), [2]),
        ((2, 6), (4, 3), [2, 1]),
        ((2, 6), (2, 2, 3), [1, 1, 1]),
        ((3, 5), (5, 3), None),
        ((2, 3), (7,), None),
        ((2, 3), (2, 3, 1), [1, 1, 0]),
        ((2, 1, 3), (2, 3), [1, 2]),
    ],
)
def test_dimensions_are_split_and_merged_where_another_shape_cuts_them(
    sizes: tuple[int, ...], shape: tuple[int, ...], found: list[int] | None
) -> None:
    dims = tuple((AxisFactor(n),) for n in sizes)
    if found is None:
        with pytest.raises(CannotSplit):
            view_dims(dims, shape)
    else:
        assert [len(resolved_atoms(dim)) for dim in view_dims(dims, shape)] == found
