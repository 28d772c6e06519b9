"""An answer as lines of a terminal and as data, and what an import finds in a module."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ncd.answers.answer import Answer
from ncd.answers.answer_sentences import shape_words
from ncd.cli.output import term_data
from ncd.findings.reading.finding import Cure, Finding, apply_edits
from ncd.findings.search import call_findings
from ncd.read.python_source.model_inputs import array_words
from ncd.read.torch_module.from_torch import Imported

# --- An answer as the lines of a terminal, and as data for JSON


KINDS = {"failure": "fails", "silent": "hardly meant"}


def answer_data(answer: Answer) -> dict[str, Any]:
    """Returns an answer as data; the term by its types, or null where there is none."""
    term = answer.term
    types = None if term is None else {"dom": term.dom.spec, "cod": term.cod.spec}
    findings = [asdict(each) for each in answer.findings]
    told = {"kind": answer.kind, "sentence": answer.sentence, "shapes": answer.shapes}
    told |= {"costs": answer.costs}
    return {**told, "assumed": answer.assumed, "term": types, "findings": findings}


def answer_lines(answer: Answer, text: str, file: str) -> Iterator[str]:
    """Yields the lines of an answer: its sentence, findings, and cures as diffs of its file."""
    yield answer.sentence
    yield from (*answer.costs, *answer.assumed)
    for before, finding in zip((None, *answer.findings), answer.findings, strict=False):
        if finding.kind == "size" and (before is None or before.kind != "size"):
            yield ""  # one list, below all else
        lines = finding_lines(finding, text, file)
        if str(finding) == answer.sentence:
            next(lines)
        yield from lines


def finding_lines(finding: Finding, text: str, file: str) -> Iterator[str]:
    """Yields the lines of a finding: what is wrong, and its cures as diffs of its file."""
    head = "" if finding.kind == "size" else f"\n{KINDS[finding.kind]}, "
    yield f"{head}{finding!s}"
    for number, cure in enumerate(finding.cures, 1):
        yield from _cure(number, cure, text, file)


def _cure(number: int, cure: Cure, text: str, file: str) -> Iterator[str]:
    """Yields what a cure changes, and its edits as a diff."""
    shapes = ", ".join(shape_words(shape) for shape in cure.shapes)
    out = f", out: {shapes}" if shapes else ""
    yield f"\ncure {number}, which changes the {cure.changes}{out}"
    before, after = text.splitlines(), apply_edits(text, cure.edits).splitlines()
    yield from difflib.unified_diff(before, after, file, file, lineterm="", n=0)


# --- The data of an import which can be printed as JSON


def import_data(found: Imported, findings: Sequence[Finding] = ()) -> dict[str, Any]:
    """Returns what an import has found: types, cost, boxes, and how far the term is the module.

    What is found in its source stands beside it, if anything is.
    """
    boxes = [vars(box) for box in found.boxes]
    data = {**term_data(found.term), "boxes": boxes, "notes": list(found.notes)}
    if findings:
        data["findings"] = [asdict(each) for each in findings]
    if found.failure:
        return {**data, "failure": found.failure}
    return {**data, "difference": found.difference}


# --- Findings in the source of an imported module, which is read beside its run


MAKERS = (ast.ClassDef, ast.FunctionDef)  # of what makes a module


def import_findings(place: str, inputs: str, found: Imported) -> tuple[Finding, ...]:
    """Returns what is found in the file of a module, ``model.py:Net``, on inputs of these shapes.

    A failure is one of the module only if that fails as well.
    """
    file, _, name = place.rpartition(":")
    try:
        text = Path(file).read_text(encoding="utf-8")
        last = _call(text, name, inputs)
    except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
        return ()
    return call_findings(text, last, bool(found.failure))


def _call(text: str, name: str, inputs: str) -> str:
    """Returns the line that calls a module of a source.

    >>> _call("class Net(nn.Module): ...", "Net", "2x8, 4#50")
    'Net()(torch.randn(2, 8), torch.randint(50, (4,)))'
    """
    made = [each.name for each in ast.parse(text).body if isinstance(each, MAKERS)]
    given = []
    for each in inputs.split(","):
        shape, _, below = each.strip().partition("#")
        given.append(array_words([*filter(None, shape.split("x"))], below))
    return f"{name}{'()' * (name in made)}({', '.join(given)})"
