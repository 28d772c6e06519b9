"""Every control that a panel shows, at both of its ends: nothing fails, nothing is refused."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.scene import url
from tests.app.page.test_pages import fine, page
from tests.app.scene.test_url import panels

PICKED = re.compile(r'data-pick="([^"=]+)=([^"]*)"')
FIELD = re.compile(r'<input[^>]*\bdata-set="([^"]+)"[^>]*>')
LIST = re.compile(r'<select[^>]*\bdata-set="([^"]+)"[^>]*>(.*?)</select>', re.DOTALL)
OPTION = re.compile(r'<option[^>]*\bvalue="([^"]*)"')
END = re.compile(r'\b(?:min|max)="([^"]*)"')


def texts(sent: object) -> list[str]:
    """Returns all texts of a message, however deep they are."""
    if isinstance(sent, dict | list):
        parts = sent.values() if isinstance(sent, dict) else sent
        return [text for part in parts for text in texts(part)]
    return [sent] if isinstance(sent, str) else []


def ends(app: AppTest) -> dict[str, list[str]]:
    """Returns the first and the last value that each control on a page may be set to."""
    found: dict[str, list[str]] = {}
    for element in app.get("bidi_component"):
        for html in texts(json.loads(element.proto.json or "{}")):
            for name, value in PICKED.findall(html):
                found.setdefault(name, []).append(unescape(value))
            for field in FIELD.finditer(html):
                found.setdefault(field[1], []).extend(END.findall(field[0]))
            for name, options in LIST.findall(html):
                found.setdefault(name, []).extend(map(unescape, OPTION.findall(options)))
    return {name: [values[0], values[-1]] for name, values in found.items() if values}


@pytest.mark.slow
@pytest.mark.few(2)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_every_control_of_every_panel_at_its_ends(name: str) -> None:
    known, moved = url.controls(panels()[name]), set()
    for tab in page(name).tabs:
        app = page(name, panel=tab.label)
        fine(app)
        for control, values in ends(app).items():
            for value in values if control in known else ():
                fine(page(name, panel=tab.label, **{control: value}))
                moved.add(control)
    assert moved
