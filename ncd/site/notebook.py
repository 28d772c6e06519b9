"""Notebooks: the display of a term, and ``%load_ext ncd`` with its cell magic ``%%ncd``."""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from typing import Any, Protocol

from ncd.errors import NCDError, ParseError
from ncd.language.terms import Term


def bundle(
    term: Term, include: Collection[str] | None = None, exclude: Collection[str] | None = None
) -> dict[str, str]:
    """Returns the diagram and the text of a term by media type; the text alone if it has errors.

    >>> from ncd import Id
    >>> sorted(bundle(Id("y:2 m:3"))), bundle(Id("y:2 m:3"))["text/plain"]
    (['image/svg+xml', 'text/html', 'text/plain'], "Id('y:2 m:3')")
    """
    from ncd.drawing.pipeline import draw  # takes time, and most who write a term never show it

    text = {"text/plain": repr(term)}
    try:
        return {**draw(term)._repr_mimebundle_(), **text}
    except NCDError:
        return text


class Shell(Protocol):
    """IPython's shell, as far as it is used here."""

    user_ns: MutableMapping[str, Any]

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None: ...


def load_ipython_extension(shell: Shell) -> None:
    """Adds ``%%ncd NAME``: the cell is a term in text, which is drawn, and kept under the name."""

    from IPython.core.error import UsageError  # which a notebook shows as one line

    def magic(line: str, cell: str) -> Term:
        from ncd.notation.term_reader import parse

        name = line.strip()
        try:
            if name and not name.isidentifier():
                raise ParseError(f"{name!r} is no name of a variable", cure="%%ncd attention")
            term = parse(cell)
        except NCDError as error:
            raise UsageError(str(error)) from None
        if name:
            shell.user_ns[name] = term
        return term

    shell.register_magic_function(magic, "cell", "ncd")
