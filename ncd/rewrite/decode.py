"""The cached pass of a term that is causal along an axis: one position after the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from torch import Tensor

from ncd.circuit.costs import cost, in_bytes
from ncd.errors import MismatchError, ParseError, SizeError, short_repr, unknown_name_error
from ncd.language.arguments import check_names, check_term
from ncd.language.axes import Array
from ncd.language.cached_property import lazy_property
from ncd.language.loops import Scan
from ncd.language.number_formats import BITS, is_cached
from ncd.language.op import ArrayHandle
from ncd.language.terms import Term
from ncd.rewrite.cache_choice import CacheChoice, Candidates, Demand, choices, choose
from ncd.rewrite.cached_run import CachedRunner, load_weights
from ncd.rewrite.causality import Causality
from ncd.rewrite.kept_arrays import KeptStack, arrays_to_cache, stack_layers
from ncd.rewrite.pass_flops import PassFlops
from ncd.rewrite.position_steps import StepList, write_steps
from ncd.rewrite.prefill_writer import PrefillWriter
from ncd.rewrite.step_writer import StepWriter

Keep = Literal["fast", "small"] | Sequence[str]
USUAL_FORMAT = "bfloat16"
INTENSITY = 295.0  # operations for each byte of memory of an H100: 989 TFLOP/s and 3.35 TB/s

# --- What is kept, and the ways to choose it


@dataclass(frozen=True)
class Cache:
    """An array that is kept from one position to the next, by one layer or by several equal ones.

    Args:
        name: The path of the layer that makes it, such as ``layers.k_proj``.
        array: Its axes; that of the positions has room for the whole sequence.
        kind: ``"positions"`` for an array of all positions so far, ``"window"`` for the last few,
            ``"state"`` for what is carried on, ``"once"`` for what other inputs alone decide.
        numbers: Its numbers: of one position, or in all where it has no positions.
        window: How many positions a window has; 0 for other kinds.
        layers: How many equal layers keep it; with more than one the first axis is that of layers.

    Source: Pope et al. 2022, "Efficiently Scaling Transformer Inference", section 3.3.

    >>> cache = Cache("k", Array.parse("t:8 k:4"), "positions", 4)
    >>> cache.count(5), cache.count(100)
    (20, 400)
    """

    name: str
    array: Array
    kind: Literal["positions", "window", "state", "once"]
    numbers: int
    window: int = 0
    layers: int = 1

    @property
    def grows(self) -> bool:
        """Whether it gets longer with the sequence."""
        return self.kind == "positions"

    def count(self, context: int) -> int:
        """Returns how many numbers it holds after so many positions."""
        if self.kind == "positions":
            return self.numbers * context
        return self.numbers * (min(self.window, context) if self.kind == "window" else 1)


@dataclass(frozen=True)
class CachePlacement:
    """A choice of the arrays that are kept, best at some price of memory against work.

    Args:
        caches: The arrays.
        is_chosen: Whether the cached pass keeps just these.
        flops_at: The operations of one position after so many others.
        weights: The learned numbers that one position reads.
        parameters: All learned numbers of the term.

    Raises:
        UnknownNameError: For a number format that is none.

    Source: a minimum cut of the arrays that other positions need, and those they are made of.

    >>> from ncd import catalogue, decode
    >>> fast, *_, small = decode(catalogue["latent-attention"].build(), "t").placements
    >>> fast.numbers, small.numbers
    (136, 24)
    """

    caches: tuple[Cache, ...]
    is_chosen: bool
    weights: int
    parameters: int
    flops_at: partial[int] = field(compare=False, repr=False)

    @property
    def numbers(self) -> int:
        """The numbers that each position adds."""
        return sum(cache.numbers for cache in self.caches if cache.grows)

    def count(self, context: int) -> int:
        """Returns how many numbers are kept after so many positions."""
        return sum(cache.count(context) for cache in self.caches)

    def flops(self, context: int) -> int:
        """Returns the operations of one position after so many others; a multiply-add is two."""
        return self.flops_at(context)

    def bytes_per_position(self, number_format: str = USUAL_FORMAT) -> int:
        """Returns the bytes that each position adds."""
        return in_bytes(self.numbers, _checked_format(number_format))

    def bytes(self, context: int, number_format: str = USUAL_FORMAT) -> int:
        """Returns the bytes that are kept after so many positions."""
        return in_bytes(self.count(context), _checked_format(number_format))

    def bytes_moved(self, context: int, number_format: str = USUAL_FORMAT) -> int:
        """Returns the bytes that one position moves: all weights and caches in, its own out."""
        own = sum(cache.numbers for cache in self.caches if cache.kind != "once")
        return in_bytes(self.weights + self.count(context) + own, _checked_format(number_format))

    def longest_context(self, memory: int, number_format: str = USUAL_FORMAT) -> int | None:
        """Returns how many positions fit in so many bytes beside the weights; None for all.

        Returns 0 if the weights alone do not fit.
        """
        name = _checked_format(number_format)
        room = memory * 8 // BITS[name] - self.parameters
        fixed = self.count(0) + sum(c.numbers * c.window for c in self.caches)
        if room < fixed:
            return 0
        return None if not self.numbers else (room - fixed) // self.numbers


def _checked_format(name: str) -> str:
    if name not in BITS:
        raise unknown_name_error("format", name, BITS, where="decode")
    return name


# --- The cached pass


@dataclass(frozen=True, eq=False)
class CachedPass:
    """A causal term as two terms: many positions at once, then one position after the other.

    ``prefill`` takes the first positions of the inputs, and gives their outputs and the caches.
    ``step`` takes the new position of each input, its place (a whole number), and the caches; it
    gives the outputs of this position, and the caches that change. Its caches have room for as many
    positions as the axis has, so that one term is compiled for all of them.

    Args:
        term: The whole term.
        axis: The axis of positions.
        caches: The arrays that are kept, in the order in which the two terms give and take them.
        prompt: How many positions ``prefill`` takes.
        plan: The analysis of the term, from which the others are written.

    Raises:
        SizeError: From :meth:`prefill_of`, for more positions than there is room for.

    Source: Pope et al. 2022, "Efficiently Scaling Transformer Inference", section 2, on prefill and
    decoding.

    >>> from ncd import catalogue, decode
    >>> found = decode(catalogue["grouped-queries"].build(t=6), "t")
    >>> [(cache.name, str(cache.array)) for cache in found.caches]
    [('K', 'x g k'), ('V', 'x g k')]
    >>> str(found.step.dom[0]), found.step.dom[1].kind
    ('t m', 'whole numbers below place')
    """

    term: Term
    axis: str
    caches: tuple[Cache, ...]
    prompt: int
    plan: CachePlan

    def __repr__(self) -> str:
        kept = ", ".join(f"{cache.name} ({cache.array})" for cache in self.caches)
        return f"<CachedPass: {self.term.dom} -> {self.term.cod} along {self.axis}; keeps {kept}>"

    @property
    def length(self) -> int:
        """The number of positions that the caches have room for."""
        return self.plan.causality.length

    @lazy_property
    def prefill(self) -> Term:
        """The term of the first positions."""
        return self.prefill_of(self.prompt)

    @lazy_property
    def step(self) -> Term:
        """The term of one new position."""
        plan = self.plan
        return StepWriter(plan.causality, plan.demand, plan.stacks).term()

    @lazy_property
    def placements(self) -> tuple[CachePlacement, ...]:
        """Every choice of caches that is best at some price, the least work first."""
        plan = self.plan
        found = choices(plan.candidates, self.length)
        own = {each.slot for each in plan.choice.arrays}
        if all({each.slot for each in choice.arrays} != own for choice in found):
            found = sorted((*found, plan.choice), key=lambda each: each.work(self.length))
        return tuple(
            self._placement(choice, {each.slot for each in choice.arrays} == own)
            for choice in found
        )

    def _placement(self, choice: CacheChoice, is_chosen: bool) -> CachePlacement:
        plan = self.plan
        return CachePlacement(
            _caches(_cached_stacks(plan.causality, plan.demand, choice), plan.array_names),
            is_chosen,
            plan.flops.weights,
            cost(self.term).parameters,
            partial(plan.flops.of_choice, choice),
        )

    @property
    def placement(self) -> CachePlacement:
        """The placement of its caches."""
        return next(each for each in self.placements if each.is_chosen)

    @property
    def input_dims(self) -> tuple[int | None, ...]:
        """For each input of the term its dimension of positions, from the end; None without one."""
        return self._dims(self.plan.steps.inputs)

    @property
    def output_dims(self) -> tuple[int | None, ...]:
        """The same for each output."""
        return self._dims(self.plan.steps.outputs)

    def _dims(self, slots: Iterable[ArrayHandle]) -> tuple[int | None, ...]:
        names = [(slot, self.plan.causality.positions.names(slot)) for slot in slots]
        return tuple(slot.axes.position(own[0])[0] if own else None for slot, own in names)

    def prefill_of(self, count: int) -> Term:
        """Returns the term of so many first positions.

        Raises:
            SizeError: For no position, or more than there is room for.
        """
        self.check_count(count)
        return PrefillWriter(self.plan.causality, self.plan.stacks, count).term()

    def check_count(self, count: int) -> None:
        """Raises SizeError for a number of first positions that does not fit."""
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= self.length:
            fact = f"prefill takes 1 to {self.length} positions, not {short_repr(count)}"
            raise SizeError(fact, where="decode", cure="prompt = 1", axis=self.axis, nearest=1)

    def best(
        self, context: int, number_format: str = USUAL_FORMAT, intensity: float = INTENSITY
    ) -> CachePlacement:
        """Returns the placement whose step is fastest after so many positions.

        A step takes as long as the slower of its work and of what it moves.

        Args:
            context: The number of positions.
            number_format: The format of weights and caches.
            intensity: The operations that the machine does while it moves a byte; by default those
                of an H100, 989 TFLOP/s and 3.35 TB/s.
        """

        def seconds(placement: CachePlacement) -> tuple[float, int]:
            moved = placement.bytes_moved(context, number_format)
            return max(moved, placement.flops(context) / intensity), moved

        return min(self.placements, key=seconds)

    def run(
        self, inputs: Sequence[Tensor], weights: Mapping[str, Tensor], prompt: int | None = None
    ) -> tuple[Tensor, ...]:
        """Returns the outputs of the whole sequence, computed one position after the other.

        Args:
            inputs: The inputs of the whole term.
            weights: The parameters of its module, as its ``state_dict`` gives them.
            prompt: How many positions are computed at once first; by default ``self.prompt``.

        Returns:
            The outputs, which are those of the whole term up to rounding.

        >>> import ncd, torch
        >>> term = ncd.catalogue["grouped-queries"].build(t=6)
        >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
        >>> (made,) = ncd.decode(term, "t").run(inputs, module.state_dict(), prompt=2)
        >>> torch.allclose(made, module(*inputs), atol=1e-5)
        True
        """
        count = self.prompt if prompt is None else prompt
        first = self.prefill if count == self.prompt else self.prefill_of(count)
        real = [x for x in (*weights.values(), *inputs) if x.is_floating_point()]
        prefill, step = (load_weights(term, weights, real[:1]) for term in (first, self.step))
        changes = tuple(cache.kind != "once" for cache in self.caches)
        runner = CachedRunner(prefill, step, self.input_dims, self.output_dims, changes)
        return runner.run(inputs, count, self.length)


@dataclass(frozen=True, eq=False)
class CachePlan:
    """The analysis that the terms are written from."""

    steps: StepList
    causality: Causality
    demand: Demand
    candidates: Candidates
    choice: CacheChoice
    stacks: Sequence[KeptStack]
    array_names: Mapping[ArrayHandle, str]

    def __repr__(self) -> str:
        names = ", ".join(self.array_names.values())
        return f"<CachePlan of {len(self.steps.steps)} steps; arrays {names}>"

    @lazy_property
    def flops(self) -> PassFlops:
        return PassFlops(self.candidates)


def decode(
    term: Term, axis: str = "t", keep: Keep = "fast", prompt: int | None = None
) -> CachedPass:
    """Returns the cached pass of a term: the step for one new position, and what it keeps.

    The term must be causal along the axis: no position of its outputs depends on a later one. This
    is read from its ops and from the formulas of its masks.

    Args:
        term: The term; all of its axes have sizes.
        axis: The axis of positions in its inputs.
        keep: ``"fast"`` keeps what spares all work, such as keys and values; ``"small"`` keeps the
            fewest numbers, and computes the others again; or the names of layers, such as
            ``["DKV", "KR"]``, whose arrays are kept.
        prompt: How many positions ``prefill`` takes; by default half of them.

    Returns:
        The cached pass.

    Raises:
        LookAheadError: For a term that is not causal along the axis, or not known to be; it has the
            ids of the op and of the wire that look ahead.
        UnknownNameError: For an axis that no input has, or a name that no array has.
        MismatchError: For names that do not suffice.
        SizeError: For an axis without a size, or a prompt that does not fit.

    Source: Shazeer 2019, "Fast Transformer Decoding: One Write-Head is All You Need", section 2.4,
    for incremental inference; minimum cuts for what is kept.

    >>> from ncd import catalogue
    >>> found = decode(catalogue["sliding-window"].build(w=4, t=12), "t")
    >>> {(cache.kind, cache.window) for cache in found.caches}
    {('window', 3)}
    """
    check_term(term, "decode")
    steps = write_steps(term)
    causality = Causality(steps, axis)
    demand = Demand(causality)
    candidates = Candidates(demand)
    names = {slot: _layer_path(steps, slot) for slot in candidates.found}
    choice = _choice(candidates, keep, causality.length, names)
    kept = _cached_stacks(causality, demand, choice)
    every = (one.slot for stack in kept for one in stack.members)
    names |= {slot: _layer_path(steps, slot) for slot in every if slot not in names}
    plan = CachePlan(steps, causality, demand, candidates, choice, kept, names)
    caches, usual = _caches(kept, names), max(1, causality.length // 2)
    found = CachedPass(term, axis, caches, usual if prompt is None else prompt, plan)
    found.check_count(found.prompt)
    return found


def _choice(
    candidates: Candidates, keep: Keep, context: int, names: Mapping[ArrayHandle, str]
) -> CacheChoice:
    """Returns the arrays that are kept."""
    if isinstance(keep, str):
        if keep not in ("fast", "small"):
            fact = f"keep is {short_repr(keep)}"
            raise ParseError(fact, where="decode", cure='"fast", "small", or names of layers')
        every = choices(candidates, context) if keep == "small" else []
        return every[-1] if every else choose(candidates, math.inf, context)
    check_names(keep, "keep", "decode", '"fast", "small" or several names', "k_proj")
    wanted = {slot for slot, name in names.items() if is_cached(name, tuple(keep))}
    idle = [n for n in keep if not any(is_cached(own, (n,)) for own in names.values())]
    if idle:
        known = sorted({name.rpartition(".")[2] for name in names.values()})
        raise unknown_name_error("array to keep", idle[0], known, where="decode")
    choice = choose(candidates, 1.0, context, wanted)
    more = [names[each.slot] for each in choice.arrays if each.slot not in wanted]
    if more:
        fact = f"the others cannot be computed from {', '.join(keep)} alone"
        own = ", ".join(dict.fromkeys(name.rpartition(".")[2] for name in more))
        raise MismatchError(fact, where="decode", cure=f"{own} as well")
    return choice


def _cached_stacks(
    causality: Causality, demand: Demand, choice: CacheChoice
) -> tuple[KeptStack, ...]:
    return stack_layers(causality.steps, arrays_to_cache(causality, demand, choice))


def _caches(kept: Sequence[KeptStack], names: Mapping[ArrayHandle, str]) -> tuple[Cache, ...]:
    """Returns the arrays that are kept; several of one layer are numbered."""
    used: dict[str, int] = {}
    found = []
    for stack in kept:
        one, layers = stack.first_member, len(stack.members)
        name = _common_path([names[each.slot] for each in stack.members])
        used[name] = used.get(name, 0) + 1
        title = name if used[name] == 1 else f"{name} {used[name]}"
        numbers = one.numbers * layers
        found.append(Cache(title, stack.array, one.kind, numbers, one.count, layers))
    return tuple(found)


def _common_path(paths: Sequence[str]) -> str:
    """Returns the path of equal layers without their numbers.

    >>> _common_path(["layers.0.k_proj", "layers.1.k_proj"])
    'layers.k_proj'
    """
    words = zip(*(path.split(".") for path in paths), strict=False)
    return ".".join(own[0] for own in words if len({*own}) == 1) or paths[0]


def _layer_path(steps: StepList, slot: ArrayHandle) -> str:
    """Returns the path of the nearest layer behind an array; that of an input is its axes."""
    todo, seen = [slot], {slot}
    block = ""
    for each in todo:
        step = steps.maker.get(each)
        if step is None:
            if each in steps.inputs:
                return block or "input"
            continue
        path = step.path.strip(".")
        block = block or path
        if isinstance(step.term, Scan):
            return path or "scan"
        if path and getattr(step.source_op, "name", ""):
            return path
        for other in step.takes:
            if other not in seen:
                seen.add(other)
                todo.append(other)
    return block or "constant"
