"""What all tests share."""

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


def pytest_configure(config: pytest.Config) -> None:
    sampling.everything = config.getoption("--all")
