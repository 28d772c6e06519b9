"""Links that were written before open what they opened."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl

import pytest

import ncd
from ncd.app.scene import url
from ncd.systems.lessons.computed_questions import question
from tests.app.scene.test_url import panels

FILE = Path(__file__).with_name("old_links.txt")  # views of lessons, before names changed
LINKS = FILE.read_text(encoding="utf-8").splitlines()
PRESENTED = ("ask", "with")  # what the presenter reads


@pytest.mark.parametrize("link", LINKS)
def test_an_old_link_has_a_meaning(link: str) -> None:
    name, _, query = link.partition("?")
    entry, asked = ncd.catalogue[name], dict(parse_qsl(query))
    known = url.parameters(entry, panels()[name])
    for key, text in asked.items():
        assert key in PRESENTED or known[key].read(text) is not None, key
    settings = entry.settings({k: int(v) for k, v in asked.items() if k in entry.settings({})})
    circuit = ncd.elaborate(entry.build(**settings))
    ids = {part.id for part in (*circuit.cells, *circuit.fences)}
    assert asked.get("select", circuit.cells[0].id) in ids
    if "ask" in asked:
        assert question(entry, settings, asked["ask"]) is not None
