"""Asks for whole files of published packages, drawn by a seed, and tells what becomes of each.

    python -m tools.read_packages FOLDER                       # 60 files, drawn with seed 0
    python -m tools.read_packages FOLDER --count 120 --seed 3 --json drawn.json
    python -m tools.read_packages FOLDER --without drawn.json  # others than those of earlier draws
    python -m tools.read_packages FOLDER --reading             # the reading alone, without findings
    python -m tools.read_packages FOLDER --typed lines.json    # with forms that are filled in

Each folder in FOLDER is a package, unpacked and never imported. Packages take turns, so that a
large one does not fill the draw. A file counts if it defines a module with a forward; tests,
losses and changes of data do not count. What is read, is read as for a visitor, in a process of
its own under limits of time and memory. What is typed into a form is its last line, by the path of
the file. The exit status is the number of files without a diagram.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from ncd.answers.answer import Answer
from ncd.answers.ask import ask
from ncd.answers.plain_answer import answer_of, refusal_answer
from ncd.errors import NCDError
from ncd.jobs.source_reading import reader

# --- Draws files of packages that define models or layers

COUNT, SEED = 60, 0
OTHER_PURPOSE = re.compile(
    r"(?:^|[/_])(?:tests?|testing|conftest|loss|losses|metrics?|augment|augmentation|transforms?|"
    r"datasets?|datamodules?|optim|callbacks?|trainers?)(?=[/_.])"
)
NO_MODULE = ("Function", "Protocol", "ABC", "object", "Loss", "Enum", "Transform")


@dataclass(frozen=True)
class PackageFile:
    """A file of a package: the name of the package, and its path in the folder of all."""

    package: str
    path: Path


def model_files(folder: Path) -> dict[str, list[PackageFile]]:
    """Returns the files of each package that define a model or a layer.

    Args:
        folder: The folder of the packages.
    """
    found: dict[str, list[PackageFile]] = {}
    for path in sorted(folder.glob("*/**/*.py")):
        inside = path.relative_to(folder)
        if not OTHER_PURPOSE.search("/".join(inside.parts[1:]).lower()) and _has_model(path):
            found.setdefault(inside.parts[0], []).append(PackageFile(inside.parts[0], inside))
    return found


def _has_model(path: Path) -> bool:
    try:
        text = path.read_text()
        if "def forward(" not in text:
            return False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the escapes in its texts
            return defines_model(ast.parse(text))
    except (SyntaxError, ValueError):
        return False


def defines_model(tree: ast.Module) -> bool:
    """Returns whether a source defines a module with a forward that takes something.

    >>> text = "class A({}):\\n    def forward(self, x):\\n        return x"
    >>> [defines_model(ast.parse(text.format(base))) for base in ("nn.Module", "object")]
    [True, False]
    """
    for node in ast.walk(tree):
        bases = [ast.unparse(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
        if not any(not base.endswith(NO_MODULE) for base in bases):
            continue
        for part in node.body:  # type: ignore[attr-defined]
            if isinstance(part, ast.FunctionDef) and part.name == "forward" and _does(part):
                return True
    return False


def _does(forward: ast.FunctionDef) -> bool:
    """Returns whether a forward takes something, and is not left to the classes that extend it."""
    given = forward.args
    empty = all(
        isinstance(one, ast.Pass | ast.Raise)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        for one in forward.body
    )
    return not empty and (len(given.posonlyargs + given.args) > 1 or given.vararg is not None)


def draw(files: dict[str, list[PackageFile]], count: int, seed: int) -> list[PackageFile]:
    """Returns so many files, one of each package in turn, as a seed draws them.

    >>> two = {"a": [PackageFile("a", Path(f"a/{n}.py")) for n in range(9)],
    ...        "b": [PackageFile("b", Path("b/0.py"))]}
    >>> drawn = draw(two, 3, 0)
    >>> sorted(each.package for each in drawn), draw(two, 3, 0) == drawn, len(draw(two, 99, 0))
    (['a', 'a', 'b'], True, 10)
    """
    chance = random.Random(seed)
    names = sorted(files)
    chance.shuffle(names)
    piles = [chance.sample(files[name], len(files[name])) for name in names]
    found: list[PackageFile] = []
    while any(piles) and len(found) < count:
        found += [pile.pop() for pile in piles if pile]
    return found[:count]


def others(
    files: dict[str, list[PackageFile]], results: Sequence[Path]
) -> dict[str, list[PackageFile]]:
    """Returns files without those of earlier draws, whose results are given."""
    drawn = {one["path"] for path in results for one in json.loads(path.read_text())}
    left = {name: [one for one in own if str(one.path) not in drawn] for name, own in files.items()}
    return {name: own for name, own in left.items() if own}


# --- Asks for files, and tells what becomes of each

AT_ONCE, FORM, ASKS = "at once", "after the form", "asks"
PARTLY, SLOW, REFUSED = "partly", "slow", "refused"
LATE = re.compile(r"takes more than \d+ seconds")


@dataclass(frozen=True)
class FileResult:
    """What becomes of a file: its result, the reason of one that is not drawn, and the seconds."""

    package: str
    path: str
    result: str
    reason: str
    line: int
    seconds: float
    shapes: tuple[tuple[int, ...], ...]
    assumed: tuple[str, ...]


def read_file(
    folder: Path, file: PackageFile, reading: bool = False, typed: str = ""
) -> FileResult:
    """Returns what becomes of a file.

    Args:
        folder: The folder of the packages.
        file: The file.
        reading: Whether it is only read, and nothing is searched in it.
        typed: The last line with what a person types into the form, if it is not drawn at once.
    """
    text, begin = (folder / file.path).read_text(), perf_counter()
    answer, asks = _answer(text, reading)
    result, reason, line = outcome(answer, asks)
    if typed and result in (ASKS, PARTLY, REFUSED):
        filled, _ = _answer(f"{text}\n{typed}\n", reading)
        if outcome(filled, False)[0] == AT_ONCE:
            answer, result = filled, FORM
    where = file.package, str(file.path), result, reason, line
    return FileResult(*where, round(perf_counter() - begin, 2), answer.shapes, answer.assumed)


def _answer(text: str, reading: bool) -> tuple[Answer, bool]:
    """Returns the answer to a text, and whether a form asks for what lacks."""
    asks = False
    try:
        answer = answer_of(text, reader().read(text))
    except NCDError as error:
        answer = refusal_answer(text, error)
        call = getattr(error, "call", None)
        asks = call is not None and bool(call.line)
    return (answer if reading else ask(text)), asks


def outcome(answer: Answer, asks: bool) -> tuple[str, str, int]:
    """Returns the result of an answer, with the reason and the line of what is not drawn.

    Args:
        answer: The answer.
        asks: Whether a form asks for what lacks.
    """
    failure = next((one for one in answer.findings if one.kind == "failure"), None)
    if failure is None:
        return (AT_ONCE, "", 0) if answer.shapes else (PARTLY, "nothing comes out of it", 0)
    if LATE.search(failure.says):
        return SLOW, failure.says, failure.line
    result = PARTLY if answer.term is not None else ASKS if asks else REFUSED
    return result, failure.says, failure.line


def table(results: Sequence[FileResult]) -> Iterator[str]:
    """Yields the lines of a table of results, and what they come to."""
    for one in results:
        said = one.reason and f"{one.line}: {one.reason}"
        yield f"| {one.result} | {one.path} | {one.seconds:.1f} s | {said.replace('|', '/')} |"
    counts = Counter(one.result for one in results)
    seconds = [one.seconds for one in results] or [0.0]
    yield ", ".join(f"{result}: {n}" for result, n in counts.most_common())
    yield f"median {median(seconds):.1f} s, at most {max(seconds):.1f} s"


def main() -> int:
    """Draws files, asks for each, and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a folder with a folder for each package")
    parser.add_argument("--count", type=int, default=COUNT, help="files that are drawn")
    parser.add_argument("--seed", type=int, default=SEED, help="of the draw")
    parser.add_argument("--without", type=Path, nargs="+", default=(), help="earlier results")
    parser.add_argument("--reading", action="store_true", help="nothing is searched in them")
    parser.add_argument("--typed", type=Path, help="last lines that fill forms, by paths")
    parser.add_argument("--json", type=Path, help="a file for the results")
    given = parser.parse_args()
    files = others(model_files(given.folder), given.without)
    typed = json.loads(given.typed.read_text()) if given.typed else {}
    results = []
    for file in draw(files, given.count, given.seed):
        line = typed.get(str(file.path), "")
        results.append(read_file(given.folder, file, given.reading, line))
        print(f"{len(results):4d} {results[-1].result:14s} {file.path}", file=sys.stderr)
    print("\n".join(table(results)))
    if given.json:
        given.json.write_text(json.dumps([asdict(one) for one in results], indent=1))
    return sum(one.result not in (AT_ONCE, FORM) for one in results)


if __name__ == "__main__":
    sys.exit(main())
