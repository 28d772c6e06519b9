"""Signs of structure: blocks, repetitions, memory, rows, equations, callouts and grids."""

from __future__ import annotations

from ncd.key.sign import Sign
from ncd.key.wire_signs import SIZES
from ncd.lang.terms.blocks import Block, Equation
from ncd.lang.terms.loops import Repeat, Scan
from ncd.lang.terms.terms import Id, Term
from ncd.ops import Add, Copy, Einsum, Elementwise, Function, Index, Linear


def _layer() -> Term:
    return Linear("m -> m", "W") >> Elementwise("relu")


def _saves() -> Term:
    """Returns a repetition that leaves arrays behind, and one that takes them."""
    down = Copy("m") >> Elementwise("relu") @ Id("m")
    up = Id("m, m") >> Add()
    return SIZES(Repeat((down,) * 2, "down") >> Repeat((up,) * 2, "up"))


BLOCKS = (
    Sign(
        "fence",
        "Block",
        "A coloured field behind a part, with its title. The colour says what the part is for, and "
        "is the same in source, costs and graphs.",
        "class Layer(nn.Module): …",
        lambda: SIZES(Block(_layer(), "Layer", "activate")),
    ),
    Sign(
        "folded",
        "Folded block",
        "A box in three dimensions: a block whose inside is not shown. ×N below its name: so many "
        "of them, one after the other.",
        "x = layer(x)",
        lambda: SIZES(Block(_layer(), "Layer", "activate") >> Linear("m -> k", "Q")),
        {"folded": ("Layer",)},
    ),
    Sign(
        "repeat",
        "Repetition",
        "Large round brackets: what stands between them is done again and again, from λ = 1 to the "
        "last, each time with weights of its own.",
        "for layer in layers: x = layer(x)",
        lambda: SIZES(Repeat((_layer(),) * 6)),
    ),
    Sign(
        "scan",
        "Scan",
        "The same brackets that count the places of an axis: one step for each place, the weights "
        "always the same.",
        "for x_t in x: state = step(state, x_t)",
        lambda: SIZES(Scan(Function("f", "k, m -> k, k"), "y", states=1)),
    ),
    Sign(
        "save",
        "Save",
        "A yellow note with an arrow to a name: the array is put aside under this name.",
        "saved.append(x)",
        _saves,
        mark="save",
    ),
    Sign(
        "load",
        "Load",
        "A yellow note with an arrow from a name: the array that was put aside is taken again.",
        "x = saved.pop()",
        _saves,
        mark="load",
    ),
    Sign(
        "row",
        "Next row",
        "Wires that end in arrows at the right go on at the left of the row below.",
        "",
        lambda: SIZES(Block(Linear("m -> m", "W"), "One") >> Block(Elementwise("relu"), "Two")),
        {"width": 110.0},
    ),
)

BESIDE = (
    Sign(
        "equation",
        "Equation",
        "Two circuits with = between them give the same numbers, whatever goes in. With def over "
        "the =, the left one means the right one.",
        "torch.allclose(left, right)",
        lambda: SIZES(Equation(Einsum("m, m ->"), Einsum("m, m -> m") >> Einsum("m ->"))),
    ),
    Sign(
        "columns",
        "Columns",
        "Pink columns stand behind arrays, blue ones behind operations.",
        "",
        lambda: SIZES(Function("G", "a -> b")),
        {"bands": True},
    ),
    Sign(
        "cells",
        "Cells",
        "A grid beside a wire: a square for each number of the array. In blue, those that are "
        "looked at.",
        "x[1]",
        lambda: SIZES(Index("y a", y=1)),
        {"cells": True},
    ),
    Sign(
        "note",
        "Note",
        "A yellow field that points at a part, and says something of it.",
        "# a comment",
        lambda: SIZES(Id("m") >> Elementwise("relu")),
        {"notes": {"Elementwise relu": "Negative numbers become 0."}},
    ),
    Sign(
        "misfit",
        "What does not fit",
        "A red dashed frame: the sizes do not fit here. The page says why, and what would.",
        "RuntimeError: shapes cannot be multiplied",
        lambda: SIZES(Linear("m -> k", "Q")),
        {"mark": "n0"},
    ),
)

# The meaning of each role's colour, in every view.
COLOURS = {
    "activate": "norm and activation",
    "concat": "concatenation, cut",
    "convolution": "convolution",
    "copy": "copy",
    "data": "arrays",
    "diagonal": "shared axis",
    "einsum": "product",
    "folded": "folded block",
    "index": "index",
    "linear": "learned map",
    "mask": "mask",
    "model": "whole model",
    "module": "whole module",
    "neutral": "part",
    "note": "note, memory",
    "operation": "operations",
    "repeat": "repetition",
    "reshape": "axes read as others",
    "residual": "residual component",
    "scale": "scale",
    "shortcut": "block with a shortcut",
    "softmax": "softmax",
    "transpose": "axes exchanged",
    "weighted": "weighted sum",
    "window": "window",
}
