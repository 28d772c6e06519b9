"""What the proofreader's grammar cannot decide it leaves open: it contradicts no other English."""

from __future__ import annotations

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from ncd.systems.training.sequence_data import (
    ADJECTIVES,
    ARE,
    HE,
    IS,
    MEN,
    NOT_ASKED,
    NUMBER,
    PAIRED_WORDS,
    PLACES,
    PLURAL,
    PREPOSITIONS,
    PROOFREADER_WORDS,
    SEQUENCES,
    SINGULAR,
    SURNAMES,
    WOMEN,
    in_doubt,
    readable,
)

Line = list[tuple[str, set[str]]]  # words, each with all forms of it that are right
THINGS = (*SINGULAR, *PLURAL, *PLACES)
pick = st.sampled_from


def same(text: str) -> Line:
    """Words that are right as they are."""
    return [(word, {word}) for word in text.split()]


def either(draw: st.DrawFn, right: str) -> tuple[str, set[str]]:
    """A word in its right form or the other one."""
    return draw(pick((right, PAIRED_WORDS[right]))), {right}


@st.composite
def clauses(draw: st.DrawFn) -> Line:
    """A subject and a verb: a thing, two things joined by *and*, or a person, in some place."""
    kind = draw(pick(("thing", "two things", "person")))
    noun = draw(pick(THINGS))
    many = noun in PLURAL or kind == "two things"
    words = f"the {noun}"
    if kind == "person":
        words, many = f"{draw(pick((*MEN, *WOMEN)))} {draw(pick(SURNAMES))}", False
    for _ in range(draw(st.integers(0, 2))):
        words += f" {draw(pick(PREPOSITIONS))} the {draw(pick(THINGS))}"
    if kind == "two things":
        words += f" and the {draw(pick(THINGS))}"
    verb = draw(pick(ARE if many else IS))
    end = draw(pick(("", draw(pick(ADJECTIVES)), "old and quiet")))
    return [*same(words), either(draw, verb), *same(end)]


@st.composite
def english(draw: st.DrawFn) -> Line:
    """Sentences of one clause or two, or of what somebody says or wants."""
    line: Line = []
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(pick(("alone", "and", "because", "says", "wants")))
        if kind == "wants":  # of two persons, either may be meant
            one, two = draw(pick(MEN)), draw(pick((*MEN, *WOMEN)))
            meant = {"he"} if two in MEN else set(HE)
            line += same(f"{one} and {two} saw the box because")
            line += [(draw(pick(HE)), meant), *same("wanted the box")]
        elif kind == "says":
            line += [*same(f"{draw(pick(WOMEN))} said , “"), *draw(clauses()), *same("”")]
        else:
            line += draw(clauses())
            line += [] if kind == "alone" else [*same(kind), *draw(clauses())]
        line += same(".")
    return line


def with_form(text: str, wrong: str, right: str) -> Line:
    """A text with one wrong word."""
    return [(word, {right} if word == wrong else {word}) for word in text.split()]


@given(english())
@example(with_form("The keys and the book is old .", "is", "are"))
@example(same("the keys are old and the door is red ."))
@example(same("The keys by the door are old ."))
def test_it_never_contradicts_english_beyond_its_grammar(line: Line) -> None:
    """It says the right word, or that it knows none; and of verbs and pronouns one or the other."""
    tokens = torch.tensor([[NUMBER[word] for word, _ in line]])
    (answers,) = SEQUENCES["proofreader"].answers(tokens).tolist()
    (open,) = in_doubt(tokens).tolist()
    for (word, right), answer, doubt in zip(line, answers, open, strict=True):
        assert answer == NOT_ASKED or PROOFREADER_WORDS[answer] in right, (word, line)
        if word in (*IS, *ARE, *HE):
            assert doubt == (answer == NOT_ASKED)


@pytest.mark.parametrize(
    "text",
    [
        "The keys and the book is old .",
        "the keys are old and the door is red .",
        "The door is red .",
        "Tom and Anna saw the box because he wanted the key .",
        "they fall . is it old",
    ],
)
def test_what_the_grammar_cannot_decide_is_in_doubt(text: str) -> None:
    tokens = torch.tensor([[NUMBER[word] for word in text.split()]])
    assert (SEQUENCES["proofreader"].answers(tokens) == NOT_ASKED).all()
    asked = {"is", "are", "he", "they", "fall", "it"} & set(text.split())
    found = {PROOFREADER_WORDS[i] for i in tokens[in_doubt(tokens)]}
    assert found == asked


def test_a_sentence_that_is_still_being_typed_is_read() -> None:
    text = "Anna Hill said , “ the keys by the door are old ” . Tom Hill saw the keys because they"
    tokens = torch.tensor([[NUMBER[word] for word in text.split()]])
    for n in range(1, tokens.shape[1] + 1):
        assert readable(tokens[:, :n]).all(), text.split()[:n]
