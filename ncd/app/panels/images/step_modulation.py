"""Time step: what the step sets in a layer, over all steps."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import ColourRange
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Choice, Place
from ncd.systems.images.diffusion_transformer import MODULATION, PARTS

STEPS = 24  # that are shown, evenly spaced
OF = ("attention", "feed-forward")
NAMES = {str(i): f"{part} of {OF[i // 3]}" for i, part in enumerate(PARTS)}
LAYER, STEP = Place("modulated_layer"), Place("modulated_step")
PART = Choice("modulated_part", NAMES, "0")


def show_step_modulation(scene: Scene) -> None:
    """Shows a shift, scale or gate of a layer as a map of steps and features."""
    every = cached(
        "modulation",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: over_time(scene)),
    )
    layer, part, steps = LAYER.among(len(every)), int(PART.value), shown_steps(scene.settings["T"])
    at = STEP.among(len(steps))
    sliders = LAYER.html(f"layer {layer + 1} of {len(every)}", len(every), layer)
    sliders += STEP.html(f"step {steps[at]:,} of {scene.settings['T']:,}", len(steps), at)
    map_component.render(
        "modulation",
        STEP_MODULATION.controls,
        head=f'<div class="told">{sliders}</div><p>{PART.html()}</p>',
        map=_map(every[layer][:, part], steps, at, part),
        aside=_told(scene, every[layer], at),
    )


STEP_MODULATION = Panel("Time step", show_step_modulation, controls=(LAYER, PART, STEP))


def shown_steps(count: int) -> list[int]:
    """Returns the steps that are shown, the first and the last among them.

    >>> shown_steps(3), len(shown_steps(1000))
    ([0, 1, 2], 24)
    """
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, STEPS)).tolist()})


def over_time(scene: Scene) -> list[Tensor]:
    """Returns what each layer is told at each shown step, (steps, 6, features), for the class."""
    picture, _, kind = scene.inputs
    steps = torch.tensor(shown_steps(scene.settings["T"]), device=scene.device)
    pictures = picture.expand(len(steps), *picture.shape)
    given = pictures, steps, kind.expand(len(steps))
    ids = [cell.outputs[0].id for cell in scene.circuit.cells if cell.name == MODULATION]
    values: dict[str, Tensor] = {}
    with torch.no_grad():  # the pictures take no part in what the layers are told
        scene.module.execute(given, keep=values, only=ids)
    told = [values[id].detach().float().cpu() for id in ids]
    return [numbers for numbers in told if numbers.shape[1] == len(PARTS)]


def _map(numbers: Tensor, steps: list[int], at: int, part: int) -> Heatmap:
    cells = parts.grid(numbers)
    return Heatmap(
        f"modulation {cells.shape}",
        f"The {NAMES[str(part)]} at each step",
        heatmap.pool(cells, heatmap.LARGE),
        ColourRange.of(cells, signed=True),
        AxisLabels("step, from a picture to noise", "step", [f"{n:,}" for n in steps], STEP),
        AxisLabels("feature", "feature"),
        value_label=PARTS[part],
        marks=(CellFrame("row", at),),
    )


def _told(scene: Scene, numbers: Tensor, at: int) -> str:
    """Returns how strong each of the six is at the step, and how much it changes over time."""
    rows = "".join(
        f"<tr><td>{NAMES[str(i)]}</td>"
        f"<td class='number'>{float(numbers[at, i].abs().mean()):.2f}</td>"
        f"<td class='number'>{float(numbers[:, i].std(0).mean()) if len(numbers) > 1 else 0:.2f}"
        "</td></tr>"
        for i in range(len(PARTS))
    )
    return (
        '<table><thead><tr><td></td><th class="number">size here</th><th class="number">'
        f"its change</th></tr></thead><tbody>{rows}</tbody></table>"
        "<p>A norm without weights of its own comes first; then each feature is scaled by "
        "1 + scale and moved by shift. The gate scales what the part adds.</p><p>Training begins "
        "with all six at 0: each layer is then a wire. That is the Zero in adaLN-Zero.</p>"
        f'<p class="muted">{captions.numbers_origin(scene)}</p>'
    )
