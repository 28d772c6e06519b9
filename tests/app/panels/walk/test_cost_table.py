"""The Cost panel: its rows, totals and notes say what is counted, what was measured, and how."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import ncd
from ncd.app.panels.walk.shapes_and_cost import (
    HEAD,
    MeasuredCost,
    _asking,
    _float32_difference,
    chart,
    cost_html,
)
from ncd.circuit.costs import COUNTING_RULES
from ncd.language.number_formats import Formats
from ncd.run.run_memory import PeakMemory
from ncd.site import markup
from tests.app.panels.views import CELL, inside, scene, tags, text

HERE = scene("multi-head-attention", h=2, k=3, m=4, y=2, x=3)
IDS = [op.node for op in HERE.cost.ops]
MEASURED = MeasuredCost(
    {id: 1.0 + n for n, id in enumerate(IDS)}, 3, PeakMemory(5000, 7000, "a ruler")
)


def table(html: str, at: int = 0) -> list[list[str]]:
    rows = inside(inside(html, "table")[at], "tr")
    return [[text(inner) for _, inner in CELL.findall(row)] for row in rows]


@pytest.mark.parametrize("found", [None, MEASURED])
def test_a_row_for_each_op_and_the_totals(found: MeasuredCost | None) -> None:
    html = cost_html(HERE, found)
    head, *rows, foot = table(html)
    assert tuple(head) == HEAD
    seconds = {id: f"{n + 1} s" if found else "–" for n, id in enumerate(IDS)}
    assert rows == [
        [
            op.label,
            f"{op.parameters:,}",
            f"{op.flops:,}",
            markup.amount(op.bytes, "B"),
            seconds[op.node],
        ]
        for op in HERE.cost.ops
    ]
    cost, count = HERE.cost, len(IDS)
    total = markup.amount(count * (count + 1) / 2, "s") if found else "–"
    amounts = f"{cost.parameters:,}", f"{cost.flops:,}", markup.amount(cost.bytes, "B")
    assert foot == ["Total", *amounts, total]
    picks = [own["data-select"] for own in tags(html, "tr") if "data-select" in own]
    assert picks == IDS
    notes = text(html.rpartition("</table>")[2])
    assert COUNTING_RULES in notes and ("It was not run" in notes) == (found is None)
    if found:
        assert "medians of 3 runs on cpu" in notes and "(a ruler)" in notes
        assert "5 kB measured forward" in notes and "7 kB measured with the backward" in notes


def test_the_formats_stand_before_the_table() -> None:
    formats = Formats(weights="int8", activations="bfloat16", cache="int8", cached=("K", "V"))
    short = replace(HERE, formats=formats)
    rows = table(cost_html(short, None))
    assert [row[:2] for row in rows[1:]] == [
        ["Weights", "int8"],
        ["Arrays that ops make", "bfloat16"],
        ["Cache of a token", "int8"],
    ]
    cost, plain = short.cost, ncd.cost(HERE.term, Formats(cached=("K", "V")))
    amounts = [
        (cost.weight_bytes, plain.weight_bytes),
        (cost.bytes, plain.bytes),
        (cost.cache_bytes, plain.cache_bytes),
    ]
    assert [row[2:] for row in rows[1:]] == [
        [markup.amount(n, "B") for n in own] for own in amounts
    ]
    assert all(now < before for now, before in amounts)
    html = cost_html(short, None)
    assert len(inside(html, "table")) == 2 and table(html, 1)[-1][0] == "Total"
    uncached = replace(HERE, formats=Formats(weights="int8"))
    assert len(table(cost_html(uncached, None))) == 3


def test_outputs_are_compared_with_those_in_float32() -> None:
    short = replace(HERE, formats=Formats(weights="int8"))
    (got,), (plain,) = short.trace.outputs, HERE.trace.outputs
    off, largest = _float32_difference(short)
    assert off == float((got - plain).abs().max()) > 0
    assert largest == float(plain.abs().max())
    assert f"{100 * off / largest:.2g} % of the largest" in cost_html(short, None)
    assert _float32_difference(HERE) == (0, largest)
    two = ncd.Linear("m:40 -> k:3", "A") @ ncd.Linear("m:4 -> d:2", "B")
    for term in (two, two >> ncd.Swap("k:3", "d:2")):
        plain_two = replace(HERE, term=term)
        short = replace(plain_two, formats=Formats(weights="int8"))
        pairs = [*zip(short.trace.outputs, plain_two.trace.outputs, strict=True)]
        gaps = [float((one - other).abs().max()) for one, other in pairs]
        sizes = [float(other.abs().max()) for _, other in pairs]
        assert _float32_difference(short) == (max(gaps), max(sizes))
        assert min(gaps) < max(gaps) and min(sizes) < max(sizes)


def test_the_chart_has_the_costliest_ops_first() -> None:
    figure = chart(HERE, MEASURED)
    ops = sorted(HERE.cost.ops, key=lambda op: -op.flops)
    flops, times = figure.data
    assert flops.x == pytest.approx([op.flops / HERE.cost.flops for op in ops])
    whole = sum(MEASURED.seconds.values())
    assert times.x == pytest.approx([MEASURED.seconds[op.node] / whole for op in ops])
    assert len(chart(HERE, None).data) == 1
    assert len(chart(HERE, replace(MEASURED, seconds=dict.fromkeys(IDS, 0.0))).data) == 1


@pytest.mark.parametrize(("dtype", "asks"), [(torch.float32, True), (torch.int64, False)])
def test_numbers_are_asked_for_gradients(dtype: torch.dtype, asks: bool) -> None:
    own = torch.zeros(2, dtype=dtype)
    assert _asking(own).requires_grad == asks and not own.requires_grad
