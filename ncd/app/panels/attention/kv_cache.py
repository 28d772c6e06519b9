"""The KV cache panel: a decoder that writes step by step, with and without its cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

import ncd
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.circuit.circuit import Circuit
from ncd.explain.equation_proof import max_difference
from ncd.run.measurement import medians
from ncd.site import markup

MOST, LAYERS = 12, 48  # the greatest number of steps, and of layers in all steps together
WHOLE = "encoder-decoder"
HEAD = ("Step", "Kept before", "With the cache", "", "Without", "", "Largest difference")


@dataclass(frozen=True)
class Step:
    """One decoding step: its cost with and without the cache, and the difference of the outputs."""

    kept: int  # bytes
    flops: int
    again: int
    apart: float


@dataclass(frozen=True)
class Written:
    """All steps, and the seconds that the last one takes with and without the cache."""

    steps: tuple[Step, ...]
    seconds: float
    again: float


def show_kv_cache(scene: Scene) -> None:
    """Shows a row for each step: the cache, both costs, and that the outputs agree."""
    few = max(2, min(MOST, LAYERS // scene.settings["n"]))
    settings = {**scene.settings, "t": min(few, scene.settings["t"])}
    key = (scene.entry.name, tuple(settings.items()), scene.seed, scene.device)
    found = cached(
        "kv cache",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(lambda: written(scene, settings)),
    )
    most = max(step.again for step in found.steps)
    rows = [_row(i, step, most, scene.dark) for i, step in enumerate(found.steps, 1)]
    html_panel.render(
        _told(scene, found) + markup.table(HEAD, rows, numbers=(1, 2, 4, 6)), "kv cache"
    )


KV_CACHE = Panel("KV cache", show_kv_cache)


def written(scene: Scene, settings: dict[str, int]) -> Written:
    """Runs the decoder on the whole sequence at once, and step by step with a cache."""

    def built(t: int, cache: int) -> ncd.Term:
        return scene.entry.build(**{**settings, "t": t, "cache": cache})

    length = settings["t"]
    whole = ncd.compile(built(length, 0), scene.seed, scene.device)
    inputs, weights = ncd.example_inputs(whole.term, scene.seed, scene.device), whole.state_dict()
    steps, cached = [], tuple[Tensor, ...]()
    with torch.no_grad():
        expected = whole(*inputs)
        for i in range(length):
            step = ncd.compile(built(i + 1, 1), scene.seed, scene.device)
            own = step.state_dict()
            step.load_state_dict({name: w for name, w in weights.items() if name in own})
            given = (inputs[0][i : i + 1], *(cached or inputs[1:]))
            run = ncd.trace(step, *given)
            off = max_difference(run.outputs[0], expected[i : i + 1])
            flops, again = ncd.cost(step.term).flops, ncd.cost(built(i + 1, 0)).flops
            steps.append(Step(sum(x.nbytes for x in cached), flops, again, off))
            cached = tuple(run.values[id] for id in kept(step.circuit))
        calls = {"step": lambda: step(*given), "again": lambda: whole(*inputs)}
        seconds = medians(calls, device=scene.device, rounds=5, warm=1, budget=0.02)
    return Written(tuple(steps), seconds["step"], seconds["again"])


def kept(circuit: Circuit) -> list[str]:
    """Returns the arrays that the layers keep for the next step.

    In the first step these are all keys and values of the decoder. Later they are the extended
    arrays, and those of the encoder's positions unchanged.
    """
    joined = [cell for cell in circuit.cells if cell.op.role == "concat"]
    if not joined:
        made = [c for c in circuit.cells if c.name in ("k", "v") and "encoder" not in c.module_path]
        return [cell.outputs[0].id for cell in made]
    before, grown = joined[0].inputs[0].array[0], iter(joined)
    return [
        next(grown).outputs[0].id if value.array[0] == before else value.id
        for value in circuit.inputs[1:]
    ]


def _told(scene: Scene, found: Written) -> str:
    count, steps = len(found.steps), found.steps
    flops, again = sum(step.flops for step in steps), sum(step.again for step in steps)
    some = scene.settings["t"] > count
    what = (
        f"The first {count} of {scene.settings['t']:,} positions" if some else f"{count} positions"
    )
    return (
        f"<p>{what}, written one by one: {markup.amount(flops, 'FLOP')} with the cache, "
        f"{markup.amount(again, 'FLOP')} if all is worked out again at every step. The last step "
        f"takes {markup.amount(found.seconds, 's')} with it and "
        f"{markup.amount(found.again, 's')} without, on {markup.text(scene.device)}.</p>"
        f'<p class="muted">{_across(scene)}A step without the cache runs all positions so far'
        f"{', and the encoder' if scene.entry.name == WHOLE else ''}. The outputs are "
        "those of one pass over the whole sequence, up to rounding: earlier positions never see "
        "later ones, so their keys and values stay as they are. At small sizes the time is that of "
        "calling torch, whatever there is to compute.</p>"
    )


def _across(scene: Scene) -> str:
    """Returns a sentence about a decoder that also attends to an encoder."""
    if "s" not in scene.settings:
        return ""
    encodes = "the encoder runs and " if scene.entry.name == WHOLE else ""
    return (
        f"At the first step {encodes}each layer’s cross-attention makes the keys and values of the "
        f"{scene.settings['s']:,} positions of the encoder; from then on these stay as they are. "
    )


def _row(number: int, step: Step, most: int, dark: bool) -> str:
    return (
        f'<tr><td>{number}</td><td class="number">{markup.amount(step.kept, "B")}</td>'
        f'<td class="number">{markup.amount(step.flops, "FLOP")}</td>'
        f"<td>{markup.meter(step.flops / most, markup.colour('linear', dark))}</td>"
        f'<td class="number">{markup.amount(step.again, "FLOP")}</td>'
        f"<td>{markup.meter(step.again / most, markup.colour('scale', dark))}</td>"
        f'<td class="number">{markup.digits(step.apart)}</td></tr>'
    )
