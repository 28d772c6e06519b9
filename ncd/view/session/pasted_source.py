"""PyTorch that a visitor pastes: read in another process, while other visitors go on."""

from __future__ import annotations

from ncd.answers.plain_answer import reading_of
from ncd.jobs.source_reading import reader
from ncd.text import is_source
from ncd.text.reading import Reading
from ncd.view.runtime import scheduler, streamlit_internals


def prepare() -> None:
    """Starts the process that reads sources, as a visitor comes who may paste one."""
    reader().workers.prepare()


def reading(text: str) -> Reading:
    """Returns what a text gives: its term, and what a page says about it.

    >>> found = reading("nn.Linear(8, 3)")
    >>> found.term.cod.spec, found.kind
    ('b:1 d:3', 'a line of PyTorch')

    Raises TextError for a text that cannot be read, and ParseError with the explanation of an
    error message.
    """
    return _pasted(text) if is_source(text) else reading_of(text)


def _pasted(text: str) -> Reading:
    with scheduler.aside():
        return reader().read(text, streamlit_internals.session_id())
