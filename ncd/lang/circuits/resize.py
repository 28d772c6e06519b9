"""Resizing: the circuit of a term at other sizes, from its circuit without sizes.

The structure of a term does not depend on its sizes. So a term is placed once; for other sizes its
axes are replaced and every op checks its site again. Sizes that do not fit are solved from the
start, for a complete error message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Any, NamedTuple
from weakref import ref

from cachetools import LRUCache

from ncd.lang.circuits.assembly import Around, Builder
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.name_scopes import Sizes, Solved
from ncd.lang.circuits.resizer import Resizer, type_of
from ncd.lang.circuits.shared_layers import check_shared
from ncd.lang.circuits.size_solver import Place, Rule, Slot, solve
from ncd.lang.errors import NCDError, SizeError
from ncd.lang.formulas.formula import parse
from ncd.lang.once import Key
from ncd.lang.terms.chain_typing import Flow
from ncd.lang.terms.terms import Term, Then
from ncd.lang.types.axes import Axis, Size, Type
from ncd.lang.types.axis_kinds import Marked, sized
from ncd.lang.types.pattern_binding import Binding

Given = Mapping[str, int | str | Marked]


class Placed(NamedTuple):
    """A term without sizes as a circuit, its places, and the names of its axes in all of it.

    ``stated`` are the names that have a size in the term; ``mixed`` tells whether one of them has
    none or another one elsewhere, or is local; ``nested`` whether there are scans or local names.
    """

    circuit: Circuit
    places: tuple[Place, ...]
    names: set[str]
    stated: set[str]
    mixed: bool
    nested: bool


_CIRCUITS: LRUCache[Any, Circuit] = LRUCache(256)  # by the sketch and its sizes
_PLACED: LRUCache[Term, Placed | None] = LRUCache(64)
_LOCK = Lock()


def forget() -> None:
    """Empties the caches, so that the next circuit is placed from the start."""
    with _LOCK:
        _CIRCUITS.clear()
        _PLACED.clear()


def circuit_of(sketch: Term, given: Given, solve: Callable[[], Circuit]) -> Circuit:
    """Returns the circuit of a term at these sizes, from ``solve`` where resizing cannot do it."""
    found = _read(given)
    if found is None:
        return solve()
    sizes, formulas = found
    key = Key(sketch, *sizes.items(), *formulas.items())
    with _LOCK:
        known = _CIRCUITS.get(key)
    if known is not None:
        return known
    before = _placed(sketch)
    circuit = before and _resized(before, sizes, formulas)
    circuit = circuit or solve()
    with _LOCK:
        _CIRCUITS[key] = circuit
    return circuit


def _placed(sketch: Term) -> Placed | None:
    """Returns the circuit of an unsized term; None if it cannot be placed without sizes."""
    with _LOCK:
        if sketch in _PLACED:
            return _PLACED[sketch]
    found: Placed | None = None
    with suppress(NCDError):
        builder = Builder()
        strip = builder.place(sketch, builder.values(sketch.dom), 0, Around())
        circuit = strip.circuit(sketch, builder.fences)
        found = _found(circuit, tuple(builder.places))
    with _LOCK:
        _PLACED[sketch] = found
    return found


def _found(circuit: Circuit, places: tuple[Place, ...]) -> Placed:
    names = {name for place in places for name in place.slots.keys() - place.local}
    local = {name for place in places for name in place.local}
    sizes: dict[str, set[Size | None]] = {}
    for value in circuit.values.values():
        for axis in Type((value.array,)).axes:
            sizes.setdefault(axis.name, set()).add(axis.size)
    stated = {name for name, own in sizes.items() if own != {None}}
    mixed = any(len(sizes[name]) > 1 or name in local for name in stated)
    nested = bool(local) or any(loop.kind == "scan" for loop in circuit.loops)
    known = {name for name in names if " " not in name}
    return Placed(circuit, places, known, stated, mixed, nested)


def _read(given: Given) -> tuple[dict[str, Marked], dict[str, str]] | None:
    """Returns all sizes as numbers, and the formulas; None if a size cannot be computed."""
    marks = {n: v if isinstance(v, Marked) else Marked(v) for n, v in given.items()}
    formulas = {name: mark.size for name, mark in marks.items() if isinstance(mark.size, str)}
    try:
        sizes = Binding(
            {n: Axis(n, m.size) for n, m in marks.items() if not isinstance(m.size, str)}
        )
        for name, text in formulas.items():
            Rule(name, parse(text)).solve(sizes)
        return {n: replace(m, size=_known(sizes[n])) for n, m in marks.items()}, formulas
    except (NCDError, KeyError):
        return None  # the solver reports it


def _known(axis: Axis) -> Size:
    if axis.size is None:
        raise SizeError(f"axis {axis.name} has no size")
    return axis.size


def _solved(placed: Placed, sizes: Sizes) -> Solved:
    """Returns what follows for the names that are not given."""
    if placed.names <= sizes.keys():
        return Solved({})
    found: dict[str, Axis] = {}
    several: set[str] = set()
    slots: dict[Slot, Axis] = {}
    places = [_sized_place(place, sizes) for place in placed.places]
    for place, known in zip(places, solve(places, slots), strict=True):
        for name, axis in known.items():
            if axis.size is None or name in sizes or name in place.local:
                continue
            before = found.setdefault(name, axis)
            if before.size != axis.size:
                several.add(name)
            if axis.sequence:
                found[name] = axis
    return Solved({name: found[name] for name in found.keys() - several}, several, slots)


def _sized_place(place: Place, sizes: Sizes) -> Place:
    own = (axis if axis.name in place.local else sized(axis, sizes) for axis in place.own)
    return replace(place, own=tuple(own))


def _resized(placed: Placed, sizes: Sizes, formulas: Collection[str]) -> Circuit | None:
    """Returns the circuit at these sizes; None if they do not fit.

    Sizes in the term may contradict what follows for other names: then it is solved.
    """
    follows = placed.nested or not placed.names <= sizes.keys()
    if follows and (placed.mixed or placed.stated & sizes.keys()):
        return None
    try:
        found = Resizer(sizes, formulas, _solved(placed, sizes)).circuit(placed.circuit)
        check_shared(found)
    except NCDError:
        return None
    found.term.__dict__["_circuit"] = ref(found)
    own, dom, cod = found.term.__dict__, type_of(found.inputs), type_of(found.outputs)
    own |= {"dom": dom, "cod": cod}  # saves lifting all ops again
    if isinstance(found.term, Then):
        own["flow"] = Flow(dom, cod, placed.circuit.term.origins)
    return found
