"""What all tests share."""

import re

import pytest
import torch
from hypothesis import settings

from tests.support import sampling

# Two threads that wait for each other are slow on a machine that does other work as well.
torch.set_num_threads(1)

# The same examples at every run, so that a change is to blame for what fails;
# ``tests.support.fuzz`` looks for new ones.
settings.register_profile("the same", derandomize=True, deadline=None)
settings.load_profile("the same")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--all", action="store_true", help="test every case, not a sample of them")
    parser.addoption(
        "--of", action="append", metavar="NAME", help="test this system or op alone; repeatable"
    )


def pytest_configure(config: pytest.Config) -> None:
    sampling.everything = config.getoption("--all")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keeps the cases of the systems and ops of ``--of``, and the tests of a whole catalogue."""
    names = config.getoption("--of")
    if not names:
        return
    forms = "|".join(re.escape(form) for name in names for form in (name, name.replace("-", "_")))
    word = re.compile(rf"(?<![\w-])({forms})(?![\w-])")
    kept = [
        item
        for item in items
        if word.search(item.nodeid.partition("[")[2]) or item.get_closest_marker("catalogue")
    ]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept
