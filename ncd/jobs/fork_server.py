"""The process that workers are forked from; it has imported torch and knows no visitor.

``python -m ncd.jobs.fork_server KIND`` receives the sockets of jobs over its standard input, a Unix
socket. It ends when the process that started it does.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import sys
from threading import Thread

from ncd.jobs.local_workers import WANT
from ncd.jobs.worker import lower_priority, make_ready, work
from ncd.jobs.worker_channel import Line, Message

LOOK = 0.1  # seconds between checks for workers that have ended


class SocketLine(Line):
    """A channel over a socket: a line of JSON for each message, followed by a result's bytes."""

    def __init__(self, own: socket.socket) -> None:
        super().__init__()
        self.socket = own

    def send(self, message: Message) -> None:
        result = message.get("result")
        if result is not None:
            message = {**message, "result": len(result)}
        self.socket.sendall(json.dumps(message).encode() + b"\n" + (result or b""))

    def heed(self) -> None:
        """Handles requests until the connection closes."""
        while request := self.socket.recv(100):
            if WANT in request:
                self.want()
        os._exit(0)


def serve(control: socket.socket) -> None:
    """Forks a process for each socket received, until the input ends."""
    running: set[int] = set()
    while True:
        ready, _, _ = select.select([control], [], [], LOOK if running else None)
        if ready:
            _, sockets, _, _ = socket.recv_fds(control, 1, 1)
            if not sockets:
                return
            running |= {_fork(socket.socket(fileno=fd), control) for fd in sockets}
        running = {pid for pid in running if os.waitpid(pid, os.WNOHANG) == (0, 0)}


def _fork(own: socket.socket, control: socket.socket) -> int:
    """Forks a process for one job, without access to other jobs; returns its id."""
    pid = os.fork()
    if pid:
        own.close()
        return pid
    try:
        control.close()
        lower_priority()
        line = SocketLine(own)
        text = _first(own)
        Thread(target=line.heed, daemon=True).start()
        work(text, line)
    finally:
        os._exit(0)


def _first(own: socket.socket) -> str:
    """Reads up to the end of the first line, and no further."""
    read = b""
    while not read.endswith(b"\n"):
        byte = own.recv(1)
        if not byte:
            raise EOFError
        read += byte
    return read.decode()


if __name__ == "__main__":
    make_ready(sys.argv[-1])
    gc.collect()
    gc.freeze()  # else each job's first collection would copy all shared memory
    serve(socket.socket(fileno=0))
