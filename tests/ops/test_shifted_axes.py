"""Rolls, padding and sums so far: what they do, their sizes, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

import ncd
from ncd import Cumulative, Id, NCDError, Pad, Roll, Term
from ncd.run.guard import compile as compiled


def test_a_roll_and_the_same_back_change_nothing() -> None:
    x = torch.arange(24.0).view(2, 3, 4)
    there = Id("b:2 y:3 x:4") >> Roll("x", 3)
    assert torch.equal(compiled(there)(x), x.roll(3, 2))
    assert torch.equal(compiled(there >> Roll("x", -3))(x), x)


def test_the_gradient_of_a_sum_so_far_is_a_sum_from_there_on() -> None:
    x = torch.rand(2, 5, dtype=torch.float64, requires_grad=True)
    for how, wanted in (("sum", x.cumsum(1)), ("product", x.cumprod(1))):
        found = compiled(Id("b:2 x:5") >> Cumulative("x", how)).double()(x)
        torch.testing.assert_close(found, wanted)
        one, two = (torch.autograd.grad((y * y.detach().sin()).sum(), x) for y in (found, wanted))
        torch.testing.assert_close(one, two)


def test_padding_stands_around_an_image_that_is_not_at_the_end() -> None:
    x = torch.rand(3, 4, 2)
    found = compiled(Id("x:3x4 c:2") >> Pad("x -> y", 2, 1, -1.0))(x)
    wanted = F.pad(x.permute(2, 0, 1), (2, 1, 2, 1), value=-1.0).permute(1, 2, 0)
    assert torch.equal(found, wanted)


def test_the_size_before_the_padding_follows_from_that_behind_it() -> None:
    solved = ncd.elaborate(Pad("x -> y:4x9", 1, 2)).term
    assert solved.dom.spec == "x:1x6"


REFUSED: list[tuple[Callable[[], Term | None], str]] = [
    (
        lambda: Pad("x -> x", 1, 2),
        'Pad (x -> x): axis x becomes longer by 3, but keeps its name. Try "x -> x_2".',
    ),
    (
        lambda: ncd.elaborate(Pad("x -> y:3", 1, 2)) and None,
        "Pad (x -> y): axis y has size 3, of which 3 are added. Bound so far: y 3. Try y = 4.",
    ),
    (
        lambda: Id("x:4 y:5") >> Pad("x -> z", -1),
        "Pad: the before is -1, but it is a whole number, 0 or more. Try before = 0.",
    ),
    (
        lambda: Pad("x -> y", 1, 1, float("inf")),
        "Pad: value is inf, but it is a number. Try value=0.5.",
    ),
    (lambda: Roll("x y", 1), 'Roll: axis is (x y), but it is one axis. Try "x".'),
    (
        lambda: Roll("x", 0.5),  # type: ignore[arg-type]
        "Roll: the shift is 0.5, but it is a whole number, from -1,000,000 to 1,000,000. "
        "Try shift = 0.",
    ),
    (
        lambda: Id("y:3") >> Roll("x", 1),
        "Roll (x -> x): it takes (x), but the array that meets it is (y). Bound so far: y 3. "
        "Try an array that has x, such as (x).",
    ),
    (
        lambda: Cumulative("x", "mean"),
        "Cumulative: how is 'mean', but it is one of sum, product. Try how=\"sum\".",
    ),
    (
        lambda: Id("x:2x3") >> Cumulative("x"),
        "Cumulative sum (x -> x): axis x is a group of 2 dimensions, which has no single order. "
        'Bound so far: x 2×3. Try Group("x -> …") before it.',
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED, ids=[m.split(":")[0] for _, m in REFUSED])
def test_what_cannot_be_is_refused(make: Callable[[], Term | None], message: str) -> None:
    with pytest.raises(NCDError) as error:
        make()
    assert str(error.value) == message
