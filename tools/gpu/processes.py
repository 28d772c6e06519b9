"""A section in a process of its own, with a time limit."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import IO

from tools.gpu.agreement import Setting
from tools.gpu.findings import Finding, Report
from tools.gpu.sections import SECTIONS

LAST = 10.0  # seconds for a process that is asked to end


def command(name: str, setting: Setting) -> list[str]:
    """Returns the command that prints the findings of a section, one in a line."""
    options = ["--stream", "--device", setting.device, "--sections", name]
    quick = ["--quick"] if setting.quick else []
    return [sys.executable, "-m", "tools.gpu", *options, *quick]


def measured(name: str, setting: Setting, seconds: float) -> Report:
    """Measures a section for so many seconds at most; what it found until then is kept."""
    section, begun = SECTIONS[name], time.monotonic()
    if seconds <= 0:
        return Report(name, section.title, 0.0, (), "no time was left")
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        failure = _ended(command(name, setting), out, errors, seconds)
        findings = tuple(_read(out))
    return Report(name, section.title, time.monotonic() - begun, findings, failure)


def _ended(command: list[str], out: IO[str], errors: IO[str], seconds: float) -> str:
    """Runs a command; returns why it failed, or nothing."""
    process = subprocess.Popen(command, stdout=out, stderr=errors)
    try:
        code = process.wait(seconds)
    except subprocess.TimeoutExpired:
        return f"stopped after {seconds:.0f} s"
    finally:
        _end(process)
    if not code:
        return ""
    errors.seek(0)
    lines = errors.read().strip().splitlines()
    return lines[-1] if lines else f"its process ended with {code}"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(LAST)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _read(out: IO[str]) -> Iterator[Finding]:
    """Yields the findings that were printed; a line that was cut off is left out."""
    out.seek(0)
    for line in out:
        if line.startswith("{") and line.endswith("}\n"):
            yield Finding.read(json.loads(line))
