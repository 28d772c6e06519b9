"""A release has its version, its date and all files, or is refused."""

from __future__ import annotations

import re
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest
import yaml

from ncd.installation import ROOT
from tests.test_install import BESIDE, KEPT
from tools.release import PLACES, ReleaseError, check_content, dated, release, with_version

TODAY = date(2030, 1, 2)
NEWS = "# Changelog\n\n## [0.1.0] - unreleased\n\n- A page.\n\n## [0.0.9] - 2029-01-01\n\n- B.\n"


def git(folder: Path, *arguments: str) -> str:
    own = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    command = ["git", *own, *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout of all files of this one, with something new in its changelog."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in (*KEPT, *BESIDE):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        else:
            shutil.copy(ROOT / name, folder)
    (folder / "CHANGELOG.md").write_text(NEWS)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "All")
    return folder


@pytest.mark.slow
def test_a_release_has_its_version_everywhere_and_every_file(checkout: Path) -> None:
    wheel, source = sorted(
        release(checkout, "0.2.0", TODAY), key=lambda path: path.suffix != ".whl"
    )
    assert wheel.name == "neural_circuit_explorer-0.2.0-py3-none-any.whl"
    assert source.name == "neural_circuit_explorer-0.2.0.tar.gz"
    changed = {line[3:] for line in git(checkout, "status", "--porcelain").splitlines()}
    assert changed == {"CHANGELOG.md", *PLACES}
    for name, pattern in PLACES.items():
        assert set(re.findall(pattern, (checkout / name).read_text(), re.M)) == {"0.2.0"}
    kept = git(checkout, "ls-files").splitlines()
    for built in (wheel, source):
        fact = f"{built.name} lacks 1 files, such as ncd/none.py"
        with pytest.raises(ReleaseError, match=re.escape(fact)):
            check_content(built, [*kept, "ncd/none.py"], "0.2.0")
        with pytest.raises(ReleaseError, match=r"is of version 0\.2\.0\. Try 0\.3\.0\."):
            check_content(built, kept, "0.3.0")
    with pytest.raises(ReleaseError, match=r"^the tree is not clean: M"):
        release(checkout, "0.2.1", TODAY)


def test_a_head_is_dated_and_what_was_released_stays() -> None:
    assert dated(NEWS, "0.2.0", TODAY) == NEWS.replace(
        "[0.1.0] - unreleased", "[0.2.0] - 2030-01-02"
    )


@pytest.mark.parametrize(
    "text",
    [
        NEWS.replace("- A page.\n", ""),
        NEWS.replace("unreleased", "2029-02-02"),
        "## [0.2.0] - unreleased\n\n### Added\n",
    ],
)
def test_a_release_without_news_is_refused(text: str) -> None:
    with pytest.raises(ReleaseError) as error:
        dated(text, "0.2.0", TODAY)
    assert str(error.value) == (
        "CHANGELOG.md says nothing new. Try lines below a head ## [0.2.0] - unreleased."
    )


@pytest.mark.parametrize("version", ["1.0", "v1.0.0", "1.0.0rc1", ""])
def test_what_is_no_version_is_refused_before_anything_is_read(version: str) -> None:
    with pytest.raises(ReleaseError) as error:
        release(Path("/nowhere"), version, TODAY)
    assert str(error.value) == f"{version!r} is no version. Try three numbers, such as 0.2.0."


def test_a_file_without_its_version_is_refused() -> None:
    with pytest.raises(ReleaseError, match=r"README\.md has no version"):
        with_version("Nothing here.", PLACES["README.md"], "0.2.0", "README.md")


def test_the_workflow_calls_what_is_there() -> None:
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text())["jobs"]
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert jobs["test"]["steps"][-1]["run"] == ".ci/run" and (ROOT / ".ci" / "run").is_file()
    assert jobs["versions"]["steps"][-1]["run"] == "make ${{ matrix.target }}"
    assert set(jobs["versions"]["strategy"]["matrix"]["target"]) <= targets
