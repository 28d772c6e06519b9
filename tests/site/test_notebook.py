"""A notebook shows pages and pictures with alternative text, and reads a term in a cell."""

from __future__ import annotations

from collections.abc import Callable
from html import unescape
from typing import Any
from xml.etree import ElementTree

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import ncd


class Shell:
    """IPython's shell, with the magics that were registered."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[tuple[str, str], Callable[[str, str], ncd.Term]] = {}

    def register_magic_function(self, func: Any, magic_kind: str, magic_name: str) -> None:
        self.magics[magic_kind, magic_name] = func


def test_a_picture_has_alternative_text_and_a_page_of_its_theme() -> None:
    for dark, page in ((False, "#fff"), (True, "#101419")):
        drawing = ncd.draw(ncd.Block(ncd.Id("m:3"), 'A "b" <c>'), dark=dark)
        shown = drawing._repr_mimebundle_()
        image = ElementTree.fromstring(shown["text/html"].replace('">', '"/>'))
        assert image.get("alt") == shown["text/plain"] and 'A "b" <c>' in shown["text/plain"]
        assert f"background:{page}" in str(image.get("style")).lower()


def test_a_page_is_shown_in_a_frame_of_its_own() -> None:
    page = ncd.html(ncd.Id("m:3"))
    shown = page._repr_mimebundle_()
    _, _, rest = shown["text/html"].partition('srcdoc="')
    assert unescape(rest.partition('"')[0]) == page
    assert 'sandbox="allow-scripts"' in rest
    assert shown["text/plain"] == f"<Page of {len(page.encode()):,} bytes>"


def test_a_cell_is_read_as_a_term_and_kept_under_its_name() -> None:
    shell, term = Shell(), ncd.Linear("m:3 -> k:2", "Q") >> ncd.Softmax("k:2")
    ncd.load_ipython_extension(shell)
    magic = shell.magics["cell", "ncd"]
    assert magic("", ncd.spell(term)) == term and not shell.user_ns
    assert magic(" one ", ncd.spell(term)) == shell.user_ns["one"] == term


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%ncd a b\nId('m:3')", "'a b' is no name of a variable. Try %%ncd attention."),
        (
            "%%ncd\nId('m:3') >> Sofmax('m')",
            "line 1, column 14: there is no op 'Sofmax'. Try Softmax.",
        ),
        (
            "%%ncd\nId('m:3') >> Softmax('k')",
            "line 1, column 14: Softmax (k -> k): it takes (k), but the array that meets it",
        ),
    ],
)
def test_a_mistake_in_a_cell_is_one_line(
    cell: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In IPython itself, without a traceback."""
    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell(config=settings)
    ncd.load_ipython_extension(shell)
    assert shell.run_cell(cell).success is False
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("UsageError: ") and said in err
    assert err.count("\n") == 1
