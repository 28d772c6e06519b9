"""Steps from noise to a picture, and what the time step sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import UNTRAINED_REASON, Scene, numbers_origin, with_tooltip
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, Place
from ncd.explain.colour_scale import ColourRange
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.site.markup import GREY
from ncd.systems.images.diffusion_models import MODULATION, PARTS
from ncd.systems.training.step_inputs import signal_fraction

# --- Noise to picture: a diffusion model removes noise, step by step

TAKEN, SAMPLE = Place("steps_taken", None), Place("noise_sample", None)
SAMPLES = 6  # pictures that are made at once, fewer where one takes long without trained weights
MOST, FEW = 50, 5  # steps with weights that were trained, and without, if it is small
MAX_UNTRAINED_FLOPS = 40_000_000  # FLOPs for steps without trained weights: noise remains noise
LARGE, SMALL = 150, 60  # pixels
STRIP = 9  # pictures of the way
PICTURE = ColourRange(-1.0, 1.0)


@dataclass(frozen=True)
class DenoisingPath:
    """The way from noise to pictures.

    ``noisy`` are the pictures before each step and at the end, (steps + 1, samples, o, x, x).
    ``noise`` is what the network takes for noise at each step, and ``guess`` the picture that
    would be left without it. ``timesteps`` are the steps, from the last.
    """

    timesteps: tuple[int, ...]
    noisy: Tensor
    noise: Tensor
    guess: Tensor


def show_noise_steps(scene: Scene) -> None:
    """Shows the pictures after some steps, and one of them with its noise."""
    found = cached_value(
        "noise steps",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: way(scene)),
    )
    steps = len(found.timesteps)
    taken = TAKEN.among(steps + 1, _default_step_count(scene, steps))
    one = SAMPLE.among(found.noisy.shape[1])
    slider = TAKEN.html(f"{taken} of {steps} steps", steps + 1, taken)
    html_panel.render(
        f'<div class="told">{slider}</div>{_samples(found, taken, one)}'
        f"{_closer(found, taken, one)}{_strip(found, taken, one)}{_noise_summary(scene, found)}",
        "noise steps",
        NOISE_STEPS.controls,
    )


NOISE_STEPS = Panel("Noise to picture", show_noise_steps, controls=(TAKEN, SAMPLE))


def _default_step_count(scene: Scene, steps: int) -> int:
    """Returns the steps that are taken at first: most of them."""
    return steps * 3 // 4 if scene.loaded_weights else 0


@torch.no_grad()
def way(scene: Scene) -> DenoisingPath:
    """Removes the noise of random pictures; draws all chance from the seed.

    Of many steps some are left out, and those that stay remove as much as was left out.

    Source: Ho et al. 2020, algorithm 2, with the clipping of its published code; Nichol and
    Dhariwal 2021, "Improved Denoising Diffusion Probabilistic Models", section 4.
    """
    count, fits = scene.settings["T"], MAX_UNTRAINED_FLOPS // max(1, scene.cost.flops)
    samples = SAMPLES if scene.loaded_weights or not fits else min(SAMPLES, fits)
    steps = min(count, MOST if scene.loaded_weights else min(FEW, fits // samples))
    at = torch.linspace(count - 1, 0, steps).round().long().unique().flip(0)
    left = signal_fraction(count)[at]
    then = torch.cat((left, torch.ones(1)))[1:]
    draw = partial(torch.randn, generator=generator(scene.seed, "noise of the way"))
    x = draw((samples, *scene.inputs[0].shape))
    noisy, noise, guess = [x], [], []
    for step, now, after in zip(at.tolist(), left, then, strict=True):
        time = torch.full((samples,), step)
        found = scene.module(x.to(scene.device), time.to(scene.device)).float().cpu()
        picture = ((x - (1 - now).sqrt() * found) / now.sqrt()).clamp(-1, 1)
        x = _denoising_step(x, picture, now, after, draw(x.shape))
        noisy.append(x)
        noise.append(found)
        guess.append(picture)
    made = (torch.stack(each) if each else x[None, :0] for each in (noisy, noise, guess))
    return DenoisingPath(tuple(at.tolist()), *made)


def _denoising_step(
    x: Tensor, picture: Tensor, now: Tensor, after: Tensor, noise: Tensor
) -> Tensor:
    """Returns the pictures one step on: Ho et al. 2020, equations 6 and 7."""
    alpha = now / after
    beta = 1 - alpha
    mean = (after.sqrt() * beta * picture + alpha.sqrt() * (1 - after) * x) / (1 - now)
    return mean + (beta * (1 - after) / (1 - now)).sqrt() * noise


def _samples(found: DenoisingPath, taken: int, one: int) -> str:
    buttons = "".join(
        SAMPLE.button(i, _image(picture, f"sample {i}", SMALL), i == one, look="thumb")
        for i, picture in enumerate(found.noisy[taken])
    )
    return f'<div class="heads" style="min-height:0">{buttons}</div>'


def _closer(found: DenoisingPath, taken: int, one: int) -> str:
    """Returns a sample, what is taken for noise in it, and what would be left without that."""
    shown = parts.figure(_image(found.noisy[taken, one], "the sample", LARGE), "the picture now")
    if taken == len(found.timesteps):
        return parts.row(shown)
    noise = parts.map_picture(found.noise[taken, one, 0], "noise", LARGE)
    guess = _image(found.guess[taken, one], "guess", LARGE)
    return parts.row(
        shown,
        parts.figure(noise, "what the network takes for noise"),
        parts.figure(guess, "the picture without that noise"),
    )


def _strip(found: DenoisingPath, taken: int, one: int) -> str:
    """Returns the way of one sample as a row of pictures."""
    last = len(found.timesteps)
    places = sorted({round(i * last / (STRIP - 1)) for i in range(STRIP)})
    buttons = "".join(
        TAKEN.button(
            n,
            f"{_image(found.noisy[n, one], f'after {n} steps', SMALL)}{n}",
            n == taken,
            look="thumb",
        )
        for n in places
    )
    return f'<p>The way of this picture:</p><div class="heads" style="min-height:0">{buttons}</div>'


def _image(picture: Tensor, alt: str, side: int) -> str:
    if len(picture) == 3:
        return parts.photograph((picture + 1) / 2, alt, side)
    return parts.image(heatmap.data_url(parts.grid(picture[0]), PICTURE, GREY), alt, side)


def _noise_summary(scene: Scene, found: DenoisingPath) -> str:
    count = scene.settings["T"]
    skipped = ""
    if not found.timesteps:
        skipped = " So large a network takes no step before it is trained."
    elif len(found.timesteps) < count:
        skipped = f" {len(found.timesteps)} of the {count:,} steps are taken, evenly spaced."
    if scene.loaded_weights:
        weights = f"Weights {markup.text(scene.loaded_weights.summary)}, on digits of 8 × 8 pixels."
    else:
        weights = f"{with_tooltip('Untrained weights', UNTRAINED_REASON)}: noise stays."
    return f'<p class="muted">{weights} The noise is drawn from seed {scene.seed}.{skipped}</p>'


# --- Time step: what the step sets in a layer, over all steps

STEPS = 24  # that are shown, evenly spaced
SUBLAYERS = ("attention", "feed-forward")
NAMES = {str(i): f"{part} of {SUBLAYERS[i // 3]}" for i, part in enumerate(PARTS)}
LAYER, STEP = Place("modulated_layer"), Place("modulated_step")
PART = Choice("modulated_part", NAMES, "0")


def show_step_modulation(scene: Scene) -> None:
    """Shows a shift, scale or gate of a layer as a map of steps and features."""
    every = cached_value(
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
        aside=_modulation_summary(scene, every[layer], at),
    )


STEP_MODULATION = Panel(
    "Time step", show_step_modulation, controls=(LAYER, PART, STEP), follows_moves=True
)


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
        ColourRange.from_numbers(cells, signed=True),
        AxisLabels("step, from a picture to noise", "step", [f"{n:,}" for n in steps], STEP),
        AxisLabels("feature", "feature"),
        value_label=PARTS[part],
        marks=(CellFrame("row", at),),
    )


def _modulation_summary(scene: Scene, numbers: Tensor, at: int) -> str:
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
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
