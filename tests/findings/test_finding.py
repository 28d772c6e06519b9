"""Edits change their places, and nothing else."""

from __future__ import annotations

from ncd.findings.reading.finding import Edit, apply_edits


def test_places_are_those_of_the_text_before() -> None:
    text = "self.fc = nn.Linear(10, 10)\nself.out = nn.Linear(10, 3)"
    edits = (Edit(1, 24, 26, "5"), Edit(1, 20, 22, "10 * 7 * 7"), Edit(2, 21, 23, "5"))
    expected = "self.fc = nn.Linear(10 * 7 * 7, 5)\nself.out = nn.Linear(5, 3)"
    assert apply_edits(text, edits) == expected
    assert apply_edits(text, edits[::-1]) == expected
