"""Switches for ``requires_grad`` of parameters and inputs."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ncd.export import markup
from ncd.lang.circuits.array_names import given
from ncd.view.arrays.map_component import LIGHTS
from ncd.view.base.controls import Switches
from ncd.view.session.scene import Scene

FROZEN = Switches("frozen", longest=10_000)  # the names of tensors without a gradient
FEW = 8  # the greatest number of switches that are always visible


@dataclass(frozen=True)
class Leaf:
    """A parameter, or an input by the id of its array, with its name and highlight as HTML."""

    name: str
    title: str
    light: str


def leaves(scene: Scene) -> tuple[Leaf, ...]:
    """Returns all parameters and inputs that can have a gradient, the inputs first."""
    circuit, names = scene.circuit, given(scene.circuit)
    cells = {cell.path: cell for cell in circuit.cells if cell.name}
    found = []
    for value in circuit.inputs:
        if value.array.below is None:
            title = markup.text(names.get(value.id, "")) or markup.array(value.array)
            found.append(Leaf(value.id, LIGHTS.sub("", title), f'data-array="{value.id}"'))
    for name, _ in scene.module.named_parameters():
        cell = cells.get(name) or cells.get(name.rpartition(".")[0])
        light = f'data-node="{cell.id}"' if cell else ""
        found.append(Leaf(name, markup.text(name), light))
    return tuple(found)


def frozen(scene: Scene) -> frozenset[str]:
    """Returns the names of this system's parameters and inputs without a gradient."""
    return frozenset(leaf.name for leaf in leaves(scene)).intersection(FROZEN.names)


def switches(every: tuple[Leaf, ...], off: Collection[str]) -> str:
    """Returns the switches as HTML; many are in a closed section with their number."""
    if not every:
        return ""
    buttons = "".join(_switch(leaf, leaf.name not in off) for leaf in every)
    if off:
        buttons += FROZEN.button("", "all on")
    group = f'<span class="switches" role="group" aria-label="requires_grad">{buttons}</span>'
    if len(every) <= FEW:
        return f'<div class="needs"><code>requires_grad</code>{group}</div>'
    told = f"{len(every) - len(off)} of {len(every)} on"
    return (
        f'<details class="needs"><summary><code>requires_grad</code>: {told}</summary>'
        f"{group}</details>"
    )


def _switch(leaf: Leaf, on: bool) -> str:
    return (
        f'<button type="button" role="switch" aria-checked="{str(on).lower()}" {leaf.light} '
        f'data-pick="{FROZEN.action(markup.text(leaf.name))}">{leaf.title}</button>'
    )
