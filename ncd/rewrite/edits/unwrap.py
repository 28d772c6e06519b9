"""Takes away what stands around a part: a fence, a repetition, a residual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from ncd.circuit.circuit import Cell
from ncd.errors import MismatchError
from ncd.language.axes import Axis
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Term, rewrite_axes
from ncd.rewrite.rules.rule import (
    NO_OPTIONS,
    Options,
    Replacement,
    Rule,
    Target,
    Weights,
    cells_within,
    count_option,
    move_parameters,
    scope_around,
)

MOST_LAYERS = 64


class Unwrap(Rule):
    """Takes the fence of a block away, or the repetition of a single layer."""

    name: ClassVar[str] = "unwrap"
    is_law: ClassVar[bool] = True

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.fence is not None and isinstance(target.fence.term, Block | Repeat):
            yield target.place, NO_OPTIONS

    def title(self, options: Options) -> str:
        return "Take its frame away"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Unwrap {target.words}"
        part = target.part
        if isinstance(part, Repeat):
            body = _only_body(part, where)
        elif isinstance(part, Block):
            body = _body_outside(part, target, where)
        else:
            fact = f"{target.words} is neither a block nor a repetition"
            raise MismatchError(fact, where=where, cure="the id of a block, such as f0")
        inner = target.fence.scope if target.fence is not None else ()
        inner = (*inner, "0") if isinstance(part, Repeat) and not part.shared else inner
        outer, cells = scope_around(target), cells_within(target)
        if len(inner) <= len(outer):
            return Replacement({target.path: body})
        _check_free(target, cells, inner, outer, where)
        moved = move_parameters(cells, lambda path: _move_path(path, inner, outer))
        return Replacement({target.path: body}, moved)


def _move_path(path: str, inner: tuple[str, ...], outer: tuple[str, ...]) -> str:
    return ".".join((*outer, *path.split(".")[len(inner) :]))


def _check_free(
    target: Target,
    cells: tuple[Cell, ...],
    inner: tuple[str, ...],
    outer: tuple[str, ...],
    where: str,
) -> None:
    """Raises MismatchError if a layer outside has the name that one inside would get."""
    n, ids = len(outer), {cell.id for cell in cells}
    others = (cell.path.split(".") for cell in target.circuit.cells if cell.id not in ids)
    taken = {path[n] for path in others if tuple(path[:n]) == outer and len(path) > n}
    for cell in cells:
        own = cell.path.split(".")[len(inner)] if cell.name else ""
        if own in taken:
            fact = f"a layer {own} stands inside it and another one outside"
            raise MismatchError(fact, where=where, cure="another name for one of them")


def _only_body(part: Repeat, where: str) -> Term:
    if len(part.bodies) > 1 or part.memory:
        fact = f"it has {len(part.bodies)} layers"
        if part.memory:
            fact += ", which share a memory"
        raise MismatchError(fact, where=where, cure="a repetition of one layer")
    return part.bodies[0]


def _body_outside(part: Block, target: Target, where: str) -> Term:
    """Returns the body of a block, in which axes have the names that they have around it."""
    if not part.local:
        return part.body
    _, names = part.to_local(target.inputs)
    outer = [axis.name for axis in names.values()]
    inside = {axis.name for cell in cells_within(target) for axis in cell.site.axes}
    if len({*outer}) < len(outer) or inside - {*names} & {*outer}:
        raise MismatchError(
            "one axis outside has two names inside, or the other way",
            where=where,
            bound=target.inputs.axes,
            cure="a block whose names mean one axis each",
        )
    return _rename_axes(part.body, {name: axis.name for name, axis in names.items()})


def _rename_axes(term: Term, names: Mapping[str, str]) -> Term:
    def renamed(axis: Axis) -> Axis:
        return replace(axis, name=names.get(axis.name, axis.name))

    found: Term = rewrite_axes(term, renamed)
    return found


class LayerCount(Rule):
    """Repeats equal layers more or fewer times."""

    name: ClassVar[str] = "layer-count"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        part = target.part if target.is_part else None
        if isinstance(part, Repeat) and len({*part.bodies}) == 1:
            n = len(part.bodies)
            for count in (n + 1, n - 1):
                if 1 <= count <= MOST_LAYERS:
                    yield target.place, {"count": count}

    def title(self, options: Options) -> str:
        return f"Repeat × {options['count']}"

    def replacement(self, target: Target, options: Options) -> Replacement:
        part, where = target.part, f"Layers of {target.words}"
        count = count_option(options, "count", MOST_LAYERS, where)
        if not isinstance(part, Repeat) or len({*part.bodies}) > 1:
            fact = f"{target.words} is no repetition of equal layers"
            raise MismatchError(fact, where=where, cure="the id of a repetition")
        return Replacement({target.path: replace(part, bodies=part.bodies[:1] * count)})


class ShareWeights(Rule):
    """Gives all layers of a repetition the same weights, or each layer its own."""

    name: ClassVar[str] = "share-weights"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        part = target.part if target.is_part else None
        if isinstance(part, Repeat) and len(part.bodies) > 1:
            yield target.place, {"shared": not part.shared}

    def title(self, options: Options) -> str:
        shared = options["shared"]
        return "Share the weights of all layers" if shared else "Give each layer its own weights"

    def replacement(self, target: Target, options: Options) -> Replacement:
        part, where = target.part, f"Weights of {target.words}"
        if not isinstance(part, Repeat) or len({*part.bodies}) > 1:
            fact = f"{target.words} is no repetition of equal layers"
            raise MismatchError(fact, where=where, cure="the id of a repetition")
        shared = options.get("shared") is True
        scope = (*scope_around(target), target.fence.scope[-1] if target.fence else part.name)
        prefix = ".".join(scope)
        names = [f"{prefix}." if part.shared else f"{prefix}.{i}." for i in range(len(part.bodies))]
        new = [f"{prefix}." if shared else f"{prefix}.{i}." for i in range(len(part.bodies))]

        def moved(old: Weights) -> Weights:
            pairs = zip(names[:1] if shared else names, new, strict=False)
            return {
                after + name[len(before) :]: x
                for before, after in pairs
                for name, x in old.items()
                if name.startswith(before)
            }

        return Replacement({target.path: replace(part, shared=shared)}, moved)
