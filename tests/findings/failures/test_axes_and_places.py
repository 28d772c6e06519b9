"""Axes and positions that an array does not have: the reason, what there is, and a cure."""

from __future__ import annotations

import pytest

from ncd.findings.reading.finding import Finding
from ncd.findings.search import findings

HEAD = """import torch
from torch import nn
import torch.nn.functional as F
x = torch.randn(2, 3, 4)
i = torch.zeros(2, 3, 4).long()
"""
AXES = """
x.gather(5, i)|x.scatter(5, i, 1.0)|torch.cat((x, x), 5)|x.softmax(5)|x.log_softmax(5)|x.sum(5)
x.mean(5)|x.amax(5)|x.max(5).values|x.argmax(5)|x.prod(5)|x.var(5)|x.std(5)|x.squeeze(5)
x.flatten(5)|x.flatten(0, 5)|x.transpose(0, 5)|x.permute(0, 5, 1)|x.movedim(0, 5)
x.chunk(2, 5)[0]|x.split(1, 5)[0]|x.unbind(5)[0]|x.roll(1, 5)|x.flip(5)|x.flip(0, 5)|x.cumsum(5)
x.cumprod(5)|x.topk(1, 5).values|x.sort(5).values|x.argsort(5)|x.norm(dim=5)
F.normalize(x, dim=5)|x.unflatten(5, (1, 2))|x.select(5, 0)|x.narrow(5, 0, 1)
x.index_select(5, torch.tensor([0]))|x.logsumexp(5)|x.median(5).values|x.all(5)|x.any(5)
x.repeat_interleave(2, 5)|x.unfold(5, 2, 1)|x.swapaxes(0, 5)|x.diff(dim=5)|F.glu(x, 5)
x.cummax(5).values|torch.linalg.norm(x, dim=5)|F.cosine_similarity(x, x, 5)|x.sum((0, 5))
nn.GLU(5)(x)|F.gumbel_softmax(x, dim=5)|nn.Softmax(5)(x)|nn.Flatten(5)(x)|nn.LogSoftmax(5)(x)
"""
CALLS = AXES.strip().replace("\n", "|").split("|")
UNCURED = ("x.unflatten(5, (1, 2))",)  # another size has to go along
PLACES = {  # what is wrong, and the first cure
    "x.index_select(1, torch.tensor([7]))": ("this axis has 3 places, 0 to 2 (…), but 7", "2"),
    "x[..., 7]": ("this axis has 4 places, 0 to 3 (…), but 7", "3"),
    "x[:, [0, 7]]": ("this axis has 3 places, 0 to 2 (…), but 7", "2"),
    "x[5]": ("this axis has 2 places, 0 to 1 (…), but 5", "6"),
    "x.select(1, 7)": ("this axis has 3 places, 0 to 2 (…), but 7", "2"),
    "x.gather(2, torch.tensor([[[9]]]))": ("this axis has 4 places, 0 to 3 (…), but 9", "3"),
    "x.scatter(2, torch.tensor([[[9]]]), 1.0)": ("this axis has 4 places, 0 to 3 (…), but 9", "3"),
    "x.index_add(1, torch.tensor([4]), x[:, :1])": (
        "this axis has 3 places, 0 to 2 (…), but 4",
        "2",
    ),
    "torch.take(x, torch.tensor([99]))": ("there are 24 numbers, 0 to 23 (…), but 99", "16"),
    "F.one_hot(torch.tensor([1, 9]), 3) + x[:, 0, :3]": (
        "there are 3 classes, 0 to 2 (…), but 9",
        "2",
    ),
    "F.embedding(torch.tensor([1, 9]), x[0])": ("the table has 3 rows, 0 to 2 (…), but 9", "2"),
}


def _failure(call: str) -> Finding:
    (found,) = [one for one in findings(f"{HEAD}y = {call}") if one.kind == "failure"]
    assert found.line == 6
    return found


@pytest.mark.few(20)
@pytest.mark.parametrize("call", CALLS)
def test_an_axis_that_is_not_there_is_named_with_those_that_are(call: str) -> None:
    found = _failure(call)
    assert "2 × 3 × 4 has no axis 5; its axes are 0 to 2, or -3 to -1 from the last." in found.says
    assert call in UNCURED or [edit.new for edit in found.cures[0].edits] == ["2"]


def test_a_new_axis_and_one_from_the_last_have_their_own_range() -> None:
    says = "2 × 3 × 4 has no axis 5; a new axis comes at 0 to 3, or -4 to -1 from the last."
    assert says in _failure("torch.stack((x, x), 5)").says
    assert says in _failure("x.unsqueeze(5)").says
    assert "2 × 3 × 4 has no axis -5" in _failure("x.softmax(-5)").says
    assert "2 has no axis 1; its axes are 0 or -1." in _failure("x[:, 0, 0].sum(1)").says


@pytest.mark.parametrize("call", PLACES)
def test_a_position_that_is_not_there_is_named_with_those_that_are(call: str) -> None:
    reason, cure = PLACES[call]
    found = _failure(call)
    first, last = reason.split("(…)")
    assert first in found.says and f"{last} is asked for" in found.says
    assert [edit.new for edit in found.cures[0].edits] == [cure]


FINE = """
F.unfold(x[None], 2)|torch.tensordot(x, x, 3)|torch.tensordot(x, x, dims=3)|x.sum(-3)
x.view(6, 4)|x**3|2**x|1-x|torch.max(x, x)|x.norm(5)|x.std(False)|x.repeat(5, 1, 1)|x.roll(5)
x.roll((5, 7), (0, 1))|x.flip(0, -1)|x.expand(7, 2, 3, 4)|F.pad(x, (5, 5))|F.one_hot(i[0, 0], 7)
x.split(5)[0]|x.chunk(9)[0]|x.topk(2).values|torch.cdist(x, x, 5)|x.kthvalue(2).values
x.diagonal(2)|x.clamp(5)|x[-1]|x[:, -3]|x[..., None, 3]|x[i[0, 0]]|x[x > 5]|x[:, [0, -3]]
x.unsqueeze(3)|torch.stack((x, x), 3)|x.permute(2, 0, 1)|x.unflatten(2, (2, 2))
torch.randint(5, (2, 3))|torch.full((2, 3), 7)|x.mean((-1, -3))|x[:, 1:9]|x.tril(5)
F.softmax(x, dim=2)
"""


def test_what_torch_takes_is_no_failure() -> None:
    for call in FINE.strip().replace("\n", "|").split("|"):
        exec(f"{HEAD}y = {call}", {})  # these lines, which torch runs
        assert not [one for one in findings(f"{HEAD}y = {call}") if one.kind == "failure"], call
