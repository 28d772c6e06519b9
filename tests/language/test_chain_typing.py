"""Chains: a step that wants more axes makes the inputs wider, unless other axes are in the way."""

from __future__ import annotations

import pytest

from ncd import Add, Id, Linear, Rename, Repeat
from ncd.errors import MismatchError


def test_a_step_with_an_outer_axis_makes_the_input_wider() -> None:
    term = Linear("m:4 -> k:3", "A") >> Linear("h:2 k -> o:2", "B")
    assert term.dom.spec == "h:2 m:4"


def test_an_axis_in_the_place_of_the_wanted_one_is_an_error() -> None:
    with pytest.raises(MismatchError) as error:
        Id("x m:3") >> Linear("h:2 m -> m", "L")
    assert str(error.value) == (
        "Linear L (h m -> m): it takes (h m), but the array that meets it is (x m). "
        "Bound so far: m 3. Try an array that has h, such as (h m)."
    )


@pytest.mark.parametrize(
    ("wrong", "cure"),
    [
        ("t:5", 'an array that has t, such as (t), or Id("t m") >> before the first step'),
        ("keys:3", "key in place of keys"),
    ],
)
def test_an_axis_that_no_array_has_says_what_would_work(wrong: str, cure: str) -> None:
    with pytest.raises(MismatchError) as error:
        Linear("m:4 -> key:3", "K") >> Rename(f"{wrong} -> x")
    name = wrong.partition(":")[0]
    assert str(error.value) == (
        f"Rename ({name} -> x): it takes ({name}), but the array that meets it is (key). "
        f"Bound so far: key 3. Try {cure}."
    )


def test_an_axis_that_is_put_in_front_is_renamed() -> None:
    term = Id("t m") >> Linear("m:4 -> key:3", "K") >> Rename("t:5 -> x")
    assert (str(term.dom), term.cod.spec) == ("t m", "x:5 key:3")


@pytest.mark.parametrize("count", [1, 2])
def test_the_memory_of_a_repetition_comes_out_of_each_body_as_it_is(count: int) -> None:
    body = Id("m:4, m") >> Add()
    (first, *_) = steps = Repeat((body,) * count, memory=1).body_chain.steps
    assert len(steps) == count
    assert first.dom.spec == first.cod.spec
    assert first.origins == (*body.origins, (1,))
