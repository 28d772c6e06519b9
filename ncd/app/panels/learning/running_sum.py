"""The Sum panel: many numbers added one after the other, in each format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor

from ncd.app.panels.learning.number_ranges import FORMAT
from ncd.app.parts import html_panel
from ncd.app.parts.log_chart import ChartLine, log_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import FLOAT32, Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.run.calculation import number_text
from ncd.run.float_formats import FORMATS, FloatFormat
from ncd.site import markup

MOST, EVERY = 1024, 16  # numbers that are added, and those between two points of a line
COLOURS = {
    "float32": "#3d6fb6",
    "bfloat16": "#2f958f",
    "float16": "#7a9a3a",
    "e5m2": "#c9732b",
    "e4m3": "#9a5fb0",
}


def running_sum(numbers: Tensor, format: FloatFormat) -> list[float]:
    """Returns the sums of the first numbers, each rounded before the next is added.

    >>> running_sum(torch.ones(4), FORMATS["e5m2"])
    [1.0, 2.0, 3.0, 4.0]
    >>> running_sum(torch.ones(300), FORMATS["bfloat16"])[-1]
    256.0
    """
    sums, total = [], torch.zeros(())
    for number in format.round(numbers):
        total = format.round(total + number)
        sums.append(total)
    return torch.stack(sums).tolist()


def sums_by_format(numbers: Tensor) -> dict[str, list[float]]:
    """Returns the running sums of numbers in each format of ``COLOURS``."""
    return {key: running_sum(numbers, FORMATS[key]) for key in COLOURS}


def addends(scene: Scene) -> Tensor:
    """Returns the numbers that are added: the hidden units of all examples, at most ``MOST``."""
    cell = next(cell for cell in scene.circuit.cells if cell.op.display_name.endswith("relu"))
    return scene.trace.values[cell.outputs[0].id].flatten()[:MOST].cpu()


def show_sum(scene: Scene) -> None:
    """Shows the running sums as lines, and where they end."""
    plain = replace(scene, formats=FLOAT32)
    numbers = addends(plain)
    found = cached_value(
        "running sums",
        scene.term,
        *plain.run_key,
        make=lambda: scene.run_in_pool(lambda: sums_by_format(numbers)),
    )
    exact = float(numbers.double().sum())
    lines = {
        FORMATS[key].name.removeprefix("float8 "): ChartLine(
            sums[EVERY - 1 :: EVERY] or sums, COLOURS[key], key == FORMAT.value
        )
        for key, sums in found.items()
    }
    chart = log_chart(
        "The sum so far", lines, "numbers", ends=(min(EVERY, len(numbers)), len(numbers))
    )
    html = (
        '<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem;align-items:flex-start">'
        f'{chart}<div style="flex:1 1 20rem">{_table(found, exact)}</div></div>'
        f"<p>The {len(numbers):,} hidden units of all examples, one after the other. {SUM_TEXT}</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "sum", SUM.controls)


SUM = Panel("Sum", show_sum, controls=(FORMAT,), follows_moves=True)
SUM_TEXT = (
    "As the sum grows, its numbers lie further apart, until what is added is less than half of the "
    "spacing: there it stays. Therefore a product of matrices takes numbers of 16 or 8 bits, and "
    "adds up in float32."
)


def _table(found: Mapping[str, list[float]], exact: float) -> str:
    body = []
    for key, sums in found.items():
        end, format = sums[-1], FORMATS[key]
        button = FORMAT.button(key, format.name, key == FORMAT.value)
        off = f"{end / exact - 1:+.1%}".replace("-", "−") if exact else "–"
        off = "0.0%" if off.endswith("0.0%") else off
        body.append(
            f'<tr><td class="unbroken">{button}</td><td class="number">{number_text(end)}</td>'
            f'<td class="number">{off}</td>'
            f'<td class="number">{number_text(format.spacing(end))}</td></tr>'
        )
    head = ("added up in", "sum", "off", "spacing there")
    return markup.table(head, body, numbers=(1, 2, 3))
