"""The grader of the quiz: what an answer is worth, in the app and on pages without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from html import unescape
from typing import Any, NamedTuple

import pytest

import ncd
from ncd.app.scene.scene import Scene
from ncd.app.teach import quiz
from ncd.language.axes import Array, Axis
from ncd.site.entry_page import of_entry
from ncd.site.live_texts import SizeDependentTexts
from ncd.site.quiz_facts import axis_facts
from ncd.site.scripts import script
from ncd.systems.inputs.run_inputs import InputSpec
from tests.support.javascript import called

Y, X, K, H = Axis("y", 20), Axis("x", 22), Axis("k", 16), Axis("h", 4)
SCORES, ALL = Array((Y, X, H)), (Y, X, K, H)
PICTURE = Array((Axis("d", 6), Axis("u", (28, 28))))
LEVEL = Array((Axis("q_1", 16, label="c_λ"),))
TAG = re.compile(r"<[^>]*>")
LIVE = re.compile(r'id="live">(.*?)</script>', re.DOTALL)


GRADING = "site/static/figure/grading.js"


class Verdict(NamedTuple):
    right: bool
    words: str
    whole: bool


def words(html: str) -> str:
    return unescape(TAG.sub("", html))


def graded(calls: Sequence[tuple[Any, ...]]) -> list[Verdict]:
    return [Verdict(**found) for found in called(script(GRADING), "grade", calls)]


def grade(text: str, wanted: Array, known: Sequence[Axis], **rules: Sequence[str]) -> Verdict:
    given = [[axis_facts(axis) for axis in axes] for axes in (wanted, known)]
    return graded([(text, *given, rules)])[0]


@pytest.mark.parametrize(
    "text",
    [
        *("y 20 x 22 h 4", "20 22 4", "y x h", "yxh", "(20, 22, 4)", "y=20, x=22 h:4"),
        *("y20 x22 h4", "Y X H", "Y 20 X=22 h4", "YXH", "020 22 04", "20*22*4", "20 × 22 × 4"),
        *("y × x × h", "y*x*h", "y 20 × x 22 × h 4"),
        *("[20,22,4]", " y·x·h ", "20x22x4"),
    ],
)
def test_names_sizes_or_both_are_an_answer(text: str) -> None:
    assert grade(text, SCORES, ALL).right


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("y 20 x 22", "You forgot h."),
        ("h", "You forgot y and x."),
        ("y x k h", "k goes in, but does not leave here."),
        ("y x h y", "y stands there once."),
        ("x y h", "These are the right axes, in another order."),
        ("y 20 x 23 h 4", "The size of x is another one."),
        ("20 22", "You forgot h."),
        ("22 20 4", "These are the right sizes, in another order."),
        ("20 22 5", "5 is no size of it."),
        ("20 22 4 16", "That is 1 size too many. 16 is no size of it."),
        ("20 23", "You forgot x and h. 23 is no size of it."),
    ],
)
def test_a_wrong_answer_says_what_is_wrong(text: str, said: str) -> None:
    verdict = grade(text, SCORES, ALL, taken=("y", "x", "k", "h"))
    assert not verdict.right
    assert verdict.whole
    assert words(verdict.words) == said


def test_what_is_no_answer_is_no_try() -> None:
    assert grade("  ", SCORES, ALL) == (False, "Type a shape, or click it together.", False)
    strange = grade("y <b> h", SCORES, ALL)
    assert not strange.whole
    assert words(strange.words).startswith("“<b>” is no axis here. There are ")
    assert "<b>" not in strange.words
    for glued in ("yz", "zy", "yxz"):  # letters of which one is no axis
        found = grade(glued, SCORES, ALL)
        assert not found.whole
        assert words(found.words).startswith(f"“{glued}” is no axis here. There are ")


def test_a_size_that_is_found_out_has_to_be_said() -> None:
    half = grade("d u", PICTURE, PICTURE, found=("u",))
    assert (half.right, half.whole) == (False, False)
    assert words(half.words) == "The axes are right. What is the size of u?"
    for text in ("d u 28x28", "d 6 u 28×28", "d u 28 28", "6 28 28"):
        assert grade(text, PICTURE, PICTURE, found=("u",)).right, text
    assert not grade("d 6 u 28x27", PICTURE, PICTURE, found=("u",)).right


def test_the_order_of_the_wires_is_an_order() -> None:
    assert not grade("u 28x28 d 6", PICTURE, PICTURE).right
    assert grade("u 28x28 d 6", PICTURE, PICTURE, drawn=("u", "d")).right
    assert grade("d 6 u 28x28", PICTURE, PICTURE, drawn=("u", "d")).right


def test_an_axis_goes_by_its_label_too_and_a_number_has_none() -> None:
    for text in ("c_λ 16", "cλ", "q_1 16", "q1"):
        assert grade(text, LEVEL, LEVEL).right, text
    for text in ("()", "1", "scalar"):
        assert grade(text, Array(), ALL).right, text
    assert words(grade("y", Array(), ALL).words) == "y does not leave here."


def test_capitals_and_signs_name_nothing_else() -> None:
    small, large = Axis("n", 2), Axis("N", 3)
    both, other = Array((small, large)), Array((large, small))
    assert grade("n N", both, both).right and grade("N n", other, both).right
    assert not grade("n n", both, both).right
    assert grade("d 6 u 28 x 28", PICTURE, PICTURE).right  # no axis here is called x
    assert not grade("20 x 22 h 4", SCORES, ALL).right


# --- every system, in the app and as a page -------------------------------------------------------


# As live_quiz.js asks, with numbers in place of the formulas of sizes.
ON_A_PAGE = """
function onAPage(live, asked) {
  const fill = texts(live, new Map(Object.entries(live.settings)));
  const now = (axis) => axis.map((text) => (fill ? fill(text) : text));
  const known = live.axes.map(now);
  return asked.map(([text, id, drawn]) => {
    const { axes, taken } = live.arrays[id];
    return grade(text, axes.map((i) => known[i]), known, { found: live.computed, taken, drawn });
  });
}
"""


def answers(wanted: Sequence[Sequence[str]], found: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Spellings of a shape, and of other shapes, each with what it is worth."""
    yield "", False
    if not wanted:
        yield from (("()", True), ("A number", True), ("7", False))
        return
    names, sizes = ([axis[i] for axis in wanted] for i in (1, 3))
    both = [f"{name} {size}" for name, size in zip(names, sizes, strict=True)]
    alone = not set(names) & set(found)  # no size has to be stated
    yield " ".join(both), True
    yield " ".join(names), alone
    yield " ".join(sizes), True
    yield f"({', '.join(sizes)})", True
    yield ", ".join(f"{n}={s}" for n, s in zip(names, sizes, strict=True)), True
    yield " ".join(both).replace("×", " × "), True
    yield " ".join(both).replace("×", "*"), True
    yield " ".join(size.replace("×", " ") for size in sizes), True
    yield " ".join(f"{n} {s.replace('×', 'x')}" for n, s in zip(names, sizes, strict=True)), True
    yield f"  [ {' ; '.join(both)} ] ", True
    yield " ".join(both[1:]) or "()", False
    yield " ".join([*both, *names[:1], "7"]), False
    yield " ".join(both) + " nowhere", False
    yield " ".join(f"{n} {s}9" for n, s in zip(names, sizes, strict=True)), False


@pytest.mark.few(20)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_every_question_is_graded_alike_in_the_app_and_on_a_page(name: str) -> None:
    entry = ncd.catalogue[name]
    term, settings = entry.build(), entry.settings({})
    scene = Scene(entry, settings, 0, "cpu", InputSpec(), False, "names", "", term)
    match = LIVE.search(SizeDependentTexts(of_entry(entry, {}), scene.circuit).script())
    assert match is not None
    page = json.loads(match[1])
    asked = [id for id in page["arrays"] if id in quiz.askable_arrays(scene.circuit)][:12]
    here, there, wanted = list[tuple[Any, ...]](), list[tuple[Any, ...]](), list[bool]()
    for id in asked:
        app = quiz.facts(scene, scene.circuit.values[id])
        for text, right in answers(app["wanted"], app["found"]):
            here.append((text, app["wanted"], app["known"], app))
            there.append((text, id, app["drawn"]))
            wanted.append(right)
    page_script = script("site/static/figure/polynomials.js", GRADING) + ON_A_PAGE
    (others,) = called(page_script, "onAPage", [(page, there)])
    for (text, *_), right, own, other in zip(here, wanted, graded(here), others, strict=True):
        assert own == Verdict(**other), text
        assert own.right == right, (text, own)
