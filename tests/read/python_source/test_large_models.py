"""Large models: the modules below the levels that can be drawn are boxes with torch's shapes."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from ncd.answers.answer_sentences import cost_sentence
from ncd.circuit.elaborate import elaborate
from ncd.language.loops import Repeat
from ncd.language.op import Op
from ncd.language.terms import Term
from ncd.ops import Opaque
from ncd.read.python_source import folding
from ncd.read.python_source.folding import Folding
from ncd.read.python_source.source_reader import read_source
from ncd.read.python_source.torch_layers import placeholder
from ncd.run.guard import ValuesEnd, check_calls

HEAD = "import torch\nimport torch.nn as nn\n"
DEEP = f"""{HEAD}
class Wave(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b = nn.Linear(d, 2 * d), nn.Linear(2 * d, d)
    def forward(self, x):
        y = self.a(x)
        for _ in range(40):
            y = torch.sin(y) * y + 1
        return self.b(y), y.mean(-1)
class Layer(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm, self.wave = nn.LayerNorm(d), Wave(d)
    def forward(self, x):
        y, mean = self.wave(self.norm(x))
        return x + y * mean.unsqueeze(-1)
class Net(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.layers = nn.ModuleList([Layer(d) for _ in range(10)])
        self.head = nn.Linear(d, 3)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
2x5x8
"""


class Block(nn.Module):
    """A layer with two layers of torch in it."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(width, width), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.inner(x)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws 100 calls of torch at most."""
    monkeypatch.setattr(folding, "MAX_DRAWN_CALLS", 100)


def _ops(term: Term) -> list[Op]:
    return [cell.op for cell in elaborate(term).cells]


def _terms(term: Term) -> list[Term]:
    return [term, *(inner for part in term.children for inner in _terms(part))]


@pytest.mark.usefixtures("few")
def test_inner_modules_are_boxes_with_the_shapes_that_torch_gives() -> None:
    found = read_source(DEEP)
    assert found.failure is None
    assert found.shapes == ((2, 5, 3),)
    boxes = [op for op in _ops(found.term) if isinstance(op, Opaque)]
    assert {op.title for op in boxes} == {"wave"}
    assert [[each.shape for each in op.pattern.cod] for op in boxes[:1]] == [[(2, 5, 8), (2, 5)]]
    assert any(isinstance(each, Repeat) for each in _terms(found.term)), "its layers are one loop"
    assert found.lines[12] == ((2, 5, 8), (2, 5)), "the lines inside a box have their shapes too"


@pytest.mark.usefixtures("few")
def test_it_says_what_is_folded_and_how_it_is_opened() -> None:
    found = read_source(DEEP)
    assert found.note == (
        "It is large, so that its inner modules are folded to boxes, with torch's shapes and "
        "without values: Wave (10 times). A last line `Wave` opens that class."
    )
    opened = read_source(DEEP.replace("2x5x8", "Wave"))
    assert opened.call.drawn == "Wave" and "folded" not in opened.note
    assert cost_sentence(found.term) == "", "what is inside a box is not counted"
    with pytest.raises(ValuesEnd, match="values end here: it is folded, as the whole model"):
        check_calls(elaborate(found.term))


def test_a_model_that_fits_is_drawn_whole() -> None:
    found = read_source(DEEP.replace("range(40)", "range(2)"))
    assert found.note == ""
    assert not any(isinstance(op, Opaque) for op in _ops(found.term))


@pytest.mark.usefixtures("few")
def test_a_large_model_that_fails_is_drawn_up_to_the_call() -> None:
    wrong = DEEP.replace("range(40)", "range(2)").replace("nn.Linear(d, 3)", "nn.Linear(7, 3)")
    found = read_source(wrong)
    assert found.failure is not None and found.failure.line == 28


def test_equal_modules_are_run_once_and_others_are_not() -> None:
    runs: list[str] = []

    class Watched(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            runs.append(str(tuple(x.shape)))
            return super().forward(x)

    model = nn.Sequential(Watched(), Watched(), nn.Flatten(0, 1), Watched())
    folding = Folding(model)
    with FakeTensorMode(allow_non_fake_inputs=True):
        folding.record((torch.empty(2, 3, 4),), {})
    assert runs == ["(2, 3, 4)", "(6, 4)"]
    assert "forward" not in model[0].__dict__, "the model is as before"
    assert [folding.whole.size(n) for n in range(3)] == [4, 7, 10]
    assert folding.choose(10) is False
    assert folding.choose(9) is True and folding.levels == 1
    assert folding.choose(2) is True and folding.levels == 0, "one level is always open"


def test_weights_take_no_memory_and_differ_along_all_axes() -> None:
    one, two = placeholder((4, 2)), placeholder((4, 2))
    assert len({*one.flatten().tolist()}) == 8 and not torch.equal(one, two)
    assert torch.view_as_complex(two).shape == (4,) and two.view(8).is_contiguous()
    assert one.untyped_storage()._cdata == two.untyped_storage()._cdata
    wide = placeholder((2000, 3000))
    assert wide.untyped_storage().nbytes() == 4 and float(wide[0].detach().sum()) == pytest.approx(
        1
    )


def test_weights_of_others_stay_where_a_source_sets_its_own() -> None:
    before = placeholder((2, 3)).detach().clone()
    lines = "layer = nn.Linear(3, 2)\nlayer.weight.data.fill_(7.0)\nlayer.weight.data[0] = 9.0\n"
    read_source(f"{lines}layer\n1x3")
    assert float(_largest()) <= 1.5 and before.shape == (2, 3)


def _largest() -> torch.Tensor:
    return max(placeholder(shape).abs().max() for shape in ((2**21,), (2, 2**20), (2, 150)))
