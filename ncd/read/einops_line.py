"""Reads one line of einops as a term: ``rearrange``, ``reduce`` or ``repeat``."""

from __future__ import annotations

import re
from math import prod

from ncd.errors import NCDError
from ncd.installation import needed_by
from ncd.language.terms import Term
from ncd.notation.term_reader import TextError
from ncd.systems.tensors import einops_patterns
from ncd.systems.tensors.einops_patterns import EinopsCall, einops_term

LINE = re.compile(r"(?:einops\.)?(?:rearrange|reduce|repeat)\(")
SHAPE = re.compile(r"\n\s*\(?(\d{1,9}(?:\s*[x×,\s]\s*\d{1,9})*)\)?\s*$")
AXIS = re.compile(r"\([^()]*\)|\S+")
ARRAY = re.compile(r"\(\s*torch\.(?:randn|rand|zeros|ones|empty)\(\s*\(?([\d\s,]+)\)?\s*\)")
NAME = re.compile(r"\(\s*(\w+)")
USUAL_SIZE = 6  # the size of an axis without one


def read(text: str) -> Term | None:
    r"""Returns the term of a line of einops, or None for any other text.

    >>> term = read('rearrange(x, "b (h w) c -> b h w c", h=4)\n2x12x3')
    >>> term.cod.spec
    'b:2 h:4 w:3 c:3'
    >>> read('rearrange(torch.randn(2, 12), "b (h w) -> b h w", h=4)').cod.spec
    'b:2 h:4 w:3'

    Raises TextError for a call or a shape that einops refuses.
    """
    if not LINE.match(text.strip()):
        return None
    line, shape = text.strip().removeprefix("einops."), None
    if found := SHAPE.search(line):
        line, shape = line[: found.start()], tuple(map(int, re.findall(r"\d+", found[1])))
    elif found := ARRAY.search(line):
        line = f"{line[: found.start()]}(x{line[found.end() :]}"
        shape = tuple(map(int, re.findall(r"\d+", found[1])))
    given = NAME.search(line)
    try:
        calls = einops_patterns.read(line, [given[1] if given else "x"]).calls
        if any(call.pattern.count("->") != 1 for call in calls):
            raise TextError("a pattern has one arrow", 1, 1, cure='"b h w c -> b c h w"')
        shape = shape or _example_shape(calls[0])
        _check_calls(shape, calls)
        return einops_term(shape, calls)
    except NCDError as error:
        raise TextError(error.fact, 1, 1, cure=error.cure) from None
    except (TypeError, RuntimeError, OverflowError) as error:
        # einops' own are RuntimeErrors; TypeError for an axis called tensor, the others for a huge
        # shape
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise TextError(f"einops: {said[-1].strip()}", 1, 1, cure="another shape") from None


def _example_shape(call: EinopsCall) -> tuple[int, ...]:
    """Returns a shape that a call accepts."""
    left = AXIS.findall(call.pattern.split("->")[0])
    axes, _ = call.sides(len(left))
    given = dict(call.lengths)
    return tuple(prod(given.get(part.text, _number(part.text)) for part in axis) for axis in axes)


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else USUAL_SIZE


def _check_calls(shape: tuple[int, ...], calls: tuple[EinopsCall, ...]) -> None:
    """Checks the calls with einops on shapes alone, and raises its errors."""
    with needed_by("a line of einops"):
        import einops
        import torch

    array = torch.empty(shape, device="meta")
    for call in calls:
        own = dict(call.lengths)
        if call.operation == "rearrange":
            array = einops.rearrange(array, call.pattern, **own)
        elif call.operation == "repeat":
            array = einops.repeat(array, call.pattern, **own)
        else:
            array = einops.reduce(array, call.pattern, call.operation, **own)
