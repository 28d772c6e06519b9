"""What a move of a knob sends: the diagram before all else, and nothing that stayed as it was."""

import pytest
from playwright.sync_api import Page, WebSocket
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.browser.waits import quiet
from tests.support.polling import to_pass

pytestmark = pytest.mark.browser

MOST = 32  # messages of a move; a run of the whole page sends twice as many


def listen(page: Page) -> list[ForwardMsg]:
    """All that the server sends to the page from now on."""
    heard: list[ForwardMsg] = []

    def frame(data: str | bytes) -> None:
        heard.append(ForwardMsg.FromString(data if isinstance(data, bytes) else data.encode()))

    def opened(socket: WebSocket) -> None:
        socket.on("framereceived", frame)

    page.on("websocket", opened)
    return heard


def ended(page: Page, heard: list[ForwardMsg]) -> None:
    """Waits for the end of a run, and for what may come after it."""

    def over() -> None:
        page.evaluate("0")  # Playwright takes the messages in while it waits for the answer
        assert any(message.HasField("script_finished") for message in heard)

    to_pass(over)
    quiet(page)


def kinds(heard: list[ForwardMsg]) -> list[str]:
    """What the elements are, in the order in which they came."""
    elements = [m.delta.new_element for m in heard if m.delta.WhichOneof("type") == "new_element"]
    return [
        e.bidi_component.component_name if e.HasField("bidi_component") else e.WhichOneof("type")
        for e in elements
    ]


def test_the_diagram_comes_first_and_what_stays_is_not_sent_again(page: Page, address: str) -> None:
    heard = listen(page)
    page.goto(f"{address}/multi-head-attention")
    page.locator(".chips", has_text="y 20").wait_for()
    page.locator("[data-testid=stSlider]").first.wait_for()
    ended(page, heard)
    whole, opened = len(heard), kinds(heard)
    assert opened.index("ncd_told") < opened.index("slider") < opened.index("ncd_maps")
    heard.clear()
    page.get_by_role("slider", name="y · queries").focus()
    page.keyboard.press("ArrowRight")
    page.locator(".chips", has_text="y 21").wait_for()
    ended(page, heard)
    # The drawing, the link, the maps and the time; the diagram's own component is there already.
    assert kinds(heard) == ["ncd_told", "ncd_link", "ncd_maps", "ncd_told"]
    assert len(heard) <= MOST < whole


def test_the_sidebar_comes_again_where_it_shows_anything_else(page: Page, address: str) -> None:
    heard = listen(page)
    page.goto(f"{address}/multi-head-attention?h=12&k=64&m=768&y=197&x=197")
    published = page.get_by_text("An Image is Worth 16x16 Words")
    published.wait_for()
    ended(page, heard)
    heard.clear()
    page.get_by_role("slider", name="y · queries").focus()
    page.keyboard.press("ArrowRight")
    published.wait_for(state="detached")
    ended(page, heard)
    sent = kinds(heard)
    assert sent[0] == "ncd_told" and sent.count("slider") == 5
    heard.clear()
    page.keyboard.press("ArrowRight")
    page.locator(".chips", has_text="y 199").wait_for()
    ended(page, heard)
    assert "slider" not in kinds(heard)


def test_the_time_comes_after_the_diagram(page: Page, address: str) -> None:
    page.goto(f"{address}/multi-head-attention?h=3&k=5")
    line = page.locator(".cost", has_text="parameters")
    line.wait_for()
    page.locator(".cost", has_text="s on cpu").wait_for()
    assert "FLOP" in line.inner_text()
