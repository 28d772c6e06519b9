"""The process that runs are forked from: torch is there already, and nothing of any visitor.

``python -m ncd.train.helper`` gets the sockets of runs over its standard input, a Unix socket. It
ends when the process that began it does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from threading import Event, Thread
from time import monotonic

import sklearn.datasets  # noqa: F401  (what takes long to import is there before a run begins)
import torch
import torch._dynamo  # the first step of any optimiser would import it

from ncd.train.fit import Fit
from ncd.train.plane import Plane
from ncd.train.runs import STOP
from ncd.train.way import Way
from ncd.train.weights import written

AFTER = 10  # how much a run gives way to those who look at pages; the nicest is 19
AT_ONCE = 2 * (os.cpu_count() or 1)  # the others wait
GONE = 90.0  # seconds without a sign of who waits for a run: a hidden page gives one a minute
LONGEST = 300.0  # seconds of one run
LOOPS: Mapping[str, Callable[..., Fit | Plane | Way]] = {"fit": Fit, "plane": Plane, "way": Way}


def serve(control: socket.socket) -> None:
    """Forks a process for each socket that comes, so many at once, until no more can come."""
    waiting: deque[socket.socket] = deque()
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([control], [], [], 0.1 if running else None)
        if ready:
            _, sockets, _, _ = socket.recv_fds(control, 1, 1)
            if not sockets:
                return
            waiting.extend(socket.socket(fileno=fd) for fd in sockets)
        running = {pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)}
        while waiting and len(running) < AT_ONCE:
            running.add(_fork(waiting.popleft(), (control, *waiting)))


def _fork(line: socket.socket, others: tuple[socket.socket, ...]) -> int:
    """A process for one run, with nothing of the others; its id."""
    pid = os.fork()
    if pid:
        line.close()
        return pid
    try:
        for other in others:
            other.close()
        os.nice(AFTER)
        torch.set_num_threads(1)
        work(line)
    finally:
        os._exit(0)


def work(line: socket.socket) -> None:
    """One run: a line of JSON comes in, one goes out for each step, at last one before the weights.

    What fails is told in one line.
    """
    asked = json.loads(_first(line))
    asked |= asked.pop("given")
    stop = Event()
    Thread(target=_heed, args=(line, stop), daemon=True).start()
    try:
        fit = LOOPS[asked.pop("loop")](**asked)
        for progress in fit:
            ends = stop.is_set() or progress.seconds > LONGEST
            if ends and progress.score is None:
                progress = replace(progress, score=fit.score())
            _tell(line, asdict(progress))
            if ends:
                break
        note = {"system": fit.name, "seed": str(fit.seed), "steps": str(progress.step)}
        weights = written(fit.module, note)
        _tell(line, {"weights": len(weights)})
        line.sendall(weights)
    except Exception as error:  # told to the one who waits
        _tell(line, {"failure": f"{type(error).__name__}: {error}".partition("\n")[0]})


def _first(line: socket.socket) -> bytes:
    """All up to the end of the first line, and no more."""
    read = b""
    while not read.endswith(b"\n"):
        byte = line.recv(1)
        if not byte:
            raise EOFError
        read += byte
    return read


def _tell(line: socket.socket, message: dict[str, object]) -> None:
    line.sendall(json.dumps(message).encode() + b"\n")


def _heed(line: socket.socket, stop: Event) -> None:
    """Stops the run after its step when told to, or with nobody there; ends it with its socket."""
    seen = monotonic()
    while True:
        ready, _, _ = select.select([line], [], [], 1.0)
        if ready:
            told = line.recv(100)
            if not told:
                os._exit(0)
            seen = monotonic()
            if STOP in told:
                stop.set()
        elif monotonic() - seen > GONE:
            stop.set()


if __name__ == "__main__":
    gc.collect()
    gc.freeze()  # or the first collection of each run would copy all that they share
    serve(socket.socket(fileno=0))
