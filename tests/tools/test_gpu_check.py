"""The check of a device, on the CPU: every section finds what is wrong, and fails alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from ncd.run.module import round_to_format
from ncd.run.run_memory import PeakMemory
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.training.training_loop import TrainingProgress
from tools.bench.measurements import Line
from tools.gpu import __main__ as gpu
from tools.gpu import agreement, formats, memory, processes, training
from tools.gpu.agreement import Setting, apart
from tools.gpu.findings import LARGEST, MOST, Finding, Report
from tools.gpu.processes import measured
from tools.gpu.sections import SECTIONS

QUICK = Setting("cpu", quick=True)
Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize("name", sorted(set(SECTIONS) - {"compiled", "visitors"}))
def test_a_section_finds_no_fault_on_the_cpu(name: str) -> None:
    found = [*SECTIONS[name].measure(QUICK)]
    exact = name != "device"  # whose TF32 is switched off by the command
    assert found and not (exact and [one for one in found if one.fault])
    assert [Finding.read(json.loads(json.dumps(one.data))) for one in found] == found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["compiled", "visitors"])
def test_a_slow_section_finds_no_fault_on_the_cpu(name: str) -> None:
    found = [*SECTIONS[name].measure(QUICK)]
    assert found and not [one for one in found if one.fault]


def test_its_memory_systems_have_these_knobs() -> None:
    """And are large: forward and backward they take a tenth of a gigabyte or more."""
    assert len(memory.LARGE) == 12
    for name, sizes in memory.LARGE.items():
        CATALOGUE[name].settings(sizes)


def test_a_device_with_other_numbers_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    truth = agreement.gradients

    def wrong(entry: object, device: str, *dtype: torch.dtype) -> list[Tensor]:
        found = truth(entry, "cpu", *dtype)  # type: ignore[arg-type]
        return [x + (device != "cpu") * 1e-3 * x.abs().max().clamp_min(1) for x in found]

    monkeypatch.setattr(agreement, "gradients", wrong)
    (entry,) = [CATALOGUE["layer-norm"]]
    assert agreement.gradient_difference(entry, "cpu") == 0
    assert 5e-4 < agreement.gradient_difference(entry, "other") < 2e-3
    assert agreement._fault(1e-3) == "more than 0.0001 apart" and not agreement._fault(1e-5)


def test_what_is_not_finite_must_be_the_same() -> None:
    numbers = torch.tensor([1.0, torch.inf, torch.nan])
    assert apart(numbers, numbers) == 0
    assert apart(torch.tensor([1.0, -torch.inf, torch.nan]), numbers) == torch.inf
    assert apart(torch.tensor([1.0, torch.inf, 0.0]), numbers) == torch.inf
    assert apart(torch.tensor([torch.nan, torch.inf, torch.nan]), numbers) == torch.inf
    assert apart(numbers[:2], numbers) == torch.inf


def test_a_system_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def difference(entry: object, device: str) -> float:
        raise RuntimeError("no kernel\nfor this device")

    monkeypatch.setattr(agreement, "FEW", ("layer-norm",))
    monkeypatch.setattr(agreement, "array_difference", difference)
    first, second, _ = agreement.systems(QUICK)
    assert first.fault == "RuntimeError: no kernel" and not second.fault


def test_more_memory_than_the_guard_states_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "SMALL", ("layer-norm",))
    monkeypatch.setattr(memory, "measured_peak", lambda *_, **__: PeakMemory(1, 10**9, "by a test"))
    assert [found.fault for found in memory.memory(QUICK)] == ["more than the guard states"]
    monkeypatch.setattr(memory, "peak", lambda *_, **__: 3 * 10**9)
    assert [found.fault for found in memory.memory(QUICK)] == [
        "the guard states more than 2 times as much"
    ]


def test_a_rounding_of_its_own_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []

    def first_wrong(x: Tensor, name: str) -> Tensor:
        made.append(name)
        return round_to_format(x, name) + (len(made) == 1)

    monkeypatch.setattr(formats, "round_to_format", first_wrong)
    found = formats._rounding("float8", QUICK)
    assert found.line.value > 0 and found.fault == f"{found.line.value:.0f} are not the CPU's"


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--device", "tpu"], "gpu: this machine has no device 'tpu'. Try"),
        (["--sections", "memori"], "gpu: sections: there is no section 'memori'. Try memory."),
    ],
)
def test_a_wrong_name_is_one_line(argv: list[str], message: str, capsys: Capture) -> None:
    assert gpu.main(argv) == 2
    assert capsys.readouterr().err.startswith(message)


def as_reports(monkeypatch: pytest.MonkeyPatch, *reports: Report) -> None:
    made = iter(reports)
    monkeypatch.setattr(gpu, "measured", lambda name, setting, seconds: next(made))


def test_it_writes_what_it_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    good, bad = (
        Finding(Line("a | b", 0.5, "by hand", 2.0)),
        Finding(Line("c", 3, unit="runs"), "no"),
    )
    as_reports(
        monkeypatch,
        Report("flash", "Loop", 1.0, (good,)),
        Report("full", "Full", 2.0, (bad,), "stopped after 2 s"),
    )
    out, table = tmp_path / "gpu.json", tmp_path / "gpu.md"
    argv = ["--device", "cpu", "--sections", "flash,full", "--json", str(out)]
    assert gpu.main([*argv, "--markdown", str(table)]) == 1
    found = json.loads(out.read_text())
    assert found["device"] == "cpu" and found["description"].endswith(" GB")
    assert [len(each["findings"]) for each in found["sections"]] == [1, 1]
    assert found["sections"][1]["failure"] == "stopped after 2 s"
    assert r"| a \| b | 500.000 ms | by hand | 2.000 × | ok |" in table.read_text()
    assert "2 faults in 3 s" in capsys.readouterr().out


def test_of_many_rows_the_wrong_and_the_largest_are_shown() -> None:
    found = [Finding(Line(str(n), n), "no" if n == 3 else "") for n in range(MOST + 1)]
    rows = Report("a", "A", 1.0, found).rows
    assert [row[0] for row in rows[:3]] == ["3", str(MOST), str(MOST - 1)]
    assert rows[-1][0] == f"and {MOST + 1 - LARGEST} smaller ones" and len(rows) == LARGEST + 1


# --- a section in its process ---------------------------------------------------------------------

ROW = json.dumps(Finding(Line("a", 1.0)).data)


def as_command(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setattr(processes, "command", lambda *_: [sys.executable, "-c", code])


@pytest.mark.parametrize(
    ("code", "failure"),
    [
        ("", ""),
        ("raise RuntimeError('CUDA error: device-side assert')", "RuntimeError: CUDA error"),
        ("import os; os.kill(os.getpid(), 9)", "its process ended with -9"),
        ("import time; time.sleep(600)", "stopped after 3 s"),
    ],
)
def test_a_section_that_ends_early_keeps_what_it_found(
    code: str, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_command(monkeypatch, f"print({ROW!r}, flush=True)\nprint('{{\"cut', end='')\n{code}")
    report = measured("flash", QUICK, 3.0)
    assert [found.line.what for found in report.findings] == ["a"]
    assert report.failure.startswith(failure) and bool(report.failure) == bool(failure)


def test_no_section_begins_when_the_time_is_over() -> None:
    assert measured("flash", QUICK, 0.0).failure == "no time was left"


@pytest.mark.slow
def test_the_command_measures_in_processes(tmp_path: Path) -> None:
    out = tmp_path / "a.json"
    argv = ["--device", "cpu", "--quick", "--sections", "flash", "--json", str(out)]
    done = subprocess.run(
        [sys.executable, "-m", "tools.gpu", *argv], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (section,) = json.loads(out.read_text())["sections"]
    assert len(section["findings"]) > 4


def test_all_sections_together_take_eight_minutes() -> None:
    """Up to what the limit of the whole cuts off."""
    assert sum(section.seconds for section in SECTIONS.values()) <= 60 * gpu.MINUTES * 1.2


def test_a_section_is_measured_up_to_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def measure(name: str, setting: Setting, seconds: float) -> Report:
        given.append(seconds)
        return Report(name, name, 0.0, ())

    monkeypatch.setattr(gpu, "measured", measure)
    assert gpu.main(["--device", "cpu", "--sections", "systems", "--minutes", "0.5"]) == 0
    assert 25 < given[0] <= 30
    assert gpu.main(["--device", "cpu", "--sections", "systems", "--minutes", "40"]) == 0
    assert given[1] == 5 * SECTIONS["systems"].seconds  # a slow device has its time


def test_a_step_is_timed_without_what_is_loaded_at_first() -> None:
    """Libraries and data cost the first step seconds, which no later step takes."""
    ends = (5.0, 5.25, 5.5, 9.0, 9.25, 9.5)  # the fourth step is scored
    run = [TrainingProgress(step, 6, 1.0, end) for step, end in enumerate(ends, 1)]
    assert training._median_step(run) == 0.25
