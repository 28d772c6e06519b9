"""Machines with their stated rates, and the roofline chart of an algorithm."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import log10
from time import perf_counter
from typing import NamedTuple

import plotly.graph_objects as go
import torch

from ncd.view.arrays.charts import COLOURS, DASHES

HEIGHT = 380
REACH = 0.45  # powers of ten on the axis, as long as a label
BESIDE = 6  # times an intensity: room for a label between a point and the edge


class Machine(NamedTuple):
    """A machine: bytes a second from its memory, and FLOPs a second in two kinds of numbers.

    ``whole`` is of float32 without tensor cores, ``half`` of 16-bit numbers with them, without
    sparsity and summed in float32. ``fast`` are the bytes of shared memory of one multiprocessor.
    """

    name: str
    bandwidth: float
    whole: float
    half: float
    source: str


MACHINES = (
    Machine("A100 SXM 80 GB", 2.039e12, 19.5e12, 312e12, "NVIDIA A100 datasheet"),
    Machine("H100 SXM", 3.35e12, 67e12, 989.4e12, "NVIDIA H100 datasheet"),
    Machine("RTX 4090", 1.008e12, 82.6e12, 165.2e12, "NVIDIA Ada GPU architecture, V2"),
)


@cache
def this_cpu() -> Machine:
    """Returns the processor of this server, whose rates are measured once, in about 0.2 s.

    Bytes are those of a copy that no cache can hold, read and written; FLOPs those of products of
    square matrices.
    """
    numbers, copy = torch.ones(1 << 24), torch.ones(1 << 24)
    moved = 2 * numbers.nbytes / _seconds(lambda: copy.copy_(numbers))
    return Machine(
        "this server's CPU",
        moved,
        _product_rate(512, torch.float32),
        _product_rate(128, torch.bfloat16),
        "measured here: a copy of 67 MB, and a matrix product",
    )


def _product_rate(side: int, dtype: torch.dtype) -> float:
    matrix = torch.ones(side, side, dtype=dtype)
    return 2 * side**3 / _seconds(lambda: matrix @ matrix)


def _seconds(act: Callable[[], object]) -> float:
    """Returns the least time of a few tries: the others were disturbed."""
    found = []
    for _ in range(4):
        start = perf_counter()
        act()
        found.append(perf_counter() - start)
    return min(found)


def machines() -> tuple[Machine, ...]:
    """Returns the machines to compare with."""
    return (*MACHINES, this_cpu())


class Point(NamedTuple):
    """A part of an algorithm: its operations, and the bytes that it moves."""

    name: str
    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Its operations for each byte."""
        return self.flops / self.bytes


def rate(machine: Machine, bits: int) -> float:
    """Returns the FLOPs a second of a machine in numbers of so many bits."""
    return machine.whole if bits >= 32 else machine.half


def ridge(machine: Machine, bits: int) -> float:
    """Returns the operations for each byte above which a machine is bound by its arithmetic.

    >>> round(ridge(MACHINES[1], 16))
    295
    """
    return rate(machine, bits) / machine.bandwidth


def roofline(points: Sequence[Point], bits: int) -> go.Figure:
    """Returns the rate that each machine can reach at each intensity, and where parts stand.

    Source: Williams, Waterman and Patterson 2009, "Roofline: An Insightful Visual Performance
    Model for Multicore Architectures".
    """
    shown = [point for point in points if point.flops and point.bytes]
    every = machines()
    ridges = [ridge(machine, bits) for machine in every]
    low = min([0.1, *(p.intensity / BESIDE for p in shown)])
    high = max([4 * max(ridges), *(BESIDE * p.intensity for p in shown)])
    figure = go.Figure()
    for n, (machine, turn) in enumerate(zip(every, ridges, strict=True)):
        top = rate(machine, bits)
        figure.add_scatter(
            x=[low, turn, high],
            y=[low * machine.bandwidth, top, top],
            name=machine.name,
            mode="lines",
            line={"color": COLOURS[n], "dash": DASHES[n], "width": 2},
        )
    _add_points(figure, shown, bits)
    axis = {"type": "log", "exponentformat": "SI", "dtick": 1}
    figure.update_layout(
        height=HEIGHT,
        title={"text": "Roofline", "x": 0, "font": {"size": 15}},
        margin={"l": 60, "r": 12, "t": 44, "b": 90},
        xaxis={**axis, "title": "operations for each byte (FLOP/B)"},
        yaxis={**axis, "title": "reachable rate (FLOP/s)"},
        legend={"orientation": "h", "y": -0.28},
    )
    return figure


def _add_points(figure: go.Figure, points: Sequence[Point], bits: int) -> None:
    """Adds the parts on the line of the second machine; hollow ones are bound by its memory."""
    machine = MACHINES[1]
    turn, top = ridge(machine, bits), rate(machine, bits)
    points = sorted(points, key=lambda point: point.intensity)
    bound = [point.intensity < turn for point in points]
    figure.add_scatter(
        x=[point.intensity for point in points],
        y=[min(top, point.intensity * machine.bandwidth) for point in points],
        text=labels(points),
        hovertext=[point.name for point in points],
        name=f"parts, on {machine.name}; red: bound by memory",
        mode="markers+text",
        textfont={"shadow": "auto"},  # so that they can be read across a line
        textposition=["top left", "bottom right"] * (len(points) // 2 + 1),
        marker={
            "size": 11,
            "color": ["#c0392b" if slow else "#2e7d32" for slow in bound],
            "symbol": ["circle" if slow else "diamond" for slow in bound],
        },
        hovertemplate="%{hovertext}: %{x:.3g} FLOP/B<extra></extra>",
    )


def labels(points: Sequence[Point]) -> list[str]:
    """Returns the labels of points from left to right, above and below the line in turn.

    A label that would meet the next one on its side stands a line further away.

    >>> labels([Point(name, n, 4) for n, name in enumerate("abcd", 10)])
    ['a', '<br>b', 'c<br>', 'd']
    """
    away = [0] * len(points)

    def give_way(n: int, other: int) -> None:
        if abs(log10(points[n].intensity / points[other].intensity)) < REACH:
            away[n] = away[other] + 1

    for n in range(2, len(points), 2):  # above
        give_way(n, n - 2)
    for n in reversed(range(1, len(points) - 2, 2)):  # below
        give_way(n, n + 2)
    names = [f"<b>{p.name}</b>" if p.name.startswith("one loop") else p.name for p in points]
    lines = ["<br>" * count for count in away]
    pairs = enumerate(zip(names, lines, strict=True))
    return [line + name if n % 2 else name + line for n, (name, line) in pairs]
