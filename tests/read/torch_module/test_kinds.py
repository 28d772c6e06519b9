"""Imports keep the kind, the shape and the order of what torch gives: whole numbers, none, one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd import ImportFailed, from_torch


class Called(nn.Module):
    """A function as a module; where it gives places, with a table that they are looked up in."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function
        if function in LOOKED_UP:
            self.table = nn.Parameter(drawn(30, 3))

    def forward(self, *inputs: Tensor) -> Any:
        found = self.function(*inputs)
        return F.embedding(found, self.table) if self.function in LOOKED_UP else found


def drawn(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


A, IDS, ROW = drawn(2, 3, 4), torch.tensor([[1, 4, 0], [2, 2, 3]]), torch.tensor([0, 10, 20])
EDGES = torch.tensor([[0, 1, 2, 5], [1, 2, 3, 4]])

LOOKUPS: dict[str, Callable[..., Any]] = {
    "offsets": lambda i: i + ROW,
    "offsets below 0": lambda i: i + 4 + torch.tensor([-2, 0, 1]),
    "a factor": lambda i: 2 * i + 1,
    "a choice": lambda i: torch.where(i > 2, i, i * 0 + 7),
    "a choice of a number": lambda i: torch.where(i > 2, i, 7),
    "a choice of two numbers": lambda i: torch.where(i > 2, 11, 7),
    "filled": lambda i: i.masked_fill(i > 2, 9),
    "the smaller": lambda i: torch.minimum(i, ROW),
    "limits": lambda i: i.clamp(1, 3),
    "a sum": lambda i: i.sum(1),
    "a running sum": lambda i: i.cumsum(1),
    "a count": lambda i: (i > 1).sum(0),
    "joined": lambda i: torch.cat([i, ROW[None]], 0),
    "turned": lambda i: i.t() + 3,
    "a part": lambda i: i[:, 1:] * 3,
    "rounded": lambda i: (i * 1.5).long(),
    "a square": lambda i: i**2,
    "behind a real one": lambda i: (i.float() / 2).floor().to(torch.int32),
}
LOOKED_UP = [*LOOKUPS.values()]


@pytest.mark.parametrize("name", LOOKUPS)
def test_whole_numbers_stay_whole_through_arithmetic(name: str) -> None:
    module = Called(LOOKUPS[name])
    found = from_torch(module, IDS)
    assert not found.boxes and found.difference <= 1e-6
    assert found.term.dom[0].below is not None
    torch.testing.assert_close(found.module()(IDS.flip(0)), module(IDS.flip(0)))  # others as well


WHOLE: dict[str, tuple[Callable[..., Any], tuple[Tensor, ...], str]] = {
    # a function, its inputs, and the type that it gives
    "floor of a transposition": (
        lambda a: a.transpose(1, 2).floor().long(),
        (A,),
        "b:2 m:4 ~t:3#i:1000000000",
    ),
    "test of a transposition": (lambda a: (a.transpose(1, 2) > 0).long(), (A,), "b:2 m:4 ~t:3#2"),
    "transposition of a test": (lambda a: (a > 0).transpose(1, 2), (A,), "b:2 m:4 ~t:3#2"),
    "places of the largest": (
        lambda a: a.transpose(1, 2).topk(2, 1).indices.transpose(0, 2),
        (A,),
        "~t:3 n:2 b:2#m:4",
    ),
    "whole beside real": (
        lambda a: (a.permute(2, 0, 1), (a > 0).permute(2, 0, 1)),
        (A,),
        "m:4 b:2 ~t:3, m:4 b:2 ~t:3#2",
    ),
    "joined masks": (
        lambda a: torch.cat([a > 0, (a < 1).transpose(0, 1)[:2].transpose(0, 1)], 1),
        (A,),
        "b:2 ~t_3:5 m:4#2",
    ),
    "rows by positions": (
        lambda x, e: x.index_select(0, e[0]),
        (drawn(6, 4), EDGES),
        "~t:4 m:4",
    ),
    "columns by positions": (lambda x, e: x[:, e[0]], (drawn(3, 6), EDGES), "b:3 ~t:4"),
    "real as another": (
        lambda a: (a, torch.tensor([1, 2, 3]).type_as(a)),
        (A,),
        "b:2 ~t:3 m:4, n:3",
    ),
    "time steps": (
        lambda t: torch.sin(t[:, None] * torch.arange(4).mul(-1.0).exp()),
        (torch.tensor([3, 999]),),
        "~t:2 n:4",
    ),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_whole_numbers_come_to(name: str) -> None:
    function, inputs, spec = WHOLE[name]
    found = from_torch(Called(function), *inputs)
    assert not found.boxes and found.difference <= 1e-6
    assert found.term.cod.spec == spec


def test_positions_have_the_bound_of_what_they_are_looked_up_in() -> None:
    def passed(x: Tensor, edges: Tensor) -> Tensor:
        """Messages along the edges of a graph, as in GraphSAGE."""
        found = x.index_select(0, edges[0]).relu()
        places = edges[1][:, None].expand(-1, 4)
        return torch.zeros(6, 4).scatter_add_(0, places, found)

    found = from_torch(Called(passed), drawn(6, 4), EDGES)
    assert found.term.dom.spec == "b:6 m:4, b_2:2 ~t:4#b:6"
    assert [box.function for box in found.boxes] == ["scatter_add"] and found.difference <= 1e-6


NONE: dict[str, Callable[..., Any]] = {
    "beginning": lambda a: torch.cat((a[:, :0], a), 1),
    "end": lambda a: torch.cat((a[..., :4].relu(), a[..., 4:]), -1),
    "middle": lambda a: torch.cat((a[:, 1:1], a * 2, a[:, 3:]), 1),
    "turned": lambda a: torch.cat((a.transpose(1, 2)[:, :0], a.transpose(1, 2)), 1),
    "piece": lambda a: torch.cat([part * 2 for part in a.split([0, 4], -1)], -1),
    "computed": lambda a: torch.cat((a[..., :0] * a[..., :0].exp(), a), -1),
    "times another": lambda a: torch.cat(((a[:, :0] @ a.transpose(1, 2)).relu() @ a, a), 1),
    "summed": lambda a: a + a[..., 4:].sum(-1, keepdim=True),
    "padded": lambda a: torch.cat((F.pad(a[..., :0], (1, 0)), a), -1),
}


@pytest.mark.parametrize("name", NONE)
def test_a_part_without_numbers_adds_none(name: str) -> None:
    found = from_torch(Called(NONE[name]), A)
    assert not found.boxes and found.difference <= 1e-6
    assert found.term.cod[0].shape == tuple(NONE[name](A).shape)


def test_arrays_without_numbers_are_refused_outside() -> None:
    with pytest.raises(ImportFailed) as error:
        from_torch(Called(lambda a: a[:, :0]), A)
    assert str(error.value) == "the output slice_1 is an array without numbers."
    with pytest.raises(ImportFailed) as error:
        from_torch(Called(lambda a: a.sum()), torch.zeros(2, 0))
    assert str(error.value) == "the input inputs_0 of shape (2, 0) holds no numbers."


ONE: dict[str, tuple[Callable[[Tensor], Tensor], list[str]]] = {
    # of an array without axes, and the boxes
    "sum": (lambda s: s.sum(0), []),
    "mean": (lambda s: s.mean(-1), []),
    "maximum": (lambda s: s.amax(0), []),
    "minimum that keeps it": (lambda s: s.amin(-1, keepdim=True), []),
    "product": (lambda s: s.prod(0), []),
    "softmax": (lambda s: s.softmax(-1), []),
    "log softmax": (lambda s: s.log_softmax(0), []),
    "running sum": (lambda s: s.cumsum(0), []),
    "largest": (lambda s: s.topk(1, 0).values, ["topk"]),
    "squeezed": (lambda s: s.squeeze(0).squeeze(), []),
    "unsqueezed": (lambda s: s.unsqueeze(-1).expand(3), []),
    "turned": (lambda s: s.t().permute([]).transpose(0, -1), []),
    "test": (lambda s: (s > 0).float(), []),
    "place": (lambda s: s.argmax(-1), ["argmax"]),
    "sorted": (lambda s: s.sort(-1).values, ["sort"]),
    "flat": (lambda s: s.flatten(), []),
}


@pytest.mark.parametrize("name", ONE)
def test_one_number_has_no_axes(name: str) -> None:
    function, boxes = ONE[name]
    found = from_torch(Called(lambda a: function(a.sum())), A)
    assert [box.function for box in found.boxes] == boxes
    assert found.difference <= 1e-6


class Pooled(nn.Module):
    """Tokens with a class token, of which the others are a picture, as in PiT."""

    def __init__(self) -> None:
        super().__init__()
        self.c = nn.Conv2d(8, 16, 3, 2, 1, groups=8)
        self.f, self.g = nn.Linear(8, 16), nn.Linear(8, 16)

    def forward(self, t: Tensor) -> Tensor:
        token, x = t[:, :1], t[:, 1:].transpose(1, 2).reshape(len(t), 8, 4, 4)
        x = self.c(x).flatten(2).transpose(1, 2)
        return torch.cat([self.f(token) + self.g(t.transpose(1, 2)[..., 0])[:, None], x], 1)


def test_a_part_of_an_axis_may_be_a_spatial_group() -> None:
    module = Pooled()
    found = from_torch(module, drawn(2, 17, 8))
    assert not found.boxes and found.difference <= 1e-6
    names = [weight.name for weight in found.weights]
    cells = [cell.path for cell in ncd.elaborate(found.term).cells if cell.layer is not None]
    assert [f"{path}.weight" for path in cells] == names[::2]  # the order that they are copied in
    state = found.state_dict()
    assert all(torch.equal(state[name], x) for name, x in module.state_dict().items())


class Turned(nn.Module):
    """A recurrent layer, one of whose states has its axes in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(4, 5)

    def forward(self, x: Tensor, hidden: Tensor, cell: Tensor) -> Tensor:
        found: Tensor = self.layer(x, (hidden.transpose(1, 2), cell))[0]
        return found


def test_one_of_two_states_may_be_turned() -> None:
    inputs = drawn(3, 2, 4), drawn(1, 5, 2), drawn(1, 2, 5)
    found = from_torch(Turned(), *inputs)
    assert not found.boxes and found.difference <= 1e-6


def test_a_batch_of_one_is_joined_to_a_part_that_has_none() -> None:
    found = from_torch(Called(lambda x: torch.cat([x, x.mean(0, keepdim=True)], 1)), drawn(1, 4))
    assert not found.boxes and found.difference <= 1e-6
    assert found.term.cod[0].shape == (1, 8)
