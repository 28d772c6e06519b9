"""Random steps of every op through its samples, so that a new op needs no maker of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from ncd import Array, Axis, Beside, Id, Linear, Map, NCDError, Op, Opaque, Param, Term, Type
from ncd.formulas.formula import Application, Formula, Name, Number, Operand
from ncd.language.terms import rewrite_axes
from ncd.ops import CATALOGUE
from tests.support.draws import Draws

NAMES = ("Q", "K", "V", "O", "L", "proj", "forward", "norm")
# A call by its name has just the axes that it says, and so no batch in front.
SAMPLES = {op: op.examples() for op in CATALOGUE if op is not Opaque}


def sampled(d: Draws, given: Type) -> Term | None:
    """An op as one of its samples has it: on inputs of its own, or on arrays made to fit."""
    sample = d.one(SAMPLES[d.one([*SAMPLES])])
    dom = Type.parse(sample.dom)
    names = {axis.name: d.name() for axis in (*dom.axes, *own_axes(sample.op))}
    op = sample.op
    if d.yes():
        op, dom = renamed(op, names), called(dom, names)
    if not sample.alone and d.yes():
        dom = wider(d, op, dom)
    if d.yes():
        return Id(given) @ (Id(dom) >> op)
    return fitted(d, given, dom) >> op if dom else op


def own_axes(op: Op) -> tuple[Axis, ...]:
    return (*op.signature.dom.axes, *op.signature.cod.axes, *op.reads)


def called(value: Type, names: Mapping[str, str]) -> Type:
    """The arrays with other names for their axes; a label stays."""
    return rewrite_axes(value, lambda axis: replace(axis, name=names.get(axis.name, axis.name)))


def renamed_leaves(formula: Formula, names: Mapping[str, str]) -> Formula:
    """The formula with other names for its axes and their sizes."""
    if isinstance(formula, Application):
        parts = tuple(renamed_leaves(part, names) for part in formula.parts)
        return Application(formula.operation, parts)
    if not isinstance(formula, Name):
        return formula
    bare = formula.text.removeprefix("n_")
    start = formula.text.removesuffix(bare)
    return Name(names.get(formula.text, start + names.get(bare, bare)))


def renamed(op: Op, names: Mapping[str, str]) -> Op:
    """The op with other names for its axes, in its formulas and places too."""
    identifiers = {Axis(old).identifier: Axis(new).identifier for old, new in names.items()}
    values = {}
    for f in fields(op):  # type: ignore[arg-type]
        value = getattr(op, f.name)
        if isinstance(value, Name | Application | Number | Operand):
            values[f.name] = renamed_leaves(value, identifiers)
        elif f.name == "at":
            values[f.name] = tuple((names.get(name, name), place) for name, place in value)
        else:
            values[f.name] = called(value, names)
    return type(op)(**values)


def wider(d: Draws, op: Op, dom: Type) -> Type:
    """The arrays with one axis more, over which the op is broadcast, if it takes them so."""
    (more,) = Array.parse(d.axis())
    which = [i for i in range(len(dom)) if d.yes()] or [0]
    front = d.yes()
    wide = Type(
        array.with_axes((more, *array) if front else (*array, more)) if i in which else array
        for i, array in enumerate(dom)
    )
    try:
        op.infer_outputs(wide)
    except NCDError:
        return dom
    return wide


def fitted(d: Draws, given: Type, dom: Type) -> Term:
    """Arrays of these types, the first out of what is there if both are real numbers."""
    parts = [constant(d, array) for array in dom]
    if given and given[0].below is None and dom[0].below is None:
        parts[0] = Id(given[0:1] and Type(given[:1])) >> Linear(
            f"{given[0]} -> {dom[0].spec}", d.one(NAMES)
        )
    return Beside(*parts)


def constant(d: Draws, array: Array) -> Term:
    """A learned array, or one of whole numbers by a formula of the positions."""
    if array.below is None:
        return Param(array, d.one(NAMES), "normal")
    plain = [axis.identifier for axis in array if not axis.spatial]
    places = " + ".join(f"{i + 1} * {name}" for i, name in enumerate(plain)) or "1"
    return Map(f"-> {array.spec}", f"({places}) % {array.below.numel}")
