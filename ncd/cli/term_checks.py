"""The checks of a term: each view of it, and their agreement.

``STATIC`` and ``RUNNING`` are the hand-written lists; the latter run the term, and ``SAMPLED`` are
for samples of ops. A check returns nothing if all is well, and otherwise a sentence; anything it
raises is a failure too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args
from xml.etree import ElementTree

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from ncd.code import source as write
from ncd.costs import cost as count
from ncd.drawing import Labels, draw, drawn_cells
from ncd.drawing.lint import lint
from ncd.graph import LEVELS
from ncd.graph import autograd as graph
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, State
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.once import once
from ncd.lang.terms.blocks import Equation
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.run import CircuitModule, Trace, compile, example_inputs, prove, trace
from ncd.serial import from_json, to_json

LABELS: tuple[Labels, ...] = get_args(Labels)


@dataclass
class Case:
    """A term with its module, inputs and trace, each made when a check first needs it."""

    term: Term
    seed: int = 0
    device: str = "cpu"
    look: Mapping[str, Any] = field(default_factory=dict)  # how it is drawn
    entry: Entry | None = None

    @once
    def circuit(self) -> Circuit:
        return elaborate(self.term)

    @once
    def module(self) -> CircuitModule:
        return compile(self.term, seed=self.seed, device=self.device)

    @once
    def inputs(self) -> tuple[Tensor, ...]:
        made = example_inputs(self.term, seed=self.seed, device=self.device)
        return tuple(x.requires_grad_() if x.is_floating_point() else x for x in made)

    @once
    def trace(self) -> Trace:
        return trace(self.module, *self.inputs)


# --- the views -----------------------------------------------------------------------------------


def types(case: Case) -> str | None:
    """Checks that the outputs match the codomain and every axis has a size."""
    out = tuple(value.array for value in case.circuit.outputs)
    if out != tuple(case.term.cod):
        return f"the circuit gives ({out}), the term ({case.term.cod})"
    bare = [a.name for v in case.circuit.values.values() for a in v.array if a.size is None]
    return f"axes without a size: {', '.join(bare)}" if bare else None


def text(case: Case) -> str | None:
    """Checks that the repr is a Python expression; the tests evaluate it."""
    ast.parse(repr(case.term), mode="eval")
    return None


def json(case: Case) -> str | None:
    """Checks that JSON gives the same term back."""
    again = from_json(to_json(case.term))
    same = again == case.term and hash(again) == hash(case.term)
    return None if same else "the term that comes back differs"


def circuit(case: Case) -> str | None:
    """Checks that each cell takes values made before it, and that ids are unique."""
    known = {value.id for value in case.circuit.inputs}
    if found := next(_disorder(case.circuit, known), None):
        return found
    ids = [cell.id for cell in case.circuit.cells]
    return None if len(ids) == len(set(ids)) else "two cells have one id"


def _disorder(circuit: Circuit, known: set[str]) -> Iterator[str]:
    """Yields values that are taken before they are made, or made twice."""
    for unit in circuit.units:
        if lost := _ids(unit.inputs) - known:
            yield f"{unit.id} takes {', '.join(sorted(lost))} before they are made"
        if isinstance(unit, Loop):
            for body in unit.bodies:
                known |= _ids(body.inputs) if unit.kind == "scan" else set()
                yield from _disorder(body, known)
        elif again := _ids(unit.outputs) & known:
            yield f"{unit.id} makes {', '.join(sorted(again))} again"
        known |= _ids(unit.outputs)


def _ids(state: State) -> set[str]:
    return {value.id for value in state}


def drawing(case: Case) -> str | None:
    """Checks that the lint finds nothing, and that the SVG contains every drawn op."""
    for labels in LABELS:
        drawn = draw(case.term, labels=labels, **case.look)
        if found := lint(drawn):
            return f"labels {labels}: {'; '.join(found)}"
        svg = drawn.svg()
        nodes = {e.get("data-node") for e in ElementTree.fromstring(svg).iter()}
        nodes |= {id for glyph in drawn.glyphs for id in glyph.cells}
        lost = [cell.id for cell in drawn_cells(case.circuit) if cell.id not in nodes]
        if lost:
            return f"labels {labels}: {', '.join(lost)} not in the SVG"
    return None


def source(case: Case) -> str | None:
    """Checks that the source is Python, with and without einops; the tests run it."""
    for einops in (True, False):
        text = write(case.term, einops=einops)
        ast.parse(text)
        if not einops and "einops" in text:
            return "the source that stands on torch alone speaks of einops"
    return None


def cost(case: Case) -> str | None:
    """Checks that parameters, and FLOPs where no size is 1, are exactly what torch counts.

    Torch counts nothing for a sum over one position.
    """
    stated = count(case.term)
    has = sum(p.numel() for p in case.module.parameters())
    if stated.parameters != has:
        return f"{stated.parameters} parameters stated, the module has {has}"
    if any(1 in axis.shape for cell in case.circuit.cells for axis in cell.site.every.values()):
        return None
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        trace(case.module, *(x.detach() for x in case.inputs))  # its hooks fail on leaves
    flops = counted.get_total_flops()
    return None if stated.flops == flops else f"{stated.flops} flops stated, torch counts {flops}"


def forward(case: Case) -> str | None:
    """Checks that every value has its array's shape, and is finite where it should be."""
    cells = case.circuit.cells
    masked = {v.id for c in cells if c.op.role == "mask" for v in c.outputs}
    masked |= {v.id for c in cells if c.op.role in ("mask", "softmax") for v in c.inputs}
    for id, value in case.circuit.values.items():
        tensor = case.trace.values[id]
        if tuple(tensor.shape) != value.array.shape:
            return f"{id} has shape {tuple(tensor.shape)}, its array {value.array.shape}"
        if tensor.is_floating_point() != (value.array.below is None):
            return f"{id} is of type {tensor.dtype}, its array holds {value.array.kind}"
        finite = not tensor.isnan().any() if id in masked else tensor.isfinite().all()
        if not finite:
            return f"{id} is not finite"
    return None


def backward(case: Case) -> str | None:
    """Checks that every real input and every weight gets a finite gradient."""
    reached = [x.square().mean() for x in case.trace.outputs if x.requires_grad]
    named = {f"input {i}": x for i, x in enumerate(case.inputs) if x.requires_grad}
    named |= dict(case.module.named_parameters())
    if not named:
        return None
    if not reached:
        return "no output has a gradient"
    total = torch.stack(reached).sum()
    grads = torch.autograd.grad(total, list(named.values()), retain_graph=True, allow_unused=True)
    for name, grad in zip(named, grads, strict=True):
        if grad is None:
            return f"{name} has no gradient"
        if not grad.isfinite().all():
            return f"{name}: its gradient is not finite"
    return None


def attention(case: Case) -> str | None:
    """Checks that the weights of every softmax sum to 1."""
    for cell in case.circuit.cells:
        if cell.op.role == "softmax" and not _sums_to_one(cell, case.trace):
            return f"{cell.id}: the weights sum to something else than 1"
    return None


def _sums_to_one(cell: Cell, run: Trace) -> bool:
    array, (axis, *_) = cell.outputs[0].array, cell.site.cod[0].names
    sums = run.values[cell.outputs[0].id].sum(array.position(axis))
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def equation(case: Case) -> str | None:
    """Checks that the sides of an equation give equal results."""
    if not isinstance(case.term, Equation):
        return None
    found = prove(case.term, case.seed)
    return None if found else f"its sides are {found.difference:.3g} apart"


def autograd(case: Case) -> str | None:
    """Checks that the graph has nodes and edges at every level, and that edges join its nodes."""
    if not any(x.requires_grad for x in case.trace.outputs):
        return None
    dag = graph(case.module, *case.inputs)
    for level in LEVELS:
        shown = dag.at(level)
        if not shown.nodes or not shown.edges:
            return f"level {level}: the graph is empty"
        ids = {node.id for node in shown.nodes}
        if any({edge.source, edge.target} - ids for edge in shown.edges):
            return f"level {level}: an edge ends at no node"
        if not dag.dot(level=level).strip().endswith("}"):
            return f"level {level} gives no dot text"
    return None


def texts(case: Case) -> str | None:
    """Every op describes itself in words, and by a formula in LaTeX."""
    for cell in case.circuit.cells:
        latex = cell.op.formula(cell.site)
        if not cell.words or not latex or latex.count("{") != latex.count("}"):
            return f"{cell.op.label} has the words {cell.words!r} and the formula {latex!r}"
    return None


View = Callable[[Case], str | None]
STATIC: tuple[View, ...] = (types, text, json, circuit, drawing, source)
RUNNING: tuple[View, ...] = (cost, forward, backward, attention, equation, autograd)
SAMPLED: tuple[View, ...] = (texts, cost, autograd)
