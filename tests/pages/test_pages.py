"""Every page through Streamlit's own test runner, without a browser."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.models import Entry, Knob

APP = Path(__file__).parents[2] / "app.py"
ENTRIES = list(ncd.catalogue.values())
PANELS = ("Attention", "Values", "Source", "Cost", "Autograd", "Shapes")


def page(name: str, **query: str) -> AppTest:
    """A page opened by a link."""
    app = AppTest.from_file(APP, default_timeout=60).run()
    app.query_params.update(query)
    app.switch_page(f"pages/{name.replace('-', '_')}.py").run()
    return app


def attention(**query: str) -> AppTest:
    return page("multi-head-attention", **query)


def fine(app: AppTest) -> None:
    assert not app.exception, [error.message for error in app.exception]
    assert not app.error


def turn(app: AppTest, knob: Knob, value: int) -> AppTest:
    widget = app.toggle(key=knob.name) if knob.switch else app.slider(key=knob.name)
    return widget.set_value(bool(value) if knob.switch else value).run()


def test_the_first_page_links_to_all() -> None:
    app = AppTest.from_file(APP, default_timeout=60).run()
    fine(app)
    assert app.title[0].value == "Neural circuits"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_knob_at_its_ends(entry: Entry) -> None:
    app = page(entry.name)
    fine(app)
    for knob in entry.knobs:
        for value in (knob.min, knob.max, knob.default):
            fine(turn(app, knob, value))


@pytest.mark.parametrize("panel", PANELS)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_panel_with_everything_selected(entry: Entry, panel: str) -> None:
    circuit = ncd.elaborate(entry.build())
    if panel == "Attention" and all(cell.op.role != "softmax" for cell in circuit.cells):
        pytest.skip("nothing attends")
    chosen = [circuit.cells[0].id, circuit.cells[-1].id, circuit.outputs[0].id]
    chosen += [fence.id for fence in circuit.fences[:1]]
    chosen += [f"axis:{circuit.inputs[0].array[0].name}", "n99", "<b>"]
    for select in chosen:
        fine(page(entry.name, panel=panel, select=select))


@pytest.mark.parametrize(
    ("asked", "value", "note"),
    [
        ("9999", 16, "9999 is more than h can be here. It is 16, the nearest."),
        ("-3", 1, "-3 is less than h can be here. It is 1, the nearest."),
        ("2.6", 3, "2.6 is between what h can be here. It is 3, the nearest."),
        ("abc", 4, "“abc” is no whole number. h is 4."),
        ("1e999", 4, "“1e999” is no whole number. h is 4."),
        ("1e400", 4, "“1e400” is no whole number. h is 4."),
        ("inf", 4, "“inf” is no whole number. h is 4."),
        ("9" * 5000, 4, "“99999999999999999999” is no whole number. h is 4."),
        ("nan", 4, "“nan” is no whole number. h is 4."),
        ("<script>", 4, "“<script>” is no whole number. h is 4."),
        ("8", 8, ""),
    ],
)
def test_a_wrong_value_in_the_link_is_put_right(asked: str, value: int, note: str) -> None:
    app = attention(h=asked)
    fine(app)
    assert app.slider(key="h").value == value
    said = [caption.value.replace("\\", "") for caption in app.caption]
    assert not note or any(note in text for text in said)
    if note:
        assert not any(note in c.value.replace("\\", "") for c in turn_h(app).caption)


def turn_h(app: AppTest) -> AppTest:
    return app.slider(key="h").set_value(5).run()


def test_a_value_between_the_steps_is_put_right() -> None:
    app = page("residual-block", n1="71")
    fine(app)
    assert app.slider(key="n1").value == 72


@pytest.mark.parametrize(("asked", "on"), [("true", True), ("1", True), ("0", False), ("x", False)])
def test_a_switch_in_the_link(asked: str, on: bool) -> None:
    app = attention(causal=asked)
    fine(app)
    assert app.toggle(key="causal").value is on


@pytest.mark.parametrize("name", ["seed", "device", "panel", "labels", "input", "head", "level"])
@pytest.mark.parametrize(
    "asked", ["-1", "zzz", "", "<b>", "inf", "1e400", "nan", "9" * 40, "9" * 5000]
)
def test_any_other_parameter_may_be_wrong(name: str, asked: str) -> None:
    fine(attention(**{name: asked}))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The cat sat", 3),
        ("हिन्दी भाषा", 2),
        ("猫が好き", 4),
        ('<script>alert(1)</script> & "quotes" `code` $x$', 21),
        ("word " * 300, 256),
    ],
)
def test_a_sentence_sets_the_sequence_axes(text: str, count: int) -> None:
    app = attention(input="sentences", text_y=text)
    fine(app)
    assert app.slider(key="y words").value == app.slider(key="x words").value == count
    fine(app.toggle(key="positions").set_value(True).run())


def test_two_sentences_of_their_own_lengths() -> None:
    app = attention(input="sentences", text_y="one two", text_x="three four five")
    assert app.slider(key="y words").value == 2
    assert app.slider(key="x words").value == 3


def test_an_empty_sentence_leaves_random_arrays() -> None:
    app = attention(input="sentences")
    fine(app.text_area(key="text_y").set_value("  ").run())
    assert any("Type a sentence" in caption.value for caption in app.caption)


@pytest.mark.parametrize(("name", "limit"), [("NCD_MAX_BYTES", "1e5"), ("NCD_MAX_FLOPS", "1e5")])
def test_a_run_over_the_limit_is_refused_with_what_fits(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    monkeypatch.setenv(name, limit)
    app = attention()
    fine(app)
    assert any(name in text.value for text in app.text)
    fits = [button for button in app.button if str(button.key).startswith("fit ")]
    assert 1 <= len(fits) <= 3
    fine(fits[0].click().run())
    assert not any(name in text.value for text in app.text)


def heads() -> None:
    """A page whose knobs can be set to what does not divide."""
    from ncd import Axes, Entry, Id, Knob, Linear, Split
    from ncd.view.frame import page
    from ncd.view.panels import shapes, source

    entry = Entry(
        "heads",
        "Heads",
        "Nowhere",
        (Knob("d", 1, 64, 12), Knob("h", 1, 16, 4)),
        lambda d, h: Axes(d=d, h=h)(Id("d") >> Linear("d -> d", "W") >> Split("d -> h k")),
    )
    page(entry, "One axis as two.", "It divides.", (shapes, source))


def test_a_size_that_is_impossible_is_drawn_and_explained() -> None:
    app = AppTest.from_function(heads, default_timeout=60).run()
    fine(app)
    app.slider(key="d").set_value(13).run()
    fine(app)
    assert any("13" in text.value and "does not divide" in text.value for text in app.text)
    assert any("once the sizes fit" in caption.value for caption in app.caption)
    fits = {str(button.key): button for button in app.button}
    assert fits["fit d"].label == "d = 12"
    fine(fits["fit d"].click().run())
    assert app.slider(key="d").value == 12
    assert not any("once the sizes fit" in caption.value for caption in app.caption)


def test_a_selection_is_left_behind_with_its_page() -> None:
    app = attention(select="v7")
    app.query_params.clear()
    app.switch_page("pages/residual_block.py").run()
    fine(app)
    assert app.session_state["select"] == ""


@pytest.mark.parametrize("asked", ["inf", "-inf", "1e400", "nan", "9" * 5000])
def test_a_seed_without_end_is_none(asked: str) -> None:
    app = attention(seed=asked)
    fine(app)
    assert app.number_input(key="seed").value == 0
    assert any("is no whole number" in caption.value for caption in app.caption)
    fine(app.number_input(key="seed").set_value(7).run())
    assert app.number_input(key="seed").value == 7
    assert not any("is no whole number" in caption.value for caption in app.caption)


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
    from ncd.view.frame import page
    from ncd.view.panels import attention, autograd, cost, shapes, source, values

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
    panels = (values, source, cost, autograd, shapes, attention)
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
        patch.setattr("ncd.view.frame.page", lambda entry, *rest: found.append(entry))
        language()
    return found[0].build()
