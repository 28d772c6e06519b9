"""Tables, JSON, progress, and written files."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import Any, Literal, TextIO
from urllib.parse import urlencode

import ncd
from ncd.circuit.circuit import Boundary, Circuit, Value
from ncd.circuit.costs import Cost, cost
from ncd.errors import ParseError, unknown_name_error
from ncd.installation import needed_by
from ncd.language.arguments import Labels, Palette
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry
from ncd.words import table_text
from ncd.write.file_facts import LICENCE, onnx_with_facts, png_with_facts, tex_with_facts
from ncd.write.term_json import svg_with_term

# --- Data of the commands that print JSON


def entry_data(entry: Entry) -> dict[str, Any]:
    """Returns an entry with its knobs and presets."""
    names = ("name", "title", "source", "section", "type")
    own = {name: getattr(entry, name) for name in names}
    knobs = [{**vars(knob), "limits": knob.limits} for knob in entry.knobs]
    return {**own, "knobs": knobs, "presets": [vars(preset) for preset in entry.presets]}


def circuit_data(circuit: Circuit) -> dict[str, Any]:
    """Returns the states of a circuit, and of the first body of each of its loops."""
    loops = [
        {"id": loop.id, "kind": loop.kind, "states": _states_data(loop.bodies[0].states)}
        for loop in circuit.loops
    ]
    return {"states": _states_data(circuit.states), "loops": loops}


def _states_data(states: Sequence[Boundary]) -> list[list[dict[str, Any]]]:
    return [[_value_data(value) for value in state] for state in states]


def _value_data(value: Value) -> dict[str, Any]:
    array = value.array
    axes = [{"name": a.name, "size": a.size, "sequence": a.sequence} for a in array]
    below = None if array.below is None else array.below.size
    return {"id": value.id, "axes": axes, "shape": array.shape, "below": below}


def cost_data(circuit: Circuit, cost: Cost) -> dict[str, Any]:
    """Returns the costs of each op, in total, and the memory of a run."""
    ops = []
    for op in cost.ops:
        cell = circuit.cell(op.node)
        ends = {"ins": [v.id for v in cell.inputs], "outs": [v.id for v in cell.outputs]}
        ops.append({**vars(op), "module": cell.path, **ends})
    names = ("parameters", "flops", "bytes", "weight_bytes", "cache_bytes")
    total = {name: getattr(cost, name) for name in names}
    return {"ops": ops, "total": {**total, "peak": peak_bytes(circuit)}}


def peak_bytes(circuit: Circuit) -> int | None:
    """Returns the memory of a run in bytes, which torch is asked for; None where it is missing."""
    if not find_spec("torch"):
        return None
    from ncd.run.guard import peak

    return peak(circuit)


def term_data(term: Term) -> dict[str, Any]:
    """Returns the types and the costs of a term."""
    total = cost(term)
    types = {"dom": term.dom.spec, "cod": term.cod.spec}
    return {**types, "parameters": total.parameters, "flops": total.flops}


# --- Output of the commands: tables, JSON, a progress bar

STDOUT = "-"  # the file that stands for standard output


def print_json(data: object) -> int:
    print(json.dumps(data, indent=2, ensure_ascii=False))
    return 0


def print_table(rows: Sequence[Sequence[object]], right: Collection[int] = ()) -> None:
    """Prints rows with aligned columns; ``right`` are the columns of numbers."""
    print(table_text(rows, right))


def cell_text(value: object) -> str:
    """Returns a value as the text of a table cell.

    >>> cell_text({"h": 8, "k": 64}), cell_text(0.123456)
    ('h 8, k 64', '0.1235')
    """
    if isinstance(value, Mapping):
        return sizes_text(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def sizes_text(knobs: Mapping[str, int]) -> str:
    """Returns sizes as text: ``h 8, k 64``."""
    return ", ".join(f"{name} {value}" for name, value in knobs.items())


class ProgressBar:
    """A bar on stderr, if that is a terminal, with the time left at the pace so far.

    Steps that are not ``is_even`` take so different times that nothing follows for the others.
    """

    def __init__(self, clock: Callable[[], float] = monotonic, is_even: bool = True) -> None:
        self.clock, self.begun, self.is_even = clock, clock(), is_even

    def __call__(self, done: int, total: int, what: str) -> None:
        if not sys.stderr.isatty():
            return
        filled = 30 * done // total
        bar = "█" * filled + "·" * (30 - filled)
        text = f"{bar} {done}/{total} {what}{self._time_left(done, total)}" if done < total else ""
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)

    def _time_left(self, done: int, total: int) -> str:
        if not done or not self.is_even:
            return ""
        seconds = (self.clock() - self.begun) * (total - done) / done
        time = f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
        return f", about {time} left"


def file_kind(file: str, kinds: Collection[str], to: str = "") -> str:
    """Returns the suffix of a file, or the first of ``kinds`` if it is ``-``, standard output.

    ``to`` is the suffix to take, without its dot, where the name of the file has none of them.

    >>> file_kind("a.PDF", [".svg", ".pdf"]), file_kind("-", [".svg", ".pdf"])
    ('.pdf', '.svg')
    >>> file_kind("-", [".svg", ".pdf"], "pdf")
    '.pdf'

    Raises ParseError for one that is not among ``kinds``, or is another one than ``to``.
    """
    path, (first, *_) = Path(file), kinds
    if to and path.suffix.lower() in {*kinds} - {f".{to}"}:
        fact = f"--to {to} and -o {file} are two kinds of file"
        raise ParseError(fact, cure=f"-o {path.stem}.{to}")
    kind = f".{to}" if to else first if file == STDOUT else path.suffix.lower()
    if kind not in kinds:
        ends = ", ".join(kinds)
        what = f"none of {ends}" if len(kinds) > 1 else f"no {ends}"
        stem = "diagram" if path.name.startswith(".") else path.stem  # of ".svg" it is all
        raise ParseError(f"{file!r} ends in {what}", cure=f"{stem}{first}")
    return kind


def check_output(args: argparse.Namespace) -> None:
    """Raises ParseError for options of a file where none is written.

    Also if a file and a report in JSON would both go to standard output.
    """
    file, to = vars(args).get("output"), vars(args).get("to")
    if to and not file:
        fact = f"--to {to} says what -o writes, and there is no -o"
        raise ParseError(fact, cure=f"-o - --to {to}")
    for option in () if file else _options(args):
        fact = f"--{option} says how -o draws, and there is no -o"
        raise ParseError(fact, cure=f"-o FILE{KINDS_WITH[option][0]}")
    if file == STDOUT and vars(args).get("json"):
        fact = "-o - and --json both write to standard output"
        raise ParseError(fact, cure="-o FILE, or no --json")


@contextmanager
def report_in(file: str | None) -> Iterator[None]:
    """Writes what is printed inside to a file; raises ParseError if it cannot be written."""
    if not file or file == STDOUT:
        yield
        return
    with redirect_stdout(io.StringIO()) as printed:
        yield
    data = printed.getvalue().encode()
    write(file, data)
    print(f"{file}: {len(data):,} bytes")


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


# --- The writers of `render` and `import`: a term as a picture or page that names its origin

SCALE = 2.0  # of a .png
LABELS: Labels = "names"
PALETTE: Palette = "quiet"
# By file suffix; ``args.facts`` are the facts of the file's origin.
FILES: dict[str, Callable[[Term, argparse.Namespace], bytes]] = {
    ".svg": lambda term, args: svg_with_term(_drawing(term, args).svg(), term, args.facts).encode(),
    ".png": lambda term, args: png_with_facts(
        _drawing(term, args).png(SCALE if args.scale is None else args.scale), args.facts
    ),
    ".pdf": lambda term, args: _drawing(term, args).pdf(args.facts),
    ".tex": lambda term, args: tex_with_facts(
        _drawing(term, args).tex(not args.picture), args.facts
    ).encode(),
    ".html": lambda term, args: _html(term, args).encode(),
    ".onnx": lambda term, args: _onnx(term, args.facts),
}


# The options of a file, each with the kinds of file that it changes.
PICTURES = (".svg", ".png", ".pdf", ".tex")
KINDS_WITH: Mapping[str, tuple[str, ...]] = {
    "labels": (*PICTURES, ".html"),
    **dict.fromkeys(("dark", "palette", "width", "folded", "open", "note"), PICTURES),
    **dict.fromkeys(("plain", "bands", "cells"), PICTURES),
    "scale": (".png",),
    "picture": (".tex",),
}


def check_options(args: argparse.Namespace, kind: str) -> None:
    """Raises ParseError for an option that changes nothing in a file of this kind."""
    for option in _options(args):
        if kind not in (kinds := KINDS_WITH[option]):
            fact = f"--{option} changes nothing in a {kind} file"
            raise ParseError(fact, cure=f"-o FILE{kinds[0]}")


def _options(args: argparse.Namespace) -> Iterator[str]:
    """Yields the options of a file that are given; --width 0 is one."""
    for option in KINDS_WITH:
        value = vars(args).get(option)
        if value is not None and value is not False and value != []:
            yield option


LOOK = ("title", "dark", "notes", "bands", "cells")


def _html(term: Term, args: argparse.Namespace) -> str:
    from ncd.site.document import document  # takes a second, and `ncd list` needs none
    from ncd.site.entry_page import of_entry
    from ncd.site.wire_values import opening_values, random_values

    facts = args.facts
    entry = ncd.catalogue.get(facts.get("system", ""))
    system = of_entry(entry, facts["settings"]) if entry else None
    values = opening_values(entry, facts["settings"]) if entry else random_values(term, 0)
    return document(term, args.labels or LABELS, args.title, facts, system, values=values)


def _onnx(term: Term, facts: Mapping[str, Any]) -> bytes:
    with needed_by("ncd render -o FILE.onnx"):
        model = ncd.onnx(term)
    return onnx_with_facts(model.SerializeToString(), facts)


def entry_facts(entry: Entry, settings: Mapping[str, int]) -> dict[str, Any]:
    """Returns the origin of a picture of the catalogue; its link opens the same page of the app."""
    turned = {k.name: settings[k.name] for k in entry.knobs if settings[k.name] != k.default}
    return {
        "system": entry.name,
        "title": entry.title,
        "source": entry.source,
        "settings": dict(settings),
        "seed": 0,  # that of the page; a picture does not depend on it
        "link": f"/{entry.name}{'?' if turned else ''}{urlencode(turned)}",
        **package_facts(),
    }


def package_facts() -> dict[str, Any]:
    """Returns the version and the licence of the package."""
    return {"version": ncd.__version__, "licence": LICENCE}


def _drawing(term: Term, args: argparse.Namespace) -> ncd.Drawing:
    look = {name: getattr(args, name) for name in LOOK}
    return ncd.draw(
        term,
        args.labels or LABELS,
        palette=args.palette or PALETTE,
        folded=_collapsed_titles(term, args),
        width=args.width or None,
        **look,
    )


def _collapsed_titles(term: Term, args: argparse.Namespace) -> Sequence[str] | Literal["auto"]:
    """Returns the titles of the blocks to collapse."""
    titles = dict.fromkeys(fence.title for fence in ncd.elaborate(term).fences if fence.title)
    for name in args.folded:
        if name not in titles:
            raise unknown_name_error("block", name, titles)
    return args.folded or (() if args.open else "auto")
