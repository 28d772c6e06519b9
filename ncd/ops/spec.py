"""The plain data with which an op answers: how it is drawn, how it is written, how it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor, nn

Tensors = tuple[Tensor, ...]
Run = Callable[[nn.Module | None, Tensors], Tensors]

Shape = Literal[
    "letter",  # text standing in the wires, such as L with its superscript
    "box",
    "triangle",
    "circle",
    "trapezoid",
    "arrow",  # text on a wire that leaves a cap, or on a stub
    "elementwise",  # the letter between two arrowheads
    "plus",
    "bar",
    "name",  # the name of an array, at its left
]


@dataclass(frozen=True)
class Mark:
    """A shape over some of the wires: ``ins`` and ``outs`` are the ports that it spans.

    ``text`` is in the little mathematics of :func:`ncd.draw.text.math`.
    """

    shape: Shape
    text: str = ""
    ins: tuple[int, ...] = ()
    outs: tuple[int, ...] = ()


@dataclass(frozen=True)
class Glyph:
    """How an op's wires run. Ports count the axes of all arrays, input and output, from the top.

    ``through`` pairs wires that go on, ``joins`` wires that bend onto an output wire at a dot,
    ``splits`` output wires that leave an input wire at a dot, ``caps`` wires that meet in a
    contraction. Any other port ends or starts at a mark.
    """

    through: tuple[tuple[int, int], ...] = ()
    joins: tuple[tuple[int, int], ...] = ()
    splits: tuple[tuple[int, int], ...] = ()
    caps: tuple[tuple[int, int], ...] = ()
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True)
class Code:
    """An op in PyTorch: an expression on ``{0}``, ``{1}``, … and ``{layer}``; none for an alias.

    ``layer`` is the expression that makes the layer, ``out`` the name that a person would give the
    result, ``imports`` the import lines that the expressions need.
    """

    expression: str = ""
    layer: str = ""
    out: str = "x"
    imports: tuple[str, ...] = ()


EINSUM = "from einops import einsum"
REARRANGE = "from einops import rearrange"
FUNCTIONAL = "import torch.nn.functional as F"
