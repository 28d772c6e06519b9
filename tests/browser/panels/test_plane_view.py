"""The plane and the hidden space in a browser: what is drawn there is what the module computes."""

from __future__ import annotations

import math
import re
from itertools import product

import pytest
import torch
from playwright.sync_api import Locator, Page, expect

import ncd
from ncd.site.scripts import script
from ncd.systems.networks.perceptrons import ACTIVATIONS, scores
from ncd.systems.training.plane_training import flat

pytestmark = pytest.mark.browser

WAY = script("app/panels/learning/hidden_space.js")
# A point at the beginning, at the end of each stage, and where the formula puts it.
FOLLOWED = """([numbers, p, q, bend, x]) => {
  const net = weights(numbers, p, q);
  const others = [[0, 1], [1, 0], [1, 1]].map((v) => hidden(net, bend, v));
  const basis = p > 3 ? directions(net, others) : null;
  const way = stages(net, bend, basis);
  const times = Array.from({ length: way.length + 1 }, (_, t) => went(net, bend, basis, way, x, t));
  return { times, scores: sides(net, hidden(net, bend, x)), basis };
}"""


def numbers(text: str) -> list[list[float]]:
    """The rows of numbers in round brackets."""
    rows = re.findall(r"\(([^()]*)\)", text.replace("−", "-"))
    return [[float(number) for number in row.split(",")] for row in rows]


def shown(page: Page) -> Locator:
    return page.locator(".geometry")


SIZES = [(1, 2), (2, 2), (2, 3), (3, 2), (3, 4), (6, 2), (6, 3)]  # hidden units and classes


def test_the_stages_lead_to_what_the_module_computes(page: Page) -> None:
    for (p1, n), g, seed in product(SIZES, range(len(ACTIVATIONS)), range(3)):
        follow(page, p1, n, g, seed)


@torch.no_grad()
def follow(page: Page, p1: int, n: int, g: int, seed: int) -> None:
    """Turns keep lengths, stretches make them those of W₁ x, and the last stages are the layer's.

    Of many dimensions three directions are seen.
    """
    x = torch.tensor([0.7, -1.1])
    module = ncd.compile(scores(p1, g, n), seed=seed)
    w1, b1, *_ = module.parameters()
    given = [list(flat(module)), p1, n if n > 2 else 1, ACTIVATIONS[g], x.tolist()]
    found = page.evaluate(f"(given) => {{ {WAY}\n return ({FOLLOWED})(given); }}", given)
    affine, times = w1 @ x + b1, found["times"]
    basis = torch.tensor(found["basis"]) if found["basis"] else torch.eye(p1)
    bent = getattr(torch, ACTIVATIONS[g])(affine) if g else affine
    assert found["scores"] == pytest.approx(module(x).tolist(), abs=1e-4)
    assert math.hypot(*times[1]) == pytest.approx(math.hypot(*x), abs=1e-5)
    assert math.hypot(*times[2]) == pytest.approx(math.hypot(*(w1 @ x)), abs=1e-4)
    assert times[-2 if g else -1] == pytest.approx((basis @ affine).tolist(), abs=1e-4)
    assert times[-1] == pytest.approx((basis @ bent).tolist(), abs=1e-4)


def test_it_is_trained_and_every_step_can_be_looked_at(page: Page, address: str) -> None:
    page.goto(f"{address}/mlp-geometry?updates=1000")
    expect(shown(page).get_by_text("Untrained weights")).to_be_visible()
    page.get_by_role("button", name="Train", exact=True).click()
    expect(shown(page).get_by_text("Parted: all 96 points")).to_be_visible(timeout=120_000)
    plane = page.get_by_role("application", name="The plane with 96 points, 96 of them")
    expect(plane).to_be_visible()
    slider = page.get_by_role("slider", name="During training")
    slider.press("Home")
    expect(shown(page).get_by_text("Step 0 · ")).to_be_visible()
    expect(plane).not_to_be_visible()  # the first weights have some on the wrong side
    page.get_by_role("button", name="the plane").click()
    expect(page.get_by_role("slider", name="Steps of the hidden layer")).to_have_value("0")


def test_a_place_of_the_plane_is_followed_with_the_keys(page: Page, address: str) -> None:
    page.goto(f"{address}/mlp-geometry?p1=3")
    plane = page.get_by_role("application", name="The plane with 96 points")
    expect(plane).to_be_visible()
    plane.focus()
    for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
        plane.press(key)
    told = page.locator(".geometry .at")
    expect(told).to_contain_text("x = (0.10, 0.20)")
    module = ncd.compile(scores(3), seed=0)
    w1, b1, *_ = module.parameters()
    x = torch.tensor([0.1, 0.2])
    _, z, score = numbers(told.inner_text())
    assert z == pytest.approx(torch.tanh(w1 @ x + b1).tolist(), abs=0.006)
    assert score == pytest.approx(module(x).tolist(), abs=0.006)


def test_points_are_set_and_taken_away_and_stand_in_the_link(page: Page, address: str) -> None:
    page.goto(f"{address}/mlp-geometry?points=your+own")
    plane = page.locator("canvas.plane")
    train = page.get_by_role("button", name="Train", exact=True)
    expect(train).to_be_disabled()
    expect(page.get_by_role("application", name="The plane with 0 points")).to_be_visible()
    plane.click(position={"x": 100, "y": 100})
    expect(page).to_have_url(re.compile(r"placed=[0-9a-f]{4}1(&|$)"))
    page.get_by_role("button", name="class 1", exact=True).click()
    plane.click(position={"x": 250, "y": 200})
    expect(train).to_be_enabled()
    expect(page).to_have_url(re.compile(r"placed=[0-9a-f]{4}1[0-9a-f]{4}0(&|$)"))
    page.reload()
    expect(page.get_by_role("application", name="The plane with 2 points")).to_be_visible()
    plane.click(position={"x": 100, "y": 100})
    expect(page.get_by_role("application", name="The plane with 1 points")).to_be_visible()
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("application", name="The plane with 0 points")).to_be_visible()
    expect(page).not_to_have_url(re.compile("placed"))
