"""Prints benchmarks: ``python -m tools.bench [runs | graph | drawings | growth]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from ncd.cli.output import ProgressBar, print_json, print_table
from ncd.errors import NCDError
from tools.bench.bench import bench


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmarks that are asked for and returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("part", nargs="?", default="", help="runs, graph, drawings or growth")
    parser.add_argument("--seed", type=int, default=0, help="of weights and inputs (default 0)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, mps (default cpu)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    args = parser.parse_args(argv)
    try:
        lines = bench(args.seed, args.device, ProgressBar(), args.part)
    except NCDError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    if args.json:
        return print_json([vars(line) for line in lines])
    rows = [("median time, or size", "measured", "against", "ratio"), *(x.row for x in lines)]
    print_table(rows, right={1, 3})
    return 0


if __name__ == "__main__":
    sys.exit(main())
