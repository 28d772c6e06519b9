"""The command that imports a torch module of one's own."""

from __future__ import annotations

import argparse

import ncd
from ncd.cli.commands import worded
from ncd.cli.output import file_kind, print_json, print_table, write
from ncd.cli.picture_files import FILES, package_facts


def import_(args: argparse.Namespace) -> int:
    from ncd.cli.import_data import import_data
    from ncd.importing import imported_file

    found = imported_file(args.module, args.inputs)
    if args.output:
        kind = file_kind(args.output, (".json", *FILES))
        args.notes, args.bands, args.cells, args.title = {}, False, False, args.module
        args.facts = {"system": args.module, "inputs": args.inputs, **package_facts()}
        made = ncd.to_json(found.term).encode() if kind == ".json" else None
        write(args.output, FILES[kind](found.term, args) if made is None else made)
    data = import_data(found)
    if args.json:
        print_json(data)
    else:
        print(f"{found.term.dom.spec} -> {found.term.cod.spec}")
        rows: list[tuple[object, ...]] = [(name, worded(value)) for name, value in data.items()]
        print_table([row for row in rows if row[0] not in ("dom", "cod", "boxes", "notes")])
        if found.boxes:
            print_table([("box", box.function, box.why) for box in found.boxes])
        for note in found.notes:
            print(note)
    return 1 if found.failure else 0
