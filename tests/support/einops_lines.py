"""Random lines of einops: valid ones, and ones with something wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from random import Random

import einops
import torch

SIZES = {"b": 2, "h": 4, "w": 6, "c": 3}
ARRAYS = {
    "ims": torch.randn(2, 4, 6, 3, generator=torch.Generator().manual_seed(1)),
    "x": torch.randn(2, 3, 4, 6, generator=torch.Generator().manual_seed(2)),
    "y": torch.randn(2, 12, 2, 3, generator=torch.Generator().manual_seed(3)),
}
WORDS = [*"abcdefghijkmn", "h1", "w1", "tall", "wide", "batch", "new_axis", "é"]
FUNCTIONS = {"rearrange": einops.rearrange, "reduce": einops.reduce, "repeat": einops.repeat}


def by_hand(text: str, arrays: Mapping[str, torch.Tensor] = ARRAYS) -> torch.Tensor:
    """What Python and einops make of a line."""
    result: torch.Tensor = eval(text, {**FUNCTIONS, **arrays})
    return result


def valid(random: Random) -> str:
    """A call on one of the arrays that einops takes."""
    name = random.choice(["ims", "ims[0]", "x", "y"])
    shape = (ARRAYS["ims"][0] if name == "ims[0]" else ARRAYS[name]).shape
    words, lengths = random.sample(WORDS, len(WORDS)), dict[str, int]()
    left: list[list[str]] = []
    for size in shape:
        own = [words.pop()]
        divisors = [n for n in (2, 3) if size % n == 0]
        if divisors and random.random() < 0.4:
            own.insert(random.randrange(2), words.pop())
            lengths[own[random.randrange(2)]] = random.choice(divisors)
        left.append(own)
    function = random.choice(list(FUNCTIONS))
    right = [word for own in left for word in own]
    random.shuffle(right)
    if function == "reduce":
        right = right[: random.randrange(len(right) + 1)]
    if function == "repeat":
        for _ in range(random.randint(1, 2)):
            word = random.choice([words.pop(), "2", "3"])
            right.insert(random.randrange(len(right) + 1), word)
            if not word.isdecimal():
                lengths[word] = random.randint(1, 3)
    sides = [" ".join(_side(left, random)), " ".join(_side(_grouped(right, random), random))]
    how = f', "{random.choice(("max", "mean", "min", "sum"))}"' if function == "reduce" else ""
    more = "".join(f", {word}={n}" for word, n in lengths.items())
    return f'{function}({name}, "{" -> ".join(_dotted(sides, random))}"{how}{more})'


def _grouped(words: list[str], random: Random) -> list[list[str]]:
    groups: list[list[str]] = []
    for word in words:
        if groups and random.random() < 0.3:
            groups[-1].append(word)
        else:
            groups.append([word])
    if random.random() < 0.2:
        groups.insert(random.randrange(len(groups) + 1), [])
    return groups


def _side(groups: list[list[str]], random: Random) -> Iterator[str]:
    for own in groups:
        alone = len(own) == 1 and random.random() < 0.9
        yield own[0] if alone else f"({' '.join(own)})" if own else random.choice(["1", "()"])


def _dotted(sides: list[str], random: Random) -> list[str]:
    """Now and then the first axis as an ellipsis, where it stays as it is."""
    first = sides[0].split()[0]
    alone = first.isidentifier() and first in sides[1].split()
    if not alone or random.random() < 0.6:
        return sides
    return [" ".join("..." if w == first else w for w in side.split()) for side in sides]


# --- something wrong ------------------------------------------------------------------------------


def wrong(random: Random) -> str:
    """A valid line with something in it that einops, or Python, does not take."""
    while True:
        text = random.choice(FAULTS)(valid(random), random)
        try:
            by_hand(text)
        except Exception:
            return text


def _changed(text: str, old: str, new: str) -> str:
    return text.replace(old, new, 1)


def _word(text: str, random: Random) -> str:
    """One of the names in its pattern."""
    words = text.split('"')[1].replace("(", " ").replace(")", " ").split()
    return random.choice([word for word in words if word != "->"] or ["->"])


def _inserted(bit: str) -> Callable[[str, Random], str]:
    def inserted(text: str, random: Random) -> str:
        head, pattern, *tail = text.split('"')
        at = random.randrange(len(pattern) + 1)
        return '"'.join([head, pattern[:at] + bit + pattern[at:], *tail])

    return inserted


def _dropped(text: str, random: Random) -> str:
    return _changed(text, _word(text, random), "")


def _renamed(text: str, random: Random) -> str:
    return _changed(
        text, _word(text, random), random.choice(["zzz", "_z", "z_", "2", "0", "1", "…"])
    )


def _twice(text: str, random: Random) -> str:
    word = _word(text, random)
    return _changed(text, word, f"{word} {word}")


def _cut(text: str, random: Random) -> str:
    return text[: random.randrange(len(text))]


def _longer(text: str, random: Random) -> str:
    word = random.choice([_word(text, random), "zzz", "pattern", "tensor"])
    return f"{text[:-1]}, {word}={random.choice([0, -1, 5, 7, 10**9, 10**30])})"


BITS = ("->", "(", ")", " ( ", ",", "-", ">", ".", "...", "*", "\\n", "<b>", "é²", "☃", " q ", "{}")
FAULTS = (_dropped, _renamed, _twice, _cut, _longer, *map(_inserted, BITS))
