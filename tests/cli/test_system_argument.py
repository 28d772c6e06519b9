"""The system that a command is given: a name, a file, a module in a file, standard input."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch
from urllib.parse import unquote_plus

import numpy as np
import pytest
import torch

import ncd
from ncd.__main__ import main, parser
from ncd.app.host import serve
from ncd.app.state.link_text import decompress_text
from ncd.cli.commands import _page_of
from ncd.cli.system_argument import is_file
from ncd.write.term_json import term_of_file
from tests.cli.test_commands import Capture, data, output
from tests.support.polling import until

TERM = 'Axes(y=5, m=8, k=3)(Id("y m") >> Linear("m -> k", "W"))'
NET = """import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 10)

    def forward(self, x):
        return self.down(self.up(x).relu())
"""
PARAMETERS = 16 * 64 + 64 + 64 * 10 + 10


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def net() -> str:
    Path("small-net.py").write_text(NET)
    return "small-net.py"


@pytest.fixture
def term() -> str:
    Path("line.ncd").write_text(TERM)
    return "line.ncd"


def refusal(capsys: Capture, *argv: str) -> str:
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    return err


CONFIG = '{"model_type": "gpt2", "n_layer": 1, "n_embd": 8, "n_head": 2, "vocab_size": 32}'
CONFIG_PARAMETERS = (32 + 1024) * 8 + (3 * 16 + 8 * 24 + 24 + 8 * 8 + 8 + 2 * 8 * 32 + 32 + 8)
# Each kind of system, as it is given, with the parameters that it has.
KINDS: dict[str, tuple[list[str], int]] = {
    "a name": (["elementwise"], 0),
    "a term": (["line.ncd"], 8 * 3),
    "a source": (["small-net.py"], PARAMETERS),
    "a configuration": (["config.json"], CONFIG_PARAMETERS),
    "a module": (["small-net.py:Net", "--inputs", "2x16"], PARAMETERS),
    "standard input": (["-"], 8 * 3),
}


@pytest.mark.usefixtures("term", "net")
@pytest.mark.parametrize("kind", KINDS)
def test_every_command_takes_every_kind_of_system(
    kind: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("config.json").write_text(CONFIG)
    given, parameters = KINDS[kind]

    def with_standard_input() -> None:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TERM.encode())))

    def printed(command: str, *more: str) -> str:
        with_standard_input()
        return output(capsys, command, *given, *more)

    assert json.loads(printed("cost", "--json"))["total"]["parameters"] == parameters
    shown = json.loads(printed("show", "--json"))
    assert printed("render", "-o", "drawn.svg") and printed("source", "-o", "made.py")
    drawn = term_of_file(Path("drawn.svg").read_text())
    assert (drawn.dom.spec, drawn.cod.spec) == (shown["dom"], shown["cod"])
    shapes = [array.shape for array in drawn.cod]
    own: dict[str, Any] = {}
    exec(Path("made.py").read_text(), own)
    ran = json.loads(printed("run", "--json"))
    assert ran["finite"] and [tuple(out["shape"]) for out in ran["outputs"]] == shapes
    written = printed("site", "-o", "public")
    assert written.startswith("public: 1 systems, ")
    shared = {"index.html", "legend", "ninety-seconds", "pictures", "runtime"}
    (folder,) = {*os.listdir("public")} - shared
    held = term_of_file(Path("public", folder, "index.html").read_text())
    assert ncd.cost(held).parameters == parameters
    with_standard_input()
    with patch.dict("ncd.app.scene.own_entry.SERVED_MODULES"):
        assert page(*given).partition("?")[0] in ("yours", folder)


def test_the_site_of_a_module_has_its_weights_and_says_where_it_comes_from(capsys: Capture) -> None:
    """So that a run in the browser gives what the module gives."""
    Path("twos.py").write_text(
        "import torch\nfrom torch import nn\nnet = nn.Linear(3, 4, bias=False)\n"
        "nn.init.constant_(net.weight, 2.0)\n"
    )
    assert output(capsys, "site", "twos.py:net", "--inputs", "2x3", "-o", "public")
    weights = np.frombuffer(Path("public/own-net/trained.bin").read_bytes(), "<f4")
    assert weights.tolist() == [2.0] * 12
    page = Path("public/own-net/index.html").read_text()
    assert "Read from <code>twos.py:net</code>." in page and "of the module itself" in page
    assert "Why it works" not in page  # of which nobody has written anything
    first = Path("public/index.html").read_text()
    assert '"href": "own-net/"' in first and '"lead": "Read from twos.py:net."' in first


def test_two_files_of_a_site_cannot_be_one_page(capsys: Capture, term: str) -> None:
    Path("other").mkdir()
    Path("other/line.ncd").write_text(TERM)
    said = refusal(capsys, "site", term, "other/line.ncd", "-o", "public")
    assert said == (
        "ncd: line.ncd and other/line.ncd would both be own-line. "
        "Try a copy of one under another name.\n"
    )
    assert not Path("public").exists()
    assert output(capsys, "site", term, term, "-o", "public").startswith("public: 1 systems, ")


def test_shapes_of_inputs_are_refused_where_no_module_is_run(capsys: Capture, term: str) -> None:
    for command in (("cost",), ("render", "-o", "x.svg"), ("open", "--port", "8659")):
        assert refusal(capsys, *command, term, "--inputs", "2x8") == (
            f"ncd: --inputs are of a module that is run, and {term} is read, and never run. "
            "Try FILE.py:NAME.\n"
        )


def test_every_command_takes_the_text_of_a_term(capsys: Capture, term: str) -> None:
    drawn = "line.svg"
    assert output(capsys, "render", term, "-o", drawn).startswith(f"{drawn}: ")
    assert term_of_file(Path(drawn).read_text()) == ncd.parse(TERM)
    shown = output(capsys, "show", term).splitlines()
    assert shown[:2] == [f"line ({term})", "y m → y k"]
    assert data(capsys, "cost", term)["total"]["parameters"] == 8 * 3  # type: ignore[index,call-overload]
    assert "class Line(nn.Module):" in output(capsys, "source", term)
    assert "5×3" in output(capsys, "run", term)


def test_a_source_is_read_and_never_run(capsys: Capture, net: str) -> None:
    Path(net).write_text(NET + "\nraise SystemExit(3)\n")
    total = output(capsys, "cost", net).splitlines()[6].split()
    assert total[:2] == ["total", f"{PARAMETERS:,}"]


def test_a_module_is_run_and_its_source_is_equal_to_it(capsys: Capture, net: str) -> None:
    written = output(capsys, "source", f"{net}:Net", "--inputs", "2x16")
    mine, theirs = {}, {}  # type: ignore[var-annotated]
    exec(written, mine)
    exec(NET, theirs)
    ours, given = mine["Net"](), theirs["Net"]()
    ours.load_state_dict(given.state_dict())
    x = torch.randn(2, 16)
    assert torch.equal(ours(x), given(x))


def test_standard_input_is_a_text(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(TERM.encode())))
    assert output(capsys, "cost", "-").startswith("Net (standard input)\n")


def test_what_cannot_be_shown_says_why(capsys: Capture, net: str) -> None:
    wrong = "wrong.py"
    Path(wrong).write_text("nn.Linear(8, 3)(torch.randn(2, 9))")
    said = refusal(capsys, "show", wrong)
    assert said.startswith(f"ncd: {wrong}, line 1: Linear gets 9 features")
    assert said.endswith(f"Try ncd ask {wrong}, which says what would work.\n")
    Path("alone.ncd").write_text('Copy("t:2 m:3")\n>> Add()\n>> Add()')  # ask says no more of it
    assert refusal(capsys, "show", "alone.ncd") == (
        "ncd: alone.ncd, line 3: Add ((), () -> ()): it adds two arrays of the same axes, and "
        'beside (t m) there is none with axes. Try Copy("t m") before the branch, whose second '
        "copy waits for the sum.\n"
    )
    assert refusal(capsys, "render", "none.py", "-o", "x.svg") == (
        "ncd: cannot read 'none.py': No such file or directory. Try another file.\n"
    )
    assert refusal(capsys, "cost", net, "--preset", "gpt-2") == (
        f"ncd: --preset is of a system of the catalogue, and {net!r} is a file. Try --set.\n"
    )
    given = (f"{net}:Net", "--inputs", "2x16", "--set", "m=2")
    assert refusal(capsys, "cost", *given) == (
        f"ncd: the sizes of '{net}:Net' are those of its inputs and its layers. "
        "Try other --inputs.\n"
    )
    assert refusal(capsys, "run", f"{net}:Net") == (
        f'ncd: {net}:Net takes inputs (x), of which no shape is given. Try --inputs "2x8x128".\n'
    )
    stopped = refusal(capsys, "show", f"{net}:Net", "--inputs", "2x15")
    assert stopped.startswith(f"ncd: {net}:Net stops: ")


def test_the_sizes_of_a_text_are_set(capsys: Capture, term: str) -> None:
    assert data(capsys, "cost", term, "--set", "k=7", "--set", "m=2")["total"]["parameters"] == 14
    for pair, said in {
        "kk=7": "--set: there is no axis 'kk'. Try one of y, m, k.",
        "k": "--set 'k' has no =. Try --set m=64.",
        "k=x": "--set k=x is no size. Try --set k=64.",
    }.items():
        assert refusal(capsys, "cost", term, "--set", pair) == f"ncd: {said}\n"


def test_callouts_are_given_by_name(capsys: Capture, term: str) -> None:
    output(capsys, "render", term, "-o", "out.svg", "--note", "W=learned")
    assert "learned" in Path("out.svg").read_text()
    said = refusal(capsys, "render", term, "-o", "out.svg", "--note", "W")
    assert said == "ncd: --note 'W' has no =. Try --note \"Softmax=shares of 1\".\n"


def test_a_file_that_stops_when_it_is_run_says_where(capsys: Capture) -> None:
    Path("stops.py").write_text(f"{NET}\nNet()(torch.randn(2, 9))\n")
    given = ("import", "stops.py:Net", "--inputs", "2x16")
    cure = "Try ncd ask stops.py, which reads it and runs nothing.\n"
    said = refusal(capsys, *given)
    assert said.startswith("ncd: stops.py: it stops in line 10: RuntimeError: mat1 and mat2 shapes")
    assert said.endswith(cure)
    Path("stops.py").write_text("def f(:\n")
    assert refusal(capsys, *given) == (
        f"ncd: stops.py: it stops in line 1: SyntaxError: invalid syntax (stops.py, line 1). {cure}"
    )


def test_an_input_of_ids_is_asked_for(capsys: Capture) -> None:
    Path("ids.py").write_text("from torch import nn\nnet = nn.Embedding(100, 4)\n")
    assert refusal(capsys, "import", "ids.py:net", "--inputs", "2x8") == (
        "ncd: it looks up whole numbers, and 2x8 are real ones. "
        'Try --inputs "2x8#100", of whole numbers below 100.\n'
    )


def test_no_name_of_the_catalogue_is_taken_for_a_file() -> None:
    assert not any(map(is_file, ncd.catalogue))


# --- `ncd open`: the page of a system, and the browser that shows it once it is served


def page(*argv: str) -> str:
    return _page_of(parser().parse_args(["open", *argv]))


def test_a_system_opens_on_the_page_that_it_has(term: str, net: str) -> None:
    assert page("gpt-2") == "gpt-2"
    where, _, query = page(term).partition("?text=")
    assert where == "yours"
    assert decompress_text(unquote_plus(query)) == TERM
    with patch.dict("ncd.app.scene.own_entry.SERVED_MODULES"):
        assert page(f"{net}:Net", "--inputs", "2x16") == "own-net"


def test_a_text_too_long_for_a_link_says_so(capsys: Capture) -> None:
    Path("long.py").write_bytes(
        b"# " + b"".join(bytes(f"{i * i * 7919:x}", "ascii") for i in range(9000))
    )
    with patch("ncd.cli.commands.check_address"):
        assert refusal(capsys, "open", "long.py") == (
            "ncd: long.py is too long for a link. "
            "Try ncd serve, and Open a file on the page Yours.\n"
        )


def test_the_browser_opens_once_the_server_answers() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, patch("webbrowser.open") as opened:
        port = server.getsockname()[1]
        serve.open_when_served("0.0.0.0", port, "gpt-2")
        server.accept()[0].close()
        until(lambda: opened.called)
    assert opened.call_args.args == (f"http://127.0.0.1:{port}/gpt-2",)


# --- `ncd completion`: what a shell offers

BASH = """
eval "$1"; shift
COMP_WORDS=(ncd "$@") COMP_CWORD=$#
_shtab_ncd ncd "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["re"], ["render"]),
        (["render", "multi"], ["multi-head-attention"]),
        (["render", "gpt-2", "--labels", "n"], ["names"]),
        (["open", "line."], ["line.ncd"]),
        (["completion", ""], ["bash", "zsh", "fish"]),
    ],
)
def test_a_shell_completes_commands_names_options_and_files(
    words: list[str], offered: list[str], term: str, capsys: Capture
) -> None:
    script = output(capsys, "completion", "bash")
    run = ["bash", "-c", BASH, "-", script, *words]
    found = subprocess.run(run, capture_output=True, text=True, check=True)
    assert found.stdout.split() == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_a_shell_holds_every_command_and_every_system(
    shell: str, capsys: Capture
) -> None:
    script = output(capsys, "completion", shell)
    assert all(name in script for name in ncd.catalogue)
    assert all(word in script for word in ("render", "completion", "--palette", "_ncd_systems"))
