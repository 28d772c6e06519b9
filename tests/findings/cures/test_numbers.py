"""Numbers of a text that another value may cure, and the sizes of an input that would work."""

from __future__ import annotations

import pytest

from ncd.findings.cures.number_edits import near_sizes, number_edits
from ncd.findings.cures.working_sizes import working_sizes
from ncd.findings.failures.failure import Failure, failure_of
from ncd.findings.reading.finding import apply_edits
from ncd.findings.reading.source_trace import SourceTrace

FAR = float("inf")


def failing(text: str, symbolic: bool = True) -> Failure:
    failure = failure_of(SourceTrace(text, symbolic).read())
    assert failure is not None
    return failure


def lines(text: str, failure: Failure) -> set[tuple[str, float, str]]:
    """Returns the changed lines that are proposed, what they cost, and what they change."""
    rows = text.split("\n")
    return {
        (
            "; ".join(row for row in apply_edits(text, one.edits).split("\n") if row not in rows),
            round(one.cost, 2),
            one.changes,
        )
        for one in number_edits(failure)
    }


@pytest.mark.parametrize(
    ("text", "near", "edits"),
    [
        (
            "nn.Linear(8, 3)(torch.randn(5, 6))",
            {3, 5, 6, 8, 24, 30},
            {
                ("nn.Linear(6, 3)(torch.randn(5, 6))", 1.0, "model"),
                ("nn.Linear(8, 3)(torch.randn(5, 8))", 4.0, "input"),
            },
        ),
        (
            "nn.Linear(8, 3)(torch.randn(6, 6))",  # the batch may have to go along
            {3, 6, 8, 24, 36},
            {
                ("nn.Linear(6, 3)(torch.randn(6, 6))", 1.0, "model"),
                ("nn.Linear(8, 3)(torch.randn(6, 8))", 4.0, "input"),
                ("nn.Linear(8, 3)(torch.randn(8, 8))", 4.1, "input"),
            },
        ),
        (
            "x = torch.randn(2, 6)\nx + x[:, ::2]",  # a side of 1 would hide what is wrong
            {2, 3, 6, 12},
            {("x + x[:, ::1]", 4.5, "meaning"), ("x = torch.randn(2, 1)", 7.0, "meaning")},
        ),
        (
            "x = torch.randn(2, 30)\nx.view(2, 4, 7)",
            {2, 30, 56, 60},
            {("x = torch.randn(2, 28)", 4.0, "input")},
        ),
        (
            "nn.GroupNorm(4, 6)(torch.randn(2, 6, 5))",
            {0, 2},
            {
                ("nn.GroupNorm(3, 6)(torch.randn(2, 6, 5))", 1.5, "model"),
                ("nn.GroupNorm(6, 6)(torch.randn(2, 6, 5))", 1.7, "model"),
                ("nn.GroupNorm(4, 8)(torch.randn(2, 6, 5))", 1.5, "model"),
                ("nn.GroupNorm(4, 4)(torch.randn(2, 6, 5))", 1.7, "model"),
                ("nn.GroupNorm(4, 8)(torch.randn(2, 8, 5))", 1.6, "model"),
                ("nn.GroupNorm(4, 4)(torch.randn(2, 4, 5))", 1.8, "model"),
            },
        ),
        (
            "d = 6\nnn.MultiheadAttention(d, 4)",
            {4, 6},
            {
                ("d = 8", 3.0, "model"),
                ("d = 4", 3.2, "model"),
                ("nn.MultiheadAttention(d, 3)", 1.5, "model"),
                ("nn.MultiheadAttention(d, 6)", 1.7, "model"),
            },
        ),
        (
            "nn.MultiheadAttention(9, 2)\nx = torch.randn(3, 9)",  # the heads stay, all 9 go along
            {8, 9},
            {
                ("nn.MultiheadAttention(10, 2)", 1.5, "model"),
                ("nn.MultiheadAttention(10, 2); x = torch.randn(3, 10)", 1.6, "model"),
                ("nn.MultiheadAttention(8, 2)", 1.7, "model"),
                ("nn.MultiheadAttention(8, 2); x = torch.randn(3, 8)", 1.8, "model"),
                ("nn.MultiheadAttention(9, 3)", 1.5, "model"),
                ("nn.MultiheadAttention(9, 1)", 4.7, "meaning"),
            },
        ),
        (
            "nn.Conv2d(3, 4, 7)(torch.randn(1, 3, 5, 9))",
            {1, 3, 4, 5, 7, 9, 12, 15, 21, 45, 49, 84, 135, 147, 588},
            {
                ("nn.Conv2d(3, 4, 5)(torch.randn(1, 3, 5, 9))", 5.5, "model"),  # seldom the mistake
                ("nn.Conv2d(3, 4, 7)(torch.randn(1, 3, 7, 9))", 4.0, "input"),
            },
        ),
        (
            "k = 3\nnn.Linear(2 * k, 4)(torch.randn(2, 8))",
            {2, 4, 6, 8, 16, 24},
            {
                ("k = 4", 3.0, "model"),
                ("nn.Linear(2 * k, 4)(torch.randn(2, 6))", 4.0, "input"),
            },
        ),
        (
            "nn.Linear(200, 4)(torch.randn(2, 8))",  # far from the present size, but at hand
            {2, 4, 8, 16, 200, 800},
            {
                ("nn.Linear(8, 4)(torch.randn(2, 8))", 1.0, "model"),
                ("nn.Linear(200, 4)(torch.randn(2, 200))", 4.0, "input"),
            },
        ),
    ],
)
def test_the_nearest_numbers_with_which_it_works(text: str, near: set[int], edits) -> None:
    failure = failing(text)
    assert near_sizes(failure) == near
    assert lines(text, failure) == edits


def test_a_factor_of_a_name_is_the_name_where_it_has_its_value() -> None:
    """So a shuffle of pixels gets a square for any factor, and not for the present one alone."""
    shuffle = "nn.PixelShuffle(k)(nn.Conv2d(1, k * {}, 1)(torch.randn(1, 1, 5, 7)))"
    text = f"k = 3\n{shuffle.format(2)}"
    proposed = {words for words, _, _ in lines(text, failing(text))}
    assert proposed == {"k = 9", "k = 18", shuffle.format("k"), shuffle.format(6)}


def test_without_symbols_the_sizes_at_hand_take_the_place_of_others() -> None:
    text = "x = torch.randn(2, 30)\nx.view(2, 4, 7)"
    assert lines(text, failing(text, False)) == {
        ("x = torch.randn(30, 30)", 4.0, "input"),
        ("x = torch.randn(60, 30)", 4.0, "input"),
        ("x = torch.randn(2, 2)", 4.0, "input"),
        ("x = torch.randn(2, 60)", 4.0, "input"),
        ("x.view(30, 4, 7)", 3.0, "model"),
        ("x.view(60, 4, 7)", 3.0, "model"),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "x = torch.randn(2, 30)\nx.view(2, -1, 4)",
            "features is divisible by 4, such as 28 or 32",
        ),
        (
            "nn.PixelShuffle(2)(torch.randn(1, 6, 4, 4))",
            "channels is divisible by 4, such as 4 or 8",
        ),
        ("nn.Linear(8, 3)(torch.randn(5, 6))", ""),  # one size alone
    ],
)
def test_the_sizes_that_work_are_multiples(text: str, says: str) -> None:
    sentence = f"It works where the {says}." if says else ""
    assert working_sizes(failing(text), FAR) == sentence


def test_sizes_that_work_are_not_looked_for_after_the_time() -> None:
    assert working_sizes(failing("x = torch.randn(2, 30)\nx.view(2, -1, 4)"), 0.0) == ""
