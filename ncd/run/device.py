"""The devices of this machine."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from pathlib import Path

import torch

from ncd.errors import UnknownNameError


@lru_cache
def devices() -> tuple[str, ...]:
    """Returns the devices that a run can use: always "cpu", and "cuda" or "mps" if present.

    Source: ``torch.cuda`` and ``torch.backends.mps``.

    >>> devices()[0]
    'cpu'
    """
    found = ["cpu"]
    if torch.cuda.is_available():
        count = torch.cuda.device_count()
        found += ["cuda"] if count == 1 else [f"cuda:{i}" for i in range(count)]
    if torch.backends.mps.is_available():
        found.append("mps")
    return tuple(found)


def device(name: str | torch.device) -> torch.device:
    """Returns the device of a name; raises UnknownNameError if this machine lacks it."""
    wanted = str(name)
    has = devices()
    if wanted not in has and not (wanted == "cuda:0" and "cuda" in has):
        raise UnknownNameError(f"this machine has no device {wanted!r}", cure=" or ".join(has))
    return torch.device(wanted)


def synchronise(name: str | torch.device) -> None:
    """Waits until a device has finished its work, so that times are right."""
    kind = torch.device(name).type
    if kind == "cuda":
        torch.cuda.synchronize(name)
    elif kind == "mps":
        torch.mps.synchronize()


@lru_cache
def description(name: str | torch.device) -> str:
    """Returns what a device is, and its memory: ``NVIDIA H100 80GB HBM3, 85 GB``.

    >>> description("cpu").endswith(" GB")
    True
    """
    kind = torch.device(name).type
    if kind == "cuda":
        found = torch.cuda.get_device_properties(name)
        return f"{found.name}, {found.total_memory / 1e9:,.0f} GB"
    cores = os.cpu_count() or 1
    what = "Apple GPU" if kind == "mps" else f"{cores} {'core' if cores == 1 else 'cores'}"
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    if not all(each in getattr(os, "sysconf_names", ()) for each in names):  # such as Windows
        return what
    return f"{what}, {os.sysconf(names[0]) * os.sysconf(names[1]) / 1e9:,.0f} GB"


def free_bytes(name: str | torch.device) -> int | None:
    """Returns the bytes that a device has left for torch; None where that is not known.

    It is known of a GPU with CUDA, and of the CPU on Linux.
    """
    kind = torch.device(name).type
    if kind == "cuda":
        free, _ = torch.cuda.mem_get_info(name)
        unused = torch.cuda.memory_reserved(name) - torch.cuda.memory_allocated(name)
        return int(free + unused)
    state = Path("/proc/meminfo")
    if kind != "cpu" or not state.exists():
        return None
    lines = dict(line.split(":") for line in state.read_text().splitlines())
    return 1024 * int(lines["MemAvailable"].split()[0])


class Timer:
    """Times the work of a device between marks: by events on CUDA, elsewhere by a clock.

    A GPU does its work later than it is asked to, so a clock alone would time the asking. An event
    is a mark in its queue: no work has to wait for it.

    Source: ``torch.cuda.Event``.

    >>> timer = Timer("cpu")
    >>> for _ in range(3):
    ...     timer.mark()
    >>> len(timer.laps())
    2
    """

    def __init__(self, name: str | torch.device) -> None:
        self.device = torch.device(name)
        self._events: list[torch.cuda.Event] = []
        self._clock: list[float] = []

    def mark(self) -> None:
        """Ends a lap, and begins the next one."""
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record(torch.cuda.current_stream(self.device))
            self._events.append(event)
        else:
            synchronise(self.device)
            self._clock.append(time.perf_counter())

    def laps(self) -> list[float]:
        """Returns the seconds between each mark and the next, once the device has passed them."""
        if self._events:
            self._events[-1].synchronize()
            pairs = zip(self._events, self._events[1:], strict=False)
            return [begin.elapsed_time(end) / 1e3 for begin, end in pairs]
        return [end - begin for begin, end in zip(self._clock, self._clock[1:], strict=False)]


def exact() -> None:
    """Lets GPUs compute convolutions with all 32 bits, and with the same result each time.

    Without it they round to TF32, and may add up gradients in the order in which they come. It
    applies to the whole process, so only the app, its workers, the commands and the tests call it,
    not the library.
    """
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.deterministic = True
