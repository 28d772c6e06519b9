"""Systems written as functions of named arrays; wires follow from the names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any, overload

from ncd.circuit.elaborate import Axes
from ncd.errors import MismatchError, ParseError, short_repr
from ncd.language.axes import Array, Type
from ncd.language.step_wires import AppliedTerm, wire_together
from ncd.language.terms import CALLS, Term


@dataclass(frozen=True, eq=False)
class NamedArray:
    """An array inside a definition: its axes, and its number."""

    axes: Array

    def __iter__(self) -> Any:
        raise MismatchError(f"({self.axes}) is one array", cure="one name for it")

    def __add__(self, other: object) -> Any:
        raise MismatchError("arrays are added by an op, not by +", cure="Add()(x, y)")

    def __mul__(self, other: object) -> Any:
        cure = f'Map("{self.axes}, {self.axes} -> {self.axes}", "$1 * $2")(x, y)'
        raise MismatchError("arrays are multiplied by an op, not by *", cure=cure)

    __radd__, __rmul__ = __add__, __mul__


class Definition:
    """The steps of a system while it is written down.

    Args:
        inputs: The axes of its inputs by their names.
    """

    def __init__(self, inputs: Mapping[str, str]) -> None:
        self.inputs = {name: NamedArray(_parse_array(axes, name)) for name, axes in inputs.items()}
        self.steps: list[AppliedTerm] = []
        self.arrays = {array: array.axes for array in self.inputs.values()}

    def call(self, term: Term, arrays: tuple[Any, ...]) -> Any:
        """Adds a step; returns its output, or several of them as a tuple.

        Raises:
            MismatchError: For arrays that do not fit the term.
        """
        where = type(term).__name__
        for array in arrays:
            if array not in self.arrays:
                raise MismatchError(
                    f"{short_repr(array)} is no array of this definition", where=where, cure="x"
                )
        if len(arrays) != len(term.dom):
            fact = f"it takes {len(term.dom)} arrays ({term.dom}), but is given {len(arrays)}"
            raise MismatchError(fact, where=where, cure=f"arrays like ({term.dom})")
        made = tuple(NamedArray(one) for one in term.infer_outputs(Type(a.axes for a in arrays)))
        self.arrays |= {array: array.axes for array in made}
        self.steps.append(AppliedTerm(term, arrays, made))
        return made if len(made) != 1 else made[0]

    def term(self, outputs: Any) -> Term:
        """Returns the term that gives these arrays.

        Raises:
            MismatchError: For something else than arrays.
        """
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        for array in outputs:
            if not isinstance(array, NamedArray) or array not in self.arrays:
                fact = f"it returns {short_repr(array)}, which is no array"
                raise MismatchError(fact, cure="return x")
        inputs = (*self.inputs.values(),)
        steps = self.steps  # all of them: a layer whose result nobody uses has weights too
        if len(steps) == 1 and (steps[0].takes, steps[0].gives) == (inputs, outputs):
            whole = steps[0].term
            if whole.dom == Type(array.axes for array in inputs):
                return whole
        return wire_together(steps, inputs, outputs, self.arrays)


def _parse_array(axes: str, name: str) -> Array:
    """Returns one array from its axes as text."""
    found = Type.parse(axes)
    if len(found) != 1:
        fact = f"the axes of {name} are {short_repr(axes)}, but it is one array"
        raise ParseError(fact, cure=f'{name}: "t m"')
    return found[0]


@overload
def define(function: Callable[..., Any], /) -> Term: ...
@overload
def define(**sizes: Any) -> Callable[[Callable[..., Any]], Term]: ...


def define(
    function: Callable[..., Any] | None = None, /, **sizes: Any
) -> Term | Callable[[Callable[..., Any]], Term]:
    """Returns the term of a function of named arrays; a decorator.

    The annotations of the function are the axes of its arrays. It runs once, on arrays without
    numbers: each call of a term is a step, and its wires follow from the names.

    Args:
        function: The function.
        **sizes: Sizes of axes, as of ``Axes``.

    Returns:
        The term; with sizes alone, the decorator that gives it.

    Raises:
        ParseError: For an input without axes.
        MismatchError: For arrays that do not fit a term.

    Source: einops and jaxtyping, which write axes beside the names of arrays.

    >>> from ncd.ops import Einsum, Softmax
    >>> @define(y=3, x=4, k=5)
    ... def attention(q: "y k", k: "x k", v: "x k"):
    ...     scores = Einsum("y k, x k -> y x")(q, k)
    ...     return Einsum("y x, x k -> y k")(Softmax("x")(scores), v)
    >>> str(attention.dom), str(attention.cod)
    ('y k, x k, x k', 'y k')
    """
    if function is None:
        return lambda function: _term_of_function(function, sizes)
    return _term_of_function(function, sizes)


def _term_of_function(function: Callable[..., Any], sizes: Mapping[str, Any]) -> Term:
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):  # no function, or one of Python's own
        fact = f"{short_repr(function)} is no function with named arrays"
        raise ParseError(
            fact, where="define", cure='def f(x: "t m"): return Softmax("m")(x)'
        ) from None
    own = Definition({one.name: _axes(one) for one in parameters})
    token = CALLS.set(own.call)
    try:
        returned = function(*own.inputs.values())
    finally:
        CALLS.reset(token)
    term = own.term(returned)
    return Axes(**sizes)(term) if sizes else term


def _axes(parameter: Parameter) -> str:
    """Returns the axes that stand beside an input."""
    axes = parameter.annotation
    if isinstance(axes, str) and axes[:1] in ("'", '"'):  # where annotations are kept as text
        axes = ast.literal_eval(axes)
    if not isinstance(axes, str):
        raise ParseError(f"{parameter.name} has no axes", cure=f'{parameter.name}: "t m"')
    return axes
