"""Padding with numbers of the axis itself: outputs and gradients beside torch, and its limits."""

from __future__ import annotations

import random

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

import ncd
from ncd import Id, NCDError, Pad

MODES = ("constant", "reflect", "replicate", "circular")
NAMES = ("a", "b", "c")  # of the axes that are not padded


def drawn_case(mode: str, n: int, draw: random.Random) -> tuple[str, Pad, tuple[int, ...], int]:
    """An array with up to three axes beside the padded one, and the place of that one."""
    places = tuple(draw.randint(2, 5) for _ in range(n))
    most = min(places) - (mode == "reflect") if mode in ("reflect", "circular") else 6
    before, after = draw.randint(0, most), draw.randint(1, most)
    axes = [f"{name}:{draw.randint(1, 3)}" for name in NAMES[: draw.randint(0, 3)]]
    at = draw.randint(0, len(axes))
    axes.insert(at, f"x:{'x'.join(map(str, places))}")
    return " ".join(axes), Pad("x -> y", before, after, mode=mode), places, at


def padded(x: Tensor, op: Pad, n: int, at: int) -> Tensor:
    """What torch makes of the array: the padded dimensions last, and all others as one."""
    last = x.movedim([*range(at, at + n)], [*range(-n, 0)])
    one = last.reshape(-1, *last.shape[last.dim() - n :])
    made = F.pad(one, (op.before, op.after) * n, op.mode)
    return made.reshape(*last.shape[: last.dim() - n], *made.shape[1:]).movedim(
        [*range(-n, 0)], [*range(at, at + n)]
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", MODES)
def test_outputs_and_gradients_are_those_of_torch(mode: str, n: int) -> None:
    draw, random_numbers = random.Random(n), torch.Generator().manual_seed(n)
    for _ in range(8):
        dom, op, places, at = drawn_case(mode, n, draw)
        term = Id(dom) >> op
        shape = ncd.Type.parse(dom)[0].shape
        x = torch.randn(shape, dtype=torch.float64, generator=random_numbers, requires_grad=True)
        ours, theirs = ncd.compile(term)(x), padded(x, op, len(places), at)
        assert torch.equal(ours, theirs), (dom, op)
        upstream = torch.randn(theirs.shape, dtype=torch.float64, generator=random_numbers)
        (wanted,) = torch.autograd.grad(theirs, x, upstream)
        (own,) = torch.autograd.grad(ours, x, upstream)
        torch.testing.assert_close(own, wanted)
        back = ncd.compile(ncd.gradient(term)).double()
        with torch.no_grad():
            torch.testing.assert_close(back(x, upstream), wanted)


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_it_takes_just_as_many_places_as_torch_does(mode: str, size: int) -> None:
    for count in range(size + 3):
        try:
            F.pad(torch.zeros(1, size), (count, 0), mode)
            fits = True
        except RuntimeError:
            fits = False
        for sides in ((count, 0), (0, count)):
            try:
                Id(f"x:{size}") >> Pad("x -> y", *sides, mode=mode)
                assert fits, (mode, size, count)
            except NCDError:
                assert not fits, (mode, size, count)


def test_an_axis_that_is_too_short_is_refused_with_the_size_that_fits() -> None:
    with pytest.raises(NCDError) as error:
        Id("x:3x9") >> Pad("x -> y", 2, 4, mode="reflect")
    assert str(error.value) == (
        "Pad (x -> y): axis x has size 3×9, but the mode reflect takes 4 places from it, and needs "
        "5. Bound so far: x 3×9, y 9×15. Try x = 5×9."
    )
    with pytest.raises(NCDError) as error:
        ncd.elaborate(Pad("x -> y:5", 1, 3, mode="circular"))
    assert str(error.value) == (
        "Pad (x -> y): axis x has size 1, but the mode circular takes 3 places from it, and needs "
        "3. Bound so far: x 1, y 5. Try x = 3."
    )


def test_a_value_and_an_unknown_mode_are_refused() -> None:
    with pytest.raises(NCDError) as error:
        Pad("x -> y", 1, 1, 2.0, "reflect")
    assert str(error.value) == (
        "Pad (x -> y): the value is 2, which stands nowhere in the mode reflect. "
        'Try value=0, or mode="constant".'
    )
    with pytest.raises(NCDError) as error:
        Pad("x -> y", mode="edge")
    assert str(error.value) == (
        "Pad: mode is 'edge', but it is one of constant, reflect, replicate, circular. "
        'Try mode="constant".'
    )


@pytest.mark.parametrize("mode", MODES[1:])
@pytest.mark.parametrize("dom", ["x:4", "c:2 x:4", "b:3 c:2 x:4x5", "x:3x4x5"])
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_examples_side_by_side_are_padded_each_by_itself(
    mode: str, dom: str, batch: tuple[int, ...]
) -> None:
    term = Id(dom) >> Pad("x -> y", 2, 1, mode=mode)
    x = torch.rand(*batch, *ncd.Type.parse(dom)[0].shape)
    module, rank = ncd.compile(term), x.dim() - len(batch)
    found = module(x)
    for place in torch.cartesian_prod(*map(torch.arange, (*batch, 1, 1)))[:, : len(batch)].tolist():
        at = tuple(place)
        assert torch.equal(found[at], module(x[at])) and found[at].dim() == rank


def test_whole_numbers_are_copied_and_stay_whole() -> None:
    term = Id("t:4#v:9") >> Pad("t -> u", 2, 1, mode="circular")
    assert term.cod.spec == "u:7#v:9"
    assert ncd.compile(term)(torch.tensor([3, 1, 4, 8])).tolist() == [4, 8, 3, 1, 4, 8, 3]


@pytest.mark.parametrize("mode", MODES[1:])
def test_a_text_is_not_written_on_where_padding_reads_its_end(mode: str) -> None:
    term = Id("~t:6 c:2") >> Pad("~t -> ~u", 2, 0, mode=mode) >> ncd.Window("u -> s w", 3)
    with pytest.raises(NCDError) as error:
        ncd.decode(term >> ncd.Reduce("w ->", "sum"))
    assert str(error.value) == (
        "Pad: it works on all places along t at once. "
        "Try a mask so that no position sees later ones, or another axis than t."
    )
