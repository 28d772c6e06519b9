"""The cache of what is computed: what an entry weighs, and what is dropped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch
from cachetools import Cache, LRUCache

import ncd
from ncd.app.parts.heatmap import Mosaic
from ncd.app.state import cache
from ncd.app.state.cache import LEAF, RUN, SMALL, TERM, cached_value, get_or_make, size_of
from ncd.explain.colour_scale import PooledMaps
from ncd.language.terms import Term

TERM_OF_FOUR = ncd.Id("m:4") >> ncd.Linear("m -> k:2", "L", bias=False)


@dataclass
class Pair:
    first: str
    second: torch.Tensor


@pytest.mark.parametrize(
    ("value", "held"),
    [
        ("abc", 3 + LEAF),
        (b"abcd", 4 + LEAF),
        (7, LEAF),
        (torch.zeros(10), 40 + LEAF),
        (np.zeros(10), 80 + LEAF),
        (TERM_OF_FOUR, TERM),
        (ncd.elaborate(TERM_OF_FOUR), TERM),
        (("abc", [b"x", 1]), 3 + 1 + 5 * LEAF),
        ({"a": "abc", "b": torch.zeros(2)}, 3 + 8 + 3 * LEAF),
        (Pair("abc", torch.zeros(2)), 3 + 8 + 3 * LEAF),
        (ncd.compile(TERM_OF_FOUR, seed=0), 4 * 8 + 2 * LEAF + RUN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_an_entry_weighs_is_its_bytes_and_something_for_each_part(
    value: object, held: int
) -> None:
    assert size_of(value) == SMALL + held


def test_a_run_weighs_its_arrays_and_a_megabyte() -> None:
    trace = ncd.trace(ncd.compile(TERM_OF_FOUR, seed=0), torch.zeros(4))
    arrays = sum(tensor.nbytes + LEAF for tensor in trace.values.values())
    assert size_of(trace) == SMALL + arrays + LEAF + RUN


def test_a_value_is_made_once_and_what_is_too_large_is_not_stored() -> None:
    shelf: Cache[tuple[str], str] = LRUCache(5_000, getsizeof=size_of)
    made = list[str]()

    def make(text: str) -> str:
        made.append(text[:1])
        return text

    for _ in range(2):
        assert get_or_make(shelf, ("a",), lambda: make("a")) == "a"
        assert get_or_make(shelf, ("b",), lambda: make("b" * 5_000)) == "b" * 5_000
    assert made == ["a", "b", "b"]


def test_what_is_remembered_belongs_to_its_name_term_and_keys() -> None:
    assert cache.peek("length", TERM_OF_FOUR, 1) is None
    assert cache.cached_value("length", TERM_OF_FOUR, 1, make=lambda: 10) == 10
    assert cache.cached_value("length", TERM_OF_FOUR, 1, make=lambda: 11) == 10
    assert cache.cached_value("length", TERM_OF_FOUR, 2, make=lambda: 12) == 12
    assert cache.peek("length", TERM_OF_FOUR, 1) == 10
    assert cache.peek("width", TERM_OF_FOUR, 1) is None


@dataclass(frozen=True, repr=False, eq=False)
class First(Term):
    name: str


@dataclass(frozen=True, repr=False, eq=False)
class Second(Term):
    name: str


def test_terms_with_equal_fields_are_kept_apart() -> None:
    """``st.cache_data`` mixed these up: it hashes the fields of a dataclass, not its type."""
    made = [cached_value("test", term, make=lambda: object()) for term in (First("d"), Second("d"))]
    assert made[0] is not made[1]
    assert made[0] is cached_value("test", First("d"), make=lambda: object())


def test_the_cache_is_bounded_by_its_weight() -> None:
    shelf = LRUCache(100_000, getsizeof=size_of)
    for i in range(50):
        get_or_make(shelf, (i,), lambda: torch.zeros(5_000))  # 20 kB
    assert shelf.currsize <= shelf.maxsize
    assert list(shelf) == [(46,), (47,), (48,), (49,)]
    assert len(get_or_make(shelf, ("whale",), lambda: torch.zeros(50_000))) == 50_000
    assert ("whale",) not in shelf


def test_what_holds_numbers_weighs_what_they_do() -> None:
    """Maps of numbers, and pictures as data addresses, would else be kept without end."""
    held = (
        np.zeros(5_000),
        PooledMaps(np.zeros((50, 100)), (50, 100)),
        Mosaic("x" * 40_000, (1, 1), ""),
    )
    for value in (*held, held, {"all": held}):
        assert size_of(value) > 40_000


def test_the_cache_keeps_no_errors() -> None:
    shelf = LRUCache(100_000, getsizeof=size_of)
    with pytest.raises(ZeroDivisionError):
        get_or_make(shelf, ("a",), lambda: 1 / 0)
    assert get_or_make(shelf, ("a",), lambda: 1) == 1
