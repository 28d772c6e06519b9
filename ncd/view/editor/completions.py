"""The names that the text editor completes: ops of the language, and names of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import Parameter, signature
from typing import Any, TypedDict

from ncd.pytorch_source.listed import torch_lists
from ncd.text.reader import NAMES


class Completion(TypedDict):
    """A name to complete, its arguments, and its meaning in a sentence."""

    label: str
    detail: str
    info: str


def completions() -> dict[str, list[Completion]]:
    """Returns the completions by prefix, such as ``nn.``; ops have the empty prefix.

    >>> known = completions()
    >>> [each["detail"] for each in known[""] if each["label"] == "Softmax"]
    ['(axis, …)']
    >>> sorted(known)
    ['', 'F.', 'nn.', 'torch.']
    """
    return {
        "": [_of(name, make) for name, make in sorted(NAMES.items()) if "." not in name],
        "nn.": _bare(torch_lists.LAYERS),
        "F.": _bare(torch_lists.FUNCTIONAL),
        "torch.": _bare(torch_lists.FUNCTIONS),
    }


def _of(name: str, make: Callable[..., Any]) -> Completion:
    """Returns the completion of an op, with the first line of its description."""
    lines = (make.__doc__ or "").strip().splitlines()
    first = "".join(lines[:1]).replace("`", "")
    return {
        "label": name,
        "detail": f"({', '.join(_arguments(make))})",
        "info": first.replace("`", ""),
    }


def _arguments(make: Callable[..., Any]) -> Iterable[str]:
    """Yields the arguments that an op needs; dots follow for all that may be given beside."""
    found = signature(make).parameters.values()
    several = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
    needed = [e.name for e in found if e.default is Parameter.empty and e.kind not in several]
    yield from needed
    if len(needed) < len(found):
        yield "…"


def _bare(names: str) -> list[Completion]:
    return [{"label": name, "detail": "", "info": ""} for name in sorted(set(names.split()))]
