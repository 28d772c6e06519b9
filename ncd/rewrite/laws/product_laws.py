"""Laws of products: einsums merged, contracted in the cheapest order, and distributed over sums."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import prod
from typing import ClassVar

from ncd.circuit.circuit import Cell
from ncd.language.axes import Array, Signature, Type
from ncd.ops import Add, Einsum, Group, Linear, Reduce, Rename, Scale, Split
from ncd.rewrite.laws.linear_laws import LawResult
from ncd.rewrite.rules.block_steps import BlockStep, BlockSteps
from ncd.rewrite.rules.rule import Options
from ncd.rewrite.rules.step_edits import LawSite, StepLaw, leave_out, new_slot, put_behind

MOST_FACTORS = 6  # arrays of one einsum whose orders are all tried
Arrays = Mapping[str, Array]


class MergeEinsums(StepLaw):
    """An einsum whose result goes into another einsum is one with it."""

    name: ClassVar[str] = "merge-einsums"
    op_kinds: ClassVar[tuple[type, ...]] = (Einsum,)

    def title(self, options: Options) -> str:
        return "Merge with the einsum behind it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        user, own = site.only_user(site.step.gives[0]), site.region
        if user is None or not isinstance(own.steps[user[0]].term, Einsum):
            return None
        j, place = user
        after = own.steps[j]
        takes = (*after.takes[:place], *site.step.takes, *after.takes[place + 1 :])
        kept = own.arrays[site.step.gives[0]].names
        inner = {name for slot in site.step.takes for name in own.arrays[slot].names} - {*kept}
        others = (*after.takes[:place], *after.takes[place + 1 :], *after.gives)
        if any(name in inner for slot in others for name in own.arrays[slot].names):
            return None  # two axes that have one name would be the same
        pattern = Signature(
            Type(own.arrays[slot] for slot in takes), Type((own.arrays[after.gives[0]],))
        )
        step = replace(after, term=Einsum(pattern), takes=takes)
        return site.with_steps({site.i: (), j: (step,)}), None


class BestOrder(StepLaw):
    """A product of several arrays is contracted two by two, in the cheapest order."""

    name: ClassVar[str] = "best-order"
    op_kinds: ClassVar[tuple[type, ...]] = (Einsum,)

    def title(self, options: Options) -> str:
        return "Contract two by two, in the cheapest order"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        takes, own = site.step.takes, site.region
        if not 3 <= len(takes) <= MOST_FACTORS:
            return None
        result = own.arrays[site.step.gives[0]]
        pairs = best_order([own.arrays[slot] for slot in takes], result)
        steps, slots = list[BlockStep](), list(takes)
        for a, b in pairs:
            two = (slots[a], slots[b])
            rest = [slot for n, slot in enumerate(slots) if n not in (a, b)]
            out = result if not rest else _pair_product_axes(own.arrays, two, rest, result)
            own, made = (own, site.step.gives[0]) if not rest else new_slot(own, out)
            pattern = Signature(Type(own.arrays[slot] for slot in two), Type((out,)))
            steps.append(BlockStep(Einsum(pattern), two, (made,)))
            slots = [*rest, made]
        return replace(site, region=own).with_steps({site.i: steps}), None


def _pair_product_axes(
    arrays: Arrays, two: Sequence[str], rest: Sequence[str], result: Array
) -> Array:
    """Returns the axes of a product of two arrays that others or the result still need."""
    return _product_axes([arrays[slot] for slot in two], [arrays[slot] for slot in rest], result)


def _product_axes(two: Sequence[Array], rest: Sequence[Array], result: Array) -> Array:
    needed = {name for array in (*rest, result) for name in array.names}
    axes = {axis.name: axis for array in two for axis in array}
    return Array(axis for name, axis in axes.items() if name in needed)


def best_order(arrays: Sequence[Array], result: Array) -> list[tuple[int, int]]:
    """Returns the pairs to multiply, one after the other, with the fewest operations.

    A product stands behind all others.

    >>> a, b, c = Type.parse("i:9 j:9, j:9 k:9, k:9")
    >>> best_order([a, b, c], Array.parse("i:9"))
    [(1, 2), (0, 1)]
    """
    return _cheapest(tuple(arrays), result)[1]


def _cheapest(arrays: tuple[Array, ...], result: Array) -> tuple[int, list[tuple[int, int]]]:
    if len(arrays) < 2:
        return 0, []
    found: list[tuple[int, list[tuple[int, int]]]] = []
    for a, b in combinations(range(len(arrays)), 2):
        two = (arrays[a], arrays[b])
        rest = tuple(array for n, array in enumerate(arrays) if n not in (a, b))
        out = _product_axes(two, rest, result)
        own = 2 * prod({axis.name: axis.numel for array in two for axis in array}.values())
        more, pairs = _cheapest((*rest, out), result)
        found.append((own + more, [(a, b), *pairs]))
    return min(found, key=lambda one: one[0])


class DistributeOverSum(StepLaw):
    """A map that is linear, of a sum of two arrays, is the sum of two maps."""

    name: ClassVar[str] = "distribute"
    op_kinds: ClassVar[tuple[type, ...]] = (Add,)

    def title(self, options: Options) -> str:
        return "Distribute the op behind it over the sum"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        user, own = site.only_user(site.step.gives[0]), site.region
        cell = site.cell(user[0]) if user is not None else None
        if user is None or cell is None or not is_linear(cell, user[1]):
            return None
        if isinstance(cell.op, Linear):  # its weights would be there twice
            return None
        j, place = user
        after, terms = own.steps[j], list[BlockStep]()
        for slot in site.step.takes:
            own, made = new_slot(own, own.arrays[after.gives[0]])
            takes = (*after.takes[:place], slot, *after.takes[place + 1 :])
            terms.append(BlockStep(after.term, takes, (made,)))
        total = BlockStep(Add(), (terms[0].gives[0], terms[1].gives[0]), after.gives)
        return replace(site, region=own).with_steps({site.i: (), j: (*terms, total)}), None


def is_linear(cell: Cell, place: int) -> bool:
    """Returns whether an op is linear in one of its arrays."""
    op = cell.op
    if isinstance(op, Rename | Group | Split):
        return True
    if isinstance(op, Reduce):
        return op.how in ("sum", "mean")
    if isinstance(op, Linear):
        return not op.bias
    return isinstance(op, Einsum | Scale)


class MoveScale(StepLaw):
    """A scale before an op that is linear stands as well behind it, or the other way."""

    name: ClassVar[str] = "move-scale"
    op_kinds: ClassVar[tuple[type, ...]] = (Scale,)

    def choices(self, cell: Cell) -> Iterator[Options]:
        yield {"to": "behind"}
        yield {"to": "before"}

    def title(self, options: Options) -> str:
        behind = options.get("to") == "behind"
        return "Scale after the next op" if behind else "Scale before the op before it"

    def apply_law(self, site: LawSite, options: Options) -> LawResult:
        cell = site.cell(site.i)
        if cell is None or not isinstance(cell.op, Scale):
            return None
        scale = replace(site.step, term=Scale(cell.site.reads, cell.op.power))
        behind = options.get("to") == "behind"
        found = _scale_behind(site, scale) if behind else _scale_before(site, scale)
        return (found, None) if found is not None else None


def _scale_behind(site: LawSite, scale: BlockStep) -> BlockSteps | None:
    user = site.only_user(site.step.gives[0])
    cell = site.cell(user[0]) if user is not None else None
    if user is None or cell is None or not is_linear(cell, user[1]):
        return None
    after = site.region.steps[user[0]]
    without = leave_out(site.region, site.i, 0)
    j = next(n for n, step in enumerate(without.steps) if step.id == after.id)
    return put_behind(without, j, scale, after.gives[0])


def _scale_before(site: LawSite, scale: BlockStep) -> BlockSteps | None:
    (given,), own = site.step.takes, site.region
    j = site.maker(given)
    cell = site.cell(j) if j is not None else None
    if j is None or cell is None or site.only_user(given) is None or not is_linear(cell, 0):
        return None
    maker = own.steps[j]
    own, made = new_slot(own, own.arrays[maker.takes[0]])
    before = replace(scale, takes=maker.takes[:1], gives=(made,))
    after = replace(maker, takes=(made, *maker.takes[1:]), gives=site.step.gives)
    return replace(site, region=own).with_steps({j: (before, after), site.i: ()})
