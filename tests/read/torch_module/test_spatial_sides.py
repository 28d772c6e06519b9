"""Calls that take one side of a picture by itself, after a pooling that took both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ncd import from_torch
from ncd.read.torch_calls.dimension_atoms import AxisFactor, CannotSplit, make_group, unify
from ncd.read.torch_calls.import_recorder import DimensionBuilder, ImportedArray, ImportedValue
from ncd.read.torch_module.graph_calls import add_torch_call
from tests.read.torch_module.test_from_torch import drawn

ROWS, COLUMN, KERNEL = drawn(4, 4), drawn(4, 1), drawn(3, 3, 1)
SIDES: dict[str, Callable[[Tensor], Tensor]] = {
    "a product over the width": lambda y: y @ ROWS,
    "a product over the height": lambda y: y.transpose(-1, -2) @ y,
    "a product in which the height leads": lambda y: y.permute(0, 2, 3, 1) @ y.permute(0, 2, 1, 3),
    "an einsum over the height": lambda y: torch.einsum("bchw,hk->bckw", y, ROWS),
    "an einsum in another order": lambda y: torch.einsum("bchw->bhcw", y),
    "an einsum of each column": lambda y: torch.einsum("bchw,bchk->bwk", y, y),
    "an einsum over both": lambda y: torch.einsum("bchw,bdhw->bcd", y, y),
    "a learned map of the width": lambda y: F.linear(y, ROWS, ROWS[0]),
    "a sum with a column": lambda y: y + COLUMN,
    "a sum with a mean": lambda y: y - y.mean(-1, keepdim=True),
    "a sum with both means": lambda y: y.mean(-1)[..., None] * y.mean(-2)[..., None, :] + y,
    "a sum with its transpose": lambda y: y + y.transpose(-1, -2),
    "a sum with a learned column": lambda y: y + F.conv1d(y.mean(-1), KERNEL)[..., None],
    "a norm along the width": lambda y: F.layer_norm(y, (4,)),
    "a mean square along the width": lambda y: F.rms_norm(y, (4,)),
    "a softmax along the width": lambda y: y.softmax(-1),
}


class Pooled(nn.Module):
    """A function of a pooled picture."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(F.max_pool2d(x, 2))


@pytest.mark.parametrize("name", SIDES)
def test_one_side_of_a_picture_needs_no_box(name: str) -> None:
    found = from_torch(Pooled(SIDES[name]), drawn(2, 3, 8, 8))
    assert not found.boxes and found.difference <= 1e-5


def test_a_learned_layer_along_one_side_keeps_its_weights() -> None:
    found = from_torch(nn.Sequential(nn.MaxPool2d(2), nn.Linear(4, 3)), drawn(2, 3, 8, 8))
    assert not found.boxes and found.difference <= 1e-6
    assert [*found.state_dict()] == ["1.weight", "1.bias"]


PLACES = (torch.arange(4)[:, None] - torch.arange(4)).abs()
MEETINGS: dict[str, Callable[[Tensor, Tensor, Tensor], Tensor]] = {
    "a sum after a product with one side": lambda y, z, w: (
        z.flatten(2) + torch.einsum("bchw,hc->bchw", y, w).flatten(2)
    ),
    "a sum after a sum with one side": lambda y, z, w: (
        (y + w.T[..., None]).flatten(2) + z.flatten(2)
    ),
    "a sum after one side led": lambda y, z, w: (
        z.flatten(2) + torch.einsum("bchw,hc->bhwc", y, w).flatten(1, 2).transpose(1, 2)
    ),
    "a sum with a map of one side": lambda y, z, w: (y @ ROWS).flatten(2) + z.flatten(2),
    "a list after a sum with one side": lambda y, z, w: torch.cat(
        ((y + w.T[..., None]).flatten(2), z.flatten(2)), 1
    ),
    "a product of both": lambda y, z, w: (
        torch.einsum("bchw,hc->bchw", y, w).flatten(2) @ z.flatten(2).transpose(1, 2)
    ),
    "a sum after distances along one side": lambda y, z, w: (
        torch.einsum("bchw,hkc->bkhw", y, w[PLACES]).flatten(2) + z.flatten(2)[:, :1]
    ),
}


class Met(nn.Module):
    """A function of a picture, of a convolution of it, and of learned rows for its height."""

    def __init__(self, function: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function
        self.conv = nn.Conv2d(5, 5, 3, padding=1)
        self.rows = nn.Parameter(drawn(4, 5))

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x.relu(), self.conv(x), self.rows)


@pytest.mark.parametrize("name", MEETINGS)
def test_positions_in_one_row_meet_those_that_were_used_by_side(name: str) -> None:
    found = from_torch(Met(MEETINGS[name]), drawn(2, 5, 4, 4))
    assert not found.boxes and found.difference <= 1e-5
    assert torch.equal(found.state_dict()["rows"], found.exported_module.module.rows)


@pytest.mark.parametrize("order", [(0, 2, 1, 3), (0, 3, 2, 1), (3, 1, 0, 2)])
def test_sides_that_a_box_takes_apart_are_one_behind_it(order: tuple[int, ...]) -> None:
    class Boxed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 3, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            back = [order.index(i) for i in range(4)]
            return self.conv(x.permute(order).cummax(2).values.permute(back))

    found = from_torch(Boxed(), drawn(2, 3, 6, 6))
    assert [box.function for box in found.boxes] == ["cummax"]
    assert found.notes == () and found.difference < 1e-5


class Video(nn.Module):
    """A convolution of each frame, and one along the frames, in a sum."""

    def __init__(self) -> None:
        super().__init__()
        self.frame = nn.Conv2d(3, 3, 3, padding=1)
        self.clip = nn.Conv3d(3, 3, (3, 1, 1), padding=(1, 0, 0))

    def forward(self, x: Tensor) -> Tensor:
        n, c, t, h, w = x.shape
        y = self.frame(x.transpose(1, 2).reshape(n * t, c, h, w))
        y = y.reshape(n, t, c, h, w).transpose(1, 2)
        return y + self.clip(y)


@pytest.mark.parametrize("count", [1, 2])
def test_frames_and_clips_meet(count: int) -> None:
    found = from_torch(Video(), drawn(count, 3, 4, 6, 5))
    assert (found.boxes, found.notes) == ((), ()) and found.difference < 1e-5


class Branches(nn.Module):
    """Rolled, pooled and convolved pictures, which met in sums before they are concatenated."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        y, pooled = self.conv(x), F.max_pool2d(x, 3, 1, 1)
        rolled, turned = torch.roll(x, 1, 2) + pooled, torch.roll(y, 1, 3) + y
        return torch.cat([y, pooled, rolled, turned], 1)


class Unshuffled(nn.Module):
    """A convolution of small squares of a picture, whose pixels are channels."""

    def __init__(self, change: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(32, 16, 1)
        self.change = change

    def forward(self, x: Tensor) -> Tensor:
        x = self.change(self.first(x))
        n, c, h, w = x.shape
        squares = x.reshape(n, c, h // 2, 2, w // 2, 2).permute(0, 1, 3, 5, 2, 4)
        return self.second(squares.reshape(n, 4 * c, h // 2, w // 2))


BRANCHES = {
    "branches": Branches(),
    "squares": Unshuffled(lambda x: x),
    "rolled squares": Unshuffled(lambda x: torch.roll(x, 1, 2) + x),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_no_side_of_a_group_is_left_alone(name: str) -> None:
    """What stands in a group in one array and apart in another one needs no box."""
    found = from_torch(BRANCHES[name], drawn(2, 3, 8, 8))
    assert (found.boxes, found.notes) == ((), ()) and found.difference < 1e-5


def test_a_box_that_was_rejected_shares_no_axis_with_a_group() -> None:
    g = DimensionBuilder()
    n, *sides = (AxisFactor(size) for size in (2, 4, 6))
    make_group(tuple(sides))
    picture = ImportedValue(((n,), *((side,) for side in sides)), ImportedArray((n, *sides)))
    found = add_torch_call(g, "folded.gate.default", [picture], {}, torch.zeros(2, 4, 6), True)
    assert found.shape == (2, 4, 6)
    step = g.steps[-1]
    atoms = [*step.takes[0].atoms, *step.gives[0].atoms]
    assert all(atom.alone and not atom.group for atom in atoms)
    with pytest.raises(CannotSplit, match="an axis by itself, and one side of a spatial group"):
        unify(found.dims[1], (sides[0],))
