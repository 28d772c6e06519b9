"""The link holds what is seen, the history has an entry for each page, and a page says its name."""

import json
import re
import runpy
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
import torch
from playwright.sync_api import Browser, Page, expect

import ncd
from ncd.app.page import navigation
from ncd.site.scripts import script
from ncd.systems.training.trained_weights import attention_weights, read_weights
from tests.browser.server import served
from tests.browser.waits import location
from tests.support.sampling import sample

pytestmark = pytest.mark.browser
ATTENTION, SCALED, RESIDUAL = (
    "/multi-head-attention",
    "/scaled-dot-product-attention",
    "/residual-block",
)


def visit(page: Page, address: str, path: str) -> Page:
    page.goto(f"{address}{path}")
    return settled(page)


def settled(page: Page) -> Page:
    """The page once its last message is there."""
    expect(page.locator(".drawing svg").first).to_be_visible()
    expect(page.get_by_text("Why it works")).to_be_visible()
    expect(page.locator("[data-testid=stApp][data-test-script-state=notRunning]")).to_be_attached()
    return page


def query(page: Page) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(location(page)).query, keep_blank_values=True))


def until(page: Page, **wanted: str) -> None:
    """Waits until the address says just this."""
    page.wait_for_function(
        "wanted => JSON.stringify([...new URLSearchParams(location.search)].sort()) === wanted",
        arg=json.dumps(sorted(wanted.items()), separators=(",", ":")),
    )


def move(page: Page, name: str, key: str = "ArrowRight") -> None:
    page.locator(f'.stSlider [aria-label^="{name} "] input[type=range]').first.focus()
    page.keyboard.press(key)


def go(page: Page, title: str) -> None:
    section = next(e.section for e in ncd.catalogue.values() if e.title == title)
    door = page.get_by_role("button", name=section, exact=True)
    (door if door.is_visible() else page.get_by_text(re.compile(r"^\d+ more$"))).click()
    item = page.get_by_role("menuitem", name=title, exact=True)
    item.or_(page.get_by_role("link", name=title, exact=True)).locator("visible=true").first.click()
    expect(page.get_by_role("heading", name=title, exact=True)).to_be_visible()


def entries(page: Page) -> int:
    return int(page.evaluate("history.length"))


def says(page: Page, axis: str, text: str) -> None:
    """Waits until the chip of an axis says this."""
    expect(page.locator(f".chip[data-axis={axis}]")).to_have_text(text)


# --- what is seen ---------------------------------------------------------------------------------


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("h=0", {"h": "1"}),
        ("h=2.6&k=16", {"h": "3"}),
        ("h=abc&seed=inf", {}),
        ("seed=1e400&head=" + "9" * 5000, {}),
        ("head=999&level=none", {"head": "3"}),
        ("causal=1", {"causal": "true"}),
        ("causal=true", {"causal": "true"}),
        ("causal=0&labels=zzz&panel=Nothing", {}),
        ("select=n99&axes=q,k&labels=both", {"axes": ",k", "labels": "both"}),
        ("h=6&foo=bar", {"h": "6"}),
    ],
)
def test_the_address_says_what_is_there(
    page: Page, address: str, asked: str, said: dict[str, str]
) -> None:
    visit(page, address, f"{ATTENTION}?{asked}")
    expect(page.locator(".stException")).to_have_count(0)
    until(page, **said)


def test_all_that_is_seen_comes_back(page: Page, address: str, browser: Browser) -> None:
    wanted = {
        "h": "6",
        "y": "7",
        "causal": "true",
        "seed": "5",
        "labels": "both",
        "axes": "k,h",
        "select": "v7",
        "panel": "Values",
    }
    asked = "&".join(f"{name}={value}" for name, value in wanted.items())
    visit(page, address, f"{ATTENTION}?{asked}")
    until(page, **wanted)
    seen = page.locator(".drawing svg").first.inner_html()
    page.reload()
    settled(page)
    until(page, **wanted)
    assert page.locator(".drawing svg").first.inner_html() == seen
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_role("button", name="Link copied")).to_be_visible()
    link = page.evaluate("navigator.clipboard.readText()")
    other = browser.new_page(viewport={"width": 1280, "height": 900})
    other.goto(link)
    settled(other)
    expect(other).to_have_url(location(page))
    assert other.locator(".drawing svg").first.inner_html() == seen
    other.close()


def test_what_a_closed_panel_had_is_there_again(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?panel=Autograd")
    page.get_by_role("button", name="block", exact=True).click()
    until(page, panel="Autograd", level="block")
    page.get_by_role("tab", name="Source").click()
    until(page, panel="Source", level="block")
    move(page, "h")
    until(page, panel="Source", level="block", h="5")
    page.get_by_role("tab", name="Autograd").click()
    until(page, panel="Autograd", level="block", h="5")
    expect(page.get_by_role("button", name="block", exact=True)).to_have_attribute(
        "aria-pressed", "true"
    )


# --- the history ----------------------------------------------------------------------------------


def test_a_page_is_one_entry_of_the_history(page: Page, address: str) -> None:
    visit(page, address, ATTENTION)
    first = entries(page)
    for size in ("5", "6", "7"):
        move(page, "h")
        until(page, h=size)
    page.locator(".chip[data-axis=k]").click()
    until(page, h="7", axes="k")
    page.get_by_role("tab", name="Source").click()
    until(page, h="7", axes="k", panel="Source")
    assert entries(page) == first
    go(page, "Residual block")
    page.wait_for_url(f"**{RESIDUAL}*")
    settled(page)
    assert entries(page) == first + 1
    move(page, "n₀")
    until(page, n0="17")
    page.go_back()
    says(page, "h", "h 7")
    settled(page)
    until(page, h="7", axes="k", panel="Source")
    expect(page.get_by_role("tab", name="Source")).to_have_attribute("aria-selected", "true")
    page.go_forward()
    says(page, "n_0", "n0 17")
    settled(page)
    until(page, n0="17")
    assert entries(page) == first + 1


def test_back_after_moves_after_back(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?h=6")
    go(page, "Scaled dot-product attention")
    page.wait_for_url(f"**{SCALED}*")
    settled(page)
    page.go_back()
    says(page, "h", "h 6")
    settled(page)
    until(page, h="6")
    move(page, "h")
    until(page, h="7")
    page.go_forward()
    page.wait_for_url(f"**{SCALED}*")
    expect(page.locator(".chip[data-axis=h]")).to_have_count(0)
    settled(page)
    page.go_back()
    says(page, "h", "h 7")
    settled(page)
    until(page, h="7")
    page.reload()
    settled(page)
    until(page, h="7")


def test_shared_settings_go_along_and_back_is_exact(page: Page, address: str) -> None:
    visit(page, address, f"{ATTENTION}?h=6&y=7&x=9&causal=1&seed=5&labels=both&select=v7")
    go(page, "Scaled dot-product attention")
    page.wait_for_url(f"**{SCALED}*")
    until(page, y="7", x="9", causal="true", seed="5", labels="both")
    settled(page)
    says(page, "y", "y 7")
    go(page, "Residual block")  # whose x is another thing
    page.wait_for_url(f"**{RESIDUAL}*")
    until(page, seed="5", labels="both")
    settled(page)
    says(page, "x", "x 16×16")
    go(page, "Scaled dot-product attention")
    page.wait_for_url(f"**{SCALED}*")
    until(page, y="7", x="9", causal="true", seed="5", labels="both")


def test_back_to_a_page_at_its_defaults(page: Page, address: str) -> None:
    visit(page, address, ATTENTION)
    until(page)
    go(page, "Scaled dot-product attention")
    page.wait_for_url(f"**{SCALED}*")
    settled(page)
    move(page, "y")
    until(page, y="21")
    page.go_back()
    page.wait_for_url(f"**{ATTENTION}*")
    says(page, "y", "y 20")
    settled(page)
    until(page)


# --- names ----------------------------------------------------------------------------------------


def test_each_page_has_its_title_and_its_description(page: Page, address: str) -> None:
    found: list[tuple[str, str | None]] = []
    named = {f"/{name}": entry.title for name, entry in ncd.catalogue.items()}
    named |= {"/": navigation.TITLE, "/legend": "Legend"}
    for path in sample(named, 8, "titles"):
        page.goto(f"{address}{path}")
        expect(page.locator("h1").first).to_be_visible()
        expect(page).to_have_title(navigation.heading(named[path]))
        description = page.locator("meta[name=description]")
        expect(description).to_have_count(1)
        found.append((page.title(), description.get_attribute("content")))
    titles, descriptions = zip(*found, strict=True)
    assert len(set(titles)) == len(titles) and len(set(descriptions)) == len(descriptions)


def test_title_and_description_follow_the_menu(page: Page, address: str) -> None:
    visit(page, address, ATTENTION)
    go(page, "Residual block")
    expect(page).to_have_title("Residual block · Neural circuits")
    expect(page.locator("meta[name=description]")).to_have_attribute(
        "content", re.compile("^An image takes two paths")
    )


def test_an_unknown_address_names_the_nearest(page: Page, address: str) -> None:
    response = page.goto(f"{address}/multi-hed-atention")
    assert response is not None and response.status == 404
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()
    expect(page).to_have_title("No such page · Neural circuits")
    expect(page.get_by_text("Page not found")).to_have_count(0)
    links = page.get_by_test_id("stMain").get_by_role("link")
    expect(links.first).to_have_text("Multi-head attention")
    links.first.click()
    settled(page)
    expect(page).to_have_url(f"{address}{ATTENTION}")
    page.go_back()
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()


@pytest.mark.few(1)
@pytest.mark.parametrize("path", ["/<img src=x onerror=hacked=1>", "/a/b/caf%C3%A9%20?h=3", "/%"])
def test_an_unknown_address_is_only_text(page: Page, address: str, path: str) -> None:
    page.add_init_script("window.hacked = 0")
    page.goto(f"{address}{path}")
    expect(page.get_by_role("heading", name="No such page")).to_be_visible()
    expect(page.get_by_text("Page not found")).to_have_count(0)
    assert page.evaluate("window.hacked") == 0


# --- a fresh server -------------------------------------------------------------------------------


def test_the_first_visitors_of_a_fresh_plain_server(page: Page, browser: Browser) -> None:
    """By a deep link, and by an unknown address that is also the name of a file in pages/."""
    with served(plain=True) as address:
        other = browser.new_page()
        missing: list[str] = []
        page.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
        other.goto(f"{address}/residual_block", wait_until="commit")
        visit(page, address, f"{ATTENTION}?h=6")
        says(page, "h", "h 6")
        expect(page.get_by_text("Page not found")).to_have_count(0)
        assert not missing
        expect(other.get_by_role("heading", name="No such page")).to_be_visible()
        expect(other.get_by_test_id("stMain").get_by_role("link").first).to_have_text(
            "Residual block"
        )
        other.close()


# --- what is taken along --------------------------------------------------------------------------


def taken(page: Page, label: str, folder: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name=label).click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def test_exports_carry_settings_and_seed(page: Page, address: str, tmp_path: Path) -> None:
    visit(page, address, f"{ATTENTION}?h=2&seed=7&causal=1")
    page.get_by_role("button", name="Export").click()
    svg = taken(page, "Drawing, SVG", tmp_path).read_text()
    found = re.search("<metadata>(.*?)</metadata>", svg)
    assert found is not None
    facts = json.loads(unescape(found[1]))["about"]
    assert (facts["system"], facts["seed"]) == ("multi-head-attention", 7)
    assert facts["settings"] == {"h": 2, "k": 16, "m": 128, "y": 20, "x": 22, "causal": 1}
    assert facts["link"] == f"{ATTENTION}?h=2&causal=true&seed=7"
    cited = page.locator("[data-testid=stCode]", has_text="@software{")
    expect(cited).to_contain_text(f"url     = {{{address}{facts['link']}}}")
    text = taken(page, "Term, JSON", tmp_path).read_text()
    assert json.loads(text)["about"] == facts
    assert ncd.from_json(text) == ncd.catalogue["multi-head-attention"].build(h=2, causal=1)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "query",
    [
        "h=2&seed=7",
        "h=2&seed=7&input=random arrays",
        "h=2&seed=7&input=sentences&text_y=The cat sat&positions=1",
    ],
)
def test_the_source_gives_the_numbers_of_the_page(
    page: Page, address: str, tmp_path: Path, query: str
) -> None:
    visit(page, address, f"{ATTENTION}?{query}")
    page.get_by_role("button", name="Export").click()
    with_einops = taken(page, "Source, torch and einops", tmp_path).read_text()
    alone = taken(page, "Source, torch alone", tmp_path)
    assert "# It needs torch and einops.\n" in with_einops and "import einsum" in with_einops
    assert "# It needs torch alone.\n" in alone.read_text() and "einops" not in alone.read_text()
    line = re.search("^# (import ncd.*)$", alone.read_text(), re.MULTILINE)
    assert line is not None
    (tmp_path / "line.py").write_text(line[1])
    made = runpy.run_path(str(tmp_path / "line.py"))
    module = runpy.run_path(str(alone))["MultiHeadAttention"](h=2)
    own = ncd.compile(made["term"], 7)
    if "input" not in query:
        read_weights(own, attention_weights(2, 7))
    module.load_state_dict(own.state_dict())
    ids = [value.id for value in ncd.elaborate(made["term"]).inputs]
    out = ncd.elaborate(made["term"]).outputs[0].id
    inputs = (made["numbers"][id] for id in ids)
    assert torch.allclose(module(*inputs), made["numbers"][out], atol=1e-5)
    page.get_by_role("tab", name="Values").click()
    expect(page.locator(".stats")).to_contain_text(f"{made['numbers'][out].max():.3g}")


# --- messages of several runs that come in another order ------------------------------------------

PASSES = script("app/figure/broadcast.js").replace("export default", "const passes =")
TAKES = """sent => {
  for (const [query, session, number] of sent) keepLink({ query, page: "health", session, number });
  return new Promise((done) => setTimeout(() => done(location.search), 2 * PAUSE));
}"""
HEARS = """sent => {
  const heard = [];
  document.addEventListener("ncd-line", () => heard.push(document.ncdTold["ncd-line"].cost));
  for (const [cost, session, number] of sent)
    passes({ data: { event: "ncd-line", cost, session, number } });
  return heard;
}"""


@pytest.fixture
def scripts(page: Page) -> Page:
    """A page without the app, in which these scripts run as in it."""
    page.route("**/*", lambda route: route.fulfill(content_type="text/html"))
    page.goto("http://explorer.test/health")
    page.add_script_tag(content=PASSES)
    return page


@pytest.mark.parametrize(
    ("sent", "written"),
    [
        ([("?h=4", "a", 1), ("?h=5", "a", 2)], "?h=5"),
        ([("?h=5", "a", 2), ("?h=4", "a", 1)], "?h=5"),  # an element that was loaded late
        ([("?h=4", "a", 1), ("?h=5", "a", 2), ("?h=4", "a", 1)], "?h=5"),  # one shown once more
        ([("?h=5", "a", 9), ("", "b", 1)], ""),  # after a restart the numbers begin anew
        ([("?h=5", "a", 8), ("?h=6", "b", 1), ("?h=4", "a", 9)], "?h=6"),
    ],
)
def test_the_newest_link_counts_in_whatever_order_they_come(
    scripts: Page, sent: list[tuple[str, str, int]], written: str
) -> None:
    assert scripts.evaluate(TAKES, sent) == written


def test_a_link_shown_again_leaves_what_was_written_since(scripts: Page) -> None:
    first = [("?h=5", "a", 1)]
    assert scripts.evaluate(TAKES, first) == "?h=5"
    scripts.evaluate("history.replaceState(null, '', '?h=7')")  # as the presenter writes views
    assert scripts.evaluate(TAKES, first) == "?h=7"


def test_a_line_of_an_older_run_is_not_passed_on(scripts: Page) -> None:
    sent = [("one", "a", 1), ("three", "a", 3), ("two", "a", 2), ("three", "a", 3), ("new", "b", 1)]
    assert scripts.evaluate(HEARS, sent) == ["one", "three", "new"]
