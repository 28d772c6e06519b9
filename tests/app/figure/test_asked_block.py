"""What a question is about is drawn, also where a phone has no room for its block."""

from __future__ import annotations

import re
from dataclasses import replace
from urllib.parse import parse_qsl

import pytest

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.diagram import open_asked_block
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import lesson_of
from tests.support.sampling import sample

PHONE = selection.WIDTHS[0]
LIGHTS = re.compile(r'data-(?:node|fence|array)="([^"]+)"')


def phone(entry: Entry, settings: dict[str, int]) -> Scene:
    term = entry.build(**settings)
    return Scene(
        entry, settings, 0, "cpu", InputSpec(), False, "names", "", term, column_width=PHONE
    )


def asked(entry: Entry) -> list[tuple[dict[str, int], str]]:
    """What the questions of a lesson are about, each with the settings of its view."""
    found = []
    for view in lesson_of(entry).views:
        said = dict(parse_qsl(view.query))
        own = {knob.name: int(said[knob.name]) for knob in entry.knobs if knob.name in said}
        settings = dict(entry.settings(own))
        asks = question(entry, settings, said["ask"]) if "ask" in said else None
        if asks is not None and asks.subject_id:
            found.append((settings, asks.subject_id))
    return found


def shows(drawn: diagram.DiagramMessage, id: str) -> bool:
    return any(f'data-{kind}="{id}"' in drawn.svg for kind in ("array", "node", "fence"))


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_what_a_lesson_asks_for_is_seen_on_a_phone(entry: Entry) -> None:
    for settings, about in sample(asked(entry), 2, entry.name):
        scene = replace(phone(entry, settings), subject_id=about)
        assert shows(diagram.diagram_message(scene, None, selection.AUTO), about)


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_what_a_view_lights_is_drawn(entry: Entry) -> None:
    """As an op, a block or a wire of its own, or an op in the box of its block."""
    for view in lesson_of(entry).views:
        said = dict(parse_qsl(view.query))
        if "select" in said:
            own = {knob.name: int(said[knob.name]) for knob in entry.knobs if knob.name in said}
            scene = replace(phone(entry, dict(entry.settings(own))), column_width=1280)
            svg = diagram.diagram_message(scene, None, said.get("folded", selection.AUTO)).svg
            lit = {id for ids in LIGHTS.findall(svg) for id in ids.split()}
            assert said["select"] in lit, view


def test_the_rest_stays_as_it_is() -> None:
    entry = ncd.catalogue["encoder-decoder"]
    scene = phone(entry, dict(entry.settings({})))
    plain = diagram.diagram_message(scene, None, selection.AUTO)
    assert not shows(plain, "v8") and shows(plain, "v0")
    opened = diagram.diagram_message(replace(scene, subject_id="v8"), None, selection.AUTO)
    assert shows(opened, "v8") and opened.boxes
    assert diagram.diagram_message(replace(scene, subject_id="v0"), None, selection.AUTO) == plain
    folded = diagram.diagram_message(replace(scene, subject_id="v8"), None, ",".join(plain.boxes))
    assert not shows(folded, "v8")  # a visitor's own choice


@pytest.mark.parametrize(
    ("id", "shut"),
    [
        ("n0", {"f1", "f3", "f4"}),
        ("n1", {"f2", "f3", "f4"}),
        ("n2", {"f3", "f4"}),
        ("n3", {"f1", "f4"}),
        ("n4", {"f0"}),
        ("f2", {"f2", "f3", "f4"}),
        ("f0", None),
        ("v0", None),
        ("nothing", None),
    ],
)
def test_the_blocks_beside_the_way_are_boxes(id: str, shut: set[str] | None) -> None:
    """Of blocks within each other, the outermost that is not on the way."""
    a, b, c, d, e = (ncd.Linear("m:3 -> m:3", name) for name in "ABCDE")
    one = ncd.Block(b >> ncd.Block(c, "inner"), "one")
    term = ncd.Block(a >> one >> ncd.Block(d, "two"), "outer") >> ncd.Block(e, "beside")
    drawing = ncd.draw(term, folded=("outer", "beside"))
    found = open_asked_block(drawing, ncd.elaborate(term), id)
    assert found == (None if shut is None else frozenset(shut))
