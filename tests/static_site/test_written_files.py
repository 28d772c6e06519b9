"""The files of a site: which there are, what is reported, and how many bytes they have."""

from __future__ import annotations

from pathlib import Path

import pytest

import ncd
from ncd.cli.picture_files import entry_facts
from ncd.lang.errors import UnknownNameError
from ncd.static_site.page_prose import html
from ncd.static_site.site_files import RUNTIME, chosen, write_site

NAMES = ("elementwise", "indexes")


def test_a_site_has_a_page_and_a_picture_of_each_system(tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    entries = chosen(NAMES)
    count = write_site(tmp_path, entries, entry_facts, lambda *own: reports.append(own))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert count == sum(path.stat().st_size for path in files)
    names = {str(path.relative_to(tmp_path)) for path in files}
    for name in NAMES:
        assert {f"{name}/index.html", f"pictures/{name}.svg"} <= names
    runtime = {f"runtime/{name}" for name in (*RUNTIME, "run_worker.js", "run_here.js")}
    assert runtime | {"index.html", "legend/index.html"} <= names
    titles = [entry.title for entry in entries]
    assert reports == [(0, 2, titles[0]), (1, 2, titles[1]), (2, 2, "")]


def test_systems_are_chosen_in_the_order_of_the_catalogue() -> None:
    assert [entry.name for entry in chosen(NAMES[::-1])] == [
        name for name in ncd.catalogue if name in NAMES
    ]
    assert [entry.name for entry in chosen(())] == [*ncd.catalogue]
    with pytest.raises(UnknownNameError):
        chosen(("nothing at all",))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("one\ntwo", "<p>one\ntwo</p>"),
        ("1. one\n2. two", "<ol><li>one"),
        ("- one\n- two", "<ul><li>one"),
        ("### Head", "<h2>Head</h2>"),
    ],
)
def test_prose_has_paragraphs_lists_and_heads(text: str, written: str) -> None:
    assert html(text).startswith(written)
    assert html(f"{text}\n\nmore").count("<p>") == 1 + text.startswith("one")
