"""Each line of a source knows the ops that it makes, by their ids in the circuit."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from ncd import elaborate, from_torch
from ncd.language.terms import Term
from ncd.read.python_source.source_reader import read_source
from ncd.read.torch_module.term_building import ops

SOURCE = """class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)
    def forward(self, x):
        y = self.layer(x)
        return y.relu()
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])
        self.rnn = nn.GRU(8, 4, batch_first=True)
    def forward(self, x):
        for part in self.parts:
            x = x + part(x)
        return self.rnn(x)[0].softmax(-1)
2x5x8"""


def _kinds(term: Term, ids: str) -> set[str]:
    """Returns the kinds of some ops of a term, by their ids."""
    every = [*ops(term)]
    return {type(every[int(id.removeprefix("n"))]).__name__ for id in ids.split()}


def test_a_line_makes_what_it_calls_and_a_layer_what_it_does() -> None:
    found = read_source(SOURCE)
    kinds = {line: _kinds(found.term, ids) for line, ids in found.ops.items()}
    assert kinds[4] == kinds[6] == {"Linear"}
    assert kinds[7] == {"Elementwise"}
    assert {"Linear", "Elementwise", "Add"} <= kinds[14] and kinds[14] == kinds[15]
    assert {"Linear", "Cut"} <= kinds[12], "the cell of the recurrent layer"
    assert "Softmax" in kinds[16] and "Softmax" not in kinds[12]
    assert len(found.ops[4].split()) == 2, "of both parts"


@pytest.mark.parametrize(
    ("module", "given"),
    [
        (
            nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)),
            (2, 3, 6, 6),
        ),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2), (5, 2, 8)),
        (nn.LSTM(8, 4, 2, bidirectional=True), (5, 2, 8)),
    ],
)
def test_every_op_of_a_term_has_its_node_or_is_a_wire(
    module: nn.Module, given: tuple[int, ...]
) -> None:
    found = from_torch(module, torch.randn(given))
    every = [*ops(found.term)]
    cells = {cell.id: type(cell.op) for cell in elaborate(found.term).cells}
    assert cells == {f"n{i}": type(op) for i, op in enumerate(every)}
    assert len(found.nodes) == len(every)
    names = {node.name for node in found.exported_module.program.graph.nodes}
    assert {*found.nodes} <= names | {"", "output"}
    learned = [node for op, node in zip(every, found.nodes, strict=True) if hasattr(op, "bias")]
    assert learned and all(learned)
