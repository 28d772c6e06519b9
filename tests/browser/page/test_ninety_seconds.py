"""A newcomer reads in 90 seconds, by keys and by taps, on a phone and a projector; then alone."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from ncd.systems.lessons.ninety_seconds import STEPS, StepGuess
from tests.browser.test_axe import found as axe_faults
from tests.browser.waits import location, quiet

pytestmark = pytest.mark.browser

PHONE: ViewportSize = {"width": 390, "height": 844}
WINDOWS: tuple[ViewportSize, ...] = (
    {"width": 1280, "height": 720},
    {"width": 1440, "height": 900},
    {"width": 1920, "height": 1080},
)
LAST = len(STEPS)
SMALLEST = """() => Math.min(...[...document.querySelectorAll("body *")]
  .filter((e) => [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .filter((e) => e.checkVisibility() && !e.closest("script, style, title, desc"))
  .map((e) => parseFloat(getComputedStyle(e).fontSize) * (e.getScreenCTM?.().a ?? 1)))"""
OVERFLOW = """() => [...document.querySelectorAll("html, body, main, section, nav, header")]
  .filter((e) => e.checkVisibility())
  .filter((e) => e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1)
  .map((e) => e.className || e.tagName)"""
PLACES = """() => [".says", "figure", ".drag", ".question", ".answers", ".feedback", "nav"]
  .map((name) => document.querySelector(name).getBoundingClientRect())
  .map(({ x, y, width, height }) => [x, y, width, height].map(Math.round))"""
WIRE = """() => { const { x, y } = document.querySelector(".picture .wire path")
  .getBoundingClientRect(); return [x, y].map(Math.round); }"""


def shows(page: Page, number: int, size: int | None = None) -> None:
    """Waits until the picture of a step is there."""
    size = STEPS[number - 1].start if size is None else size
    expect(page.locator("figure")).to_have_attribute("data-shown", f"{number} {size}")


def plain(words: str) -> str:
    return words.replace("*", "")


def check_guess(page: Page, guess: StepGuess, chosen: int) -> None:
    """The chosen answer has its own sentence, and the right one is marked."""
    mark = "right" if chosen == guess.answer_index else "wrong"
    expect(page.get_by_role("status")).to_have_text(plain(guess.feedback[chosen]))
    buttons = page.locator(".answers button")
    expect(buttons.nth(chosen)).to_have_class(mark)
    expect(buttons.nth(guess.answer_index)).to_have_class("right")
    expect(buttons.nth(guess.answer_index)).to_contain_text(
        f"✓ {plain(guess.answers[guess.answer_index])}"
    )


def test_a_newcomer_walks_by_keys_and_then_reads_alone(page: Page, address: str) -> None:
    page.set_viewport_size(WINDOWS[0])
    page.goto(address)
    page.get_by_role("link", name="New here? Read it in 90 seconds").click()
    for number, step in enumerate(STEPS, 1):
        shows(page, number)
        expect(page.get_by_role("heading", level=1)).to_have_text(step.title)
        if number > 1:
            expect(page.get_by_role("heading", level=1)).to_be_focused()
        expect(page.locator(".words p:visible")).to_have_text(plain(step.words(step.run())))
        check_slider(page, number)
        guess, before = step.guess(), page.evaluate(PLACES)
        page.keyboard.press(str(guess.answer_index + 1))
        check_guess(page, guess, guess.answer_index)
        assert page.evaluate(PLACES) == before
        if number < LAST:
            expect(page.get_by_role("button", name="Next")).to_be_focused()
            page.keyboard.press(("ArrowRight", "Enter", "PageDown")[number % 3])
    page.keyboard.press("Enter")  # on the first door, which has the focus
    page.wait_for_url("**/multi-head-attention")


def check_slider(page: Page, number: int) -> None:
    """Drags a size by keys: the sentence and the picture follow, and nothing else moves."""
    quiet(page)
    step, slider = STEPS[number - 1], page.get_by_role("slider")
    before = page.evaluate(PLACES), page.evaluate(WIRE)
    key, size = ("Home", step.range[0]) if step.start > step.range[0] else ("End", step.range[-1])
    slider.press(key)
    shows(page, number, size)
    expect(slider).to_have_attribute("aria-valuetext", f"{size} {step.help}")
    expect(page.locator(".words p:visible")).to_have_text(plain(step.words(step.run(size))))
    assert (page.evaluate(PLACES), page.evaluate(WIRE)) == before
    slider.press("ArrowRight" if key == "Home" else "ArrowLeft")  # of the slider, not to a step
    shows(page, number, size + (1 if key == "Home" else -1))


def test_on_a_phone_it_is_tapped_and_nothing_scrolls(browser: Browser, address: str) -> None:
    context = browser.new_context(viewport=PHONE, has_touch=True, reduced_motion="reduce")
    page = context.new_page()
    page.goto(f"{address}/ninety-seconds")
    for number, step in enumerate(STEPS, 1):
        shows(page, number)
        assert page.evaluate("document.getAnimations().length") == 0
        guess = step.guess()
        wrong = (guess.answer_index + 1) % len(guess.answers)
        chosen = wrong if number % 2 else guess.answer_index
        before = page.evaluate(PLACES)
        page.locator(".answers button").nth(chosen).tap()
        check_guess(page, guess, chosen)
        assert page.evaluate(PLACES) == before
        check_fit(page)
        if number < LAST:
            page.get_by_role("button", name="Next").tap()
    assert location(page).endswith("#7")
    page.get_by_role("link", name="Paste your own module").tap()
    page.wait_for_url("**/yours*")
    context.close()


def check_fit(page: Page) -> None:
    assert page.evaluate(SMALLEST) >= 14
    assert page.evaluate(OVERFLOW) == []


def test_it_fits_every_window_and_axe_finds_nothing(page: Page, address: str) -> None:
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{address}/ninety-seconds#3")
    shows(page, 3)
    for number in range(1, LAST + 1):
        page.get_by_role(
            "button", name="On your own" if number == LAST else f"Step {number}"
        ).click()
        shows(page, number)
        page.keyboard.press("b")
        for window in WINDOWS:
            page.set_viewport_size(window)
            quiet(page)
            check_fit(page)
        if number in (1, LAST):
            assert axe_faults(page) == []
            page.emulate_media(color_scheme="dark")
            shows(page, number)
            assert axe_faults(page, colours=True) == []
            page.emulate_media(color_scheme="light")
