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

from ncd.jobs.local_workers import ROOT, slots
from ncd.jobs.worker import humble, ready, work
from ncd.jobs.worker_channel import Line, Message

LISTEN = 5.0  # seconds that an actor is listened to in one call
CALLS = 2  # of an actor at once: to be listened to, and to be asked
REACH = 5.0  # seconds in which a cluster answers
IDLE = 10.0  # seconds that an actor waits for another job


class Mailbox(Line):
    """A line whose messages are fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: SimpleQueue[Message] = SimpleQueue()

    def send(self, message: Message) -> None:
        self.messages.put(message)


class Hand:
    """What works in a process of Ray's, at one job after the other; called from elsewhere."""

    def __init__(self) -> None:
        ready()
        humble()

    def process(self) -> int:
        """The process that it is, on whatever machine."""
        return os.getpid()

    def begin(self, text: str) -> None:
        """Begins a job."""
        self.line = Mailbox()
        Thread(target=work, args=(text, self.line), daemon=True).start()

    def listen(self) -> list[Message]:
        """What has been told meanwhile; waits for it, but not for long."""
        told: list[Message] = []
        try:
            told.append(self.line.messages.get(timeout=LISTEN))
            while True:
                told.append(self.line.messages.get_nowait())
        except Empty:
            return told

    def want(self) -> None:
        """Asks for the result as far as it has come."""
        self.line.want()


class Actor:
    """A hand of the cluster at one job."""

    def __init__(self, cluster: Cluster, text: str) -> None:
        self.cluster, self.text = cluster, text
        self.hand = cluster.take()
        self._begun = self._wanted = False
        self._lock = Lock()

    def news(self) -> Iterator[Message]:
        """What it tells, until it is gone."""
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
        """Asks for the result as far as it has come."""
        with self._lock:
            self._wanted = True
            if self._begun:
                self.hand.want.remote()

    def end(self) -> None:
        """Ends it at once."""
        self.cluster.let_go(self.hand)


class Cluster:
    """A worker for each core of a cluster of Ray, or as many as ``NCD_WORKERS`` says.

    What other processes leave of the cluster is not known: a worker that Ray has no core for waits
    there once more. One that is done takes the next job, as torch takes seconds to import; where
    none comes soon it leaves its core to others.
    """

    def __init__(self, address: str) -> None:
        self.address, self.slots = address, 1  # until the cluster has told
        self.ray: Any = None
        self._made: Any = None
        self._idle: list[Any] = []
        self._lock = Lock()

    def prepare(self) -> None:
        """Nothing: the cluster is there, and it is met with the first job."""

    def start(self, text: str) -> Actor:
        """A worker for a question; raises ConnectionError where no cluster answers."""
        return Actor(self, text)

    def take(self) -> Any:
        """A hand that is idle, or a new one."""
        with self._lock:
            if self.ray is None or not self.ray.is_initialized():
                self._meet()
            return self._idle.pop() if self._idle else self._made.remote()

    def give_back(self, hand: Any) -> None:
        """A hand has done its job."""
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
        """Ends a hand, and what it does."""
        self.ray.kill(hand)

    def _meet(self) -> None:
        answers(self.address)
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


def answers(address: str) -> None:
    """Raises ConnectionError where nobody listens, as Ray itself asks for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # such as "auto"
        return
    try:
        socket.create_connection((host, int(port)), timeout=REACH).close()
    except OSError:
        raise ConnectionError(f"no cluster of Ray answers at {address}") from None
