"""What the page Yours says about a text: the answer, buttons that cure, amber lines, shapes."""

from __future__ import annotations

from threading import Event

import pytest

from ncd.app.parts.text_editor import Diagnostic, EditorMessage, Remark, Remedy
from ncd.app.runtime import streamlit_internals
from ncd.app.scene import own_answer
from ncd.app.scene.own_entry import visitor_system
from ncd.errors import NCDError
from ncd.findings.reading.finding import LATE, LATE_SIZES, Cure, Edit, Finding, apply_edits
from ncd.notation.call_form import ModuleCall
from ncd.notation.term_reader import TextError
from tests.support.polling import until

NET = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear({width}, 2)
    def forward(self, x):
        y, z = x.split(4, 1)
        x = y + z
        return self.fc(x)
3x8"""
RIGHT, WRONG = NET.format(width=4), NET.format(width=5)
EDITS = (Edit(4, 28, 29, "4"),)
CURE = Cure(EDITS, apply_edits(WRONG, EDITS), "model", ((3, 2),))
FAILURE = Finding("failure", 8, "fc", "fc takes 5 features, and gets 4.", (CURE,))
SILENT = Finding("silent", 7, "", "This mixes the batch.")
SIZE = Finding("size", 0, "", "Any batch works.")


def test_a_text_that_runs_says_what_comes_out_and_the_shapes_beside_its_lines() -> None:
    said = own_answer.editor_message(visitor_system(RIGHT))
    assert (said.sentence, said.is_wrong) == ("out: 3 × 2 (batch, features)", False)
    assert said.words == ("10 parameters · 48 FLOP (24 multiply–adds)\nRead as PyTorch source.")
    assert said.line_notes == ((6, "2 of 3×4", "b d"), (7, "3×4", "b d"), (8, "3×2", "b f"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("b i, i j -> b j", "out: 8 × 8 (b, j)"),
        ('Id("~y m:8") >> Linear("m -> k", "W")', "out: 12 × 16 (y, k)"),
        ('{"model_type": "gpt2"}', "out: 16 × 50257 (t, v)"),
    ],
)
def test_other_texts_have_a_sentence_too(text: str, sentence: str) -> None:
    assert own_answer.editor_message(visitor_system(text)).sentence == sentence


def test_a_failure_shows_the_message_until_its_reason_has_come_with_a_button() -> None:
    found = visitor_system(WRONG)
    plain = own_answer.editor_message(found)
    assert plain.is_wrong and plain.raw.startswith("RuntimeError: ") and plain.waiting == ""
    assert plain.sentence == (
        "line 8: `self.fc(x)` stops. The layer takes 5 numbers and gives 2, but each of its 3 rows "
        "holds 4."
    )
    assert own_answer.editor_message(found, (), complete=False).waiting == own_answer.LOOKING
    assert own_answer.editor_message(found, (FAILURE,), complete=False).waiting == ""
    assert plain.line_notes[-1] == (8, "3×4 ✗", "")  # what the call that fails is given
    said = own_answer.editor_message(found, (FAILURE, SILENT, SIZE))
    assert said.sentence == "line 8: fc takes 5 features, and gets 4." and said.is_wrong
    assert said.remedies == (
        Remedy(
            "line 4: self.fc = nn.Linear(4, 2)",
            RIGHT,
            "- 4  self.fc = nn.Linear(5, 2)\n+ 4  self.fc = nn.Linear(4, 2)\nout: 3 × 2",
        ),
    )
    assert said.remarks == (
        Remark("silent", "Line 7: This mixes the batch.", (), 7, "n1", "v1 v2 v3"),
        Remark("size", "Any batch works."),
    )
    assert said.faults == (*plain.faults, Diagnostic((7, 9), (7, 18), SILENT.says, mild=True))


def test_a_failure_that_the_reading_missed_is_an_error_too() -> None:
    said = own_answer.editor_message(visitor_system(RIGHT), (FAILURE,))
    assert said.is_wrong and said.faults == (Diagnostic((8, 9), (8, 26), FAILURE.says),)


def test_a_text_that_cannot_be_read_keeps_its_message_where_the_reason_adds_nothing() -> None:
    error = TextError("Linaer is not known", 4, 18, (4, 27), "Linear")
    plain = own_answer.error_message(error, WRONG)
    assert own_answer.error_message(error, WRONG, (Finding("failure", 4, "", "Linaer."),)) == plain
    for found in (Finding("failure", 8, "fc", "No."), Finding("failure", 8, "", "No.", (CURE,))):
        assert own_answer.error_message(error, WRONG, (found,)).sentence == str(found)
    said = own_answer.error_message(error, WRONG, (FAILURE,))
    assert (said.sentence, said.faults) == (f"line 8: {FAILURE.says}", plain.faults)


def test_a_button_names_what_it_changes() -> None:
    edits = (Edit(1, 0, 5, "x = 2"), Edit(2, 0, 5, "y = 2"), Edit(3, 0, 1, "3" * 99))
    text = "x = 1\ny = 1\nz"
    cure = Cure(edits, apply_edits(text, edits), "meaning")
    said = own_answer.error_message(
        NCDError("no"), text, (Finding("failure", 1, "a", "No.", (cure,)),)
    )
    assert said.remedies[0].words == "line 1: x = 2 and 2 more lines (another meaning)"
    changes = [
        *zip("---+++", (1, 2, 3) * 2, [*text.split("\n"), *cure.text.split("\n")], strict=True)
    ]
    assert [*said.remedies[0].changes] == changes  # all of them can be seen
    last = Cure(edits[2:], apply_edits(text, edits[2:]), "input")
    said = own_answer.error_message(
        NCDError("no"), text, (Finding("failure", 1, "a", "No.", (last,)),)
    )
    assert said.remedies[0].words == f"line 3: {'3' * 70}… (another input)"


def test_a_button_shows_the_change_in_a_long_line() -> None:
    line = (
        "net = nn.Sequential(" + "nn.Linear(8, 8), " * 6 + "nn.Linear(9, 2), nn.ReLU(), nn.Tanh())"
    )
    at = line.index("9")
    edits = (Edit(1, at, at + 1, "8"),)
    cure = Cure(edits, apply_edits(line, edits), "model")
    said = own_answer.error_message(
        NCDError("no"), line, (Finding("failure", 1, "a", "No.", (cure,)),)
    )
    shown = "8), nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 2), nn.ReLU(), nn.T"
    assert said.remedies[0].words == f"line 1: …{shown}…"


def test_a_button_shows_the_line_that_it_adds() -> None:
    edits = (Edit(1, 5, 5, "\n  y = 2"), Edit(2, 0, 1, "y"))
    cure = Cure(edits, apply_edits("x = 1\nz", edits), "model", ((2,),))
    said = own_answer.error_message(
        NCDError("no"), "x = 1\nz", (Finding("failure", 1, "a", "No.", (cure,)),)
    )
    words, _, hint, changes = said.remedies[0]
    assert words == "after line 1: y = 2 and 1 more line"
    assert changes == (("-", 2, "z"), ("+", 2, "  y = 2"), ("+", 3, "y"))
    assert hint == "- 2  z\n+ 2  y = 2\n+ 3  y\nout: 2"


class Slow:
    """A reader whose searches wait until they are let go."""

    def __init__(self) -> None:
        self.go, self.measured, self.asked = Event(), Event(), list[str]()

    def findings(self, text: str, visitor: str) -> tuple[Finding, ...]:
        self.asked.append(text)
        assert self.go.wait(60)
        if text == "late":
            raise TextError("it takes too long", 1, 1)
        return (FAILURE,) if text == "fails" else (SILENT,)

    def sizes(self, text: str, visitor: str) -> tuple[Finding, ...]:
        assert text != "fails"
        assert self.measured.wait(60)
        if text == "two":
            raise TextError("it takes too long", 1, 1)
        return (SIZE,)


def test_a_visitor_has_one_search_at_a_time_and_nobody_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slow, visitor = Slow(), ["a"]
    monkeypatch.setattr(own_answer, "reader", lambda: slow)
    monkeypatch.setattr(own_answer, "_findings_cache", {})
    monkeypatch.setattr(streamlit_internals, "session_id", lambda: visitor[0])
    found = [own_answer.findings(text) for text in ("one", "two", "one")]
    assert found == [((), False)] * 3
    until(lambda: slow.asked == ["one"])
    visitor[0] = "b"
    assert own_answer.findings("late") == ((), False)
    until(lambda: slow.asked == ["one", "late"])
    slow.go.set()
    until(lambda: own_answer.findings("late") == ((LATE,), True))
    until(lambda: own_answer.findings("fails") == ((FAILURE,), True))
    visitor[0] = "a"
    until(lambda: own_answer.findings("one") == ((SILENT,), False))  # sizes come last
    slow.measured.set()
    until(lambda: own_answer.findings("one") == ((SILENT, SIZE), True))
    until(lambda: own_answer.findings("two") == ((SILENT, LATE_SIZES), True))


@pytest.mark.parametrize(("line", "faults"), [(0, []), (1, [1]), (2, [2]), (3, [])])
def test_a_finding_underlines_its_line_if_the_text_has_it(line: int, faults: list[int]) -> None:
    own = (Finding("silent", line, "", "says"), Finding("size", 1, "", "of no line"))
    assert [one.start[0] for one in own_answer._mild(own, "first\n  second")] == faults


@pytest.mark.parametrize(("classes", "shown"), [((), ()), (("A",), ()), (("A", "B"), ("A", "B"))])
def test_classes_are_offered_if_there_are_several(
    classes: tuple[str, ...], shown: tuple[str, ...]
) -> None:
    assert (
        own_answer._with_form(EditorMessage("words"), "A()", ModuleCall(classes=classes)).classes
        == shown
    )


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("net = Net()\nnet(torch.randn(2))", [2]),  # the mode stands in the last line
        ("net = Net()\ny = net(x)\nprint(y)", [4, 1]),
    ],
)
def test_a_mode_is_a_field_of_the_last_line_or_of_another_one(text: str, lines: list[int]) -> None:
    call = ModuleCall(inputs=("x",), drawn="Net", classes=("Net",), modes="Its dropout is on.")
    forms = own_answer._with_form(EditorMessage("words"), text, call).forms
    assert [form.first for form in forms] == lines


@pytest.mark.parametrize(
    ("shapes", "words"),
    [
        ([(2, 3)], "2×3"),
        ([()], "one number"),
        ([(2, 3), (2, 3), (2, 3)], "3 of 2×3"),
        ([(2, 3), (4,)], "2×3, 4"),
        ([(2, 3), ()], "2×3, one number"),
        ([(), ()], "2 of one number"),
        ([(n, 3) for n in range(own_answer.MARGIN)], "0×3, 1×3"),
        ([(n, 3) for n in range(own_answer.MARGIN + 1)], "0×3, …"),
    ],
)
def test_shapes_stand_in_the_margin(shapes: list[tuple[int, ...]], words: str) -> None:
    assert own_answer._margin_text(shapes) == words


TEXT = "a = b\nsome_function(of, these)\n  `last`"


@pytest.mark.parametrize(
    ("line", "column", "end", "code"),
    [
        (1, 5, (1, 6), "`b`"),
        (2, 1, (2, 14), "`some_function`"),
        (2, 1, (3, 3), "`some_function(of, these)…`"),
        (3, 3, (3, 9), "`last`"),
        (1, 3, (1, 3), "This line"),
        (4, 1, (4, 5), "This line"),
    ],
)
def test_the_code_of_an_error_is_quoted(
    line: int, column: int, end: tuple[int, int], code: str
) -> None:
    assert own_answer._code(TextError("no", line, column, end), TEXT) == code


def test_long_code_is_cut() -> None:
    text = "x" * own_answer.LONGEST
    for more, dots in (("", ""), ("y", "…")):
        error = TextError("no", 1, 1, (1, len(text + more) + 1))
        assert own_answer._code(error, text + more) == f"`{text}{dots}`"


PRODUCT = "mat1 and mat2 shapes cannot be multiplied (3x4 and 5x2)"
MEANING = "The layer takes 5 numbers and gives 2, but each of its 3 rows holds 4."


@pytest.mark.parametrize(
    ("fact", "given", "sentence"),
    [
        (f"fc stops on an array (b m): {PRODUCT}", [(3, 4)], f"fc stops. {MEANING}"),
        (f"RuntimeError: {PRODUCT}", [], f"`self.fc(x)` stops. {MEANING}"),
        ("ValueError: it is odd", [(3, 4)], "`self.fc(x)` stops on an array of 3 × 4."),
        (
            "ValueError: it is odd",
            [(3, 4), (4,), (2,)],
            "`self.fc(x)` stops on arrays of 3 × 4 and 4.",
        ),
        ("ValueError: it is odd", [], "`self.fc(x)` stops."),
    ],
)
def test_a_message_of_torch_is_said_in_words_and_folded(
    fact: str, given: list[tuple[int, ...]], sentence: str
) -> None:
    error = TextError(fact, 8, 16, (8, 26))
    found = own_answer._failure_message(error, WRONG, given)
    assert found.sentence == f"line 8: {sentence}"
    assert found.raw == fact and found.is_wrong
    assert [fault.message for fault in found.faults] == [found.sentence]


def test_words_of_ours_are_said_as_they_are() -> None:
    error = TextError("there is no x here", 8, 16, (8, 26), cure="y")
    found = own_answer._failure_message(error, WRONG)
    assert (found.raw, found.sentence) == ("", str(error)) and found.is_wrong
