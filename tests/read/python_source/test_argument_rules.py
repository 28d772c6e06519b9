"""What the code, the hints and the docstrings of a source tell of an argument, rule by rule."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Any

import pytest
from torch import nn

from ncd.notation.call_form import BLANK
from ncd.notation.term_reader import TextError
from ncd.read.python_source import model_choice as choice
from ncd.read.python_source import module_arguments as rules
from ncd.read.python_source import source_reader
from ncd.read.python_source.interpreter import (
    AssumedSettings,
    ClassValue,
    Interpreter,
    LimitExceeded,
    Scope,
    SourceException,
    SourceFunction,
)
from ncd.read.python_source.usual_sizes import NO_USUAL_VALUE

NONE = NO_USUAL_VALUE
SOURCE_ERROR = SourceException(ValueError("no"), ast.Pass())


@lru_cache
def begin_of(text: str, name: str = "Net") -> tuple[Interpreter, Scope, SourceFunction]:
    """Returns the reader of a source, its names, and the ``__init__`` of a class of it."""
    machine, scope = source_reader.new_machine(), Scope()
    machine.text = text
    machine.run(ast.parse(text).body, scope)
    begin = choice.first_step(machine, class_of(scope, name))
    assert begin is not None
    return machine, scope, begin


def class_of(scope: Scope, name: str) -> ClassValue:
    value = scope.names[name]
    assert isinstance(value, ClassValue)
    return value


USES = """
from .far import Far
TABLE, NUMBERS, EMPTY = {"fast": 1, "slow": 2}, {1: 2}, {}
class Net(nn.Module):
    '''A net.

    Args:
        told (int): a width
         of it. Default: 6.
        share (float): a part. Default: None
        - `sure` (bool): whether, default is True
        :param int width: how wide
        kind (str): Default: "odd"
        late: it has no type
        int: default 3
    '''
    version = 3
    def __init__(self, mode, norm, speed, odd, nil, style, n, m, flag, also, nor, either, if_so,
                 blocks, pairs, ranked, zipped, turned, listed, handed, told_pairs, lone, both, f,
                 g, h, n_layer, encoder, foo, made: nn.Module, count: int, far: Far):
        super().__init__()
        if mode == "sum" or "sum" == n:
            pass
        self.size = m * 2 + TABLE[speed] + NUMBERS[odd] + EMPTY[nil]
        self.style, self.also = style, also
        self.also = also
        self.style = style
        self.half = 3 / n
        if flag:
            self.a = 1 if if_so else 2
        if not nor:
            pass
        self.blocks = nn.ModuleList(blocks)
        self.pairs = pairs
        self.ranked = make(ranked, 2)
        self.f = f
        self.g = g
        self.g(m)
        self.k = h
        for layer in lone:
            layer = 3
    def forward(self, x):
        if self.norm in ("batch", "layer") or self.style in [1, "wide"]:
            pass
        y = self.also and x
        y = self.f(x) + self.h(x) + self.other.g(x)
        for block in self.blocks:
            x = block(x)
        for f, g in self.pairs:
            x = f(x) + g
        for i, z in enumerate(self.ranked):
            x = z(x)
        return x
    def more(self, x, zipped, turned, listed, handed, told_pairs):
        for a, b in zip(x, self.zipped):
            x = b(a)
        x = [one(x) for one in reversed(self.turned)]
        for i, z in enumerate(self.listed):
            x = i(z)
        for h, q in self.handed:
            x = run(x, h, q)
        for one in zip(x, self.both):
            x = one(x)
        for p, num_heads in self.told_pairs:
            x = run(x, p, num_heads)
        for kernel, q in self.half_handed:
            x = run(x, q)
"""
KEPT = "\n".join(
    f"        self.{name} = {name}"
    for name in ("norm", "zipped", "turned", "listed", "handed", "told_pairs", "both")
)
USES = USES.replace("        self.half = 3 / n", f"{KEPT}\n        self.half = 3 / n")


def of(rule: Any, *names: str) -> list[Any]:
    first = begin_of(USES)[2]
    return [rule(first, name) for name in names]


def test_a_text_that_an_argument_is_compared_with_or_looked_up_by() -> None:
    found = of(rules.of_choice, "mode", "norm", "speed", "odd", "nil", "style", "n", "flag")
    assert found == ["sum", "batch", "fast", NONE, NONE, "wide", NONE, NONE]


def test_an_argument_that_is_reckoned_with_or_asked_for() -> None:
    assert of(rules.of_arithmetic, "m", "n", "flag") == [8, 8, NONE]
    found = of(rules.of_question, "flag", "if_so", "nor", "also", "mode", "m")
    assert found == [False, False, False, False, NONE, NONE]


def test_modules_that_an_object_calls_alone_or_in_pairs() -> None:
    assert of(rules._is_called, "f", "g", "h", "blocks") == [True, False, False, False]
    machine, scope, first = begin_of(USES)
    given = ("f", "g", "n_layer", "encoder", "foo", "made", "count", "far")
    are_parts = [rules.is_part(machine, first, name, scope) for name in given]
    assert are_parts == [True, False, False, True, False, True, False, True]
    hint = ast.parse("tuple[int]", mode="eval").body
    assert rules._of_alternative(hint) == (4,)
    names = (
        "blocks",
        "pairs",
        "zipped",
        "turned",
        "handed",
        "both",
        "ranked",
        "listed",
        "told_pairs",
        "lone",
    )
    found = of(lambda first, name: [*rules._items(first, name)], *names)
    assert found == [
        [("block",)], [("f", "g")], [("b",)], [("one",)], [("h", "q")], [("one",)], [], [], [], []
    ]  # fmt: skip
    made = rules.parts_in_list(machine, first, "pairs")
    assert made is not None and [len(pair) for pair in made] == [2, 2]  # type: ignore[arg-type]
    assert [type(x).__name__ for x in rules.parts_in_list(machine, first, "blocks") or ()] == (
        ["ExternalModule"] * 2
    )
    assert rules.parts_in_list(machine, first, "listed") is None


def test_what_a_docstring_tells_of_an_argument() -> None:
    names = ("told", "share", "sure", "width", "kind", "late", "missing", "int")
    found = of(lambda first, name: rules.of_docstring(USES, first, name), *names)
    assert found == [6, 0.1, True, 4, NONE, NONE, NONE, 3]
    assert [type(each) for each in found[:4]] == [int, float, bool, int]
    words = "Args:\n    a (int): one\n     of two\n     and three\n    b: x\n\n    c: d\n  e"
    assert rules._paragraph(words, "a") == "a (int): one\nof two\nand three"
    assert [rules._paragraph(words, name) for name in "bcd"] == ["b: x", "c: d", ""]


SEVERAL = """
class Net(nn.Module):
    def __init__(self, a: list[int], b: "Sequence[float]", c: "int | list[int]",
                 d: Tuple[int, ...], e: tuple[int, int], looped, read, spread, counted, paired,
                 made, asked, plain, own):
        for x in looped:
            y = read[0]
        z = [*spread, len(counted), zip(paired, 3), len(plain[own])]
        made = to_tuple(made)
        made = [x for x in made]
        if isinstance(asked, list) or isinstance(y, own):
            asked = asked[0]
"""


def test_whether_an_argument_is_for_several_things() -> None:
    first = begin_of(SEVERAL)[2]
    names = [arg.arg for arg in first.node.args.args[1:]]
    several = {name for name in names if rules.is_several(first, name)}
    assert several == {"a", "b", "d", "looped", "read", "spread", "counted", "paired", "plain"}
    shown = [rules.as_hinted(first, name, (1, 2)) for name in ("a", "d", "plain")]
    assert shown == [[1, 2], (1, 2), (1, 2)] and rules.as_hinted(first, "a", 3) == 3
    for name, size, sizes in (
        ("width", 64, (64, 128, 256)), ("dims", 3, (16, 32, 64)), ("hidden", NONE, (16, 32, 64)),
        ("depth", NONE, (2, 2, 2)), ("rate", 0.5, (0.5, 0.5, 0.5)), ("width", "wide", "wide"),
        ("kind", None, None),
    ):  # fmt: skip
        assert rules.in_stages(name, size) == sizes


HANDED = """
class Base(nn.Module):
    def __init__(self, a, b, c=1, *, d=None):
        super().__init__()
class Passed(Base):
    def __init__(self, x, *args, **kwargs):
        super().__init__(*args, **kwargs)
class Given(Base):
    def __init__(self, x, b, **kwargs):
        super().__init__(x, b=b, **kwargs)
class Inner(nn.Module):
    def __init__(self, p, q, r, s=0):
        super().__init__()
class Made(nn.Module):
    def __init__(self, w, **rest):
        super().__init__()
        self.other = dict(**{})
        self.inner = Inner(w, r=2, **rest)
class Plain(Base):
    def __init__(self, x, **kwargs):
        super().__init__(1, 2)
class Own(Base):
    def __init__(self, x):
        super().__init__(1, 2)
class Self(nn.Module):
    def __init__(self, x, **kwargs):
        super().__init__()
        self.deep = Self(x, **kwargs)
class Late(Base):
    def __init__(self, x, **kwargs):
        self.inner = Inner(**kwargs)
        super().__init__(**kwargs)
"""


def test_the_arguments_that_a_class_hands_on() -> None:
    machine, scope, _ = begin_of(HANDED, "Base")
    needs = {
        name: choice.required_arguments(machine, class_of(scope, name))
        for name in ("Base", "Passed", "Given", "Made", "Plain", "Own", "Self", "Late")
    }
    assert needs == {
        "Base": ["a", "b"], "Passed": ["x", "a", "b"], "Given": ["x", "b"], "Made": ["w", "q"],
        "Plain": ["x"], "Own": ["x"], "Self": ["x"], "Late": ["x", "a", "b"],
    }  # fmt: skip


SIZES = """
width, DEPTH, label = 96, 3, "x"
class Net(nn.Module):
    def __init__(self, width, depth, label, block_kwargs, kind, odd, key, data, parts, heads,
                 mixed):
        self.c = mixed.dim + mixed.oddness
        self.a = nn.Linear(data.num_classes, data.dim) if data.bias else TABLE[key]
        if kind == "wide":
            parts.run(parts.dim)
        self.b = [x for x in heads]
"""


def test_the_size_that_an_argument_is_given() -> None:
    machine, scope, first = begin_of(SIZES)
    names = ("width", "depth", "label", "block_kwargs", "kind", "heads", "odd", "key", "data")
    for boxes, last in ((False, [NONE] * 3), (True, [8, NONE, NONE])):
        machine.box_missing_modules = boxes
        sizes = [choice.usual_size(machine, first, name, scope, {"depth": 7}) for name in names]
        assert sizes == [96, 3, NONE if not boxes else 8, {}, "wide", (4, 4, 4), *last]
    assert choice.usual_size(machine, first, "odd", scope, {"odd": 5}) == 5
    objects = ("data", "parts", "odd", "mixed")
    for boxes in (True, False):
        machine.box_missing_modules = boxes
        settings = [choice._is_settings(machine, first, name) for name in objects]
        assert settings == [True, False, False, boxes]
    kinds = (nn.Linear, nn.ReLU, nn.Sequential, nn.Module, dict, type("Plain", (), {}))
    names = [choice._layer_names(kind) for kind in kinds]
    assert names == [["in_features", "out_features"], [], [], [], [], []]


@pytest.mark.parametrize(
    ("given", "defaults", "error", "changes"),
    [
        ({}, {"side": None, "depth": None}, "it needs a side", [{"side": 8}, {"depth": 2}]),
        ({"size": 8}, {}, "size must be odd, not 8", [{"size": 7}, {"size": (8, 8, 8)}]),
        ({"n": 2, "p": 0.0, "q": 0.0}, {"a": False, "b": False, "c": True},
         "AssertionError: 0 < p and b ^ c and n % 2 == 1",
         [{"p": 0.1}, {"b": True}, {"n": (2, 2, 2)}]),
        ({}, {"side": None, "depth": None}, "no side", [{"depth": 2}]),
        ({"depth": "x"}, {"depth": None, "width": 3}, "need depth", []),
        ({}, {"depth": None}, "depth must be given", [{"depth": 2}] * 2),
        ({"depths": 2, "channels": 3, "pair": (5, 6), "none": ()}, {"dim": None}, "a tuple",
         [{"pair": 5}, {"dim": 64}, {"depths": (2,) * 4}, {"depths": (2,) * 3},
          {"channels": (16, 32, 64)}, {"channels": 64}]),
        ({"channels": 64}, {}, "not divisible", [{"channels": (64, 128, 256)}]),
        ({"channels": 63, "n": 1}, {}, "not divisible by groups",
         [{"channels": 64}, {"channels": (63, 126, 252)}, {"n": (1, 1, 1)}]),
    ],
)  # fmt: skip
def test_other_settings_begin_with_those_that_an_error_speaks_of(
    given: dict[str, Any], defaults: dict[str, Any], error: str, changes: list[dict[str, Any]]
) -> None:
    assert [*choice.other_settings(given, defaults, error)] == changes


def test_other_widths_are_equal_ones_and_those_that_an_error_speaks_of() -> None:
    given = {"in_channels": 3, "out_channels": 8, "kernel": 3, "inp": "3"}
    equal = {"in_channels": 64, "out_channels": 64}
    assert [*choice.other_widths(given, "3 is not 1, but 5")] == [equal, {"in_channels": 5}]
    assert choice.equal_widths({"c1": 3, "nout": 3}) == choice.equal_widths({"c1": 3}) == {}
    assert [*choice.other_widths({"planes": 3, "c1": 2}, "2 and 3")] == [{"c1": 3}]


def test_arguments_are_written_or_left_blank() -> None:
    machine = source_reader.new_machine()
    settings, odd = AssumedSettings("config"), object()
    settings.own = {"n": 3}
    given: dict[str, Any] = {
        **{"a": 1, "b": None, "c": {}, "d": (1, (2.0, "x")), "e": [1], "f": settings, "g": ...}
    }
    words = "a=1, b=None, c={}, d=(1, (2.0, 'x')), e=[1], f=SimpleNamespace(n=3), g=..."
    assert choice.call_of("Net", given, machine) == f"Net({words})"
    for value in (odd, (1, odd), [odd], {"a": 1}):
        assert choice.call_of("Net", {"a": 1, "b": value}, machine) == ""
        assert choice.call_of("Net", {"a": 1, "b": value}, machine, True) == f"Net(a=1, b={BLANK})"


PART = "class {}(nn.Module):\n    def forward(self, x):\n        return x\n"
FAR = "from .other import far\n"


@pytest.mark.parametrize(
    ("text", "assumed", "error", "leans"),
    [
        (FAR + PART.format("A") + PART.format("B"), False, SOURCE_ERROR, True),
        (FAR + PART.format("A"), False, SOURCE_ERROR, False),
        (FAR + PART.format("A") + "class C: pass", False, SOURCE_ERROR, False),
        (PART.format("A") + PART.format("B"), False, SOURCE_ERROR, False),
        (PART.format("A") + PART.format("B"), True, SOURCE_ERROR, False),
        (PART.format("A") + PART.format("B"), True, TextError("it", 1, 1), True),
        (PART.format("A") + PART.format("B"), False, TextError("it", 1, 1), False),
        (FAR + PART.format("A") + PART.format("B"), True, LimitExceeded("it", 1, 1), False),
    ],
)
def test_whether_an_error_may_come_from_other_files(
    text: str, assumed: bool, error: Exception, leans: bool
) -> None:
    machine, scope = source_reader.new_machine(), Scope()
    machine.run(ast.parse(text).body, scope)
    if assumed:
        machine.assumed_settings["A"] = {"n": 3}
    assert choice.leans(machine, scope, error) is leans


def test_of_modules_the_outer_ones_are_drawn_and_no_loss() -> None:
    inner, loss = nn.Linear(2, 3), nn.CrossEntropyLoss()
    outer, other = nn.Sequential(inner, nn.ReLU()), nn.ReLU()
    assert choice._outer_modules([outer, inner, loss, other]) == [outer, other]
    assert [choice.learns(one) for one in (outer, other, loss)] == [True, False, False]
    assert choice.fact_of(TextError("it stops", 1, 1)) == "it stops"
    assert choice.fact_of(TextError("it stops", 2, 1)) == "line 2: it stops"
