"""Finds functions of torch that a graph writes out step by step, and reads each as its op.

A form is a sum of products of bases with exponents: ``x / (1 + y)`` and ``x * (1 + y) ** -1`` are
the same form. Products are not multiplied out.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from math import prod
from typing import Any

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.nn import functional as F

from ncd.read.torch_calls.elementwise_calls import gelu, unary_named
from ncd.read.torch_calls.import_recorder import DimensionBuilder, ImportedConstant, ImportedValue
from ncd.read.torch_calls.norm_calls import layer_norm, rms_norm
from ncd.read.torch_calls.product_calls import softmax
from ncd.read.torch_module.torch_export import in_place, source

# --- Expressions of one array in a normal form, so that spellings of one function are equal

Base = Any  # a name, such as "x"; a function of a form, such as ("exp", form); or a Form
Factors = frozenset[tuple[Base, float]]
Binding = dict[str, Any]


@dataclass(frozen=True)
class Form:
    """A number, and products with their coefficients, which are added up."""

    number: float = 0.0
    terms: frozenset[tuple[Factors, float]] = field(default_factory=frozenset)

    @property
    def only_product(self) -> tuple[Factors, float] | None:
        """The only product of the form; None if it is a sum."""
        return next(iter(self.terms)) if len(self.terms) == 1 and not self.number else None

    def __add__(self, other: Form) -> Form:
        found = dict(self.terms)
        for factors, coefficient in other.terms:
            found[factors] = found.get(factors, 0.0) + coefficient
        kept = frozenset((key, value) for key, value in found.items() if value)
        return Form(self.number + other.number, kept)

    def __mul__(self, other: Form) -> Form:
        if not self.terms or not other.terms:
            scale, form = (self, other) if not self.terms else (other, self)
            return form.scaled(scale.number)
        (one, a), (two, b) = self.product(), other.product()
        found = dict(one)
        for base, exponent in two:
            found[base] = found.get(base, 0.0) + exponent
        left = frozenset((base, exponent) for base, exponent in found.items() if exponent)
        return Form(0.0, frozenset({(left, a * b)})) if left else Form(a * b)

    def scaled(self, factor: float) -> Form:
        """Returns the form times a number; a sum becomes one base."""
        if not factor or not self.terms:
            return Form(self.number * factor)
        factors, coefficient = self.product()
        if coefficient * factor == 1.0 and (base := _alone(factors)) is not None:
            return base
        return Form(0.0, frozenset({(factors, coefficient * factor)}))

    def product(self) -> tuple[Factors, float]:
        """Returns the form as one product, in which a sum is a base."""
        return self.only_product or (frozenset({(self, 1.0)}), 1.0)

    def __pow__(self, exponent: float) -> Form:
        if not self.terms:
            return Form(math.pow(self.number, exponent))  # raises ValueError for no real number
        factors, coefficient = self.product()
        whole = float(exponent).is_integer()
        if not whole and (coefficient != 1.0 or len(factors) > 1):
            factors, coefficient = frozenset({(self, 1.0)}), 1.0  # a root of a product is a base
        raised = frozenset((base, power * exponent) for base, power in factors)
        return Form(0.0, frozenset({(raised, coefficient**exponent)}))


def _alone(factors: Factors) -> Form | None:
    """Returns the only factor of a product, where that is a sum."""
    ((base, exponent),) = factors if len(factors) == 1 else ((None, 0.0),)
    return base if isinstance(base, Form) and exponent == 1.0 else None


def base_form(base: Base) -> Form:
    """Returns a form that is one base.

    >>> x = base_form("x")
    >>> x * x == x**2, x * Form(2.0) == x + x, (x + Form(1.0)) ** -1 == (Form(1.0) + x) ** -1
    (True, True, True)
    """
    return Form(0.0, frozenset({(frozenset({(base, 1.0)}), 1.0)}))


def matches(pattern: Form, form: Form, bound: Binding) -> Iterator[Binding]:
    """Yields how the names of a pattern can stand for parts of a form.

    ``eps`` stands for a number, ``w`` and ``b`` for any base that is a node of a graph.
    """
    now = _number(pattern.number, form.number, bound)
    if now is None:
        return
    own, terms = [*pattern.terms], [*form.terms]
    free = [each for each in own if each[0] == frozenset({("eps", 1.0)})]
    if free and len(terms) == len(own) - 1 and form.number > 0 and not pattern.number:
        own.remove(free[0])
        yield from _terms(own, terms, {**bound, "eps": form.number})
    elif pattern.number or not form.number:
        yield from _terms(own, terms, now)


def _number(one: float, two: float, bound: Binding) -> Binding | None:
    return bound if not one or math.isclose(one, two, rel_tol=1e-5) else None


def _terms(own: list[Any], terms: list[Any], bound: Binding) -> Iterator[Binding]:
    """Yields the ways to pair the products of two sums."""
    if len(own) != len(terms):
        return
    if not own:
        yield bound
        return
    factors, coefficient = own[0]
    for i, (others, found) in enumerate(terms):
        if math.isclose(coefficient, found, rel_tol=1e-5):
            for each in _factors([*factors], [*others], bound):
                yield from _terms(own[1:], [*terms[:i], *terms[i + 1 :]], each)


def _factors(own: list[Any], others: list[Any], bound: Binding) -> Iterator[Binding]:
    """Yields the ways to pair the factors of two products."""
    if len(own) != len(others):
        return
    if not own:
        yield bound
        return
    base, exponent = own[0]
    for i, (other, power) in enumerate(others):
        if exponent == power:
            for each in _bases(base, other, bound):
                yield from _factors(own[1:], [*others[:i], *others[i + 1 :]], each)


def _bases(base: Base, other: Base, bound: Binding) -> Iterator[Binding]:
    if isinstance(base, Form):
        if isinstance(other, Form):
            yield from matches(base, other, bound)
    elif isinstance(base, tuple):
        if isinstance(other, tuple) and base[0] == other[0]:
            yield from matches(base[1], other[1], bound)
    elif base in ("w", "b"):
        if not isinstance(other, str | tuple | Form) and bound.get(base, other) is other:
            yield {**bound, base: other}
    elif base == other:
        yield bound


# --- The functions that are recognised where a module writes them out, as formulas of ``x``

LAYER_NORM_FORMULA = "(x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + eps)"
# The function of torch, by what it computes. ``w`` and ``b`` are learned, ``eps`` is a number;
# ``mean``, ``total`` and ``largest`` are along some dimensions, and keep these.
PATTERNS: tuple[tuple[str, str], ...] = (
    ("silu", "x * sigmoid(x)"),
    ("silu", "x / (1 + exp(-x))"),
    ("sigmoid", "1 / (1 + exp(-x))"),
    ("gelu", "x / 2 * (1 + erf(x / 2 ** 0.5))"),
    ("gelu tanh", "x / 2 * (1 + tanh((2 / pi) ** 0.5 * (x + 0.044715 * x ** 3)))"),
    ("gelu tanh", "x / 2 * (1 + tanh((2 / pi) ** 0.5 * x * (1 + 0.044715 * x ** 2)))"),
    ("softmax", "exp(x) / total(exp(x))"),
    ("softmax", "exp(x - largest(x)) / total(exp(x - largest(x)))"),
    ("layer norm", f"{LAYER_NORM_FORMULA} * w + b"),
    ("layer norm", f"{LAYER_NORM_FORMULA} * w"),
    ("layer norm", LAYER_NORM_FORMULA),
    ("rms norm", "x / sqrt(mean(x ** 2) + eps) * w"),
)
ANCHORS = ("erf", "exp", "pow", "rsqrt", "sigmoid", "sqrt", "tanh")  # one is in each of them


@dataclass(frozen=True)
class Pattern:
    """A function of torch with the normal form of what it computes."""

    name: str
    form: Form


@lru_cache(maxsize=64)
def patterns(count: int) -> tuple[Pattern, ...]:
    """Returns all patterns for means of ``count`` numbers.

    >>> [pattern.name for pattern in patterns(4)][:3]
    ['silu', 'silu', 'sigmoid']
    """
    return tuple(
        Pattern(name, _form(ast.parse(text, mode="eval").body, count)) for name, text in PATTERNS
    )


def function(name: str, form: Form) -> Form:
    """Returns a function of a form."""
    return base_form((name, form))


def mean(form: Form, count: int) -> Form:
    """Returns a mean as a sum over so many numbers."""
    return function("total", form).scaled(1 / count)


CONSTANTS: Mapping[str, float] = {"pi": 3.141592653589793}


def _form(node: ast.expr, count: int) -> Form:
    """Returns the normal form of a formula of the table."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return Form(float(value))
        case ast.Name(id=name):
            return Form(CONSTANTS[name]) if name in CONSTANTS else base_form(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _form(inner, count).scaled(-1.0)
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            form = _form(inner, count)
            if name == "sqrt":
                return form**0.5
            return mean(form, count) if name == "mean" else function(name, form)
        case ast.BinOp(left=left, op=op, right=right):
            return _combine_forms(_form(left, count), op, _form(right, count))
    raise AssertionError(ast.unparse(node))


def _combine_forms(one: Form, op: ast.operator, two: Form) -> Form:
    match op:
        case ast.Add():
            return one + two
        case ast.Sub():
            return one + two.scaled(-1.0)
        case ast.Mult():
            return one * two
        case ast.Div():
            return one * two**-1
        case _:
            return one**two.number


# --- Reads a part of torch's graph as a form of one array

IDENTITY_CALLS = (
    "_to_copy",
    "alias",
    "clone",
    "contiguous",
    "to",
    "type_as",
)  # give the same numbers
SPREAD = ("expand", "reshape", "unsqueeze", "view")  # of learned rows, to the rank of an array


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

    def form_of(self, node: Any) -> Form:
        """Returns the form of a node or a number; raises NoForm."""
        if node is self.x:
            return base_form("x")
        if isinstance(node, int | float):
            return Form(float(node))
        if not isinstance(node, fx.Node) or node.op not in ("call_function", "placeholder"):
            raise NoForm
        if (row := self._row(node)) is not None:
            return base_form(row)
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

    def record_sum_dims(self, node: fx.Node, dims: Any, kept: bool) -> None:
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
    return form.form_of(node.args[0]) + form.form_of(node.args[1]).scaled(sign * scale)


def _quotient(form: GraphForm, node: fx.Node) -> Form:
    if node.kwargs.get("rounding_mode") is not None:
        raise NoForm
    return form.form_of(node.args[0]) * form.form_of(node.args[1]) ** -1


def _power(form: GraphForm, node: fx.Node) -> Form:
    exponent = node.args[1]
    if not isinstance(exponent, int | float) or not isinstance(node.args[0], fx.Node):
        raise NoForm
    return form.form_of(node.args[0]) ** float(exponent)


def _source_form(form: GraphForm, node: fx.Node) -> Form:
    """Returns the form of the same numbers, if both are real."""
    source = node.args[0]
    if not isinstance(source, fx.Node) or not (is_real(node) and is_real(source)):
        raise NoForm
    return form.form_of(source)


def _total(form: GraphForm, node: fx.Node) -> Form:
    form.record_sum_dims(
        node, _setting(node, 1, "dim", None), bool(_setting(node, 2, "keepdim", False))
    )
    return function("total", form.form_of(node.args[0]))


def _mean(form: GraphForm, node: fx.Node) -> Form:
    found = _total(form, node)
    return found.scaled(1 / form.count)


def _variance(form: GraphForm, node: fx.Node) -> Form:
    dims = _setting(node, 1, "dim", None)
    unbiased = _setting(node, 2, "unbiased", True)
    correction: Any = node.kwargs.get("correction", 1 if unbiased else 0)
    form.record_sum_dims(node, dims, bool(_setting(node, 3, "keepdim", False)))
    left = form.count - (1 if correction is None else float(correction))
    if left <= 0:
        raise NoForm
    inner = form.form_of(node.args[0])
    centred = inner + mean(inner, form.count).scaled(-1.0)
    return function("total", centred**2).scaled(1 / left)


def _largest(form: GraphForm, node: fx.Node) -> Form:
    """Returns the largest number along the dimensions of the sums, or of the whole array."""
    if len(node.args) > 1:
        dims, kept = node.args[1], bool(_setting(node, 2, "keepdim", False))
        form.record_sum_dims(node, dims, kept)
    return function("largest", form.form_of(node.args[0]))


def _back(form: GraphForm, node: fx.Node) -> Form:
    """Returns the form of a sum whose dimension is put back."""
    source = node.args[0]
    if not isinstance(source, fx.Node) or name_of(source) not in ("mean", "sum", "var", "amax"):
        raise NoForm
    return form.form_of(source)


def _function_form(name: str, form: GraphForm, node: fx.Node) -> Form:
    return function(name, form.form_of(node.args[0]))


READERS: dict[str, Callable[[GraphForm, fx.Node], Form]] = {
    "add": _sum,
    "amax": _largest,
    "div": _quotient,
    "max": _largest,
    "mean": _mean,
    "mul": lambda form, node: form.form_of(node.args[0]) * form.form_of(node.args[1]),
    "neg": lambda form, node: form.form_of(node.args[0]).scaled(-1.0),
    "pow": _power,
    "reciprocal": lambda form, node: form.form_of(node.args[0]) ** -1,
    "rsqrt": lambda form, node: form.form_of(node.args[0]) ** -0.5,
    "rsub": lambda form, node: form.form_of(node.args[1]) + form.form_of(node.args[0]).scaled(-1.0),
    "sqrt": lambda form, node: form.form_of(node.args[0]) ** 0.5,
    "square": lambda form, node: form.form_of(node.args[0]) ** 2,
    "sub": lambda form, node: _sum(form, node, -1.0),
    "sum": _total,
    "unsqueeze": _back,
    "var": _variance,
    **dict.fromkeys(IDENTITY_CALLS, _source_form),
    **{name: partial(_function_form, name) for name in ("erf", "exp", "sigmoid", "tanh")},
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


# --- Finds the functions of torch that a graph writes out step by step

ENDS = ("add", "div", "mul", "reciprocal")  # the last calls of all patterns
MAX_TRIED_ROWS = 3  # of equal rows on which a function is tried
LARGEST = 2**24  # numbers of them
MAX_CALLS = 40  # calls before the last one that are looked at


@dataclass(frozen=True, eq=False)
class Idiom:
    """A function of torch that a graph writes out.

    Args:
        name: The function, such as ``layer norm``.
        result_node: The node that gives its result.
        x: The node of its array.
        dims: The dimensions along which it sums, from the first.
        eps: The number that is added to a mean square; 0 of a function without one.
        parameter_nodes: The nodes of its factors ``w`` and sums ``b``.
        inner: The calls that it consists of, the last one included.

    Source: this project's own.
    """

    name: str
    result_node: fx.Node
    x: fx.Node
    dims: tuple[int, ...]
    eps: float
    parameter_nodes: Mapping[str, fx.Node]
    inner: frozenset[fx.Node]


def idioms(program: ExportedProgram) -> dict[str, Idiom]:
    """Returns the functions that a graph writes out, by the names of their last nodes.

    Larger ones come first: what is a part of one is not found again.
    """
    signature = program.graph_signature
    learned = learned_rows(signature.inputs_to_parameters, program.state_dict)
    changed = {source(node) for node in program.graph.nodes if _changes(node)}
    found: dict[str, Idiom] = {}
    taken: set[fx.Node] = set()
    for node in reversed(list(program.graph.nodes)):
        if node in taken or name_of(node) not in ENDS or not is_real(node):
            continue
        idiom = _idiom_at(node, learned)
        if idiom is not None and not changed & {*idiom.inner, idiom.x}:
            found[node.name] = idiom
            taken |= idiom.inner
    return found


def inner_calls(found: Collection[Idiom]) -> set[fx.Node]:
    """Returns the calls that are parts of idioms, and that nothing else uses."""
    last = {idiom.result_node for idiom in found}
    inner = {node for idiom in found for node in idiom.inner}
    gone: set[fx.Node] = {*last}
    nodes: list[fx.Node] = [*next(iter(last)).graph.nodes] if last else []
    for node in reversed(nodes):
        unused = node.target is operator.getitem and not node.users  # the places of a maximum
        if (node in inner or unused) and all(user in gone for user in node.users):
            gone.add(node)
    return gone - last


def _changes(node: fx.Node) -> bool:
    return node.op == "call_function" and in_place(node)


def _idiom_at(last: fx.Node, learned: Mapping[str, Tensor]) -> Idiom | None:
    """Returns the function of which a node gives the result."""
    near = _nearby_nodes(last)
    if not any(name_of(node) in ANCHORS for node in near):
        return None
    shape = last.meta["val"].shape
    for x in reversed(near):
        if is_real(x) and x.meta["val"].shape == shape:
            for idiom in _candidate_idioms(last, x, learned):
                if agrees(idiom, learned):
                    return idiom
    return None


def _nearby_nodes(last: fx.Node) -> list[fx.Node]:
    """Returns the nodes before a call from which it may be computed, the nearest first."""
    found: dict[fx.Node, None] = {}
    waiting = [last]
    while waiting and len(found) < MAX_CALLS:
        for node in inputs_of(waiting.pop(0)):
            if node not in found:
                found[node] = None
                waiting.append(node)
    return [*found]


def _candidate_idioms(last: fx.Node, x: fx.Node, learned: Mapping[str, Tensor]) -> Iterator[Idiom]:
    """Yields the functions of ``x`` that a node may give."""
    read = GraphForm(x, learned)
    try:
        form = read.form_of(last)
    except (NoForm, ArithmeticError, ValueError):  # such as a part that is divided by 0
        return
    for pattern in patterns(read.count):
        for bound in matches(pattern.form, form, {}):
            eps, rows = bound.pop("eps", 0.0), {**bound}
            dims = read.dims or ()
            if all(_fits(read, node, dims) for node in rows.values()):
                yield Idiom(pattern.name, last, x, dims, eps, rows, frozenset(read.inner))


def _fits(read: GraphForm, node: fx.Node, dims: tuple[int, ...]) -> bool:
    """Returns whether a parameter has one number for each place along some dimensions."""
    shape = tuple(read.x.meta["val"].shape)
    wanted = [n if i in dims else 1 for i, n in enumerate(shape)]
    row = read.rows[node]
    return [*(1,) * (len(shape) - len(row)), *row] == wanted


def agrees(idiom: Idiom, learned: Mapping[str, Tensor]) -> bool:
    """Returns whether an idiom's calls give what torch's function gives for random numbers."""
    random = torch.Generator().manual_seed(0)

    def drawn(shape: Iterable[int]) -> Tensor:
        return torch.randn([*shape], generator=random)

    shape = enumerate(idiom.x.meta["val"].shape)
    few = [n if i in idiom.dims else min(n, MAX_TRIED_ROWS) for i, n in shape]  # rows are all alike
    if prod(few) > LARGEST:
        return False
    rows = idiom.parameter_nodes.values()
    values = {idiom.x: drawn(few)} | {row: drawn(row.meta["val"].shape) for row in rows}
    expected = torch_result(
        idiom, values[idiom.x], {name: values[node] for name, node in idiom.parameter_nodes.items()}
    )
    for node in idiom.result_node.graph.nodes:
        if node in idiom.inner:
            if name_of(node) in IDENTITY_CALLS:  # whose rounding is no part of a function
                values[node] = values[node.all_input_nodes[0]]
                continue
            args, named = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            values[node] = node.target(*args, **{**named})
    return torch.allclose(values[idiom.result_node], expected, rtol=1e-4, atol=1e-5)


def torch_result(idiom: Idiom, x: Tensor, learned: Mapping[str, Tensor]) -> Tensor:
    """Returns what torch's own function gives."""
    rows = {name: row.reshape([x.shape[i] for i in idiom.dims]) for name, row in learned.items()}
    match idiom.name:
        case "silu":
            return F.silu(x)
        case "sigmoid":
            return x.sigmoid()
        case "gelu":
            return F.gelu(x)
        case "gelu tanh":
            return F.gelu(x, approximate="tanh")
        case "softmax":
            return x.softmax(idiom.dims[0])
    last = [*range(x.dim() - len(idiom.dims), x.dim())]
    turned = x.movedim(idiom.dims, last)
    shape, w = turned.shape[last[0] :], rows.get("w")
    if idiom.name == "rms norm":
        found = F.rms_norm(turned, [*shape], w, idiom.eps)
    else:
        found = F.layer_norm(turned, [*shape], w, rows.get("b"), idiom.eps)
    return found.movedim(last, idiom.dims)


# --- Reads a function of torch that a graph writes out as that function's op

Norm = Callable[..., ImportedValue]


def read_idiom(g: DimensionBuilder, idiom: Idiom, env: Mapping[fx.Node, Any]) -> ImportedValue:
    """Adds the op of a function that a graph writes out; raises CannotImport if it has none.

    Args:
        g: The record of the import at the function's last node.
        idiom: The function.
        env: The results of nodes so far.
    """
    x = g.value(env[idiom.x])
    match idiom.name:
        case "gelu tanh":
            return gelu(g, x, approximate="tanh")
        case "softmax":
            return softmax(g, x, *idiom.dims)
        case "layer norm":
            return _norm(g, layer_norm, idiom, x, env)
        case "rms norm":
            return _norm(g, rms_norm, idiom, x, env)
    return unary_named(g, x, idiom.name)


def _norm(
    g: DimensionBuilder, norm: Norm, idiom: Idiom, x: ImportedValue, env: Mapping[fx.Node, Any]
) -> ImportedValue:
    """Adds a norm along any dimensions; torch's own are along the last."""
    others = [i for i in range(len(x.dims)) if i not in idiom.dims]
    order = [*others, *idiom.dims]
    shape = [x.shape[i] for i in idiom.dims]
    rows = (
        env[idiom.parameter_nodes[name]] for name in ("w", "b") if name in idiom.parameter_nodes
    )
    turned = ImportedValue(tuple(x.dims[i] for i in order), x.slot)
    found = norm(g, turned, shape, *(_row(row, shape) for row in rows), eps=idiom.eps)
    back = [order.index(i) for i in range(len(order))]
    return ImportedValue(tuple(found.dims[i] for i in back), found.slot)


def _row(row: ImportedConstant, shape: list[int]) -> ImportedConstant:
    """Returns a parameter without its dimensions of size 1."""
    if [*row.tensor.shape] == shape:
        return row
    return ImportedConstant(row.tensor.reshape(shape), row.name, rows=row.rows)
