"""The choice of the arrays to keep is the cheapest of all that there are, tried one by one."""

from __future__ import annotations

import math
from itertools import chain, combinations
from random import Random
from types import SimpleNamespace

import pytest

from ncd.language.axes import Array
from ncd.language.op import ArrayHandle
from ncd.rewrite.cache_choice import CacheCandidate, CacheChoice, Span, choices, choose, min_cut

CONTEXT = 5
SO_FAR, TWO = Span(-math.inf, 0), Span(-2, 0)


def subsets(items):
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


@pytest.mark.parametrize("seed", range(30))
def test_a_cut_is_the_least_and_of_several_the_nearest_to_the_source(seed: int) -> None:
    random, inner = Random(seed), range(1, 5)
    edges = {
        (a, b): float(random.choice((0, 1, 1, 2, 5)))
        for a in range(6)
        for b in range(6)
        if a != b and random.random() < 0.6
    }
    found = min_cut(edges, 0, 5)
    cuts = {
        near: sum(c for (a, b), c in edges.items() if a in near and b not in near)
        for near in (frozenset({0, *some}) for some in subsets(inner))
    }
    least = [near for near, price in cuts.items() if price == min(cuts.values())]
    assert found == frozenset.intersection(*least)


def test_a_cut_through_what_cannot_be_cut_is_refused() -> None:
    with pytest.raises(ValueError, match="no cut has a finite capacity"):
        min_cut({(0, 1): math.inf, (1, 2): math.inf}, 0, 2)


def test_spans_are_joined_and_counted() -> None:
    assert Span(-3, -1).union(Span(-2, 0)) == Span(-3, 0)
    assert [span.is_everything for span in (SO_FAR, TWO)] == [True, False]
    assert (TWO.size, Span(-1, -1).size) == (3, 1)
    kept = {span: candidate(span).entries(CONTEXT) for span in (None, SO_FAR, TWO, Span(-9, 0))}
    assert kept == {None: 1, SO_FAR: 5, TWO: 2, Span(-9, 0): 5}


def candidate(span: Span | None, numbers: int = 1, work: float = 1, sources=(), **more):
    slot = ArrayHandle(Array())
    fixed = more.pop("must_keep", not sources)
    return CacheCandidate(slot, span, numbers, work, work, tuple(sources), fixed, False)


def drawn(seed: int) -> SimpleNamespace:
    """Arrays, each made of some before it, of which the last ones are wanted."""
    random, every = Random(seed), list[CacheCandidate]()
    for _ in range(6):
        sources = random.sample([each.slot for each in every], min(len(every), random.randrange(3)))
        span = random.choice((None, SO_FAR, TWO))
        every.append(candidate(span, random.randint(1, 9), random.randint(1, 9), sources))
    wanted = [each.slot for each in every if random.random() < 0.4] or [every[-1].slot]
    return SimpleNamespace(
        found={each.slot: each for each in reversed(every)}, wanted=dict.fromkeys(wanted)
    )


def possible(candidates: SimpleNamespace) -> list[CacheChoice]:
    """Every choice with which all that is wanted is kept, or made of what is."""
    result = []
    for kept in map(set, subsets(candidates.found)):
        todo, again = [slot for slot in candidates.wanted if slot not in kept], set[ArrayHandle]()
        while todo:
            slot = todo.pop()
            again.add(slot)
            todo += [s for s in candidates.found[slot].sources if s not in kept | again]
        if not any(candidates.found[slot].must_keep for slot in again):
            result.append(
                CacheChoice(
                    tuple(candidates.found[slot] for slot in kept),
                    tuple(candidates.found[slot] for slot in again),
                )
            )
    return result


def costs(choice: CacheChoice) -> tuple[int, float]:
    return choice.numbers(CONTEXT), choice.work(CONTEXT)


@pytest.mark.parametrize("seed", range(20))
def test_a_choice_costs_least_at_its_price_of_work(seed: int) -> None:
    candidates = drawn(seed)
    every = {costs(choice) for choice in possible(candidates)}
    for rate in (0.1, 0.7, 3.0):
        numbers, work = costs(choose(candidates, rate, CONTEXT))
        assert (numbers, work) in every
        assert numbers + rate * work == pytest.approx(min(n + rate * w for n, w in every))
    assert costs(choose(candidates, math.inf, CONTEXT)) == min(every, key=lambda at: at[::-1])


@pytest.mark.parametrize("seed", range(20))
def test_all_choices_that_are_best_at_some_price_are_found(seed: int) -> None:
    """The corners of the hull of all that there are, from the least work to the fewest numbers."""
    candidates = drawn(seed)
    every = {costs(choice) for choice in possible(candidates)}
    at = min(every, key=lambda one: one[::-1])
    hull = [at]
    while lower := [one for one in every if one[0] < at[0]]:
        x, y = at
        steepest = max((x - n) / (w - y) for n, w in lower)
        at = min(one for one in lower if (x - one[0]) / (one[1] - y) == pytest.approx(steepest))
        hull.append(at)
    assert [costs(choice) for choice in choices(candidates, CONTEXT)] == hull


def test_arrays_that_are_asked_for_are_kept_where_they_suffice() -> None:
    small, large = candidate(SO_FAR, 2), candidate(SO_FAR, 9)
    made = candidate(SO_FAR, 5, 4, [small.slot, large.slot])
    candidates = SimpleNamespace(
        found={each.slot: each for each in (made, small, large)}, wanted={made.slot: SO_FAR}
    )
    assert choose(candidates, 0.1, CONTEXT).arrays == (made,)
    asked = choose(candidates, 0.1, CONTEXT, {small.slot, large.slot})
    assert (set(asked.arrays), asked.repeats) == ({small, large}, (made,))
