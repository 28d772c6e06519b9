"""The text of files that somebody opens: sources, notebooks, and zip archives of them, as one."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path, PurePosixPath
from zipfile import ZipFile

from ncd.answers.answer import Answer
from ncd.errors import LimitError, NCDError, ParseError, short_repr
from ncd.findings.reading.finding import Cure, Edit, Finding, apply_edits
from ncd.language.arguments import check_text

# --- A source and the files that its classes come from, as one text

File = str | Path | tuple[str, str]


def join_files(text: str, files: Sequence[File]) -> str:
    """Returns a text behind those of files, whose names it has without importing them.

    >>> join_files("from parts import Block as B\\nB()", [("parts.py", "class Block: ...")])
    'class Block: ...\\nB = Block\\nB()'

    Raises ParseError for a file that cannot be read.
    """
    if isinstance(files, str | bytes) or not isinstance(files, Iterable):
        raise _no_files(f"files is {short_repr(files)}, but it is several files")
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
    findings = tuple(_with_text_lines(each, before, text) for each in answer.findings)
    failure = next((each for each in findings if each.kind == "failure"), None)
    sentence = str(failure) if failure else answer.sentence
    return replace(answer, findings=findings, sentence=sentence)


def _read(file: File) -> tuple[str, str]:
    """Returns the name and the text of a file; raises ParseError if it has none."""
    if isinstance(file, tuple) and len(file) == 2:
        for part, what in zip(file, ("the name of a file", "the text of a file"), strict=True):
            check_text(part, what, "ask")
        return file
    if not isinstance(file, str | Path):
        raise _no_files(f"{short_repr(file)} is no file")
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
            new = "; ".join(_alias_assignments(node)) or "pass"
            lines[node.lineno - 1 : last] = [new, *[""] * (last - node.lineno)]
    return "\n".join(lines)


def _alias_assignments(node: ast.ImportFrom) -> Iterator[str]:
    for alias in node.names:
        if alias.asname and alias.asname != alias.name:
            yield f"{alias.asname} = {alias.name}"


def _with_text_lines(finding: Finding, before: int, text: str) -> Finding:
    """Returns a finding with the lines of the text; one about another file has no line."""
    cures = (_moved_cure(cure, before, text) for cure in finding.cures)
    line = max(0, finding.line - before)
    return replace(finding, line=line, cures=tuple(cure for cure in cures if cure))


def _moved_cure(cure: Cure, before: int, text: str) -> Cure | None:
    """Returns a cure as edits of the text; None for one that edits another file."""
    if any(edit.line <= before for edit in cure.edits):
        return None
    edits = tuple(Edit(e.line - before, e.start, e.end, e.new) for e in cure.edits)
    return replace(cure, edits=edits, text=apply_edits(text, edits))


# --- The text of files that somebody opens: sources, notebooks, and zip archives of them, as one

MEMBERS, BYTES = 60, 4_000_000  # files of an archive, and bytes of all of them
SKIPPED_PATH = re.compile(r"(^|/)(setup|conftest|tests?|__init__|\..*|__macosx)(/|\.py$|_|$)", re.I)
IMPORT = re.compile(r"^\s*(?:from\s+\.*([\w.]*)\s+import|import\s+([\w.]+))", re.M)
COMMAND = re.compile(r"^(\s*)([%!?].*)$", re.M)  # of a notebook's cell, which is no Python


def text_of_files(files: Sequence[tuple[str, bytes]]) -> str:
    """Returns the text of files: of several sources one text, each behind those that it imports.

    Args:
        files: Their names and contents; a notebook gives the code of its cells, a zip archive the
            sources in it.

    Raises:
        ParseError: For an archive that is none.
        LimitError: For one with too many files, or too large ones.

    Source: this project's own.

    >>> main = ("main.py", b"from parts import Block\\nBlock()")
    >>> print(text_of_files([main, ("parts.py", b"class Block: ...")]))
    class Block: ...
    pass
    Block()
    """
    texts = [each for name, content in files for each in _texts(name, content)]
    if len(texts) < 2:
        return texts[0][1] if texts else ""
    *others, (_, last) = _in_import_order(texts)
    return join_files(last, others)


def notebook_code(text: str) -> str | None:
    """Returns the code of a notebook's cells; None for a text that is no notebook.

    >>> cells = '{"cells": [{"cell_type": "code", "source": ["!pip list\\\\n", "x = 1"]}]}'
    >>> print(notebook_code(cells))
    # !pip list
    x = 1
    """
    try:
        cells = json.loads(text)["cells"]
        sources = [cell["source"] for cell in cells if cell.get("cell_type") == "code"]
        code = ["".join(one) if isinstance(one, list) else str(one) for one in sources]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return "\n\n".join(COMMAND.sub(r"\1# \2", each) for each in code)


def _texts(name: str, content: bytes) -> list[tuple[str, str]]:
    """Returns the names and texts of a file, or of those in an archive."""
    if content.startswith(b"PK\x03\x04"):
        return _members(name, content)
    text = content.decode("utf-8", "replace")
    code = notebook_code(text)
    return [(name, text if code is None else code)]


def _members(name: str, content: bytes) -> list[tuple[str, str]]:
    try:
        with ZipFile(BytesIO(content)) as archive:
            inside = [
                one
                for one in archive.infolist()
                if one.filename.endswith((".py", ".ipynb"))
                and not SKIPPED_PATH.search(one.filename)
            ]
            size = sum(one.file_size for one in inside)
            if len(inside) > MEMBERS or size > BYTES:
                fact = f"{name} holds {len(inside):,} sources of {size:,} bytes"
                raise LimitError(fact, cure=f"at most {MEMBERS} of {BYTES:,} bytes together")
            read = []
            for one in inside:
                with archive.open(one) as file:  # may be longer than it says
                    read.append((one.filename, file.read(BYTES)))
    except NCDError:
        raise
    except Exception:  # the kinds of its reader, and of each compression
        raise ParseError(f"{name} is no zip archive that can be read", cure="its files") from None
    if not read:
        raise ParseError(f"{name} holds no source", cure="an archive with files that end in .py")
    return [each for path, data in read for each in _texts(path, data)]


def _in_import_order(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns sources, each behind those that it imports; those of a circle in their own order."""
    names: dict[str, tuple[str, str]] = {}
    for name, text in texts:
        stem = PurePosixPath(name).stem
        names[name if stem in names else stem] = (name, text)
    order: list[tuple[str, str]] = []
    begun: set[str] = set()
    waiting = [*reversed(names)]
    while waiting:
        stem = waiting[-1]
        wanted = [] if stem in begun else [one for one in _imports(names[stem][1]) if one in names]
        begun.add(stem)
        inner = [one for one in wanted if one not in begun]
        if inner:
            waiting += reversed(inner)
        elif names[stem] not in order:
            order.append(names[waiting.pop()])
        else:
            waiting.pop()
    return order


def _imports(text: str) -> list[str]:
    """Returns the last parts of the names of files that a text imports.

    >>> _imports("from .parts import A\\nimport torch.nn")
    ['parts', 'nn']
    """
    return [(one or two).rpartition(".")[2] for one, two in IMPORT.findall(text)]
