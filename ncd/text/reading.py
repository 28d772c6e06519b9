"""The term of a text, with what a page says about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ncd.lang.terms.terms import Term
from ncd.text.call_form import ModuleCall
from ncd.text.text_errors import TextError


@dataclass(frozen=True)
class Reading:
    """The term of a text, and what is known of it; a text is read once for all of these.

    Args:
        term: The term.
        kind: What the text is, in words for its reader, such as ``a line of PyTorch``.
        note: Sentences about what is assumed or left out.
        failure: The error of its module, if it stops; the term goes up to the call that fails.
        shapes: The shapes of the module's results, as torch has them.
        lines: The shapes of the arrays that a line of the source makes, by its number.
        call: How the module of a source is made and called.
        ops: The ids of the ops that a line of the source makes, such as ``n1 n2``, by its number.

    Source: this project's own, for the caption of a visitor's text.

    >>> from ncd.text import read
    >>> read("b i d, b j d -> b i j").kind
    'an einsum'
    """

    term: Term
    kind: str
    note: str = ""
    failure: TextError | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    lines: Mapping[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    call: ModuleCall = field(default_factory=ModuleCall)
    ops: Mapping[int, str] = field(default_factory=dict)
