"""The arithmetic of one number, as data: sums, shares, norms, windows and places."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

from ncd.explain.cell_arithmetic import (
    IndexSpan,
    NormArithmetic,
    Numbers,
    Products,
    ReductionArithmetic,
    SoftmaxArithmetic,
    flat_index,
    full_spans,
    grid,
    numbers_at,
    place,
    place_count,
    regroup_index,
    window_numbers,
)
from ncd.language.axes import Array, Dim

X, Y = Dim("x", 0, 5), Dim("y", 0, 4)
SOME = torch.tensor([0.5, -1.0, 2.0, 4.0], dtype=torch.float64)


@pytest.mark.parametrize(
    ("first", "step", "count"), [(0, 1, 5), (-1, 1, 3), (3, 1, 3), (-1, 2, 4), (5, 1, 1), (4, 1, 1)]
)
def test_a_window_reads_what_is_within_the_edges(first: int, step: int, count: int) -> None:
    span = IndexSpan(X, count, first, step)
    row = torch.arange(10.0, 15.0)
    wanted = [10.0 + at if 0 <= at < 5 else -7.0 for at in span.positions]
    assert window_numbers(row, (span,), -7.0).tolist() == wanted
    assert len(wanted) == count


def test_a_window_of_two_sides_is_that_of_a_padded_picture() -> None:
    picture = torch.arange(20.0).reshape(1, 4, 5)
    window = IndexSpan(Y, 3, -1, 2), IndexSpan(X, 2, 4)
    padded = F.pad(picture, (1, 1, 1, 1))
    wanted = padded[:, 0:5:2, 5:7]
    assert window_numbers(picture, window, 0.0).tolist() == wanted.flatten().tolist()


def test_places_count_with_the_last_span_fastest() -> None:
    spans = IndexSpan(Y, 2, 1), IndexSpan(X, 3, -1, 2)
    every = [place(spans, n) for n in range(place_count(spans))]
    assert every == [(y, x) for y in (1, 2) for x in (-1, 1, 3)]
    assert list(zip(*(line.tolist() for line in grid(spans)), strict=True)) == every
    assert (place((), 0), grid(()), place_count(())) == ((), (), 1)
    assert [span.positions for span in full_spans((Y, X))] == [range(4), range(5)]


def test_an_index_is_that_of_the_same_number_in_another_order() -> None:
    x = torch.arange(4 * 5 * 3).reshape(4, 5, 3)
    k = Dim("k", 0, 3)
    for y, at, n in ((0, 0, 0), (3, 4, 2), (1, 2, 1)):
        (flat,) = regroup_index((y, at, n), ((Y,), (X,), (k,)), ((Y, X, k),))
        assert flat == x[y, at, n] == flat_index((y, at, n), (4, 5, 3))
        assert regroup_index((flat,), ((Y, X, k),), ((k,), (X, Y))) == (n, at * 4 + y)


def test_the_value_of_each_kind_is_what_torch_says() -> None:
    span = (IndexSpan(Y, 4),)
    pair = Numbers(0, SOME), Numbers("w", SOME.flip(0))
    for bias in (None, 0.0, -3.0):
        found = Products(span, pair, bias)
        assert found.value == pytest.approx(float(SOME @ SOME.flip(0)) + (bias or 0))
        assert found.terms.tolist() == [2, -2, -2, 2]
    assert SoftmaxArithmetic(span, SOME, 2).value == pytest.approx(float(SOME.softmax(0)[2]))
    assert float(SoftmaxArithmetic(span, SOME, 2).powers.max()) == 1
    for how, value in (("max", 4), ("min", -1), ("sum", 5.5), ("product", -4), ("mean", 1.375)):
        assert ReductionArithmetic(span, SOME, how).value == value


@pytest.mark.parametrize("weight", [None, 0.0, 3.0])
@pytest.mark.parametrize("bias", [None, 0.0, -2.0])
@pytest.mark.parametrize("centred", [True, False])
def test_a_normed_number(weight: float | None, bias: float | None, centred: bool) -> None:
    mean = float(SOME.mean()) if centred else None
    variance = float(SOME.var(correction=0)) if centred else float((SOME**2).mean())
    found = NormArithmetic((IndexSpan(Y, 4),), SOME, 3, mean, variance, 0.1, weight, bias)
    norm = F.layer_norm(SOME, (4,), eps=0.1) if centred else F.rms_norm(SOME, (4,), eps=0.1)
    assert found.normalised_number == pytest.approx(float(norm[3]))
    scaled = float(norm[3]) * (1 if weight is None else weight) + (bias or 0)
    assert found.value == pytest.approx(scaled)


def test_numbers_that_do_not_change_along_a_span_are_repeated() -> None:
    found = numbers_at(torch.tensor([1.0, 2.0]), (1,), (IndexSpan(Y, 3),))
    assert (found.tolist(), found.dtype) == ([2, 2, 2], torch.float64)
    assert math.prod(Array.parse("y:4 x:5").shape) == place_count(
        full_spans(Array.parse("y:4 x:5").dims)
    )
