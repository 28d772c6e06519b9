"""The parts of workers without a process of their own: sockets, actors, limits, and the work."""

from __future__ import annotations

import json
import resource
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import torch

import ncd
from ncd.errors import SizeError
from ncd.findings.reading.finding import Finding
from ncd.findings.search import findings as found_in
from ncd.jobs import fork_server, local_workers, pool_jobs, ray_workers, source_job, source_reading
from ncd.jobs.fork_server import SocketLine
from ncd.jobs.job_pool import Turns
from ncd.jobs.local_workers import LONGEST, OFTEN, RESULT_REQUEST, WorkerChannel
from ncd.jobs.pool_jobs import forward, map_dimensions
from ncd.jobs.ray_workers import Actor, Cluster, Hand, Mailbox
from ncd.notation.term_reader import TextError
from tests.browser.server import free_port


class Heard(WorkerChannel):
    """A channel that remembers what was sent, with a clock that the test turns."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Any] = []

    def send(self, message: local_workers.Message) -> None:
        self.sent.append(message)


@pytest.fixture
def clock() -> Iterator[list[float]]:
    now = [100.0]
    with patch.object(local_workers, "monotonic", lambda: now[0]):
        yield now


# --- the channel ----------------------------------------------------------------------------------


def test_quick_steps_share_a_message(clock: list[float]) -> None:
    line = Heard()
    line.tell({"step": 1})
    clock[0] += OFTEN
    line.tell({"step": 2})
    assert line.sent == []
    clock[0] += OFTEN / 10
    line.tell({"step": 3})
    assert line.sent == [{"news": [{"step": 1}, {"step": 2}, {"step": 3}]}]
    line.tell({"step": 4})
    assert len(line.sent) == 1
    line.give(b"r", whole=False)
    assert line.sent[1:] == [
        {"news": [{"step": 4}]},
        {"result": b"r", "whole": False, "last": False},
    ]
    line.fail("why")
    assert line.sent[3:] == [{"failure": "why"}]


def test_a_late_result_is_the_last(clock: list[float]) -> None:
    line = Heard()
    clock[0] += LONGEST
    assert not line.timed_out
    clock[0] += 1
    assert line.timed_out
    line.give(b"r", whole=False)
    assert line.sent == [{"result": b"r", "whole": False, "last": True}]
    assert not line.has_new_request()
    line.want()
    assert line.has_new_request() and not line.has_new_request()


def test_a_message_is_a_line_and_its_result_follows() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        line = SocketLine(theirs)
        line.send({"news": [1]})
        line.send({"result": b"12345", "whole": True})
        read = ours.recv(1000)
    first, second, rest = read.split(b"\n")
    assert (json.loads(first), json.loads(second)) == ({"news": [1]}, {"result": 5, "whole": True})
    assert rest == b"12345"


def test_a_worker_hears_until_its_connection_closes() -> None:
    ours, theirs = socket.socketpair()
    codes: list[int] = []
    with ours, theirs, patch.object(fork_server.os, "_exit", codes.append):
        line = SocketLine(theirs)
        ours.sendall(b"?" if b"?" not in RESULT_REQUEST else b"x")
        ours.shutdown(socket.SHUT_WR)
        line.handle_requests()
        assert not line.has_new_request() and codes == [0]
    ours, theirs = socket.socketpair()
    with ours, theirs, patch.object(fork_server.os, "_exit", codes.append):
        line = SocketLine(theirs)
        ours.sendall(RESULT_REQUEST)
        ours.shutdown(socket.SHUT_WR)
        line.handle_requests()
        assert line.has_new_request()


def test_the_question_is_the_first_line_and_no_more_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"a question\nmore")
        assert fork_server._read_line(theirs) == "a question\n"
        assert theirs.recv(10) == b"more"
        ours.sendall(b"cut off")
        ours.close()
        with pytest.raises(EOFError):
            fork_server._read_line(theirs)


def test_a_process_is_forked_for_each_socket_until_the_input_ends() -> None:
    ours, control = socket.socketpair()
    forked: list[int] = []
    ended: list[int] = []

    def fork(own: socket.socket, _: socket.socket, niceness: int) -> int:
        own.close()
        assert niceness == 7
        forked.append(100 + len(forked))
        return forked[-1]

    def waited(pid: int, how: int) -> tuple[int, int]:
        ended.append(pid)
        return (0, 0) if ended.count(pid) < 2 else (pid, 0)

    with (
        patch.object(fork_server, "_fork", fork),
        patch.object(fork_server.os, "waitpid", waited),
        patch.object(fork_server, "LOOK", 0.001),
    ):
        thread = threading.Thread(target=fork_server.serve, args=(control, 7))
        thread.start()
        for _ in range(2):
            one, other = socket.socketpair()
            with one, other:
                socket.send_fds(ours, [b"x"], [other.fileno()])
        ours.close()
        thread.join(30)
    control.close()
    assert not thread.is_alive()
    assert forked == [100, 101] and set(ended) <= {100, 101}
    assert ended.count(100) in (1, 2)  # none is waited for again once it has ended


# --- the work -------------------------------------------------------------------------------------


def test_a_job_is_done_and_its_error_is_told_in_one_line() -> None:
    line = Heard()
    asked: list[object] = []

    def fine(line: WorkerChannel, **given: object) -> None:
        asked.append(given)

    def wrong(line: WorkerChannel, **given: object) -> None:
        raise ValueError("first\nsecond")

    with (
        patch.object(fork_server, "KINDS", {"fine": fine, "wrong": wrong}),
        patch.object(torch, "set_num_threads") as threads,
    ):
        fork_server.work('{"kind": "fine", "given": {"a": 1}}', line)
        fork_server.work('{"kind": "wrong", "given": {}}', line)
    assert asked == [{"a": 1}] and line.sent == [{"failure": "ValueError: first"}]
    assert {call.args for call in threads.call_args_list} == {(1,)}


@pytest.mark.parametrize("kind", ["source", "train"])
def test_a_worker_is_prepared_for_its_kind_of_job(kind: str) -> None:
    with (
        patch.object(fork_server, "warm_up") as warm,
        patch.object(fork_server.importlib, "import_module") as imported,
        patch.object(torch, "set_num_threads") as threads,
        patch.object(fork_server, "exact") as exact,
    ):
        fork_server.make_ready(kind)
    assert threads.call_args.args == (1,) and exact.called
    assert (warm.called, imported.called) == (kind == "source", kind != "source")


@pytest.mark.parametrize(
    ("now", "wanted", "more"), [(0, 10, 10), (4, 10, 6), (10, 10, 0), (15, 10, 0), (0, 0, 0)]
)
def test_pages_come_before_jobs(now: int, wanted: int, more: int, tmp_path: Path) -> None:
    asked: list[int] = []

    def nice(by: int) -> int:
        asked.append(by)
        return now

    score = tmp_path / "score"
    with (
        patch.object(fork_server.os, "nice", nice),
        patch.object(fork_server, "Path", lambda _: score),
    ):
        fork_server.lower_priority(wanted)
        assert not score.exists()
        score.write_text("0")
        fork_server.lower_priority(wanted)
    assert asked == [0, more] * 2 and score.read_text() == str(fork_server.OOM_SCORE)


@dataclass(frozen=True)
class Step:
    step: int
    steps: int
    score: float | None = None


class Loop:
    """Training of three steps, of which none changes anything."""

    name, seed = "loop", 5

    def __init__(self, scored: bool = False) -> None:
        self.module, self.scores = torch.nn.Linear(1, 1), 0
        self.scored = scored

    def score(self) -> float:
        self.scores += 1
        return 0.5

    def __iter__(self) -> Iterator[Step]:
        return iter([Step(n, 3, 0.25 if self.scored else None) for n in (1, 2, 3)])


@pytest.mark.parametrize("scored", [False, True])
def test_weights_are_given_when_asked_for_and_at_the_end(scored: bool) -> None:
    line = Heard()
    told: list[Any] = []
    given: list[tuple[bytes, bool]] = []
    asked = iter([False, True, False])
    with (
        patch.object(pool_jobs, "LOOPS", {"fit": Loop}),
        patch.object(pool_jobs, "write_weights", lambda _, note: note["steps"].encode()),
        patch.object(line, "has_new_request", lambda: next(asked)),
        patch.object(line, "tell", told.append),
        patch.object(line, "give", lambda result, whole: given.append((result, whole))),
    ):
        pool_jobs.train(line, "fit", scored=scored)
    assert given == [(b"2", False), (b"3", True)]
    usual = 0.25 if scored else None
    assert [step["score"] for step in told] == [usual, 0.25 if scored else 0.5, usual]


def test_a_late_training_gives_what_it_has_and_ends() -> None:
    line = Heard()
    told: list[Any] = []
    with (
        patch.object(pool_jobs, "LOOPS", {"fit": Loop}),
        patch.object(pool_jobs, "write_weights", lambda _, note: note["seed"].encode()),
        patch.object(Heard, "timed_out", True),
        patch.object(line, "tell", told.append),
    ):
        pool_jobs.train(line, "fit")
    assert line.sent == [{"result": b"5", "whole": False, "last": True}]
    assert [step["score"] for step in told] == [0.5]


# --- sources --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "fact", "cure"),
    [
        (TextError("text", 2, 3, cure="c"), "text", "c"),
        (SizeError("size", cure="c"), "size", "c"),
        (KeyError("k"), "it cannot be read, because of a KeyError", "fewer lines"),
    ],
)
def test_whatever_goes_wrong_in_a_source_is_a_message(
    error: Exception, fact: str, cure: str
) -> None:
    with patch.object(source_job, "read_source", side_effect=error):
        said: Any = source_job.source_message("x")["error"]
    assert (said["fact"], said["cure"]) == (fact, cure)
    assert (said["line"], said["column"]) == ((2, 3) if fact == "text" else (1, 1))


def test_a_term_has_a_longest_length() -> None:
    text = "nn.Linear(8, 3)(torch.randn(5, 8))"
    term = str(source_job.source_message(text)["term"])
    with patch.object(source_job, "LONGEST_JSON", len(term)):
        assert source_job.source_message(text)["term"] == term
    with patch.object(source_job, "LONGEST_JSON", len(term) - 1):
        said: Any = source_job.source_message(text)["error"]
    assert said["fact"] == "its term is too large to be drawn"
    assert (said["line"], said["column"], said["cure"]) == (1, 1, "fewer layers")


def test_a_job_of_a_source_has_limits() -> None:
    limits: dict[int, tuple[int, int]] = {}
    with (
        patch.object(resource, "setrlimit", limits.__setitem__),
        patch.object(resource, "getrlimit", lambda _: (-1, 77)),
    ):
        source_job._limit_time(6)
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        source_job._limit_memory()
    assert limits[resource.RLIMIT_CPU] == (6, 77)
    assert limits[resource.RLIMIT_FSIZE] == (0, 0)
    most, hard = limits[resource.RLIMIT_AS]
    used = most - source_job.MEMORY
    assert most == hard and abs(used - pages * resource.getpagesize()) < 50_000_000


@pytest.mark.parametrize(
    ("messages", "result", "ended"),
    [
        ([{"news": [1]}, {"result": b"r"}], b"r", False),
        ([{"failure": "no"}, {"result": b"r"}], None, False),
        ([{"news": [1]}], None, True),
    ],
)
def test_the_result_of_a_reader_is_that_of_its_worker(
    messages: list[dict[str, Any]], result: bytes | None, ended: bool
) -> None:
    started = MagicMock()
    started.news = lambda: iter(messages)
    reader = source_reading.Reader()
    reader.workers = SimpleNamespace(start=lambda text: started)  # type: ignore[assignment]
    assert reader._result("source", "x") == result
    assert started.end.called == ended


TWO_MODELS = """
class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(3, 4)
    def forward(self, x):
        return self.map(x)
class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
    def forward(self, x):
        return self.part(x).relu()
"""


@pytest.mark.parametrize(
    ("job", "computing"),
    [
        ("source", [source_job.BUILDING, source_job.SECONDS]),
        ("part", [source_job.BUILDING, source_job.PART]),
        ("findings", [source_job.FINDING]),
        ("sizes", [source_job.FINDING]),
    ],
)
def test_each_job_of_a_source_computes_so_long_and_in_so_much_memory(
    job: str, computing: list[int]
) -> None:
    limits: list[object] = []
    line = Heard()
    with (
        patch.object(source_job, "_limit_memory", lambda: limits.append("memory")),
        patch.object(source_job, "_limit_time", limits.append),
    ):
        getattr(source_job, job)(line, TWO_MODELS)
    assert limits == ["memory", *computing]
    (message,) = line.sent
    assert message["whole"] and message["last"]
    if job in ("source", "part"):
        found = source_reading._read(message["result"])
        assert not isinstance(found, TextError) and found.call is not None
        assert found.call.drawn == ("Part" if job == "part" else "Whole")
    else:
        kinds = {each.kind for each in source_job.read(message["result"])}
        assert kinds <= ({"size"} if job == "sizes" else set())


def test_a_finding_with_its_cures_comes_back_from_its_json() -> None:
    (failure,) = found_in("nn.Linear(8, 3)(torch.randn(5, 6))")
    assert failure.cures
    assert source_job.read(source_job.findings_json((failure,))) == (failure,)


@pytest.mark.parametrize("kind", ["findings", "sizes"])
def test_what_is_found_is_kept_and_so_is_that_it_takes_too_long(kind: str) -> None:
    answers = [None, source_job.findings_json((Finding("silent", 3, "a", "b"),))]
    reader = source_reading.Reader()
    search = getattr(reader, kind)
    with patch.object(reader, "_result", lambda kind, text: answers.pop(0)):
        for _ in range(2):
            with pytest.raises(TextError) as error:
                search("one")
            assert str(error.value) == (
                "line 1, column 1: it takes more than 16 seconds of computing, or 200 MB. "
                "Try fewer layers, or smaller sizes."
            )
        for _ in range(2):
            assert search("another") == (Finding("silent", 3, "a", "b"),)
    assert answers == []


def test_a_text_that_finds_no_turn_is_told_and_asked_again() -> None:
    reader = source_reading.Reader()
    reader.turns["findings"] = Turns(1)
    answer = source_job.findings_json(())
    with patch.object(reader, "_result", lambda kind, text: answer):
        with (
            patch.object(source_reading, "QUEUE", 0.0),
            reader.turns["findings"].take_turn("a", 0),
            pytest.raises(TextError) as error,
        ):
            reader.findings("x", "b")
        assert reader.findings("x", "b") == ()
    assert str(error.value) == (
        "line 1, column 1: too many sources are read now. Try it again in a minute."
    )


@pytest.mark.parametrize(("classes", "kinds"), [(1, ["source"]), (2, ["source", "part"])])
def test_of_several_classes_a_part_is_tried_and_then_the_source_takes_too_long(
    classes: int, kinds: list[str]
) -> None:
    reader, asked = source_reading.Reader(), list[str]()
    with (
        patch.object(reader, "_result", lambda kind, text: asked.append(kind)),
        pytest.raises(TextError) as error,
    ):
        reader.read("class A: pass\n" * classes)
    assert asked == kinds
    assert str(error.value) == (
        "line 1, column 1: it takes more than 6 seconds of computing, or 200 MB. "
        "Try fewer layers, or smaller sizes."
    )


def test_a_text_is_read_up_to_its_longest_length() -> None:
    reader, answer = source_reading.Reader(), source_job.findings_json(())
    with patch.object(reader, "_result", lambda kind, text: answer):
        assert reader.findings("x" * source_reading.LONGEST) == ()
        with pytest.raises(TextError, match="it has 200,001 letters, at most 200,000 are read"):
            reader.findings("x" * (source_reading.LONGEST + 1))


def test_a_run_that_takes_too_long_stops_at_its_next_op(clock: list[float]) -> None:
    line = Heard()
    clock[0] += LONGEST + 1
    with pytest.raises(ncd.LimitError) as error:
        forward(line, "", {}, 0, "cpu", ncd.to_json(ncd.Softmax("m:3")))
    assert str(error.value) == "the run takes too long. Try smaller sizes."
    assert line.sent == []


def test_a_term_that_cannot_be_read_again_is_told() -> None:
    said = source_job.source_message("nn.Linear(8, 3)(torch.randn(5, 8))")
    assert not isinstance(source_reading._read(json.dumps(said).encode()), TextError)
    found = source_reading._read(json.dumps({**said, "term": "{}"}).encode())
    assert isinstance(found, TextError) and (found.line, found.column) == (1, 1)
    assert source_job.read(source_job.findings_json(())) == ()


# --- a cluster ------------------------------------------------------------------------------------


class Gone(Exception):
    """The actor is gone."""


def ray(**more: Any) -> Any:
    usual = {"exceptions": SimpleNamespace(RayActorError=Gone), "get": lambda x: x}
    return SimpleNamespace(**{**usual, "is_initialized": lambda: True, **more})


def remote(answer: Any) -> Any:
    return SimpleNamespace(remote=answer)


def test_an_actor_yields_its_messages_until_the_last() -> None:
    batches = iter(
        [[{"news": [1]}], [{"result": b"r", "last": False}, {"result": b"s", "last": 1}]]
    )
    wants: list[int] = []
    hand = SimpleNamespace(
        begin=remote(lambda text: None),
        listen=remote(lambda: next(batches)),
        want=remote(lambda: wants.append(1)),
    )
    back: list[Any] = []
    cluster: Any = SimpleNamespace(ray=ray(), take=lambda: hand, give_back=back.append)
    actor = Actor(cluster, "text")
    actor.want()
    assert wants == []  # it has not begun
    news = actor.news()
    assert next(news) == {"news": [1]} and wants == [1]
    actor.want()
    assert wants == [1, 1] and back == []
    assert [message["result"] for message in news] == [b"r", b"s"] and back == [hand]


@pytest.mark.parametrize("last", [{"failure": "why"}, None])
def test_an_actor_that_fails_or_is_gone_ends(last: dict[str, str] | None) -> None:
    def listen() -> list[Any]:
        if last is None:
            raise Gone
        return [last, {"news": [2]}]

    hand = SimpleNamespace(begin=remote(lambda text: None), listen=remote(listen))
    back: list[Any] = []
    cluster: Any = SimpleNamespace(ray=ray(), take=lambda: hand, give_back=back.append)
    assert [*Actor(cluster, "text").news()] == ([last] if last else [])
    assert back == ([hand] if last else [])


def test_an_idle_actor_takes_the_next_job_and_frees_its_core_later() -> None:
    killed: list[Any] = []
    cluster = Cluster("127.0.0.1:1")
    assert cluster.slots == 1
    made: list[str] = []

    def new() -> str:
        made.append(f"hand {len(made)}")
        return made[-1]

    def meet() -> None:
        cluster.ray, cluster._idle = ray(kill=killed.append), []
        cluster._made = remote(new)

    with patch.object(cluster, "_meet", meet), patch.object(ray_workers, "Timer") as timer:
        one = cluster.take()
        assert made == ["hand 0"]
        cluster.give_back(one)
        assert cluster.take() == one and made == ["hand 0"]
        cluster._release(one)  # it has a job
        assert killed == []
        cluster.give_back(one)
        cluster._release(one)
        assert killed == [one] and cluster._idle == []
        cluster.ray.is_initialized = lambda: False
        cluster.give_back("lost")
        assert cluster.take() == "hand 1"
    assert timer.call_args.args[0] == ray_workers.IDLE and timer.return_value.daemon is True


def test_a_cluster_that_does_not_answer_is_told_at_once() -> None:
    ray_workers.require_cluster("auto")
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ray_workers.require_cluster(f"127.0.0.1:{port}")
        ray_workers.require_cluster(f"ray://127.0.0.1:{port}")
    with pytest.raises(ConnectionError, match="no cluster of Ray answers"):
        ray_workers.require_cluster(f"127.0.0.1:{free_port()}")


def test_a_cluster_has_a_slot_for_each_core() -> None:
    own = MagicMock()
    own.cluster_resources.return_value = {"CPU": 6.0}
    cluster = Cluster("127.0.0.1:1")
    with (
        patch.object(ray_workers, "require_cluster"),
        patch.object(ray_workers.importlib, "import_module", lambda name: own),
        patch.object(ray_workers, "slots", lambda cores: cores),
    ):
        cluster._meet()
        assert cluster.slots == 6
        own.cluster_resources.return_value = {}
        cluster._meet()
    assert cluster.slots == 1 and cluster.ray is own
    assert own.remote.call_args.kwargs == {
        **{"num_cpus": 1, "max_restarts": 0},
        "max_concurrency": ray_workers.CALLS,
    }


def test_an_actor_collects_its_messages() -> None:
    with patch.object(ray_workers, "make_ready"), patch.object(ray_workers, "lower_priority"):
        hand = Hand()
    hand.line = Mailbox()
    with patch.object(ray_workers, "LISTEN", 0.001):
        assert hand.listen() == []
        for n in range(3):
            hand.line.send({"news": [n]})
        assert hand.listen() == [{"news": [0]}, {"news": [1]}, {"news": [2]}]
    hand.want()
    assert hand.line.has_new_request()


# --- limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cores", "sources", "findings"), [(None, 1, 1), (1, 1, 1), (4, 2, 1), (8, 4, 2), (12, 6, 3)]
)
def test_sources_take_half_of_the_cores_and_findings_a_quarter(
    cores: int | None, sources: int, findings: int
) -> None:
    with (
        patch.object(source_reading.os, "cpu_count", lambda: cores),
        patch.object(source_reading, "Turns", lambda count: count),
    ):
        turns = source_reading.Reader().turns
    assert turns == {"source": sources, "findings": findings, "sizes": findings}


@pytest.mark.parametrize(
    ("flops", "steps", "bytes", "fits"),
    [(0, 0, 0, True), (-1, 0, 0, False), (0, -1, 0, False), (0, 0, -1, False)],
)
def test_the_pool_takes_what_is_at_its_limits_and_no_more(
    flops: int, steps: int, bytes: int, fits: bool
) -> None:
    term = ncd.Id("y:2 m:3") >> ncd.Linear("m -> k:4", "L") >> ncd.Softmax("k")
    cells, need = ncd.elaborate(term).cells, pool_jobs.predicted_forward_peak(term)
    most = SimpleNamespace(flops=ncd.cost(term).flops + flops, bytes=need + bytes)
    with (
        patch.object(pool_jobs, "limits", lambda: most),
        patch.object(pool_jobs, "STEPS", sum(cell.run_count for cell in cells) + steps),
    ):
        assert pool_jobs.fits(term) is fits
    with patch.object(pool_jobs, "predicted_forward_peak", side_effect=OverflowError):
        assert pool_jobs.fits(term) is False


@pytest.mark.parametrize(
    ("text", "dims"),
    [("y:2 x:3", (0, 1)), ("c:2 x:4x5", (1, 2)), ("x:4x5 c:2", (0, 1)), ("b:2 x:4x5x6", (0, 1))],
)
def test_the_map_of_an_array_is_of_its_spatial_axis(text: str, dims: tuple[int, int]) -> None:
    assert map_dimensions(ncd.Array.parse(text)) == dims


def test_a_run_reports_each_op() -> None:
    term = ncd.Id("y:2 m:3") >> ncd.Softmax("m") >> ncd.Elementwise("relu")
    line = Heard()
    told: list[Any] = []
    laps = SimpleNamespace(mark=lambda: None, laps=lambda: [1.0, 10.0, 2.0, 20.0])
    with (
        patch.object(line, "tell", told.append),
        patch.object(pool_jobs, "Timer", lambda device: laps),
        patch.object(pool_jobs, "perf_counter", iter([1.0, 3.0, 4.0, 8.0]).__next__),
    ):
        forward(line, "own", {}, 0, "cpu", ncd.to_json(term))
    assert told == [
        {"step": 1, "steps": 2, "seconds": 1.0},
        {"step": 2, "steps": 2, "seconds": 5.0},
    ]
    assert pool_jobs.read(line.sent[-1]["result"]).seconds == 3  # without looking at the results
    assert line.sent[-1]["whole"] is True


@pytest.mark.parametrize("ready", ["source", "train"])
def test_only_readers_of_sources_map_their_memory(ready: str) -> None:
    with patch.object(local_workers.subprocess, "Popen") as started:
        local_workers.Helper(ready).line.close()
    env = started.call_args.kwargs["env"]
    assert (local_workers.MALLOC_SETTINGS.items() <= env.items()) == (ready == "source")
    assert started.call_args.args[0][3] == ready


@pytest.mark.parametrize("pages", [True, False])
def test_jobs_yield_where_pages_are_served_and_to_nobody_else(
    pages: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if pages:
        monkeypatch.setitem(sys.modules, "streamlit", ModuleType("streamlit"))
    else:
        monkeypatch.delitem(sys.modules, "streamlit", raising=False)
    with patch.object(local_workers.subprocess, "Popen") as started:
        local_workers.Helper("source").line.close()
    assert started.call_args.args[0][3:] == ["source", *(["pages"] if pages else [])]


def test_one_helper_starts_all_workers_while_it_lives() -> None:
    made: list[Any] = []
    kind = local_workers.Helper

    def helper(ready: str) -> local_workers.Helper:
        own = object.__new__(kind)
        own.line = MagicMock()
        own.process = MagicMock(**{"poll.return_value": None})
        made.append((ready, own))
        return own

    workers = local_workers.Local("source")
    with patch.object(local_workers, "Helper", helper):
        workers.prepare()
        workers.prepare()
        ((ready, first),) = made
        assert ready == "source" and workers.helper is first
        first.process.poll.return_value = 1  # it has ended
        workers.prepare()
    assert len(made) == 2 and workers.helper is made[1][1]
    assert first.line.close.called and not made[1][1].line.close.called
