"""Which cases of a test are run: all, a sample of them, or those of a system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from tests.conftest import left_out, named
from tests.support import sampling


@dataclass(frozen=True, eq=False)
class Case:
    """What is asked of a test's case as it is chosen."""

    nodeid: str
    marks: tuple[pytest.Mark, ...] = ()

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


def cases(test: str, count: int, *marks: pytest.MarkDecorator) -> list[Any]:
    return [Case(f"{test}[{i}]", tuple(mark.mark for mark in marks)) for i in range(count)]


@pytest.fixture
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "everything", False)


@pytest.mark.usefixtures("sampled")
def test_a_test_marked_few_runs_a_sample_and_others_run_whole() -> None:
    some, whole = cases("a", 30, pytest.mark.few(10)), cases("b", 30)
    left = {*left_out([*some, *whole], None)}
    assert left < {*some} and len(left) == 20
    assert left == {*left_out(some, None)}  # the same at every run
    other = {*left_out(cases("c", 30, pytest.mark.few(10)), None)}
    assert {case.nodeid[1:] for case in other} != {case.nodeid[1:] for case in left}


@pytest.mark.usefixtures("sampled")
def test_at_most_so_many_cases_of_each() -> None:
    every = [*cases("a", 30, pytest.mark.few(10)), *cases("b", 3), *cases("c", 1)]
    assert len({*left_out(every, 2)}) == 28 + 1


def test_with_all_nothing_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "everything", True)
    assert not [*left_out(cases("a", 30, pytest.mark.few(10)), 1)]


def test_the_cases_of_a_system_and_those_of_whole_catalogues() -> None:
    whole = Case("all", (pytest.mark.catalogue.mark,))
    items: list[Any] = [Case("t[unet]"), Case("t[unet-level]"), whole]
    assert named(items, ["unet"]) == {items[0], items[2]}
