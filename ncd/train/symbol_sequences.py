"""Sequences of symbols from a seed, with the answer at each position."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, digits

import torch
from torch import Tensor

from ncd.train import attention_cells, sentence_grammar, sentence_patterns

NOT_ASKED = -100  # the label that torch's cross-entropy ignores
BRACKETS = "()[]{}<>"
DEEPEST = 4  # levels of nested brackets
SHORTEST = 4  # symbols of a repeated word
AT_ONCE = 64  # sequences in memory at the same time

Made = Callable[[int, int, int, torch.Generator], Tensor]
Cells = Callable[[Tensor], Tensor]  # tokens (…, t) to a mask (…, t, t)


@dataclass(frozen=True)
class Sequences:
    """A task on sequences.

    ``symbols`` are characters or words, of which the first v are used; ``make`` generates sequences
    of t symbols out of v. ``looks`` are the cells where a row finds its answer: ``answer`` takes
    the symbol read and that of the last of these cells. If it is ``causal``, later symbols change
    no answer. ``kinds`` are the cells that heads may look at in this task alone; ``sample`` is
    the first example, if it is not one from the seed. ``in_doubt`` are the positions (…, t) of
    typed symbols that ask for an answer which is not known.
    """

    symbols: Callable[[int], Sequence[str]]
    make: Made
    looks: Cells
    kinds: Mapping[str, Cells] = field(default_factory=dict)
    answer: Callable[[Tensor, Tensor], Tensor] = lambda read, seen: seen
    causal: bool = True
    sample: str = ""
    in_doubt: Cells = torch.zeros_like

    def answers(self, tokens: Tensor) -> Tensor:
        """Returns the answer at each position of sequences (n, t), or ``NOT_ASKED``.

        >>> SEQUENCES["brackets"].answers(torch.tensor([[0, 2, 3, 1]])).tolist()
        [[1, 3, 1, -100]]
        """
        return torch.cat([self._answers(part) for part in tokens.split(AT_ONCE)])

    def _answers(self, tokens: Tensor) -> Tensor:
        found = self.looks(tokens)
        answers = self.answer(tokens, tokens.gather(-1, attention_cells.last(found)))
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
    read = torch.empty(n, t, dtype=torch.long)
    for i in range(t):
        opening = (opens[:, i : i + 1] | (depth == 0)) & (depth < DEEPEST)
        kind = torch.where(opening, kinds[:, i : i + 1], stack.gather(1, depth))
        read[:, i : i + 1] = kind + (~opening).long()
        depth = depth + torch.where(opening, 1, -1)
        stack.scatter_(1, depth, torch.where(opening, kind, stack.gather(1, depth)))
    return read


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
    return attention_cells.following(tokens) & rows[:, None]


SEQUENCES: Mapping[str, Sequences] = {
    "reversal": Sequences(
        letters,
        random_symbols,
        attention_cells.mirrored,
        {"mirror": attention_cells.mirrored},
        causal=False,
    ),
    "recall": Sequences(
        keys_and_values,
        key_value_pairs,
        keys_again,
        {"the answer": keys_again},
        sample="a3f1c6a3h2f1c6e5h2a3f1e5",
    ),
    "induction": Sequences(letters, repeated_word, attention_cells.following),
    "brackets": Sequences(
        brackets,
        nested_brackets,
        attention_cells.opened,
        {"open bracket": attention_cells.opened},
        lambda read, seen: seen + 1,  # the bracket that closes it
    ),
    "proofreader": Sequences(
        lambda v: sentence_patterns.WORDS[:v],
        sentence_grammar.sentences,
        sentence_grammar.agreement,
        sentence_grammar.RELATIONS,
        sentence_grammar.right_word,
        causal=False,
        sample=sentence_grammar.SAMPLE,
        in_doubt=sentence_grammar.in_doubt,
    ),
}
