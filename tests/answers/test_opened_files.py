"""Notebooks, several files and archives become one text, which is read like any other."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from ncd.answers.ask import ask
from ncd.answers.opened_files import BYTES, join_files, notebook_code, text_of_files
from ncd.app.page.own_page import cleaned_text
from ncd.errors import LimitError, ParseError
from ncd.read.python_source.source_reader import read_source

PARTS = """
import torch.nn as nn
class Mlp(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
    def forward(self, x):
        return self.second(self.first(x).relu())
"""
MAIN = """
from .layers import Mlp
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.mlp, self.head = Mlp(6), nn.Linear(6, 3)
    def forward(self, x):
        return self.head(self.mlp(x))
2x6
"""


def _zip(**files: str) -> bytes:
    made = BytesIO()
    with ZipFile(made, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".py", text)
    return made.getvalue()


def _notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "source": each.splitlines(keepends=True)} for each in cells]
    return json.dumps({"cells": [{"cell_type": "markdown", "source": ["# title"]}, *code]})


def _checked(text: str) -> None:
    term = read_source(text).term
    assert [array.shape for array in term.cod] == [(2, 3)]
    assert repr(term).count("Linear(") == 3 and ":24" in repr(term), "4 · 6 inside of Mlp"


@pytest.mark.parametrize("turned", [False, True])
def test_several_files_stand_behind_those_that_they_import(turned: bool) -> None:
    files = [("net.py", MAIN.encode()), ("layers.py", PARTS.encode())]
    _checked(text_of_files(files[::-1] if turned else files))


def test_an_archive_gives_its_sources_without_tests() -> None:
    broken = {"repo__tests__test_net": "assert (", "repo__setup": "setup("}
    _checked(text_of_files([("repo.zip", _zip(repo__net=MAIN, repo__layers=PARTS, **broken))]))


def test_a_notebook_gives_the_code_of_its_cells() -> None:
    text = _notebook("!pip install torch\n%matplotlib inline", PARTS, MAIN)
    for code in (text_of_files([("net.ipynb", text.encode())]), cleaned_text(text)):
        assert "# !pip install torch\n# %matplotlib inline" in code
        _checked(code)


def test_the_answer_to_a_notebook_is_that_to_its_code() -> None:
    text = _notebook(*["x = 1"] * 3, PARTS, MAIN)
    assert ask(text).shapes == ask(f"{PARTS}\n{MAIN}").shapes != ()
    cut = ask(text[: len(text) // 2])
    assert cut.sentence == (
        "line 1: this is the file of a notebook, but not all of it. "
        "Try the whole file, or the code of its cells."
    )
    many = ask(_notebook(*["x = 1" * 9] * 20_000))
    assert "letters, at most 30,000 are read" in many.sentence


def test_other_json_is_no_notebook() -> None:
    for text in ('{"cells": 3}', '{"cells": [1]}', '{"a": "cells"}', "x", "{", "[" * 9999):
        assert notebook_code(text) is None


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "picture.py").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(ParseError, match=r"it is no text\. Try another file\."):
        join_files("x", [tmp_path / "picture.py"])


def test_an_archive_is_bounded() -> None:
    with pytest.raises(LimitError, match="at most 60 of 4,000,000 bytes together"):
        text_of_files([("many.zip", _zip(**{f"a{i}": "" for i in range(61)}))])
    with pytest.raises(LimitError, match="holds 1 sources of 4,000,001 bytes"):
        text_of_files([("large.zip", _zip(a=" " * (BYTES + 1)))])
    with pytest.raises(ParseError, match=r"holds no source. Try an archive with files that end in"):
        text_of_files([("empty.zip", _zip(setup="x"))])
    with pytest.raises(ParseError, match="is no zip archive that can be read"):
        text_of_files([("broken.zip", _zip(a="x")[:40])])


def test_a_damaged_archive_is_refused_in_words() -> None:
    made = BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        archive.writestr("a.py", PARTS * 3)
    whole = made.getvalue()
    for at in range(4, len(whole)):
        damaged = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        with suppress(ParseError, LimitError):
            text_of_files([("damaged.zip", damaged)])


def test_files_of_one_name_in_two_folders_are_both_there() -> None:
    found = text_of_files([("a/net.py", b"A = 1"), ("b/net.py", b"B = 2"), ("main.py", b"C = 3")])
    assert all(part in found for part in ("A = 1", "B = 2", "C = 3"))


def test_files_that_import_each_other_end() -> None:
    found = text_of_files([("a.py", b"import b\nA = 1"), ("b.py", b"import a\nB = 2")])
    assert "A = 1" in found and "B = 2" in found
