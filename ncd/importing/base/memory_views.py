"""Finds calls that change a tensor in place, and tensors that share their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch.export import ExportedProgram
from torch.fx import GraphModule, Node

IGNORED = ("_assert", "sym_", "_guards_fn", "_set_grad_enabled", "profiler")
TURNED = ("contiguous", "permute", "squeeze", "t", "transpose", "unsqueeze", "view")
HANDED_ON = ("dropout", "feature_dropout")  # give their input itself, in evaluation mode


def in_place(node: Node) -> bool:
    """Returns whether a call changes its first argument, such as ``div_``."""
    name = str(node.target)
    return name.startswith("aten.") and name.split(".")[1].endswith("_") and name[5] != "_"


def counts_batches(node: Node) -> bool:
    """Returns whether a call only counts batches of a batch norm, which affects no result."""
    return in_place(node) and "num_batches" in str(node.args[0])


def ignored(node: Node) -> bool:
    """Returns whether a call has no effect on the computed values."""
    return counts_batches(node) or any(word in str(node.target) for word in IGNORED)


def uses(node: Node) -> int:
    """Returns how many calls use a tensor, including through views."""
    users = [user for user in node.users if not ignored(user)]
    return sum(uses(user) if _name(user) in TURNED else 1 for user in users)


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
    stands alone is only another value from there on.
    """
    nodes = list(program.graph.nodes)
    place = {node: i for i, node in enumerate(nodes)}
    changed = (node for node in nodes if node.op == "call_function" and in_place(node))
    return any(_is_shared(node, place) for node in changed if not counts_batches(node))


def _is_shared(node: Node, place: Mapping[Node, int]) -> bool:
    """Returns whether a change in place is visible through other tensors."""
    base = source(node)
    if base.op != "call_function" or _is_view(base):
        return True
    before = (view for view in _views(base) if place[view] < place[node])
    return any(place[user] > place[node] for view in before for user in view.users)


def _views(base: Node) -> list[Node]:
    """Returns the nodes that share memory with a node, directly or through others."""
    found: list[Node] = []
    for user in base.users:
        if user.args and user.args[0] is base:
            if user.op == "call_function" and in_place(user):
                found += _views(user)
            elif _is_view(user):
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
