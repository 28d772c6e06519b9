"""A cache of layouts: drawings of known structure get new words instead of a new layout.

The layout depends on the structure of the circuit, on names, and on visible texts. Sizes occur only
in the hover texts, unless they are shown. So a drawing is cached under everything its layout reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from operator import ne
from threading import Lock
from typing import Any, TypeVar

from cachetools import LRUCache

from ncd.circuit.circuit import (
    Boundary,
    Cell,
    Circuit,
    Fence,
    Loop,
    RepeatLoop,
    ScanLoop,
    Value,
    array_names,
)
from ncd.drawing.alt_text import describe
from ncd.drawing.backends.svg import Place, Spot, SvgTemplate, Way, with_description
from ncd.drawing.elements.primitives import DrawingData, DrawnGlyph, DrawnWire
from ncd.drawing.equation import sides
from ncd.drawing.placement.layout import wire_words
from ncd.drawing.plan.collapse import collapsed
from ncd.drawing.plan.repeated_layers import fold_repetitions
from ncd.language.axes import Array
from ncd.language.cached_property import HashedKey
from ncd.language.fields import field_names
from ncd.language.op import Op
from ncd.language.terms import Term

PlainValue = str | int | float
PARTS = 6_000  # wires and ops of the drawings that are kept, at 5 kB each
VISIBLE_PARTS: tuple[Way, ...] = (  # the possible visible parts of a circuit
    lambda circuit, shut: circuit,
    lambda circuit, shut: collapsed(circuit, shut),
    lambda circuit, shut: collapsed(fold_repetitions(circuit), shut),
)

P = TypeVar("P", bound=DrawingData)


class _UncachedDrawing:
    """The first drawing of a structure, before it is requested again."""

    def __init__(self, drawing: DrawingData, circuit: Circuit, walk: _StructureKey) -> None:
        self.known = drawing, circuit, walk
        self.parts = len(drawing.wires) + len(drawing.glyphs) + 1

    def pattern(self) -> SvgTemplate | None:
        return _pattern(*self.known)


_CACHE: LRUCache[Hashable, _UncachedDrawing | SvgTemplate | None] = LRUCache(
    PARTS, lambda kept: kept.parts if kept else 1
)
_LOCK = Lock()


def clear_cache() -> None:
    """Empties the cache."""
    with _LOCK:
        _CACHE.clear()


def cached_drawing(circuit: Circuit, options: Hashable, sized: bool, draw: Callable[[], P]) -> P:
    """Returns ``draw()``, or the cached drawing of the same structure with this circuit's words.

    ``options`` are all other things that the drawing depends on; ``sized`` says whether sizes are
    visible in it.
    """
    walk = _StructureKey(circuit, sized)
    key = HashedKey(options, *walk.key)
    new, found = False, None
    with _LOCK:
        try:
            found = _CACHE[key]  # compares long keys fewer times than asking for it first
        except KeyError:
            new = True
    if isinstance(found, _UncachedDrawing):
        found = found.pattern()
        _keep(key, found)
    if found is not None:
        return _with_new_words(found, circuit, walk)
    drawing = draw()
    if new:
        _keep(key, _UncachedDrawing(drawing, circuit, walk))
    return drawing


def _keep(key: Hashable, what: _UncachedDrawing | SvgTemplate | None) -> None:
    if what is None or what.parts <= PARTS:
        with _LOCK:
            _CACHE[key] = what


# --- what a layout reads --------------------------------------------------------------------------


class _StructureKey:
    """Everything visible of a circuit, in order: its cache key, its arrays and its cells."""

    def __init__(self, circuit: Circuit, sized: bool) -> None:
        self.key: list[Hashable] = []
        self.values: list[Value] = []
        self.cells: list[Cell] = []
        self.arrays: dict[int, Hashable] = {}  # by id() of the array; ops likewise
        self.ops: dict[int, Hashable] = {}
        self.kinds: dict[Hashable, int] = {}  # of ops that differ in their names alone
        self.sized = sized
        self.term(circuit.term)
        self.circuit(circuit)

    def circuit(self, circuit: Circuit) -> None:
        for state in circuit.states:
            self.state(state)
        for step in circuit.columns:
            self.key.append(len(step))
            for unit in step:
                if isinstance(unit, Loop):
                    self.loop(unit)
                else:
                    self.cell(unit)
        for fence in circuit.own_fences:
            self.fence(fence)

    def state(self, state: Boundary) -> None:
        self.values += state
        self.key.append(tuple([(value.id, self.array(value.array)) for value in state]))

    def array(self, array: Array) -> Hashable:
        found = self.arrays.get(id(array))
        if found is None:
            axes = tuple([(a.label, a.sequence, a.spatial, a.size is None) for a in array])
            sizes = tuple([axis.size for axis in array]) if self.sized else ()
            found = (array.names, axes, array.below and array.below.name, sizes)
            self.arrays[id(array)] = found
        return found

    def cell(self, cell: Cell) -> None:
        self.cells.append(cell)
        self.values += (*cell.inputs, *cell.outputs)
        self.op(cell.op)
        self.key += (cell.id, cell.path, cell.fences, cell.glyph)
        self.key += (self.ids(cell.inputs), self.ids(cell.outputs))

    def ids(self, state: Boundary) -> Hashable:
        return tuple([(value.id, value.array.names) for value in state])

    def loop(self, loop: Loop) -> None:
        self.key += (loop.id, loop.kind, loop.name, loop.fences, len(loop.bodies))
        if isinstance(loop, ScanLoop):
            axes = [axis for value in loop.inputs for axis in value.array]
            sizes = [axis.size for axis in axes if axis.name == loop.axis]
            self.key += (loop.axis, *sizes, loop.states)
        elif isinstance(loop, RepeatLoop):
            self.key += (loop.shared, loop.memory)
        self.state(loop.inputs)
        self.state(loop.outputs)
        self.circuit(loop.bodies[0])

    def fence(self, fence: Fence) -> None:
        self.key += (
            fence.id,
            fence.title,
            fence.role,
            fence.first_state,
            fence.parent,
            fence.repeats,
        )
        self.key.append(fence.scope)
        for state in fence.states:
            self.key.append(tuple([value.id for value in state]))

    def term(self, term: Term) -> None:
        self.key += (type(term).__name__, getattr(term, "sign", ""), len(term.children))

    def op(self, op: Op) -> None:
        """Adds what a layout reads of an op beside its glyph: which others it is equal to.

        Equal layers become a stack; a kernel or a formula that no glyph shows changes nothing else.
        """
        found = self.ops.get(id(op))
        if found is None:
            values = [getattr(op, name) for name in field_names(type(op)) if name != "name"]
            told = [value if isinstance(value, PlainValue) else str(value) for value in values]
            kind = self.kinds.setdefault((type(op), *told), len(self.kinds))
            found = self.ops[id(op)] = (kind, op.display_name, op.role)
        self.key.append(found)


# --- words ----------------------------------------------------------------------------------------


def _pattern(drawing: DrawingData, circuit: Circuit, walk: _StructureKey) -> SvgTemplate | None:
    """Returns where the words of a drawing come from, or None if not from its circuit."""
    shut = frozenset(glyph.node for glyph in drawing.glyphs if glyph.cells)
    words = (drawing.title, drawing.description)
    way = next(
        (way for way in VISIBLE_PARTS if _title_and_description(circuit, shut, way) == words), None
    )
    if way is None:
        return None
    wires = tuple(_spots(drawing.wires, walk, [*map(array_names, _parts(circuit, shut, way))]))
    nodes = {cell.id: n for n, cell in enumerate(walk.cells)}
    ops = tuple(nodes.get(glyph.node) for glyph in drawing.glyphs)  # None for a collapsed block
    said = (walk.cells[n].description for n in ops if n is not None)
    own = (glyph.description for glyph, n in zip(drawing.glyphs, ops, strict=True) if n is not None)
    known = tuple(spot for spot in wires if spot is not None)
    if len(known) < len(wires) or any(map(ne, said, own)):
        return None
    return SvgTemplate(drawing, shut, way, known, ops)


def _spots(
    wires: Iterable[DrawnWire], walk: _StructureKey, names: Iterable[Mapping[str, str]]
) -> Iterator[Spot | None]:
    """Returns where the words of each wire come from."""
    places: dict[tuple[str, str], list[Place]] = defaultdict(list)
    for n, value in enumerate(walk.values):
        for i, name in enumerate(value.array.names):
            places[value.id, name].append((n, i))
    for wire in wires:
        of = {"", *(known[wire.array] for known in names if wire.array in known)}
        tried = ((place, name) for place in places[wire.array, wire.axis] for name in of)
        yield next((spot for spot in tried if _description(walk, spot) == wire.description), None)


def _description(walk: _StructureKey, spot: Spot) -> str:
    (n, axis), name = spot
    array = walk.values[n].array
    return wire_words(array, array[axis], name)


def _title_and_description(circuit: Circuit, shut: frozenset[str], way: Way) -> tuple[str, str]:
    """Returns the title and the description of the visible part of a circuit."""
    titles, said = zip(*map(describe, _parts(circuit, shut, way)), strict=True)
    sign = f" {getattr(circuit.term, 'sign', '')} "
    return sign.join(dict.fromkeys(titles)), sign.join(said)


def _parts(circuit: Circuit, shut: frozenset[str], way: Way) -> Iterator[Circuit]:
    """Yields the visible parts: the circuit, or the sides of an equation."""
    return (way(part, shut) for part in sides(circuit))


def _with_new_words(pattern: SvgTemplate, circuit: Circuit, walk: _StructureKey) -> Any:
    """Returns the cached drawing with the words of this circuit."""

    def wire(before: DrawnWire, spot: Spot) -> DrawnWire:
        return with_description(before, _description(walk, spot))

    def op(before: DrawnGlyph, n: int | None) -> DrawnGlyph:
        return before if n is None else with_description(before, walk.cells[n].description)

    before = pattern.drawing
    wires = tuple(map(wire, before.wires, pattern.wires))
    glyphs = tuple(map(op, before.glyphs, pattern.ops))
    title, description = _title_and_description(
        circuit, pattern.collapsed_ids, pattern.visible_part
    )
    drawing = replace(before, title=title, description=description, wires=wires, glyphs=glyphs)
    object.__setattr__(drawing, "_pattern", pattern)
    return drawing
