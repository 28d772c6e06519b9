"""The call of a term on named arrays, which a definition records."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ncd.lang.errors import MismatchError

Call = Callable[[Any, tuple[Any, ...]], Any]
CALLS: ContextVar[Call | None] = ContextVar("CALLS", default=None)


def called(term: Any, arrays: tuple[Any, ...]) -> Any:
    """Records a call of a term in the current definition, and returns its outputs.

    Raises MismatchError outside of a definition.
    """
    call = CALLS.get()
    if call is None:
        fact = "a term is called on named arrays, inside of ncd.define"
        raise MismatchError(fact, where=type(term).__name__, cure="ncd.compile(term)(x)")
    return call(term, arrays)
