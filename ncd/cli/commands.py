"""The commands; each prints its result."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import ncd
from ncd.circuit.circuit import Circuit, Loop, ScanLoop
from ncd.circuit.costs import COUNTING_RULES, Cost, count_texts, remarks
from ncd.cli.crowd import check_address
from ncd.cli.output import (
    FILES,
    STDOUT,
    ProgressBar,
    cell_text,
    check_options,
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
from ncd.cli.system_argument import (
    CONFIG,
    GivenSystem,
    catalogue_settings,
    configuration_text,
    file_text,
    is_file,
    named_system,
    note_pair,
    refuse_catalogue_inputs,
    refuse_inputs,
    title_source_and_text,
)
from ncd.errors import ParseError
from ncd.language.terms import Term
from ncd.read.configs.config_reader import read_config
from ncd.read.question import pasted_code
from ncd.systems.catalogue_entry import Entry
from ncd.words import plain_text

# --- The commands; each prints its result and returns the exit code


def ask(args: argparse.Namespace) -> int:
    from ncd.cli.answer_output import answer_data, answer_lines

    given = file_text(args.file)
    text = pasted_code(given)  # as its edits are of
    answer = ncd.ask(given, args.files, progress=ProgressBar(is_even=False))
    if args.json:
        print_json(answer_data(answer))
    else:
        print("\n".join(answer_lines(answer, text, "text" if args.file == STDOUT else args.file)))
    return 1 if any(each.kind == "failure" for each in answer.findings) else 0


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
    system, circuit, total = _costed_system(args)
    if args.json:
        types = {"dom": system.term.dom.spec, "cod": system.term.cod.spec}
        data = {"name": system.name, "knobs": system.settings, **types}
        return print_json({**data, **circuit_data(circuit), **cost_data(circuit, total)})
    print(f"{system.headline}\n{system.term.dom} → {system.term.cod}\n")
    rows = [("state", "array", "axes", "shape", "made by"), *_state_rows(circuit)]
    for loop in circuit.loops:
        rows += [("",), (_loop_text(loop),), *_state_rows(loop.bodies[0])]
    print_table(rows)
    if blocks := [(each.id, plain_text(each.title)) for each in circuit.fences if each.title]:
        print()
        print_table([("block", "title"), *blocks])
    print()
    _print_cost(circuit, total, args)
    return 0


def cost(args: argparse.Namespace) -> int:
    system, circuit, total = _costed_system(args)
    if args.json:
        data = {"name": system.name, "knobs": system.settings}
        return print_json({**data, **cost_data(circuit, total)})
    print(f"{system.headline}\n")
    _print_cost(circuit, total, args)
    return 0


def _costed_system(args: argparse.Namespace) -> tuple[GivenSystem, Circuit, Cost]:
    system = named_system(args)
    cached = system.entry.cached if system.entry else ()
    formats = ncd.Formats(args.weights, args.activations, args.cache, cached)
    return system, ncd.elaborate(system.term), ncd.cost(system.term, formats)


def _print_cost(circuit: Circuit, total: Cost, args: argparse.Namespace) -> None:
    """Prints what each op costs, the sum, and the memory of the weights and of a run."""
    ops = [("op", "name", "in → out", "parameters", "FLOPs", "bytes")]
    for op in total.ops:
        site = circuit.cell(op.node).site
        ops.append((op.node, op.label, f"{site.inputs} → {site.outputs}", *count_texts(op)))
    print_table([*ops, ("", "total", "", *count_texts(total))], right={3, 4, 5})
    for remark in (COUNTING_RULES, *remarks(circuit, total)):
        print(f"\n{remark}")
    print(f"\nweights in {args.weights} take {total.weight_bytes:,} bytes")
    if total.cache_bytes:
        print(f"a cache in {args.cache} keeps {total.cache_bytes:,} bytes of each position")
    if (held := peak_bytes(circuit)) is not None:
        print(f"a run, forward and backward, takes up to {held:,} bytes")


def render(args: argparse.Namespace) -> int:
    kind = file_kind(args.output, FILES, args.to)
    check_options(args, kind)
    system = named_system(args)
    entry, args.title, args.facts = system.entry, system.title, system.facts
    notes = entry.callouts(system.settings) if entry and not args.plain else {}
    args.notes = {**notes, **dict(map(note_pair, args.note))}
    if entry:
        args.width = entry.width if args.width is None else args.width
        args.bands, args.cells = args.bands or entry.bands, args.cells or entry.cells
    data = FILES[kind](system.term, args)
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
    system = named_system(args)
    text = ncd.source(system.term, name=system.class_name, einops=args.einops)
    if args.json and not args.output:
        return print_json({"name": system.name, "knobs": system.settings, "source": text})
    data = f"{text.rstrip()}\n".encode()
    write(args.output or STDOUT, data)
    return _report_file(args, len(data)) if args.output else 0


def run(args: argparse.Namespace) -> int:
    from ncd.run.device import exact
    from ncd.run.measurement import one_run

    exact()
    system = named_system(args)
    data = {"name": system.name, "knobs": system.settings}
    data |= one_run(system.term, args.seed, args.device)
    if args.json:
        print_json(data)
    else:
        _print_run(system, data)
    return 0 if data["finite"] else 1


def _print_run(system: GivenSystem, data: Mapping[str, Any]) -> None:
    print(f"{system.headline}, seed {data['seed']} on {data['device']}")
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
        pinned=catalogue_settings(entries[0], args) if turned else None,
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

    from ncd.run.device import device, exact
    from ncd.systems.training.trained_weights import write_weights
    from ncd.systems.training.training_loop import TaskTraining

    torch.set_num_threads(1)  # so that the numbers are those of the page
    exact()
    settings, place = catalogue_settings(ncd.catalogue[args.name], args), str(device(args.device))
    fit = TaskTraining(args.name, settings, args.seed, args.steps, place)
    progress = ProgressBar()
    for now in fit:
        progress(now.step, now.steps, f"loss {now.loss:.4f}")
    data = {
        "name": fit.name,
        "knobs": fit.knobs,
        "seed": args.seed,
        "device": fit.device,
        "data": fit.data.source,
        **{"seconds": round(now.seconds, 3), "steps": now.steps, "loss": now.loss},
        fit.task.measure: now.score,
    }
    if args.output:
        note = {"system": fit.name, "seed": str(args.seed), "steps": str(now.step)}
        write(args.output, write_weights(fit.module, note))
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

    if not args.modules:
        refuse_inputs(args.inputs, "none is given", "FILE.py:NAME")
    for place in args.modules:
        _add_served_module(place, args.inputs)
    serve_app(args.host, args.port)
    return 0


def _add_served_module(place: str, inputs: str) -> str:
    """Adds a page for a module of the user's own; returns its address."""
    from ncd.app.scene import own_entry
    from ncd.read.torch_module.from_torch import imported_file

    imported = imported_file(place, inputs)
    name = place.rpartition(":")[2]
    return own_entry.add_served_module(name, imported.term, imported.failure, imported.module())


def open_(args: argparse.Namespace) -> int:
    check_address(args.host, args.port)
    from ncd.app.host.serve import open_when_served
    from ncd.app.host.serve import serve as serve_app

    open_when_served(args.host, args.port, _page_of(args))
    serve_app(args.host, args.port)
    return 0


def _page_of(args: argparse.Namespace) -> str:
    """Returns the path of the page that shows a system, a file or a module."""
    from ncd.app.scene.own_entry import CUSTOM_PAGE
    from ncd.app.state.link_text import compress_text

    if not is_file(args.name):
        refuse_catalogue_inputs(args)
        return ncd.catalogue[args.name].name
    _, _, given = title_source_and_text(args.name, args.inputs)
    if given is None:
        return _add_served_module(args.name, args.inputs)
    text = compress_text(given)
    if not text:
        fact = f"{args.name} is too long for a link"
        raise ParseError(fact, cure="ncd serve, and Open a file on the page Yours")
    return f"{CUSTOM_PAGE}?{urlencode({'text': text})}"


def site(args: argparse.Namespace) -> int:
    from ncd.cli.site_entries import read_site_entries
    from ncd.site.site_files import selected_entries, write_site
    from ncd.systems.training.trained_weights import TrainedWeights, shipped_weights

    names = [place for place in args.names if not is_file(place)]
    own = read_site_entries([place for place in args.names if is_file(place)], args.inputs)
    entries = [each.entry for each in own.values()]
    entries += selected_entries(names) if names or not own else []

    def facts(entry: Entry, settings: Mapping[str, int]) -> dict[str, Any]:
        return dict(own[entry.name].facts) if entry.name in own else entry_facts(entry, settings)

    def weights_of(entry: Entry, settings: Mapping[str, int]) -> TrainedWeights | None:
        known = own.get(entry.name)
        return known.weights if known else shipped_weights(entry, settings)

    try:
        bytes = write_site(Path(args.output), entries, facts, ProgressBar(), weights_of)
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


def _state_rows(circuit: Circuit) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    makers = {made.id: cell.op.display_name for cell in circuit.cells for made in cell.outputs}
    for number, state in enumerate(circuit.states):
        for place, value in enumerate(state):
            axes = ", ".join(axis.sized_words for axis in value.array)
            if value.array.below:
                axes = f"{axes} of whole numbers below {value.array.below.sized_words}".strip()
            first = str(number) if place == 0 else ""
            shape = _shape(value.array.shape)
            rows.append((first, value.id, axes, shape, makers.get(value.id, "")))
    return rows


def _loop_text(loop: Loop) -> str:
    if isinstance(loop, ScanLoop):
        return f"at each position of {loop.axis} ({loop.id}):"
    return f"the first of {len(loop.bodies)} repetitions ({loop.id}):"


def _shape(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape)) or "()"


# --- The command that imports a torch module of one's own, or a published configuration


def import_(args: argparse.Namespace) -> int:
    if (
        args.module.startswith(CONFIG)
        and not args.inputs
        and (text := configuration_text(args.module))
    ):
        model = read_config(text)
        term = model.system(**model.sizes)
        _write(term, model.title, args)
        _report(term, term_data(term), args)
        return 0
    from ncd.cli.answer_output import finding_lines, import_data, import_findings
    from ncd.read.torch_module.from_torch import imported_file

    found = imported_file(args.module, args.inputs)
    _write(found.term, args.module, args)
    findings = import_findings(args.module, args.inputs, found)
    _report(found.term, import_data(found, findings), args)
    if findings and not args.json:
        file = args.module.rpartition(":")[0]
        text = Path(file).read_text(encoding="utf-8")
        with report_beside(args.output):
            for each in findings:
                print("\n".join(finding_lines(each, text, file)))
    return 1 if found.failure else 0


def _write(term: Term, title: str, args: argparse.Namespace) -> None:
    if not args.output:
        return
    kind = file_kind(args.output, (".json", *FILES), args.to)
    check_options(args, kind)
    args.notes, args.bands, args.cells = dict(map(note_pair, args.note)), False, False
    args.title = title
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
