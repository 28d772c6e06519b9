"""Rules that rewrite terms: the questions to each of them, and the places in a drawing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, ClassVar

from ncd.circuit.circuit import Cell, Circuit, Fence, Value
from ncd.errors import MismatchError, ParseError, UnknownNameError, short_repr, unknown_name_error
from ncd.language.axes import Array, Type
from ncd.language.blocks import Block
from ncd.language.cached_property import lazy_property
from ncd.language.fields import field_names
from ncd.language.loops import Repeat, Scan
from ncd.language.terms import Term, axes_in, replace_axis, replace_fields
from ncd.rewrite.rules.term_paths import (
    Path,
    TermPaths,
    ancestors,
    identity,
    part_at,
    replace_parts,
)

Options = Mapping[str, Any]  # parameters of a rewrite, as JSON has them
Weights = Mapping[str, Any]  # tensors by their names in a compiled module
WHOLE_TERM, AXIS_PREFIX = "", "axis:"
NO_OPTIONS: Options = MappingProxyType({})


# --- The place of a rewrite: an op, an array, a block, an axis or the whole term


@dataclass(frozen=True, eq=False)
class Target:
    """A place in the circuit of a term.

    Args:
        paths: The circuit, with the paths of its ops and blocks.
        place: An id as in the drawing, ``n3``, ``v4`` or ``f1``; ``axis:m`` for an axis; empty
            for the whole term.
    """

    paths: TermPaths
    place: str

    @property
    def circuit(self) -> Circuit:
        """The circuit of the term."""
        return self.paths.circuit

    @property
    def term(self) -> Term:
        """The whole term, with its sizes."""
        return self.circuit.term

    @property
    def words(self) -> str:
        """The place as it stands in a message."""
        return self.place or "the whole term"

    @lazy_property
    def cell(self) -> Cell | None:
        """The op at this place; None if it is another kind of place."""
        cell = self.circuit.cells_by_id.get(self.place)
        return cell if cell is not None and self.place in self.paths.by_id else None

    @lazy_property
    def value(self) -> Value | None:
        """The array at this place; None if it is another kind of place."""
        return self.circuit.values.get(self.place)

    @lazy_property
    def fence(self) -> Fence | None:
        """The block or loop at this place; None if it is another kind of place."""
        return next((fence for fence in self.circuit.fences if fence.id == self.place), None)

    @property
    def axis(self) -> str:
        """The name of the axis at this place; empty if it is another kind of place."""
        return self.place.removeprefix(AXIS_PREFIX) if self.place.startswith(AXIS_PREFIX) else ""

    @property
    def is_part(self) -> bool:
        """Whether it is an op or a block that stands in the term."""
        return self.place in self.paths.by_id

    @lazy_property
    def path(self) -> Path:
        """The path of the op or block; that of the whole term is empty."""
        return self.paths.path(self.place) if self.place else ()

    @property
    def part(self) -> Term:
        """The op, block or whole term at this place."""
        return part_at(self.term, self.path)

    @lazy_property
    def inputs(self) -> Type:
        """The arrays that the op, the block or the whole term takes, as they are called there."""
        return self._arrays(0)

    @lazy_property
    def outputs(self) -> Type:
        """The arrays that the op, the block or the whole term gives."""
        return self._arrays(1)

    def _arrays(self, side: int) -> Type:
        if self.cell is not None:
            return (self.cell.site.inputs, self.cell.site.outputs)[side]
        if self.fence is not None:
            return Type(value.array for value in self.fence.states[-side])
        return Type(value.array for value in self.circuit.states[-side])

    def check(self) -> None:
        """Raises UnknownNameError if the term has no such place."""
        axes = {axis.name for axis in self.circuit.axes}
        ids = {*self.circuit.cells_by_id, *self.circuit.values, *self.paths.by_id}
        if self.place and self.axis not in axes and self.place not in ids:
            raise UnknownNameError(
                f"there is no place {short_repr(self.place)}",
                cure="an id such as n0, v0 or f0, or axis:NAME",
            )

    def copies(self) -> tuple[Target, ...]:
        """Returns this place in every body of the repetitions around it, itself first."""
        if self.place in self.paths.by_id:
            return tuple(Target(self.paths, id) for id in self.paths.copies(self.place))
        maker = self.circuit.producers.get(self.place)
        if maker is None or maker.id not in self.paths.by_id:
            return (self,)
        place = [value.id for value in maker.outputs].index(self.place)
        cells = (self.circuit.cell(id) for id in self.paths.copies(maker.id))
        return tuple(Target(self.paths, cell.outputs[place].id) for cell in cells)


# --- What a rule makes, and what it is asked


@dataclass(frozen=True)
class Replacement:
    """The parts that a rule makes at one place.

    Args:
        parts: The new parts of the term, by their paths.
        weights: The function that gives the new parameters from the old ones, by the names that
            they have in a compiled module; None if all that stay keep their names and values.
        keep_inputs: Whether the whole term takes the same arrays as before.
    """

    parts: Mapping[Path, Term]
    weights: Callable[[Weights], Weights] | None = None
    keep_inputs: bool = True


@dataclass(frozen=True)
class Change:
    """A rewritten term, and how it gets its weights.

    ``weights`` gives parameters of the new term from those of the old one; what it leaves out has
    the name and the value of before.
    """

    term: Term
    weights: Callable[[Weights], Weights] = field(default=lambda old: {})


class Rule:
    """The base of all rules; ``name`` is its name in a link, ``is_law`` whether values stay."""

    name: ClassVar[str]
    is_law: ClassVar[bool] = False

    def __repr__(self) -> str:
        return f"<Rule: {self.name}>"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        """Yields the places and options with which it may apply at a place.

        What does not fit is left out later, by typing the result.
        """
        raise NotImplementedError

    def title(self, options: Options) -> str:
        """Returns in plain words what it does."""
        raise NotImplementedError

    def replacement(self, target: Target, options: Options) -> Replacement:
        """Returns the new parts at one place; raises NCDError if it does not apply."""
        raise NotImplementedError

    def check(self, target: Target, options: Options) -> None:
        """Raises NCDError if it does not apply at a place; cheaper than :meth:`change`."""
        self.change(target, options)

    def change(self, target: Target, options: Options) -> Change:
        """Returns the new term: the rule is applied in every body of a repetition alike."""
        target = names_kept(target)
        found = [self.replacement(copy, options) for copy in target.copies()]
        parts = {path: part for one in found for path, part in one.parts.items()}
        makers = [one.weights for one in found if one.weights is not None]
        return Change(
            _with_parts(target.paths, parts, found[0].keep_inputs),
            lambda old: {name: x for make in makers for name, x in make(old).items()},
        )


def _with_parts(paths: TermPaths, parts: Mapping[Path, Term], keep_inputs: bool) -> Term:
    """Returns the term with other parts, which name all axes of their arrays if they have to."""
    term = paths.circuit.term
    with suppress(MismatchError):
        return replace_parts(term, parts, keep_inputs)
    places = {path: Target(paths, paths.ids.get(path, WHOLE_TERM)) for path in parts}
    with suppress(MismatchError):
        wide = {path: identity(places[path].inputs) >> part for path, part in parts.items()}
        return replace_parts(term, wide, keep_inputs)
    own = {path: _within_block(places[path], part) for path, part in parts.items()}
    return replace_parts(term, own, keep_inputs)


def _within_block(target: Target, part: Term) -> Term:
    """Returns a new part without the axes that the block around it is broadcast over."""
    arrays = (*target.inputs, *target.outputs)
    for axis in {name for array in arrays for name in outer_axes(target.term, target.path, array)}:
        part = replace_axis(part, axis)
    return part


def outer_axes(term: Term, path: Path, array: Array) -> list[str]:
    """Returns the axes of an array that the block around a path is broadcast over.

    A block with names of its own names those axes nowhere.
    """
    around = [block for block in ancestors(term, path) if isinstance(block, Block)]
    block = next((block for block in reversed(around) if block.local), term)
    known = {axis.name for axis in axes_in(block)}
    return [name for name in array.names if name not in known]


class LocalRule(Rule):
    """The base of rules that put another part of the same type in the place of one."""

    def check(self, target: Target, options: Options) -> None:
        new = self.replacement(target, options).parts[target.path]
        if new.infer_outputs(target.inputs) != target.outputs:
            self.change(target, options)


# --- Options that come from a link, checked


OPTION_NOUNS = {"as": "form", "axes": "axis", "by": "op", "to": "direction"}


def pick(options: Options, name: str, known: Iterable[str], where: str) -> str:
    """Returns an option that is one of some names; raises UnknownNameError."""
    value, names = options.get(name), tuple(known)
    if not isinstance(value, str) or value not in names:
        raise unknown_name_error(OPTION_NOUNS.get(name, name), value, names, where)
    return value


def count_option(options: Options, name: str, most: int, where: str) -> int:
    """Returns an option that is a whole number from 1; raises ParseError."""
    value = options.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        fact = f"{name} is {short_repr(value)}, but it is a whole number from 1 to {most:,}"
        raise ParseError(fact, where=where, cure=f"{name} = {min(2, most)}")
    return value


def op_at(target: Target, where: str) -> Cell:
    """Returns the op at a place; raises MismatchError if none is there."""
    if target.cell is None:
        fact = f"{target.words} is no op"
        raise MismatchError(fact, where=where, cure="the id of an op, such as n0")
    return target.cell


# --- Names for new layers, and names of old ones that stay


def unused_layer_name(circuit: Circuit, name: str) -> str:
    """Returns a name for a new layer that no layer or block has, here or elsewhere."""
    taken = {cell.name for cell in circuit.cells}
    taken |= {word for cell in circuit.cells for word in cell.module_path}
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def taken_axis_names(circuit: Circuit) -> set[str]:
    """Returns the names that a new axis cannot have: of axes, and of numbers in formulas."""
    inner = {axis.name for cell in circuit.cells for axis in (*cell.site.axes, *cell.site.reads)}
    return inner | {axis.name for axis in circuit.axes} | {"e", "pi", "inf"}


def unused_axis_name(circuit: Circuit, name: str) -> str:
    """Returns a name for a new axis that no axis has, and no number."""
    taken = taken_axis_names(circuit)
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found


# --- Parameters that get other names


def cells_within(target: Target) -> tuple[Cell, ...]:
    """Returns the op at a place, or all ops of its block."""
    if target.cell is not None:
        return (target.cell,)
    ids = target.circuit.cell_ids_by_fence.get(target.place, ())
    return tuple(map(target.circuit.cell, ids))


def scope_around(target: Target) -> tuple[str, ...]:
    """Returns the submodules that a place stands in."""
    depth = sum(map(_module_count, ancestors(target.term, target.path)))
    cells = cells_within(target)
    return cells[0].module_path[:depth] if cells else ()


def _module_count(term: Term) -> int:
    """Returns how many submodules a term puts around its parts."""
    if isinstance(term, Repeat):
        return 1 if term.shared else 2
    return int(isinstance(term, Block | Scan) and bool(term.name))


def move_parameters(
    cells: Iterable[Cell], move: Callable[[str], str]
) -> Callable[[Weights], Weights]:
    """Returns the function that gives the parameters of ops under other paths."""
    paths = {cell.path: move(cell.path) for cell in cells if cell.name}

    def moved(old: Weights) -> Weights:
        found = {}
        for name, x in old.items():
            for before, after in paths.items():
                if name == before or name.startswith(f"{before}."):
                    found[after + name[len(before) :]] = x
        return found

    return moved


def fresh_copy(part: Term, circuit: Circuit) -> Term:
    """Returns the part with new names for its layers, so that it has weights of its own."""
    name = getattr(part, "name", "")
    if isinstance(name, str) and name:
        own = {field: getattr(part, field) for field in field_names(type(part))}
        new: Term = replace_fields(part, {**own, "name": unused_layer_name(circuit, name)})
        return new
    if not part.children:
        return part
    return replace_parts(
        part, {(i,): fresh_copy(child, circuit) for i, child in enumerate(part.children)}
    )


def names_kept(target: Target) -> Target:
    """Returns the place in a term whose layers keep their names when those at the place change."""
    names = target.paths.unwritten_names if target.is_part else {}
    if not names:
        return target
    inside = _layer_names(target.part)
    same = (getattr(part_at(target.term, path), "name", "") in inside for path in names)
    return Target(target.paths.with_own_names, target.place) if any(same) else target


def _layer_names(term: Term) -> set[str]:
    own = getattr(term, "name", "")
    return {own, *(name for part in term.children for name in _layer_names(part))} - {""}
