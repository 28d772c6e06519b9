"""Sentences and symbols from a seed, and the cells of attention that solve them.

Each function takes tokens (…, t) and returns a mask (…, t, t): rows are queries, columns keys.

The right word follows from a rule that holds in the sentences of ``sentence_grammar`` and not in
English: in *The keys and the book is old* the subject is not the last noun. So an answer is known
in a sentence that matches a pattern, or begins one, and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from string import ascii_lowercase, digits

import torch
from torch import Tensor

from ncd.systems.training.story_grammar import STORY_WORDS, Dice, story_lines

# --- Kinds of cells of an attention map, and the share of a map's weight on them


def itself(tokens: Tensor) -> Tensor:
    """Returns the cells of the query's own position."""
    return _spread(torch.eye(tokens.shape[-1], dtype=torch.bool), tokens)


def first_position(tokens: Tensor) -> Tensor:
    """Returns the cells of the first position."""
    t = tokens.shape[-1]
    return _spread(torch.arange(t).expand(t, t) == 0, tokens)


def previous(tokens: Tensor) -> Tensor:
    """Returns the cells of the position before."""
    t = tokens.shape[-1]
    return _spread(torch.eye(t, dtype=torch.bool).roll(1, 0).tril(), tokens)


def mirrored_position(tokens: Tensor) -> Tensor:
    """Returns the cells of the mirrored position, as far from the end as the query from the start.

    >>> mirrored_position(torch.tensor([5, 5, 5])).int().tolist()
    [[0, 0, 1], [0, 1, 0], [1, 0, 0]]
    """
    return _spread(torch.eye(tokens.shape[-1], dtype=torch.bool).flip(0), tokens)


def same_symbol(tokens: Tensor) -> Tensor:
    """Returns the cells of earlier positions with the same symbol."""
    return (tokens[..., :, None] == tokens[..., None, :]).tril(-1)


def following(tokens: Tensor) -> Tensor:
    """Returns the cells after an earlier equal symbol, where an induction head looks.

    Source: Olsson et al. 2022, "In-context Learning and Induction Heads".

    >>> following(torch.tensor([7, 8, 7])).int().tolist()
    [[0, 0, 0], [0, 0, 0], [0, 1, 0]]
    """
    return same_symbol(tokens).roll(1, -1) & _spread(_causal_cells(tokens.shape[-1]), tokens)


def open_bracket(tokens: Tensor) -> Tensor:
    """Returns the cells of the innermost open bracket; even symbols open, odd ones close.

    A bracket that closes nothing is ignored.

    >>> open_bracket(torch.tensor([0, 2, 3, 1])).int().tolist()
    [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    """
    opens = tokens % 2 == 0
    count = torch.where(opens, 1, -1).cumsum(-1)
    depth = count - count.cummin(-1).values.clamp(max=0)
    level = depth[..., :, None] == depth[..., None, :]  # of an opening bracket it is 1 or more
    every = level & opens[..., None, :] & _spread(_causal_cells(tokens.shape[-1]), tokens)
    places = torch.arange(tokens.shape[-1], device=tokens.device)
    return every & (places == last_column(every)[..., None])


def next_position(tokens: Tensor) -> Tensor:
    """Returns the cells of the position after, where the text says what comes next.

    >>> next_position(torch.tensor([5, 6, 7])).int().tolist()
    [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    """
    t = tokens.shape[-1]
    return _spread(torch.ones(t, t).triu(1).tril(1).bool(), tokens)


def last_column(cells: Tensor) -> Tensor:
    """Returns the last selected column of each row; rows without one get any column."""
    return cells.shape[-1] - 1 - cells.flip(-1).byte().argmax(-1)


def _causal_cells(t: int) -> Tensor:
    """Returns the cells up to the query's position."""
    return torch.ones(t, t, dtype=torch.bool).tril()


def _spread(cells: Tensor, tokens: Tensor) -> Tensor:
    """Returns the same cells for every sequence."""
    return cells.to(tokens.device).expand(*tokens.shape[:-1], *cells.shape)


# The kinds that occur in sequences of any task.
CELLS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "itself": itself,
    "first token": first_position,
    "previous token": previous,
    "same token": same_symbol,
    "after the same token": following,
}


def share(weights: Tensor, cells: Tensor) -> float:
    """Returns the share of a map's weight (…, t, t) on the cells, averaged over rows with any.

    The cells may lack leading axes, such as that of the heads.

    >>> share(torch.tensor([[1.0, 0.0], [0.25, 0.75]]), previous(torch.tensor([3, 3])))
    0.25
    """
    found = (weights * cells).sum(-1)
    found = found[cells.any(-1).expand(found.shape)]
    return float(found.mean()) if len(found) else 0.0


# --- The words of the proofreader, by kind, and the sentences in which the right ones are known

SINGULAR = ("cat", "dog", "bird", "key", "box", "book", "letter", "picture")
PLURAL = ("cats", "dogs", "birds", "keys", "boxes", "books", "letters", "pictures")
PLACES = ("wall", "garden", "table", "house", "window", "door")
PREPOSITIONS = ("near", "behind", "on", "by")
WOMEN = ("Anna", "Emma", "Mary", "Lucy")
MEN = ("Tom", "Ben", "Paul", "Max")
SURNAMES = ("Hill", "Stone", "Wood", "Park", "Young")
IS, ARE = ("is", "was", "sleeps", "sings", "falls"), ("are", "were", "sleep", "sing", "fall")
ADJECTIVES = ("old", "small", "new", "red", "quiet")
SAW, SAID, FELL = ("saw", "found", "liked"), ("said", "asked"), ("fell", "shone")
OPEN, CLOSE = ("“", "‘"), ("”", "’")
HE, IT, MR = ("he", "she"), ("it", "they"), ("Mr", "Mrs")
END = "."  # also fills what is left at the end
OTHERS = (END, ",", "The", "the", "and", "because", "wanted")

PROOFREADER_WORDS = (
    *OTHERS,
    *(*OPEN, *CLOSE, *HE, *IT, *MR, *SAW, *SAID, *FELL),
    *(*SINGULAR, *PLURAL, *PLACES, *PREPOSITIONS, *WOMEN, *MEN, *SURNAMES, *IS, *ARE, *ADJECTIVES),
)
NUMBER = {word: i for i, word in enumerate(PROOFREADER_WORDS)}
KINDS = {  # a letter for each kind of word
    "T": ("The", "the"),
    "N": (*SINGULAR, *PLURAL),
    "L": PLACES,
    "P": PREPOSITIONS,
    "V": (*IS[:2], *ARE[:2]),  # an adjective may follow
    "v": (*IS[2:], *ARE[2:]),
    "A": ADJECTIVES,
    "F": (*WOMEN, *MEN),
    "S": SURNAMES,
    "W": SAW,
    "D": SAID,
    "O": OPEN,
    "C": CLOSE,
    "I": IT,
    "H": HE,
    "M": MR,
    "f": FELL,
    "w": ("wanted",),
    "b": ("because",),
    "&": ("and",),
    ",": (",",),
    END: (END,),
}
_NOUN = "N(?:PT[NL])*(?:PT?|{verb})?"  # keys near the door are old
_WISH = "(?:w(?:TN?)?)?"  # wanted the key
PATTERN = re.compile(
    f"T(?:{_NOUN.format(verb='VA?|v')})?"
    f"|FS?(?:D(?:,(?:O(?:T(?:{_NOUN.format(verb='(?:VA?|v)C?')})?)?)?)?)?"
    f"|FS?(?:W(?:T(?:N(?:b(?:If?|H{_WISH})?)?)?)?)?"
    f"|FSWTN,(?:&(?:M(?:S{_WISH})?)?)?"
)


def readable(tokens: Tensor) -> Tensor:
    """Returns which words (…, t) stand in a sentence that the grammar can read to its end.

    >>> lines = ("The keys by the door is old .", "The keys and the book is old .")
    >>> [bool(readable(torch.tensor([NUMBER[word] for word in line.split()])).all())
    ...  for line in lines]
    [True, False]
    """
    kinds = _kinds()
    lines = tokens.reshape(-1, tokens.shape[-1]).tolist()
    found = [_readable("".join(kinds[word] for word in line)) for line in lines]
    return torch.tensor(found, device=tokens.device).view(tokens.shape)


@lru_cache(1024)
def _readable(line: str) -> tuple[bool, ...]:
    """Returns which letters of a line of kinds are in a sentence that matches."""
    found: list[bool] = []
    for sentence in line.split(END):
        known = not sentence or bool(PATTERN.fullmatch(sentence))
        found += [known] * (len(sentence) + 1)
    return tuple(found[: len(line)])


@lru_cache
def _kinds() -> tuple[str, ...]:
    """Returns the letter of each word."""
    letter = {word: kind for kind, members in KINDS.items() for word in members}
    return tuple(letter[word] for word in PROOFREADER_WORDS)


# --- English sentences with mistakes, generated from a grammar, and the words that must agree

SAMPLE = (
    "Anna Hill said , “ the keys by the door falls ’ . "
    "Max Park saw the dog because she wanted the key ."
)
MISTAKEN = 0.35  # share of the words with something to agree with that are wrong
# Pairs of words, of which one is right: by a singular or a man, the first.
PAIRS = (*zip(IS, ARE, strict=True), IT, HE, MR, CLOSE)
PAIRED_WORDS = {one: two for a, b in PAIRS for one, two in ((a, b), (b, a))}
NEEDS = (  # the words with something to agree with, and what decides: the first of a pair, or not
    ((*IS, *ARE), dict.fromkeys(SINGULAR, 0) | dict.fromkeys(PLURAL, 1)),
    (IT, dict.fromkeys(SINGULAR, 0) | dict.fromkeys(PLURAL, 1)),
    ((*HE, *MR), dict.fromkeys(MEN, 0) | dict.fromkeys(WOMEN, 1)),
    (CLOSE, {OPEN[0]: 0, OPEN[1]: 1}),
)
# --- Sequences of symbols from a seed, with the answer at each position

Cells = Callable[[Tensor], Tensor]


def sentences(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates n lines of t words: as many sentences as fit, with mistakes, then full stops.

    Verbs may be in the wrong number, pronouns and titles of the wrong gender or number, closing
    quotation marks of the wrong kind, and surnames those of nobody. Words beyond the v-th, if not
    all are used, become full stops.

    >>> (read,) = sentences(1, 12, len(PROOFREADER_WORDS), torch.Generator().manual_seed(7))
    >>> " ".join(PROOFREADER_WORDS[i] for i in read)
    'The birds sing . . . . . . . . .'
    """
    dice = Dice(random)
    lines = torch.tensor([list(_line(t, dice)) for _ in range(n)])
    return lines.where(lines < v, NUMBER[END])


def _line(t: int, dice: Dice) -> Iterator[int]:
    """Yields the numbers of t words."""
    left = t
    while len(words := _sentence(dice)) <= left:
        left -= len(words)
        yield from (NUMBER[word] for word in words)
    yield from [NUMBER[END]] * left


def _sentence(dice: Dice) -> list[str]:
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


def _statement(dice: Dice) -> list[str]:
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


def _slip(word: str, dice: Dice) -> str:
    """Returns a word or, at times, the wrong one of its pair."""
    return PAIRED_WORDS[word] if dice.random() < MISTAKEN else word


# --- what a word has to agree with ----------------------------------------------------------------


def subject(tokens: Tensor) -> Tensor:
    """Returns the cells of a verb's subject: the last noun that is not behind a preposition.

    Each of these functions takes tokens (…, t) and returns a mask (…, t, t), rows first.
    """
    return _latest_match(_among(tokens, (*IS, *ARE)), _free_noun(tokens))


def thing(tokens: Tensor) -> Tensor:
    """Returns the cells of the noun for which ``it`` or ``they`` stands."""
    return _latest_match(_among(tokens, IT), _free_noun(tokens))


def person(tokens: Tensor) -> Tensor:
    """Returns the cells of the first name for which ``he``, ``she``, ``Mr`` or ``Mrs`` stands."""
    return _latest_match(_among(tokens, (*HE, *MR)), _among(tokens, (*WOMEN, *MEN)))


def quotation(tokens: Tensor) -> Tensor:
    """Returns the cells of the quotation mark that a closing one belongs to."""
    return _latest_match(_among(tokens, CLOSE), _among(tokens, OPEN))


def surname(tokens: Tensor) -> Tensor:
    """Returns the cells of the surname that one after ``Mr`` or ``Mrs`` repeats."""
    named, known = _among(tokens, SURNAMES), _shift_cells(_among(tokens, (*WOMEN, *MEN)), 1)
    return _latest_match(named & _shift_cells(_among(tokens, MR), 1), named & known)


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
    >>> PROOFREADER_WORDS[right_word(are, cat)]
    'is'
    """
    return _table().to(read.device)[read, seen]


@lru_cache
def _table() -> Tensor:
    """Returns the right word for each word read and each word it has to agree with."""
    table = torch.arange(len(PROOFREADER_WORDS))[:, None].repeat(1, len(PROOFREADER_WORDS))
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
    return _among(tokens, (*SINGULAR, *PLURAL)) & ~_shift_cells(_among(tokens, PREPOSITIONS), 2)


def _shift_cells(found: Tensor, places: int) -> Tensor:
    """Returns the cells moved by some positions."""
    moved = torch.zeros_like(found)
    moved[..., places:] = found[..., : max(0, found.shape[-1] - places)]
    return moved


def _latest_match(asks: Tensor, answers: Tensor) -> Tensor:
    """Returns the last matching cell before each row that has a question."""
    every = (asks[..., :, None] & answers[..., None, :]).tril(-1)
    places = torch.arange(asks.shape[-1], device=asks.device)
    return every & (places == last_column(every)[..., None])


NOT_ASKED = -100  # the label that torch's cross-entropy ignores
BRACKETS = "()[]{}<>"
DEEPEST = 4  # levels of nested brackets
SHORTEST = 4  # symbols of a repeated word
AT_ONCE = 64  # sequences in memory at the same time

SequenceMaker = Callable[[int, int, int, torch.Generator], Tensor]
# tokens (…, t) to a mask (…, t, t)


@dataclass(frozen=True)
class Sequences:
    """A task on sequences.

    ``symbols`` are characters or words, of which the first v are used; ``make`` generates sequences
    of t symbols out of v. ``looks`` are the cells where a row finds its answer: ``answer`` takes
    the symbol read and that of the last of these cells. If it is ``causal``, later symbols change
    no answer. ``kinds`` are the cells that heads may look at in this task alone; ``sample`` is
    the first example, if it is not one from the seed. ``in_doubt`` are the positions (…, t) of
    typed symbols that ask for an answer which is not known. A ``running_text`` may be longer than
    what is read of it, and its answers are the next words.
    """

    symbols: Callable[[int], Sequence[str]]
    make: SequenceMaker
    looks: Cells
    kinds: Mapping[str, Cells] = field(default_factory=dict)
    answer: Callable[[Tensor, Tensor], Tensor] = lambda read, seen: seen
    causal: bool = True
    sample: str = ""
    in_doubt: Cells = torch.zeros_like
    running_text: bool = False

    def answers(self, tokens: Tensor) -> Tensor:
        """Returns the answer at each position of sequences (n, t), or ``NOT_ASKED``.

        >>> SEQUENCES["brackets"].answers(torch.tensor([[0, 2, 3, 1]])).tolist()
        [[1, 3, 1, -100]]
        """
        return torch.cat([self._answers(part) for part in tokens.split(AT_ONCE)])

    def _answers(self, tokens: Tensor) -> Tensor:
        found = self.looks(tokens)
        answers = self.answer(tokens, tokens.gather(-1, last_column(found)))
        return torch.where(found.any(-1), answers, NOT_ASKED)


def random_symbols(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates any symbols."""
    return torch.randint(0, v, (n, t), generator=random)


def key_value_pairs(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates key, value, key, value, …: half of the symbols are keys, each with one value.

    >>> read = key_value_pairs(1, 9, 4, torch.Generator().manual_seed(0))
    >>> "".join(keys_and_values(4)[i] for i in read[0])
    'b1a0b1b1b'
    """
    half = v // 2
    values = torch.randint(half, 2 * half, (n, half), generator=random)
    keys = torch.randint(0, half, (n, t // 2 + 1), generator=random)
    return torch.stack((keys, values.gather(1, keys)), 2).flatten(1)[:, :t]


def repeated_word(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates some symbols, then one word repeated; before its second time no symbol repeats.

    The word has 4 to t / 2 symbols, and starts where it fits at least twice.

    >>> read = repeated_word(1, 12, 26, torch.Generator().manual_seed(1))
    >>> "".join(letters(26)[i] for i in read[0])
    'uyevbxnevbxn'
    """
    order = torch.rand(n, v, generator=random).argsort(1)
    most = max(1, min(v, t // 2))
    length = torch.randint(min(SHORTEST, most), most + 1, (n, 1), generator=random)
    room = torch.minimum(v - length, t - 2 * length).clamp_min(0)
    start = (torch.rand(n, 1, generator=random) * (room + 1)).long()
    place = torch.arange(t) - start
    return order.gather(1, torch.where(place < 0, length + start + place, place % length))


def nested_brackets(n: int, t: int, v: int, random: torch.Generator) -> Tensor:
    """Generates brackets of v / 2 kinds, correctly closed, nested up to 4 deep.

    >>> read = nested_brackets(1, 12, 6, torch.Generator().manual_seed(0))
    >>> "".join(BRACKETS[i] for i in read[0])
    '{({})}[[]]{}'
    """
    kinds = 2 * torch.randint(0, v // 2, (n, t), generator=random)
    opens = torch.rand(n, t, generator=random) < 0.5
    stack = torch.zeros(n, DEEPEST + 1, dtype=torch.long)
    depth = torch.zeros(n, 1, dtype=torch.long)
    read: list[Tensor] = []
    for own, wants in zip(kinds.split(1, 1), opens.split(1, 1), strict=True):
        opening = (wants | (depth == 0)) & (depth < DEEPEST)
        kind = torch.where(opening, own, stack.gather(1, depth))
        read.append(kind + (~opening).long())
        depth = depth + torch.where(opening, 1, -1)
        stack.scatter_(1, depth, torch.where(opening, kind, stack.gather(1, depth)))
    return torch.cat(read, 1)


def letters(v: int) -> str:
    """Returns the first v letters."""
    return ascii_lowercase[:v]


def keys_and_values(v: int) -> str:
    """Returns letters as keys and digits as values, half of each."""
    return ascii_lowercase[: v // 2] + digits[: v // 2]


def brackets(v: int) -> str:
    """Returns pairs of brackets, each opening one before its closing one."""
    return BRACKETS[:v]


def keys_again(tokens: Tensor) -> Tensor:
    """Returns where a repeated key finds its value, at every other position."""
    rows = torch.arange(tokens.shape[-1], device=tokens.device) % 2 == 0
    return following(tokens) & rows[:, None]


STORIES = Sequences(
    lambda v: STORY_WORDS[:v],
    story_lines,
    next_position,
    sample="“ I am hungry , ” says Leo . Mia gives him",
    running_text=True,
)
STORY_MODELS = ("gpt-2", "llama")  # language models that learn to write stories on

SEQUENCES: Mapping[str, Sequences] = {
    "reversal": Sequences(
        letters,
        random_symbols,
        mirrored_position,
        {"mirror": mirrored_position},
        causal=False,
    ),
    "recall": Sequences(
        keys_and_values,
        key_value_pairs,
        keys_again,
        {"the answer": keys_again},
        sample="a3f1c6a3h2f1c6e5h2a3f1e5",
    ),
    "induction": Sequences(letters, repeated_word, following),
    "brackets": Sequences(
        brackets,
        nested_brackets,
        open_bracket,
        {"open bracket": open_bracket},
        lambda read, seen: seen + 1,  # the bracket that closes it
    ),
    "proofreader": Sequences(
        lambda v: PROOFREADER_WORDS[:v],
        sentences,
        agreement,
        RELATIONS,
        right_word,
        causal=False,
        sample=SAMPLE,
        in_doubt=in_doubt,
    ),
    **dict.fromkeys(STORY_MODELS, STORIES),
}
