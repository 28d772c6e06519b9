"""The Devices panel: a layer on several devices, which part each has, and what they send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs, selection
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.app.state.session import session
from ncd.errors import SizeError
from ncd.formulas import prefixed_amounts
from ncd.rewrite.device_costs import WAYS, SimulatedRun, Way, WayCosts, simulated_run, way_costs
from ncd.rewrite.gradient import gradient
from ncd.rewrite.sharding import Message, Sharding
from ncd.site import markup


class WayChoice(Choice):
    """A choice of a way, which lights its axes in the diagram."""

    def put(self, text: str) -> None:
        """Stores the way, if it is one, and lights its axes; a callback."""
        super().put(text)
        session()[selection.AXES] = ",".join(WAYS[self.value].axes)


WAY = WayChoice("way", {key: way.title for key, way in WAYS.items()}, "tensor")
DEVICES = Choice("devices", ("2", "4", "8"), "4")
NUMBER_BYTES = 4  # of float32


def costs_by_way(scene: Scene, devices: int) -> dict[str, WayCosts | SizeError]:
    """Returns the costs of each way, or why the devices cannot share its axes."""

    def make() -> dict[str, WayCosts | SizeError]:
        back = gradient(scene.term, "parameters")
        return {key: way_costs(scene.term, back, way, devices) for key, way in WAYS.items()}

    return cached_value("costs by way", scene.term, devices, make=make)


def show_devices(scene: Scene) -> None:
    """Shows what a way sends and where, all ways in a table, and a run on simulated devices."""
    devices, way = int(DEVICES.value), WAYS[WAY.value]
    every = costs_by_way(scene, devices)
    chosen = every[WAY.value]
    if isinstance(chosen, SizeError):
        shown = f"<p>{markup.text(chosen.fact)}, so the {way.parts} cannot be shared.</p>"
    else:
        shown = f"<p>{_sentence(way, chosen)}</p>{_messages_table(chosen.plan)}"
    html = (
        f'<div class="told">{WAY.html()}<span>{DEVICES.html()}devices</span></div>{shown}'
        f"<h2>All ways</h2>{_table(every)}"
        f'<p class="muted">{_run_sentence(scene, chosen)} {DEVICES_TEXT}</p>'
    )
    html_panel.render(
        html, "devices", PARTS_OF_DEVICES.controls, partial(knobs.apply_pick, scene.entry)
    )


PARTS_OF_DEVICES = Panel(
    "Devices", show_devices, needs_run=False, controls=(WAY, DEVICES), follows_moves=True
)
DEVICES_TEXT = (
    "Weights and arrays are those of one device; forward and backward, all devices together send "
    "so much in a ring. Each number passes all links but one to be summed, and as many to be "
    "gathered. Bytes in float32."
)


def _sentence(way: Way, costs: WayCosts) -> str:
    """Returns what each device has, and what is sent."""
    plan = costs.plan
    axes = ", ".join(f"<i>{markup.text(name)}</i>" for name in way.axes)
    sends = {"forward": plan.messages, "backward": costs.backward_messages}
    said = "; ".join(f"{when}, {_messages(messages)}" for when, messages in sends.items())
    return (
        f"Each of {plan.devices} devices has its part of the {way.parts} ({axes}), and does "
        f"{prefixed_amounts.flops(plan.flops)}. What is sent: {said}."
    )


def _messages(messages: Iterable[Message]) -> str:
    """Returns how many messages of each kind there are, in words."""
    counts = Counter(message.collective for message in messages)
    return ", ".join(markup.plural(count, kind) for kind, count in counts.items()) or "nothing"


def _messages_table(plan: Sharding) -> str:
    """Returns a row for each message of the forward pass, and the op that it is for."""
    body = []
    for one in plan.ops:
        for message in one.messages:
            axes = markup.text(message.array) or "()"
            op = markup.text(one.op.cell.op.display_name)
            body.append(
                f'<tr data-node="{one.op.cell.id}" tabindex="0"><td>{op}</td>'
                f"<td>{message.collective}</td><td><i>{axes}</i></td>"
                f'<td class="number">{_bytes(message.numbers_sent(plan.devices))}</td></tr>'
            )
    head = ("at the op", "forward", "array", "all send")
    return markup.table(head, body, numbers=(3,)) if body else ""


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


TABLE_HEAD = ("way", "weights", "arrays", "forward", "backward")


def _amounts(costs: WayCosts) -> list[str]:
    plan = costs.plan
    return [
        _bytes(plan.weights_held),
        _bytes(plan.arrays_held),
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
