"""What holds for every term: asked of a few in the tests, of thousands by ``tests.support.fuzz``.

Each property is a function of a term; it raises AssertionError where it does not hold, and
``Skipped`` where it says nothing of this term.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from xml.etree import ElementTree

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import ncd
from ncd.circuit.circuit import Circuit
from ncd.drawing.lint.lint import lint
from ncd.run.guard import peak
from ncd.run.run_memory import measured_peak
from tests.support.evaluator import evaluated
from tests.support.op_meanings import Undecided
from tests.support.written_source import written


class Skipped(Exception):
    """The property says nothing of this term."""


@lru_cache(maxsize=4)
def settled(term: ncd.Term) -> tuple[nn.Module, tuple[Tensor, ...]]:
    """The module in 64 bits, dropping nothing, with statistics of the batch; and inputs."""
    module = calm(ncd.compile(term, seed=1).double())
    inputs = tuple(x.double() if x.is_floating_point() else x for x in ncd.example_inputs(term))
    return module, inputs


def calm(module: nn.Module) -> nn.Module:
    """The module without its random parts."""
    for part in module.modules():
        if isinstance(part, nn.Dropout):
            part.eval()
    return module


def outputs_of(module: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    found = module(*inputs)
    return found if isinstance(found, tuple) else (found,)


def close(ours: object, theirs: object, what: str) -> None:
    """Equal to 64 bits' precision, relative to the largest number."""
    near = 1e-8 * largest(theirs)
    torch.testing.assert_close(
        ours, theirs, rtol=1e-6, atol=near, equal_nan=True, msg=lambda text: f"{what}: {text}"
    )


def largest(value: object) -> float:
    arrays = value if isinstance(value, tuple | list) else (value,)
    found = [float(x.detach()[x.isfinite()].abs().max()) for x in map(torch.as_tensor, arrays)
             if x.is_floating_point() and x.isfinite().any()]  # fmt: skip
    return max([1.0, *found])


def values(term: ncd.Term, *inputs: Tensor, seed: int = 0) -> tuple[Tensor, ...]:
    """In 64 bits, dropping nothing; on example inputs where none are given."""
    module, examples = settled(term)
    given = tuple(x.double() if x.is_floating_point() else x for x in inputs)
    return tuple(x.detach() for x in outputs_of(module, given or examples))


def same(one: tuple[Tensor, ...], two: tuple[Tensor, ...]) -> None:
    assert len(one) == len(two)
    for a, b in zip(one, two, strict=True):
        close(a, b.to(a.dtype), "one and the other")


# --- the properties ------------------------------------------------------------------------------


def text_and_json(term: ncd.Term) -> None:
    """Both give the same term back, with the same circuit."""
    for again in (eval(repr(term), vars(ncd)), ncd.from_json(ncd.to_json(term))):
        assert again == term
        assert hash(again) == hash(term)
        assert (repr(again), again.cod.spec) == (repr(term), term.cod.spec)
        assert ncd.elaborate(again) == ncd.elaborate(term)


def elaboration(term: ncd.Term) -> None:
    """Elaborating what was elaborated changes nothing; every size is known and as the type says."""
    circuit = ncd.elaborate(term)
    again = ncd.elaborate(circuit.term)
    assert (again.states, again.columns) == (circuit.states, circuit.columns)
    assert tuple(v.array for v in circuit.outputs) == tuple(circuit.term.cod)
    assert all(axis.size is not None for v in circuit.values.values() for axis in v.array)
    taken_after_made(circuit, {v.id for v in circuit.inputs})


def taken_after_made(circuit: Circuit, known: set[str]) -> None:
    for unit in circuit.units:
        assert {v.id for v in unit.inputs} <= known, unit.id
        if isinstance(unit, ncd.Loop):
            for body in unit.bodies:
                inner = {v.id for v in body.inputs} if unit.kind == "scan" else set()
                taken_after_made(body, known | inner)
                known |= {v.id for v in body.values.values()}
        known |= {v.id for v in unit.outputs}


def shapes(term: ncd.Term) -> None:
    """Every array of a run has the shape and the kind of its wire."""
    module, inputs = settled(term)
    run = ncd.trace(module, *inputs)
    circuit = ncd.elaborate(term)
    assert set(run.values) == set(circuit.values)
    for id, value in circuit.values.items():
        assert tuple(run.values[id].shape) == value.array.shape, id
        assert run.values[id].is_floating_point() == (value.array.below is None), id
    assert [tuple(x.shape) for x in run.outputs] == [array.shape for array in term.cod]
    for one, two in zip(run.outputs, outputs_of(module, inputs), strict=True):
        close(one, two, "traced and not")


def evaluator(term: ncd.Term) -> None:
    """The module gives what the term means."""
    module, inputs = settled(term)
    try:
        with np.errstate(all="ignore"):
            meant = evaluated(term, module, *(x.numpy() for x in inputs))
    except Undecided:
        raise Skipped from None
    ours = [x.detach() for x in outputs_of(module, inputs)]
    assert len(ours) == len(meant)
    for one, two in zip(ours, meant, strict=True):
        meaning = torch.from_numpy(np.asarray(two))
        if meaning.is_floating_point():  # in another order, ∞ − ∞ may be ∞
            one, meaning = (x.where(x.isfinite(), torch.nan) for x in (one, meaning))
        close(one, meaning, "the module and what is meant")


def source(term: ncd.Term) -> None:
    """The source gives what the module gives, values and gradients, in both spellings."""
    module, inputs = settled(term)
    for einops in (True, False):
        made = calm(written(term, einops=einops).double())
        made.load_state_dict(module.state_dict())
        ours, theirs = outputs_of(module, inputs), outputs_of(made, inputs)
        if not made.state_dict():  # constants of a class without numbers are of torch's default
            theirs = tuple(a.to(b.dtype) for a, b in zip(theirs, ours, strict=True))
        close(theirs, ours, f"source, einops={einops}")
        for one, two in zip(gradients(made, inputs, theirs), gradients(module, inputs, ours),
                            strict=True):  # fmt: skip
            close(one, two, f"a gradient of the source, einops={einops}")


def gradients(
    module: nn.Module, inputs: tuple[Tensor, ...], outputs: tuple[Tensor, ...]
) -> list[Tensor]:
    """Of every weight; zeros where nothing depends on it."""
    weights = [w for _, w in sorted(module.named_parameters())]
    reached = [x for x in outputs if x.requires_grad]
    if not weights or not reached:
        return []
    random = torch.Generator().manual_seed(0)
    total = sum((x * torch.randn(x.shape, generator=random)).sum() for x in reached)
    found = torch.autograd.grad(total, weights, allow_unused=True, retain_graph=True)
    pairs = zip(found, weights, strict=True)
    return [torch.zeros_like(w) if grad is None else grad for grad, w in pairs]


def drawing(term: ncd.Term) -> None:
    """The drawing has no lint, folded to be read and open; the SVG reads as XML."""
    drawn = ncd.draw(term)
    assert (found := lint(drawn, width=1280)) == [], found[0]
    opened = ncd.draw(term, folded=(), width=None)
    assert (found := lint(opened)) == [], found[0]
    ElementTree.fromstring(drawn.svg())


def cost(term: ncd.Term) -> None:
    """Parameters are the module's; FLOPs are what torch counts where no size is 1."""
    module, inputs = settled(term)
    stated = ncd.cost(term)
    assert stated.parameters == sum(p.numel() for p in module.parameters())
    cells = ncd.elaborate(term).cells
    if any(1 in axis.shape for cell in cells for axis in cell.site.axes_by_name.values()):
        raise Skipped
    plain = ncd.compile(term, seed=1).double().requires_grad_(False)
    with FlopCounterMode(display=False) as counted:
        ncd.trace(plain, *inputs)
    assert stated.flops == counted.get_total_flops()


def guard(term: ncd.Term) -> None:
    """What is stated before a run is what it takes, or up to a tenth more."""
    circuit, module = ncd.elaborate(term), ncd.compile(term)
    inputs = ncd.example_inputs(term)
    leaves = tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)
    for watched in (False, True):
        measured = measured_peak(module, leaves, watched=watched).backward
        stated = peak(circuit, watched=watched)
        assert measured <= stated, f"{measured} bytes taken, {stated} stated"
        assert stated <= 1.1 * measured, f"{stated} bytes stated, {measured} taken"


def batch(term: ncd.Term) -> None:
    """With a batch in front of every array, each of it is what it is alone."""
    module, inputs = settled(term)
    if not inputs:
        raise Skipped
    module = ncd.compile(term, seed=1).double().eval()
    other = [x.flip(0) if x.dim() else -x if x.is_floating_point() else x for x in inputs]
    together = outputs_of(module, tuple(map(torch.stack, zip(inputs, other, strict=True))))
    for i, alone in enumerate((inputs, tuple(other))):
        for one, two in zip(together, outputs_of(module, alone), strict=True):
            constant = one.shape == two.shape  # it depends on no input, so it has no batch
            close(one if constant else one[i], two, "in a batch and alone")


PROPERTIES: dict[str, Callable[[ncd.Term], None]] = {
    "text and JSON": text_and_json,
    "elaboration": elaboration,
    "shapes": shapes,
    "evaluator": evaluator,
    "source": source,
    "drawing": drawing,
    "cost": cost,
    "guard": guard,
    "batch": batch,
}
