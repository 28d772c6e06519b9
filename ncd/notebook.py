"""The display of a term in a notebook: its diagram, and its text."""

from __future__ import annotations

from collections.abc import Collection

from ncd.drawing import draw
from ncd.lang.errors import NCDError
from ncd.lang.terms.terms import Term


def bundle(
    term: Term, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """Returns the diagram and the text of a term by media type; the text alone if it has errors.

    >>> from ncd.lang.terms.terms import Id
    >>> sorted(bundle(Id("y:2 m:3"))), bundle(Id("y:2 m:3"))["text/plain"]
    (['image/svg+xml', 'text/plain'], "Id('y:2 m:3')")
    """
    text = {"text/plain": repr(term)}
    try:
        return {**draw(term)._repr_mimebundle_(), **text}
    except NCDError:
        return text
