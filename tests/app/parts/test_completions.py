"""The names that the editor completes are those that there are, and what it is sent to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import ncd
from ncd.app.parts import text_editor
from ncd.app.parts.text_editor import (
    Diagnostic,
    EditorMessage,
    Remark,
    Remedy,
    _op_completion,
    completions,
    faults,
)
from ncd.app.teach import lesson_view
from ncd.errors import NCDError, SizeError
from ncd.notation.term_reader import NAMES, TextError


def test_behind_a_prefix_stand_names_of_torch() -> None:
    known = completions()
    for prefix, owner in (("nn.", nn), ("F.", F), ("torch.", torch)):
        labels = [each["label"] for each in known[prefix]]
        assert len(labels) > 10 and all(hasattr(owner, label) for label in labels)


def test_behind_nothing_stand_names_of_the_language_with_what_they_need() -> None:
    known = {each["label"]: each for each in completions()[""]}
    assert {*known} == {name for name in NAMES if name.isidentifier()} < {*NAMES}
    assert known["Linear"]["detail"].startswith("(") and known["Linear"]["info"].endswith(".")


def plain(a: int, b: int = 1, *, c: int = 2) -> None:
    """Does `this`.

    And more.
    """


def several(a: int, *rest: int, **more: int) -> None: ...


@pytest.mark.parametrize(
    ("make", "detail", "info"),
    [
        (plain, "(a, …)", "Does this."),
        (several, "(a, …)", ""),
        (lambda: None, "()", ""),
        (lambda a, b: None, "(a, b)", ""),
        (lambda a=1: None, "(…)", ""),
    ],
)
def test_what_has_a_default_value_is_dots(make: Callable[..., Any], detail: str, info: str) -> None:
    assert _op_completion("name", make) == {"label": "name", "detail": detail, "info": info}


# --- the editor -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (SizeError("no place"), ()),
        (TextError("wrong", 2, 3, (2, 7), "Id"), (((2, 3), (2, 7), "Id"),)),
        (TextError("wrong", 2, 3, (2, 7), "m = 3"), (((2, 3), (2, 7), ""),)),
        (TextError("wrong", 2, 3, (2, 1)), (((2, 3), (2, 3), ""),)),
        (TextError("wrong", 2, 3, (1, 9)), (((2, 3), (2, 3), ""),)),
    ],
)
def test_an_error_is_underlined_where_it_is(error: NCDError, found: tuple[Any, ...]) -> None:
    assert tuple((own.start, own.end, own.instead) for own in faults(error)) == found
    assert all(own.message == str(error) and not own.mild for own in faults(error))


@pytest.mark.parametrize(("typed", "taken"), [("b i", ["b i"]), ("", [""]), (None, []), (3, [])])
def test_the_editor_is_sent_all_that_is_said_and_gives_what_is_typed(
    typed: object, taken: list[str]
) -> None:
    remedy = Remedy("Put it right", "text", "hint", (("-", 1, "a"),))
    said = EditorMessage(
        "words",
        faults=(Diagnostic((1, 2), (1, 4), "message", "instead", True),),
        remedies=(remedy,),
        remarks=(Remark("kind", "words", (remedy,), 3),),
        ops={2: "n1 n2"},
    )
    own: list[str] = []
    with patch.object(text_editor, "_editor") as editor:
        text_editor.show("label", "text", said, own.append, "field")
    data = editor.call_args.kwargs["data"]
    assert (data["text"], data["label"], data["told"]) == ("text", "label", "words")
    assert data["faults"] == [
        {"from": (1, 2), "to": (1, 4), "message": "message", "instead": "instead", "mild": True}
    ]
    cure = {"words": "Put it right", "text": "text", "hint": "hint", "changes": (("-", 1, "a"),)}
    assert data["cures"] == data["remarks"][0]["cures"] == [cure]
    assert (data["remarks"][0]["line"], data["ops"]) == (3, {"2": "n1 n2"})
    with patch.object(text_editor, "sent_value", lambda key, what: typed):
        editor.call_args.kwargs["on_text_change"]()
    assert own == taken


@pytest.mark.parametrize(
    ("sites", "framed"), [(None, False), ("  ", False), ("https://a.net", True)]
)
def test_a_page_offers_code_for_other_sites_where_they_may_show_it(
    sites: str | None, framed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NCD_FRAMES", raising=False)
    if sites is not None:
        monkeypatch.setenv("NCD_FRAMES", sites)
    entry = ncd.catalogue["scaled-dot-product-attention"]
    with patch.object(lesson_view, "_present") as shown:
        lesson_view.show_presenter(entry)
    data = shown.call_args.kwargs["data"]
    assert data["framed"] is framed and data["sizes"] == [knob.name for knob in entry.knobs]
    assert data["pages"]["yours"] == "Yours" and data["pages"][entry.name] == entry.title
