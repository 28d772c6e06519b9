"""The page of a visitor's own system: texts, sizes, errors and links."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd import parse
from ncd.app.host import live_endpoint
from ncd.app.page import own_page
from ncd.app.page.own_page import EXAMPLES, OPENING
from ncd.app.scene.edited_system import entry_of
from ncd.app.scene.own_answer import STOPS
from ncd.app.scene.own_entry import (
    DEFAULT_TEXT,
    FAILURES,
    SERVED_MODULES,
    add_served_module,
    custom_entry,
)
from ncd.app.scene.session_weights import SERVED_WEIGHTS, shipped_or_served
from ncd.errors import NCDError
from ncd.write.term_json import svg_with_term
from tests.app.page.test_pages import fine, opened


def yours(**query: str) -> AppTest:
    """The page, opened by a link; by default by one with a setting and no text."""
    return opened("pages/yours.py", **(query or {"seed": "0"}))


def write(app: AppTest, text: str) -> AppTest:
    """The page with another text; what the editor sends is tried in a browser."""
    app.session_state["text"] = text
    return app.run()


def editor(app: AppTest) -> dict[str, Any]:
    """What the editor is given to show."""
    (found,) = (e.proto for e in app.get("bidi_component") if e.proto.id.endswith("-field"))
    given: dict[str, Any] = json.loads(found.json)
    return given


def sizes(app: AppTest) -> dict[str, int]:
    return {slider.key: slider.value for slider in app.slider}


def test_it_opens_on_pytorch() -> None:
    app = opened("pages/yours.py")
    fine(app)
    assert app.session_state["text"] == OPENING == next(iter(EXAMPLES.values()))
    assert editor(app)["sentence"] == "out: 8 × 10 (batch, classes)"
    assert editor(app)["beside"] == [
        [7, "8×16×16×16", "batch channels height width"],
        [8, "8×10", "batch classes"],
    ]


def test_a_link_without_a_text_opens_what_it_always_has() -> None:
    """Links leave this example out, so that the sizes in an older link are its sizes."""
    app = yours(d="32")
    fine(app)
    assert app.session_state["text"] == DEFAULT_TEXT
    assert sizes(app) == {"t": 12, "m": 64, "d": 32}


def test_it_has_a_slider_for_each_size() -> None:
    app = yours()
    fine(app)
    assert app.session_state["text"] == DEFAULT_TEXT
    assert sizes(app) == {"t": 12, "m": 64, "d": 256}


def test_what_is_typed_before_the_address_has_lost_its_mark_stays() -> None:
    """The mark of a link that was followed is in the address until the browser removes it."""
    app = yours(go="7")
    write(app, "b i, i j -> b j")
    assert sizes(app) == {"b": 8, "i": 8, "j": 8}
    app.slider(key="i").set_value(5)
    app.run()
    assert sizes(app) == {"b": 8, "i": 5, "j": 8}
    app.query_params["go"] = "8"  # another link to the same page
    app.run()
    assert app.session_state["text"] == OPENING


@pytest.mark.parametrize("text", EXAMPLES.values(), ids=EXAMPLES)
def test_every_example_can_be_read_and_turned(text: str) -> None:
    app = yours()
    fine(write(app, text))
    assert not editor(app)["wrong"] and "Read as " in editor(app)["told"]
    knobs = custom_entry(text).knobs
    assert sizes(app) == {knob.name: knob.default for knob in knobs}
    fine(app.slider(key=knobs[0].name).set_value(2).run())


def test_a_new_text_has_its_own_sizes() -> None:
    app = yours()
    app.slider(key="m").set_value(32).run()
    write(app, "nn.Linear(8, 3)(5, 8)")
    assert sizes(app) == {"b": 5, "m": 8, "d": 3}
    write(app, DEFAULT_TEXT)
    assert sizes(app) == {"t": 12, "m": 64, "d": 256}


def stale(app: AppTest) -> bool:
    """Whether the page says that what it shows is of the text before, and draws it in grey."""
    return own_page.LAST_SHOWN in [caption.value for caption in app.caption]


def test_an_error_is_shown_with_its_place_and_the_last_diagram_stays() -> None:
    app = yours()
    write(app, 'Id("y m")\n  >> <b>')
    fine(app)
    told = (
        "line 2, column 2: unexpected indent. Try a term, such as "
        'Linear("m:128 -> k:16", "Q") >> Softmax("k").'
    )
    assert editor(app)["told"] == told and stale(app)
    (fault,) = editor(app)["faults"]
    assert (fault["from"], fault["to"], fault["message"]) == ([2, 2], [2, 2], told)
    assert not fault["instead"] and not fault["mild"]
    assert sizes(app) == {"t": 12, "m": 64, "d": 256}
    write(app, 'Linear("m:4 -> k:2", "Q")')
    assert editor(app)["told"] == "Read as this project's language." and not stale(app)
    assert not editor(app)["wrong"] and not editor(app)["faults"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "nn.Linaer(8, 3)",
            "line 1, column 1: Linaer of torch.nn is not understood here. Try Linear.",
        ),
        (
            '{"model_type": "kin"}',
            "config.json: model_type 'kin' is not read here, and the configuration has no hidden",
        ),
        ('Linear("m:4 -> seed:3", "Q")', "axis seed has the name of a setting. Try another name."),
    ],
)
def test_a_link_whose_text_fails_shows_no_other_system(text: str, message: str) -> None:
    app = yours(text=text)
    fine(app)
    assert app.session_state["text"] == text and editor(app)["told"].startswith(message)
    assert not sizes(app) and not app.tabs and not stale(app)
    assert not [e for e in app.get("bidi_component") if "diagram" in e.proto.id]
    write(app, "b i, i j -> b j")
    fine(app)
    assert sizes(app) == {"b": 8, "i": 8, "j": 8} and not editor(app)["wrong"]
    write(app, text)
    assert sizes(app) == {"b": 8, "i": 8, "j": 8} and stale(app)


def address(app: AppTest) -> dict[str, str]:
    """The query that the page has the browser write."""
    (found,) = (e.proto for e in app.get("bidi_component") if e.proto.id.endswith("-address"))
    return dict(parse_qsl(json.loads(found.json)["query"].removeprefix("?")))


def test_what_is_corrected_in_a_link_stays_with_all_else_that_the_link_says() -> None:
    link = {"text": "nn.Lienar(3, 4)", "b": "2", "seed": "5", "panel": "Cost"}
    app = yours(**link)
    fine(app)
    assert editor(app)["wrong"] and address(app) == link
    write(app, "nn.Linnear(3, 4)")
    assert editor(app)["wrong"] and address(app) == {**link, "text": "nn.Linnear(3, 4)"}
    write(app, "nn.Linear(3, 4)")
    for _ in range(2):  # as it is read, and as a panel is clicked: the address is still the old one
        fine(app)
        assert app.query_params["text"] == link["text"] and not editor(app)["wrong"]
        assert app.session_state["text"] == "nn.Linear(3, 4)"
        assert sizes(app) == {"b": 2, "m": 3, "d": 4}
        assert (app.session_state["seed"], app.session_state["panel"]) == (5, "Cost")
        app.run()


def test_a_file_that_was_exported_becomes_its_term() -> None:
    term = parse('Linear("t:9 m:8 -> t k:2", "Q")')
    for text in (ncd.html(term), svg_with_term(ncd.draw(term).svg(), term)):
        assert own_page.cleaned_text(text) == ncd.spell(term)
        assert custom_entry(text).build().cod.spec == "t:9 k:2"
    app = yours()
    write(app, "<svg></svg>")
    assert editor(app)["told"].startswith("this file contains no term. Try an SVG or HTML file")


def test_a_link_holds_the_text_and_the_sizes() -> None:
    app = yours(text="b i, i j -> b j", i="5")
    fine(app)
    assert sizes(app) == {"b": 8, "i": 5, "j": 8}


def test_sizes_that_do_not_fit_are_refused_with_a_diagram() -> None:
    app = yours(text="nn.Conv2d(3, 6, 7)(1, 3, 9, 9)", x="4")
    fine(app)
    assert (
        any("7" in warning.value or "x" in warning.value for warning in app.warning) or app.markdown
    )


@pytest.mark.parametrize(
    ("size", "limit", "told", "framed"),
    [
        ("9", "1e9", [], False),
        ("4", "1e9", ["**This does not fit yet.**"], True),
        ("9", "1e3", ["**Too large to run here.**"], False),
    ],
)
def test_the_red_frame_says_that_sizes_do_not_fit_and_nothing_else(
    size: str, limit: str, told: list[str], framed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", limit)
    app = yours(text='Id("c:2 x:9x9") >> Conv("c x -> d:3 y", "conv", 7, 1, 0)', x=size)
    fine(app)
    assert [
        m.value for m in app.markdown if m.value in (*told, "**Too large to run here.**")
    ] == told
    drawn = [e.proto.json for e in app.get("bidi_component") if "told-" in e.proto.id]
    assert any('class=\\"op marked' in one for one in drawn) is framed
    assert any("<svg" in one for one in drawn)


def test_axes_without_a_size_get_one() -> None:
    entry = custom_entry('Id("~t m") >> Linear("m -> k", "W")')
    assert {knob.name: knob.default for knob in entry.knobs} == {"t": 12, "m": 16, "k": 16}


def test_one_name_with_two_sizes_has_no_knob() -> None:
    text = 'Repeat((Linear("m:4 -> m:4", "W"), Rename("m:4 -> k")))'
    entry = custom_entry('Linear("m:4 -> k:3", "A") @ Linear("m:5 -> j:2", "B")')
    assert [knob.name for knob in entry.knobs] == ["k", "j"]
    assert str(entry.build(k=7).cod.spec) == "k:7, j:2"
    assert custom_entry(text).build().cod


@pytest.mark.few(15)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_every_system_of_the_catalogue_can_be_edited(name: str) -> None:
    term = ncd.catalogue[name].build()
    entry = custom_entry(ncd.spell(term))
    assert str(entry.build().cod.spec) == str(term.cod.spec)


def test_the_live_drawing_follows_the_text_of_its_link() -> None:
    found = live_endpoint.drawing_json("yours", "text=b+i,+i+j+->+b+j&i=3&labels=sizes&b=8&j=8")
    assert found and ">3<" in str(found["svg"])
    assert live_endpoint.drawing_json("yours", "text=nothing+at+all") is None
    assert entry_of("nowhere", {}) is None


@pytest.mark.parametrize("name", ["seed", "head", "text", "picture"])
def test_an_axis_with_the_name_of_a_setting_is_refused(name: str) -> None:
    app = yours()
    write(app, f'Linear("m:4 -> {name}:3", "Q")')
    fine(app)
    assert editor(app)["wrong"] and not editor(app)["faults"]  # it has no place in the text
    told = f"axis {name} has the name of a setting. Try another name."
    assert editor(app)["told"].splitlines()[0] == told


def test_a_text_that_is_none_raises() -> None:
    with pytest.raises(NCDError):
        custom_entry("nothing at all")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"term": "Then", "steps": [{"times": 8000, "term": "Softmax", "axis": "m:3"}]}',
            "it has 8,001 parts, and at most 8,000 can be drawn. Try fewer.",
        ),
        (
            f'Wire("m -> {", ".join(["m"] * 500)}") >> Wire("{", ".join(["m"] * 500)} -> m")',
            "a part takes and gives 501 arrays, and at most 500 can be drawn. Try fewer.",
        ),
        (
            'Id("m:3") >> ' + " >> ".join(['Wire("m -> m, m")'] * 200),
            "its diagram has 20,301 wires from column to column, and at most 20,000 fit. "
            "Try fewer arrays at once.",
        ),
    ],
)
def test_a_text_that_takes_long_to_draw_is_refused(text: str, message: str) -> None:
    with pytest.raises(ncd.LimitError) as caught:
        custom_entry(text)
    assert str(caught.value) == message


def test_a_function_of_torch_that_not_everyone_may_call_is_refused() -> None:
    app = yours()
    write(app, 'Opaque("m:4 -> m:4", "aten.from_file", "a")')
    fine(app)
    assert editor(app)["told"] == (
        "this page does not call aten.from_file of torch. Try an op of the language in its place."
    )
    with pytest.raises(NCDError, match=r"this page does not call aten\.add\.out of torch"):
        custom_entry('Opaque("m:4, m:4 -> m:4", "aten.add.out", "a, b")')
    write(app, 'Block(Opaque("m:4 -> m:4", "aten.rol", "a"), "B")')
    told = "there is no function on this page 'aten.rol'. Try aten.roll."
    assert editor(app)["told"].splitlines()[0] == told


@pytest.mark.parametrize(
    "text", ['"m:4 -> m:4", "aten.sum", "a"', '"m:4 -> m:4", "aten.roll", "a"']
)
def test_a_call_that_torch_refuses_is_told(text: str) -> None:
    app = yours()
    write(app, f"Opaque({text})")
    fine(app)
    assert any("torch refuses it" in shown.value for shown in app.text)


def test_a_module_has_no_slider_for_a_size_that_follows_from_others() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True)
    name = add_served_module("Layer", ncd.from_torch(layer, torch.randn(2, 5, 8)).term)
    try:
        entry = SERVED_MODULES[name]
        assert [knob.name for knob in entry.knobs] == ["b", "t", "m", "d", "h", "k", "f"]
        assert entry.build(t=7).cod.spec == "b:2 ~t:7 m:8"
    finally:
        del SERVED_MODULES[name], FAILURES[name]


def test_a_module_runs_with_its_own_weights_where_they_fit() -> None:
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).eval()
    found = ncd.from_torch(layer, torch.randn(2, 5, 8))
    name = add_served_module("Layer", found.term, module=found.module())
    try:
        entry = SERVED_MODULES[name]
        longer = entry.settings({"b": 1, "t": 9})
        learned = shipped_or_served(entry, longer)
        assert learned is not None and not learned.ships
        mine = ncd.systems.training.trained_weights.read_weights(
            ncd.compile(entry.build(**longer)), learned.weights
        )
        x = torch.linspace(-1, 1, 72).sin().view(1, 9, 8)
        torch.testing.assert_close(mine.eval()(x), layer(x))
        assert shipped_or_served(entry, entry.settings({"f": 4})) is None
    finally:
        del SERVED_MODULES[name], FAILURES[name], SERVED_WEIGHTS[name]


def test_a_module_of_ones_own_has_a_page() -> None:
    name = add_served_module("My Net", parse('Linear("b:2 m:4 -> b m_2:3", "W")'), "W: a message")
    try:
        assert entry_of(name, {}) is SERVED_MODULES[name] and SERVED_MODULES[name].title == "My Net"
        assert [knob.name for knob in SERVED_MODULES[name].knobs] == ["b", "m", "m_2"]

        def shown(name: str) -> None:
            from ncd.app.page import own_page  # its source runs alone

            own_page.show_served(name)

        app = AppTest.from_function(shown, args=(name,), default_timeout=60).run()
        fine(app)
        assert app.title[0].value == "My Net" and app.code[0].value == "W: a message"
    finally:
        del SERVED_MODULES[name], FAILURES[name]


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 5), nn.Linear({inside}, 2)
    def forward(self, x):
        return self.second(self.first(x))
"""


def test_pasted_source_has_a_slider_for_each_size_and_says_what_it_takes() -> None:
    app = yours()
    fine(write(app, NET.format(inside=5)))
    assert sizes(app) == {"b": 1, "m": 8, "d": 5, "classes": 2}
    assert editor(app)["told"].endswith(")\nRead as PyTorch source.")
    (field,) = (part for part in editor(app)["forms"][0]["parts"] if not isinstance(part, str))
    assert field == {
        **{"name": "x", "kind": "shape", "value": "1, 8"},
        **{"assumed": True, "options": []},
    }
    fine(app.slider(key="b").set_value(3).run())


def test_a_pasted_module_that_fails_is_drawn_up_to_the_call() -> None:
    app = yours()
    fine(write(app, NET.format(inside=6) + "2x8"))
    assert sizes(app) == {"b": 2, "m": 8, "d": 5}
    said = editor(app)
    assert said["told"] == STOPS and said["raw"].startswith("RuntimeError: ")
    assert "Error" not in said["sentence"] and said["sentence"].startswith("line 7: `")
    (fault,) = editor(app)["faults"]
    assert fault["message"] == said["sentence"]
    assert editor(app)["wrong"] and (fault["from"], fault["to"]) == ([7, 16], [7, 42])


def test_an_error_in_pasted_source_is_underlined() -> None:
    app = yours()
    text = NET.format(inside=5).replace("nn.Linear(8", "nn.Linaer(8")
    fine(write(app, text))
    (fault,) = editor(app)["faults"]
    assert fault["message"] == (
        "line 5, column 35: Linaer of torch.nn is not understood here. Try Linear."
    )
    assert fault["instead"] == "Linear"
    assert sizes(app) == {"t": 12, "m": 64, "d": 256}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("nn.LSTM(64, 128)(torch.randn(4, 10, 64))", "Read as a line of PyTorch."),
        (
            "nn.MultiheadAttention(512, 8)",
            "Read as a line of PyTorch.",
        ),
        (
            "nn.Sequential(nn.Linear(8, 4), nn.Linear(5, 4))(torch.randn(2, 8))",
            "line 1, column 32: Linear: in_features is 5, but the array (2×4) has 4 in its last "
            "dimension. Try in_features=4.",
        ),
        ("nn.NLLLoss()", "Read as a line of PyTorch."),
    ],
)
def test_a_line_of_pytorch_is_read_once_and_its_caption_says_how(text: str, told: str) -> None:
    app = yours()
    fine(write(app, text))
    said = editor(app)
    lines = said["sentence"] if said["wrong"] and said["sentence"] else said["told"]
    assert lines.startswith(told) or lines.partition("\n")[2].startswith(told)  # behind its costs
