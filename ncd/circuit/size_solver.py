"""Solving for the sizes of axes, by propagating known sizes through a term to a fixed point.

Every array of a circuit has a slot for each of its axes. A place (an op, or arrays that pass on)
binds its names to slots and passes sizes on through them, in both directions. A name whose size
stays unknown takes the size that it has everywhere else in the term.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache

from ncd.errors import NCDError, ParseError, SizeError
from ncd.formulas.formula import SIGNS, Application, Formula, Name, Number, leaves
from ncd.language.axes import Axis
from ncd.language.op import Op
from ncd.language.patterns import Binding

BITS = 4_000  # of a power in a formula; a size has 40 at most

AxisOccurrence = tuple[object, object]
Sizes = Mapping[str, Axis]


@dataclass(frozen=True)
class SizeConstraint:
    """An op, or arrays that pass on, with the slots of each of its names.

    ``pattern_axes`` are axes of its own pattern, which may have sizes. ``place_text`` and ``op``
    are for errors. ``local`` maps the names of local blocks to the id of the block: they are
    unrelated to the same names elsewhere.
    """

    slots: Mapping[str, tuple[AxisOccurrence, ...]]
    pattern_axes: tuple[Axis, ...] = ()
    op: Op | SizeFormula | None = None
    place_text: str = ""
    local: Mapping[str, str] = field(default_factory=dict)

    def scoped_name(self, name: str) -> tuple[str, str]:
        """Returns the name with the id of the local block that it belongs to, or an empty id."""
        return self.local.get(name, ""), name


@dataclass(frozen=True)
class SizeFormula:
    """The rule that axis ``name`` has the size of ``formula``, as in ``Axes(d="k*h")``."""

    name: str
    formula: Formula

    @property
    def names(self) -> tuple[str, ...]:
        found = (leaf.text for leaf in leaves(self.formula) if isinstance(leaf, Name))
        return tuple(dict.fromkeys(found))

    def solve(self, binding: Binding) -> None:
        """Binds the name, or the only name in the formula whose size is unknown."""
        unknown = [name for name in self.names if binding.size(name) is None]
        if not unknown:
            value = evaluate(self.formula, binding)
            if value.denominator != 1 or value < 1:
                raise SizeError(
                    f"axis {self.name} is {self.formula} = {value}, "
                    "but a size is a whole number, 1 or more",
                    cure=f"sizes for which {self.formula} is whole",
                    axis=self.name,
                )
            binding.bind_size(self.name, value.numerator)
        elif len(unknown) == 1 and (size := binding.size(self.name)) is not None:
            solution = solve_for(self.formula, unknown[0], size, binding)
            if solution is not None and solution.denominator == 1 and solution >= 1:
                binding.bind_size(unknown[0], solution.numerator)


def evaluate(formula: Formula, binding: Binding) -> int | Fraction:
    """Returns the value of a size formula; raises ParseError for operations without a size."""
    if isinstance(formula, Number):
        number = Fraction(formula.text)
        return number.numerator if number.denominator == 1 else number
    if isinstance(formula, Name) and (size := binding.size(formula.text)) is not None:
        return size
    if not isinstance(formula, Application):
        raise ParseError(f"{formula} stands in a size", cure='"k*h", of names and numbers')
    values = [evaluate(part, binding) for part in formula.parts]
    match formula.operation, values:
        case ["-", [a]]:
            return -a
        case ["/", [a, b]] if b:
            return _quotient(a, b)
        case ["**", [a, b]] if b.denominator == 1 and 0 <= b < 64:
            return _power(a, int(b), formula)
        case ["min" | "max" as name, [a, b]]:
            return min(a, b) if name == "min" else max(a, b)
        case ["+" | "-" | "*" | "//" | "%" as sign, [a, b]] if b or sign not in ("//", "%"):
            value: int | Fraction = SIGNS[sign](a, b)
            return value
    raise ParseError(f"{formula} is no size", cure="+ - * / // of names and numbers")


def _power(a: int | Fraction, b: int, formula: Formula) -> int | Fraction:
    """Returns a power; raises SizeError for one that would take long to compute."""
    if type(a) in (int, Fraction):  # traced sizes are computed after plain ones, which are checked
        longest = max(abs(a.numerator), a.denominator).bit_length()
        if longest * b > BITS:
            raise SizeError(f"{formula} has more than {BITS:,} bits", cure="a smaller power")
    return a**b


def _quotient(a: int | Fraction, b: int | Fraction) -> int | Fraction:
    return a // b if a % b == 0 else Fraction(a) / b


def solve_for(
    formula: Formula, name: str, value: int | Fraction, binding: Binding
) -> int | Fraction | None:
    """Returns the size of ``name`` at which the formula has this value; None if not unique."""
    if formula == Name(name):
        return value
    if not isinstance(formula, Application) or len(formula.parts) != 2:
        return None
    inside = [Name(name) in leaves(part) for part in formula.parts]
    if all(inside) or not any(inside):
        return None
    left = inside[0]
    part, other = formula.parts if left else reversed(formula.parts)
    known = evaluate(other, binding)
    match formula.operation:
        case "+":
            wanted = value - known
        case "-":
            wanted = value + known if left else known - value
        case "*" if known:
            wanted = _quotient(value, known)
        case "/" if known:
            wanted = value * known if left else _quotient(known, value)
        case _:
            return None
    return solve_for(part, name, wanted, binding)


def solve(places: list[SizeConstraint], known: dict[AxisOccurrence, Axis]) -> list[Sizes]:
    """Returns the sizes of each place's names that can be solved for, and fills ``known``.

    Raises SizeError or MismatchError, naming the op, where two sizes do not fit.
    """
    found: list[Sizes] = [{} for _ in places]
    touching = _constraints_by_occurrence(places)
    _propagate(places, known, touching, range(len(places)), found)
    _settle_names(places, known, touching, found)
    return found


def undetermined_names(
    places: list[SizeConstraint], sizes: Mapping[str, Axis], first: Iterable[str]
) -> set[str]:
    """Returns the names whose sizes do not follow from those of others.

    Args:
        places: The places of a term without sizes.
        sizes: The size of each name; of two that follow from each other the first is needed.
        first: Names that come before all others.

    Raises SizeError or MismatchError where two sizes do not fit.
    """
    slots: dict[str, set[AxisOccurrence]] = defaultdict(set)
    for place in places:
        for name in place.slots.keys() - place.local.keys():
            slots[name].update(place.slots[name])
    found: list[Sizes] = [{} for _ in places]
    touching, known = _constraints_by_occurrence(places), dict[AxisOccurrence, Axis]()
    chosen: set[str] = set()
    for name in dict.fromkeys([*first, *sizes]):
        new = {slot: sizes[name] for slot in slots[name] if slot not in known}
        if new:
            chosen.add(name)
            known.update(new)
            _propagate(places, known, touching, {i for slot in new for i in touching[slot]}, found)
            _settle_names(places, known, touching, found)
    return chosen


def _constraints_by_occurrence(places: list[SizeConstraint]) -> dict[AxisOccurrence, list[int]]:
    """Returns the places that each slot is of."""
    found: dict[AxisOccurrence, list[int]] = defaultdict(list)
    for i, place in enumerate(places):
        for slots in place.slots.values():
            for slot in slots:
                found[slot].append(i)
    return found


def _settle_names(
    places: list[SizeConstraint],
    known: dict[AxisOccurrence, Axis],
    touching: Mapping[AxisOccurrence, list[int]],
    found: list[Sizes],
) -> None:
    """Gives names the sizes that they have everywhere else, as long as more follows."""
    while more := _by_name(places, known):
        known.update(more)
        _propagate(places, known, touching, {i for slot in more for i in touching[slot]}, found)


def _propagate(
    places: list[SizeConstraint],
    known: dict[AxisOccurrence, Axis],
    touching: Mapping[AxisOccurrence, list[int]],
    start: Iterable[int],
    found: list[Sizes],
) -> None:
    """Propagates sizes from these places; a place is solved again when more is known."""
    queue, waiting = deque(start), set(start)
    while queue:
        i = queue.popleft()
        waiting.discard(i)
        place = places[i]
        found[i] = _known_binding(place, known)
        for name, axis in found[i].items():
            for slot in place.slots.get(name, ()) if axis.size is not None else ():
                if slot not in known:
                    known[slot] = axis
                    more = [j for j in touching[slot] if j != i and j not in waiting]
                    queue.extend(more)
                    waiting.update(more)


def _known_binding(place: SizeConstraint, known: Mapping[AxisOccurrence, Axis]) -> Binding:
    """Returns what is known so far of the names of a place."""
    binding = Binding()
    try:
        for axis in place.pattern_axes:
            binding.unify(axis, axis)
        for name, slots in place.slots.items():
            for slot in slots:
                found = known.get(slot)
                if found is not None and binding.get(name) is not found:
                    binding.unify(_without_sizes(name), _renamed_axis(found, name))
        if place.op is not None:
            place.op.solve(binding)
    except NCDError as error:
        op = place.op if isinstance(place.op, Op) else None
        raise error.with_context(where=place.place_text, bound=binding.values(), op=op) from None
    return binding


@lru_cache(maxsize=1024)
def _without_sizes(name: str) -> Axis:
    return Axis(name)


def _renamed_axis(axis: Axis, name: str) -> Axis:
    return axis if axis.name == name else replace(axis, name=name)


def _by_name(
    places: list[SizeConstraint], known: Mapping[AxisOccurrence, Axis]
) -> dict[AxisOccurrence, Axis]:
    """Returns for slots without a size the one that their name has everywhere else."""
    sizes: dict[tuple[str, str], set[object]] = defaultdict(set)
    axes: dict[tuple[str, str], Axis] = {}
    unknown: list[tuple[AxisOccurrence, str, tuple[str, str]]] = []
    for place in places:
        for name, slots in place.slots.items():
            meant = place.scoped_name(name)
            for slot in slots:
                axis = known.get(slot)
                if axis is None:
                    unknown.append((slot, name, meant))
                else:
                    sizes[meant].add(axis.size)
                    axes[meant] = axis
    return {
        slot: _renamed_axis(axes[meant], name)
        for slot, name, meant in unknown
        if len(sizes[meant]) == 1
    }
