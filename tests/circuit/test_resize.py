"""Other sizes for a sketch that has been placed before give what placing it anew gives."""

from __future__ import annotations

import pickle
from itertools import permutations

import pytest

from ncd import (
    Add,
    Axes,
    Block,
    Circuit,
    Conv,
    Copy,
    Elementwise,
    Group,
    GroupNorm,
    Id,
    Linear,
    MismatchError,
    Pad,
    Rename,
    Repeat,
    Scan,
    Softmax,
    Split,
    seq,
    space,
)
from ncd import catalogue as CATALOGUE
from ncd.circuit.elaborate import elaborate
from ncd.circuit.resize import circuit_of, clear_caches
from ncd.errors import NCDError
from ncd.language.fields import MAX_CACHE_ENTRIES
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry
from tests.support.draws import Seeded
from tests.support.sampling import sample
from tests.support.size_pairs import outcome, resized_pair

# Random terms whose own sizes contradict those that follow, or whose numbers or kinds do.
CONTRADICT = (326, 750, 2132, 3083, 4277, 4420, 5331, 8294, 10442, 29872)


def test_random_terms_of_other_sizes_are_as_if_they_were_solved() -> None:
    for seed in (*range(150), *CONTRADICT):
        sketch, first, second = resized_pair(Seeded(seed))
        for i, (name, mark) in enumerate(second.items()):
            if (i + seed) % 3 == 0 and isinstance(mark.size, int):
                second[name] = seq(mark.size)
        clear_caches()
        assert outcome(sketch, second) == outcome(sketch, second, solved=True), seed
        outcome(sketch, first)
        assert outcome(sketch, second) == outcome(sketch, second, solved=True), seed


def fits(entry: Entry, knobs: dict[str, int]) -> bool:
    """Whether it can be built: an image may be too small for the levels of a network."""
    try:
        entry.build(**knobs)
    except NCDError:
        return False
    return True


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", CATALOGUE.values(), ids=lambda entry: entry.name)
def test_every_entry_is_the_same_whatever_was_built_before(entry: Entry) -> None:
    begin = entry.settings({})
    ends = [begin, *({**begin, knob.name: knob.bounds[0]} for knob in entry.knobs)]
    ends = [knobs for knobs in map(entry.with_clamped_indexes, ends) if fits(entry, knobs)]
    for one, other in sample(permutations(ends, 2), 2, entry.name):
        clear_caches()
        alone = elaborate(entry.build(**other))
        clear_caches()
        entry.build(**one)
        assert elaborate(entry.build(**other)) == alone, (one, other)


def test_no_move_on_a_page_solves_for_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    clear_caches()
    monkeypatch.setattr(Axes, "_sized_circuit", unsolved)
    for entry in CATALOGUE.values():
        entry.build()


LOCAL = Block(Linear("m -> k", "Q") >> Softmax("k"), "Local", local=True)
SIZES = {"t": seq(3), "m": 4, "k": 5, "b": 2}


def unsolved(*_: object) -> Circuit:
    raise AssertionError("it was solved from the start")


@pytest.mark.parametrize(
    "sketch",
    (
        Id("t m") >> Block(Id("y f") >> Linear("f -> k", "Q"), "Part", local=True),
        Id("t m") >> Repeat((LOCAL >> Linear("k -> m", "O"),) * 2),
        Id("t m") >> Block(Id("y z") >> LOCAL, "Outer", local=True),
        Id("m, t m") >> Scan(Id("m, m") >> Add() >> Copy("m"), "t"),
        Id("t m") >> Pad("t -> u", 2, 0) >> Softmax("u"),
        Id("t m") >> Split("m -> a b") >> Softmax("a") >> Group("a b -> m"),
    ),
    ids=("local", "repeated", "nested", "scan", "wider", "split"),
)
def test_local_names_scans_and_sizes_that_follow_need_no_solving(sketch: Term) -> None:
    for t in (3, 7):
        sizes = {**SIZES, "t": seq(t)}
        found = circuit_of(sketch, sizes, unsolved)
        assert found == Axes(**sizes)._sized_circuit(sketch)
        assert [cell.description for cell in found.cells] == [
            cell.description for cell in Axes(**sizes)._sized_circuit(sketch).cells
        ]


def test_what_its_term_says_of_itself_has_the_new_sizes() -> None:
    sketch = Id("y m") >> Linear("m -> k", "Q") >> Elementwise("relu")
    Axes(y=seq(3), m=4, k=5)(sketch)
    term = Axes(y=seq(30), m=40, k=50)(sketch)
    assert (term.dom.spec, term.cod.spec) == ("~y:30 m:40", "~y:30 k:50")
    assert repr(term) == "Id('~y:30 m:40') >> Linear('m:40 -> k:50', 'Q') >> Elementwise('relu')"
    assert elaborate(term).term is term
    assert (term.depth, term.count, term.nodes) == (2, 2, 4)
    assert pickle.loads(pickle.dumps(term)) == term


def test_the_same_sizes_give_the_same_term() -> None:
    sketch = Linear("m -> k")
    assert Axes(m=4, k=5)(sketch) is Axes(m=4, k=5)(sketch)


def test_sizes_that_do_not_fit_are_refused_in_the_same_words() -> None:
    sketch = Group("a b -> c") >> Id("c")
    assert Axes(a=2, b=3, c=6)(sketch).cod.spec == "c:6"
    for sizes in ({"a": 2, "b": 3, "c": 7}, {"a": 2, "b": 3, "c": 0}, {"a": 2, "b": True, "c": 2}):
        said = told(sketch, sizes)
        clear_caches()
        assert told(sketch, sizes) == said


def test_an_op_checks_other_sizes_as_it_checks_the_first() -> None:
    sketch = Id("c x") >> GroupNorm("c x", "norm", 4)
    for c in (8, 4, 6, 12, 5):
        sizes = {"c": c, "x": 3}
        found = outcome(sketch, sizes)
        assert found == outcome(sketch, sizes, solved=True)
        assert isinstance(found, str) == bool(c % 4)


def told(sketch: Term, sizes: dict[str, int]) -> str:
    with pytest.raises(NCDError) as caught:
        Axes(**sizes)(sketch)
    return str(caught.value)


def test_a_group_of_more_dimensions_is_another_kind_of_axis() -> None:
    sketch = Conv("c x -> d x", "conv", 3)
    Axes(c=2, d=2, x=8)(sketch)
    assert Axes(c=2, d=2, x=space(8, 8))(sketch).dom.spec == "c:2 x:8x8"
    assert Axes(c=2, d=2, x=8)(sketch).dom.spec == "c:2 x:8"


def test_names_that_must_be_of_one_size_stay_so() -> None:
    sketch = Id("y m") >> Rename("y -> x")
    Axes(y=3, x=3, m=2)(sketch)
    with pytest.raises(MismatchError, match="axis x is 4 on one side and 3 on the other"):
        Axes(y=3, x=4, m=2)(sketch)


def test_a_size_that_is_a_formula_follows_the_others() -> None:
    sketch = Linear("m -> d") >> Linear("d -> e")
    assert Axes(k=2, m=3, d="k*m", e="d+1")(sketch).cod.spec == "e:7"
    assert Axes(k=4, m=3, d="k*m", e="d+1")(sketch).cod.spec == "e:13"
    assert Axes(k=4, m=3, d="k+m", e="d+1")(sketch).cod.spec == "e:8"
    with pytest.raises(NCDError, match="axis d is 5 on one side and 12 on the other"):
        Axes(k=4, m=3, d="k*m", e="d+1")(Linear("m -> d:5") >> Linear("d -> e"))


def test_bodies_of_a_repetition_are_resized_each() -> None:
    sketch = Repeat((Linear("m -> k", "a") >> Linear("k -> m", "b"),) * 2)
    Axes(m=2, k=3)(sketch)
    cells = elaborate(Axes(m=4, k=5)(sketch)).cells
    assert [cell.site.own_outputs.spec for cell in cells] == ["k:5", "m:4", "k:5", "m:4"]


def test_an_op_that_is_used_again_and_again_forgets_where_it_stood() -> None:
    op = Elementwise("relu")
    for n in range(1, 700):
        Axes(m=n)(Id("m") >> op)
        assert len(op.__dict__["_sites"]) <= MAX_CACHE_ENTRIES


@pytest.mark.parametrize("inner", ("y:3 f", "~y f", "~y:3 f", "y f:4"))
@pytest.mark.parametrize("t", (3, 7, seq(3), seq(7)))
def test_a_local_name_with_a_size_or_kind_of_its_own_is_as_if_it_was_solved(
    inner: str, t: object
) -> None:
    sketch = Id("t m") >> Block(Id(inner) >> Linear("f -> k", "Q"), "Part", local=True)
    clear_caches()
    for first in (3, seq(3)):
        outcome(sketch, {"t": first, "m": 4, "k": 5})
        sizes = {"t": t, "m": 4, "k": 5}
        assert outcome(sketch, sizes) == outcome(sketch, sizes, solved=True)
