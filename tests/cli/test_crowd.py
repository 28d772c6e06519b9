"""Several processes of the app: how they begin, and who goes where there are too many."""

import asyncio
import signal
import socket
import subprocess
import sys
from typing import Any

import pytest
from starlette.types import Message, Send
from streamlit.config import get_config_options

from ncd.app.host import health
from ncd.cli import crowd
from ncd.cli.crowd import AWAY, CONTEXT, FORK, CrowdError, ServerProcess

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
    from ncd.systems.catalogue import CATALOGUE
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
    process = ServerProcess(0, 8501, {}, counts)
    for _ in range(crowd.TRIES):
        process.start()
        process.running.join()
        assert not process.is_ready
    with pytest.raises(CrowdError, match="8501"):
        process.start()


def visit(count: int, gone: list[int]) -> list[Send]:
    """Visitors who are here; each says when it is sent away."""

    def one(number: int) -> Send:
        async def send(message: Message) -> None:
            assert (message["type"], message["code"]) == ("websocket.close", health.RECONNECT_CODE)
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
    monkeypatch.setattr(health, "_open_sockets", dict.fromkeys(visit(counts[0], gone)))
    monkeypatch.setattr(health, "_counts", counts)
    monkeypatch.setattr(health, "_process_index", 0)
    monkeypatch.setattr(health, "DISCONNECTION_SECONDS", 0.0)
    asyncio.run(health.shed_visitors(0.0))
    assert gone == [23 - i for i in range(go)]
    assert health.answer(health.READY).status_code == 200


class Running:
    """A process that is told to end, and takes so many seconds of a false clock over it."""

    def __init__(self, clock: list[float], takes: float) -> None:
        self.clock, self.takes, self.pid, self.exitcode = clock, takes, 1, None
        self.waited: float | None = None
        self.calls: list[str] = []

    def is_alive(self) -> bool:
        return "kill" not in self.calls and self.takes > 0

    def join(self, timeout: float | None = None) -> None:
        if timeout is not None:
            assert 0 <= timeout <= crowd.FAREWELL
            self.waited = timeout
            passed = min(timeout, self.takes)
            self.clock[0] += passed + 1e-3
            self.takes -= passed

    def kill(self) -> None:
        self.calls.append("kill")


def test_processes_share_the_time_in_which_they_may_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are late are killed; the wait for all of them is one farewell."""
    clock, told = [100.0], []
    monkeypatch.setattr(crowd.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(crowd.os, "kill", lambda pid, number: told.append(number))
    running = [Running(clock, takes) for takes in (4.0, 30.0, 30.0, 0.0)]
    processes = [ServerProcess(i, 8501, {}, [0] * 5, began=1.0) for i in range(5)]
    for process, one in zip(processes, running, strict=False):
        process.running = one  # type: ignore[assignment]
    processes[4].began = 0.0  # never started
    crowd._end(processes)
    assert told == [signal.SIGINT] * 3  # one had ended
    assert [one.calls for one in running] == [[], ["kill"], ["kill"], []]
    assert [one.waited for one in running] == [pytest.approx(n, abs=0.01) for n in (10, 6, 0, 0)]


def test_a_short_life_counts_and_a_long_one_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr(crowd.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(crowd, "CONTEXT", Starting)
    process = ServerProcess(0, 8501, {}, [7])
    for lived, short in ((0.0, 0), (5.0, 1), (crowd.SHORT, 0), (1.0, 1), (19.9, 2)):
        clock[0] += lived
        process.start()
        assert (process.short_run_count, list(process.counts)) == (short, [AWAY])
    clock[0] += 3
    with pytest.raises(CrowdError, match="the process at port 8501 ends whenever it is started"):
        process.start()


class Starting:
    """A process that begins nothing."""

    def __init__(self, **given: object) -> None: ...

    Process: Any

    def start(self) -> None: ...


Starting.Process = Starting


@pytest.mark.parametrize(
    ("cores", "count", "workers"), [(8, 2, 4), (8, 3, 2), (2, 4, 1), (None, 1, 1)]
)
def test_processes_share_the_cores(
    monkeypatch: pytest.MonkeyPatch, cores: int | None, count: int, workers: int
) -> None:
    monkeypatch.setattr(crowd.os, "cpu_count", lambda: cores)
    monkeypatch.delenv("NCD_WORKERS", raising=False)
    monkeypatch.delenv("NCD_DRAIN", raising=False)
    found = crowd.environment(count)
    assert (found["NCD_WORKERS"], found["NCD_DRAIN"]) == (str(workers), crowd.DRAIN)
    monkeypatch.setenv("NCD_WORKERS", "7")
    assert crowd.environment(count)["NCD_WORKERS"] == "7"


def test_no_process_tells_its_inner_address() -> None:
    """Visitors have that of the proxy, which is told once all of them answer."""
    option = get_config_options()["logger.hideWelcomeMessage"]
    assert option.type is bool and crowd.environment(2)[option.env_var] == "true"


def test_each_process_has_a_port_of_its_own_that_is_free() -> None:
    ports = crowd._ports(4)
    assert len({*ports}) == 4
    for port in ports:
        with socket.socket() as free:
            free.bind(("127.0.0.1", port))
