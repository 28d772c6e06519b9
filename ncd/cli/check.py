"""The command `check`: every system and op through every view.

``STATIC`` and ``RUNNING`` are the hand-written lists; the latter run the term, and ``SAMPLE_VIEWS``
are for samples of ops. A check returns nothing if all is well, and otherwise a sentence; anything
it raises is a failure too.

At a setting that the guard refuses to run, a system goes through the views that need no run. In a
checkout, the tests of systems and ops that are named run as well.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import Any, NamedTuple, get_args
from xml.etree import ElementTree

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from ncd.circuit.circuit import Boundary, Cell, Circuit, Loop, ScanLoop
from ncd.circuit.costs import cost as count
from ncd.circuit.elaborate import elaborate
from ncd.drawing.lint.lint import lint
from ncd.drawing.pipeline import draw, drawn_cells
from ncd.errors import LimitError
from ncd.explain.autograd_dag import LEVELS
from ncd.explain.autograd_dag import autograd as graph
from ncd.explain.equation_proof import prove
from ncd.installation import ROOT, package_path
from ncd.language.arguments import Labels
from ncd.language.axes import Type
from ncd.language.blocks import Equation
from ncd.language.cached_property import lazy_property
from ncd.language.op import Op, Sample
from ncd.language.terms import Id, Term, Then
from ncd.run.guard import check_run as guard
from ncd.run.guard import compile
from ncd.run.module import CircuitModule, Trace, trace
from ncd.run.seeding import example_inputs
from ncd.site import entry_page
from ncd.systems.catalogue_entry import Entry
from ncd.write.term_json import from_json, to_json
from ncd.write.torch_source.source_file import source as write

# --- The checks of a term: each view of it, and their agreement

LABELS: tuple[Labels, ...] = get_args(Labels)


@dataclass
class Case:
    """A term with its module, inputs and trace, each made when a check first needs it."""

    term: Term
    seed: int = 0
    device: str = "cpu"
    look: Mapping[str, Any] = field(default_factory=dict)  # how it is drawn
    entry: Entry | None = None

    @lazy_property
    def circuit(self) -> Circuit:
        return elaborate(self.term)

    @lazy_property
    def module(self) -> CircuitModule:
        return compile(self.term, seed=self.seed, device=self.device)

    @lazy_property
    def inputs(self) -> tuple[Tensor, ...]:
        made = example_inputs(self.term, seed=self.seed, device=self.device)
        return tuple(x.requires_grad_() if x.is_floating_point() else x for x in made)

    @lazy_property
    def trace(self) -> Trace:
        return trace(self.module, *self.inputs)


# --- the views -----------------------------------------------------------------------------------


def types(case: Case) -> str | None:
    """Checks that the outputs match the codomain and every axis has a size."""
    out = Type(value.array for value in case.circuit.outputs)
    if out != case.term.cod:
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
                known |= _ids(body.inputs) if isinstance(unit, ScanLoop) else set()
                yield from _disorder(body, known)
        elif again := _ids(unit.outputs) & known:
            yield f"{unit.id} makes {', '.join(sorted(again))} again"
        known |= _ids(unit.outputs)


def _ids(state: Boundary) -> set[str]:
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
    if any(
        1 in axis.shape for cell in case.circuit.cells for axis in cell.site.axes_by_name.values()
    ):
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
    array, (axis, *_) = cell.outputs[0].array, cell.site.own_outputs[0].names
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
        shown = dag.at_level(level)
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
        latex = cell.op.latex(cell.site)
        if not cell.description or not latex or latex.count("{") != latex.count("}"):
            words = f"the words {cell.description!r} and the formula {latex!r}"
            return f"{cell.op.display_name} has {words}"
    return None


View = Callable[[Case], str | None]
STATIC: tuple[View, ...] = (types, text, json, circuit, drawing, source)
RUNNING: tuple[View, ...] = (cost, forward, backward, attention, equation, autograd)
SAMPLE_VIEWS: tuple[View, ...] = (texts, cost, autograd)


# --- The checks of a system's entry: its knobs, its page, and its picture in ``assets/diagrams``

LONGEST = 60  # lines of a page
PARTS = ("LEAD", "WHY", "render_page")  # the names in a page's file
UNCOMPARED_PARTS = (
    re.compile(  # the compression of fonts differs by version, and the term is not drawn
        r"<style>.*?</style>|<metadata>.*?</metadata>", re.S
    )
)


def knobs(case: Case) -> str | None:
    """A knob that adds ops, such as the number of layers, has a largest value."""
    entry = _entry(case)
    for knob in entry.knobs:
        if knob.is_size and knob.most is None and not knob.below:
            two = knob.min, knob.legal(knob.min + knob.step)
            ends = (entry.with_clamped_indexes({**entry.settings({}), knob.name: n}) for n in two)
            few, many = (len(elaborate(entry.build(**end)).cells) for end in ends)
            if many > few:
                return f"knob {knob.name} adds ops, but has no largest value: say most=48 in it"
    return None


def page(case: Case) -> str | None:
    """The system has a page, which is short, introduces it, and shows it."""
    entry = _entry(case)
    file = entry_page.file(entry)
    if not package_path(file).is_file():
        return f"there is no file {file}"
    text = package_path(file).read_text(encoding="utf-8")
    lines = len(text.splitlines())
    if lines > LONGEST:
        return f"{file} has {lines} lines, at most {LONGEST} can be"
    lacks = [name for name in PARTS if not re.search(rf"^{name}\b", text, re.M)]
    if lacks:
        return f"{file} lacks {', '.join(lacks)}"
    shows = f'catalogue["{entry.name}"]'
    return None if shows in text else f"{file} does not show {shows}"


def picture(case: Case) -> str | None:
    """The picture in ``assets/diagrams`` is the drawing at the defaults of the knobs."""
    entry = _entry(case)
    file = f"assets/diagrams/{entry.name}.svg"
    path = package_path(file)
    stored = path.read_text(encoding="utf-8") if path.is_file() else ""
    fresh = draw(case.term, **case.look).svg()
    if UNCOMPARED_PARTS.sub("", stored).strip() == UNCOMPARED_PARTS.sub("", fresh).strip():
        return None
    what = "is not its drawing" if stored else "is missing"
    return f"{file} {what}: write it with python -m ncd render {entry.name} -o {file}"


def _entry(case: Case) -> Entry:
    if case.entry is None:
        raise ValueError("the case is not of a system of the catalogue")
    return case.entry


STORED_VIEWS: tuple[View, ...] = (knobs, page, picture)


# --- The command ``check``: systems at every knob's ends and samples of ops, through every view

ProgressCallback = Callable[[int, int, str], None]


def extreme_settings(entry: Entry) -> Iterator[dict[str, int]]:
    """Yields the defaults, each knob alone at its ends, all at their ends, and the presets."""
    default = entry.settings({})
    last = {knob.name: knob.nearest(knob.max) for knob in entry.knobs}
    every = [default]
    for knob in entry.knobs:
        every += [{**default, knob.name: end} for end in (knob.min, last[knob.name])]
    every += [{knob.name: knob.min for knob in entry.knobs}, last]
    every += [entry.settings(preset.knobs) for preset in entry.presets]
    fitting = (tuple(entry.with_clamped_indexes(knobs).items()) for knobs in every)
    yield from (dict(pairs) for pairs in dict.fromkeys(fitting))


@dataclass
class Report:
    """The result of a check: numbers of what was checked, refusals and failures."""

    systems: int = 0
    ops: int = 0
    settings: int = 0
    views: int = 0
    tests: int = 0
    refused: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        return (
            f"{self.systems} systems, {self.ops} ops, {self.settings} settings, {self.views} "
            f"views, {self.tests} tests: {len(self.refused)} settings refused by the guard, "
            f"{len(self.failures)} failures"
        )


class CheckedTerm(NamedTuple):
    """One term to check: its name, its place in a message, the case, and its views."""

    name: str
    where: str
    make: Callable[[], Case]
    static: Sequence[View]
    running: Sequence[View] = ()


def check(
    entries: Sequence[Entry] = (),
    ops: Sequence[type[Op]] = (),
    *,
    pinned: Mapping[str, int] | None = None,
    fast: bool = False,
    tested: bool = False,
    seed: int = 0,
    device: str = "cpu",
    progress: ProgressCallback = lambda done, total, what: None,
) -> Report:
    """Takes systems and ops through every view.

    Args:
        entries: The systems.
        ops: The ops, each at its samples.
        pinned: The knobs of the only setting that is checked, if it is given.
        fast: Whether each system is checked at its defaults only.
        tested: Whether the tests of these systems and ops run too, in a checkout.
        seed: The seed of weights and inputs.
        device: The device of the runs.
        progress: Called with the number of checked terms, that of all, and a name.
    """
    report = Report(systems=len(entries), ops=len(ops))
    work = [item for op in ops for item in _samples(op, seed, device)]
    for entry in entries:
        every = [entry.settings(pinned)] if pinned else extreme_settings(entry)
        work += _settings(entry, [entry.settings({})] if fast else every, seed, device)
    for done, item in enumerate(work):
        progress(done, len(work), item.name)
        _check(item, report)
    progress(len(work), len(work), "")
    if tested:
        names = (*(entry.name for entry in entries), *(op.__name__ for op in ops))
        report.tests, failed = run_project_tests(names, progress)
        report.failures += failed
    return report


def _settings(
    entry: Entry, every: Iterable[dict[str, int]], seed: int, device: str
) -> Iterator[CheckedTerm]:
    def make(knobs: dict[str, int]) -> Case:
        return Case(entry.build(**knobs), seed, device, entry.look(knobs), entry)

    for knobs in every:
        where = f"{entry.name} at {', '.join(f'{k} = {v}' for k, v in knobs.items())}"
        stored = STORED_VIEWS if knobs == entry.settings({}) else ()
        yield CheckedTerm(entry.name, where, partial(make, knobs), (*STATIC, *stored), RUNNING)


def _samples(op: type[Op], seed: int, device: str) -> Iterator[CheckedTerm]:
    def make(sample: Sample) -> Case:
        return Case(Then(Id(Type.parse(sample.dom)), sample.op), seed, device)

    for sample in op.examples():
        where, views = f"{sample.op!r} on ({sample.dom})", (*STATIC, *SAMPLE_VIEWS)
        yield CheckedTerm(op.__name__, where, partial(make, sample), views)


def _check(item: CheckedTerm, report: Report) -> None:
    report.settings += 1
    try:
        case = item.make()
        refused = _refusal_reason(case)
    except Exception as error:
        report.failures.append(f"{item.where}: build: {_words(error)}")
        return
    if refused:
        report.refused.append(f"{item.where}: {refused}")
    for view in item.static if refused else (*item.static, *item.running):
        report.views += 1
        try:
            fault = view(case)
        except Exception as error:  # is reported, and the other checks still run
            fault = _words(error)
        if fault:
            report.failures.append(f"{item.where}: {view.__name__}: {fault}")


def _refusal_reason(case: Case) -> str:
    """Returns the guard's reason not to run a case; empty if it may run."""
    try:
        guard(case.circuit)
    except LimitError as error:
        return str(error)
    return ""


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")


# --- The project's tests of some systems and ops, run by pytest in a checkout

PROGRESS_PERCENT = re.compile(r"\[ *(\d+)%\]")
COUNT = re.compile(r"(\d+) (?:passed|failed|error)")


def run_project_tests(
    names: Sequence[str], progress: Callable[[int, int, str], None]
) -> tuple[int, list[str]]:
    """Returns the number of the tests that name one of these, and a line for each that failed.

    There are none in an installation without the tests or without pytest.
    """
    if not (ROOT / "tests" / "conftest.py").is_file() or find_spec("pytest") is None:
        return 0, []
    options = ["-q", "--tb=no", "-m", "not browser", *(f"--of={name}" for name in names)]
    command = [sys.executable, "-m", "pytest", *options, "tests"]
    count, failed, last = 0, [], ""
    progress(0, 100, "tests")
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            if found := PROGRESS_PERCENT.search(line):
                progress(int(found[1]), 100, "tests")
            failed += [line.strip()] if line.startswith(("FAILED", "ERROR")) else []
            count, last = sum(map(int, COUNT.findall(line))), line.strip() or last
    progress(100, 100, "")
    if process.returncode not in (0, 5) and not failed:
        failed.append(f"the tests did not run: {last}")
    return count, failed
