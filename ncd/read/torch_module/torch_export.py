"""Exports a module as a graph of functions: views of memory, experts and norms made plain."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.export import ExportedProgram
from torch.func import functional_call
from torch.fx import GraphModule, Node
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map_only

from ncd.read.torch_calls.import_recorder import ImportFailed
from ncd.read.torch_module.recurrent_shapes import read_shapes_at_once

read_shapes_at_once()

# --- Finds calls that change a tensor in place, and tensors that share their numbers

IGNORED_CALLS = ("_assert", "sym_", "_guards_fn", "_set_grad_enabled", "profiler")
VIEW_CALLS = ("contiguous", "permute", "squeeze", "t", "transpose", "unsqueeze", "view")
HANDED_ON = ("dropout", "feature_dropout")  # give their input itself, in evaluation mode


def in_place(node: Node) -> bool:
    """Returns whether a call changes its first argument, such as ``div_``."""
    name = str(node.target)
    return name.startswith("aten.") and name.split(".")[1].endswith("_") and name[5] != "_"


def counts_batches(node: Node) -> bool:
    """Returns whether a call only counts batches of a batch norm, which affects no result."""
    return in_place(node) and "num_batches" in str(node.args[0])


def is_ignored(node: Node) -> bool:
    """Returns whether a call has no effect on the computed values."""
    return counts_batches(node) or any(word in str(node.target) for word in IGNORED_CALLS)


def uses(node: Node) -> int:
    """Returns how many calls use a tensor, including through views."""
    users = [user for user in node.users if not is_ignored(user)]
    return sum(uses(user) if _name(user) in VIEW_CALLS else 1 for user in users)


def _name(node: Node) -> str:
    """Returns the name of a function, such as ``view`` of ``aten.view.default``."""
    return ".".join(str(node.target).split(".")[1:2])


def source(node: Any) -> Any:
    """Returns the first tensor of a chain of calls in place: all of them are this tensor."""
    while isinstance(node, Node) and node.op == "call_function" and in_place(node):
        node = node.args[0]
    return node


def mutates_views(program: ExportedProgram | GraphModule) -> bool:
    """Returns whether a tensor is changed in place whose numbers another one shares.

    Then the graph has to be traced again, which takes as long as the first time. A tensor that
    stands alone is only another value from there on. Parts that run in a mode, such as without
    gradients, are graphs of their own.
    """
    whole = program.graph_module if isinstance(program, ExportedProgram) else program
    parts = (part for part in whole.modules() if isinstance(part, GraphModule))
    return any(_mutates_views(part.graph) for part in parts)


def _mutates_views(graph: fx.Graph) -> bool:
    """Returns whether one graph changes a tensor in place whose numbers another one shares."""
    nodes = list(graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    changed = (node for node in nodes if node.op == "call_function" and in_place(node))
    return any(_is_shared(node, place) for node in changed if not counts_batches(node))


def _is_shared(node: Node, place: Mapping[Node, int]) -> bool:
    """Returns whether a change in place is visible through other tensors."""
    base = whole = source(node)
    while isinstance(whole, Node) and whole.op == "call_function" and _is_view(whole):
        whole = source(whole.args[0]) if whole.args else None
    if not isinstance(whole, Node) or whole.op != "call_function":
        return True
    others = (one for one in (whole, *_views(whole)) if one is not base)
    before = (one for one in others if place[one] < place[node] and source(one) is not base)
    return any(place[user] > place[node] for one in before for user in one.users)


def _views(base: Node) -> list[Node]:
    """Returns the nodes that share memory with a node, directly or through others."""
    found: list[Node] = []
    for user in base.users:
        changes = user.op == "call_function" and in_place(user)
        if user.args and user.args[0] is base and (changes or _is_view(user)):
            found += [user, *_views(user)]
    return found


def _is_view(node: Node) -> bool:
    """Returns whether a node returns a view of its first argument."""
    if node.op != "call_function":
        return node.op in ("placeholder", "get_attr")
    name = str(node.target)
    if "getitem" in name:
        return _is_view(node.args[0]) if isinstance(node.args[0], Node) else False
    if _name(node) in HANDED_ON:
        return True
    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return True
    return any(given.alias_info is not None for given in schema.returns)


# --- Makes mixtures of experts from ``transformers`` importable, as lookups and products

SETTING = "_experts_implementation"
LOOKED_UP = "batched_mm"  # looks up the weights of each token's experts


@contextmanager
def experts_as_lookup(module: nn.Module) -> Iterator[None]:
    """Replaces, inside ``with``, each expert layer by a lookup of the chosen experts' weights.

    By default the library sorts the tokens by their experts first, which is faster for many of
    them, but says nothing of the mathematics; both give the same numbers.
    """
    configs = {id(c): c for part in module.modules() if (c := getattr(part, "config", None))}
    before = {key: getattr(c, SETTING) for key, c in configs.items() if getattr(c, SETTING, None)}
    for key in before:
        setattr(configs[key], SETTING, LOOKED_UP)
    try:
        yield
    finally:
        for key, value in before.items():
            setattr(configs[key], SETTING, value)


# --- Exports a torch module as a graph of functions, up to the call that fails if one does


@dataclass(frozen=True, eq=False)
class ExportedModule:
    """A module's graph, its inputs as a flat list, and the error with which it stopped.

    ``traced_module`` is the module itself, or runs it up to the call that fails.
    """

    program: ExportedProgram
    inputs: tuple[Any, ...]
    failure: str
    module: nn.Module
    traced_module: nn.Module
    args: tuple[Any, ...]
    named_parts: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"<ExportedModule of {len(self.program.graph.nodes)} nodes>"

    @property
    def prefix(self) -> str:
        """The beginning of all names of modules and parameters."""
        return "" if self.traced_module is self.module else "module."

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the module's results as torch has them; none of a module that fails."""
        outputs = () if self.failure else self.program.graph.output_node().args[0]
        specs = zip(outputs, self.program.graph_signature.output_specs, strict=False)
        nodes = [each for each, spec in specs if not spec.target]  # else an input that is changed
        vals = [each.meta.get("val") for each in nodes if isinstance(each, fx.Node)]
        return tuple(tuple(map(int, val.shape)) for val in vals if isinstance(val, Tensor))

    def run(self) -> tuple[Tensor, ...]:
        """Returns the outputs of the module in evaluation mode, which are tensors.

        Its inputs and buffers stay as they are, also where it changes them in place.
        """
        modes = {each: each.training for each in self.module.modules()}
        self.module.eval()
        try:
            buffers = {name: x.clone() for name, x in self.traced_module.named_buffers()}
            args, named = tree_map_only(Tensor, Tensor.clone, (self.args, dict(self.named_parts)))
            found = functional_call(self.traced_module, buffers, args, named)
        finally:
            for each, mode in modes.items():
                each.training = mode
        return tuple(x for x in tree_leaves(found) if isinstance(x, Tensor))


def export_module(
    module: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]
) -> ExportedModule:
    """Returns the functional graph of a module; raises ImportFailed if it cannot be exported."""
    formats = {name: x for name, x in named.items() if isinstance(x, FORMATS)}
    named = {name: x for name, x in named.items() if name not in formats}
    inputs = tuple(tree_leaves((args, dict(named))))
    traced, failure = _InFormats(module, formats) if formats else module, ""
    with experts_as_lookup(module), _in_place(module):
        try:
            program = _graph(traced, args, named)
        except Exception as error:
            traced = partial = _UpToFailure(module, formats)
            failure = _message(error)
            try:
                program = _graph(partial, args, named)
            except Exception:
                raise ImportFailed(failure, where=type(module).__name__) from None
            failure = _cut_off(program, partial.watch.failure or failure)
    return ExportedModule(program, inputs, failure, module, traced, args, named)


def _cut_off(program: ExportedProgram, failure: str) -> str:
    """Removes the calls after the one that fails; returns its error, with its module."""
    calls = (node for node in program.graph.nodes if node.op == "call_function")
    first = next((node for node in calls if not node.users), None)
    stack = list((first.meta.get("nn_module_stack") or {}).values()) if first else []
    program.graph.eliminate_dead_code()
    where = stack[-1][0].removeprefix("module").removeprefix(".") if stack else ""
    return f"{where}: {failure}" if where else failure


def _graph(module: nn.Module, args: tuple[Any, ...], named: Mapping[str, Any]) -> ExportedProgram:
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        program = torch.export.export(module, args, dict(named), strict=False)
        return program.run_decompositions({}) if mutates_views(program) else program


@contextmanager
def _in_place(module: nn.Module) -> Iterator[None]:
    """Lets parts of a module be moved to where they are, which a tracer of torch refuses."""
    parts = [part for part in module.modules() if "_apply" not in part.__dict__]
    for part in parts:
        part.__dict__["_apply"] = partial(_check_conversion, part)
    try:
        yield
    finally:
        for part in parts:
            del part.__dict__["_apply"]


def _check_conversion(
    part: nn.Module, convert: Callable[[Tensor], Tensor], recurse: bool = True
) -> nn.Module:
    """Returns the part; raises TypeError for a conversion that changes its tensors."""
    for name, x in (*part.named_parameters(), *part.named_buffers()):
        empty = torch.empty(0, dtype=x.dtype, device=x.device)
        found = convert(empty)
        if (found.dtype, found.device) != (x.dtype, x.device):
            raise TypeError(
                f"{name} is moved from {x.dtype} on {x.device} to {found.dtype} on {found.device}"
            )
    return part


@contextmanager
def quiet() -> Iterator[None]:
    """Keeps torch from logging an error that is reported in one line anyway."""
    log = logging.getLogger("torch._subclasses.fake_tensor")
    level = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(level)


def _message(error: Exception) -> str:
    """Returns the informative line of an error message."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__


FORMATS = (torch.dtype, torch.device, torch.layout, torch.memory_format)


class _InFormats(nn.Module):
    """Runs a module with dtypes and the like by name, which torch's exporter takes from nobody."""

    def __init__(self, module: nn.Module, formats: Mapping[str, Any]) -> None:
        super().__init__()
        self.module, self.formats = module, formats

    def forward(self, *args: Any, **named: Any) -> Any:
        return self.module(*args, **self.formats, **named)


class _UpToFailure(nn.Module):
    """Runs a module up to the first call that fails, and returns that call's arrays."""

    def __init__(self, module: nn.Module, formats: Mapping[str, Any]) -> None:
        super().__init__()
        self.module, self.formats = module, formats
        self.watch = _Watch(module)

    def forward(self, *args: Any, **named: Any) -> Any:
        self.watch.given.clear()
        with self.watch:
            self.module(*args, **self.formats, **named)
        return tuple(self.watch.given)


class _Watch(TorchFunctionMode):
    """Continues after a call that fails, returning its first array, and records its arrays.

    A tracer of torch cannot be left by an error, so the rest is traced as well; nothing needs it.
    """

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module
        self.given: list[Tensor] = []
        self.failure = ""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            return func(*args, **(kwargs or {}))
        except Exception as error:
            found = [x for x in tree_leaves((args, kwargs or {})) if isinstance(x, Tensor)]
            if not found:
                raise
            if not self.given:
                held = {*map(id, self.module.parameters()), *map(id, self.module.buffers())}
                own = [x for x in found if id(x) not in held and not isinstance(x, nn.Parameter)]
                self.given += own or found
                self.failure = _message(error)
            return found[0]
