"""Which hosts and origins the server answers to, each case in a row."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Scope

from ncd.app.host.http import LOCAL_HOSTS, ServerMiddleware, is_allowed_host

BELOW = ("*.example.org",)


@pytest.mark.parametrize(
    ("host", "names", "answer"),
    [
        ("localhost", LOCAL_HOSTS, True),
        ("localhost:8501", LOCAL_HOSTS, True),
        ("127.0.0.1:80", LOCAL_HOSTS, True),
        ("[::1]:8501", LOCAL_HOSTS, True),
        ("localhost.", LOCAL_HOSTS, True),
        ("LOCALHOST", LOCAL_HOSTS, True),
        ("localhost.example.org", LOCAL_HOSTS, False),
        ("example.org", LOCAL_HOSTS, False),
        ("", LOCAL_HOSTS, False),
        ("", ("*",), False),
        ("[::1", LOCAL_HOSTS, False),
        ("a.example.org", BELOW, True),
        ("a.b.example.org:443", BELOW, True),
        ("A.Example.ORG.", BELOW, True),
        ("example.org", BELOW, False),
        ("evilexample.org", BELOW, False),
        ("example.org.evil.net", BELOW, False),
        ("a.example.org@evil.net", BELOW, False),
        ("example.org", ("example.org",), True),
        ("a.example.org", ("example.org",), False),
        ("example.org", (), False),
        ("example.org", ("",), False),
        ("anything.net", ("*",), True),
    ],
)
def test_a_host(host: str, names: tuple[str, ...], answer: bool) -> None:
    assert is_allowed_host(host, names) is answer


def _request(kind: str, host: str, origin: str | None) -> Scope:
    headers = [(b"host", host.encode())]
    headers += [(b"origin", origin.encode())] if origin is not None else []
    return {"type": kind, "server": ("10.0.0.5", 8501), "headers": headers}


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    ("setting", "host", "origin", "answer"),
    [
        ("", "localhost:8501", None, True),
        ("", "10.0.0.5:8501", None, True),  # the address that the server is bound to
        ("", "10.0.0.6:8501", None, False),
        ("", "localhost:8501", "http://localhost:8501", True),
        ("", "localhost:8501", "http://localhost:8502", False),  # another server on this machine
        ("", "localhost:8501", "http://127.0.0.1:8501", False),
        ("", "localhost:8501", "http://evil.net", False),
        ("", "localhost:8501", "null", False),
        ("app.example.org", "app.example.org", "https://app.example.org", True),
        ("app.example.org", "app.example.org", "https://evil.net", False),
        ("app.example.org", "localhost", None, False),
        ("app.example.org, b.net", "app.example.org", "https://b.net", True),
        ("", "localhost:8501", "http://[", False),
        ("*", "anything.net", None, True),
        ("*", "anything.net", "https://anything.net", True),
        ("*", "anything.net", "https://evil.net", False),  # any host name, but not any site
        ("*", "anything.net", "null", False),
        ("*, b.net", "anything.net", "https://b.net", True),
    ],
)
def test_an_origin(
    kind: str,
    setting: str,
    host: str,
    origin: str | None,
    answer: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NCD_HOSTS", setting)
    site = ServerMiddleware(_nothing)
    assert site.is_allowed(_request(kind, host, origin)) is answer


def test_a_proxy_may_tell_the_name_that_its_visitors_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page of another site can set this header on a visitor's request."""
    for setting, answer in (("*", True), ("inside", False)):
        monkeypatch.setenv("NCD_HOSTS", setting)
        request = _request("websocket", "inside", "https://app.example.org")
        request["headers"].append((b"x-forwarded-host", b"app.example.org"))
        assert ServerMiddleware(_nothing).is_allowed(request) is answer


async def _nothing(*_: Any) -> None:
    raise AssertionError("the app is not reached")
