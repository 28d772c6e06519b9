"""A source and the files that its classes come from, as one text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ncd.answers.answer import Answer
from ncd.answers.plain_answer import sentence_of
from ncd.findings.finding import Cure, Edit, Finding, edited
from ncd.lang.errors import ParseError, shown
from ncd.lang.terms.arguments import check_text

File = str | Path | tuple[str, str]


def joined(text: str, files: Sequence[File]) -> str:
    """Returns a text behind those of files, whose names it has without importing them.

    >>> joined("from parts import Block as B\\nB()", [("parts.py", "class Block: ...")])
    'class Block: ...\\nB = Block\\nB()'

    Raises ParseError for a file that cannot be read.
    """
    if isinstance(files, str | bytes) or not isinstance(files, Iterable):
        raise _no_files(f"files is {shown(files)}, but it is several files")
    read = dict(map(_read, files))
    if not read:
        return text
    names = {Path(name).stem for name in read}
    return "\n".join(_without_imports(each, names) for each in (*read.values(), text))


def of_text(answer: Answer, whole: str, text: str) -> Answer:
    """Returns an answer to the whole as one to the text at its end, whose lines it counts."""
    before = whole.count("\n") - text.count("\n")
    if not before:
        return answer
    findings = tuple(_moved(each, before, text) for each in answer.findings)
    failure = next((each for each in findings if each.kind == "failure"), None)
    sentence = sentence_of(failure) if failure else answer.sentence
    return replace(answer, findings=findings, sentence=sentence)


def _read(file: File) -> tuple[str, str]:
    """Returns the name and the text of a file; raises ParseError if it has none."""
    if isinstance(file, tuple) and len(file) == 2:
        for part, what in zip(file, ("the name of a file", "the text of a file"), strict=True):
            check_text(part, what, "ask")
        return file
    if not isinstance(file, str | Path):
        raise _no_files(f"{shown(file)} is no file")
    try:
        return Path(file).name, Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise ParseError(f"cannot read {str(file)!r}: {reason}", cure="another file") from None


def _no_files(fact: str) -> ParseError:
    return ParseError(fact, where="ask", cure='files=["parts.py"], or [("parts.py", "class …")]')


def _without_imports(text: str, names: set[str]) -> str:
    """Returns a text without its imports from files of these names, with as many lines."""
    try:
        nodes = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = text.split("\n")
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] in names:
            last = node.end_lineno or node.lineno
            new = "; ".join(_renamed(node)) or "pass"
            lines[node.lineno - 1 : last] = [new, *[""] * (last - node.lineno)]
    return "\n".join(lines)


def _renamed(node: ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        if alias.asname and alias.asname != alias.name:
            yield f"{alias.asname} = {alias.name}"


def _moved(finding: Finding, before: int, text: str) -> Finding:
    """Returns a finding with the lines of the text; one about another file has no line."""
    cures = (_moved_cure(cure, before, text) for cure in finding.cures)
    line = max(0, finding.line - before)
    return replace(finding, line=line, cures=tuple(cure for cure in cures if cure))


def _moved_cure(cure: Cure, before: int, text: str) -> Cure | None:
    """Returns a cure as edits of the text; None for one that edits another file."""
    if any(edit.line <= before for edit in cure.edits):
        return None
    edits = tuple(Edit(e.line - before, e.start, e.end, e.new) for e in cure.edits)
    return replace(cure, edits=edits, text=edited(text, edits))
