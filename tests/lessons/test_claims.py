"""Every sentence of a lesson that states a number or a comparison is true at its view."""

from __future__ import annotations

import pytest

from ncd.lessons.written_lessons import written
from tests.lessons.facts import COMPARES, Facts, sentences
from tests.lessons.lesson_claims import LESSONS

SAID = [
    (name, view.query, sentence)
    for name, lesson in written().items()
    for view in lesson.views
    for sentence in sentences(view.says)
]
STATED = [line for line in SAID if COMPARES.search(line[2]) or line[2] in LESSONS[line[0]]]


@pytest.mark.parametrize(("name", "query", "sentence"), STATED)
def test_a_sentence_of_a_lesson_is_true(name: str, query: str, sentence: str) -> None:
    """Its claim is computed: a default that changes under a lesson, or a word in it, fails here."""
    claim = LESSONS[name].get(sentence)
    assert claim is not None, f"{sentence!r} says a number or compares: what is it to be, computed?"
    assert claim(Facts.of(name, query))


def test_no_claim_is_left_of_a_sentence_that_is_gone() -> None:
    kept = {(name, sentence) for name, claims in LESSONS.items() for sentence in claims}
    assert kept == {(name, sentence) for name, _, sentence in STATED}
