"""The text of files that somebody opens: sources, notebooks, and zip archives of them, as one."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import PurePosixPath
from zipfile import ZipFile

from ncd.answers.joined_files import joined
from ncd.lang.errors import LimitError, NCDError, ParseError

MEMBERS, BYTES = 60, 4_000_000  # files of an archive, and bytes of all of them
OUTSIDE = re.compile(r"(^|/)(setup|conftest|tests?|__init__|\..*|__macosx)(/|\.py$|_|$)", re.I)
IMPORT = re.compile(r"^\s*(?:from\s+\.*([\w.]*)\s+import|import\s+([\w.]+))", re.M)
COMMAND = re.compile(r"^(\s*)([%!?].*)$", re.M)  # of a notebook's cell, which is no Python


def opened(files: Sequence[tuple[str, bytes]]) -> str:
    """Returns the text of files: of several sources one text, each behind those that it imports.

    Args:
        files: Their names and contents; a notebook gives the code of its cells, a zip archive the
            sources in it.

    Raises:
        ParseError: For an archive that is none.
        LimitError: For one with too many files, or too large ones.

    Source: this project's own.

    >>> main = ("main.py", b"from parts import Block\\nBlock()")
    >>> print(opened([main, ("parts.py", b"class Block: ...")]))
    class Block: ...
    pass
    Block()
    """
    texts = [each for name, content in files for each in _texts(name, content)]
    if len(texts) < 2:
        return texts[0][1] if texts else ""
    *others, (_, last) = _ordered(texts)
    return joined(last, others)


def notebook_code(text: str) -> str | None:
    """Returns the code of a notebook's cells; None for a text that is no notebook.

    >>> cells = '{"cells": [{"cell_type": "code", "source": ["!pip list\\\\n", "x = 1"]}]}'
    >>> print(notebook_code(cells))
    # !pip list
    x = 1
    """
    if not text.lstrip().startswith("{") or '"cells"' not in text:
        return None
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
                if one.filename.endswith((".py", ".ipynb")) and not OUTSIDE.search(one.filename)
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


def _ordered(texts: list[tuple[str, str]]) -> list[tuple[str, str]]:
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
