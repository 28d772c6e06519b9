"""The entry of a term of the user's own: its knobs, and the term that they make."""

from __future__ import annotations

import pytest

import ncd
from ncd.notation.term_reader import parse
from ncd.systems.catalogue_entry import Entry
from ncd.systems.term_entry import MAX_SLIDER_SIZE, term_entry, visitor_system_name

CHAIN = 'Id("~y:5 m:8") >> Linear("m -> k:3", "A") >> Linear("k -> m", "B")'


def entry_of(text: str, independent_only: bool = False) -> Entry:
    return term_entry(parse(text), "net", "Net", "net.ncd", text, independent_only=independent_only)


def test_each_size_is_a_knob_that_says_what_it_is() -> None:
    entry = entry_of(CHAIN)
    assert [(k.name, k.default, k.max, k.help) for k in entry.knobs] == [
        ("y", 5, 64, "positions"),
        ("m", 8, 64, "size"),
        ("k", 3, 64, "size"),
    ]
    assert (entry.name, entry.title, entry.source, entry.section) == (
        "net", "Net", "net.ncd", "Yours",
    )  # fmt: skip
    assert entry.text == CHAIN
    assert (entry.build().dom.spec, entry.build().cod.spec) == ("~y:5 m:8", "~y:5 m:8")
    assert ncd.cost(entry.build(m=10, k=7)).parameters == 2 * 10 * 7
    assert entry.build(y=9).dom.spec == "~y:9 m:8"


def test_a_slider_reaches_four_times_a_size_and_none_is_for_huge_ones() -> None:
    entry = entry_of(f'Id("a:100 b:{MAX_SLIDER_SIZE} c:{MAX_SLIDER_SIZE + 1}")')
    assert [(k.name, k.max) for k in entry.knobs] == [("a", 400), ("b", 4 * MAX_SLIDER_SIZE)]
    assert entry.build(a=2).dom.spec == f"a:2 b:{MAX_SLIDER_SIZE} c:{MAX_SLIDER_SIZE + 1}"


def test_the_sides_of_a_picture_are_one_knob_where_they_are_equal() -> None:
    entry = entry_of('Id("c:3 x:8x8 z:4x6")')
    assert [(k.name, k.default, k.help) for k in entry.knobs] == [
        ("c", 3, "size"),
        ("x", 8, "each side"),
    ]
    assert entry.build(x=5).dom.spec == "c:3 x:5x5 z:4x6"


@pytest.mark.parametrize(
    ("only", "names"), [(False, ["y", "m", "n", "x"]), (True, ["y", "m", "n"])]
)
def test_sizes_that_follow_from_others_need_no_knob(only: bool, names: list[str]) -> None:
    entry = entry_of('Id("m:4 y:6") >> Conv("m y -> n:2 x:3", "C", 3, stride=2)', only)
    assert [knob.name for knob in entry.knobs] == ["m", "y", "n"] + ["x"] * (not only)
    assert entry.build().cod.spec == "n:2 x:3"
    if only:
        assert entry.build(y=10).cod.spec == "n:2 x:5"


def test_an_own_name_is_fit_for_an_address_and_of_no_system() -> None:
    assert visitor_system_name("Small Net_2") == "own-small-net-2"
    assert visitor_system_name("模型") == "own"
    assert not {visitor_system_name(name) for name in ncd.catalogue} & set(ncd.catalogue)
