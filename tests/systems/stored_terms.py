"""The terms in the stored pictures of the catalogue, by the folder of their systems."""

from __future__ import annotations

import ncd
from ncd import Term
from ncd.installation import package_path
from ncd.write.term_json import term_of_file

FOLDERS: dict[str, list[str]] = {}  # the names of the systems in each folder of ncd/systems
for entry in ncd.catalogue.values():
    FOLDERS.setdefault(entry.system.__module__.split(".")[2], []).append(entry.name)


def stored_term(name: str) -> Term:
    """``python -m ncd render NAME -o assets/diagrams/NAME.svg`` writes picture and term."""
    return term_of_file(package_path(f"assets/diagrams/{name}.svg").read_text(encoding="utf-8"))
