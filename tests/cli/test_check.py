"""The command ``check``: what it goes through, and what it says of faults."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import ncd
from ncd.circuit.knob import Knob
from ncd.cli import check
from ncd.cli.check import Case
from ncd.language.op import Site
from ncd.ops import Elementwise
from ncd.systems.catalogue_entry import Entry
from tests.cli.test_commands import MHA, Capture, data, output


def test_check_of_one_system_is_clean(capsys: Capture) -> None:
    text = output(capsys, "check", MHA, "--set", "h=2")
    views = len(check.STATIC) + len(check.RUNNING)
    assert text == (
        f"1 systems, 0 ops, 1 settings, {views} views, 0 tests: 0 settings refused by the guard, "
        "0 failures\n"
    )


def test_check_goes_to_the_ends_of_every_knob() -> None:
    entry = ncd.catalogue["residual-block"]
    settings = list(check.extreme_settings(entry))
    default = entry.settings({})
    assert settings[0] == default
    for knob in entry.knobs:
        assert {**default, knob.name: knob.min} in settings
        assert {**default, knob.name: knob.max} in settings
    assert {knob.name: knob.min for knob in entry.knobs} in settings
    assert {knob.name: knob.max for knob in entry.knobs} in settings
    for preset in ncd.catalogue[MHA].presets:
        assert {**ncd.catalogue[MHA].settings({}), **preset.knobs} in check.extreme_settings(
            ncd.catalogue[MHA]
        )
    assert len(settings) == len({tuple(s.items()) for s in settings})


def test_check_lists_what_fails_and_exits_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(case: check.Case) -> str:
        return "it is broken"

    def raising(case: check.Case) -> str:
        raise KeyError("lost\nand gone")

    monkeypatch.setattr(check, "STATIC", (check.types,))
    monkeypatch.setattr(check, "RUNNING", (broken, raising))
    text = output(capsys, "check", MHA, "--set", "k=1", code=1)
    at = f"{MHA} at h = 4, k = 1, m = 128, y = 20, x = 22, causal = 0"
    assert text.splitlines() == [
        f"{at}: broken: it is broken",
        f"{at}: raising: KeyError: 'lost\\nand gone'",
        "1 systems, 0 ops, 1 settings, 3 views, 0 tests: 0 settings refused by the guard, "
        "2 failures",
    ]


def test_check_counts_what_the_guard_refuses(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "1000")
    found = data(capsys, "check", MHA, "--set", "h=2")
    assert (len(found["refused"]), found["failures"]) == (1, [])
    assert found["views"] == len(check.STATIC)
    assert "NCD_MAX_BYTES is 1,000" in found["refused"][0]


def views_that_fail(case: check.Case) -> list[str]:
    return [view.__name__ for view in (*check.STATIC, *check.RUNNING) if view(case)]


def test_the_views_see_what_is_wrong() -> None:
    """A module whose weights went bad fails just the views that look at numbers."""
    case = check.Case(ncd.catalogue[MHA].build())
    assert views_that_fail(case) == []
    case = check.Case(ncd.catalogue[MHA].build())
    case.module.O.weight.data.fill_(float("nan"))
    assert {"forward", "backward"} <= set(views_that_fail(case))
    case = check.Case(ncd.catalogue[MHA].build())
    softmax = next(c for c in case.circuit.cells if c.op.role == "softmax")
    case.trace.values[softmax.outputs[0].id].data.mul_(1.1)
    assert views_that_fail(case) == ["attention"]


@pytest.mark.parametrize(("size", "told"), [(1, False), (2, True), (3, True)])
def test_the_flops_are_compared_where_no_size_is_1(
    size: int, told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(ncd.Id(f"y:{size} m:3") >> ncd.Linear("m -> k:2", "L"))
    assert check.cost(case) is None
    stated = ncd.cost(case.term)
    monkeypatch.setattr(check, "count", lambda term: replace(stated, flops=7))
    said = f"7 flops stated, torch counts {2 * size * 3 * 2}"
    assert check.cost(case) == (said if told else None)
    monkeypatch.setattr(check, "count", lambda term: replace(stated, parameters=7))
    assert check.cost(case) == "7 parameters stated, the module has 6"


def test_an_equation_that_does_not_hold_fails() -> None:
    one, two = ncd.Linear("m:3 -> k:2", "L"), ncd.Linear("m:3 -> k:2", "M")
    assert views_that_fail(check.Case(ncd.Equation(one, one))) == []
    (failing,) = views_that_fail(check.Case(ncd.Equation(one, two)))
    assert failing == "equation"


def stub(**parts: Any) -> Any:
    """A case of which a view reads just these parts."""
    return SimpleNamespace(**parts)


def test_the_types_of_a_circuit_are_those_of_its_term() -> None:
    other = ncd.elaborate(ncd.Id("k:2"))
    said = "the circuit gives (k), the term (m)"
    assert check.types(stub(term=ncd.Id("m:3"), circuit=other)) == said
    bare = ncd.Id("m, k:2, n")
    said = "axes without a size: m, n"
    assert check.types(stub(term=bare, circuit=ncd.elaborate(bare))) == said


def test_arrays_are_made_before_they_are_taken_and_ids_are_unique() -> None:
    circuit = ncd.elaborate(ncd.Softmax("m:3"))
    assert check.circuit(stub(circuit=circuit)) is None
    late = SimpleNamespace(inputs=(), units=circuit.units)
    assert check.circuit(stub(circuit=late)) == "n0 takes v0 before they are made"
    twice = SimpleNamespace(inputs=circuit.inputs, units=(), cells=circuit.cells * 2)
    assert check.circuit(stub(circuit=twice)) == "two cells have one id"


def test_a_drawing_has_no_fault_and_every_op(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(ncd.Softmax("m:3"))
    assert check.drawing(case) is None
    monkeypatch.setattr(check, "drawn_cells", lambda circuit: [SimpleNamespace(id="n9")])
    assert check.drawing(case) == f"labels {check.LABELS[0]}: n9 not in the SVG"
    monkeypatch.setattr(check, "lint", lambda drawn: ["one", "two"])
    assert check.drawing(case) == f"labels {check.LABELS[0]}: one; two"


@pytest.mark.parametrize(
    ("with_einops", "without", "fault"),
    [
        ("import einops", "import torch", None),
        ("", "import einops", "the source that stands on torch alone speaks of einops"),
    ],
)
def test_a_source_without_einops_does_not_speak_of_it(
    with_einops: str, without: str, fault: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = {True: with_einops, False: without}
    monkeypatch.setattr(check, "write", lambda term, einops: written[einops])
    assert check.source(Case(ncd.Softmax("m:3"))) == fault


def test_a_term_that_comes_back_from_its_json_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(ncd.Softmax("m:3"))
    assert check.json(case) is None
    monkeypatch.setattr(check, "from_json", lambda text: ncd.Softmax("m:4"))
    assert check.json(case) == "the term that comes back differs"


MASKED = ncd.CausalMask("y:3 x:3") >> ncd.Softmax("x") >> ncd.Elementwise("relu")


@pytest.mark.parametrize(
    ("id", "value", "fault"),
    [
        ("v1", torch.zeros(3), "v1 has shape (3,), its array (3, 3)"),
        ("v1", torch.zeros(3, 3).long(), "v1 is of type torch.int64, its array holds real numbers"),
        ("v1", torch.full((3, 3), -inf), None),  # what is masked may be infinite
        ("v1", torch.full((3, 3), nan), "v1 is not finite"),
        ("v0", torch.full((3, 3), -inf), None),  # and so may be what is masked again
        ("v0", torch.full((3, 3), nan), "v0 is not finite"),
        ("v2", torch.full((3, 3), inf), "v2 is not finite"),
        ("v3", torch.full((3, 3), nan), "v3 is not finite"),
    ],
)
def test_every_value_is_of_its_array(id: str, value: torch.Tensor, fault: str | None) -> None:
    case = Case(MASKED)
    assert check.forward(case) is None
    case.trace.values[id] = value
    assert check.forward(case) == fault


@pytest.mark.parametrize(
    ("term", "fault"),
    [
        (ncd.Linear("m:3 -> k:2", "L"), None),
        (ncd.Id("y:2#v:5"), None),
        (ncd.Id("a:2, b:2") >> ncd.Elementwise("sin") @ ncd.Map("b -> b#2", "$1 > 0"),
         "input 1 has no gradient"),
        (ncd.Map("b:2 -> b#2", "$1 > 0"), "no output has a gradient"),
        (ncd.Map("b:2 -> b", "(0 * $1) ** 0.5"), "input 0: its gradient is not finite"),
    ],
)  # fmt: skip
def test_every_input_and_weight_has_a_gradient(term: ncd.Term, fault: str | None) -> None:
    assert check.backward(Case(term)) == fault


def test_whole_numbers_alone_have_no_graph() -> None:
    assert check.autograd(Case(ncd.Id("y:2#v:5"))) is None


def test_the_pictures_and_pages_are_those_of_an_entry() -> None:
    with pytest.raises(ValueError, match=r"^the case is not of a system of the catalogue$"):
        check.knobs(Case(ncd.Softmax("m:3")))


def test_a_term_that_cannot_be_built_is_a_failure() -> None:
    def build() -> Case:
        raise ValueError("no\nsuch size")

    report = check.Report()
    check._check(check.CheckedTerm("a", "a at m = 1", build, check.STATIC), report)
    assert report.failures == ["a at m = 1: build: ValueError: no such size"]
    assert (report.settings, report.views, report.refused) == (1, 0, [])


def test_the_tests_of_what_is_checked_are_named_and_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def run(names: tuple[str, ...], progress: object) -> tuple[int, list[str]]:
        asked.append(names)
        return 3, ["FAILED tests/test_a.py::test_a"]

    monkeypatch.setattr(check, "run_project_tests", run)
    monkeypatch.setattr(check, "_check", lambda item, report: None)
    entry, told = ncd.catalogue[MHA], []
    found = check.check(
        [entry], [ncd.Add], fast=True, tested=True, progress=lambda *now: told.append(now)
    )
    assert asked == [(MHA, "Add")]
    assert (found.tests, found.failures) == (3, ["FAILED tests/test_a.py::test_a"])
    count = 1 + len(ncd.Add.examples())
    assert told == [
        *((done, count, "Add") for done in range(count - 1)),
        (count - 1, count, MHA),
        (count, count, ""),
    ]
    assert check.check([entry], tested=False).tests == 0


# --- ops -----------------------------------------------------------------------------------------


def test_an_op_is_checked_at_its_samples(capsys: Capture) -> None:
    text = output(capsys, "check", "Softmax", "Add", "--fast")
    count = len(ncd.Softmax.examples()) + len(ncd.Add.examples())
    views = count * len((*check.STATIC, *check.SAMPLE_VIEWS))
    assert text == (
        f"0 systems, 2 ops, {count} settings, {views} views, 0 tests: 0 settings refused by the "
        "guard, 0 failures\n"
    )


class Silent(Elementwise):
    """An op that does not say what it does."""

    def description(self, site: Site) -> str:
        return ""


def test_an_op_has_words() -> None:
    case = Case(ncd.Id("m:3") >> Silent("relu"))
    said = r"Elementwise relu has the words '' and the formula 'z = \\max(a, 0)'"
    assert check.texts(case) == said


# --- the page and the picture of a system ---------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the page and the picture of one system, in which the checks look."""
    files = ("pages/attention/multi_head_attention.py", f"assets/diagrams/{MHA}.svg")
    for file in files:
        path = tmp_path / file
        path.parent.mkdir(parents=True)
        path.write_bytes(check.package_path(file).read_bytes())
    monkeypatch.setattr(check, "package_path", tmp_path.joinpath)
    return tmp_path


def faults(case: Case) -> list[str]:
    return [fault for view in check.STORED_VIEWS if (fault := view(case))]


def test_a_system_has_a_page_and_a_picture(copy: Path) -> None:
    entry = ncd.catalogue[MHA]
    case = Case(entry.build(), look=entry.look({}), entry=entry)
    file, svg = "pages/attention/multi_head_attention.py", f"assets/diagrams/{MHA}.svg"
    cure = f"write it with python -m ncd render {MHA} -o {svg}"
    assert faults(case) == []
    assert faults(replace(case, look={})) == [f"{svg} is not its drawing: {cure}"]
    (copy / svg).unlink()
    page = (copy / file).read_text()
    (copy / file).write_text(page.replace(f'catalogue["{MHA}"]', "other"))
    assert faults(case) == [f'{file} does not show catalogue["{MHA}"]', f"{svg} is missing: {cure}"]
    (copy / file).write_text(page.replace("LEAD = ", "FIRST = ").replace("WHY = ", "LAST = "))
    assert faults(case)[0] == f"{file} lacks LEAD, WHY"
    (copy / file).write_text(page + "\n" * 60)
    assert faults(case)[0] == f"{file} has {len(page.splitlines()) + 60} lines, at most 60 can be"
    (copy / file).unlink()
    assert faults(case)[0] == f"there is no file {file}"


@pytest.mark.parametrize("most", [None, 48])
def test_a_knob_that_adds_ops_has_a_largest_value(most: int | None) -> None:
    """A link may ask for a thousand million layers."""

    def layers(m: int = 4, n: int = 2) -> ncd.Term:
        return ncd.Axes(m=m)(ncd.Then(*(ncd.Linear("m -> m", f"L{i}") for i in range(n))))

    knobs = (Knob("m", 1, 8, 4), Knob("n", 1, 4, 2, most=most))
    entry = Entry("layers", "Layers", "none", knobs, layers)
    said = "knob n adds ops, but has no largest value: say most=48 in it"
    assert check.knobs(Case(entry.build(), entry=entry)) == (None if most else said)


# --- the tests -----------------------------------------------------------------------------------


CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--of", action="append")


def pytest_configure(config):
    config.addinivalue_line("markers", "browser: none")
    print(config.getoption("--of"))
"""
TESTS = """
def test_one(): pass
def test_two(): assert 1 == 2, "so it is"
"""


def test_the_tests_of_a_checkout_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int, str]] = []
    monkeypatch.setattr(check, "ROOT", tmp_path)
    assert check.run_project_tests(["a"], lambda *now: told.append(now)) == (0, [])
    assert told == []
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text(CONFTEST)
    (tmp_path / "tests" / "test_some.py").write_text(TESTS)
    count, failed = check.run_project_tests(["a", "b-c"], lambda *now: told.append(now))
    assert count == 2
    assert failed == ["FAILED tests/test_some.py::test_two - AssertionError: so it is"]
    assert told == [(0, 100, "tests"), (100, 100, "tests"), (100, 100, "")]
    (tmp_path / "tests" / "conftest.py").write_text("raise ValueError('broken')")
    assert check.run_project_tests(["a"], lambda *now: None)[1] == [
        "the tests did not run: E   ValueError: broken"
    ]


@pytest.mark.parametrize(
    ("nodes", "edges", "dot", "fault"),
    [
        ("ab", ["ab"], "}\n", None),
        ("", ["ab"], "}", "the graph is empty"),
        ("ab", [], "}", "the graph is empty"),
        ("ab", ["ab", "bc"], "}", "an edge ends at no node"),
        ("ab", ["ca"], "}", "an edge ends at no node"),
        ("ab", ["ab"], "digraph {", "gives no dot text"),
    ],
)
def test_a_graph_has_nodes_and_edges_between_them_and_a_text(
    nodes: str, edges: list[str], dot: str, fault: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = SimpleNamespace(
        nodes=[SimpleNamespace(id=id) for id in nodes],
        edges=[SimpleNamespace(source=a, target=b) for a, b in edges],
    )
    dag = SimpleNamespace(at_level=lambda level: shown, dot=lambda level: dot)
    monkeypatch.setattr(check, "graph", lambda module, *inputs: dag)
    case = Case(ncd.Linear("m:3 -> k:2", "L"))
    joint = " " if fault and fault.startswith("gives") else ": "
    assert check.autograd(case) == (fault and f"level {check.LEVELS[0]}{joint}{fault}")
