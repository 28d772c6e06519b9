"""The paths of the optimisers on a surface, as they are drawn and listed."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
import torch

from ncd.app.panels.learning import optimiser_paths
from ncd.app.panels.learning.optimiser_paths import (
    COLOURS,
    LENGTH,
    PATHS,
    RATES,
    SIDE,
    SURFACES,
    path,
)
from ncd.app.state import knobs
from ncd.formulas.prefixed_amounts import digits
from ncd.systems.networks.optimiser_steps import KINDS, STATES
from tests.app.panels.views import Shown, images, inside, scene, shown, tags

START = (-1.8, 1.0)  # of the panel, and its rate
RATE = 0.1


def paths(kind: int = 0, **chosen: object) -> Shown:
    return shown(PATHS, scene("optimisers", kind=kind), **chosen)


@pytest.mark.parametrize("name", SURFACES)
def test_a_slope_is_the_gradient_of_the_height(name: str) -> None:
    for at in ((-1.8, 1.0), (0.5, -0.25), (0.0, 2.0)):
        x, y = (torch.tensor(n, dtype=torch.float64, requires_grad=True) for n in at)
        SURFACES[name].height(x, y).backward()  # type: ignore[arg-type, attr-defined]
        found = SURFACES[name].slope(*at)
        assert found == pytest.approx((float(x.grad), float(y.grad)))  # type: ignore[arg-type]


def test_a_path_has_a_point_for_each_step_and_ends_where_it_leaves_the_surface() -> None:
    """On the bowl a step of 0.1 takes a tenth away; on the bend a large one explodes."""
    found = path(0, "bowl", (1.0, -2.0), 0.1)
    assert len(found) == LENGTH + 1
    wanted = [(0.9**n, -2 * 0.9**n) for n in range(LENGTH + 1)]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    lost = path(0, "bend", (-1.8, 1.0), 0.3)
    assert 1 <= len(lost) <= LENGTH and all(abs(x) + abs(y) < 100 for x, y in lost)


def test_a_path_that_comes_to_a_hundred_has_left() -> None:
    """Steps of 2 on the bowl turn a point over; from 50 and 50 on it is not drawn."""
    assert len(path(0, "bowl", (49.5, 49.5), 2.0)) == LENGTH + 1
    assert path(0, "bowl", (50.0, 50.0), 2.0) == ((50.0, 50.0),)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_the_chosen_path_is_thick_on_top_and_has_a_dot_at_each_step(kind: int) -> None:
    html = paths(kind).html
    lines = tags(html, "polyline")
    order = [n for n in range(len(KINDS)) if n != kind] + [kind]
    assert [line["stroke"] for line in lines] == [COLOURS[n] for n in order]
    assert [line["stroke-width"] for line in lines] == ["1.4"] * (len(KINDS) - 1) + ["3"]
    dots = [dot["fill"] for dot in tags(html, "circle")]
    points = len(path(kind, "valley", START, RATE))
    assert [dots.count(COLOURS[n]) for n in order] == [1] * (len(KINDS) - 1) + [points]


def test_the_start_is_ringed_where_the_sliders_put_it() -> None:
    """Of 340 pixels from -2 to 2, with up above: -1.8 is at 17, and 1 at a quarter from above."""
    for chosen, place in (
        ({}, ("17.0", "85.0")),
        ({"start_x": 0, "start_y": 0}, ("170.0", "170.0")),
        ({"start_x": 20, "start_y": -20}, ("340.0", "340.0")),
    ):
        html = paths(**chosen).html
        (ring,) = [dot for dot in tags(html, "circle") if dot["fill"] == "none"]
        assert (ring["cx"], ring["cy"]) == place
        first = [line["points"].split()[0] for line in tags(html, "polyline")]
        assert set(first) == {",".join(place)}


@pytest.mark.parametrize(
    ("point", "place"),
    [((0, 0), (170.0, 170.0)), ((-2, 2), (0.0, 0.0)), ((6, -6), (680.0, 680.0)),
     ((7, -99), (680.0, 680.0)), ((-7, 7), (-340.0, -340.0))],
)  # fmt: skip
def test_what_is_far_outside_is_drawn_three_times_as_far_at_most(
    point: tuple[float, float], place: tuple[float, float]
) -> None:
    assert optimiser_paths._place(point) == place


def test_the_table_says_where_each_path_ends_and_what_it_keeps() -> None:
    found = paths(1, surface="bowl")
    names, *rows = found.rows
    assert names == ["", f"loss after {LENGTH} steps", "bytes of state", "for 7 billion"]
    for kind, row in enumerate(rows):
        x, y = path(kind, "bowl", START, RATE)[-1]
        assert row[0] == f"● {KINDS[kind]}"
        assert row[1] == digits((x * x + y * y) / 2)
        assert row[2:] == [str(4 * len(STATES[kind])), f"{28 * len(STATES[kind])} GB"]
    pressed = [button["aria-pressed"] for button in tags(found.html, "button")]
    assert [own for own in pressed if own][-len(KINDS) :] == [
        str(kind == 1).lower() for kind in range(len(KINDS))
    ]


def test_a_path_that_left_the_surface_has_diverged() -> None:
    found = paths(surface="bend", pace=len(RATES) - 1)
    ends = [len(path(kind, "bend", START, RATES[-1])) for kind in range(len(KINDS))]
    assert [row[1] == "diverged" for row in found.rows[1:]] == [n <= LENGTH for n in ends]
    assert min(ends) <= LENGTH < max(ends)  # some do, some do not


def test_a_press_on_a_name_chooses_its_steps_and_nothing_else_does() -> None:
    pick = shown(PATHS, scene("optimisers")).pick
    with patch.object(knobs, "set_values") as put:
        for picked in ("kind=3", "kind=-1", "kind=x", "kinds=1", "kind"):
            pick(picked)
    put.assert_called_once_with({"kind": 3})


@pytest.mark.parametrize("name", SURFACES)
def test_the_ground_is_dark_where_the_surface_is_low(name: str) -> None:
    html = paths(surface=name).html
    (ground,) = [image for image in images(html) if image.shape[0] == image.shape[1]][:1]
    shade = ground.reshape(*ground.shape[:2], -1).astype(float).sum(-1)
    side = len(shade)
    places = [(n + 0.5) * 4 / side - 2 for n in range(side)]
    heights = np.array([[SURFACES[name].height(x, -y) for x in places] for y in places])
    low, high = heights.argmin(), heights.argmax()
    assert shade.flat[low] == shade.min() and shade.flat[high] == shade.max()
    assert f"on the {name}" in html and f'width="{SIDE}"' in html
    assert math.isfinite(heights.max()) and len(inside(html, "svg")) == 1


def test_each_kind_is_torchs_optimiser() -> None:
    own = [
        optimiser_paths.new_optimiser(n, torch.nn.Parameter(torch.ones(2, 2)), 0.5)
        for n in range(5)
    ]
    kinds = [type(each).__name__ for each in own]
    assert kinds == ["SGD", "SGD", "Adam", "AdamW", "Muon"]
    assert [each.defaults["momentum"] for each in own[:2]] == [0, 0.9]
    assert {each.defaults["lr"] for each in own} == {0.5}
