"""The command line: ``python -m ncd COMMAND``; ``--help`` tells the rest.

A wrong name or value is one line on stderr that says what would work, and exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import ncd
from ncd.circuit import Circuit, Value
from ncd.cost import Cost, OpCost
from ncd.errors import NCDError, ParseError, SizeError
from ncd.models import Entry, Knob
from ncd.terminal import forgive, print_json, print_table, progress
from ncd.terms import Term


class Parser(argparse.ArgumentParser):
    """A parser whose complaints are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{' '.join(f'{self.prog}: {message}'.split())}. Try {self.prog} --help.\n")


def parser() -> Parser:
    """The commands and their options."""
    main = Parser(prog="python -m ncd", description="Neural circuits: one term, every view.")
    commands = main.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def add(run: Callable[..., int], summary: str, *groups: Callable[[Parser], None]) -> Parser:
        command = commands.add_parser(run.__name__.rstrip("_"), help=summary, description=summary)
        for group in groups:
            group(command)
        command.add_argument("--json", action="store_true", help="print JSON instead of a table")
        command.set_defaults(run=run)
        return command

    add(list_, "the systems of the catalogue, with their knobs")
    add(show, "the shape on every wire; parameters, FLOPs and bytes per op", _name, _knobs)
    drawing = add(render, "the diagram as a file", _name, _knobs)
    drawing.add_argument("-o", "--output", required=True, metavar="FILE", help="FILE.svg or .png")
    drawing.add_argument("--labels", choices=("names", "sizes", "both"), default="names")
    drawing.add_argument("--dark", action="store_true", help="for a dark page")
    drawing.add_argument("--scale", type=float, default=2.0, help="size of a .png (default 2)")
    add(source, "the system as a PyTorch file", _name, _knobs)
    add(run, "one run, forward and backward: shapes, values, time, memory", _name, _knobs, _where)
    checking = add(check, "every system through every view at the ends of every knob", _where)
    checking.add_argument("name", nargs="?", metavar="NAME", help="one system only")
    _knobs(checking)
    add(bench, "times and ratios of multi-head attention", _knobs, _where)
    return main


def _name(command: Parser) -> None:
    command.add_argument("name", metavar="NAME", help="a system, as `list` names it")


def _knobs(command: Parser) -> None:
    command.add_argument(
        "--set", action="append", default=[], metavar="KNOB=VALUE", help="turn a knob; repeatable"
    )


def _where(command: Parser) -> None:
    command.add_argument("--seed", type=int, default=0, help="of weights and inputs (default 0)")
    command.add_argument("--device", default="cpu", help="cpu, cuda, mps (default cpu)")


# --- the commands --------------------------------------------------------------------------------


def list_(args: argparse.Namespace) -> int:
    entries = list(ncd.catalogue.values())
    if args.json:
        return print_json([_entry_data(entry) for entry in entries])
    for entry in entries:
        print(f"{entry.name}  ({entry.title}; {entry.source})")
        rows = [
            (f"    {k.name}", k.min, "…", k.max, f"default {k.default}", _why(k))
            for k in entry.knobs
        ]
        print_table(rows, right={1, 3})
    return 0


def show(args: argparse.Namespace) -> int:
    entry, knobs, term = _chosen(args)
    circuit, cost = ncd.elaborate(term), ncd.cost(term)
    if args.json:
        data = {"name": entry.name, "knobs": knobs, "dom": term.dom.spec, "cod": term.cod.spec}
        states = [[_value_data(value) for value in state] for state in circuit.states]
        return print_json({**data, "states": states, **_cost_data(circuit, cost)})
    print(f"{entry.title} ({entry.source}), {_sizes(knobs)}\n{term.dom} → {term.cod}\n")
    rows = [("state", "array", "axes", "shape")]
    for number, state in enumerate(circuit.states):
        for place, value in enumerate(state):
            axes = ", ".join(axis.sized_words for axis in value.array)
            first = str(number) if place == 0 else ""
            rows.append((first, value.id, axes, _shape(value.array.shape)))
    print_table(rows)
    ops = [("op", "name", "in → out", "parameters", "FLOPs", "bytes")]
    for op in cost.ops:
        site = circuit.cell(op.node).site
        ops.append((op.node, op.label, f"{site.ins} → {site.outs}", *_counts(op)))
    print()
    print_table([*ops, ("", "total", "", *_counts(cost))], right={3, 4, 5})
    print(f"\nweights, inputs and all that the ops make: {cost.peak:,} bytes")
    return 0


def render(args: argparse.Namespace) -> int:
    from ncd.draw import draw

    path = Path(args.output)
    if path.suffix.lower() not in (".svg", ".png"):
        raise ParseError(f"{args.output!r} ends in neither .svg nor .png", cure=f"{path.stem}.svg")
    if not 0 < args.scale <= 16:
        raise SizeError(f"--scale is {args.scale}, but it goes from 0.1 to 16", cure="--scale 2")
    _, _, term = _chosen(args)
    drawing = draw(term, labels=args.labels, dark=args.dark)
    svg = path.suffix.lower() == ".svg"
    data = drawing.svg().encode() if svg else drawing.png(args.scale)
    try:
        path.write_bytes(data)
    except OSError as error:
        reason = error.strerror or error
        raise ParseError(f"cannot write {args.output!r}: {reason}", cure="another file") from None
    if args.json:
        return print_json({"file": args.output, "bytes": len(data)})
    print(f"{args.output}: {len(data):,} bytes")
    return 0


def source(args: argparse.Namespace) -> int:
    entry, knobs, term = _chosen(args)
    text = ncd.source(term)
    if args.json:
        return print_json({"name": entry.name, "knobs": knobs, "source": text})
    print(text.rstrip("\n"))
    return 0


def run(args: argparse.Namespace) -> int:
    from ncd.run.measure import one_run

    entry, knobs, term = _chosen(args)
    data = {"name": entry.name, "knobs": knobs, **one_run(term, args.seed, args.device)}
    if args.json:
        print_json(data)
    else:
        _print_run(entry, data)
    return 0 if data["finite"] else 1


def _print_run(entry: Entry, data: Mapping[str, Any]) -> None:
    print(f"{entry.title}, {_sizes(data['knobs'])}, seed {data['seed']} on {data['device']}")
    rows: list[tuple[object, ...]] = []
    for out in data["outputs"]:
        values = (f"mean {out['mean']:.4g}", f"deviation {out['std']:.4g}")
        rows.append(("output", f"({out['array']})", _shape(out["shape"]), *values))
    for name, seconds in data["seconds"].items():
        rows.append(("median", name, f"{1e3 * seconds:.3f} ms"))
    peak = data["bytes"]
    rows += [
        ("memory", "stated", f"{peak['stated']:,} bytes"),
        ("memory", "measured, forward", f"{peak['forward']:,} bytes"),
        ("memory", "measured, forward and backward", f"{peak['backward']:,} bytes"),
    ]
    print_table(rows)
    print(f"stated: weights, inputs, what the ops make; measured: {peak['how']}")
    print(f"outputs and gradients are {'' if data['finite'] else 'NOT '}finite")


def check(args: argparse.Namespace) -> int:
    from ncd.check import check as check_all
    from ncd.run.device import device

    device(args.device)
    if args.set and not args.name:
        raise ParseError("--set needs the system whose knobs it turns", cure="check NAME --set …")
    entries = [ncd.catalogue[args.name]] if args.name else list(ncd.catalogue.values())
    pinned = _settings(entries[0], args.set) if args.set else None
    report = check_all(
        entries, pinned=pinned, seed=args.seed, device=args.device, progress=progress
    )
    if args.json:
        print_json({**vars(report), "summary": report.summary})
    else:
        print("\n".join([*report.failures, report.summary]))
    return 1 if report.failures else 0


def bench(args: argparse.Namespace) -> int:
    from ncd.bench import bench as measure

    knobs = _settings(ncd.catalogue["multi-head-attention"], args.set)
    lines = measure(knobs, args.seed, args.device, progress)
    if args.json:
        return print_json([vars(line) for line in lines])
    rows = [
        (x.what, f"{1e3 * x.seconds:.3f} ms", x.against, f"{x.ratio:.3f} ×" if x.ratio else "")
        for x in lines
    ]
    print_table([("median of", "time", "against", "ratio"), *rows], right={1, 3})
    return 0


# --- what the commands share ---------------------------------------------------------------------


def _chosen(args: argparse.Namespace) -> tuple[Entry, dict[str, int], Term]:
    entry = ncd.catalogue[args.name]
    knobs = _settings(entry, args.set)
    return entry, knobs, entry.build(**knobs)


def _settings(entry: Entry, pairs: Sequence[str]) -> dict[str, int]:
    """All knobs of an entry, those in ``pairs`` (``h=8``) turned."""
    turned: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            first = entry.knobs[0]
            raise ParseError(f"--set {pair!r} has no =", cure=f"--set {first.name}={first.default}")
        try:
            turned[name] = int(text)
        except ValueError:
            turned[name] = text  # the knob says what it wants instead
    return entry.settings(turned)


def _entry_data(entry: Entry) -> dict[str, Any]:
    knobs = [vars(knob) for knob in entry.knobs]
    return {"name": entry.name, "title": entry.title, "source": entry.source, "knobs": knobs}


def _why(knob: Knob) -> str:
    return f"{knob.help} ({knob.reason})" if knob.reason else knob.help


def _value_data(value: Value) -> dict[str, Any]:
    axes = [{"name": a.name, "size": a.size, "sequence": a.sequence} for a in value.array]
    return {"id": value.id, "axes": axes, "shape": value.array.shape}


def _cost_data(circuit: Circuit, cost: Cost) -> dict[str, Any]:
    ops = []
    for op in cost.ops:
        cell = circuit.cell(op.node)
        ends = {"ins": [v.id for v in cell.inputs], "outs": [v.id for v in cell.outputs]}
        ops.append({**vars(op), "module": cell.path, **ends})
    names = ("parameters", "flops", "bytes", "peak")
    return {"ops": ops, "total": {name: getattr(cost, name) for name in names}}


def _counts(cost: Cost | OpCost) -> tuple[str, str, str]:
    return f"{cost.parameters:,}", f"{cost.flops:,}", f"{cost.bytes:,}"


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "()"


def _sizes(knobs: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in knobs.items())


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code."""
    args = parser().parse_args(argv)
    try:
        code: int = args.run(args)
    except NCDError as error:
        print(f"ncd: {error}", file=sys.stderr)
        return 2
    return code


def entry_point() -> int:
    """What a shell calls: a reader that goes away, or Ctrl-C, ends the command without a word."""
    forgive()
    try:
        code = main()
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(entry_point())
