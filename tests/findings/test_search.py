"""A failing source gets its line, layer, reason and a cure that runs; a right one gets nothing."""

from __future__ import annotations

import ast
import warnings
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._pytree import tree_iter

import ncd
from ncd.findings.cures import working_sizes
from ncd.findings.reading.finding import LATE, Finding
from ncd.findings.search import findings
from ncd.notation.call_form import shape_line
from ncd.read.torch_module.from_torch import example_tensors
from tests.findings.asked_questions import QUESTIONS, RIGHT
from tests.findings.failing_sources import CASES
from tests.findings.more_failing_sources import MORE
from tests.findings.usual_mistakes import USUAL

LONG = 300.0  # on a busy machine
FAKES = ("FakeTensor", "SymInt", "must have same reduction dim", "at non-singleton", "s0")


def failures(text: str) -> list[Finding]:
    """Returns the failures of a source, without what is silently wrong."""
    return [found for found in findings(text, LONG) if found.kind == "failure"]


def ran(text: str) -> tuple[tuple[int, ...], ...]:
    """Returns the shapes that a source of these tests gives in torch itself."""
    import einops

    source, shapes = shape_line(text)
    inputs = example_tensors(shapes)
    tree = ast.parse(source)
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": F, "rearrange": einops.rearrange}
    free = [n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and n.id in ("x", "lse")]
    if inputs and free and not isinstance(tree.body[-1], ast.ClassDef):
        names[free[0]] = inputs[0]
    last = tree.body.pop()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, "source", "exec"), names)
        if isinstance(last, ast.Expr):
            found = eval(compile(ast.Expression(last.value), "source", "eval"), names)
        else:
            exec(compile(ast.Module([last], []), "source", "exec"), names)
            found = names["Net"]().eval()(*inputs) if inputs else names["loss"]
    return tuple(tuple(x.shape) for x in tree_iter(found) if isinstance(x, Tensor))


@pytest.mark.few(12)
@pytest.mark.parametrize("case", [*QUESTIONS, *CASES, *MORE, *USUAL], ids=lambda case: case[0])
def test_a_failure_has_its_place_its_reason_and_a_cure_that_runs(case: Any) -> None:
    _, text, line, layer, phrase, cured = case
    (found,) = findings(text, LONG)
    assert (found.kind, found.line, found.layer) == ("failure", line, layer)
    assert phrase in found.says
    assert not [word for word in FAKES if word in found.says]
    assert len(found.cures) <= 3
    if not cured:
        return
    first = found.cures[0]
    assert cured in [row.strip() for row in first.text.split("\n")]
    assert ncd.findings.reading.finding.apply_edits(text, first.edits) == first.text
    assert failures(first.text) == []
    assert ran(first.text) == first.shapes


def test_a_cure_that_changes_the_meaning_comes_last() -> None:
    (found,) = findings("norm = nn.BatchNorm1d(4)\nnorm(torch.randn(1, 4))", LONG)
    assert [cure.changes for cure in found.cures] == ["input", "meaning"]


def test_one_example_is_given_to_a_batch_norm_as_a_batch_or_in_evaluation() -> None:
    made = "self.fc, self.bn = nn.Linear(8, 16), nn.BatchNorm1d(16)"
    head = "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
    text = f"{head}{made}\n    def forward(self, x):\n        return self.bn(self.fc(x))"
    (found,) = findings(f"{text}\nmodel = Net()\nx = torch.randn(8)\nmodel(x)", LONG)
    assert [(cure.changes, cure.text.split("\n")[-2:]) for cure in found.cures[:2]] == [
        ("input", ["x = torch.randn(2, 8)", "model(x)"]),
        ("meaning", ["x = torch.randn(8)", "model.eval()(x.unsqueeze(0))"]),
    ]
    for cure in found.cures:
        assert ran(cure.text) == cure.shapes


@pytest.mark.parametrize("text", RIGHT)
def test_a_right_source_has_no_failure(text: str) -> None:
    assert failures(text) == []


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "name", ["gpt-2", "lora", "gcn", "induction", "convnext", "grouped-queries"]
)
def test_the_source_of_a_system_has_no_failure(name: str) -> None:
    text = ncd.source(ncd.catalogue[name].system())
    assert failures(text) == []


def test_nothing_is_executed_and_no_time_is_lost() -> None:
    body = "    def forward(self, x):\n        while True:\n            x = x + 1"
    hostile = f"class Net(nn.Module):\n{body}\n2x3"
    assert findings(hostile, 5.0) == (LATE,)


def test_sizes_around_a_large_one_are_enough_to_see_what_it_must_be_divisible_by(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    holds, seen = working_sizes._holds, []

    def counted(failure: Any, symbol: Any, value: int) -> bool:
        seen.append(value)
        return holds(failure, symbol, value)

    monkeypatch.setattr(working_sizes, "_holds", counted)
    (found,) = failures("x = torch.randn(1, 100001)\ny = x.view(1, -1, 16)")
    assert found.says.endswith("is divisible by 16, such as 100000 or 100016.")
    assert len(seen) <= 3 * working_sizes.SPAN


@pytest.mark.parametrize(
    "half",
    [
        "hidden * 0.5",
        "0.5 * hidden",
        "2048.0 / hidden",
        "2048.0 // hidden",
        "96.0 - hidden",
        "96.0 % hidden",
        "-32.0 + hidden",
    ],
)
def test_a_real_number_on_either_side_leaves_where_a_size_comes_from(half: str) -> None:
    text = f"""class Net(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.a, self.b = nn.Linear(16, int({half})), nn.Linear(48, 10)
    def forward(self, x):
        return self.b(self.a(x))
Net()(torch.randn(2, 16))
"""
    (failure,) = findings(text)
    assert failure.says.startswith("b (Linear) gets 32 features (from hidden, line 2")
