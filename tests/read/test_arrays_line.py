"""Arrays that a line names: an empty canvas."""

from __future__ import annotations

import pytest

from ncd.errors import NCDError
from ncd.language.terms import Id
from ncd.notation.term_reader import TextError
from ncd.read import arrays_line
from ncd.read.recognise import read_any


@pytest.mark.parametrize(
    ("line", "arrays"),
    [
        ('"y m, x m"', "y m, x m"),
        ("'~tokens features:8'", "~tokens features:8"),
        ("~y:5 m:8", "~y:5 m:8"),
        ("a, b", "a, b"),
        ('  "m"\n', "m"),
        ("x:8x8 c_1", "x:8x8 c_1"),
    ],
)
def test_a_line_of_arrays_passes_them_on(line: str, arrays: str) -> None:
    found = read_any(line)
    assert found.term == Id(arrays)
    assert found.kind == "arrays, to which nothing is done yet"


@pytest.mark.parametrize("line", ["m", "hello", "two words", "a b -> b a", "1 2", "a, , b", "A b"])
def test_other_words_are_no_arrays(line: str) -> None:
    assert arrays_line.read(line) is None


def test_quoted_words_that_are_no_axes_are_refused() -> None:
    with pytest.raises(NCDError, match="'m!' is not an axis"):
        arrays_line.read('"m!"')


def test_an_unfinished_quote_is_no_line_of_arrays() -> None:
    with pytest.raises(TextError):
        read_any('"y m')
