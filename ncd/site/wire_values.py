"""Values on the wires of a page without a server.

A page holds the numbers of each small picture, a byte for each, and paints them in the colours of
its theme (``wire_values.js``); its drawings hold the frames. The data are what the script
reads:

* ``said``: a sentence, where the weights and inputs of the run come from;
* ``colours``: the scales of positive and of signed numbers, on a light and on a dark page;
* ``arrays``: by the id of an array ``painting`` ("map", "bars" or "colour"), ``shape`` (tiles, rows
  and columns), ``tiles`` (left, top, width and height of each, from the corner of the frame),
  ``cells`` (the bytes of :attr:`ncd.explain.thumbnails.ThumbnailCells.shades`, in base64),
  ``signed`` (which scale), and ``said`` (what it is, in words). For a run at other sizes, in a
  browser, there is what ``thumbnail_cells.js`` needs to choose anew: ``order`` (of the dimensions),
  ``sides`` (how many of the last are rows, and columns), ``most`` (columns), ``choice`` (what
  is chosen of many: "columns" with the largest numbers, or the liveliest "maps"), and ``channels``
  (of a picture in colours).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.explain.thumbnails import COLOUR_STOPS, POSITIVE, ThumbnailCells, cells_of_run
from ncd.language.terms import Term
from ncd.run.guard import compile
from ncd.run.module import CircuitModule, Trace, trace
from ncd.site.collapse_states import NO_VALUES, WireValues
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec, opening_inputs, origin
from ncd.systems.training.trained_weights import (
    TrainedWeights,
    WeightSource,
    proofreading,
    read_weights,
    shipped_weights,
)

MAX_BYTES, MAX_FLOPS = 1 << 28, 4e9  # of a run that is made for a page
SEED = 0


def values_of_run(module: CircuitModule, run: Trace, said: str) -> WireValues:
    """Returns the values of a run.

    >>> import ncd
    >>> module = ncd.compile(ncd.Linear("m:3 -> k:2"), seed=0)
    >>> run = ncd.trace(module, *ncd.example_inputs(module.term))
    >>> found = values_of_run(module, run, "From seed 0.")
    >>> found.data["arrays"]["v1"]["shape"], list(found.frames)
    ((1, 1, 2), ['v0', 'v1'])
    """
    shown = dict(cells_of_run(module.circuit, run))
    colours = {
        name: [POSITIVE[dark], COLOUR_STOPS[dark]]
        for name, dark in (("light", False), ("dark", True))
    }
    arrays = {id: _array_data(cells) for id, cells in shown.items()}
    data = {"said": said, "colours": colours, "arrays": arrays}
    return WireValues({id: cells.frame for id, cells in shown.items()}, data if shown else {})


def random_values(term: Term, seed: int) -> WireValues:
    """Returns the values of a term with random weights and inputs; none where a run takes long."""
    return _values(term, InputSpec(), None, seed)


def opening_values(
    entry: Entry, settings: Mapping[str, int], weights_of: WeightSource = shipped_weights
) -> WireValues:
    """Returns the values of the example that a system's page opens with at some settings."""
    term = entry.build(**settings)
    feed = opening_inputs(entry, term, settings, SEED)
    trained = proofreading(settings["h"], SEED) if feed.trained else None
    return _values(term, feed, trained or weights_of(entry, settings), SEED)


def _values(term: Term, feed: InputSpec, weights: TrainedWeights | None, seed: int) -> WireValues:
    circuit = elaborate(term)
    if any(axis.size is None for axis in circuit.axes):
        return NO_VALUES
    cost = cost_of(circuit)
    if cost.bytes + 4 * cost.parameters > MAX_BYTES or cost.flops > MAX_FLOPS:
        return NO_VALUES
    try:
        module = compile(term, seed)
        if weights is not None:
            read_weights(module, weights.weights)
        run = trace(module, *feed.tensors(term, seed, "cpu"))
    except NCDError:  # such as a system that only draws
        return NO_VALUES
    learns = any(cell.name for cell in circuit.cells)
    said = origin(feed, weights.summary if weights else "", learns, seed)
    return values_of_run(module, run, said)


def _array_data(cells: ThumbnailCells) -> dict[str, Any]:
    shades, boxes = cells.shades, list(cells.grid.boxes)
    rows, columns = cells.maps.shape[-2:]
    return {
        "painting": cells.grid.kind.painting,
        "shape": (len(boxes), rows, columns),
        "tiles": [[round(n, 2) for n in (b.x0, b.y0, b.x1 - b.x0, b.y1 - b.y0)] for b in boxes],
        "cells": b64encode(shades.tobytes()).decode(),
        "signed": cells.ends.low < 0,
        "said": cells.description,
        "order": cells.grid.kind.order,
        "sides": cells.grid.kind.sides,
        "most": cells.grid.kind.max_columns,
        "choice": cells.grid.kind.choice,
        "channels": cells.grid.kind.channels,
    }
