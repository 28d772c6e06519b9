"""What windows that slide mean, place by place."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ncd import Axis, Cell

Own = tuple[np.ndarray, ...]
Weights = Mapping[str, np.ndarray]


def of(value: Any, n: int) -> tuple[int, ...]:
    """A number for each of n dimensions."""
    return value if isinstance(value, tuple) else (value,) * n


def sliding(cell: Cell) -> tuple[Axis, Axis, Iterator[tuple[tuple[int, ...], Any]]]:
    """The places before and after, and for each place after what the window sees of them."""
    op: Any = cell.op
    old, new = (cell.site.own_inputs[0][-1], cell.site.own_outputs[0][-1])
    if type(op).__name__ == "Window":
        new = cell.site.own_outputs[0][0]
    dilation = getattr(op, "dilation", 1)
    n = len(old.shape)
    settings = (of(op.stride, n), of(dilation, n), of(op.pad, n))

    def seen() -> Iterator[tuple[tuple[int, ...], Any]]:
        for place in np.ndindex(*new.shape):
            pairs = []
            for offset in np.ndindex(*of(op.kernel, n)):
                at = tuple(
                    s * p + d * o - b
                    for p, o, s, d, b in zip(place, offset, *settings, strict=True)
                )
                inside = all(0 <= a < size for a, size in zip(at, old.shape, strict=True))
                pairs.append((offset, at if inside else None))
            yield place, pairs

    return old, new, seen()


def conv(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    old, new, seen = sliding(cell)
    c, d = (
        math.prod(a.numel for a in side[:-1])
        for side in (cell.site.own_inputs[0], cell.site.own_outputs[0])
    )
    x = own[0].reshape(c, *old.shape)
    weight = w["weight"].reshape(d, c // op.groups, *of(op.kernel, len(old.shape)))
    out = np.zeros((d, *new.shape))
    for place, pairs in seen:
        for offset, at in pairs:
            for row in range(d) if at is not None else ():
                start = row // (d // op.groups) * (c // op.groups)
                taken = x[(slice(start, start + c // op.groups), *at)]
                out[(row, *place)] += weight[(row, slice(None), *offset)] @ taken
    return (plus_bias(out, d, w).reshape([a.numel for a in cell.site.own_outputs[0]]),)


def plus_bias(out: np.ndarray, channels: int, w: Weights) -> np.ndarray:
    if "bias" not in w:
        return out
    return out + w["bias"].reshape(channels, *(1,) * (out.ndim - 1))


def conv_transpose(cell: Cell, own: Own, w: Weights) -> Own:
    """Every place gives its window of the result something."""
    op: Any = cell.op
    old, new = cell.site.own_inputs[0][-1], cell.site.own_outputs[0][-1]
    c, d = (
        math.prod(a.numel for a in side[:-1])
        for side in (cell.site.own_inputs[0], cell.site.own_outputs[0])
    )
    x, n = own[0].reshape(c, *old.shape), len(old.shape)
    weight = w["weight"].reshape(c, d, *of(op.kernel, n))
    out = np.zeros((d, *new.shape))
    for place in np.ndindex(*old.shape):
        for offset in np.ndindex(*of(op.kernel, n)):
            settings = (of(each, n) for each in (op.stride, op.pad, op.dilation))
            steps = zip(place, offset, *settings, strict=True)
            at = [s * p + g * o - b for p, o, s, b, g in steps]
            if all(0 <= a < size for a, size in zip(at, new.shape, strict=True)):
                every = (slice(None),)
                out[(*every, *at)] += x[(*every, *place)] @ weight[(*every, *every, *offset)]
    return (plus_bias(out, d, w).reshape([a.numel for a in cell.site.own_outputs[0]]),)


def max_pool(cell: Cell, own: Own, w: Weights) -> Own:
    old, new, seen = sliding(cell)
    x, out = own[0].reshape(old.shape), np.empty(new.shape)
    for place, pairs in seen:
        out[place] = np.max([x[at] for _, at in pairs if at is not None])
    return (out.ravel(),)


def window(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    old, new, seen = sliding(cell)
    x = own[0].reshape(old.shape)
    out = np.zeros((*new.shape, *of(op.kernel, len(old.shape))), own[0].dtype)
    for place, pairs in seen:
        for offset, at in pairs:
            if at is not None:
                out[(*place, *offset)] = x[at]
    return (out.reshape(new.numel, -1),)


def padded(cell: Cell, own: Own, w: Weights) -> Own:
    """Each number at its place moved on, among equal ones, or among copies of the numbers."""
    op: Any = cell.op
    shape = cell.site.own_inputs[0][0].shape
    if op.mode != "constant":
        mode: Any = {"replicate": "edge", "circular": "wrap"}.get(op.mode, op.mode)
        return (np.pad(own[0].reshape(shape), (op.before, op.after), mode).reshape(-1),)
    out = np.full([n + op.before + op.after for n in shape], op.value)
    for place in np.ndindex(*shape):
        out[tuple(i + op.before for i in place)] = own[0].reshape(shape)[place]
    return (out.reshape(-1),)


def rolled(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    shape = cell.site.own_inputs[0][0].shape
    out = np.empty(shape, own[0].dtype)
    for place in np.ndindex(*shape):
        to = tuple((i + op.shift) % n for i, n in zip(place, shape, strict=True))
        out[to] = own[0].reshape(shape)[place]
    return (out.reshape(-1),)
