"""The files of a site: which there are, what is reported, and how many bytes they have."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ncd
from ncd.cli.output import entry_facts
from ncd.errors import UnknownNameError
from ncd.language.axes import Axis
from ncd.site import markup
from ncd.site.browser_run import _axes, _sizes, entry_model, walk
from ncd.site.entry_page import markdown_html
from ncd.site.ninety_seconds_page import frame_facts
from ncd.site.site_files import RUNTIME, entry_page, selected_entries, write_site
from ncd.systems.lessons.ninety_seconds import STEPS

NAMES = ("elementwise", "indexes")
PAGE_FILES = ("index.html", "page.css", "page.js")


def doors(names: tuple[str, ...], folder: Path) -> list[tuple[str, str]]:
    """The links at the end of the 90 seconds, in a site of these systems."""
    write_site(folder, selected_entries(names), entry_facts)
    page = (folder / "ninety-seconds" / "index.html").read_text()
    assert 'href="../" aria-label="Neural circuits, the first page"' in page
    return re.findall(r'<li><a href="([^"]*)">(.*?)</a></li>', page)


def test_the_90_seconds_lead_to_attention_where_the_site_has_it(tmp_path: Path) -> None:
    ends = [("../legend/", "Every sign")]
    assert doors(("indexes",), tmp_path) == [("../", "All systems"), *ends]
    attention = ("multi-head-attention", "indexes")
    first = ("../multi-head-attention/", "Multi-head attention")
    assert doors(attention, tmp_path) == [first, ("../", "All systems"), *ends]


def test_a_site_has_a_page_and_a_picture_of_each_system(tmp_path: Path) -> None:
    reports: list[tuple[int, int, str]] = []
    entries = selected_entries(NAMES)
    count = write_site(tmp_path, entries, entry_facts, lambda *own: reports.append(own))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert count == sum(path.stat().st_size for path in files)
    names = {str(path.relative_to(tmp_path)) for path in files}
    for name in NAMES:
        assert {f"{name}/index.html", f"pictures/{name}.svg"} <= names
    runtime = {f"runtime/{name}" for name in (*RUNTIME, "run_worker.js", "run_here.js")}
    assert runtime | {"index.html", "legend/index.html"} <= names
    frames = {name for name in names if re.fullmatch(r"ninety-seconds/.*json", name)}
    asked = {
        f"ninety-seconds/{number}-{size}-{narrow}-{dark}.json"
        for number, step in enumerate(STEPS, 1)
        for size, narrow, dark in product(step.range, (0, 1), (0, 1))
    }
    assert frames == asked and {f"ninety-seconds/{name}" for name in PAGE_FILES} <= names
    facts = json.loads((tmp_path / "ninety-seconds" / "4-7-1-0.json").read_text())
    assert facts == json.loads(json.dumps(frame_facts(4, 7, narrow=True, dark=False)))
    titles = [entry.title for entry in entries]
    assert reports == [(0, 2, titles[0]), (1, 2, titles[1]), (2, 2, "")]


def test_systems_are_chosen_in_the_order_of_the_catalogue() -> None:
    assert [entry.name for entry in selected_entries(NAMES[::-1])] == [
        name for name in ncd.catalogue if name in NAMES
    ]
    assert [entry.name for entry in selected_entries(())] == [*ncd.catalogue]
    with pytest.raises(UnknownNameError):
        selected_entries(("nothing at all",))


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
    assert markdown_html(text).startswith(written)
    assert markdown_html(f"{text}\n\nmore").count("<p>") == 1 + text.startswith("one")


def test_formulas_stay_where_they_stand() -> None:
    found = markdown_html("first $a$, then $b$")
    assert found.index("first") < found.index(">a<") < found.index("then") < found.index(">b<")


def test_a_step_of_copies_is_marked_and_no_other_is() -> None:
    circuit = ncd.elaborate(ncd.Softmax("m:3") >> ncd.Copy("m:3") >> ncd.Swap("m:3", "m:3"))
    copies = {cell.id for cell in circuit.cells if cell.op.role == "copy"}
    steps = re.findall(r'<article data-ids="([^"]*)"([^>]*)', walk(circuit))
    marked = {id for ids, more in steps if "data-same" in more for id in ids.split()}
    assert copies and copies <= marked
    assert not {cell.id for cell in circuit.cells if cell.id not in copies} & marked


def test_a_page_says_where_its_numbers_come_from_at_first() -> None:
    entry = ncd.catalogue["reversal"]
    facts = entry_model(entry).facts
    assert facts is not None and facts["said"][0] != facts["said"][1]
    page, _ = entry_page(entry, [entry], entry_facts)
    shown = page.partition('<script type="application/json"')[0]
    assert markup.text(facts["said"][0]) in shown and markup.text(facts["said"][1]) not in shown


def test_an_axis_is_told_by_its_name_unless_it_is_unusual() -> None:
    level = Axis("q_1", 16, label="c_λ")
    term = ncd.Id(ncd.Type((ncd.Array((Axis("k", 3), level, Axis("x", (4, 5)))),)))
    (value,) = ncd.elaborate(term).outputs
    assert [*_axes(value)] == ["k", ["q_1", "c_λ", 1], ["x", "x", 2]]


def test_a_size_goes_into_a_run_as_one_whole_number() -> None:
    graph: Any = SimpleNamespace(sizes=("y",), trace=SimpleNamespace(symbolic_sizes={"y": 5}))
    (found,) = _sizes(graph)
    assert (found["name"], found["kind"], found["dims"]) == ("size.y", "int64", [1])
    assert len(found["data"]) == 1
