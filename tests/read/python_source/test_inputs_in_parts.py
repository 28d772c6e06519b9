"""Inputs that are dictionaries, tuples or objects of other libraries."""

from __future__ import annotations

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source

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
         f"{{'t': {ROWS}, 'p': {PICTURE}}}"),
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
