"""Replaces an op by another one of the same type, such as a layer norm by an RMS norm."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from ncd.circuit.circuit import Cell
from ncd.errors import MismatchError
from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.ops import Elementwise, LayerNorm, Linear, Map, Reduce, RMSNorm, Softmax
from ncd.rewrite.rules.rule import LocalRule, Options, Replacement, Target, op_at, pick

Choices = dict[str, Term]  # the new op by the name of the choice, with its axis behind a colon
ACTIVATIONS = {
    "relu": "ReLU",
    "gelu": "GELU",
    "silu": "SiLU",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "softplus": "softplus",
}
REDUCTIONS = {"mean": "the mean", "sum": "the sum", "max": "the largest", "min": "the smallest"}
WORDS = {
    **ACTIVATIONS,
    **REDUCTIONS,
    "softmax": "softmax",
    "layer-norm": "layer norm",
    "rms-norm": "RMS norm",
    "no-bias": "a linear map without bias",
    "bias": "an affine map, with a bias",
}


def _activations() -> Choices:
    return {name: Elementwise(name) for name in ACTIVATIONS}


def _for_elementwise(op: Elementwise, cell: Cell) -> Choices:
    if op.function not in ("sigmoid", "exp"):
        return _activations()
    along = {axis.name: axis for axis in reversed(cell.site.inputs[0])}
    softmaxes = {f"softmax:{name}": Softmax(Array((axis,))) for name, axis in along.items()}
    return {**softmaxes, **_activations()}


def _for_map(op: Map, cell: Cell) -> Choices:
    """Returns the activations in the place of a formula of single numbers, such as a GELU."""
    return _activations() if op.dom == op.signature.cod and not op.reads else {}


def _for_layer_norm(op: LayerNorm, cell: Cell) -> Choices:
    return {"rms-norm": RMSNorm(op.axes, op.name, op.eps)} if op.affine else {}


def _for_rms_norm(op: RMSNorm, cell: Cell) -> Choices:
    return {"layer-norm": LayerNorm(op.axes, op.name, op.eps)}


def _for_reduce(op: Reduce, cell: Cell) -> Choices:
    return {name: replace(op, how=name) for name in REDUCTIONS}


def _for_softmax(op: Softmax, cell: Cell) -> Choices:
    return {"sigmoid": Elementwise("sigmoid"), "relu": Elementwise("relu")}


def _for_linear(op: Linear, cell: Cell) -> Choices:
    return {"no-bias" if op.bias else "bias": replace(op, bias=not op.bias)}


CHOICES: Mapping[type, Callable[..., Choices]] = {
    Elementwise: _for_elementwise,
    Map: _for_map,
    Softmax: _for_softmax,
    LayerNorm: _for_layer_norm,
    RMSNorm: _for_rms_norm,
    Reduce: _for_reduce,
    Linear: _for_linear,
}


class Replace(LocalRule):
    """Puts another op of the same type in the place of an op; its layer keeps its name."""

    name: ClassVar[str] = "replace"

    def candidates(self, target: Target) -> Iterator[tuple[str, Options]]:
        if target.cell is not None:
            for name in _choices(target.cell):
                yield target.place, {"by": name}

    def title(self, options: Options) -> str:
        kind, _, axis = str(options["by"]).partition(":")
        return f"Replace by {WORDS[kind]}" + (f" along {axis}" if axis else "")

    def replacement(self, target: Target, options: Options) -> Replacement:
        cell, where = op_at(target, "Replace"), f"Replace {target.words}"
        choices = _choices(cell)
        if not choices:
            raise MismatchError(
                f"nothing stands for {cell.op.display_name}",
                where=where,
                cure=f"one of {', '.join(sorted(kind.__name__ for kind in CHOICES))}",
            )
        return Replacement({target.path: choices[pick(options, "by", choices, where)]})


def _choices(cell: Cell) -> Choices:
    make = CHOICES.get(type(cell.op))
    found = make(cell.op, cell) if make is not None else {}
    return {name: choice for name, choice in found.items() if choice != cell.op}
