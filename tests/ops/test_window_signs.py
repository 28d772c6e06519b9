"""The sign of a sliding window says its sides, and the positions come first among its wires."""

from __future__ import annotations

import pytest

from ncd import Axes, Conv, ConvTranspose, Id, MaxPool
from ncd.circuit.elaborate import elaborate
from ncd.language.axes import Type
from ncd.language.op import Mark, Op, Sample
from ncd.language.terms import Then
from ncd.ops import CATALOGUE
from ncd.ops.sliding_window import SlidingWindowOp, side

WINDOWS = [s for op in CATALOGUE if issubclass(op, SlidingWindowOp) for s in op.examples()]
SIGNS = {"Conv": "", "ConvTranspose": "T", "Fold": "T", "MaxPool": "", "Window": ""}


def sign(op: Op, dom: str | Type) -> Mark:
    cell = elaborate(Then(Id(dom), op)).cells[-1]
    (mark,) = cell.op.glyph(cell.site).marks
    return mark


@pytest.mark.parametrize("sample", WINDOWS, ids=lambda s: f"{s.op!r} on {s.dom}")
def test_a_trapezoid_says_the_kernel_on_every_side_and_the_stride(sample: Sample) -> None:
    op = sample.op
    assert isinstance(op, SlidingWindowOp)
    mark = sign(op, sample.dom)
    cell = elaborate(Then(Id(sample.dom), op)).cells[-1]
    sides = len(cell.site.own_inputs[0][-1].shape)
    plain = isinstance(op.kernel, int)
    kernel = "×".join(str(side(op.kernel, i)) for i in range(1 if plain else sides))
    kernel += f"^{sides}" if plain and sides > 1 else ""
    if mark.shape == "box":
        assert mark.text.removeprefix("★").split(",")[0] == str(op.kernel)
        return
    stride = op.stride if isinstance(op.stride, tuple) else (op.stride,) * (op.stride != 1)
    wanted = (kernel, "×".join(map(str, stride)) + SIGNS[type(op).__name__])
    assert tuple(mark.text.split("|")[:2]) == wanted


def test_a_window_on_positions_without_a_size_is_taken_to_have_one_side() -> None:
    assert sign(MaxPool("x -> u", 3), "x").text == "3|2|Max"
    assert sign(Conv("c x -> d u", "conv", 3, 2), "c x").text == "3|2|L_+"
    assert sign(MaxPool("x -> u", 3), "x:6x6").text == "3^2|2|Max"


def test_channels_come_behind_the_positions() -> None:
    mark = sign(ConvTranspose("k h x -> d:3 u", "up", 3, 2, 1), "k:2 h:2 x:4")
    assert (mark.ins, mark.outs) == ((2, 0, 1), (1, 0))


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("padding", [0, 1])
@pytest.mark.parametrize("dilation", [1, 2])
def test_the_least_size_gives_one_position_and_one_less_gives_none(
    kernel: int, stride: int, padding: int, dilation: int
) -> None:
    op = Conv("c x -> d u", "conv", kernel, stride, padding, dilation=dilation)
    least = op.min_input_size(0)
    assert least == 1 or op.output_size(least - 1, 0) < 1
    assert op.output_size(least, 0) >= 1
    for size in range(least, least + 7):
        out = op.output_size(size, 0)
        assert stride > 1 or op.input_size(out, 0) == size
        starts = range(-padding, size + padding - dilation * (kernel - 1), stride)
        assert out == len(starts)
    if stride == 1:
        term = elaborate(Axes(c=1, d=1, u=5)(op)).term
        assert term.dom[0][-1].size == op.input_size(5, 0)
