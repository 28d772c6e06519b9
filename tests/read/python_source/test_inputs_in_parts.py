"""Inputs that are dictionaries, tuples or objects of other libraries."""

from __future__ import annotations

import ast

import pytest
from torch import nn

from ncd.notation.call_form import call_form
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.structured_inputs import (
    KEYS,
    MAX_ATTRIBUTES,
    attributes_of,
    by_name,
    dictionary_input,
    lists,
    tuple_input,
)

NET = """class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, 3)
    def forward(self, x):
        {}
"""
ONE = "torch.randn(1, 8)"


@pytest.mark.parametrize(
    ("body", "given"),
    [
        ("return self.fc(x['a']) * x['m'][:, :3]", f"{{'a': {ONE}, 'm': {ONE}}}"),
        ("return self.fc(x.get('a'))", f"{{'a': {ONE}}}"),
        ("a, b = x; return self.fc(a + b)", f"({ONE}, {ONE})"),
        ("return self.fc(x[0] + x[1])", f"({ONE}, {ONE})"),
    ],
)
def test_an_input_in_parts_is_assumed_and_the_line_that_gives_it_reads_alike(
    body: str, given: str
) -> None:
    text = NET.format(body)
    found = read_source(text)
    assert found.call.line == f"Net()({given})" and found.call.assumed == ("x",)
    again = read_source(text + found.call.line)  # its own input is taken, not an assumed one
    assert (again.term, again.shapes, again.call.line) == (found.term, ((1, 3),), "")


def test_arrays_in_parts_are_such_as_the_module_takes() -> None:
    """A batch norm that learns takes no batch of one."""
    found = read_source(
        NET.format("return self.norm(self.fc(x['a']))").replace(
            "        self.fc", "        self.norm = nn.BatchNorm1d(3)\n        self.fc", 1
        )
    )
    assert found.failure is None and found.call.line == "Net()({'a': torch.randn(2, 8)})"


def test_a_source_s_own_dictionary_is_its_input() -> None:
    found = read_source(NET.format("return self.fc(x['a'])") + "Net()({'a': torch.randn(5, 8)})")
    assert found.shapes == ((5, 3),) and not found.note


def test_an_object_of_another_library_is_made_of_what_a_module_reads_of_it() -> None:
    found = read_source(NET.format("return self.fc(x.tokens) + x.edge"))
    assert found.failure is None
    assert found.call.line.splitlines()[1].startswith("Net()(SimpleNamespace(tokens=torch.randn(")


def test_an_object_of_another_library_gets_a_sentence_with_what_to_write() -> None:
    with pytest.raises(TextError) as caught:
        read_source(NET.format("return self.fc(x.tokens)[x.edge > (1, 2)]"))
    assert str(caught.value) == (
        "line 5, column 5: Net reads tokens, edge of its input x, an object that is not known "
        "here. Try def forward(self, tokens, edge), and arrays in its place: "
        "Net()(torch.randn(…), torch.randn(…))."
    )
    call = caught.value.call
    assert call is not None and call.line.endswith("Net()(SimpleNamespace(tokens=..., edge=...))")
    form = call_form("x = 1", call)
    assert [(each.name, each.kind) for each in form.fields] == [
        ("x.tokens", "input"),
        ("x.edge", "input"),
    ]


SEVERAL = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(13, 8)
        self.other = {layer}
    def forward(self, {given}):
        {body}
"""
CONV, ROWS = "nn.Conv2d(3, 8, 3)", "torch.randn(1, 13)"
PICTURE = "torch.randn(1, 3, 32, 32)"


@pytest.mark.parametrize(
    ("given", "layer", "body", "call"),
    [
        ("b", CONV, "return self.other(b['p']).mean((2, 3)) + self.fc(b['t'])",
         f"{{'p': {PICTURE}, 't': {ROWS}}}"),
        ("b", "nn.GRU(5, 8, batch_first=True)",
         "s, t = b['s'], b.get('t')\n        return self.other(s)[0][:, -1] + self.fc(t.float())",
         f"{{'s': torch.randn(1, 16, 5), 't': {ROWS}}}"),
        ("b", "nn.Sequential(nn.BatchNorm1d(7), nn.Linear(7, 8))",
         "return self.other(b['s']) + self.fc(b['t'])",
         "{'s': torch.randn(2, 7), 't': torch.randn(2, 13)}"),
        ("p, t", CONV, "return self.other(p).mean((2, 3)) + self.fc(t)", f"{PICTURE}, {ROWS}"),
        ("p, t", "nn.Linear(7, 8)", "return self.other(p) + self.fc(t)",
         f"torch.randn(1, 7), {ROWS}"),
    ],
)  # fmt: skip
def test_the_first_layer_that_takes_a_part_fixes_its_width(
    given: str, layer: str, body: str, call: str
) -> None:
    found = read_source(SEVERAL.format(layer=layer, given=given, body=body))
    assert found.failure is None and found.call.line == f"Net()({call})"


def forward(body: str) -> ast.AST:
    return ast.parse(f"def forward(self, x):\n    {body}").body[0]


def sums(count: int, key: str = "{}") -> str:
    return "return " + " + ".join(f"x[{key.format(n)}]" for n in range(count))


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("a, b = x", 2),
        ("[a, b, c] = x", 3),
        ("a, b = x; a, b, c = x", 3),
        ("(a,) = x", 0),
        ("a, b = y", 0),
        ("a = x", 0),
        ("return x", 0),
        (sums(1), 0),
        (sums(2), 2),
        (sums(KEYS), KEYS),
        (sums(KEYS + 1), 0),
        ("return x[1] + x[0] + x[3]", 4),
        ("return x[1] + x[2]", 0),  # columns of one array, perhaps
        ("return x[0] + x[2]", 0),
        ("return x['a'] + x['b']", 0),
    ],
)
def test_an_input_that_is_taken_apart_is_a_tuple(body: str, count: int) -> None:
    assert tuple_input(forward(body), "x", "1x8") == (("1x8",) * count or None)


@pytest.mark.parametrize(
    ("body", "shapes"),
    [
        ("return x['a']", {"a": "1x8"}),
        ("return x['a'] + x.get('b') + x['a']", {"a": "1x8", "b": "1x8"}),
        ("return x['low']", {"low": "1x3"}),
        ("return x['none'] + x['word']", {"none": "1x8", "word": "1x8"}),
        ("return x['own']", {"own": "5x6"}),
        ("return x[0] + x[1]", {}),
        ("return x.get()", {}),
        ("return y['a'] + y.get('b')", {}),
        (sums(KEYS, "'k{}'"), {f"k{n}": "1x8" for n in range(KEYS)}),
        (sums(KEYS + 1, "'k{}'"), {}),
    ],
)
def test_an_input_that_is_read_by_keys_is_a_dictionary(body: str, shapes: dict[str, str]) -> None:
    settings = {"low_channels": 3, "none_channels": 0, "word_channels": "8"}
    found = dictionary_input(forward(body), "x", "1x8", settings, {"x.own": "5x6"})
    assert found == (shapes or None)


def test_an_array_of_one_axis_in_a_dictionary_has_no_width() -> None:
    found = dictionary_input(forward("return x['low'] + x['b']"), "x", "16", {"low_channels": 3})
    assert found == {"low": "16", "b": "16"}


@pytest.mark.parametrize(
    ("names", "settings", "shapes"),
    [
        (["features"], {"in_channels": [3, 8]}, ["1x3x64x64", "1x8x32x32"]),
        (["x"], {"channels": (3, 8, 16)}, ["1x3x64x64", "1x8x32x32", "1x16x16x16"]),
        (["x"], {"channels": [8] * 7}, [f"1x8x{64 >> n}x{64 >> n}" for n in range(7)]),
        (["x"], {"channels": [8] * 8}, []),
        (["x"], {"channels": [8]}, []),
        (["x"], {"channels": [0, 8]}, []),
        (["x"], {"channels": [1, 8]}, ["1x1x64x64", "1x8x32x32"]),
        (["x"], {"channels": 8}, []),
        (["x"], {"channels": [4096, 2]}, ["1x4096x64x64", "1x2x32x32"]),
        (["x"], {"channels": [4097, 2]}, []),  # more numbers than an input may have
        (["x", "y"], {"channels": [3, 8]}, []),
        (["z"], {"channels": [3, 8]}, []),
    ],
)
def test_maps_of_several_widths_are_a_list_of_halving_sides(names, settings, shapes) -> None:
    assert lists(names, settings) == (shapes or None)


@pytest.mark.parametrize(
    ("count", "read"), [(0, False), (1, True), (MAX_ATTRIBUTES, True), (MAX_ATTRIBUTES + 1, False)]
)
def test_an_object_has_so_many_attributes_and_its_main_array_first(count: int, read: bool) -> None:
    names = ["edge_index", *(f"a{n}" for n in range(count - 1))][:count]
    found = attributes_of(forward(f"return [{', '.join(f'x.{n}' for n in names)}]"), ["x"])
    assert found == ({"x": [*names[1:], *names[:1]]} if read else {})


@pytest.mark.parametrize(
    ("body", "outputs"),
    [
        ("return [self.fc(x), (x, x)]", 3),
        ("return {'a': self.fc(x), 'b': [x]}", 2),
    ],
)
def test_outputs_may_stand_in_lists_and_dictionaries(body: str, outputs: int) -> None:
    found = read_source(NET.format(body) + "Net()(torch.randn(5, 8))")
    assert len(found.shapes) == outputs and set(found.shapes) <= {(5, 3), (5, 8)}


# --- by name alone, and objects of which a module reads attributes --------------------------------

HEAD = "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
NAMED = f"""{HEAD}
class Mix(nn.Module):
    def __init__(self, heads: int, d_model: int):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_model, d_model) for _ in range(3))
    def forward(self, *, query, key, value, mask=None):
        scores = self.q(query) @ self.k(key).transpose(-2, -1)
        if mask is not None:
            scores = scores.masked_fill(mask == 0, -1e9)
        return scores.softmax(-1) @ self.v(value)
"""
GRAPH = f"""{HEAD}
from somewhere.nn import GraphConv, mean_pool
class Net(nn.Module):
    def __init__(self, dataset):
        super().__init__()
        self.conv = GraphConv(dataset.num_features, 16)
        self.head = nn.Linear(16, dataset.num_classes)
    def forward(self, data):
        x, edge_index = data.x, data.edge_index
        x = F.relu(self.conv(x, edge_index))
        return self.head(mean_pool(x, data.batch))
"""
NESTED = f"""{HEAD}
class Places(nn.Module):
    def __init__(self, num_pos_feats=64):
        super().__init__()
        self.n = num_pos_feats
    def forward(self, images):
        mask = images.mask
        assert mask is not None
        rows = (~mask).cumsum(1, dtype=torch.float32)
        return (rows[:, :, :, None] / torch.arange(1.0, self.n + 1)), images.tensors.shape[1] * rows
"""
FOR_A_CONDITION = f"""{HEAD}
class Net(nn.Module):
    def __init__(self, in_channels, d_cond=24):
        super().__init__()
        self.time, self.first = nn.Linear(1, 16), nn.Conv2d(in_channels, 16, 3, padding=1)
        self.mix = nn.Linear(d_cond, 16)
    def forward(self, x, t, cond):
        y = self.first(x) + self.time(t.float()[:, None])[:, :, None, None]
        return y + self.mix(cond).mean(1)[:, :, None, None]
"""
KINDS = {
    "named": (NAMED, ((1, 64),), ("query", "key", "value")),
    "graph": (
        GRAPH,
        ((10, 10),),
        (
            *("result of GraphConv", "result of mean_pool"),
            *("data.x", "data.edge_index", "data.batch"),
        ),
    ),
    "nested": (NESTED, ((1, 64, 64, 64), (1, 64, 64)), ("images.tensors", "images.mask")),
    "condition": (FOR_A_CONDITION, ((1, 16, 32, 32),), ("x", "t", "cond")),
}


@pytest.mark.parametrize("name", KINDS)
def test_inputs_are_assumed_and_the_form_continues_them(name: str) -> None:
    source, shapes, inputs = KINDS[name]
    found = read_source(source)
    assert found.failure is None
    assert found.shapes == shapes
    again = read_source(f"{source}{found.call.line}")
    assert again.shapes == shapes and again.failure is None
    fields = [each.name for each in call_form(source, found.call).fields if each.kind == "shape"]
    assert fields == [*inputs]


def test_a_missing_input_by_name_is_a_blank_of_its_own() -> None:
    assert "query=torch.randn(1, 64)" in read_source(NAMED).call.line


def test_inputs_are_split_into_those_by_place_and_by_name() -> None:
    class Sum(nn.Module):
        def forward(self, x: int, *, y: int, z: int = 0) -> int:
            return x + y + z

    assert by_name(Sum(), (1, 2)) == ((1,), {"y": 2})
    assert by_name(nn.ReLU(), (1,)) == ((1,), {})
