"""Reads one call of torch's graph after the other: as an op, in smaller calls, or as a box."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor, fx
from torch.utils._pytree import tree_leaves

from ncd.importing.base.atoms import CannotSplit
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import (
    CannotImport,
    Constant,
    ImportFailed,
    Path,
    Refused,
    Value,
)
from ncd.importing.base.memory_views import ignored, in_place, source
from ncd.importing.boxes import boxed, operator_name
from ncd.importing.calls import CALLS
from ncd.importing.calls.complex_calls import Pair, product
from ncd.importing.calls.conversion_calls import as_whole
from ncd.importing.decompositions import DEEP, decomposed
from ncd.importing.idioms.idiom_reader import read_idiom
from ncd.importing.idioms.idiom_search import Idiom, absorbed
from ncd.importing.module_paths import module_path
from ncd.ops.torch_calls.given import MOST


class Undivided(Exception):
    """A call that has neither an op nor smaller calls that have."""


class CallReader:
    """Reads calls, and keeps their results by their nodes.

    ``forced`` are nodes that become boxes, with the reason; ``layers`` are modules that are no
    blocks, ``idioms`` functions that are written out, by their last nodes, and ``prefix`` is the
    beginning of all names of modules.
    """

    def __init__(
        self,
        builder: Builder,
        forced: Mapping[str, str],
        layers: Collection[str],
        prefix: str,
        idioms: Mapping[str, Idiom],
    ) -> None:
        self.builder, self.forced, self.idioms = builder, forced, idioms
        self.absorbed = absorbed(idioms.values())
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
        if node.name in self.idioms:
            return self._idiom(node)
        args, named = self.look(node.args), self.look(dict(node.kwargs))
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            return self._inside(node, args)
        if ignored(node):
            return None
        if node.target is operator.getitem:
            return args[0][args[1]]
        if not isinstance(node.target, torch._ops.OpOverload) and None in args:
            return None  # about a size that is not known
        if not _depends([args, named]):
            found = self._folded(node, args, named)
            large = isinstance(found, Constant) and found.tensor.numel() > MOST
            if not large or not any(isinstance(x, Constant) for x in tree_leaves((args, named))):
                return found  # else a table, which its own calls make in the term
        val = node.meta.get("val")
        if isinstance(val, Tensor) and 0 in [n for n in val.shape if isinstance(n, int)]:
            return Constant(torch.empty(val.shape, dtype=val.dtype))
        return self._built(node, list(args), named)

    def _path(self, node: fx.Node) -> Path:
        return module_path(node, self.layers, self.prefix)

    def _where(self, node: fx.Node) -> str:
        path = self._path(node)
        return path[-1][0] if path else ""

    def _inside(self, node: fx.Node, args: Any) -> Any:
        """Returns the results of a part of the graph that runs in a mode, such as without
        gradients.
        """
        at = next((i for i, x in enumerate(args) if isinstance(x, fx.GraphModule)), None)
        if at is None or "wrap" not in str(node.target):
            raise ImportFailed(f"{node.target} cannot be imported", where=self._where(node))
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

    def _folded(self, node: fx.Node, args: Any, named: Any) -> Any:
        """Computes a call that depends on no input and no parameter."""

        def real(x: Any) -> Any:
            if isinstance(x, list):
                return [real(each) for each in x]
            return x.tensor if isinstance(x, Constant) else x

        if torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ()):
            self.builder.drawn.append(node.name)
        with torch.no_grad():
            found = node.target(*map(real, args), **{k: real(v) for k, v in named.items()})  # type: ignore[operator]
        if isinstance(found, tuple | list):
            return [Constant(x) if isinstance(x, Tensor) else x for x in found]
        return Constant(found) if isinstance(found, Tensor) else found

    def _built(self, node: fx.Node, args: list[Any], named: dict[str, Any]) -> Any:
        """Returns the result of a call: of its op, of smaller calls, or of a box."""
        g, val = self.builder, node.meta.get("val")
        mark, forced = g.mark(), "" if self.outer else self.forced.get(node.name, "")
        target = operator_name(str(node.target), val)
        name = target.split(".")[1] if target.startswith("aten.") else target
        self._at(node)
        try:
            if forced:
                raise Undivided(forced)
            return as_whole(g, self._by_op(name, args, named), val)
        except (CannotImport, CannotSplit, Undivided) as error:
            why = str(error)
        except Exception as error:  # whatever a handler raises for what nobody has thought of
            why = f"it is called in a way that is not known ({fact(error)})"
        g.back_to(mark)
        if not forced and (found := self._in_parts(node, name, args, named)) is not None:
            return found
        g.back_to(mark)
        if self.outer:
            raise Undivided(why)
        self._at(node)
        g.boxes[node.name] = name.removesuffix("_"), why
        try:
            return boxed(g, target, args, named, val)
        except CannotImport as error:
            fault = f"{target} cannot be imported: {error}"
            raise ImportFailed(fault, where=self._where(node), cure="another way") from None

    def _idiom(self, node: fx.Node) -> Value:
        """Returns the result of a function that is written out; raises Refused if it has no op."""
        self._at(node)
        try:
            return read_idiom(self.builder, self.idioms[node.name], self.env)
        except (CannotImport, CannotSplit) as error:
            raise Refused({node.name: str(error)}) from None

    def _by_op(self, name: str, args: list[Any], named: dict[str, Any]) -> Any:
        """Returns the result of a function by its reader; raises Undivided if it has none."""
        handler = CALLS.get(name) or CALLS.get(name.removesuffix("_"))
        if any(isinstance(x, Pair) for x in args) and name == "mul":
            handler = product
        if handler is None:
            raise Undivided(f"{name} has no op of its own")
        return handler(self.builder, *args, **named)

    def _at(self, node: fx.Node) -> None:
        """Tells the builder which node is read."""
        g, val = self.builder, node.meta.get("val")
        g.node = (self.outer[0] if self.outer else node).name
        g.path = self.inside if self.outer else self._path(node)
        items = (user for user in node.users if user.target is operator.getitem and user.users)
        g.used = frozenset(item.args[1] for item in items if isinstance(item.args[1], int))
        first = val[0] if isinstance(val, tuple | list) and val else val
        if isinstance(first, Tensor):
            g.shape = tuple(first.shape)
        g.dtype = val.dtype if isinstance(val, Tensor) else torch.float32

    def _in_parts(self, node: fx.Node, name: str, args: Any, named: Any) -> Any:
        """Returns the result of a call as that of smaller calls, in a block with its name.

        Returns None where torch has none, or one of them has no op either.
        """
        parts = decomposed(node) if len(self.outer) < DEEP else None
        arrays = [x for x in tree_leaves((args, named)) if isinstance(x, Value | Constant | Pair)]
        if parts is None or len(arrays) != len(parts.graph.find_nodes(op="placeholder")):
            return None
        if not self.outer:
            path, name = self._path(node), name.removesuffix("_")
            around = f"{path[-1][0]}." if path else ""
            self.inside = (*path, (f"{around}{name}@{node.name}", name))
        self.outer.append(node)
        try:
            return self._of_parts(parts, arrays, node.meta.get("val"))
        except Undivided:
            return None
        finally:
            self.outer.pop()

    def _of_parts(self, parts: fx.GraphModule, arrays: list[Any], val: Any) -> Any:
        """Returns the result of smaller calls; raises Undivided where one of them has no op."""
        given = iter(arrays)
        for node in parts.graph.nodes:
            if node.op == "placeholder":
                self.env[node] = self._taken(node, next(given))
            elif node.op == "output":
                return _shaped_as(self.look(node.args[0]), val)
            elif node.op == "get_attr":
                self.env[node] = Constant(getattr(parts, str(node.target)))
            else:
                self.read(node)
        return None

    def _taken(self, node: fx.Node, x: Any) -> Any:
        """Returns what a part takes; a parameter that several take is one array."""
        learned = isinstance(x, Constant) and bool(x.name)
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
            tuple(one.tensor.shape) if isinstance(one, Constant) else getattr(one, "shape", None)
        )
        if isinstance(two, Tensor) and [type(n) for n in two.shape] != [int] * two.dim():
            raise Undivided("a result whose shape depends on its numbers")
        if isinstance(two, Tensor) and shape != tuple(two.shape):
            raise Undivided("a result of another shape")
    return found


def fact(error: Exception) -> str:
    """Returns an error of Python as text, with its class where that says what is wrong."""
    text = " ".join(str(error).split())
    return text if len(text.split()) > 1 else f"{type(error).__name__} {text}".strip()


def _depends(x: Any) -> bool:
    """Returns whether any argument depends on an input or on a real parameter."""
    if isinstance(x, list | tuple | dict):
        return any(map(_depends, x.values() if isinstance(x, dict) else x))
    if isinstance(x, Constant):
        real = isinstance(x.tensor, Tensor) and x.tensor.is_floating_point()
        return bool(x.name) and real
    return isinstance(x, Value | Pair)
