"""The command that imports a torch module of one's own, or a published configuration."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ncd
from ncd.cli.json_data import term_data
from ncd.cli.output import file_kind, print_json, print_table, report_beside, worded, write
from ncd.cli.picture_files import FILES, package_facts
from ncd.lang.terms.terms import Term
from ncd.models.configs.config_reader import READERS, read_config

CONFIG = "hf:"  # before the file of a published configuration


def import_(args: argparse.Namespace) -> int:
    if args.module.startswith(CONFIG) and not args.inputs and (text := _known(args.module)):
        model = read_config(text)
        term = model.system(**model.sizes)
        _write(term, model.title, args)
        _report(term, term_data(term), args)
        return 0
    from ncd.cli.answer_text import finding_lines
    from ncd.cli.import_data import import_data
    from ncd.cli.import_findings import import_findings
    from ncd.importing import imported_file

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


def _known(place: str) -> str:
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
        rows: list[tuple[object, ...]] = [(name, worded(value)) for name, value in data.items()]
        hidden = ("dom", "cod", "boxes", "notes", "findings")
        print_table([row for row in rows if row[0] not in hidden])
        if boxes := data.get("boxes"):
            print_table([("box", box["function"], box["why"]) for box in boxes])
        for note in data.get("notes", ()):
            print(note)
