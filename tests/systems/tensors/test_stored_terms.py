"""Each system is, op by op, the one whose picture is stored, with all that no picture shows."""

import pytest

import ncd
from tests.systems.stored_terms import FOLDERS, stored_term


@pytest.mark.parametrize("name", FOLDERS["tensors"])
def test_a_system_is_the_term_in_its_stored_picture(name: str) -> None:
    assert ncd.catalogue[name].build() == stored_term(name)
