"""Checks einops calls on shapes alone: the resulting shape, or the error, its place and a cure."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import einops
import torch
from torch import Tensor

from ncd.errors import NCDError
from ncd.systems.tensors.einops_patterns import (
    REDUCTIONS,
    CallError,
    EinopsCall,
    EinopsLine,
    Span,
    read,
    shapes,
    term,
)
from ncd.words import list_words

MAX_NUMBERS = 2_000_000  # largest array, in numbers
AXES = 12  # most words on one side of a pattern
EINOPS_ARGUMENTS = {"tensor", "pattern", "reduction"}  # einops' own argument names
WORD = re.compile(r"[^\s().,>-]+|\.\.\.")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class CheckedLine:
    """A valid line: its calls, and the shape before and after each."""

    parsed_line: EinopsLine
    shapes: tuple[Shape, ...]


def checked_line(text: str, sizes: dict[str, int]) -> CheckedLine:
    """Returns the shapes that a line gives, without computing or allocating anything.

    >>> sizes = {"b": 6, "h": 8, "w": 9, "c": 3}
    >>> checked_line('rearrange(ims, "b h w c -> h (b w) c")', sizes).shapes
    ((6, 8, 9, 3), (8, 54, 3))

    Raises CallError for a line that einops does not take, or that would make too many numbers.
    """
    given = shapes(**sizes)
    written = read(text, tuple(given))
    shape = given[written.input_name][1 if written.uses_first_image else 0 :]
    found = [shape]
    for call, place, inside in zip(written.calls, written.spans, written.patterns, strict=True):
        _check(call, inside, text)
        found.append(_shape(call, found[-1], inside, text))
        if prod(found[-1]) > MAX_NUMBERS:
            made = f"{prod(found[-1]):,} numbers"
            fact = f"it would make {made}, and up to {MAX_NUMBERS:,} are shown here"
            raise CallError(fact, place, cure="smaller lengths")
    try:
        term(text, sizes)
    except NCDError as error:  # an axis name that no term accepts
        raise CallError(error.fact, *written.patterns, cure=error.cure) from None
    return CheckedLine(written, tuple(found))


def run_call(call: EinopsCall, tensor: Tensor) -> Tensor:
    """Returns what einops gives; raises what einops raises."""
    lengths = dict(call.lengths)
    if call.operation in REDUCTIONS:
        result: Tensor = einops.reduce(tensor, call.pattern, call.operation, **lengths)
        return result
    return {"rearrange": einops.rearrange, "repeat": einops.repeat}[call.operation](
        tensor, call.pattern, **lengths
    )


def _check(call: EinopsCall, inside: Span, text: str) -> None:
    """Raises errors for mistakes that einops reports unclearly or not at all."""
    at = call.pattern
    if at.count("->") != 1:
        fact = f"a pattern has one arrow, and this one has {at.count('->') or 'none'}"
        raise CallError(fact, inside, cure='"b h w c -> b c h w"')
    words = [WORD.findall(side) for side in at.split("->")]
    if max(map(len, words)) > AXES:
        raise CallError(f"up to {AXES} words stand on a side here", inside, cure="fewer axes")
    lengths = [name for name, _ in call.lengths]
    for word in (*words[0], *words[1], *lengths):
        if word.isdecimal() and len(word) > 6:
            raise CallError("it is too large a length", *_word_spans([word], call, inside, text))
        if keyword.iskeyword(word) or word == "axis":
            places = _word_spans([word], call, inside, text)
            cure = f"{word}1"
            raise CallError(f"einops advises against the name {word}", *places, cure=cure)
        if word in lengths and word in EINOPS_ARGUMENTS:
            places = _word_spans([word], call, inside, text)
            raise CallError(f"einops' argument is called {word}", *places, cure=f"{word}1")


def _shape(call: EinopsCall, shape: Shape, inside: Span, text: str) -> Shape:
    """Returns the shape that a call gives, using a tensor without data."""
    try:
        return tuple(run_call(call, torch.empty(shape, device="meta")).shape)
    except einops.EinopsError as error:
        message = str(error).strip()
    except (RuntimeError, ValueError, TypeError, OverflowError, ArithmeticError) as error:
        message = str(error).strip().partition("\n")[0]
    fact, words, cure = explain_error(message, call, shape)
    if isinstance(words, list):
        places = _word_spans(words, call, inside, text)
    elif text[slice(*inside)] == call.pattern:
        places = tuple((inside[0] + start, inside[0] + end) for start, end in words)
    else:
        places = ()
    raise CallError(fact, *(places or (inside,)), cure=cure, message=message)


def _word_spans(
    words: Sequence[str], call: EinopsCall, inside: Span, text: str
) -> tuple[Span, ...]:
    """Returns the spans of words in the pattern and in the sizes after it, else the pattern."""
    start, end = inside
    found = [
        (start + word.start(), start + word.end())
        for word in WORD.finditer(text[start:end])
        if word[0] in words
    ]
    names = "|".join(map(re.escape, words))
    behind = re.finditer(rf"\b(?:{names})(?=\s*=)", text[end:]) if words else ()
    found += [(end + word.start(), end + word.end()) for word in behind]
    return tuple(found) or (inside,)


# --- in words -------------------------------------------------------------------------------------

Places = tuple[Span, ...]  # positions in the pattern
Explanation = tuple[str, list[str] | Places, str]  # the fact, its places, the cure


def explain_error(message: str, call: EinopsCall, shape: Shape) -> Explanation:
    """Translates an einops error: the fact in our words, the words or places concerned, a cure."""
    for pattern, fact, cure in NAMING:
        if found := re.search(pattern, message, re.S):
            names = sorted(_names(found))
            words = {"all": list_words(names), "first": names[0], "last": names[-1]}
            return fact.format(**words), names, cure.format(**words)
    for pattern, tell in RULES:
        if found := re.search(pattern, message, re.S):
            return tell(found, call, shape)
    return "einops does not take it", (), ""


def _names(found: re.Match[str]) -> list[str]:
    """Returns the name that einops complains of, or those in its set: {'c', 2-axis}."""
    text = found[found.lastindex or 0].replace("…", "...")
    return [a or b for a, b in re.findall(r"'([^']+)'|(\d+)-axis", text)] or [text]


def _one_sided(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    names = sorted(_names(found))
    left = WORD.findall(call.pattern.split("->")[0])
    lost = [name for name in names if name in left]
    stand = "stand" if len(names) > 1 else "stands"
    fact = f"rearrange keeps every axis, but {list_words(names)} {stand} on one side only"
    if lost:
        return fact, names, f"{list_words(lost)} on the right too, or reduce, which sums axes up"
    return fact, names, f"repeat, which makes new axes, with {names[0]}=2"


def _letter(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    places = tuple((at.start(), at.end()) for at in re.finditer(re.escape(found[1]), call.pattern))
    letter = found[1] if found[1].isprintable() else repr(found[1])
    cure = "names, spaces, brackets, -> and three dots"
    return f"{letter} means nothing in a pattern", places, cure


def _brackets(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    places = tuple((at.start(), at.end()) for at in re.finditer(r"[()]", call.pattern))
    return "the brackets do not close one by one", places, '"(b h) w c"'


def _dots(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    places = tuple((at.start(), at.end()) for at in re.finditer(r"\.+", call.pattern))
    fact = "three dots stand for the axes that are not named: once, and on the left in no brackets"
    return fact, places, '"b ... -> ... b"'


def _count(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    sizes = " ".join(map(str, shape)) or "()"
    left = (0, call.pattern.index("->"))
    fact = f"the array has {len(shape)} axes, {sizes}, and the left side names {found[1]}"
    return fact, (left,), f"{len(shape)} on the left"


def _numbers(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    words = [word for word in WORD.findall(call.pattern) if word.isdecimal() and word != "1"]
    return "rearrange takes no number but 1", words, "a name, with its length behind the pattern"


def _length(found: re.Match[str], call: EinopsCall, shape: Shape) -> Explanation:
    """Explains an axis whose length differs from, or is not divisible by, that of its parts."""
    left, _ = call.sides(len(shape))
    lengths = dict(call.lengths)
    for i, (parts, size) in enumerate(zip(left, shape, strict=True)):
        known = {p.text: int(p.text) if p.text.isdecimal() else lengths.get(p.text) for p in parts}
        whole = prod(n for n in known.values() if n)
        if size % whole or (None not in known.values() and whole != size):
            names = "·".join(name for name, n in known.items() if n) or "a 1 in a pattern"
            near = _nearest_divisor(size, whole) if None in known.values() else size
            fact = f"the axis has length {size}, and {names} = {whole}"
            cure = f"{names} = {near}" if known else "a name for it"
            return fact, (call.places(len(shape))[i],), cure
    return "the lengths do not fit the array", (), ""


def _nearest_divisor(size: int, asked: int) -> int:
    """Returns the divisor of a length that is nearest to ``asked``.

    >>> _nearest_divisor(96, 5), _nearest_divisor(96, 200)
    (6, 96)
    """
    divisors = (n for n in range(1, size + 1) if size % n == 0)
    return min(divisors, key=lambda n: (abs(n - asked), -n))


# Errors about names: einops' message, the fact and the cure.
NAMING = (
    (
        r"left side of repeat: \{(.*)\}",
        "repeat ends no axis, but {all} does not stand on the right",
        "{all} on the right, or reduce",
    ),
    (
        r"right side of reduce \w+: \{(.*)\}",
        "reduce makes no new axis, such as {all}",
        "repeat, which does",
    ),
    (
        r"Specify sizes for new axes in repeat: \{(.*)\}",
        "nobody knows how long {all} is",
        "{first}=2 behind the pattern",
    ),
    (
        r"Could not infer sizes for \{(.*)\}",
        "of the parts of an axis all lengths but one are given, "
        "but not those of {first} and {last}",
        "{last}=2 behind the pattern",
    ),
    (r"Axis (\w+) is not used", "the pattern has no axis {all}", "it without this length"),
    (
        r"Invalid (?:axis identifier: (\S+)|name for an axis\W+(\w+))",
        "{all} is no name of an axis",
        "letters, and digits or _ between them",
    ),
    (
        r'duplicate dimension "(.*)"',
        "{all} stands twice on one side, and one name means one axis",
        "{all}1 and {all}2",
    ),
)
RULES: tuple[tuple[str, Callable[[re.Match[str], EinopsCall, Shape], Explanation]], ...] = (
    (r"only on one side .*\{(.*)\}", _one_sided),
    (r"Unknown character '(.)", _letter),
    (r"[Bb]rackets|parentheses", _brackets),
    (r"[Ee]llipsis", _dots),
    (r"expected >?=?(\d+) dims", _count),
    (r"positive length", lambda *_: ("an axis has one place at least", ["0"], "1, or a name")),
    (r"Non-unitary", _numbers),
    (r"Shape mismatch", _length),
)
