"""What a page says and offers, without a browser: hints, costs, files, sentences, large runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import streamlit as st

import ncd
from ncd.app.page import export_menu, large_run, own_page, page, page_scene, sidebar
from ncd.app.page.export_menu import page_facts, python_line, reproducing_line
from ncd.app.page.gallery import (
    ASKS,
    CUT,
    SAMPLE,
    _asking,
    _cut,
    _drawing,
    _looks,
    _pick,
    _scene,
    _sentence,
    _sizes,
    _word_buttons,
    readings,
)
from ncd.app.page.large_run import PoolRun
from ncd.app.page.navigation import nearest
from ncd.app.scene import own_entry
from ncd.app.scene.panel import Panel
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import CACHE
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.app.state.link_text import compress_text
from ncd.circuit.knob import Knob
from ncd.errors import SizeError
from ncd.language.number_formats import Formats
from ncd.systems.inputs import run_inputs
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.text_inputs import doubt
from ncd.systems.training.trained_weights import TrainedWeights, proofreading
from ncd.write.term_json import svg_with_term
from tests.app.panels.views import scene, tags, text

ATTENTION = scene("multi-head-attention")
EINSUM = scene("scaled-dot-product-attention")
CAUSAL = next(knob for knob in ATTENTION.entry.knobs if knob.switch)
OWN = 'Id("~y:5 m:8") >> Linear("m -> k:2", "W")'


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


# --- the sidebar ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("knob", "hint"),
    [
        (
            Knob("h", 1, 1600, 4, help="heads", reason="small"),
            "Heads. The slider goes from 1 to 1,600: small. Typed, it can be 1 or more.",
        ),
        (
            Knob("n", 4, 64, 4, step=4, multiple=4),
            "The slider goes from 4 to 64 in steps of 4. Typed, it can be a multiple of 4, "
            "4 or more.",
        ),
        (Knob("n", 1, 64, 4, step=2), "The slider goes from 1 to 64 in steps of 2. Typed"),
        (Knob("c", 0, 1, 0, switch=True, help="help", reason="reason"), "Reason."),
        (Knob("c", 0, 1, 0, switch=True, help="help"), "Help."),
    ],
)
def test_a_knob_has_a_hint(knob: Knob, hint: str) -> None:
    found = sidebar.hint(knob)
    assert found == hint or (hint.endswith("Typed") and found.startswith(hint))


def test_an_index_ends_at_the_last_place_of_its_axis() -> None:
    index = Knob("i", 0, 99, 5, below="n")
    assert (
        sidebar._within_axis(index, {"n": 4}).max,
        sidebar._within_axis(index, {"n": 4}).default,
    ) == (
        3,
        3,
    )
    assert sidebar._within_axis(index, {"n": 9}).default == 5
    assert sidebar._within_axis(ATTENTION.entry.knobs[0], {}) is ATTENTION.entry.knobs[0]
    assert sidebar.label(Knob("n0", 1, 2, 1)) == "n₀"


@pytest.mark.parametrize(
    ("knob", "value", "words", "shown"),
    [
        (Knob("h", 1, 16, 4), 4, False, (1, 16, False, "h")),
        (Knob("h", 1, 16, 4), 20, False, (1, 32, False, "h")),
        (Knob("h", 1, 16, 4), 5, True, (1, 16, True, "h words")),
        (Knob("h", 1, 1, 1, most=1), 1, False, (1, 2, True, "h")),
    ],
)
def test_a_size_has_a_slider_that_moves_unless_something_sets_it(
    knob: Knob, value: int, words: bool, shown: tuple[object, ...], session: dict[str, Any]
) -> None:
    with patch.object(st, "slider") as slider:
        sidebar._size(knob, value, words)
    (_, least, most, *_), named = slider.call_args
    assert (least, most, named["disabled"], named["key"]) == shown
    assert ("h words" in session) == words
    assert named["help"].startswith("The sentence sets it") == words


def test_the_placeholder_names_the_first_and_the_last_size(session: dict[str, Any]) -> None:
    with patch.object(st, "text_input") as field:
        sidebar._show_sizes_field(ATTENTION.entry)
        assert field.call_args.kwargs["placeholder"] == "Type any size: h=96 x=12"
        field.reset_mock()
        fixed = (Knob("n", 3, 3, 3, least=3, most=3), CAUSAL)
        sidebar._show_sizes_field(replace(ATTENTION.entry, knobs=fixed))
        assert not field.called


def test_a_moved_widget_keeps_the_sidebar_as_it_is(session: dict[str, Any]) -> None:
    session |= {"h": 8, sidebar.SHOWN_VALUES_KEY: {"h": 4}, "notes": {"h": "note"}}
    sidebar._on_change("h")
    assert session[sidebar.SHOWN_VALUES_KEY] == {"h": 8} and session["notes"] == {}
    del session[sidebar.SHOWN_VALUES_KEY]
    sidebar._on_change("h")
    session[sidebar.SHOWN_VALUES_KEY] = {}
    called: list[int] = []
    sidebar._then_redraw(lambda: called.append(1))()
    assert called == [1] and sidebar.SHOWN_VALUES_KEY not in session


# --- costs and the line under the diagram ---------------------------------------------------------


def test_the_line_under_the_diagram() -> None:
    cost = ATTENTION.cost
    plain = text(page.diagram.cost_line(ATTENTION, None))
    assert plain.startswith(f"{cost.parameters:,} parameters · ")
    assert " on cpu" not in plain
    assert text(page.diagram.cost_line(ATTENTION, 0.5)) == f"{plain} · 500 ms on cpu"
    int8 = replace(ATTENTION, formats=Formats(weights="int8"))
    assert "B in int8" in text(page.diagram.cost_line(int8, None))
    assert page.diagram.cost_line(replace(ATTENTION, hidden_sizes=HiddenSizes("v1")), 0.5) == ""
    with patch.object(Scene, "can_run", False):
        assert text(page.diagram.cost_line(ATTENTION, 0.5)) == plain
    unsized = replace(ATTENTION, term=ncd.Id("y"))
    assert page.diagram.cost_line(unsized, None) == ""


class Shown:
    """What shows a panel: it counts how often, and may fail."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.shown = 0

    def __call__(self, scene: Scene) -> None:
        self.shown += 1
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    ("state", "runs", "panel", "large", "refused"),
    [
        ({}, True, 1, 0, 0),
        ({"refusal": True}, True, 0, 1, 1),
        ({"refusal": True}, False, 1, 0, 1),
        ({"refusal": True, "sized": False}, False, 0, 0, 1),
        ({"veil": HiddenSizes("v1")}, True, 0, 0, 0),
    ],
)
def test_a_panel_is_shown_if_it_needs_no_run_or_can_be_run(
    state: dict[str, Any], runs: bool, panel: int, large: int, refused: int
) -> None:
    own = Shown()
    opened = Panel("Panel", own, needs_run=runs)
    wrong = Refusal(SizeError("wrong"), None, ATTENTION.entry, {})
    here = SimpleNamespace(
        refusal=wrong if state.get("refusal") else None,
        hidden_sizes=state.get("veil"),
        has_all_sizes=state.get("sized", True),
    )
    with (
        patch.object(page.refusal, "render") as told,
        patch.object(page.large_run, "render") as offered,
        patch.object(page, "locked_panel", lambda title: Panel(title, Shown())),
    ):
        page._panel(here, opened, "", False)  # type: ignore[arg-type]
        assert (own.shown, offered.call_count, told.call_count) == (panel, large, refused)
        told.reset_mock()
        page._panel(wrong, opened, "", False)
        assert told.called and own.shown == panel


@pytest.mark.parametrize(
    ("untimed", "quick", "compiled", "long", "seconds", "sent"),
    [
        (False, True, True, False, None, 0),
        (True, True, False, False, 0.5, 1),
        (True, False, True, True, 0.5, 1),
        (True, False, False, False, None, 1),
        (True, False, False, True, None, 0),
    ],
)
def test_a_run_is_timed_after_its_panel(
    untimed: bool, quick: bool, compiled: bool, long: bool, seconds: float | None, sent: int
) -> None:
    here: Any = SimpleNamespace(
        **{"hidden_sizes": None, "refusal": None, "is_quick": quick, "is_compiled": compiled},
        starts_on_demand=long,
        seconds=0.5,
    )
    with (
        patch.object(page.diagram, "cost_line", lambda scene, taken: repr(taken)),
        patch.object(page.diagram, "send_cost_line") as line,
    ):
        page._panel(here, Panel("Panel", Shown()), "?h=1", untimed)
    assert line.call_count == sent
    if sent:
        assert line.call_args.args == (here, "?h=1", repr(seconds))
        assert line.call_args.kwargs == {"timed": True}


@pytest.mark.parametrize("error", [RuntimeError("first\nsecond"), MemoryError("first")])
def test_a_run_that_fails_says_so(error: Exception) -> None:
    here: Any = SimpleNamespace(hidden_sizes=None, refusal=None, device="cpu")
    with patch.object(st, "warning") as warning, patch.object(st, "text") as words:
        page._panel(here, Panel("Panel", Shown(error)), "", False)
    assert warning.called and words.call_args.args == ("first",)


def test_a_page_leads_to_its_neighbours() -> None:
    names = [*ncd.catalogue]
    first, second, last = (ncd.catalogue[names[i]] for i in (0, 1, -1))
    assert page._neighbour_links(first).endswith(
        f"({second.name})"
    ) and "←" not in page._neighbour_links(first)
    assert f"({first.name})" in page._neighbour_links(
        second
    ) and f"({names[2]})" in page._neighbour_links(second)
    assert "→" not in page._neighbour_links(last) and f"({names[-2]})" in page._neighbour_links(
        last
    )


# --- files ----------------------------------------------------------------------------------------


def files(here: Scene) -> list[str]:
    with (
        patch.object(export_menu.html_panel, "button") as button,
        patch.object(st, "markdown") as m,
    ):
        export_menu._files(here, page_facts(here, "?h=4"))
    assert m.call_args is not None and "yours?text=" in m.call_args.args[0]
    return [call.args[2] for call in button.call_args_list]


def test_the_files_of_a_page(session: dict[str, Any]) -> None:
    usual = ["svg", "png", "pdf", "tex", "html", "py", "safetensors", "onnx", "json"]
    own = replace(ATTENTION, loaded_weights=TrainedWeights(b"w", "trained"))
    name = ATTENTION.entry.name
    python = {"multi_head_attention.py", "multi_head_attention_torch.py"}
    plain = files(ATTENTION)
    assert {end for end in usual if f"{name}.{end}" in plain} == {
        *{"svg", "png", "pdf", "tex", "html", "json"},
        *({"onnx"} if export_menu.find_spec("onnx") else set()),
    }
    assert f"{name}.safetensors" in files(own)
    assert f"{name}.safetensors" not in files(
        replace(own, loaded_weights=TrainedWeights(b"w", "", ships=True))
    )
    assert python & set(plain)
    whole = "einops" in ncd.source(ATTENTION.term)
    assert (python <= set(plain)) == whole
    with patch.object(Scene, "can_run", False):
        assert f"{name}.onnx" not in files(ATTENTION)
    with patch.object(Scene, "has_all_sizes", False):
        assert not python & set(files(ATTENTION))
    closed = own_entry.custom_entry('Opaque("b:2 d:4 -> b k:2", "aten.glu", "a")')
    settings = closed.settings({})
    boxed = replace(ATTENTION, entry=closed, settings=settings, term=closed.build())
    assert "yours.onnx" not in files(boxed)


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize("what", ["scene", "quiz", "refusal"])
def test_files_are_offered_when_the_menu_is_open_and_no_quiz_goes_on(
    opened: bool, what: str
) -> None:
    now = {
        "scene": ATTENTION,
        "quiz": replace(ATTENTION, hidden_sizes=HiddenSizes("v1")),
        "refusal": Refusal(SizeError("wrong"), None, ATTENTION.entry, {}),
    }[what]
    menu = MagicMock()
    menu.return_value.__enter__.return_value.open = opened
    with (
        patch.object(st, "popover", menu),
        patch.object(st, "caption"),
        patch.object(st, "code"),
        patch.object(export_menu.url, "query", lambda: "?h=4"),
        patch.object(export_menu, "_files") as made,
    ):
        export_menu.show.__wrapped__(lambda: now)  # type: ignore[attr-defined]
    assert made.called == (opened and what == "scene")


def test_the_header_of_a_source_file() -> None:
    facts = page_facts(ATTENTION, "?h=4")
    assert (facts["inputs"], facts["link"]) == ("random arrays", "/multi-head-attention?h=4")
    said = python_line(ATTENTION, facts, einops=False)
    assert said.startswith(f"# {facts['title']} ({facts['source']}): {facts['link']}\n# h=4, k=16")
    assert "# It needs torch alone.\n" in said and "Where ncd is installed, this line" in said
    own = replace(ATTENTION, loaded_weights=TrainedWeights(b"w", "trained"))
    line = reproducing_line(own)
    assert 'open("multi-head-attention.safetensors", "rb")' in line
    assert "and multi-head-attention.safetensors is the file" in python_line(own, facts, False)
    with patch.object(Scene, "can_run", False):
        assert "Where ncd is installed" not in python_line(ATTENTION, facts, False)
    ships = replace(ATTENTION, loaded_weights=TrainedWeights(b"w", "", ships=True))
    assert "ncd.systems.training.trained_weights.shipped_file(" in reproducing_line(ships)
    words = {"y": ("a", "b"), "x": ("c",)}
    read = replace(ships, inputs_spec=InputSpec(words, trained=True))
    assert "ncd.systems.training.trained_weights.attention_weights(4, 0)" in reproducing_line(read)
    assert page_facts(read, "")["inputs"] == {"y": ["a", "b"], "x": ["c"]}
    gpu = reproducing_line(replace(ATTENTION, device="cuda"))
    assert 'ncd.compile(term, 0, "cuda")' in gpu
    entry = own_entry.custom_entry(OWN)
    typed = replace(ATTENTION, entry=entry, settings=entry.settings({}), term=entry.build())
    assert "term = ncd.parse(" in reproducing_line(typed)


# --- the first page -------------------------------------------------------------------------------


@pytest.mark.parametrize(("picked", "row"), [(None, 3), (0, 0), (4, 4), (5, 3), (99, 3), ("x", 3)])
def test_the_word_that_asks_is_the_picked_one_or_the_verb(
    picked: object, row: int, session: dict[str, Any]
) -> None:
    session[ASKS] = picked
    assert _asking(["the", "keys", "here", "are", "old"]) == row
    if picked is None:
        assert _asking(["the", "keys"]) == 1


def test_a_click_picks_a_word_or_switches_a_head_off_and_on(session: dict[str, Any]) -> None:
    for value, picked in (("7", 7), ("999", 999), ("1000", None), ("x", None), ("-1", None)):
        _pick(value)
        assert session[ASKS] == picked
    for value, cut in (("cut=1", {1}), ("cut=5", {1, 5}), ("cut=1", {5}), ("cut=x", {5})):
        _pick(value)
        assert _cut(8) == session[CUT] == cut
    assert _cut(5) == set() and session[ASKS] is None
    session[CUT] = "x"
    assert _cut(8) == set()


@pytest.mark.parametrize(("typed", "words"), [("", SAMPLE.split()), ("the keys", ["the", "keys"])])
def test_a_sentence_without_words_is_the_sample(typed: str, words: list[str]) -> None:
    with patch.object(st, "text_input", return_value=typed), patch.object(st, "caption"):
        assert _sentence() == words


WRONG = ["the", "keys", "by", "the", "door", "is", "old", "."]
NOTHING: frozenset[int] = frozenset()


def first_scene(words: list[str], h: int, dark: bool = False) -> Scene:
    theme = SimpleNamespace(type="dark" if dark else "light")
    with patch.object(st, "context", SimpleNamespace(theme=theme, cookies={})):
        return _scene(words, h)


def test_the_first_diagram_corrects_the_sentence_and_a_cut_head_is_missed() -> None:
    read = readings(WRONG, 4, NOTHING)
    assert [own and own.word for own in read] == [*[None] * 5, "are", None, None]
    alone = readings(WRONG, 4, frozenset({2}))[5]
    assert alone and alone.word not in ("is", "are")  # one of its heads says which verb it is
    fewer, off = readings(WRONG, 2, NOTHING)[5], readings(WRONG, 4, frozenset({2, 3}))[5]
    assert fewer == off
    words = tags(_word_buttons(WRONG, 5, 4, NOTHING), "button")
    assert [own["data-pick"] for own in words] == [*map(str, range(8))]
    assert [own["aria-pressed"] for own in words].index("true") == 5
    assert "<del>is</del>" in (html := _word_buttons(WRONG, 5, 4, NOTHING)) and ">are</ins>" in html
    right = [word.replace("is", "are") for word in WRONG]
    assert "<del>" not in _word_buttons(right, 5, 4, NOTHING)


def test_a_server_of_narrow_limits_corrects_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    CACHE.clear()
    with monkeypatch.context() as patch:
        patch.setenv("NCD_MAX_FLOPS", "1000000")
        assert readings(WRONG, 3, frozenset({0})) == [None] * 8
    CACHE.clear()


def test_words_that_it_does_not_know_are_not_corrected() -> None:
    assert readings(["the", "zebra", "is", "old", "."], 4, NOTHING) == [None] * 5
    assert "&lt;b&gt;" in _word_buttons(["<b>", "is"], 0, 4, NOTHING)


def test_the_first_diagram_says_what_heads_change_and_where_they_look(
    session: dict[str, Any],
) -> None:
    words = SAMPLE.split()
    here = first_scene(words, 5, dark=True)
    session["wide"] = "340"
    phone = first_scene(words, 5)
    assert (here.column_width, here.labels, here.dark, here.seed) == (None, "names", True, 0)
    assert here.loaded_weights == proofreading(5, here.seed)
    assert phone.column_width == selection.WIDTHS[0]
    html, line = _drawing(here, 5, NOTHING), text(_sizes(here))
    m, k = here.settings["m"], here.settings["k"]
    assert f"5 heads of {k} features each" in line
    assert f"{4 * m * k:,} for each head" in line
    assert html.count("<image") == 5 + 3 * 5 + 3  # maps; queries, keys, values; the ends
    assert "<image" not in _drawing(phone, 5, NOTHING)  # there is no room for them
    other = _drawing(here, 4, NOTHING)
    assert other != html and other.count("<image") == html.count("<image")
    assert _drawing(here, 5, frozenset({0})) != html


def test_a_card_for_each_head_says_where_it_looks_and_what_it_is_for() -> None:
    here = first_scene(WRONG, 5)
    cards = _looks(here, WRONG, 5, frozenset({1})).split("<section")[1:]
    assert len(cards) == 5
    for n, card in enumerate(cards):
        shares = [float(own["title"]) for own in tags(card, "span")]
        assert len(shares) == len(WRONG) and sum(shares) == pytest.approx(1, abs=0.01 * len(WRONG))
        (button,) = tags(card, "button")
        assert button["data-pick"] == f"cut={n}"
        assert button["aria-pressed"] == str(n == 1).lower()
        assert ("With it" in card) == (n == 1)
    assert "not trained" in cards[4] and "not trained" not in cards[3]
    effect = readings(WRONG, 5, frozenset({1, 2}))[5]
    assert effect and f"Without it <b>{effect.word}</b> ({effect.chance:.0%})" in cards[2]
    assert "What it writes here is not known." in _looks(here, WRONG, 0, NOTHING)
    wrong = ["keys", *WRONG[1:]]
    if doubt(wrong):
        assert "head 0" in _looks(first_scene(wrong, 2), wrong, 0, NOTHING)


# --- large runs -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ticket", "shown"),
    [
        (None, "offer"),
        ({"result": b"r", "ended": True}, "result"),
        ({"ended": False}, "waiting"),
        ({"ended": True, "failure": "no memory"}, "offer no memory"),
        ({"ended": True, "failure": "no memory", "other": True}, "offer"),
    ],
)
def test_a_large_run_is_offered_waited_for_or_shown(
    ticket: dict[str, Any] | None, shown: str, session: dict[str, Any]
) -> None:
    found: list[str] = []
    own = MagicMock(result=b"", ended=False, failure="") if ticket is not None else None
    if own is not None and ticket is not None:
        own.configure_mock(**{k: v for k, v in ticket.items() if k != "other"})
        settings = {} if ticket.get("other") else large_run._settings(ATTENTION)
        session[large_run.STATE] = PoolRun(settings, own)
    with (
        patch.object(large_run, "_offer", lambda _, f: found.append(f"offer {f}".strip())),
        patch.object(large_run, "_result", lambda *_: found.append("result")),
        patch.object(st, "fragment", lambda *_, **__: lambda now: found.append("waiting")),
    ):
        large_run.render(ATTENTION)
        assert found == [shown]
        wrong = Refusal(SizeError("wrong"), None, ATTENTION.entry, {})
        large_run.render(replace(ATTENTION, build_refusal=wrong))
        large_run.render(replace(ATTENTION, term=ncd.Id("y")))
    assert found == [shown]
    assert own is None or own.leave.called == bool(ticket and ticket.get("other"))


@pytest.mark.parametrize(
    ("reports", "again", "told"),
    [
        ([], 0, "Getting ready …"),
        (
            [{"step": 1200, "steps": 2000, "seconds": 1.25}],
            0,
            "Op 1,200 of 2,000 · 1.2 s",
        ),
        (
            [{"step": 1, "steps": 2, "seconds": 0.0}, {"step": 2, "steps": 2, "seconds": 3.0}],
            1,
            "Its worker was lost, so it begins again. Op 2 of 2 · 3.0 s",
        ),
    ],
)
def test_the_progress_of_a_large_run(
    reports: list[dict[str, Any]], again: int, told: str, session: dict[str, Any]
) -> None:
    now = SimpleNamespace(
        **{"reports": reports, "again": again, "failure": "", "queue_position": 0, "ended": False},
        poll=lambda: None,
        leave=None,
    )
    assert large_run._progress(now) == told  # type: ignore[arg-type]
    with (
        patch.object(st, "container", MagicMock()),
        patch.object(st, "button"),
        patch.object(st, "rerun") as again_,
        patch.object(st, "progress") as bar,
    ):
        large_run._waiting(now)  # type: ignore[arg-type]
    share = reports[-1]["step"] / reports[-1]["steps"] if reports else 0.0
    assert bar.call_args.args == (share, told) and not again_.called


@pytest.mark.parametrize(
    ("shape", "label", "sides", "square"),
    [
        ("y:2 x:3", "Its numbers as a map", ("y", "x"), False),
        ("b:4 y:2 x:3", "The first of its maps", None, False),
        ("k:3", "Its numbers as a map", ("", "k"), False),
        ("()", "Its numbers as a map", ("", ""), False),
        ("x:2x2", "Its numbers as a map", None, True),
    ],
)
def test_the_map_of_a_large_run(
    shape: str, label: str, sides: tuple[str, str] | None, square: bool
) -> None:
    circuit = ncd.elaborate(ncd.Id(shape) if shape != "()" else ncd.Einsum("k:2, k -> "))
    value = circuit.outputs[0]
    seen = SimpleNamespace(
        cells=[[-1.0, 2.0]], shape=(1, 2), block=(1, 1), smallest=-1.0, largest=2.0
    )
    found = large_run._focus(value, seen)  # type: ignore[arg-type]
    assert (found.label, found.square_cells, found.ends.low) == (label, square, -2.0)
    if sides is not None:
        assert (found.rows.position_label, found.columns.position_label) == sides
    seen.smallest = 0.0
    assert large_run._focus(value, seen).ends.low == 0.0  # type: ignore[arg-type]


# --- addresses and texts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("Notes_on_UNet.py", ["unet"]),
        ("unet", ["unet"]),
        ("zzzz", []),
        ("attention", ["an-attention", "visual-attention", "merged-attention"]),
    ],
)
def test_the_nearest_pages_are_named(asked: str, found: list[str]) -> None:
    known = (
        "",
        "unet",
        "multi-head-attention",
        "visual-attention",
        "merged-attention",
        "an-attention",
    )
    assert nearest(asked, known) == found


def test_of_names_with_the_same_words_the_one_that_is_alike_as_a_whole_comes_first() -> None:
    known = ("head-attention", "multi-attention", "multi-head-attention")
    for asked in known:
        assert nearest(asked, known)[0] == asked
        assert nearest(asked, known[::-1])[0] == asked


LINKED = "b i -> i b"


@pytest.mark.parametrize(
    ("query", "before", "moved", "text"),
    [
        ({}, None, False, own_page.OPENING),
        ({own_page.url.LINK_MARK: "2"}, None, False, own_page.OPENING),
        ({"h": "4"}, None, False, own_page.DEFAULT_TEXT),
        ({"text": compress_text(LINKED)}, None, False, LINKED),
        ({"text": "z.cut"}, None, False, own_page.DEFAULT_TEXT),
        ({"text": compress_text(LINKED)}, OWN, False, OWN),
        ({"text": compress_text(LINKED)}, OWN, True, LINKED),
        ({"text": compress_text(f"  {LINKED}")}, OWN, True, LINKED),
    ],
)
@pytest.mark.parametrize("way", ["followed", "went_back"])
def test_a_page_of_ones_own_opens_with_the_text_of_its_link_or_keeps_its_own(
    query: dict[str, str],
    before: str | None,
    moved: bool,
    text: str,
    way: str,
    session: dict[str, Any],
) -> None:
    if before is not None:
        session["text"] = before
    read: list[str] = []
    entry = SimpleNamespace(entry="entry", memory=None, failure=None)
    with (
        patch.object(st, "query_params", query),
        patch.object(own_page.own_entry, "prepare"),
        patch.object(own_page.url, "opened_by_link", lambda: moved and way == "followed"),
        patch.object(
            own_page.streamlit_internals, "went_back", lambda: moved and way == "went_back"
        ),
        patch.object(own_page, "_read", lambda own: (read.append(own), (entry, None))[1]),
        patch.object(own_page, "render_page") as shown,
    ):
        own_page.show()
        entry.memory = object()
        own_page.show()
    assert read == [text] * 2
    panels = [call.args[3] for call in shown.call_args_list]
    assert panels == [own_page.PANELS, own_page.OF_CONFIGS]


@pytest.mark.parametrize(("newer", "again"), [("", False), ("b i -> b", True)])
def test_a_text_without_a_system_is_shown_with_its_error_or_a_newer_one_instead(
    newer: str, again: bool, session: dict[str, Any]
) -> None:
    session["text"] = "Id("
    with (
        patch.object(own_page.own_entry, "prepare"),
        patch.object(own_page.url, "opened_by_link", lambda: False),
        patch.object(own_page.streamlit_internals, "went_back", lambda: False),
        patch.object(own_page.url, "load", lambda *_: session.update(text=newer or "Id(")),
        patch.object(own_page, "page_without_diagram") as shown,
        patch.object(st, "rerun") as rerun,
    ):
        own_page.show()
    assert rerun.called == again
    assert shown.call_args.args[:3] == (own_page.TITLE, own_page.LEAD, own_page.WHY)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("words", [False, True])
@pytest.mark.parametrize("takes", [False, True])
def test_the_scene_of_a_page_has_its_theme_and_words_where_it_takes_them(
    dark: bool, words: bool, takes: bool, session: dict[str, Any]
) -> None:
    entry = ATTENTION.entry
    feed = InputSpec({"y": ("a",) * 20, "x": ("b",) * 22}) if words else InputSpec()
    look = SimpleNamespace(theme=SimpleNamespace(type="dark" if dark else "light"), cookies={})
    with (
        patch.object(st, "context", look),
        patch.object(page_scene.inputs, "feed", lambda *_: feed),
        patch.object(run_inputs, "takes_words", lambda term: takes),
        patch.object(page_scene, "join_linked_training") as resumed,
        patch.object(page.quiz, "with_question", lambda scene: scene),
        patch.object(page, "with_question", lambda scene: scene),
    ):
        found = page._scene(entry)
        with patch.object(Scene, "can_run", False):
            page._scene(entry)
        assert resumed.call_count == 1  # nothing goes on that is too large
        wrong = Refusal(SizeError("wrong"), None, entry, {})
        with patch.object(page_scene, "build_term", lambda *_: (None, wrong)):
            assert page._scene(entry) is wrong
    assert isinstance(found, Scene) and found.dark == page_scene.heatmap.DARK.get() == dark
    page_scene.heatmap.DARK.set(False)
    assert found.inputs_spec == (feed if takes else InputSpec())


def test_a_text_is_put_into_the_session(session: dict[str, Any]) -> None:
    for example in ("nothing", "einsum"):
        session["example"] = example
        own_page._begin()
        assert session["example"] is None
    assert session["text"] == own_page.EXAMPLES["einsum"]
    own_page.take_text("x" * (own_page.LONGEST + 9))
    assert session["text"] == "x" * own_page.LONGEST
    own_page._open_files()
    assert session["text"] == "x" * own_page.LONGEST
    session[own_page.FILE] = [SimpleNamespace(name="a.txt", getvalue=lambda: b"b i -> i b")]
    own_page._open_files()
    assert session["text"].strip() == "b i -> i b"
    wrong = patch.object(own_page, "text_of_files", side_effect=SizeError("too large"))
    with wrong, patch.object(st, "toast") as toast:
        own_page._open_files()
    assert toast.called
    term = ncd.Softmax("m:3")
    assert own_page.cleaned_text(svg_with_term("<svg></svg>", term)) == ncd.spell(term)


def test_the_last_text_that_could_be_read_stays(session: dict[str, Any]) -> None:
    assert own_page._read("Id(")[0] is None
    found, error = own_page._read(OWN)
    assert found is not None and error is None and session[own_page.LAST_TEXT_KEY] == OWN
    again, error = own_page._read("Id(")
    assert again is not None and again.entry.text == OWN and error is not None
    with patch.object(own_page.url, "switch_entry") as change:
        own_page._read(OWN)
        assert not change.called
        own_page._read("b i -> i b")
        assert change.called


@pytest.mark.parametrize(("long", "shown"), [(False, False), (True, True)])
def test_a_text_that_no_link_can_hold_is_saved_as_a_file(long: bool, shown: bool) -> None:
    words = "".join(map(chr, Random(0).choices(range(33, 120), k=9000))) if long else OWN
    assert bool(own_page.compress_text(words)) != long
    with (
        patch.object(st, "container", MagicMock()),
        patch.object(st, "caption"),
        patch.object(own_page.html_panel, "button") as button,
    ):
        own_page._saver(words)
    assert button.called == shown


@pytest.mark.parametrize(
    ("found", "again"), [(((), False), False), ((("a",), False), True), (((), True), True)]
)
def test_a_page_is_shown_again_when_more_is_found(found: Any, again: bool) -> None:
    with (
        patch.object(own_page.own_answer, "findings", lambda text: found),
        patch.object(st, "rerun") as rerun,
    ):
        own_page._searching("text", ())
    assert rerun.called == again
