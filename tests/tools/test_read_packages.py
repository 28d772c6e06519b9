"""The draw of files from packages, and what is told of each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from ncd.answers.answer import Answer
from ncd.language.terms import Id
from tools import read_packages
from tools.read_packages import ASKS, AT_ONCE, FORM, PARTLY, REFUSED, SLOW, FileResult

HEAD = "import torch\nfrom torch import nn\n\n\n"
MODEL = """class Net(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.layer = nn.Linear(dim, 3)

    def forward(self, x):
        return {result}
"""
BASE = "class Base(nn.Module):\n    def forward(self, x):\n        raise NotImplementedError\n"
NO_INPUT = (
    "class Sum(nn.Module):\n    def forward(self, first, second):\n        return {}[first]\n"
)
FILES = {
    "one/one/good.py": HEAD + MODEL.format(result="self.layer(x)"),
    "one/one/partly.py": HEAD + MODEL.format(result="self.layer(self.layer(x))"),
    "one/one/refused.py": HEAD + MODEL.format(result="x").replace("dim, 3", "widht, 3"),
    "one/one/base.py": HEAD + BASE,
    "one/one/losses/l1.py": HEAD + MODEL.format(result="x"),
    "one/tests/good.py": HEAD + MODEL.format(result="x"),
    "two/sums.py": HEAD + NO_INPUT,
    "two/numbers.py": "def forward(x):\n    return x\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two made-up packages."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_files_that_define_a_model_are_drawn_from_each_package_in_turn(folder: Path) -> None:
    files = read_packages.model_files(folder)
    paths = {name: [str(one.path) for one in own] for name, own in files.items()}
    assert paths == {
        "one": ["one/one/good.py", "one/one/partly.py", "one/one/refused.py"],
        "two": ["two/sums.py"],
    }
    draws = [read_packages.draw(files, 2, seed) for seed in range(9)]
    assert all({one.package for one in drawn} == {"one", "two"} for drawn in draws)
    assert len({str(drawn) for drawn in draws}) > 1


def test_files_of_earlier_draws_are_left_out(folder: Path, tmp_path: Path) -> None:
    earlier = tmp_path / "drawn.json"
    earlier.write_text(json.dumps([{"path": "two/sums.py"}, {"path": "one/one/good.py"}]))
    left = read_packages.others(read_packages.model_files(folder), [earlier])
    assert [one.path.name for own in left.values() for one in own] == ["partly.py", "refused.py"]


def test_each_file_is_told_with_its_reason(folder: Path) -> None:
    files = [one for own in read_packages.model_files(folder).values() for one in own]
    found = {one.path.name: read_packages.read_file(folder, one) for one in files}
    good = found["good.py"]
    assert (good.result, good.reason, good.shapes) == (AT_ONCE, "", ((1, 3),))
    partly = found["partly.py"]
    assert (partly.result, partly.line) == (PARTLY, 8), partly.reason
    assert partly.reason.startswith("layer (Linear) gets 3 features")
    assert found["refused.py"].result == REFUSED and "'widht'" in found["refused.py"].reason
    assert found["sums.py"].result == ASKS and "of which no shape" in found["sums.py"].reason


@pytest.mark.parametrize(
    ("typed", "result"),
    [("Sum()('a', torch.randn(2))", ASKS), ("Sum()(torch.randn(2, 3), torch.randn(4))", FORM)],
)
def test_a_form_counts_when_what_is_typed_opens_it(folder: Path, typed: str, result: str) -> None:
    path = Path("two/sums.py")
    only = NO_INPUT.replace("{}[first]", "{(2, 3): second}[tuple(first.shape)]")
    (folder / path).write_text(HEAD + only)
    found = read_packages.read_file(folder, read_packages.PackageFile("two", path), True, typed)
    assert found.result == result and found.shapes == (((4,),) if result == FORM else ())


def test_a_diagram_of_which_nothing_comes_out_is_no_success() -> None:
    nothing = Answer("source", Id("b:2"), (), "")
    assert read_packages.outcome(nothing, False) == (PARTLY, "nothing comes out of it", 0)
    assert read_packages.outcome(replace(nothing, shapes=((2,),)), False) == (AT_ONCE, "", 0)


def test_the_table_ends_in_what_the_results_come_to() -> None:
    one = ("a", "a/b.py")
    results = [
        FileResult(*one, AT_ONCE, "", 0, 1.0, ((2, 3),), ()),
        FileResult(*one, SLOW, "it takes more than 6 seconds", 1, 9.0, (), ()),
        FileResult(*one, AT_ONCE, "", 0, 2.0, ((2, 3),), ()),
    ]
    assert list(read_packages.table(results)) == [
        "| at once | a/b.py | 1.0 s |  |",
        "| slow | a/b.py | 9.0 s | 1: it takes more than 6 seconds |",
        "| at once | a/b.py | 2.0 s |  |",
        "at once: 2, slow: 1",
        "median 2.0 s, at most 9.0 s",
    ]
