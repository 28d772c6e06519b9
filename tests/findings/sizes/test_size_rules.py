"""Rules of sizes: ranges, groups of axes, names of axes, and names put for others."""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from sympy import Symbol
from torch import nn

from ncd.findings.reading.finding import Edit, apply_edits
from ncd.findings.reading.traced_numbers import SourceNumber
from ncd.findings.search import plain_reading
from ncd.findings.sizes.parameter_sizes import (
    TRIES,
    Parameter,
    ParameterSizes,
    name_swaps,
    size_names,
    stored_names,
    swap_cure,
)
from ncd.findings.sizes.size_probe import (
    Probe,
    ProbeOutcome,
    Shapes,
    SizeInterval,
    range_words,
    with_shapes,
    working_range,
)
from ncd.findings.sizes.size_search import (
    PICTURE,
    InputAxis,
    InputRules,
    _function,
    _input_words,
    _moves,
    _names,
    _unpacked_names,
    groups,
    input_axes,
    resized_shapes,
)

# --- ranges ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "step", "high"),
    [
        *((1, 1, 0), (2, 1, 0), (3, 1, 0), (7, 1, 0), (1, 1, 10), (3, 1, 9), (5, 1, 6)),
        *((16, 16, 0), (32, 16, 0), (16, 16, 64), (3, 2, 0), (3, 2, 9), (1, 4, 0), (5, 4, 21)),
        *((1, 3, 0), (7, 32, 0), (12, 12, 0), (100, 100, 0), (63, 64, 0), (40, 1, 43)),
    ],
)  # fmt: skip
def test_a_rule_is_found_from_each_of_its_sizes(low: int, step: int, high: int) -> None:
    def works(n: int) -> bool:
        return n >= low and (n - low) % step == 0 and (not high or n <= high)

    for now in filter(works, (low, low + step, low + 2 * step, low + 5 * step)):
        for hints in ((), (low, high)):
            assert working_range(works, now, hints) == SizeInterval(low, step, high), (now, hints)


@pytest.mark.parametrize(
    ("works", "now", "found"),
    [
        (lambda n: n in (1, 4, 9, 16, 25, 36), 9, SizeInterval(1, square=True)),
        (lambda n: n in (4, 9, 16, 25), 4, SizeInterval(4, square=True)),
        (lambda n: n in (1, 4, 9), 1, SizeInterval(1, square=True)),
        (lambda n: n in (9, 16), 9, SizeInterval(9, 1, 9)),
        (lambda n: n in (9, 25), 9, SizeInterval(9, 16, 25)),
        (lambda n: n in (1, 3), 3, SizeInterval(3, 1, 3, allows_one=True)),
        (lambda n: n == 1, 1, SizeInterval(1, 1, 1)),
        (lambda n: n == 2, 2, SizeInterval(2, 1, 2)),
        (lambda n: n in (2, 3), 3, SizeInterval(2, 1, 3)),
        (lambda n: n < 300, 4, SizeInterval(1)),  # no larger one is tried than 64 times as many
        (lambda n: n < 300, 40, SizeInterval(1, 1, 299)),
        (lambda n: n == 1 or n > 2, 5, SizeInterval(3)),
        (lambda n: n in (2, 3, 5, 7, 11, 13), 5, None),
        (lambda n: n != 6, 5, None),  # a hole beside the present size
        (lambda n: n != 4, 5, None),
        (lambda n: n < 20 and n != 6, 5, None),
        (lambda n: n != 5 or None, 4, None),
        (lambda n: n != 3 or None, 4, None),
        (lambda n: n in (1, 2), 2, SizeInterval(2, 1, 2, allows_one=True)),
        (lambda n: n in (1, 5), 5, SizeInterval(5, 1, 5, allows_one=True)),
        (lambda n: n in (2, 5), 5, SizeInterval(2, 3, 5)),
        (lambda n: n != 1, 5, SizeInterval(2)),
        (lambda n: n == 6 or n >= 8, 9, None),
        (lambda n: n == 6 or (n >= 5 and n % 2), 9, None),  # odd from 5 on, but 6 as well
        (lambda n: None if n == 4 else n > 4, 8, None),
        (lambda n: None if n == 21 else n < 21, 10, None),
        (lambda n: None if n == 12 else n % 4 == 0, 8, None),
        (lambda n: n % 12 == 0 if n < 50 else None, 12, SizeInterval(12, 12)),
        (lambda n: n % 12 == 0 if n < 30 else None, 12, None),
    ],
)
def test_rules_of_other_kinds(works: Any, now: int, found: SizeInterval | None) -> None:
    assert working_range(works, now) == found


@pytest.mark.parametrize(
    ("works", "now", "hints", "found"),
    [
        (lambda n: n % 5 == 0 and n <= 30, 30, [10], SizeInterval(5, 5, 30)),
        (lambda n: n % 65 == 6, 6, [65], SizeInterval(6, 1, 6)),  # 65 is no step that is tried
        (lambda n: n % 63 == 6, 6, [63], SizeInterval(6, 63)),
        (lambda n: n == 1 or n % 10 == 6, 6, [10], SizeInterval(6, 10)),
        (lambda n: n == 2 or n % 10 == 7, 7, [10], None),
        (lambda n: n <= 50 or n > 60, 10, [50], SizeInterval(1, 1, 50)),
        (lambda n: n % 2 == 0 and (n <= 50 or n > 60), 10, [49], SizeInterval(2, 2, 50)),
        (lambda n: n % 2 == 0 and n != 52, 10, [50], None),
        (lambda n: n in (4, 8, 12), 8, [1, 2, 3, 16, 20], SizeInterval(4, 4, 12)),
    ],
)
def test_the_numbers_of_a_text_may_be_steps_and_ends(
    works: Any, now: int, hints: list[int], found: SizeInterval | None
) -> None:
    assert working_range(works, now, hints) == found


def test_a_single_size_that_fails_is_seen_where_the_text_names_it() -> None:
    for hole in (3, 7, 40, 96):
        assert working_range(lambda n, hole=hole: n != hole, 10, (hole, 12)) is None
        assert working_range(lambda n: n > 0, 10, (hole, 12)) == SizeInterval(1)
    assert working_range(lambda n: n % 4 == 0 and n != 32, 16, (32,)) is None
    assert working_range(lambda n: n % 4 == 0, 16, (30, 32)) == SizeInterval(4, 4)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (SizeInterval(1), ""),
        (SizeInterval(2), "must be at least 2"),
        (SizeInterval(1, 1, 1), "must be 1"),
        (
            SizeInterval(2000, 1, 2000, allows_one=True),
            "must be 2,000 (or 1, which torch broadcasts)",
        ),
        (SizeInterval(1, 1, 1000), "must be at most 1,000"),
        (SizeInterval(2, 1, 3), "must be 2 to 3"),
        (SizeInterval(2, 2), "must be divisible by 2, from 2 up"),
        (SizeInterval(32, 16, 64), "must be divisible by 16, from 32 to 64"),
        (SizeInterval(3, 2), "must be 1 more than a multiple of 2, from 3 up"),
        (SizeInterval(11, 4, 19), "must be 3 more than a multiple of 4, from 11 to 19"),
        (SizeInterval(1, square=True), "must be a square, such as 4 or 9"),
        (SizeInterval(16, square=True), "must be a square, such as 25 or 36"),
    ],
)  # fmt: skip
def test_a_rule_in_words(found: SizeInterval, words: str) -> None:
    assert range_words(found) == words
    assert found.is_free == (words == "")
    assert found.is_fixed == (found.low == found.high)


# --- axes that have to change together ------------------------------------------------------------


class Law:
    """A model that works on the shapes of which a law is true, and fails in line 7."""

    def __init__(self, inputs: Shapes, holds: Callable[[Shapes], bool | None]) -> None:
        self.inputs, self.holds, self.text = inputs, holds, ""

    def outcome(self, sizes: Shapes | None = None, edits: object = ()) -> ProbeOutcome:
        works = self.holds(sizes or self.inputs)
        return ProbeOutcome(works, 0 if works else 7, "" if works else "fc")

    def works(self, sizes: Shapes | None = None, edits: object = ()) -> bool | None:
        return self.outcome(sizes).works


def axes_of(inputs: Shapes, *names: str) -> list[InputAxis]:
    places = [(i, j, n) for i, shape in enumerate(inputs) for j, n in enumerate(shape)]
    return [InputAxis(i, j, n, name) for (i, j, n), name in zip(places, names, strict=True)]


ONE = ((4, 8),)
TWO = ((4, 8), (4, 8))
PLANE = ((2, 3, 8, 8),)
LAWS: tuple[tuple[Shapes, Any, tuple[str, ...], list[str]], ...] = (
    (ONE, lambda s: True, ("batch", "features"), ["Batch and features are free."]),
    (ONE, lambda s: s[0][1] == 8, ("batch", "features"), ["Batch is free.", "Features must be 8."]),
    (ONE, lambda s: s[0][0] == 4, ("batch", "features"),
     ["Features is free.", "Axis 0 must be 4."]),
    (ONE, lambda s: s[0][1] == 2 * s[0][0], ("batch", "features"),
     ["Axis 0 must be 4.", "Features must be 8."]),
    (ONE, lambda s: s[0][1] >= 3, ("batch", "length"),
     ["Batch is free.", "Length must be at least 3."]),
    (ONE, lambda s: None if s[0][1] != 8 else True, ("batch", "length"), ["Batch is free."]),
    (((3, 3),), lambda s: s[0][0] == s[0][1], ("rows", "columns"),
     ["Rows and columns must be equal."]),
    (((6, 6),), lambda s: s[0][0] == s[0][1] and s[0][0] % 3 == 0, ("rows", "columns"),
     ["Rows and columns must be equal, and must be divisible by 3, from 3 up."]),
    (TWO, lambda s: s[0] == s[1], ("batch", "a", "batch", "b"),
     ["Batch is free.", "A and b must be equal."]),
    (TWO, lambda s: s[0][0] == s[1][0], ("batch", "a", "batch", "b"), ["Batch, a and b are free."]),
    (TWO, lambda s: s[0][0] == s[1][0] and s[0][1] == s[1][1] == 8, ("batch", "a", "batch", "b"),
     ["Batch is free.", "A and b must be 8."]),
    (((4, 4), (4, 4)), lambda s: s[0][1] == s[1][0], ("y", "k", "k'", "x"),
     ["Y and x are free.", "K and k' must be equal."]),
    (((4, 4), (4, 4)), lambda s: len({*s[0], *s[1]}) == 1, ("y", "k", "k'", "x"),
     ["Y, k, k' and x must be equal."]),
    (PLANE, lambda s: s[0][2] % 4 == s[0][3] % 4 == 0 and s[0][1] == 3, PICTURE,
     ["Batch is free.", "Channels must be 3.",
      "Height and width must be divisible by 4, from 4 up: 12 × 16 works."]),
    (PLANE, lambda s: s[0][2] % 4 == s[0][3] % 4 == 0 and max(s[0]) <= 15, PICTURE,
     ["Axis 0 and channels must be at most 15.",
      "Height and width must be divisible by 4, from 4 to 12."]),
)  # fmt: skip


@pytest.mark.parametrize(("inputs", "holds", "names", "says"), LAWS)
def test_the_sentences_about_a_law(
    inputs: Shapes, holds: Any, names: tuple[str, ...], says: list[str]
) -> None:
    probe: Any = Law(inputs, holds)
    found = [*groups(probe, axes_of(inputs, *names), [])]
    rules = InputRules(probe, ast.parse(""), None).findings(found)
    assert [each.says for each in rules] == says
    for each in rules:
        whole = each.says.endswith(("free.", "equal."))  # no size of all of them fails
        assert (each.line, each.layer) == ((0, "") if whole else (7, "fc"))


@pytest.mark.parametrize(
    ("size", "others", "moves"),
    [(8, {9}, True), (8, {7}, True), (8, {16}, True), (8, {6, 10, 24}, False), (2, {1}, False),
     (3, {2}, True)],
)  # fmt: skip
def test_an_axis_moves_where_a_near_size_works(size: int, others: set[int], moves: bool) -> None:
    probe: Any = Law(((size,),), lambda shapes: shapes[0][0] in others)
    assert _moves(probe, (InputAxis(0, 0, size, "x"),)) == moves


def test_axes_of_inputs_are_set() -> None:
    a, b, c, d = axes_of(TWO, "a", "b", "c", "d")
    assert resized_shapes(TWO, (a,), 9) == ((9, 8), (4, 8))
    assert resized_shapes(TWO, (b, c), 9) == ((4, 9), (9, 8))
    assert resized_shapes(TWO, (d,), 9) == ((4, 8), (4, 9))
    assert [a.is_batch, InputAxis(0, 0, 4, "batch").is_batch] == [False, True]
    assert not InputAxis(0, 1, 4, "batch").is_batch
    assert InputAxis(0, 0, 4, "batch", " of `x`").name == "batch of `x`"
    given = {"x": torch.zeros(2, 3, dtype=torch.long), "n": 3}
    changed = with_shapes(given, ((4, 5),))
    assert (changed["x"].shape, changed["x"].dtype, changed["n"]) == ((4, 5), torch.long, 3)


# --- names of axes --------------------------------------------------------------------------------


class Net(nn.Module):
    """A model whose input has names in the source below."""

    def forward(self, x: Any, mask: Any = None) -> Any:
        return x


SOURCE = """
class Other:
    def forward(self, x):
        a, b = x.shape
class Net:
    def __init__(self):
        p, q = x.shape
    def forward(self, x, mask):
        b, _, d = x.shape
        (n, m) = mask.size()
        t = x.shape
        h, w = x.stride
        x = x.flatten(1)
        u, v = x.shape
"""


def test_names_of_axes_where_shapes_are_unpacked() -> None:
    names = _unpacked_names(Net(), ast.parse(SOURCE))
    assert names == {("x", 3): ("`b`", "", "`d`"), ("mask", 2): ("`n`", "`m`")}
    assert _unpacked_names(Net(), ast.parse("")) == {}
    assert _input_words(Net(), 1, ["mask"]) == ["x", "mask"]
    assert _input_words(Net(), 0, ["x"]) == ["x"]


def named(args: tuple[Any, ...], words: dict[str, Any], source: str) -> list[str]:
    shapes = tuple(tuple(x.shape) for x in (*args, *words.values()) if isinstance(x, torch.Tensor))
    probe: Any = SimpleNamespace(model=Net(), args=args, named=words, inputs=shapes)
    layer = SimpleNamespace(arrays=[*args, *words.values()])
    run: Any = SimpleNamespace(layers=[layer], calls=[])
    return [axis.name for axis in input_axes(probe, run, ast.parse(source))]


def test_names_of_axes_say_of_which_input_they_are() -> None:
    x, y = torch.zeros(2, 3, 4), torch.zeros(5, 6)
    assert named((x,), {}, SOURCE) == ["`b`", "axis 1", "`d`"]
    assert named((x,), {"mask": y}, SOURCE) == [
        *("`b` of `x`", "axis 1 of `x`", "`d` of `x`", "`n` of `mask`", "`m` of `mask`")
    ]
    assert named((y, 3), {}, "") == ["axis 0 of input 1", "axis 1 of input 1"]


A, B, C = torch.zeros(2, 3, 4, 5), torch.zeros(2, 3, 4, 5), torch.zeros(2, 3)


def call(name: str, takes: Any, gives: Any, words: dict[int, Any] | None = None) -> Any:
    return SimpleNamespace(name=name, takes=[takes], gives=[gives], words=words or {})


@pytest.mark.parametrize(
    ("calls", "names"),
    [
        ([call("conv2d", A, B)], PICTURE),
        ([call("max_pool2d", A, B)], PICTURE),
        ([call("conv1d", A, B)], ()),
        ([call("relu", A, B), call("conv2d", B, C)], PICTURE),
        ([call("sum", A, C), call("conv2d", B, C)], ()),  # another array
        ([call("conv2d", B, C)], ()),
        ([call("rearrange", A, C, {1: "b c  (h p) (w q) -> b h w c"})], PICTURE),
        ([call("rearrange", A, C, {1: "b h w c -> b c h w"}), call("conv2d", A, C)], PICTURE),
        ([], ()),
    ],
)
def test_the_usual_names_are_those_of_the_first_call(calls: Any, names: tuple[str, ...]) -> None:
    run: Any = SimpleNamespace(layers=[SimpleNamespace(arrays=[A])], calls=calls)
    assert _names(Net(), run, 0, 4) == names
    assert _names(nn.LSTM(3, 4), run, 0, 4) == ()  # which of its axes is the batch is not sure
    assert _names(nn.LSTM(3, 4, batch_first=True), run, 0, 4) == names


# --- names put for others -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "call", "swapped"),
    [
        ("a = h * h\nb = w", 1, 0, ["a = h * w\nb = w", "a = w * h\nb = w"]),
        ("a = h\nb = h\nc = w", 2, 0, ["a = h\nb = w\nc = w", "a = w\nb = h\nc = w"]),
        ("a = h\nb = h\nc = w", 0, 1, ["a = w\nb = h\nc = w", "a = h\nb = w\nc = w"]),
        ("a = h\nc = w", 1, 0, []),  # the last use of a name
        ("s.h = h\nf(h=h)\na = h\nb = h", 3, 0,
         ["s.h = h\nf(h=h)\na = w\nb = h", "s.h = h\nf(h=h)\na = h\nb = w"]),
        ("a = s.h + s.h", 1, 0, ["a = s.h + s.w", "a = s.w + s.h"]),
        ("h = 3\nh = 4", 1, 0, []),  # they are stored
    ],
)  # fmt: skip
def test_names_that_may_be_meant_nearest_first(
    text: str, line: int, call: int, swapped: list[str]
) -> None:
    edits = name_swaps(text, ast.parse(text), ProbeOutcome(False, line, call=call), ("h", "w"))
    assert [apply_edits(text, (edit,)) for edit in edits] == swapped


def test_names_of_sizes_and_of_attributes() -> None:
    tree = ast.parse("a, b = x.shape\nc = x.sum()\n_, d = y.size()\nself.e = 3\nn = self.f")
    assert size_names(tree) == ["a", "b", "d"]
    assert stored_names(tree) == ["e"]
    inner = ast.parse("def f():\n  def g():\n    return 1\n  return 2\nx = 3")
    names = [getattr(_function(inner, line), "name", "") for line in range(1, 6)]
    assert names == ["f", "g", "g", "f", ""]


class Tried:
    """A probe that notes what is tried; what ``works`` is given by the new text of the edit."""

    text = "a = h"

    def __init__(self, works: Callable[[str, bool], bool]) -> None:
        self.tries: list[tuple[str, bool]] = []
        self.fine = works

    def works(self, shapes: object, edits: tuple[Any, ...]) -> bool:
        return self.outcome(shapes, edits).works is True

    def outcome(self, shapes: object, edits: tuple[Any, ...]) -> ProbeOutcome:
        self.tries.append((edits[-1].new, shapes is None))
        return ProbeOutcome(self.fine(*self.tries[-1]), results=((1,),))


def test_a_name_cures_where_it_works_with_old_and_new_numbers() -> None:
    edits = [
        *name_swaps("a = h * h", ast.parse("a = h * h"), ProbeOutcome(False, 1), ("h", *"uvwxyz"))
    ]
    probe: Any = Tried(lambda new, old: new == "w" or (new == "u" and not old))
    (cure,) = swap_cure(probe, [edits[0], edits[2]], (((2,),), ()))
    assert (cure.edits, cure.changes, cure.shapes) == ((edits[2],), "model", ((1,),))
    assert probe.tries == [("u", False), ("u", True), ("w", False), ("w", True)]
    nothing: Any = Tried(lambda new, old: False)
    assert swap_cure(nothing, edits * 2, ((), ())) == () and len(nothing.tries) == TRIES


# --- parameters -----------------------------------------------------------------------------------


class Numbers:
    """Parameters for which a law is true, each tied to itself alone."""

    def __init__(self, holds: Callable[..., bool], **values: int) -> None:
        self.holds, self.values = holds, values
        rows = enumerate(values.items(), 1)
        self.parameters = [Parameter(Symbol(k), k, SourceNumber(i, 0, 0, n)) for i, (k, n) in rows]

    def tied_symbols(self, symbol: Symbol) -> tuple[Symbol, ...]:
        return (symbol,)

    def change(self, values: dict[Symbol, int]) -> tuple[dict[str, int]]:
        return ({**self.values, **{str(symbol): n for symbol, n in values.items()}},)

    def works(self, values: dict[str, int]) -> bool:
        return all(values.values()) and self.holds(**values)


@pytest.mark.parametrize(
    ("holds", "values", "says"),
    [
        (lambda d, k: True, {"d": 8, "k": 3}, ["`d` and `k` are free."]),
        (lambda d, k: d != 64, {"d": 8, "k": 3}, ["`k` is free."]),
        (lambda d, k: d != 16, {"d": 8, "k": 3}, ["`k` is free."]),
        (lambda d, k: d > 1, {"d": 8, "k": 3}, ["`k` is free."]),
        (lambda d, k: d % k == 0, {"d": 12, "k": 4}, ["`d` must be divisible by `k` (4)."]),
        (lambda d, k: d % 4 == 0, {"d": 12, "k": 3},
         ["`d` must be divisible by 4.", "`k` is free."]),
        (lambda d, k: d % 4 == 0, {"d": 12, "k": 4},
         ["`d` must be divisible by 4.", "`k` is free."]),
        (lambda d, k: d % 4 == 0 and d < 20, {"d": 12, "k": 3}, ["`k` is free."]),
        (lambda d, k: d % 4 == 0 or d == 1, {"d": 12, "k": 3}, ["`k` is free."]),
        (lambda d, k: d % 4 == 0 or d == 3, {"d": 12, "k": 3}, ["`k` is free."]),
        (lambda d, k: d in (12, 16, 20, 17), {"d": 12, "k": 3}, ["`k` is free."]),
        (lambda d, k: d == 12, {"d": 12, "k": 3}, ["`k` is free."]),
    ],
)  # fmt: skip
def test_parameters_that_are_free_or_divided(
    holds: Any, values: dict[str, int], says: list[str]
) -> None:
    numbers: Any = Numbers(holds, **values)
    found = [*ParameterSizes(numbers, numbers).findings()]
    assert [each.says for each in found] == says
    assert [each.line for each in found] == [int("free" not in each) for each in says]
    bound = [*ParameterSizes(numbers, numbers, [Symbol("k")]).findings()]
    assert not any("`k`" in each.says and "free" in each.says for each in bound)


def test_the_first_ten_parameters_are_tried() -> None:
    numbers: Any = Numbers(lambda **values: True, **dict.fromkeys("abcdefghijk", 8))
    (found,) = ParameterSizes(numbers, numbers).findings()
    assert found.says == f"{', '.join(f'`{x}`' for x in 'abcdefghi')} and `j` are free."


def test_a_probe_says_where_a_source_fails() -> None:
    text = """class N(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, 3)
    def forward(self, x):
        return self.fc(x)
N()(torch.randn(2, 8))"""
    probe = Probe(text, plain_reading(text, float("inf")), float("inf"))
    assert probe.outcome() == ProbeOutcome(True, results=((2, 3),))
    assert probe.outcome(((5, 8),)) == ProbeOutcome(True, results=((5, 3),))
    assert probe.outcome(((5, 7),)) == ProbeOutcome(False, 4, "fc", 6)
    assert probe.works(((2**62, 2**62),)) is None


@pytest.mark.parametrize(
    ("edits", "outcome"),
    [
        ((), ProbeOutcome(True, results=((2, 3),))),
        ((Edit(7, 31, 32, "4"),), ProbeOutcome(True, results=((2, 4),))),
        ((Edit(5, 25, 26, "7"),), ProbeOutcome(False, 7, "fc", 9)),
        ((Edit(7, 31, 32, "-3"),), ProbeOutcome(False, 7)),  # it stops before there is a model
        ((Edit(2, 20, 21, "9"),), ProbeOutcome(None)),  # what is left out may be of importance
        ((Edit(2, 20, 21, "9"), Edit(5, 25, 26, "7")), ProbeOutcome(None)),
    ],
)
def test_a_probe_runs_a_source_with_edits_but_not_of_lines_that_are_left_out(
    edits: tuple[Edit, ...], outcome: ProbeOutcome
) -> None:
    text = """import torch
seen = torch.arange(8).register_hook(print)
class N(nn.Module):

    def __init__(self, d=8):
        super().__init__()
        self.fc = nn.Linear(d, 3)
    def forward(self, x):
        return self.fc(x)
N()(torch.randn(2, 8))"""
    probe = Probe(text, plain_reading(text, float("inf")), float("inf"))
    found = probe.outcome(edits=edits)
    assert (found.works, found.results) == (outcome.works, outcome.results)
    if outcome.works is False:
        assert found.line == outcome.line and found.layer == outcome.layer
