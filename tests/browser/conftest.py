"""One server for all tests; one browser and one tab a worker, which each test finds as if new."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, Page, ViewportSize, expect

from tests.browser.server import chromium, served, shared

SIZE: ViewportSize = {"width": 1280, "height": 900}
PATIENCE = 20_000  # milliseconds, on a busy machine, and for a server that has just started


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    expect.set_options(timeout=PATIENCE)
    with chromium() as found:
        yield found


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[str]:
    folder = tmp_path_factory.getbasetemp()
    with served() if worker_id == "master" else shared(folder.parent) as found:
        yield found


class Tab:
    """A tab for one test after the other; what it has parsed of the app stays in its memory.

    So a page opens with 1.1 seconds of processor time where it takes 1.8 in a new context.
    """

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.page: Page | None = None

    def open(self) -> Page:
        """Returns the tab, a new one if there is none."""
        if self.page is None:
            context = self.browser.new_context(
                viewport=SIZE,
                permissions=["clipboard-read", "clipboard-write"],
                accept_downloads=True,
            )
            context.set_default_timeout(PATIENCE)
            self.page = context.new_page()
        return self.page

    def clear(self, address: str) -> None:
        """Leaves nothing to the next test: no page, size, colours, routes, storage and history.

        ``address`` is that of the shared server; the storage of others is never seen again.
        """
        assert self.page is not None
        page, context = self.page, self.page.context
        try:
            page.unroute_all(behavior="ignoreErrors")
            for other in context.pages:
                if other is not page:
                    other.close()
            if address:
                page.goto(f"{address}/_stcore/health")  # a page of this origin, without the app
                page.evaluate("localStorage.clear(), sessionStorage.clear(), window.name = ''")
            page.goto("about:blank")
            context.clear_cookies()
            page.set_viewport_size(SIZE)
            page.emulate_media(
                media="null", color_scheme="null", reduced_motion="null", forced_colors="null"
            )
            page.mouse.move(0, 0)
            session = context.new_cdp_session(page)
            session.send("Page.resetNavigationHistory")
            session.detach()
        except Error:  # it hangs, or has ended
            context.close()
            self.page = None


@pytest.fixture(scope="session")
def tab(browser: Browser) -> Tab:
    return Tab(browser)


@pytest.fixture
def page(tab: Tab, request: pytest.FixtureRequest) -> Iterator[Page]:
    yield tab.open()
    shared_server = "address" in request.fixturenames
    tab.clear(request.getfixturevalue("address") if shared_server else "")


@pytest.fixture
def context(page: Page) -> BrowserContext:
    return page.context
