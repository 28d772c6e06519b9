"""Dependences in a system, found by runs in which one place is changed or one op is cut.

Weights and inputs are random, in float64. A weight that begins with equal numbers, such as a gate
that begins at 0, is drawn like the others: what is found holds once it has learned.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import cost_of
from ncd.errors import LimitError
from ncd.language.axes import Array, Axis
from ncd.language.cached_property import lazy_property
from ncd.run.guard import compile
from ncd.run.module import CircuitModule
from ncd.run.seeding import SeededDropout, example_inputs, generator

MAX_FLOPS, MAX_NUMBERS = 300_000_000, 3_000_000  # of one run, and of its weights: seconds at most
DRAWS = 3  # of what is put in a place: a maximum may not see the first
STRENGTH = 4.0  # of what is put there, beside numbers of about 1
TOLERANCE = 1e-9

# --- Runs with an array changed, and with arrays cut to zeros


@dataclass(frozen=True)
class DependenceProbe:
    """A system that is run again and again, with the arrays of some ids cut to zeros.

    >>> from ncd import catalogue, elaborate
    >>> circuit = elaborate(catalogue["scaled-dot-product-attention"].build(y=4, x=5))
    >>> queries, keys, values = (value.id for value in circuit.inputs)
    >>> (out,) = (value.id for value in circuit.outputs)
    >>> DependenceProbe(circuit).reach((queries, "y"), (out, "y"))[1]
    [False, True, False, False]
    >>> [DependenceProbe(circuit, cut=ids).depends(out, keys) for ids in ((), (values,))]
    [True, False]
    """

    circuit: Circuit
    training: bool = False
    cut: Collection[str] = ()

    @lazy_property
    def module(self) -> CircuitModule:
        """The system's module; raises LimitError for one too large to be run many times."""
        total = cost_of(self.circuit)
        if total.flops > MAX_FLOPS or max(total.parameters, total.bytes // 4) > MAX_NUMBERS:
            raise LimitError("the system is too large for many runs", cure="smaller sizes")
        module = compile(self.circuit.term).double().train(self.training)
        for part in module.modules():
            if isinstance(part, SeededDropout):
                part.eval()
        for name, weight in module.named_parameters():
            if weight.numel() and bool((weight == weight.flatten()[0]).all()):
                weight.data.normal_(generator=generator(0, f"probe {name}"))
        return module

    @lazy_property
    def inputs(self) -> dict[str, Tensor]:
        """The inputs of the run without a change, by their ids."""
        found = example_inputs(self.circuit.term)
        real = (x.double() if x.is_floating_point() else x for x in found)
        return {value.id: x for value, x in zip(self.circuit.inputs, real, strict=True)}

    @lazy_property
    def base(self) -> dict[str, Tensor]:
        """Every array of the run without a change."""
        return self.run({})

    @torch.no_grad()
    def run(self, changed: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Returns every array of a run in which some have other numbers."""

        def watch(
            cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
        ) -> tuple[Tensor, ...]:
            pairs = zip(cell.outputs, made, strict=True)
            return tuple(
                torch.zeros_like(x) if value.id in self.cut else changed.get(value.id, x)
                for value, x in pairs
            )

        keep: dict[str, Tensor] = {}
        inputs = {**self.inputs, **{id: x for id, x in changed.items() if id in self.inputs}}
        blank = {id: torch.zeros_like(x) if id in self.cut else x for id, x in inputs.items()}
        outputs = self.module.execute(tuple(blank.values()), keep=keep, watch=watch)
        ends = zip(self.circuit.outputs, outputs, strict=True)
        return {**keep, **{value.id: x for value, x in ends}}

    def depends(self, target: str, source: str) -> bool:
        """Returns whether an array changes when all of an input does."""
        return any(
            bool(_differs(self._outputs_after({source: self._fresh(source, draw)}, target)).any())
            for draw in range(DRAWS)
        )

    def reach(self, source: tuple[str, str], target: tuple[str, str]) -> dict[int, list[bool]]:
        """Returns which places of a target change, by the place of the source that was changed.

        Args:
            source: The id of an array, and the name of an axis of it.
            target: The same, of what is looked at.
        """
        id, axis = source
        own = _axis(self._array(id), axis)
        places = own.numel
        found: dict[int, list[bool]] = {}
        for place in sorted({0, places // 3, _middle(own), places - 1}):
            here = _one_place(self._array(id), axis, place)
            end = self._array(target[0])
            changed = torch.zeros(_axis(end, target[1]).numel, dtype=torch.bool)
            for draw in range(DRAWS):
                new = torch.where(here, self._fresh(id, draw), self.base[id])
                both = self._outputs_after({id: new}, target[0])
                changed |= _by_place(_differs(both), end, target[1]).any(0)
            found[place] = changed.tolist()
        return found

    def _outputs_after(self, changed: Mapping[str, Tensor], target: str) -> tuple[Tensor, Tensor]:
        return self.base[target], self.run(changed)[target]

    def _array(self, id: str) -> Array:
        return self.circuit.values[id].array

    def _fresh(self, id: str, draw: int) -> Tensor:
        """Returns other numbers for an array."""
        now, below = self.base[id], self._array(id).below
        if below is not None:
            far = max(1, below.numel // 7)  # of many whole numbers a neighbour may mean the same
            return (now + far * (1 + draw)) % below.numel
        random = generator(draw, f"probe {id}")
        return STRENGTH * torch.randn(now.shape, dtype=now.dtype, generator=random)


def _middle(axis: Axis) -> int:
    """Returns the place in the middle of an axis, and of both sides of a picture."""
    middle = 0
    for n in axis.shape:
        middle = middle * n + n // 2
    return middle


def _axis(array: Array, name: str) -> Axis:
    return array[array.names.index(name)]


def _differs(pair: tuple[Tensor, Tensor]) -> Tensor:
    return ~torch.isclose(*pair, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def _by_place(x: Tensor, array: Array, axis: str) -> Tensor:
    """Returns an array as (all else, places along an axis)."""
    at = array.names.index(axis)
    before, own, after = (
        prod(prod(each.shape) for each in part)
        for part in (array[:at], array[at : at + 1], array[at + 1 :])
    )
    return x.reshape(before, own, after).movedim(1, 2).reshape(-1, own)


def _one_place(array: Array, axis: str, place: int) -> Tensor:
    """Returns True at one place along an axis, in the shape of an array."""
    at, count = array.names.index(axis), _axis(array, axis).numel
    own = (torch.arange(count) == place).reshape(array[at].shape)
    sizes = [n if each.name == axis else 1 for each in array for n in each.shape]
    return own.reshape(sizes).expand(array.shape)


# --- How places of a source and of a target are related

ALL, NONE = "all of them", "none of them"
SAME, NEAR = "the same place only", "the same place and some near it"
LATER, EARLIER = "the same place and all later ones", "the same place and all earlier ones"
SOME_PLACES = "some of them"


def relation(reached: Mapping[int, Sequence[bool]], shape: Sequence[int]) -> str:
    """Returns which places change, in words; ``shape`` is that of the source's axis.

    >>> relation({0: [True, True], 1: [False, True]}, (2,))
    'the same place and all later ones'
    >>> relation({0: [True, True], 1: [True, True]}, (2,)), relation({0: [True, False]}, (2,))
    ('all of them', 'the same place only')
    """
    rows = list(reached.values())
    if all(map(all, rows)):
        return ALL
    if not any(map(any, rows)):
        return NONE
    if any(len(row) != prod(shape) for row in rows):
        return SOME_PLACES
    for words in (SAME, LATER, EARLIER):
        if all(list(row) == expected_relation(words, p, len(row)) for p, row in reached.items()):
            return words
    return (
        NEAR if all(row[p] and _is_box(row, shape) for p, row in reached.items()) else SOME_PLACES
    )


def expected_relation(words: str, place: int, count: int) -> list[bool]:
    """Returns which places change, if these words are right."""
    tests = {
        ALL: lambda q: True,
        NONE: lambda q: False,
        SAME: lambda q: q == place,
        LATER: lambda q: q >= place,
        EARLIER: lambda q: q <= place,
    }
    return [tests[words](q) for q in range(count)]


def _is_box(row: Sequence[bool], shape: Sequence[int]) -> bool:
    """Returns whether places fill a window."""
    at = torch.tensor(row).reshape(tuple(shape)).nonzero()
    sides = at.amax(0) - at.amin(0) + 1
    return int(sides.prod()) == len(at)
