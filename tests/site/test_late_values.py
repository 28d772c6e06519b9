"""Runs on a page without a server: what comes late is not taken for what is shown."""

from __future__ import annotations

from typing import Any

from ncd.site.scripts import script
from ncd.site.site_files import LOADER_JS, RUN_JS
from tests.support.javascript import after

# A worker answers when the test says so; what draws is replaced by a list of what it was given.
PAGE = """
const [sent, workers] = [[], []];
globalThis.Worker = class {
  constructor() { workers.push(this); }
  postMessage(message) { sent.push(message); }
  terminate() { this.ended = true; }
};
document.baseURI = "http://host/unet/";
document.dispatchEvent = () => {};
globalThis.Event = class {};
const task = {
  arrays: { v0: [], v1: [], v2: [] }, inputs: ["v0"], outputs: ["v2"], maps: [], weights: ["W"],
  colours: [], within: {}, exactly: { x: 1 }, stays: {}, said: ["", ""], file: "m.onnx", run: {},
};
const shown = new Map([["x", 1]]);
const START = new Map([["x", 1]]);
const said = [];
const tell = (text) => said.push(text);
const panel = thing();
const cost = { bytes: 1, flops: 1 };
const inputs = () => [{ name: "v0", x: shown.get("x") }];
const writer = () => () => JSON.stringify({ ...cost, inputs: inputs(), windows: [] });
const drawn = [];
"""
LOADING = "Loading the runtime, 4 MB …"
FIGURE = script(
    *(
        f"site/static/figure/{name}.js"
        for name in ("cells", "elements", "highlight", "polynomials", "sizes", "theme")
    )
)
BEGUN = """
show_results = () => drawn.push(last.values.out0.data);
const move = (x) => (shown.set("x", x), heard.sizes());
const come = async (number, found) => {
  workers.at(-1).onmessage({ data: { number, ms: 2, values: { out0: { data: found }, v0: {} } } });
  await settled();
};
const refuse = async (number, error) => {
  workers.at(-1).onmessage({ data: { number, error } });
  await settled();
};
const sizes = () => sent.map(({ inputs }) => inputs[0].x);
"""


def begun(test: str) -> Any:
    return after(FIGURE + RUN_JS, BEGUN + test, PAGE)


def test_sizes_that_move_during_a_run_are_run_once_after_it_and_it_is_not_shown() -> None:
    found = begun("""
        heard.run();
        for (const x of [2, 3, 4]) move(x);
        const during = sizes();
        await come(1, "of 1");
        const between = [...drawn];
        await come(2, "of 4");
        return { during, between, sizes: sizes(), drawn, busy };
    """)
    assert found == {
        "during": [1],
        "between": [],
        "sizes": [1, 4],
        "drawn": ["of 4"],
        "busy": False,
    }


def test_before_the_first_run_sizes_run_nothing() -> None:
    assert begun("move(2); return sent.length;") == 0


def test_values_on_the_wires_are_those_of_one_run() -> None:
    assert begun("heard['show-run'](); heard['show-run'](); return sizes();") == [1]


def test_what_runs_a_system_is_loaded_once_and_then_told_what_to_do() -> None:
    page = """
    const later = Promise.resolve({ task: {} });
    const moved = () => true;
    const told = [];
    elements[".run"] = thing({
      querySelector: () => ({ addEventListener: (_, heed) => (heard.go = heed) }),
    });
    """
    test = """
    const [scripts, come] = [[], async () => (scripts.at(-1).onload(), await settled())];
    document.createElement = () => (scripts.push(thing()), scripts.at(-1));
    document.dispatchEvent = ({ type }) => told.push(type);
    for (const event of ["sizes", "unvalued", "go"]) heard[event]();
    await settled();
    const before = [...told];
    await come();
    return { before, told: told.sort(), scripts: scripts.length };
    """
    assert after(LOADER_JS, test, page) == {
        "before": [],
        "told": ["run", "show-run"],
        "scripts": 1,
    }


def test_an_answer_is_that_of_its_question() -> None:
    found = begun("""
        run();
        await come(1, "of 1");
        const first = values_of(["v1"]);
        const second = values_of(["W"]);
        await settled();
        workers[0].onmessage({ data: { number: 3, values: { W: "weight" } } });
        workers[0].onmessage({ data: { number: 2, values: { v1: "array" } } });
        const [one, two] = await Promise.all([first, second]);
        await values_of(["v0", "v1", "W", "v9"]); // known, or none that a model gives
        return { wanted: sent.map(({ wanted }) => wanted), kept: [one.v1, two.W] };
    """)
    assert found == {"wanted": [["v0", "out0"], ["v1"], ["W"]], "kept": ["array", "weight"]}


def test_values_of_a_run_before_are_not_kept_with_those_of_the_next() -> None:
    found = begun("""
        run();
        await come(1, "of 1");
        const before = values_of(["v1"]);
        move(2);
        await come(3, "of 2");
        workers[0].onmessage({ data: { number: 2, values: { v1: "of 1" } } });
        const late = await before;
        return { late: late.v1, kept: last.values.v1 ?? null, same: late === last.values };
    """)
    assert found == {"late": "of 1", "kept": None, "same": False}


def test_a_size_that_cannot_run_leaves_out_what_was_under_way() -> None:
    found = begun("""
        run();
        cost.flops = MOST_FLOPS + 1;
        move(2);
        cost.flops = MOST_FLOPS;
        await come(1, "of 1");
        const between = [...drawn];
        await come(2, "of 2");
        return { between, drawn, said: said.slice(1) };
    """)
    too = "At these sizes it takes 20 GFLOPs, and 20 GFLOPs are the most in a "
    assert found == {
        "between": [],
        "drawn": ["of 2"],
        "said": [f"{too}browser. Smaller sizes run here.", "Ran in this browser, in 2 ms."],
    }


def test_a_run_that_failed_leaves_nothing_waiting_and_the_next_one_works() -> None:
    """Values that were asked for fail with it, and its runtime is loaded anew."""
    found = begun("""
        run();
        await come(1, "of 1");
        move(2);
        const values = values_of(["v1"]);
        await refuse(3, "no memory");
        await values;
        const [idle, ended] = [busy, workers[0].ended];
        run();
        await come(4, "of 2");
        return { idle, ended, workers: workers.length, drawn, said: said.slice(2) };
    """)
    assert found == {
        "idle": False,
        "ended": True,
        "workers": 2,
        "drawn": ["of 1", "of 2"],
        "said": ["It did not run: no memory.", LOADING, "Ran in this browser, in 2 ms."],
    }


def test_after_a_run_that_failed_the_sizes_that_are_wanted_by_then_are_run() -> None:
    found = begun("""
        run();
        move(2);
        await refuse(1, "no memory");
        await come(2, "of 2");
        return { sizes: sizes(), drawn, busy, again };
    """)
    assert found == {"sizes": [1, 2], "drawn": ["of 2"], "busy": False, "again": False}


def test_a_runtime_that_cannot_be_loaded_is_told_to_all_that_wait() -> None:
    found = begun("""
        run();
        await come(1, "of 1");
        const values = [values_of(["v1"]), values_of(["W"])];
        workers[0].onerror();
        await Promise.all(values);
        return said.at(-1);
    """)
    assert found == "It did not run: the runtime could not be loaded from this host."


WALK = """
shine = () => {};
steps = ["v1", "W"].map((id) => ({ place: thing(), takes: [], makes: [id], weights: [] }));
part = (...own) => own;
array_figure = (id, values) => drawn.push(values[id]);
const give = (number, values) => (workers[0].onmessage({ data: { number, values } }), settled());
"""


def walked(test: str) -> Any:
    return begun(WALK + test)


def test_a_step_shows_the_values_of_the_run_that_is_shown() -> None:
    """The walk may ask for more values of a run that another one has replaced by then."""
    found = walked("""
        run();
        await come(1, "of 1");
        walk.at = 1;
        show_step(1); // asks for v1 of the first run
        await settled();
        move(2);
        await come(3, "of 2");
        show_step(1); // as the page does after every run
        await settled();
        drawn.length = 0;
        await give(4, { v1: "of the second" });
        await give(2, { v1: "of the first" });
        return drawn;
    """)
    assert found == ["of the second"]


def test_values_of_a_step_that_was_left_are_not_shown_in_the_next_one() -> None:
    found = walked("""
        run();
        await come(1, "of 1");
        for (walk.at of [1, 2]) show_step(walk.at);
        await settled();
        drawn.length = 0;
        await give(2, { v1: "of step 1" });
        await give(3, { W: "of step 2" });
        return drawn;
    """)
    assert found == ["of step 2"]
