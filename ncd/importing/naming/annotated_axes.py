"""Names of axes from the annotations of a module's ``forward``."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from torch import Tensor, nn

_NAME = re.compile(r"[^\W\d_]\w*")
_VARIADIC = re.compile(r"\.\.\.|[#?_]*\*.*")


def annotated_axes(
    module: nn.Module, inputs: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, str]:
    """Returns the axes of the inputs that are annotated with them; ``_`` is one without a name.

    An annotation is of jaxtyping (``Float[Tensor, "b t m"]``), ``Annotated[Tensor, "b t m"]`` or
    text. One that has another number of dimensions than its input says nothing about it.

    Source: the array annotations of jaxtyping.
    """
    try:
        signature = inspect.signature(module.forward)
        given = signature.bind(*inputs, **named).arguments
    except (TypeError, ValueError):  # torch says what is wrong with the call
        return {}
    known = {*vars(builtins), *getattr(module.forward, "__globals__", {})}
    found = {}
    for name, value in given.items():
        annotation = signature.parameters[name].annotation
        if isinstance(value, Tensor):
            texts = _texts(annotation) if annotation is not inspect.Parameter.empty else ()
            words = next((text.split() for text in texts if text not in known), [])
            axes = _fitted(words, value.dim())
            if any(axis != "_" for axis in axes):
                found[name] = " ".join(axes)
    return found


def _texts(annotation: Any) -> Iterator[str]:
    """Yields the texts in an annotation that may be axes; an annotation may be text as a whole."""
    if isinstance(annotation, str):
        yield from _in_text(annotation)
    dims = getattr(annotation, "dim_str", "")  # of jaxtyping
    if isinstance(dims, str) and dims:
        yield dims
    for part in (*getattr(annotation, "__metadata__", ()), *get_args(annotation)):
        if part is not annotation:
            yield from _texts(part)


def _in_text(text: str) -> Iterator[str]:
    """Yields the axes in a text: all of it, or the strings in Python code that it holds."""
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        yield text
        return
    if isinstance(tree, ast.Name):
        yield tree.id
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _fitted(words: Sequence[str], count: int) -> list[str]:
    """Returns one axis for each dimension, or none; dots and a star stand for any number."""
    axes = [_axis(word) for word in words]
    any_number = [i for i, word in enumerate(words) if _VARIADIC.fullmatch(word)]
    if len(any_number) == 1 and len(axes) - 1 <= count:
        (at,) = any_number
        axes[at : at + 1] = ["_"] * (count - len(axes) + 1)
    return axes if len(axes) == count and len(any_number) < 2 else []


def _axis(word: str) -> str:
    """Returns the name in a word of jaxtyping, such as ``#b`` or ``b=4``."""
    name = word.lstrip("#?").partition("=")[0]
    return name if _NAME.fullmatch(name) else "_"
