"""What the link of a page chooses."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ncd.view.session import url


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("0", 0),
        ("2", 2),
        ("3", 2),  # one beyond the last
        (3, 2),
        ("99", 2),
        ("9" * 5000, 0),
        ("-1", 0),
        ("x", 0),
        (None, 0),
    ],
)
def test_a_place_is_one_of_those_that_there_are(
    said: object, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(url, "st", SimpleNamespace(session_state={"at": said}))
    assert url.place("at", 3) == found
    assert url.place("at", 1) == 0
    assert url.place("elsewhere", 3) == 0
