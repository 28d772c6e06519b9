"""The backward pass step by step: the gradient that arrives at an op, its rule, and the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import streamlit as st
from torch import Tensor

from ncd.export import markup
from ncd.export.forward_steps import first
from ncd.graph import Dag, Gradients, backward, scanless
from ncd.graph.backward_rules import plain, rule
from ncd.lang.circuits.array_names import called, given
from ncd.lang.circuits.circuit import Cell, Value
from ncd.lang.types.axes import Array
from ncd.view.base import heatmap, selection
from ncd.view.base.cache import remember
from ncd.view.base.controls import Place
from ncd.view.base.heatmap import Ends
from ncd.view.diagram import gradient_diagram
from ncd.view.learning.requires_grad import Leaf
from ncd.view.panels.common import gradient_check
from ncd.view.session.scene import Scene

STEP = Place("back")  # the number of the step, from 1; 0 before the first
FEW = 6  # the greatest number of rows and columns that are shown as a table

LOSS = (
    "<code>loss.backward()</code> begins here. The loss changes as fast as itself, so its own "
    "gradient is 1."
)
END = (
    "A backward pass begins at one number. Here that is the sum of all numbers that come out, each "
    "times a random one; so these are the gradients that arrive."
)
NOTHING = (
    '<p role="status">Nothing here needs a gradient, so torch records no graph, and '
    "<code>backward()</code> raises <i>element 0 of tensors does not require grad and does not "
    "have a grad_fn</i>.</p>"
)
START = (
    "The way ends here: this input needs a gradient, and what has arrived is added to its "
    "<code>.grad</code>."
)


@dataclass(frozen=True)
class Step:
    """A step of the backward walk: an op, or an output or input if ``cell`` is empty.

    ``array`` is the array whose gradient arrives, ``light`` the id that is selected with it.
    """

    array: str
    cell: str
    light: str
    fences: tuple[str, ...] = ()


def steps(scene: Scene, dag: Dag, gradients: Gradients) -> tuple[Step, ...]:
    """Returns the steps: the outputs, the ops in reverse order, then the inputs."""
    circuit, came = scene.circuit, gradients.arrays
    drawn = first(circuit)

    def step(value: Value, cell: Cell | None = None) -> Step:
        maker = circuit.makers.get(value.id)  # a single number has no wire to highlight
        light = value.id if value.array or maker is None else maker.id
        return Step(
            value.id, cell.id if cell else "", drawn.get(light, light), cell.fences if cell else ()
        )

    acts = {node.cell for node in dag.nodes if node.kind == "function"}
    ops = []
    for cell in reversed(circuit.cells):
        reached = [value for value in cell.outputs if value.id in came]
        if reached and (cell.id in acts or len(reached) > 1 or not cell.inputs):
            ops.append(step(reached[0], cell))
    ends = [step(value) for value in circuit.outputs if value.id in came][:1]
    return (*ends, *ops, *(step(value) for value in circuit.inputs if value.id in came))


def place(every: tuple[Step, ...], selected: str) -> int:
    """Returns the number of the current step, from 1; 0 before the first.

    It is the stored number until another array or op that has a step is selected.
    """
    now = STEP.among(len(every) + 1)
    if not now or not selected or every[now - 1].light == selected:
        return now
    own = (i for i, s in enumerate(every, 1) if selected in (s.cell, s.light, *s.fences))
    return next(own, now)


def pick(value: str) -> None:
    """Goes to a step and selects its op or array, as in ``"3 v4"``; a callback."""
    at, _, light = value.partition(" ")
    STEP.put(at)
    if light and st.session_state.get(selection.KEY) != light:
        selection.select(light)


def show(scene: Scene, dag: Dag, off: frozenset[str], leaves: tuple[Leaf, ...]) -> tuple[str, str]:
    """Returns the HTML of the step, and the id of its op or array."""
    if not scanless(scene.circuit):
        return "", ""
    if not dag.edges:
        return NOTHING, ""
    found = gradients(scene, off)
    every = steps(scene, dag, found)
    at = place(every, scene.selected)
    if not at:
        return _begin(every), ""
    step = every[at - 1]
    told = Told(scene, dag, found, leaves)
    html = f"{_turn(every, at)}{told.step(step)}{gradient_check.told(scene, off, told.names)}"
    return f'<section class="backward">{html}</section>', step.cell or step.array


def gradients(scene: Scene, off: frozenset[str]) -> Gradients:
    """Returns the gradient of every array and parameter; ``off`` names those without one."""

    def run() -> Gradients:
        return backward(scene.module, *scene.inputs, frozen=off)

    key = (*scene.numbers, off)
    return remember("gradients", scene.term, *key, make=lambda: scene.work(run))


def _begin(every: tuple[Step, ...]) -> str:
    return (
        f"<p>{STEP.button(f'1 {every[0].light}', 'Step through the backward pass')} "
        f'<span class="muted">{markup.counted(len(every), "step")}, from the end to the '
        "start.</span></p>"
    )


def _turn(every: tuple[Step, ...], at: int) -> str:
    """Returns buttons for the previous step, the next step, and leaving the walk."""

    def button(word: str, to: int, key: str) -> str:
        known = 1 <= to <= len(every)
        pick = f"{to} {every[to - 1].light}" if known else ""
        off = "" if known else " disabled"
        return (
            f'<button type="button" class="plain" data-pick="{STEP.action(pick)}" '
            f'data-turn="{key}"{off}>{word}</button>'
        )

    return (
        '<div class="turns">'
        f"{button('Back', at - 1, 'ArrowLeft')}{button('Next', at + 1, 'ArrowRight')}"
        f"<b>Step {at} of {len(every)}</b>"
        '<span class="muted">← and → go on; a click on a node below goes to it.</span>'
        f"{STEP.button(0, 'Close')}</div>"
    )


class Told:
    """Writes the steps of the backward walk as HTML."""

    def __init__(self, scene: Scene, dag: Dag, found: Gradients, leaves: tuple[Leaf, ...]) -> None:
        self.scene, self.circuit, self.found = scene, scene.circuit, found
        self.names = {**called(self.circuit), **{leaf.name: leaf.title for leaf in leaves}}
        for id, name in given(self.circuit).items():
            self.names[self.circuit.takers[id].outputs[0].id] = name
        self.uses = Counter(value.id for cell in self.circuit.cells for value in cell.inputs)
        self.functions: dict[str, list[str]] = {}
        for node in dag.nodes:
            if node.kind == "function":
                self.functions.setdefault(node.cell, []).append(node.label)

    def step(self, step: Step) -> str:
        """Returns the arriving gradient of a step, its rule, and the resulting gradients."""
        if step.cell:
            return self._op(self.circuit.cell(step.cell))
        value = self.circuit.values[step.array]
        if value.id not in {v.id for v in self.circuit.outputs}:
            return self._card("The start", "", START, [self._value(value)], [])
        return self._card("The end", "", END if value.array else LOSS, [self._value(value)], [])

    def _op(self, cell: Cell) -> str:
        arrived = [self._value(value) for value in cell.outputs if value.id in self.found.arrays]
        sent = [self._value(value) for value in cell.inputs if value.id in self.found.arrays]
        if cell.name:
            sent += self._parameters(cell)
        named = f" <span class='muted'>{markup.text(cell.path)}</span>" if cell.scope else ""
        head = f'<span data-node="{cell.id}">{markup.text(cell.op.label)}</span>{named}'
        card = self._card(head, cell.op.role, self._rules(cell), arrived, sent)
        return card + gradient_diagram.told(self.scene, cell)

    def _rules(self, cell: Cell) -> str:
        """Returns torch's backward functions for an op, in the order in which they run."""
        labels = dict.fromkeys(reversed(self.functions.get(cell.id, [])))
        if labels:
            rows = (
                f"<div><dt><code>{markup.text(plain(label))}</code></dt>"
                f"<dd>{markup.text(rule(label, cell.op.backward))}</dd></div>"
                for label in labels
            )
            return f"<dl>{''.join(rows)}</dl>"
        if len(cell.outputs) > 1:
            return "One array went two ways, so the gradients that come back are added."
        return "A parameter: its gradient is complete, and is added to <code>.grad</code>."

    def _parameters(self, cell: Cell) -> list[str]:
        every = self.found.parameters.items()
        return [
            self._numbers(f"<code>{markup.text(name.rpartition('.')[2])}.grad</code>", "", grad)
            for name, grad in every
            if name == cell.path or name.rpartition(".")[0] == cell.path
        ]

    def _value(self, value: Value) -> str:
        name = self.names.get(value.id, "")
        title = f"{name} <span class='muted'>{_axes(value.array)}</span>".strip()
        if self.uses[value.id] > 1:
            title += f" <span class='muted'>of all {self.uses[value.id]} uses</span>"
        return self._numbers(title, f' data-array="{value.id}"', self.found.arrays[value.id])

    def _card(self, title: str, role: str, words: str, arrived: list[str], sent: list[str]) -> str:
        field = markup.role(role, self.scene.dark) if role else ""
        goes = (
            f"<div><h3>goes on</h3><div class='cards'>{''.join(sent)}</div></div>" if sent else ""
        )
        return (
            f"<h2>{field}{title}</h2><div class='flow'>"
            f"<div><h3>G arrives</h3><div class='cards'>{''.join(arrived)}</div></div>"
            f"<div class='rule'>{words}</div>{goes}</div>"
        )

    def _numbers(self, title: str, light: str, grad: Tensor) -> str:
        """Returns a gradient's shape, norm and numbers, or a picture of them."""
        grid = grad.detach().float().cpu().reshape(*_sides(grad.shape)).numpy()
        shape = "×".join(map(str, grad.shape)) or "a number"
        length = markup.digits(float(np.linalg.norm(grid)))
        small = grid.shape[0] <= FEW and grid.shape[1] <= FEW
        return (
            f'<figure{light}><figcaption>∇ {title}<br><span class="muted">{shape} · ‖∇‖ {length}'
            f"</span></figcaption>{_written(grid) if small else _picture(grid)}</figure>"
        )


def _axes(array: Array) -> str:
    return markup.array(array) if len(array) else ""


def _sides(shape: Sequence[int]) -> tuple[int, int]:
    """Returns a number of rows and columns that shows all numbers of an array.

    >>> _sides((4,)), _sides((4, 3)), _sides((2, 3, 50))
    ((1, 4), (4, 3), (6, 50))
    """
    if len(shape) < 2:
        return 1, prod(shape)
    pairs = [(prod(shape[:k]), prod(shape[k:])) for k in range(1, len(shape))]
    return min(pairs, key=lambda pair: max(pair) / min(pair))


def _written(grid: heatmap.Grid) -> str:
    rows = "".join(
        f"<tr>{''.join(f'<td class=number>{markup.digits(float(x))}</td>' for x in row)}</tr>"
        for row in grid
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _picture(grid: heatmap.Grid) -> str:
    pooled = heatmap.pooled(grid, heatmap.SMALL)
    ends = Ends.of(grid, signed=True)
    address = heatmap.picture(pooled.maps, ends, heatmap.scale(signed=True))
    told = f"from {markup.digits(ends.low)}, blue, to {markup.digits(ends.high)}, red"
    low = " class='low'" if len(grid) == 1 else ""
    return f'<img{low} alt="{told}" title="{told}" src="{address}">'
