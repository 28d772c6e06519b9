"""The Devices panel: a layer on several devices, which part each has, and what they send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.errors import SizeError
from ncd.formulas import prefixed_amounts
from ncd.rewrite.device_costs import WAYS, SimulatedRun, Way, WayCosts, simulated_run, way_costs
from ncd.rewrite.gradient import gradient
from ncd.rewrite.sharding import Message, Sharding
from ncd.site import markup

WAY = Choice("way", {key: way.title for key, way in WAYS.items()}, "tensor")
DEVICES = Choice("devices", ("2", "4", "8"), "4")
NUMBER_BYTES = 4  # of float32


def costs_by_way(scene: Scene, devices: int) -> dict[str, WayCosts | SizeError]:
    """Returns the costs of each way, or why the devices cannot share its axes."""

    def make() -> dict[str, WayCosts | SizeError]:
        back = gradient(scene.term, "parameters")
        return {key: way_costs(scene.term, back, way, devices) for key, way in WAYS.items()}

    return cached_value("costs by way", scene.term, devices, make=make)


def show_devices(scene: Scene) -> None:
    """Shows the chosen way in the diagram, all ways in a table, and a run on simulated devices."""
    devices, way = int(DEVICES.value), WAYS[WAY.value]
    every = costs_by_way(scene, devices)
    chosen = every[WAY.value]
    if isinstance(chosen, SizeError):
        shown = f"<p>{markup.text(chosen.fact)}, so the {way.parts} cannot be shared.</p>"
    else:
        shown = f"<p>{_sentence(way, chosen)}</p>{_drawing(scene, way, chosen.plan)}"
    html = (
        f'<div class="told">{WAY.html()}<span>{DEVICES.html()}devices</span></div>{shown}'
        f"{_table(every)}"
        f'<p class="muted">{_run_sentence(scene, chosen)} {DEVICES_TEXT}</p>'
    )
    html_panel.render(
        html, "devices", PARTS_OF_DEVICES.controls, partial(knobs.apply_pick, scene.entry)
    )


PARTS_OF_DEVICES = Panel("Devices", show_devices, controls=(WAY, DEVICES), follows_moves=True)
DEVICES_TEXT = (
    "Bytes in float32, sent by all devices together in a ring: each number passes all links but "
    "one to be summed, and all but one to be gathered."
)


def _sentence(way: Way, costs: WayCosts) -> str:
    """Returns what each device has, and what is sent."""
    plan = costs.plan
    axes = ", ".join(f"<i>{markup.text(name)}</i>" for name in way.axes)
    sends = {"forward": plan.messages, "backward": costs.backward_messages}
    said = "; ".join(f"{when}, {_messages(messages)}" for when, messages in sends.items())
    return (
        f"Each of {plan.devices} devices has its part of the {way.parts} ({axes}). What is sent: "
        f"{said}."
    )


def _messages(messages: Iterable[Message]) -> str:
    """Returns how many messages of each kind there are, in words."""
    counts = Counter(message.collective for message in messages)
    return ", ".join(markup.plural(count, kind) for kind, count in counts.items()) or "nothing"


def _drawing(scene: Scene, way: Way, plan: Sharding) -> str:
    """Returns the diagram with the paths of the sharded axes, and the messages where they are."""
    notes = {
        f"axis {name}": _part_words(size, name, plan.devices)
        for name in way.axes
        if (size := scene.settings.get(name))
    }
    for one in plan.ops:
        sent = Counter(message.collective for message in one.messages)
        if sent:
            size = sum(message.numbers_sent(plan.devices) for message in one.messages)
            words = " and ".join(sent)
            notes[one.op.cell.id] = f"{words}, {_bytes(size)}"
    return terms_in_a_row((scene.term,), "=", scene, notes)


def _part_words(size: int, name: str, devices: int) -> str:
    """Returns the part of an axis that one device has."""
    return f"${name}$: {size // devices} of {size} on each device"


def _bytes(numbers: int) -> str:
    return prefixed_amounts.amount(numbers * NUMBER_BYTES, "B")


def _table(every: Mapping[str, WayCosts | SizeError]) -> str:
    """Returns a row for each way: what one device holds and does, and what all of them send."""
    body = []
    for key, costs in every.items():
        button = WAY.button(key, WAYS[key].title, key == WAY.value)
        if isinstance(costs, SizeError):
            button += f' <span class="muted">{markup.text(costs.fact)}</span>'
            cells = ["–"] * (len(TABLE_HEAD) - 1)
        else:
            cells = _amounts(costs)
        row = "".join(f'<td class="number">{cell}</td>' for cell in cells)
        body.append(f"<tr><td>{button}</td>{row}</tr>")
    return markup.table(TABLE_HEAD, body, numbers=range(1, len(TABLE_HEAD)))


TABLE_HEAD = ("a device:", "weights", "arrays", "FLOP", "all send forward", "and backward")


def _amounts(costs: WayCosts) -> list[str]:
    plan = costs.plan
    return [
        _bytes(plan.weights_held),
        _bytes(plan.arrays_held),
        prefixed_amounts.flops(plan.flops),
        _bytes(plan.numbers_sent),
        _bytes(costs.backward_numbers),
    ]


# --- A run on simulated devices


def _run_sentence(scene: Scene, costs: WayCosts | SizeError) -> str:
    """Returns how far a run on simulated devices is from the whole, where that is quick."""
    if isinstance(costs, SizeError) or not scene.is_quick:
        return ""
    done = _simulated_run(scene, costs.plan)
    return (
        f"Run on {costs.plan.devices} simulated devices: outputs differ from the whole by "
        f"{markup.digits(done.output_error)} of the largest number, gradients by "
        f"{markup.digits(done.gradient_error)}, "
        f"and {done.numbers_sent:,} numbers were sent forward, as calculated. "
        f"{numbers_origin(scene)}"
    )


def _simulated_run(scene: Scene, plan: Sharding) -> SimulatedRun:
    module, inputs = scene.module, scene.inputs
    return cached_value(
        "simulated devices",
        scene.term,
        plan.axes,
        plan.devices,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: simulated_run(plan, inputs, module)),
    )
