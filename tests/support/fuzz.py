"""Random terms by the thousand: ``python -m tests.support.fuzz 10000 --start 0``.

Every property of ``tests.support.properties`` is asked of every term; what fails is printed once a
kind, with the seed that makes it. Nothing but NCDError may come out where a term is made.
"""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter

import torch

import ncd
from tests.support.draws import Seeded
from tests.support.properties import PROPERTIES, Skipped
from tests.support.strategies import a_term


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("terms", type=int)
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=list(PROPERTIES))
    options = parser.parse_args()
    torch.set_num_threads(1)
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("made", *options.only)}
    faults: dict[str, list[int]] = {}
    began = time.monotonic()
    for seed in range(options.start, options.start + options.terms):
        for name, fault in asked(seed, options.only):
            if fault in ("held", "skipped"):
                counts[name][fault] += 1
                continue
            counts[name]["FAILED"] += 1
            faults.setdefault(f"{name}: {fault}", []).append(seed)
            if len(faults[f"{name}: {fault}"]) == 1:
                print(f"seed {seed}: {name}: {fault}", flush=True)
        if (seed + 1) % 500 == 0:
            print(f"{seed + 1 - options.start} terms, {time.monotonic() - began:.0f} s", flush=True)
    for name, count in counts.items():
        print(f"{name:16}", dict(count))
    for fault, seeds in sorted(faults.items(), key=lambda item: -len(item[1])):
        print(f"{len(seeds):5} × {fault}   seeds {seeds[:5]}")


def asked(seed: int, names: list[str]) -> list[tuple[str, str]]:
    """For each property what came of it."""
    try:
        term = a_term(Seeded(seed))
    except Exception as error:
        return [("made", told(error))]
    return [("made", "held"), *((name, came(name, term)) for name in names)]


def came(name: str, term: ncd.Term) -> str:
    try:
        PROPERTIES[name](term)
    except Skipped:
        return "skipped"
    except Exception as error:
        return told(error)
    return "held"


def told(error: Exception) -> str:
    """The fault without its numbers, so that faults of one kind are one."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    text = "".join("#" if c.isdigit() else c for c in str(error).split("\n")[0][:160])
    return f"{type(error).__name__} at {last.filename.rpartition('/')[2]}:{last.lineno}: {text}"


if __name__ == "__main__":
    main()
