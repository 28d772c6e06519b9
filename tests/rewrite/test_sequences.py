"""Random rewrites in a row: each result is typed, runs, and comes back from its texts."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
import torch

import ncd
from ncd import LimitError, Rewrite, Term
from ncd.systems.catalogue_entry import Entry
from tests.support.draws import Seeded
from tests.support.sampling import count
from tests.support.strategies import a_term

TEN, LARGEST, MOST_OPS = 10, 300_000, 150  # rewrites; numbers and ops of a term that goes on
CHANGE_TYPE = ("rename-axis", "resize-axis", "split-axis")


def places(term: Term, kind: str) -> list[str]:
    circuit = ncd.elaborate(term)
    found = {
        "op": [*circuit.cells_by_id],
        "array": [*circuit.values],
        "block": [fence.id for fence in circuit.fences],
        "axis": sorted({f"axis:{axis.name}" for axis in circuit.axes}),
    }
    return found[kind] or found["op"]


def one_of(term: Term, r: random.Random) -> Rewrite | None:
    """A rewrite at some place: first its rule is chosen, so that each is tried."""
    for _ in range(6):
        here = places(term, r.choice(("op", "op", "array", "block", "axis")))
        found = ncd.rewrites(term, r.choice(here)) if here else []
        if found:
            name = r.choice(sorted({one.name for one in found}))
            return r.choice([one for one in found if one.name == name])
    return None


def rewritten(term: Term, r: random.Random) -> Iterator[tuple[Term, Rewrite, Term]]:
    """Yields terms before and after each of ten rewrites."""
    for _ in range(TEN):
        one = one_of(term, r)
        circuit = ncd.elaborate(term)
        numbers = sum(value.array.numel for value in circuit.values.values())
        if one is None or numbers > LARGEST or len(circuit.cells) > MOST_OPS:
            return
        new = ncd.apply(term, one)
        yield term, one, new
        term = new


def assert_sound(term: Term, one: Rewrite, new: Term) -> None:
    assert Rewrite.from_json(one.to_json()) == one
    if one.name not in CHANGE_TYPE:
        assert (new.dom, new.cod) == (term.dom, term.cod)
    assert all(axis.size is not None for axis in ncd.elaborate(new).axes)
    assert ncd.from_json(ncd.to_json(new)) == new


def assert_runs(term: Term) -> None:
    assert ncd.parse(ncd.spell(term)) == term
    ncd.draw(term)
    with suppress(LimitError), torch.no_grad():
        outputs = ncd.compile(term).eval().execute(ncd.example_inputs(term))
        assert [x.shape for x in outputs] == [torch.Size(array.shape) for array in term.cod]


@pytest.mark.parametrize("seed", range(count(25, 2000)))
def test_a_random_term_is_rewritten_ten_times(seed: int) -> None:
    first = last = ncd.elaborate(a_term(Seeded(seed))).term
    text, done = repr(first), []
    for before, one, last in rewritten(first, random.Random(seed)):
        done.append((before, one))
        assert_sound(before, one, last)
    assert_runs(last)
    assert repr(first) == text  # so undoing is to go back to it
    for before, one in done:
        assert ncd.apply(before, one) == ncd.apply(before, Rewrite.from_json(one.to_json()))


@pytest.mark.few(6)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_a_system_is_rewritten_ten_times(entry: Entry) -> None:
    term = ncd.elaborate(entry.build()).term
    last = term
    for before, one, last in rewritten(term, random.Random(entry.name)):
        assert_sound(before, one, last)
    assert_runs(last)
