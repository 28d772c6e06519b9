"""A file follows its sizes: filled in for other sizes, it reads as the file of those sizes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from math import prod
from random import Random
from typing import Any

import pytest

import ncd
from ncd.circuit.sized_system import ParametricTerm, parametric_term
from ncd.errors import NCDError
from ncd.language.terms import Term
from ncd.site import markup
from ncd.site.entry_page import of_entry
from ncd.site.live_texts import NOTHING, SizeDependentTexts, texts
from ncd.site.op_cards import Cards
from ncd.site.page_tables import step_table
from ncd.site.quiz_facts import axis_facts, without_size_labels

LETTER = re.compile("[\ue000-\uf8fe]")
TESTS = {"<": lambda n: n < 0, "<=": lambda n: n <= 0, "=": lambda n: n == 0}


class Told(SizeDependentTexts):
    """The parts of a page, with the HTML of each."""

    def __init__(self, system: ParametricTerm, term: Term) -> None:
        super().__init__(system, ncd.elaborate(term))
        self.html: dict[str, str] = {}
        drawing = ncd.draw(term)
        cards = Cards.from_drawings(self, [drawing], [])
        list(cards.html([drawing]))
        self.part(
            "steps",
            step_table(cards.current_content),
            lambda: step_table(cards.traced_content),
            cards.traced_content.facts,
        )

    def part(
        self,
        name: str,
        plain: str,
        own: Callable[[], str],
        facts: Any = NOTHING,
    ) -> str:
        self.html[name] = plain
        return super().part(name, plain, own, facts)


def reader(
    found: Mapping[str, Any], sizes: Mapping[str, int]
) -> tuple[Callable[[str], str], Callable[[list[Any]], bool]]:
    """What the script of a page does: writes a text at these sizes, and tests conditions."""

    def total(i: int) -> int:
        return sum(n * prod(map(atom, product)) for n, *product in found["sums"][i])

    def atom(i: int) -> int:
        said = found["atoms"][i]
        if isinstance(said, str):
            return sizes[said]
        a, b = map(total, said[1:])
        return a // b if said[0] == "//" else a % b

    def written(match: re.Match[str]) -> str:
        i, how = found["letters"][ord(match[0]) - 0xE000]
        if how[:1] == "^":
            return f"{total(i) ** float(how[1:]):.4g}"
        return markup.amount(total(i), how[1:]) if how[:1] == "~" else format(total(i), how)

    def holds(facts: list[Any]) -> bool:
        same = all(sizes[name] == value for name, value in found["fixed"].items())
        try:
            return same and all(TESTS[sign](total(i)) is true for i, sign, true in facts)
        except ZeroDivisionError:
            return False

    return lambda text: LETTER.sub(written, text), holds


def elsewhere(entry: ncd.Entry, random: Random) -> dict[str, int]:
    """Other values of the sizes of a system, within their sliders."""
    settings = entry.settings({})
    for knob in entry.knobs:
        if knob.is_size and not knob.below:
            near = range(knob.min, min(knob.max, 3 * knob.default + knob.step) + 1, knob.step)
            settings[knob.name] = knob.legal(random.choice(near))
    return entry.with_clamped_indexes(settings)


def drawn_numbers(circuit: ncd.Circuit) -> dict[str, list[str]]:
    """The numbers in titles of blocks, in marks of ops and in labels of axes."""
    said = {fence.id: fence.title for fence in circuit.fences}
    said |= {cell.id: " ".join(mark.text for mark in cell.glyph.marks) for cell in circuit.cells}
    for value in circuit.values.values():
        said |= {f"{value.id}/{axis.name}": axis.label for axis in value.array}
    return {id: re.findall("[0-9]+", text) for id, text in said.items()}


@pytest.mark.few(12)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_a_page_filled_in_reads_as_the_page_of_those_sizes(name: str) -> None:
    entry = ncd.catalogue[name]
    here = Told(of_entry(entry, {}), entry.build())
    found = json.loads(json.dumps(here.data()))
    random = Random(name)
    for _ in range(2):
        settings = elsewhere(entry, random)
        fill, holds = reader(found, settings)
        if not holds(found["holds"]):
            continue
        there = Told(of_entry(entry, settings), entry.build(**settings))
        for part, changes in found["parts"].items():
            conditions = found["conditions"][found["part_holds"][part]]
            if changes is None or not holds(conditions):
                continue
            every = texts(there.html[part])
            assert {i: fill(text) for i, text in changes} == {i: every[i] for i, _ in changes}
        same = [part for part in here.html if part not in found["parts"]]
        assert {part: here.html[part] for part in same} == {p: there.html[p] for p in same}
        axes = {id: [found["axes"][i] for i in own["axes"]] for id, own in found["arrays"].items()}
        said = {id: [tuple(map(fill, axis)) for axis in own] for id, own in axes.items()}
        values = there.plain.values
        assert said == {
            id: [*map(axis_facts, without_size_labels(values[id].array))] for id in said
        }
        drawn = {id: [fill(new) for _, new in pairs] for id, pairs in found["drawn"].items()}
        assert drawn_numbers(here.plain) | drawn == drawn_numbers(there.plain)


def test_a_stride_of_one_is_not_drawn_and_so_is_another_diagram() -> None:
    entry = ncd.catalogue["vit"]
    found = json.loads(json.dumps(Told(of_entry(entry, {}), entry.build()).data()))
    for s, follows in ((1, False), (2, True)):
        _, holds = reader(found, entry.with_clamped_indexes({**entry.settings({}), "s": s}))
        assert holds(found["holds"]) is follows


def test_a_plain_term_has_the_sizes_that_do_not_follow_from_others() -> None:
    term = ncd.Linear("m:8 -> k:4", "Q") >> ncd.Linear("k -> m2:8", "O")
    system = parametric_term(term, ncd.elaborate(term))
    assert dict(system.settings) == {"m": 8, "k": 4, "m2": 8}
    assert str(ncd.cost(system.build({"m": 8, "k": 5, "m2": 8})).parameters) == "80"


def test_sizes_that_cannot_be_are_refused_in_the_words_of_the_error() -> None:
    entry = ncd.catalogue["subtensors"]
    system = of_entry(entry, {})
    found = json.loads(json.dumps(Told(system, entry.build()).data()))
    said = set()
    for refused in found["refused"]:
        for name in ("a", "b"):
            settings = {**system.settings, name: 1}
            fill, holds = reader(refused, settings)
            if holds(refused["holds"]):
                with pytest.raises(NCDError) as raised:
                    ncd.elaborate(system.build(settings))
                assert fill(refused["text"]) == str(raised.value)
                said.add(name)
    assert said == {"a", "b"}
