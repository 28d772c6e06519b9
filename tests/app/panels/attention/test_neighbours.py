"""The panel of neighbours: arrows from what is read to who reads, and what adds up."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from ncd.app.panels.attention import neighbours
from ncd.app.panels.attention.neighbours import DISC, MARGIN, NEIGHBOURS, RADIUS, THICK
from ncd.site import markup
from tests.app.panels.views import bars, inside, scene, shown, tags

NUMBER = re.compile(r"-?[\d.]+")


def points(text: str) -> list[tuple[float, float]]:
    found = list(map(float, NUMBER.findall(text)))
    return list(zip(found[::2], found[1::2], strict=True))


def test_nodes_stand_on_a_circle_with_equal_gaps() -> None:
    for count in (1, 2, 5, 24):
        at, middle = neighbours.places(count), RADIUS + MARGIN
        assert at[0] == pytest.approx((middle, MARGIN))
        assert [math.dist(p, (middle, middle)) for p in at] == pytest.approx([RADIUS] * count)
        gaps = [math.dist(p, q) for p, q in zip(at, [*at[1:], at[0]], strict=True)]
        assert gaps == pytest.approx([gaps[0]] * count)
    right = neighbours.places(4)[1]
    assert right == pytest.approx((MARGIN + 2 * RADIUS, RADIUS + MARGIN))


def test_arrows_go_from_disc_to_disc_and_are_as_thick_as_what_is_taken() -> None:
    table = np.float32([[0.5, 0.9, 0], [0.05, 0.1, 0.2], [0, 0, 1]])
    svg = neighbours.picture(table, 0)
    at = neighbours.places(3)
    groups = re.findall(r'<g opacity="([\d.]+)" color="([^"]+)">(.*?)</g>', svg)
    ends = [(1, 0), (1, 2), (0, 1)]  # who reads, what is read: that of the node in focus is last
    order = [*sorted(ends[:2]), (0, 1)]
    assert len(groups) == 3
    for (opacity, colour, parts), (reader, read) in zip(groups, order, strict=True):
        focus = reader == 0
        assert (opacity, colour != "currentColor") == (("1", True) if focus else ("0.3", False))
        ((path,), (head,)) = tags(parts, "path"), tags(parts, "polygon")
        start, base = points(path["d"])
        tip, left, right = points(head["points"])
        length = math.dist(at[reader], at[read])
        assert math.dist(start, at[read]) == pytest.approx(DISC, abs=0.15)
        assert math.dist(tip, at[reader]) == pytest.approx(DISC, abs=0.15)
        assert math.dist(start, tip) == pytest.approx(length - 2 * DISC, abs=0.2)
        thick = THICK * table[reader, read] if focus else 1
        assert float(path["stroke-width"]) == pytest.approx(thick, abs=0.06)
        back = 5 + thick
        assert math.dist(tip, base) == pytest.approx(back, abs=0.2)
        for wing in (left, right):
            assert math.dist(wing, base) == pytest.approx(back / 2, abs=0.2)
            assert math.hypot(back, back / 2) == pytest.approx(math.dist(wing, tip), abs=0.2)
        assert math.dist(left, right) == pytest.approx(back, abs=0.2)
    thin = neighbours.picture(np.float32([[1, 0.1], [0, 1]]), 0)
    assert 'stroke-width="1.5"' in thin  # a line that can be seen
    discs = tags(svg, "circle")
    assert [(float(d["cx"]), float(d["cy"])) for d in discs] == [
        pytest.approx(p, abs=0.06) for p in at
    ]
    assert len({d["fill"] for d in discs[1:]}) == 1 and discs[0]["fill"] != discs[1]["fill"]
    assert [float(own["y"]) for own in tags(svg, "text")] == pytest.approx(
        [y + 4.5 for _, y in at], abs=0.06
    )
    (frame,) = tags(svg, "svg")
    assert frame["viewBox"] == "0 0 348 348" and (frame["width"], frame["height"]) == ("348",) * 2


@pytest.mark.parametrize("name", ["gcn", "gat"])
def test_what_a_node_takes_is_what_the_run_weighs(name: str) -> None:
    here = scene(name)
    every = neighbours.weights(here)
    heads, node = every.shape[2], len(every) - 1
    told = shown(NEIGHBOURS, here, node=node, graph_head=heads - 1)
    row = every[node, :, heads - 1]
    order = sorted(np.flatnonzero(row), key=lambda u: -abs(row[u]))
    names = ["itself" if u == node else f"node {u}" for u in order]
    assert [own[:2] for own in told.rows[1:]] == [
        [who, markup.digits(float(row[u]))] for who, u in zip(names, order, strict=True)
    ]
    assert bars(told.html) == pytest.approx([row[u] / row.max() for u in order], abs=0.01)
    count = len(order) - 1
    said = f"Node {node} reads {markup.plural(count, 'neighbour')} and itself."
    assert f"{said} What it takes adds up to {markup.digits(float(row.sum()))}." in told.text
    if name == "gat":
        assert row.sum() == pytest.approx(1, abs=1e-5)
    sliders = {"node": (0, node, node)}
    if heads > 1:
        sliders["graph_head"] = (0, heads - 1, heads - 1)
    assert told.sliders == sliders
    first = shown(NEIGHBOURS, here)
    most = (every[..., 0] != 0).sum(1)
    assert first.sliders["node"][1] == int(most.argmax())
    assert "The first" not in told.text
    numbers = inside(first.html, "text")
    assert numbers == [str(n) for n in range(len(every))]


def test_of_many_nodes_the_first_are_drawn() -> None:
    here = scene("gcn", **{k.name: 25 for k in scene("gcn").entry.knobs if k.name == "n"})
    told = shown(NEIGHBOURS, here)
    assert len(neighbours.weights(here)) == 25
    assert "The first 24 of 25 nodes." in told.text and told.html.count("<circle") == 24
