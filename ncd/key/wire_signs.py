"""Signs of axes and arrays, and of how arrays are copied, dropped and reordered."""

from __future__ import annotations

from ncd.key.sign import Sign
from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.terms import Id
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import plain, seq, space
from ncd.ops import (
    Add,
    Concat,
    Copy,
    Cut,
    Einsum,
    Group,
    Index,
    Linear,
    Named,
    Pad,
    Rename,
    Roll,
    Split,
    Top,
)

SIZES = Axes(y=seq(4), x=seq(4), m=3, k=2, h=2, d=4, v=9, b=2, c=3, p=space(4, 4), a=3, n=3)
CUT = Axes(y=seq(4), m=3, k=2, n=5)

ARRAYS = (
    Sign(
        "axis",
        "Axis",
        "A wire is one axis of an array, with its name or its size on it. A circuit is read from "
        "left to right.",
        "torch.randn(m)",
        lambda: SIZES(Id("m")),
    ),
    Sign(
        "sequence",
        "Sequence axis",
        "A bar over the name: the places along this axis stand in order, as words in a sentence.",
        "for word in x: …",
        lambda: SIZES(Id("y")),
    ),
    Sign(
        "spatial",
        "Height and width",
        "A double wire is two axes in one: the rows and the columns of an image.",
        "torch.randn(height, width)",
        lambda: SIZES(Id("p")),
    ),
    Sign(
        "array",
        "Array",
        "Wires close together are one array, an axis each.",
        "torch.randn(y, m)",
        lambda: SIZES(Id("y m")),
    ),
    Sign(
        "tuple",
        "Several arrays",
        "A dashed line parts two arrays that are on their way side by side.",
        "f(q, k)",
        lambda: SIZES(Id("m, k")),
    ),
    Sign(
        "number",
        "Number",
        "An array without axes is one number. It has no wire.",
        "torch.tensor(3.0)",
        lambda: SIZES(Einsum("m, m -> ")),
    ),
    Sign(
        "name",
        "Name of an array",
        "A large letter where wires begin is the name of their array.",
        "Q = …",
        lambda: SIZES(Named("y k", "Q")),
    ),
    Sign(
        "broadcast",
        "Broadcasting",
        "A wire that runs past a sign has no part in it: the same is done at each of its places.",
        "torch.vmap(f)(x)",
        lambda: SIZES(Id("y m") >> Linear("m -> k", "Q")),
    ),
)

WAYS = (
    Sign(
        "copy",
        "Copy",
        "Wires split at dots: the array is used twice. A dashed line begins between the copies.",
        "a, b = x, x",
        lambda: SIZES(Copy("m")),
    ),
    Sign(
        "add",
        "Sum of two arrays",
        "Two arrays meet at dots under a +: their numbers are added, place by place.",
        "x + f(x)",
        lambda: SIZES(Id("m, m") >> Add()),
    ),
    Sign(
        "concat",
        "Concatenation",
        "A thick bar with a wire of each array on its left: one follows the other along this axis. "
        "All other axes join at dots.",
        "torch.cat((a, b), dim)",
        lambda: CUT(Id("y m, y k") >> Concat("m, k -> n")),
    ),
    Sign(
        "cut",
        "Cut",
        "A thick bar with several arrays on its right: an axis is cut into pieces, one an array.",
        "torch.split(x, sizes, dim)",
        lambda: CUT(Id("y n") >> Cut("n -> m, k")),
    ),
    Sign(
        "pad",
        "Padding",
        "A box in a wire that says how many places are added, before the first and after the last. "
        "The same number, 0 for the most part, stands at all of them.",
        "F.pad(x, (1, 1))",
        lambda: SIZES(Id("y x") >> Pad("x -> u")),
    ),
    Sign(
        "roll",
        "Roll",
        "A box in a wire: the numbers move on by so many places, and those beyond the end come in "
        "again at the beginning.",
        "x.roll(1, dim)",
        lambda: SIZES(Id("y x") >> Roll("x")),
    ),
    Sign(
        "group",
        "Several axes as one",
        "A thick bar with more wires on its left: the axes are read as one long axis.",
        'rearrange(x, "h k -> (h k)")',
        lambda: SIZES(Id("h k") >> Group("h k -> d")),
    ),
    Sign(
        "split",
        "One axis as several",
        "A thick bar with more wires on its right: the long axis is read as several.",
        'rearrange(x, "(h k) -> h k", h=h)',
        lambda: SIZES(Id("d") >> Split("d -> h k")),
    ),
    Sign(
        "rename",
        "Another name",
        "The name changes on the way: the numbers stay as they are, the axis is called anew.",
        "keys = x",
        lambda: SIZES(Id("y m") >> Rename("y -> x")),
    ),
    Sign(
        "swap",
        "Arrays change places",
        "Two arrays cross: only their order changes.",
        "a, b = b, a",
        lambda: SIZES(Wire("m, k -> k, m")),
    ),
    Sign(
        "transpose",
        "Transpose",
        "Wires of one array cross: its axes change their order.",
        'rearrange(x, "m k -> k m")',
        lambda: SIZES(Einsum("m k -> k m")),
    ),
    Sign(
        "drop",
        "Not used",
        "A wire that ends in the open: the array is not needed any more.",
        "_, x = pair",
        lambda: SIZES(Wire("m, k -> k")),
    ),
    Sign(
        "index",
        "Index",
        "A blue pentagon ends a wire: of this axis only one place is kept, the one written in it.",
        "x[2]",
        lambda: SIZES(Index("y m", y=2)),
    ),
    Sign(
        "lookup",
        "Lookup",
        "A pentagon on which another array hangs: that array says which places are taken, such as "
        "the rows of a table of word vectors.",
        "table[ids]",
        lambda: Axes(y=seq(4), v=plain(9), m=3)(Index("y#v, v m -> y m")),
    ),
    Sign(
        "top",
        "The largest",
        "Keeps the k largest numbers along a wire, and at which places they stood.",
        "torch.topk(x, k)",
        lambda: Top("e:5 -> k:2"),
    ),
)
