"""A check of gradients by finite differences."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor

from ncd.graph.chain_rule import cotangents
from ncd.graph.module_copy import isolated_copy
from ncd.run.base.seeding import generator
from ncd.run.execution.module import CircuitModule

NUDGE = 1e-6


class Slope(NamedTuple):
    """The directional derivative of the output: by the gradient, and by finite differences."""

    names: tuple[str, ...]
    gradient: float
    tried: float

    @property
    def apart(self) -> float:
        """The difference between the two."""
        return abs(self.gradient - self.tried)

    def __bool__(self) -> bool:
        """Whether they agree within the error of a finite step."""
        return self.apart <= 1e-5 * max(1.0, abs(self.gradient))


def slopes(
    module: CircuitModule,
    *inputs: Tensor,
    seed: int = 0,
    frozen: Collection[str] = (),
    together: bool = False,
) -> tuple[Slope, ...]:
    """Compares gradients with finite differences, (f(a + hd) − f(a − hd)) / 2h, in 64 bits.

    For each parameter and input a, d is a random direction of length 1 and h = 10⁻⁶. f is the sum
    of the outputs weighted by the gradients that the backward pass starts from. With ``together``
    all parameters and inputs move at once, which takes two runs in all.

    >>> import ncd
    >>> term = ncd.catalogue["autograd"].build()
    >>> found = slopes(ncd.compile(term), *ncd.example_inputs(term))
    >>> [slope.names for slope in found], all(found)
    ([('w',), ('v0',), ('v1',)], True)

    Raises MismatchError for inputs that do not fit.
    """
    trial = _Trial(module, inputs, seed, frozen)
    names = tuple(trial.leaves)
    groups = [names] if together and names else [(name,) for name in names]
    return tuple(map(trial.slope, groups))


class _Trial:
    """A copy of the module in 64 bits, whose numbers may be moved."""

    def __init__(
        self,
        module: CircuitModule,
        inputs: tuple[Tensor, ...],
        seed: int,
        frozen: Collection[str],
    ) -> None:
        own = copy.deepcopy(module).to("cpu", torch.float64)
        self.module = isolated_copy(own, frozen)
        moved = [x.detach().cpu().clone() for x in inputs]
        self.inputs = tuple(x.double() if x.is_floating_point() else x for x in moved)
        ids = [value.id for value in module.circuit.inputs]
        given = zip(ids, self.inputs, strict=False)
        reals = {id: x for id, x in given if x.is_floating_point() and id not in frozen}
        self.leaves = {n: p for n, p in self.module.named_parameters() if p.requires_grad} | reals
        for x in self.leaves.values():
            x.requires_grad_()
        self.random = generator(seed, "direction")
        with torch.enable_grad():
            outputs = self.run()
            self.starts = cotangents([y.detach() for y in outputs], seed)
            self.gradients = self._gradients(outputs)

    def run(self) -> tuple[Tensor, ...]:
        """Returns the outputs at the current numbers, and leaves the module unchanged."""
        return isolated_copy(self.module).execute(self.inputs)

    def _gradients(self, outputs: tuple[Tensor, ...]) -> dict[str, Tensor | None]:
        ends = [(y, g) for y, g in zip(outputs, self.starts, strict=True) if y.requires_grad]
        if not ends:
            return dict.fromkeys(self.leaves)
        ys, gs = zip(*ends, strict=True)
        found = torch.autograd.grad(ys, [*self.leaves.values()], gs, allow_unused=True)
        return dict(zip(self.leaves, found, strict=True))

    def slope(self, names: tuple[str, ...]) -> Slope:
        ways = [torch.randn(self.leaves[n].shape, generator=self.random).double() for n in names]
        length = torch.stack([way.norm() for way in ways]).norm()
        ways = [way / length for way in ways]
        grads = [self.gradients[name] for name in names]
        stated = sum(
            float((g * way).sum()) for g, way in zip(grads, ways, strict=True) if g is not None
        )
        with torch.no_grad():
            ahead = self._moved(names, ways, NUDGE)
            behind = self._moved(names, ways, -NUDGE)
        return Slope(names, stated, (ahead - behind) / (2 * NUDGE))

    def _moved(self, names: tuple[str, ...], ways: list[Tensor], far: float) -> float:
        """Returns f after a step along some directions."""
        kept = [self.leaves[name].clone() for name in names]
        for name, way in zip(names, ways, strict=True):
            self.leaves[name].add_(far * way)
        outputs = self.run()  # used before the numbers move back: they may be views
        value = sum(float((y * g).sum()) for y, g in zip(outputs, self.starts, strict=True))
        for name, x in zip(names, kept, strict=True):
            self.leaves[name].copy_(x)
        return value
