"""Modules that change what they are given in place: an import gives their outputs, once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd import from_torch
from ncd.read.torch_module.torch_export import mutates_views
from tests.read.torch_module.test_from_torch import Called, drawn


def added(x: Tensor) -> Tensor:
    x += 1
    return x


def added_and_scaled(x: Tensor) -> tuple[Tensor, Tensor]:
    x += 1
    return x * 2, x


CHANGING: dict[str, tuple[nn.Module, int]] = {
    # a module, and how many outputs it has
    "a layer": (nn.ReLU(inplace=True), 1),
    "a function": (Called(lambda x: F.relu(x, inplace=True)), 1),
    "an assignment": (Called(added), 1),
    "an assignment among outputs": (Called(added_and_scaled), 2),
    "one array twice": (Called(lambda x: (x.relu_(), x)), 2),
    "nothing that is given back": (Called(lambda x: x.add_(1).sum()), 1),
}


@pytest.mark.parametrize("name", CHANGING)
def test_an_input_that_is_changed_is_no_output(name: str) -> None:
    module, count = CHANGING[name]
    x = drawn(5, 8)
    before = x.clone()
    found = from_torch(module, x)
    assert not found.notes and len(found.term.cod) == count
    assert found.difference == 0 and torch.equal(x, before)
    ours, theirs = found.module()(before), module(before.clone())
    for one, two in zip(tree_leaves(ours), tree_leaves(theirs), strict=True):
        assert torch.equal(one, two)


def test_a_difference_leaves_buffers_as_they_are() -> None:
    class Counted(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4))

        def forward(self, x: Tensor) -> Tensor:
            self.total.add_(x.sum(0))
            return x + self.total

    module = Counted()
    found = from_torch(module, drawn(2, 4))
    assert found.difference <= 1e-6 and not module.total.any()


def _drawn_outside(x: Tensor) -> Tensor:
    with torch.no_grad():
        places = torch.zeros_like(x)
        places[:, :2] = torch.arange(len(x))[:, None] * torch.arange(2).type_as(x)
    return x + places


def _changed_outside(x: Tensor) -> Tensor:
    with torch.no_grad():
        doubled = x * 2
        doubled[:, 0] = 0
    return doubled + x


def _changed_after(x: Tensor) -> Tensor:
    doubled = x * 2
    with torch.no_grad():
        doubled[:, 0] = 0
    return doubled + x


@pytest.mark.parametrize("function", [_drawn_outside, _changed_outside, _changed_after])
def test_what_is_changed_without_gradients_is_changed(
    function: Callable[[Tensor], Tensor],
) -> None:
    x = drawn(3, 4)
    found = from_torch(Called(function), x)
    assert (found.boxes, found.notes) == ((), ())
    torch.testing.assert_close(found.module()(x), function(x))


def _of_parts(x: Tensor, last: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Tensor:
    """Adds to one half of an array in place, and gives what is read of both halves afterwards."""
    whole = torch.cat([x, x * 2], 1)
    one, other = whole[:, :8], whole[:, 8:]
    one += x
    return last(whole, one, other)


def _changed_before(x: Tensor, part: slice) -> Tensor:
    """Adds to an array in place, then to a part of what came out of that."""
    whole = x * 2
    whole += x
    whole[part] += 3
    return whole * 3


def _changed_twice(x: Tensor) -> Tensor:
    whole = x * 2
    whole += x
    whole *= 3
    return whole + 1


PARTS: dict[str, tuple[Callable[[Tensor], Tensor], bool]] = {
    # what is read behind a change in place, and whether it shows through another array
    "the part alone": (lambda x: _of_parts(x, lambda whole, one, other: one * 3), False),
    "the whole": (lambda x: _of_parts(x, lambda whole, one, other: whole * 3), True),
    "another part": (lambda x: _of_parts(x, lambda whole, one, other: one * other), True),
    "the whole that was changed before": (lambda x: _changed_before(x, slice(2)), True),
    "the whole, changed twice": (_changed_twice, False),
    "a part of an input": (lambda x: x[:, :4].add_(1) * 3, True),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_changed_in_place_is_traced_again_only_where_it_shows(name: str) -> None:
    run, shows = PARTS[name]
    module, x = Called(run), drawn(5, 8)
    program = torch.export.export(module, (x,), strict=False)
    assert mutates_views(program) is shows
    found = from_torch(module, x.clone())
    assert found.difference == 0
    torch.testing.assert_close(found.module()(x.clone()), module(x.clone()))
