"""Layouts by a process that keeps running: what it gives, and what is said when it gives none."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ncd.explain import graphviz_layout
from ncd.explain.graphviz_layout import LayoutError, svg

# Stands for dot: the picture of each line is its length.
LENGTHS = """
import sys
for line in sys.stdin:
    n = len(line) - 1
    print(f'<?xml?><svg id="page0,1_a"><g id="page0,1_b">{n}</g></svg>', flush=True)
"""
SILENT = "import sys; sys.stdin.read()"
BROKEN = "Graphviz on this server is broken: it gave no picture."
Install = Callable[[str], None]


@pytest.fixture
def dot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a Python script the program that is found as dot."""
    idle: list[graphviz_layout._Program] = []
    monkeypatch.setattr(graphviz_layout, "_IDLE", idle)

    def install(script: str) -> None:
        file = tmp_path / f"dot{len(list(tmp_path.iterdir()))}"
        file.write_text(f"#!{sys.executable} -IS\n{script}")
        file.chmod(0o755)
        monkeypatch.setattr(shutil, "which", {"dot": str(file)}.get)

    yield install
    for program in idle:
        program.stop()


def refusal(graph: str, patience: float) -> str:
    with pytest.raises(LayoutError) as error:
        svg(graph, patience)
    return str(error.value)


def test_one_process_draws_all_graphs(dot: Install) -> None:
    dot(LENGTHS)
    for graph in ("abc", "", "x" * 300_000):  # more than a pipe holds
        assert svg(graph, 60) == f'<svg id="a"><g id="page0,1_b">{len(graph)}</g></svg>'
        (program,) = graphviz_layout._IDLE
        assert program.alive
    first = program.process.pid
    svg("abc", 60)
    assert [program.process.pid for program in graphviz_layout._IDLE] == [first]


def test_a_picture_may_begin_at_once(dot: Install) -> None:
    dot(LENGTHS.replace("<?xml?>", ""))
    assert svg("abc", 60) == '<svg id="a"><g id="page0,1_b">3</g></svg>'


def test_another_program_takes_the_place_of_the_first(dot: Install) -> None:
    dot(LENGTHS)
    svg("abc", 60)
    (old,) = graphviz_layout._IDLE
    dot(LENGTHS)
    assert "<g" in svg("abc", 60)
    (new,) = graphviz_layout._IDLE
    assert new is not old and new.alive and not old.alive


def test_a_process_that_has_ended_is_replaced(dot: Install) -> None:
    dot(LENGTHS)
    svg("abc", 60)
    graphviz_layout._IDLE[0].process.kill()
    graphviz_layout._IDLE[0].process.wait()
    assert "<g" in svg("abc", 60) and graphviz_layout._IDLE[0].alive


def test_a_server_without_graphviz_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert refusal("a", 60) == (
        "Graphviz is not installed on this server: there is no program “dot”."
    )
    monkeypatch.setattr(shutil, "which", lambda name: "/no/such/file")
    assert refusal("a", 60) == BROKEN


@pytest.mark.parametrize("script", ["", "print('<svg></svg>')", LENGTHS.replace("<g", "<p")])
def test_a_process_without_a_picture_is_broken(script: str, dot: Install) -> None:
    dot(script)
    assert refusal("x" * 300_000, 60) == BROKEN
    assert graphviz_layout._IDLE == []


def test_a_graph_that_takes_too_long_ends_its_process(
    dot: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[graphviz_layout._Program] = []

    class Watched(graphviz_layout._Program):
        def __init__(self, command: str) -> None:
            super().__init__(command)
            made.append(self)

    monkeypatch.setattr(graphviz_layout, "_Program", Watched)
    dot(SILENT)
    assert refusal("a", 0.01) == "Graphviz took more than 0.01 s for this graph."
    (program,) = made
    assert not program.alive and graphviz_layout._IDLE == []
