"""Modules that only compute one norm, activation or softmax, and so need no block."""

from __future__ import annotations

import operator
from collections.abc import Mapping

from torch import fx
from torch.export import ExportedProgram

from ncd.read.torch_module.graph_calls import module_path
from ncd.read.torch_module.idioms import IDENTITY_CALLS, Idiom, inner_calls, name_of
from ncd.read.torch_module.torch_export import is_ignored

ONE_SIGN = (
    *("batch_norm", "gelu", "group_norm", "layer_norm", "relu", "rms_norm"),
    *("sigmoid", "silu", "softmax", "tanh"),
)


def single_layers(
    program: ExportedProgram, idioms: Mapping[str, Idiom], prefix: str
) -> frozenset[str]:
    """Returns the paths of modules of which all calls are one function with a sign of its own.

    Args:
        program: The graph.
        idioms: The functions that it writes out, by their last nodes.
        prefix: The beginning of all names of modules.
    """
    gone = inner_calls(idioms.values())
    calls: dict[str, list[fx.Node]] = {}
    for node in program.graph.nodes:
        if node.op != "call_function" or node in gone or _is_quiet(node):
            continue
        for path, _ in module_path(node, (), prefix):
            calls.setdefault(path, []).append(node)
    return frozenset(
        path.partition("@")[0]
        for path, nodes in calls.items()
        if len(nodes) == 1 and (nodes[0].name in idioms or name_of(nodes[0]) in ONE_SIGN)
    )


def _is_quiet(node: fx.Node) -> bool:
    """Returns whether a call computes nothing."""
    return is_ignored(node) or node.target is operator.getitem or name_of(node) in IDENTITY_CALLS
