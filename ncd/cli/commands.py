"""The commands; each prints its result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import ncd
from ncd.circuit.circuit import Circuit, Loop
from ncd.circuit.costs import COUNTING_RULES, Cost, OpCost, remarks
from ncd.cli.crowd import check_address
from ncd.cli.output import (
    FILES,
    STDOUT,
    ProgressBar,
    cell_text,
    circuit_data,
    cost_data,
    entry_data,
    entry_facts,
    file_kind,
    package_facts,
    peak_bytes,
    print_json,
    print_table,
    report_beside,
    sizes_text,
    term_data,
    write,
)
from ncd.errors import ParseError
from ncd.language.terms import Term
from ncd.read.configs.config_reader import READERS, read_config
from ncd.systems.catalogue_entry import Entry

# --- The commands; each prints its result and returns the exit code


def list_(args: argparse.Namespace) -> int:
    entries = list(ncd.catalogue.values())
    if args.json:
        return print_json([entry_data(entry) for entry in entries])
    for entry in entries:
        print(f"{entry.name}  ({entry.title}; {entry.source})")
        rows: list[tuple[str, ...]] = []
        for knob in entry.knobs:
            why = f"{knob.help} ({knob.reason})" if knob.reason else knob.help
            slider = f"slider {knob.min} to {knob.max}" if knob.is_size else ""
            rows.append((f"    {knob.name}", knob.limits, f"default {knob.default}", slider, why))
        print_table(rows)
        for preset in entry.presets:
            print(f"    --preset {preset.name}:  {sizes_text(preset.knobs)}  ({preset.source})")
    return 0


def show(args: argparse.Namespace) -> int:
    entry, knobs, term = _build_system(args)
    formats = ncd.Formats(args.weights, args.activations, args.cache, entry.cached)
    circuit, cost = ncd.elaborate(term), ncd.cost(term, formats)
    if args.json:
        data = {"name": entry.name, "knobs": knobs, "dom": term.dom.spec, "cod": term.cod.spec}
        return print_json({**data, **circuit_data(circuit), **cost_data(circuit, cost)})
    print(f"{entry.title} ({entry.source}), {sizes_text(knobs)}\n{term.dom} → {term.cod}\n")
    rows = [("state", "array", "axes", "shape"), *_state_rows(circuit)]
    for loop in circuit.loops:
        rows += [("",), (_loop_text(loop),), *_state_rows(loop.bodies[0])]
    print_table(rows)
    ops = [("op", "name", "in → out", "parameters", "FLOPs", "bytes")]
    for op in cost.ops:
        site = circuit.cell(op.node).site
        ops.append((op.node, op.label, f"{site.inputs} → {site.outputs}", *_counts(op)))
    print()
    print_table([*ops, ("", "total", "", *_counts(cost))], right={3, 4, 5})
    for remark in (COUNTING_RULES, *remarks(circuit, cost)):
        print(f"\n{remark}")
    print(f"\nweights in {formats.weights} take {cost.weight_bytes:,} bytes")
    if entry.cached:
        print(f"a cache in {formats.cache} keeps {cost.cache_bytes:,} bytes of each position")
    if (held := peak_bytes(circuit)) is not None:
        print(f"a run, forward and backward, takes up to {held:,} bytes")
    return 0


def render(args: argparse.Namespace) -> int:
    kind = file_kind(args.output, FILES, args.to)
    if args.picture and kind != ".tex":
        raise ParseError(f"--picture is of a .tex file, not of a {kind}", cure="-o FILE.tex")
    entry, knobs, term = _build_system(args)
    args.title, args.facts = entry.title, entry_facts(entry, knobs)
    args.notes = {} if args.plain else entry.callouts(knobs)
    args.width = entry.width if args.width is None else args.width
    args.bands, args.cells = args.bands or entry.bands, args.cells or entry.cells
    data = FILES[kind](term, args)
    write(args.output, data)
    return _report_file(args, len(data))


def _report_file(args: argparse.Namespace, size: int) -> int:
    if args.json:
        return print_json({"file": args.output, "bytes": size})
    if args.output != STDOUT:
        print(f"{args.output}: {size:,} bytes")
    return 0


def source(args: argparse.Namespace) -> int:
    if args.output:
        file_kind(args.output, (".py",))
    entry, knobs, term = _build_system(args)
    text = ncd.source(term, name=entry.identifier, einops=args.einops)
    if args.json and not args.output:
        return print_json({"name": entry.name, "knobs": knobs, "source": text})
    data = f"{text.rstrip()}\n".encode()
    write(args.output or STDOUT, data)
    return _report_file(args, len(data)) if args.output else 0


def run(args: argparse.Namespace) -> int:
    from ncd.run.device import exact
    from ncd.run.measurement import one_run

    exact()
    entry, knobs, term = _build_system(args)
    data = {"name": entry.name, "knobs": knobs, **one_run(term, args.seed, args.device)}
    if args.json:
        print_json(data)
    else:
        _print_run(entry, data)
    return 0 if data["finite"] else 1


def _print_run(entry: Entry, data: Mapping[str, Any]) -> None:
    print(f"{entry.title}, {sizes_text(data['knobs'])}, seed {data['seed']} on {data['device']}")
    rows: list[tuple[object, ...]] = []
    for out in data["outputs"]:
        values = (f"mean {out['mean']:.4g}", f"deviation {out['std']:.4g}")
        rows.append(("output", f"({out['array']})", _shape(out["shape"]), *values))
    for name, seconds in data["seconds"].items():
        rows.append(("median", name, f"{1e3 * seconds:.3f} ms"))
    found = data["bytes"]
    rows += [
        ("memory", "stated", f"{found['stated']:,} bytes"),
        ("memory", "measured, forward", f"{found['forward']:,} bytes"),
        ("memory", "measured, forward and backward", f"{found['backward']:,} bytes"),
    ]
    print_table(rows)
    print(f"stated: what the guard holds against the limit; measured: {found['how']}")
    print(f"outputs and gradients are {'' if data['finite'] else 'NOT '}finite")


def check(args: argparse.Namespace) -> int:
    from ncd.cli.check import check as check_all
    from ncd.run.device import device, exact

    exact()
    device(args.device)
    known = {op.__name__: op for op in ncd.ops.CATALOGUE}
    ops = [known[name] for name in args.names if name in known]
    entries = [ncd.catalogue[name] for name in args.names if name not in known]
    turned = bool(args.set or args.preset)
    if turned and len(entries) != 1:
        raise ParseError("--set needs the system whose knobs it turns", cure="check NAME --set …")
    report = check_all(
        entries if args.names else list(ncd.catalogue.values()),
        ops if args.names else list(known.values()),
        pinned=_settings(entries[0], args) if turned else None,
        fast=args.fast,
        tested=bool(args.names) and not (turned or args.fast),
        seed=args.seed,
        device=args.device,
        progress=ProgressBar(),
    )
    if args.json:
        print_json({**vars(report), "summary": report.summary})
    else:
        print("\n".join([*report.failures, report.summary]))
    return 1 if report.failures else 0


def train(args: argparse.Namespace) -> int:
    if args.output:
        file_kind(args.output, (".safetensors",))
    import torch

    from ncd.systems.training.trained_weights import write_weights as written
    from ncd.systems.training.training_loop import TaskTraining as Fit

    torch.set_num_threads(1)  # so that the numbers are those of the page
    fit = Fit(args.name, _settings(ncd.catalogue[args.name], args), args.seed, args.steps)
    progress = ProgressBar()
    for now in fit:
        progress(now.step, now.steps, f"loss {now.loss:.4f}")
    data = {
        "name": fit.name,
        "knobs": fit.knobs,
        "seed": args.seed,
        "data": fit.data.source,
        "seconds": round(now.seconds, 3),
        "steps": now.steps,
        "loss": now.loss,
        fit.task.measure: now.score,
    }
    if args.output:
        note = {"system": fit.name, "seed": str(args.seed), "steps": str(now.step)}
        write(args.output, written(fit.module, note))
        data["file"] = args.output
    return _report_training(data, args)


def _report_training(data: Mapping[str, Any], args: argparse.Namespace) -> int:
    if args.json:
        print(json.dumps(data, ensure_ascii=False))
        return 0
    with report_beside(args.output):
        print_table([(name, cell_text(value)) for name, value in data.items()])
    return 0


def serve(args: argparse.Namespace) -> int:
    check_address(args.host, args.port)
    from ncd.app.host.serve import serve as serve_app
    from ncd.app.scene import own_entry
    from ncd.read.torch_module.from_torch import imported_file

    for place in args.modules:
        found = imported_file(place, args.inputs)
        name = place.rpartition(":")[2]
        own_entry.add_served_module(name, found.term, found.failure, found.module())
    serve_app(args.host, args.port)
    return 0


def site(args: argparse.Namespace) -> int:
    from ncd.site.site_files import selected_entries as chosen
    from ncd.site.site_files import write_site

    entries = chosen(args.names)
    try:
        bytes = write_site(Path(args.output), entries, entry_facts, ProgressBar())
    except OSError as error:
        reason = error.strerror or error
        raise ParseError(f"cannot write {args.output!r}: {reason}", cure="another folder") from None
    if args.json:
        return print_json({"folder": args.output, "systems": len(entries), "bytes": bytes})
    print(f"{args.output}: {len(entries)} systems, {bytes:,} bytes")
    return 0


def crowd(args: argparse.Namespace) -> int:
    from ncd.cli.crowd import crowd as serve_crowd

    serve_crowd(args.host, args.port, args.processes)
    return 0


# --- what the commands share ---------------------------------------------------------------------


def _build_system(args: argparse.Namespace) -> tuple[Entry, dict[str, int], Term]:
    entry = ncd.catalogue[args.name]
    knobs = _settings(entry, args)
    return entry, knobs, entry.build(**knobs)


def _settings(entry: Entry, args: argparse.Namespace) -> dict[str, int]:
    """Returns all knobs of an entry, set by a preset and by ``--set`` (``h=8``)."""
    turned: dict[str, Any] = dict(entry.preset(args.preset).knobs) if args.preset else {}
    for pair in args.set:
        name, equals, text = pair.partition("=")
        if not equals:
            first = entry.knobs[0]
            raise ParseError(f"--set {pair!r} has no =", cure=f"--set {first.name}={first.default}")
        try:
            turned[name] = int(text)
        except ValueError:
            turned[name] = text  # the entry raises an error that names valid values
    return entry.settings(turned)


def _state_rows(circuit: Circuit) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, state in enumerate(circuit.states):
        for place, value in enumerate(state):
            axes = ", ".join(axis.sized_words for axis in value.array)
            if value.array.below:
                axes = f"{axes} of whole numbers below {value.array.below.sized_words}".strip()
            first = str(number) if place == 0 else ""
            rows.append((first, value.id, axes, _shape(value.array.shape)))
    return rows


def _loop_text(loop: Loop) -> str:
    if loop.kind == "scan":
        return f"at each position of {loop.axis} ({loop.id}):"
    return f"the first of {len(loop.bodies)} repetitions ({loop.id}):"


def _counts(cost: Cost | OpCost) -> tuple[str, str, str]:
    return f"{cost.parameters:,}", f"{cost.flops:,}", f"{cost.bytes:,}"


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "()"


# --- The command that imports a torch module of one's own, or a published configuration

CONFIG = "hf:"  # before the file of a published configuration


def import_(args: argparse.Namespace) -> int:
    if args.module.startswith(CONFIG) and not args.inputs and (text := _config_text(args.module)):
        model = read_config(text)
        term = model.system(**model.sizes)
        _write(term, model.title, args)
        _report(term, term_data(term), args)
        return 0
    from ncd.cli.answer_text import finding_lines
    from ncd.cli.import_data import import_data
    from ncd.cli.import_findings import import_findings
    from ncd.read.torch_module.from_torch import imported_file

    found = imported_file(args.module, args.inputs)
    _write(found.term, args.module, args)
    findings = import_findings(args.module, args.inputs, found)
    _report(found.term, import_data(found, findings), args)
    if findings and not args.json:
        text = Path(args.module.rpartition(":")[0]).read_text(encoding="utf-8")
        with report_beside(args.output):
            for each in findings:
                print("\n".join(finding_lines(each, text)))
    return 1 if found.failure else 0


def _config_text(place: str) -> str:
    """Returns the text of a configuration whose model has a term here, or an empty text."""
    try:
        text = Path(place.removeprefix(CONFIG)).read_text()
        kind = str(json.loads(text).get("model_type", ""))
    except (OSError, ValueError, AttributeError, RecursionError):
        return ""
    return text if kind in READERS else ""


def _write(term: Term, title: str, args: argparse.Namespace) -> None:
    if not args.output:
        return
    kind = file_kind(args.output, (".json", *FILES), args.to)
    args.notes, args.bands, args.cells, args.title = {}, False, False, title
    args.facts = {"system": args.module, "inputs": args.inputs, **package_facts()}
    made = ncd.to_json(term).encode() if kind == ".json" else FILES[kind](term, args)
    write(args.output, made)


def _report(term: Term, data: Mapping[str, Any], args: argparse.Namespace) -> None:
    if args.json:
        print_json(data)
        return
    with report_beside(args.output):
        print(f"{term.dom.spec} -> {term.cod.spec}")
        rows: list[tuple[object, ...]] = [(name, cell_text(value)) for name, value in data.items()]
        hidden = ("dom", "cod", "boxes", "notes", "findings")
        print_table([row for row in rows if row[0] not in hidden])
        if boxes := data.get("boxes"):
            print_table([("box", box["function"], box["why"]) for box in boxes])
        for note in data.get("notes", ()):
            print(note)
