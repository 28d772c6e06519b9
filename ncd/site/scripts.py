"""Scripts as ES modules, joined to the one text that a page, a widget or a component holds.

A page that needs no server cannot import, so its modules are joined here: each once, after those
that it imports. Of two that import each other, the one that is met later comes first, as in a
browser. A module imports names from files beside it, and exports what others use; its other names
must be different from those of all modules that are joined with it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
IMPORT = re.compile(r'^import \{([^}]*)\} from "(\.[^"]+)";\n', re.MULTILINE)
COMMENT = re.compile(r"^ *//.*\n", re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|let|class)\b)", re.MULTILINE)
DECLARATION = re.compile(
    r"^(export )?(?:async )?(?:function|const|let|class) (?:(\w+)|\{([^}]*)\}|\[([^\]]*)\])",
    re.MULTILINE,
)


def script(*paths: str, loaded: Iterable[str] = ()) -> str:
    """Returns the text of modules and of all that they import, without lines of comments.

    Each path starts at ``ncd``.

    Args:
        paths: The modules, in the order in which they run.
        loaded: Modules that the page has run before, with those that they import.

    Raises:
        ImportError: For a name that is imported and not exported, or that two modules declare.

    >>> script("site/static/figure/theme.js").count("function turnTheme")
    1
    """
    known = set(_all_imported_files(loaded))
    every = [*known, *(file for file in _all_imported_files(paths) if file not in known)]
    declared: dict[str, Path] = {}
    for file in every:
        for name, _ in _names(file):
            other = declared.setdefault(name, file)
            if other != file:
                raise ImportError(f"{file.name} and {other.name} both declare {name}")
    texts = (EXPORT.sub("", IMPORT.sub("", _text(file))) for file in every[len(known) :])
    return COMMENT.sub("", "".join(texts))


def _all_imported_files(paths: Iterable[str]) -> list[Path]:
    begun: set[Path] = set()
    return [file for path in paths for file in _imported_files(PACKAGE / path, begun)]


def imports(file: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yields each file that a module imports from, with the names that it imports."""
    for names, address in IMPORT.findall(_text(file)):
        found = (file.parent / address).resolve()
        yield found, [name.strip() for name in names.split(",") if name.strip()]


def exports(file: Path) -> set[str]:
    """Returns the names that a module exports."""
    return {name for name, exported in _names(file) if exported}


def _imported_files(file: Path, begun: set[Path]) -> Iterator[Path]:
    """Yields the files that a module needs, and then itself, unless it has begun."""
    if file in begun:
        return  # modules that import each other are one scope here
    begun.add(file)
    for other, names in imports(file):
        if missing := set(names) - exports(other):
            raise ImportError(f"{file.name}: {other.name} exports no {', '.join(sorted(missing))}")
        yield from _imported_files(other, begun)
    yield file


def _names(file: Path) -> Iterator[tuple[str, bool]]:
    """Yields each name that a module declares at its top, and whether it is exported."""
    for exported, name, *several in DECLARATION.findall(_text(file)):
        for own in (name, *re.split(r"[,\s]+", ",".join(several))):
            if own and own.isidentifier():
                yield own, bool(exported)


@lru_cache
def _text(file: Path) -> str:
    return file.read_text()
