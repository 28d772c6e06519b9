"""Reads one call of torch's graph after the other: as an op, in smaller calls, or as a box."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, fx
from torch._decomp import decomposition_table
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Beside, Id, Term, Then
from ncd.ops import Opaque
from ncd.ops.constant_array import MAX_NUMBERS
from ncd.ops.opaque_call import LETTERS, ONE_READ
from ncd.read.torch_calls.call_table import CALLS
from ncd.read.torch_calls.dimension_atoms import (
    CannotSplit,
    Dim,
    all_atoms,
    group_of,
    new_dim,
    resolved_atoms,
    size,
)
from ncd.read.torch_calls.elementwise_calls import CONVERSION_CALLS, as_whole
from ncd.read.torch_calls.import_recorder import (
    COMPLEX,
    Axes,
    CannotImport,
    DimensionBuilder,
    ImportedArray,
    ImportedConstant,
    ImportedValue,
    ImportFailed,
    Path,
    RejectedSteps,
    kind_of,
    reordering_op,
)
from ncd.read.torch_calls.shape_calls import COMPLEX_CALLS, ComplexPair, product
from ncd.read.torch_module.idioms import Idiom, inner_calls, read_idiom
from ncd.read.torch_module.torch_export import in_place, is_ignored, mutates_views, source

# --- Calls that have no op of their own, as named boxes

PAIRS = "pairs of real numbers: torch.view_as_complex of them, products, and torch.view_as_real"
PLACES = ("device", "dtype", "layout", "memory_format", "pin_memory")  # not of the mathematics
VIEWS = ("aten.view.default", "aten._unsafe_view.default")  # which ask how numbers lie in memory


def add_torch_call(
    g: DimensionBuilder,
    target: str,
    args: Sequence[Any],
    named: dict[str, Any],
    val: Any,
    apart: bool = False,
) -> Any:
    """Adds a box that calls a function by its name; returns its results.

    A box that stands ``apart`` has an axis by itself for each dimension that it takes or gives.
    """
    if apart:
        args, named = tree_map_only(ImportedValue, g.as_separate_axes, (args, named))
    taken: list[ImportedValue] = []
    kept = {name: x for name, x in named.items() if x is not None and name not in PLACES}
    words = [_argument_text(g, x, taken) for x in args]
    words += [f"{name}={_argument_text(g, x, taken)}" for name, x in kept.items()]
    if not taken:
        g.reject_call("a call without arrays")
    found = _results(g, target, val, taken)
    if apart:
        for atom in (atom for value in found for atom in all_atoms(value.dims)):
            atom.is_indivisible = atom.alone = True
    target = "aten.reshape" if target in VIEWS else target
    title = target.removesuffix(".default").removesuffix("_").replace("_.", ".")  # not in place
    for value in found:
        g.record_cooccurrence(all_atoms(value.dims))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        ins = [Array(axes(all_atoms(v.dims)), a.below) for v, a in zip(taken, arrays, strict=True)]
        outs = [Array(axes(all_atoms(v.dims)), _bounding_axis(axes, v.slot)) for v in found]
        text = ", ".join(words)
        for i, value in enumerate(taken):  # now that all dimensions have their parts
            text = text.replace(f"<{i}>", f"{LETTERS[i]}{_shape_methods(value)}")
        call: Term = Opaque(Signature(Type(ins), Type(outs)), title, text)
        return _after_reordering(call, ins, arrays)

    g.step(make, taken, [value.slot for value in found])
    more = 0 if isinstance(val, Tensor) else len(val) - len(found)
    return found[0] if isinstance(val, Tensor) else (*found, *[None] * more)


def _after_reordering(call: Term, ins: Sequence[Array], arrays: Sequence[Array]) -> Term:
    """Returns a call behind what brings the axes of arrays into the order that it takes."""
    if all(one.names == two.names for one, two in zip(ins, arrays, strict=True)):
        return call
    moved = (
        Id(Type((array,))) if array.names == own.names else reordering_op(array, own)
        for own, array in zip(ins, arrays, strict=True)
    )
    return Then(Beside(*moved), call)


def operator_name(target: str, val: Any) -> str:
    """Returns the name of a function; for ``a & b`` it includes the kind of numbers.

    A number beside an array stays one: torch has other names for its calls.

    >>> operator_name("aten.__and__.Tensor", torch.ones(2).bool())
    'aten.logical_and.default'
    """
    name = target.removeprefix("aten.").split(".")[0].strip("_").removeprefix("bitwise_")
    if name not in ("and", "or", "xor", "not"):
        return target
    truths = isinstance(val, torch.Tensor) and val.dtype == torch.bool
    kind = "Scalar" if target.endswith(".Scalar") else "Tensor"
    return f"aten.logical_{name}.default" if truths else f"aten.bitwise_{name}.{kind}"


def _bounding_axis(axes: Axes, slot: ImportedArray) -> Any:
    return axes((slot.below,))[0] if slot.below is not None else None


def _argument_text(g: DimensionBuilder, x: Any, taken: list[ImportedValue]) -> str:
    """Returns an argument as text, with ``<0>`` for the first array."""
    if isinstance(x, list | tuple):
        return f"[{', '.join(_argument_text(g, each, taken) for each in x)}]"
    if isinstance(x, ImportedValue | ImportedConstant):
        if len(taken) == len(LETTERS):
            g.reject_call(f"more than {len(LETTERS)} arrays")
        value = _in_groups(g, g.materialise(g.value(x)))
        if isinstance(x, ImportedConstant) and kind_of(x.tensor.dtype) != value.slot.kind:
            g.reject_call("whole numbers below 0, or huge ones")
        taken.append(value)
        return f"<{len(taken) - 1}>"
    if x is None or isinstance(x, bool | int | float | str):
        return repr(x) if not isinstance(x, float) or abs(x) < 1e300 else _infinite(x)
    g.reject_call(f"an argument {x}")


def _infinite(x: float) -> str:
    return "1e999" if x > 0 else "-1e999"


def _in_groups(g: DimensionBuilder, x: ImportedValue) -> ImportedValue:
    """Returns a value whose spatial groups stand as neighbouring dimensions, or have none."""
    atoms = all_atoms(x.dims)
    for i, atom in enumerate(atoms):
        group = group_of(atom)
        if group and group[0] is atom and atoms[i : i + len(group)] != group:
            return g.without_groups(x)
        if group and group[0] is not atom and (i == 0 or atoms[i - 1] not in group):
            return g.without_groups(x)
    return x


def _shape_methods(x: ImportedValue) -> str:
    """Returns the methods that give an array the dimensions of torch."""
    text = ".bool()" if x.slot.kind == "bool" else ""
    for i, dim in enumerate(x.dims):
        count = len(resolved_atoms(dim))
        if count > 1:
            text += f".flatten({i}, {i + count - 1})"
        elif count == 0:
            text += f".unsqueeze({i})"
    return text


def _results(
    g: DimensionBuilder, target: str, val: Any, taken: Sequence[ImportedValue]
) -> list[ImportedValue]:
    """Returns the results that are read; the others of a few functions have a shape that varies."""
    several = val if isinstance(val, tuple | list) else [val]
    one = target.removeprefix("aten.").split(".")[0] in ONE_READ
    found = [_result(g, each, taken) for each in (several[:1] if one else several)]
    g.of_boxes += [value.dims for value in (*taken, *found)]
    return found


def _result(g: DimensionBuilder, val: Any, taken: Sequence[ImportedValue]) -> ImportedValue:
    """Returns a result with the shape that torch gives; equal dimensions keep their atoms."""
    if not isinstance(val, torch.Tensor) or any(not isinstance(n, int) for n in val.shape):
        g.reject_call("a result that is no tensor of a known shape")
    shape = tuple(val.shape)
    if 0 in shape:
        g.reject_call("a result without numbers")
    like = next((x for x in taken if len(x.dims) == len(shape)), None)
    dims: list[Dim] = []
    for i, n in enumerate(shape):
        kept = like is not None and size(like.dims[i]) == n
        dims.append(like.dims[i] if like is not None and kept else new_dim(n))
    atoms = all_atoms(dims)
    if any({*group_of(atom)} - {*atoms} for atom in atoms):
        dims = [new_dim(n) for n in shape]
    kind = kind_of(val.dtype)
    return ImportedValue(tuple(dims), ImportedArray(all_atoms(dims), kind, g.default_bound(kind)))


# --- The modules around a call in torch's graph, by their names and classes


EXTERNAL = "python_source.other_files.ExternalModule"  # the class of what other files define


def module_path(node: fx.Node, layers: Collection[str], prefix: str) -> Path:
    """Returns the modules around a node that are blocks: all but single layers of torch.

    The further calls of a module have a number each, such as ``layers.0@1``.

    Args:
        node: The call.
        layers: Modules that are one layer, and no block.
        prefix: The beginning of all names, which is left out.
    """
    found: list[tuple[str, str]] = []
    for key, (path, kind) in (node.meta.get("nn_module_stack") or {}).items():
        name = kind if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
        call = key.partition("@")[2]
        plain = f"{path.partition('@')[0]}.".removeprefix(prefix).rstrip(".")
        if plain and plain not in layers and not _is_layer(name):
            around = found[-1][0] if found else ""
            whole = f"{around}{plain[len(re.sub('@[0-9]+', '', around)) :]}"
            found.append((f"{whole}@{call}" if call else whole, name.rsplit(".", 1)[-1]))
    return tuple(found)


def _is_layer(name: str) -> bool:
    """Returns whether a class is a single layer of torch, or a box, which needs no block."""
    whole = ("MultiheadAttention", "Transformer")
    if name.endswith(EXTERNAL):
        return True
    return name.startswith("torch.nn.modules") and not any(word in name for word in whole)


# --- Calls that have no op of their own, as smaller calls: torch's own decompositions

DEEP = 4  # decompositions inside others
Table = Mapping[Any, Callable[..., Any]]


def decompose_call(node: fx.Node) -> fx.GraphModule | None:
    """Returns a call of torch's graph as a graph of smaller calls; None where torch knows none.

    Its placeholders are the tensors among the arguments, in their order. Only shapes are computed.

    Source: ``torch._decomp``, whose rules ``torch.export`` and the compiler use as well.

    >>> class Gated(torch.nn.Module):
    ...     def forward(self, x):
    ...         return torch.nn.functional.glu(x)
    >>> graph = torch.export.export(Gated(), (torch.ones(2, 6),)).graph
    >>> smaller = decompose_call(list(graph.nodes)[1])
    >>> [str(one.target) for one in smaller.graph.nodes if "aten" in str(one.target)]
    ['aten.tensor_split.sections', 'aten.sigmoid.default', 'aten.mul.Tensor']
    """
    target: Any = _without_in_place(node.target)
    flat, spec = tree_flatten(tree_map_only(fx.Node, _shape, (node.args, dict(node.kwargs))))
    places = [i for i, x in enumerate(flat) if isinstance(x, Tensor)]
    if not places or any(isinstance(x, fx.Node) for x in flat):
        return None

    def called(run: Callable[..., Any], *tensors: Tensor) -> Any:
        given = list(flat)
        for place, tensor in zip(places, tensors, strict=True):
            given[place] = tensor
        args, named = tree_unflatten(given, spec)
        return run(*args, **named)

    rules = {target: decomposition_table[target]} if target in decomposition_table else {}
    if not rules and not target._can_decompose():  # as no box can
        return None
    run = target if rules else target.decompose
    for early in (True, False):  # before functions are replaced by those that autograd knows
        found = _trace_calls(lambda *xs: called(run, *xs), rules, [flat[i] for i in places], early)
        if found is not None and all(one.target is not target for one in found.graph.nodes):
            return found
    return None


def _trace_calls(
    function: Callable[..., Any], rules: Table, given: list[Tensor], early: bool
) -> fx.GraphModule | None:
    """Returns what a function calls; None for what cannot be traced, or depends on the numbers."""
    try:
        with torch.no_grad():
            found = make_fx(function, decomposition_table=rules, pre_dispatch=early)(*given)
    except Exception:  # whatever torch raises for what a rule does not cover
        return None
    if any(torch.Tag.nondeterministic_seeded in _tags(one) for one in found.graph.nodes):
        return None  # random numbers, which are drawn anew in each run
    if mutates_views(found):
        return None
    held = [getattr(found, str(one.target)) for one in found.graph.nodes if one.op == "get_attr"]
    return None if any(isinstance(x, FakeTensor) for x in held) else found


def _tags(node: fx.Node) -> list[torch.Tag]:
    return getattr(node.target, "tags", [])


def _shape(node: fx.Node) -> Any:
    return node.meta.get("val", node)


def _without_in_place(target: Any) -> Any:
    """Returns the function that gives what another one writes in place."""
    name = target._schema.name.split("::")[-1]
    plain = getattr(torch.ops.aten, name.removesuffix("_"), None)
    if not name.endswith("_") or plain is None:
        return target
    return getattr(plain, target._overloadname, target)


# --- Reads one call of torch's graph after the other: as an op, in smaller calls, or as a box


class UndividedCall(Exception):
    """A call that has neither an op nor smaller calls that have."""


class CallReader:
    """Reads calls, and keeps their results by their nodes.

    ``forced`` are nodes that become boxes, with the reason; ``layers`` are modules that are no
    blocks, ``idioms`` functions that are written out, by their last nodes, and ``prefix`` is the
    beginning of all names of modules.
    """

    def __init__(
        self,
        builder: DimensionBuilder,
        forced: Mapping[str, str],
        layers: Collection[str],
        prefix: str,
        idioms: Mapping[str, Idiom],
    ) -> None:
        self.builder, self.forced, self.idioms = builder, forced, idioms
        self.absorbed = inner_calls(idioms.values())
        self.layers, self.prefix = layers, prefix
        self.env: dict[fx.Node, Any] = {}
        self.outer: list[fx.Node] = []  # calls of which the parts are read
        self.inside: Path = ()  # their block

    def read(self, node: fx.Node) -> None:
        """Stores the result of a call; for a call in place, also as the value of the changed
        tensor.
        """
        if node in self.absorbed:
            return
        found = self.env[node] = self._call(node)
        if in_place(node) and found is not None and len(node.args[0].users) > 1:  # type: ignore[union-attr]
            first = source(node)
            self.env |= {each: found for each in self.env if source(each) is first}

    def _call(self, node: fx.Node) -> Any:
        idiom = self.idioms.get(node.name)
        if idiom is not None and idiom.result_node is node:  # no call inside another, of this name
            return self._idiom(idiom)
        args, named = self.look(node.args), self.look(dict(node.kwargs))
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._read_subgraph(node, args)
        if is_ignored(node):
            return None
        if node.target is operator.getitem:
            return args[0][args[1]]
        if not isinstance(node.target, torch._ops.OpOverload) and None in args:
            return None  # about a size that is not known
        if not _depends([args, named]):
            found = self._constant_result(node, args, named)
            large = isinstance(found, ImportedConstant) and found.tensor.numel() > MAX_NUMBERS
            if not large or not any(
                isinstance(x, ImportedConstant) for x in tree_leaves((args, named))
            ):
                return found  # else a table, which its own calls make in the term
        val = node.meta.get("val")
        if isinstance(val, Tensor) and 0 in [n for n in val.shape if isinstance(n, int)]:
            return ImportedConstant(torch.empty(val.shape, dtype=val.dtype))
        return self._build_result(node, list(args), named)

    def _path(self, node: fx.Node) -> Path:
        return module_path(node, self.layers, self.prefix)

    def _module_name(self, node: fx.Node) -> str:
        path = self._path(node)
        return path[-1][0] if path else ""

    def _read_subgraph(self, node: fx.Node, args: Any) -> Any:
        """Returns the results of a part of the graph that runs in a mode, such as without
        gradients.
        """
        at = next((i for i, x in enumerate(args) if isinstance(x, fx.GraphModule)), None)
        if at is None or "wrap" not in str(node.target):
            raise ImportFailed(f"{node.target} cannot be imported", where=self._module_name(node))
        given = iter(args[at + 1 :])
        for inner in args[at].graph.nodes:
            if inner.op == "placeholder":
                self.env[inner] = next(given)
            elif inner.op == "output":
                return self.look(inner.args[0])
            elif inner.op == "get_attr":
                self.env[inner] = getattr(args[at], str(inner.target))
            else:
                self.read(inner)

    def look(self, x: Any) -> Any:
        if isinstance(x, fx.Node):
            return self.env[x]
        if isinstance(x, tuple | list):
            return [self.look(each) for each in x]
        if isinstance(x, dict):
            return {name: self.look(each) for name, each in x.items()}
        return x

    def _constant_result(self, node: fx.Node, args: Any, named: Any) -> Any:
        """Computes a call that depends on no input and no parameter."""

        def real(x: Any) -> Any:
            if isinstance(x, list):
                return [real(each) for each in x]
            return x.tensor if isinstance(x, ImportedConstant) else x

        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            self.builder.random_calls.append(node.name)
        try:
            with torch.no_grad():
                found = node.target(*map(real, args), **{k: real(v) for k, v in named.items()})  # type: ignore[operator]
        except (IndexError, RuntimeError, TypeError, ValueError) as error:
            raise self._call_error(node, f"torch itself refuses this: {fact(error)}", "") from None
        if isinstance(found, tuple | list):
            return [ImportedConstant(x) if isinstance(x, Tensor) else x for x in found]
        return ImportedConstant(found) if isinstance(found, Tensor) else found

    def _build_result(self, node: fx.Node, args: list[Any], named: dict[str, Any]) -> Any:
        """Returns the result of a call: of its op, of smaller calls, or of a box."""
        g, val = self.builder, node.meta.get("val")
        mark, forced = g.checkpoint(), "" if self.outer else self.forced.get(node.name, "")
        target = operator_name(str(node.target), val)
        name = target.split(".")[1] if target.startswith("aten.") else target
        self._set_current_node(node)
        if _is_complex(val, args, named):
            return self._of_pairs(node, name, args)
        try:
            if forced:
                raise UndividedCall(forced)
            if name in CONVERSION_CALLS and _narrows(node):
                g.narrowed.append(str(g.dtype).removeprefix("torch."))
            return as_whole(g, self._with_whole_groups(name, args, named), val)
        except (CannotImport, CannotSplit, UndividedCall) as error:
            why = str(error)
        except Exception as error:  # whatever a handler raises for what nobody has thought of
            why = f"it is called in a way that is not known ({fact(error)})"
        g.rollback(mark)
        if not forced and (found := self._in_parts(node, name, args, named)) is not None:
            return found
        g.rollback(mark)
        if self.outer:
            raise UndividedCall(why)
        self._set_current_node(node)
        g.boxes[node.name] = name.removesuffix("_"), why
        try:
            return add_torch_call(g, target, args, named, val, apart=bool(forced))
        except CannotImport as error:
            raise self._call_error(node, f"{target} cannot be imported: {error}") from None

    def _of_pairs(self, node: fx.Node, name: str, args: list[Any]) -> Any:
        """Returns complex numbers as pairs of real ones; raises ImportFailed for all others."""
        handler = product if name == "mul" else COMPLEX_CALLS.get(name)
        try:
            if handler is None:
                raise CannotImport(COMPLEX)
            return handler(self.builder, *args)
        except CannotImport as error:
            raise self._call_error(node, f"{name} is of {error}", PAIRS) from None

    def _call_error(self, node: fx.Node, fact: str, cure: str = "another way") -> ImportFailed:
        """Returns the error of a call that cannot even be a box."""
        first = self.outer[0] if self.outer else node
        error = ImportFailed(fact, where=self._module_name(first), cure=cure)
        error.node = first
        return error

    def _idiom(self, idiom: Idiom) -> ImportedValue:
        """Returns the result of a function that is written out.

        Raises RejectedSteps if it has no op.
        """
        self._set_current_node(idiom.result_node)
        try:
            return read_idiom(self.builder, idiom, self.env)
        except (CannotImport, CannotSplit) as error:
            raise RejectedSteps({idiom.result_node.name: str(error)}) from None

    def _with_whole_groups(self, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        """Returns the result of a function by its reader, of plain axes where groups fall apart."""
        g = self.builder
        mark = g.checkpoint()
        found = self._by_op(name, args, named)
        if g.has_part_of_group(mark):
            g.rollback(mark)
            args, named = tree_map_only(ImportedValue, g.without_groups, (args, named))
            found = self._by_op(name, args, named)
            if g.has_part_of_group(mark):
                raise UndividedCall("it takes one side of a spatial group")
        return found

    def _by_op(self, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        """Returns the result of a function by its reader; raises Undivided if it has none."""
        handler = CALLS.get(name) or CALLS.get(name.removesuffix("_"))
        if handler is None:
            raise UndividedCall(f"{name} has no op of its own")
        return handler(self.builder, *args, **named)

    def _set_current_node(self, node: fx.Node) -> None:
        """Tells the builder which node is read."""
        g, val = self.builder, node.meta.get("val")
        g.node = (self.outer[0] if self.outer else node).name
        g.path = self.inside if self.outer else self._path(node)
        items = (user for user in node.users if user.target is operator.getitem and user.users)
        g.used_results = frozenset(item.args[1] for item in items if isinstance(item.args[1], int))
        first = val[0] if isinstance(val, tuple | list) and val else val
        if isinstance(first, Tensor):
            g.shape = tuple(first.shape)
        g.dtype = val.dtype if isinstance(val, Tensor) else torch.float32

    def _in_parts(self, node: fx.Node, name: str, args: Any, named: Any) -> Any:
        """Returns the result of a call as that of smaller calls, in a block with its name.

        Returns None where torch has none, or one of them has no op either.
        """
        parts = decompose_call(node) if len(self.outer) < DEEP else None
        arrays = [
            x
            for x in tree_leaves((args, named))
            if isinstance(x, ImportedValue | ImportedConstant | ComplexPair)
        ]
        if parts is None or len(arrays) != len(parts.graph.find_nodes(op="placeholder")):
            return None
        if not self.outer:
            path, name = self._path(node), name.removesuffix("_")
            around = f"{path[-1][0]}." if path else ""
            self.inside = (*path, (f"{around}{name}@{node.name}", name))
        self.outer.append(node)
        try:
            return self._of_parts(parts, arrays, node.meta.get("val"))
        except UndividedCall:
            return None
        finally:
            self.outer.pop()

    def _of_parts(self, parts: fx.GraphModule, arrays: list[Any], val: Any) -> Any:
        """Returns the result of smaller calls; raises Undivided where one of them has no op."""
        given = iter(arrays)
        for node in parts.graph.nodes:
            if node.op == "placeholder":
                self.env[node] = self._part_input(node, next(given))
            elif node.op == "output":
                return _shaped_as(self.look(node.args[0]), val)
            elif node.op == "get_attr":
                self.env[node] = ImportedConstant(getattr(parts, str(node.target)))
            else:
                self.read(node)
        return None

    def _part_input(self, node: fx.Node, x: Any) -> Any:
        """Returns what a part takes; a parameter that several take is one array."""
        learned = isinstance(x, ImportedConstant) and bool(x.name)
        return self.builder.value(x) if learned and len(node.users) > 1 else x


def _shaped_as(found: Any, val: Any) -> Any:
    """Returns the result of a decomposition; raises Undivided if it is not what torch gives."""
    pairs = zip(
        found if isinstance(found, list) else [found],
        val if isinstance(val, tuple | list) else [val],
        strict=False,
    )
    for one, two in pairs:
        shape = (
            tuple(one.tensor.shape)
            if isinstance(one, ImportedConstant)
            else getattr(one, "shape", None)
        )
        if isinstance(two, Tensor) and [type(n) for n in two.shape] != [int] * two.dim():
            raise UndividedCall("a result whose shape depends on its numbers")
        if isinstance(two, Tensor) and shape != tuple(two.shape):
            raise UndividedCall("a result of another shape")
    return found


def fact(error: Exception) -> str:
    """Returns an error of Python as text, with its class where that says what is wrong."""
    text = " ".join(str(error).split())
    return text if len(text.split()) > 1 else f"{type(error).__name__} {text}".strip()


def _narrows(node: fx.Node) -> bool:
    """Returns whether a call gives real numbers in fewer bits than it takes."""
    first = node.args[0].meta.get("val") if isinstance(node.args[0], fx.Node) else None
    formats = [getattr(x, "dtype", torch.int8) for x in (first, node.meta.get("val"))]
    return all(one.is_floating_point for one in formats) and (
        formats[1].itemsize < formats[0].itemsize
    )


def _is_complex(val: Any, args: Any, named: Any) -> bool:
    """Returns whether a call takes or gives complex numbers."""
    given = [val] if isinstance(val, Tensor) else []
    given += [x.tensor for x in tree_leaves((args, named)) if isinstance(x, ImportedConstant)]
    pairs = any(isinstance(x, ComplexPair) for x in tree_leaves((args, named)))
    return pairs or any(x.is_complex() for x in given)


def _depends(x: Any) -> bool:
    """Returns whether any argument depends on an input or on a real parameter."""
    if isinstance(x, list | tuple | dict):
        return any(map(_depends, x.values() if isinstance(x, dict) else x))
    if isinstance(x, ImportedConstant):
        real = isinstance(x.tensor, Tensor) and x.tensor.is_floating_point()
        return bool(x.name) and real
    return isinstance(x, ImportedValue | ComplexPair)
