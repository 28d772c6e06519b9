"""Workers as actors of Ray, on the cluster at an address.

The package is installed on every machine of the cluster, as are torch and the rest.
"""

from __future__ import annotations

import importlib
import os
import socket
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from threading import Lock, Thread, Timer
from typing import Any

from ncd.jobs.fork_server import lower_priority, make_ready, work
from ncd.jobs.local_workers import ROOT, Message, WorkerChannel, slots

LISTEN = 5.0  # seconds of one call that waits for news
CALLS = 2  # calls of an actor at once: one waits for news, one makes requests
REACH = 5.0  # seconds until a cluster must have answered
IDLE = 10.0  # seconds that an idle actor is kept


class Mailbox(WorkerChannel):
    """A channel whose messages are collected by polling."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: SimpleQueue[Message] = SimpleQueue()

    def send(self, message: Message) -> None:
        self.messages.put(message)


class Hand:
    """A Ray actor that does one job after another; called from other processes."""

    def __init__(self) -> None:
        make_ready("train")
        lower_priority()

    def process(self) -> int:
        """Returns the process id on its machine."""
        return os.getpid()

    def begin(self, text: str) -> None:
        """Starts a job."""
        self.line = Mailbox()
        Thread(target=work, args=(text, self.line), daemon=True).start()

    def listen(self) -> list[Message]:
        """Returns the messages since the last call, waiting briefly for some."""
        messages: list[Message] = []
        try:
            messages.append(self.line.messages.get(timeout=LISTEN))
            while True:
                messages.append(self.line.messages.get_nowait())
        except Empty:
            return messages

    def want(self) -> None:
        """Requests the result so far."""
        self.line.want()


class Actor:
    """A Ray actor at one job."""

    def __init__(self, cluster: Cluster, text: str) -> None:
        self.cluster, self.text = cluster, text
        self.hand = cluster.take()
        self._begun = self._wanted = False
        self._lock = Lock()

    def news(self) -> Iterator[Message]:
        """Yields its messages until it is gone."""
        ray = self.cluster.ray
        try:
            ray.get(self.hand.begin.remote(self.text))
            with self._lock:
                self._begun = True
                if self._wanted:
                    self.hand.want.remote()
            while True:
                for message in ray.get(self.hand.listen.remote()):
                    if "failure" in message or message.get("last"):
                        self.cluster.give_back(self.hand)
                        yield message
                        return
                    yield message
        except ray.exceptions.RayActorError:
            return

    def want(self) -> None:
        """Requests the result so far."""
        with self._lock:
            self._wanted = True
            if self._begun:
                self.hand.want.remote()

    def end(self) -> None:
        """Kills it."""
        self.cluster.let_go(self.hand)


class Cluster:
    """Workers of a Ray cluster, one for each core or ``NCD_WORKERS``.

    Other users of the cluster are unknown, so a worker may wait for a core there. A finished worker
    takes the next job, as importing torch takes seconds; if none comes soon it frees its core.
    """

    def __init__(self, address: str) -> None:
        self.address, self.slots = address, 1  # until the cluster is known
        self.ray: Any = None
        self._made: Any = None
        self._idle: list[Any] = []
        self._lock = Lock()

    def prepare(self) -> None:
        """Does nothing: the cluster is contacted with the first job."""

    def start(self, text: str) -> Actor:
        """Starts a worker for a question; raises ConnectionError if no cluster answers."""
        return Actor(self, text)

    def take(self) -> Any:
        """Returns an idle actor, or a new one."""
        with self._lock:
            if self.ray is None or not self.ray.is_initialized():
                self._meet()
            return self._idle.pop() if self._idle else self._made.remote()

    def give_back(self, hand: Any) -> None:
        """Takes back an actor that has finished its job."""
        with self._lock:
            self._idle.append(hand)
        timer = Timer(IDLE, self._release, (hand,))
        timer.daemon = True
        timer.start()

    def _release(self, hand: Any) -> None:
        with self._lock:
            idle = hand in self._idle
            if idle:
                self._idle.remove(hand)
        if idle:
            self.let_go(hand)

    def let_go(self, hand: Any) -> None:
        """Kills an actor."""
        self.ray.kill(hand)

    def _meet(self) -> None:
        require_cluster(self.address)
        ray = importlib.import_module("ray")
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
        ray.init(
            address=self.address,
            namespace="ncd",
            log_to_driver=False,
            logging_level="warning",
            runtime_env={"env_vars": {"PYTHONPATH": paths}},
        )
        self.slots = slots(int(ray.cluster_resources().get("CPU", 1)))
        self._made = ray.remote(num_cpus=1, max_restarts=0, max_concurrency=CALLS)(Hand)
        self.ray, self._idle = ray, []


def require_cluster(address: str) -> None:
    """Raises ConnectionError if no cluster listens at an address; Ray would retry for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # such as "auto"
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except OSError:
        raise ConnectionError(f"no cluster of Ray answers at {address}") from None
