"""A visitor who clicks at random on everything, for ``tools.load.soak``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from urllib.parse import urlencode

from playwright.async_api import Browser, BrowserContext, Error, Locator, Page, Route

from ncd import catalogue
from tools.load.errands import ERRANDS
from tools.load.session_faults import EXPECTED, Found

PAGES = ("", "legend", *catalogue)
STUCK, LOOK = 90.0, 0.2  # seconds in which a run is to end, and between two looks at it
STEP = 8_000  # milliseconds for one click
WINDOWS = ((1280, 720), (1440, 900), (400, 800))
SLIDERS = '[role="slider"], input[type="range"]'
IDLE = '.stApp[data-test-connection-state="CONNECTED"]:not([data-test-script-state="running"])'
DISABLED = ':disabled, [aria-disabled="true"]'
FIELDS = 'input[type="text"], input[type="number"], input:not([type]), textarea'
# Whatever may be clicked or focused; all but what leaves the page or asks the machine for a file.
ANYTHING = (
    'button, a[href], summary, select, label, [role="button"], [role="tab"], [role="radio"], '
    '[role="checkbox"], [role="switch"], [role="option"], [role="combobox"], [role="link"], '
    '[tabindex="0"], input[type="checkbox"], input[type="radio"], canvas, img, td'
)
NUMBERS = "1 2 7 64 0 -3 1e9 2.5 null k*h ../.. <b>x</b>"
WORDS = "", " ", "9" * 400, "é x̄ 😀", "y 20 k 16", "the cat sat on the mat", "' or 1=1 --"
ARROWS = "ArrowLeft ArrowRight ArrowUp ArrowDown Home End PageUp PageDown"
OTHERS = "Tab Tab Tab Tab Shift+Tab Shift+ArrowRight Enter Enter Space Escape"
LINKS = (
    "panel select axes folded labels seed head call slices level input quiz step pin present "
    "h k m y x b n nonsense"
)
MEANT = (
    "quiz=1 present=1 step=3 step=back2 panel=Step panel=Compare panel=Values panel=Source "
    "pin=h=2,k=8 pin=k=4 labels=both labels=sizes callouts=off seed=7 h=2 k=8 m=64 axes=k"
)
TYPED, KEYS = (*NUMBERS.split(), *WORDS), (*ARROWS.split(), *OTHERS.split())


@dataclass
class Visitor:
    """One browser window, and what was done in it."""

    name: int
    address: str
    pages: tuple[str, ...]
    random: Random
    found: Found
    context: BrowserContext = field(init=False)
    page: Page = field(init=False)
    last: list[str] = field(default_factory=list)

    async def visit(self, browser: Browser, end: float, things: int) -> None:
        """Does one thing after the other until the time is ``end``, or so many are done."""
        while time.monotonic() < end and things > 0:
            width, height = self.random.choice(WINDOWS)
            scheme = self.random.choice(("light", "dark"))
            context = await browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if scheme == "dark" else "light",
                permissions=["clipboard-read", "clipboard-write"],
            )
            context.set_default_timeout(STEP)
            context.set_default_navigation_timeout(1000 * STUCK)
            try:
                await self.open(context)
                for _ in range(min(things, self.random.randint(20, 80))):
                    if time.monotonic() < end:
                        things -= 1
                        await self.act()
            except Exception as error:  # the visitor's own window: it is opened anew
                self.found.fault("window", repr(error), self.told())
            with suppress(Error):
                await context.close()

    async def open(self, context: BrowserContext) -> None:
        """A window on some page."""
        await context.route(lambda url: not url.startswith(self.address), self.elsewhere)
        self.context = context
        self.page = await self.window()
        await self.go()

    async def window(self) -> Page:
        """Another tab, from which all that goes wrong is heard."""
        fault, page = self.found.fault, await self.context.new_page()
        page.on("pageerror", lambda e: fault("script", f"{e.message} {e.stack}", self.told()))
        page.on("crash", lambda _: fault("browser", "the page crashed", self.told()))
        page.on("console", lambda m: self.heard(m.type, f"{m.text} ({m.location.get('url')})"))
        page.on("dialog", lambda dialog: dialog.accept())
        page.on("popup", lambda other: other.close())
        page.on("requestfailed", lambda r: self.heard("request", f"{r.url} {r.failure}"))
        page.on("response", lambda r: self.answered(r.status, r.url))
        return page

    async def elsewhere(self, route: Route) -> None:
        """A link out of the app leads nowhere here."""
        await route.fulfill(status=204)

    def heard(self, kind: str, words: str) -> None:
        if kind in ("error", "request") and not EXPECTED.search(words):
            self.found.fault("console" if kind == "error" else kind, words, self.told())

    def answered(self, status: int, url: str) -> None:
        if status >= 400 and "/nowhere" not in url:
            self.found.fault("answer", f"{status} {url}", self.told())

    def told(self) -> str:
        """Where the visitor is, and how they came there."""
        return f"visitor {self.name} at {self.page.url}, after {' · '.join(self.last[-8:])}"

    async def act(self) -> None:
        """One random thing, and what came of it."""
        ways = (
            (self.go, 4), (self.link, 3), (self.knob, 18), (self.tab, 14), (self.wire, 10),
            (self.cell, 14), (self.anything, 18), (self.type, 7), (self.keys, 10), (self.back, 3),
            (self.reload, 2), (self.take, 3), (self.drag, 6), (self.resize, 2),
            (self.errand, sum(ERRANDS.values())),
        )  # fmt: skip
        way = self.random.choices([own for own, _ in ways], [weight for _, weight in ways])[0]
        await self.tried(way.__name__, way)
        if self.random.random() < 0.7:
            await self.settle()

    async def errand(self) -> None:
        """What a visitor comes for, as far as it is there."""
        own = self.random.choices([*ERRANDS], [*ERRANDS.values()])[0]
        await self.tried(own.__name__, partial(own, self))

    async def tried(self, name: str, way: Callable[[], Awaitable[None]]) -> None:
        self.note(name)
        self.found.tried[name] += 1
        with suppress(Error):  # gone, covered or outside of the window: another is tried
            await way()
            self.found.done[name] += 1

    async def settle(self) -> None:
        """Waits for the run to end; what it shows is looked through."""
        page = self.page
        await asyncio.sleep(LOOK)
        for _ in range(round(STUCK / LOOK)):  # while this process is stopped no time passes
            if await page.locator(IDLE).count():
                break
            await asyncio.sleep(LOOK)
        else:
            self.found.fault("stuck", f"the run does not end in {STUCK:.0f} s", self.told())
            await page.goto(self.address)
        for kind in ("stException", "stDialog"):
            for words in await page.get_by_test_id(kind).all_inner_texts():
                self.found.fault(kind, words, self.told())
                await page.goto(self.address)

    def note(self, words: str) -> None:
        self.last.append(words)
        del self.last[:-20]

    async def some(self, selector: str) -> Locator:
        """One of the elements that can be used, at random; raises Error if there is none."""
        found = self.page.locator(f":is({selector}):not({DISABLED}):visible")
        count = await found.count()
        if not count:
            raise Error("nothing of the kind")
        one = found.nth(self.random.randrange(count))
        self.note(str(await one.evaluate(NAME)))
        return one

    def one_of(self, names: Sequence[str]) -> str:
        """One of these pages, of those that are visited at all; raises Error if there is none."""
        every = [name for name in names if name in self.pages]
        if not every:
            raise Error("no such page")
        return self.random.choice(every)

    async def to(self, name: str, query: str = "") -> None:
        """A page by its address."""
        self.note(f"/{name}?{query[:200]}")
        await self.page.goto(f"{self.address}/{name}{query and '?'}{query}")
        await self.settle()

    # --- what visitors do --------------------------------------------------------------------

    async def go(self) -> None:
        await self.to(self.random.choice(self.pages))

    async def link(self) -> None:
        if self.random.random() < 0.6:
            query = "&".join(self.random.sample(MEANT.split(), self.random.randint(1, 4)))
        else:
            names = self.random.sample(LINKS.split(), self.random.randint(1, 4))
            query = urlencode({name: self.random.choice(TYPED) for name in names})
        await self.to(self.random.choice(self.pages), query)

    async def knob(self) -> None:
        slider = await self.some(SLIDERS)
        await slider.focus()
        for _ in range(self.random.randint(1, 5)):
            await self.page.keyboard.press(self.random.choice(ARROWS.split()))

    async def tab(self) -> None:
        await (await self.some('[role="tab"]')).click()

    async def wire(self) -> None:
        await self.pointed(".drawing [data-node], .drawing [data-array], .drawing [data-fence]")

    async def cell(self) -> None:
        await self.pointed(".st-key-panels :is(svg, img, canvas, td, th, pre, [data-array])")

    async def anything(self) -> None:
        await self.pointed(ANYTHING)

    async def pointed(self, selector: str) -> None:
        """Somewhere in an element: passed over, clicked, or entered."""
        one = await self.some(selector)
        await one.scroll_into_view_if_needed()
        box = await one.bounding_box()
        if box is None:
            return
        x = box["x"] + box["width"] * self.random.random()
        y = box["y"] + box["height"] * self.random.random()
        await self.page.mouse.move(x, y, steps=3)
        match self.random.randrange(8):
            case 0:
                await self.page.mouse.dblclick(x, y)
            case 1:
                await one.press("Enter")
            case 2:
                pass
            case _:
                await self.page.mouse.click(x, y)

    async def type(self) -> None:
        one, text = await self.some(FIELDS), self.random.choice(TYPED)
        self.note(repr(text[:30]))
        await one.click()
        await self.page.keyboard.press("Control+a")
        await self.page.keyboard.insert_text(text)
        await self.page.keyboard.press(self.random.choice(("Enter", "Tab", "Escape")))

    async def keys(self) -> None:
        for _ in range(self.random.randint(1, 12)):
            key = self.random.choice(KEYS)
            self.note(key)
            await self.page.keyboard.press(key)

    async def back(self) -> None:
        way = self.random.choice((self.page.go_back, self.page.go_back, self.page.go_forward))
        await way(timeout=STEP)
        if self.page.url == "about:blank":
            await self.go()

    async def reload(self) -> None:
        await self.page.reload()

    async def take(self) -> None:
        """A file, of the open panel or of the menu."""
        with suppress(Error):  # it is open, or there is none here
            await (await self.some('.st-key-export [aria-expanded="false"]')).click()
            await self.page.get_by_text("Drawing, SVG").wait_for()
        await self.download(await self.some('[data-testid="stDownloadButton"] button'))

    async def download(self, one: Locator) -> None:
        """A file, which is not to be empty."""
        async with self.page.expect_download(timeout=60_000) as download:
            await one.click()
        file = await download.value
        if not Path(await file.path()).stat().st_size:
            self.found.fault("file", f"{file.suggested_filename} is empty", self.told())

    async def drag(self) -> None:
        """What can be drawn along, such as a slider's thumb, or drawn on."""
        await self.dragged(await self.some(f"{SLIDERS}, .drawing text, canvas, [data-axis]"))

    async def dragged(self, one: Locator) -> None:
        """From its middle to somewhere beside it."""
        box = await one.bounding_box()
        if box is None:
            return
        await self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        await self.page.mouse.down()
        width, height = self.random.randint(-200, 200), self.random.randint(-20, 20)
        await self.page.mouse.move(box["x"] + width, box["y"] + height, steps=12)
        await self.page.mouse.up()

    async def resize(self) -> None:
        width, height = self.random.choice(WINDOWS)
        await self.page.set_viewport_size({"width": width, "height": height})


NAME = """e => [e.tagName.toLowerCase(), e.getAttribute("aria-label") || e.textContent?.trim()]
  .join(" ").slice(0, 60)"""
