"""Noise to picture: a diffusion model removes noise, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel
from ncd.app.parts.heatmap import ColourRange
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.site.markup import GREY
from ncd.systems.training.tasks import signal_fraction

TAKEN, SAMPLE = Place("steps_taken", None), Place("noise_sample", None)
SAMPLES = 6  # pictures that are made at once, fewer where one takes long without trained weights
MOST, FEW = 50, 5  # steps with weights that were trained, and without, if it is small
UNTRAINED = 40_000_000  # FLOPs for steps without trained weights: noise remains noise
LARGE, SMALL = 150, 60  # pixels
STRIP = 9  # pictures of the way
PICTURE = ColourRange(-1.0, 1.0)


@dataclass(frozen=True)
class Way:
    """The way from noise to pictures.

    ``noisy`` are the pictures before each step and at the end, (steps + 1, samples, o, x, x).
    ``noise`` is what the network takes for noise at each step, and ``guess`` the picture that
    would be left without it. ``at`` are the steps, from the last.
    """

    at: tuple[int, ...]
    noisy: Tensor
    noise: Tensor
    guess: Tensor


def show_noise_steps(scene: Scene) -> None:
    """Shows the pictures after some steps, and one of them with its noise."""
    found = cached(
        "noise steps",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: way(scene)),
    )
    steps = len(found.at)
    taken = TAKEN.among(steps + 1, _usual(scene, steps))
    one = SAMPLE.among(found.noisy.shape[1])
    slider = TAKEN.html(f"{taken} of {steps} steps", steps + 1, taken)
    html_panel.render(
        f'<div class="told">{slider}</div>{_samples(found, taken, one)}'
        f"{_closer(found, taken, one)}{_strip(found, taken, one)}{_told(scene, found)}",
        "noise steps",
        NOISE_STEPS.controls,
    )


NOISE_STEPS = Panel("Noise to picture", show_noise_steps, controls=(TAKEN, SAMPLE))


def _usual(scene: Scene, steps: int) -> int:
    """Returns the steps that are taken at first: most of them."""
    return steps * 3 // 4 if scene.loaded_weights else 0


@torch.no_grad()
def way(scene: Scene) -> Way:
    """Removes the noise of random pictures; draws all chance from the seed.

    Of many steps some are left out, and those that stay remove as much as was left out.

    Source: Ho et al. 2020, algorithm 2, with the clipping of its published code; Nichol and
    Dhariwal 2021, "Improved Denoising Diffusion Probabilistic Models", section 4.
    """
    count, fits = scene.settings["T"], UNTRAINED // max(1, scene.cost.flops)
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
        x = _next(x, picture, now, after, draw(x.shape))
        noisy.append(x)
        noise.append(found)
        guess.append(picture)
    made = (torch.stack(each) if each else x[None, :0] for each in (noisy, noise, guess))
    return Way(tuple(at.tolist()), *made)


def _next(x: Tensor, picture: Tensor, now: Tensor, after: Tensor, noise: Tensor) -> Tensor:
    """Returns the pictures one step on: Ho et al. 2020, equations 6 and 7."""
    alpha = now / after
    beta = 1 - alpha
    mean = (after.sqrt() * beta * picture + alpha.sqrt() * (1 - after) * x) / (1 - now)
    return mean + (beta * (1 - after) / (1 - now)).sqrt() * noise


def _samples(found: Way, taken: int, one: int) -> str:
    buttons = "".join(
        SAMPLE.button(i, _image(picture, f"sample {i}", SMALL), i == one, look="thumb")
        for i, picture in enumerate(found.noisy[taken])
    )
    return f'<div class="heads" style="min-height:0">{buttons}</div>'


def _closer(found: Way, taken: int, one: int) -> str:
    """Returns a sample, what is taken for noise in it, and what would be left without that."""
    shown = parts.figure(_image(found.noisy[taken, one], "the sample", LARGE), "the picture now")
    if taken == len(found.at):
        return parts.row(shown)
    noise = parts.map_picture(found.noise[taken, one, 0], "noise", LARGE)
    guess = _image(found.guess[taken, one], "guess", LARGE)
    return parts.row(
        shown,
        parts.figure(noise, "what the network takes for noise"),
        parts.figure(guess, "the picture without that noise"),
    )


def _strip(found: Way, taken: int, one: int) -> str:
    """Returns the way of one sample as a row of pictures."""
    last = len(found.at)
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


def _told(scene: Scene, found: Way) -> str:
    count = scene.settings["T"]
    skipped = ""
    if not found.at:
        skipped = " So large a network takes no step before it is trained."
    elif len(found.at) < count:
        skipped = f" {len(found.at)} of the {count:,} steps are taken, evenly spaced."
    if scene.loaded_weights:
        weights = f"Weights {markup.text(scene.loaded_weights.summary)}, on digits of 8 × 8 pixels."
    else:
        weights = f"{captions.with_tooltip('Untrained weights', captions.UNTRAINED)}: noise stays."
    return f'<p class="muted">{weights} The noise is drawn from seed {scene.seed}.{skipped}</p>'
