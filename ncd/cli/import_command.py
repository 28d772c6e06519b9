"""The command that imports a torch module of one's own."""

from __future__ import annotations

import argparse
from pathlib import Path

import ncd
from ncd.cli.commands import FILES, worded, write
from ncd.cli.json_data import import_data
from ncd.cli.output import print_json, print_table
from ncd.importing import imported_file
from ncd.lang.errors import ParseError


def import_(args: argparse.Namespace) -> int:
    found = imported_file(args.module, args.inputs)
    if args.output:
        kind = Path(args.output).suffix.lower()
        if kind not in (*FILES, ".json"):
            ends = ", ".join((".json", *FILES))
            cure = f"{Path(args.output).stem}.json"
            raise ParseError(f"{args.output!r} ends in none of {ends}", cure=cure)
        args.notes, args.bands, args.cells, args.title = {}, False, False, args.module
        made = ncd.to_json(found.term).encode() if kind == ".json" else None
        write(args.output, FILES[kind](found.term, args) if made is None else made)
    data = import_data(found)
    if args.json:
        print_json(data)
    else:
        print(f"{found.term.dom.spec} -> {found.term.cod.spec}")
        rows: list[tuple[object, ...]] = [(name, worded(value)) for name, value in data.items()]
        print_table([row for row in rows if row[0] not in ("dom", "cod", "boxes")])
        if found.boxes:
            print_table([("box", box.function, box.why) for box in found.boxes])
    return 1 if found.failure else 0
