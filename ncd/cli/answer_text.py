"""An answer as the lines of a terminal, and as data for JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ncd.answers.answer import Answer
from ncd.answers.answer_sentences import shape_words
from ncd.answers.plain_answer import sentence_of
from ncd.findings.reading.finding import Cure, Finding, apply_edits

KINDS = {"failure": "fails", "silent": "hardly meant"}


def answer_data(answer: Answer) -> dict[str, Any]:
    """Returns an answer as data; the term by its types, or null where there is none."""
    term = answer.term
    types = None if term is None else {"dom": term.dom.spec, "cod": term.cod.spec}
    findings = [asdict(each) for each in answer.findings]
    told = {"kind": answer.kind, "sentence": answer.sentence, "shapes": answer.shapes}
    told |= {"costs": answer.costs}
    return {**told, "assumed": answer.assumed, "term": types, "findings": findings}


def answer_lines(answer: Answer, text: str) -> Iterator[str]:
    """Yields the lines of an answer: its sentence, findings, and cures as diffs of the text."""
    yield answer.sentence
    yield from (*answer.costs, *answer.assumed)
    for before, finding in zip((None, *answer.findings), answer.findings, strict=False):
        if finding.kind == "size" and (before is None or before.kind != "size"):
            yield ""  # one list, below all else
        lines = finding_lines(finding, text)
        if sentence_of(finding) == answer.sentence:
            next(lines)
        yield from lines


def finding_lines(finding: Finding, text: str) -> Iterator[str]:
    """Yields the lines of a finding: what is wrong, and its cures as diffs of the text."""
    head = "" if finding.kind == "size" else f"\n{KINDS[finding.kind]}, "
    yield f"{head}{sentence_of(finding)}"
    for number, cure in enumerate(finding.cures, 1):
        yield from _cure(number, cure, text)


def _cure(number: int, cure: Cure, text: str) -> Iterator[str]:
    """Yields what a cure changes, and its edits as a diff."""
    shapes = ", ".join(shape_words(shape) for shape in cure.shapes)
    out = f", out: {shapes}" if shapes else ""
    yield f"\ncure {number}, which changes the {cure.changes}{out}"
    before, after = text.splitlines(), apply_edits(text, cure.edits).splitlines()
    yield from difflib.unified_diff(before, after, "text", "cured", lineterm="", n=0)
