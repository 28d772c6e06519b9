"""Lessons as data: in a link, in a file, and what is wrong with a bad file."""

from __future__ import annotations

import json

import pytest

from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.torch_code import Arg
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.lessons import lesson
from ncd.systems.lessons.lesson import LETTERS, LINE, MAX_VIEWS, Lesson, LessonStep

LESSON = Lesson(
    (LessonStep("unet", "c=16&panel=Cost", "Twice; 100% #sure? “é”"), LessonStep("lenet"))
)


def test_a_lesson_comes_back_from_a_link_and_a_file() -> None:
    assert Lesson.of_link(str(LESSON), CATALOGUE) == LESSON
    assert Lesson.of_json(LESSON.json(), CATALOGUE) == LESSON


def view(**said: object) -> str:
    return json.dumps({"views": [{"page": "unet", **said}]})


SHAPE = 'Try {"views": [{"page": "unet", "query": "c=8", "says": "Twice the channels."}]}.'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", f"the file is not JSON at line 1, column 2: Expecting property name enclosed in "
         f"double quotes. {SHAPE}"),
        ("[1]", f'a lesson is an object with a list "views". {SHAPE}'),
        ('{"views": {}}', f'a lesson is an object with a list "views". {SHAPE}'),
        ('{"views": []}', "the lesson has 0 views. Try 1 to 40."),
        ("[" * 30_000, f"the file is nested too deep for a lesson. {SHAPE}"),
        ("9" * 20_000, f"the file has a number that no lesson has. {SHAPE}"),
        ("x" * 64_001, "the file has 64,001 letters, at most 64,000 are read. Try fewer views."),
        ('{"views": [7]}', "view 1: 7 is not a view. Try an object with page, query, says."),
        (view(page="unnet"), "view 1: there is no page 'unnet'. Try unet."),
        (view(querry=""), "view 1: there is no field 'querry'. Try query."),
        (view(says=3), "view 1: says is 3, but it is a text."),
        (view(query="h=8;unet"), "view 1: query is 'h=8;unet', but it is the part of an address "
         'after its “?”. Try "h=8&panel=Cost".'),
        (view(query='"><script>'), "view 1: query is '\"><script>', but it is the part of an "
         'address after its “?”. Try "h=8&panel=Cost".'),
        (view(says="a" * 201), "view 1: says has 201 letters, at most 200 are shown. "
         "Try a shorter line."),
    ],
)  # fmt: skip
def test_a_bad_file_is_told_what_is_wrong(text: str, said: str) -> None:
    with pytest.raises(NCDError) as error:
        Lesson.of_json(text, CATALOGUE)
    assert str(error.value) == said


def test_limits() -> None:
    many = Lesson((LessonStep("unet"),) * (MAX_VIEWS + 1))
    with pytest.raises(NCDError, match="the lesson has 41 views"):
        Lesson.of_json(many.json(), CATALOGUE)
    long = Lesson((LessonStep("unet", "", "ü" * LINE),) * MAX_VIEWS)  # six letters each in a link
    with pytest.raises(NCDError, match=f"at most {LETTERS:,} are read"):
        Lesson.of_json(long.json(), CATALOGUE)
    assert len(Lesson.of_link(str(many), CATALOGUE).views) == MAX_VIEWS
    most = Lesson((LessonStep("unet"),) * (MAX_VIEWS - 1) + (LessonStep("unet", "", "a" * LINE),))
    assert Lesson.of_json(most.json(), CATALOGUE) == most
    full = "unet#" + "a" * (LETTERS - 5)  # a line that is too long in a link is cut
    assert Lesson.of_link(full, CATALOGUE).views == (most.views[-1],)
    with pytest.raises(NCDError, match=f"the views have {LETTERS + 1:,} letters"):
        Lesson.of_link(full + "a", CATALOGUE)
    spaced = most.json().ljust(lesson.FILE)
    assert Lesson.of_json(spaced, CATALOGUE) == most
    assert Lesson.of_link("nothing;../x?h=1;;%ff#%ff", CATALOGUE).views == ()


def test_a_lesson_made_from_a_system_asks_about_ops_that_compute() -> None:
    """Not about one that passes arrays on as they are, under other names at most."""
    for name, entry in CATALOGUE.items():
        circuit = elaborate(entry.build(**entry.settings({})))
        makers = {f"ask=shape:{made.id}": cell for cell in circuit.cells for made in cell.outputs}
        for query, _ in lesson._shapes(entry, circuit):
            cell = makers[query]
            calls = cell.expressions
            assert not all(isinstance(call, Arg) for call in calls), (name, cell.op)
