"""Figure 27: the notebook's modules, retyped, with what kept them from running put right."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd
from tests.systems.retyped import given, in_order, layers, same

ENTRY = ncd.catalogue["unet"]


class DoubleConvolution(nn.Sequential):
    def __init__(self, c0: int, c1: int) -> None:
        super().__init__(
            nn.Conv2d(c0, c1, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(c1, c1, 3, padding=1),
            nn.ReLU(),
        )


class UNet(nn.Module):
    def __init__(self, depth: int, channels: int, y: int) -> None:
        super().__init__()
        c = [1 if i == 0 else channels * 2**i for i in range(depth + 2)]
        n = depth + 1
        self.downScaleBlocks = nn.ModuleList(
            DownScaleBlock(c[i], c[i + 1]) for i in range(0, depth)
        )
        self.middleDoubleConvolution = DoubleConvolution(c[depth], c[n])
        self.middleUpscale = nn.ConvTranspose2d(c[n], c[depth], 2, 2)
        self.upScaleBlocks = nn.ModuleList(
            UpScaleBlock(c[n - i], c[depth - i]) for i in range(1, depth)
        )
        self.finalConvolution = nn.Conv2d(c[1], y, 1)

    def forward(self, x: Tensor) -> Tensor:
        cLambdas = []
        for dsb in self.downScaleBlocks:
            x, cLambda = dsb(x)
            cLambdas.append(cLambda)
        x = self.middleDoubleConvolution(x)
        x = self.middleUpscale(x)
        for usb in self.upScaleBlocks:
            cLambda = cLambdas.pop()
            x = usb(x, cLambda)
        return self.finalConvolution(x)


class DownScaleBlock(nn.Module):
    def __init__(self, c0: int, c1: int) -> None:
        super().__init__()
        self.doubleConvolution = DoubleConvolution(c0, c1)
        self.downScaler = nn.MaxPool2d(2, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        cLambda = self.doubleConvolution(x)
        return self.downScaler(cLambda), cLambda


class UpScaleBlock(nn.Module):
    def __init__(self, c1: int, c0: int) -> None:
        super().__init__()
        self.doubleConvolution = DoubleConvolution(2 * c1, c1)
        self.upScaler = nn.ConvTranspose2d(c1, c0, 2, 2)

    def forward(self, x: Tensor, cLambda: Tensor) -> Tensor:
        x = torch.concat((x, cLambda), 1)
        x = self.doubleConvolution(x)
        return self.upScaler(x)


@pytest.mark.parametrize("skips", [0, 1])
@pytest.mark.parametrize(
    "sizes",
    [
        {},
        {"depth": 2, "c": 3, "x": 12, "y": 4},
        {"depth": 3, "c": 1, "x": 8, "y": 2},
        {"depth": 5, "c": 2, "x": 32},
    ],
    ids=str,
)
def test_unet(sizes: dict[str, int], skips: int) -> None:
    n = ENTRY.settings(sizes | {"skips": skips})
    module = ncd.compile(ENTRY.build(**n), seed=1)
    hand = UNet(n["depth"], n["c"], n["y"])
    pairs = in_order(layers(module), layers(hand))
    same(module, hand, given([2, 1, n["x"], n["x"]]), pairs)


def test_what_the_first_level_saves_is_not_taken() -> None:
    """As published: four arrays are saved, three are loaded."""
    circuit = ncd.elaborate(ENTRY.build(skips=1))
    (first,) = (value for cell in circuit.cells[:6] for value in cell.outputs[1:])
    assert str(first.array) == "c_1 x_1"
    assert not any(first in cell.inputs and cell.outputs for cell in circuit.cells)


@pytest.mark.parametrize("skips", [0, 1])
@pytest.mark.parametrize(
    ("x", "depth", "message"),
    [
        (20, 4, "an image of 20 × 20 cannot be halved 4 times, as 20 is no multiple of 16."),
        (1, 2, "an image of 1 × 1 cannot be halved 2 times, as 1 is no multiple of 4."),
        (31, 5, "an image of 31 × 31 cannot be halved 5 times, as 31 is no multiple of 32."),
    ],
)
def test_an_image_that_does_not_halve_so_often_is_refused(
    x: int, depth: int, message: str, skips: int
) -> None:
    with pytest.raises(ncd.SizeError) as caught:
        ENTRY.build(x=x, depth=depth, skips=skips)
    nearest = caught.value.nearest
    assert str(caught.value) == f"{message} Try x = {nearest}."
    assert nearest % 2**depth == 0 and abs(nearest - x) < 2**depth
    pool = caught.value.op
    assert isinstance(pool, ncd.MaxPool)
    if skips:  # the first level at which a side is odd
        odd = next(i for i in range(depth) if (x >> i) % 2)
        assert pool.dom[0].names == (f"x_{odd + 1}",)
    ENTRY.build(x=nearest, depth=depth, skips=skips)
