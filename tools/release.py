"""Prepares a release: ``python -m tools.release 0.2.0`` sets the version, and builds the files.

The tree must be clean, and the changelog must say what is new below ``## [x] - unreleased``. The
version and the date are written; the wheel and the source distribution go to ``dist/``, and are
compared with what git keeps. What is left, a commit, a tag and the upload, is printed only.
"""

from __future__ import annotations

import argparse
import email
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

from ncd.errors import NCDError

VERSION = re.compile(r"\d+\.\d+\.\d+")
HEAD = re.compile(r"^## \[[^\]]+\] - unreleased\n(.*?)(?=^## |\Z)", re.M | re.S)
# Where the version stands; each pattern's group is the version.
PLACES = {
    "ncd/version.py": r'^VERSION = "(.+)"$',
    "CITATION.cff": r"^version: (.+)$",
    "README.md": r"^  version = \{(.+)\},$",
    "docs/installing.md": r"neural_circuit_explorer-(.+)-py3-none-any\.whl",
    "docs/other-pages.md": r"neural_circuit_explorer-(.+)-py3-none-any\.whl",
}
# What an installed app reads beside the package, in pyproject.toml's folder ncd/bundle.
BUNDLE = re.compile(r"app\.py|pages/.+\.py|assets/.+|\.streamlit/config\.toml")
BUILD_SDIST = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
NEXT = """dist/ has {names}. What is left:
    git commit -am "Version {version}" && git tag -a v{version} -m "Version {version}"
    git push --follow-tags
    python -m twine upload {paths}"""


class ReleaseError(NCDError):
    """What stands in the way of a release."""


def release(root: Path, version: str, today: date) -> list[Path]:
    """Returns the built wheel and source distribution of a checkout, under its new version.

    Raises:
        ReleaseError: If the version is none, the tree is not clean, nothing is new in the
            changelog, or a file is missing from what was built.
    """
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is no version", cure="three numbers, such as 0.2.0")
    if changed := _git(root, "status", "--porcelain").strip():
        raise ReleaseError(f"the tree is not clean: {changed.splitlines()[0]}", cure="git stash")
    changelog = root / "CHANGELOG.md"
    changelog.write_text(dated(changelog.read_text(), version, today))
    for name, pattern in PLACES.items():
        path = root / name
        path.write_text(with_version(path.read_text(), pattern, version, name))
    built = _build(root)
    for path in built:
        check_content(path, _tracked(root), version)
    return built


def dated(changelog: str, version: str, today: date) -> str:
    """Returns the changelog with a version and a date in place of its unreleased head.

    >>> dated("# Changes\\n\\n## [1.0.0] - unreleased\\n\\n- A.\\n", "1.1.0", date(2030, 1, 2))
    '# Changes\\n\\n## [1.1.0] - 2030-01-02\\n\\n- A.\\n'

    Raises:
        ReleaseError: If there is no such head, or nothing below it.
    """
    head = HEAD.search(changelog)
    if head is None or not re.search(r"^- \S", head[1], re.M):
        fact = "CHANGELOG.md says nothing new"
        raise ReleaseError(fact, cure=f"lines below a head ## [{version}] - unreleased")
    start, end = head.start(), head.start(1)
    return f"{changelog[:start]}## [{version}] - {today.isoformat()}\n{changelog[end:]}"


def with_version(text: str, pattern: str, version: str, name: str) -> str:
    """Returns a file's text with another version at each place of a pattern.

    >>> with_version("version: 0.1.0\\n", PLACES["CITATION.cff"], "0.2.0", "CITATION.cff")
    'version: 0.2.0\\n'

    Raises:
        ReleaseError: If the pattern is nowhere.
    """
    places = [match.span(1) for match in re.finditer(pattern, text, re.M)]
    if not places:
        raise ReleaseError(f"{name} has no version", cure=f"a line as {pattern!r} describes it")
    for start, end in reversed(places):
        text = text[:start] + version + text[end:]
    return text


def _build(root: Path) -> list[Path]:
    """Returns a wheel and a source distribution of what git keeps, and of nothing beside it."""
    dist = root / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    with TemporaryDirectory() as folder:
        for name in _tracked(root):
            Path(folder, name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, Path(folder, name))
        wheel = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(dist), "."]
        for arguments in (wheel, ["-c", BUILD_SDIST, str(dist)]):
            command = [sys.executable, *arguments]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            if done.returncode:
                raise ReleaseError(
                    f"it does not build: {done.stderr.strip()}", cure="pip install ."
                )
    return sorted(dist.iterdir())


def check_content(built: Path, tracked: list[str], version: str) -> None:
    """Raises ReleaseError if a built file lacks one of the checkout, or has another version."""
    if built.suffix == ".whl":
        with zipfile.ZipFile(built) as archive:
            inside = set(archive.namelist())
            (metadata,) = (name for name in inside if name.endswith(".dist-info/METADATA"))
            stated = email.message_from_bytes(archive.read(metadata))["Version"]
        wanted = {name for name in tracked if name.startswith("ncd/")}
        wanted |= {f"ncd/bundle/{name}" for name in tracked if BUNDLE.fullmatch(name)}
    else:
        with tarfile.open(built) as packed:
            inside = {name.partition("/")[2] for name in packed.getnames()}
        stated = built.name.removesuffix(".tar.gz").rpartition("-")[2]
        wanted = set(tracked)
    if missing := sorted(wanted - inside):
        fact = f"{built.name} lacks {len(missing)} files, such as {missing[0]}"
        raise ReleaseError(fact, cure="the lists of pyproject.toml and MANIFEST.in")
    if stated != version:
        raise ReleaseError(f"{built.name} is of version {stated}", cure=version)


def _tracked(root: Path) -> list[str]:
    return _git(root, "ls-files", "-z").split("\0")[:-1]


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def main() -> int:
    """Prepares the release of the version that the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    parser.add_argument("version", metavar="VERSION", help="three numbers, such as 0.2.0")
    version = parser.parse_args().version
    try:
        built = release(Path(__file__).parents[1], version, date.today())
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 2
    names = " and ".join(f"{path.name} ({path.stat().st_size / 1e6:.1f} MB)" for path in built)
    print(
        NEXT.format(names=names, version=version, paths=" ".join(f"dist/{p.name}" for p in built))
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
