"""The Gap panel: the loss of examples that were learned from and of unseen ones, over training."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.nn import functional as F

import ncd
from ncd.app.parts import html_panel
from ncd.app.parts.log_chart import ChartLine, log_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.networks.dropout_layer import EVAL, RATES, TRAIN, dropout

SIZES = {"m": 8, "d": 16, "k": 3}  # whatever is chosen: it is trained in a moment
EXAMPLES, UNSEEN, NOISE = 24, 512, 0.7  # the deviation of the noise in what is to be learned
STEPS, EVERY, RATE = 200, 10, 0.01  # steps of Adam, steps between two losses, learning rate
COLOURS = {"training": "#3d6fb6", "unseen": "#c9732b"}


@dataclass(frozen=True)
class LossCurves:
    """The losses of both kinds of examples, with all units at work, by tens of steps."""

    training: tuple[float, ...]
    unseen: tuple[float, ...]

    @property
    def gap(self) -> float:
        """The difference of the losses in the end: that of unseen examples less the other."""
        return self.unseen[-1] - self.training[-1]


def loss_curves(p: int, mode: int, seed: int) -> LossCurves:
    """Trains the network on a linear map with noise, and returns its losses.

    Args:
        p: The share left out, a place in ``RATES``.
        mode: ``EVAL`` to leave out nothing while it learns.
        seed: The seed of the examples, the weights and the masks.
    """
    random, sizes = generator(seed, "gap"), {**SIZES, "p": p}
    x = torch.randn(EXAMPLES + UNSEEN, SIZES["m"], generator=random)
    linear = torch.randn(SIZES["m"], SIZES["k"], generator=random) / SIZES["m"] ** 0.5
    y = x @ linear + NOISE * torch.randn(len(x), SIZES["k"], generator=random)
    learner = ncd.compile(dropout(EXAMPLES, mode=mode, **sizes), seed)
    same, other = (ncd.compile(dropout(b, mode=EVAL, **sizes)) for b in (EXAMPLES, UNSEEN))
    steps = torch.optim.Adam(learner.parameters(), lr=RATE)
    losses, counts = [], [EXAMPLES, UNSEEN]
    with torch.enable_grad():
        for step in range(STEPS + 1):
            if step % EVERY == 0:
                for module in (same, other):
                    module.load_state_dict(learner.state_dict())
                parts = zip((same, other), x.split(counts), y.split(counts), strict=True)
                losses.append([F.mse_loss(m(a), b).item() for m, a, b in parts])
            steps.zero_grad()
            F.mse_loss(learner(x[:EXAMPLES]), y[:EXAMPLES]).backward()
            steps.step()
    training, unseen = zip(*losses, strict=True)
    return LossCurves(training, unseen)


# --- The panel


def show_dropout_gap(scene: Scene) -> None:
    """Shows both losses over training, without dropout and with it."""
    p = scene.settings["p"]
    without, with_it = (_curves(scene, 0, EVAL), _curves(scene, p, TRAIN))
    titles = {"Loss without dropout": without, f"Loss with a dropout of {RATES[p]}": with_it}
    every = [loss for found in titles.values() for loss in (*found.training, *found.unseen)]
    charts = "".join(
        log_chart(
            title,
            {
                name: ChartLine(getattr(found, name), colour, name == "unseen")
                for name, colour in COLOURS.items()
            },
            "steps",
            ends=(0, STEPS),
            beside=every,
        )
        for title, found in titles.items()
    )
    html_panel.render(
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem">{charts}</div>'
        f"{_table(titles)}<p>{GAP_TEXT}</p>",
        "dropout gap",
    )


DROPOUT_GAP = Panel("Gap", show_dropout_gap)
GAP_TEXT = (
    f"A network of {SIZES['d']} hidden units learns a linear map from {EXAMPLES} examples with "
    f"noise, in {STEPS} steps of Adam. Both losses are taken with all units at work. Without "
    "dropout it learns the noise by heart, which helps with no other example: one loss falls and "
    "the other rises. With too much of it the network is too weak to learn either."
)


def _curves(scene: Scene, p: int, mode: int) -> LossCurves:
    key, seed = dropout(**SIZES, p=p, mode=mode), scene.seed
    return cached_value(
        "loss curves", key, seed, make=lambda: scene.run_in_pool(lambda: loss_curves(p, mode, seed))
    )


def _table(found: dict[str, LossCurves]) -> str:
    rows = [
        f"<tr><td>{title.removeprefix('Loss ')}</td>"
        + "".join(
            f'<td class="number">{number:.2f}</td>'
            for number in (own.training[-1], own.unseen[-1], min(own.unseen), own.gap)
        )
        + "</tr>"
        for title, own in found.items()
    ]
    head = ("in the end", "training", "unseen", "least unseen", "gap")
    return markup.table(head, rows, numbers=(1, 2, 3, 4))
