"""Finds the functions of torch that a graph writes out step by step."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

import torch
from torch import Tensor, fx
from torch.export import ExportedProgram
from torch.nn import functional as F

from ncd.importing.base.memory_views import in_place, source
from ncd.importing.idioms.forms import matches
from ncd.importing.idioms.graph_forms import (
    PASSED,
    GraphForm,
    NoForm,
    inputs_of,
    is_real,
    learned_rows,
    name_of,
)
from ncd.importing.idioms.patterns import ANCHORS, patterns

ENDS = ("add", "div", "mul", "reciprocal")  # the last calls of all patterns
FEW = 3  # of equal rows on which a function is tried
LARGEST = 2**24  # numbers of them
NEAR = 40  # calls before the last one that are looked at


@dataclass(frozen=True, eq=False)
class Idiom:
    """A function of torch that a graph writes out.

    Args:
        name: The function, such as ``layer norm``.
        last: The node that gives its result.
        x: The node of its array.
        dims: The dimensions along which it sums, from the first.
        eps: The number that is added to a mean square; 0 of a function without one.
        learned: The nodes of its factors ``w`` and sums ``b``.
        inner: The calls that it consists of, the last one included.

    Source: this project's own.
    """

    name: str
    last: fx.Node
    x: fx.Node
    dims: tuple[int, ...]
    eps: float
    learned: Mapping[str, fx.Node]
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
        idiom = _at(node, learned)
        if idiom is not None and not changed & {*idiom.inner, idiom.x}:
            found[node.name] = idiom
            taken |= idiom.inner
    return found


def absorbed(found: Collection[Idiom]) -> set[fx.Node]:
    """Returns the calls that are parts of idioms, and that nothing else uses."""
    last = {idiom.last for idiom in found}
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


def _at(last: fx.Node, learned: Mapping[str, Tensor]) -> Idiom | None:
    """Returns the function of which a node gives the result."""
    near = _near(last)
    if not any(name_of(node) in ANCHORS for node in near):
        return None
    shape = last.meta["val"].shape
    for x in reversed(near):
        if is_real(x) and x.meta["val"].shape == shape:
            for idiom in _of(last, x, learned):
                if agrees(idiom, learned):
                    return idiom
    return None


def _near(last: fx.Node) -> list[fx.Node]:
    """Returns the nodes before a call from which it may be computed, the nearest first."""
    found: dict[fx.Node, None] = {}
    waiting = [last]
    while waiting and len(found) < NEAR:
        for node in inputs_of(waiting.pop(0)):
            if node not in found:
                found[node] = None
                waiting.append(node)
    return [*found]


def _of(last: fx.Node, x: fx.Node, learned: Mapping[str, Tensor]) -> Iterator[Idiom]:
    """Yields the functions of ``x`` that a node may give."""
    read = GraphForm(x, learned)
    try:
        form = read.of(last)
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
    few = [n if i in idiom.dims else min(n, FEW) for i, n in shape]  # rows are all alike
    if prod(few) > LARGEST:
        return False
    rows = idiom.learned.values()
    values = {idiom.x: drawn(few)} | {row: drawn(row.meta["val"].shape) for row in rows}
    expected = torch_result(
        idiom, values[idiom.x], {name: values[node] for name, node in idiom.learned.items()}
    )
    for node in idiom.last.graph.nodes:
        if node in idiom.inner:
            if name_of(node) in PASSED:  # whose rounding is no part of a function
                values[node] = values[node.all_input_nodes[0]]
                continue
            args, named = fx.node.map_arg((node.args, node.kwargs), values.__getitem__)
            values[node] = node.target(*args, **{**named})
    return torch.allclose(values[idiom.last], expected, rtol=1e-4, atol=1e-5)


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
