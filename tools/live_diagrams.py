"""A hook of MkDocs: the diagrams of the documentation are live, and need no server.

In a page, ``<ncd-diagram system="lora" t="3"></ncd-diagram>`` on a line shows a system of the
catalogue, and ``<ncd-diagram term="attention"></ncd-diagram>`` the term that an example of the page
gives this name. Each diagram is a file in the folder ``diagrams`` of the site.
"""

from __future__ import annotations

import ast
import re
import sys
from doctest import DocTestParser
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

import ncd
from ncd.cli.output import entry_facts
from ncd.site.collapse_states import LETTERS
from ncd.site.document import PageParts, document
from ncd.site.entry_page import of_entry

FOLDER = "diagrams"
SCRIPT = Path(ncd.__file__).parent / "app" / "host" / "ncd-diagram.js"
ELEMENT = re.compile(r'^<ncd-diagram (system|term)="([\w-]+)"([^>]*)></ncd-diagram>$', re.M)
AROUND = PageParts(states=6, widths=((640.0, LETTERS // 4), (330.0, LETTERS // 20)))  # of a column
found: dict[str, str] = {}  # the files of this build by their names


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Returns the text of a page, in which each element shows a file and has a link to it."""

    def live(match: re.Match[str]) -> str:
        kind, name, more = match.groups()
        file = name if kind == "system" else f"{Path(page.file.src_uri).stem}-{name}"
        found[file] = system_page(name) if kind == "system" else term_page(markdown, name)
        shown = f'files base="{FOLDER}" system="{file}"{more}'
        link = f'<a href="{FOLDER}/{file}/index.html">{name}, live</a>'
        return f'<div class="live"><ncd-diagram {shown}>{link}</ncd-diagram></div>'

    return ELEMENT.sub(live, markdown)


def on_post_build(*, config: Any, **_: Any) -> None:
    """Writes the files of the diagrams, and the script of the element."""
    site = Path(config.site_dir)
    for name, text in found.items():
        path = site / FOLDER / name / "index.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (site / SCRIPT.name).write_text(SCRIPT.read_text())


def system_page(name: str) -> str:
    """Returns the file of a system of the catalogue."""
    entry = ncd.catalogue[name]
    settings = entry.settings({})
    facts, system = entry_facts(entry, settings), of_entry(entry, settings)
    return document(entry.build(), "both", entry.title, facts, system, AROUND)


def term_page(markdown: str, name: str) -> str:
    """Returns the file of a term in the examples of a text.

    >>> text = '>>> lift = Axes(m=3)(\\n...     Linear("m -> k:2"))\\n'
    >>> "<svg" in term_page(text, "lift")
    True
    """
    return document(ncd.parse(source(markdown, name)), "both", name.capitalize(), around=AROUND)


def source(markdown: str, name: str) -> str:
    """Returns the text of the term with this name, assigned or defined, in the examples of a text.

    >>> source(">>> lift = Linear('m:3 -> k:2')\\n", "lift")
    "Linear('m:3 -> k:2')"

    Raises:
        KeyError: If there is none.
    """
    lines = "".join(example.source for example in DocTestParser().get_examples(markdown))
    for node in ast.parse(lines).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name:
            return ast.unparse(node.value)
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return ast.unparse(node).replace("@ncd.define", "@define", 1)
    raise KeyError(name)
