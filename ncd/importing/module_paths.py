"""The modules around a call in torch's graph, by their names and classes."""

from __future__ import annotations

import re
from collections.abc import Collection

from torch import fx

from ncd.importing.base.import_values import Path


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
    """Returns whether a class is a single layer of torch, which needs no block."""
    whole = ("MultiheadAttention", "Transformer")
    return name.startswith("torch.nn.modules") and not any(word in name for word in whole)
