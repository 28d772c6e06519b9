"""The entry of a text: what its length allows."""

from __future__ import annotations

import ncd
from ncd.app.scene.own_entry import custom_entry

NORMED = """
class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(8), nn.Conv2d(8, 8, 3, padding=1)
    def forward(self, x):
        return x + self.conv(torch.relu(self.norm(x)))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(3))
        self.norm, self.out = nn.BatchNorm2d(8), nn.Linear(8, 10)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x).mean((2, 3)))
"""


def test_a_network_with_batch_norms_opens_at_batch_1() -> None:
    """The page itself takes one picture where no input is given."""
    entry = custom_entry(NORMED)
    term = entry.build()
    assert entry.settings({})["b"] == 1
    assert ncd.compile(term)(*ncd.example_inputs(term)).shape == (1, 10)


def test_a_long_text_gives_fewer_axes_a_default_size() -> None:
    """Each of them is solved for through the whole text."""

    def chain(axes: int, more: int) -> str:
        maps = [f'Linear("a{n} -> a{n + 1}", "L{n}")' for n in range(axes)]
        return " >> ".join([*maps, *['Elementwise("tanh")'] * more])

    assert len(custom_entry(chain(24, 0)).knobs) == 25
    assert len(custom_entry(chain(24, 800)).knobs) == 1 + 10_000 // 824
