"""What the link of a page chooses, after the panels of all other pages were imported."""

from __future__ import annotations

import dis
import inspect
import runpy
from collections.abc import Iterator, Sequence
from functools import cache, partial
from types import CodeType, FunctionType
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.page import own_page, page
from ncd.app.panels.attention.token_reach import HIDDEN_POSITION
from ncd.app.panels.images import similarity_table
from ncd.app.panels.images.classification import PICTURE_NUMBER
from ncd.app.scene import own_entry, url
from ncd.app.scene.panel import Panel
from ncd.app.state import controls, knobs
from ncd.app.state.controls import Choice, Control, GridPlace, Place, Range, Switches, TextControl
from ncd.installation import package_path
from ncd.site.entry_page import file

ENTRIES = {entry.name: entry for entry in ncd.catalogue.values()}
YOURS = own_entry.custom_entry(own_entry.DEFAULT_TEXT)
TEXTS = ("1", "1.2", "1,2", "all", "some text")  # one of them is valid for any text


@cache
def panels() -> dict[str, tuple[Panel, ...]]:
    """Returns the panels of every page; all are imported before the first is used."""
    found: dict[str, tuple[Panel, ...]] = {YOURS.name: (*own_page.PANELS, *page.COMMON_PANELS)}
    with pytest.MonkeyPatch.context() as patch:
        for name, entry in ENTRIES.items():

            def collect(*, panels: Sequence[Panel], name: str = name, **_: object) -> None:
                found[name] = (*panels, *page.COMMON_PANELS)

            patch.setattr(page, "render_page", collect)
            runpy.run_path(str(package_path(file(entry))))
    return found


def opened(name: str, query: str = "") -> AppTest:
    """A page that reads its link, and shows nothing."""

    def script(name: str) -> None:
        import streamlit as st

        from ncd.app.scene import url
        from tests.app.scene import test_url as pages

        entry = pages.ENTRIES.get(name, pages.YOURS)
        url.load(entry, pages.panels()[name])
        st.session_state["text of the link"] = url.query()
        controls = url.controls(pages.panels()[name])
        st.session_state["values"] = {name: one.value for name, one in controls.items()}

    app = AppTest.from_function(script, args=(name,), default_timeout=60)
    app.query_params.update(dict(parse_qsl(query)))
    return app.run()


def note(app: AppTest) -> str:
    return str(app.session_state[knobs.NOTES].get("", ""))


def other(control: Control) -> str:
    """Returns a valid value that is not the default."""
    values = {
        Choice: lambda own: own.options,
        Range: lambda own: map(str, own.numbers),
        Place: lambda own: ("12",),
        GridPlace: lambda own: ("3.4",),
        Switches: lambda own: ("n1,n2",),
        TextControl: lambda own: TEXTS,
    }
    every = next(make(control) for kind, make in values.items() if isinstance(control, kind))
    return next(text for text in every if text != control.default and control.read(text) == text)


def read_controls(function: object, seen: set[int]) -> Iterator[Control]:
    """Yields the controls that a function of a panel names, itself or in what it calls."""
    if isinstance(function, partial):
        function = function.func
    function = inspect.unwrap(getattr(function, "__func__", function))
    if id(function) in seen or not getattr(function, "__module__", "").startswith("ncd.app.panels"):
        return
    seen.add(id(function))
    if isinstance(function, type):
        for member in vars(function).values():
            yield from read_controls(getattr(member, "fget", member), seen)
    elif isinstance(function, FunctionType):
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        for value in (*global_values(function.__code__, function.__globals__), *cells):
            if isinstance(value, Control):
                yield value
            else:
                yield from read_controls(value, seen)


def global_values(code: CodeType, names: dict[str, Any]) -> Iterator[object]:
    """Yields the values of the global names of a function, and of those inside it."""
    for step in dis.get_instructions(code):
        if step.opname == "LOAD_GLOBAL" and step.argval in names:
            yield names[step.argval]
    for inside in code.co_consts:
        if isinstance(inside, CodeType):
            yield from global_values(inside, names)


@pytest.mark.parametrize("name", [*ENTRIES, YOURS.name])
def test_a_link_with_every_key_opens_and_comes_back(name: str) -> None:
    own = url.controls(panels()[name])
    asked = {key: other(control) for key, control in own.items()}
    app = opened(name, "&".join(f"{key}={value}" for key, value in asked.items()))
    assert not app.exception and not note(app)
    assert app.session_state["values"] == asked
    link = dict(parse_qsl(app.session_state["text of the link"].removeprefix("?")))
    assert link == asked


@pytest.mark.parametrize("name", [*ENTRIES, YOURS.name])
def test_a_page_opens_with_the_defaults_that_its_panels_declare(name: str) -> None:
    every = [one for panel in panels()[name] for one in panel.controls]
    assert all(one.read(one.default) == one.default for one in every)
    app = opened(name)
    assert app.session_state["text of the link"] == ""
    assert app.session_state["values"] == {one.name: one.default for one in every}


@pytest.mark.parametrize("name", [*ENTRIES, YOURS.name])
def test_the_keys_of_a_page_are_all_different(name: str) -> None:
    entry = ENTRIES.get(name, YOURS)
    own = url.controls(panels()[name])
    others = url.parameters(entry, ())
    assert not own.keys() & {*others, *(knob.name for knob in entry.knobs)}
    for panel in panels()[name]:
        for control in panel.controls:
            assert own[control.name] is control  # no other panel of the page says otherwise


def test_every_control_that_a_panel_reads_is_listed() -> None:
    """Its own code is followed from call to call: a control that is not listed is not kept."""
    read = 0
    for name in panels():
        listed = url.controls(panels()[name])
        for panel in panels()[name]:
            for control in read_controls(panel.show, set()):
                read += 1
                assert listed.get(control.name) is control, (name, panel.title, control.name)
    assert read > 200


@pytest.mark.parametrize(
    ("name", "key"), [("multi-head-attention", "warmth=3"), ("lstm", "masked=1"), ("vae", "gate=1")]
)
def test_a_page_does_not_know_the_keys_of_others(name: str, key: str) -> None:
    said = f"The link has {key}, which this page does not know."
    assert note(opened(name, key)) == said


def test_a_knob_may_have_the_name_of_another_pages_control() -> None:
    app = opened("delta-rule", "gate=true")
    assert app.session_state["gate"] and not note(app)
    found = own_entry.visitor_system('Id("~y:5 gate:8") >> Linear("gate -> k:3", "W")')
    assert own_page._check_axis_names(found) is found


def test_pages_with_one_key_have_defaults_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, object] = {}
    monkeypatch.setattr(controls.st, "session_state", state)
    masked, picture = HIDDEN_POSITION, PICTURE_NUMBER
    assert masked.name == picture.name
    assert masked.among(9, 6) == 6 and picture.among(9) == 0
    state["masked"] = "0"
    assert masked.among(9, 6) == 0 and masked.value != masked.default
    assert similarity_table.SCALES[similarity_table.WARMTH.number] == 14
