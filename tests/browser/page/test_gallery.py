"""The gallery in a real browser: searched as one types, its pictures links."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

import ncd
from ncd.app.page import gallery
from ncd.drawing.elements.style import paint_colour
from ncd.systems.search_topics import topics
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser


def cards(page: Page) -> Locator:
    return page.locator(".cards a:visible")


def search(page: Page, words: str) -> None:
    page.get_by_role("searchbox").fill(words)


def test_every_system_has_a_card_with_its_picture(page: Page, address: str) -> None:
    page.goto(address)
    expect(cards(page)).to_have_count(len(ncd.catalogue))
    for entry in ncd.catalogue.values():
        title = page.locator("b").get_by_text(entry.title, exact=True)
        card = cards(page).filter(has=title)
        card.scroll_into_view_if_needed()
        expect(card.locator("svg .wire").first).to_be_attached()


def test_on_paper_a_dark_gallery_has_all_pictures_in_dark_ink(page: Page, address: str) -> None:
    page.emulate_media(color_scheme="dark")
    page.goto(address)
    expect(cards(page)).to_have_count(len(ncd.catalogue))
    pictures = page.locator(".cards svg.dark")
    cards(page).first.scroll_into_view_if_needed()  # a picture is drawn as it comes into view
    expect(pictures.first).to_have_attribute("color", paint_colour("ink", dark=True))
    page.emulate_media(media="print", color_scheme="dark")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    inks = "all => all.map((svg) => svg.getAttribute('color'))"
    assert pictures.evaluate_all(inks) == [paint_colour("ink")] * len(ncd.catalogue)
    expect(page.get_by_role("searchbox")).to_be_hidden()
    expect(page.get_by_role("slider")).to_be_hidden()


def met(words: str) -> set[str]:
    """The titles of the systems whose words begin with these, that have an axis called so, or that
    answer them as a topic.
    """
    return {
        e.title
        for e in ncd.catalogue.values()
        if words in topics(e.name) or all(meets(e, word) for word in words.split())
    }


def meets(entry: ncd.Entry, word: str) -> bool:
    card = gallery.card(entry, dark=False)
    told = (card["title"], card["name"], card["section"], card["source"], card["lead"])
    told += (*card["ops"], *card["also"])
    begins = re.compile(rf"(?<![^\W_]){re.escape(word)}", re.IGNORECASE)
    return word in card["axes"] or any(map(begins.search, told))


SEARCHES: tuple[tuple[str, set[str]], ...] = (
    ("residual", {"Residual block"}),
    ("softmax", {"Scaled dot-product attention", "Multi-head attention"}),
    ("h", {"Multi-head attention"}),  # as an axis
    ("batch norm", {"Residual block"}),
    ("attention figure 21", {"Multi-head attention"}),
    ("gpt", {"Decoder-only block", "Multi-head attention"}),  # as a published model
    ("nn.Conv2d", {"Residual block"}),
    ("(.*", set()),
    ("constructor", set()),  # a name that every object of JavaScript has
)


def test_it_is_searched_by_name_op_and_axis(page: Page, address: str) -> None:
    page.goto(address)
    for words, among in SEARCHES:
        search(page, words)
        names = met(words)
        assert among <= names < {entry.title for entry in ncd.catalogue.values()}
        expect(cards(page)).to_have_count(len(names))
        assert set(cards(page).locator("b").all_inner_texts()) == names
        none = f"Nothing matches “{words}”. The nearest: "
        said = f"{len(names)} of {len(ncd.catalogue)}" if names else none
        expect(page.get_by_role("search").get_by_role("status")).to_contain_text(said)


FIRST: tuple[tuple[str, str], ...] = (
    ("cnn", "LeNet"),
    ("kernel", "Convolution"),
    ("Kernels", "Convolution"),
    ("stride", "Convolution"),
    ("pooling", "Pooling"),
    ("kv cache", "Decoder-only block"),
    ("KV-cache", "Decoder-only block"),
    ("kv cache llama", "Llama"),
    ("self-attention", "Multi-head attention"),
    ("cross-attention", "Decoder block"),
    ("positional encoding", "Positional embedding"),
    ("positional enc", "Positional embedding"),  # as one types
    ("llm", "GPT-2"),
    ("LLMs", "GPT-2"),
    ("gpt", "GPT-2"),
    ("gpt-2", "GPT-2"),
    ("bert", "BERT"),
    ("gat", "Graph attention"),  # by its address
    ("transformer", "Encoder–decoder"),
    ("attention is all you need", "Encoder–decoder"),
    ("encoder", "Encoder block"),
    ("decoder", "Decoder-only block"),
    ("embedding", "Tokenizer"),
    ("bpe", "Tokenizer"),
    ("bahdanau", "Seq2seq with attention"),
    ("softmax", "Scaled dot-product attention"),
    ("dropout", "Dropout"),
    ("batch norm", "Batch norm"),
    ("layernorm", "Layer norm"),
    ("skip connection", "Residual block"),
    ("resnet", "ResNet"),
    ("mlp", "Image recogniser"),
    ("autoencoder", "Variational autoencoder"),
    ("diffusion", "Diffusion"),
    ("rnn", "RNN"),
    ("ssm", "Mamba"),
    ("gnn", "Graph convolution"),
    ("moe", "Mixture of experts"),
    ("lora", "LoRA"),
    ("rope", "Rotary positions"),
    ("flash", "Flash attention"),
    ("image classification", "Image recogniser"),
    ("segmentation", "U-Net"),
    ("backprop", "Autograd"),
    ("reshape", "einops"),
    ("einsum", "Attention as einsum"),
)


def test_what_students_search_for_is_found_first(page: Page, address: str) -> None:
    page.goto(address)
    expect(cards(page)).to_have_count(len(ncd.catalogue))
    first = """(input, [query]) => {
        input.value = query;
        input.dispatchEvent(new Event("input"));
        return input.getRootNode().querySelector(".cards section:not([hidden]) a:not([hidden]) b")
            ?.textContent;
    }"""
    box = page.get_by_role("searchbox")
    assert [(query, box.evaluate(first, [query])) for query, _ in FIRST] == [*FIRST]
    models = [e.title for e in ncd.catalogue.sections["Language models"]]
    search(page, "llm")
    assert set(cards(page).locator("b").all_inner_texts()[:6]) < {*models, "Decoder-only block"}
    search(page, "")
    titles = [entry.title for entry in ncd.catalogue.values()]
    expect(cards(page).locator("b")).to_have_text(titles)  # in their order again


def test_it_says_what_was_met_and_hides_empty_sections(page: Page, address: str) -> None:
    page.goto(address)
    search(page, "multi-head attention figure 21 k")
    expect(cards(page).first).to_be_in_viewport(ratio=1)  # below the search, which moves up
    expect(cards(page).first.locator(".met")).to_have_text("axis k")
    expect(page.locator(".cards h2:visible")).to_have_text(["Attention"])
    search(page, "")
    expect(page.locator(".cards h2:visible")).to_have_text([*ncd.catalogue.sections])


def test_the_search_is_in_the_link(page: Page, address: str) -> None:
    page.goto(address)
    search(page, "batch norm")
    expect(page).to_have_url(f"{address}/?q=batch%20norm")
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("batch norm")
    expect(cards(page)).to_have_count(len(met("batch norm")))


def test_a_picture_opens_its_page_without_loading_the_app_again(page: Page, address: str) -> None:
    page.goto(address)
    search(page, "figure 21")
    expect(page).to_have_url(re.compile("q=figure"))
    expect(page.locator("body[data-links]")).to_be_attached()
    assert page.evaluate("/native code/.test(window.open)")  # the page's own names stay its own
    page.evaluate("window.mine = 1")
    cards(page).locator(".picture").click()
    expect(page.get_by_role("heading", name="Multi-head attention")).to_be_visible()
    assert page.evaluate("window.mine") == 1
    page.go_back()
    expect(page.get_by_role("searchbox")).to_have_value("figure 21")
    expect(cards(page)).to_have_count(1)


def test_a_card_is_reached_and_opened_from_the_keyboard(page: Page, address: str) -> None:
    page.goto(address)
    expect(cards(page).first).to_be_visible()
    page.get_by_role("searchbox").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")  # folds the first section, and shows it again
    expect(page.locator(".cards details").first.locator("a").first).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(cards(page).first).to_be_focused()
    page.keyboard.press("Enter")
    title = next(iter(ncd.catalogue.values())).title
    expect(page.get_by_role("heading", name=title)).to_be_visible()


def test_a_narrow_window_shows_whole_cards(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 400, "height": 800})
    page.goto(address)
    expect(cards(page)).to_have_count(len(ncd.catalogue))

    def whole() -> None:
        boxes = cards(page).evaluate_all(
            "all => all.map((e) => e.getBoundingClientRect().toJSON())"
        )
        assert all(box["x"] >= 0 and box["x"] + box["width"] <= 400 for box in boxes)
        assert page.evaluate("document.documentElement.scrollWidth") <= 400

    to_pass(whole)


def test_the_lead_leads_to_the_legend(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator("body[data-links]")).to_be_attached()
    page.get_by_test_id("stMarkdown").get_by_role("link", name="legend").click()
    expect(page).to_have_url(re.compile("/legend$"))
    expect(page.get_by_role("heading", name="Legend", exact=True)).to_be_visible()
