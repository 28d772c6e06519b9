"""The job that reads a source, and the one that searches its findings, as data."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from ncd.errors import NCDError
from ncd.findings.reading.finding import Cure, Edit, Finding
from ncd.findings.search import findings as found_in
from ncd.findings.search import size_findings
from ncd.jobs.local_workers import WorkerChannel
from ncd.notation.term_reader import TextError
from ncd.read.python_source.source_reader import read_source
from ncd.write.term_json import LONGEST_JSON, to_json

# --- Findings as JSON, between the process that finds them and the one that shows them


def findings_json(findings: Sequence[Finding]) -> bytes:
    """Returns findings as JSON.

    >>> read(findings_json([Finding("silent", 3, "a", "b")]))
    (Finding(kind='silent', line=3, layer='a', says='b', cures=()),)
    """
    return json.dumps([asdict(each) for each in findings]).encode()


def read(data: bytes) -> tuple[Finding, ...]:
    """Returns findings that were written as JSON."""
    return tuple(
        Finding(**{**each, "cures": tuple(_cure(**cure) for cure in each["cures"])})
        for each in json.loads(data)
    )


def _cure(edits: list[dict[str, object]], shapes: list[list[int]], **same: object) -> Cure:
    places = tuple(Edit(**edit) for edit in edits)  # type: ignore[arg-type]
    return Cure(edits=places, shapes=tuple(map(tuple, shapes)), **same)  # type: ignore[arg-type]


# --- The job that reads PyTorch source, under time and memory limits of the operating system

BUILDING, SECONDS = 2, 6  # of computing, until the module is made and in all
PART = 4  # seconds of computing for a part of a source whose whole takes longer
LATE = f"it takes more than {SECONDS} seconds of computing, or 200 MB"
FINDING = 16  # seconds of computing at most for findings; the search itself ends sooner
MEMORY = 200_000_000  # bytes, besides those of the process as it begins
WARM = (
    """
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F

class Attention(nn.Module):
    def __init__(self, m, h):
        super().__init__()
        self.h, self.qkv, self.out = h, nn.Linear(m, 3 * m), nn.Linear(m, m)
    def forward(self, x):
        b, t, m = x.shape
        q, k, v = self.qkv(x).split(m, dim=2)
        q, k, v = (one.view(b, t, self.h, m // self.h).transpose(1, 2) for one in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).contiguous().view(b, t, m))

class Layer(nn.Module):
    def __init__(self, m=16, h=2):
        super().__init__()
        self.table, self.places = nn.Embedding(30, m), nn.Embedding(8, m)
        self.one, self.two, self.attention = nn.LayerNorm(m), nn.LayerNorm(m), Attention(m, h)
        self.wide = nn.Sequential(nn.Linear(m, 4 * m), nn.GELU(), nn.Linear(4 * m, m))
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)))
    def forward(self, x):
        x = self.table(x) + self.places(torch.arange(x.size(1)))
        x = x + self.attention(self.one(x))
        x = x + self.wide(self.two(x))
        scores = (x @ x.transpose(-2, -1)).masked_fill(self.mask == 0, float("-inf"))
        return (F.softmax(scores, dim=-1) @ x)[:, [-1], :]
1x8#30
""",
    """
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
            nn.MaxPool2d(2), nn.Dropout(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 4),
        )
    def forward(self, x):
        return torch.relu(self.parts(x)) + self.parts(x).mean(dim=1, keepdim=True)
""",
)
FAILING = "nn.Linear(8, 3)(torch.randn(5, 6))"


def warm_up() -> None:
    """Reads a few sources, so that torch has loaded all that later ones need."""
    for text in WARM:
        read_source(text)
    found_in(FAILING)


def source(line: WorkerChannel, text: str) -> None:
    """Reads a source, and sends its term or the error as JSON."""
    _limit_memory()
    _limit_time(BUILDING)
    line.give(json.dumps(source_message(text, lambda: _limit_time(SECONDS))).encode())


def part(line: WorkerChannel, text: str) -> None:
    """Reads a part of a source whose whole model takes too long, and sends it as JSON."""
    _limit_memory()
    _limit_time(BUILDING)
    line.give(json.dumps(source_message(text, lambda: _limit_time(PART), LATE)).encode())


def findings(line: WorkerChannel, text: str) -> None:
    """Finds what is wrong with a source, and sends the findings as JSON."""
    _limit_memory()
    _limit_time(FINDING)
    line.give(findings_json(found_in(text)))


def sizes(line: WorkerChannel, text: str) -> None:
    """Finds for which sizes a source works, and sends the findings as JSON."""
    _limit_memory()
    _limit_time(FINDING)
    line.give(findings_json(size_findings(text)))


def source_message(
    text: str, made: Callable[[], object] = bool, late: str = ""
) -> dict[str, object]:
    """Returns the message about a source: its term, a note and a failure, or an error.

    ``late`` is why only a part of it is read.

    >>> source_message("class Net(nn.Module): pass")["error"]["fact"][:30]
    'there is no module in it'
    """
    try:
        found = read_source(text, made, late)
        term = to_json(found.term, indent=None)
        if len(term) > LONGEST_JSON:
            raise TextError("its term is too large to be drawn", 1, 1, cure="fewer layers")
    except TextError as error:
        return {"error": _error_fields(error)}
    except NCDError as error:
        return {"error": _error_fields(TextError(error.fact, 1, 1, cure=error.cure))}
    except Exception as error:  # whatever the interpreter has not thought of
        fact = f"it cannot be read, because of a {type(error).__name__}"
        return {"error": _error_fields(TextError(fact, 1, 1, cure="fewer lines"))}
    failure = _error_fields(found.failure) if found.failure else None
    shapes = {"shapes": found.shapes, "lines": [*found.lines.items()], "call": asdict(found.call)}
    shapes["ops"] = [*found.ops.items()]
    return {"term": term, "kind": found.kind, "note": found.note, "failure": failure, **shapes}


def _error_fields(error: TextError) -> dict[str, object]:
    place = {"line": error.line, "column": error.column, "end": error.end}
    call = asdict(error.call) if error.call else None
    return {"fact": error.fact, "cure": error.cure, "call": call, **place}


def _limit_time(seconds: int) -> None:
    """Makes the operating system end this process after some CPU time."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))


def _limit_memory() -> None:
    """Limits the additional memory of this process, and forbids writing files."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    pages = Path("/proc/self/statm")
    if pages.exists():
        most = int(pages.read_text().split()[0]) * resource.getpagesize() + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
