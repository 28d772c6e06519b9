"""The sides of an equation and the steps of a proof: what is said, drawn and chosen, by numbers."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.tensors import equation_sides
from ncd.app.panels.tensors.equation_sides import (
    EQUATION_SIDES,
    EQUATION_WALK,
    ROUNDING,
    Sides,
    run_sides,
)
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.explain.equation_proof import SideComparison
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.tensors import graphical_algebra
from tests.app.panels.views import bars, inside, scene, shown, tags, text


def of(*sides: ncd.Term) -> Scene:
    term = ncd.Equation(*sides)
    entry = Entry("sides", "Sides", "Nowhere", (), lambda: term)
    return Scene(entry, {}, 0, "cpu", InputSpec(), False, "names", "", term)


def times(pattern: str, n: float) -> ncd.Map:
    return ncd.Map(pattern, f"{n} * $1")


THREE = of(*(times("a:4 c:3 -> a c", n) for n in (1, 0.5, 3)))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times are those of a clock that has stopped at 1, 2, 3, … ms."""
    monkeypatch.setattr(
        equation_sides,
        "medians",
        lambda calls, **_: {name: (n + 1) / 1000 for n, name in enumerate(calls)},
    )


def test_the_difference_is_the_largest_of_any_two_sides_and_any_array() -> None:
    x = THREE.inputs[0].abs().max().item()
    found = run_sides(THREE)
    assert (found.difference, found.largest) == pytest.approx((2.5 * x, 3 * x))
    assert found.double == pytest.approx(2.5 * x) and found.seconds == (0.001, 0.002, 0.003)
    here = of(ncd.Id("a:4, c:3"), times("a:4 -> a", 0.5) @ times("c:3 -> c", 3))
    a, c = (each.abs().max().item() for each in here.inputs)
    found = run_sides(here)
    assert found.difference == pytest.approx(max(0.5 * a, 2 * c))
    assert found.largest == pytest.approx(max(a, 3 * c))


def sides(difference: float, largest: float, double: float | None = None, count: int = 2) -> Sides:
    return Sides((THREE.circuit,) * count, (THREE.cost,) * count, (), difference, largest, double)


@pytest.mark.parametrize(
    ("difference", "largest", "agree"),
    [(2e-4, 2.0, True), (2.1e-4, 2.0, False), (1e-4, 0.0, True), (1.1e-4, 0.0, False)],
)
def test_sides_agree_up_to_rounding(difference: float, largest: float, agree: bool) -> None:
    assert sides(difference, largest).agree == agree


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            sides(0, 2),
            "✓ Both sides give the same, to the last bit, of numbers up to 2 in size.",
        ),
        (
            sides(1e-6, 2, 1e-15, count=3),
            "✓ All 3 sides give the same: they differ by at most "
            f"{markup.digits(1e-6)}, of numbers up to 2 in size, and in 64 bits by "
            f"{markup.digits(1e-15)}.",
        ),
        (
            sides(1, 2),
            "✗ Both sides do not give the same: they differ by at most 1, of numbers up to 2 in "
            "size.",
        ),
    ],
)
def test_a_verdict_says_how_far_all_sides_are_apart(found: Sides, said: str) -> None:
    assert text(equation_sides._verdict(found)).replace(ROUNDING, "") == f"{said} Another input"


@pytest.mark.parametrize(
    ("side", "at", "label"),
    [
        ("", 0, "What side 1 gives"),
        ("2", 1, "What side 2 gives"),
        ("3", 2, "What side 3 gives"),
        ("4", 0, "What side 1 gives"),  # there is no fourth
        ("difference", None, "What side 3 gives less what side 1 gives"),
    ],
)
def test_a_side_or_the_difference_is_shown_large(side: str, at: int | None, label: str) -> None:
    told = shown(EQUATION_SIDES, THREE, side=side)
    grids = [x.numpy() for x in THREE.trace.outputs]
    wanted = grids[2] - grids[0] if at is None else grids[at]
    assert told.map is not None and told.map.label == label
    np.testing.assert_allclose(told.map.pooled_maps.maps, wanted, rtol=1e-6)
    assert (told.map.ends.low, told.map.ends.high) == (
        pytest.approx(-np.abs(wanted).max()),
        pytest.approx(np.abs(wanted).max()),
    )
    buttons = [own for own in tags(told.html, "button") if own["data-pick"].startswith("side=")]
    picks = ["side=", "side=2", "side=3", "side=difference"]
    assert [own["data-pick"] for own in buttons] == picks
    pressed = [own["data-pick"] for own in buttons if own["aria-pressed"] == "true"]
    assert pressed == ["side=" if side == "4" else f"side={side}"]
    assert told.rows[0] == [*equation_sides.HEAD]
    each = markup.amount(4 * 4 * 3, "B")
    assert [row[:1] + row[2:4] for row in told.rows[1:]] == [
        [f"{n}.", each, f"{n} ms"] for n in (1, 2, 3)
    ]
    assert bars(told.html) == pytest.approx([1 / 3, 2 / 3, 1], abs=0.01)


def test_sides_that_give_a_number_have_it_in_words() -> None:
    here = scene("subtensors", a=3, b=4, i=1, j=2)
    told = shown(EQUATION_SIDES, here)
    numbers = ", ".join(markup.digits(float(x)) for x in here.trace.outputs)
    assert told.map is None and f"Each gives a number: {numbers}." in told.text
    plain = shown(EQUATION_SIDES, scene("multi-head-attention"))
    assert plain.text == "Nothing is compared here: this is no equation."


@pytest.mark.parametrize(("seed", "after"), [(0, 1), (knobs.SEED.max, 0)])
def test_another_input_has_the_next_seed(seed: int, after: int) -> None:
    sent: list[object] = []
    with (
        patch.object(knobs, "seed", lambda: seed),
        patch.object(knobs, "set_values", sent.append),
        patch.object(equation_sides, "sent_value", lambda *_: "seed=next"),
        patch.object(equation_sides.slice_picker, "pick", lambda *given: sent.append(given)),
    ):
        equation_sides._on_side_action("seed", "next")
        equation_sides._on_walk_action()
        equation_sides._on_side_action("picture", "a,c")
    assert sent == [{"seed": after}, {"seed": after}, ("picture", "a,c")]


# --- step by step ---------------------------------------------------------------------------------


@pytest.mark.parametrize("step", [1, 2, len(equation_sides.STEPS)])
def test_a_step_has_its_place_its_reason_and_its_neighbours(step: int) -> None:
    sent: dict[str, Any] = {}
    here = scene("linear-algebra", step=step, a=2, b=3, c=2, d=9)
    with (
        patch.object(equation_sides, "_walk", lambda data, **_: sent.update(data)),
        patch("streamlit.session_state", {}),
    ):
        EQUATION_WALK.show(here)
    count = len(equation_sides.STEPS)
    steps = tags(sent["steps"], "button")
    assert [own["data-pick"] for own in steps] == [f"step={n}" for n in range(1, count + 1)]
    assert [n for n, own in enumerate(steps, 1) if "aria-current" in own] == [step]
    title, why = equation_sides.STEPS[step - 1]
    assert sent["told"] == f"<h2>{step}. {title}</h2><p>{why}</p>"
    assert ("becomes" in sent["begin"]) == (step == 1)
    turns = tags(sent["turn"].replace(" disabled", ' disabled=""'), "button")
    assert [(own["data-pick"], "disabled" in own) for own in turns] == [
        (f"step={step - 1}", step == 1),
        (f"step={step + 1}", step == count),
    ]
    pair = graphical_algebra.pair(step, a=2, b=3, c=2, d=9)
    found = ncd.prove(pair, 0, double=False)
    assert sent["foot"] == equation_sides._numbers(pair, found)


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (0.0, "✓ On random numbers both give the same, to the last bit."),
        (
            1e-6,
            f"✓ On random numbers both give the same, but for {markup.digits(1e-6)} of rounding.",
        ),
        (1.0, "✗ On random numbers the two differ by 1."),
    ],
)
def test_numbers_before_and_after_a_step(difference: float, said: str) -> None:
    pair = graphical_algebra.pair(2)
    one, two = torch.arange(8.0), torch.arange(9.0)
    html = equation_sides._numbers(pair, SideComparison(difference, difference, ((one,), (two,))))
    assert text(html).startswith(f"{said} Another input")
    assert text(html).endswith("What comes out along b.")
    rows = [[text(own) for own in inside(row, "td")] for row in inside(html, "tr")]
    eight = [str(n) for n in range(8)]
    assert rows == [eight, [*eight, "… 1 more"]]


@pytest.mark.parametrize(
    ("asked", "put"), [("step=3", [{"step": 3}]), ("step=-1", []), ("else=1", []), (None, [])]
)
def test_a_click_goes_to_a_step(asked: str | None, put: list[object]) -> None:
    sent: list[object] = []
    with (
        patch.object(equation_sides, "sent_value", lambda *_: asked),
        patch.object(knobs, "set_values", sent.append),
    ):
        equation_sides._on_walk_action()
    assert sent == put
