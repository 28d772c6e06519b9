"""What a reading assumes is a last line, with which it reads the same and assumes nothing."""

from __future__ import annotations

import pytest

from ncd.pytorch_source.source_reader import read_source
from ncd.text.text_errors import TextError

NAMES = """
class Net(nn.Module):
    def __init__(self, D_in, H, D_out, q, n):
        super().__init__()
        self.first = nn.Sequential(*[nn.Linear(D_in, D_in) for _ in range(n)])
        self.drop, self.part = nn.Dropout(q), Part(D_in, H)
        self.last = nn.Linear(H, D_out)
    def forward(self, x):
        return self.last(self.drop(self.part(self.first(x))))
class Part(nn.Module):
    def __init__(self, one, two):
        super().__init__()
        self.layer = nn.Linear(in_features=one, out_features=two)
    def forward(self, x):
        return self.layer(x)
"""
LISTS = """
class Head(nn.Module):
    def __init__(self, encoder_channels=(3, 8)):
        super().__init__()
        self.layer = nn.Conv2d(8, 4, 1)
    def forward(self, features):
        return self.layer(features[1]) + features[0].mean()
"""
FLAT = """
class VAE(nn.Module):
    def __init__(self, image_size=784):
        super().__init__()
        self.layer = nn.Linear(image_size, 20)
    def forward(self, x):
        return self.layer(x)
model = VAE()
"""
ROWS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(28, 16, batch_first=True)
    def forward(self, x):
        return self.layer(torch.flatten(x.view(-1, 28, 28), 2))[0]
Net()
"""
SETTINGS = """
n_embd, DEPTH = 24, 3
class Net(nn.Module):
    def __init__(self, n_embd, depth):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(n_embd, 24) for _ in range(depth)])
    def forward(self, x):
        return self.layers(x)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (SETTINGS, "Net(n_embd=24, depth=3)(torch.randn(1, 24))"),  # numbers of the source
        (NAMES, "Net(D_in=64, H=64, D_out=10, q=0.0, n=2)(torch.randn(1, 64))"),
        (f"{NAMES}Part\n", "Part(one=64, two=10)(torch.randn(1, 64))"),
        (f"{NAMES}5x64\n", "Net(D_in=64, H=64, D_out=10, q=0.0, n=2)(torch.randn(5, 64))"),
        (LISTS, "Head()([torch.randn(1, 3, 64, 64), torch.randn(1, 8, 32, 32)])"),
        (FLAT, "model(torch.randn(1, 784))"),
        (ROWS, "Net()(torch.randn(1, 28, 28))"),
    ],
)
def test_what_is_assumed_is_a_last_line_with_which_nothing_is(text: str, line: str) -> None:
    found = read_source(text)
    assert found.call.line == line
    again = read_source(f"{text.removesuffix('5x64' + chr(10))}\n{line}\n")
    assert (again.term, again.shapes) == (found.term, found.shapes)
    assert (again.call.line, again.call.assumed) == ("", ())


def test_the_name_of_a_class_as_the_last_line_chooses_it() -> None:
    assert read_source(NAMES).call.drawn == "Net"
    chosen = read_source(f"{NAMES}\nPart").call
    assert (chosen.drawn, chosen.classes) == ("Part", ("Net", "Part"))


NEEDS = """
class Net(nn.Module):
    def __init__(self, dim, kind):
        super().__init__()
        self.layer = nn.Linear(dim, kind * 2)
    def forward(self, x):
        return self.layer(x)
"""
SAYS_NOTHING = """
class Net(nn.Module):
    def forward(self, one, two):
        return one.view(2, 3) @ two.view(3, 4)
"""


@pytest.mark.parametrize(
    ("text", "line", "filled", "shapes"),
    [
        (NEEDS, "Net(dim=64, kind=...)", "Net(dim=64, kind=3)", ((1, 6),)),
        (
            SAYS_NOTHING,
            "Net()(torch.randn(...), torch.randn(...))",
            "Net()(torch.randn(2, 3), torch.randn(3, 4))",
            ((2, 4),),
        ),
    ],
)
def test_what_nothing_tells_is_a_blank_of_the_last_line(
    text: str, line: str, filled: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    with pytest.raises(TextError) as error:
        read_source(text)
    assert error.value.call is not None and error.value.call.line == line
    assert read_source(f"{text}\n{filled}").shapes == shapes
