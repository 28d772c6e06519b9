"""Plants faults, one at a time, in a copy of the project, and tells which of them a test notices.

    python -m tools.plant_faults                  # all faults, each against the tests of its folder
    python -m tools.plant_faults app/ drawing/    # those in files whose paths hold one of these
    python -m tools.plant_faults --list           # the faults alone
    python -m tools.plant_faults --all-tests serial.py   # against every test without a browser
    python -m tools.plant_faults --draw 40 --seed 3 --fast   # drawn ones, against fast tests
    python -m tools.plant_faults --draw 40 --jobs 2          # two at a time, each in its own copy

A copy is made anew in a temporary folder and holds what git would commit. The exit status is the
number of faults that survived.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from tools.draw_faults import draw
from tools.fault_list import FAULTS, Fault

ROOT = Path(__file__).resolve().parent.parent
LONGEST = 600  # seconds that the tests of one fault may take
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.M)
EVERY = ("tests",)
NO_BROWSER = "not browser"
FAST = f"{NO_BROWSER} and not slow"


class Outcome(NamedTuple):
    """What became of a fault: ``by`` is the first test that failed, or why none could."""

    fault: Fault
    killed: bool
    by: str
    seconds: float


def targets(fault: Fault, root: Path = ROOT) -> list[str]:
    """Returns the arguments of pytest for the tests that should notice a fault.

    By default these are the examples in the file itself, and the tests of its folder; a file of
    tests with the same name goes first, as it is the likeliest to fail.

    >>> from tools.fault_list import Fault
    >>> targets(Fault("write/term_json.py", "a", "b", "tests/write/test_term_json.py -k field"))
    ['tests/write/test_term_json.py', '-k', 'field']
    >>> targets(Fault("app/no_such_folder/file.py", "a", "b"))
    ['ncd/app/no_such_folder/file.py', 'tests/app']
    >>> targets(Fault("write/term_json.py", "a", "b"))
    ['ncd/write/term_json.py', 'tests/write/test_term_json.py', 'tests/write']
    """
    if fault.tests:
        return fault.tests.split()
    folder = Path("tests", fault.file).parent
    while not (root / folder).is_dir():
        folder = folder.parent
    same = folder / f"test_{Path(fault.file).stem}.py"
    first = [str(same)] if (root / same).is_file() else []
    return [str(Path("ncd", fault.file)), *first, str(folder)]


@contextmanager
def copied(root: Path = ROOT) -> Iterator[Path]:
    """Makes a copy of the project without what git ignores."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, check=True).stdout.decode()
    with tempfile.TemporaryDirectory(prefix="ncd-faults-") as folder:
        copy = Path(folder)
        for name in filter(None, listed.split("\0")):
            if (root / name).is_file():
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / name, copy / name)
        yield copy


@contextmanager
def planted(fault: Fault, root: Path) -> Iterator[None]:
    """Puts a fault into its file, and takes it out again.

    Raises ValueError if its text does not occur once in the file.
    """
    file = root / "ncd" / fault.file
    sound = file.read_text()
    if (count := sound.count(fault.old)) != 1:
        raise ValueError(f"{fault.file} holds {fault.old!r} {count} times, but it is to be once")
    try:
        file.write_text(sound.replace(fault.old, fault.new))
        yield
    finally:
        file.write_text(sound)


def tried(fault: Fault, copy: Path, tests: Sequence[str], marks: str = NO_BROWSER) -> Outcome:
    """Runs the tests with a fault planted, up to the first that fails.

    A failure is the fault's if the test passes without it, and so is a run without an end: a busy
    machine kills nothing. Raises RuntimeError if the tests fail anyway, or if they cannot run.
    """
    options = ("-q", "-x", "-n0", "-m", marks, "-p", "no:cacheprovider", "--tb=no")
    pytest = [sys.executable, "-m", "pytest", *options]
    command = [*pytest, *tests]
    began = time.monotonic()
    with planted(fault, copy):
        run = _ended(command, copy)
    seconds = time.monotonic() - began
    if run is None:
        if _ended(command, copy) is None:
            raise RuntimeError(f"the tests of {fault.file} take over {LONGEST} s as they are")
        return Outcome(fault, True, f"no end in {LONGEST} s", seconds)
    failed = FAILED.search(run.stdout)
    if run.returncode not in (0, 1, 2):
        raise RuntimeError(f"the tests of {fault.file} did not run:\n{run.stdout}{run.stderr}")
    by = failed[1] if failed else "" if run.returncode == 0 else "the collection of the tests"
    if failed:
        sound = _ended([*pytest, by.partition("[")[0]], copy)  # names of cases may hold spaces
        if sound is None or sound.returncode:
            raise RuntimeError(f"{by} does not pass without the fault in {fault.file} either")
    return Outcome(fault, run.returncode != 0, by, seconds)


def _ended(command: Sequence[str], copy: Path) -> subprocess.CompletedProcess[str] | None:
    """Returns a run of the tests, or None if it takes too long."""
    try:
        return subprocess.run(command, cwd=copy, capture_output=True, text=True, timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return None


def line(outcome: Outcome) -> str:
    """Returns a row of the table."""
    fault, killed, by, seconds = outcome
    state = "killed" if killed else "SURVIVED"
    change = f"{_short(fault.old)} → {_short(fault.new) or 'nothing'}"
    return f"| {state} | {fault.file} | {change} | {by} | {seconds:.0f} s |"


def _short(text: str) -> str:
    text = " ".join(text.split()).replace("|", "\\|")
    return text and f"`{text if len(text) <= 60 else text[:59] + '…'}`"


def main(argv: Sequence[str] | None = None) -> int:
    what = (__doc__ or "").split("\n")[0]
    parser = argparse.ArgumentParser(prog="plant_faults", description=what)
    parser.add_argument("paths", nargs="*", help="parts of the paths of files; by default all")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--all-tests", action="store_true", help="run every test without a browser")
    parser.add_argument("--fast", action="store_true", help="leave out the tests that are slow")
    parser.add_argument(
        "--wider", action="store_true", help="try survivors against the whole folder above"
    )
    parser.add_argument("--draw", type=int, metavar="N", help="N faults at random, not the list")
    parser.add_argument("--seed", type=int, default=0, help="of the faults that are drawn")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="N faults at a time")
    args = parser.parse_args(argv)
    faults = FAULTS if args.draw is None else draw(args.draw, args.seed)
    chosen = [f for f in faults if not args.paths or any(path in f.file for path in args.paths)]
    if args.list:
        print("\n".join(f"{fault.file}: {fault.old} → {fault.new}" for fault in chosen))
        return 0
    print("| outcome | file | fault | first test that fails | time |\n|---|---|---|---|---|")
    survived = 0
    with ExitStack() as stack, ThreadPoolExecutor(args.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for _ in range(args.jobs):
            copies.put(stack.enter_context(copied()))

        def outcome(fault: Fault) -> Outcome:
            copy = copies.get()
            try:
                return _outcome(fault, copy, args)
            except RuntimeError as error:  # nothing is known of it; the others go on
                return Outcome(fault, False, str(error).splitlines()[0], 0)
            finally:
                copies.put(copy)

        for ended in as_completed([pool.submit(outcome, fault) for fault in chosen]):
            survived += not ended.result().killed
            print(line(ended.result()), flush=True)
    print(f"\n{len(chosen) - survived} of {len(chosen)} killed, {survived} survived")
    return survived


def _outcome(fault: Fault, copy: Path, options: argparse.Namespace) -> Outcome:
    """Tries a fault in a copy of the project, and a survivor in a wider room if that is asked."""
    marks = FAST if options.fast else NO_BROWSER
    tests = EVERY if options.all_tests else targets(fault, copy)
    outcome = tried(fault, copy, tests, marks)
    if options.wider and not outcome.killed and "/" in fault.file:
        return tried(fault, copy, [f"tests/{Path(fault.file).parts[0]}"], marks)
    return outcome


if __name__ == "__main__":
    sys.exit(main())
