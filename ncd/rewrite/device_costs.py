"""Three ways to put a layer on several devices: what each holds, calculates and sends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ncd.errors import SizeError
from ncd.language.terms import Term
from ncd.rewrite.sharded_run import run_sharded
from ncd.rewrite.sharding import Message, Sharding, passed_inputs, shard


class Way(NamedTuple):
    """A kind of parallelism, by the axes of which each device has a part."""

    title: str
    axes: tuple[str, ...]
    parts: str


WAYS = {
    "tensor": Way("tensor", ("h", "d"), "heads and hidden features"),
    "data": Way("data", ("b",), "examples"),
    "sequence": Way("sequence", ("t", "y", "x"), "positions"),  # attention calls them y and x
}


@dataclass(frozen=True)
class WayCosts:
    """The costs of one way to put a term on several devices.

    Args:
        plan: The forward pass.
        backward_messages: What is sent in the backward pass, which has kept what it needs.
    """

    plan: Sharding
    backward_messages: tuple[Message, ...]

    @property
    def backward_numbers(self) -> int:
        """The numbers that all devices together send in the backward pass."""
        return sum(message.numbers_sent(self.plan.devices) for message in self.backward_messages)


def way_costs(term: Term, back: Term, way: Way, devices: int) -> WayCosts | SizeError:
    """Returns the costs of a way, or why the devices cannot share its axes.

    Args:
        term: The term.
        back: Its gradient by all of its parameters.
        way: The way.
        devices: The number of devices.

    >>> import ncd
    >>> layer = ncd.catalogue["parallelism"].build()
    >>> back = ncd.gradient(layer, "parameters")
    >>> costs = way_costs(layer, back, WAYS["data"], 4)
    >>> weights = ncd.cost(layer).parameters
    >>> costs.plan.numbers_sent, costs.backward_numbers == 2 * 3 * weights
    (0, True)
    """
    try:
        plan = shard(term, way.axes, devices)
    except SizeError as error:
        return error
    backward = shard(back, way.axes, devices)
    return WayCosts(plan, tuple(_messages_of_gradients(backward, len(plan.circuit.inputs))))


def _messages_of_gradients(plan: Sharding, count: int) -> Iterator[Message]:
    """Yields what is sent for gradients: the first ``count`` inputs are those of the forward pass.

    What does not depend on a gradient is of the forward pass, and was sent there.
    """
    reached = {value.id for value in plan.circuit.inputs[count:]}
    for one in plan.ops:
        cell = one.op.cell
        if cell.passes_arrays_on:
            pairs = zip(cell.outputs, passed_inputs(cell), strict=True)
            reached |= {output.id for output, i in pairs if cell.inputs[i].id in reached}
        elif reached & {value.id for value in cell.inputs}:
            reached |= {value.id for value in cell.outputs}
            yield from one.messages


@dataclass(frozen=True)
class SimulatedRun:
    """A run on simulated devices beside that of the whole.

    Args:
        output_error: The largest difference of outputs, as a share of the largest number.
        gradient_error: The same of the gradients of inputs and weights.
        numbers_sent: How many numbers were sent forward.
    """

    output_error: float
    gradient_error: float
    numbers_sent: int


def simulated_run(plan: Sharding, inputs: Sequence[Tensor], module: nn.Module) -> SimulatedRun:
    """Runs a term on simulated devices and as a whole, with gradients of the sum of squares.

    >>> import ncd
    >>> layer = ncd.catalogue["parallelism"].build(b=2, t=4)
    >>> plan = shard(layer, ["h", "d"], 2)
    >>> done = simulated_run(plan, ncd.example_inputs(layer), ncd.compile(layer))
    >>> done.output_error < 1e-5, done.gradient_error < 1e-4
    (True, True)
    """
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    learned = [*leaves, *module.parameters()]
    with torch.enable_grad():
        whole = (module(*leaves),)
        found = run_sharded(plan, leaves, module)
        pairs = [
            torch.autograd.grad(sum((x.square().sum() for x in of), torch.zeros(())), learned)
            for of in (whole, found.outputs)
        ]
    return SimulatedRun(
        _largest_error(found.outputs, whole), _largest_error(*reversed(pairs)), found.numbers_sent
    )


def _largest_error(found: Sequence[Tensor], wanted: Sequence[Tensor]) -> float:
    most = max(float(x.detach().abs().max()) for x in wanted)
    pairs = zip(found, wanted, strict=True)
    return max(float((x - y).detach().abs().max()) for x, y in pairs) / most
