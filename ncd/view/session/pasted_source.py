"""PyTorch that a visitor pastes: read in another process, while other visitors go on."""

from __future__ import annotations

from ncd.answers.error_messages import CURE, explain
from ncd.jobs.source_reading import reader
from ncd.lang.errors import ParseError
from ncd.text import is_source, read
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
    if is_source(text):
        return _pasted(text)
    if (explanation := explain(text)) is not None:
        raise ParseError(explanation.removesuffix(f"Try {CURE}.").rstrip(), cure=CURE)
    return read(text)


def _pasted(text: str) -> Reading:
    with scheduler.aside():
        return reader().read(text, streamlit_internals.session_id())
