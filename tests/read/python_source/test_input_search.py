"""Inputs, results of boxes and settings that are found from where a module stops."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch import nn

from ncd.notation.call_form import BLANK
from ncd.notation.term_reader import TextError
from ncd.read.python_source.input_search import (
    other_arrays,
    other_ranks,
    other_sizes,
    sizes_in,
    try_run,
)
from ncd.read.python_source.source_reader import new_machine, read_source


def net(forward: str, init: str = "pass", inputs: str = "x", arguments: str = "") -> str:
    """Returns the source of a module."""
    return f"""
from elsewhere import helper, Encoder
class Net(nn.Module):
    def __init__(self{arguments and ", "}{arguments}):
        super().__init__()
        {init}
    def forward(self, {inputs}):
        {forward}
    def split(self, x):
        {"return x['image'] + x['depth']"}
    def sides(self, x):
        b, c, h, w = x.size()
        return x.reshape(b, c, h * w)
"""


def test_a_run_that_stops_keeps_none_of_its_arrays() -> None:
    """A hundred inputs are tried for one model, of up to 8 MB each."""
    model = nn.Sequential(nn.Flatten(), nn.Linear(4, 2))
    array = torch.randn(2, 3)
    lives = weakref.ref(array)
    done = try_run(new_machine(), model, (array,), {})
    del array
    assert "must have same reduction dim" in str(done.error) and lives() is None


@pytest.mark.parametrize(
    ("source", "line", "shapes"),
    [
        (  # the rank of three alike
            net(
                "return torch.einsum('bhid,bhjd,bhjd->bhid', q, k, v)",
                inputs="q, k, v",
            ),
            f"Net()({', '.join(['torch.randn(1, 3, 64, 64)'] * 3)})",
            ((1, 3, 64, 64),),
        ),
        (  # the widths of a list, one after the other
            net(
                "return [f(a) for f, a in zip(self.fs, [g for g in maps])]",
                "self.fs = nn.ModuleList([nn.Conv2d(n, 5, 1) for n in (3, 8, 16)])",
                "maps: list[torch.Tensor]",
            ),
            "Net()([torch.randn(1, 3, 64, 64), torch.randn(1, 8, 64, 64), "
            "torch.randn(1, 16, 64, 64)])",
            ((1, 5, 64, 64),) * 3,
        ),
        (  # keys that another method reads
            net("return self.fc(self.split(x))", "self.fc = nn.Linear(8, 3)"),
            "Net()({'image': torch.randn(1, 8), 'depth': torch.randn(1, 8)})",
            ((1, 3),),
        ),
        (  # truths, whatever their name is
            net("return x.masked_fill(~m, 0.0)", inputs="x, m"),
            "Net()(torch.randn(1, 16, 64), torch.zeros((1, 16, 64), dtype=torch.bool))",
            ((1, 16, 64),),
        ),
        (  # whole numbers
            net("return self.e(q) + x", "self.e = nn.Embedding(9, 64)", "x, q"),
            None,
            ((1, 16, 64),),
        ),
        (  # a second input that the first layer says nothing of
            net(
                "return self.a(x) @ self.b(y)",
                "self.a, self.b = nn.Linear(6, 5), nn.Linear(7, 4)",
                "x, y",
            ),
            None,
            None,
        ),
    ],
)
def test_inputs_are_found_from_where_a_module_stops(source, line, shapes) -> None:
    found = read_source(source)
    assert found.failure is None
    assert line is None or found.call.line == line
    assert shapes is None or found.shapes == shapes
    assert read_source(f"{source}\n{found.call.line}\n").shapes == found.shapes


def test_the_rank_of_a_box_is_found_and_said() -> None:
    found = read_source(net("return self.sides(helper(x))", "self.c = nn.Conv1d(6, 4, 1)"))
    assert found.failure is None and len(found.shapes[0]) == 3
    assert "helper is of another file" in found.note


def test_what_is_not_understood_is_the_reason_and_no_input() -> None:
    source = net("return self.fc(x) if (x.sum() > 0) else x", "self.fc = nn.Linear(8, 8)", "x, y")
    with pytest.raises(TextError, match="this condition depends on the numbers of a tensor"):
        read_source(source)


@pytest.mark.parametrize(
    ("init", "arguments", "made"),
    [
        ("assert len(modes) == 3", "dim, modes=None, n_modes=None", None),
        ("self.k = [n for n in depthwise]", "depthwise", "Net(depthwise=(2, 2, 2))"),
        ("self.n = len(n_modes)", "n_modes=None", "Net(n_modes=(4, 4, 4))"),
        ("self.n = int(n_steps * 0.5)", "dim, n_steps=None", "Net(dim=64, n_steps=32)"),
        ("self.a = Inner(**kwargs)", "**kwargs", "Net(dim=64)"),
    ],
)
def test_settings_change_until_a_class_can_be_made(init: str, arguments: str, made: str) -> None:
    inner = "\nclass Inner(nn.Module):\n    def __init__(self, dim):\n        super().__init__()\n"
    inner += (
        "        self.f = nn.Linear(dim, 3)\n    def forward(self, x):\n        return self.f(x)\n"
    )
    source = net("return x * 2", f"self.w = nn.Parameter(torch.ones(1)); {init}", "x", arguments)
    if made is None:
        with pytest.raises(TextError) as error:
            read_source(source)
        assert error.value.call is not None and error.value.call.line == "Net(dim=64)"
        return
    found = read_source(f"{inner}{source}")
    assert found.failure is None and found.call.line.startswith(f"{made}(")


def test_a_flag_among_the_buffers_is_what_it_is_at_first() -> None:
    for first, shape in (("True", (1, 3)), ("False", (1, 8))):
        source = net(
            "return self.fc(x) if self.begun else x",
            f"self.fc = nn.Linear(8, 3); self.register_buffer('begun', torch.tensor([{first}]))",
        )
        assert read_source(source).shapes == (shape,)


def test_an_assertion_on_numbers_holds() -> None:
    source = net("assert (x > 0).all(); return self.fc(x)", "self.fc = nn.Linear(8, 3)")
    assert read_source(source).shapes == ((1, 3),)


def test_what_is_taken_by_places_is_no_number() -> None:
    init = "self.first = helper.vgg().features[:3]; self.fc = nn.Linear(8, 3)"
    assert read_source(net("return self.fc(self.first(x))", init)).shapes == ((1, 3),)


def test_a_question_to_another_file_is_answered_with_no() -> None:
    source = net("return self.fc(x) if helper.is_safe(x) else x", "self.fc = nn.Linear(8, 3)")
    found = read_source(source)
    assert found.shapes == ((1, 8),) and "helper.is_safe(…) is taken as false" in found.note


@pytest.mark.parametrize("words", ["Encoder, metaclass=helper.Meta", "Encoder, name='x'"])
def test_words_of_a_class_may_be_for_another_file(words: str) -> None:
    source = net("return self.fc(x)", "self.fc = nn.Linear(8, 3)").replace("nn.Module", words)
    assert read_source(source).shapes == ((1, 3),)


# --- Every refusal has a form whose typed values open it


@pytest.mark.parametrize(
    ("source", "typed"),
    [
        (
            net("return self.fc(x.wave[:, :n])", "self.fc = nn.Linear(8, 3)", "x, n"),
            ["torch.randn(2, 16)", "8"],
        ),
        (net("return x.foo.bar(y)", inputs="x, y"), ["torch.randn(2)", "None"]),
    ],
)
def test_a_refusal_asks_for_what_lacks(source: str, typed: list[str]) -> None:
    with pytest.raises(TextError) as error:
        read_source(source)
    call = error.value.call
    assert call is not None and BLANK in call.line and call.drawn == "Net"
    assert call.line.count(BLANK) == len(typed)


def test_a_module_that_is_to_be_given_is_written_and_read_as_a_box() -> None:
    source = net(
        "return self.fc(self.encoder(x))",
        "self.encoder = encoder; self.fc = nn.Linear(8, 3)",
        "x",
        "encoder",
    )
    found = read_source(source)
    assert found.call.line == (
        "encoder.result = torch.empty(1, 8)\nNet(encoder=nn.Module())(torch.randn(1, 8))"
    )
    again = read_source(f"{source}\n{found.call.line}")
    assert again.shapes == found.shapes == ((1, 3),)
    assert "encoder is of another file" in again.note
    held = net("return self.a.b(x)", "self.a = nn.Module(); self.a.b = nn.Linear(8, 3)")
    assert read_source(held).shapes == ((1, 3),)  # one that only holds others


# --- what is tried, for the numbers and the words of an error -------------------------------------

OTHER_RANKS = ["1x4x32x32", "1x4x16x4", "1x8x8x4"]


@pytest.mark.parametrize(
    ("sizes", "error", "found"),
    [
        ([4, 6], "expected 8, got 6", [[4, 8], [3, 6], [6, 6], [4, 4], [2, 6]]),
        ([1, 5], "5 and 1", [[5, 5], [1, 1], [1, 9]]),
        ([2], "2 and 10000", []),
        ([2], "2 and 9999", [[9999]]),
        ([2, 2], "of no numbers", []),
        ([3], "7 alone", []),
    ],
)
def test_other_sizes_are_equal_in_proportion_or_by_difference(
    sizes: list[int], error: str, found: list[list[int]]
) -> None:
    assert [*other_sizes(sizes, error)] == found
    assert sizes_in("1.5 and v2, 12345 123456, 7x8") == [1, 12345, 7, 8]
    assert sizes_in("1 2 3 4 5 6 7") == [1, 2, 3, 4, 5, 6]
    assert [*other_ranks([8])] == [[16, 8], [8, 16]]
    assert [*other_ranks([1, 2, 3, 4, 5])] == [[1, 2, 3, 5], [1, 2, 3, 4]]


@pytest.mark.parametrize(
    ("way", "error", "found"),
    [
        ("None", "it lacks", ["1x16x64"]),
        ("=4", "4 is no array", ["1x16x64"]),
        ("3x4", "", ["3x4#10", "3x4!", "1x16x4", "1x4x64", "4", "10", *OTHER_RANKS]),
        ("3x4", "it is 4, not 5",
         ["3x5", "4x4", "3x3", "2x4", "3x4#10", "3x4!", "1x16x4", "1x4x64", "4", "10",
          *OTHER_RANKS]),
        ("7#50", "index 3 out of range 60",
         ["7#3", "140#50", "64#50", "7!", "7", "1x7#50", "10x7#50", "1x16x7#50", "1x7x64#50",
          "=10"]),
        ("2x3!", "too many indices",
         ["2x3#10", "2x3", "1x16x3!", "1x3x64!", "3!", "10!", "1x3x32x32!", "1x4x16x3!",
          "1x8x8x3!"]),
    ],
)  # fmt: skip
def test_other_arrays_are_of_other_sizes_kinds_and_ranks(
    way: str, error: str, found: list[str]
) -> None:
    assert [*other_arrays(way, error)] == found
