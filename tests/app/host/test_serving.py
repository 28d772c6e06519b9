"""How the server is started, and the browser opened at its page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock, patch

import click
import pytest

from ncd.app.host import serve
from ncd.installation import package_path


class AtOnce:
    """A thread that runs where it is started."""

    def __init__(self, target: Callable[..., None], args: tuple[object, ...], **_: object) -> None:
        self.target, self.args = target, args

    def start(self) -> None:
        self.target(*self.args)


@pytest.mark.parametrize(
    ("host", "asked", "shown"),
    [
        ("", "127.0.0.1", "127.0.0.1"),
        ("0.0.0.0", "127.0.0.1", "127.0.0.1"),
        ("::", "127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost", "localhost"),
        ("::1", "::1", "[::1]"),
    ],
)
def test_a_page_is_opened_as_soon_as_the_server_answers(
    host: str, asked: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = MagicMock(side_effect=[OSError, OSError, MagicMock()])
    slept: list[float] = []
    opened: list[str] = []
    monkeypatch.setattr(serve, "Thread", AtOnce)
    monkeypatch.setattr(serve.socket, "create_connection", answer)
    monkeypatch.setattr(serve.time, "sleep", slept.append)
    monkeypatch.setattr(serve.webbrowser, "open", opened.append)
    serve.open_when_served(host, 8501, "unet?c=2")
    assert [call.args for call in answer.call_args_list] == [((asked, 8501),)] * 3
    assert slept == [serve.PERIOD] * 2
    assert opened == [f"http://{shown}:8501/unet?c=2"]


def test_the_app_is_served_from_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    app, been = package_path("app.py"), list[Path]()
    monkeypatch.setattr(serve.os, "chdir", been.append)
    with patch.object(serve.cli, "main") as run:
        serve.serve("h", 80)
    assert been == [app.parent]
    assert run.call_args.args == (
        ["run", str(app), "--server.address", "h", "--server.port", "80"],
    )
    with patch.object(serve.cli, "main", side_effect=click.Abort), pytest.raises(KeyboardInterrupt):
        serve.serve("h", 80)


@pytest.mark.parametrize("at", ["first", "system"])
def test_a_server_whose_app_fails_does_not_begin(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = SimpleNamespace(exception=[SimpleNamespace(message="no such page")])
    right = SimpleNamespace(exception=[])
    pages = {
        "first": wrong if at == "first" else right,
        "system": wrong if at != "first" else right,
    }
    asked: list[str] = []

    def page(name: str) -> SimpleNamespace:
        asked.append(name)
        return pages["system"]

    def app(file: str, default_timeout: int) -> SimpleNamespace:
        switched = SimpleNamespace(run=lambda: pages["system"])
        return SimpleNamespace(
            switch_page=lambda name: asked.append(name) or switched, run=lambda: pages["first"]
        )

    monkeypatch.setattr(serve.AppTest, "from_file", app)
    with pytest.raises(SystemExit) as error:
        serve.warm_up("app.py")
    assert error.value.args == ("The app fails at its first run: no such page",)
    assert len(asked) == 1 and asked[0].startswith("pages/")
