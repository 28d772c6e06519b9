"""Puts something around an op or a block: a residual, a norm, a repetition, a fence, an adapter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from ncd.errors import MismatchError
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Add, Linear
from ncd.rewrite.rules.rule import (
    NO_OPTIONS,
    LocalRule,
    Options,
    Replacement,
    Target,
    cells_within,
    count_option,
    fresh_copy,
    move_parameters,
    op_at,
    scope_around,
    unused_axis_name,
    unused_layer_name,
)

MOST_LAYERS, MOST_RANK = 64, 4096


def on_copies(array: Array, first: Term, second: Term) -> Term:
    """Returns two parts on copies of one array, one above the other."""
    return Wire(Signature(Type((array,)), Type((array, array)))) >> first @ second


def check_single(target: Target, where: str) -> Array:
    """Returns the only array that a part takes; raises MismatchError for other parts."""
    sides = target.inputs, target.outputs
    if any(len(side) != 1 or not is_real(side) for side in sides):
        raise MismatchError(
            f"it takes ({target.inputs}) and gives ({target.outputs})",
            where=where,
            cure="an op or a block that takes one array of real numbers and gives one",
        )
    return target.inputs[0]


def check_keeps_type(target: Target, where: str) -> None:
    """Raises MismatchError for a part that gives other arrays than it takes."""
    if target.inputs != target.outputs:
        raise MismatchError(
            f"it takes ({target.inputs}) and gives ({target.outputs})",
            where=where,
            bound=target.inputs.axes,
            cure="an op or a block that gives the axes that it takes",
        )


class WrapResidual(LocalRule):
    """Adds what a part takes to what it gives."""

    name: ClassVar[str] = "residual"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part:
            yield target.place, NO_OPTIONS

    def title(self, options: Options) -> str:
        return "Wrap in a residual connection"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Residual around {target.words}"
        array = check_single(target, where)
        check_keeps_type(target, where)
        around = on_copies(array, target.part, Id(Type((array,)))) >> Add()
        return Replacement({target.path: around})


class WrapRepeat(LocalRule):
    """Runs a part several times, each time with weights of its own."""

    name: ClassVar[str] = "repeat"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part and target.inputs == target.outputs and is_real(target.inputs):
            yield target.place, {"times": 2}

    def title(self, options: Options) -> str:
        return f"Repeat × {options['times']}, each with weights of its own"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Repeat {target.words}"
        check_keeps_type(target, where)
        times = count_option(options, "times", MOST_LAYERS, where)
        name = unused_layer_name(target.circuit, "layers")
        cells, scope = cells_within(target), scope_around(target)
        inside, before = ".".join((*scope, name, "0")), len(scope)

        def move(path: str) -> str:
            return ".".join((inside, *path.split(".")[before:]))

        repeated = Repeat((target.part,) * times, name)
        return Replacement({target.path: repeated}, move_parameters(cells, move))


def is_real(arrays: Type) -> bool:
    return bool(arrays) and all(array.below is None for array in arrays)


class WrapBlock(LocalRule):
    """Puts a fence around a part; its layers keep their names."""

    name: ClassVar[str] = "fence"
    is_law: ClassVar[bool] = True

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part:
            yield target.place, {"title": "Block"}

    def title(self, options: Options) -> str:
        return f"Put a fence around it, titled {options['title']}"

    def replacement(self, target: Target, options: Options) -> Replacement:
        return Replacement({target.path: Block(target.part, options.get("title", "Block"))})


class LowRankAdapter(LocalRule):
    """Adds a product of two narrow maps to a linear map; the second of them begins at 0."""

    name: ClassVar[str] = "low-rank-adapter"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.cell is not None and isinstance(target.cell.op, Linear):
            yield target.place, {"rank": 4}

    def title(self, options: Options) -> str:
        return f"Add a low-rank adapter of rank {options['rank']}"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Adapter of {target.words}"
        cell = op_at(target, where)
        if not isinstance(cell.op, Linear):
            fact = f"{cell.op.display_name} is no linear map"
            raise MismatchError(fact, where=where, cure="the id of a Linear")
        size = count_option(options, "rank", MOST_RANK, where)
        rank = Type((Array((Axis(unused_axis_name(target.circuit, "r"), size),)),))
        down = Linear(Signature(cell.site.own_inputs, rank), fresh(target, "lora_A"))
        up = Linear(Signature(rank, cell.site.own_outputs), fresh(target, "lora_B"), init="0")
        return Replacement(
            {target.path: on_copies(cell.site.inputs[0], cell.op, down >> up) >> Add()}
        )


def fresh(target: Target, name: str) -> str:
    """Returns a name for a new layer."""
    return unused_layer_name(target.circuit, name)


class Duplicate(LocalRule):
    """Puts a second part with weights of its own beside a part, and adds what both give."""

    name: ClassVar[str] = "duplicate"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.is_part:
            yield target.place, NO_OPTIONS

    def title(self, options: Options) -> str:
        return "Duplicate beside, and add both"

    def replacement(self, target: Target, options: Options) -> Replacement:
        array = check_single(target, f"Duplicate {target.words}")
        second = fresh_copy(target.part, target.circuit)
        return Replacement({target.path: on_copies(array, target.part, second) >> Add()})
