"""Every page through Streamlit's own test runner, without a browser."""

from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.panels.walk.compare import COMPARE
from ncd.app.parts.input_feed import TURN
from ncd.app.state.controls import GridPlace, Place
from ncd.circuit.knob import Knob
from ncd.site import entry_page
from ncd.systems.catalogue_entry import Entry
from tests.app.scene.test_url import panels
from tests.support.sampling import sample

APP = Path(__file__).parents[3] / "app.py"
ENTRIES = list(ncd.catalogue.values())
PANELS = ("Attention", "Values", "Source", "Cost", "Autograd", "Shapes")


@cache
def registered() -> Any:
    """Returns the pages of the app, which it registers in its first run."""
    return AppTest.from_file(APP, default_timeout=60).run()._registered_pages


def opened(file: str, **query: str) -> AppTest:
    """A page opened by a link, without the gallery before it, which takes longer than most."""
    app = AppTest.from_file(APP, default_timeout=60)
    app._registered_pages = registered()
    app.query_params.update(query)
    return app.switch_page(file).run()


def page(name: str, **query: str) -> AppTest:
    """The page of a system opened by a link."""
    return opened(entry_page.file(ncd.catalogue[name]), **query)


def attention(**query: str) -> AppTest:
    return page("multi-head-attention", **query)


def fine(app: AppTest) -> None:
    assert not app.exception, [error.message for error in app.exception]
    assert not app.error


def turn(app: AppTest, knob: Knob, value: int) -> AppTest:
    if knob.names:
        return app.segmented_control(key=knob.name).set_value(value).run()
    widget = app.toggle(key=knob.name) if knob.switch else app.slider(key=knob.name)
    return widget.set_value(bool(value) if knob.switch else value).run()


def test_the_first_page_links_to_all() -> None:
    app = AppTest.from_file(APP, default_timeout=60).run()
    fine(app)
    assert app.title[0].value == "Neural circuits"


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_knob_at_its_ends(entry: Entry) -> None:
    app = page(entry.name)
    fine(app)
    free = [knob for knob in entry.knobs if not knob.is_fixed]
    turns = [(knob, value) for knob in free for value in (knob.min, knob.max, knob.default)]
    for knob, value in sample(turns, 3, entry.name):
        fine(turn(app, knob, value))


@pytest.mark.few(30)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_panel_with_everything_selected(entry: Entry) -> None:
    circuit = ncd.elaborate(entry.build())
    chosen = [circuit.cells[0].id, circuit.cells[-1].id, circuit.outputs[0].id]
    chosen += [fence.id for fence in circuit.fences[:1]]
    chosen += [f"axis:{circuit.inputs[0].array[0].name}", "n99", "<b>"]
    attends = any(cell.op.role == "softmax" for cell in circuit.cells)
    panels = PANELS if attends else PANELS[1:]
    (panel, select), *others = sample(product(panels, chosen), 3, entry.name)
    app = page(entry.name, panel=panel, select=select)
    fine(app)
    for panel, select in others:
        app.session_state["panel"], app.session_state["select"] = panel, select
        fine(app.run())


@pytest.mark.parametrize("name", ["seed", "device", "panel", "labels", "input", "head", "level"])
def test_any_other_parameter_may_be_wrong(name: str) -> None:
    wrong = ["-1", "zzz", "", "<b>", "inf", "1e400", "nan", "9" * 40, "9" * 5000]
    for asked in sample(wrong, 2, name):
        fine(attention(**{name: asked}))


def heads() -> None:
    """A page whose knobs can be set to what does not divide."""
    from ncd import Axes, Entry, Id, Knob, Linear, Split
    from ncd.app.page.page import render_page as page
    from ncd.app.panels.walk.shapes_and_cost import SHAPES
    from ncd.app.panels.walk.source import SOURCE

    entry = Entry(
        "heads",
        "Heads",
        "Nowhere",
        (Knob("d", 1, 64, 12), Knob("h", 1, 16, 4)),
        lambda d, h: Axes(d=d, h=h)(Id("d") >> Linear("d -> d", "W") >> Split("d -> h k")),
    )
    page(entry, "One axis as two.", "It divides.", (SHAPES, SOURCE))


@pytest.mark.parametrize("panel", ["Source", "Shapes", "Training"])
def test_a_file_is_made_when_it_is_asked_for(panel: str) -> None:
    """A browser looks for one that is there before, and by then another run may have taken it."""
    buttons = page("reversal", panel=panel).get("download_button")
    assert buttons
    for button in buttons:
        assert button.proto.deferred_file_id and not button.proto.url


def test_a_size_that_is_impossible_is_drawn_and_explained() -> None:
    app = AppTest.from_function(heads, default_timeout=60).run()
    fine(app)
    app.slider(key="d").set_value(13).run()
    fine(app)
    assert any("13" in text.value and "does not divide" in text.value for text in app.text)
    assert any("does not fit yet" in text.value for text in app.markdown)
    fits = {str(button.key): button for button in app.button}
    assert fits["fit d"].label == "d = 12"
    fine(fits["fit d"].click().run())
    assert app.slider(key="d").value == 12
    assert not any("does not fit yet" in text.value for text in app.markdown)


def test_a_selection_is_left_behind_with_its_page() -> None:
    app = attention(select="v7")
    app.query_params.clear()
    app.switch_page("pages/images/residual_block.py").run()
    fine(app)
    assert "select" not in app.session_state or not app.session_state["select"]


def language() -> None:
    """A page of whole numbers, a scan, a shared repetition and a block of local names."""
    from ncd import (
        Add,
        Axes,
        Block,
        Copy,
        Elementwise,
        Entry,
        Id,
        Index,
        Knob,
        Linear,
        Param,
        Repeat,
        Scan,
        seq,
    )
    from ncd.app.page.page import render_page as page
    from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
    from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
    from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
    from ncd.app.panels.walk.source import SOURCE
    from ncd.app.panels.walk.values import VALUES

    step = Linear("n -> n", "W") @ Id("n") >> Add() >> Elementwise("tanh") >> Copy("n")
    body = Block(Id("a b") >> Linear("b -> b", "L"), "Layer", local=True)
    entry = Entry(
        "language",
        "Language",
        "Nowhere",
        (Knob("y", 1, 8, 3),),
        lambda y: Axes(y=seq(y), v=5, n=4)(
            Id("n, y#v")
            >> Id("n") @ (Id("y#v") @ Param("v n", "wte") >> Index("y#v, v n -> y n"))
            >> Scan(step, "y")
            >> Id("n") @ Repeat((body, body), shared=True)
        ),
    )
    panels = (VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES, ATTENTION_MAPS)
    page(entry, "A recurrent network on tokens.", "It learns.", panels)


def test_whole_numbers_scans_and_repetitions_are_shown_in_every_panel() -> None:
    app = AppTest.from_function(language, default_timeout=60).run()
    fine(app)
    circuit = ncd.elaborate(language_term())
    ids = [*circuit.values, *(c.id for c in circuit.cells), *(f.id for f in circuit.fences)]
    for chosen in (*ids, "axis:v"):
        app.session_state["select"] = chosen
        fine(app.run())
    for panel in PANELS:
        app.session_state["panel"] = panel
        fine(app.run())


def language_term() -> ncd.Term:
    """The term on that page at its defaults."""
    found: list[ncd.Entry] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ncd.app.page.page.render_page", lambda entry, *rest: found.append(entry))
        language()
    return found[0].build()


BEYOND: dict[type, str] = {Place: "99999", GridPlace: "99999.99999"}


@pytest.mark.few(4)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_a_place_beyond_the_last_does_not_stay_in_the_link(name: str) -> None:
    for panel in panels()[name]:
        beyond = {one.name: BEYOND[type(one)] for one in panel.controls if type(one) in BEYOND}
        places = beyond.keys() - {TURN.name}  # there is always another example
        if places and panel is not COMPARE:  # it shows no map before something is pinned
            app = page(name, panel=panel.title, **{name: beyond[name] for name in places})
            fine(app)
            kept = {place: app.session_state[place] for place in places}
            assert not any("99999" in value for value in kept.values()), (panel.title, kept)
