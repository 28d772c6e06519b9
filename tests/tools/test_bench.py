"""The benchmarks: what they print, and that what they compare gives the same numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

import ncd
from ncd.run.measurement import medians
from tools.bench.__main__ import main
from tools.bench.bench import growth_lines
from tools.bench.bench_drawing import size_lines
from tools.bench.measurements import Line, against
from tools.bench.peers import ByHand, Fused

Call = Callable[[], object]
Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One round and few layers say as much as many where only what is printed matters."""

    def measured(calls: dict[str, Call], **options: Any) -> dict[str, float]:
        return medians(calls, **{**options, "rounds": 1, "warm": 1})

    for module in ("bench", "bench_drawing"):
        monkeypatch.setattr(f"tools.bench.{module}.medians", measured)
    few = partial(growth_lines, layers=(2, 4), rounds=1)
    monkeypatch.setattr("tools.bench.bench.growth_lines", few)
    monkeypatch.setattr("tools.bench.bench.size_lines", partial(size_lines, layers=(1, 2)))


def data(capsys: Capture, *argv: str) -> Any:
    """The JSON that the benchmarks print."""
    assert main([*argv, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["dravings"], "bench: bench: there is no part 'dravings'. Try drawings."),
        (["--device", "tpu"], "bench: this machine has no device 'tpu'. Try"),
    ],
)
def test_a_wrong_name_is_one_line(argv: list[str], said: str, capsys: Capture) -> None:
    assert main(argv) == 2
    assert capsys.readouterr().err.startswith(said)


@pytest.mark.slow
def test_bench_prints_medians_and_ratios(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: ncd.catalogue[name] for name in ("layer-norm", "identity-resnet")}
    monkeypatch.setattr("tools.bench.bench.LENGTHS", (64,))
    monkeypatch.setattr("tools.bench.bench.CATALOGUE", few)
    found = [x for part in ("runs", "graph", "growth") for x in data(capsys, part)]
    ratios = {(x["what"], x["against"].split(" by ")[0]): x["ratio"] for x in found if x["ratio"]}
    assert all(x["value"] > 0 for x in found if "beyond" not in x["what"])
    assert all(0.02 < ratio < 50 for (what, _), ratio in ratios.items() if "beyond" not in what)
    assert ("forward, y 20, x 22: compiled", "einops") in ratios
    assert ("forward and backward, y = x = 64, causal: compiled", "fused") in ratios
    whats = {x["what"] for x in found}
    assert "t = t >> layer: 4 layers" in whats
    for name in ("layer norm", few["identity-resnet"].title.lower()):
        assert any(what.startswith(f"autograd graph beyond its run, {name}") for what in whats)


@pytest.mark.slow
def test_bench_of_drawings_says_what_they_take_and_weigh(capsys: Capture) -> None:
    found = {x["what"]: x for x in data(capsys, "drawings")}
    for what in ("multi-head attention", "six residual blocks"):
        for how in ("never drawn", "drawn before"):
            line = found[f"{what}: knobs to SVG, structure {how}"]
            assert line["against"].startswith("torchview and dot ") and line["unit"] == "s"
        assert found[f"{what}: lint"]["against"].startswith("draw ")
    weights = {what: x["value"] for what, x in found.items() if x["unit"] == "bytes"}
    assert weights["multi-head attention: SVG with its fonts"] <= 20_000
    assert weights["multi-head attention: HTML"] <= 300_000
    assert {"knobs to SVG, nothing folded, 20 ops: each op", "knobs to source"} <= found.keys()


def test_a_measurement_names_its_unit() -> None:
    assert against("one", {"a": 0.5, "b": 0.25}, "a", ["b"])[0].row == (
        "one: a",
        "500.000 ms",
        "b 250.000 ms",
        "2.000 ×",
    )
    assert Line("SVG", 18364, unit="bytes").row == ("SVG", "18,364 bytes", "", "")


@pytest.mark.parametrize("causal", [0, 1])
def test_what_bench_compares_with_gives_the_same_numbers(causal: int) -> None:
    term = ncd.catalogue["multi-head-attention"].build(causal=causal, y=21, x=21)
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    torch.testing.assert_close(Fused(module, 16, 4, bool(causal))(*inputs), module(*inputs))
    if not causal:
        torch.testing.assert_close(ByHand(module, 16, 4)(*inputs), module(*inputs))
