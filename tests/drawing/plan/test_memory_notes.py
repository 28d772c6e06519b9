"""What a repetition loads from memory has a name for all of its bodies, if they load alike."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ncd.drawing.plan.collapse import _loaded_name


@pytest.mark.parametrize(
    ("numbers", "name"),
    [
        ((1, 2, 3), "C_λ"),
        ((1, 2), "C_λ"),
        ((2, 3, 4), "C_{λ+1}"),
        ((4, 5), "C_{λ+3}"),
        ((3, 2, 1), "C_{4-λ}"),
        ((4, 3), "C_{5-λ}"),
        ((2,), "C_{3-λ}"),
        ((1, 3), ""),
        ((1, 1), ""),
        ((3, 1), ""),
        ((1, 2, 4), ""),
        ((3, 2, 2), ""),
    ],
)
def test_arrays_that_are_loaded_one_after_another_are_counted(
    numbers: Sequence[int], name: str
) -> None:
    assert _loaded_name([("C", number, 5) for number in numbers]) == name


def test_arrays_of_two_letters_have_no_common_name() -> None:
    assert _loaded_name([("C", 1, 2), ("D", 2, 2)]) == ""
