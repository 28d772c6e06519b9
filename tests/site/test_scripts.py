"""Scripts as modules, joined to one text; and the figure's functions that every host calls."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncd.site.document import DOCUMENT_JS
from ncd.site.scripts import PACKAGE, exports, imports, script
from tests.support.javascript import after, called

FIGURE = "site/static/figure"
SIZES, CELLS, FORMS = (f"{FIGURE}/{name}.js" for name in ("sizes", "cells", "size_form"))
MODULES = [*PACKAGE.rglob("*.js")]


def module(folder: Path, name: str, text: str) -> str:
    (folder / name).write_text(text)
    return str(folder / name)  # an absolute path stays as it is


def test_modules_come_once_and_after_what_they_import(tmp_path: Path) -> None:
    module(tmp_path, "a.js", "export const a = [1];\n")
    module(tmp_path, "b.js", 'import { a } from "./a.js";\n\nexport const b = [...a, 2];\n')
    last = module(
        tmp_path,
        "c.js",
        'import { a } from "./a.js";\nimport { b } from "./b.js";\n\n'
        "const both = (more) => [a, b, more];\n",
    )
    assert called(script(last), "both", [[3]]) == [[[1], [1, 2], 3]]
    assert script(last, loaded=[str(tmp_path / "b.js")]) == (
        "\nconst both = (more) => [a, b, more];\n"
    )


def test_modules_may_import_each_other(tmp_path: Path) -> None:
    module(
        tmp_path,
        "even.js",
        'import { odd } from "./odd.js";\n\n'
        "export function even(n) {\n  return n === 0 || odd(n - 1);\n}\n",
    )
    first = module(
        tmp_path,
        "odd.js",
        'import { even } from "./even.js";\n\n'
        "export function odd(n) {\n  return n !== 0 && even(n - 1);\n}\n",
    )
    assert called(script(first), "odd", [[3], [4]]) == [True, False]
    second = module(tmp_path, "twice.js", 'import { odd } from "./odd.js";\n\nlet n = odd(1);\n')
    assert script(second) == script(first) + "\nlet n = odd(1);\n"
    assert re.findall(r"function (\w+)", script(first, second)) == ["even", "odd"]


def test_a_name_that_is_not_there_or_there_twice_is_an_error(tmp_path: Path) -> None:
    module(tmp_path, "a.js", "const hidden = 1;\nexport const a = 2;\n")
    lost = module(tmp_path, "b.js", 'import { hidden } from "./a.js";\n')
    with pytest.raises(ImportError, match=re.escape("b.js: a.js exports no hidden")):
        script(lost)
    twice = module(tmp_path, "c.js", 'import { a } from "./a.js";\n\nconst hidden = a;\n')
    with pytest.raises(ImportError, match=re.escape("c.js and a.js both declare hidden")):
        script(twice)


def test_every_export_is_imported_somewhere() -> None:
    taken = {(other, name) for file in MODULES for other, own in imports(file) for name in own}
    left = {
        f"{file.name}: {name}"
        for file in MODULES
        for name in exports(file)
        if (file, name) not in taken
    }
    assert not left


def test_the_sizes_of_a_page_begin_after_its_diagram() -> None:
    """They import each other, and only one of them may use the other while it begins."""
    assert DOCUMENT_JS.index("const host = connect(") < DOCUMENT_JS.index("scrub(host.box,")


# --- sizes


RANGE = {"min": 1, "max": 64, "step": 4, "least": 3, "most": 1000, "multiple": 4}


def test_a_size_is_the_nearest_legal_one() -> None:
    asked = [(RANGE, value) for value in (-5, 1, 5, 6, 10, 63, 999, 5000)]
    assert called(script(SIZES), "legal", asked) == [4, 4, 4, 8, 12, 64, 1000, 1000]


def test_what_is_typed_becomes_a_legal_size_or_says_why_not() -> None:
    size = {**RANGE, "name": "n1", "limits": "a multiple of 4, 4 or more"}
    asked = [(size, text, 8) for text in ("12", " 1,000 ", "5", "many", "")]
    found = called(script(SIZES), "readSize", asked)
    assert [each["value"] for each in found] == [12, 1000, 4, 8, 8]
    assert [each["note"] for each in found] == [
        "",
        "",
        "n₁ cannot be 5: it is a multiple of 4, 4 or more. The nearest is 4.",
        "“many” is no whole number. n₁ is 8.",
        "“” is no whole number. n₁ is 8.",
    ]


def test_steps_stay_within_the_slider_or_where_the_size_was() -> None:
    asked = [(RANGE, from_, steps) for from_, steps in ((8, 1), (8, -9), (60, 9), (400, 9))]
    assert called(script(SIZES), "stepped", asked) == [12, 4, 64, 400]


def test_a_drag_is_a_click_up_to_four_pixels_and_ten_times_as_far_with_shift() -> None:
    moves = """
function steps(all) {
  const held = { x: 100 };
  return all.map(([clientX, shiftKey]) => {
    const found = dragSteps(held, { clientX, shiftKey }, { min: 0, max: 80, step: 1 });
    held.on ||= found !== null;
    return found;
  });
}
"""
    ways = [[[103, False], [108, False], [96, False], [104, True]]]
    assert called(script(SIZES) + moves, "steps", [ways]) == [[None, 2, -1, 19]]


FORM = (Path(__file__).parents[1] / "support" / "form_without_browser.js").read_text()


def test_a_size_is_a_slider_with_a_field_a_switch_a_choice_or_its_value_alone() -> None:
    every, some = called(
        script(FORMS) + FORM, "formed", [[{}, ""], [{"h": 1024, "c": 1, "w": 0}, ""]]
    )
    slider, switch, choice, beyond = every["rows"]
    assert slider == ["input range 4 16", "input text 4"] and every["wrong"]
    assert switch == ["input checkbox 1 true"] and choice == ["select 1 a,b"]
    assert beyond == ["input range 20 20", "input text 20"]  # the slider reaches as far
    assert some["rows"][:3] == ["h heads1,024 fixed", "c on fixed", "w a fixed"]


def test_a_field_takes_legal_sizes_while_they_are_typed_and_says_what_is_not() -> None:
    typed, moved = called(script(FORMS) + FORM, "formed", [[{}, "typed"], [{}, "key"]])
    assert typed["values"]["h"] == 99 and moved["values"]["h"] == 14
    assert typed["said"] == ["h cannot be 120: it goes from 1 to 99. The nearest is 99."]


# --- the quiz


@pytest.mark.parametrize(
    ("ends", "score"),
    [
        ([], ""),
        (["right"], "1 of 1 at the first try"),
        (["right", "later"], "1 of 2 at the first try"),
        (["shown", "right", "shown"], "1 of 3 at the first try, 2 shown"),
    ],
)
def test_the_score_counts_first_tries(ends: list[str], score: str) -> None:
    assert called(script(f"{FIGURE}/quiz.js"), "score", [[ends]]) == [score]


# --- a walk


def test_a_walk_stays_within_its_steps_and_goes_to_the_next_that_makes_an_array() -> None:
    found = after(
        script(f"{FIGURE}/walk.js"),
        """
        const shown = [];
        const missing = 4;
        const show = (at) => (at === missing ? undefined : (shown.push(at), `step ${at}`));
        const walk = walkIn(thing(), show);
        walk.stops = [["v0"], ["n1", "v1"], ["n2", "v1"], ["v9"]];
        for (const to of [-3, 99]) stepTo(walk, to);
        const met = ["v1", "v1", "v1", "v7"].map((id) => meetStep(walk, id));
        return { shown, met, at: walk.at };
        """,
    )
    assert found == {"shown": [1, 2, 3, 2], "met": [True, True, True, False], "at": 2}


# --- colours


def test_a_scale_begins_and_ends_with_its_colours_and_masked_numbers_have_none() -> None:
    (colours,) = called(script(CELLS), "shades", [["000000 ff0000 ffffff"]])
    assert len(colours) == 256 and colours[0] == [0, 0, 0] and colours[-1] == [255, 255, 255]
    assert [round(channel) for channel in colours[64]] == [128, 0, 0]
    scale = [[n] for n in range(256)]
    asked = [(scale, value, -1, 1) for value in (-3, -1, 0, 1, 9, None)]
    assert called(script(CELLS), "shade", asked) == [[0], [0], [128], [255], [255], None]
