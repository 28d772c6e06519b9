"""Matches the ops of two circuits of one system at different settings.

Ops match by submodule path, name and axis names, whatever their sizes. So the fourth layer of
one circuit has no match in a circuit with three layers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.types.axes import Array

IDS = re.compile(r' data-(axis|node|array|fence)="([^"]*)"')
DIFFERS, ALONE = ' data-differs=""', ' data-alone=""'
STILL = re.compile(r' (?:tabindex="0"|role="button")')
Row = tuple[Cell | None, Cell | None]


@dataclass(frozen=True)
class Match:
    """The matched ops in one order, and the second circuit's ids for ids of the first.

    ``axes`` are the names of axes whose sizes differ, or that one circuit lacks.
    """

    rows: tuple[Row, ...]
    ids: Mapping[str, str]
    axes: frozenset[str]

    @property
    def alone(self) -> tuple[tuple[Cell, ...], tuple[Cell, ...]]:
        """The ops that only the first circuit has, and those that only the second has."""
        return (
            tuple(one for one, two in self.rows if one and not two),
            tuple(two for one, two in self.rows if two and not one),
        )


def match(one: Circuit, two: Circuit) -> Match:
    """Matches the second circuit with the first.

    >>> import ncd
    >>> two = ncd.catalogue["multi-head-attention"]
    >>> found = match(ncd.elaborate(two.build(h=2)), ncd.elaborate(two.build(h=4)))
    >>> sorted(found.axes), found.alone, found.ids["n1"]
    (['h'], ((), ()), 'n1')
    >>> found = match(ncd.elaborate(two.build()), ncd.elaborate(two.build(causal=1)))
    >>> [cell.op.label for cell in found.alone[1]]
    ['CausalMask']
    """
    rows = tuple(_rows(one.cells, two.cells, (_named, _placed)))
    values = list(zip(one.inputs, two.inputs, strict=False))
    ids: dict[str, str] = {}
    for first, second in rows:
        if first and second:
            ids[first.id] = second.id
            values += zip(first.inputs, second.inputs, strict=False)
            values += zip(first.outputs, second.outputs, strict=False)
    for mine, theirs in values:
        ids.setdefault(mine.id, theirs.id)
    sizes = [_sizes(circuit) for circuit in (one, two)]
    names = {*sizes[0], *sizes[1]}
    axes = frozenset(name for name in names if sizes[0].get(name) != sizes[1].get(name))
    return Match(rows, ids, axes)


Cells = tuple[Cell, ...]
Key = Callable[[Cell], Hashable]


def _rows(one: Cells, two: Cells, keys: tuple[Key, ...]) -> list[Row]:
    """Pairs ops with equal keys, then the remaining ones by the next key."""
    key, *others = keys
    rows: list[Row] = []
    key_lists = [key(cell) for cell in one], [key(cell) for cell in two]
    found: SequenceMatcher[Hashable] = SequenceMatcher(None, *key_lists, autojunk=False)
    for what, i, j, m, n in found.get_opcodes():
        if what == "equal":
            rows += zip(one[i:j], two[m:n], strict=True)
        elif what == "replace" and others:
            rows += _rows(one[i:j], two[m:n], tuple(others))
        else:
            rows += [(cell, None) for cell in one[i:j]]
            rows += [(None, cell) for cell in two[m:n]]
    return rows


def _named(cell: Cell) -> Hashable:
    """Returns the properties of an op that no size changes; an unnamed axis counts by its size."""
    arrays = (*cell.site.dom, *cell.site.cod)
    names = tuple(tuple("" if n.isdecimal() else n for n in array.names) for array in arrays)
    return _placed(cell), names


def _placed(cell: Cell) -> Hashable:
    """Returns a looser key, for ops whose axes have other names, as after a stride."""
    many = tuple(len(array) for array in (*cell.site.dom, *cell.site.cod))
    return cell.path, type(cell.op).__name__, cell.op.label, many


def _sizes(circuit: Circuit) -> dict[str, frozenset[str]]:
    """Returns all sizes of the axes with each name."""
    found: dict[str, set[str]] = {}
    for axis in circuit.axes:
        if not axis.name.isdecimal():
            found.setdefault(axis.name, set()).add("" if axis.size is None else axis.size_text)
    return {name: frozenset(sizes) for name, sizes in found.items()}


def same(array: Array, other: Array | None) -> list[bool]:
    """Returns, for each axis of an array, whether the other array has the same size there.

    >>> same(Array.parse("y:3 k:4"), Array.parse("y:3 k:5"))
    [True, False]
    """
    pairs = zip_longest(array, other or (), fillvalue=None)
    return [b is not None and a.size == b.size for a, b in pairs if a is not None]


def marked(svg: str, axes: Collection[str], alone: Collection[str], ids: Ids) -> str:
    """Returns a drawing with marks on the wires in ``axes`` and the ops in ``alone``, and new ids.

    A collapsed block is marked if one of its ops is. The result has no keyboard handling.
    """

    def mark(found: re.Match[str]) -> str:
        kind, text = found.groups()
        if kind == "axis":
            return found.group() + (DIFFERS if text in axes else "")
        if kind == "fence":
            return ""
        own = text.split()
        lone = ALONE if kind == "node" and any(id in alone for id in own) else ""
        named = " ".join(filter(None, map(ids, own)))
        return lone + (f' data-{kind}="{named}"' if named else "")

    return STILL.sub("", IDS.sub(mark, svg))


Ids = Callable[[str], str | None]
