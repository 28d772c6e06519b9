"""Changes an axis in the whole term: its name, its size, or into two axes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from ncd.errors import MismatchError, ParseError, short_repr
from ncd.formulas.formula import Application, Formula, Name
from ncd.language.axes import Axis, Type
from ncd.language.blocks import Block
from ncd.language.terms import Term, map_fields, replace_axis, rewrite_axes
from ncd.rewrite.rules.rule import (
    AXIS_PREFIX,
    Change,
    Options,
    Rule,
    Target,
    count_option,
    taken_axis_names,
    unused_axis_name,
)

LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_SIZE = 10**6
FORMULA = (Name, Application)


class AxisRule(Rule):
    """The base of rules for an axis of the whole term."""

    def new_term(self, target: Target, options: Options, axis: Axis) -> Term:
        """Returns the term with the axis changed."""
        raise NotImplementedError

    def change(self, target: Target, options: Options) -> Change:
        axis = axis_at(target, self.name)
        return Change(self.new_term(target, options, axis))


def axis_at(target: Target, where: str) -> Axis:
    """Returns the axis at a place; raises MismatchError if it is no axis."""
    found = next((axis for axis in target.circuit.axes if axis.name == target.axis), None)
    if found is None:
        fact = f"{target.words} is no axis"
        raise MismatchError(fact, where=where, cure=f"a place such as {AXIS_PREFIX}m")
    return found


class RenameAxis(AxisRule):
    """Gives an axis another name wherever it stands."""

    name: ClassVar[str] = "rename-axis"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.axis:
            taken = taken_axis_names(target.circuit)
            yield from (
                (target.place, {"to": one}) for one in [c for c in LETTERS if c not in taken][:1]
            )

    def title(self, options: Options) -> str:
        return f"Rename to {options['to']}"

    def new_term(self, target: Target, options: Options, axis: Axis) -> Term:
        new, where = options.get("to"), f"Rename {target.axis}"
        if not isinstance(new, str):
            raise ParseError(f"the name is {short_repr(new)}", where=where, cure="a letter")
        Axis(new)  # raises for a text that is no name
        if new in taken_axis_names(target.circuit):
            fact = f"there is an axis {new}, or a number of this name"
            raise MismatchError(fact, where=where, cure=unused_axis_name(target.circuit, new))
        return _rename_everywhere(target.term, axis, Axis(new))


def _rename_everywhere(term: Term, old: Axis, new: Axis) -> Term:
    """Returns the term with another name for an axis, also in formulas."""
    words = {old.identifier: new.identifier, f"n_{old.identifier}": f"n_{new.identifier}"}
    words |= {f"{word}_in": f"{other}_in" for word, other in words.items()}

    def renamed(value: Any) -> Any:
        if isinstance(value, Term):
            return map_fields(value, renamed)
        if isinstance(value, tuple) and value and isinstance(value[0], Term):
            return tuple(map(renamed, value))
        if isinstance(value, FORMULA):
            return _rename_in_formula(value, words)
        return rewrite_axes(
            value, lambda a: replace(a, name=new.name, label="") if a.name == old.name else a
        )

    found: Term = renamed(term)
    return found


def _rename_in_formula(formula: Formula, words: Mapping[str, str]) -> Formula:
    if isinstance(formula, Application):
        parts = tuple(_rename_in_formula(part, words) for part in formula.parts)
        return Application(formula.operation, parts)
    if isinstance(formula, Name) and formula.text in words:
        return Name(words[formula.text])
    return formula


class ResizeAxis(AxisRule):
    """Gives an axis another size wherever it stands; sizes that follow from it are solved."""

    name: ClassVar[str] = "resize-axis"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        axis = next((a for a in target.circuit.axes if a.name == target.axis), None)
        if axis is not None and isinstance(axis.size, int):
            yield target.place, {"size": 2 * axis.size}
            if axis.size % 2 == 0:
                yield target.place, {"size": axis.size // 2}

    def title(self, options: Options) -> str:
        return f"Change the size to {options['size']:,}"

    def new_term(self, target: Target, options: Options, axis: Axis) -> Term:
        where = f"Size of {target.axis}"
        if axis.spatial or axis.name.isdecimal():
            fact = f"{axis.name} has a size that its name or its sides give"
            raise MismatchError(fact, where=where, cure="another axis")
        size = count_option(options, "size", MOST_SIZE, where)
        return _with_sizes(
            target.term, lambda a: replace(a, size=size) if a.name == axis.name else a
        )


def _with_sizes(term: Term, change: Callable[[Axis], Axis]) -> Term:
    found: Term = rewrite_axes(term, change)
    return found


class SplitAxis(AxisRule):
    """Writes an axis as two axes, of which the second runs faster."""

    name: ClassVar[str] = "split-axis"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        axis = next((a for a in target.circuit.axes if a.name == target.axis), None)
        if axis is not None and isinstance(axis.size, int):
            yield from (
                (target.place, {"first": n})
                for n in (2, 4, 3)
                if axis.size % n == 0 != axis.size - n
            )

    def title(self, options: Options) -> str:
        return f"Split into {options['first']} times as many parts"

    def new_term(self, target: Target, options: Options, axis: Axis) -> Term:
        where = f"Split {target.axis}"
        first = count_option(options, "first", MOST_SIZE, where)
        if not isinstance(axis.size, int) or axis.size % first:
            fact = f"axis {axis.name} has size {axis.size_text}, which {first} does not divide"
            raise MismatchError(fact, where=where, cure="a number that divides it")
        _check_local_names(target, axis, where)
        taken = taken_axis_names(target.circuit)
        names = [c for c in LETTERS if c not in taken]
        one = Axis(names[0], first, axis.sequence)
        two = Axis(names[1], axis.size // first, axis.sequence)
        return replace_axis(target.term, axis.name, (one, two))


def _check_local_names(target: Target, axis: Axis, where: str) -> None:
    """Raises MismatchError if a block calls the axis by another name."""
    for fence in target.circuit.fences:
        if isinstance(fence.term, Block) and fence.term.local:
            _, names = fence.term.to_local(Type(value.array for value in fence.states[0]))
            for own, outer in names.items():
                if own != outer.name and axis.name in (own, outer.name):
                    fact = f"block {fence.title!r} calls {outer.name} by the name {own}"
                    raise MismatchError(fact, where=where, cure="an axis of one name throughout")
