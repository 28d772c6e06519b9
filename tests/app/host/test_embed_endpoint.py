"""The page for a frame, and the answer of oEmbed."""

from __future__ import annotations

import json
import re
from html import unescape
from urllib.parse import parse_qsl

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

from ncd.app.host import embed_endpoint, http
from ncd.app.host.embed_endpoint import page_html


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("NCD_FRAMES", "https://school.example")
    return TestClient(http.ServerMiddleware(Response()), "http://localhost")


def asked(page: str) -> dict[str, str]:
    (query,) = re.findall(r'data-ask="([^"]*)"', page)
    return dict(parse_qsl(unescape(query)))


def knobs(page: str) -> list[dict[str, object]]:
    (data,) = re.findall(r'data-knobs="([^"]*)"', page)
    found: list[dict[str, object]] = json.loads(unescape(data))
    return found


def test_the_page_has_the_diagram_and_its_sizes_alone() -> None:
    page = page_html("multi-head-attention", {"h": "8", "labels": "sizes", "dark": "1"})
    assert page.count("<svg") == 1 and 'style="color-scheme: dark"' in page
    assert asked(page).items() >= {"h": "8", "labels": "sizes", "dark": "1", "y": "20"}.items()
    assert [knob["name"] for knob in knobs(page)] == ["h", "k", "m", "y", "x", "causal"]
    assert 'data-sizes="off"' in page_html("multi-head-attention", {"sizes": "off"})


def test_sizes_that_fit_no_diagram_are_told_of() -> None:
    page = page_html("unet", {"depth": "8"})
    assert "No diagram fits these sizes" in page and asked(page)["depth"] == "4"


def test_text_of_an_address_stays_text() -> None:
    page = page_html("multi-head-attention", {"folded": '"><script>alert(1)</script>', "h": "<b>"})
    assert "<script>alert" not in page and "<b>" not in page


def test_an_unknown_system_is_not_found(client: TestClient) -> None:
    found = client.get("/embed/nothing")
    assert (found.status_code, found.text) == (404, embed_endpoint.NOT_FOUND_TEXT)
    assert client.get("/embed/lora").headers["Content-Security-Policy"] == (
        "frame-ancestors https://school.example"
    )


def test_oembed_gives_the_frame_of_a_page(client: TestClient) -> None:
    url = "http://localhost/lora?t=3&m=8"
    found = client.get("/oembed", params={"url": url, "maxwidth": "400"}).json()
    assert (found["type"], found["title"], found["width"]) == ("rich", "LoRA", 400)
    assert found["html"] == (
        '<iframe src="http://localhost/embed/lora?t=3&amp;m=8" title="LoRA" width="400" '
        'height="480" style="border:0"></iframe>'
    )


def test_a_page_leads_to_its_oembed_answer(client: TestClient) -> None:
    page = client.get("/embed/lora?t=3&m=8").text
    (link,) = re.findall(
        r'<link rel="alternate" type="application/json\+oembed" href="(.*?)"', page
    )
    found = client.get(unescape(link)).json()
    assert 'src="http://localhost/embed/lora?t=3&amp;m=8"' in found["html"]


@pytest.mark.parametrize(
    ("params", "status"),
    [
        ({"url": "http://other.example/lora"}, 404),
        ({"url": "javascript://localhost/lora"}, 404),
        ({"url": "http://localhost/nothing"}, 404),
        ({}, 404),
        ({"url": "http://localhost/lora", "format": "xml"}, 501),
    ],
)
def test_oembed_refuses_what_it_cannot_answer(
    client: TestClient, params: dict[str, str], status: int
) -> None:
    assert client.get("/oembed", params=params).status_code == status


def test_a_server_that_no_site_may_frame_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCD_FRAMES", raising=False)
    client = TestClient(http.ServerMiddleware(Response()), "http://localhost")
    found = client.get("/oembed", params={"url": "http://localhost/lora"})
    assert (found.status_code, found.text) == (403, embed_endpoint.NO_FRAMES_TEXT)


def test_the_component_is_served_to_any_site(client: TestClient) -> None:
    found = client.get("/ncd-diagram.js")
    assert found.headers["Access-Control-Allow-Origin"] == "*"
    assert "customElements.define" in found.text
    assert found.headers["Content-Type"].startswith("text/javascript")
