"""Files that are taken along while others are busy."""

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_file_waits_for_a_slow_browser_whatever_others_do(page: Page, address: str) -> None:
    page.goto(f"{address}/residual-block?panel=Shapes")
    with page.expect_download() as download, page.expect_request("**/media/*.txt") as asked:
        page.get_by_role("button", name="As Text").click()
    text = download.value.path().read_text()
    assert "conv_3: " in text
    other = page.context.new_page()
    for panel in ("Source", "Shapes", "Source", "Shapes"):
        other.goto(f"{address}/residual-block?panel={panel}")
        expect(other.get_by_test_id("stDownloadButton").first).to_be_visible()
    assert page.request.get(asked.value.url).text() == text
