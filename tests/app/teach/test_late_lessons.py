"""Lessons, links and files of views whose answers come late, or in another order."""

from __future__ import annotations

from typing import Any

from tests.app.page.test_component_scripts import scripts
from tests.support.javascript import after

SCRIPT = scripts()["ncd_present"]
# What shows and moves a presentation is replaced by a list of what it was to do.
PRESENTED = """
globalThis.location = new URL("http://host/unet");
const open = (address) => (globalThis.location = new URL(address, "http://host/"));
const done = [];
for (const name of ["screen", "store", "sync"]) globalThis[name] = () => {};
screen = store = sync = () => {};
write = (host, change) => done.push(["write", change]);
go = (host, at) => done.push(["go", at, host.views.map(({ name }) => name)]);
say = (host, words) => done.push(["say", words]);
const file = (text) => ({ size: text.length, text: async () => text });
const pages = { unet: "U-Net", vit: "ViT" };
const host = { pages, views: [], on: false, find: () => thing() };
"""


def presented(test: str) -> Any:
    return after(SCRIPT, PRESENTED + test)


def test_a_lesson_is_asked_for_once_and_presented() -> None:
    found = presented("""
        learn(host);
        learn(host);
        const asked = addresses();
        await requests[0].come({ views: "unet;vit" });
        return { asked, done, learning: host.learning };
    """)
    assert found == {
        "asked": ["./lesson.json?of=unet"],
        "done": [["go", 1, ["unet", "vit"]]],
        "learning": False,
    }


def test_a_lesson_of_a_page_that_was_left_is_not_presented() -> None:
    found = presented("""
        learn(host);
        open("/vit?text=a+b");
        await requests[0].come({ views: "unet" });
        const left = [...done];
        learn(host);
        await requests[1].come({ views: "vit" });
        return { left, asked: addresses()[1], done };
    """)
    asked = "./lesson.json?of=vit&text=a%20b"
    assert found == {"left": [], "asked": asked, "done": [["go", 1, ["vit"]]]}


def test_a_presenter_that_has_ended_presents_nothing() -> None:
    found = presented("""
        learn(host);
        unpack(host, "z.one");
        take(host, { files: [file("unet")], value: "a" });
        await settled();
        host.ended = true;
        open("/unet?views=z.one");
        for (const each of requests) await each.come({ views: "unet" });
        return [requests.length, done];
    """)
    assert found == [3, []]


def test_a_lesson_that_did_not_come_is_told_and_may_be_asked_for_again() -> None:
    found = presented("""
        learn(host);
        await requests[0].come({}, 500);
        learn(host);
        host.on = true;
        await requests[1].fail();
        return done;
    """)
    sentence = ["say", "The lesson did not come. Try again."]
    assert found == [sentence, ["write", {"present": 1}], sentence]


def test_of_two_packed_links_the_one_in_the_address_is_unpacked() -> None:
    found = presented("""
        open("/unet?views=z.one");
        unpack(host, "z.one");
        unpack(host, "z.one");
        open("/unet?views=z.two");
        unpack(host, "z.two");
        await requests[0].come({ views: "unet" });
        unpack(host, "z.two"); // it is on its way still
        await requests[1].come({ views: "vit" });
        return { asked: requests.map(({ body }) => body), done };
    """)
    assert found == {"asked": ["z.one", "z.two"], "done": [["write", {"views": "vit"}]]}


def test_a_packed_link_that_is_wrong_is_taken_out_of_the_address() -> None:
    found = presented("""
        open("/unet?views=z.one");
        unpack(host, "z.one");
        await requests[0].come({ error: "It is cut off." });
        unpack(host, "z.one");
        await requests[1].fail();
        return done;
    """)
    gone = ["write", {"views": None}]
    server = ["say", "The server did not answer. Try again."]
    assert found == [["say", "It is cut off."], gone, server, gone]


def test_of_two_files_the_one_that_was_opened_last_is_presented() -> None:
    found = presented("""
        take(host, { files: [file("first")] });
        await settled();
        take(host, { files: [file("second")] });
        await settled();
        await requests[1].come({ views: "vit" });
        await requests[0].come({ views: "unet" });
        return { asked: requests.map(({ body }) => body), done };
    """)
    assert found == {"asked": ["first", "second"], "done": [["go", 1, ["vit"]]]}


def test_a_file_that_is_too_long_is_refused_by_the_server_without_being_sent() -> None:
    found = presented("""
        const sent = [];
        for (const length of [64000, 64001]) {
          take(host, { files: [file("x".repeat(length))] });
          await settled();
          sent.push(requests.at(-1).body.trim()[0], requests.at(-1).body.length);
        }
        take(host, { files: [] });
        return [...sent, requests.length];
    """)
    assert found == ["x", 64000, "{", 64002, 2]
