"""The static site in a real browser, below a prefix, where every other address is blocked."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import axe_playwright_python
import pytest
import torch
from playwright.sync_api import Browser, Locator, Page, Route, expect

import ncd
from ncd.__main__ import main
from ncd.app.parts.html_panel import read_static
from ncd.cli.output import entry_facts
from ncd.language.arguments import Labels
from ncd.site.site_files import selected_entries, write_site
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.lessons.ninety_seconds import STEPS
from ncd.systems.training.trained_weights import proofreading, read_weights
from tests.browser.page.test_ninety_seconds import shows

pytestmark = pytest.mark.browser
NAMES = ("scaled-dot-product-attention", "multi-head-attention", "layer-norm", "convnext")
MORE = ("mamba", "positional-embedding")

TALK = '<ncd-diagram files base="some/course" system="layer-norm" m="7"></ncd-diagram><script>'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    root = tmp_path_factory.mktemp("host")
    write_site(root / "some" / "course", selected_entries((*NAMES, *MORE)), entry_facts)
    (root / "talk.html").write_text(TALK + read_static("host/ncd-diagram.js") + "</script>")
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"]
    server = subprocess.Popen(
        command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert server.stdout
    port = re.search(r"port (\d+)", server.stdout.readline())
    assert port
    page = root / "some" / "course" / "multi-head-attention" / "index.html"
    assert page.stat().st_size < 300_000
    yield f"http://127.0.0.1:{port[1]}/some/course/"
    server.terminate()
    server.wait()


def test_values_on_the_wires_are_those_of_the_run_at_other_sizes(
    browser: Browser, site: str
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{site}multi-head-attention/?labels=values")
    heads = page.locator('.thumbnail[data-array="v9"] image')
    expect(heads).to_have_count(4)
    expect(page.locator(".valued")).to_contain_text("to correct sentences")
    before = heads.first.get_attribute("href")
    page.locator('[data-size="h"] input[type=text]').fill("2")
    page.keyboard.press("Enter")
    expect(heads).to_have_count(2, timeout=60_000)
    expect(page.locator(".valued")).to_contain_text("At the sizes set now, all numbers are random")
    assert heads.first.get_attribute("href") != before
    page.get_by_role("button", name="Reset").click()
    expect(heads).to_have_count(4)
    expect(heads.first).to_have_attribute("href", before or "")
    context.close()


def test_a_visitor_searches_moves_sizes_and_answers_a_quiz(browser: Browser, site: str) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    page = context.new_page()
    wrong: list[str] = []

    def door(route: Route) -> None:
        if route.request.url.startswith(site):
            return route.continue_()
        if not route.request.url.endswith("/favicon.ico"):
            wrong.append(route.request.url)
        return route.abort()

    context.route("**/*", door)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(site)
    _ninety_seconds(page)
    page.get_by_role("searchbox").fill("zebra attn")
    expect(page.locator(".count")).to_contain_text("Nothing matches")
    page.get_by_role("searchbox").fill("mha attn")  # a topic of students, and a short word
    expect(page.locator(".count")).to_have_text("1 of 6")
    page.get_by_role("searchbox").fill("attn")
    expect(page.locator(".count")).to_have_text("4 of 6")
    page.get_by_role("link", name="Multi-head attention").click()
    _sizes_follow(page)
    _runs(page)
    _quiz(page)
    page.get_by_role("link", name="Positional embedding →").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Positional embedding")
    page.get_by_role("link", name="Legend").click()
    expect(page.locator(".signs .entry").first).to_be_visible()
    assert not wrong
    context.close()


def _ninety_seconds(page: Page) -> None:
    """Walks through the steps, with a size moved, and back to the first page."""
    page.get_by_role("link", name="New here? Read it in 90 seconds").click()
    for number, step in enumerate(STEPS, 1):
        shows(page, number)
        expect(page.get_by_role("heading", level=1)).to_have_text(step.title)
        page.get_by_role("slider").press("Home")
        shows(page, number, step.range[0])
        page.keyboard.press("a")
        page.keyboard.press("PageDown")
    links = page.get_by_role("list").get_by_role("link")
    expect(links).to_have_text(["Multi-head attention", "All systems", "Every sign"])
    page.get_by_role("link", name="All systems").click()


def test_a_link_may_have_a_former_name_of_an_axis(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}convnext/?axes=c")
    expect(page.locator('.wire.chosen[data-axis="o"]').first).to_be_attached()
    page.close()


SMALLEST = """(svg) => Math.min(...[...svg.querySelectorAll("text")].map((text) =>
  parseFloat(getComputedStyle(text).fontSize)
  * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"""


def test_a_phone_has_drawings_of_its_own(browser: Browser, site: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{site}multi-head-attention/")
    ops = page.locator(".drawing .op")
    expect(ops).to_have_count(9)
    page.set_viewport_size({"width": 390, "height": 844})
    expect(ops).to_have_count(6)  # a block is one box
    assert page.locator(".drawing svg").evaluate(SMALLEST) >= 11
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("button", name="Quiz").click()
    expect(page.locator(".question, .quiz input")).to_have_count(2)
    for part in page.locator(".question, .quiz input").all():  # below a drawing that is higher
        expect(part).to_be_in_viewport(ratio=1)
    page.get_by_role("button", name="End the quiz").click()
    page.locator('.op[data-fence="f5"]').dblclick()
    expect(ops).to_have_count(9)
    page.close()


LABELS = """(wires) => wires.map((wire) => [
  `${wire.dataset.array} ${wire.dataset.axis}`,
  [...wire.querySelectorAll("text")].map((text) => text.textContent)])"""


def test_the_component_shows_a_page_of_the_site(browser: Browser, site: str) -> None:
    page = browser.new_page()
    page.goto(f"{site}../../talk.html")
    frame = page.frame_locator("iframe")
    field = frame.get_by_role("textbox", name="m ")
    expect(field).to_have_value("7")
    expect(frame.get_by_role("heading")).to_have_count(0)  # the diagram and its sizes alone
    page.wait_for_function(
        "parseInt(document.querySelector('ncd-diagram').frame.style.height) > 100"
    )
    field.fill("9")
    field.press("Enter")
    link = frame.get_by_role("link", name="Layer norm")
    expect(link).to_have_attribute("href", re.compile(r"/layer-norm/index\.html\?m=9$"))
    frame.locator(".drawing .op").first.click()
    expect(frame.locator(".card")).to_be_visible()
    page.close()


def labels_of(wires: Locator) -> dict[str, set[str]]:
    """The texts on each wire that has a label; a wire of several rows may have more than one."""
    return {wire: set(said) for wire, said in wires.evaluate_all(LABELS) if said}


@pytest.mark.few(1)
@pytest.mark.parametrize("labels", ["names", "both"])
def test_labels_follow_sizes_as_if_drawn_again(
    browser: Browser, tmp_path: Path, labels: Labels
) -> None:
    """Subscripts and factors of names are numbers as well, and stay as they are."""
    file = tmp_path / "unet.html"
    assert main(["render", "unet", "--labels", labels, "-o", str(file)]) == 0
    page, other = browser.new_page(), browser.new_page()
    page.goto(f"{file.as_uri()}#c=16&x=64")
    expect(page.locator("header p")).to_contain_text("7,731,875 parameters")
    other.set_content(ncd.draw(ncd.catalogue["unet"].build(c=16, x=64), labels).svg())
    found, drawn = labels_of(page.locator(".drawing .wire")), labels_of(other.locator(".wire"))
    both = found.keys() & drawn.keys()  # wider labels may collapse other blocks
    assert len(both) > 20 and [found[wire] for wire in both] == [drawn[wire] for wire in both]
    page.close()
    other.close()


def _sizes_follow(page: Page) -> None:
    def parameters(h: int) -> str:
        entry = ncd.catalogue["multi-head-attention"]
        return f"{ncd.cost(entry.build(h=h)).parameters:,} parameters"

    summary = page.locator("header p")
    page.get_by_role("textbox", name="h heads").fill("9")
    page.keyboard.press("Enter")
    expect(summary).to_contain_text(parameters(9))
    expect(page).to_have_url(re.compile(r"/some/course/multi-head-attention/\?h=9$"))
    page.reload()
    expect(summary).to_contain_text(parameters(9))
    place = page.locator('.row[data-axis="h"] b')
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box
    page.mouse.move(box["x"] + 2, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] + 500, box["y"] + 5, steps=4)
    page.mouse.up()
    expect(summary).to_contain_text(parameters(16))
    page.locator('.op[data-node="n2"]').click()
    expect(page.locator("#card-n2")).to_contain_text("22 16 16")
    page.get_by_role("textbox", name="h heads").fill("0")
    page.keyboard.press("Enter")
    expect(page.locator(".refused")).to_have_text(
        "h cannot be 0: it is 1 or more. The nearest is 1."
    )
    expect(summary).to_contain_text(parameters(1))
    page.get_by_role("button", name="Reset").click()
    expect(summary).to_contain_text(parameters(4))


def _runs(page: Page) -> None:
    """The numbers are those of torch with what the app opens on, and at other sizes."""
    page.get_by_role("button", name="Run here").click()
    expect(page.locator(".ran")).to_contain_text("Ran in this browser")
    expect(page.locator(".origin")).to_contain_text("Weights trained for 2,500 steps")
    _same_as_torch(page, y=20, x=22)
    expect(page.locator(".results .sequence").first).to_contain_text("Anna Hill said , “ the keys")
    assert page.locator(".results .column-words span").all_inner_texts()[:2] == ["Anna", "Hill"]
    caption = page.locator(".heads figcaption").first
    expect(caption).to_have_text("h = 0: 20 × 22")
    page.locator(".heads canvas").first.focus()
    page.keyboard.press("ArrowRight")
    expect(caption).to_contain_text("query 0 Anna, key 1 Hill: ")
    weight = _traced(y=20, x=22)["v9"][0, 1, 0]
    assert abs(float(caption.inner_text().split(": ")[1]) - weight) < 1e-4
    page.get_by_role("textbox", name="x ").fill("7")
    page.keyboard.press("Enter")
    expect(caption).to_have_text("h = 0: 20 × 7")
    _same_as_torch(page, y=20, x=7)
    page.get_by_role("textbox", name="x ").fill("25")
    page.keyboard.press("Enter")
    expect(caption).to_have_text("h = 0: 20 × 25")
    expect(page.locator(".origin")).to_have_text(
        "Its weights are for x up to 24. At the sizes set now, all numbers are random. "
        "Untrained weights and random inputs, from seed 0."
    )
    _same_as_torch(page, y=20, x=25)
    page.get_by_role("textbox", name="h heads").fill("9")
    page.keyboard.press("Enter")
    expect(page.locator(".heads").first.locator("canvas")).to_have_count(9)
    _same_as_torch(page, y=20, x=25, h=9)
    page.get_by_role("textbox", name="y queries").fill("900000")
    page.keyboard.press("Enter")
    expect(page.locator(".ran")).to_contain_text(
        "are the most in a browser. Smaller sizes run here."
    )
    page.get_by_role("button", name="Reset").click()
    expect(caption).to_have_text("h = 0: 20 × 22")
    _steps(page)


EVERY = """() => values_of(MADE).then(
  (all) => Object.fromEntries(MADE.map((id) => [id, [...all[id].data]])))"""


OTHERS = {  # with a kernel, groups, padding and a formula of positions that follow sizes
    "multi-head-attention": {"h": 3, "k": 8, "m": 40, "y": 5},
    "convnext": {"c": 16, "r": 2, "x": 96},
    "mamba": {"m": 10, "r": 3, "d": 6},
    "positional-embedding": {"h": 2, "k": 6},
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_number_is_that_of_torch_at_other_sizes(
    browser: Browser, site: str, name: str
) -> None:
    """Weights and inputs are drawn in the page, from the same seed."""
    page = browser.new_page()
    sizes = OTHERS[name]
    page.goto(f"{site}{name}/?{urlencode(sizes)}")
    page.get_by_role("button", name="Run here").click()
    expect(page.get_by_role("button", name="Step by step")).to_be_visible()
    expect(page.locator(".origin")).to_contain_text("Untrained weights and random inputs")
    term = ncd.catalogue[name].build(**sizes)
    traced = ncd.trace(ncd.compile(term), *ncd.example_inputs(term)).values
    found = page.evaluate(EVERY)
    assert len(found) > 3 and found.keys() <= traced.keys()
    for id, numbers in found.items():
        wanted = traced[id].detach().flatten()
        one = torch.tensor(numbers, dtype=torch.float32)
        torch.testing.assert_close(one, wanted.float(), rtol=1e-5, atol=1e-5)
    told = page.evaluate(UNTOLD)
    assert told[0] > 2 and told[1:] == []
    expect(page.locator(".walk .stale")).to_have_count(0)
    if name == "multi-head-attention":
        expect(page.locator(".walk article").nth(6)).to_contain_text(f", {8**-0.5:.4g}.")
    page.close()


# The steps whose first, middle or last number is not told, of all that say how one came about.
UNTOLD = """async () => {
  const told = steps.filter(({ kind, makes }) => kind && MADE.includes(makes[0])); // not in scans
  const ids = ({ takes, makes, weights }) => [...takes, ...makes, ...weights];
  const values = await values_of(told.flatMap(ids));
  const cells = ({ length }) => [0, length >> 1, length - 1];
  const untold = (step) => {
    const [id] = step.makes;
    return cells(values[id].data).some((at) => !explained(step, values, id, at));
  };
  return [told.length, ...told.filter(untold).map(({ place }) => place.textContent)];
}"""


def test_numbers_of_linear_maps_and_convolutions_are_told(browser: Browser, site: str) -> None:
    """A number is told only if the products, as they stand there, add up to it."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{site}convnext/")  # with strides, groups and padding
    page.get_by_role("button", name="Run here").click()
    expect(page.get_by_role("button", name="Step by step")).to_be_visible()
    assert page.evaluate(UNTOLD) == [35]
    page.close()


def _steps(page: Page) -> None:
    """A click on a wire shows its array, and steps go through the ops in order."""
    traced, walk = _traced(y=20, x=22), page.locator(".walk")
    page.locator('.wire[data-array~="v7"] path').first.dispatch_event("click")
    expect(walk.locator(".count")).to_have_text("6 of 10")
    expect(walk.locator("h3").filter(has_text="Einsum scores")).to_be_visible()
    begins = walk.locator('[data-values="v7"] .numbers').inner_text().partition("begins ")[2]
    found = [float(number.replace("−", "-")) for number in begins.split()]
    assert found == pytest.approx(traced["v7"].flatten()[:5].tolist(), rel=1e-3)
    walk.locator('[data-values="v7"] canvas').first.press("Enter")
    q, k = traced["v4"][0, :, 0], traced["v5"][0, :, 0]
    told = walk.locator('[data-values="v7"] .cell')
    expect(told).to_contain_text(f" = {float(f'{q @ k:.4g}')}, summed over k".replace("-", "−"))
    expect(told).to_contain_text("… 12 more")
    assert page.evaluate(UNTOLD) == [8]
    every = page.evaluate(EVERY)
    assert every.keys() == traced.keys() - {"v0", "v1"}
    for id, numbers in every.items():
        assert numbers == pytest.approx(traced[id].flatten().tolist(), abs=1e-4), id
    expect(page.locator('.drawing .op[data-node="n4"]')).to_have_class(re.compile("here"))
    walk.get_by_role("button", name="Next").click()
    expect(walk.locator("h3").filter(has_text="Scale")).to_be_visible()
    expect(walk.locator('[data-values="v8"] canvas')).to_have_count(4)
    walk.get_by_role("button", name="Next").click()
    walk.locator('[data-values="v9"] canvas').nth(1).press("Enter")
    scores, value = traced["v8"][0, :, 1], traced["v9"][0, 0, 1]
    expect(walk.locator('[data-values="v9"] .cell')).to_contain_text(
        f"= {float(f'{value:.4g}')}; {float(f'{scores.max():.4g}')} is the largest along x"
    )
    page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text())
    found = page.evaluate("() => axe.run('.run').then(({ violations }) => violations)")
    assert [each["id"] for each in found] == []
    walk.get_by_role("button", name="End the steps").click()
    expect(page.locator(".drawing .here")).to_have_count(0)


def _traced(**sizes: int) -> dict[str, torch.Tensor]:
    """Every array with what the page opens on, as far as the sizes allow."""
    entry = ncd.catalogue["multi-head-attention"]
    term, settings = entry.build(**sizes), entry.settings(sizes)
    module, inputs = ncd.compile(term), ncd.example_inputs(term)
    if max(sizes.values()) <= 24 and "h" not in sizes:
        module = read_weights(module, proofreading(4, 0).weights)
        inputs = opening_inputs(entry, term, settings).tensors(term, 0, "cpu")
    return dict(ncd.trace(module, *inputs).values)


def _same_as_torch(page: Page, **sizes: int) -> None:
    wanted = _traced(**sizes)["v11"].flatten()[:8].tolist()
    said = page.locator('.numbers[data-value="out0"]').inner_text()
    found = [float(number) for number in said.partition(": ")[2].split()]
    assert found == pytest.approx(wanted, abs=1e-3)


def _quiz(page: Page) -> None:
    page.get_by_role("button", name="Quiz").click()
    expect(page.locator("#card-n2")).to_be_hidden()
    page.locator('.op[data-node="n1"]').click()
    expect(page.locator(".question")).to_contain_text("What shape leaves Linear Q")
    expect(page.locator(".drawing .veiled")).to_have_count(3)
    answer = page.locator("#shape")
    answer.fill("y k")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator(".quiz .said")).to_have_text("You forgot h.")
    answer.fill("y 20 k h=4")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.locator(".quiz .said")).to_contain_text("✓ y 20 · k 16 · h 4")
    expect(page.locator(".drawing .veiled")).to_have_count(0)
    page.get_by_role("button", name="End the quiz").click()
