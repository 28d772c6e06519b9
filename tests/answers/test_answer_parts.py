"""The parts of an answer: names of axes, joined files, memory, tracebacks."""

from __future__ import annotations

import pytest

from ncd.answers.answer import Answer
from ncd.answers.answer_sentences import LETTERS, dimension_names, result_sentence
from ncd.answers.error_messages import (
    CHANNELS,
    CODE,
    LONGEST,
    _picture,
    _product,
    _width_mismatch_cause,
    _with_commas,
    explain,
)
from ncd.answers.model_memory import MAX_COUNT, ModelMemory, _largest
from ncd.answers.opened_files import join_files, of_text
from ncd.errors import ParseError
from ncd.findings.reading.finding import Cure, Edit, Finding
from ncd.language.axes import Array, Type


@pytest.mark.parametrize(
    ("array", "shape", "names", "words"),
    [
        ("b:2 m:4", (2, 4), ("b", "m"), ("batch", "features")),
        ("b:2 h:3 k:4", (2, 12), ("b", "h·k"), ("batch", "heads·features")),
        ("b:2 m:4", (2, 1, 4), ("b", "1", "m"), ("batch", "1", "features")),
        ("b:1 m:4", (1, 4), ("b", "m"), ("batch", "features")),
        ("b:2 m:1", (2, 1), ("b", "1"), ("batch", "1")),
        ("b:2 c:3 h:4 w:5", (2, 3, 4, 5), ("b", "c", "h", "w"),
         ("batch", "channels", "height", "width")),
        ("b:2 d:3 x:4x5", (2, 3, 4, 5), ("b", "d", "height", "width"),
         ("batch", "channels", "height", "width")),
        ("b:2 x:4x5x6", (2, 4, 5, 6), ("b", "depth", "height", "width"),
         ("batch", "depth", "height", "width")),
        ("b:2 d:3", (2, 3, 1, 1), ("b", "d", "1", "1"), ("batch", "channels", "1", "1")),
        ("b:2 d:3", (2, 3, 1), ("b", "d", "1"), ("batch", "features", "1")),
        ("b:2 h:3 t:4 k:5", (2, 3, 4, 5), ("b", "h", "t", "k"),
         ("batch", "heads", "tokens", "features")),
        ("b:2 m_2:4", (2, 4), (), ("batch", "features")),
        ("b:2 m:4", (2, 5), (), ()),
        ("b:2 m:4", (2,), (), ()),
        ("b:2 m:4", (4, 2), (), ()),
        ("b:2 m:4 k:1", (2, 4), (), ()),
    ],
)  # fmt: skip
def test_dimensions_of_a_shape_have_the_names_of_its_axes(array, shape, names, words) -> None:
    own = Array.parse(array)
    assert dimension_names(own, shape) == names
    assert dimension_names(own, shape, LETTERS) == words


def test_six_results_are_listed_and_the_others_counted() -> None:
    for count, said in (
        (0, "out: "),
        (1, "out: 2 (a)"),
        (2, "out: 2 (a) and 2 (a)"),
        (3, "out: 2 (a), 2 (a) and 2 (a)"),
        (6, f"out: {', '.join(['2 (a)'] * 5)} and 2 (a)"),
        (7, f"out: {', '.join(['2 (a)'] * 6)} and 1 more"),
    ):
        arrays = Type.parse(", ".join(["a:2"] * count)) if count else Type()
        assert result_sentence(arrays, [(2,)] * count) == said
    assert result_sentence(Type.parse("a:2"), [(2,), ()]) == "out: 2 and one number"


# --- several files --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("from parts import Block", "pass"),
        ("from parts import Block as B", "B = Block"),
        ("from .parts import Block as B, Net as N", "B = Block; N = Net"),
        ("from a.parts import Block as Block", "pass"),
        ("from parts.a import Block", "from parts.a import Block"),
        ("from . import parts", "from . import parts"),
        ("import parts", "import parts"),
        ("from torch import nn", "from torch import nn"),
        ("from parts import (\n  Block as B,\n  Net)", "B = Block\n\n"),
        ("from parts import (", "from parts import ("),
    ],
)
def test_imports_from_files_at_hand_become_names(line: str, new: str) -> None:
    assert join_files(f"{line}\nx = 1", [("parts.py", "class Block: 0")]) == (
        f"class Block: 0\n{new}\nx = 1"
    )
    assert join_files(line, []) == line


@pytest.mark.parametrize("files", ["parts.py", b"x", 3, [3], [("a", "b", "c")], [("a", 3)]])
def test_what_are_no_files_is_refused(files) -> None:
    with pytest.raises(ParseError):
        join_files("x", files)


def test_findings_are_told_by_the_lines_of_the_text_itself() -> None:
    text, whole = "a = 3\nb = 4", "class A: 0\nclass B: 0\na = 3\nb = 4"
    own, other = Cure((Edit(4, 4, 5, "9"),), "", "model"), Cure((Edit(2, 0, 1, "9"),), "", "model")
    both = Cure((Edit(2, 0, 1, "9"), Edit(4, 4, 5, "9")), "", "model")
    found = (
        Finding("failure", 4, "fc", "It stops.", (own, other, both)),
        Finding("silent", 2, "", "It is odd.", (other,)),
    )
    answer = Answer("source", None, (), "line 4: It stops.", findings=found)
    first, second = of_text(answer, whole, text).findings
    assert (first.line, second.line, second.cures) == (2, 0, ())
    assert first.cures == (Cure((Edit(2, 4, 5, "9"),), "a = 3\nb = 9", "model"),)
    assert of_text(answer, whole, text).sentence == "line 2, fc: It stops."
    assert of_text(answer, text, text) is answer


# --- memory ---------------------------------------------------------------------------------------


def test_the_memory_of_a_model_is_weights_cache_and_the_largest_op() -> None:
    small = ModelMemory({"bfloat16": 100, "int4": 25}, {0: 4, 8: 2}, 3)
    assert [small.cache(n) for n in (1, 8, 10)] == [12, 96, 2 * (4 * 10 + 2 * 8)]
    assert small.cache(10, texts=3) == 3 * small.cache(10)
    assert small.cache(10, format="float32") == 2 * small.cache(10)
    assert small.activations(10, 2) == 3 * 10 * 2 * 2
    assert small.total(10) == 100 + 112 + 60
    assert small.total(10, weights="int4") == 25 + 112 + 60
    assert small.total(10, 2, beside="float32") == 100 + 2 * 2 * (112 + 60)
    assert (small.longest(small.total(10)), small.longest(small.total(10) - 1)) == (10, 9)
    assert (small.longest(117), small.longest(118)) == (0, 1)
    assert small.most_texts(100 + 3 * (12 + 6), 1) == 3


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 1000, MAX_COUNT - 1, MAX_COUNT])
def test_the_largest_number_that_fits(limit: int) -> None:
    assert _largest(lambda n: n <= limit) == limit
    assert _largest(lambda n: True) == MAX_COUNT


# --- messages of torch ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (9216, "256·6·6"),
        (400, "16·5·5"),
        (512 * 4, "512·2·2"),
        (512, "128·2·2"),  # one place is no picture
        (16 * 63 * 63, "16·63·63"),
        (16 * 64 * 64, "256·16·16"),
        (17 * 25, ""),
        (10, ""),
    ],
)
def test_a_number_of_features_as_channels_times_a_square(n: int, said: str) -> None:
    assert _picture(n, CHANNELS) == said


@pytest.mark.parametrize(
    ("width", "takes", "parts"),
    [
        (53824, 50176, " (53,824 = 64·29·29, 50,176 = 64·28·28)"),  # not 256·14·14
        (400, 2048, " (400 = 16·5·5, 2,048 = 512·2·2)"),  # no channels are in both
        (400, 10, " (400 = 16·5·5)"),
        (7, 10, ""),
    ],
)
def test_two_pictures_have_the_same_channels_where_they_may(width, takes, parts) -> None:
    said = _width_mismatch_cause(width, takes)
    assert said == f"what stands before it has other sizes than was thought{parts}"


@pytest.mark.parametrize(
    ("a", "b", "c", "d", "said"),
    [
        (64, 9216, 400, 120, "either it becomes nn.Linear(9216, 120), or what stands before it"),
        (160, 5, 400, 120, "400 = 80 × 5, so a flatten(1) before it is probably missing"),
        (7, 3, 7, 2, "the array has 7 as its first size, so it is probably transposed"),
        (3, 8, 16, 2, "either it becomes nn.Linear(8, 2)"),  # 24 numbers are no rows of 16
        (4, 8, 16, 2, "16 = 2 × 8, so a flatten(1)"),
        (64, 16, 8, 2, "either it becomes nn.Linear(16, 2)"),
        (64, 0, 8, 2, "either it becomes nn.Linear(0, 2)"),
        (64, 16, 0, 2, "either it becomes nn.Linear(16, 2)"),
    ],
)
def test_a_product_that_does_not_meet(a: int, b: int, c: int, d: int, said: str) -> None:
    for text in (
        f"mat1 and mat2 shapes cannot be multiplied ({a}x{b} and {c}x{d})",
        f"a and b must have same reduction dim, but got [{a}, {b}] X [{c}, {d}]",
        f"size mismatch, m1: [{a} x {b}], m2: [{c} x {d}]",
    ):
        words = " ".join(_product(text) or ())
        assert said in words
        assert words.startswith(
            f"The layer takes {c:,} numbers and gives {d:,}, but each of its {a:,} rows holds "
            f"{b:,}. Look for nn.Linear({c}, {d}): "
        )
    assert _width_mismatch_cause(7, 9).endswith("than was thought")
    assert _width_mismatch_cause(9216, 7).endswith("(9,216 = 256·6·6)")


ERROR = "RuntimeError: mat1 and mat2 shapes cannot be multiplied (64x9 and 4x2)"
CALL = 'File "{}", line {}, in f\n    {}\n'


@pytest.mark.parametrize(
    ("before", "place"),
    [
        ("", ""),
        (CALL.format("a.py", 7, "x = f(x)"), " It stops at line 7: x = f(x)."),
        (CALL.format("a.py", 7, "x = f(x)") + CALL.format("/site-packages/t.py", 9, "return"),
         " It stops at line 7: x = f(x)."),
        (CALL.format("a.py", 7, "x = f(x)") + CALL.format("b.py", 9, "y = g(x)"),
         " It stops at line 9: y = g(x)."),
        (CALL.format("/usr/lib/python3/t.py", 9, "return"), ""),
        ("----> 3 y = net(x)\n", " It stops at line 3: y = net(x)."),
        ("----> 3 y = net(x)\n--> 12 z = y @ w\n", " It stops at line 12: z = y @ w."),
        (CALL.format("a.py", 7, "x" * 61), f" It stops at line 7: {'x' * 60}…."),
        (CALL.format("a.py", 7, "x" * 60), f" It stops at line 7: {'x' * 60}."),
    ],
)  # fmt: skip
def test_the_last_line_of_ones_own_is_named(before: str, place: str) -> None:
    words = explain(f"Traceback (most recent call last):\n{before}{ERROR}")
    assert words is not None
    assert (" It stops" in words) == bool(place) and place in words


def test_a_long_text_is_looked_through_at_its_begin_and_its_end() -> None:
    for before, known in ((0, True), (LONGEST - 30, False), (LONGEST + 9, True)):
        text = f"{'x' * before} {ERROR} ".ljust(2 * LONGEST + 1, "x")
        assert (explain(text) is not None) == known
        assert explain(text[: 2 * LONGEST]) is not None


def test_a_long_part_of_a_message_is_cut() -> None:
    for value, said in (
        ("x" * CODE, "x" * CODE), ("x" * (CODE + 1), f"{'x' * CODE}…"),
        ("[64, 1024]", "[64, 1,024]"), ("999", "999"),
    ):  # fmt: skip
        assert _with_commas(value) == said
