"""PyTorch source that a visitor pastes: read in another process, while other visitors go on."""

from __future__ import annotations

from ncd.jobs.source_reading import SourceTerm, reader
from ncd.lang.terms.terms import Term
from ncd.text import TextError, is_source, read
from ncd.text.recognise import LAYERS
from ncd.view.runtime import scheduler


def prepare() -> None:
    """Starts the process that reads sources, as a visitor comes who may paste one."""
    reader().workers.prepare()


def term_of(text: str) -> tuple[Term, SourceTerm | None]:
    """Returns the term of a text, and what else is known of it if it is source.

    A line of layers that is not in the list of short lines is read as source.

    >>> str(term_of("nn.Linear(8, 3)")[0].cod)
    'b m_1'

    Raises TextError for a text that is neither.
    """
    if is_source(text):
        found = _pasted(text)
        return found.term, found
    try:
        return read(text), None
    except TextError as error:
        if not text.lstrip().startswith(LAYERS):
            raise
        try:
            found = _pasted(text)
        except TextError:
            raise error from None
        return found.term, found


def _pasted(text: str) -> SourceTerm:
    with scheduler.aside():
        return reader().read(text)
