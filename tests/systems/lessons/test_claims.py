"""Sentences of lessons and pages that state a number or a comparison are true."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import pytest

import ncd
from ncd.site.entry_page import file, prose
from ncd.systems.lessons.lesson import written_lessons
from tests.systems.lessons import (
    attention_lesson_claims,
    first_lesson_claims,
    language_lesson_claims,
    lesson_claims,
    picture_lesson_claims,
    training_lesson_claims,
)
from tests.systems.lessons.facts import COMPARES, Facts, sentences
from tests.systems.lessons.lead_claims import COUNT, LEADS
from tests.systems.lessons.page_claims import NO_NUMBER, NUMBER, PAGES

LESSONS = (
    first_lesson_claims.LESSONS
    | picture_lesson_claims.LESSONS
    | lesson_claims.LESSONS
    | attention_lesson_claims.LESSONS
    | training_lesson_claims.LESSONS
    | language_lesson_claims.LESSONS
)
SAID = [
    (name, view.query, sentence)
    for name, lesson in written_lessons().items()
    for view in lesson.views
    for sentence in sentences(view.says)
]
STATED = [line for line in SAID if COMPARES.search(line[2]) or line[2] in LESSONS[line[0]]]


@pytest.mark.parametrize(("name", "query", "sentence"), STATED)
def test_a_sentence_of_a_lesson_is_true(name: str, query: str, sentence: str) -> None:
    """Its claim is computed: a default that changes under a lesson, or a word in it, fails here."""
    claim = LESSONS[name].get(sentence)
    assert claim is not None, f"{sentence!r} says a number or compares: what is it to be, computed?"
    assert claim if isinstance(claim, str) else claim(Facts.of(name, query))


@pytest.mark.parametrize(("name", "answers"), attention_lesson_claims.ANSWERS.items())
def test_a_question_has_the_answer_that_the_next_line_gives(name: str, answers) -> None:
    asks = [view.query for view in written_lessons()[name].views if "ask=" in view.query]
    assert tuple(Facts.of(name, query).answer for query in asks) == answers


def test_no_claim_is_left_of_a_sentence_that_is_gone() -> None:
    kept = {(name, sentence) for name, claims in LESSONS.items() for sentence in claims}
    assert kept == {(name, sentence) for name, _, sentence in STATED}


# --- pages ----------------------------------------------------------------------------------------

PROSE = [
    (name, sentence)
    for name, entry in ncd.catalogue.items()
    for text in prose(file(entry)).values()
    for paragraph in re.split(r"\n\s*\n", text)
    if not paragraph.strip().startswith("Source")
    for sentence in sentences(paragraph)
]
COUNTED = [line for line in PROSE if NUMBER.search(NO_NUMBER.sub("", line[1]))]
FIRST = [
    (name, sentence)
    for name, entry in ncd.catalogue.items()
    for sentence in sentences(prose(file(entry))["LEAD"])
    if COUNT.search(sentence)
]


@pytest.mark.parametrize(("name", "sentence"), COUNTED)
def test_a_number_on_a_page_is_true(name: str, sentence: str) -> None:
    """It stands in a piece of the sentence that has a claim, or a source that says so."""
    pieces = [piece for piece in PAGES.get(name, {}) if piece in sentence]
    rest = sentence
    for piece in pieces:
        rest = rest.replace(piece, "")
    assert not NUMBER.search(NO_NUMBER.sub("", rest)), f"what is this to be, computed? {sentence}"
    for claim in map(PAGES[name].__getitem__, pieces):
        assert claim if isinstance(claim, str) else claim(Facts.of(name))


@pytest.mark.parametrize(("name", "sentence"), FIRST)
def test_a_count_in_a_first_sentence_is_true(name: str, sentence: str) -> None:
    pieces = [piece for piece in LEADS.get(name, {}) if piece in sentence]
    rest = sentence
    for piece in pieces:
        rest = rest.replace(piece, "")
    assert not COUNT.search(rest), f"what is this to be, computed? {sentence}"
    for piece in pieces:
        assert LEADS[name][piece](Facts.of(name)), piece


@pytest.mark.parametrize(("claims", "lines"), [(PAGES, COUNTED), (LEADS, FIRST)])
def test_no_claim_is_left_of_a_piece_that_is_gone(
    claims: Mapping[str, Mapping[str, object]], lines: Sequence[tuple[str, str]]
) -> None:
    for name, own in claims.items():
        said = " ".join(sentence for page, sentence in lines if page == name)
        assert [piece for piece in own if piece not in said] == []
