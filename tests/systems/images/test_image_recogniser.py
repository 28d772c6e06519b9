"""Figure 19: the notebook's recogniser, retyped, with its softmax put right."""

import pytest
from torch import Tensor, nn

import ncd
from tests.systems.retyped import given, in_order, layers, same


class BasicImageRecogniser(nn.Module):
    def __init__(self, x: int, n: int, k: int) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(x * x, n),
            nn.ReLU(),
            nn.Linear(n, n),
            nn.ReLU(),
            nn.Linear(n, k),
        )

    def forward(self, x: Tensor) -> Tensor:
        x = self.flatten(x)
        x = self.linear_relu_stack(x)
        return nn.Softmax(-1)(x)


@pytest.mark.parametrize("sizes", [{}, {"x": 5, "n": 24, "k": 3}, {"x": 4, "n": 8}], ids=str)
def test_image_recogniser(sizes: dict[str, int]) -> None:
    entry = ncd.catalogue["image-recogniser"]
    n = entry.settings(sizes)
    module = ncd.compile(entry.build(**n), seed=1)
    hand = BasicImageRecogniser(n["x"], n["n"], n["k"])
    same(module, hand, given([3, n["x"], n["x"]]), in_order(layers(module), layers(hand)))
