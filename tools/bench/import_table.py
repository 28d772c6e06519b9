"""Prints a table of imported modules: plain ones, and architectures of `transformers`.

``python -m tools.bench.import_table`` compares each with its module, and its time with that of
``torch.export`` alone; seconds are those of computing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import process_time
from typing import Any

import torch

import ncd
from ncd.read.torch_module.torch_export import export_module
from tests.read.torch_module import modules, published

HEAD = "module | nodes | cells | difference | boxes | layers | export, s | import, s"


def timed(make: Callable[[], Any]) -> tuple[Any, float]:
    """Returns a result, and the seconds of computing that it took."""
    begun = process_time()
    return make(), process_time() - begun


def row(name: str, case: Callable[[], tuple[torch.nn.Module, tuple[Any, ...]]]) -> str:
    """Returns the line of a module."""
    torch.manual_seed(0)
    module, inputs = case()
    graph, alone = timed(lambda: export_module(module, inputs, {}))
    found, whole = timed(lambda: ncd.from_torch(module, *inputs))
    circuit = ncd.elaborate(found.term)
    loops = [f"{loop.name} ×{len(loop.bodies)}" for loop in circuit.loops if loop.kind == "repeat"]
    nodes = len(list(graph.program.graph.nodes))
    boxes = " ".join(box.function for box in found.boxes) or "none"
    layers = ", ".join(loops) or "–"
    return (
        f"{name} | {nodes} | {len(circuit.cells)} | {found.difference:.1e} | {boxes} | {layers} "
        f"| {alone:.1f} | {whole:.1f}"
    )


def main() -> None:
    """Prints the table of all modules, or of those that are named."""
    torch.set_num_threads(1)
    print(HEAD)
    every = {**modules.CASES, **published.CASES}
    for name in sys.argv[1:] or every:
        print(row(name, every[name]), flush=True)


if __name__ == "__main__":
    main()
