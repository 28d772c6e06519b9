"""What the visitors of ``tools.load.soak`` have done, and what went wrong."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

OFTEN = 12  # times in vain after which something that is never done is a fault of its own
# What a browser says of a page that was left while it was loading, and of an address that is none.
EXPECTED = re.compile(r"ERR_ABORTED|due to access control|status of 404.*/nowhere|NS_BINDING")


@dataclass
class Found:
    """What all visitors have seen."""

    tried: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)

    def fault(self, kind: str, words: str, told: str) -> None:
        """Something went wrong; told in full the first time."""
        text = f"{kind}: {plain(words)}"
        self.faults[text] += 1
        if self.faults[text] == 1:
            print(f"!! {kind}: {words.strip()[-2000:]}\n   {told}", flush=True)

    def table(self) -> Iterator[str]:
        """How often each thing was done, of how often it was tried; then the faults."""
        for name, count in self.tried.most_common():
            yield f"{self.done[name]:5} of {count:5} {name}"
        for name, count in self.faults.most_common():
            yield f"{count:5} {name}"

    def miss(self) -> None:
        """Counts as faults what was tried often and never done: it is no longer where it was."""
        for name, count in self.tried.items():
            if count >= OFTEN and not self.done[name]:
                self.fault("never", name, f"tried {count} times")


def plain(words: str) -> str:
    """A fault without what differs each time that it comes.

    >>> plain("GET http://127.0.0.1:8501/a?h=3 took 0x7f2a 12.5 s")
    'GET … took … … s'
    """
    return re.sub(r"https?://\S+|0x[0-9a-f]+|\d+(\.\d+)?", "…", words.strip())[:300]
