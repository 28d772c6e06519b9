"""The entry of a text: what its length allows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import ncd
from ncd.app.scene import own_entry
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


CHAIN = 'Softmax("m:3") >> Elementwise("relu") >> Linear("m -> k:2", "L")'
FEWER = {"PARTS": "fewer", "ARRAYS": "fewer", "WIRES": "fewer arrays at once"}


@pytest.fixture
def read_anew() -> Iterator[None]:
    """Lets no text be known already."""
    own_entry.visitor_system.cache_clear()
    yield
    own_entry.visitor_system.cache_clear()


@pytest.mark.usefixtures("read_anew")
@pytest.mark.parametrize(
    ("text", "limit", "most", "fact"),
    [
        (CHAIN, "PARTS", 4, "it has 4 parts, and at most 3 can be drawn"),
        (
            'Copy("m:3") >> Add()',
            "ARRAYS",
            3,
            "a part takes and gives 3 arrays, and at most 2 can be drawn",
        ),
        (
            'Linear("m:3 -> k:2", "L") >> Softmax("k")',
            "WIRES",
            3,
            "its diagram has 3 wires from column to column, and at most 2 fit",
        ),
    ],
)
def test_a_text_is_as_large_as_can_be_drawn(
    text: str, limit: str, most: int, fact: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_entry, limit, most)
    before = own_entry.visitor_system(text)
    term = before.entry.build()
    assert own_entry.edited_system(before, term).entry.build() == term
    own_entry.visitor_system.cache_clear()
    monkeypatch.setattr(own_entry, limit, most - 1)
    for make in (lambda: custom_entry(text), lambda: own_entry.edited_system(before, term)):
        with pytest.raises(ncd.LimitError) as error:
            make()
        assert str(error.value) == f"{fact}. Try {FEWER[limit]}."


@pytest.mark.parametrize(
    ("function", "refusal"),
    [
        ("aten.roll", ""),
        ("aten.rol", "there is no function on this page 'aten.rol'. Try aten.roll."),
        (
            "os.system",
            "there is no function on this page 'os.system'. Try one such as aten.abs, aten.acos, "
            "aten.adaptive_avg_pool1d.",
        ),
        *(
            (name, f"this page does not call {name} of torch. Try an op of the language in its "
             "place.")
            for name in ("aten.bernoulli", "aten.exp_", "aten.roll.out")
        ),
    ],
)  # fmt: skip
def test_a_text_calls_only_some_functions_of_torch(function: str, refusal: str) -> None:
    text = f'Opaque("m:3 -> m", "{function}", "a, [1], [0]") >> Softmax("m")'
    if not refusal:
        assert len(custom_entry(text).build().children) == 2
        return
    with pytest.raises(ncd.UnknownNameError) as error:
        custom_entry(text)
    assert str(error.value) == refusal


@pytest.mark.parametrize(
    ("text", "default", "most", "words"),
    [
        ('Softmax("m:3")', 3, 64, "size"),
        ('Softmax("m:16")', 16, 64, "size"),
        ('Softmax("m:17")', 17, 68, "size"),
        ('Softmax("~m:5")', 5, 64, "positions"),
        ('Id("m:20x20") >> Elementwise("relu")', 20, 80, "each side"),
    ],
)
def test_a_size_of_a_text_has_a_slider(text: str, default: int, most: int, words: str) -> None:
    (knob,) = custom_entry(text).knobs
    assert (knob.name, knob.min, knob.default, knob.max) == ("m", 1, default, most)
    assert knob.help == words
    built = custom_entry(text).build(m=2)
    assert {axis.shape for axis in built.cod.axes} == {(2, 2) if words == "each side" else (2,)}


def test_sides_that_differ_and_very_large_sizes_have_no_slider() -> None:
    text = 'Id("m:2x3 k:1000000 n:1000001") >> Elementwise("relu")'
    assert [knob.name for knob in custom_entry(text).knobs] == ["k"]
