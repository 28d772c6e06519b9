"""The quiz: what an answer is worth, what is hidden, and how a round goes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import unescape
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.figure import diagram
from ncd.app.scene.scene import Scene
from ncd.app.state import hide_sizes
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.app.teach import quiz
from ncd.app.teach.quiz import (
    _locked_html,
    _shapes,
    _source,
    is_given,
    locked_panel,
    visible_arrays,
)
from ncd.drawing.pipeline import draw
from ncd.errors import NCDError
from ncd.language.axes import Array, Axis
from ncd.language.op import Site
from ncd.ops import Einsum, Elementwise, Softmax
from ncd.site.quiz_facts import computed_axes
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.page.test_pages import opened
from tests.app.teach.test_grading import graded

Y, X, K, H = Axis("y", 20), Axis("x", 22), Axis("k", 16), Axis("h", 4)
SCORES, ALL = Array((Y, X, H)), (Y, X, K, H)
PICTURE = Array((Axis("d", 6), Axis("u", (28, 28))))
LEVEL = Array((Axis("q_1", 16, label="c_λ"),))
WINDOW = re.compile(  # an op's settings, and the sign that shows them
    r"(, )?(kernel|stride|(output )?padding|dilation) \d+|"
    r"^[^:]*\d[^:]*: (?=.*(\bkernel |Conv|Pool))"
)
TAG = re.compile(r"<[^>]*>")
SEEN = re.compile(r'(?:aria-label|title|data-\w+)="([^"]*)"|<(?:text|title|desc)[^>]*>([^<]*)<')


def words(html: str) -> str:
    return unescape(TAG.sub("", html))


# --- what is given --------------------------------------------------------------------------------


def test_an_array_that_was_computed_is_not_given_behind_a_swap() -> None:
    term = (ncd.Linear("m:3 -> k:2", "L") @ ncd.Id("x:4")) >> ncd.Swap("k", "x")
    circuit = ncd.elaborate(term)
    assert [is_given(circuit, value) for value in circuit.inputs] == [True, True]
    assert not any(is_given(circuit, value) for value in circuit.outputs)


def test_a_size_is_given_where_a_layer_or_a_knob_chooses_it() -> None:
    lenet, attention = ncd.catalogue["lenet"], ncd.catalogue["multi-head-attention"]
    found = computed_axes(ncd.elaborate(lenet.build()), lenet.settings({}))
    assert found == {"u", "u/2", "v", "v/2", "f"}
    assert not computed_axes(ncd.elaborate(attention.build()), attention.settings({}))


# --- what is hidden -------------------------------------------------------------------------------


def scene(entry: Entry, **knobs: int) -> Scene:
    settings = entry.settings(knobs)
    term = entry.build(**settings)
    return Scene(entry, settings, 0, "cpu", InputSpec(), False, "names", "", term)


def told(of: Scene) -> list[str]:
    """All words that are sent of a drawing and beside it, but the numbers that ops have.

    They are sorted, as the parts of a drawing stand from left to right: where an op shows its
    kernel, the digits of it move what is right of it by a fraction of a pixel.
    """
    found = diagram.diagram_message(of, None, "auto")
    texts = [WINDOW.sub("", a or b) for a, b in SEEN.findall(found.svg)]
    letters = [text for text in texts if text and not text.isdecimal()]
    return sorted([*letters, *found.hover.values(), found.chips, found.keys])


def others(entry: Entry) -> Iterator[Scene]:
    """The system at other sizes, for each knob."""
    for knob in entry.knobs:
        if knob.is_size and not (knob.names or knob.switch or knob.below):
            value = knob.nearest(knob.default + knob.step)
            value = value if value != knob.default else knob.nearest(knob.default - knob.step)
            try:
                yield scene(entry, **{knob.name: value})
            except NCDError:  # such as a picture that no longer halves
                continue


def sizes(of: Scene) -> list[object]:
    return [value.array.shape for value in of.circuit.values.values()]


def names(of: Scene) -> list[object]:
    blocks = [(fence.title, fence.id) for fence in of.circuit.fences]
    return [*blocks, *(value.array.names for value in of.circuit.values.values())]


@pytest.mark.few(15)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_nothing_that_is_sent_depends_on_a_size(name: str) -> None:
    first = scene(ncd.catalogue[name])
    last = first.circuit.outputs[0].id
    hidden = replace(first, hidden_sizes=HiddenSizes(last))
    before = told(hidden)
    for other in others(first.entry):
        if names(other) == names(first) and sizes(other) != sizes(first):
            assert told(replace(other, hidden_sizes=HiddenSizes(last))) == before
    texts = hide_sizes.hide_in_drawing(draw(first.term), first.circuit, HiddenSizes(last)).labels
    assert all(re.search("[^\\W\\d]|[?]", text.label.source.text) for text in texts)
    assert not re.search(r'number-literal">[^?]', _source(hidden))


@pytest.mark.few(15)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_every_page_has_a_question_and_its_answer_is_right(name: str) -> None:
    one = scene(ncd.catalogue[name])
    circuit, seen = one.circuit, visible_arrays(one)
    assert seen
    calls, wanted = list[tuple[Any, ...]](), list[bool]()
    for id in seen:
        array, facts = circuit.values[id].array, quiz.facts(one, circuit.values[id])
        for axes, right in ((array, True), (array[1:], not array)):
            text = " ".join(f"{axis.name} {axis.size_text}" for axis in axes) or "()"
            calls.append((text, facts["wanted"], facts["known"], facts))
            wanted.append(right)
    assert [verdict.right for verdict in graded(calls)] == wanted


def test_what_is_asked_for_is_in_no_word() -> None:
    one = scene(ncd.catalogue["multi-head-attention"])
    circuit = one.circuit
    scores = next(cell for cell in circuit.cells if isinstance(cell.op, Einsum)).outputs[0].id
    found = diagram.diagram_message(replace(one, hidden_sizes=HiddenSizes(scores)), None, "auto")
    wire = re.compile(rf'<g class="wire" ([^>]*data-array="{scores}"[^>]*)><title>([^<]*)')
    wires = wire.findall(found.svg)
    assert len(wires) == 3
    assert all("data-axis" not in given for given, _ in wires)
    assert {words for _, words in wires} == {"an axis of the array that is asked for"}
    assert found.hover[scores].split()[-1] == "?"
    assert "y x h" not in words(found.hover[scores])


def test_what_is_known_stands_on_its_wires() -> None:
    one = scene(ncd.catalogue["multi-head-attention"])
    q = next(cell for cell in one.circuit.cells if cell.op.display_name == "Linear Q").outputs[0].id
    hidden, shown = (
        diagram.diagram_message(replace(one, hidden_sizes=HiddenSizes(q, known)), None, "auto")
        for known in (frozenset(), frozenset({q}))
    )
    assert "k 16" not in words(hidden.hover[q])
    assert words(shown.hover[q]) == "q y 20 · k 16 · h 4"
    assert "size 16, of array q" in shown.svg
    assert "size 16" not in hidden.svg


@dataclass(frozen=True, repr=False, eq=False)
class Sized(Elementwise):
    """An op whose words tell a size, or a number that is no size."""

    def description(self, site: Site) -> str:
        return "at most 3.5" if self.function == "relu" else f"of {site.inputs[0].numel} numbers"


@pytest.mark.parametrize(("name", "said"), [("relu", "at most 3.5"), ("tanh", "Elementwise tanh")])
def test_the_words_of_an_op_may_hold_numbers(name: str, said: str) -> None:
    """Those that tell a size are not said in the quiz."""
    term = ncd.Id("m:7") >> Sized(name) >> Elementwise("relu") >> Elementwise("relu")
    entry = Entry("some", "Some", "", (), lambda: term)
    own = Scene(entry, {}, 0, "cpu", InputSpec(), False, "names", "", term)
    last = own.circuit.outputs[0].id
    glyphs = hide_sizes.hide_in_drawing(draw(term), own.circuit, HiddenSizes(last)).glyphs
    assert next(glyph.description for glyph in glyphs) == said


# --- a round --------------------------------------------------------------------------------------


def at(**query: str) -> AppTest:
    return opened("pages/attention/multi_head_attention.py", **query)


def ask(page: AppTest, act: str) -> quiz.Round:
    page.session_state[quiz.ROUND].pending_action = act
    page.run()
    assert not page.exception
    found: quiz.Round = page.session_state[quiz.ROUND]
    return found


def test_a_round_from_the_first_wire_to_the_score() -> None:
    page = at(quiz="1")
    found: quiz.Round = page.session_state[quiz.ROUND]
    first = found.asked_array
    assert page.session_state["select"] == first
    ask(page, "later")
    assert list(found.outcomes.values()) == ["later"]
    second = ask(page, "next").asked_array
    assert second != first
    ask(page, "right")
    ask(page, "next")
    ask(page, "show")
    assert list(found.outcomes.values()) == ["later", "right", "shown"]
    page.slider(key="k").set_value(8).run()
    other = scene(ncd.catalogue["multi-head-attention"], k=8).circuit.values[first]
    assert quiz._key(other) not in found.outcomes
    assert ask(page, "again").asked_array == first


def test_an_op_that_is_chosen_asks_for_what_leaves_it() -> None:
    circuit = ncd.elaborate(ncd.catalogue["multi-head-attention"].build())
    softmax = next(cell for cell in circuit.cells if isinstance(cell.op, Softmax))
    page = at(quiz="1", select=softmax.id)
    assert page.session_state[quiz.ROUND].asked_array == softmax.outputs[0].id


def test_panels_that_tell_sizes_are_closed_meanwhile() -> None:
    assert not locked_panel("Cost").needs_run
    assert "closed" in _locked_html(scene(ncd.catalogue["lenet"]))
    one = scene(ncd.catalogue["lenet"])
    hidden = replace(one, hidden_sizes=HiddenSizes(one.circuit.outputs[0].id))
    assert "400" not in words(_source(hidden))
    assert "?" in words(_shapes(hidden))
