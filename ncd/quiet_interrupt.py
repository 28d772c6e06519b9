"""The first import of all: a command that is stopped early ends without a word.

Torch takes a second to import. Ctrl-C in that second would show where Python was; so a process that
is the command ``ncd`` dies of it quietly, until the command itself takes over.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path


def is_command(called: str, argv: list[str]) -> bool:
    """Whether a process is ``ncd …`` or ``python -m ncd …``, by what was called and typed.

    >>> is_command("/usr/bin/ncd", ["python", "/usr/bin/ncd", "list"])
    True
    >>> is_command("-m", ["python", "-m", "ncd", "list"]), is_command("-m", ["python", "-m", "x"])
    (True, False)
    """
    if Path(called).stem == "ncd":
        return True
    before, _, after = " ".join(argv[1:]).partition("-m ")
    return not before.strip() and after.split(" ")[0].split(".")[0] == "ncd"


if is_command(sys.argv[0] if sys.argv else "", sys.orig_argv) and (
    signal.getsignal(signal.SIGINT) is signal.default_int_handler
):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
