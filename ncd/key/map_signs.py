"""Signs of learned and fixed maps."""

from __future__ import annotations

from ncd.key.sign import Sign
from ncd.key.wire_signs import SIZES
from ncd.lang.terms.terms import Id
from ncd.ops import (
    Conv,
    ConvTranspose,
    Dropout,
    Elementwise,
    Function,
    Linear,
    Map,
    MaxPool,
    Param,
    Scale,
    Window,
)

LEARNED = (
    Sign(
        "linear",
        "Learned linear map",
        "A bold L: what comes in on its left is multiplied by a matrix of learned weights, whose "
        "name stands over it.",
        "nn.Linear(m, k, bias=False)",
        lambda: SIZES(Linear("m -> k", "Q")),
    ),
    Sign(
        "affine",
        "Learned map with a bias",
        "The + at the foot of the L: a learned number is added to each result.",
        "nn.Linear(m, k)",
        lambda: SIZES(Linear("m -> k", bias=True)),
    ),
    Sign(
        "parameter",
        "Learned array",
        "Wires that begin at a bold name: the array itself is learned, nothing computes it.",
        "nn.Parameter(torch.randn(v, m))",
        lambda: SIZES(Param("v m", "wte")),
    ),
    Sign(
        "convolution",
        "Convolution",
        "A star and the width of a window, which slides over the image: each place of the result "
        "is a learned sum of all that its window sees. The image keeps its size.",
        "nn.Conv2d(c, d, 3, padding=1)",
        lambda: SIZES(Conv("c p -> d p", kernel=3)),
    ),
    Sign(
        "strided",
        "Convolution to other places",
        "The places leave over the slope, one for each window; the number on it says how far the "
        "window moves each time. What a window sees is an axis of its own, which enters L.",
        "nn.Conv2d(c, d, 3, stride=2)",
        lambda: SIZES(Conv("c p -> d p/2", kernel=3, stride=2)),
    ),
    Sign(
        "transposed",
        "Transposed convolution",
        "The same backwards, with a T: each place spreads over a window, so more places come out.",
        "nn.ConvTranspose2d(c, d, 2, stride=2)",
        lambda: SIZES(ConvTranspose("c p -> d u", kernel=2, stride=2)),
    ),
)

FIXED = (
    Sign(
        "elementwise",
        "Function of each number",
        "A letter between two arrowheads over the wires: every number by itself. R is relu "
        "(negative numbers become 0), G gelu, σ sigmoid, T tanh.",
        "F.relu(x)",
        lambda: SIZES(Id("y m") >> Elementwise("relu")),
    ),
    Sign(
        "dropout",
        "Dropout",
        "D between two arrowheads: in training some numbers, chosen by chance, are set to 0.",
        "F.dropout(x, p)",
        lambda: SIZES(Id("y m") >> Dropout(0.1)),
    ),
    Sign(
        "scale",
        "Scale",
        "A factor over an arrow: every number is multiplied by it.",
        "x * k ** -0.5",
        lambda: SIZES(Id("y x") >> Scale("k")),
    ),
    Sign(
        "formula",
        "Formula",
        "A box with a formula, or its name: worked out for every number by itself. Its arrays are "
        "called a, b, … from the top.",
        "a * torch.sigmoid(b)",
        lambda: SIZES(Id("m, m") >> Map("m, m -> m", "$1 * sigmoid($2)")),
    ),
    Sign(
        "letter",
        "Function of an array",
        "A letter in the wire: some map from the axes on its left to those on its right. It is "
        "fixed, nothing in it is learned.",
        "y = G(x)",
        lambda: SIZES(Function("G", "a -> b")),
    ),
    Sign(
        "turned",
        "Transposed map",
        "The letter with a T: the matrix of the map, rows and columns exchanged.",
        "x = F.T @ y",
        lambda: SIZES(Function("F", "b -> a", of="a -> b")),
    ),
    Sign(
        "function",
        "Function of several arrays",
        "A box with a letter, over the wires of all arrays that it takes.",
        "z = f(x, y)",
        lambda: SIZES(Function("f", "a, b m -> c")),
    ),
    Sign(
        "window",
        "Sliding windows",
        "A star over a slope: windows move along the axis. The places of the windows leave above, "
        "the places in each window below, as an axis of its own.",
        "x.unfold(dim, 3, 1)",
        lambda: Window("x:6 -> y w", 3),
    ),
    Sign(
        "pool",
        "Max pooling",
        "The axis of the window ends in Max: of what each window sees only the largest is kept.",
        "F.max_pool2d(x, 2)",
        lambda: SIZES(MaxPool("p -> u", 2, 2)),
    ),
)
