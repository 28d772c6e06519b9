"""Every folder of systems compares them with the terms in their stored pictures."""

from pathlib import Path

from tests.systems.stored_terms import FOLDERS


def test_every_folder_of_systems_compares_them() -> None:
    files = {path.parent.name for path in Path(__file__).parent.glob("*/test_stored_terms.py")}
    assert files == set(FOLDERS)
