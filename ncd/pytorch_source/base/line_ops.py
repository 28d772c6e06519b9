"""The ops of a term that each line of its source makes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from torch import fx, nn

from ncd.importing.imported import Imported
from ncd.pytorch_source.base.machine import LINES, Machine

MOST = 400  # ops of a line


def line_ops(machine: Machine, found: Imported) -> dict[int, str]:
    """Returns the ids of the ops that each line makes, such as ``n1 n2``, by its number.

    A line that calls others makes what these make, and one that defines a layer what the layer
    does.
    """
    nodes = {node.name: node for node in found.exported.program.graph.nodes}
    parts = dict(found.exported.traced.named_modules())
    ids: dict[int, list[str]] = {}
    for i, name in enumerate(found.nodes):
        if (node := nodes.get(name)) is not None:
            for line in dict.fromkeys((*_called(node), *_made(machine, parts, node))):
                ids.setdefault(line, []).append(f"n{i}")
    return {line: " ".join(own) for line, own in ids.items() if len(own) <= MOST}


def _called(node: fx.Node) -> tuple[int, ...]:
    """Returns the lines whose call a node is, the outer ones first."""
    lines: tuple[int, ...] = (node.meta.get("custom") or {}).get(LINES, ())
    return lines


def _made(machine: Machine, parts: Mapping[str, nn.Module], node: fx.Node) -> Iterator[int]:
    """Yields the line that makes the layer of which a node is part."""
    stack = [*(node.meta.get("nn_module_stack") or {}).values()]
    path = stack[-1][0].partition("@")[0] if stack else ""
    place = machine.places.get(id(parts.get(path))) if path else None
    if (line := getattr(place, "lineno", 0)) > 0:
        yield line
