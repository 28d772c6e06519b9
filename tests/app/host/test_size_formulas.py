"""How the numbers of a page follow from its knobs: what the browser fills in is what the server
writes at those sizes, wherever it says that it holds."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import cycle
from math import prod
from typing import Any

import pytest

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.diagram import axis_chips_html, cost_line
from ncd.app.host import live_endpoint
from ncd.app.host.live_endpoint import formulas_json
from ncd.app.panels.walk.shapes_and_cost import cost_html, shapes_html
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.circuit.knob import Knob
from ncd.language.axes import Axis
from ncd.language.terms import Term, rewrite_axes
from ncd.site import markup, source_listing
from ncd.site.entry_page import of_entry
from ncd.site.live_texts import SizeDependentTexts
from ncd.site.scripts import script
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.write.torch_source.source_file import lines
from tests.support.javascript import after

LETTER = re.compile("[\ue000-\uf8fe]")


def scene(entry: Entry, **knobs: int) -> Scene:
    """A page's scene at some knobs, its others at their defaults."""
    settings = entry.with_clamped_indexes(entry.settings(knobs))
    term = entry.build(**settings)
    return Scene(entry, settings, 0, "cpu", InputSpec(), False, "both", "", term)


def filled(
    found: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[Callable[[str], str], Callable[[tuple[int, str, bool]], bool]]:
    """What the browser does: how it writes a text at these sizes, and whether something holds."""

    def total(i: int) -> int:
        return sum(n * prod(map(atom, product)) for n, *product in found["sums"][i])

    def atom(i: int) -> int:
        said = found["atoms"][i]
        if isinstance(said, str):
            return sizes[said]
        sign, a, b = said
        return total(a) // total(b) if sign == "//" else total(a) % total(b)

    def written(letter: str) -> str:
        i, how = found["letters"][ord(letter) - 0xE000]
        if how[:1] == "^":
            return f"{total(i) ** float(how[1:]):.4g}"
        return markup.amount(total(i), how[1:]) if how[:1] == "~" else format(total(i), how)

    tests = {"<": lambda n: n < 0, "<=": lambda n: n <= 0, "=": lambda n: n == 0}
    same = all(sizes[name] == value for name, value in found["fixed"].items())

    def holds(fact: tuple[int, str, bool]) -> bool:
        i, sign, true = fact
        return same and tests[sign](total(i)) is true

    return lambda text: LETTER.sub(lambda letter: written(letter[0]), text), holds


def texts(scene: Scene, panel: str) -> list[str]:
    """What stands in a panel, text by text."""
    if panel == "source":
        html = source_listing.listing_html(lines(scene.term), scene.circuit, scene.dark)
    else:
        html = shapes_html(scene) if panel == "shapes" else cost_html(scene, None)
    return live_endpoint.texts(html)


def other(knob: Knob) -> int:
    """Another value of a knob, near to its default."""
    steps = (2, 1, -1)
    return next(n for i in steps if knob.min <= (n := knob.default + i * knob.step) <= knob.max)


def check(found: Mapping[str, Any], here: Scene, there: Scene, panel: str) -> bool:
    """Whether it holds there; all that it says must be what the page says."""
    fill, holds = filled(found, there.settings)
    if not all(map(holds, found["holds"])):
        return False
    slots = {"chips": live_endpoint.texts(axis_chips_html(there.circuit))}
    every, whole = texts(there, panel), all(map(holds, found["also"]))
    if whole and len(every) == len(texts(here, panel)):  # else lines of source break elsewhere
        slots["panel"] = every
    for slot, own in slots.items():
        assert [fill(text) for _, text in found[slot]] == [own[i] for i, _ in found[slot]]
    assert {id: fill(text) for id, text in found["told"].items()} == diagram.tooltips(there.circuit)
    assert fill(found["cost"]) == cost_line(there, None)
    return True


def plain(term: Term) -> Term:
    """A term without its sizes: a knob that changes this makes another diagram.

    How many dimensions a group has is no size, and stands in place of the label.
    """
    return rewrite_axes(term, lambda axis: replace(axis, size=None, label=_rank(axis)))


def _rank(axis: Axis) -> str:
    return str(len(axis.size)) if isinstance(axis.size, tuple) else ""


@pytest.mark.few(12)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_what_follows_is_what_the_page_says(name: str) -> None:
    entry = ncd.catalogue[name]
    here, panels = scene(entry), cycle(live_endpoint.PANELS)
    knobs = [knob for knob in entry.knobs if knob.min < knob.max]
    for knob, panel in zip(knobs, panels, strict=False):
        found = live_endpoint.page_formulas(here, panel)
        assert found and found["chips"] and check(found, here, here, panel)
        there = scene(entry, **{knob.name: other(knob)})
        held = check(found, here, there, panel)
        follows = knob.is_size and not knob.below and plain(here.term) == plain(there.term)
        assert held or not follows, knob.name


def test_the_browser_is_told_what_a_knob_can_be() -> None:
    found = formulas_json("residual-block", "n1=64&scrub=")
    assert found and found["grips"]["n_b"] == ["n1"]  # a quarter of it
    knob = found["knobs"]["n1"]
    assert (knob["min"], knob["max"], knob["step"], knob["least"]) == (4, 256, 4, 4)
    assert (knob["most"], knob["multiple"], knob["limits"]) == (
        10**9,
        4,
        "a multiple of 4, 4 or more",
    )
    assert "n0" in found["knobs"]


@pytest.mark.parametrize("host", ["app", "page"])
def test_a_size_that_is_typed_on_a_wire_is_taken_alike_by_all_hosts(host: str) -> None:
    entry = ncd.catalogue["residual-block"]
    system = of_entry(entry, {})
    live = SizeDependentTexts(system, ncd.elaborate(entry.build())).data()
    live["knobs"] = {size["name"]: size for size in live["sizes"]}
    own = formulas_json("residual-block", "n1=64&scrub=") if host == "app" else live
    assert own and own["grips"]["n_b"] == ["n1"]
    taken = after(
        script("site/static/figure/scrub.js"),
        f"""
        const [formulas, taken] = [{json.dumps(own)}, []];
        const sizes = new Map(Object.entries({json.dumps(dict(system.settings))}));
        const set = (...size) => taken.push(size);
        const hand = {{ formulas: () => formulas, sizes: () => sizes, set, box: thing() }};
        const knob = formulas.knobs.n1;
        for (const [axis, size] of [["n_b", 32], ["n_b", 9], ["n1", 62]])
          takeSize(hand, {{ axis, name: "n1", knob }}, size);
        return taken;
        """,
    )
    assert taken == [["n1", 128], ["n1", 36], ["n1", 64, 62]]  # n_b is a quarter; 62 becomes legal


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("nothing", "h=1&scrub="),
        ("multi-head-attention", "h=1&scrub=values"),
        ("multi-head-attention", "scrub=" + "c" * 3000),
        ("unet", "x=20&scrub="),  # an image that does not halve so often
    ],
)
def test_nothing_is_told_of_what_is_no_page(page: str, query: str) -> None:
    assert formulas_json(page, query) is None


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ({"n1": 71}, 72),
        ({"n1": -5}, 4),
        ({"n1": 10**30}, 64),
        ({"n1": float("inf")}, 64),
        ({"n1": "96"}, 64),
        ({"nothing": 3}, 64),
        ({"function": 1}, 64),
        ([("n1", 8)], 64),
        (None, 64),
    ],
)
def test_a_size_that_the_diagram_asks_for_is_one_that_can_be(
    said: object, value: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    state: dict[str, Any] = {"n1": 64}
    monkeypatch.setattr(knobs.st, "session_state", state)
    knobs.apply_dragged_sizes(ncd.catalogue["residual-block"], said)
    assert state["n1"] == value
    assert set(state) <= {"n1", knobs.NOTES, knobs.UNSEEN}
