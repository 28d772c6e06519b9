"""All signs of the notation: name, explanation, picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ncd.circuit.elaborate import Axes
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.plan_columns import PlanItem
from ncd.drawing.elements.primitives import Rectangle
from ncd.drawing.pipeline import draw
from ncd.language.axes import plain, seq, space
from ncd.language.blocks import Block, Equation
from ncd.language.loops import Repeat, Scan
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    BatchNorm,
    CausalMask,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Cumulative,
    Cut,
    Dropout,
    Einsum,
    Elementwise,
    Function,
    Group,
    Index,
    LayerNorm,
    Linear,
    Map,
    MaxPool,
    Named,
    Pad,
    Param,
    Reduce,
    Rename,
    RMSNorm,
    Roll,
    Scale,
    Softmax,
    Split,
    Top,
    Unit,
    Window,
)

# --- A sign of the notation: its name, its explanation and its picture

WIRE_LENGTH = 34.0  # length of wire shown on both sides of a mark


@dataclass(frozen=True)
class LegendEntry:
    """An entry of the legend: ``explanation`` is for a newcomer, ``code`` a line of torch.

    ``term`` makes a small term that shows it, drawn with ``options``. If ``mark`` is given, the
    picture is cut to the surroundings of the first mark of this shape.
    """

    name: str
    title: str
    explanation: str
    code: str
    term: Callable[[], Term] = field(repr=False, compare=False)
    options: dict[str, Any] = field(default_factory=dict, compare=False)
    mark: str = field(default="", compare=False)

    def picture(self, dark: bool = False) -> Drawing:
        """Returns the picture of the sign."""
        drawing = draw(self.term(), dark=dark, **self.options)
        if not self.mark:
            return drawing
        units = ((glyph.hit_box, glyph.unit) for glyph in drawing.glyphs if glyph.unit)
        return replace(
            drawing, box=next(_box_with_wires(*op) for op in units if self._marks(op[1]))
        )

    def _marks(self, unit: PlanItem) -> bool:
        return any(mark.shape == self.mark for mark in unit.glyph.marks)


def _box_with_wires(hit: Rectangle, unit: PlanItem) -> Rectangle:
    """Returns the box of an op and short pieces of its wires."""
    x0, y0, x1, y1 = hit
    return Rectangle(x0 - WIRE_LENGTH * bool(unit.ins), y0, x1 + WIRE_LENGTH * bool(unit.outs), y1)


# --- Signs of axes and arrays, and of how arrays are copied, dropped and reordered

SIZES = Axes(y=seq(4), x=seq(4), m=3, k=2, h=2, d=4, v=9, b=2, c=3, p=space(4, 4), a=3, n=3)
CUT = Axes(y=seq(4), m=3, k=2, n=5)

ARRAYS = (
    LegendEntry(
        "axis",
        "Axis",
        "A wire is one axis of an array, with its name or its size on it. A circuit is read from "
        "left to right.",
        "torch.randn(m)",
        lambda: SIZES(Id("m")),
    ),
    LegendEntry(
        "sequence",
        "Sequence axis",
        "A bar over the name: the places along this axis stand in order, as words in a sentence.",
        "for word in x: …",
        lambda: SIZES(Id("y")),
    ),
    LegendEntry(
        "spatial",
        "Height and width",
        "A double wire is two axes in one: the rows and the columns of an image.",
        "torch.randn(height, width)",
        lambda: SIZES(Id("p")),
    ),
    LegendEntry(
        "array",
        "Array",
        "Wires close together are one array, an axis each.",
        "torch.randn(y, m)",
        lambda: SIZES(Id("y m")),
    ),
    LegendEntry(
        "tuple",
        "Several arrays",
        "A dashed line parts two arrays that are on their way side by side.",
        "f(q, k)",
        lambda: SIZES(Id("m, k")),
    ),
    LegendEntry(
        "number",
        "Number",
        "An array without axes is one number. It has no wire.",
        "torch.tensor(3.0)",
        lambda: SIZES(Einsum("m, m -> ")),
    ),
    LegendEntry(
        "name",
        "Name of an array",
        "A large letter where wires begin is the name of their array.",
        "Q = …",
        lambda: SIZES(Named("y k", "Q")),
    ),
    LegendEntry(
        "broadcast",
        "Broadcasting",
        "A wire that runs past a sign has no part in it: the same is done at each of its places.",
        "torch.vmap(f)(x)",
        lambda: SIZES(Id("y m") >> Linear("m -> k", "Q")),
    ),
)

WAYS = (
    LegendEntry(
        "copy",
        "Copy",
        "Wires split at dots: the array is used twice. A dashed line begins between the copies.",
        "a, b = x, x",
        lambda: SIZES(Copy("m")),
    ),
    LegendEntry(
        "add",
        "Sum of two arrays",
        "Two arrays meet at dots under a +: their numbers are added, place by place.",
        "x + f(x)",
        lambda: SIZES(Id("m, m") >> Add()),
    ),
    LegendEntry(
        "concat",
        "Concatenation",
        "A thick bar with a wire of each array on its left: one follows the other along this axis. "
        "All other axes join at dots.",
        "torch.cat((a, b), dim)",
        lambda: CUT(Id("y m, y k") >> Concat("m, k -> n")),
    ),
    LegendEntry(
        "cut",
        "Cut",
        "A thick bar with several arrays on its right: an axis is cut into pieces, one an array.",
        "torch.split(x, sizes, dim)",
        lambda: CUT(Id("y n") >> Cut("n -> m, k")),
    ),
    LegendEntry(
        "pad",
        "Padding",
        "A box in a wire that says how many places are added, before the first and after the last. "
        "One number stands at all of them, mostly 0; under reflect, replicate or circular those of "
        "the axis do.",
        "F.pad(x, (1, 1))",
        lambda: SIZES(Id("y x") >> Pad("x -> u")),
    ),
    LegendEntry(
        "roll",
        "Roll",
        "A box in a wire: the numbers move on by so many places, and those beyond the end come in "
        "again at the beginning.",
        "x.roll(1, dim)",
        lambda: SIZES(Id("y x") >> Roll("x")),
    ),
    LegendEntry(
        "group",
        "Several axes as one",
        "A thick bar with more wires on its left: the axes are read as one long axis.",
        'rearrange(x, "h k -> (h k)")',
        lambda: SIZES(Id("h k") >> Group("h k -> d")),
    ),
    LegendEntry(
        "split",
        "One axis as several",
        "A thick bar with more wires on its right: the long axis is read as several.",
        'rearrange(x, "(h k) -> h k", h=h)',
        lambda: SIZES(Id("d") >> Split("d -> h k")),
    ),
    LegendEntry(
        "rename",
        "Another name",
        "The name changes on the way: the numbers stay as they are, the axis is called anew.",
        "keys = x",
        lambda: SIZES(Id("y m") >> Rename("y -> x")),
    ),
    LegendEntry(
        "swap",
        "Arrays change places",
        "Two arrays cross: only their order changes.",
        "a, b = b, a",
        lambda: SIZES(Wire("m, k -> k, m")),
    ),
    LegendEntry(
        "transpose",
        "Transpose",
        "Wires of one array cross: its axes change their order.",
        'rearrange(x, "m k -> k m")',
        lambda: SIZES(Einsum("m k -> k m")),
    ),
    LegendEntry(
        "drop",
        "Not used",
        "A wire that ends in the open: the array is not needed any more.",
        "_, x = pair",
        lambda: SIZES(Wire("m, k -> k")),
    ),
    LegendEntry(
        "index",
        "Index",
        "A blue pentagon ends a wire: of this axis only one place is kept, the one written in it.",
        "x[2]",
        lambda: SIZES(Index("y m", y=2)),
    ),
    LegendEntry(
        "lookup",
        "Lookup",
        "A pentagon on which another array hangs: that array says which places are taken, such as "
        "the rows of a table of word vectors.",
        "table[ids]",
        lambda: Axes(y=seq(4), v=plain(9), m=3)(Index("y#v, v m -> y m")),
    ),
    LegendEntry(
        "top",
        "The largest",
        "Keeps the k largest numbers along a wire, and at which places they stood.",
        "torch.topk(x, k)",
        lambda: Top("e:5 -> k:2"),
    ),
)


# --- Signs of learned and fixed maps

LEARNED_MAPS = (
    LegendEntry(
        "linear",
        "Learned linear map",
        "A bold L: what comes in on its left is multiplied by a matrix of learned weights, whose "
        "name stands over it.",
        "nn.Linear(m, k, bias=False)",
        lambda: SIZES(Linear("m -> k", "Q")),
    ),
    LegendEntry(
        "affine",
        "Learned map with a bias",
        "The + at the foot of the L: a learned number is added to each result.",
        "nn.Linear(m, k)",
        lambda: SIZES(Linear("m -> k", bias=True)),
    ),
    LegendEntry(
        "parameter",
        "Learned array",
        "Wires that begin at a bold name: the array itself is learned, nothing computes it.",
        "nn.Parameter(torch.randn(v, m))",
        lambda: SIZES(Param("v m", "wte")),
    ),
    LegendEntry(
        "convolution",
        "Convolution",
        "A star and the width of a window, which slides over the image: each place of the result "
        "is a learned sum of all that its window sees. The image keeps its size.",
        "nn.Conv2d(c, d, 3, padding=1)",
        lambda: SIZES(Conv("c p -> d p", kernel=3)),
    ),
    LegendEntry(
        "strided",
        "Convolution to other places",
        "The places leave over the slope, one for each window; the number on it says how far the "
        "window moves each time. What a window sees is an axis of its own, which enters L.",
        "nn.Conv2d(c, d, 3, stride=2)",
        lambda: SIZES(Conv("c p -> d p/2", kernel=3, stride=2)),
    ),
    LegendEntry(
        "transposed",
        "Transposed convolution",
        "The same backwards, with a T: each place spreads over a window, so more places come out.",
        "nn.ConvTranspose2d(c, d, 2, stride=2)",
        lambda: SIZES(ConvTranspose("c p -> d u", kernel=2, stride=2)),
    ),
)

OTHER_MAPS = (
    LegendEntry(
        "elementwise",
        "Function of each number",
        "A letter between two arrowheads over the wires: every number by itself. R is relu "
        "(negative numbers become 0), G gelu, σ sigmoid, T tanh.",
        "F.relu(x)",
        lambda: SIZES(Id("y m") >> Elementwise("relu")),
    ),
    LegendEntry(
        "dropout",
        "Dropout",
        "D between two arrowheads: in training some numbers, chosen by chance, are set to 0.",
        "F.dropout(x, p)",
        lambda: SIZES(Id("y m") >> Dropout(0.1)),
    ),
    LegendEntry(
        "scale",
        "Scale",
        "A factor over an arrow: every number is multiplied by it.",
        "x * k ** -0.5",
        lambda: SIZES(Id("y x") >> Scale("k")),
    ),
    LegendEntry(
        "formula",
        "Formula",
        "A box with a formula, or its name: worked out for every number by itself. Its arrays are "
        "called a, b, … from the top.",
        "a * torch.sigmoid(b)",
        lambda: SIZES(Id("m, m") >> Map("m, m -> m", "$1 * sigmoid($2)")),
    ),
    LegendEntry(
        "letter",
        "Function of an array",
        "A letter in the wire: some map from the axes on its left to those on its right. It is "
        "fixed, nothing in it is learned.",
        "y = G(x)",
        lambda: SIZES(Function("G", "a -> b")),
    ),
    LegendEntry(
        "turned",
        "Transposed map",
        "The letter with a T: the matrix of the map, rows and columns exchanged.",
        "x = F.T @ y",
        lambda: SIZES(Function("F", "b -> a", of="a -> b")),
    ),
    LegendEntry(
        "function",
        "Function of several arrays",
        "A box with a letter, over the wires of all arrays that it takes.",
        "z = f(x, y)",
        lambda: SIZES(Function("f", "a, b m -> c")),
    ),
    LegendEntry(
        "window",
        "Sliding windows",
        "A star over a slope: windows move along the axis. The places of the windows leave above, "
        "the places in each window below, as an axis of its own.",
        "x.unfold(dim, 3, 1)",
        lambda: Window("x:6 -> y w", 3),
    ),
    LegendEntry(
        "pool",
        "Max pooling",
        "The axis of the window ends in Max: of what each window sees only the largest is kept.",
        "F.max_pool2d(x, 2)",
        lambda: SIZES(MaxPool("p -> u", 2, 2)),
    ),
)


# --- Signs of products and sums, of norms and of weights

PRODUCTS = (
    LegendEntry(
        "cap",
        "Inner product",
        "Two wires meet in a cap: their numbers are multiplied in pairs and added up. The axis is "
        "gone, and an arrow leads on, unless both wires were of one array.",
        'einsum(q, k, "y k, x k -> y x")',
        lambda: SIZES(Einsum("y k, x k -> y x")),
    ),
    LegendEntry(
        "diagonal",
        "Shared axis",
        "A wire bends onto another one at a dot: both arrays go along this axis together, the "
        "first place with the first, the second with the second.",
        'einsum(a, b, "h y, h x -> h y x")',
        lambda: SIZES(Einsum("h, h -> h")),
    ),
    LegendEntry(
        "outer",
        "Outer product",
        "No sign at all. The dashed line ends, and the arrays go on as one: each number of the "
        "first times each of the second.",
        'einsum(a, b, "m, k -> m k")',
        lambda: SIZES(Einsum("m, k -> m k")),
    ),
    LegendEntry(
        "sum",
        "Sum",
        "A wire ends in Σ: all numbers along it are added up.",
        "x.sum(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->")),
    ),
    LegendEntry(
        "mean",
        "Mean",
        "A wire ends in 𝔼: of all numbers along it the mean is taken.",
        "x.mean(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "mean")),
    ),
    LegendEntry(
        "product",
        "Product",
        "A wire ends in Π: all numbers along it are multiplied.",
        "x.prod(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "product")),
    ),
    LegendEntry(
        "extreme",
        "Largest or smallest",
        "A wire ends in Max or Min: of all numbers along it only that one is kept.",
        "x.amax(dim)",
        lambda: SIZES(Id("y m") >> Reduce("m ->", "max")),
    ),
    LegendEntry(
        "cumulative",
        "Sum so far",
        "A box with Σ ≤ or Π ≤ in a wire: each number becomes the sum, or the product, of all "
        "numbers up to its place.",
        "x.cumsum(dim)",
        lambda: SIZES(Id("y m") >> Cumulative("m")),
    ),
    LegendEntry(
        "cup",
        "Unit",
        "The mirror image of the cap: two wires begin in one curve. It is the unit matrix, 1 where "
        "both places are the same and 0 elsewhere.",
        "torch.eye(n)",
        lambda: Unit("a:3 b"),
    ),
)

WEIGHTS = (
    LegendEntry(
        "softmax",
        "Softmax",
        "A triangle in a wire: the numbers along it become weights between 0 and 1 that sum to 1.",
        "softmax(x, dim)",
        lambda: SIZES(Id("y x") >> Softmax("x")),
    ),
    LegendEntry(
        "mask",
        "Causal mask",
        "A square, half filled: what comes later than the place that asks is hidden from it.",
        "x.masked_fill(later, -torch.inf)",
        lambda: SIZES(CausalMask("y x")),
    ),
    LegendEntry(
        "batchnorm",
        "Batch norm",
        "A ring in the wire of the channels, which the wire of the batch touches: each channel is "
        "shifted and scaled to mean 0 and variance 1 over the whole batch.",
        "nn.BatchNorm2d(n)",
        lambda: SIZES(Id("b n p") >> BatchNorm("b n")),
    ),
    LegendEntry(
        "layernorm",
        "Layer norm",
        "A ring with a bar: the numbers along its wires are shifted and scaled to mean 0 and "
        "variance 1, for each place by itself.",
        "nn.LayerNorm(m)",
        lambda: SIZES(Id("y m") >> LayerNorm("m")),
    ),
    LegendEntry(
        "rmsnorm",
        "Root-mean-square norm",
        "A ring with rms in it: the numbers along its wires are divided by the root of the mean of "
        "their squares.",
        "nn.RMSNorm(m)",
        lambda: SIZES(Id("y m") >> RMSNorm("m")),
    ),
)


# --- Signs of structure: blocks, repetitions, memory, rows, equations, callouts and grids


def _layer() -> Term:
    return Linear("m -> m", "W") >> Elementwise("relu")


def _saves() -> Term:
    """Returns a repetition that leaves arrays behind, and one that takes them."""
    down = Copy("m") >> Elementwise("relu") @ Id("m")
    up = Id("m, m") >> Add()
    return SIZES(Repeat((down,) * 2, "down") >> Repeat((up,) * 2, "up"))


BLOCKS = (
    LegendEntry(
        "fence",
        "Block",
        "A coloured field behind a part, with its title. The colour says what the part is for, and "
        "is the same in source, costs and graphs.",
        "class Layer(nn.Module): …",
        lambda: SIZES(Block(_layer(), "Layer", "activate")),
    ),
    LegendEntry(
        "folded",
        "Folded block",
        "A box in three dimensions: a block whose inside is not shown. ×N below its name: so many "
        "of them, one after the other.",
        "x = layer(x)",
        lambda: SIZES(Block(_layer(), "Layer", "activate") >> Linear("m -> k", "Q")),
        {"folded": ("Layer",)},
    ),
    LegendEntry(
        "repeat",
        "Repetition",
        "Large round brackets: what stands between them is done again and again, from λ = 1 to the "
        "last, each time with weights of its own.",
        "for layer in layers: x = layer(x)",
        lambda: SIZES(Repeat((_layer(),) * 6)),
    ),
    LegendEntry(
        "scan",
        "Scan",
        "The same brackets that count the places of an axis: one step for each place, the weights "
        "always the same.",
        "for x_t in x: state = step(state, x_t)",
        lambda: SIZES(Scan(Function("f", "k, m -> k, k"), "y", states=1)),
    ),
    LegendEntry(
        "save",
        "Save",
        "A yellow note with an arrow to a name: the array is put aside under this name.",
        "saved.append(x)",
        _saves,
        mark="save",
    ),
    LegendEntry(
        "load",
        "Load",
        "A yellow note with an arrow from a name: the array that was put aside is taken again.",
        "x = saved.pop()",
        _saves,
        mark="load",
    ),
    LegendEntry(
        "row",
        "Next row",
        "Wires that end in arrows at the right go on at the left of the row below.",
        "",
        lambda: SIZES(Block(Linear("m -> m", "W"), "One") >> Block(Elementwise("relu"), "Two")),
        {"width": 110.0},
    ),
)

ANNOTATIONS = (
    LegendEntry(
        "equation",
        "Equation",
        "Two circuits with = between them give the same numbers, whatever goes in. With def over "
        "the =, the left one means the right one.",
        "torch.allclose(left, right)",
        lambda: SIZES(Equation(Einsum("m, m ->"), Einsum("m, m -> m") >> Einsum("m ->"))),
    ),
    LegendEntry(
        "columns",
        "Columns",
        "Cream columns stand behind arrays, blue ones behind operations.",
        "",
        lambda: SIZES(Function("G", "a -> b")),
        {"bands": True},
    ),
    LegendEntry(
        "cells",
        "Cells",
        "A grid beside a wire: a square for each number of the array. In blue, those that are "
        "looked at.",
        "x[1]",
        lambda: SIZES(Index("y a", y=1)),
        {"cells": True},
    ),
    LegendEntry(
        "note",
        "Note",
        "A yellow field that points at a part, and says something of it.",
        "# a comment",
        lambda: SIZES(Id("m") >> Elementwise("relu")),
        {"notes": {"Elementwise relu": "Negative numbers become 0."}},
    ),
    LegendEntry(
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
