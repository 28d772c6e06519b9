"""The Gates panel: what a recurrent network keeps, writes and outputs at every position."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import CellGrid, ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place
from ncd.site import markup
from ncd.systems.recurrent.gated_cells import WATCHED, with_gates

GATE = Place("gate")  # the number of the chosen array
MEANS = {
    "hidden state": "It is the output, and goes to the next position.",
    "cell state": "The memory: each step multiplies it by the forget gate and adds what is new.",
    "input gate": "How much of what is new is written into the memory.",
    "forget gate": "How much of the memory stays; at 1 all of it.",
    "output gate": "How much of the memory is shown as the hidden state.",
    "reset gate": "How much of the state is seen when what is new is worked out.",
    "update gate": "How much of the old state stays; the rest is replaced by what is new.",
}


def show_gates(scene: Scene) -> None:
    """Shows every gate and state as a small map along the sequence, and the chosen one large."""
    names = WATCHED[scene.entry.name]
    make = partial(scene.run_in_pool, partial(watched, scene))
    maps = cached("gates", scene.term, *scene.run_key, make=make)
    at = GATE.among(len(names))
    pictures = [(GATE.action(i), name, _picture(maps[i])) for i, name in enumerate(names)]
    map_component.render(
        "gates",
        GATES.controls,
        side=map_component.thumbnail_buttons(pictures, GATE.action(at)),
        map=_focus(scene, names[at], maps[at]),
        aside=_told(scene, names[at], maps[at]),
    )


GATES = Panel("Gates", show_gates, controls=(GATE,))


def watched(scene: Scene) -> list[CellGrid]:
    """Runs the network with its gates as outputs; returns each as (features, positions).

    A run records a loop's arrays at its last position only.
    """
    term = with_gates(scene.entry.name, **scene.settings)
    module = ncd.compile(term, scene.seed, scene.device)
    module.load_state_dict(scene.module.state_dict())
    with torch.no_grad():
        arrays = module(*scene.inputs)
    return [array.T.float().cpu().numpy() for array in arrays]


def _ends(map: CellGrid) -> ColourRange:
    """Returns the range of the colours of a map: signed for a state, from 0 to 1 for a gate."""
    return (
        ColourRange.of(map, signed=True).with_outliers
        if map.min() < 0
        else ColourRange(0.0, 1.0, 0, 1.0)
    )


def _picture(map: CellGrid) -> str:
    ends = _ends(map)
    small = heatmap.pool(map, heatmap.SMALL).maps
    return heatmap.data_url(small, ends, heatmap.scale(ends.low < 0))


def _focus(scene: Scene, name: str, map: CellGrid) -> Heatmap:
    t, h = (axis for axis in scene.circuit.outputs[0].array)
    return Heatmap(
        f"{name} {map.shape}",
        f"The {name} of every feature at every position",
        heatmap.pool(map, heatmap.LARGE),
        _ends(map),
        AxisLabels(f"feature {markup.axis(h)}", f"feature {h.name}"),
        AxisLabels(f"position {markup.axis(t)}", f"position {t.name}", scene.axis_words(t.name)),
        value_label=name,
    )


def _told(scene: Scene, name: str, map: CellGrid) -> str:
    mean = markup.digits(float(np.mean(map)))
    return (
        f"<h2>{name.capitalize()}</h2><p>{MEANS[name]} Its mean here is {mean}.</p>"
        f'<p class="muted">{captions.numbers_origin(scene)}</p>'
    )
