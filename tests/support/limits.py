"""Limits at their edges."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple
from unittest.mock import patch

import pytest

from ncd import NCDError


class Limit(NamedTuple):
    """A constant that bounds something, and how to make what is of that size."""

    module: ModuleType
    name: str
    size: int
    make: Callable[[], object]
    refusal: str  # what is said where the limit is one less

    def check(self) -> None:
        """Asserts that what is as large as the limit is taken, and what is larger is refused."""
        with patch.object(self.module, self.name, self.size):
            self.make()
        smaller = patch.object(self.module, self.name, self.size - 1)
        with smaller, pytest.raises(NCDError) as error:
            self.make()
        assert self.refusal in str(error.value)
