"""In a notebook a term shows itself: its diagram, and the text that makes it."""

from __future__ import annotations

from collections.abc import Collection

from ncd.drawing import draw
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Term


def bundle(
    term: Term, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """What a notebook may choose from, by media type; one that cannot be drawn is text alone.

    >>> from ncd.lang.terms.terms import Id
    >>> sorted(bundle(Id("y:2 m:3"))), bundle(Id("y:2 m:3"))["text/plain"]
    (['image/svg+xml', 'text/plain'], "Id('y:2 m:3')")
    """
    text = {"text/plain": repr(term)}
    try:
        return {**draw(term)._repr_mimebundle_(), **text}
    except NCDError:
        return text
