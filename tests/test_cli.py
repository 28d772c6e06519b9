"""The command line: every command, its exit code, and the whole of what it says when it refuses."""

from __future__ import annotations

import ast
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ncd
from ncd import check, terminal
from ncd.__main__ import main

MHA = "multi-head-attention"
NAMES = pytest.mark.parametrize("name", list(ncd.catalogue))
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


def test_list_names_every_system_with_its_knobs(capsys: Capture) -> None:
    text = output(capsys, "list")
    for entry in ncd.catalogue.values():
        assert f"{entry.name}  ({entry.title}; {entry.source})" in text
        assert all(knob.help in text for knob in entry.knobs)
    found = data(capsys, "list")
    assert [entry["name"] for entry in found] == list(ncd.catalogue)
    assert found[1]["knobs"][0]["name"] == "h"
    assert (found[1]["knobs"][0]["min"], found[1]["knobs"][0]["max"]) == (1, 16)


def test_show_tells_the_shape_on_every_wire(capsys: Capture) -> None:
    text = output(capsys, "show", MHA, "--set", "h=8", "--set", "y=5")
    lines = text.splitlines()
    assert lines[0] == (
        "Multi-head attention (Notebook, figure 21), h 8, k 16, m 128, y 5, x 22, causal 0"
    )
    assert lines[1] == "y m, x m → y m"
    assert "2      v4     y 5, k 16, h 8   5×16×8" in lines
    total = next(line for line in lines if "total" in line)
    cost = ncd.cost(ncd.catalogue[MHA].build(h=8, y=5))
    assert total.split()[1:] == [f"{cost.parameters:,}", f"{cost.flops:,}", f"{cost.bytes:,}"]


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


@NAMES
@pytest.mark.parametrize("labels", check.LABELS)
def test_render_writes_an_svg(name: str, labels: str, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "drawing.svg"
    text = output(capsys, "render", name, "-o", str(path), "--labels", labels, "--dark")
    assert text == f"{path}: {path.stat().st_size:,} bytes\n"
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    expected = ncd.draw(ncd.catalogue[name].build(), labels=labels, dark=True).svg()
    assert path.read_text() == expected


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


@NAMES
def test_source_is_what_the_library_gives(name: str, capsys: Capture) -> None:
    expected = ncd.source(ncd.catalogue[name].build())
    assert output(capsys, "source", name).rstrip() == expected.rstrip()
    found = data(capsys, "source", name)
    assert found["source"] == expected
    ast.parse(found["source"])


@NAMES
def test_run_says_what_came_out_and_what_was_measured(name: str, capsys: Capture) -> None:
    found = data(capsys, "run", name, "--seed", "3")
    term = ncd.catalogue[name].build()
    (out,) = ncd.trace(ncd.compile(term, seed=3), *ncd.example_inputs(term, seed=3)).outputs
    assert found["outputs"][0]["shape"] == list(out.shape)
    assert found["outputs"][0]["mean"] == pytest.approx(out.mean().item(), abs=1e-6)
    assert found["outputs"][0]["std"] == pytest.approx(out.std(unbiased=False).item(), rel=1e-4)
    assert found["finite"] is True
    assert 0 < found["seconds"]["forward"] < found["seconds"]["forward and backward"]
    assert found["bytes"]["stated"] == ncd.cost(term).peak
    assert 0 < found["bytes"]["forward"] <= found["bytes"]["backward"]
    text = output(capsys, "run", name, "--seed", "3")
    assert "outputs and gradients are finite" in text
    assert f"{ncd.cost(term).peak:,} bytes" in text


# --- check ---------------------------------------------------------------------------------------


def test_check_of_one_system_is_clean(capsys: Capture) -> None:
    text = output(capsys, "check", MHA, "--set", "h=2")
    views = len(check.VIEWS)
    assert text == (
        f"1 entries, 1 settings, {views} views: 0 settings refused by the guard, 0 failures\n"
    )


def test_check_goes_to_the_ends_of_every_knob() -> None:
    entry = ncd.catalogue["residual-block"]
    settings = list(check.settings(entry))
    default = entry.settings({})
    assert settings[0] == default
    for knob in entry.knobs:
        assert {**default, knob.name: knob.min} in settings
        assert {**default, knob.name: knob.max} in settings
    assert {knob.name: knob.min for knob in entry.knobs} in settings
    assert {knob.name: knob.max for knob in entry.knobs} in settings
    assert len(settings) == len({tuple(s.items()) for s in settings})


def test_check_lists_what_fails_and_exits_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: check.Case) -> str:
        return "it is broken"

    def raising(case: check.Case) -> str:
        raise KeyError("lost\nand gone")

    monkeypatch.setattr(check, "VIEWS", (check.types, broken, raising))
    text = output(capsys, "check", MHA, "--set", "k=1", code=1)
    at = f"{MHA} at h = 4, k = 1, m = 128, y = 20, x = 22, causal = 0"
    assert text.splitlines() == [
        f"{at}: broken: it is broken",
        f"{at}: raising: KeyError: 'lost\\nand gone'",
        "1 entries, 1 settings, 3 views: 0 settings refused by the guard, 2 failures",
    ]


def test_check_counts_what_the_guard_refuses(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "1000")
    found = data(capsys, "check", MHA, "--set", "h=2")
    assert (len(found["refused"]), found["failures"], found["views"]) == (1, [], 0)
    assert "NCD_MAX_BYTES is 1,000" in found["refused"][0]


def views_that_fail(case: check.Case) -> list[str]:
    return [view.__name__ for view in check.VIEWS if view(case)]


def test_the_views_see_what_is_wrong() -> None:
    """A module whose weights went bad fails just the views that look at numbers."""
    case = check.Case(ncd.catalogue[MHA].build())
    assert views_that_fail(case) == []
    case = check.Case(ncd.catalogue[MHA].build())
    case.module.O.weight.data.fill_(float("nan"))
    assert {"forward", "backward"} <= set(views_that_fail(case))
    case = check.Case(ncd.catalogue[MHA].build())
    softmax = next(c for c in case.circuit.cells if isinstance(c.op, ncd.Softmax))
    case.trace.values[softmax.outputs[0].id].data.mul_(1.1)
    assert views_that_fail(case) == ["attention"]


# --- bench ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_bench_prints_medians_and_ratios(capsys: Capture) -> None:
    found = data(capsys, "bench")
    ratios = {(x["what"], x["against"].split()[0]): x["ratio"] for x in found if x["ratio"]}
    assert all(x["seconds"] > 0 for x in found)
    assert all(0.05 < ratio < 20 for ratio in ratios.values())
    assert ("forward, y 20, x 22: compiled", "by") in ratios
    assert ("forward and backward, y 512, x 512: compiled", "by") in ratios
    assert {"knobs to SVG", "knobs to source"} <= {x["what"] for x in found}


def test_what_bench_compares_with_gives_the_same_numbers() -> None:
    import torch

    from ncd.bench import ByHand, Fused

    term = ncd.catalogue[MHA].build()
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    for peer in (ByHand, Fused):
        torch.testing.assert_close(peer(module, 16, 4)(*inputs), module(*inputs))


# --- refusals ------------------------------------------------------------------------------------

REFUSALS: list[tuple[list[str], str]] = [
    (
        ["show", "zzz"],
        "ncd: there is no system 'zzz'. Try one of scaled-dot-product-attention, "
        "multi-head-attention, residual-block.",
    ),
    (["show", "residual-blok"], "ncd: there is no system 'residual-blok'. Try residual-block."),
    (
        ["show", "a\nb"],
        "ncd: there is no system 'a\\nb'. Try one of scaled-dot-product-attention, "
        "multi-head-attention, residual-block.",
    ),
    (["show", MHA, "--set", "h"], "ncd: --set 'h' has no =. Try --set h=4."),
    (["show", MHA, "--set", "h="], "ncd: h is '', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=abc"], "ncd: h is 'abc', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=2.5"], "ncd: h is '2.5', but it is a whole number. Try h = 4."),
    (["show", MHA, "--set", "h=0"], "ncd: h is 0, but it goes from 1 to 16. Try h = 1."),
    (
        ["show", MHA, "--set", "h=" + "9" * 5000],
        f"ncd: h is '{'9' * 38}…, but it is a whole number. Try h = 4.",
    ),
    (
        ["source", MHA, "--set", "heads=3"],
        "ncd: multi-head-attention: there is no knob 'heads'. Try one of h, k, m, y, x, causal.",
    ),
    (["run", MHA, "--device", "tpu"], "ncd: this machine has no device 'tpu'. Try {devices}."),
    (["check", "--device", "tpu"], "ncd: this machine has no device 'tpu'. Try {devices}."),
    (["bench", "--device", "tpu"], "ncd: this machine has no device 'tpu'. Try {devices}."),
    (
        ["check", "--set", "h=2"],
        "ncd: --set needs the system whose knobs it turns. Try check NAME --set ….",
    ),
    (
        ["bench", "--set", "n=2"],
        "ncd: multi-head-attention: there is no knob 'n'. Try one of h, k, m, y, x, causal.",
    ),
    (
        ["render", MHA, "-o", "x.pdf"],
        "ncd: 'x.pdf' ends in neither .svg nor .png. Try x.svg.",
    ),
    (["render", MHA, "-o", "x"], "ncd: 'x' ends in neither .svg nor .png. Try x.svg."),
    (
        ["render", MHA, "-o", "/nowhere/at/all/x.svg"],
        "ncd: cannot write '/nowhere/at/all/x.svg': No such file or directory. Try another file.",
    ),
    (
        ["render", MHA, "-o", "x.png", "--scale", "0"],
        "ncd: --scale is 0.0, but it goes from 0.1 to 16. Try --scale 2.",
    ),
    (
        ["render", MHA, "-o", "x.png", "--scale", "nan"],
        "ncd: --scale is nan, but it goes from 0.1 to 16. Try --scale 2.",
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
    ([], "python -m ncd: the following arguments are required: COMMAND. Try "),
    (["show"], "python -m ncd show: the following arguments are required: NAME. Try "),
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


def test_help_names_every_command(capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    for command in ("list", "show", "render", "source", "run", "check", "bench"):
        assert f"\n    {command} " in text


# --- the terminal --------------------------------------------------------------------------------


def test_the_bar_is_only_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = io.StringIO()
    monkeypatch.setattr(sys, "stderr", plain)
    terminal.progress(1, 2, "work")
    assert plain.getvalue() == ""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    terminal.progress(1, 2, "work")
    assert seen.getvalue() == "\r\x1b[K" + "█" * 15 + "·" * 15 + " 1/2 work"
    terminal.progress(2, 2, "")
    assert seen.getvalue().endswith("\r\x1b[K")


ROOT = Path(__file__).parents[1]


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
    wrong = shell('"$PY" -m ncd show zzz')
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("ncd: there is no system 'zzz'.")
