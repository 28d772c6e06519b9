"""``ncd ask``: the answer in lines, cures as diffs, JSON, and the exit code."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ncd
from ncd.__main__ import main
from ncd.answers.answer import Answer
from ncd.cli.answer_output import answer_data, answer_lines, import_findings
from ncd.findings.reading.finding import Cure, Edit, Finding
from tests.cli.test_commands import Capture, output

RIGHT = "nn.Linear(8, 3)(torch.randn(2, 8))"


def test_a_file_is_answered_and_so_is_standard_input(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text(RIGHT)
    assert (
        output(capsys, "ask", str(tmp_path / "net.py")).splitlines()[0]
        == "out: 2 × 3 (batch, features)"
    )
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(RIGHT.encode())))
    found = json.loads(output(capsys, "ask", "-", "--json"))
    assert (found["kind"], found["shapes"], found["findings"]) == ("line", [[2, 3]], [])
    assert found["term"] == {"dom": "b:2 m:8", "cod": "b:2 d:3"}


def test_a_failure_is_exit_code_1(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "net.py").write_text("nn.Linear(8, 3, banana=1)")
    said = output(capsys, "ask", str(tmp_path / "net.py"), code=1)
    assert said.startswith("line 1") and "banana" in said
    found = json.loads(output(capsys, "ask", str(tmp_path / "net.py"), "--json", code=1))
    assert (found["term"], found["findings"][0]["kind"]) == (None, "failure")


def test_files_that_cannot_be_read(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_bytes(b"\xff\xfe")
    for name, why in (("net.py", "it is no text"), ("none.py", "No such file or directory")):
        assert main(["ask", name]) == 2
        assert capsys.readouterr().err == f"ncd: cannot read {name!r}: {why}. Try another file.\n"


def test_cures_are_diffs() -> None:
    text = "a\nfc = nn.Linear(4, 2)\nb"
    edit = Edit(2, 15, 16, "8")
    cure = Cure((edit,), "a\nfc = nn.Linear(8, 2)\nb", "model", ((1, 2),))
    failure = Finding("failure", 3, "fc", "It takes 4 features, and gets 8.", (cure,))
    silent = Finding("silent", 1, "", "This is never used.")
    answer = Answer("source", None, (), "line 3, fc: It fails.", ("1 × 8.",), (failure, silent))
    assert [*answer_lines(answer, text, "net.py")] == [
        "line 3, fc: It fails.",
        "1 × 8.",
        "\nfails, line 3, fc: It takes 4 features, and gets 8.",
        "\ncure 1, which changes the model, out: 1 × 2",
        "--- net.py",
        "+++ net.py",
        "@@ -2 +2 @@",
        "-fc = nn.Linear(4, 2)",
        "+fc = nn.Linear(8, 2)",
        "\nhardly meant, line 1: This is never used.",
    ]
    data = json.loads(json.dumps(answer_data(answer)))
    assert data["findings"][0]["cures"][0]["edits"] == [
        {"line": 2, "start": 15, "end": 16, "new": "8"}
    ]
    assert data["term"] is None and isinstance(ncd.ask(RIGHT).term, ncd.Term)


def test_sizes_are_one_list_below_all_else() -> None:
    failure = Finding("failure", 3, "fc", "It fails.")
    sizes = [Finding("size", 0, "", f"Any {name} works.") for name in ("batch", "length")]
    answer = Answer("source", None, (), str(failure), (), (failure, *sizes))
    assert [*answer_lines(answer, "", "net.py")] == [
        "line 3, fc: It fails.",  # and not once more as a finding
        "",
        "Any batch works.",
        "Any length works.",
    ]
    first = Answer("source", None, (), "It gives 1 × 8.", (), tuple(sizes))
    assert [*answer_lines(first, "", "net.py")] == [
        "It gives 1 × 8.", "", "Any batch works.", "Any length works.",
    ]  # fmt: skip


@pytest.mark.parametrize("text", [None, b"\xff\xfe", b"class Net(:"])
def test_a_file_that_is_no_python_has_no_findings(text: bytes | None, tmp_path: Path) -> None:
    if text is not None:
        (tmp_path / "net.py").write_bytes(text)
    found = SimpleNamespace(failure="it fails")
    place = f"{tmp_path / 'net.py'}:Net"
    assert import_findings(place, "2x8", found) == ()  # type: ignore[arg-type]


NET = """from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.unused = nn.Linear({width}, 3), nn.Linear(8, 2)
    def forward(self, x):
        return self.fc(x)
"""


def test_an_import_tells_what_is_found_in_its_source(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "found_net.py"
    file.write_text(NET.format(width=8))
    said = output(capsys, "import", f"{file}:Net", "--inputs", "2x8")
    assert "hardly meant, line 5: unused" in said and "difference" in said
    file = tmp_path / "failing_net.py"
    file.write_text(NET.format(width=9))
    argv = ("import", f"{file}:Net", "--inputs", "2x8")
    said = output(capsys, *argv, code=1)
    assert "+        self.fc, self.unused = nn.Linear(8, 3), nn.Linear(8, 2)" in said
    (failure,) = json.loads(output(capsys, *argv, "--json", code=1))["findings"]
    assert (failure["kind"], failure["layer"]) == ("failure", "fc")
