"""Inputs that are dictionaries, tuples or objects of other libraries."""

from __future__ import annotations

import ast

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.structured_inputs import (
    KEYS,
    MOST,
    attributes_of,
    keyed,
    lists,
    tupled,
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


def test_an_object_of_another_library_gets_a_sentence_with_what_to_write() -> None:
    with pytest.raises(TextError) as caught:
        read_source(NET.format("return self.fc(x.tokens) + x.edge"))
    assert str(caught.value) == (
        "line 5, column 5: Net reads tokens, edge of its input x, an object that is not known "
        "here. Try def forward(self, tokens, edge), and arrays in its place: "
        "Net()(torch.randn(…), torch.randn(…))."
    )
    assert caught.value.call is None  # no size would help


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
    return ast.parse(f"def forward(self, x):\n    {body}")


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
    guess = tupled(forward(body), "x", "1x8")
    assert (guess is not None) == bool(count)
    if guess is not None:
        assert [x.shape for x in guess.inputs[0]] == [(1, 8)] * count
        assert guess.words == f"a tuple of {', '.join(['1x8'] * count)}"


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
    guess = keyed(forward(body), "x", "1x8", settings, {"x.own": "5x6"})
    assert (guess is not None) == bool(shapes)
    if guess is not None:
        found = {key: "x".join(map(str, each.shape)) for key, each in guess.inputs[0].items()}
        assert found == shapes
        assert guess.words == ", ".join(f"{key} {shape}" for key, shape in shapes.items())


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
    guess = lists(names, settings)
    assert (guess is not None) == bool(shapes)
    if guess is not None:
        assert ["x".join(map(str, each.shape)) for each in guess.inputs[0]] == shapes
        assert guess.words == f"a list of {', '.join(shapes)}"


@pytest.mark.parametrize(
    ("count", "read"), [(0, False), (1, True), (MOST, True), (MOST + 1, False)]
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
