"""The last line of a source as a form: where it stands, and what can be changed in it."""

from __future__ import annotations

import pytest

from ncd.text.call_form import CallForm, Field, ModuleCall, call_form, call_of

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


def test_a_call_comes_back_from_json() -> None:
    data = {"line": "a", "assumed": ["x"], "inputs": [], "drawn": "A", "classes": ["A"]}
    assert call_of(data) == ModuleCall("a", ("x",), (), "A", ("A",))
