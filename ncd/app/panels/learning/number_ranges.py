"""The Range panel: how large weights, activations and gradients are, and what a format keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from math import isnan

import torch
from torch import Tensor

import ncd
from ncd.app.parts import html_panel
from ncd.app.parts.exponent_chart import (
    HIGH,
    KEPT,
    LOST,
    LOW,
    ExponentRow,
    exponent_chart,
    power_of_two,
)
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import FLOAT32, Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, slider
from ncd.circuit.circuit import Circuit
from ncd.language.wire import Wiring
from ncd.run.float_formats import FORMATS, FloatFormat, rounded_run
from ncd.run.module import CircuitModule
from ncd.site import markup
from ncd.systems.networks.low_precision_step import SCALE_NAMES

FORMAT = Choice("format", {key: found.name for key, found in FORMATS.items()}, "float16")
GROUPS = ("weights", "activations", "gradients of activations", "gradients of weights")
GRADIENTS = GROUPS[2:]


@dataclass(frozen=True)
class Losses:
    """The numbers of each power of two that a format keeps, and that it loses.

    ``zero_share`` becomes 0 and ``overflow_share`` too large, of the numbers that are not 0 in
    float32; ``median_error`` is the median difference of what is kept, as a share of the number.
    """

    kept_counts: tuple[int, ...]
    lost_counts: tuple[int, ...]
    zero_share: float
    overflow_share: float
    median_error: float


def losses(plain: Tensor, own: Tensor, format: FloatFormat) -> Losses:
    """Returns what has become of numbers of a run in float32 in a run in a format.

    >>> plain = torch.tensor([0.0, 1.0, 1e-9, 1e9])
    >>> format = FORMATS["float16"]
    >>> found = losses(plain, format.round(plain), format)
    >>> sum(found.kept_counts), sum(found.lost_counts), round(found.zero_share, 2)
    (1, 2, 0.33)
    """
    there = plain != 0
    plain, own = plain[there], own[there]
    large = ~own.isfinite() | (plain.abs() > format.largest)
    lost = (own == 0) | large
    powers = (torch.frexp(plain).exponent - 1).clamp(LOW, HIGH - 1) - LOW
    kept, gone = (torch.bincount(powers[at], minlength=HIGH - LOW) for at in (~lost, lost))
    errors = ((own - plain) / plain).abs()[~lost]
    return Losses(
        tuple(kept.tolist()),
        tuple(gone.tolist()),
        _share(own == 0),
        _share(large),
        float(errors.median()) if len(errors) else float("nan"),
    )


def _share(chosen: Tensor) -> float:
    return float(chosen.float().mean()) if len(chosen) else 0.0


def losses_of_run(back: CircuitModule, inputs: tuple[Tensor, ...]) -> dict[str, dict[str, Losses]]:
    """Returns what each format makes of the arrays of each group, compared with float32.

    Args:
        back: The gradient of a loss with respect to its parameters, as a module.
        inputs: The inputs of the loss.
    """
    given = (*inputs, torch.ones((), device=inputs[0].device))
    runs = {key: rounded_run(back, given, format) for key, format in FORMATS.items()}
    return {
        key: {
            group: losses(_join(runs["float32"], ids), _join(own, ids), FORMATS[key])
            for group, ids in group_ids(back.circuit).items()
        }
        for key, own in runs.items()
    }


def backward_module(module: CircuitModule) -> CircuitModule:
    """Returns the gradient with respect to the parameters of a module, with the same weights."""
    own = ncd.compile(ncd.gradient(module.term, "parameters"))
    own.load_state_dict(module.state_dict())
    return own.to(next(module.parameters()).device)


def group_ids(circuit: Circuit) -> dict[str, list[str]]:
    """Returns the ids of the arrays of each group, of the gradient of a loss.

    >>> term = ncd.catalogue["low-precision"].build()
    >>> found = group_ids(ncd.elaborate(ncd.gradient(term, "parameters")))
    >>> [len(every) for every in found.values()]
    [2, 4, 5, 2]
    """
    behind = {circuit.inputs[-1].id}  # what depends on the gradient of the loss
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for cell in circuit.cells:
        if isinstance(cell.op, Wiring):  # the arrays of others again
            pairs = zip(cell.op.sources, cell.outputs, strict=True)
            behind |= {own.id for source, own in pairs if cell.inputs[source].id in behind}
            continue
        (made,) = cell.outputs
        is_gradient = any(value.id in behind for value in cell.inputs)
        behind |= {made.id} if is_gradient else set()
        if made.array.shape:
            of_weight = "b" not in made.array.names
            found[GROUPS[2 * is_gradient + (of_weight == is_gradient)]].append(made.id)
    return found


def _join(values: Mapping[str, Tensor], ids: list[str]) -> Tensor:
    return torch.cat([values[id].flatten() for id in ids]).cpu()


# --- The panel


def show_ranges(scene: Scene) -> None:
    """Shows all numbers by their powers of two, over the range of the chosen format."""
    every = losses_by_format(scene)
    key, now = FORMAT.value, scene.settings["s"]
    chosen, format = every[key], FORMATS[key]
    rows = {
        group: ExponentRow(_words(group, own), own.kept_counts, own.lost_counts)
        for group, own in chosen.items()
    }
    scale = slider(f"loss scale {SCALE_NAMES[now]}", "s", range(len(SCALE_NAMES)), now)
    forward = [row for group, row in rows.items() if group not in GRADIENTS]
    backward = [rows[group] for group in GRADIENTS]
    charts = exponent_chart(f"Forward, in {format.name}", forward, format) + exponent_chart(
        f"Backward, in {format.name}", backward, format
    )
    html = (
        f'<div class="told">{FORMAT.html()}{scale}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem">{charts}</div>'
        f"<p>{verdict(chosen, format, SCALE_NAMES[now])}</p>"
        f"<p>Of the gradients of activations:</p>{_table(every)}"
        f'<p class="muted">{RANGE_TEXT} {numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "range", RANGE.controls, partial(knobs.apply_pick, scene.entry))


RANGE = Panel("Range", show_ranges, controls=(FORMAT,), follows_moves=True)
RANGE_TEXT = (
    f"Bars count numbers that are not 0, by their power of two; <b style='color:{KEPT}'>■</b> is "
    f"kept, and <b style='color:{LOST}'>■</b> becomes 0 or too large. The range of the format is "
    "shaded, and lighter where its numbers have fewer bits. Inputs, weights and the result of each "
    "op are rounded to it, and compared with the same run in float32."
)


def losses_by_format(scene: Scene) -> dict[str, dict[str, Losses]]:
    """Returns the losses of the scene's run in each format."""
    plain = replace(scene, formats=FLOAT32)
    return cached_value(
        "losses by format",
        scene.term,
        *plain.run_key,
        make=lambda: scene.run_in_pool(
            lambda: losses_of_run(backward_module(plain.module), plain.inputs)
        ),
    )


def _words(group: str, own: Losses) -> str:
    """Returns the name of a group, with what is lost of it."""
    parts = {"become 0": own.zero_share, "too large": own.overflow_share}
    lost = [f"{percent(share)} {words}" for words, share in parts.items() if share]
    return f"{group}: {', '.join(lost) or 'all kept'}"


def percent(share: float) -> str:
    """Returns a share in percent; a small one is not called 0.

    >>> percent(0.2249), percent(0.0004), percent(1.0), percent(0.9996), percent(0.0)
    ('22%', 'under 1%', '100%', 'over 99%', '0%')
    """
    if 0 < share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1 else f"{share:.0%}"


def verdict(found: Mapping[str, Losses], format: FloatFormat, scale: str) -> str:
    """Returns what becomes of the gradients in a format, and what can be done about it."""
    own = [found[group] for group in GRADIENTS]
    if any(losses.overflow_share for losses in own):
        after = TOO_LARGE_TEXT if format.has_infinity else SATURATED_TEXT
        return (
            f"<b>✗ Too large.</b> The largest number of {format.name} is "
            f"{markup.digits(format.largest)}. {after}"
        )
    if all(losses.zero_share < 0.01 for losses in own):
        scaled = f" The step divides by {scale} again." if scale != "1" else ""
        return f"<b>✓ The gradients arrive.</b>{scaled}"
    half = power_of_two(_power(format.smallest) - 1)
    return (
        f"<b>✗ Gradients vanish.</b> What is not above {half}, half of the smallest number of "
        f"{format.name}, becomes 0. A larger loss scale moves all of them up, and the range stays."
    )


TOO_LARGE_TEXT = (
    "What is above becomes infinite: torch’s <code>GradScaler</code> then leaves out the step, and "
    "halves the loss scale."
)
SATURATED_TEXT = "It has no infinity: what is above becomes that number, and nothing tells of it."


def _power(number: float) -> int:
    return int(torch.frexp(torch.tensor(number, dtype=torch.float64)).exponent) - 1


def _table(every: Mapping[str, Mapping[str, Losses]]) -> str:
    """Returns a row for each format: what becomes of the gradients, and its own numbers."""
    body = []
    for key, format in FORMATS.items():
        own = every[key][GRADIENTS[0]]
        numbers = (
            percent(own.zero_share),
            percent(own.overflow_share),
            "–" if isnan(own.median_error) else f"{own.median_error:.2%}",
            markup.digits(format.largest),
            power_of_two(_power(format.smallest_normal)),
            power_of_two(_power(format.smallest)),
            power_of_two(-format.mantissa),
            f"{format.exponent} + {format.mantissa}",
        )
        cells = "".join(f'<td class="number">{number}</td>' for number in numbers)
        button = FORMAT.button(key, format.name, key == FORMAT.value)
        body.append(f'<tr><td class="unbroken">{button}</td>{cells}</tr>')
    return markup.table(TABLE_HEAD, body, numbers=range(1, len(TABLE_HEAD)))


TABLE_HEAD = (
    "format",
    "become 0",
    "too large",
    "error",
    "largest",
    "normal from",
    "smallest",
    "ε",
    "bits",
)
