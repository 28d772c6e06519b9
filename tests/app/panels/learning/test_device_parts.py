"""What the Devices panel says of a layer on several devices, beside what is calculated."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.panels.learning.device_parts import PARTS_OF_DEVICES, WAY, costs_by_way
from ncd.app.state import selection
from ncd.formulas.prefixed_amounts import amount
from ncd.rewrite.device_costs import WayCosts
from tests.app.panels.views import scene, shown

RUN = re.compile(
    r"Run on 4 simulated devices: outputs differ from the whole by (\S+\s×\s10⁻[⁶⁷⁸]) of the "
    r"largest number, gradients by (\S+\s×\s10⁻[⁶⁷⁸]), and ([\d,]+) numbers were sent forward"
)


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("tensor", "its part of the heads and hidden features (h, d), and does 3.28 MFLOP. "
         "What is sent: forward, 2 all-reduces; backward, 4 all-reduces."),
        ("data", "its part of the examples (b), and does 3.28 MFLOP. What is sent: "
         "forward, nothing; backward, 16 all-reduces."),
        ("sequence", "its part of the positions (t, y, x), and does 3.28 MFLOP. What is sent: "
         "forward, 2 all-gathers; backward, 16 all-reduces, 2 all-gathers, 2 reduce-scatters."),
    ],
)  # fmt: skip
def test_each_way_says_what_is_sent_and_was_run(way: str, said: str) -> None:
    here = scene("parallelism")
    found = shown(PARTS_OF_DEVICES, here, way=way)
    costs = costs_by_way(here, 4)[way]
    assert isinstance(costs, WayCosts)
    assert f"Each of 4 devices has {said}" in found.text
    (run,) = RUN.finditer(found.text)
    assert run[3] == f"{costs.plan.numbers_sent:,}"


def test_the_table_has_what_a_device_holds_and_all_send() -> None:
    here = scene("parallelism")
    head, *rows = shown(PARTS_OF_DEVICES, here, devices=8).rows[-4:]
    assert head == ["way", "weights", "arrays", "forward", "backward"]
    for (name, *cells), (key, costs) in zip(rows, costs_by_way(here, 8).items(), strict=True):
        assert isinstance(costs, WayCosts) and name == key
        plan = costs.plan
        counts = (plan.weights_held, plan.arrays_held, plan.numbers_sent, costs.backward_numbers)
        sizes = [amount(4 * count, "B") for count in counts]
        assert cells == sizes
    assert rows[1][1] == amount(4 * ncd.cost(here.term).parameters, "B") and rows[1][3] == "0 B"


def test_each_message_stands_at_its_op() -> None:
    """Behind an op that sums over the parts, or before one that needs the whole."""
    here = scene("parallelism")
    rows = [row for row in shown(PARTS_OF_DEVICES, here).rows if row[0].startswith("Linear")]
    assert rows == [
        ["Linear out", "all-reduce", "b y m", "197 kB"],
        ["Linear linear2", "all-reduce", "b t m", "197 kB"],
    ]
    found = shown(PARTS_OF_DEVICES, here, way="sequence")
    cells = {cell.op.display_name: cell.id for cell in here.circuit.cells}
    assert ["Einsum scores", "all-gather", "b x h k", "98.3 kB"] in found.rows
    assert f'data-node="{cells["Einsum scores"]}"' in found.html
    assert "at the op" not in shown(PARTS_OF_DEVICES, here, way="data").text


def test_a_way_that_is_chosen_is_lit_in_the_diagram() -> None:
    with patch.object(st, "session_state", {}):
        WAY.put("sequence")
        assert st.session_state == {"way": "sequence", selection.AXES: "t,y,x"}
        WAY.put("none")
        assert st.session_state["way"] == "sequence"


def test_devices_that_do_not_divide_an_axis_are_told_of_in_text_and_table() -> None:
    found = shown(PARTS_OF_DEVICES, scene("parallelism", h=6), way="tensor")
    assert (
        "4 devices do not divide h = 6, so the heads and hidden features cannot be shared."
        in found.text
    )
    assert found.rows[-3] == ["tensor 4 devices do not divide h = 6", *"––––"]
    assert found.rows[-2][0] == "data" and "–" not in found.rows[-2] and "Run on" not in found.text


def test_published_sizes_are_calculated_and_not_run() -> None:
    entry = ncd.catalogue["parallelism"]
    found = shown(PARTS_OF_DEVICES, scene("parallelism", **entry.preset("megatron-8-3b").knobs))
    assert "Run on" not in found.text and found.rows[-2][1] == "453 MB"
