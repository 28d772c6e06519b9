"""An address without a page: the pages that resemble it, and the way back."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ncd.app.page import navigation
from ncd.systems.catalogue import CATALOGUE


class Page:
    """What a page of Streamlit says."""

    def __init__(self, show: object = None, **more: str) -> None:
        self.url_path = more.get("url_path", "")
        self.more = more


class Streamlit:
    """A session at an address."""

    def __init__(self, url: str) -> None:
        self.session_state: dict[str, str] = {}
        self.context = type("Context", (), {"url": url})
        self.Page: Callable[..., Page] = Page


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("http://here/unet", ""),
        ("http://here/", ""),
        ("http://here", ""),
        ("http://here/deep/unet", ""),
        ("http://here/resnett?k=3", "resnett"),
        ("http://here/a%20b", "a b"),
    ],
)
def test_only_an_unknown_address_adds_a_page_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, address: str, asked: str
) -> None:
    session = Streamlit(address)
    monkeypatch.setattr(navigation, "st", session)
    pages = {"": [Page(url_path="")], "Images": [Page(url_path="unet")]}
    found = navigation.with_not_found(pages)  # type: ignore[arg-type]
    added = [page.url_path for page in found[""][1:]]
    assert added == ([asked] if asked else [])
    assert found["Images"] == pages["Images"]
    session.context.url = "http://here/unet"
    again = navigation.with_not_found(pages)  # type: ignore[arg-type]
    assert [page.url_path for page in again[""][1:]] == added  # for the browser's Back


def test_every_section_is_in_one_menu() -> None:
    placed = [section for sections in navigation.MENUS.values() for section in sections]
    assert len(placed) == len({*placed}) and {*placed} >= {*CATALOGUE.sections}
