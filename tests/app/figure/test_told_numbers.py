"""How one number came about: the rows, links, windows and formulas that are shown of it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch

import ncd
from ncd.app.figure import arithmetic_html, picked_cell
from ncd.app.figure.arithmetic_html import (
    MOST_CHANNELS,
    TableRow,
    _behind,
    _channel,
    _norm_html,
    _reduction_html,
    dimension,
    in_brackets,
    largest_summands,
    number_text,
    places,
    products,
    sum_html,
    sum_row,
    window_html,
)
from ncd.app.parts import heatmap
from ncd.explain.attention_row import row
from ncd.explain.cell_arithmetic import (
    FormulaArithmetic,
    IndexSpan,
    NormArithmetic,
    NumberOrigin,
    Numbers,
    Products,
    ReductionArithmetic,
)
from ncd.explain.cell_arithmetic import number_origin as how_made
from ncd.explain.colour_scale import PooledMaps
from ncd.language.axes import Dim
from ncd.language.torch_code import Arg, Cast, Const, Filled, Infix, Prefix, Size, TorchExpr, call
from tests.app.panels.views import inside, scene, tags, text

LINEAR = ncd.elaborate(ncd.Id("y:2 m:3") >> ncd.Linear("m -> k:2", "Q")).cells[0]
K, Y = Dim("k", 0, 3), Dim("y", 0, 4)
SPANS = (IndexSpan(K, 3),)


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def numbers(*own: float) -> torch.Tensor:
    return torch.tensor(own, dtype=torch.float64)


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (-0.0, "0"),
        (-0.5, "−0.5"),
        (1234.6, "1235"),
    ],
)
def test_a_number_has_three_digits(number: float, told: str) -> None:
    found = number_text(number)
    assert found == told
    assert in_brackets(number) == (f"({found})" if found[0] == "−" else found)


def test_the_largest_terms_are_shown_and_one_more_if_it_is_the_last() -> None:
    assert largest_summands(torch.arange(9.0), most=8) == list(range(9))
    assert largest_summands(torch.arange(10.0), most=8) == list(range(2, 10))
    assert largest_summands(torch.arange(10.0), also=[0], most=8) == [0, *range(2, 10)]
    assert 3 not in largest_summands(torch.tensor([1.0, 1, 1, math.nan, 1, 1]), most=3)


def test_a_row_that_adds_up_tells_the_rest_and_the_total() -> None:
    few = sum_row("head", numbers(1, 2, 4), [1])
    assert (few.remainder, few.total) == (5, 7)
    every = sum_row("head", numbers(1, 2, 4), [0, 1, 2], total=9.0, strong=True)
    assert (every.remainder, every.total, every.strong) == (None, 9, True)


def test_a_table_has_a_column_for_each_shown_term_the_rest_and_the_total() -> None:
    line = replace(sum_row("a", numbers(1, 2, 4), [0, 2]), links={2: "pick"}, strong=True)
    other = TableRow("b", numbers(5, 6, 7))
    html = sum_html(LINEAR.site, SPANS, [line, other], [0, 2], here=2, end="all")
    heads, first, second = inside(html, "tr")
    assert inside(heads, "th") == [
        '<i class="axis" data-axis="k">k</i>',
        "0",
        "2",
        "… 1 more",
        "all",
    ]
    assert heads.count('class="here"') == first.count('class="here"') == 1
    assert 'data-pick="pick">4<' in first and "data-pick" not in second
    assert "together 2" in text(first) and first.count('class="total">7<') == 1
    assert 'class="rest"></td>' in second and 'class="total"></td>' in second
    assert html.count('class="strong"') == 1
    plain = sum_html(LINEAR.site, SPANS, [TableRow("b", numbers(5, 6))], [0, 1], columns=("x", "y"))
    assert "more" not in plain and "total" not in plain and ">x</th>" in plain
    assert 'class="here"' not in plain


def test_places_are_those_of_the_spans() -> None:
    assert places((IndexSpan(Y, 2), IndexSpan(K, 3)), [0, 4]) == ["0, 0", "1, 1"]
    assert places((), [0]) == ["here"]
    sides = [dimension({}, Dim("x", n, 3)) for n in range(4)]
    assert sides == ["x", "x height", "x width", "x 3"]


# --- kinds ----------------------------------------------------------------------------------------

ATTENTION = scene("multi-head-attention")
LAYER = next(cell for cell in ATTENTION.circuit.cells if cell.layer is not None)


def test_factors_have_names_and_links_and_one_factor_is_no_product() -> None:
    id, place = LAYER.outputs[0].id, tuple(0 for _ in LAYER.outputs[0].array.shape)
    html = picked_cell.number_html(ATTENTION, id, place)
    links = [own["data-pick"] for own in tags(html, "button") if "data-pick" in own]
    behind = [link for link in links if link.startswith("behind=")]
    given = LAYER.inputs[0]
    assert behind and all(link.startswith(f"behind={given.id}.") for link in behind)
    for link in behind:
        at = tuple(map(int, link.split(".")[1:]))
        assert all(n < size for n, size in zip(at, given.array.shape, strict=True))
    factors = (Numbers(0, numbers(1, 2, 3)), Numbers("weight", numbers(2, 2, 2)))
    two = Products(SPANS, factors, 0.5)
    html = products(ATTENTION, LAYER, two)
    assert "sum + bias 0.5" in html and f"weight {LAYER.name}" in text(html)
    assert text(inside(html, "tr")[-1]).startswith("product")
    one = products(ATTENTION, LAYER, replace(two, factors=two.factors[1:], bias=None))
    assert "product" not in one and "bias" not in one and len(inside(one, "tr")) == 2


def test_a_place_beyond_an_edge_has_no_link() -> None:
    dims = LAYER.site.inputs[0].dims
    at = {dim.key: 0 for dim in dims}
    assert _behind(LAYER, 0, at).startswith("behind=")
    for wrong in (-1, dims[-1].size):
        assert _behind(LAYER, 0, {**at, dims[-1].key: wrong}) == ""
    last = {**at, dims[-1].key: dims[-1].size - 1}
    assert _behind(LAYER, 0, last).endswith(f".{dims[-1].size - 1}")
    assert _behind(LAYER, 0, {}) == ""


@pytest.mark.parametrize(
    ("how", "value", "end", "here", "rest"),
    [
        ("max", 9, "the largest", 1, False),
        ("min", -5, "the least", 0, False),
        ("mean", 2, "mean", None, True),
        ("sum", 20, "sum", None, True),
        ("product", -11520, "product", None, False),
    ],
)
def test_a_maximum_or_a_mean_is_of_its_numbers(
    how: str, value: float, end: str, here: int | None, rest: bool
) -> None:
    own = numbers(-5, 9, *[2] * 8)
    chosen = ReductionArithmetic((IndexSpan(Dim("k", 0, 10), 10),), own, how)
    html = _reduction_html(LAYER, chosen)
    assert f">{end}</th>" in html and f'class="total">{number_text(value)}<' in html
    assert html.count('class="here"') == (0 if here is None else 2)
    assert ("together" in html) == rest


@pytest.mark.parametrize(
    ("more", "steps", "known"),
    [
        ({}, "(3 − 1) ÷ √(4 + 0.5) = 0.943", "mean μ = 1, variance σ² = 4, of these 3."),
        ({"mean": -1.0}, "(3 − (−1)) ÷ √(4 + 0.5)", "mean μ = −1"),
        ({"mean": None}, "(3) ÷ √(4 + 0.5) = 1.41", "mean square σ² = 4, of these 3."),
        ({"weight": 2.0}, "= 0.943, then 0.943 × γ 2 = 1.89", "of these"),
        ({"weight": 2.0, "bias": -3.0}, "0.943 × γ 2 + β (−3) = −1.11", "of these"),
        ({"uses_running_statistics": True}, "(3 − 1)", "kept from training"),
    ],
)
def test_a_norm_is_told_step_by_step(more: dict[str, Any], steps: str, known: str) -> None:
    usual = {
        "numbers": numbers(-1, 3, 1),
        "spans": SPANS,
        "focus_index": 1,
        "mean": 1.0,
        "variance": 4.0,
    }
    found = NormArithmetic(**{**usual, "eps": 0.5, "weight": None, "bias": None, **more})
    html = _norm_html(LAYER, found)
    assert steps in text(html) and known in text(html)
    assert html.count('class="here"') == 2


# --- formulas -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expr", "told", "rule"),
    [
        (Infix("+", Arg(0), Filled(())), "−0.5", "…"),
        (Infix("+", Filled(()), Arg(0)), "−0.5", "…"),
        (Infix("*", Filled(()), Arg(0)), "0 × (−0.5)", "0 × …"),
        (Infix("*", Arg(0), Filled(())), "−0.5 × 0", "… × 0"),
        (Size(()), "1", "1"),
        (Size((ncd.Axis("k", 16), ncd.Axis("h", 4))), "16 × 4", "16 × 4"),
        (Infix("+", Arg(1), Arg(0)), "2 + (−0.5)", "… + …"),
        (Infix("<", Arg(1), Arg(0)), "2 < −0.5", "… < …"),
        (Infix("*", Infix("+", Arg(0), Arg(1)), Const(2)), "(−0.5 + 2) × 2", "(… + …) × 2"),
        (Prefix("-", Arg(1)), "−2", "−…"),
        (Prefix("~", Arg(1)), "not 2", "not …"),
        (Cast(Arg(1), "real"), "2", "…"),
        (call("torch.where", Arg(0), Arg(1), Const(3)), "2 if −0.5, else 3", "… if …, else 3"),
        (call("torch.div", Arg(1), Const(3)), "⌊2 ÷ 3⌋", "⌊… ÷ 3⌋"),
        (call("torch.sqrt", Arg(1)), "√2", "√…"),
        (call("torch.clamp", Arg(1), min=0), "max(2, 0)", "max(…, 0)"),
        (call("torch.clamp", Arg(1), max=9), "min(2, 9)", "min(…, 9)"),
        (call("torch.maximum", Arg(1), Arg(0)), "max(2, −0.5)", "max(…, …)"),
    ],
)
def test_a_formula_is_written_in_usual_notation(expr: TorchExpr, told: str, rule: str) -> None:
    how = FormulaArithmetic(expr, (-0.5, 2.0), {}, (), 1.0)
    assert arithmetic_html.formula_text(how) == told
    assert arithmetic_html.rule(how) == rule


# --- rows of attention ----------------------------------------------------------------------------


def test_a_row_of_attention_has_a_line_for_each_step_and_what_is_mixed() -> None:
    softmax = next(cell for cell in ATTENTION.circuit.cells if cell.op.role == "softmax")
    place = tuple(1 for _ in softmax.outputs[0].array.shape)
    found = row(ATTENTION.module, ATTENTION.trace.values, softmax, place, 2)
    html = arithmetic_html.attention_row_html(ATTENTION, found, "7,")
    assert "each score beside all others, and what the weights mix" in html
    assert inside(html, "h3")[0] == f"{arithmetic_html.op_html(found.steps[0].cell)}, term by term"
    heads = [text(head) for head in inside(html, "th") if "scope" not in head]
    assert [head for head in heads if head in ("scores", "… ÷ √16")] == ["scores", "… ÷ √16"]
    picks = [own["data-pick"] for own in tags(html, "button")]
    assert f"one=7,{found.share.focus_index}" in picks
    plain = arithmetic_html.attention_row_html(ATTENTION, found, "")
    assert "one=" not in plain
    alone = arithmetic_html.attention_row_html(
        ATTENTION, replace(found, mixed_values=(), score=None), ""
    )
    assert "mix" not in text(alone).partition("others")[2][:30] and "term by term" not in alone
    weights = found.share.powers / found.share.powers.sum()
    strong = [text(one) for one in inside(html, "tr") if "their sum" in text(one)]
    assert number_text(float(weights[found.share.focus_index])) in strong[0]
    assert html.count("weight × value") == len(found.mixed_values)
    for mixed in found.mixed_values:
        at = ", ".join(map(str, mixed.place))
        assert not mixed.place or f"= {mixed.place[-1]}" in text(html), at
    words = replace(ATTENTION, inputs_spec=SimpleNamespace(axis_words=lambda axis: ("one", "two")))  # type: ignore[arg-type]
    named = arithmetic_html._keys(words, found, [0, 1, 5], "")
    assert named == ["0 one", "1 two", "5"]


# --- windows --------------------------------------------------------------------------------------


def test_the_window_stands_where_it_looks() -> None:
    window = (IndexSpan(Dim("x", 1, 10), 3, 2, 1), IndexSpan(Dim("x", 2, 20), 2, 4, 3))
    html = _channel(np.ones((10, 20), np.float32), window, torch.ones(3, 2))
    style = "top:20.00%;height:30.00%;left:20.00%;width:20.00%"
    assert style in html and "aspect-ratio:20/10" in html


def test_a_convolution_shows_its_largest_channels() -> None:
    own = scene("residual-block", n1=8)
    conv = next(cell for cell in own.circuit.cells if cell.op.display_name.startswith("Conv"))
    shape = conv.outputs[0].array.shape
    html = picked_cell.number_html(own, conv.outputs[0].id, tuple(size // 2 for size in shape))
    assert html.count("<figure>") <= MOST_CHANNELS + 1
    assert html.count('alt="the weights"') == html.count("<figure>") > 0


@pytest.mark.parametrize(("least", "signed"), [(-1.0, True), (0.0, False), (1.0, False)])
def test_a_picture_has_colours_for_signs_where_a_number_is_below_zero(
    least: float, signed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[tuple[bool, str]] = []

    def picture(numbers: heatmap.CellGrid, ends: heatmap.ColourRange, stops: str) -> str:
        drawn.append((ends.low < 0, stops))
        return ""

    monkeypatch.setattr(heatmap, "data_url", picture)
    window = (IndexSpan(Dim("x", 0, 3), 2), IndexSpan(Dim("x", 1, 3), 2))
    numbers = np.full((3, 3), 2, np.float32)
    numbers[0, 0] = least
    _channel(numbers, window, torch.ones(2, 2))
    assert drawn == [(signed, heatmap.scale(signed))] * 2


@pytest.mark.parametrize(
    ("channels", "figures", "more"),
    [(1, 1, ""), (4, 4, ""), (5, 3, "… and 2 channels more"), (9, 3, "… and 6 channels more")],
)
def test_a_convolution_shows_three_channels_and_one_more_if_it_is_the_last(
    channels: int, figures: int, more: str
) -> None:
    term = ncd.Id(f"c:{channels} x:5x5") >> ncd.Conv("c x -> d:2 y", "K", 3)
    module = ncd.compile(term)
    values = ncd.trace(module, *ncd.example_inputs(term)).values
    (conv,) = module.circuit.cells
    found = how_made(module, values, conv.outputs[0].id, (0, 1, 1))
    assert isinstance(found.arithmetic, Products)
    html = window_html(values, conv, found.index, found.arithmetic)
    assert (html.count("<figure>"), more in text(html)) == (figures, True)
    assert ("more" in html) == bool(more)


@pytest.mark.parametrize(
    ("term", "pictures"),
    [
        (ncd.Id("c:2 x:7") >> ncd.Conv("c x -> d:2 y", "K", 3), 0),  # no picture to slide over
        (ncd.Id("x:6x6") >> ncd.MaxPool("x -> y", 2), 2),  # the whole, and the window; no weights
    ],
)
def test_a_window_is_shown_over_a_picture_alone(term: ncd.Term, pictures: int) -> None:
    module = ncd.compile(term)
    values = ncd.trace(module, *ncd.example_inputs(term)).values
    (out,) = module.circuit.outputs
    found = how_made(module, values, out.id, (1,) * len(out.array.shape))
    assert isinstance(found.arithmetic, Products | ReductionArithmetic)
    html = window_html(values, module.circuit.cells[0], found.index, found.arithmetic)
    assert html.count("<img") == pictures and text(html) == ""


# --- cells ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "found"),
    [("", None), ("2,3", (2, 3)), ("3,3", None), ("2,4", None), ("0,0", (0, 0))],
)
def test_a_cell_is_one_of_the_map(
    value: str, found: tuple[int, int] | None, session: dict[str, Any]
) -> None:
    session["cell"] = value
    assert picked_cell.selected_cell(picked_cell.CELL, 3, 4) == found
    picked_cell.pick(picked_cell.CELL, "1,1")
    assert session["cell"] == "1,1"
    picked_cell.pick(picked_cell.CELL, "1,1")
    assert session["cell"] == ""


@pytest.mark.parametrize(
    ("value", "goes"),
    [("{id}.1.2", True), ("{id}.1", False), ("{id}.1.x", False), ("v999.1.2", False)],
)
def test_a_link_goes_to_a_number_of_an_array(
    value: str, goes: bool, session: dict[str, Any]
) -> None:
    circuit = ncd.elaborate(ncd.Id("y:4 m:5") >> ncd.Softmax("m"))
    picked_cell.go_to(circuit, value.format(id=circuit.outputs[0].id))
    assert session.get("select", "") == (circuit.outputs[0].id if goes else "")
    assert session.get("number", "") == ("1,2" if goes else "")


def test_a_cell_is_framed_and_its_row_too() -> None:
    assert picked_cell.marks(None, (1, 1), True) == ()
    (one,) = picked_cell.marks((5, 7), (2, 3), False)
    assert (one.kind, one.row, one.column) == ("looks", 2, 2)
    across, inner = picked_cell.marks((5, 7), (2, 3), True)
    assert (across.kind, across.row, across.column, inner) == ("row", 2, None, one)


@pytest.mark.parametrize(
    ("size", "block", "one", "told"),
    [
        ((4, 4), (1, 1), (1, 1), ""),
        (
            (4, 6),
            (2, 3),
            (1, 4),
            "6 numbers: rows 0 to 1, columns 3 to 5. This is row 1, column 4.",
        ),
        ((5, 4), (2, 1), (4, 1), "1 number: row 4, column 1. This is row 4, column 1."),
    ],
)
def test_a_pooled_cell_says_what_it_stands_for(
    size: tuple[int, int], block: tuple[int, int], one: tuple[int, int], told: str
) -> None:
    found = picked_cell.pooled_note(PooledMaps(np.zeros((1, 1), np.float32), size, block), one)
    assert found == (f"The cell of the map stands for {told}" if told else "")


def test_ops_that_hand_a_number_on_are_named() -> None:
    made = NumberOrigin(LAYER.outputs[0].id, (0,), 1.0, LAYER)
    assert picked_cell._through(made) == ""
    assert text(picked_cell._through(replace(made, passed_cells=(LAYER,)))).endswith(
        "only hands it on."
    )
    two = (LAYER, ATTENTION.circuit.cells[-1])
    said = text(picked_cell._through(replace(made, passed_cells=two)))
    assert said.endswith("only hand it on.") and said.startswith(two[1].op.display_name)
    assert "It is given" in picked_cell._origin_html(ATTENTION, replace(made, cell=None))
    assert LAYER.op.display_name in text(picked_cell._origin_html(ATTENTION, made))
    assert "covers" in picked_cell._arithmetic_section("t", "h", "covers")
    assert '<p class="muted">' not in picked_cell._arithmetic_section("t", "h", "")
