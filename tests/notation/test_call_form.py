"""The last line of a source as a form: where it stands, and what can be changed in it."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ncd.notation.call_form import (
    BLANK,
    CallForm,
    Field,
    ModuleCall,
    call_form,
    call_of,
    mode_form,
    shape_line,
)
from ncd.notation.term_reader import parse_error_at, syntax_error

CLASS = "class Net(nn.Module):\n    def forward(self, x):\n        return x\n"
ASSUMED = ModuleCall(
    "Net(dim=64, kind=...)(torch.randint(9, (1, 16)))",
    ("dim", "kind", "x"),
    ("x",),
    "Net",
    ("Net",),
)


def _fields(form: CallForm) -> list[tuple[str, str, str]]:
    return [(each.name, each.kind, each.value) for each in form.fields]


def _line(form: CallForm) -> str:
    return "".join(part if isinstance(part, str) else part.value for part in form.parts)


@pytest.mark.parametrize(
    ("end", "lines"),
    [("", (4, 3)), ("\n\n", (4, 3)), ("Net\n", (4, 4)), ("1x16\n", (4, 4)), ("train()\n", (5, 4))],
)
def test_what_is_assumed_is_added_or_takes_the_place_of_a_name_or_shape(
    end: str, lines: tuple[int, int]
) -> None:
    form = call_form(CLASS + end, ASSUMED)
    assert (form.first, form.last) == lines
    assert _line(form) == ASSUMED.line.replace("...", "")
    assert form.fields == (
        Field("dim", "value", "64", True),
        Field("kind", "value", "", True),
        Field("x", "shape", "1, 16", True),
    )


def test_a_line_without_an_input_is_continued() -> None:
    form = call_form(f"{CLASS}Net(3)\n", ModuleCall("Net(3)(torch.randn(2))", ("x",), ("x",)))
    assert (form.first, form.last, _fields(form)) == (4, 4, [("x", "shape", "2")])


GATE = "Net.gate.result = torch.empty(1, 8)\n"


@pytest.mark.parametrize(
    ("last", "call", "line"),
    [
        ("Net", ASSUMED, ASSUMED.line.replace("...", "")),
        ("Net()(torch.randn(2))", ModuleCall(inputs=("x",)), f"{GATE}Net()(torch.randn(2))"),
        (
            "Net()(torch.randn(2))",
            ModuleCall(f"{GATE}Net()(torch.randn(2))", (), ("x",), "Net", ("Net",)),
            f"{GATE}Net()(torch.randn(2))",
        ),
    ],
)
def test_lines_that_state_what_a_box_gives_belong_to_the_last_line(
    last: str, call: ModuleCall, line: str
) -> None:
    form = call_form(f"{CLASS}{GATE}{last}\n", call)
    assert (form.first, form.last, _line(form)) == (4, 5, line)
    stated = [("result of gate", "shape", "1, 8")] * line.startswith(GATE)
    assert _fields(form)[: len(stated)] == stated and _fields(form)[-1][0] == "x"


def test_an_input_of_which_nothing_is_known_is_a_field_for_any_code() -> None:
    call = ModuleCall("Net(n=...)(..., SimpleNamespace(a=...), 4)", (), ("x", "y", "z"), "Net")
    fields = [(each.name, each.kind, each.value) for each in call_form(CLASS, call).fields]
    assert fields == [("n", "value", ""), ("x", "input", ""), ("y.a", "input", "")]


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("Net(k=-2)(torch.randn(2, 3))", [("k", "value", "-2"), ("x", "shape", "2, 3")]),
        (
            "y = net(torch.zeros((5,)), torch.ones([4, 1]))",
            [("x", "shape", "5,"), ("m", "shape", "4, 1")],
        ),
        ("é(k='ü')(torch.rand(2,\n    3))", [("k", "value", "'ü'"), ("x", "shape", "2,\n    3")]),
        ("net(torch.randn(n, 3), torch.randn(2))", [("m", "shape", "2")]),
        ("# 2x8#50", [("x, m", "line", "# 2x8#50")]),
    ],
)
def test_the_sizes_of_a_last_line_are_fields(line: str, fields: list[tuple[str, str, str]]) -> None:
    text = f"{CLASS}{line}\n# a comment\n" if line[0] != "#" else CLASS + line
    form = call_form(text, ModuleCall(inputs=("x", "m")))
    assert _fields(form) == fields
    assert (form.first, form.last) == (4, 4 + line.count("\n"))
    assert _line(form) == line


@pytest.mark.parametrize(
    "line", ["train()", "a = 1; net(torch.randn(2))", "net(x)", "for", "é" * 9]
)
def test_a_line_without_sizes_stays_as_it_is(line: str) -> None:
    form = call_form(CLASS + line, ModuleCall(inputs=("x",)))
    assert (form.first, form.last, form.fields) == (5, 4, ())


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (
            "Net(None)({'a': torch.randn(2, 3), 'm': None}, k=(torch.ones(4), torch.rand(5)))",
            {"x['a']": "2, 3", "x['m']": "None", "k[0]": "4", "k[1]": "5"},
        ),
        ("net([torch.rand(2)], None)", {"x[0]": "2", "m": "None"}),
        ("net(None)", {}),
    ],
)
def test_dictionaries_tuples_and_what_is_none_have_a_field_for_each_array(
    line: str, fields: dict[str, str]
) -> None:
    form = call_form(CLASS + line, ModuleCall(inputs=("x", "m"), drawn="Net", assumed=("x",)))
    assert {each.name: each.value for each in form.fields} == fields
    assert [each.name for each in form.fields if each.assumed] == [n for n in fields if n[0] == "x"]


SETS = "In training dropout sets 10% of the numbers to 0."
SCRIPT = f"{CLASS}net = Net(3).to('cpu')\ny = net(x)\nif y:\n    {{}}\nprint(y)\n"


@pytest.mark.parametrize(
    ("line", "training", "number", "options"),
    [
        ("pass", True, 4, {"training": "", "evaluation": ".eval()"}),
        ("net.eval()", False, 7, {"training": ".train()", "evaluation": ".eval()"}),
        ("net.train()", True, 7, {"training": ".train()", "evaluation": ".eval()"}),
    ],
)
def test_the_mode_is_set_where_the_source_sets_it_or_makes_the_module(
    line: str, training: bool, number: int, options: dict[str, str]
) -> None:
    text = SCRIPT.format(line)
    call = ModuleCall(drawn="Net", training=training, modes=SETS)
    form = mode_form(text, call)
    assert form is not None and (form.first, form.last) == (number, number)
    assert dict(form.fields[0].options) == options
    assert _line(form) == text.split("\n")[number - 1]
    assert mode_form(text, ModuleCall(drawn="Net")) is None  # it changes nothing
    assert mode_form("y = net(x)\nprint(y)", call) is None


def test_a_mode_that_was_refused_is_no_option_and_the_other_one_is_shown() -> None:
    call = ModuleCall("", (), ("x",), "Net", ("Net",), False, SETS, refused=True)
    (mode, _) = call_form(f"{CLASS}Net()(torch.randn(2))", call).fields
    assert (mode.value, mode.options) == ("", (("evaluation", ""),))


def test_a_call_comes_back_from_json() -> None:
    data = {"line": "a", "assumed": ["x"], "inputs": [], "drawn": "A", "classes": ["A"]}
    assert call_of(data) == ModuleCall("a", ("x",), (), "A", ("A",))


MODES = ModuleCall(inputs=("x", "y"), classes=("Net",), modes="Its dropout is on.")
# Lines, and the names, kinds and texts of their fields, in their order.
LINES = {
    "Net()(torch.randn(2, 3))": [("mode", ""), ("x", "2, 3")],
    "Net().eval()(torch.randn(2, 3))": [("mode", ".eval()"), ("x", "2, 3")],
    "Net().train()(torch.randn(2))": [("mode", ".train()"), ("x", "2")],
    "Net().eval(1)(torch.randn(2))": [("mode", ""), ("x", "2")],
    "model(torch.randn(2, 3))": [("mode", ""), ("x", "2, 3")],
    "Net(torch.randn(2, 3))": [("x", "2, 3")],
    "print(torch.randn(2, 3))": [("x", "2, 3")],
    "Other(torch.randn(2, 3))": [("x", "2, 3")],
    "Net()()": [],
    "a.b(torch.randn(2))": [("x", "2")],
    "Net(n=2)(torch.randn((2, 3)))": [("n", "2"), ("mode", ""), ("x", "2, 3")],
    "Net()(torch.randn((2,)))": [("mode", ""), ("x", "2,")],
    "Net()(torch.randint(0, 9, (2, 3)))": [("mode", ""), ("x", "2, 3")],
    "Net()(torch.randint(0, 9, [2]), torch.ones(4))": [("mode", ""), ("x", "2"), ("y", "4")],
    "Net()(torch.randint(0, 9))": [("mode", "")],
    "Net()(torch.randn(n, 3), torch.zeros(4))": [("mode", ""), ("y", "4")],
    "Net()(torch.randn(True), torch.zeros(4))": [("mode", ""), ("y", "4")],
    "Net()(...)": [("mode", ""), ("x", "")],
    "Net()(torch.randn(2, ...))": [("mode", "")],
    "Net(a=-1, b=(1, 'c'), d=(), e=n, f=~1, g=[True, None], h=(1, n), i=-n, **k)(x)": [
        *(("a", "-1"), ("b", "(1, 'c')"), ("g", "[True, None]"), ("mode", "")),
    ],
    "é = Net(a='é', b=2)(torch.randn(3))": [("a", "'é'"), ("b", "2"), ("mode", ""), ("x", "3")],
    "Net(k=(1,\n  2))(x)": [("k", "(1,\n  2)"), ("mode", "")],
    "Net(": [],
}


@pytest.mark.parametrize("line", LINES)
def test_the_fields_of_a_line(line: str) -> None:
    source = f"class Net(nn.Module): ...\n{line}"
    form = call_form(source, MODES)
    assert [(field.name, field.value) for field in form.fields] == LINES[line]
    assert (
        not form.parts
        or "".join(
            part if isinstance(part, str) else part.value or (BLANK if part.name == "x" else "")
            for part in form.parts
        )
        == line
    )


@pytest.mark.parametrize(
    ("last", "shape"),
    [
        ("# 2x3x8x8", "2x3x8x8"),
        ("2 3 4", "2x3x4"),
        ("input: 2 × 3", "2x3"),
        ("shapes = 2x3, 4x5", "2x3, 4x5"),
        ("(2, 3)", "2x3"),
        ("(2, 3,)", "2x3"),
        ("2x16#9", "2x16#9"),
        ("4#9", "4#9"),
        ("23", ""),
        ("a = 2x3", ""),
        ("2x", ""),
        ("(2)", ""),
    ],
)
def test_a_last_line_may_be_a_shape(last: str, shape: str) -> None:
    text = f"class Net: ...\n{last}"
    assert shape_line(text) == (("class Net: ...\n", shape) if shape else (text, ""))
    assert shape_line(last) == (last, "")  # alone it is no shape of a source


def test_an_error_stands_where_its_part_of_the_text_ends() -> None:
    (node,) = ast.parse("ab + (\n cd)").body
    assert isinstance(node, ast.Expr)
    found = parse_error_at("bad", node.value)
    assert (found.line, found.column, found.end) == (1, 1, (2, 5))
    nowhere = parse_error_at("bad", ast.Load())
    assert (nowhere.line, nowhere.column, nowhere.end) == (1, 1, (1, 1))
    made = ast.Name("x", ast.Load(), lineno=3, col_offset=4)
    assert (parse_error_at("bad", made).column, parse_error_at("bad", made).end) == (5, (3, 5))


@pytest.mark.parametrize(
    ("place", "found"),
    [
        ((2, 3, "", 2, 5), (2, 3, (2, 5))),
        ((None, None, "", None, None), (1, 1, (1, 1))),
        ((3, 0, "", None, None), (3, 1, (3, 1))),
    ],
)
def test_an_error_of_the_grammar_stands_where_python_says_or_at_the_beginning(
    place: tuple[Any, ...], found: tuple[int, int, tuple[int, int]]
) -> None:
    line, offset, text, end_line, end_offset = place
    error = syntax_error(SyntaxError("bad", ("a", line, offset, text, end_line, end_offset)), "x")
    assert (error.line, error.column, error.end) == found
