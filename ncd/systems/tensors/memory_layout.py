"""Permute and reshape: the order in which the numbers of an array are read."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Group, Split
from ncd.systems.catalogue_entry import Entry

AXES = "bchw"
ORDERS = tuple(permutations(AXES))


def memory_order(b: int = 2, c: int = 2, h: int = 2, w: int = 2, order: int = 3) -> Term:
    """b images with c channels permuted to one of the ``ORDERS`` and read as a table.

    >>> memory_order(order=13).cod.spec
    'p:4 q:4'
    """
    return Axes(b=b, c=c, h=h, w=w)(_read(ORDERS[order]))


@lru_cache
def _read(order: tuple[str, ...]) -> Term:
    first, second, third, fourth = order
    permuted: Term = Id(" ".join(AXES))
    if order != tuple(AXES):
        permuted = Einsum(f"{' '.join(AXES)} -> {' '.join(order)}")
    return permuted >> Group(f"{first} {second} -> p") >> Group(f"{third} {fourth} -> q")


RASTER, COLUMNS, STRIDED, PLAIN = "raster", "columns", "strided", "plain"
CUTS = (RASTER, COLUMNS, STRIDED, PLAIN)


def patches(cut: str = RASTER, c: int = 3, side: int = 64, n: int = 4) -> Term:
    """A square picture as n × n patches, right (``raster``) or with one of three mistakes.

    ``columns`` takes the patches column by column, ``strided`` puts ``(q, w)`` where ``(w, q)``
    belongs, and ``plain`` reshapes without a permutation.

    >>> [patches(cut).cod.spec for cut in CUTS[:2]]
    ['h:4 w:4 c:3 p:16 q:16', 'w:4 h:4 c:3 p:16 q:16']

    Raises SizeError if n does not divide the side.
    """
    return Axes(c=c, y=side, x=side, h=n, w=n, p=side // n)(_patches(cut, n))


@lru_cache
def _patches(cut: str, n: int) -> Term:
    if cut == PLAIN:
        return Group("c y x -> a") >> Split("a -> h w c p q")
    inner, out = ("q w" if cut == STRIDED else "w q"), ("w h" if cut == COLUMNS else "h w")
    rows = Id("c y x") >> Split("y -> h p")
    return rows >> Split(f"x -> {inner}") >> Einsum(f"c h p {inner} -> {out} c p q")


_SIZE_REASON = "up to 3, so that every number can be seen"

MEMORY_ORDER = Entry(
    name="memory-order",
    title="Memory order",
    source="Notes, permutations",
    knobs=(
        Knob("b", 1, 3, 2, help="images", reason=_SIZE_REASON),
        Knob("c", 1, 3, 2, help="channels", reason=_SIZE_REASON),
        Knob("h", 1, 3, 2, help="height", reason=_SIZE_REASON),
        Knob("w", 1, 3, 2, help="width", reason=_SIZE_REASON),
        Knob(
            "order",
            0,
            len(ORDERS) - 1,
            3,
            help="which order of the axes",
            reason="of all 24: 0 leaves them as they are, 23 reverses them",
            most=len(ORDERS) - 1,
        ),
    ),
    system=memory_order,
    section="Tensors",
    type="b c h w -> p q",
    bands=True,
    width=720.0,
)
