"""The stories that language models learn from: each keeps what it promises."""

from __future__ import annotations

import re
from hashlib import sha256
from itertools import pairwise

import torch

from ncd.systems.training import story_grammar
from ncd.systems.training.story_grammar import (
    BLANK,
    DEEDS,
    END,
    MEN,
    NUMBERS,
    PLURALS,
    RHYMES,
    STORIES,
    STORY_WORDS,
    SURNAMES,
    WOMEN,
    Dice,
    number_of_things,
    story_lines,
)

EACH = 200  # stories of each kind
SINGULARS = {many: one for one, many in PLURALS.items()}


def stories(kind: str) -> list[str]:
    """Stories of a kind, by the name of its function."""
    (make,) = (own for own in STORIES if own.__name__ == f"_{kind}")
    dice = Dice(torch.Generator().manual_seed(5))
    return [make(dice) for _ in range(EACH)]


def every() -> list[str]:
    return [text for own in STORIES for text in stories(own.__name__[1:])]


def number(word: str) -> int:
    return NUMBERS.index(word) + 1


def test_every_word_is_known_and_every_known_word_is_used() -> None:
    used = {word for text in every() for word in text.split()}
    assert used | {END, BLANK} == set(STORY_WORDS)
    assert len(set(STORY_WORDS)) == len(STORY_WORDS) <= 256


def test_a_number_and_its_noun_agree() -> None:
    for text in every():
        for count, noun in re.findall(rf"\b({'|'.join(NUMBERS)}) (\w+)", text):
            if noun in PLURALS or noun in SINGULARS:
                assert (count == "one") == (noun in PLURALS), text


def test_an_article_agrees_with_the_next_letter() -> None:
    for text in every():
        for article, word in re.findall(r"\b(an?) (\w)", text):
            assert (article == "an") == (word in "aeiou"), text


def test_sums_are_right() -> None:
    for text in stories("sum"):
        counts = [number(word) for word in re.findall("|".join(NUMBERS), text)]
        first, change, result = counts[:3]
        assert result == first + (change if "more" in text else -change), text
        assert counts[3:] in ([], [change]) and number_of_things(1, "egg") == "one egg"


def test_a_day_follows_the_day_before_and_has_one_more() -> None:
    days = story_grammar.DAYS
    for text in stories("week"):
        named = [days.index(day) for day in re.findall("|".join(days), text)]
        assert [(b - a) % 7 for a, b in pairwise(named)] == [1, 1], text
        seen = [number(word) for word in re.findall("|".join(NUMBERS), text)]
        assert seen == [seen[0], seen[0] + 1, seen[0] + 2], text


def test_animals_sit_where_it_rhymes() -> None:
    for text in stories("rhyme"):
        pairs = re.findall(r"The (\w+) sits on the (\w+)", text)
        assert len(pairs) == 3 and all(RHYMES[animal] == place for animal, place in pairs), text


def test_a_verb_agrees_with_its_noun_and_not_with_the_nearest() -> None:
    single = {"is", "goes", *DEEDS}
    verbs = "|".join(sorted({"is", "are", "goes", "go", *DEEDS, *DEEDS.values()}, key=len)[::-1])
    clause = re.compile(rf"[Tt]he (\w+)(?: (?:near|by) the \w+)? ({verbs})\b")
    for kind, count in (("description", 3), ("friends", 2)):
        for text in stories(kind):
            found = clause.findall(text.rpartition(" Then ")[2])  # of one noun alone
            assert len(found) == count, text
            assert all((verb in single) == (noun in PLURALS) for noun, verb in found), text


def test_pronouns_are_those_of_the_person() -> None:
    for text in stories("pet") + stories("week"):
        name = next(word for word in text.split() if word in WOMEN + MEN)
        wrong = {"he", "him", "his"} if name in WOMEN else {"she", "her"}
        assert not wrong & set(text.split()), text


def test_a_surname_comes_back_with_its_name() -> None:
    for text in stories("outing"):
        pairs = re.findall(rf"(\w+) ({'|'.join(SURNAMES)})", text)
        assert len(pairs) == 5 and len(set(pairs)) == 2, text


def test_quotation_marks_are_closed() -> None:
    for text in every():
        assert not re.sub("“[^“”]*”", "", text).count("“") + text.count("“") - text.count("”"), text


def test_lines_begin_with_a_story_and_go_on_with_others() -> None:
    lines = story_lines(50, 64, 256, torch.Generator().manual_seed(1))
    assert lines.shape == (50, 64)
    for line in lines.tolist():
        words = [STORY_WORDS[i] for i in line]
        assert words[0] != END and END in words and (END, END) not in pairwise(words)
    few = story_lines(5, 64, 100, torch.Generator().manual_seed(1))
    assert int(few.max()) < 100


def test_a_seed_gives_the_stories_that_the_shipped_models_have_learned_from() -> None:
    """Another grammar would need other weights: what they were trained on is never to change."""
    assert sha256("\n".join(every()).encode()).hexdigest()[:16] == "a77cbcb456e95d39"
