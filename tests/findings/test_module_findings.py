"""A real module has the findings of its source, as the command line and a pasted text have."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.cli.answer_output import import_findings
from ncd.errors import ParseError

SOURCE = '''import torch
from torch import nn


class Model(nn.Module):
    """Forgets that its encoder takes the steps first."""

    def __init__(self, width, heads=2, p=0.0):
        super().__init__()
        self.width = width
        self.attention = nn.MultiheadAttention(width, heads)
        self.unused = nn.Linear(width, width)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x, _ = self.attention(x, x, x)
        return self.head(x[:, -1])
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "own_model.py"
    path.write_text(SOURCE)
    return path


def loaded(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("own_model", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_real_module_has_the_findings_of_its_source(file: Path) -> None:
    found = ncd.from_torch(loaded(file).Model(8), torch.randn(4, 6, 8))
    findings = ncd.module_findings(found)
    lines = {each.line for each in findings}
    assert {each.kind for each in findings} == {"silent"}
    assert SOURCE.splitlines().index("        self.unused = nn.Linear(width, width)") + 1 in lines
    assert any("batch_first" in each.says or "batch" in each.says for each in findings)
    text = SOURCE + "\nModel(width=8, heads=2, p=0.0)(torch.randn((4, 6, 8)))"
    pasted = [(one.line, one.says) for one in ncd.ask(text).findings if one.kind != "size"]
    assert [(each.line, each.says) for each in findings] == pasted
    cures = [cure.text for each in findings for cure in each.cures]
    assert cures and all(text.startswith("import torch") for text in cures)


def test_the_command_line_finds_the_same(file: Path) -> None:
    file.write_text(SOURCE.replace("width,", "width=8,", 1))
    found = ncd.from_torch(loaded(file).Model(), torch.randn(4, 6, 8))
    mine = ncd.module_findings(found)
    asked = import_findings(f"{file}:Model", "4x6x8", found)
    assert [(one.line, one.says) for one in mine] == [(one.line, one.says) for one in asked] != []


class Sound(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.relu()


class Made(nn.Module):
    """Keeps nothing of what it is made from."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.inner = layer

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.inner(x)
        return found


@pytest.mark.parametrize("module", [Sound(), Made(nn.Linear(3, 3)), nn.Linear(3, 4)])
def test_nothing_is_said_of_what_is_right_or_cannot_be_made_anew(module: nn.Module) -> None:
    assert ncd.module_findings(ncd.from_torch(module, torch.ones(2, 3))) == ()


def test_a_module_that_was_not_imported_is_refused() -> None:
    with pytest.raises(ParseError) as caught:
        ncd.module_findings(nn.Linear(2, 3))  # type: ignore[arg-type]
    assert "is no module that was imported" in str(caught.value)
    assert "Try ncd.from_torch" in str(caught.value)
