"""Plain numbers of formulas at traced sizes: an expression follows them, a value does not.

``k ** -0.5`` is written as it is, so that a size k may change; its value 0.25 is only that of now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ncd.lang.formulas import expr as ex
from ncd.lang.formulas.traced_sizes import traced


def now(value: Any) -> Any:
    """Returns a number without its formula.

    >>> from ncd.lang.formulas.traced_sizes import Trace
    >>> now(Trace().size("k", 16)) ** -0.5
    0.25
    """
    return value.value if traced(value) else value


def stale(expr: ex.Expr, value: Any) -> bool:
    """Returns whether a value holds at the current sizes only, and not as a formula."""
    return not traced(value) and any(map(traced, _sizes(expr)))


def settled(expr: ex.Expr, value: Any) -> Any:
    """Returns a value on which code depends; its trace notes that its sizes must not change."""
    if stale(expr, value):
        for size in _sizes(expr):
            int(size)
    return value


def _sizes(expr: ex.Expr) -> Iterator[int]:
    for part in expr.walk():
        if isinstance(part, ex.Size):
            yield from (axis.numel for axis in part.axes)
