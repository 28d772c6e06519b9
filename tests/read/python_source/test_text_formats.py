"""Texts are formatted as Python does it, as far as they are plain and short."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ncd.notation.term_reader import TextError
from ncd.read.python_source import source_reader
from ncd.read.python_source.source_operators import f_string_text, format_text, percent, value_text

VALUES = (
    True, 3, -2.5, "a'b", None, torch.Size([2, 3]), torch.float16, (), (1,), (1, "a"), [], [1, "a"],
    {"a": 1, 2: [3.0]}, {}, [[1, (2,)]], KeyError("k"), ValueError("no"),
)  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_written_as_python_writes_it(value: Any) -> None:
    error = isinstance(value, Exception)
    assert value_text(value) == str(value)
    assert value_text(value, True) == (f"<{type(value).__name__}>" if error else repr(value))


def test_of_an_object_its_kind_is_written_and_of_deep_lists_no_more() -> None:
    assert value_text(object()) == "<object>" and value_text([object()]) == "[<object>]"
    assert value_text([[[[1]]]]) == "[[[<list>]]]"
    assert value_text([1] * 99) == str([1] * 99) and value_text([1] * 100) == "<list>"


@pytest.mark.parametrize(
    ("text", "args", "named"),
    [
        ("{} and {}", (1, "a"), {}),
        ("{1} and {0}", (1, "a"), {}),
        ("{a} {b!r} {a!s:>4}", (), {"a": 1, "b": "x"}),
        ("{{}} {:.2f} {:>5} {:<5}|{:^5}|", (1.0, 2, "a", "b"), {}),
        ("{:,} {:05d} {:x} {:e} {:%} {:+}", (12345, 42, 255, 1.5, 0.5, 3), {}),
        ("{a}{0}{a}", ("-",), {"a": "x"}),
        ("no field", (), {}),
    ],
)
def test_format_gives_what_it_gives_in_python(text: str, args: Any, named: Any) -> None:
    assert format_text(source_reader.new_machine(), text, *args, **named) == text.format(
        *args, **named
    )


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("%s and %d", ("a", 3)),
        ("%5.1f%%", 2.25),
        ("%-5s|%05d", ("a", 3)),
        ("%s", torch.Size([2])),
        ("%x %e %g", (255, 1.5, 0.5)),
        ("%r", "a"),
        ("nothing", ()),
    ],
)
def test_percent_gives_what_it_gives_in_python(text: str, values: Any) -> None:
    assert percent(source_reader.new_machine(), text, values) == text % values


@pytest.mark.parametrize(
    ("value", "spec", "exact"),
    [(3, "", False), (3, "04d", False), ("a", ">3", True), ([1], "", False), ("a", "", True)],
)
def test_a_field_of_an_f_string_gives_what_it_gives_in_python(value, spec, exact) -> None:
    said = format(repr(value) if exact else value, spec)
    assert f_string_text(source_reader.new_machine(), value, spec, exact) == said


@pytest.mark.parametrize("text", ["{.a}", "{0[1]}", "{", "}", "{:>100}", "{:{}}"])
def test_fields_that_reach_into_objects_or_are_too_wide_are_refused(text: str) -> None:
    with pytest.raises(TextError):
        format_text(source_reader.new_machine(), text, 1, 2)


@pytest.mark.parametrize("text", ["%100s", "%.100f", "%(a)s", "%*d", "%c"])
def test_percents_that_are_too_wide_or_by_name_are_refused(text: str) -> None:
    with pytest.raises(TextError):
        percent(source_reader.new_machine(), text, 1)


def test_a_list_cannot_be_written_to_a_width() -> None:
    with pytest.raises(TextError):
        f_string_text(source_reader.new_machine(), [1], ">4")
