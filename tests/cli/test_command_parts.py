"""Commands whose work is done elsewhere: what they hand on, and what they print and return."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

import ncd
from ncd import __main__ as command
from ncd.cli import commands
from ncd.cli.check import _disorder
from ncd.cli.system_argument import GivenSystem, file_text
from ncd.errors import ParseError

Capture = pytest.CaptureFixture[str]


def args(**given: Any) -> argparse.Namespace:
    return argparse.Namespace(**given)


def test_serve_opens_a_page_for_each_module() -> None:
    module = object()
    found = SimpleNamespace(term=ncd.Id("m:3"), failure="wrong", module=lambda: module)
    with (
        patch("ncd.read.torch_module.from_torch.imported_file", return_value=found) as read,
        patch("ncd.app.scene.own_entry.add_served_module") as page,
        patch("ncd.app.host.serve.serve") as app,
        patch.object(commands, "check_address"),
    ):
        own = args(host="h", port=80, modules=["a/b.py:net", "c.py"], inputs="5x3")
        assert commands.serve(own) == 0
    assert [call.args for call in read.call_args_list] == [("a/b.py:net", "5x3"), ("c.py", "5x3")]
    assert [call.args[0] for call in page.call_args_list] == ["net", "c.py"]
    assert page.call_args.args[1:] == (found.term, "wrong", module)
    assert app.call_args.args == ("h", 80)


@pytest.mark.parametrize(
    ("name", "class_name"), [("my-net_2", "MyNet2"), ("2-nets", "Net2Nets"), ("aB", "AB")]
)
def test_a_file_gives_its_name_to_a_class(name: str, class_name: str) -> None:
    given = GivenSystem(ncd.Id("m:3"), name, "T", "s", {}, {})
    assert (given.class_name, given.headline) == (class_name, "T (s)")
    assert replace(given, settings={"h": 2, "k": 3}).headline == "T (s), h 2, k 3"


@pytest.mark.parametrize(
    ("file", "reason"), [("noise.py", "it is no text"), ("none.py", "No such file or directory")]
)
def test_a_file_without_a_text_is_told(
    file: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("noise.py").write_bytes(b"\xff\xfe")
    with pytest.raises(ParseError) as found:
        file_text(file)
    assert str(found.value) == f"cannot read '{file}': {reason}. Try another file."


def test_crowd_hands_the_address_on() -> None:
    with patch("ncd.cli.crowd.crowd") as serve:
        assert commands.crowd(args(host="h", port=80, processes=3)) == 0
    assert serve.call_args.args == ("h", 80, 3)


@pytest.mark.parametrize("as_json", [False, True])
def test_site_says_what_it_has_written(as_json: bool, capsys: Capture) -> None:
    with patch("ncd.site.site_files.write_site", return_value=1234567):
        assert commands.site(args(names=["lora"], inputs="", output="out", json=as_json)) == 0
    out = capsys.readouterr().out
    if as_json:
        assert json.loads(out) == {"folder": "out", "systems": 1, "bytes": 1234567}
    else:
        assert out == "out: 1 systems, 1,234,567 bytes\n"


@pytest.mark.parametrize(
    ("error", "reason"), [(OSError(28, "No space left"), "No space left"), (OSError("odd"), "odd")]
)
def test_a_site_that_cannot_be_written_is_told(error: OSError, reason: str) -> None:
    with (
        patch("ncd.site.site_files.write_site", side_effect=error),
        pytest.raises(ParseError) as found,
    ):
        commands.site(args(names=["lora"], inputs="", output="out", json=False))
    assert str(found.value) == f"cannot write 'out': {reason}. Try another folder."


@pytest.mark.parametrize("as_json", [False, True])
def test_a_training_says_what_came_of_it(as_json: bool, capsys: Capture) -> None:
    assert commands._report_training({"score": 0.5}, args(json=as_json, output=None)) == 0
    out = capsys.readouterr().out
    assert (json.loads(out) == {"score": 0.5}) if as_json else out.split() == ["score", "0.5"]


def test_show_has_an_empty_line_before_each_loop(capsys: Capture) -> None:
    given = {
        "names": ["lstm"],
        "name": "lstm",
        "inputs": "",
        "json": False,
        "set": [],
        "preset": None,
    }
    formats = {"weights": "float32", "activations": "float32", "cache": "float32"}
    assert commands.show(args(**given, **formats)) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    circuit = ncd.elaborate(ncd.catalogue["lstm"].build())
    for loop in circuit.loops:
        at = lines.index(commands._loop_text(loop))
        assert lines[at - 1] == ""
        body = commands._state_rows(loop.bodies[0])
        assert lines[at + 1].split()[0] == body[0][0].split()[0]


def test_a_row_for_each_array_names_its_axes_and_what_it_holds() -> None:
    term = ncd.Id("~y:2 m:3, y:2#v:5") >> ncd.Softmax("m") @ ncd.Id("y#v")
    rows = commands._state_rows(ncd.elaborate(term))
    assert rows == [
        ("0", "v0", "y 2, m 3", "2×3", ""),
        ("", "v1", "y 2 of whole numbers below v 5", "2", ""),
        ("1", "v2", "y 2, m 3", "2×3", "Softmax"),
        ("", "v1", "y 2 of whole numbers below v 5", "2", ""),
    ]
    (row,) = commands._state_rows(ncd.elaborate(ncd.Id("()#v:5")))
    assert row == ("0", "v0", "of whole numbers below v 5", "()", "")


def test_an_import_lists_its_boxes_and_notes(capsys: Capture) -> None:
    boxes = [{"function": "aten.roll", "why": "it is unknown", "path": "x"}]
    data = {"dom": "m", "cod": "m", "parameters": 12, "boxes": boxes, "notes": ["One.", "Two."]}
    commands._report(ncd.Softmax("m:3"), data, args(json=False, output=None))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["m:3", "->", "m:3"],
        ["parameters", "12"],
        ["box", "aten.roll", "it", "is", "unknown"],
        ["One."],
        ["Two."],
    ]


def test_open_shows_the_page_when_the_app_answers() -> None:
    with (
        patch.object(commands, "check_address") as check,
        patch.object(commands, "_page_of", return_value="unet?c=2"),
        patch("ncd.app.host.serve.open_when_served") as browser,
        patch("ncd.app.host.serve.serve") as app,
    ):
        assert commands.open_(args(host="h", port=80)) == 0
    assert check.call_args.args == app.call_args.args == ("h", 80)
    assert browser.call_args.args == ("h", 80, "unet?c=2")


def test_the_body_of_a_scan_knows_its_own_inputs_and_that_of_a_repetition_does_not() -> None:
    for name in ("lstm", "encoder-block"):
        circuit = ncd.elaborate(ncd.catalogue[name].build())
        given = {value.id for value in circuit.inputs}
        assert [*_disorder(circuit, given)] == []
    scan = ncd.elaborate(ncd.catalogue["lstm"].build())
    found = [*_disorder(scan, set())]
    assert found and all("before they are made" in fault for fault in found)
    chain = ncd.elaborate(ncd.Id("m:3") >> ncd.Softmax("m") >> ncd.Elementwise("relu"))
    every = set(chain.values)
    assert all("again" in fault for fault in _disorder(chain, every))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(28, "No space left on device"), "ncd: cannot write: No space left on device.\n"),
        (OSError("a device that is not there"), "ncd: cannot write: a device that is not there.\n"),
        (BrokenPipeError(32, "Broken pipe"), ""),  # who reads has read enough
        (FileNotFoundError(2, "No such file", "x.py"), None),
    ],
)
def test_output_that_cannot_be_written_is_one_line(
    error: OSError, said: str | None, capsys: Capture
) -> None:
    """An error about a file is not one about the output, and is raised."""
    with (
        patch.object(command, "main", side_effect=error),
        patch.object(command, "replace_unprintable"),
        patch.object(command, "discard_output") as discard,
    ):
        if said is None:
            with pytest.raises(FileNotFoundError):
                command._run_command()
            return
        assert command._run_command() == 1
    assert capsys.readouterr().err == said and discard.called
