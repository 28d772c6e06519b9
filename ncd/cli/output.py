"""Output of the commands: tables, JSON, a progress bar."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from time import monotonic
from typing import TextIO

from ncd.lang.errors import ParseError

STDOUT = "-"  # the file that stands for standard output


def print_json(data: object) -> int:
    print(json.dumps(data, indent=2, ensure_ascii=False))
    return 0


def print_table(rows: Sequence[Sequence[object]], right: Collection[int] = ()) -> None:
    """Prints rows with aligned columns; ``right`` are the columns of numbers."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = max(map(len, cells))
    widths = [max(len(row[i]) for row in cells if i < len(row)) for i in range(columns)]
    for row in cells:
        padded = (
            text.rjust(width) if i in right else text.ljust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=False))
        )
        print("  ".join(padded).rstrip())


def worded(value: object) -> str:
    """Returns a value as the text of a table cell.

    >>> worded({"h": 8, "k": 64}), worded(0.123456)
    ('h 8, k 64', '0.1235')
    """
    if isinstance(value, Mapping):
        return sizes_text(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def sizes_text(knobs: Mapping[str, int]) -> str:
    """Returns sizes as text: ``h 8, k 64``."""
    return ", ".join(f"{name} {value}" for name, value in knobs.items())


class Progress:
    """A bar on stderr, if that is a terminal, with the time left at the pace so far."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock, self.begun = clock, clock()

    def __call__(self, done: int, total: int, what: str) -> None:
        if not sys.stderr.isatty():
            return
        filled = 30 * done // total
        bar = "█" * filled + "·" * (30 - filled)
        text = f"{bar} {done}/{total} {what}{self._left(done, total)}" if done < total else ""
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def _left(self, done: int, total: int) -> str:
        if not done:
            return ""
        seconds = (self.clock() - self.begun) * (total - done) / done
        time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        return f", about {time} left"


def file_kind(file: str, kinds: Collection[str], to: str = "") -> str:
    """Returns the suffix of a file, or the first of ``kinds`` if it is ``-``, standard output.

    ``to`` is the suffix to take, without its dot, whatever the file is called.

    >>> file_kind("a.PDF", [".svg", ".pdf"]), file_kind("-", [".svg", ".pdf"])
    ('.pdf', '.svg')
    >>> file_kind("-", [".svg", ".pdf"], "pdf")
    '.pdf'

    Raises ParseError for one that is not among ``kinds``.
    """
    path, (first, *_) = Path(file), kinds
    kind = f".{to}" if to else first if file == STDOUT else path.suffix.lower()
    if kind not in kinds:
        ends = ", ".join(kinds)
        what = f"none of {ends}" if len(kinds) > 1 else f"no {ends}"
        stem = "diagram" if path.name.startswith(".") else path.stem  # of ".svg" it is all
        raise ParseError(f"{file!r} ends in {what}", cure=f"{stem}{first}")
    return kind


def check_output(file: str | None, json: bool, to: str) -> None:
    """Raises ParseError if a file and a report in JSON would both go to standard output.

    Also for the kind of a file, ``to``, where none is written.
    """
    if to and not file:
        fact = f"--to {to} says what -o writes, and there is no -o"
        raise ParseError(fact, cure=f"-o - --to {to}")
    if file == STDOUT and json:
        fact = "-o - and --json both write to standard output"
        raise ParseError(fact, cure="-o FILE, or no --json")


def report_beside(file: str | None) -> AbstractContextManager[object]:
    """Prints what is said inside on stderr, if the file goes to standard output."""
    return redirect_stdout(sys.stderr) if file == STDOUT else nullcontext()


def write(file: str, data: bytes) -> None:
    """Writes a file, or to standard output for ``-``; raises ParseError if that fails."""
    if file == STDOUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise ParseError(f"cannot write {file!r}: {reason}", cure="another file") from None


def replace_unprintable() -> None:
    """Prints ? for characters that the terminal cannot show."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def discard_output(*streams: TextIO) -> None:
    """Discards all further output of these streams, so that no error appears at the end."""
    for stream in streams:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
