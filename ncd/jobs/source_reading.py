"""Reads PyTorch source in a separate process, so that no text can harm the server.

The process is forked from one that has imported torch and is kept; each text has a fresh one.
"""

from __future__ import annotations

import json
import os
from functools import cache
from threading import Lock
from time import monotonic
from typing import Any

from cachetools import LRUCache

from ncd.errors import NCDError
from ncd.findings.reading.finding import Finding
from ncd.jobs.job_pool import Turns
from ncd.jobs.local_workers import Local, job_request
from ncd.jobs.source_job import FINDING, LATE, read
from ncd.notation.call_form import call_of
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_tree import LONGEST
from ncd.read.recognise import Reading
from ncd.write.term_json import from_json

PATIENCE = 60.0  # seconds until the first process is ready, and an answer has come
QUEUE = 20.0  # seconds that a text waits for others
MAX_CACHED_ANSWERS = 200  # answers


class Reader:
    """Reads sources and what is found in them, a few at a time, and caches the results."""

    def __init__(self) -> None:
        self.workers = Local("source")
        # Findings take longer: they wait for each other, and no reading waits for them.
        self.turns = {
            "source": Turns(max(1, (os.cpu_count() or 2) // 2)),
            "findings": Turns(max(1, (os.cpu_count() or 2) // 4)),
        }
        self.turns["sizes"] = self.turns["findings"]
        self._kept: LRUCache[tuple[str, str], Any] = LRUCache(MAX_CACHED_ANSWERS)
        self._lock = Lock()
        self._texts: dict[tuple[str, str], Lock] = {}  # being read

    def read(self, text: str, visitor: str = "") -> Reading:
        """Returns the term of a source; equal texts share one process.

        The texts of different visitors take turns, so that many of one do not keep out another.
        Raises TextError for a source that is not understood, or takes too long.
        """
        found: Reading = self._once("source", text, visitor)
        return found

    def findings(self, text: str, visitor: str = "") -> tuple[Finding, ...]:
        """Returns the failure of a source, or its silent faults.

        Raises TextError for a source for which this takes too long.
        """
        found: tuple[Finding, ...] = self._once("findings", text, visitor)
        return found

    def sizes(self, text: str, visitor: str = "") -> tuple[Finding, ...]:
        """Returns for which sizes a source works; nothing for one that fails.

        Raises TextError for a source for which this takes too long.
        """
        found: tuple[Finding, ...] = self._once("sizes", text, visitor)
        return found

    def _once(self, kind: str, text: str, visitor: str) -> Any:
        """Returns what a process of this kind answers; raises TextError if that is an error."""
        with self._lock:
            own = self._texts.setdefault((kind, text), Lock())
        try:
            with own:
                found = self._kept.get((kind, text))
                if found is None:
                    found = self._kept[kind, text] = self._process_reply(kind, text, visitor)
        finally:
            with self._lock:
                self._texts.pop((kind, text), None)
        if isinstance(found, TextError):
            raise found.with_traceback(None)
        return found

    def _process_reply(self, kind: str, text: str, visitor: str) -> Any:
        """Returns the reply of a process to a text, or an error."""
        if len(text) > LONGEST:
            fact = f"it has {len(text):,} letters, at most {LONGEST:,} are read"
            return TextError(fact, 1, 1, cure="the classes of one model")
        with self.turns[kind].take_turn(visitor, QUEUE) as came:
            if not came:
                raise TextError("too many sources are read now", 1, 1, cure="it again in a minute")
            result = self._result(kind, text)
            if result is None and kind == "source":
                return self._part(text)
        if result is None:
            fact = f"it takes more than {FINDING} seconds of computing, or 200 MB"
            return TextError(fact, 1, 1, cure="fewer layers, or smaller sizes")
        return _read(result) if kind == "source" else read(result)

    def _part(self, text: str) -> Reading | TextError:
        """Returns a part of a source whose whole takes too long; without one, that it does."""
        late = TextError(LATE, 1, 1, cure="fewer layers, or smaller sizes")
        result = self._result("part", text) if text.count("class ") > 1 else None
        found = _read(result) if result is not None else late
        return late if isinstance(found, TextError) else found

    def _result(self, kind: str, text: str) -> bytes | None:
        """Returns the result for a text; None if the operating system ended the process.

        Raises TextError, which nothing keeps, if there is none after a minute of a busy machine.
        """
        began = monotonic()
        worker = self.workers.start(job_request(kind, {"text": text}))
        worker.line.settimeout(PATIENCE)
        for message in worker.news():
            if message.get("result"):
                found: bytes = message["result"]
                return found
            if message.get("failure"):
                return None
        worker.end()
        if monotonic() - began >= PATIENCE:
            fact = "the machine is busy, and read nothing in a minute"
            raise TextError(fact, 1, 1, cure="it again")
        return None


def _read(result: bytes) -> Reading | TextError:
    """Converts a reply to a term or an error."""
    said = json.loads(result)
    if "error" in said:
        return _error(said["error"])
    try:
        term = from_json(said["term"])
    except NCDError as error:
        return TextError(error.fact, 1, 1, cure=error.cure)
    failure = _error(said["failure"]) if said["failure"] else None
    lines = {line: _shapes(shapes) for line, shapes in said["lines"]}
    shapes, call = _shapes(said["shapes"]), call_of(said["call"])
    note, ops = said["note"], dict(said["ops"])
    return Reading(term, said["kind"], note, failure, shapes, lines, call, ops)


def _shapes(said: list[list[int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, said))


def _error(said: dict[str, Any]) -> TextError:
    call = call_of(said["call"]) if said["call"] else None
    end = said["end"][0], said["end"][1]
    return TextError(said["fact"], said["line"], said["column"], end, said["cure"], call)


@cache
def reader() -> Reader:
    """Returns the reader of this process."""
    return Reader()
