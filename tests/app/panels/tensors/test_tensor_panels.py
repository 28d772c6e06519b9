"""The pages of section 2.3: what their panels run, and that an index stays in its axis."""

import re
from dataclasses import replace
from random import Random

import pytest
import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.panels.tensors import cells, three_ways
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.tensors.equation_sides import check_pairs
from ncd.app.scene.scene import Scene
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.page.test_pages import fine, page

EQUATIONS = ("subtensors", "broadcasting", "inner-broadcasting", "elementwise")
PANELS = {
    "tensors": ("Two styles", "Cells"),
    "indexes": ("Cells",),
    "subtensors": ("Cells", "Every pair", "Sides"),
    "broadcasting": ("Three ways", "Sides", "Cells"),
    "inner-broadcasting": ("Three ways", "Sides", "Cells"),
    "elementwise": ("Three ways", "Sides", "Cells"),
}


def some(entry: Entry, seed: int) -> dict[str, int]:
    """Sizes that a slider can show, and indexes of them."""
    random = Random(seed)
    drawn = {knob.name: random.randint(knob.min, knob.max) for knob in entry.knobs}
    return entry.with_clamped_indexes(drawn)


def scene(name: str, seed: int = 0, **settings: int) -> Scene:
    entry = ncd.catalogue[name]
    every = entry.settings(settings)
    term = entry.build(**every)
    return Scene(entry, every, seed, "cpu", InputSpec(), False, "names", "", term)


def index(app: AppTest) -> int:
    return int(app.slider(key="i").value)


@pytest.mark.few(12)
@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", EQUATIONS)
def test_all_sides_of_an_equation_are_equal(name: str, seed: int) -> None:
    sizes = some(ncd.catalogue[name], seed)
    query = {knob: str(value) for knob, value in sizes.items()}
    app = page(name, panel="Sides", seed=str(seed), **query)
    fine(app)
    assert {knob: app.slider(key=knob).value for knob in sizes} == sizes
    term = ncd.catalogue[name].build(**sizes)
    assert isinstance(term, ncd.Equation)
    assert ncd.prove(term, seed)


@pytest.mark.parametrize(("name", "panel"), [(n, panel) for n in PANELS for panel in PANELS[n]])
def test_every_panel_at_the_least_sizes_and_at_large_ones(name: str, panel: str) -> None:
    entry = ncd.catalogue[name]
    for size in (1, 30):
        sizes = {k.name: str(k.legal(size)) for k in entry.knobs if not k.below}
        fine(page(name, panel=panel, **sizes))


def test_an_index_stays_within_its_axis() -> None:
    app = page("broadcasting", c="5", i="4")
    assert index(app) == 4
    app.slider(key="c").set_value(3).run()
    fine(app)
    assert index(app) == 2
    assert app.slider(key="i").max == 2


def test_a_link_to_no_place_of_the_axis_opens_at_the_last() -> None:
    app = page("indexes", a="3", i="99")
    fine(app)
    assert index(app) == 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", list(three_ways.LIFTS))
def test_all_ways_give_what_the_diagram_gives(name: str, seed: int) -> None:
    sizes = some(ncd.catalogue[name], seed)
    found = three_ways.measure_ways(scene(name, seed, **sizes), three_ways.LIFTS[name])
    assert set(found.differences) == {three_ways.LOOP, three_ways.VMAP, three_ways.OWN}
    assert all(apart is not None and apart < 1e-6 for apart in found.differences.values())
    assert all(time for times in found.seconds.values() for time in times.values())


def test_a_figure_continues_below_where_the_column_is_narrow() -> None:
    own = scene("tensors")
    drawn = {
        wide: terms_in_a_row(
            (own.term, own.term), "=", replace(own, column_width=wide), {"": "Both.", "f": "It."}
        )
        for wide in (340, 860)
    }
    roomy, tight = drawn[860].split('<div class="tight">')
    assert tight == f"{drawn[340]}</div>"  # for a panel that is narrower than the column
    (narrow, tall), (wide, low) = (
        map(float, found)
        for html in (drawn[340], roomy)
        for found in re.findall(r'viewBox="\S+ \S+ (\S+) (\S+)"', html)
    )
    assert narrow <= 340 < wide <= 860
    assert tall > 1.5 * low
    assert drawn[340].startswith("<p>Both.</p><p>It.</p>")
    assert "<p>" not in roomy and {"Both.", "It."} <= {*re.findall(r"\w+\.", roomy)}


def test_nobody_waits_for_a_loop_over_many_rows() -> None:
    found = three_ways.measure_ways(
        scene("broadcasting", c=three_ways.LONGEST + 1), three_ways.LIFTS["broadcasting"]
    )
    assert found.differences[three_ways.LOOP] is None
    assert found.differences[three_ways.VMAP] is not None


@pytest.mark.parametrize("sizes", [{"a": 7, "b": 3}, {"a": 3, "b": 7}, {"a": 40_000, "b": 2}])
@pytest.mark.parametrize("name", ["broadcasting", "inner-broadcasting"])
def test_what_is_made_beside_the_diagram_is_bounded(name: str, sizes: dict[str, int]) -> None:
    """No matrix with a row and a column for each number of a long input."""
    found = three_ways.measure_ways(scene(name, **sizes), three_ways.LIFTS[name])
    assert all(apart is not None and apart < 1e-4 for apart in found.differences.values())


def test_many_rows_are_tried_only_where_they_fit() -> None:
    for b, rows in ((50, {4, three_ways.MANY_ROWS}), (50_000, {4})):
        found = three_ways.measure_ways(
            scene("broadcasting", b=b), three_ways.LIFTS["broadcasting"]
        )
        assert set(found.seconds) == rows


def test_every_pair_of_indexes_is_tried() -> None:
    found = check_pairs(scene("subtensors", a=3, b=4, i=0, j=0))
    assert found == {(i, j): True for i in range(3) for j in range(4)}


def test_the_cells_that_the_output_is_made_from_are_lit(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setattr(cells.html_panel, "render", lambda html, key, on_pick: shown.append(html))
    rows = scene("indexes", a=4, b=3, i=1)
    CELLS.show(rows)
    (table,) = rows.inputs
    lit = [part.partition("<")[0] for part in shown[0].split('<td class="touch">')[1:]]
    assert lit == [f"{x:.2f}".replace("-", "−") for x in (*table[1].tolist(), *table[1].tolist())]
    assert torch.equal(rows.trace.outputs[0], table[1])
