"""The addresses of a class, as phones and a lecturer ask for them."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from ncd.app.host import class_endpoint
from ncd.app.host.class_endpoint import KEY_HEADER, LONGEST, answer_page, answer_tally
from ncd.app.teach.class_tally import Tallies, room_code

KEY, PHONE = "k" * 24, "p" * 24
HEAD = {KEY_HEADER: KEY}
ROOM = f"/class.json?room={room_code(KEY)}"
VIEW = {"page": "multi-head-attention", "query": "ask=shape:v7&h=8"}


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setattr(class_endpoint, "TALLIES", Tallies())
    return TestClient(answer_tally)


def opened(client: TestClient) -> dict[str, Any]:
    assert client.put(ROOM, json=VIEW, headers=HEAD).json() == {"answers": 4}
    found: dict[str, Any] = client.get(ROOM).json()
    return found


def test_a_question_comes_from_the_term_and_its_sums_go_to_the_lecturer(client: TestClient) -> None:
    assert client.post("/class.json", json={}, headers=HEAD).json() == {"room": room_code(KEY)}
    found = opened(client)
    assert found["question"].startswith("What shape leaves") and len(found["answers"]) == 4
    assert set(found) == {"question", "answers", "number"}  # no sums for phones
    assert client.post(ROOM, json={"phone": PHONE, "answer": 2}).json() == {}
    assert client.post(ROOM, json={"phone": PHONE, "answer": 1}).json() == {}
    assert client.get(ROOM, headers=HEAD).json() == {"counts": [0, 1, 0, 0]}
    assert client.delete(ROOM, headers=HEAD).json() == {"counts": [0, 1, 0, 0]}
    assert client.get(ROOM).status_code == client.get(ROOM, headers=HEAD).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 404),
        (b"[1]", 400),
        (b"{", 400),
        (b'{"phone": 1, "answer": 0}', 404),
        (b'{"phone": "' + b"p" * 24 + b'", "answer": true}', 404),
        (b'{"phone": "' + b"p" * 24 + b'", "answer": "0"}', 404),
        (b"[" * 3000, 400),
        (b" " * (LONGEST + 1), 400),
        (b"\xff\xfe", 400),
    ],
)
def test_what_is_no_answer_counts_nothing(client: TestClient, body: bytes, status: int) -> None:
    opened(client)
    refused = client.post(ROOM, content=body)
    assert refused.status_code == status and refused.json()["error"]
    assert client.get(ROOM, headers=HEAD).json() == {"counts": [0, 0, 0, 0]}


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"page": "nothing", "query": "ask=shape:v7"},
        {"page": "unet", "query": ""},
        {"page": "unet", "query": "ask=nonsense"},
        {"page": ["unet"], "query": {"ask": 1}},
    ],
)
def test_a_view_that_asks_nothing_opens_nothing(client: TestClient, view: dict[str, Any]) -> None:
    refused = client.put(ROOM, json=view, headers=HEAD)
    assert refused.status_code == 404
    assert refused.json()["error"].startswith("this view asks nothing")
    assert client.get(ROOM).status_code == 404


def test_nobody_else_opens_sees_or_closes(client: TestClient) -> None:
    opened(client)
    for head in ({KEY_HEADER: "o" * 24}, {}):
        assert client.put(ROOM, json=VIEW, headers=head).status_code == 404
        assert client.delete(ROOM, headers=head).status_code == 404
    assert client.get(ROOM, headers={KEY_HEADER: "o" * 24}).status_code == 404
    assert client.patch(ROOM).status_code == 400


def test_what_is_asked_is_escaped(client: TestClient) -> None:
    """A visitor's own text names axes and ops, and stands on all phones."""
    text = 'Linear("m -> k", "<img src=x onerror=alert(1)>")'
    own = {"page": "yours", "query": f"text={text}&ask=most:parameters"}
    refused_or_plain = client.put(ROOM, json=own, headers=HEAD)
    if refused_or_plain.status_code == 200:
        assert "<img" not in str(client.get(ROOM).json())


def test_the_page_of_phones_names_no_room() -> None:
    client = TestClient(answer_page)
    one, other = (client.get(f"/class?room={room}").text for room in ("a", "<b>"))
    assert one == other and "Nobody sees what you choose" in one
