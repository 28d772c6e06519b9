"""Reads hostile texts as the page does, while every event of the interpreter is seen.

It prints what it saw as JSON, and runs in a process of its own, as an audit hook stays for good.
"""

from __future__ import annotations

import json
import resource
import sys
from collections import Counter
from pathlib import Path
from time import process_time
from typing import Any
from unittest.mock import patch

import ncd
from ncd.app.page.own_page import cleaned_text
from ncd.app.scene import own_entry
from ncd.app.scene.own_entry import custom_entry
from ncd.errors import NCDError
from ncd.notation.term_reader import TextError
from ncd.read.recognise import Reading
from tests.notation.hostile_texts import KINDS, mutations
from tests.support.watched import BAD, of_torch

OWN = str(Path(ncd.__file__).parents[1] / "assets" / "fonts")


class NoReader:
    """Stands in for the process that reads PyTorch source, which has hostile texts of its own."""

    def read(self, text: str, session: str) -> Reading:
        raise TextError("this is source", 1, 1)


def ours(event: str, args: tuple[Any, ...]) -> bool:
    """Returns whether a drawing does this: it reads the fonts of its letters."""
    return event == "open" and str(args[0]).startswith(OWN) and args[1] == "r"


def shown(text: str) -> str:
    """Returns what comes of a text, in a word; one that can be read is also drawn."""
    try:
        entry = custom_entry(cleaned_text(text))
        term = entry.build(**entry.settings({}))
        ncd.draw(term, width=1280).svg()
    except NCDError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "read"


def main() -> None:
    first, after = map(int, sys.argv[1:])
    patch.object(own_entry, "reader", NoReader).start()
    for kind in KINDS.values():
        shown(next(iter(kind())))
    shown("b i, i j -> b j")
    seen: Counter[str] = Counter()
    watching = False

    def watch(event: str, args: tuple[object, ...]) -> None:
        if watching and event.startswith(BAD) and not (of_torch(event, args) or ours(event, args)):
            seen[f"{event} {str(args)[:90]}"] += 1

    sys.addaudithook(watch)
    found: dict[str, Any] = {}
    wrong: list[list[str]] = []
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    every = {name: [*kind()] for name, kind in KINDS.items()}
    texts = {name: own[:: max(1, len(own) // (first or len(own)))] for name, own in every.items()}
    for name, own in {**texts, "mutation": [*mutations(after)]}.items():
        words: Counter[str] = Counter()
        longest, slowest = 0.0, ""
        for text in own:
            begun = process_time()
            watching = True
            word = shown(text)
            watching = False
            words[word] += 1
            if word not in ("read", "refused"):
                wrong.append([word, text[:300]])
            if (taken := process_time() - begun) > longest:
                longest, slowest = taken, text[:120]
        found[name] = {"count": words, "longest": round(longest, 2), "of": slowest}
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"kinds": found, "seen": seen, "wrong": wrong, "kilobytes": more}, indent=1))


if __name__ == "__main__":
    main()
