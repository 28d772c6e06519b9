"""The window of a convolution over its picture: the pixels in each channel, and the weights."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ncd.export import markup
from ncd.lang.circuits.circuit import Cell
from ncd.run.explain.arithmetic_kinds import Chosen, Products, Spans, counted, exact, place
from ncd.view.arithmetic import sum_table
from ncd.view.base import heatmap
from ncd.view.base.heatmap import Ends

MOST = 3  # channels shown as pictures


def html(
    values: Mapping[str, Tensor],
    cell: Cell,
    index: tuple[int, ...],
    how: Products | Chosen,
) -> str:
    """Returns, for the channels that contribute most, the picture with its window and weights.

    The result is empty if the window does not slide over a two-dimensional picture.
    """
    channels, own = how.spans[:-2], how.spans[-2:]
    if how.window != 2 or not counted(own):
        return ""
    seen = how.numbers.reshape(-1, *(span.count for span in own))
    each, weights = torch.zeros(len(seen)), None
    if isinstance(how, Products):
        each = how.terms.reshape(len(seen), -1).sum(1)
        weights = how.factors[1].values.reshape(seen.shape)
    parts = [
        '<div class="seen">'
        + _channel(_picture(values, cell, index, channels, i, own), own, seen[i])
        + (_weighed(weights[i], weights, float(each[i])) if weights is not None else "")
        + f"</div><figcaption>{_named(cell, channels, i)}</figcaption>"
        for i in sum_table.largest(each, most=MOST)[: MOST + 1]
    ]
    figures = "".join(f"<figure>{part}</figure>" for part in parts)
    more = len(each) - len(parts)
    rest = f'<p class="muted">… and {markup.counted(more, "channel")} more</p>' if more else ""
    return f'<div class="windows">{figures}{rest}</div>'


def _named(cell: Cell, channels: Spans, i: int) -> str:
    """Returns the title of a channel."""
    every = cell.site.every
    at = zip(channels, place(channels, i), strict=True)
    return ", ".join(f"{sum_table.dimension(every, span.dim)} = {n}" for span, n in at)


def _picture(
    values: Mapping[str, Tensor],
    cell: Cell,
    index: tuple[int, ...],
    channels: Spans,
    i: int,
    window: Spans,
) -> heatmap.Grid:
    """Returns the picture below the window, of one channel."""
    (own,) = cell.site.ins
    at = {dim.key: n for dim, n in zip(cell.site.outs[0].dims, index, strict=True)}
    at |= {s.dim.key: n for s, n in zip(channels, place(channels, i), strict=True)}
    sliding = {span.dim.key for span in window}
    cut = tuple(slice(None) if d.key in sliding else at[d.key] for d in own.dims)
    return exact(values[cell.inputs[0].id][cut]).float().numpy()


def _channel(picture: heatmap.Grid, window: Spans, seen: Tensor) -> str:
    """Returns a picture with a frame around the window, and an enlarged view of the frame."""
    ends = Ends.of(picture, signed=bool((picture < 0).any()))
    stops = heatmap.scale(ends.low < 0)
    down, across = ((s.first, s.step * (s.count - 1) + 1, s.dim.size) for s in window)
    style = ";".join(
        f"{name}:{100 * part / whole:.2f}%"
        for name, part, whole in (
            ("top", down[0], down[2]),
            ("height", down[1], down[2]),
            ("left", across[0], across[2]),
            ("width", across[1], across[2]),
        )
    )
    small = heatmap.picture(heatmap.pooled(picture, heatmap.SMALL).maps, ends, stops)
    near = heatmap.picture(seen.float().numpy(), ends, stops)
    ratio = f"aspect-ratio:{across[2]}/{down[2]}"
    return (
        f'<span class="whole" style="{ratio}"><img alt="the channel" src="{small}">'
        f'<i style="{style}"></i></span><img class="near" alt="what the window sees" src="{near}">'
    )


def _weighed(weights: Tensor, every: Tensor, total: float) -> str:
    """Returns the weights of a channel and their contribution to the sum."""
    ends = Ends.of(every.float().numpy(), signed=True)
    near = heatmap.picture(weights.float().numpy(), ends, heatmap.scale(signed=True))
    number = sum_table.figure(total)
    return f'<b>×</b><img class="near" alt="the weights" src="{near}"><b>→ {number}</b>'
