"""The command ``check``: every catalogue entry, through every view, at every knob's ends.

``VIEWS`` is the hand-written list of what is demanded of a term. A view returns nothing when all is
well, and says in words what is not; whatever it raises is a failure too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from xml.etree import ElementTree

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.circuit import Circuit, elaborate
from ncd.draw import Labels
from ncd.errors import LimitError
from ncd.models import Entry
from ncd.ops import Softmax
from ncd.run import CircuitModule, Trace, compile, example_inputs, trace
from ncd.run import check as guard
from ncd.terms import Term

LABELS: tuple[Labels, ...] = ("names", "sizes", "both")


@dataclass
class Case:
    """A term with what it is run with; made when a view first asks, and shared by the next."""

    term: Term
    seed: int = 0
    device: str = "cpu"

    @cached_property
    def circuit(self) -> Circuit:
        return elaborate(self.term)

    @cached_property
    def module(self) -> CircuitModule:
        return compile(self.term, seed=self.seed, device=self.device)

    @cached_property
    def inputs(self) -> tuple[Tensor, ...]:
        made = example_inputs(self.term, seed=self.seed, device=self.device)
        return tuple(x.requires_grad_() for x in made)

    @cached_property
    def trace(self) -> Trace:
        return trace(self.module, *self.inputs)


# --- the views -----------------------------------------------------------------------------------


def types(case: Case) -> str | None:
    """The codomain is what the last state holds, and every axis has a size."""
    out = tuple(value.array for value in case.circuit.outputs)
    if out != tuple(case.term.cod):
        return f"the circuit gives ({out}), the term ({case.term.cod})"
    bare = [a.name for v in case.circuit.values.values() for a in v.array if a.size is None]
    return f"axes without a size: {', '.join(bare)}" if bare else None


def text(case: Case) -> str | None:
    """The repr is an expression; the tests evaluate it."""
    ast.parse(repr(case.term), mode="eval")
    return None


def json(case: Case) -> str | None:
    """JSON gives the same term back."""
    again = ncd.from_json(ncd.to_json(case.term))
    same = again == case.term and hash(again) == hash(case.term)
    return None if same else "the term that comes back differs"


def circuit(case: Case) -> str | None:
    """Each cell takes values that were made before it, and every id is used once."""
    known = {value.id for value in case.circuit.inputs}
    for cell in case.circuit.cells:
        missing = [value.id for value in cell.inputs if value.id not in known]
        made = [value.id for value in cell.outputs]
        if missing or known & set(made):
            return f"{cell.id} takes {missing} before they are made, or makes one of {made} again"
        known.update(made)
    ids = [cell.id for cell in case.circuit.cells]
    return None if len(ids) == len(set(ids)) else "two cells have one id"


def drawing(case: Case) -> str | None:
    """The lint finds nothing, and the SVG is well-formed, with every value and every op in it."""
    from ncd.draw import draw
    from ncd.draw.lint import lint

    for labels in LABELS:
        drawn = draw(case.term, labels=labels)
        if found := lint(drawn):
            return f"labels {labels}: {'; '.join(found)}"
        svg = drawn.svg()
        nodes = {e.get("data-node") for e in ElementTree.fromstring(svg).iter()}
        lost = [cell.id for cell in case.circuit.cells if cell.id not in nodes]
        if lost:
            return f"labels {labels}: {', '.join(lost)} not in the SVG"
    return None


def source(case: Case) -> str | None:
    """The source is Python; the tests run it."""
    from ncd.source import source as write

    ast.parse(write(case.term))
    return None


def cost(case: Case) -> str | None:
    """Parameters and FLOPs are exactly what torch counts."""
    stated = ncd.cost(case.term)
    with torch.no_grad(), FlopCounterMode(display=False) as counted:
        case.module(*case.inputs)
    has = sum(p.numel() for p in case.module.parameters())
    if stated.parameters != has:
        return f"{stated.parameters} parameters stated, the module has {has}"
    flops = counted.get_total_flops()
    return None if stated.flops == flops else f"{stated.flops} flops stated, torch counts {flops}"


def forward(case: Case) -> str | None:
    """Every value of the trace has its array's shape, and is finite where it should be."""
    masked = {v.id for c in case.circuit.cells if c.op.role == "mask" for v in c.outputs}
    for id, value in case.circuit.values.items():
        tensor = case.trace.values[id]
        if tuple(tensor.shape) != value.array.shape:
            return f"{id} has shape {tuple(tensor.shape)}, its array {value.array.shape}"
        finite = not tensor.isnan().any() if id in masked else tensor.isfinite().all()
        if not finite:
            return f"{id} is not finite"
    return None


def backward(case: Case) -> str | None:
    """Every input and every weight gets a finite gradient."""
    total = torch.stack([x.square().mean() for x in case.trace.outputs]).sum()
    named = {f"input {i}": x for i, x in enumerate(case.inputs)}
    named |= dict(case.module.named_parameters())
    grads = torch.autograd.grad(total, list(named.values()), retain_graph=True, allow_unused=True)
    for name, grad in zip(named, grads, strict=True):
        if grad is None or not grad.isfinite().all():
            return (
                f"{name} has no gradient" if grad is None else f"{name}: its gradient is not finite"
            )
    return None


def attention(case: Case) -> str | None:
    """Weights that come out of a softmax sum to 1."""
    for cell in case.circuit.cells:
        if isinstance(cell.op, Softmax):
            dims = cell.outputs[0].array.dims(cell.op.axis[0].name)
            sums = case.trace.values[cell.outputs[0].id].sum(dims)
            if not torch.allclose(sums, torch.ones_like(sums), atol=1e-5):
                return f"{cell.id}: the weights sum to something else than 1"
    return None


def autograd(case: Case) -> str | None:
    """The graph has nodes and edges at every level, and each edge joins two of its nodes."""
    from ncd.autograd import autograd as graph

    dag = graph(case.module, *case.inputs)
    if not dag.nodes or not dag.edges:
        return "the graph is empty"
    for level in ("block", "op", "every function"):
        if not dag.dot(level=level).strip().endswith("}"):
            return f"level {level} gives no dot text"
    return None


VIEWS: tuple[Callable[[Case], str | None], ...] = (
    types,
    text,
    json,
    circuit,
    drawing,
    source,
    cost,
    forward,
    backward,
    attention,
    autograd,
)


# --- the settings, and the walk over them --------------------------------------------------------


def settings(entry: Entry) -> Iterator[dict[str, int]]:
    """The defaults; each knob at its ends, the others at their defaults; all at their ends."""
    default = entry.settings({})
    last = {knob.name: knob.nearest(knob.max) for knob in entry.knobs}
    every = [default]
    for knob in entry.knobs:
        every += [{**default, knob.name: end} for end in (knob.min, last[knob.name])]
    every += [{knob.name: knob.min for knob in entry.knobs}, last]
    yield from (dict(pairs) for pairs in dict.fromkeys(tuple(s.items()) for s in every))


@dataclass
class Report:
    """What was checked: how many settings and views, what was refused, and what fails."""

    entries: int = 0
    settings: int = 0
    views: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        return (
            f"{self.entries} entries, {self.settings} settings, {self.views} views: "
            f"{len(self.refused)} settings refused by the guard, {len(self.failures)} failures"
        )


def check(
    entries: Iterable[Entry],
    *,
    pinned: Mapping[str, int] | None = None,
    seed: int = 0,
    device: str = "cpu",
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> Report:
    """Takes entries through every view; with ``pinned`` knobs, at that one setting only."""
    report = Report()
    work = [
        (entry, knobs)
        for entry in entries
        for knobs in ([entry.settings(pinned)] if pinned else settings(entry))
    ]
    report.entries = len({entry.name for entry, _ in work})
    for done, (entry, knobs) in enumerate(work):
        progress(done, len(work), entry.name)
        _one(entry, knobs, seed, device, report)
    progress(len(work), len(work), "")
    return report


def _one(entry: Entry, knobs: dict[str, int], seed: int, device: str, report: Report) -> None:
    report.settings += 1
    where = f"{entry.name} at {', '.join(f'{k} = {v}' for k, v in knobs.items())}"
    try:
        case = Case(entry.build(**knobs), seed, device)
        guard(case.circuit)
    except LimitError as error:
        report.refused.append(f"{where}: {error}")
        return
    except Exception as error:
        report.failures.append(f"{where}: build: {_words(error)}")
        return
    for view in VIEWS:
        report.views += 1
        try:
            fault = view(case)
        except Exception as error:  # whatever it is, it is on the list, and the rest goes on
            fault = _words(error)
        if fault:
            report.failures.append(f"{where}: {view.__name__}: {fault}")


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")
