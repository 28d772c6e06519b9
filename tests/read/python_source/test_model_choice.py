"""Files that are pasted whole give their model, with usual sizes where they give none."""

from __future__ import annotations

import ast

import pytest

import ncd
from ncd.findings.search import findings
from ncd.notation.term_reader import TextError
from ncd.read.python_source import input_search, source_reader
from ncd.read.python_source.interpreter import Scope
from ncd.read.python_source.source_reader import (
    _leave_out_whole_classes,
    new_machine,
    read_source,
    run_lines,
)

SIZES = """
class Net(nn.Module):
    def __init__(self, dim, num_classes, scale=2):
        super().__init__()
        self.layer = nn.Linear(dim, num_classes)
    def forward(self, x):
        return self.layer(x)
"""
SETTINGS = """
class Net(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.Linear(config.n_embd, config.{})
    def forward(self, x):
        return self.layer(x)
"""
FIELDS = """
from dataclasses import dataclass
@dataclass
class Args:
    n_embd: int
    vocab_size: int = -1  # set later
"""
PARTS = """
from .other import *
class Part(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(n, 5)
    def forward(self, x):
        return self.layer(x)
class Whole(nn.Module):
    def __init__(self, one, two):
        super().__init__()
        self.one, self.two = one, two
    def forward(self, src, tgt, src_mask):
        x = self.one(src) * self.two(tgt)
        return x if src_mask is None else x.masked_fill(src_mask, 0)
def make(d_model, n_blocks=2):
    return Whole(Part(d_model), Part(d_model))
"""
TRIAL = """
def trial():
    whole = make(8)
    return whole.two(torch.ones(1, 8))
trial()
for i in range(3):
    pass
if True:
    while True: pass
"""
ROW = "(torch.randn(1, 64))"


@pytest.mark.parametrize(
    ("source", "drawn", "said"),
    [
        (SIZES, "m:64 -> classes:10", f"Net(dim=64, num_classes=10){ROW}"),
        (
            SETTINGS.format("vocab_size"),
            "m:64 -> v:1000",
            "from types import SimpleNamespace\n"
            f"Net(config=SimpleNamespace(n_embd=64, vocab_size=1000)){ROW}",
        ),
        (
            FIELDS + SETTINGS.format("vocab_size"),
            "m:64 -> v:1000",
            f"Net(config=Args(n_embd=64, vocab_size=1000)){ROW}",
        ),
        (
            PARTS,
            "m:64 -> classes:5",
            "make(d_model=64)(torch.randn(1, 64), torch.randn(1, 64), None)",
        ),
        (PARTS + TRIAL, "m:8 -> classes:5", ""),
    ],
)
def test_a_model_is_made_with_the_sizes_that_are_usual_for_its_arguments(
    source: str, drawn: str, said: str
) -> None:
    found = read_source(source)
    assert drawn in repr(found.term)
    assert found.call.line == said
    assert (found.note == "") is bool(said)  # a trial stands apart, and is left out
    if said:
        again = read_source(f"{source}\n{said}")
        assert again.term == found.term
        assert again.call.line == "", "nothing is assumed any more"


ARGUMENTS = {
    "Optional[Union[float, int]] = None": "",
    "Literal['mean', 'sum']": "'mean'",
    "list[int] | tuple[int, ...]": "[2, 2, 2]",
    "'int | list[int]'": "4",
    "Tuple[int, int, float]": "(4, 4, 0.1)",
}
KIND = """
class Net(nn.Module):
    \"\"\"A map.

    Args:
        told (int): the parts of it,
            of which there are some. Default: 6.
        other (float): a share.
    \"\"\"
    def __init__(self, {argument}):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.kept = {name}
    def forward(self, x):
        return self.layer(x){use}
def rest(mode="full", *, level=5):
    pass
"""


@pytest.mark.parametrize(("hint", "value"), ARGUMENTS.items(), ids=ARGUMENTS)
def test_a_type_hint_tells_the_value_of_an_argument(hint: str, value: str) -> None:
    found = read_source(KIND.format(argument=f"kept: {hint}", name="kept", use=""))
    given = f"kept={value}" if value else ""
    assert found.call.line == f"Net({given})(torch.randn(1, 4))"


@pytest.mark.parametrize(
    ("argument", "value"), [("told", "6"), ("other", "0.1"), ("mode", "'full'"), ("level", "5")]
)
def test_docstrings_and_other_functions_tell_the_value_of_an_argument(
    argument: str, value: str
) -> None:
    found = read_source(KIND.format(argument=argument, name=argument, use=""))
    assert found.call.line == f"Net({argument}={value})(torch.randn(1, 4))"


def test_an_argument_that_is_only_asked_for_is_false() -> None:
    use = " if self.kept else x"
    found = read_source(KIND.format(argument="twofold", name="twofold", use=use))
    assert found.call.line == "Net(twofold=False)(torch.randn(1, 4))"
    assert found.shapes == ((1, 4),), "the other branch"


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (
            SETTINGS.format("depth_of_it"),
            "line 5, column 47: config.depth_of_it is not given. "
            "Try a class with depth_of_it = … for config.",
        ),
        (
            SIZES.replace("nn.Linear(dim", "nn.Linear(dim / 2"),
            "line 5, column 22: the assumed Net(dim=64, num_classes=10) may not fit: "
            "TypeError: empty(): argument 'size'",
        ),
        (
            SIZES.replace("nn.Linear(dim", "nn.Linear(dim / 2") + "Net",  # which is asked for
            "line 5, column 22: the assumed Net(dim=64, num_classes=10) may not fit: "
            "TypeError: empty(): argument 'size'",
        ),
    ],
)
def test_what_cannot_be_made_says_what_is_missing(source: str, words: str) -> None:
    with pytest.raises(TextError) as error:
        read_source(source)
    assert str(error.value).startswith(words)


TWO = """
class First(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
    def forward(self, x):
        return self.layer(x)
class Second(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 5)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize(
    ("end", "parameters"),
    [("", 25), ("a, b = First(), Second()", 25), ("b, a = Second(), First()", 9)],
)
def test_of_several_models_the_last_is_drawn(end: str, parameters: int) -> None:
    assert ncd.cost(read_source(TWO + end).term).parameters == parameters


@pytest.mark.parametrize("last", ["first = net[0]", "loss = nn.CrossEntropyLoss()", "net = net"])
def test_of_several_modules_the_whole_one_is_drawn_and_no_loss(last: str) -> None:
    net = "net = nn.Sequential(nn.Linear(8, 4), nn.ReLU())"
    found = read_source(f"from torch import nn\n{net}\n{last}\n2x8")
    assert str(found.term).endswith("Elementwise('relu')") and "Linear" in str(found.term)


@pytest.mark.parametrize("sizes", ["(8,)", "(8, 1)"])  # a target that fits, and one that does not
def test_a_model_is_drawn_and_not_its_loss(sizes: str) -> None:
    text = f"""model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 5))
criterion = nn.CrossEntropyLoss()
x = torch.randn(8, 10)
loss = criterion(model(x), torch.randint(0, 5, {sizes}))
"""
    found = read_source(text)
    assert (found.shapes, found.call.assumed) == (((8, 5),), ())
    failures = [(each.kind, each.line) for each in findings(text)]
    assert ("failure", 4) in failures if sizes == "(8, 1)" else "failure" not in dict(failures)


BEHIND = f"""
from other.parts import Blend
{SIZES}
class Whole(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.net, self.blend = Net(dim, 3), Blend(dim)
    def forward(self, x):
        return self.net(self.blend(x)).view(7, 11)
"""


def test_a_part_is_drawn_where_the_whole_stops_behind_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(input_search, "SECONDS", 0.1)  # no input is found
    found = read_source(BEHIND)
    assert (found.call.drawn, found.failure, found.shapes) == ("Net", None, ((1, 3),))
    assert found.note == (
        "Whole is not drawn: line 14: Blend is not known here: it is imported from other.parts, "
        "which is not read."
    )
    given = read_source(BEHIND + "1x64")
    assert given.call.drawn == "Whole" and given.failure is not None
    monkeypatch.setattr(source_reader, "SECONDS", 0.0)
    late = read_source(BEHIND)
    assert late.call.drawn == "Whole" and late.failure is not None


SEVERAL_SETTINGS = (
    FIELDS
    + """
@dataclass
class Other:
    dim: int
class Net(nn.Module):
    def __init__(self, given: {}):
        super().__init__()
        self.layer = nn.Linear(5, given.{})
    def forward(self, x):
        return self.layer(x)
"""
)


@pytest.mark.parametrize(
    ("hint", "field", "said"),
    [
        ("Other | Args", "n_embd", "Args(n_embd=64, vocab_size=1000)"),
        ("Other", "dim", "Other(dim=64)"),
        ("'Other'", "dim", "Other(dim=64)"),
    ],
)
def test_settings_are_of_the_class_of_their_hint(hint: str, field: str, said: str) -> None:
    found = read_source(SEVERAL_SETTINGS.format(hint, field))
    assert found.call.line == f"Net(given={said})(torch.randn(1, 5))"


BASE = """
class Base(nn.Module):
    def encode(self, x):
        raise NotImplementedError
    def forward(self, x):
        "What it does."
        {}
"""


@pytest.mark.parametrize("body", ["pass", "...", "raise NotImplementedError('later')"])
def test_a_base_that_leaves_its_forward_open_is_no_model(body: str) -> None:
    with pytest.raises(TextError) as raised:
        read_source(BASE.format(body))
    assert raised.value.fact == "Base leaves its forward to the classes that extend it"
    assert raised.value.line == 2
    own = "class Net(Base):\n    def forward(self, x):\n        return x.relu()\n"
    assert read_source(BASE.format(body) + own).call.drawn == "Net"


OTHER = """
class Other(nn.Module):
    def __init__(self, n=8):
        super().__init__()
        self.layer = nn.Linear(n, 5)
    def forward(self, x):
        return self.layer(x)
"""


@pytest.mark.parametrize("last", [True, False])
def test_a_class_that_needs_nothing_comes_before_one_with_settings_to_guess(last: bool) -> None:
    parts = (SETTINGS.format("vocab_size"), OTHER)
    found = read_source(FIELDS + "".join(parts if last else parts[::-1]))
    assert found.call.line == "Other()(torch.randn(1, 8))" and found.shapes == ((1, 5),)


BOUGHT = """
from .other import Attend
class Gate(nn.Module):
    def forward(self, x):
        x, gate = x.chunk(2, dim=-1)
        return x * gate.sigmoid()
def feed_forward(dim, mult=4):
    return nn.Sequential(nn.Linear(dim, dim * mult * 2), Gate(), nn.Linear(dim * mult, dim))
def relu(p=0.1):
    return nn.LeakyReLU(p)
class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.attend, self.ff = Attend(dim), feed_forward(dim)
    def forward(self, x):
        return self.ff(self.attend(x)) + x
class Position(nn.Module):
    def forward(self, x):
        return x.cos()
"""


def test_a_part_that_a_function_makes_is_drawn_after_the_class_that_uses_it() -> None:
    assert read_source(BOUGHT).call.drawn == "Block"


def test_a_function_that_makes_a_layer_without_weights_is_no_model() -> None:
    text = "def relu(p=0.1):\n    return nn.LeakyReLU(p)\n" + SIZES
    assert read_source(text).call.drawn == "Net"


NOTHING = """
class Sum(nn.Module):
    def __init__(self, *parts):
        super().__init__()
        self.parts = nn.ModuleList(parts)
    def forward(self, x):
        return sum(part(x) for part in self.parts)
"""


def test_a_class_that_gives_no_array_is_not_drawn_where_another_one_does() -> None:
    found = read_source(SIZES + NOTHING)
    assert (found.call.drawn, found.shapes) == ("Net", ((1, 10),))
    assert "Sum is not drawn: it gives no array." in found.note
    assert read_source(NOTHING).shapes == ()


BOTTLENECK = """
class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes):
        super().__init__()
        self.down, self.up = nn.Conv2d(inplanes, planes, 1), nn.Conv2d(planes, planes * 4, 1)
    def forward(self, x):
        return self.up(self.down(x).relu()) + {}
"""


def test_a_width_that_an_error_speaks_of_is_tried() -> None:
    found = read_source(BOTTLENECK.format("x"))
    assert found.call.line.startswith("Bottleneck(inplanes=256, planes=64)(")
    assert found.failure is None and found.shapes[0][1] == 256
    given = read_source(BOTTLENECK.format("x") + "1x64x8x8")  # which no other width takes
    line = "Bottleneck(inplanes=64, planes=64)(torch.randn(1, 64, 8, 8))"
    assert given.failure is not None and given.call.line == line


def test_a_class_that_fits_with_no_width_shows_the_error_with_the_usual_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(input_search, "SECONDS", 0.1)  # no input is found
    found = read_source(BOTTLENECK.format("torch.zeros(64, 1, 1)"))
    assert found.failure is not None
    assert found.call.line.startswith("Bottleneck(inplanes=64, planes=64)(")


def test_a_part_is_drawn_where_the_whole_takes_too_many_steps() -> None:
    whole = """
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net(8, 3)
        for i in range(1000):
            for j in range(1000):
                pass
    def forward(self, x):
        return self.net(x)
"""
    found = read_source(SIZES + whole)
    assert found.call.drawn == "Net"
    assert "Whole is not drawn: it takes more than 400,000 steps." in found.note


@pytest.mark.parametrize(
    ("end", "shapes"), [("net = Net(3, 4)\nn = 3", ""), ("Net(3, 4)", ""), ("", "1x64")]
)
def test_what_a_source_makes_or_gives_is_not_replaced_by_a_part(end: str, shapes: str) -> None:
    whole = "class Whole(nn.Module):\n    def forward(self, x):\n        return Net(x)(x)\n"
    tree, machine, scope = ast.parse(f"{SIZES}{whole}{end}"), new_machine(), Scope()
    run_lines(machine, tree, scope)
    with pytest.raises(TextError, match=r"it is late\. Try fewer layers, or smaller sizes"):
        _leave_out_whole_classes(machine, tree, scope, "it is late", shapes)
    other = ast.parse(f"{SIZES}{whole}n = 3")
    run_lines(machine := new_machine(), other, scope := Scope())
    _leave_out_whole_classes(machine, other, scope, "it is late", "")
    assert machine.instead == {"Whole": "it is late"}
    assert [one.__name__ for one in machine.classes_without_input] == ["Whole"]


def test_settings_that_are_handed_on_by_name_are_none() -> None:
    source = """
class Net(nn.Module):
    def __init__(self, dim, layer_kwargs):
        super().__init__()
        self.layer = nn.Linear(dim, 5, **layer_kwargs)
    def forward(self, x):
        return self.layer(x)
"""
    found = read_source(source)
    assert found.call.line == "Net(dim=64, layer_kwargs={})(torch.randn(1, 64))"
    assert read_source(source + found.call.line).shapes == found.shapes == ((1, 5),)


@pytest.mark.parametrize(
    "words", ["you must specify the side (side=h=w)", "side is required", "it needs a side"]
)
def test_what_an_assertion_asks_for_is_assumed(words: str) -> None:
    found = read_source(f"""import torch
from torch import nn
class Placed(nn.Module):
    def __init__(self, dim, *, radius=None, side=None):
        super().__init__()
        assert side is not None or radius is not None, "{words}"
        self.map, self.places = nn.Conv2d(dim, dim, 1), nn.Parameter(torch.randn(side, side))
    def forward(self, x):
        return self.map(x) + self.places
""")
    assert found.failure is None and found.shapes[0][-2:] == (8, 8)
    assert found.call.line.startswith("Placed(dim=64, side=8)(")
    assert {"dim", "side"} <= {*found.call.assumed}


def test_a_part_is_drawn_where_nothing_tells_what_the_whole_is_given() -> None:
    whole = """
class Whole(nn.Module):
    def __init__(self, tables):
        super().__init__()
        self.net, self.table = Net(8, 3), tables.lookup("x")
    def forward(self, x):
        return self.net(x)
"""
    found = read_source(SIZES + whole)
    assert (found.call.drawn, found.shapes) == ("Net", ((1, 3),))  # as the whole makes it
    assert "Whole is not drawn: it needs tables." in found.note
