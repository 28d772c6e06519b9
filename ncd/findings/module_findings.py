"""Findings in the source of a real module, which is read beside its run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from ncd.findings.finding import Finding
from ncd.findings.search import findings
from ncd.importing import Imported
from ncd.lang.errors import ParseError, shown
from ncd.pytorch_source.base.usual_sizes import PLAIN
from ncd.pytorch_source.usual.spelled_inputs import input_words


def module_findings(found: Imported) -> tuple[Finding, ...]:
    """Returns what is found in the source of a module that has been imported.

    Its file is read, and nothing in it is run again. The module is made anew from the arguments
    that it keeps under their own names, or has by default.

    Args:
        found: What ``ncd.from_torch`` returned.

    Returns:
        The findings, whose lines are those of the file of the module's class; none where that has
        no file, or where it cannot be told how the module was made.

    Raises:
        ParseError: For something that ``from_torch`` did not return.

    Source: this project's own.

    >>> import ncd, torch
    >>> ncd.module_findings(ncd.from_torch(nn.Linear(8, 3), torch.ones(2, 8)))
    ()
    """
    if not isinstance(found, Imported):
        raise ParseError(f"{shown(found)} is no module that was imported", cure="ncd.from_torch")
    module, kind = found.exported.module, type(found.exported.module)
    if kind.__module__.startswith("torch.") or "." in kind.__qualname__:
        return ()
    settings = _settings(module)
    inputs = _spelled(found.exported.args, found.exported.named)
    try:
        text = Path(inspect.getsourcefile(kind.forward) or "").read_text(encoding="utf-8")
    except (OSError, TypeError, ValueError):
        return ()
    if settings is None or inputs is None:
        return ()
    return call_findings(text, f"{kind.__name__}({settings})({inputs})", bool(found.failure))


def call_findings(text: str, call: str, fails: bool) -> tuple[Finding, ...]:
    """Returns what is found in a text on a call in its last line.

    A failure is one of the module only if that ``fails`` as well.
    """
    line = text.count("\n") + 2  # of the call
    known = (each for each in findings(f"{text}\n{call}") if each.line < line)
    return tuple(
        replace(each, cures=tuple(c for c in each.cures if all(e.line < line for e in c.edits)))
        for each in known
        if each.kind != "failure" or fails
    )


def _settings(module: nn.Module) -> str | None:
    """Returns the arguments with which a module was made; None if one is not known."""
    found = []
    given = list(inspect.signature(type(module).__init__).parameters.values())[1:]
    for each in given:
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            continue
        value = vars(module).get(each.name, each.default)
        if type(value) not in PLAIN or (value is None and each.default is not None):
            if each.default is each.empty:
                return None
            continue
        found.append(f"{each.name}={value!r}")
    return ", ".join(found)


def _spelled(args: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """Returns the inputs of a module as a source writes them; None if it cannot."""
    pairs = [*(("", x) for x in args), *((f"{name}=", x) for name, x in named.items())]
    words = [(name, input_words(x)) for name, x in pairs]
    if any(each is None for _, each in words):
        return None
    return ", ".join(f"{name}{each}" for name, each in words)
