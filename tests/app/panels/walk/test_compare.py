"""A pinned setting beside the page's own: what the link may say, and what is told of both."""

from __future__ import annotations

import re
from base64 import b64decode
from html import unescape
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.panels.walk.compared_diagrams import cost, diagrams, match, shapes
from ncd.app.panels.walk.compared_values import pair
from ncd.app.scene import pin
from ncd.app.scene.pin import Pin
from ncd.app.scene.scene import Scene, build_term
from ncd.site.source_listing import diff_html
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.write.torch_source.source_file import source
from tests.app.page.test_pages import attention, fine, heads, page
from tests.app.panels.images.test_figure_panels import sent

ENTRIES = list(ncd.catalogue.values())
NAMES = [entry.name for entry in ENTRIES]
MHA = ncd.catalogue["multi-head-attention"]
TAG = re.compile(r"<[^>]*>")


def scene(entry: Entry, seed: int = 0, **knobs: int) -> Scene:
    settings = entry.with_clamped_indexes(entry.settings(knobs))
    term, refused = build_term(entry, settings)
    assert term is not None
    return Scene(
        entry,
        settings,
        seed,
        "cpu",
        InputSpec(),
        dark=False,
        labels="names",
        selected_id="",
        term=term,
        build_refusal=refused,
    )


def moved(entry: Entry) -> dict[str, int]:
    """A legal setting in which most knobs are not at their defaults."""
    found = {}
    for knob in entry.knobs:
        other = knob.legal(knob.default + knob.step)
        found[knob.name] = other if other <= knob.max else knob.min
    for names in (found, *({name: value} for name, value in found.items())):
        settings = entry.with_clamped_indexes(entry.settings(names))
        term, refused = build_term(entry, settings)
        if term is not None and refused is None:
            return settings
    raise AssertionError(entry.name)


def compare(**query: str) -> AppTest:
    return attention(panel="Compare", **query)


def html(app: AppTest) -> str:
    return str(sent(app, "compare panel")["html"])


def words(html: str) -> str:
    return " ".join(unescape(TAG.sub(" ", html)).split())


def cells(app: AppTest, title: str) -> np.ndarray:
    """The numbers of a side's map."""
    numbers = sent(app, f"map {title}")["map"]["cells"]
    return np.frombuffer(b64decode(numbers), "<f4")


# --- the link -------------------------------------------------------------------------------------


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_what_is_pinned_is_read_back(entry: Entry) -> None:
    for settings in (entry.settings({}), moved(entry)):
        for seed in (0, 7):
            text = pin.pin_text(entry, Pin(settings, seed))
            assert len(text) <= pin.LONGEST
            assert pin.parse_pin(entry, text) == (Pin(settings, seed), "")


@pytest.mark.parametrize(
    ("asked", "said", "note"),
    [
        ("h=2,k=8", "h=2,k=8", ""),
        ("h=0", "h=1", "h cannot be 0"),
        ("h=1e400,seed=nan", "h=4", "no whole number"),
        ("zz=3,h=2", "h=2", "The pin has zz, which this page does not know."),
        ("<b>", "", "<b>"),
        ("causal=1,seed=5", "causal=true,seed=5", ""),
        ("preset=gpt-2-small", "h=12,k=64,m=768,y=1024,x=1024,causal=true", ""),
        ("h=9999999999999999999999", "h=4", "more than fits"),
        ("h=" + "9" * 200, "h=4", "more than fits"),
    ],
)
def test_a_pin_is_checked_as_sizes_are(asked: str, said: str, note: str) -> None:
    app = compare(pin=asked)
    found = html(app)
    assert app.session_state["pin"] == said
    assert note in words(found) and "<b></b>" not in found
    assert ("Unpin" in found) == bool(said)


def test_a_pin_that_is_too_long_is_not_read() -> None:
    app = compare(pin="h=2," * 2000, compare="<b>")
    fine(app)
    assert "Pin this setting" in html(app)


@pytest.mark.parametrize(
    "asked",
    ["lstm:h=3,seed=2", 'yours~Id("y:5 m:8") >> Linear("m -> k", "W"):m=3'],
)
def test_another_system_may_be_pinned(asked: str) -> None:
    held, note = pin.parse_pin(MHA, asked)
    assert held is not None and held.other_entry is not None and not note
    assert pin.parse_pin(MHA, pin.pin_text(MHA, held)) == (held, "")
    other = pin.pinned_scene(scene(MHA), held)
    assert isinstance(other, Scene) and other.entry == held.other_entry and other.can_run
    assert other.term == held.other_entry.build(**held.settings)
    found = html(compare(pin=asked))
    assert "System" in words(found) and f"Pinned: {held.other_entry.title}" in found
    assert "Swap" not in found and "Unpin" in found
    for view in pin.VIEWS:
        fine(compare(pin=asked, compare=view))


def test_of_two_kinds_of_attention_the_caches_are_compared() -> None:
    """Multi-head attention keeps 2 · 4 · 16 numbers, grouped queries 2 · 2 · 16."""
    told = words(html(page("grouped-queries", panel="Compare", pin="multi-head-attention:h=4")))
    assert "System Multi-head attention → Grouped queries" in told
    assert "Cache of a token, bfloat16 256 B → 128 B −128 × 0.5" in told


@pytest.mark.parametrize("asked", ["zz:h=2", "yours~(:h=2", "yours~z.AA:k=1", ":", "lstm:zz=1"])
def test_a_system_that_is_not_there_pins_nothing(asked: str) -> None:
    app = compare(pin=asked)
    fine(app)
    assert "Unpin" not in html(app) and app.session_state["pin"] == ""


# --- what is told of both -------------------------------------------------------------------------


@pytest.mark.few(15)
@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_system_is_compared_with_itself_at_other_sizes(entry: Entry) -> None:
    one, two = scene(entry, **moved(entry)), scene(entry)
    found = match(one.circuit, two.circuit)
    alone = found.alone
    for side, own, lone in zip((one, two), (0, 1), alone, strict=True):
        told = [row[own] for row in found.rows if row[own]]
        assert told == list(side.circuit.cells)
        assert {cell.id for cell in lone} <= {cell.id for cell in side.circuit.cells}
    assert diagrams(one, two, found).count("<svg") == 2
    rows = len(found.rows)
    assert shapes(one, two, found).count("<tr") == rows + 1
    assert cost(one, two, found).count("<tr") == rows + 3
    assert pair(one, two, found) is not None
    again = match(two.circuit, two.circuit)
    assert again.alone == ((), ()) and not again.axes


def test_the_totals_have_their_difference_and_their_ratio() -> None:
    one, two = scene(MHA, h=2, k=8), scene(MHA)
    before, after = one.cost.parameters, two.cost.parameters
    assert after == 4 * before
    told = words(html(compare(pin="h=2,k=8")))
    assert f"{before:,} → {after:,} +{after - before:,} × 4" in told
    assert "h 2 → 4" in told and "k 8 → 16" in told and "m 128" not in told


def test_wires_of_another_size_and_ops_of_one_side_are_marked() -> None:
    found = html(compare(pin="h=2,causal=true"))
    pinned, now = found.split("<h2>Now</h2>")
    for drawing in (pinned, now):
        marked = set(re.findall(r'data-axis="(\w+)" data-differs', drawing))
        assert marked == {"h"}
    assert pinned.count("data-alone") == 1 and "data-alone" not in now
    assert "Only pinned: CausalMask." in words(now)
    assert 'role="button"' not in re.sub(r"<button[^>]*>", "", found)


def test_wires_of_another_size_are_called_as_in_the_diagram() -> None:
    one, two = (scene(ncd.catalogue["unet"], c=c) for c in (8, 16))
    told = words(diagrams(one, two, match(one.circuit, two.circuit)))
    assert "Wires of another size: c λ , c λ-1 , c 4 , c 5 , c 5-λ , 2c 5-λ and 2 more." in told


def test_an_op_of_the_pinned_diagram_has_the_name_of_its_twin() -> None:
    one, two = scene(MHA, causal=1), scene(MHA)
    found = match(one.circuit, two.circuit)
    pinned, now = diagrams(one, two, found).split("<h2>Now</h2>")
    outputs = [next(c for c in s.circuit.cells if c.name == "O") for s in (one, two)]
    assert outputs[0].id != outputs[1].id
    for drawing in (pinned, now):
        called = "L O: learned linear map O"
        assert re.search(rf'data-node="{outputs[1].id}"[^>]*><title>{called}', drawing)


def test_sizes_that_differ_are_marked_in_the_shapes() -> None:
    found = html(compare(pin="k=8", compare="shapes"))
    row = next(row for row in found.split("<tr") if "Linear Q" in row)
    assert re.findall(r"<mark>(\d+)</mark>", row) == ["8", "16"]
    assert "1,280 +640 × 2" in words(row)


def test_the_source_is_a_diff() -> None:
    found = html(compare(pin="h=2", compare="source"))
    gone = re.findall(r"<del>(.*?)</del>", found)
    new = re.findall(r"<ins>(.*?)</ins>", found)
    assert len(gone) == 1 and "h: int = <b>2</b>" in gone[0]
    assert "h: int = <b>4</b>" in new[0] and len(new) == 1
    alike = words(html(compare(pin="seed=3", compare="source")))
    assert "The source of both is the same" in alike


def test_a_diff_says_what_the_source_says_and_escapes_it() -> None:
    entry = ncd.catalogue["residual-block"]
    texts = [source(entry.build(s=s)).splitlines() for s in (1, 2)]
    found = diff_html(*texts)
    for tag, own in (("del", 0), ("ins", 1)):
        lines = [unescape(TAG.sub("", line)) for line in re.findall(f"<{tag}>(.*?)</{tag}>", found)]
        assert lines and [line for line in texts[own] if line in lines] == lines
        assert not set(lines) & set(texts[1 - own])
    assert "<script" not in diff_html(["<script>1"], ["<script>2"])
    assert diff_html(["a"], ["a"]) == ""


# --- the maps -------------------------------------------------------------------------------------


def test_the_maps_are_those_of_each_setting_in_one_scale() -> None:
    app = compare(pin="seed=3", compare="maps", head="1", input="random arrays")
    both: dict[str, Any] = {side: sent(app, f"map {side}")["map"] for side in ("pinned", "now")}
    for side, seed in (("pinned", 3), ("now", 0)):
        own = scene(MHA, seed)
        softmax = next(c for c in own.circuit.cells if c.op.role == "softmax")
        weights = own.trace.values[softmax.outputs[0].id].numpy()[:, :, 1]
        assert np.allclose(cells(app, side), weights.ravel(), atol=1e-6)
    assert both["pinned"]["high"] == both["now"]["high"]
    assert both["pinned"]["low"] == both["now"]["low"] == 0
    gap = np.abs(cells(app, "pinned") - cells(app, "now")).max()
    told = re.search(r"up to ([\d.]+) apart", words(html(app)))
    assert told and float(told[1]) == pytest.approx(gap, rel=0.01)


def test_a_head_that_one_side_lacks_is_said_to_be_missing() -> None:
    app = compare(pin="h=2", compare="maps", head="3")
    assert sent(app, "map pinned")["map"] is None
    assert "It has no head 3: 2 heads." in words(sent(app, "map pinned")["head"])
    assert sent(app, "map now")["map"]


def test_the_selected_array_is_compared() -> None:
    own = scene(MHA)
    q = next(c for c in own.circuit.cells if c.name == "Q").outputs[0].id
    app = compare(pin="k=8", compare="maps", select=q, input="random arrays")
    value = own.trace.values[q].numpy()
    assert np.allclose(cells(app, "now"), value[:, :, 0].ravel(), atol=1e-6)
    both = [sent(app, f"map {side}")["map"] for side in ("pinned", "now")]
    assert [side["columns"]["count"] for side in both] == [8, 16]
    assert both[0]["high"] == both[1]["high"] == -both[0]["low"]


def test_too_large_to_run_is_still_compared() -> None:
    app = compare(pin="y=100000,x=100000", compare="maps")
    assert "too large to run" in words(html(app))
    app.session_state["compare"] = "cost"
    assert "Linear Q" in html(app.run())


def test_a_pin_that_cannot_be_built_says_why() -> None:
    app = AppTest.from_function(heads, default_timeout=60)
    app.query_params.update({"pin": "d=13", "panel": "Compare"})
    for view in pin.VIEWS:
        app.session_state["compare"] = view
        told = words(html(app.run()))
        assert "The pinned setting does not fit." in told and "13" in told


@pytest.mark.parametrize("name", ["reversal", "unet", "tensors"])
def test_systems_that_read_symbols_pictures_or_nothing_much(name: str) -> None:
    first = ncd.catalogue[name].knobs[0]
    value = first.max if first.min == first.default else first.min
    app = page(name, panel="Compare", pin=f"{first.name}={value},seed=2")
    for view in pin.VIEWS:
        app.session_state["compare"] = view
        told = words(html(app.run()))
        assert f"{first.name} {value} → {first.default}" in told and "seed 2 → 0" in told


def test_a_sentence_goes_into_both() -> None:
    app = compare(pin="h=2", compare="maps", input="sentences", text_y="one two three")
    names = [sent(app, f"map {side}")["map"]["rows"]["names"] for side in ("pinned", "now")]
    assert names == [["one", "two", "three"]] * 2
