"""The parts of the diagram: chips, cards, listings, gradients, other terms, and what is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import parse_qsl

import pytest
import streamlit as st
from markupsafe import Markup

import ncd
from ncd.app.figure import backward_diagram, code_listing, op_card
from ncd.app.figure import diagram as diagram_module
from ncd.app.figure.diagram import (
    _chip,
    _product,
    axis_chips_html,
    callouts_html,
    note_html,
    products,
    terms_in_a_row,
)
from ncd.app.figure.op_card import (
    BY_OP,
    ELEMENTWISE,
    OUTER_PRODUCT_TEXT,
    PERMUTATION_TEXT,
    op_purpose,
)
from ncd.app.parts import html_panel
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.circuit.circuit import Circuit
from ncd.drawing.elements.style import role_colour
from ncd.errors import LimitError, MismatchError
from ncd.language.axes import Axis
from ncd.language.number_formats import Formats
from ncd.site import markup
from tests.app.panels.views import scene, tags, text

ATTENTION = scene("multi-head-attention")
CHAIN = ncd.Id("y:2 m:3") >> ncd.Linear("m -> k:4", "L") >> ncd.Softmax("k")


def own(term: ncd.Term, **more: Any) -> Scene:
    return replace(
        ATTENTION, entry=replace(ATTENTION.entry, name="own", notes={}), term=term, **more
    )


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


# --- chips ----------------------------------------------------------------------------------------


def chips(circuit: Circuit) -> list[str]:
    html = axis_chips_html(circuit)
    return [Markup(one).striptags() for one in re.findall(r">(.*?)</(?:button|span)>", html)]


def test_a_chip_has_the_size_of_its_axis_or_of_those_that_it_stands_for() -> None:
    def chip(*axes: Axis) -> str:
        html = _chip(axes)
        (name,) = re.findall('aria-label="([^"]*)"', html)
        return Markup(name).unescape()

    assert chip(Axis("k", 4)) == "k 4: axis k 4, light it everywhere"
    assert chip(Axis("k")) == "k: axis k, light it everywhere"
    same = (Axis("c_1", 4, label="c_λ"), Axis("c_2", 4, label="c_λ"))
    assert "4: axis c_1 4," in chip(*same)
    other = (Axis("c_1", 4, label="c_λ"), Axis("c_2", 8, label="c_λ"))
    assert "axis c_1 4 … 8," in chip(*other)
    assert "axis c_1 4," in chip(other[0], Axis("c_2", label="c_λ"))
    assert chip(Axis("y", 16), Axis("y", 12)) == "y: axis y of several sizes, light it everywhere"


def test_products_of_axes_that_a_learned_map_takes_together() -> None:
    (kh,) = products(ATTENTION.circuit)
    assert {axis.name for axis in kh} == {"k", "h"}
    assert any(chip.endswith("= 64") for chip in chips(ATTENTION.circuit))
    assert products(ncd.elaborate(CHAIN)) == ()
    assert _product(ncd.Array((Axis("k"), Axis("h", 4)))) == ""


# --- what is sent ---------------------------------------------------------------------------------


def test_the_query_of_a_drawing_has_all_that_it_depends_on(session: dict[str, Any]) -> None:
    here = replace(ATTENTION, column_width=620, labels="both")
    plain = dict(parse_qsl(diagram_module.drawing_query(here)))
    assert plain == {
        **{name: str(value) for name, value in here.settings.items()},
        **{"labels": "both", "dark": "0", "callouts": "on", "folded": "auto", "wide": "620"},
    }
    session["folded"] = "none"
    more = replace(
        here, show_callouts=False, dark=True, subject_id="v7", formats=Formats(weights="int8")
    )
    found = dict(parse_qsl(diagram_module.drawing_query(more)))
    assert (found["callouts"], found["dark"], found["folded"]) == ("off", "1", "none")
    assert (found["about"], found["formats"]) == ("v7", "weights=int8")
    assert diagram_module.drawing_query(replace(here, hidden_sizes=HiddenSizes("v7"))) == ""
    texted = replace(here, entry=replace(here.entry, text="b i -> i b"))
    assert dict(parse_qsl(diagram_module.drawing_query(texted)))["text"] == "b i -> i b"


def test_labels_and_callouts_are_chosen_in_the_session(session: dict[str, Any]) -> None:
    assert (diagram_module.current_on_wires(), diagram_module.callouts_on()) == ("names", True)
    session |= {"labels": "both", "callouts": "off"}
    assert (diagram_module.current_on_wires(), diagram_module.callouts_on()) == ("both", False)
    session |= {"labels": "values", "callouts": "on"}
    assert (diagram_module.current_on_wires(), diagram_module.callouts_on()) == ("values", True)
    session |= {"labels": "none"}
    assert diagram_module.current_on_wires() == "names"


@pytest.mark.parametrize("veil", [None, HiddenSizes("v7")])
@pytest.mark.parametrize("quiz", ["", "1"])
def test_a_drawing_is_sent_with_what_the_page_needs(
    veil: HiddenSizes | None, quiz: str, session: dict[str, Any]
) -> None:
    session["quiz"] = quiz
    sent: list[dict[str, Any]] = []
    listing = replace(ATTENTION, entry=replace(ATTENTION.entry, listing=True), hidden_sizes=veil)
    with (
        patch.object(diagram_module, "_message", lambda **own: sent.append(own)),
        patch.object(diagram_module, "_diagram", lambda **own: sent.append(own)),
    ):
        diagram_module.render(replace(listing, selected_id="n1", show_callouts=True), "?h=4", ())
        diagram_module.send_cost_line(ATTENTION, "?h=4", "cost", timed=True)
        diagram_module.send_cost_line(ATTENTION, "?h=4", "cost")
    told, diagram, timed, line = sent
    data = told["data"]
    assert ("quiz" in data, "veiled" in data) == (bool(quiz), veil is not None)
    assert (data["selected"], data["link"], data["widths"]) == ("n1", "?h=4", selection.WIDTHS)
    noted = bool(ATTENTION.entry.callouts(ATTENTION.settings))
    assert data["callouts"] == (True if noted and veil is None else None)
    assert bool(data["chips"]) == (veil is None)
    assert bool(diagram["data"]["listing"]) == (veil is None)
    assert (timed["key"], line["key"]) == ("told-time", "told-line")
    assert timed["data"]["event"] == line["data"]["event"] == "ncd-line"  # a quick run
    with (
        patch.object(Scene, "starts_on_demand", True),
        patch.object(diagram_module, "_message") as message,
    ):
        diagram_module.send_cost_line(ATTENTION, "", "", timed=True)
        assert message.call_args.kwargs["data"]["event"] == "ncd-time"
        diagram_module.send_cost_line(ATTENTION, "", "")
        assert message.call_args.kwargs["data"]["event"] == "ncd-line"


def test_blocks_fold_and_unfold(session: dict[str, Any]) -> None:
    here = scene("encoder-block")
    opened = diagram_module.diagram_message(here, None, "none")
    shut = diagram_module.diagram_message(here, None, ",".join(sorted(opened.folds)[:1]))
    first = sorted(opened.folds)[0]
    assert opened.boxes == () and shut.boxes == (first,)
    assert opened.folds[first] == first and shut.folds[first] == "none"
    session["folded"] = first
    assert "Unfold in the diagram" in diagram_module.fold_button(here, first)
    session["folded"] = "none"
    assert ">Fold in the diagram" in diagram_module.fold_button(here, first)
    assert diagram_module.fold_button(here, "n1") == ""
    inside = next(cell.id for cell in here.circuit.cells if first in cell.fences)
    asked = replace(here, subject_id=inside)  # opens a box that is shut by itself alone
    assert diagram_module.diagram_message(asked, None, first).boxes == (first,)


COSTS = "32,768 parameters · 1.49 MFLOP"


@pytest.mark.parametrize(
    ("here", "seconds", "line"),
    [
        (ATTENTION, None, COSTS),
        (ATTENTION, 0.5, f"{COSTS} · 500 ms on cpu"),
        (replace(ATTENTION, formats=Formats(weights="int8")), None,
         f"{COSTS} · weights 34 kB in int8"),  # each column has a scale
        (replace(ATTENTION, hidden_sizes=HiddenSizes("v7")), 0.5, ""),
        (own(ncd.Softmax("m")), 0.5, ""),
    ],
)  # fmt: skip
def test_the_line_under_a_diagram_has_what_is_known(
    here: Scene, seconds: float | None, line: str
) -> None:
    assert text(diagram_module.cost_line(here, seconds)) == line
    with patch.object(Scene, "can_run", False):
        assert text(diagram_module.cost_line(here, seconds)) == line.partition(" · 500 ms")[0]


def test_a_fault_is_marked_and_what_is_only_too_large_is_not() -> None:
    node = ATTENTION.circuit.cells[0].id
    wrong = Refusal(MismatchError("wrong"), node, ATTENTION.entry, {})
    plain = diagram_module.diagram_message(ATTENTION, None, "auto")
    assert diagram_module.diagram_message(ATTENTION, wrong, "auto").svg != plain.svg
    assert (
        diagram_module.diagram_message(ATTENTION, replace(wrong, op_id=None), "auto").svg
        == plain.svg
    )
    large = Refusal(LimitError("large"), None, ATTENTION.entry, {})
    assert diagram_module.diagram_message(ATTENTION, large, "auto").svg == plain.svg


def test_hover_texts_name_arrays_and_blocks() -> None:
    circuit = ncd.elaborate(ncd.Block(CHAIN, "Part", "linear"))
    found = diagram_module.tooltips(circuit)
    (fence,) = circuit.fences
    assert set(found) == {*circuit.values, fence.id}
    ins, _, outs = text(found[fence.id]).removeprefix("Part: ").partition(" → ")
    assert (ins, outs) == ("y m", "y k")
    assert "y 2 · m 3" in text(found[circuit.inputs[0].id])


# --- the card -------------------------------------------------------------------------------------


def card(here: Scene, id: str) -> str:
    with patch.object(html_panel, "render") as show:
        shown = op_card.render(here.with_selection(id))
    assert show.called == shown
    return str(show.call_args.args[0]) if shown else ""


def test_the_card_of_an_op_shows_what_it_has_learned(session: dict[str, Any]) -> None:
    here = own(ncd.Linear("m:3 -> k:2", "L", True) >> ncd.Param("k:2", "p") @ ncd.Id("k"))
    linear, param = (cell.id for cell in here.circuit.cells)
    for id, name, learned in (
        (linear, "weight", here.module.L.weight),
        (linear, "bias", here.module.L.bias),
        (param, "p", here.module.p),
    ):
        shown = card(here, id)
        assert f"its {name}:" in text(shown)
        numbers = learned.detach().flatten().tolist()
        assert all(f">{markup.digits(number)}<" in shown for number in numbers)
    untrained = own(ncd.Softmax("m:3"))
    assert "has learned" not in card(untrained, "n0")


def test_a_card_tells_of_an_op_a_block_or_nothing(session: dict[str, Any]) -> None:
    here = own(CHAIN >> ncd.Elementwise("relu"))
    linear, softmax, relu = (cell.id for cell in here.circuit.cells)
    assert "Written on" in card(here, linear) and "m → k" in text(card(here, linear))
    assert "Written on" in card(here, softmax) and "Written on" not in card(here, relu)
    assert "Its lines of source" in card(here, linear)
    assert 'class="around"' not in card(here, linear)
    assert card(here, "v1") == card(here, "") == ""
    names = [f"L{n}" for n in range(3)]
    layer = [ncd.Linear("m -> m", L) >> ncd.Elementwise("relu") >> ncd.Softmax("m") for L in names]
    layers = own(ncd.Id("m:3") >> layer[0] >> layer[1] >> layer[2])
    stack = next(
        id for id in diagram_module.diagram_message(layers, None, "none").folds if id[0] == "s"
    )
    assert "the first of 3" in card(layers, stack)
    encoder = scene("encoder-block")
    fence = max(
        encoder.circuit.fences, key=lambda one: len(op_card._chain(encoder.circuit, one.id))
    )
    chain = op_card._chain(encoder.circuit, fence.id)
    assert len(chain) > 1 and chain[-1] == fence.id
    steps = [
        own["data-fence"] for own in tags(card(encoder, fence.id), "button") if "data-select" in own
    ]
    assert tuple(steps[: len(chain) - 1]) == chain[:-1]
    assert "What is inside" in card(encoder, fence.id)


def test_a_published_block_links_to_its_paper_and_code(session: dict[str, Any]) -> None:
    circuit = ncd.elaborate(ncd.Block(CHAIN, "No such title", "linear"))
    assert op_card._reference(circuit, (circuit.fences[0].id,)) == ""
    for title, found in op_card.REFERENCES.items():
        circuit = ncd.elaborate(ncd.Block(ncd.Block(CHAIN, "Inner", "linear"), title, "linear"))
        html = op_card._reference(circuit, tuple(fence.id for fence in circuit.fences))
        links = [own["href"] for own in tags(html, "a")]
        assert links == [found.paper_address, *filter(None, [found.code_address])]


# --- terms beside the page's ----------------------------------------------------------------------


def test_the_gradient_of_an_op_is_drawn_with_its_inputs_named() -> None:
    here = own(CHAIN)
    linear, softmax = here.circuit.cells
    assert "The first array is the input, the last is G" in backward_diagram.gradient_html(
        here, softmax
    )
    assert "the gradient of the input." in backward_diagram.gradient_html(here, linear)
    two = own(ncd.Einsum("k:3, k -> "))
    told = backward_diagram.gradient_html(two, two.circuit.cells[0])
    assert "The first 2 arrays are the inputs" in told and "gradient of each input." in told
    whole: Any = SimpleNamespace(site=SimpleNamespace(own_inputs=(ncd.Array.parse("t:3#v:9"),)))
    assert backward_diagram.gradient_html(here, whole) == ""  # a whole number has no gradient


def test_terms_stand_side_by_side_with_notes_above_on_a_phone() -> None:
    wide, phone = (
        replace(ATTENTION, column_width=1280),
        replace(ATTENTION, column_width=selection.WIDTHS[0]),
    )
    linear = next(iter(ncd.elaborate(CHAIN).cells)).id
    notes = {linear: "a note"}
    drawn = terms_in_a_row((CHAIN, CHAIN), "=", wide, notes)
    roomy, tight = drawn.removeprefix('<div class="roomy">').split('</div><div class="tight">')
    assert "<p>a note</p>" not in roomy and "data-node" not in drawn
    assert terms_in_a_row((CHAIN, CHAIN), "=", wide) != drawn
    narrow = terms_in_a_row((CHAIN, CHAIN), "=", phone, notes)
    assert narrow.startswith("<p>a note</p>") and tight == f"{narrow}</div>"
    assert "a note" not in terms_in_a_row(
        (CHAIN, CHAIN), "=", replace(phone, show_callouts=False), notes
    )
    last = terms_in_a_row((ncd.Softmax("m:3"), CHAIN), "=", wide, {"L": "a note"})
    assert "<title>a note</title>" in last
    boxed = terms_in_a_row((ncd.Block(CHAIN, "Part", "linear"), CHAIN), "=", wide, box="Part")
    plain = terms_in_a_row((ncd.Block(CHAIN, "Part", "linear"), CHAIN), "=", wide)
    assert len(boxed) < len(plain)
    apart = diagram_module.inert_drawing(
        ncd.Block(CHAIN, "Part", "linear"), wide, "sizes", ("Part",)
    )
    assert len(apart) < len(
        diagram_module.inert_drawing(ncd.Block(CHAIN, "Part", "linear"), wide, "sizes")
    )


def test_callouts_are_a_list_on_a_phone_only() -> None:
    noted = next(one for one in map(scene, ncd.catalogue) if one.draw_options["notes"])
    phone = replace(noted, column_width=selection.WIDTHS[0])
    count = len(noted.entry.callouts(noted.settings))
    assert callouts_html(phone).count("<li>") == count > 0
    assert callouts_html(noted) == callouts_html(replace(phone, show_callouts=False)) == ""
    assert callouts_html(replace(phone, hidden_sizes=HiddenSizes("v1"))) == ""
    assert callouts_html(replace(phone, entry=replace(noted.entry, notes={}))) == ""
    assert note_html("a < b").startswith("a &lt; b")
    assert "<math" in note_html("of $x_{i}$") and "<math" not in note_html("x")


# --- listings and reasons -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "touched", "steps"),
    [
        ("y:2 k:3, x:4 k -> y x", {"k"}, ("inner product",)),
        ("y:2, x:3 -> y x", set(), ("outer product",)),
        ("y:2 k:3 -> k y", {"y", "k"}, ("transpose",)),
        ("y:2 k:3 -> y", {"k"}, ("sum",)),
        ("y:2 h:3, h -> y h", {"h"}, ("outer product", "diagonalise")),
        ("y:2 k:3, k j:4 -> y", {"k", "j"}, ("inner product",)),
        ("y:2 k:3, j:4 -> y", {"k", "j"}, ("sum",)),
    ],
)
def test_what_a_product_does_is_told_and_its_axes_are_coloured(
    pattern: str, touched: set[str], steps: tuple[str, ...]
) -> None:
    of = code_listing.product(ncd.elaborate(ncd.Einsum(pattern)).cells[0])
    assert of is not None
    assert code_listing.affected_axes(of) == touched
    assert code_listing.steps(of) == steps


def test_each_line_has_its_ops_and_the_colour_of_its_block() -> None:
    here = own(
        ncd.Block(ncd.Einsum("y:2 k:3 -> k y"), "Part", "softmax") >> ncd.Elementwise("relu")
    )
    first, last = here.circuit.cells
    html = code_listing._listing(here.term, here.circuit, False, told=True)
    lines = [own for own in tags(html, "div") if own.get("class") == "line"]
    assert [line["data-select"] for line in lines][:1] == [first.id]
    assert "# Transpose" in text(html)
    assert "... " not in html
    plain = code_listing._listing(here.term, here.circuit, False, told=False)
    assert "# Transpose" not in text(plain)
    assert code_listing._colour(first, here.circuit, False) == role_colour("softmax", False)
    assert code_listing._colour(last, here.circuit, False) == role_colour(last.op.role, False)
    assert code_listing.product(last) is None
    bare = own(ncd.Einsum("y:2 k:3 -> k y"))
    assert code_listing._colour(bare.circuit.cells[0], bare.circuit, False) == role_colour(
        bare.circuit.cells[0].op.role, False
    )


@pytest.mark.parametrize(
    ("term", "says"),
    [
        (ncd.Einsum("y:2 k:3, x:4 k -> y x"), "are summed over k: that is"),
        (ncd.Einsum("y:2 k:3 j:2, x:4 k j -> y x"), "are summed over k and j: that is"),
        (ncd.Einsum("y:2, x:3 -> y x"), OUTER_PRODUCT_TEXT),
        (ncd.Einsum("y:2 k:3 -> k y"), PERMUTATION_TEXT),
        (ncd.Id("m:3") >> ncd.Elementwise("tanh"), ELEMENTWISE["tanh"]),
        (ncd.Id("m:3") >> ncd.Elementwise("exp"), BY_OP["Elementwise"]),
        (ncd.Map("m:3 -> m", "$1 * 2"), BY_OP["Map"]),
        (ncd.Softmax("m:3"), "Scores become positive weights"),
    ],
)
def test_an_op_says_what_it_is_for(term: ncd.Term, says: str) -> None:
    assert says in op_purpose(ncd.elaborate(term).cells[0])
