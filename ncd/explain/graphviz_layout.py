"""Graph layouts by Graphviz, through ``dot`` processes that keep running.

Starting ``dot`` takes longer than most layouts: for multi-head attention a running process answers
in 2.4 ms, where ``graphviz.Source.pipe`` takes 15 ms (encoder-decoder: 48 and 74 ms).
"""

from __future__ import annotations

import os
import select
import shutil
import subprocess
from threading import Lock
from time import monotonic

END = b"</svg>"
PAGE = 'id="page0,1_'  # a process numbers the second graph and later ones as pages
SPARE = 2  # idle processes that are kept
_LOCK = Lock()
_IDLE: list[_Program] = []


class LayoutError(Exception):
    """Graphviz made no layout; the message is a sentence for the visitor."""


def svg(dot: str, patience: float) -> str:
    """Lays out a graph and returns it as SVG.

    Args:
        dot: The graph in Graphviz's language.
        patience: Seconds to wait at most.

    Raises:
        LayoutError: If Graphviz is missing, broken or too slow.
    """
    command = shutil.which("dot")
    if command is None:
        raise LayoutError("Graphviz is not installed on this server: there is no program “dot”.")
    end = monotonic() + patience
    try:
        picture = _draw_svg(_waiting(command), dot, end) or _draw_svg(_Program(command), dot, end)
    except TimeoutError:
        raise LayoutError(f"Graphviz took more than {patience:g} s for this graph.") from None
    except OSError:
        picture = ""
    if not picture:
        raise LayoutError("Graphviz on this server is broken: it gave no picture.")
    return picture


def _draw_svg(program: _Program | None, dot: str, end: float) -> str:
    """Returns the SVG from a process; empty if there is no process, or it gave no picture."""
    if program is None:
        return ""
    try:
        found = program.draw(dot, end)
    except TimeoutError:
        program.stop()
        raise
    picture = found[max(0, found.find("<svg")) :].replace(PAGE, 'id="', 1)
    if "<g" not in picture:
        program.stop()
        return ""
    _give_back(program)
    return picture


def _waiting(command: str) -> _Program | None:
    """Returns an idle process, or None."""
    with _LOCK:
        while _IDLE:
            program = _IDLE.pop()
            if program.command == command and program.alive:
                return program
            program.stop()
    return None


def _give_back(program: _Program) -> None:
    with _LOCK:
        if len(_IDLE) < SPARE and program.alive:
            _IDLE.append(program)
            return
    program.stop()


class _Program:
    """A running ``dot`` process that reads one graph after another and writes an SVG for each."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.process = subprocess.Popen(
            [command, "-Tsvg"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        )
        assert self.process.stdin and self.process.stdout
        self.into, self.out = self.process.stdin.fileno(), self.process.stdout.fileno()
        os.set_blocking(self.into, False)

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def draw(self, dot: str, end: float) -> str:
        """Returns the SVG of a graph; empty if the process ends first.

        Raises TimeoutError after the time ``end``.
        """
        rest, found = dot.encode() + b"\n", b""
        while END not in found and (left := end - monotonic()) > 0:
            wanted = [self.into] if rest else []
            readable, writable, _ = select.select([self.out], wanted, [], left)
            if readable:
                more = os.read(self.out, 1 << 16)
                if not more:
                    return ""
                found += more
            elif writable:
                rest = self._write_available(rest)
        if END not in found:
            raise TimeoutError
        return found[: found.find(END) + len(END)].decode(errors="replace")

    def _write_available(self, text: bytes) -> bytes:
        """Writes as much of a text as fits; returns the rest, nothing if the pipe is closed."""
        try:
            return text[os.write(self.into, text) :]
        except BrokenPipeError:
            return b""

    def stop(self) -> None:
        """Kills the process and closes its pipes."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
