"""Terms that are causal along t, and terms that are not, each hard to tell in its own way."""

from __future__ import annotations

from ncd import (
    Add,
    CausalMask,
    Concat,
    Conv,
    Copy,
    Cumulative,
    Cut,
    Dropout,
    Einsum,
    Elementwise,
    Given,
    Group,
    Id,
    Index,
    LayerNorm,
    Linear,
    Map,
    Pad,
    Param,
    Reduce,
    Rename,
    Roll,
    Scan,
    Softmax,
    Term,
    Then,
    Window,
    Wire,
)

LENGTH = 6
X = Id("t:6 c:2")


def attention(*weights: Term) -> Term:
    """Returns attention of a sequence to itself, whose scores ``y x`` go through these ops."""
    middle = Then(*weights) if len(weights) > 1 else weights[0]
    return (
        Wire("t:6 k:3 -> t k, t k, t k")
        >> Id("t k") @ Rename("t -> x") @ Rename("t -> x")
        >> Rename("t -> y") @ Id("x k, x k")
        >> Einsum("y k, x k -> y x") @ Id("x k")
        >> middle @ Id("x k")
        >> Einsum("y x, x k -> y k")
    )


def masked(formula: str) -> Term:
    """Returns attention whose scores ``$1`` are these numbers."""
    return attention(Map("y x -> y x", formula), Softmax("x"))


def table(ahead: int) -> Term:
    """Returns a constant mask in which each position sees some places ahead."""
    rows = [[0 if x <= y + ahead else float("-inf") for x in range(6)] for y in range(6)]
    text = " ".join("-inf" if number else "0" for row in rows for number in row)
    return Given("y:6 x:6", "mask", text)


PLUS = Map("y x, y x -> y x", "$1 + $2")
ARANGES = Id("y x") @ Map("-> y#9", "y") @ Map("-> x#9", "x")
PREFIX = (
    Wire("t:6 k:3 -> t k, t k")
    >> Id("t k") @ Rename("t -> x") @ Param("p:2 k:3", "prefix")
    >> Id("t k") @ Wire("x k, p k -> $2, $1")
    >> Id("t k") @ Concat("p, x -> z")
    >> Rename("t -> y") @ Wire("z k -> z k, z k")
    >> Einsum("y k, z k -> y z") @ Id("z k")
    >> (Map("y z -> y z", "where(z - 2 > y, -inf, $1)") >> Softmax("z")) @ Id("z k")
    >> Einsum("y z, z k -> y k")
)
LAST = Cut("t -> a:5, b:1") >> Wire("a:5 c, b:1 c -> $1")
AHEAD = Window("t -> s w", 3, padding=1) >> Reduce("w ->", "max")
LARGER = Window("u -> t w", 2) >> Reduce("w ->", "max")
TABLE_SUMS = Param("t:6 c:2", "steps") >> Cumulative("t")
TIMES = Einsum("y x, y x -> y x")
TOTALS = Id("c, c") >> Add() >> Copy("c")
STATES = Id("n:2, t:6 n") >> Scan(
    Id("n, n") >> Linear("n -> n", "W") @ Id("n") >> Add() >> Elementwise("tanh") >> Copy("n"), "t"
)

CAUSAL: dict[str, Term] = {
    "mask": attention(CausalMask("y x"), Softmax("x")),
    "window": masked("where(x > y or y - x >= 3, -inf, $1)"),
    "dilated": masked("where(x > y or (y - x) % 2 == 1, -inf, $1)"),
    "factors": masked("where(2 * x > 2 * y, -inf, $1)"),
    "added": masked("$1 + where(x > y, -inf, 0)"),
    "finite": masked("where(x > y, -1e9, $1)"),
    "numbers decide": masked("where($1 > 0 and x < y, -inf, where(x > y, -inf, $1))"),
    "distance": attention(Map("y x -> y x", "$1 - 0.5 * (y - x)"), CausalMask("y x"), Softmax("x")),
    "product": attention(Map("y x -> y x", "$1 * (x <= y)")),
    "decay": attention(Map("y x -> y x", "where(x <= y, $1 * 0.9 ** (y - x), 0)")),
    "relu": attention(Map("y x -> y x", "relu(where(x <= y, $1, -inf))")),
    "sigmoid": attention(Map("y x -> y x", "sigmoid(where(x <= y, $1, -inf))")),
    "mask as an array": attention(
        Id("y x") @ Map("-> y x#2", "x <= y"),
        Map("y x, y x#2 -> y x", "where($2 > 0, $1, -inf)"),
        Softmax("x"),
    ),
    "positions as arrays": attention(
        ARANGES, Map("y x, y#9, x#9 -> y x", "where($3 > $2, -inf, $1)"), Softmax("x")
    ),
    "constant mask": attention(Id("y x") @ table(0), PLUS, Softmax("x")),
    "convolution": X >> Pad("t -> u", 2, 0) >> Window("u -> s w", 3) >> Reduce("w ->", "max"),
    "cut convolution": Id("c:2 t:6")
    >> Conv("c t -> d:3 s", "conv", 3, padding=2)
    >> Cut("s -> u:6, v:2")
    >> Wire("d u, d v -> $1"),
    "dilated convolution": Id("c:2 t:6")
    >> Pad("t -> u", 4, 0)
    >> Conv("c u -> d:3 t", "conv", 3, padding=0, dilation=2),
    "shift": Wire("t:6 c:2 -> t c, t c")
    >> Id("t c") @ (Pad("t -> u", 1, 0) >> Cut("u -> t:6, z:1") >> Wire("t c, z c -> $1"))
    >> Add(),
    "sums": X >> Cumulative("t"),
    "products": X >> Cumulative("t", "product"),
    "sums of sums": X
    >> Cumulative("t")
    >> Pad("t -> u", 1, 0)
    >> Window("u -> s w", 2)
    >> Reduce("w ->", "max")
    >> Cumulative("s"),
    "table of positions": X @ Param("t:6 c:2", "positions") >> Add(),
    "first token": X @ Param("b:1 c:2", "first")
    >> Wire("t c, b c -> $2, $1")
    >> Concat("b, t -> u")
    >> Cut("u -> s:6, e:1")
    >> Wire("s c, e c -> $1"),
    "learned prefix": PREFIX,
    "an axis is called place": Id("t:6 place:2") >> Cumulative("t"),
    "sums of a table": X @ TABLE_SUMS >> Add(),
    "a window of sums of a table": X @ (TABLE_SUMS >> Pad("t -> u", 1, 0) >> LARGER) >> Add(),
    "halved scores": attention(
        Id("y x") @ Map("-> y x", "0.5"), TIMES, CausalMask("y x"), Softmax("x")
    ),
    "mask by a product": attention(Id("y x") @ Map("-> y x", "where(x <= y, 1, 0)"), TIMES),
    "one of two heads": attention(
        Map("y x -> y x h:2", "where(x > y, -inf, $1 + h)"), Index("y x h", h=1), Softmax("x")
    ),
    "dropout": X >> Dropout(0.5) >> Cumulative("t"),
    "all is hidden": masked("where(x <= y, -inf, where(x > y, -inf, $1))"),
    "a constant beside the sequence": X @ Param("m:3", "w"),
    "another input beside the sequence": X @ (Id("m:3") >> Elementwise("relu")),
    "the state of the last position": STATES >> Elementwise("relu") @ Id("t n"),
}

NOT_CAUSAL: dict[str, tuple[Term, str]] = {
    "no mask": (attention(Softmax("x")), "Softmax: place y = 0 sees place x = 1"),
    "a finite mask of all": (
        masked("where(x >= y, -1e9, $1)"),
        "Softmax: place y = 0 sees place x = 1",
    ),
    "numbers decide a finite mask": (
        masked("where($1 > 0, -1e9, where(x > y, -1e9, $1))"),
        "Softmax: place y = 0 sees place x = 1",
    ),
    "prefix seen by all": (
        masked("where(x > y and x >= 2, -inf, $1)"),
        "Softmax: place y = 0 sees place x = 1",
    ),
    "blocks": (masked("where(x // 2 > y // 2, -inf, $1)"), "Softmax: place y = 0 sees place x = 1"),
    "one ahead": (
        masked("where(x > y + 1, -inf, $1)"),
        "Softmax: place y of an output depends on place y + 1",
    ),
    "constant mask, one ahead": (
        attention(Id("y x") @ table(1), PLUS, Softmax("x")),
        "Softmax: place y of an output depends on place y + 1",
    ),
    "twice as far": (
        masked("where(x > 2 * y, -inf, $1)"),
        "Softmax: place y = 0 sees place x = 1",
    ),
    "far ahead": (
        masked("where(x > y and x < y + 4, -inf, $1)"),
        "Softmax: place y = 0 sees place x = 4",
    ),
    "a low mask": (masked("where(x > y, -10, $1)"), "Softmax: place y = 0 sees place x = 1"),
    "mask behind the softmax": (
        attention(Softmax("x"), Map("y x -> y x", "$1 * (x <= y)")),
        "Softmax: place y = 0 sees place x = 1",
    ),
    "softmax over queries": (
        attention(CausalMask("y x"), Softmax("y")),
        "Softmax: place x = 0 sees place y = 1",
    ),
    "the length": (
        attention(CausalMask("y x"), Map("y x -> y x", "$1 / n_x"), Softmax("x")),
        "Map: it reads the number of places along x",
    ),
    "centred convolution": (
        X >> Window("t -> s w", 3, padding=1) >> Reduce("w ->", "max"),
        "Window: place s of an output depends on place s + 1",
    ),
    "padded convolution": (
        Id("c:2 t:6") >> Conv("c t -> d:3 t", "conv", 3),
        "Conv conv: place t of an output depends on place t + 1",
    ),
    "strided convolution": (
        Id("c:2 t:6") >> Pad("t -> u", 2, 0) >> Conv("c u -> d:3 s", "conv", 3, 2, padding=0),
        "Conv conv: it works on all places along u at once",
    ),
    "shift ahead": (
        Wire("t:6 c:2 -> t c, t c")
        >> Id("t c") @ (Pad("t -> u", 0, 1) >> Cut("u -> z:1, t:6") >> Wire("z c, t c -> $2"))
        >> Add(),
        "Cut: place t of an output depends on place t + 1",
    ),
    "longer output": (
        X >> Pad("t -> u", 1, 1),
        "Pad: an output has 8 places along u, but the sequence has 6",
    ),
    "mean": (X >> Reduce("t c -> c", "mean"), "Reduce mean: it is a mean over all places along t"),
    "total": (
        X >> Reduce("t c -> c"),
        "Reduce sum: it joins all places along t, and no place is left that would see them",
    ),
    "roll": (X >> Roll("t", 1), "Roll: it works on all places along t at once"),
    "norm over positions": (
        X >> LayerNorm("t", affine=False),
        "LayerNorm norm: it joins all places along t, and no place is left that would see them",
    ),
    "map of positions": (
        X >> Linear("t -> s:6", "mix"),
        "Linear mix: its weights are of a fixed number of places along t",
    ),
    "first place": (X >> Index("t c", t=0), "Index: it works on all places along t at once"),
    "two axes of positions": (
        Wire("t:6 k:3 -> t k, t k")
        >> Rename("t -> y") @ Rename("t -> x")
        >> Einsum("y k, x k -> y x"),
        "Einsum: an output (y x) has two axes of positions, y and x",
    ),
    "three axes of positions": (
        Wire("t:6 k:3 -> t k, t k, t k")
        >> Rename("t -> y") @ Rename("t -> x") @ Rename("t -> z")
        >> Einsum("y k, x k, z k -> y x z"),
        "Einsum: the array (y x z) has more than two axes of positions",
    ),
    "the last state in all positions": (
        STATES >> Linear("n -> k:2", "A") @ Linear("n -> k:2", "B") >> Einsum("k, t k -> t k"),
        "Einsum: the state of the last position meets the sequence",
    ),
    "the last state as the first of another scan": (
        STATES >> Scan(Id("n, n") >> Add() >> Copy("n"), "t"),
        "Scan: the state of the last position meets the sequence",
    ),
    "sums of what is ahead": (
        X >> AHEAD >> Cumulative("s"),
        "Cumulative sum: it runs ahead of the sequence along s",
    ),
    "a scan of what is ahead": (
        Id("c:2, t:6 c") >> Id("c") @ AHEAD >> Scan(TOTALS, "s"),
        "Scan: it runs ahead of the sequence by 1",
    ),
    "a scan along another axis": (
        Id("c:2, s:4 t:6 c") >> Scan(Id("c") @ Reduce("t c -> c", "max") >> TOTALS, "s"),
        "Scan: it runs along s, with (s t c)",
    ),
    "merged axes": (X >> Group("t c -> d"), "Group: it works on all places along t at once"),
}
