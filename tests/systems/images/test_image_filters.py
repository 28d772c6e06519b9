"""Written filters and stamps at the windows that a page has, and learned ones drawn to fit."""

from __future__ import annotations

import pytest
import torch

from ncd.systems.images.image_filters import filter_weights, learned_weights, stamp_weights


def test_an_outline_takes_all_around_from_the_middle() -> None:
    (((outline,),),) = (filter_weights(2, 1, 1, 3, 2),)
    assert outline.tolist() == [[-1, -1, -1], [-1, 8, -1], [-1, -1, -1]]
    ((sharper,),) = filter_weights(4, 1, 1, 4, 1)
    assert sharper.tolist() == [-1, -1, 4, -1]  # the middle of an even window is after its half
    ((blur,),) = filter_weights(3, 1, 1, 2, 2)
    assert blur.tolist() == [[0.25, 0.25], [0.25, 0.25]]


@pytest.mark.parametrize(
    ("k", "line"), [(1, [0]), (2, [-1, 1]), (3, [-1, 0, 1]), (4, [-1, -1, 1, 1])]
)
def test_edges_rise_along_one_side(k: int, line: list[int]) -> None:
    upright, level = filter_weights(0, 2, 1, k, 2)[:, 0]
    assert upright.tolist() == [line] * k and level.T.tolist() == [line] * k
    deep = filter_weights(1, 1, 1, k, 3)[0, 0]
    assert deep[:, 0, 0].tolist() == line and bool((deep == deep[:, :1, :1]).all())


def test_the_filters_begin_again_and_share_channels() -> None:
    found = filter_weights(4, 3, 2, 3, 2)
    assert found.shape == (3, 2, 3, 3)
    torch.testing.assert_close(found[:, 0], found[:, 1])
    alone = [filter_weights(first, 1, 1, 3, 2)[0, 0] for first in (4, 0, 1)]
    torch.testing.assert_close(found.sum(1), torch.stack(alone))


@pytest.mark.parametrize(
    ("k", "tent"),
    [(1, [1]), (2, [0.5, 0.5]), (3, [0.5, 1, 0.5]), (4, [0.25, 0.75, 0.75, 0.25])],
)
def test_a_tent_falls_evenly_and_stamps_are_as_bright_as_a_step(k: int, tent: list[float]) -> None:
    box, own, one = stamp_weights(0, 3, 1, k, 2, 1)[0]
    line = torch.tensor(tent)
    torch.testing.assert_close(own, 2 * line / line.sum())
    torch.testing.assert_close(box, torch.full((k,), 2 / k))
    assert one.tolist() == [2.0 if i == k // 2 else 0.0 for i in range(k)]
    plane = stamp_weights(1, 1, 3, k, 3, 2)
    assert plane.shape == (3, 1, k, k)
    torch.testing.assert_close(plane.sum(0)[0], 9 * line.outer(line) / line.sum() ** 2)


def test_learned_filters_fit_a_line_a_picture_and_a_volume() -> None:
    learned = torch.arange(6 * 3 * 25.0).view(6, 3, 5, 5)
    grey = learned.sum(1)
    picture = learned_weights(learned, 8, 2, 5, 2)
    assert picture.shape == (8, 2, 5, 5)
    torch.testing.assert_close(picture.sum(1), grey[[0, 1, 2, 3, 4, 5, 0, 1]])
    torch.testing.assert_close(learned_weights(learned, 2, 1, 5, 1)[:, 0], grey[:2, 2])
    volume = learned_weights(learned, 2, 1, 5, 3)[:, 0]
    torch.testing.assert_close(volume, (grey[:2, None] / 5).expand(-1, 5, -1, -1))
    small = learned_weights(learned, 1, 1, 3, 2)[0, 0]
    torch.testing.assert_close(small, grey[0, ::2, ::2])  # corners stay where they are
