"""Permute and reshape against torch's own, and the patches of the vision-transformer exercise."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ncd
from ncd.app.panels.tensors import memory_order, patch_raster
from ncd.app.panels.tensors.memory_order import ANSWER, rows, swapped_order, wanted_order
from ncd.systems.tensors.memory_layout import (
    AXES,
    COLUMNS,
    CUTS,
    ORDERS,
    PLAIN,
    RASTER,
    STRIDED,
    patches,
)
from tests.app.panels.tensors.test_tensor_panels import scene
from tests.systems.retyped import given, same

NOTES = [[0, 4, 1, 5], [8, 12, 9, 13], [2, 6, 3, 7], [10, 14, 11, 15]]


def test_the_table_of_the_notes() -> None:
    a = torch.arange(16).view(2, 2, 2, 2)
    assert a.permute(2, 0, 3, 1).reshape(4, 4).tolist() == NOTES
    order = ORDERS.index(ANSWER)
    found = memory_order.memory_reading(scene("memory-order", order=order))
    assert [list(row) for row in rows(found.places, 4)] == NOTES
    assert [list(row) for row in wanted_order((2, 2, 2, 2))] == NOTES


@pytest.mark.parametrize("order", range(len(ORDERS)))
def test_every_order_is_torchs(order: int) -> None:
    sizes = (2, 3, 1, 4)
    places = [AXES.index(name) for name in ORDERS[order]]

    def theirs(a: Tensor) -> Tensor:
        turned = a.permute(places)
        return turned.reshape(turned.shape[0] * turned.shape[1], -1)

    knobs = dict(zip(AXES, sizes, strict=True))
    same(
        ncd.compile(ncd.catalogue["memory-order"].build(**knobs, order=order)), theirs, given(sizes)
    )
    found = memory_order.memory_reading(scene("memory-order", **knobs, order=order))
    line = torch.arange(24)
    assert found.places == tuple(theirs(line.view(sizes)).flatten().tolist())
    stride = dict(zip(AXES, found.strides[0], strict=True))
    for place in found.places:
        index = found.index(place)
        assert tuple(index) == ORDERS[order]
        assert sum(i * stride[name] for name, i in index.items()) == place
    assert found.strides[1] == line.view(sizes).permute(places).stride()
    assert found.is_copy == (theirs(line.view(sizes)).data_ptr() != line.data_ptr())


@pytest.mark.parametrize("sizes", [(2, 3, 1, 4), (3, 1, 2, 2)])
def test_what_is_asked_for_at_other_sizes(sizes: tuple[int, ...]) -> None:
    b, c, h, w = sizes
    table = torch.arange(24).view(-1)[: b * c * h * w].view(sizes).permute(2, 0, 3, 1)
    assert [list(r) for r in wanted_order(sizes)] == table.reshape(h * b, w * c).tolist()


def test_patches_as_in_the_exercise() -> None:
    (image,) = given((3, 8, 8))

    def split(x: Tensor) -> Tensor:
        return x.reshape(3, 2, 4, 2, 4)

    theirs = {
        RASTER: lambda x: split(x).permute(1, 3, 0, 2, 4),
        COLUMNS: lambda x: split(x).permute(3, 1, 0, 2, 4),
        STRIDED: lambda x: x.reshape(3, 2, 4, 4, 2).permute(1, 4, 0, 2, 3),
        PLAIN: lambda x: x.reshape(2, 2, 3, 4, 4),
    }
    for cut in CUTS:
        same(ncd.compile(patches(cut, 3, 8, 2)), theirs[cut], [image])


@pytest.mark.parametrize("n", [2, 4, 8])
def test_which_patches_are_squares_of_the_picture(n: int) -> None:
    found = {cut: patch_raster.read(patches(cut, n=n), n) for cut in CUTS}
    assert (found[RASTER].squares, found[RASTER].ordered_count) == (n * n, n * n)
    assert (found[COLUMNS].squares, found[COLUMNS].ordered_count) == (n * n, n)
    assert found[STRIDED].squares == found[PLAIN].squares == 0


def test_one_axis_at_another_place_changes_with_it() -> None:
    """So every order can be reached, each in three choices at most."""
    for order in ORDERS:
        now = tuple(AXES)
        for place, name in enumerate(order[:3]):
            now = swapped_order(now, place, name)
            assert now in ORDERS
        assert now == order
