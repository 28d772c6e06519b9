"""KV cache: a decoder that writes step by step, with and without what it has kept."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

import ncd
from ncd.export import markup
from ncd.lang.circuit import Circuit
from ncd.run import apart
from ncd.run.measure import medians
from ncd.view import panel
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "KV cache"
RUNS = True
MOST, LAYERS = 12, 48  # steps that are run, and layers in all of them
HEAD = ("Step", "Kept before", "With the cache", "", "Without", "", "Largest difference")


@dataclass(frozen=True)
class Step:
    """One position more: FLOPs with and without what is kept, and how far the outputs are apart."""

    kept: int  # bytes
    flops: int
    again: int
    apart: float


@dataclass(frozen=True)
class Written:
    """All steps, and the seconds of the last one with and without the cache."""

    steps: tuple[Step, ...]
    seconds: float
    again: float


def show(scene: Scene) -> None:
    """A row for each step: what was kept, the cost both ways, and that the numbers are the same."""
    few = max(2, min(MOST, LAYERS // scene.settings["n"]))
    settings = {**scene.settings, "t": min(few, scene.settings["t"])}
    key = (scene.entry.name, tuple(settings.items()), scene.seed, scene.device)
    found = remember(
        "kv cache", scene.term, *key, make=lambda: scene.work(lambda: written(scene, settings))
    )
    most = max(step.again for step in found.steps)
    rows = [_row(i, step, most, scene.dark) for i, step in enumerate(found.steps, 1)]
    panel.show(_told(scene, found) + markup.table(HEAD, rows, numbers=(1, 2, 4, 6)), "kv cache")


def written(scene: Scene, settings: dict[str, int]) -> Written:
    """Runs the decoder on the whole sequence, and step by step with what its layers have kept."""

    def built(t: int, cache: int) -> ncd.Term:
        return scene.entry.build(**{**settings, "t": t, "cache": cache})

    length = settings["t"]
    whole = ncd.compile(built(length, 0), scene.seed, scene.device)
    inputs = ncd.example_inputs(whole.term, scene.seed, scene.device)
    steps, cached = [], tuple[Tensor, ...]()
    with torch.no_grad():
        expected = whole(*inputs)
        for i in range(length):
            step = ncd.compile(built(i + 1, 1), scene.seed, scene.device)
            step.load_state_dict(whole.state_dict())
            given = (inputs[0][i : i + 1], *cached)
            run = ncd.trace(step, *given)
            off = apart(run.outputs[0], expected[i : i + 1])
            flops, again = ncd.cost(step.term).flops, ncd.cost(built(i + 1, 0)).flops
            steps.append(Step(sum(x.nbytes for x in cached), flops, again, off))
            cached = tuple(run.values[id] for id in kept(step.circuit))
        calls = {"step": lambda: step(*given), "again": lambda: whole(*inputs)}
        seconds = medians(calls, device=scene.device, rounds=5, warm=1, budget=0.02)
    return Written(tuple(steps), seconds["step"], seconds["again"])


def kept(circuit: Circuit) -> list[str]:
    """The keys and values of every layer, the new ones among them; at first these are all."""
    joined = [cell for cell in circuit.cells if cell.op.role == "concat"]
    first = [cell for cell in circuit.cells if cell.name in ("k", "v")]
    return [cell.outputs[0].id for cell in joined or first]


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
        '<p class="muted">A step without the cache runs all positions so far. The outputs are '
        "those of one pass over the whole sequence, up to rounding: earlier positions never see "
        "later ones, so their keys and values stay as they are. At small sizes the time is that of "
        "calling torch, whatever there is to compute.</p>"
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
