"""The address of a server: whether it can be used, before anything slow begins."""

from __future__ import annotations

import errno
import socket

from ncd.lang.errors import NCDError

PORTS = 65535


class AddressError(NCDError):
    """Nothing can be served at this address."""


def check_address(host: str, port: int) -> None:
    """Raises AddressError, with a cure, if a server cannot listen at this address.

    >>> check_address("127.0.0.1", 99999)
    Traceback (most recent call last):
        ...
    ncd.cli.address.AddressError: 99999 is no port: those go from 1 to 65535. Try --port 8501.
    >>> check_address("nowhere.invalid", 8501)
    Traceback (most recent call last):
        ...
    ncd.cli.address.AddressError: no host is called 'nowhere.invalid'. Try --host 127.0.0.1.
    """
    if not 1 <= port <= PORTS:
        raise AddressError(f"{port} is no port: those go from 1 to {PORTS}", cure="--port 8501")
    try:
        family, kind, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (OSError, UnicodeError):
        raise AddressError(f"no host is called {host!r}", cure="--host 127.0.0.1") from None
    with socket.socket(family, kind) as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind(place)
        except OSError as error:
            reason = error.strerror or error
            used = error.errno != errno.EADDRNOTAVAIL
            cure = "another port" if used else "--host 0.0.0.0, for every address of this machine"
            raise AddressError(f"{host}:{port}: {reason}", cure=cure) from None
