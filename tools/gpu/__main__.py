"""Checks a device in at most eight minutes: ``python -m tools.gpu [--device cuda] [--quick]``.

Each section is a process of its own, with a time limit: one that fails, hangs or breaks the
device's context leaves the others unharmed, and what it had found is kept.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ncd.cli.output import print_table
from ncd.errors import NCDError, unknown_name_error
from ncd.run.device import description, devices, exact
from ncd.run.device import device as find_device
from tools.gpu.agreement import Setting
from tools.gpu.findings import HEAD, Report, markdown
from tools.gpu.processes import measured
from tools.gpu.sections import SECTIONS

MINUTES = 8.0
LONGER = "at most (default 8); the limits of the sections grow with it, as for a slow device"


def main(argv: Sequence[str] | None = None) -> int:
    """Measures the sections that are asked for; returns 1 if anything is wrong."""
    args = _parser().parse_args(argv)
    try:
        setting, names = Setting(_device(args.device), args.quick), _names(args.sections)
    except NCDError as error:
        print(f"gpu: {error}", file=sys.stderr)
        return 2
    if args.stream:
        exact()
        for found in SECTIONS[names[0]].measure(setting):
            print(json.dumps(found.data), flush=True)
        return 0
    print(f"{setting.device}: {description(setting.device)}", flush=True)
    reports, end = [], time.monotonic() + 60 * args.minutes
    for name in names:
        most = SECTIONS[name].seconds * max(1.0, args.minutes / MINUTES)
        left = min(most, end - time.monotonic())
        reports.append(measured(name, setting, left))
        _print(reports[-1])
        _write(args, setting, reports)
    faults = sum(report.faults for report in reports)
    print(f"{faults} faults in {sum(report.seconds for report in reports):.0f} s")
    return 1 if faults else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.gpu", description=__doc__)
    parser.add_argument("--device", default="", help="cuda, cpu, … (default: the first GPU)")
    parser.add_argument("--sections", default="", help=f"some of {','.join(SECTIONS)}")
    parser.add_argument("--quick", action="store_true", help="small sizes, as in the tests")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=LONGER)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was found")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables")
    parser.add_argument("--stream", action="store_true", help=argparse.SUPPRESS)
    return parser


def _device(name: str) -> str:
    first = next((each for each in devices() if each != "cpu"), "cpu")
    return str(find_device(name or first))


def _names(text: str) -> list[str]:
    names = text.split(",") if text else list(SECTIONS)
    for name in names:
        if name not in SECTIONS:
            raise unknown_name_error("section", name, SECTIONS, "sections")
    return names


def _print(report: Report) -> None:
    print(f"\n{report.title} ({report.seconds:.1f} s)")
    if report.rows:
        print_table([HEAD, *report.rows], right={1, 3})
    if report.failure:
        print(f"Ended early: {report.failure}")
    sys.stdout.flush()


def _write(args: argparse.Namespace, setting: Setting, reports: Sequence[Report]) -> None:
    """Writes what there is so far, so that an end from outside loses nothing."""
    if args.json:
        data = {"device": setting.device, "description": description(setting.device)}
        every = {**data, "quick": setting.quick, "sections": [each.data for each in reports]}
        args.json.write_text(json.dumps(every, indent=1) + "\n")
    if args.markdown:
        args.markdown.write_text(markdown(reports) + "\n")


if __name__ == "__main__":
    sys.exit(main())
