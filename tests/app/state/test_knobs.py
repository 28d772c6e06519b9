"""What can be set, by hand or by a link, and what is said where it cannot be."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.state import knobs
from ncd.circuit.elaborate import elaborate
from ncd.run.guard import check_run
from ncd.systems.catalogue_entry import Entry
from tests.app.page.test_pages import attention, fine, page
from tests.support.sampling import sample

PUBLISHED = [(entry, preset) for entry in ncd.catalogue.values() for preset in entry.presets]


def told(app: AppTest) -> str:
    """All notes and captions, as they are read."""
    return " ".join(caption.value.replace("\\", "") for caption in app.caption)


def fits(app: AppTest) -> dict[str, str]:
    """The buttons that set what would work, by their keys."""
    return {str(b.key): b.label for b in app.button if str(b.key).startswith("fit ")}


def sizes(app: AppTest) -> dict[str, int]:
    return {str(slider.key): slider.value for slider in app.slider}


# --- links ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "value", "note"),
    [
        ("96", 96, ""),
        ("1,024", 1024, ""),
        ("٨", 8, ""),
        ("0", 1, "h cannot be 0: it is 1 or more. The nearest is 1."),
        ("-3", 1, "h cannot be -3: it is 1 or more. The nearest is 1."),
        ("2.6", 3, "h is a whole number: 2.6 became 3."),
        ("1e20", 4, "1e20 is more than fits in here. h is 4."),
        ("abc", 4, "“abc” is no whole number. h is 4."),
        ("1e400", 4, "“1e400” is no whole number. h is 4."),
        ("inf", 4, "“inf” is no whole number. h is 4."),
        ("nan", 4, "“nan” is no whole number. h is 4."),
        ("9" * 5000, 4, "99999999999999999999 is more than fits in here. h is 4."),
        ("<script>", 4, "“<script>” is no whole number. h is 4."),
    ],
)
def test_a_size_in_the_link_is_taken_or_put_right(asked: str, value: int, note: str) -> None:
    app = attention(h=asked)
    fine(app)
    assert app.slider(key="h").value == value
    assert note in told(app)
    assert note or "h is" not in told(app)
    app.slider(key="h").set_value(5).run()
    assert not note or note not in told(app)


def test_a_size_that_is_no_multiple_is_put_right() -> None:
    app = page("residual-block", n1="71")
    fine(app)
    assert app.slider(key="n1").value == 72
    assert "a multiple of 4" in told(app)


@pytest.mark.parametrize(
    ("asked", "on"), [("true", True), ("TRUE", True), ("1", True), ("0", False), ("x", False)]
)
def test_a_switch_in_the_link_is_read_in_either_spelling(asked: str, on: bool) -> None:
    app = attention(causal=asked)
    fine(app)
    assert app.toggle(key="causal").value is on


@pytest.mark.parametrize("asked", ["inf", "-inf", "1e400", "nan", "9" * 5000, "-1", "2147483648"])
def test_a_wild_seed_is_put_right(asked: str) -> None:
    app = attention(seed=asked)
    fine(app)
    assert 0 <= app.number_input(key="seed").value <= 2**31 - 1
    assert "seed" in told(app)
    fine(app.number_input(key="seed").set_value(7).run())
    assert app.number_input(key="seed").value == 7
    assert "seed" not in told(app)


def test_a_name_that_the_page_lacks_is_told() -> None:
    app = attention(heads="8")
    fine(app)
    assert "heads=8" in told(app)


# --- any size, published sizes, and back ----------------------------------------------------------


def typed(app: AppTest, text: str) -> AppTest:
    app.text_input(key=knobs.TYPED).set_value(text).run()
    fine(app)
    return app


def test_any_legal_size_can_be_typed() -> None:
    app = typed(attention(), "y=512 m = 12,288; h:96")
    assert sizes(app) == {"h": 96, "k": 16, "m": 12288, "y": 512, "x": 22}
    assert app.text_input(key=knobs.TYPED).value == ""
    app.slider(key="y").set_value(500).run()  # the slider now reaches as far
    assert sizes(app)["y"] == 500 and app.slider(key="y").max == 512


def test_what_says_no_size_stays_in_the_field_with_a_note() -> None:
    app = typed(attention(), "h=2 q=5 wide")
    assert sizes(app)["h"] == 2
    assert app.text_input(key=knobs.TYPED).value == "h=2 q=5 wide"
    said = (
        "There is no size “wide”, “q” here. Type h=8, for example; there are h, k, m, y, x, causal."
    )
    assert said in told(app)
    assert "There is no size" not in told(typed(app, "h=3"))


def test_sizes_may_have_the_names_that_pytorch_gives_them() -> None:
    app = typed(attention(), "d_model=768 num_heads=12 head_dim=64")
    assert sizes(app) == {"h": 12, "k": 64, "m": 768, "y": 20, "x": 22}
    assert "There is no size “d_model” here" in told(typed(page("encoder-block"), "d_model=512"))
    assert "There is no size “stride” here" in told(typed(page("decoder-block"), "stride=2"))


def test_a_typed_size_that_cannot_be_is_put_right_at_its_knob() -> None:
    app = typed(page("residual-block"), "n₁=1030 b=1")
    assert sizes(app)["n1"] == 1032 and sizes(app)["b"] == 2
    assert "n₁ cannot be 1030" in told(app) and "b cannot be 1" in told(app)


@pytest.mark.parametrize(
    ("entry", "preset"),
    sample(PUBLISHED, 5),
    ids=lambda part: part.name if hasattr(part, "name") else "",
)
def test_published_sizes_are_chosen_with_their_source(entry: Entry, preset: ncd.Preset) -> None:
    assert preset.title and preset.source
    app = page(entry.name, panel="Shapes")
    app.selectbox(key="preset").set_value(preset.name).run()
    fine(app)
    wanted = {**entry.settings({}), **preset.knobs}
    shown = [knob.name for knob in entry.knobs if not (knob.switch or knob.names)]
    assert all(sizes(app)[name] == wanted[name] for name in shown)
    assert preset.source in told(app)
    usual = {knob.name: knob.default for knob in entry.knobs}  # AppTest does not send a default
    moved, value = next(
        (slider, value)
        for slider in app.slider
        if slider.value == preset.knobs.get(slider.key)
        for value in (slider.min, slider.max)
        if value not in (slider.value, usual[slider.key])
    )
    moved.set_value(value).run()
    fine(app)
    assert app.selectbox(key="preset").value != preset.name


def test_each_system_names_published_sizes() -> None:
    names = {preset.name for _, preset in PUBLISHED}
    assert {"transformer-base", "gpt-2-small", "llama-3-8b", "vit-b-16"} <= names
    free = {entry.section for entry in ncd.catalogue.values() if not entry.presets}
    assert "Attention" not in free  # illustrations are of any size


@pytest.mark.parametrize(("stage", "weights"), [(2, 73_728), (3, 376_832), (4, 1_507_328)])
def test_the_stages_of_resnet_50_have_their_weights(stage: int, weights: int) -> None:
    """The convolutions of the first bottleneck of each stage, counted by hand; ours have biases."""
    entry = ncd.catalogue["residual-block"]
    published = entry.preset(f"resnet-50-conv{stage}").knobs
    term = entry.build(**published)
    ops = [cell.id for cell in elaborate(term).cells if cell.op.display_name.startswith("Conv")]
    biases = 2 * (published["n1"] // 4 + published["n1"])
    counted = sum(op.parameters for op in ncd.cost(term).ops if op.node in ops)
    assert counted == weights + biases


def test_reset_sets_all_at_the_left_and_nothing_else() -> None:
    app = attention(h="9999", seed="3", causal="1", panel="Shapes", input="sentences")
    fine(app.button(key="reset").click().run())
    entry = ncd.catalogue["multi-head-attention"]
    assert sizes(app) == {knob.name: knob.default for knob in entry.knobs if not knob.switch}
    assert app.slider(key="h").max == 16
    assert app.number_input(key="seed").value == 0 and app.toggle(key="causal").value is False
    assert app.session_state["input"] == "a trained model"
    assert app.session_state["panel"] == "Shapes"


def test_a_hint_says_what_a_switch_does() -> None:
    assert attention().toggle(key="causal").help == (
        "A query sees only the keys up to its own position."
    )


# --- too large to run -----------------------------------------------------------------------------


@pytest.mark.parametrize(("panel", "shown"), [("Cost", True), ("Source", True), ("Values", False)])
def test_what_is_too_large_to_run_still_tells_what_needs_no_run(panel: str, shown: bool) -> None:
    knobs = ncd.catalogue["multi-head-attention"].preset("llama-3-8b").knobs
    app = attention(panel=panel, **{name: str(value) for name, value in knobs.items()})
    fine(app)
    assert any("Too large to run here" in text.value for text in app.markdown)
    assert any("2.2 TFLOP" in text.value for text in app.text)
    drawn = [element.proto.id for element in app.get("bidi_component")]
    assert any("diagram" in name for name in drawn)
    assert any(panel.lower() in name for name in drawn) is shown
    assert fits(app) == {"fit y x": "y = x = 1,024"}
    app.session_state["panel"] = "Shapes"
    fine(app.button(key="fit y x").click().run())
    assert not fits(app) and sizes(app)["x"] == 1024


@pytest.mark.parametrize("entry", sample(ncd.catalogue.values(), 5), ids=lambda entry: entry.name)
def test_sizes_without_measure_are_refused_at_once_and_a_way_is_shown(
    entry: Entry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_MAX_FLOPS", "1e8")
    huge = {k.name: str(10**9) for k in entry.knobs if not k.switch and k.name != "s"}
    app = page(entry.name, panel="Cost", **huge)
    fine(app)
    ways = fits(app)
    assert ways
    fine(app.button(key=next(iter(ways))).click().run())
    assert not fits(app)


@pytest.mark.parametrize(("name", "limit"), [("NCD_MAX_BYTES", "1e5"), ("NCD_MAX_FLOPS", "1e5")])
def test_a_run_over_the_limit_is_refused_with_what_fits(
    monkeypatch: pytest.MonkeyPatch, name: str, limit: str
) -> None:
    monkeypatch.setenv(name, limit)
    app = attention()
    fine(app)
    assert any(name in text.value for text in app.text)
    assert 1 <= len(fits(app)) <= 3
    fine(app.button(key=next(iter(fits(app)))).click().run())
    assert not any(name in text.value for text in app.text)


@pytest.mark.parametrize("limit", ["1e5", "1e6", "1e7"])
def test_the_largest_size_that_fits_is_near(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """In two digits, it fits, and a fifth more does not."""
    monkeypatch.setenv("NCD_MAX_FLOPS", limit)
    entry = ncd.catalogue["scaled-dot-product-attention"]
    app = page(entry.name, panel="Shapes", y="1000000")
    size = int(fits(app)["fit y"].removeprefix("y = ").replace(",", ""))
    check_run(elaborate(entry.build(y=size)), watched=True)
    with pytest.raises(ncd.LimitError):
        check_run(elaborate(entry.build(y=size + max(1, size // 5))), watched=True)


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("The cat sat", 3),
        ("हिन्दी भाषा", 2),
        ("猫が好き", 4),
        ('<script>alert(1)</script> & "quotes" `code` $x$', 21),
        ("a" * 400, 1),
    ],
)
def test_a_sentence_sets_the_sequence_axes(text: str, count: int) -> None:
    app = attention(input="sentences", text_y=text)
    fine(app)
    assert app.slider(key="y words").value == app.slider(key="x words").value == count
    assert f"{count} word" in told(app)
    fine(app.toggle(key="positions").set_value(True).run())


@pytest.mark.parametrize(
    ("text", "count", "note"),
    [
        ("word " * 300, 256, "Only the first 256 of 300 words go in: y = 256."),
        ("letter" * 1000, 1, "Only the first 2,000 of 6,000 letters go in: y = 1."),
    ],
)
def test_a_text_that_is_too_long_says_how_much_of_it_is_taken(
    text: str, count: int, note: str
) -> None:
    app = attention(input="sentences", panel="Shapes")
    app.text_area(key="text_y").set_value(text).run()
    fine(app)
    assert app.slider(key="y words").value == count
    assert note in told(app)


def test_two_sentences_of_their_own_lengths() -> None:
    app = attention(input="sentences", text_y="one two", text_x="three four five")
    assert app.slider(key="y words").value == 2
    assert app.slider(key="x words").value == 3


def test_an_empty_sentence_leaves_random_arrays() -> None:
    app = attention(input="sentences")
    fine(app.text_area(key="text_y").set_value("  ").run())
    assert "No word yet" in told(app)


def test_sizes_are_still_there_after_sentences() -> None:
    app = attention(y="30", panel="Shapes")
    app.session_state["input"] = "sentences"
    app.run()
    assert app.slider(key="y words").value == 11
    app.session_state["input"] = "random arrays"
    fine(app.run())
    assert app.slider(key="y").value == 30


def test_a_browser_that_lags_does_not_take_back_what_was_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every message has the values of all sliders, also of those that it does not show yet."""
    state: dict[str, Any] = {"h": 4}
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now)
    monkeypatch.setattr(knobs.st, "session_state", state)
    monkeypatch.setattr(knobs, "time", clock)

    def reported(value: int) -> int:
        state["h"] = value
        knobs.keeps_newer_value("h")
        return int(state["h"])

    assert reported(3) == 3  # moved by hand
    knobs.set_values({"h": 8})
    clock.now += 9  # whatever the run takes
    assert reported(3) == 8
    knobs.set_values({"h": 9})
    assert reported(3) == 9
    knobs.mark_sent()
    assert reported(3) == 9
    for nothing_new in ({}, {"h": 9}):  # as in the runs that follow
        knobs.set_values(nothing_new)
    clock.now += knobs.BROWSER_LAG
    assert reported(3) == 3
    knobs.set_values({"h": 6})
    knobs.mark_sent()
    assert reported(7) == 7  # moved on from there
    assert reported(3) == 3
