"""The backward pass step by step, checked against finite differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import streamlit as st
from torch import Tensor

from ncd.app.figure import backward_diagram
from ncd.app.parts import heatmap
from ncd.app.parts.map_component import LIGHTS
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Switches
from ncd.circuit.circuit import Cell, Value, array_names, input_names
from ncd.explain.autograd_dag import Dag, base_name, rule
from ncd.explain.chain_rule import Gradients, Slope, has_no_scan, op_gradients, slopes
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Array
from ncd.site import markup
from ncd.site.forward_steps import drawn_ids

# --- Switches for ``requires_grad`` of parameters and inputs

FROZEN = Switches("frozen", longest=10_000)  # the names of tensors without a gradient
FEW_WEIGHTS = 8  # the greatest number of switches that are always visible


@dataclass(frozen=True)
class Leaf:
    """A parameter, or an input by the id of its array, with its name and highlight as HTML."""

    name: str
    title: str
    light: str


def leaves(scene: Scene) -> tuple[Leaf, ...]:
    """Returns all parameters and inputs that can have a gradient, the inputs first."""
    circuit, names = scene.circuit, input_names(scene.circuit)
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
    if len(every) <= FEW_WEIGHTS:
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


# --- The comparison of gradients with finite differences, a part of the Autograd panel

MAX_ENTRIES = 20  # the greatest number of entries that are changed one by one
TRIAL_LIMIT = 200_000_000  # the limit for the FLOPs of all trials together, and for the parameters
CORNER = (
    " They differ at a corner: where the largest numbers of a window are equal, as on the plain "
    "ground of a picture, or a ReLU stands at 0, there is no single slope; torch takes one side."
)


def check_sentence(scene: Scene, off: frozenset[str], names: Mapping[str, str]) -> str:
    """Returns a sentence about the comparison."""
    count = len(leaves(scene)) - len(off)
    if scene.cost.flops > TRIAL_LIMIT or scene.cost.parameters > TRIAL_LIMIT:
        return '<p class="muted">Finite differences would take too long at these sizes.</p>'
    together = 2 * count * scene.cost.flops > TRIAL_LIMIT or count > MAX_ENTRIES

    def tried() -> tuple[Slope, ...]:
        return slopes(scene.module, *scene.inputs, frozen=off, together=together)

    key = (*scene.run_key, off)
    found = cached_value("slopes", scene.term, *key, make=lambda: scene.run_in_pool(tried))
    return _lines(found, names)


def _lines(found: tuple[Slope, ...], names: Mapping[str, str]) -> str:
    sign = "✓" if all(found) else "✗"
    far = markup.digits(max(slope.difference for slope in found))
    one = len(found) == 1 and len(found[0].names) > 1
    what = "all of them together" if one else "each of them"
    rows = [_line(slope, "all" if one else names.get(slope.names[0], "")) for slope in found]
    return (
        f"<details><summary>{sign} The same by finite differences, but for {far}</summary>"
        f"<p>In 64 bits, {what} moved by 10⁻⁶ along a random direction, there and back: how fast "
        f"the end changes.{'' if all(found) else CORNER}</p>"
        f"{markup.table(('', 'as the gradient says', 'as tried'), rows, numbers=(1, 2))}</details>"
    )


def _line(slope: Slope, name: str) -> str:
    said = (f"{number:.8f}".replace("-", "−") for number in (slope.gradient, slope.numeric))
    cells = "".join(f'<td class="number">{number}</td>' for number in said)
    return f"<tr><td>{name}</td>{cells}</tr>"


# --- The backward pass step by step: the gradient that arrives at an op, its rule, and the results

STEP = Place("back")  # the number of the step, from 1; 0 before the first
MAX_TABLE_SIDE = 6  # the greatest number of rows and columns that are shown as a table

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
class BackwardStep:
    """A step of the backward walk: an op, or an output or input if ``cell`` is empty.

    ``array`` is the array whose gradient arrives, ``light`` the id that is selected with it.
    """

    array: str
    cell: str
    light: str
    fences: tuple[str, ...] = ()


def steps(scene: Scene, dag: Dag, gradients: Gradients) -> tuple[BackwardStep, ...]:
    """Returns the steps: the outputs, the ops in reverse order, then the inputs."""
    circuit, came = scene.circuit, gradients.arrays
    drawn = drawn_ids(circuit)

    def step(value: Value, cell: Cell | None = None) -> BackwardStep:
        maker = circuit.producers.get(value.id)  # a single number has no wire to highlight
        light = value.id if value.array or maker is None else maker.id
        return BackwardStep(
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


def place(every: tuple[BackwardStep, ...], selected: str) -> int:
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
    if light and st.session_state.get(selection.SELECTED_KEY) != light:
        selection.select(light)


def step_html(
    scene: Scene, dag: Dag, off: frozenset[str], leaves: tuple[Leaf, ...]
) -> tuple[str, str]:
    """Returns the HTML of the step, and the id of its op or array."""
    if not has_no_scan(scene.circuit):
        STEP.among(1)  # no step can be gone to: a link to one leads to the beginning
        return "", ""
    if not dag.edges:
        return NOTHING, ""
    found = gradients(scene, off)
    every = steps(scene, dag, found)
    at = place(every, scene.selected_id)
    if not at:
        return _begin(every), ""
    step = every[at - 1]
    told = BackwardStepWriter(scene, dag, found, leaves)
    html = f"{_turn(every, at)}{told.step(step)}{check_sentence(scene, off, told.names)}"
    return f'<section class="backward">{html}</section>', step.cell or step.array


def gradients(scene: Scene, off: frozenset[str]) -> Gradients:
    """Returns the gradient of every array and parameter; ``off`` names those without one."""

    def run() -> Gradients:
        return op_gradients(scene.module, *scene.inputs, frozen=off)

    key = (*scene.run_key, off)
    return cached_value("gradients", scene.term, *key, make=lambda: scene.run_in_pool(run))


def _begin(every: tuple[BackwardStep, ...]) -> str:
    return (
        f"<p>{STEP.button(f'1 {every[0].light}', 'Step through the backward pass')} "
        f'<span class="muted">{markup.plural(len(every), "step")}, from the end to the '
        "start.</span></p>"
    )


def _turn(every: tuple[BackwardStep, ...], at: int) -> str:
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


class BackwardStepWriter:
    """Writes the steps of the backward walk as HTML."""

    def __init__(self, scene: Scene, dag: Dag, found: Gradients, leaves: tuple[Leaf, ...]) -> None:
        self.scene, self.circuit, self.found = scene, scene.circuit, found
        self.names = {**array_names(self.circuit), **{leaf.name: leaf.title for leaf in leaves}}
        for id, name in input_names(self.circuit).items():
            self.names[self.circuit.consumers[id].outputs[0].id] = name
        self.uses = Counter(value.id for cell in self.circuit.cells for value in cell.inputs)
        self.functions: dict[str, list[str]] = {}
        for node in dag.nodes:
            if node.kind == "function":
                self.functions.setdefault(node.cell, []).append(node.label)

    def step(self, step: BackwardStep) -> str:
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
        named = f" <span class='muted'>{markup.text(cell.path)}</span>" if cell.module_path else ""
        head = f'<span data-node="{cell.id}">{markup.text(cell.op.display_name)}</span>{named}'
        card = self._card(head, cell.op.role, self._rules(cell), arrived, sent)
        return card + backward_diagram.gradient_html(self.scene, cell)

    def _rules(self, cell: Cell) -> str:
        """Returns torch's backward functions for an op, in the order in which they run."""
        labels = dict.fromkeys(reversed(self.functions.get(cell.id, [])))
        if labels:
            rows = (
                f"<div><dt><code>{markup.text(base_name(label))}</code></dt>"
                f"<dd>{markup.text(rule(label, cell.op.torch_backward_rules))}</dd></div>"
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
        small = grid.shape[0] <= MAX_TABLE_SIDE and grid.shape[1] <= MAX_TABLE_SIDE
        return (
            f'<figure{light}><figcaption>∇ {title}<br><span class="muted">{shape} · ‖∇‖ {length}'
            f"</span></figcaption>{_number_table(grid) if small else _picture(grid)}</figure>"
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


def _number_table(grid: heatmap.CellGrid) -> str:
    rows = "".join(
        f"<tr>{''.join(f'<td class=number>{markup.digits(float(x))}</td>' for x in row)}</tr>"
        for row in grid
    )
    return f"<table><tbody>{rows}</tbody></table>"


def _picture(grid: heatmap.CellGrid) -> str:
    pooled = heatmap.pool(grid, heatmap.SMALL)
    ends = ColourRange.from_numbers(grid, signed=True)
    address = heatmap.data_url(pooled.maps, ends, heatmap.scale(signed=True))
    told = f"from {markup.digits(ends.low)}, blue, to {markup.digits(ends.high)}, red"
    low = " class='low'" if len(grid) == 1 else ""
    return f'<img{low} alt="{told}" title="{told}" src="{address}">'
