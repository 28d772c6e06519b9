"""What visitors come for, done as it is meant and with chances: for ``tools.load.soak``."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from playwright.async_api import Error, FilePayload

import ncd
from ncd import catalogue
from ncd.systems.tensors.einops_patterns import TEXTS
from ncd.systems.training.tasks import TASKS

if TYPE_CHECKING:
    from tools.load.random_clicks import Visitor

TRAINED = dict.fromkeys(TASKS, "Training") | {
    "mlp-geometry": "Plane and hidden space",
    "module-or-function": "Side by side",
}
HEAVY = {  # too large for a page, and not for the pool
    "multi-head-attention": "y=6000&x=6000&k=4",
    "scaled-dot-product-attention": "y=16000&x=9000",
}
SEARCHES = ["softmax", "k", "attention", "vaswani", "conv", "no such thing", "(", "Q K", "λ"]
UNKNOWN = "nowhere", "nowhere-residuel-blok", "nowhere%20é", "nowhere?h=3&panel=Step"
EMPTY = b"\x08" + bytes(7) + b"{}      "  # of safetensors
FILES: tuple[FilePayload, ...] = (
    {"name": "a.safetensors", "mimeType": "", "buffer": EMPTY},
    {"name": "a.safetensors", "mimeType": "", "buffer": b"no weights"},
    {"name": "a.png", "mimeType": "image/png", "buffer": b"\x89PNG no picture"},
    {
        "name": "a.png",
        "mimeType": "image/png",
        "buffer": ncd.draw(catalogue["lenet"].build()).png(),
    },
)
WALKS = ["ArrowRight", "ArrowRight", "ArrowLeft", "PageDown", "PageUp", "Home", "End"]
LEAVES = ["Escape", "f", "ArrowRight"]


async def some_of(own: Visitor, selector: str, least: int, most: int) -> None:
    """So many clicks on what is there at each time; a list to choose from is chosen from."""
    for _ in range(own.random.randint(least, most)):
        one = await own.some(selector)
        if await one.evaluate("e => e.tagName") == "SELECT":
            count = await one.locator("option").count()
            await one.select_option(index=own.random.randrange(max(count, 1)))
        else:
            await one.click()
        await own.settle()


async def somewhere(own: Visitor) -> None:
    """On the page of a system, if not on one already."""
    if not await own.page.locator('[role="tab"]').count():
        await own.to(own.one_of(tuple(catalogue)))


async def opened(own: Visitor, tab: str) -> None:
    """Opens a panel of the page; raises Error where there is none."""
    await somewhere(own)
    await (await own.some(f'[role="tab"]:has(:text-is("{tab}"))')).click()
    await own.settle()


async def press(own: Visitor, keys: list[str], most: int) -> None:
    for _ in range(own.random.randint(1, most)):
        await own.page.keyboard.press(own.random.choice(keys))


# --- what can be done on every page ---------------------------------------------------------------


async def size(own: Visitor) -> None:
    """A size where it stands, on a chip or a wire: dragged, moved by keys, or typed over."""
    one = await own.some(".chip[data-axis], .drawing .wire[tabindex]")
    way = own.random.randrange(3)
    if way == 0:
        await own.dragged(one)
        return
    await one.focus()
    if way == 1:
        await press(own, ["ArrowUp", "ArrowDown", "ArrowRight", "Shift+ArrowLeft"], 8)
        return
    await own.page.keyboard.type(own.random.choice(("1", "8", "12", "64", "100000", "5x", "007")))
    await own.page.keyboard.press(own.random.choice(("Enter", "Enter", "Tab", "Escape")))


async def steps(own: Visitor) -> None:
    """Forward and backward through the diagram: by buttons, by keys, played."""
    await opened(own, "Step")
    walk = ".ncd.walk"
    for _ in range(own.random.randint(2, 5)):
        await some_of(own, f"{walk} .strip :is(button, select)", 1, 3)
        await own.page.locator(f"{walk} [data-by='1']").focus()
        await press(own, ["ArrowRight", "ArrowRight", "ArrowLeft", "Home", "End"], 6)
        slider = own.page.locator(f"{walk} input[type=range]")
        await slider.fill(own.random.choice(("1", "2", await slider.get_attribute("max") or "1")))
    await asyncio.sleep(own.random.random())


async def cells(own: Visitor) -> None:
    """Cells of a map, and how their numbers came about."""
    with suppress(Error):  # else on whatever panel is open
        await opened(own, "Values")
    for _ in range(own.random.randint(1, 3)):
        if own.random.random() < 0.7:
            await own.pointed(".map .frame")
        else:
            await (await own.some(".map .frame")).focus()
            await press(own, ["ArrowRight", "ArrowDown", "ArrowUp", "+", "-", "0"], 9)
            await own.page.keyboard.press("Enter")
        await own.settle()
        with suppress(Error):
            await some_of(own, ".maps .foot :is(button, [data-pick], [data-select])", 0, 2)
    await own.page.keyboard.press("Escape")


async def quiz(own: Visitor) -> None:
    """Questions on a page, with answers: right ones, parts of them, wrong ones."""
    name = own.one_of(tuple(catalogue))
    await own.to(name, "quiz=1")
    await own.page.locator("form.quiz").wait_for()
    for _ in range(own.random.randint(2, 6)):
        with suppress(Error):  # there is no field once it is answered
            await (await own.some("form.quiz input")).fill(said(own, name))
            await own.page.keyboard.press("Enter")
            await own.settle()
        await some_of(own, "form.quiz :is(button:not([data-do=end]), .chip)", 0, 2)


def said(own: Visitor, name: str) -> str:
    """What is asked for, as far as the address says it, or something else."""
    asked = parse_qs(urlsplit(own.page.url).query).get("select", [""])[0]
    value = ncd.elaborate(catalogue[name].build()).values.get(asked)
    parts = [f"{axis.display_name} {axis.size_text}" for axis in value.array] if value else []
    own.random.shuffle(parts)
    wrong = own.random.choice(("y k", "7", "<b>", "1 2 3 4 5 6 7", ", ,", "9" * 300))
    return own.random.choice((" ".join(parts), " ".join(parts), " ".join(parts[1:]), wrong))


async def pin(own: Visitor) -> None:
    """A setting is pinned, another is beside it, and both are looked at in every way."""
    await opened(own, "Compare")
    acts = ".acts :is(button, select)"
    await (await own.some(".acts button:text('Pin this')")).click()
    await own.settle()
    await own.knob()
    await own.settle()
    await some_of(own, acts, 2, 7)


async def present(own: Visitor) -> None:
    """Views are collected and walked; some are taken along as a file."""
    for _ in range(own.random.randint(1, 3)):
        await somewhere(own)
        await (await own.some(".share .add")).click()
        with suppress(Error):  # no knob can be seen
            await own.random.choice((own.knob, own.tab, own.go))()
        await own.settle()
    await somewhere(own)
    await own.page.locator(".share .present").click()
    await own.settle()
    for _ in range(own.random.randint(1, 4)):
        await press(own, WALKS, 4)
        await own.settle()
        await some_of(own, ".bar :is(button, input):not(.leave)", 0, 2)
    file = own.page.locator(".bar a.file")
    if await file.is_visible():
        await own.download(file)
    await press(own, LEAVES, 3)
    with suppress(Error):  # by a key it is left already
        await own.page.locator(".bar .leave").click()


async def paper(own: Visitor) -> None:
    """The page as it is printed."""
    if not await own.page.pdf():
        own.found.fault("file", "nothing is printed", own.told())


# --- what can be done on some ---------------------------------------------------------------------


async def train(own: Visitor) -> None:
    """A run of training: waited for, stopped, or left."""
    name = own.one_of(tuple(TRAINED))
    await own.to(name, own.random.choice(("steps=100", "steps=3000", "")))
    await opened(own, TRAINED[name])
    await own.page.locator(".st-key-train button").click()
    await asyncio.sleep(10 * own.random.random())
    match own.random.randrange(4):
        case 0:
            await own.page.get_by_role("button", name="Stop", exact=True).click()
        case 1:
            await own.tab()
        case 2:
            await own.knob()


async def einops(own: Visitor) -> None:
    """Lines of einops: right, and wrong by a letter."""
    await own.to(own.one_of(("einops",)), own.random.choice(("asking=off", "")))
    for _ in range(own.random.randint(1, 4)):
        text = own.random.choice(TEXTS)
        if own.random.random() < 0.6:
            at = own.random.randrange(len(text))
            text = text[:at] + own.random.choice(("", " ", "q", "(", "1", '"')) + text[at + 1 :]
        field = own.page.get_by_label("A line of einops")
        await field.fill(text)
        await field.press("Enter")
        await own.settle()
        await some_of(own, ".st-key-panels .ways button", 0, 1)


async def pool(own: Visitor) -> None:
    """A setting that is too large for a page is run in the pool: waited for, cancelled, or left."""
    name = own.one_of(tuple(HEAVY))
    await own.to(name, f"{HEAVY[name]}&panel=Values")
    await own.page.get_by_role("button", name="Run it in the pool").click()
    await asyncio.sleep(8 * own.random.random())
    with suppress(Error):
        await own.page.get_by_role("button", name="Cancel").click(timeout=500)
    await own.random.choice((own.settle, own.wire, own.tab, own.knob))()


async def search(own: Visitor) -> None:
    """Words in the gallery, letter by letter, and a system that they find."""
    await own.to(own.one_of(("",)))
    field = own.page.get_by_role("searchbox", name="Search")
    await field.fill("")
    await field.press_sequentially(own.random.choice(SEARCHES), delay=20)
    await asyncio.sleep(0.3)
    cards = own.page.locator("a:has(.picture):visible")
    if count := await cards.count():
        await cards.nth(own.random.randrange(count)).click()
        await own.settle()
        await own.back()


async def unknown(own: Visitor) -> None:
    """An address that is none of ours, and perhaps on from there."""
    await own.to(own.random.choice(UNKNOWN))
    await (await own.some('[data-testid="stPageLink"] a')).click()
    await own.settle()
    if own.random.random() < 0.5:
        await own.back()


async def twice(own: Visitor) -> None:
    """The same link in a second tab, in which things are done; then on in the first."""
    first = own.page
    own.page = await own.window()
    try:
        await own.page.goto(first.url)
        await own.settle()
        for way in own.random.choices((own.knob, own.tab, own.wire, own.anything), k=3):
            with suppress(Error):
                await way()
            await own.settle()
    finally:
        await own.page.close()
        own.page = first


async def light(own: Visitor) -> None:
    """Dark, or light, while the page is open."""
    scheme: Any = own.random.choice(("dark", "light"))
    await own.page.emulate_media(color_scheme=scheme)


async def give(own: Visitor) -> None:
    """A file for a picture, or for weights, that is neither or is one."""
    await own.to(own.one_of(tuple(TASKS)), own.random.choice(("input=upload", "panel=Training")))
    picker = own.page.locator("input[type=file]").first
    if await picker.count():
        await picker.set_input_files(own.random.choice(FILES))


Errand = Callable[["Visitor"], Awaitable[None]]
ERRANDS: dict[Errand, int] = {
    size: 10, steps: 4, cells: 5, quiz: 3, pin: 4, present: 3, paper: 1, train: 3, einops: 2,
    pool: 2, search: 2, unknown: 1, twice: 2, light: 2, give: 1,
}  # fmt: skip
