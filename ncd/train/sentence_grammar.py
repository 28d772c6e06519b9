"""English sentences with mistakes, generated from a grammar, and the words that must agree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import torch
from torch import Tensor

from ncd.train.attention_cells import last
from ncd.train.sentence_patterns import (
    ADJECTIVES,
    ARE,
    CLOSE,
    END,
    FELL,
    HE,
    IS,
    IT,
    MEN,
    MR,
    NUMBER,
    OPEN,
    PLACES,
    PLURAL,
    PREPOSITIONS,
    SAID,
    SAW,
    SINGULAR,
    SURNAMES,
    WOMEN,
    WORDS,
    readable,
)

SAMPLE = (
    "Anna Hill said , “ the keys by the door falls ’ . "
    "Max Park saw the dog because she wanted the key ."
)
DRAWN = 1024  # numbers that are drawn at once
MISTAKEN = 0.35  # share of the words with something to agree with that are wrong
# Pairs of words, of which one is right: by a singular or a man, the first.
PAIRS = (*zip(IS, ARE, strict=True), IT, HE, MR, CLOSE)
OTHER = {one: two for a, b in PAIRS for one, two in ((a, b), (b, a))}
NEEDS = (  # the words with something to agree with, and what decides: the first of a pair, or not
    ((*IS, *ARE), dict.fromkeys(SINGULAR, 0) | dict.fromkeys(PLURAL, 1)),
    (IT, dict.fromkeys(SINGULAR, 0) | dict.fromkeys(PLURAL, 1)),
    ((*HE, *MR), dict.fromkeys(MEN, 0) | dict.fromkeys(WOMEN, 1)),
    (CLOSE, {OPEN[0]: 0, OPEN[1]: 1}),
)
Cells = Callable[[Tensor], Tensor]
T = TypeVar("T")


class _Dice:
    """Random choices from a generator of torch."""

    def __init__(self, random: torch.Generator) -> None:
        self.draws = self._drawn(random)

    def _drawn(self, random: torch.Generator) -> Iterator[float]:
        while True:
            yield from torch.rand(DRAWN, generator=random).tolist()

    def random(self) -> float:
        """Returns a number from 0 to 1."""
        return next(self.draws)

    def pick(self, among: Sequence[T]) -> T:
        """Returns one of several."""
        return among[int(self.random() * len(among))]


def sentences(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates n lines of t words: as many sentences as fit, with mistakes, then full stops.

    Verbs may be in the wrong number, pronouns and titles of the wrong gender or number, closing
    quotation marks of the wrong kind, and surnames those of nobody. Words beyond the v-th, if not
    all are used, become full stops.

    >>> (read,) = sentences(1, 12, len(WORDS), torch.Generator().manual_seed(7))
    >>> " ".join(WORDS[i] for i in read)
    'The birds sing . . . . . . . . .'
    """
    dice = _Dice(random)
    lines = torch.tensor([list(_line(t, dice)) for _ in range(n)])
    return lines.where(lines < v, NUMBER[END])


def _line(t: int, dice: _Dice) -> Iterator[int]:
    """Yields the numbers of t words."""
    left = t
    while len(words := _sentence(dice)) <= left:
        left -= len(words)
        yield from (NUMBER[word] for word in words)
    yield from [NUMBER[END]] * left


def _sentence(dice: _Dice) -> list[str]:
    """Returns the words of a sentence, some of them wrong."""
    pick = dice.pick
    woman = dice.random() < 0.5
    surname = pick(SURNAMES)
    person = [pick(WOMEN if woman else MEN), surname]
    title = _slip(MR[woman], dice)
    kind = pick(range(4))
    if kind == 0:
        return ["The", *_statement(dice), END]
    if kind == 1:
        end = pick((0, 1))
        spoken = [OPEN[end], "the", *_statement(dice), _slip(CLOSE[end], dice)]
        return [*person, pick(SAID), ",", *spoken, END]
    many = dice.random() < 0.5
    seen = [*person, pick(SAW), "the", pick(PLURAL if many else SINGULAR)]
    wish = ["wanted", "the", pick(pick((SINGULAR, PLURAL))), END]
    if kind == 2:
        who = surname if dice.random() > MISTAKEN else pick(SURNAMES)
        return [*seen, ",", "and", title, who, *wish]
    if dice.random() < 0.5:
        return [*seen, "because", _slip(IT[many], dice), pick(FELL), END]
    return [*seen, "because", _slip(HE[woman], dice), *wish]


def _statement(dice: _Dice) -> list[str]:
    """Returns a noun, up to two places, and a verb, such as ``keys near the door are old``."""
    pick = dice.pick
    many = dice.random() < 0.5
    places: list[str] = []
    for _ in range(pick((0, 1, 1, 2))):
        thing = pick(PLACES) if dice.random() < 0.5 else pick((*SINGULAR, *PLURAL))
        places += [pick(PREPOSITIONS), "the", thing]
    verb = pick(ARE if many else IS)
    what = [pick(ADJECTIVES)] if verb in (*IS[:2], *ARE[:2]) else []
    return [pick(PLURAL if many else SINGULAR), *places, _slip(verb, dice), *what]


def _slip(word: str, dice: _Dice) -> str:
    """Returns a word or, at times, the wrong one of its pair."""
    return OTHER[word] if dice.random() < MISTAKEN else word


# --- what a word has to agree with ----------------------------------------------------------------


def subject(tokens: Tensor) -> Tensor:
    """Returns the cells of a verb's subject: the last noun that is not behind a preposition.

    Each of these functions takes tokens (…, t) and returns a mask (…, t, t), rows first.
    """
    return _before(_among(tokens, (*IS, *ARE)), _free_noun(tokens))


def thing(tokens: Tensor) -> Tensor:
    """Returns the cells of the noun for which ``it`` or ``they`` stands."""
    return _before(_among(tokens, IT), _free_noun(tokens))


def person(tokens: Tensor) -> Tensor:
    """Returns the cells of the first name for which ``he``, ``she``, ``Mr`` or ``Mrs`` stands."""
    return _before(_among(tokens, (*HE, *MR)), _among(tokens, (*WOMEN, *MEN)))


def quotation(tokens: Tensor) -> Tensor:
    """Returns the cells of the quotation mark that a closing one belongs to."""
    return _before(_among(tokens, CLOSE), _among(tokens, OPEN))


def surname(tokens: Tensor) -> Tensor:
    """Returns the cells of the surname that one after ``Mr`` or ``Mrs`` repeats."""
    named, known = _among(tokens, SURNAMES), _shifted(_among(tokens, (*WOMEN, *MEN)), 1)
    return _before(named & _shifted(_among(tokens, MR), 1), named & known)


RELATIONS: Mapping[str, Cells] = {
    "subject of the verb": subject,
    "thing meant": thing,
    "person meant": person,
    "opening quote": quotation,
    "surname said before": surname,
}


def agreement(tokens: Tensor) -> Tensor:
    """Returns the cells of the words that a word has to agree with, of all kinds.

    There are none in a sentence that the grammar does not know: what is right there is not known.
    """
    cells = torch.stack([cells(tokens) for cells in RELATIONS.values()]).any(0)
    return cells & readable(tokens)[..., None]


def in_doubt(tokens: Tensor) -> Tensor:
    """Returns which words (…, t) have to agree with something that the grammar does not find."""
    asks = _among(tokens, tuple(word for needs, _ in NEEDS for word in needs))
    return asks & ~agreement(tokens).any(-1)


def right_word(read: Tensor, seen: Tensor) -> Tensor:
    """Returns the right words, given the words read and those they agree with.

    >>> are, cat = (torch.tensor(NUMBER[word]) for word in ("are", "cat"))
    >>> WORDS[right_word(are, cat)]
    'is'
    """
    return _table().to(read.device)[read, seen]


@lru_cache
def _table() -> Tensor:
    """Returns the right word for each word read and each word it has to agree with."""
    table = torch.arange(len(WORDS))[:, None].repeat(1, len(WORDS))
    for pair in PAIRS:
        for needs, decides in NEEDS:
            for word in set(pair) & set(needs):
                for seen, right in decides.items():
                    table[NUMBER[word], NUMBER[seen]] = NUMBER[pair[right]]
    for word in SURNAMES:
        for seen in SURNAMES:
            table[NUMBER[word], NUMBER[seen]] = NUMBER[seen]
    return table


def _among(tokens: Tensor, words: tuple[str, ...]) -> Tensor:
    """Returns which tokens are among the words."""
    return torch.isin(tokens, torch.tensor([NUMBER[word] for word in words], device=tokens.device))


def _free_noun(tokens: Tensor) -> Tensor:
    """Returns which tokens are nouns whose article does not follow a preposition."""
    return _among(tokens, (*SINGULAR, *PLURAL)) & ~_shifted(_among(tokens, PREPOSITIONS), 2)


def _shifted(found: Tensor, places: int) -> Tensor:
    """Returns the cells moved by some positions."""
    moved = torch.zeros_like(found)
    moved[..., places:] = found[..., : max(0, found.shape[-1] - places)]
    return moved


def _before(asks: Tensor, answers: Tensor) -> Tensor:
    """Returns the last matching cell before each row that has a question."""
    every = (asks[..., :, None] & answers[..., None, :]).tril(-1)
    places = torch.arange(asks.shape[-1], device=asks.device)
    return every & (places == last(every)[..., None])
