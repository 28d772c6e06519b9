"""Several processes of the app: how they begin, and who goes where there are too many."""

import asyncio
import subprocess
import sys

import pytest
from starlette.types import Message, Send

from ncd.cli import crowd
from ncd.cli.crowd import AWAY, CONTEXT, FORK, CrowdError, Process
from ncd.view.server import health

# What a process does that is forked from one that is prepared: it draws, and computes in threads.
FORKED = """
import os, threading, torch
torch.cuda._is_compiled, torch.cuda._device_count_nvml = lambda: True, lambda: 0
torch._C._cuda_getCurrentRawStream = None  # a build without CUDA lacks it
torch._C._cuda_getDeviceCount = None  # it begins CUDA, which cannot be used once forked
from ncd.cli import crowd
crowd._prepare()
assert torch.cuda.is_available() is False
assert threading.active_count() == 1
child = os.fork()
if not child:
    import ncd
    from ncd.models import CATALOGUE
    term = CATALOGUE["residual-block"].build()
    ncd.draw(term, dark=True, width=700).svg()
    torch.set_num_threads(4)
    weights = torch.ones(500, 500, requires_grad=True)
    (weights @ weights).sum().backward()
    os._exit(0 if weights.grad[0, 0] == 1000 else 1)
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not FORK, reason="processes are not forked here")
def test_a_process_can_be_forked_once_all_is_prepared() -> None:
    command = [sys.executable, "-c", FORKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "0\n", done.stderr


def nothing(*given: object) -> None:
    """A process that ends at once."""


def test_a_process_that_ends_whenever_it_is_started_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(crowd, "_serve", nothing)
    counts = CONTEXT.RawArray("i", [7])
    process = Process(0, 8501, {}, counts)
    for _ in range(crowd.TRIES):
        process.start()
        process.running.join()
        assert not process.ready
    with pytest.raises(CrowdError, match="8501"):
        process.start()


def visit(count: int, gone: list[int]) -> list[Send]:
    """Visitors who are here; each says when it is sent away."""

    def one(number: int) -> Send:
        async def send(message: Message) -> None:
            assert (message["type"], message["code"]) == ("websocket.close", health.AGAIN)
            assert health.answer(health.READY).status_code == 503  # nobody is sent here meanwhile
            assert health.answer(health.WELL).status_code == 200
            gone.append(number)

        return send

    return [one(number) for number in range(count)]


@pytest.mark.parametrize(
    ("counts", "go"), [([24, 0], 12), ([24, AWAY], 0), ([24, 20], 0), ([24, 3, 0], 15), ([24], 0)]
)
def test_those_who_came_last_go_where_there_is_more_room(
    monkeypatch: pytest.MonkeyPatch, counts: list[int], go: int
) -> None:
    gone: list[int] = []
    monkeypatch.setattr(health, "_here", dict.fromkeys(visit(counts[0], gone)))
    monkeypatch.setattr(health, "_counts", counts)
    monkeypatch.setattr(health, "_own", 0)
    monkeypatch.setattr(health, "APART", 0.0)
    asyncio.run(health.share(0.0))
    assert gone == [23 - i for i in range(go)]
    assert health.answer(health.READY).status_code == 200
