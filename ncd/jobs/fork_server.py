"""The process that workers are forked from, and their work.

``python -m ncd.jobs.fork_server KIND`` receives the sockets of jobs over its standard input, a Unix
socket. It ends when the process that started it does.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import socket
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Thread

import torch

from ncd.jobs.local_workers import PAGES, RESULT_REQUEST, Message, WorkerChannel
from ncd.jobs.pool_jobs import forward, train
from ncd.jobs.source_job import findings, part, sizes, source, warm_up
from ncd.run.device import exact

# --- The work of a worker: one job, and its reports

WORKER_NICENESS = 10  # added niceness of workers, so that pages come first; at most 19
OOM_SCORE = 500  # of 1000: if memory runs out, the kernel kills a worker, not the server
KINDS: Mapping[str, Callable[..., None]] = {
    "findings": findings,
    "sizes": sizes,
    "forward": forward,
    "part": part,
    "source": source,
    "train": train,
}


def make_ready(kind: str) -> None:
    """Prepares for a kind of job: imports data sets, or warms torch up."""
    torch.set_num_threads(1)  # a process that is forked has no others
    exact()
    if kind == "source":
        warm_up()
        return
    for name in ("sklearn.datasets", "torch._dynamo"):
        importlib.import_module(name)


def lower_priority(niceness: int = WORKER_NICENESS) -> None:
    """Lets others come first, by so much, and also when the system runs out of memory."""
    os.nice(max(0, niceness - os.nice(0)))
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(OOM_SCORE))


def work(text: str, line: WorkerChannel) -> None:
    """Does a job; an error is reported in one line.

    It uses one thread, so that the numbers are the same on all machines of one kind.
    """
    question = json.loads(text)
    torch.set_num_threads(1)
    try:
        KINDS[question["kind"]](line, **question["given"])
    except Exception as error:  # reported to the visitor
        line.fail(f"{type(error).__name__}: {error}".partition("\n")[0])


# --- The process that workers are forked from; it has imported torch and knows no visitor

LOOK = 0.1  # seconds between checks for workers that have ended


class SocketLine(WorkerChannel):
    """A channel over a socket: a line of JSON for each message, followed by a result's bytes."""

    def __init__(self, own: socket.socket) -> None:
        super().__init__()
        self.socket = own

    def send(self, message: Message) -> None:
        result = message.get("result")
        if result is not None:
            message = {**message, "result": len(result)}
        self.socket.sendall(json.dumps(message).encode() + b"\n" + (result or b""))

    def handle_requests(self) -> None:
        """Handles requests until the connection closes."""
        while request := self.socket.recv(100):
            if RESULT_REQUEST in request:
                self.want()
        os._exit(0)


def serve(control: socket.socket, niceness: int) -> None:
    """Forks a process of a niceness for each socket received, until the input ends."""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([control], [], [], LOOK if running else None)
        if ready:
            _, sockets, _, _ = socket.recv_fds(control, 1, 1)
            if not sockets:
                return
            running |= {_fork(socket.socket(fileno=fd), control, niceness) for fd in sockets}
        running = {pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _fork(own: socket.socket, control: socket.socket, niceness: int) -> int:
    """Forks a process for one job, without access to other jobs; returns its id."""
    pid = os.fork()
    if pid:
        own.close()
        return pid
    try:
        control.close()
        lower_priority(niceness)
        line = SocketLine(own)
        text = _read_line(own)
        Thread(target=line.handle_requests, daemon=True).start()
        work(text, line)
    finally:
        os._exit(0)


def _read_line(own: socket.socket) -> str:
    """Reads up to the end of the first line, and no further."""
    read = b""
    while not read.endswith(b"\n"):
        byte = own.recv(1)
        if not byte:
            raise EOFError
        read += byte
    return read.decode()


if __name__ == "__main__":
    make_ready(sys.argv[1])
    gc.collect()
    gc.freeze()  # else each job's first collection would copy all shared memory
    serve(socket.socket(fileno=0), WORKER_NICENESS if PAGES in sys.argv else 0)
