"""The HTML file in a real browser: opened from the disk, without a network."""

from collections.abc import Iterator
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import ncd

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("html") / "attention.html"
    path.write_text(ncd.html(ncd.catalogue["multi-head-attention"].build()))
    return path


@pytest.fixture
def page(browser: Browser, file: Path) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 900})
    context.set_default_timeout(20_000)
    page = context.new_page()
    heard: list[str] = []
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text))
    page.on("request", lambda asked: heard.append(asked.url))
    page.goto(file.as_uri())
    yield page
    asked = {each.partition("?")[0] for each in heard if not each.startswith("data:")}
    assert asked == {file.as_uri()}
    context.close()


def op(page: Page, id: str) -> Locator:
    return page.locator(f'.op[data-node="{id}"]')


def row(page: Page, title: str) -> Locator:
    return page.locator(".row[data-fold]", has_text=title).first


def lit(page: Page) -> set[str]:
    wires = page.locator(".drawing .wire.lit")
    return set(wires.evaluate_all("all => all.map((wire) => wire.dataset.axis ?? '')"))


def test_hover_lights_an_axis_through_all_its_wires(page: Page) -> None:
    page.locator('.wire[data-axis="k"] text').first.hover()
    assert lit(page) == {"k"}
    expect(page.locator('.row[data-axis="k"]')).to_have_class("row lit")
    page.locator("h1").hover()
    assert lit(page) == set()


def test_rows_of_the_legend_lock_their_axes(page: Page) -> None:
    for names in ({"h"}, {"h", "k"}):
        page.locator(f'.row[data-axis="{max(names)}"]').click()
        page.locator("h1").hover()
        assert lit(page) == names
    colours = {
        page.locator(f'.wire[data-axis="{name}"] .ink').first.evaluate(
            "e => getComputedStyle(e).stroke"
        )
        for name in "hkm"
    }
    assert len(colours) == 3
    page.locator('.row[data-axis="h"]').click()
    page.locator("h1").hover()
    assert lit(page) == {"k"}
    page.keyboard.press("Escape")
    assert lit(page) == set()


def test_an_op_opens_its_card(page: Page) -> None:
    op(page, "n6").click()
    card = page.get_by_role("article", name="Softmax")
    expect(card).to_be_visible()
    expect(card.locator("math")).to_be_visible()
    expect(card.locator(".code")).to_contain_text("softmax")
    op(page, "n1").click()
    expect(card).to_be_hidden()
    expect(page.get_by_role("article", name="Linear Q")).to_contain_text("8,192")


def test_a_block_folds_and_unfolds_in_place(page: Page) -> None:
    title = "Scaled Dot-Product Attention"
    ops, axis = page.locator(".drawing .op"), page.locator('.row[data-axis="h"]')
    before = ops.count()
    row(page, title).click()
    expect(op(page, "n6")).to_have_count(0)
    expect(row(page, title)).to_have_attribute("aria-expanded", "false")
    expect(axis).to_be_visible()
    page.locator('.op[data-fence="f5"]').dblclick()
    expect(op(page, "n6")).to_have_count(1)
    page.locator('.fence[data-fence="f0"] > .sign').click()
    expect(ops).to_have_count(1)
    expect(axis).to_be_hidden()
    page.locator('.op[data-fence="f0"] > .sign').click()
    expect(ops).to_have_count(before)


def test_within_a_folded_block_nothing_can_be_folded(page: Page) -> None:
    row(page, "Multi-Head Attention").click()
    expect(row(page, "Scaled Dot-Product Attention")).to_be_disabled()
    expect(page.locator(".drawing .op")).to_have_count(1)


def test_a_block_of_one_op_stays_as_it_is(page: Page) -> None:
    before = page.locator(".drawing .op").count()
    page.locator('.fence[data-fence="f1"] text').dblclick()
    page.locator('.fence[data-fence="f1"]').focus()
    page.keyboard.press("f")
    expect(page.locator(".drawing .op")).to_have_count(before)


def test_light_and_dark(page: Page) -> None:
    def paper() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    light = paper()
    page.get_by_role("button", name="Light or dark").click()
    assert paper() != light
    page.emulate_media(color_scheme="dark")
    page.reload()
    assert paper() != light


def test_on_paper_sizes_are_numbers(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.locator(".size input[type=text]:visible").count() > 3
    expect(page.get_by_role("slider")).to_have_count(0)
    expect(page.get_by_role("button", name="Light or dark")).to_be_hidden()


def test_the_keyboard_does_the_same(page: Page) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip the diagram")).to_be_focused()
    page.locator(".size input").last.focus()  # the diagram follows the sizes
    page.keyboard.press("Tab")
    expect(page.locator('.fence[data-fence="f0"]')).to_be_focused()
    op(page, "n6").focus()
    page.keyboard.press("Enter")
    card = page.get_by_role("article", name="Softmax")
    expect(card).to_be_focused()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(op(page, "n6")).to_be_focused()
    page.locator('.fence[data-fence="f5"]').focus()
    page.keyboard.press("f")
    expect(page.locator('.op[data-fence="f5"]')).to_be_focused()


def test_one_key_jumps_over_the_diagram(page: Page) -> None:
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.locator(".row").first).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(page: Page, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    for do in (lambda: None, op(page, "n6").click, page.get_by_text("PyTorch source").click):
        do()
        page.evaluate((Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text())
        found = page.evaluate("axe.run().then((found) => found.violations.map((v) => v.help))")
        assert found == []


def test_no_text_of_a_term_runs_as_a_script(browser: Browser, tmp_path: Path) -> None:
    """Neither its markup is taken for ours, nor would the file's policy let it run."""
    text = r"\text{<script>document.title='x'</script><svg/onload=document.title='y'>}"
    path = tmp_path / "hostile.html"
    html = ncd.html(ncd.Axes(a=2, b=3)(ncd.Id("a b") >> ncd.Named("a b", text)), title="safe")
    path.write_text(html.replace("<main>", "<script>document.title='z'</script><main>"))
    page = browser.new_page()
    page.goto(path.as_uri())
    page.locator(".drawing .op").first.click()
    expect(page.locator(".card:not([hidden]) math")).to_be_visible()
    assert page.title() == "safe"
    page.close()


def test_values_stand_on_the_wires_at_the_sizes_of_the_file(page: Page) -> None:
    pictures = page.locator(".drawing .thumbnail")
    page.get_by_role("button", name="Values").click()
    expect(pictures).to_have_count(9)
    expect(page.locator('.thumbnail[data-array="v9"] image')).to_have_count(4)
    expect(page.locator(".valued")).to_have_text(
        "Untrained weights and random inputs, from seed 0."
    )
    assert "numbers from" in (pictures.first.get_attribute("aria-label") or "")
    light = page.locator(".thumbnail image").first.get_attribute("href")
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator(".thumbnail image").first).not_to_have_attribute("href", light or "")
    page.locator('[data-size="h"] input[type=text]').fill("8")
    page.keyboard.press("Enter")
    expect(pictures.first).to_be_hidden()
    expect(page.locator(".valued")).to_contain_text("The values are those of h = 4")
    page.get_by_role("button", name="Reset").click()
    expect(pictures.first).to_be_visible()
    page.reload()
    expect(pictures).to_have_count(9)
    page.get_by_role("button", name="Quiz").click()
    expect(pictures).to_have_count(0)
