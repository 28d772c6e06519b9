"""One cell: what is told of a number below its map, and how it is in the link."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser

import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.figure import picked_cell as arithmetic
from ncd.app.figure.arithmetic_html import (
    MOST_SUMMANDS,
    formula_text,
    largest_summands,
    number_text,
    rule,
    sum_html,
    sum_row,
)
from ncd.app.scene.scene import Scene
from ncd.explain.cell_arithmetic import FormulaArithmetic
from ncd.language.axes import Dim
from ncd.language.torch_code import Arg, Const, Infix, Method, Position, TorchExpr, call
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.page.test_pages import attention, fine

VOID = {"img"}
X = Position(Dim("x", 0, 9), ())


class Balanced(HTMLParser):
    """Reads HTML, and knows whether every element that is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def read(html: str) -> str:
    """The text of a piece of HTML that is sound."""
    parser = Balanced()
    parser.feed(html)
    assert not parser.open
    return " ".join(" ".join(parser.text).split())


def scene(entry: Entry, **knobs: int) -> Scene:
    settings = entry.settings(knobs)
    term = entry.build(**settings)
    return Scene(entry, settings, 0, "cpu", InputSpec(), False, "names", "", term)


@pytest.mark.few(20)
@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_of_every_array_of_every_system_something_is_told(entry: Entry) -> None:
    own = scene(entry)
    for id, x in own.trace.values.items():
        at = tuple(n // 2 for n in x.shape)
        told = read(arithmetic.number_html(own, id, at))
        assert number_text(x[at].item()) in told
        assert "nan" not in told and "inf" not in told and "None" not in told


def test_a_weight_is_told_from_the_query_to_what_it_mixes() -> None:
    own = scene(ncd.catalogue["multi-head-attention"], causal=1)
    softmax = next(c for c in own.circuit.cells if c.op.role == "softmax")
    weight = own.trace.values[softmax.outputs[0].id][3, 2, 1].item()
    html = arithmetic.weight_html(own, softmax, (3, 2, 1), 3, "Weight")
    told = read(html)
    assert f"Weight: {number_text(weight)}" in told
    assert "… ÷ √16" in told and "−∞ if x > y, else …" in told and "their sum" in told
    assert "v at k = 0" in told and "weight × value" in told
    picks = re.findall(r'data-pick="one=3,(\d+)"', html)
    assert {"0", "1", "2", "3"} <= set(picks) and len(picks) <= MOST_SUMMANDS + 1


def test_what_is_left_out_is_told_together() -> None:
    numbers = torch.tensor([5.0, 0.25, -7.0, 0.5, 6.0, -0.25, 8.0, 9.0, 4.0, -4.0, 3.0, 1.0])
    shown = largest_summands(numbers)
    line = sum_row("x", numbers, shown)
    assert line.remainder is not None and line.total == pytest.approx(25.5)
    assert sum(numbers[shown].tolist()) + line.remainder == pytest.approx(line.total)
    assert {2, 6, 7} <= set(shown) and not {1, 3, 5} & set(shown)
    site = ncd.elaborate(ncd.Id("m:12") >> ncd.Reduce("m ->")).cells[0].site
    told = read(sum_html(site, (), [line], shown, columns=list(map(str, shown))))
    assert f"… 4 more sum x 5 −7 6 8 9 4 −4 3 together {number_text(line.remainder)} 25.5" in told


def test_few_numbers_are_all_shown_and_masked_ones_come_last() -> None:
    assert largest_summands(torch.zeros(9)) == [*range(9)]
    scores = torch.tensor([math.nan] * 10 + [1.0] * 8)
    assert largest_summands(scores) == [*range(10, 18)]
    assert 0 in largest_summands(scores, also=[0])


@pytest.mark.parametrize(
    ("expr", "numbers", "said", "ruled"),
    [
        (Infix("+", Arg(0), Arg(1)), (1.0, -2.0), "1 + (−2)", "… + …"),
        (call("torch.clamp", Arg(0), min=0), (-3.0,), "max(−3, 0)", "max(…, 0)"),
        (
            call("torch.clamp", Arg(0), min=-1, max=1),
            (-3.0,),
            "min(max(−3, −1), 1)",
            "min(max(…, −1), 1)",
        ),
        (call("F.hardtanh", Arg(0), -1, 1), (-3.0,), "hardtanh(−3, −1, 1)", "hardtanh(…, −1, 1)"),
        (Method(Arg(0), "clamp_min", (Const(2),)), (0.5,), "clamp_min(0.5, 2)", "clamp_min(…, 2)"),
        (Infix("/", Arg(0), call("math.sqrt", 16)), (2.0,), "2 ÷ √16", "… ÷ √16"),
        (call("torch.div", Arg(0), 3, rounding_mode="floor"), (7.0,), "⌊7 ÷ 3⌋", "⌊… ÷ 3⌋"),
        (
            call(
                "torch.where", Infix(">", Position(Dim("x", 0, 9), ()), Const(2)), -math.inf, Arg(0)
            ),
            (0.5,),
            "−∞ if x 4 > 2, else 0.5",
            "−∞ if x > 2, else …",
        ),
    ],
)
def test_a_formula_is_written_with_its_numbers(
    expr: TorchExpr, numbers: tuple[float, ...], said: str, ruled: str
) -> None:
    how = FormulaArithmetic(expr, numbers, {("x", 0): 4}, (), 0.0)
    assert (formula_text(how), rule(how)) == (said, ruled)


# --- on a page -----------------------------------------------------------------------------------


def told(app: AppTest) -> str:
    """All that the maps of a page are sent."""
    return " ".join(str(found.proto) for found in app.get("bidi_component"))


@pytest.mark.parametrize("panel, key", [("Attention", "cell"), ("Values", "number")])
def test_the_cell_is_in_the_link_and_only_then_is_it_told(panel: str, key: str) -> None:
    app = attention(panel=panel)
    fine(app)
    assert "How this number comes about" not in told(app)
    app = attention(panel=panel, **{key: "3,5"})
    fine(app)
    assert "How this number comes about" in told(app)


def test_a_cell_that_the_map_lacks_is_left_alone() -> None:
    app = attention(panel="Attention")
    for cell in ("3", "3,5,7", "-1,2", "a,b", "99999,0", "9" * 5000 + ",1", "²,³", "<b>,1"):
        app.session_state["cell"] = cell
        fine(app.run())
        assert "How this number comes about" not in told(app)


def test_a_cell_comes_back_with_the_size_that_it_needs() -> None:
    app = attention(panel="Attention", cell="10,5")
    app.slider(key="y").set_value(5).run()
    fine(app)
    assert "How this number comes about" not in told(app)
    app.slider(key="y").set_value(20).run()
    assert "How this number comes about" in told(app)
