"""Numbers and names in texts: f-strings, ``format`` and ``%``, of bounded width."""

from __future__ import annotations

import re
from typing import Any

import torch

from ncd.pytorch_source.base.machine import LETTERS, Machine
from ncd.pytorch_source.base.source_values import ClassValue, Function

SPEC = re.compile(r"[^\d{}]{0,2}[<>=^+\- ]?#?0?\d{0,2},?(\.\d{1,2})?[bcdeEfFgGnosxX%]?")
FIELD = re.compile(r"\{\{|\}\}|\{(\w*)(![rsa])?(?::([^{}]*))?\}|[{}]")
PERCENT = re.compile(r"%(?:%|[-+ 0#]?\d{0,2}(?:\.\d{1,2})?[sdifgerx])")
SHOWN = (bool, int, float, str, type(None), torch.Size, torch.dtype, torch.device)
DEEPEST = 3  # lists inside of each other that are written


def written(value: Any, exact: bool = False, depth: int = 0) -> str:
    """Returns a value as ``str`` writes it, or ``repr`` if exact; for an object only its kind."""
    if isinstance(value, SHOWN):
        return repr(value) if exact else str(value)
    if isinstance(value, BaseException) and not exact:
        return str(value)
    if type(value) in (list, tuple, dict) and depth < DEEPEST and len(value) < 100:
        parts = _parts(value, depth + 1)
        if isinstance(value, tuple):
            return f"({parts}{',' * (len(value) == 1)})"
        return f"{{{parts}}}" if isinstance(value, dict) else f"[{parts}]"
    name = value.name if isinstance(value, ClassValue | Function) else type(value).__name__
    return f"<{name}>"


def _parts(value: Any, depth: int) -> str:
    """Returns the items of a value as text; it ends where it becomes too long."""
    found: list[str] = []
    letters = 0
    for one in value:
        text = written(one, True, depth)
        text = f"{text}: {written(value[one], True, depth)}" if isinstance(value, dict) else text
        found.append(text)
        letters += len(text)
        if letters > LETTERS:  # the machine refuses the whole
            break
    return ", ".join(found)


def formatted(machine: Machine, value: Any, spec: str, exact: bool = False) -> str:
    """Returns a value in an f-string; raises TextError for a specification that is too wide."""
    value = written(value, True) if exact else value
    if not spec:
        return written(value)
    if not SPEC.fullmatch(spec) or not isinstance(value, int | float | str):
        raise machine.refuse("this way to write a value is not understood", "f'{value}'")
    return str(machine.attempt(format, value, spec))


def put_in(machine: Machine, text: str, *args: Any, **named: Any) -> str:
    """Returns ``text.format(…)``; fields are numbers and names, without attributes."""
    at = iter(range(len(args)))

    def field(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        key = found[1]
        if key is None:
            raise machine.refuse("a field of format is a number or a name", "'{}'")
        values: Any = named if key and not key.isdecimal() else args
        place: Any = key if values is named else int(key) if key else next(at, len(args))
        exact = found[2] in ("!r", "!a")
        return formatted(machine, machine.attempt(lambda: values[place]), found[3] or "", exact)

    return str(machine.within(FIELD.sub(field, text)))


def percent(machine: Machine, text: str, values: Any) -> str:
    """Returns ``text % values``."""
    if "%" in PERCENT.sub("", text):
        raise machine.refuse("this way to write a value is not understood", "f'{value}'")
    several = values if isinstance(values, tuple) else (values,)
    plain = tuple(x if isinstance(x, int | float | str) else written(x) for x in several)
    return str(machine.attempt(lambda: text % plain))
