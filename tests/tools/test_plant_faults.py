"""The faults to plant fit the files as they are, and a planted fault is noticed and undone."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from threading import Barrier

import pytest

from tools import plant_faults
from tools.draw_faults import draw, mistakes
from tools.fault_list import FAULTS, Fault
from tools.plant_faults import ROOT, Outcome, line, planted, targets, tried


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.file)
def test_every_fault_fits_its_file(fault: Fault) -> None:
    """Where a file has changed, the fault in ``tools/fault_list.py`` is to follow."""
    text = (ROOT / "ncd" / fault.file).read_text()
    assert text.count(fault.old) == 1
    assert fault.old != fault.new
    compile(text.replace(fault.old, fault.new), fault.file, "exec")
    paths = [part for part in targets(fault) if part.startswith(("ncd/", "tests"))]
    assert paths and all((ROOT / path).exists() for path in paths)


def test_every_folder_has_a_fault() -> None:
    """The folders on the top floor, and those within the larger of them."""
    large = ("app", "drawing", "read", "write")
    folders = {path.parent for path in (ROOT / "ncd").glob("*/*.py")}
    folders |= {path.parent for name in large for path in (ROOT / "ncd" / name).glob("*/*.py")}
    wanted = {str(folder.relative_to(ROOT / "ncd")) for folder in folders}
    found = {str(parent) for fault in FAULTS for parent in Path(fault.file).parents}
    assert not {folder for folder in wanted if folder not in found}


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project of one file and one test."""
    (tmp_path / "ncd").mkdir()
    (tmp_path / "ncd" / "sums.py").write_text("def twice(n):\n    return 2 * n\n")
    (tmp_path / "tests").mkdir()
    test = "from ncd.sums import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
    (tmp_path / "tests" / "test_sums.py").write_text(test)
    return tmp_path


def test_a_fault_is_noticed_or_not_and_undone(small: Path) -> None:
    sound = (small / "ncd" / "sums.py").read_text()
    wrong, other = Fault("sums.py", "2 * n", "3 * n"), Fault("sums.py", "2 * n", "n ** 2")
    options = ("-c", "/dev/null", "--rootdir", str(small), str(small / "tests"))
    killed, survived = (tried(fault, small, options) for fault in (wrong, other))
    assert killed.killed and killed.by.endswith("test_sums.py::test_twice")
    assert not survived.killed and survived.by == ""
    assert line(survived).startswith("| SURVIVED | sums.py | `2 * n` → `n ** 2` |")
    assert (small / "ncd" / "sums.py").read_text() == sound


def test_a_test_that_fails_anyway_notices_nothing(small: Path) -> None:
    with (small / "tests" / "test_sums.py").open("a") as file:
        file.write("\n\ndef test_thrice():\n    assert twice(2) == 6\n")
    message = r"test_sums.py::test_thrice does not pass without the fault in sums.py either$"
    with pytest.raises(RuntimeError, match=message):
        tried(Fault("sums.py", "2 * n", "n ** 2"), small, ("tests",))


@pytest.mark.parametrize("busy", [False, True])
def test_a_run_without_an_end_is_the_fault_s_only_if_sound_code_comes_to_one(
    small: Path, monkeypatch: pytest.MonkeyPatch, busy: bool
) -> None:
    sound, endless = (small / "ncd" / "sums.py").read_text(), Fault("sums.py", "2 * n", "twice(n)")

    def ended(*given: object) -> subprocess.CompletedProcess[str] | None:
        late = busy or (small / "ncd" / "sums.py").read_text() != sound
        return None if late else subprocess.CompletedProcess((), 0, "", "")

    monkeypatch.setattr(plant_faults, "_ended", ended)
    if not busy:
        assert tried(endless, small, ())[1:3] == (True, "no end in 600 s")
        return
    with pytest.raises(RuntimeError, match=r"the tests of sums.py take over 600 s as they are"):
        tried(endless, small, ())


def test_faults_that_are_tried_at_a_time_have_a_copy_each(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    faults = tuple(Fault(f"{name}.py", "a", "b", "tests") for name in ("first", "second", "third"))
    both, copies = Barrier(2), []

    def outcome(fault: Fault, copy: Path, *_: object) -> Outcome:
        if fault is faults[2]:
            raise RuntimeError("the tests of third.py did not run:\nno module")
        copies.append(copy)
        both.wait(timeout=60)
        return Outcome(fault, fault is faults[0], "a test" if fault is faults[0] else "", 1)

    @contextmanager
    def copied() -> Iterator[Path]:
        yield Path(f"copy {next(number)}")

    number = count()
    monkeypatch.setattr(plant_faults, "FAULTS", faults)
    monkeypatch.setattr(plant_faults, "copied", copied)
    monkeypatch.setattr(plant_faults, "tried", outcome)
    assert plant_faults.main(["--jobs", "2"]) == 2
    assert sorted(map(str, copies)) == ["copy 0", "copy 1"]
    rows = capsys.readouterr().out.splitlines()
    assert sorted(rows[2:5]) == [
        "| SURVIVED | second.py | `a` → `b` |  | 1 s |",
        "| SURVIVED | third.py | `a` → `b` | the tests of third.py did not run: | 0 s |",
        "| killed | first.py | `a` → `b` | a test | 1 s |",
    ]
    assert rows[-1] == "1 of 3 killed, 2 survived"


def test_a_text_that_is_not_there_once_is_no_fault(small: Path) -> None:
    message = r"^sums.py holds '3' 0 times, but it is to be once$"
    with pytest.raises(ValueError, match=message), planted(Fault("sums.py", "3", "4"), small):
        pass


def test_drawn_faults_are_the_same_for_a_seed_and_fit_their_files() -> None:
    faults = draw(12, seed=1)
    assert draw(12, seed=1) == faults != draw(12, seed=2)
    assert len({fault.file for fault in faults}) == 12
    for fault in faults:
        text = (ROOT / "ncd" / fault.file).read_text()
        assert text.count(fault.old) == 1
        compile(text.replace(fault.old, fault.new), fault.file, "exec")


def test_a_draw_ends_with_the_files_that_can_hold_a_fault(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "sums.py").write_text("def more(x):\n    return x + y\n")
    fault = Fault("sums.py", "    return x + y", "    return x - y")
    assert (draw(3, 0, tmp_path), draw(3, 0, tmp_path / "none")) == ((fault,), ())


@pytest.mark.parametrize(
    ("expression", "changed"),
    [
        ("a < b", ["a <= b"]),
        ("a not in b", ["a in b"]),
        ("a is None", ["a is not None"]),
        ("not a", ["a"]),
        ("not (a and b)", ["(a and b)", "not (a or b)"]),
        ("a and b", ["a or b"]),
        ("'é' + (a) * b", ["'é' - (a) * b", "'é' + (a) + b"]),
        ("any(a)", ["all(a)"]),
        ("a[0]", ["a[1]"]),
        ("(10, True, 0.5)", []),
    ],
)
def test_mistakes_of_one_token(expression: str, changed: list[str]) -> None:
    source = f"def f(a: int = 0, b=1):\n    return {expression}\n"
    found = [source[:i] + new + source[j:] for i, j, new in mistakes(source)]
    assert [text.split("return ")[1].strip() for text in found] == changed
