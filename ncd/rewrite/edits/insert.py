"""Inserts an op on a wire, such as an activation or a norm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from ncd.circuit.circuit import Boundary, Circuit
from ncd.errors import MismatchError
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import (
    CausalMask,
    Dropout,
    Elementwise,
    LayerNorm,
    Linear,
    RMSNorm,
    Scale,
    Softmax,
)
from ncd.rewrite.rules.rule import (
    Options,
    Replacement,
    Rule,
    Target,
    outer_axes,
    pick,
    unused_layer_name,
)
from ncd.rewrite.rules.term_paths import Path, on_array, part_at

# --- Ops that a wire can be led through: they give the axes that they take


@dataclass(frozen=True)
class NewOp:
    """A kind of op that keeps the axes of its array.

    Args:
        title: Its name in words.
        make: The op, on some axes of an array, for a circuit.
        axes: The choices of its axes on an array; by default it needs none.
    """

    title: str
    make: Callable[[Array, Circuit], Term]
    axes: Callable[[Array], tuple[Array, ...]] = lambda array: (Array(),)


def _features(array: Array) -> tuple[Array, ...]:
    """Returns the single axes that can hold features, the likeliest first: the last one."""
    return tuple(Array((a,)) for a in reversed(array) if not a.sequence and not a.spatial)


def _single_axes(array: Array) -> tuple[Array, ...]:
    return tuple(Array((axis,)) for axis in reversed(array))


def _two_sequences(array: Array) -> tuple[Array, ...]:
    marked = [axis for axis in array if axis.sequence]
    return tuple(Array((one, two)) for one, two in pairwise(marked))


def _square_map(axes: Array, circuit: Circuit) -> Term:
    pattern = Signature(Type((axes,)), Type((axes,)))
    return Linear(pattern, unused_layer_name(circuit, "L"), bias=True)


NEW_OPS: Mapping[str, NewOp] = {
    **{
        name: NewOp(words, lambda axes, circuit, name=name: Elementwise(name))  # type: ignore[misc]
        for name, words in {
            "relu": "ReLU",
            "gelu": "GELU",
            "silu": "SiLU",
            "sigmoid": "sigmoid",
            "tanh": "tanh",
        }.items()
    },
    "layer-norm": NewOp(
        "layer norm", lambda axes, of: LayerNorm(axes, unused_layer_name(of, "norm")), _features
    ),
    "rms-norm": NewOp(
        "RMS norm", lambda axes, of: RMSNorm(axes, unused_layer_name(of, "norm")), _features
    ),
    "linear": NewOp("linear map", _square_map, _features),
    "dropout": NewOp("dropout", lambda axes, of: Dropout(0.1, unused_layer_name(of, "dropout"))),
    "scale": NewOp("scale", lambda axes, of: Scale(axes), _features),
    "softmax": NewOp("softmax", lambda axes, of: Softmax(axes), _single_axes),
    "causal-mask": NewOp("causal mask", lambda axes, of: CausalMask(axes), _two_sequences),
}


# --- The edit


class Insert(Rule):
    """Leads a wire through a new op, which gives the axes that it takes."""

    name: ClassVar[str] = "insert"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        value = target.value
        if target.cell is not None and len(target.cell.outputs) == 1:
            value = target.cell.outputs[0]
        if value is None or value.array.below is not None:
            return
        for name, kind in NEW_OPS.items():
            for axes in kind.axes(value.array):
                yield value.id, {"op": name, **({"axes": str(axes)} if axes else {})}

    def check(self, target: Target, options: Options) -> None:
        (path,) = self.replacement(target, options).parts  # what keeps the axes of an array fits
        if "axes" in options:
            kind = NEW_OPS[options["op"]]
            _check_inside(target, path, options)
            for copy in target.copies():  # whose axes have other names in layers of other sizes
                if copy.value is not None:
                    _chosen_axes(kind, copy.value.array, options, f"Insert on {copy.place}")

    def title(self, options: Options) -> str:
        along = f" over {options['axes']}" if options.get("axes") else ""
        return f"Insert {NEW_OPS[options['op']].title}{along}"

    def replacement(self, target: Target, options: Options) -> Replacement:
        where = f"Insert on {target.words}"
        if target.value is None:
            fact = f"{target.words} is no array"
            raise MismatchError(fact, where=where, cure="the id of an array, such as v0")
        array = target.value.array
        kind = NEW_OPS[pick(options, "op", NEW_OPS, where)]
        axes = _chosen_axes(kind, array, options, where)
        if array.below is not None:
            fact = f"({array}) holds {array.kind}"
            raise MismatchError(fact, where=where, cure="an array of real numbers")
        return Replacement(led_through(target, kind.make(axes, target.circuit)))


def _check_inside(target: Target, path: Path, options: Options) -> None:
    """Raises MismatchError for an axis that the block around a path is broadcast over."""
    array = target.value.array if target.value else Array()
    outside = {*outer_axes(target.term, path, array)} & {*options["axes"].split()}
    if outside:
        fact = f"the block around it works at each place of {', '.join(sorted(outside))} alone"
        raise MismatchError(fact, where=f"Insert on {target.words}", cure="an axis of the block")


def _chosen_axes(kind: NewOp, array: Array, options: Options, where: str) -> Array:
    choices = {str(axes) if axes else "": axes for axes in kind.axes(array)}
    if not choices:
        fact = f"no axis of ({array}) fits a {kind.title}"
        raise MismatchError(fact, where=where, bound=array, cure="an array with such an axis")
    if "axes" not in options:
        return next(iter(choices.values()))
    return choices[pick(options, "axes", choices, where)]


def led_through(target: Target, part: Term) -> dict[Path, Term]:
    """Returns the parts of a term in which an array goes through a step before all that takes it.

    Raises MismatchError for an array that only the inside of an equation has.
    """
    circuit, value = target.circuit, target.place
    maker = circuit.producers.get(value)
    if maker is not None and maker.id in target.paths.by_id:
        place = [own.id for own in maker.outputs].index(value)
        path = target.paths.path(maker.id)
        behind = on_array(part, maker.site.outputs, place)
        return {path: part_at(circuit.term, path) >> behind}
    for path, inputs in ((), circuit.inputs), *_scan_inputs(target):
        ids = [own.id for own in inputs]
        if value in ids:
            arrays = Type(own.array for own in inputs)
            before = on_array(part, arrays, ids.index(value))
            return {path: before >> part_at(circuit.term, path)}
    raise MismatchError(
        f"{value} is a copy for one side of an equation",
        where=f"Insert on {value}",
        cure="an array of one side",
    )


def _scan_inputs(target: Target) -> Iterator[tuple[Path, Boundary]]:
    """Yields the path of each scan's body, and the arrays that it takes."""
    for scan in target.circuit.scans:
        yield (*target.paths.path(scan.id), 0), scan.bodies[0].inputs
