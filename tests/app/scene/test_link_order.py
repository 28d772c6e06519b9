"""Links and messages of several runs, in whatever order they come: the newest counts."""

from __future__ import annotations

from typing import Any

import pytest

from ncd.site.scripts import script
from tests.app.page.test_component_scripts import scripts
from tests.support.javascript import after

LINKS = script("app/scene/url.js")
FRESH = "for (const name of ['Seen', 'Told', 'Links', 'Own']) document[`ncd${name}`] = undefined;"


def test_a_message_with_a_number_is_passed_on_once_and_not_after_a_newer_one() -> None:
    found = after(
        scripts()["ncd_told"],
        FRESH
        + """
        const told = [];
        globalThis.Event = class { constructor(type) { this.type = type; } };
        document.dispatchEvent = ({ type }) => told.push(document.ncdTold[type].text);
        const hear = (text, number, event = "ncd-line", session = "a") =>
          component({ data: { event, text, number, session } });
        hear("first", 1);
        hear("third", 3);
        hear("second", 2);
        hear("third again", 3);
        hear("another kind", 1, "ncd-time");
        hear("drawing", undefined, "ncd-drawn");
        hear("drawing again", undefined, "ncd-drawn");
        hear("of a new session", 1, "ncd-line", "b");
        hear("of the old one", 9, "ncd-line", "a");
        hear("next of the new one", 2, "ncd-line", "b");
        return told;
        """,
    )
    first = ["first", "third", "another kind", "drawing", "drawing again"]
    assert found == [*first, "of a new session", "next of the new one"]


def test_of_links_that_come_at_once_the_newest_is_written() -> None:
    found = after(
        LINKS,
        FRESH
        + """
        const [timers, followed] = [[], []];
        globalThis.setTimeout = (act, wait) => timers.push({ act, wait });
        follow = (query, page) => followed.push([page, query]);
        const keep = (query, number) => keepLink({ query, number, page: "unet", session: "a" });
        keep("x=2", 2);
        keep("x=1", 1);
        keep("x=3", 3);
        const waiting = timers.map(({ wait }) => wait);
        timers[0].act();
        keep("x=4", 4);
        timers[1].act();
        return { waiting, followed, paused: timers[1].wait > 0 && timers[1].wait <= PAUSE };
        """,
    )
    written = [["unet", "x=3"], ["unet", "x=4"]]
    assert found == {"waiting": [0], "followed": written, "paused": True}


@pytest.mark.parametrize(
    ("there", "query", "own", "written"),
    [
        ("/unet?x=1", "x=2&c=3", None, "/unet?x=2&c=3"),
        ("/unet?x=2", "x=2", None, None),  # it is there already
        ("/vit?x=1", "x=2", None, None),  # the page was left
        ("/my-unet?x=1", "x=2", None, None),  # only the whole name is the page
        ("/unet?x=1#steps", "", None, "/unet#steps"),
        ("/unet?present=2&views=a&embed=true&y=1", "x=2", None,
         "/unet?x=2&present=2&views=a&embed=true"),
        ("/unet?with=panel", "with=other", None, "/unet?with=other"),
        ("/unet", "axes=a%2Cb%3Dc", None, "/unet?axes=a,b=c"),
        ("/unet", "x=2", {"page": "unet", "name": "step", "value": "3"}, "/unet?x=2&step=3"),
        ("/unet", "x=2&step=1", {"page": "unet", "name": "step", "value": ""}, "/unet?x=2"),
        ("/unet", "x=2", {"page": "vit", "name": "step", "value": "3"}, "/unet?x=2"),
    ],
)  # fmt: skip
def test_the_state_is_written_to_the_address_of_its_page(
    there: str, query: str, own: dict[str, Any] | None, written: str | None
) -> None:
    before = (
        f"globalThis.location = new URL({there!r}, 'http://host');"
        "globalThis.history = { replaceState: (state, title, to) => (history.to = to) };"
    )
    kept = "null" if own is None else str(own)
    test = f"document.ncdOwn = {kept}; follow({query!r}, 'unet'); return history.to ?? null;"
    assert after(LINKS, test, before) == written
