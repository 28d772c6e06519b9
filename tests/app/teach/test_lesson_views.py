"""Every view of every lesson is an address that its page understands, with questions to answer."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

import ncd
from ncd.app.scene import url
from ncd.app.state import selection
from ncd.app.state.link_text import LinkParameter
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import lesson_of, written_lessons
from tests.app.scene.test_url import panels

ENTRIES = list(ncd.catalogue.values())


@pytest.mark.catalogue
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_view_of_every_lesson(entry: Entry) -> None:
    views = lesson_of(entry).views
    assert 2 <= len(views) <= 10 and views[0].query == ""
    assert all(view.says for view in views[1:])
    kept = url.parameters(entry, panels()[entry.name]) | {"with": LinkParameter("", ("panel",))}
    knobs = {knob.name: knob for knob in entry.knobs}
    questions = 0
    for view in views:
        assert view.page == entry.name
        said = dict(parse_qsl(view.query, strict_parsing=bool(view.query)))
        for name, text in said.items():
            assert name in kept and kept[name].read(text) is not None, (name, text)
        settings = entry.settings({name: int(said[name]) for name in said if name in knobs})
        circuit = ncd.elaborate(entry.build(**settings))
        assert said.get("select", "n0") in selection.selectable_ids(circuit), view
        if "ask" in said:
            found = question(entry, settings, said["ask"])
            assert found is not None, said["ask"]
            assert 2 <= len(set(map(str, found.answers))) == len(found.answers) <= 4
            assert [not fault for fault in found.feedback] == [
                answer is found.answer for answer in found.answers
            ]  # each wrong one has a sentence that says why
            questions += 1
    assert questions or len(circuit.cells) < 3


def test_every_system_has_a_written_lesson() -> None:
    assert set(written_lessons()) == set(ncd.catalogue)


def test_a_written_lesson_says_something_at_each_view_and_shows_why_after_each_question() -> None:
    for name, lesson in written_lessons().items():
        assert all(view.says and view.page == name for view in lesson.views)
        asks = [i for i, view in enumerate(lesson.views) if "ask=" in view.query]
        assert len(asks) >= 2 and max(asks) < len(lesson.views) - 1, name
        assert not any("panel=" in lesson.views[i].query for i in asks)  # it might tell the answer


def test_a_view_sets_only_what_its_panel_or_its_page_shows() -> None:
    """A control of another panel would be set in vain, and a switch of what does not exist."""
    for name, lesson in written_lessons().items():
        every = {panel.title: {one.name for one in panel.controls} for panel in panels()[name]}
        for view in lesson.views:
            said = dict(parse_qsl(view.query))
            elsewhere = set().union(*every.values()) - every.get(said.get("panel", ""), set())
            assert not elsewhere & set(said), (name, view)
            if "frozen" in said:
                module = ncd.compile(ncd.catalogue[name].build())
                inputs = {value.id for value in module.circuit.inputs}
                known = inputs | {name for name, _ in module.named_parameters()}
                assert known >= set(said["frozen"].split(",")), (name, view)
