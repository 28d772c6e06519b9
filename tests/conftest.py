"""What all tests share."""

import gc
import re
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

from tests.support import sampling

# Two threads that wait for each other are slow on a machine that does other work as well.
torch.set_num_threads(1)

# Tests make much that lives, and little garbage that only a search finds: with Python's own
# thresholds a fifth of their time, and half of that of the rules for source, went into searches.
gc.set_threshold(20_000, 20, 100)

# The same examples at every run, so that a change is to blame for what fails;
# ``tests.support.fuzz`` looks for new ones.
settings.register_profile("the same", derandomize=True, deadline=None)
settings.load_profile("the same")


@pytest.fixture(autouse=True, scope="module")
def small_heap() -> None:
    """Leaves all that is alive before a file of tests out of later searches for garbage.

    A reading searches several times; among tens of thousands of cases that took most of its time.
    """
    gc.collect()
    gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="test every case, not a sample of them")
    parser.addoption(
        "--few", type=int, metavar="COUNT", help="test so many cases of each test at most"
    )
    parser.addoption(
        "--of", action="append", metavar="NAME", help="test this system or op alone; repeatable"
    )


def pytest_configure(config: pytest.Config) -> None:
    sampling.everything = config.getoption("--all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    names, most = config.getoption("--of"), config.getoption("--few")
    kept = named(items, names) if names else set(items) - set(left_out(items, most))
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = sorted((item for item in items if item in kept), key=begins_late)


def begins_late(item: pytest.Item) -> bool:
    """Returns whether a test is quick: slow ones begin first, so that none is left for the end."""
    return item.get_closest_marker("slow") is None


def named(items: list[pytest.Item], names: list[str]) -> set[pytest.Item]:
    """Returns the cases of the named systems and ops, and the tests of a whole catalogue."""
    forms = "|".join(re.escape(form) for name in names for form in (name, name.replace("-", "_")))
    word = re.compile(rf"(?<![\w-])({forms})(?![\w-])")
    return {
        item
        for item in items
        if word.search(item.nodeid.partition("[")[2]) or item.get_closest_marker("catalogue")
    }


def left_out(items: list[pytest.Item], most: int | None) -> Iterator[pytest.Item]:
    """Yields the cases that are not in the sample of their test.

    Args:
        items: All cases.
        most: How many cases of each test are run at most; None runs all, but for the tests that
            are marked ``few``.
    """
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in tests.items():
        few = cases[0].get_closest_marker("few")
        count = min(few.args[0] if few else len(cases), most or len(cases))
        yield from set(cases) - set(sampling.sample(cases, count, test))
