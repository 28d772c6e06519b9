"""Makes the wires of a mark adjacent, by crossings before and after it.

A letter, a bar or a cap needs adjacent wires. If other wires lie between, the wires change rows
before the mark and change back after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, combinations, pairwise, product

from ncd.drawing.base.plan_types import Port, Unit
from ncd.drawing.marks import wants_neighbours
from ncd.drawing.routing.contractions import chains
from ncd.lang.glyph import Glyph, Ports

_Block = tuple[Ports, Ports]  # inputs that stay adjacent, and the outputs that they become
_Slots = tuple[tuple[int, int], ...]
MOST = 4  # wires between the arrays of a cap that are tried both above and below it


def gathered(unit: Unit) -> tuple[Mapping[Port, Port], Mapping[Port, Port]]:
    """Returns whose row each input wire takes at the marks, and each output wire when it leaves.

    Wires that stay in their own row are left out.
    """
    reached, left = _orders(unit.glyph, *unit.arrays)
    return (
        {unit.ins[port]: unit.ins[slot] for port, slot in reached},
        {unit.outs[port]: unit.outs[slot] for port, slot in left},
    )


def at_marks(
    unit: Unit, ins: Sequence[float], outs: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Returns the rows of the inputs at the marks, and of the outputs where they leave."""
    reached, left = _orders(unit.glyph, *unit.arrays)
    return _moved(ins, reached), _moved(outs, left)


def _moved(rows: Sequence[float], slots: Sequence[tuple[int, int]]) -> list[float]:
    found = list(rows)
    for port, slot in slots:
        found[port] = rows[slot]
    return found


@lru_cache(maxsize=4096)
def _orders(glyph: Glyph, ins: tuple[Ports, ...], outs: tuple[Ports, ...]) -> tuple[_Slots, _Slots]:
    """Returns the ports that change places, and whose place each takes: inputs, then outputs."""
    above, below = tuple(chain(*ins)), tuple(chain(*outs))
    within = [(_sorted(cap, ins), ()) for cap in glyph.caps if _in_one(cap, ins)]
    if glyph.caps and not within:
        return _slots(above, _nested(glyph, ins)), ()
    blocks: list[_Block] = [*_blocks(glyph, ins, outs), *within]
    if all(_neighbours(i, above) and _neighbours(o, below) for i, o in blocks):
        return (), ()
    ended = {port for i, _ in blocks for port in i}
    after = dict(glyph.through)
    order: list[_Block] = [
        ((port,), (after[port],)) for port in above if port in after.keys() - ended
    ]
    for block in blocks:
        tries = [[*order[:k], block, *order[k:]] for k in range(len(order) + 1)]
        order = min(tries, key=lambda tried: _crossings(tried, above, below))
    return (
        _slots(above, [port for i, _ in order for port in i]),
        _slots(below, [port for _, o in order for port in o]),
    )


def _slots(before: Ports, after: Sequence[int]) -> _Slots:
    """Returns whose place each port takes in the new order."""
    places = [port for port in before if port in after]
    return tuple((port, slot) for port, slot in zip(after, places, strict=True) if port != slot)


# --- marks ---------------------------------------------------------------------------------------


def _blocks(glyph: Glyph, ins: tuple[Ports, ...], outs: tuple[Ports, ...]) -> list[_Block]:
    """Returns the wires of each mark that needs adjacent ones, all of one array."""
    found = []
    for mark in glyph.marks:
        own, new = _sorted(mark.ins, ins), _sorted(mark.outs, outs)
        if own and wants_neighbours(mark) and _in_one(own, ins) and _in_one(new, outs):
            found.append((own, new))
    return found


def _in_one(own: Ports, arrays: tuple[Ports, ...]) -> bool:
    return sum(any(port in array for port in own) for array in arrays) < 2


def _sorted(own: Ports, arrays: tuple[Ports, ...]) -> Ports:
    """Returns ports from top to bottom."""
    return tuple(port for port in chain(*arrays) if port in own)


def _neighbours(own: Ports, order: Ports) -> bool:
    return all(order.index(b) == order.index(a) + 1 for a, b in pairwise(own))


def _crossings(blocks: Sequence[_Block], above: Ports, below: Ports) -> int:
    """Returns how many wires cross before and after the marks."""
    ins = [above.index(port) for i, _ in blocks for port in i]
    outs = [below.index(port) for _, o in blocks for port in o]
    return sum(a > b for order in (ins, outs) for a, b in combinations(order, 2))


# --- caps ----------------------------------------------------------------------------------------


def _nested(glyph: Glyph, ins: tuple[Ports, ...]) -> list[int]:
    """Returns an order in which caps are nested or apart and continuing wires lie outside them.

    A wire between the arrays of a cap goes above or below it, whichever gives fewer crossings.
    """
    above = tuple(chain(*ins))
    caught = _stacked(glyph, ins, frozenset())[1][:MOST]
    tries = [
        frozenset(port for port, is_up in zip(caught, ups, strict=True) if is_up)
        for ups in product((False, True), repeat=len(caught))
    ]
    orders = [_stacked(glyph, ins, up)[0] for up in tries]
    return min(orders, key=lambda order: _tangle(glyph, above, order))


def _stacked(
    glyph: Glyph, ins: tuple[Ports, ...], up: frozenset[int]
) -> tuple[list[int], list[int]]:
    """Returns the order, and the wires caught between the arrays of a cap; ``up`` go above it.

    For each array: first closing wires, innermost cap first, then continuing ones, then opening
    ones. A wire that joins one further down may stay inside, as it leaves at a right angle.
    """
    ended = {port for mark in glyph.marks for port in mark.ins}
    strung = chains(glyph)
    opens, closes, middle = _roles(strung)
    ends = [next(n for n, own in enumerate(ins) if ports[-1] in own) for ports in strung]
    joining = {port for port, _ in glyph.joins}
    order: list[int] = []
    stack: list[int] = []  # open caps, the outermost first
    caught: list[int] = []
    below: list[int] = []  # wires that are placed once they are closed
    for own in ins:
        wires = [port for port in own if port not in ended]
        order += sorted((p for p in wires if p in closes), key=lambda p: -stack.index(closes[p]))
        stack = [cap for cap in stack if cap not in {closes.get(port) for port in wires}]
        order += [port for port in wires if port in middle]
        starting = sorted((p for p in wires if p in opens), key=lambda p: -ends[opens[p]])
        kept = [p for p in wires if p not in opens and p not in closes and p not in middle]
        if stack:
            caught += kept
            at = order.index(strung[stack[0]][0])
            order[at:at] = [port for port in kept if port in up]
            below += [port for port in kept if port not in up]
            inner = []
        else:  # a joining wire may stay inside if it is below all opening ones
            last = max(map(own.index, starting), default=len(own))
            inner = [p for p in kept if p in joining and own.index(p) > last]
            order += [*below, *(port for port in kept if port not in inner)]
            below = []
        order += [*starting, *inner]
        stack += [opens[port] for port in starting]
    return [*order, *below], caught


def _roles(strung: Sequence[Ports]) -> tuple[dict[int, int], dict[int, int], set[int]]:
    """Returns the cap that each port opens, the one that each closes, and the ports between."""
    opens = {ports[0]: n for n, ports in enumerate(strung)}
    closes = {ports[-1]: n for n, ports in enumerate(strung)}
    return opens, closes, {port for ports in strung for port in ports[1:-1]}


def _tangle(glyph: Glyph, above: Ports, order: Sequence[int]) -> int:
    """Returns the number of crossings on the way to an order, inside, and after it."""
    at = {port: n for n, port in enumerate(order)}
    target = {o: at[i] for i, o in glyph.through}
    spans = [(at[ports[0]], at[ports[-1]]) for ports in chains(glyph)]
    first = [above.index(port) for port in order]
    last = [o for _, o in sorted((at[i], o) for i, o in glyph.through)]
    count = sum(a > b for places in (first, last) for a, b in combinations(places, 2))
    for i, o in glyph.joins:
        a, b = sorted((at[i], target[o]))
        count += sum(a < place < b for place in target.values())
        count += sum((x < at[i] < y) and not x < target[o] < y for x, y in spans)
    return count
