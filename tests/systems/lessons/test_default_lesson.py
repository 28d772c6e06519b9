"""The lessons that are made from a term say what is true of it, and light what they speak of."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import parse_qsl

import pytest

import ncd
from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import Cost
from ncd.systems.catalogue_entry import Entry
from ncd.systems.lessons.computed_questions import question
from ncd.systems.lessons.lesson import LessonStep, default_lesson, lesson_of, written_lessons

NUMBER = re.compile(r"\d[\d,]*")
ENTRIES = list(ncd.catalogue.values())


def split(entry: Entry, view: LessonStep) -> tuple[dict[str, int], dict[str, str]]:
    """The settings of a view, and the rest of its query."""
    query = dict(parse_qsl(view.query))
    names = {knob.name for knob in entry.knobs}
    settings = entry.settings({name: int(query.pop(name)) for name in names & set(query)})
    return settings, query


def numbers(text: str) -> list[int]:
    return [int(n.replace(",", "")) for n in NUMBER.findall(text)]


def lit(circuit: Circuit, id: str) -> list[str]:
    """The ops that a selection lights: one, or those of a block."""
    return [cell.id for cell in circuit.cells if id == cell.id or id in cell.fences]


def total(cost: Cost, label: str, what: str) -> int:
    return sum(getattr(op, what) for op in cost.ops if op.label == label)


def test_after_a_question_about_a_preset_its_answer_is_lit() -> None:
    """In the written lessons, whose views have the sizes of the page."""
    count = 0
    for name, written in written_lessons().items():
        for asks, shows in pairwise(written.views):
            settings, query = split(ncd.catalogue[name], asks)
            if not re.match(r"most:\w+:", query.get("ask", "")):
                continue
            found = question(ncd.catalogue[name], settings, query["ask"])
            assert found is not None
            circuit = ncd.elaborate(ncd.catalogue[name].build(**settings))
            ids = lit(circuit, split(ncd.catalogue[name], shows)[1]["select"])
            names = {cell.op.display_name for cell in circuit.cells if cell.id in ids}
            assert found.answer in names, (name, found.answer)
            count += 1
    assert count


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_after_the_question_what_has_most_that_op_is_lit(entry: Entry) -> None:
    """In every lesson, written or not; of several ops of one name it is the one with the most."""
    for asks, shows in (*pairwise(default_lesson(entry)), *pairwise(lesson_of(entry).views)):
        settings, query = split(entry, asks)
        what = query.get("ask", "").removeprefix("most:")
        if what not in ("parameters", "flops"):
            continue
        found = question(entry, settings, query["ask"])
        assert found is not None
        then, query = split(entry, shows)
        assert then == settings
        circuit = ncd.elaborate(entry.build(**settings))
        cost = ncd.cost(entry.build(**settings))
        label = found.answers[found.answer_index]
        ids = lit(circuit, query["select"])
        counts = {op.node: getattr(op, what) for op in cost.ops if op.label == label}
        assert max(counts[id] for id in ids if id in counts) == max(counts.values())
        if shows.says == found.explanation:
            assert len(ids) == 1
            most, whole, share = numbers(shows.says.partition(f"{label} has ")[2])[:3]
            assert most == sum(counts.values()) == total(cost, str(label), what)
            assert whole == sum(getattr(op, what) for op in cost.ops)
            assert share == round(100 * most / whole)
            busy = [n for n in counts.values() if n]
            if len(busy) > 1:
                assert f", in {len(busy):,} places, {max(busy):,} in " in shows.says


PUBLISHED = {"gpt-2": "gpt-2-small", "deepseek": "deepseek-v2-lite", "vae": "mnist-2"}


@pytest.mark.parametrize(("name", "preset"), PUBLISHED.items())
def test_a_question_that_small_sizes_answer_otherwise_is_asked_at_published_ones(
    name: str, preset: str
) -> None:
    entry = ncd.catalogue[name]
    asks = next(view for view in default_lesson(entry) if "ask=most:" in view.query)
    settings, query = split(entry, asks)
    assert settings == entry.settings(entry.preset(preset).knobs)
    found, small = (question(entry, at, query["ask"]) for at in (settings, entry.settings({})))
    assert found and small
    assert found.answers[found.answer_index] != small.answers[small.answer_index]


def test_gpt_2_has_most_in_its_table_of_words() -> None:
    lines = [view.says for view in default_lesson(ncd.catalogue["gpt-2"])]
    why = "Param wte has 38,597,376 of 124,439,808, 31%; Linear c_fc 28,348,416."
    assert why in lines


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_sentences_are_sentences(entry: Entry) -> None:
    for view in (*default_lesson(entry), *lesson_of(entry).views):
        settings, query = split(entry, view)
        found = question(entry, settings, query["ask"]) if "ask" in query else None
        words = [found.text, found.explanation, *map(str, found.answers)] if found else []
        for text in (view.says, *words):
            assert not re.search(r"\$|takes nothing|\d times\)|over just as|^1 of .* have ", text)
            assert "no product" not in text


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_cost_of_a_system_is_told_as_it_is(entry: Entry) -> None:
    line = default_lesson(entry)[-1].says
    cost = ncd.cost(entry.build())
    if "in one pass" in line:
        assert numbers(line) == [n for n in (cost.parameters, cost.flops) if n]
    elif "the work counts as 0" in line:
        assert cost.flops == 0
        assert numbers(line) == [*([cost.parameters] if cost.parameters else []), 0]
