"""The documentation: it builds, its links lead somewhere, its examples are right."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

import pytest

import ncd
from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.installation import ROOT
from ncd.systems.lessons import computed_questions as questions
from tools import live_diagrams, reference_examples, reference_pages

PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.slow
def test_it_builds_without_a_warning_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    pages = {path.name: path.read_text() for path in tmp_path.glob("*.html")}
    assert set(pages) >= {page.with_suffix(".html").name for page in PAGES}
    ids = {name: set(re.findall(r'\bid="?([^\s">]+)', text)) for name, text in pages.items()}
    for name, text in pages.items():
        for link in map(unescape, re.findall(r'\bhref="?([^\s">]+)', text)):
            url = urlsplit(link)
            if url.scheme or name == "404.html":
                continue
            target = url.path or name
            assert (tmp_path / target).exists(), f"{name}: {link}"
            if url.fragment and not url.fragment.startswith("__") and target in ids:
                assert url.fragment in ids[target], f"{name}: {link}"
    shown = re.findall(r"<ncd-diagram files [^>]*>", "".join(pages.values()))
    assert len(shown) >= 6 and not re.search("<ncd-diagram (?!files)", "".join(pages.values()))
    assert (tmp_path / "ncd-diagram.js").exists()
    signs = re.findall(r'src="?(signs/[\w-]+\.svg)#', pages["notation.html"] + pages["ops.html"])
    assert len(signs) > 200 and all((tmp_path / sign).read_text()[:4] == "<svg" for sign in signs)
    assert "&gt;&gt;&gt; " not in re.sub(
        r"<code.*?</code>", "", pages["reference.html"], flags=re.S
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_its_examples_are_right(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    found = doctest.testfile(str(page), module_relative=False, optionflags=flags)
    assert found.failed == 0


def test_the_reference_has_every_public_name_and_its_ops_every_op() -> None:
    text = (ROOT / "docs" / "reference.md").read_text()
    named = {
        name for part in re.findall("<ncd-names>(.*)</ncd-names>", text) for name in part.split()
    }
    ops = {op.__name__ for op in ncd.ops.CATALOGUE}
    assert named == {*ncd.__all__, "compile"} - ops
    assert {line[3:] for line in reference_pages.op_lines() if line.startswith("## ")} == ops


def test_its_lists_have_every_function_system_and_kind_of_question() -> None:
    functions = "".join(reference_pages.function_lines())
    assert re.findall(r"\| `(\w+)` \|", functions) == [*ELEMENTWISE]
    systems = "\n".join(reference_pages.system_lines())
    named = re.findall("^`([\\w-]+)`, ", systems, re.M)
    assert len(named) == len({*named}) == systems.count("### ") and {*named} == {*ncd.catalogue}
    asked = re.findall("ask=(\\w+):", "".join(reference_pages.question_lines()))
    known = {*questions.KINDS, *questions.SYSTEM_KINDS, *questions.QUANTITIES}
    assert {*asked, "bytes", "cache"} == known  # these two stand beside parameters


def test_a_page_of_sphinx_keeps_the_element(tmp_path: Path) -> None:
    (tmp_path / "course.md").write_text((ROOT / "docs" / "examples" / "course.md").read_text())
    options = ["-C", "-D", "extensions=myst_parser", "-D", "root_doc=course", "-W", "-q"]
    command = [sys.executable, "-m", "sphinx", *options, str(tmp_path), str(tmp_path / "built")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    built = (tmp_path / "built" / "course.html").read_text()
    assert '<ncd-diagram system="multi-head-attention" h="8"></ncd-diagram>' in built
    assert '<script src="http://127.0.0.1:8501/ncd-diagram.js"></script>' in built


@pytest.mark.parametrize("module", [live_diagrams, reference_examples, reference_pages], ids=str)
def test_what_builds_it_is_right(module: ModuleType) -> None:
    assert doctest.testmod(module).failed == 0 < doctest.testmod(module).attempted


def test_the_systems_and_sizes_of_its_elements_exist() -> None:
    files = [*PAGES, *(ROOT / "docs" / "examples").glob("*")]
    texts = (path.read_text() for path in files)
    elements = [
        tag
        for text in texts
        for tag in re.findall(r"<ncd-diagram (system=[^>]*|files[^>]*)>", text)
    ]
    assert elements
    for element in elements:
        said = dict(re.findall(r'(\w+)="([^"]*)"', element))
        knobs = {knob.name for knob in ncd.catalogue[said.pop("system")].knobs}
        assert set(said) - {"style", "dark", "sizes", "base"} <= knobs
