"""Pictures that come late: where a size moves on meanwhile, the newest is the one that is shown."""

from __future__ import annotations

import json

from ncd.app.host import embed_endpoint, ninety_seconds_endpoint
from tests.support.javascript import after

STEPS = [
    {"title": "One", "size": "x", "help": "rows", "first": 1, "start": 2, "words": ["a", "b", "c"],
     "question": "?", "answers": [], "right": 0, "feedback": []},
    {"title": "Two", "size": "c", "help": "columns", "first": 4, "start": 4, "words": ["a"],
     "question": "?", "answers": [], "right": 0, "feedback": []},
]  # fmt: skip
WALK = f"""
element("#steps").textContent = {json.dumps(json.dumps(STEPS))};
globalThis.location = new URL("http://host/90#1");
document.body.dataset = {{ frames: {json.dumps(ninety_seconds_endpoint.FRAME)} }};
globalThis.matchMedia = () => thing({{ matches: false }});
"""
SHOWN = """
const shown = [];
place = () => null;
const size = (value) => {
  sizes[at] = value;
  return draw();
};
const asked = () => addresses().map((own) => /step=(\\d)&size=(\\d)/.exec(own).slice(1).join());
const told = () => `${picture.innerHTML} ${picture.textContent}`.trim();
const answer = (svg) => ({ svg, about: svg, room: [], box: [] });
await settled();
"""


def walked(test: str) -> object:
    script = ninety_seconds_endpoint.SCRIPT.text
    return after(script, SHOWN + test, WALK)


def test_a_picture_of_a_size_before_is_not_shown_after_a_newer_one() -> None:
    found = walked("""
        size(3);
        await requests[1].come(answer("of 3"));
        const first = told();
        await requests[0].come(answer("of 2"));
        return { asked: asked(), first, last: told(), label: figure.dataset.shown };
    """)
    asked = ["1,2", "1,3", "2,4"]  # the next step is asked for before anybody goes there
    assert found == {"asked": asked, "first": "of 3", "last": "of 3", "label": "1 3"}


def test_a_picture_of_the_step_before_is_not_shown_in_the_next_one() -> None:
    found = walked("""
        go(1);
        await requests[0].come(answer("of step 1"));
        const before = told();
        await requests[1].come(answer("of step 2"));
        return { asked: asked(), before, after: told(), label: figure.dataset.shown };
    """)
    asked = ["1,2", "2,4"]
    assert found == {"asked": asked, "before": "", "after": "of step 2", "label": "2 4"}


def test_a_picture_that_came_is_not_asked_for_again_but_one_that_failed_is() -> None:
    found = walked("""
        await requests[0].come({}, 500);
        const failed = told();
        await size(1).catch(() => null, requests[1].fail());
        size(2);
        await requests[2].come(answer("of 2"));
        const good = told();
        size(3);
        size(2);
        await settled();
        return { asked: asked(), failed, good, last: told() };
    """)
    sentence = "The picture did not come. Drag once more."
    assert found["failed"] == sentence and found["good"].startswith("of 2")  # type: ignore[index]
    assert found["asked"] == ["1,2", "1,1", "1,2", "2,4", "1,3"]  # type: ignore[index]


def test_a_failure_of_a_size_before_says_nothing() -> None:
    found = walked("""
        size(3);
        await requests[1].come(answer("of 3"));
        await requests[0].fail();
        return told();
    """)
    assert found == "of 3"


# --- the page in a frame --------------------------------------------------------------------------

FRAME = """
const data = { page: "unet", ask: "x=1&wide=1280", folds: "{}", knobs: "[]" };
Object.assign(document.body.dataset, data);
globalThis.matchMedia = () => thing({ matches: false });
document.documentElement.style.colorScheme = "light";
element(".drawing").querySelector = () => null;
"""
FRAMED = """
const told = () => `${document.querySelector(".told").textContent}`;
let picture = "";
draw = (svg) => (picture = svg);
const asked = () => addresses().map((own) => own.split("?")[1]);
"""


def framed(test: str) -> object:
    return after(embed_endpoint.SCRIPT.text, FRAMED + test, FRAME)


def test_a_frame_asks_for_one_drawing_at_a_time_and_for_the_newest_next() -> None:
    found = framed("""
        for (const x of [2, 3, 4]) want({ x });
        const first = asked();
        await requests[0].come({ svg: "of 2", folds: {} });
        const between = picture;
        await requests[1].come({ svg: "of 4", folds: {} });
        want({ x: 4 });
        return { first, between, asked: asked(), last: picture };
    """)
    asked = ["x=2&wide=1280", "x=4&wide=1280"]
    assert found == {"first": asked[:1], "between": "of 2", "asked": asked, "last": "of 4"}


def test_a_frame_says_why_no_drawing_comes_until_one_does() -> None:
    found = framed("""
        const said = [];
        for (const [x, answer] of [[2, (own) => own.come({}, 422)], [3, (own) => own.fail()],
                                   [4, (own) => own.come({ svg: "of 4", folds: {} })]]) {
          want({ x });
          await answer(requests.at(-1));
          said.push([told(), picture]);
        }
        return said;
    """)
    assert found == [
        ["No diagram fits these sizes.", ""],
        ["The server is away.", ""],
        ["", "of 4"],
    ]


def test_a_frame_asks_for_the_widest_drawing_that_it_has_room_for() -> None:
    found = framed("""
        for (const wide of [1280, 1279, 620, 619, 339, 5000]) {
          want({ wide });
          await requests.at(-1)?.come({ svg: "", folds: {} });
        }
        return addresses().map((own) => new URLSearchParams(own.split("?")[1]).get("wide"));
    """)
    assert found == ["860", "620", "340", "1280"]
