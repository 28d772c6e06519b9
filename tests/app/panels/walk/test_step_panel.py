"""The walk through the diagram: every op is a stop of it, with the numbers that were made there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.figure.op_card import op_purpose
from ncd.app.panels.walk import step
from ncd.app.parts import array_summary
from ncd.app.scene.scene import Scene
from ncd.language.axes import Array, Axis
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.forward_steps import drawn_ids, stops
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.page.test_pages import ENTRIES, fine, language, language_term, page
from tests.app.panels.images.test_figure_panels import sent

IDS = re.compile(r'data-(?:node|array)="([^"]*)"')
MOST = 300_000  # bytes that are sent of a walk at once


def scene(entry: Entry) -> Scene:
    settings = entry.settings({})
    return Scene(
        entry, settings, 0, "cpu", InputSpec(), False, "names", "", entry.build(**settings)
    )


def walk(name: str, place: str, **query: str) -> dict[str, Any]:
    return sent(page(name, panel="Step", step=place, **query), "stepping")


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_op_is_a_stop_and_every_stop_is_lit(entry: Entry) -> None:
    seen = scene(entry)
    every = stops(seen.circuit)
    circuit, svg = seen.circuit, ncd.draw(seen.term, **seen.draw_options).svg(fonts=False)
    drawn = set(" ".join(IDS.findall(svg)).split())
    units = [stop.unit.id for stop in every if stop.unit]
    scans = {fence.id for fence in circuit.fences} & set(units)  # each is one stop
    assert len(units) == len(set(units))
    assert set(units) - scans <= {cell.id for cell in circuit.cells}
    skipped = {c.id for c in circuit.cells if not scans & set(c.fences)} - set(units)
    shown = {id for stop in every for id in stop.ids}
    first = drawn_ids(circuit)
    assert {first.get(id, id) for id in skipped} <= shown  # they belong to other stops
    assert {value.id for value in circuit.outputs} <= shown
    for stop in every:
        assert drawn & set(stop.ids) or not stop.arrays, stop.ids


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_op_has_a_sentence_on_what_it_is_for(entry: Entry) -> None:
    for cell in scene(entry).circuit.cells:
        assert re.fullmatch(r"[A-Z].*[.]", op_purpose(cell)), cell.op.display_name


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_what_is_sent_at_once_is_bounded(entry: Entry) -> None:
    seen = scene(entry)
    count = len(stops(seen.circuit))
    html: list[str] = []
    while len(html) < count:
        found = step._forward(seen, len(html) + 1)
        assert len(json.dumps(found)) < MOST
        assert found["first"] == len(html)
        html += found["html"]
    assert len(html) == count


def test_a_stop_tells_the_numbers_that_torch_has() -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    run = ncd.trace(ncd.compile(term), *ncd.example_inputs(term))
    found = walk("multi-head-attention", "6", input="random arrays")
    told = found["html"][5 - found["first"]]
    assert found["stops"][5] == ["n4", "v7"] and found["at"] == 6
    assert found["stops"][0] == ["v0", "v1"]  # all that goes in
    assert "summed over k: that is how much two vectors agree" in told
    numbers = " ".join(markup.digits(n) for n in run.values["v7"].flatten()[:5].tolist())
    assert f"begins</span> {numbers} …" in told
    assert ">y</i> 20 · " in told and ">h</i> 4</figcaption>" in told
    assert told.count("<img") == 3 * 4  # a head each, of both inputs and of what is made
    assert "einsum(q, k" in markup.text(re.sub("<[^>]*>", "", told)).replace("&#39;", "'")


def test_the_walk_back_is_that_of_the_autograd_panel() -> None:
    found = walk("autograd", "back5")
    other = sent(page("autograd", panel="Autograd", back="5"), "graph")["pass"]
    told = found["html"][4]
    assert "∇a = G bᵀ and ∇b = aᵀ G" in told and told in other
    assert found["back"] == "back" and len(found["stops"]) == 8


@pytest.mark.parametrize("name", ["subtensors", "scaled-dot-product-attention", "unet"])
def test_every_stop_of_the_way_back_is_lit(name: str) -> None:
    seen = scene(ncd.catalogue[name])
    drawn = set(
        " ".join(IDS.findall(ncd.draw(seen.term, **seen.draw_options).svg(fonts=False))).split()
    )
    found = walk(name, "back1")
    assert found["stops"] and all(drawn & set(ids) for ids in found["stops"])


@pytest.mark.parametrize(
    "place", ["-1", "zzz", "<script>", "0", "back", "back0", "back99999", "9" * 90]
)
def test_a_link_may_ask_for_any_stop(place: str) -> None:
    found = walk("autograd", place)
    html = "".join(found["html"])
    assert "<h2>" in html and "<script" not in html + str(found["ways"])
    assert found["at"] >= 1 and len(found["html"]) <= step.SENT


def test_a_stop_far_on_brings_those_around_it() -> None:
    found = walk("encoder-decoder", "43")
    assert found["first"] == 36 and len(found["html"]) == step.SENT
    assert "decoder.layers.0.self_attn" in found["html"][6]


def test_beside_a_knob_of_the_same_name() -> None:
    app = page("linear-algebra", panel="Step", step="3", stop="2")
    assert app.session_state["step"] == 3
    assert sent(app, "stepping")["at"] == 2


def test_a_scan_ends_with_its_arrays_and_has_no_way_back() -> None:
    app = AppTest.from_function(language, default_timeout=60).run()
    app.session_state["panel"] = "Step"
    told = sent(app.run(), "stepping")
    every = list(told["html"])
    while len(every) < len(told["stops"]):
        app.session_state["step"] = str(len(every) + 1)
        every += sent(app.run(), "stepping")["html"]
    assert "at every position of the scan" in "".join(every)
    (end,) = (i for i, html in enumerate(every) if "The end of the scan" in html)
    (loop,) = (x for x in ncd.elaborate(language_term()).loops if x.kind == "scan")
    assert {value.id for value in loop.outputs} <= set(told["stops"][end])
    app.session_state["step"] = "back1"
    assert "made anew" in sent(app.run(), "stepping")["html"][0]


def test_with_nothing_to_learn_it_says_so() -> None:
    found = walk("autograd", "back1", frozen="v0,v1,w")
    assert "does not require grad" in found["html"][0]


def test_what_is_too_large_to_run_has_no_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_FLOPS", "10")
    app = page("multi-head-attention", panel="Step", step="3")
    fine(app)
    views = [e.proto.id for e in app.get("bidi_component")]
    assert not any(id.endswith("-stepping") for id in views)
    assert any("FLOP" in text.value for text in app.text)


# --- an array at a glance -------------------------------------------------------------------------


def array(*sizes: int) -> Array:
    return Array(tuple(Axis(name, size) for name, size in zip("abcd", sizes, strict=False)))


def test_few_numbers_are_written_out() -> None:
    told = array_summary.html(array(2, 3), torch.tensor([[1.5, -2, 0], [3, 4, -torch.inf]]))
    cells = re.findall("<td class=number>([^<]*)</td>", told)
    assert cells == ["1.5", "−2", "0", "3", "4", "masked"] and "<img" not in told
    assert "<td class=number>2.5</td>" in array_summary.html(array(), torch.tensor(2.5))


def test_a_picture_says_what_its_colours_mean() -> None:
    grid = torch.arange(-50, 50.0).reshape(10, 10)
    told = array_summary.html(array(10, 10), grid)
    assert "From −50, blue, to 50, red" in told and "−50 −49 −48 −47 −46 …" in told
    grid[0] = -torch.inf
    assert "clear where masked" in array_summary.html(array(10, 10), grid)


def test_more_axes_are_more_pictures_and_it_says_how_many_are_missing() -> None:
    told = array_summary.html(array(10, 9, 20, 2), torch.rand(10, 9, 20, 2))
    assert told.count("<img") == array_summary.MANY
    assert "12 more not shown" in told and "= 0" in told
    large = array_summary.html(array(1024, 1024, 3), torch.rand(1024, 1024, 3))
    assert large.count("<img") == 1 and "shown as means of 32 × 32" in large


def test_terms_may_have_no_inputs() -> None:
    term: Term = ncd.Param("a:2 b:3", "w")
    entry = Entry("w", "W", "Nowhere", (), lambda: term)
    first, *_ = stops(scene(entry).circuit)
    assert first.unit is not None and [v.array.shape for v in first.arrays] == [(2, 3)]


@pytest.mark.parametrize("spare", [0, -1])
def test_a_few_steps_are_sent_at_once_where_they_are_large(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    html, ids = [f"step {n:02}" for n in range(12, 22)], [("n0",)] * 22
    monkeypatch.setattr(step, "LIGHT", sum(map(len, html)) + spare)
    for at, few in ((13, range(4)), (16, range(4)), (17, range(4, 8)), (22, range(8, 10))):
        found = step._step_group(ids, at, range(12, 22), html)
        sent = range(10) if spare == 0 else few
        assert found == {"stops": ids, "first": 12 + sent[0], "html": [html[n] for n in sent]}
    assert [step._run(at, 22) for at in (1, 12, 13, 22, 99)] == [
        *[range(12)] * 2,
        *[range(12, 22)] * 3,
    ]
