"""The pages of section 2.4: their sides agree, the walk is right, the code has the colours."""

from itertools import pairwise
from math import dist
from random import Random

import pytest
import torch

import ncd
from ncd.app.figure import code_listing
from ncd.app.figure.morph import IN, OUT, morph, strands
from ncd.app.panels.tensors import equation_sides
from ncd.app.scene.scene import Scene
from ncd.drawing import equation
from ncd.drawing.elements.style import role_colour
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.tensors import graphical_algebra
from tests.app.page.test_pages import fine, page

PAGES = ("einsum-attention", "linear-algebra")
STEPS = range(1, len(equation_sides.STEPS) + 1)


def some(entry: Entry, seed: int) -> dict[str, int]:
    """Settings that the sliders can show."""
    random = Random(seed)
    return {knob.name: random.randint(knob.min, knob.max) for knob in entry.knobs}


def scene(name: str, seed: int = 0, **settings: int) -> Scene:
    entry = ncd.catalogue[name]
    every = entry.settings(settings)
    return Scene(entry, every, seed, "cpu", InputSpec(), False, "names", "", entry.build(**every))


@pytest.mark.few(6)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", PAGES)
def test_all_sides_of_an_equation_are_equal(name: str, seed: int) -> None:
    settings = some(ncd.catalogue[name], seed)
    query = {knob: str(value) for knob, value in settings.items()}
    app = page(name, panel="Sides", seed=str(seed), **query)
    fine(app)
    assert {knob: app.slider(key=knob).value for knob in settings} == settings
    found = equation_sides.run_sides(scene(name, seed, **settings))
    assert found.agree and found.largest > 0
    assert found.double is not None and found.double <= 1e-12 * found.largest
    assert len(found.seconds) == len(found.circuits)


def test_sides_that_differ_are_told_apart() -> None:
    """What the panel says follows the numbers: half of them is not the same."""
    half = ncd.Equation(ncd.Id("a:4"), ncd.Id("a:4") >> ncd.Map("a -> a", "$1 / 2"))
    entry = Entry("half", "Half", "Nowhere", (), lambda: half)
    found = equation_sides.run_sides(
        Scene(entry, {}, 0, "cpu", InputSpec(), False, "names", "", half)
    )
    (x,) = ncd.example_inputs(half, 0)
    assert found.difference == pytest.approx(float(x.abs().max()) / 2)
    assert not found.agree


@pytest.mark.parametrize("step", STEPS)
def test_every_step_of_the_walk_is_true(step: int) -> None:
    random = Random(step)
    for seed in range(10):
        sizes = {name: random.randint(1, 32) for name in "abcd"}
        proof = ncd.prove(graphical_algebra.pair(step, **sizes), seed)
        assert proof, (sizes, proof.difference)
        assert all(bool(side[0].any()) for side in proof.sides)
    fine(page("linear-algebra", step=str(step)))


def test_the_walk_has_as_many_steps_as_its_knob() -> None:
    knob = next(k for k in ncd.catalogue["linear-algebra"].knobs if k.name == "step")
    assert (knob.min, knob.max, knob.most) == (
        1,
        len(equation_sides.STEPS),
        len(equation_sides.STEPS),
    )


def test_the_sides_of_a_step_stand_beside_each_other_in_the_figure() -> None:
    for step in (3, 4, 5, 6):
        whole, pair = ncd.catalogue["linear-algebra"].build(step=step), graphical_algebra.pair(step)
        assert isinstance(whole, ncd.Equation)
        assert pair.sides in list(pairwise(whole.sides))


# --- the wires that move --------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_every_wire_of_one_side_is_a_wire_of_the_other(step: int) -> None:
    one, two = (strands(ncd.draw(side)) for side in graphical_algebra.pair(step).sides)
    assert {strand.key for strand in one} == {strand.key for strand in two}
    moving = morph(*map(ncd.draw, graphical_algebra.pair(step).sides))
    assert len(moving["strands"]) == len(one)


def test_a_bent_wire_is_one_strand_that_becomes_straight() -> None:
    (strand,) = strands(ncd.draw(graphical_algebra.pair(2).sides[0]))
    assert (strand.start, strand.stop) == (IN, OUT)
    assert all(dist(a, b) < 40 for a, b in pairwise(strand.points))
    moving = morph(*map(ncd.draw, graphical_algebra.pair(2).sides))
    ((bent, straight),) = (strand["ways"] for strand in moving["strands"])
    assert len(bent) == len(straight)
    assert any(b[0] < a[0] for a, b in pairwise(bent))  # it comes back
    assert len({y for _, y in straight}) == 1
    assert all(a[0] <= b[0] for a, b in pairwise(straight))


# --- the code -------------------------------------------------------------------------------------


def test_code_and_diagram_have_the_same_colours_on_the_same_ops() -> None:
    shown = scene("einsum-attention")
    html = code_listing.html(shown)
    roles = {fence.id: fence.role for fence in shown.circuit.fences}
    parts = equation.sides(shown.circuit)
    coloured = [cell for part in parts for cell in part.cells if cell.fences]
    assert [roles[c.fences[-1]] for c in coloured] == [
        "transpose", "diagonal", "einsum", "scale", "einsum", "scale"
    ]  # fmt: skip
    lines = [line for line in html.split("<div ") if 'class="line"' in line]
    for line, cell in zip(lines, coloured, strict=True):
        assert cell.id in line.split('data-node="')[1].split('"')[0].split()
        assert f"background:{role_colour(roles[cell.fences[-1]])}" in line


def test_the_code_of_both_sides_is_what_runs() -> None:
    """The lines that the panel shows, with einops, on the inputs of the page."""
    term = ncd.catalogue["einsum-attention"].build()
    q, k = ncd.example_inputs(term, 3)
    names: dict[str, object] = {}
    exec(ncd.source(term, name="Scores"), names)
    given = names["Scores"]().forward(q, k)  # type: ignore[operator]
    for mine, its in zip(given, ncd.trace(ncd.compile(term), q, k).outputs, strict=True):
        torch.testing.assert_close(mine, its)
