"""Makes Ctrl-C end the command ``ncd`` silently while torch is being imported.

That import takes a second, in which Ctrl-C would print a traceback. This module is imported first
and restores the usual behaviour once the command itself handles it.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path


def is_command(called: str, argv: list[str]) -> bool:
    """Returns whether a process is ``ncd …`` or ``python -m ncd …``.

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
