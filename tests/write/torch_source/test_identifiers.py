"""Identifiers of written PyTorch: any text gives one that Python accepts and that hides nothing."""

from __future__ import annotations

import ast
import builtins
from keyword import kwlist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncd.language.axes import Array
from ncd.write.torch_source.identifiers import (
    TAKEN_NAMES,
    UniqueNames,
    ascii_identifier,
    assignment_code,
    attribute,
    class_name,
    comment,
    quote,
    unique,
    variable,
)
from ncd.write.torch_source.line_breaking import WIDTH


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("", ""),
        ("é", "e"),
        ("W^{O}", "W_O"),
        ("σ_1", "sigma_1"),
        ("x̄", "x"),
        ("漢字", ""),
        ("a漢b", "a_b"),
        ("a b-c", "a_b_c"),
        ("12", "n12"),
        ("__a__", "a"),
    ],
)
def test_a_text_as_an_identifier(text: str, name: str) -> None:
    assert ascii_identifier(text) == name


@given(st.text(max_size=12))
def test_every_text_is_a_variable_that_hides_nothing(text: str) -> None:
    name = variable(text)
    assert name.isidentifier() and name.isascii() and name not in TAKEN_NAMES
    title = class_name(text)
    assert title == "" or (title.isidentifier() and title[0].isupper())


@pytest.mark.parametrize("name", [*kwlist[:5], "print", "torch", "self", "einsum", "l", "O", "I"])
def test_a_name_that_would_hide_one_has_a_line_behind_it(name: str) -> None:
    assert variable(name) == f"{name}_"
    of_notebooks = {"__IPYTHON__", "_", "display", "get_ipython"}  # which IPython adds
    of_python = {one for one in dir(builtins) if "pybind11" not in one} - of_notebooks
    assert {*kwlist, *of_python} < TAKEN_NAMES


def test_a_name_without_letters_is_x() -> None:
    assert (variable("漢"), variable("x"), variable("_")) == ("x", "x", "x")


@pytest.mark.parametrize(
    ("title", "name"),
    [("", ""), ("2d", "Net2d"), ("a b", "AB"), ("ﬁne tune", "FineTune"), ("?", ""), ("xY", "XY")],
)
def test_a_title_as_the_name_of_a_class(title: str, name: str) -> None:
    assert class_name(title) == name


@pytest.mark.parametrize(
    ("name", "taken", "found"),
    [
        ("x", (), "x"),
        ("x", ("y",), "x"),
        ("x", ("x",), "x_2"),
        ("x", ("x", "x_2"), "x_3"),
        ("x_2", ("x_2",), "x_3"),
        ("x_2", ("x_2", "x_3"), "x_4"),
        ("x7", ("x7",), "x_2"),
        ("class", (), "class_2"),
        ("_1", ("_1",), "_1_2"),
    ],
)
def test_a_taken_name_has_a_number(name: str, taken: tuple[str, ...], found: str) -> None:
    assert unique(name, taken) == found
    assert unique(name, taken, "").isidentifier()


def test_a_key_has_one_name_and_two_keys_have_two() -> None:
    names = UniqueNames({"b"})
    assert [names.name_for(("x", n), "x") for n in (1, 2, 1, 3)] == ["x", "x_2", "x", "x_3"]
    assert [names.name_for((w, 0), w) for w in ("b", "sum", "λ", "漢", "n_b")] == [
        *("n_b", "n_sum", "lamda", "x_4", "n_b_2")
    ]
    assert names.name_for(("y", 0), "x_2") == "x_2_2"
    numbered = UniqueNames({"a1"}, anonymous=True)
    assert [numbered.name_for(("x", n), "x") for n in (1, 2, 3)] == ["a0", "n_a1", "a2"]


def test_the_sides_of_a_picture_have_letters() -> None:
    names = UniqueNames()
    dims = Array.parse("c:2 x:4x5").dims
    assert [names.dim(dim) for dim in dims] == ["c", "x_h", "x_w"]
    assert [names.dim(dim) for dim in Array.parse("x:2x3x4").dims][2] == "x_d"


@pytest.mark.parametrize("name", ["W", "wte", "_a", "__a", "2", "class", "a b", "é", 'a"b', ""])
def test_an_attribute_of_any_name_is_read_and_set(name: str) -> None:
    plain = name in ("W", "wte", "_a")
    assert attribute("x", name) == (f"x.{name}" if plain else f"getattr(x, {quote(name)})")
    assert ast.literal_eval(quote(name)) == name and quote(name).isascii()
    heads = {"module": "add_module", "parameter": "register_parameter", "buffer": "register_buffer"}
    for kind, head in heads.items():
        long = (f"self.{head}({quote(name)}, ", ")")
        short = (f"self.{name} = ", "")
        assert assignment_code(name, kind) == (short if plain and kind != "buffer" else long)
    assert assignment_code("W") == ("self.W = ", "")


def test_a_comment_is_one_short_line() -> None:
    assert comment("a\nb\x00 c") == "a b c"
    assert comment("n " * 100).endswith("[...]") and len(comment("n " * 100)) <= WIDTH - 12
    assert comment("n" * (WIDTH - 12)) == "n" * (WIDTH - 12)
    assert comment("n" * (WIDTH - 11)) == "[...]"
