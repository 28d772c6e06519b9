"""Answers that come late: the diagram shows what is wanted now, and of the page that is open."""

from __future__ import annotations

from tests.app.page.test_component_scripts import scripts
from tests.support.javascript import after

SCRIPT = scripts()["ncd_diagram"]
# The parts that draw are replaced by lists of what they were given.
MOVED = """
const [shown, learned] = [[], []];
fillPart = () => {};
adapt = () => {};
learn = () => learned.push(host.want);
renew = (host, data) => shown.push(data.ask);
const host = { page: "unet", data: { ask: "x=1&c=2" }, heard: { ask: "x=1&c=2" } };
"""


def moved(test: str) -> object:
    return after(SCRIPT, MOVED + test)


def test_while_a_drawing_is_on_its_way_only_the_newest_size_is_asked_for_next() -> None:
    found = moved("""
        want(host, "x", "2");
        want(host, "x", "3");
        want(host, "c", "4");
        const first = addresses();
        await requests[0].come({ svg: "1" });
        const second = addresses();
        await requests[1].come({ svg: "1" });
        return { first, second, third: addresses(), shown, asking: host.asker.asked, learned };
    """)
    asked = ["./_ncd/unet?x=2&c=2", "./_ncd/unet?x=3&c=4"]
    assert found == {
        "first": asked[:1],
        "second": asked,
        "third": asked,
        "shown": ["x=2&c=2", "x=3&c=4"],
        "asking": None,
        "learned": ["x=2&c=2", "x=3&c=2", "x=3&c=4"],
    }


def test_a_slider_that_is_back_where_it_was_wants_nothing_more() -> None:
    found = moved("""
        want(host, "x", "2");
        want(host, "x", "1");
        await requests[0].come({ svg: "1" });
        const before = host.want;
        await requests[1].come({ svg: "1" });
        return { before, after: host.want, past: host.past, shown };
    """)
    assert found == {
        "before": "x=1&c=2",
        "after": None,
        "past": None,
        "shown": ["x=2&c=2", "x=1&c=2"],
    }


def test_neither_a_size_that_is_none_nor_the_same_one_is_asked_for() -> None:
    found = moved("""
        want(host, "q", "2");
        want(host, "x", "1");
        return [addresses(), host.want ?? null];
    """)
    assert found == [[], None]


def test_what_comes_for_a_page_that_was_left_is_not_shown() -> None:
    found = moved("""
        want(host, "x", "2");
        Object.assign(host, { page: "vit", want: null, data: { ask: "x=7" } });
        want(host, "x", "8");
        await requests[0].come({ svg: "1" });
        const before = [...shown];
        await requests[1].come({ svg: "1" });
        return { before, addresses: addresses(), shown };
    """)
    asked = ["./_ncd/unet?x=2&c=2", "./_ncd/vit?x=8"]
    assert found == {"before": [], "addresses": asked, "shown": ["x=8"]}


def test_what_comes_when_nothing_is_wanted_any_more_is_not_shown() -> None:
    """The run of the page was faster, and has shown all."""
    found = moved("""
        want(host, "x", "2");
        host.want = null;
        await requests[0].come({ svg: "1" });
        return { shown, asking: host.asker.asked };
    """)
    assert found == {"shown": [], "asking": None}


def test_after_an_answer_that_failed_the_next_size_is_asked_for() -> None:
    found = moved("""
        want(host, "x", "2");
        want(host, "x", "3");
        await requests[0].fail();
        want(host, "x", "4");
        await requests[1].come({ svg: "1" }, 422);
        await requests[2].come({ svg: "1" });
        const last = [addresses().length, host.asker.asked];
        want(host, "x", "5");
        return { last, again: addresses()[3], shown };
    """)
    again = "./_ncd/unet?x=5&c=2"
    assert found == {"last": [3, None], "again": again, "shown": ["x=4&c=2"]}


# --- what a run sends -----------------------------------------------------------------------------


def test_a_run_of_an_earlier_size_is_not_shown_until_patience_ends() -> None:
    found = moved("""
        const seen = [];
        const ask = (ask) => seen.push([due(host, { ask }), host.want ?? null]);
        const wanted = () => {
          host.data = { ask: "x=1" };
          host.want = host.past = null;
          for (const x of ["2", "3"]) want(host, "x", x);
        };
        for (const x of [1, 2, 3]) (wanted(), ask(`x=${x}`));
        (wanted(), ask("x=9")); // somebody else has set it, in another part of the page
        (wanted(), (host.until = performance.now() - 1), ask("x=2"));
        return seen;
    """)
    pending = [False, "x=3"]
    assert found == [pending, pending, [True, None], [True, None], [True, None]]


def test_a_message_counts_for_its_page_and_is_completed_by_one_of_the_same_link() -> None:
    found = moved("""
        const heard = (line, time) => {
          document.ncdTold = { "ncd-line": line, "ncd-time": time };
          return latest(host, "ncd-line", "ncd-time")?.cost ?? null;
        };
        const message = (cost, link, page = "unet") => ({ cost, link, page });
        return [
          heard(message("line", "a"), message("time", "a")),
          heard(message("line", "b"), message("time", "a")), // the time of an earlier link
          heard(message("line", "a", "vit"), message("time", "a")),
          heard(message("line", "a"), undefined),
          heard(undefined, undefined),
        ];
    """)
    assert found == ["time", "line", None, "line", None]


def test_the_line_below_is_that_of_the_drawing_above() -> None:
    found = moved("""
        const lines = [];
        fillPart = (host, slot, html) => lines.push(html);
        document.ncdTold = { "ncd-line": { page: "unet", link: "a", cost: "of a" } };
        const told = (own) => {
          lines.length = 0;
          line(Object.assign(host, { want: null, heard: { link: "a" } }, own));
          return [...lines];
        };
        const others = [{ want: "x=2" }, { heard: { link: "b" } }, { page: "vit" }];
        return [told({}), ...others.map(told)];
    """)
    assert found == [["of a"], [], [], []]


def test_an_axis_that_was_locked_before_the_last_click_does_not_come_back() -> None:
    """Each click locks more; the runs in between answer with what was locked then."""
    found = moved("""
        const answered = (axes) => {
          light.asked = ["", "x", "x,y"];
          return [late(axes), light.asked ?? null];
        };
        return [answered(""), answered("x"), answered("x,y"), answered("z")];
    """)
    before = [True, ["", "x", "x,y"]]
    assert found == [before, before, [False, None], [False, None]]


# --- the formulas of the numbers ------------------------------------------------------------------

LEARNED = """
const adapted = [];
panelNow = () => ({ name: "cost" });
adapt = (host) => adapted.push(host.open.chips);
retell = () => {};
texts = (open, sizes) => (open.fits === `${sizes}` ? () => "" : null);
const host = { page: "unet", data: { ask: "x=1" } };
"""


def learned(test: str) -> object:
    return after(SCRIPT, LEARNED + test)


def test_formulas_are_asked_for_once_and_kept_for_their_page() -> None:
    found = learned("""
        learn(host);
        learn(host);
        host.want = "x=2";
        learn(host); // the first ones may do for these sizes, too
        await requests[0].come({ chips: "a", fits: "x=2" });
        learn(host);
        return { addresses: addresses(), adapted, open: host.open, learning: host.learning };
    """)
    assert found == {
        "addresses": ["./_ncd/unet?x=1&scrub=cost"],
        "adapted": ["a"],
        "open": {"chips": "a", "fits": "x=2", "page": "unet", "panelled": "cost"},
        "learning": False,
    }


def test_formulas_of_a_page_that_was_left_are_not_kept() -> None:
    found = learned("""
        learn(host);
        Object.assign(host, { page: "vit", data: { ask: "x=5" } });
        await requests[0].come({ chips: "a", fits: "x=5" });
        const kept = host.open ?? null;
        learn(host);
        await requests[1].come({ chips: "b", fits: "x=5" });
        return { kept, adapted, last: addresses().at(-1), page: host.open.page };
    """)
    last = "./_ncd/vit?x=5&scrub=cost"
    assert found == {"kept": None, "adapted": ["b"], "last": last, "page": "vit"}


def test_formulas_that_did_not_come_are_asked_for_at_the_next_size() -> None:
    found = learned("""
        learn(host);
        await requests[0].fail();
        learn(host); // not again for what has just failed
        host.want = "x=2";
        learn(host);
        await requests[1].come({}, 503);
        host.want = "x=3";
        learn(host);
        return { sizes: addresses().map((own) => own.split("?")[1]), adapted };
    """)
    sizes = [f"x={n}&scrub=cost" for n in (1, 2, 3)]
    assert found == {"sizes": sizes, "adapted": []}


# --- sizes that are dragged -----------------------------------------------------------------------


def test_sizes_that_moved_are_sent_at_rest_one_run_at_a_time_with_the_newest_of_each() -> None:
    found = after(
        SCRIPT,
        """
        const [sent, ends] = [[], []];
        let rest = null;
        globalThis.setTimeout = (act) => ((rest = act), 1);
        ended = () => new Promise((end) => ends.push(end));
        const host = { send: (name, sizes) => sent.push([name, sizes]) };
        for (const x of [2, 3]) push(host, "x", x);
        push(host, "c", 4);
        const moving = [...sent];
        rest();
        const first = [...sent];
        push(host, "x", 9);
        rest();
        const during = sent.slice(1);
        (ends[0](), await settled());
        const next = sent.slice(1);
        (ends[1](), await settled());
        host.heard = { ask: "x=9&c=4" };
        push(host, "x", 9);
        rest();
        return { moving, first, during, next, back: sent.slice(2), running: host.out };
        """,
    )
    assert found == {
        "moving": [],
        "first": [["sizes", {"x": 3, "c": 4}]],
        "during": [],
        "next": [["sizes", {"x": 9}]],
        "back": [],  # what the run at rest has shown already
        "running": False,
    }
