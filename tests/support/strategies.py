"""Random well-typed terms, for properties that every system must have.

``terms()`` draws small pipelines out of all ops of ``ncd.ops.CATALOGUE`` and every structure;
``types()`` draws what goes in. All sizes are known, and every array stays small. Whatever types is
drawn; what the language refuses is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from operator import rshift

from hypothesis import strategies as st

from ncd import (
    Add,
    Array,
    Axis,
    Block,
    Copy,
    Einsum,
    Equation,
    Id,
    Linear,
    Map,
    NCDError,
    Reduce,
    Repeat,
    Scan,
    Signature,
    Term,
    Type,
    Wire,
    elaborate,
)
from ncd.circuit.elaborate import require_sizes
from tests.support.draws import Draws, Seeded, Shrinking
from tests.support.step_makers import KEEPING, MAKERS, Maker, words

PLAIN = ("a", "b", "c", "d", "h", "k", "m", "y", "n_0", "2c")
SPATIAL = ("x", "u")
BOUNDS = ("v", "two")
LARGEST = 4096  # numbers in one array
TITLES = ("Attention", "Residual", "", "Feed-Forward Network")
ROLES = ("neutral", "linear", "einsum", "softmax", "residual", "module")
SCOPES = ("", "part", "self_attn", "layers", "forward")


@st.composite
def types(draw: st.DrawFn, arrays: int = 3, axes: int = 4) -> Type:
    """One to ``arrays`` arrays of up to ``axes`` axes; a name has one size throughout."""
    return a_type(Shrinking(draw), arrays, axes)


@st.composite
def terms(draw: st.DrawFn, steps: int = 5, arrays: int = 3, axes: int = 4) -> Term:
    """A pipeline of one to ``steps`` steps on arrays of :func:`types`.

    Half of them are of a seed: Hypothesis likes small choices best, and cannot shrink these.
    """
    seed = draw(st.none() | st.integers(0, 2**32))
    return a_term(Shrinking(draw) if seed is None else Seeded(seed), steps, arrays, axes)


def a_type(d: Draws, arrays: int = 3, axes: int = 4) -> Type:
    """Arrays of real numbers, now and then of whole ones; some scalars, sequences, groups."""
    known = [Axis(name, d.number(1, 4), sequence=d.yes(5)) for name in PLAIN]
    groups = ((4, 4), (2, 3), (3,), (1, 2))
    known += [Axis(name, s if len(s) > 1 else s[0]) for name in SPATIAL for s in (d.one(groups),)]
    bounds = [Axis(name, n) for name, n in zip(BOUNDS, (5, 2), strict=True)]
    found = []
    for _ in range(d.number(1, arrays)):
        count = d.number(0 if d.yes(5) else 1, axes)
        chosen = d.shuffled(known)[:count]
        found.append(Array(chosen, d.one(bounds) if d.yes(6) else None))
    return Type(found)


def a_term(d: Draws, steps: int = 5, arrays: int = 3, axes: int = 4) -> Term:
    dom = a_type(d, arrays, axes)
    return chain([Id(dom), *pipeline(d, dom, d.number(1, steps), depth=0)])


def chain(steps: Sequence[Term]) -> Term:
    return reduce(rshift, steps)


def pipeline(d: Draws, state: Type, count: int, depth: int) -> list[Term]:
    """Steps one after the other, each on the arrays from some place on."""
    steps: list[Term] = []
    for _ in range(3 * count):
        if not state or len(steps) == count:
            break
        start = d.number(0, len(state) - 1)
        skipped, given = Type(state[:start]), Type(state[start:])
        structure = depth < 2 and d.yes(4)
        step = attempt(d, structure, state, skipped, given, depth)
        if step is not None:
            steps.append(step)
            state = chain([Id(state), step]).cod
    return steps


def attempt(
    d: Draws, structure: bool, state: Type, skipped: Type, given: Type, depth: int
) -> Term | None:
    """A step on the arrays that are there; None if the language refuses it, or it is too large."""
    try:
        step = d.one(STRUCTURES)(d, given, depth) if structure else d.one(MAKERS)(d, given)
        if step is None:
            return None
        step = Id(skipped) @ step if skipped else step
        circuit = elaborate(chain([Id(state), step]))
        require_sizes(circuit)
        every = (*circuit.term.cod, *circuit.term.dom)
        same = circuit.term.dom[: len(state)] == state  # it is made no wider
        return step if same and len(every) <= 10 and all(map(small, every)) else None
    except NCDError:
        return None


def small(array: Array) -> bool:
    return array.numel <= LARGEST and len(array) <= 6


# --- structures ----------------------------------------------------------------------------------


def block(d: Draws, given: Type, depth: int) -> Term | None:
    """A fence: named, with names of its own, with a type that is stated."""
    inputs, local = Type(given[: d.number(1, len(given))]), d.yes()
    inner = own_names(d, inputs) if local else inputs
    body = pipeline(d, inner, d.number(1, 3), depth + 1)
    if not body:
        return None
    term = chain([Id(inner), *body])
    stated = Signature(term.dom, term.cod) if d.yes(3) and term.cod else None
    return Block(term, d.one(TITLES), d.one(ROLES), d.one(SCOPES), stated, local)


def own_names(d: Draws, inputs: Type) -> Type:
    """The same arrays by other names, one for each name."""
    names = {axis.name: d.name() for array in inputs for axis in array}
    return Type(
        array.with_axes(replace(axis, name=names[axis.name]) for axis in array) for array in inputs
    )


def beside(d: Draws, given: Type, depth: int) -> Term | None:
    """Two pipelines side by side."""
    if len(given) < 2:
        return None
    at = d.number(1, len(given) - 1)
    parts = [Type(given[:at]), Type(given[at:])]
    one, two = (chain([Id(p), *pipeline(d, p, d.number(1, 2), depth + 1)]) for p in parts)
    return one @ two


def keeping(d: Draws, array: Array) -> Term:
    """A step that keeps the type of an array."""
    given = Type((array,))
    maker: Maker = d.one(KEEPING)
    step = maker(d, given)
    return Id(given) if step is None else Id(given) >> step


def repeat(d: Draws, given: Type, depth: int) -> Term | None:
    """Bodies that keep the type: alike or not, with weights of their own or shared."""
    count, shared = d.number(1, 3), d.yes(3)
    bodies = [keeping(d, given[0]) for _ in range(count)]
    if shared or d.yes():
        bodies = bodies[:1] * count
    inner = [Block(body, d.one(TITLES), "residual") for body in bodies]
    term: Term = Repeat(tuple(inner), d.one(("layers", "blocks")), shared)
    return Repeat((term, term), "outer", d.yes()) if d.yes(4) else term


def saving(d: Draws, given: Type, depth: int) -> Term | None:
    """A repetition that leaves arrays, and one that takes them."""
    array, count = given[0], d.number(1, 3)
    whole = Id(Type((array,)))
    down = tuple(keeping(d, array) >> Copy(array) >> keeping(d, array) for _ in range(count))
    up = tuple(whole @ whole >> Add() >> keeping(d, array) for _ in range(count))
    left = Repeat(down, "down", d.yes(4))
    return left >> Repeat(up, "up") if d.yes() else left


def remembering(d: Draws, given: Type, depth: int) -> Term | None:
    """A repetition whose bodies all see the same memory."""
    if len(given) < 2:
        return None
    one, two = given[:2]
    every = list(dict.fromkeys((*one.names, *two.names)))
    if set(two.names) <= set(one.names):
        take: Term = Map(f"{one}, {two} -> {words(one)}", "$1 + sin($2)")
    else:
        take = Einsum(f"{words(one)}, {words(n for n in every if n in two.names)} -> {words(one)}")
    body = Id(Type(given[:2])) >> keeping(d, one) >> take
    return Repeat((body,) * d.number(1, 3), "layers", d.yes(), memory=1)


def scan(d: Draws, given: Type, depth: int) -> Term | None:
    """A recurrence along one axis; its first states are means along it."""
    array = given[0]
    plain = [axis.name for axis in array if not axis.spatial]
    if not plain:
        return None
    t = d.one(plain)
    rest = Array(axis for axis in array if axis.name != t)
    name = d.one(SCOPES)
    if d.yes(4):
        return Scan(keeping(d, rest), t, name, states=0)
    r, states = words(rest), d.number(1, 2)
    step: Term = Map(f"{r}, {r} -> {r}", "tanh($1) / 2 + $2")
    if rest and d.yes():
        step = step >> Linear(f"{rest.names[-1]} -> {rest[-1].spec.lstrip('~')}", "W")
    body = step >> Copy(rest) if states == 1 else Id(r) @ step >> Wire(f"{r}, {r} -> {r}, {r}, {r}")
    first = Reduce(f"{t} ->", "mean")
    start = Wire(f"{array} -> " + ", ".join([str(array)] * (states + 1)))
    means = first if states == 1 else first @ first
    return start >> means @ Id(Type((array,))) >> Scan(Id(f"{r}, " * states + r) >> body, t, name,
                                                       states)  # fmt: skip


def equation(d: Draws, given: Type, depth: int) -> Term | None:
    """Sides of one type, which share their weights by name."""
    inputs = Type(given[: d.number(1, len(given))])
    body = pipeline(d, inputs, d.number(1, 2), depth + 1)
    side = chain([Id(inputs), *body])
    return Equation(side, Block(side, d.one(TITLES)), sign=d.one(("=", "≝")))


STRUCTURES = (block, block, beside, repeat, saving, remembering, scan, equation)
