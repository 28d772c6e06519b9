"""Reads a part of torch's graph as a form of one array."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import prod
from typing import Any

import torch
from torch import Tensor, fx

from ncd.importing.base.memory_views import in_place
from ncd.importing.idioms.forms import Form, named
from ncd.importing.idioms.patterns import function, mean

PASSED = ("_to_copy", "alias", "clone", "contiguous", "to", "type_as")  # give the same numbers
SPREAD = ("expand", "reshape", "unsqueeze", "view")  # of learned rows, to the rank of an array
LARGEST = ("amax", "max")


class NoForm(Exception):
    """A part of a graph that is more than a form of one array."""


def name_of(node: fx.Node) -> str:
    """Returns the name of the function that a node calls, such as ``mean`` of ``aten.mean.dim``."""
    return str(node.target).split(".")[1] if str(node.target).startswith("aten.") else ""


class GraphForm:
    """A node of a graph as a form of ``x``; ``learned`` are the nodes of parameters.

    ``dims`` are the dimensions along which it sums, ``inner`` the calls that it consists of, and
    ``rows`` the shapes in which parameters meet the array.
    """

    def __init__(self, x: fx.Node, learned: Mapping[str, Any]) -> None:
        self.x, self.learned = x, learned
        self.dims: tuple[int, ...] | None = None
        self.inner: set[fx.Node] = set()
        self.rows: dict[fx.Node, tuple[int, ...]] = {}
        self._read: dict[fx.Node, Form] = {}  # as a node may be an input of many others

    @property
    def count(self) -> int:
        """The count of numbers in each sum."""
        return prod(self.x.meta["val"].shape[i] for i in self.dims or ())

    def of(self, node: Any) -> Form:
        """Returns the form of a node or a number; raises NoForm."""
        if node is self.x:
            return named("x")
        if isinstance(node, int | float):
            return Form(float(node))
        if not isinstance(node, fx.Node) or node.op not in ("call_function", "placeholder"):
            raise NoForm
        if (row := self._row(node)) is not None:
            return named(row)
        if node.op == "placeholder" or in_place(node):
            raise NoForm
        if node.target is operator.getitem:
            return self._value_of_largest(node)
        reader = READERS.get(name_of(node))
        if reader is None:
            raise NoForm
        if node not in self._read:
            self.inner.add(node)
            self._read[node] = reader(self, node)
        return self._read[node]

    def _row(self, node: fx.Node) -> fx.Node | None:
        """Returns the parameter that a node is, perhaps in another shape."""
        first, through = node, []
        while first.op == "call_function" and name_of(first) in SPREAD:
            through.append(first)
            first = first.args[0]  # type: ignore[assignment]
            if not isinstance(first, fx.Node):
                return None
        if first.op != "placeholder" or first.name not in self.learned:
            return None
        shape = tuple(node.meta["val"].shape)
        if self.rows.setdefault(first, shape) != shape:
            raise NoForm
        self.inner |= {*through}
        return first

    def _value_of_largest(self, node: fx.Node) -> Form:
        source = node.args[0]
        if node.args[1] != 0 or not isinstance(source, fx.Node) or name_of(source) != "max":
            raise NoForm
        self.inner |= {node, source}
        return _largest(self, source)

    def along(self, node: fx.Node, dims: Any, kept: bool) -> None:
        """Records the dimensions of a sum; raises NoForm if they are not those of the others."""
        source = node.args[0]
        rank = self.x.meta["val"].dim()
        if not isinstance(source, fx.Node) or source.meta["val"].dim() != rank or dims is None:
            raise NoForm
        given = dims if isinstance(dims, list | tuple) else [dims]
        found = tuple(sorted(i % rank for i in given)) or tuple(range(rank))
        if self.dims not in (None, found) or not (kept or _put_back(node, found)):
            raise NoForm
        self.dims = found


def _put_back(node: fx.Node, dims: Sequence[int]) -> bool:
    """Returns whether a sum without its dimension is used with it, or broadcasts as if it were."""
    if [*dims] == [*range(len(dims))]:
        return True
    users = [user for user in node.users if name_of(user) == "unsqueeze"]
    return len(users) == len(node.users) > 0 and all(
        len(dims) == 1 and user.args[1] % user.meta["val"].dim() == dims[0] for user in users
    )


def _setting(node: fx.Node, place: int, name: str, usual: Any) -> Any:
    return node.args[place] if len(node.args) > place else node.kwargs.get(name, usual)


def _sum(form: GraphForm, node: fx.Node, sign: float = 1.0) -> Form:
    scale: Any = _setting(node, 2, "alpha", 1)
    return form.of(node.args[0]) + form.of(node.args[1]).scaled(sign * scale)


def _quotient(form: GraphForm, node: fx.Node) -> Form:
    if node.kwargs.get("rounding_mode") is not None:
        raise NoForm
    return form.of(node.args[0]) * form.of(node.args[1]) ** -1


def _power(form: GraphForm, node: fx.Node) -> Form:
    exponent = node.args[1]
    if not isinstance(exponent, int | float) or not isinstance(node.args[0], fx.Node):
        raise NoForm
    return form.of(node.args[0]) ** float(exponent)


def _passed(form: GraphForm, node: fx.Node) -> Form:
    """Returns the form of the same numbers, if both are real."""
    source = node.args[0]
    if not isinstance(source, fx.Node) or not (is_real(node) and is_real(source)):
        raise NoForm
    return form.of(source)


def _total(form: GraphForm, node: fx.Node) -> Form:
    form.along(node, _setting(node, 1, "dim", None), bool(_setting(node, 2, "keepdim", False)))
    return function("total", form.of(node.args[0]))


def _mean(form: GraphForm, node: fx.Node) -> Form:
    found = _total(form, node)
    return found.scaled(1 / form.count)


def _variance(form: GraphForm, node: fx.Node) -> Form:
    dims = _setting(node, 1, "dim", None)
    unbiased = _setting(node, 2, "unbiased", True)
    correction: Any = node.kwargs.get("correction", 1 if unbiased else 0)
    form.along(node, dims, bool(_setting(node, 3, "keepdim", False)))
    left = form.count - (1 if correction is None else float(correction))
    if left <= 0:
        raise NoForm
    inner = form.of(node.args[0])
    centred = inner + mean(inner, form.count).scaled(-1.0)
    return function("total", centred**2).scaled(1 / left)


def _largest(form: GraphForm, node: fx.Node) -> Form:
    """Returns the largest number along the dimensions of the sums, or of the whole array."""
    if len(node.args) > 1:
        dims, kept = node.args[1], bool(_setting(node, 2, "keepdim", False))
        form.along(node, dims, kept)
    return function("largest", form.of(node.args[0]))


def _back(form: GraphForm, node: fx.Node) -> Form:
    """Returns the form of a sum whose dimension is put back."""
    source = node.args[0]
    if not isinstance(source, fx.Node) or name_of(source) not in ("mean", "sum", "var", "amax"):
        raise NoForm
    return form.of(source)


def _called(name: str, form: GraphForm, node: fx.Node) -> Form:
    return function(name, form.of(node.args[0]))


READERS: dict[str, Callable[[GraphForm, fx.Node], Form]] = {
    "add": _sum,
    "amax": _largest,
    "div": _quotient,
    "max": _largest,
    "mean": _mean,
    "mul": lambda form, node: form.of(node.args[0]) * form.of(node.args[1]),
    "neg": lambda form, node: form.of(node.args[0]).scaled(-1.0),
    "pow": _power,
    "reciprocal": lambda form, node: form.of(node.args[0]) ** -1,
    "rsqrt": lambda form, node: form.of(node.args[0]) ** -0.5,
    "rsub": lambda form, node: form.of(node.args[1]) + form.of(node.args[0]).scaled(-1.0),
    "sqrt": lambda form, node: form.of(node.args[0]) ** 0.5,
    "square": lambda form, node: form.of(node.args[0]) ** 2,
    "sub": lambda form, node: _sum(form, node, -1.0),
    "sum": _total,
    "unsqueeze": _back,
    "var": _variance,
    **dict.fromkeys(PASSED, _passed),
    **{name: partial(_called, name) for name in ("erf", "exp", "sigmoid", "tanh")},
}


def inputs_of(node: fx.Node) -> list[fx.Node]:
    """Returns the nodes that a call of a form reads; none of another call."""
    known = node.op == "call_function" and name_of(node) in READERS
    largest = node.target is operator.getitem and name_of(node.all_input_nodes[0]) == "max"
    return node.all_input_nodes if known or largest else []


def is_real(node: fx.Node) -> bool:
    """Returns whether a node gives one array of real numbers."""
    val = node.meta.get("val")
    return isinstance(val, Tensor) and val.is_floating_point() and isinstance(val.numel(), int)


def learned_rows(names: Mapping[str, str], state: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Returns the parameters of a graph by the names of their nodes."""
    return {node: state[name] for node, name in names.items() if name in state}
