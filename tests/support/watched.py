"""Reads hostile sources while every event of the interpreter is seen; prints what it saw as JSON.

It runs in a process of its own, as an audit hook stays for good.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
from collections import Counter
from pathlib import Path
from time import process_time
from types import CodeType
from typing import Any

import torch

import ncd
from ncd.errors import NCDError
from ncd.jobs.source_job import MEMORY, warm_up
from ncd.read.python_source.source_reader import read_source
from tests.support.hostile import hostile, mutations
from tests.support.sources import LENET, PATCHES

BAD = (
    *("exec", "import", "open", "socket", "subprocess", "os.", "ctypes", "shutil", "pty", "pickle"),
    *("code.", "marshal", "urllib", "ftplib", "smtplib", "webbrowser", "tempfile", "sys.settrace"),
)
OWN = (str(Path(ncd.__file__).parent), str(Path(torch.__file__).parent))

SIGNATURE = {
    "fn",
    "List",
    "Optional",
    "Tensor",
    "Device",
    "Union",
    "number",
    "int",
    "float",
    "bool",
    "str",
}


def of_torch(event: str, args: Any) -> bool:
    """Returns whether torch does this on its own: it compiles its graphs, and reads its files."""
    if event == "open":
        path, mode, _ = args
        if path == "<unknown>":  # Python's parser looks there for the line of an error
            return True
        return str(path).startswith(OWN) and str(path).endswith(".py") and mode == "r"
    if event != "exec":
        return False
    code = args[0]
    inner = [one for one in code.co_consts if isinstance(one, CodeType)]
    names = {name for one in (code, *inner) for name in (*one.co_names, *one.co_freevars)}
    graph = code.co_filename.startswith("<eval_with_key>") and "forward" in names
    return graph or (code.co_filename == "<string>" and names <= SIGNATURE)


def read(text: str) -> str:
    """Returns what comes of a text, in a word."""
    try:
        read_source(text)
    except NCDError:
        return "refused"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return "read"


def main() -> None:
    torch.set_num_threads(1)
    warm_up()
    for text in (LENET, PATCHES):
        read_source(text)
    gc.collect()
    gc.freeze()  # as in the process that reads for visitors: a reading searches several times
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + 2 * MEMORY  # of all texts, one after the other
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    seen: Counter[str] = Counter()
    watching = False

    def watch(event: str, args: tuple[object, ...]) -> None:
        if watching and event.startswith(BAD) and not of_torch(event, args):
            code = getattr(args[0], "co_names", "") if args else ""
            seen[f"{event} {str(args)[:90]} {code}"] += 1

    sys.addaudithook(watch)
    texts = [*hostile(), *mutations(int(sys.argv[1]))]
    found: list[tuple[str, float]] = []
    for text in texts:
        begun = process_time()
        watching = True
        word = read(text)
        watching = False
        found.append((word, process_time() - begun))
    words = [word for word, _ in found]
    longest = max(seconds for _, seconds in found)
    wrong = [[word, texts[i]] for i, word in enumerate(words) if word not in ("read", "refused")]
    print(json.dumps({"count": Counter(words), "seen": seen, "wrong": wrong, "longest": longest}))


if __name__ == "__main__":
    main()
