"""The command ``check``: what it goes through, and what it says of faults."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

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
