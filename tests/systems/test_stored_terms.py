"""Every system is, op by op, the one whose picture is stored, with all that no picture shows."""

from __future__ import annotations

import pytest

import ncd
from ncd.installation import package_path
from ncd.write.term_json import term_of_file


@pytest.mark.parametrize("name", ncd.catalogue)
def test_a_system_is_the_term_in_its_stored_picture(name: str) -> None:
    """``python -m ncd render NAME -o assets/diagrams/NAME.svg`` writes both."""
    stored = term_of_file(package_path(f"assets/diagrams/{name}.svg").read_text(encoding="utf-8"))
    assert stored == ncd.catalogue[name].build()
