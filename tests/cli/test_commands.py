"""The command line: every command, its exit code, and the whole of what it says when it refuses."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ncd
from ncd.__main__ import _commands, main
from ncd.answers.ask import STEPS
from ncd.cli import commands
from ncd.cli import output as terminal
from ncd.cli.check import LABELS
from ncd.cli.output import circuit_data
from ncd.run.guard import peak
from tests.support.polling import until
from tests.support.sampling import sample

MHA = "multi-head-attention"
COMMANDS = tuple(act.__name__.rstrip("_") for act, _, _ in _commands())
NAMES = pytest.mark.parametrize("name", sample(ncd.catalogue, 12))
Capture = pytest.CaptureFixture[str]


def output(capsys: Capture, *argv: str, code: int = 0) -> str:
    """What a command prints; nothing on stderr, and the exit code as it should be."""
    assert main(argv) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def data(capsys: Capture, *argv: str) -> object:
    return json.loads(output(capsys, *argv, "--json"))


# --- what it prints ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("note", "cure"),
    [
        ("softmx", "Softmax"),
        ("zzz", "one of Q, Softmax, Part, or an id such as n0"),
        ("axis q", "one of axis k, axis m, axis y"),
    ],
)
def test_an_unknown_part_of_a_note_is_answered_with_those_that_are_there(
    tmp_path, capsys, note, cure
):
    file = tmp_path / "own.ncd"
    file.write_text(
        'Axes(y=2, m=3, k=4)(Block(Id("y m") >> Linear("m -> k", "Q") >> Softmax("k"), "Part"))'
    )
    assert main(["render", str(file), "-o", str(tmp_path / "own.svg"), "--note", f"{note}=x"]) == 2
    assert capsys.readouterr().err == f"ncd: there is no part '{note}' to note. Try {cure}.\n"
    assert "f0     Part\n" in output(capsys, "show", str(file))


def test_list_names_every_system_with_its_knobs_and_presets(capsys: Capture) -> None:
    text = output(capsys, "list")
    for entry in ncd.catalogue.values():
        assert f"{entry.name}  ({entry.title}; {entry.source})" in text
        assert all(knob.help in text for knob in entry.knobs)
        assert all(f"--preset {p.name}:  " in text and p.source in text for p in entry.presets)
    words = [line.split() for line in text.splitlines()]
    assert ["h", "1", "or", "more", "default", "4", "slider", "1", "to", "16"] in [
        w[:10] for w in words
    ]
    found = data(capsys, "list")
    assert [entry["name"] for entry in found] == list(ncd.catalogue)
    heads = next(entry for entry in found if entry["name"] == MHA)
    assert heads["knobs"][0]["name"] == "h"
    assert (heads["knobs"][0]["min"], heads["knobs"][0]["max"]) == (1, 16)
    assert heads["presets"][2]["name"] == "gpt-2-small"
    assert heads["presets"][2]["knobs"]["m"] == 768


def test_show_tells_the_shape_on_every_wire(capsys: Capture) -> None:
    text = output(capsys, "show", MHA, "--set", "h=8", "--set", "y=5")
    lines = text.splitlines()
    assert lines[0] == (
        "Multi-head attention (Notebook, figure 21), h 8, k 16, m 128, y 5, x 22, causal 0"
    )
    assert lines[1] == "y m, x m → y m"
    assert "2      v4     y 5, k 16, h 8   5×16×8   Linear Q" in lines
    total = next(line for line in lines if "total" in line)
    cost = ncd.cost(ncd.catalogue[MHA].build(h=8, y=5))
    assert total.split()[1:] == [f"{cost.parameters:,}", f"{cost.flops:,}", f"{cost.bytes:,}"]


def test_show_takes_any_legal_size_and_a_preset(capsys: Capture) -> None:
    sizes = ("--set", "y=512", "--set", "m=12288", "--set", "h=96")
    found = data(capsys, "show", MHA, *sizes)
    assert found["total"]["parameters"] == 4 * 12288 * 96 * 16
    assert found["states"][0][0]["shape"] == [512, 12288]
    found = data(capsys, "show", MHA, "--preset", "gpt-2-small", "--set", "x=5")
    assert found["knobs"] == {"h": 12, "k": 64, "m": 768, "y": 1024, "x": 5, "causal": 1}
    assert found["total"]["parameters"] == 4 * 768 * 768


def test_show_shows_the_first_body_of_a_loop(capsys: Capture) -> None:
    body = ncd.Linear("n -> n", "L")
    term = ncd.Axes(n=3)(ncd.Id("n") >> ncd.Repeat((body,) * 4))
    circuit = ncd.elaborate(term)
    (loop,) = circuit.loops
    found = circuit_data(circuit)
    assert [[v["id"] for v in s] for s in found["loops"][0]["states"]] == [
        [v.id for v in s] for s in loop.bodies[0].states
    ]
    assert commands._loop_text(loop) == f"the first of 4 repetitions ({loop.id}):"


@NAMES
def test_show_as_json_is_the_circuit_and_its_cost(name: str, capsys: Capture) -> None:
    found = data(capsys, "show", name)
    term = ncd.catalogue[name].build()
    circuit, cost = ncd.elaborate(term), ncd.cost(term)
    assert [[v["id"] for v in state] for state in found["states"]] == [
        [v.id for v in state] for state in circuit.states
    ]
    first = circuit.inputs[0].array
    assert found["states"][0][0]["shape"] == list(first.shape)
    assert [axis["name"] for axis in found["states"][0][0]["axes"]] == list(first.names)
    assert [op["node"] for op in found["ops"]] == [cell.id for cell in circuit.cells]
    assert found["total"]["flops"] == cost.flops == sum(op["flops"] for op in found["ops"])


def test_the_columns_are_aligned(capsys: Capture) -> None:
    terminal.print_table([("a", "number"), ("longer", "1"), ("b", "1,000")], right={1})
    assert capsys.readouterr().out == "a       number\nlonger       1\nb        1,000\n"


def drawn(path: Path) -> str:
    """The drawing in an SVG file, without what it says about itself."""
    return re.sub(r"<metadata.*</metadata>", "", path.read_text())


@pytest.mark.parametrize(("name", "labels"), sample(product(ncd.catalogue, LABELS), 12))
def test_render_writes_an_svg(name: str, labels: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "drawing.svg"
    text = output(capsys, "render", name, "-o", str(path), "--labels", labels, "--dark")
    assert text == f"{path}: {path.stat().st_size:,} bytes\n"
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    entry = ncd.catalogue[name]
    expected = ncd.draw(entry.build(), labels=labels, dark=True, **entry.look({})).svg()
    assert drawn(path) == expected


def test_render_folds_breaks_and_colours_as_it_is_told(tmp_path: Path, capsys: Capture) -> None:
    entry = ncd.catalogue[MHA]
    term, path = entry.build(), tmp_path / "x.svg"
    asked = {
        ("--folded", "Linear", "--folded", "Copy"): {"folded": ("Linear", "Copy")},
        ("--width", "500"): {"width": 500},
        ("--width", "0", "--bands"): {"width": None, "bands": True},
        ("--open", "--width", "500", "--cells"): {"folded": (), "width": 500, "cells": True},
    }
    pictures = set()
    for argv, options in asked.items():
        output(capsys, "render", MHA, "-o", str(path), *argv)
        assert drawn(path) == ncd.draw(term, **(entry.look({}) | options)).svg()
        pictures.add(path.read_text())
    assert len(pictures) == len(asked)


def test_render_writes_a_png_as_large_as_asked(tmp_path: Path, capsys: Capture) -> None:
    sizes = []
    for scale in ("1", "2"):
        path = tmp_path / f"{scale}.PNG"
        output(capsys, "render", MHA, "-o", str(path), "--scale", scale)
        head = path.read_bytes()[:24]
        assert head.startswith(b"\x89PNG")
        sizes.append(int.from_bytes(head[16:20], "big"))
    assert sizes[1] == pytest.approx(2 * sizes[0], abs=2)
    found = data(capsys, "render", MHA, "-o", str(tmp_path / "x.svg"))
    assert found == {"file": str(tmp_path / "x.svg"), "bytes": (tmp_path / "x.svg").stat().st_size}


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (("render", MHA, "-o", "x.gif"), "'x.gif' ends in none of .svg, .png, .pdf, .tex, "
         ".html, .onnx. Try x.svg."),
        (("train", "lenet", "-o", "w.txt"), "'w.txt' ends in no .safetensors. Try w.safetensors."),
        (("train", "lenet", "--device", "gpu"), "this machine has no device 'gpu'. Try cpu."),
        (("serve", "--port", "99999"), "99999 is no port: those go from 1 to 65535. "
         "Try --port 8501."),
        (("serve", "--host", "192.0.2.1"), "192.0.2.1:8501: Cannot assign requested address. "
         "Try --host 0.0.0.0, for every address of this machine."),
    ],
)  # fmt: skip
def test_a_place_that_cannot_be_is_refused_in_one_line(
    argv: tuple[str, ...], said: str, capsys: Capture
) -> None:
    assert main(argv) == 2
    assert capsys.readouterr() == ("", f"ncd: {said}\n")


@NAMES
def test_source_is_what_the_library_gives(name: str, capsys: Capture) -> None:
    entry = ncd.catalogue[name]
    expected = ncd.source(entry.build(), name=entry.identifier)
    assert output(capsys, "source", name).rstrip() == expected.rstrip()
    found = data(capsys, "source", name)
    assert found["source"] == expected
    ast.parse(found["source"])
    plain = output(capsys, "source", name, "--no-einops")
    assert plain.rstrip() == ncd.source(entry.build(), entry.identifier, einops=False).rstrip()
    assert "einops" not in plain


@NAMES
def test_run_says_what_came_out_and_what_was_measured(name: str, capsys: Capture) -> None:
    found = data(capsys, "run", name, "--seed", "3")
    term = ncd.catalogue[name].build()
    outputs = ncd.trace(ncd.compile(term, seed=3), *ncd.example_inputs(term, seed=3)).outputs
    for said, array, out in zip(found["outputs"], term.cod, outputs, strict=True):
        assert said["array"] == str(array)
        assert said["shape"] == list(out.shape)
        assert said["mean"] == pytest.approx(out.double().mean().item(), abs=1e-6)
        assert said["std"] == pytest.approx(out.double().std(unbiased=False).item(), rel=1e-4)
    assert found["finite"] is True
    assert 0 < found["seconds"]["forward"] < found["seconds"]["forward and backward"]
    stated = peak(ncd.elaborate(term))
    assert found["bytes"]["stated"] == stated
    assert 0 < found["bytes"]["forward"] <= found["bytes"]["backward"] <= stated
    text = output(capsys, "run", name, "--seed", "3")
    assert "outputs and gradients are finite" in text
    assert f"{stated:,} bytes" in text


@pytest.mark.parametrize(
    "argv",
    [
        ["list"],
        ["show", MHA],
        ["cost", MHA, "--json"],
        ["ask", "net.py"],
        ["completion", "bash"],
    ],
    ids=" ".join,
)
def test_what_is_printed_can_be_a_file(
    argv: list[str], capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text("nn.Linear(8, 3)(torch.randn(2, 9))")
    code = int(argv[0] == "ask")  # of a source that fails
    printed = output(capsys, *argv, code=code)
    assert output(capsys, *argv, "-o", "-", code=code) == printed
    said = output(capsys, *argv, "-o", "report.txt", code=code)
    assert Path("report.txt").read_text() == printed
    assert said == f"report.txt: {len(printed.encode()):,} bytes\n"


# --- refusals ------------------------------------------------------------------------------------

REFUSALS: list[tuple[list[str], str]] = [
    (
        ["show", "zzz"],
        "ncd: there is no system 'zzz'. Try a name that ncd list prints.",
    ),
    (["show", "nope"], "ncd: there is no system 'nope'. Try a name that ncd list prints."),
    (["show", "residual-blok"], "ncd: there is no system 'residual-blok'. Try residual-block."),
    (
        ["show", "a\nb"],
        "ncd: there is no system 'a\\nb'. Try a name that ncd list prints.",
    ),
    (["show", MHA, "--set", "h"], "ncd: --set 'h' has no =. Try --set h=4."),
    (["show", MHA, "--set", "h="], "ncd: h is '', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=abc"], "ncd: h is 'abc', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=2.5"], "ncd: h is '2.5', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=0"], "ncd: h is 0, but it is 1 or more. Try h = 1."),
    (
        ["show", MHA, "--set", "causal=2"],
        "ncd: causal is 2, but it goes from 0 to 1. Try causal = 1.",
    ),
    (
        ["show", MHA, "--set", "h=9999999999999"],
        "ncd: axis h has size 9999999999999, but a size is a whole number, at most "
        "1,000,000,000,000. Try h = 1000000000000.",
    ),
    (
        ["show", MHA, "--preset", "gpt-2"],
        "ncd: multi-head-attention: there is no preset 'gpt-2'. Try gpt-2-small.",
    ),
    (
        ["show", "residual-block", "--preset", "resnet-50"],
        "ncd: residual-block: there is no preset 'resnet-50'. Try resnet-50-conv2.",
    ),
    (
        ["show", MHA, "--set", "h=" + "9" * 5000],
        f"ncd: h is '{'9' * 38}…, but it is a whole number. Try h = 4.",
    ),
    (
        ["source", MHA, "--set", "heads=3"],
        "ncd: multi-head-attention: there is no knob 'heads'. Try one of h, k, m, y, x, causal.",
    ),
    (
        ["render", MHA, "-o", "x.svg", "--folded", "Lineal"],
        "ncd: there is no block 'Lineal'. Try Linear.",
    ),
    (
        ["render", MHA, "-o", "x.svg", "--width", "nan"],
        "ncd: draw: nothing is nan pixels wide. Try width 1280.",
    ),
    (["run", MHA, "--device", "tpu"], "ncd: this machine has no device 'tpu'. Try {devices}."),
    (["check", "--device", "tpu"], "ncd: this machine has no device 'tpu'. Try {devices}."),
    (
        ["check", "--set", "h=2"],
        "ncd: --set needs the system whose knobs it turns. Try check NAME --set ….",
    ),
    (
        ["render", MHA, "-o", ".svg"],
        "ncd: '.svg' ends in none of .svg, .png, .pdf, .tex, .html, .onnx. Try diagram.svg.",
    ),
    (
        ["render", MHA, "-o", "x.gif"],
        "ncd: 'x.gif' ends in none of .svg, .png, .pdf, .tex, .html, .onnx. Try x.svg.",
    ),
    (
        ["render", MHA, "-o", "x"],
        "ncd: 'x' ends in none of .svg, .png, .pdf, .tex, .html, .onnx. Try x.svg.",
    ),
    (
        ["render", MHA, "-o", "/nowhere/at/all/x.svg"],
        "ncd: cannot write '/nowhere/at/all/x.svg': No such file or directory. Try another file.",
    ),
    (["source", MHA, "-o", "x.txt"], "ncd: 'x.txt' ends in no .py. Try x.py."),
    (
        ["render", MHA, "-o", "x.png", "--to", "svg"],
        "ncd: --to svg and -o x.png are two kinds of file. Try -o x.svg.",
    ),
    (
        ["render", MHA, "-o", "x.svg", "--scale", "3"],
        "ncd: --scale changes nothing in a .svg file. Try -o FILE.png.",
    ),
    (
        ["render", MHA, "-o", "x.pdf", "--picture"],
        "ncd: --picture changes nothing in a .pdf file. Try -o FILE.tex.",
    ),
    (
        ["render", MHA, "-o", "x.html", "--width", "0"],
        "ncd: --width changes nothing in a .html file. Try -o FILE.svg.",
    ),
    (
        ["render", MHA, "--to", "onnx", "-o", "-", "--labels", "both"],
        "ncd: --labels changes nothing in a .onnx file. Try -o FILE.svg.",
    ),
    (
        ["import", "net.py:Net", "--dark"],
        "ncd: --dark says how -o draws, and there is no -o. Try -o FILE.svg.",
    ),
    (
        ["import", "net.py:Net", "--to", "svg"],
        "ncd: --to svg says what -o writes, and there is no -o. Try -o - --to svg.",
    ),
    (
        ["cost", MHA, "--inputs", "2x8"],
        f"ncd: --inputs are of a module that is run, and '{MHA}' is a system of the catalogue. "
        "Try --set.",
    ),
    (
        ["serve", "--inputs", "2x8"],
        "ncd: --inputs are of a module that is run, and none is given. Try FILE.py:NAME.",
    ),
    (
        ["site", "elementwise", "--inputs", "2x8", "-o", "public"],
        "ncd: --inputs are of a module that is run, and none is given. Try FILE.py:NAME.",
    ),
    (
        ["list", "-o", "/nowhere/at/all/x.txt"],
        "ncd: cannot write '/nowhere/at/all/x.txt': No such file or directory. Try another file.",
    ),
    (
        ["render", MHA, "-o", "x.png", "--scale", "0"],
        "ncd: png: a picture cannot have 0.0 pixels a unit. Try scale 2.",
    ),
    (
        ["render", MHA, "-o", "x.png", "--scale", "nan"],
        "ncd: png: a picture cannot have nan pixels a unit. Try scale 2.",
    ),
]


@pytest.mark.parametrize(("argv", "message"), REFUSALS, ids=[case[1][:50] for case in REFUSALS])
def test_a_wrong_value_is_one_line_that_says_what_would_work(
    argv: list[str], message: str, capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == message.replace("{devices}", " or ".join(ncd.devices())) + "\n"
    assert list(tmp_path.iterdir()) == []


USAGE: list[tuple[list[str], str]] = [
    (["foo"], "python -m ncd: argument COMMAND: invalid choice: 'foo' (choose from "),
    (["help", "foo"], "python -m ncd: argument COMMAND: invalid choice: 'foo' (choose from "),
    (
        ["render", MHA, "-o", "x.svg", "--open", "--folded", "Linear"],
        "python -m ncd render: argument --folded: not allowed with argument --open. Try ",
    ),
    (
        ["render", MHA, "-o", "-", "--to", "gif"],
        "python -m ncd render: argument --to: invalid choice: 'gif' (choose from ",
    ),
    (["show"], "python -m ncd show: the following arguments are required: SYSTEM. Try "),
    (["render", MHA], "python -m ncd render: the following arguments are required: -o/--output."),
    (
        ["run", MHA, "--seed", "x"],
        "python -m ncd run: argument --seed: invalid int value: 'x'. Try ",
    ),
    (["list", "--bar\nbaz"], "python -m ncd: unrecognized arguments: --bar baz. Try "),
    (
        ["render", MHA, "-o", "x.svg", "--labels", "none"],
        "python -m ncd render: argument --labels: invalid choice: 'none' (choose from ",
    ),
]


@pytest.mark.parametrize(("argv", "start"), USAGE, ids=[case[1][:50] for case in USAGE])
def test_a_wrong_command_is_one_line_as_well(argv: list[str], start: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert err.startswith(start)
    assert err.count("\n") == 1
    assert "--help." in err


def test_a_run_over_the_limit_is_refused(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_FLOPS", "1e6")
    assert main(["run", MHA]) == 2
    assert capsys.readouterr().err == (
        "ncd: Linear K: the run needs 1,488,896 floating-point operations, and the limit "
        "NCD_MAX_FLOPS is 1,000,000. Bound so far: x 22, m 128, k 16, h 4. Try m = 82.\n"
    )


def test_a_folder_is_no_file(capsys: Capture, tmp_path: Path) -> None:
    (tmp_path / "x.svg").mkdir()
    assert main(["render", MHA, "-o", str(tmp_path / "x.svg")]) == 2
    assert "Is a directory. Try another file." in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["--help"], ["help"], []])
def test_help_names_every_command(argv: list[str], capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for command in COMMANDS:
        assert re.search(rf"\n    {command}\s", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command(command: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["help", command])
    asked = capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([command, "--help"])
    assert asked == capsys.readouterr().out
    assert asked.startswith(f"usage: python -m ncd {command} ")
    assert ("-o" in asked) is (command not in ("open", "serve", "crowd"))  # which print nothing


def test_serve_hands_the_address_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from ncd.app.host import serve

    given: list[tuple[str, int]] = []
    monkeypatch.setattr(serve, "serve", lambda host, port: given.append((host, port)))
    assert main(["serve", "--host", "0.0.0.0", "--port", "9000"]) == 0
    assert main(["serve"]) == 0
    assert given == [("0.0.0.0", 9000), ("127.0.0.1", 8501)]


# --- the terminal --------------------------------------------------------------------------------


def test_a_question_shows_its_steps_on_a_terminal(tmp_path, monkeypatch, capsys):
    (tmp_path / "net.py").write_text("from torch import nn\nnn.Linear(8, 4)(torch.randn(2, 8))\n")
    asked = ["ask", str(tmp_path / "net.py")]
    assert main(asked) == 0
    piped = capsys.readouterr()
    assert piped.err == ""  # as its reader takes lines
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    assert main(asked) == 0
    assert capsys.readouterr().out == piped.out
    said = [re.sub("[█·]+ ", "", part) for part in shown.getvalue().split("\r\x1b[K")]
    assert said == ["", *(f"{n}/3 {step}" for n, step in enumerate(STEPS)), ""]


def test_the_bar_is_only_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    times = iter((0.0, 0.0, 50.0, 100.0))
    progress = terminal.ProgressBar(lambda: next(times))
    progress(1, 2, "work")
    assert plain.getvalue() == ""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    said = []
    for done in (0, 3, 5, 15, 30):
        progress(done, 30, "work")
        said.append(seen.getvalue().rpartition("\r\x1b[K")[2].lstrip("█·"))
    assert said == [
        " 0/30 work",
        " 3/30 work, about 0 s left",
        " 5/30 work, about 4 min left",
        " 15/30 work, about 2 min left",
        "",
    ]
    assert "\x1b[K" + "█" * 15 + "·" * 15 + " 15/30" in seen.getvalue()


ROOT = Path(__file__).parents[2]


def shell(command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """What a shell sees; its own process."""
    return subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PY": sys.executable, **environment},
        timeout=120,
    )


@pytest.mark.slow
def test_a_process_of_its_own() -> None:
    """A reader that goes away, a terminal without ×, and a plain error."""
    piped = shell('"$PY" -m ncd show multi-head-attention | head -1')
    assert (piped.stdout[:20], piped.stderr) == ("Multi-head attention", "")
    poor = shell('"$PY" -m ncd show multi-head-attention', PYTHONIOENCODING="ascii")
    assert (poor.returncode, poor.stderr) == (0, "")
    assert "20?128" in poor.stdout
    light = shell('"$PY" -X importtime -m ncd list 2>&1 >&- | grep -cE " (torch|streamlit)$"')
    assert light.stdout == "0\n"  # they take seconds
    assert shell('"$PY" -m ncd --version').stdout == f"ncd {ncd.__version__}\n"
    wrong = shell('"$PY" -m ncd show zzz')
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("ncd: there is no system 'zzz'.")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only where there is a full device")
def test_a_full_disk_is_one_line() -> None:
    full = shell('"$PY" -m ncd list > /dev/full')
    assert (full.returncode, full.stderr) == (1, "ncd: cannot write: No space left on device.\n")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C is heard by what is begun here, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
@pytest.mark.parametrize("library", ["libtorch_cpu", "highspy"])
@pytest.mark.usefixtures("interruptible")
def test_a_command_that_is_stopped_says_nothing(library: str) -> None:
    """While torch is still being imported, and while systems are drawn."""
    process = subprocess.Popen(
        [sys.executable, "-m", "ncd", "check"], cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    until(lambda: library in Path(f"/proc/{process.pid}/maps").read_text())
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert said == ""
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.slow
@pytest.mark.skipif(
    not (Path("/proc/self").exists() and shutil.which("caddy")), reason="needs /proc and Caddy"
)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("interruptible")
def test_a_crowd_that_is_stopped_while_it_starts_says_nothing(number: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "ncd", "crowd", "--port", port]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    until(lambda: "libtorch_cpu" in Path(f"/proc/{process.pid}/maps").read_text())
    process.send_signal(number)
    assert (process.communicate(timeout=60)[0], process.returncode) == ("", 0)


LOST = {
    "it becomes another error, as where HiGHS is imported": """try:
        stop()
    except KeyboardInterrupt:
        raise ImportError('initialization failed')""",
    "nobody catches it, as at the end of a value": """class Value:
        def __del__(self):
            stop()
    Value()""",
    "it is caught, and the command goes on to its end": """with suppress(BaseException):
        stop()
    print('the result', flush=True)
    print('a warning', file=sys.stderr)""",
}
STOPPED = """
import os, signal, sys
from contextlib import suppress
sys.argv = ["ncd"]
import ncd.__main__ as command
stop = lambda: os.kill(os.getpid(), signal.SIGINT)
def main():
    {}
    return 0
command.main = main
sys.exit(command.entry_point())
"""


@pytest.mark.parametrize("way", LOST)
@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_is_silent_whatever_becomes_of_it(way: str) -> None:
    script = STOPPED.format(LOST[way])
    ended = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
