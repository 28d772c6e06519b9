"""What stands around the app on the network."""

from __future__ import annotations

import asyncio

from starlette.responses import HTMLResponse
from starlette.types import Message, Receive, Scope, Send

from ncd.view.server.http import Site


async def shell(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers as Streamlit does; like some responses, it stops if the visitor leaves meanwhile."""
    left = asyncio.ensure_future(receive())
    await asyncio.wait((left,), timeout=0)
    if not left.done():
        page = "<html><head><title>Streamlit</title></head><body></body></html>"
        await HTMLResponse(page)(scope, receive, send)
    left.cancel()


async def fetched(site: Site, path: str) -> tuple[int, str]:
    """Returns the status and the body of an answer."""
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}
    await site({**scope, "query_string": b"", "headers": [(b"host", b"localhost")]}, receive, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent).decode()


def test_a_page_has_its_title_and_scripts_in_streamlits_html() -> None:
    site = Site(shell)
    for _ in range(2):
        status, page = asyncio.run(fetched(site, "/multi-head-attention"))
        assert status == 200
        assert page.startswith("<html><head><title>Multi-head attention")
        assert "ncd_wide=" in page and 'rel="stylesheet"' in page
    assert asyncio.run(fetched(site, "/nothing"))[0] == 404
