"""Arrays, indexes, broadcasting and elementwise functions (notebook, section 2.3)."""

from __future__ import annotations

from functools import partial
from math import prod

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import plain
from ncd.language.blocks import Equation
from ncd.language.terms import Id, Term
from ncd.ops import Function, Index
from ncd.systems.catalogue_entry import Entry


def _size_labelled_axes(**sizes: int) -> Axes:
    """Returns the axes labelled by their sizes, as in the figures of section 2.3."""
    return Axes(**{name: plain(size, str(size)) for name, size in sizes.items()})


def tensors(
    a: int = 3, b: int = 4, c: int = 2, d: int = 6, p: int = 3, q: int = 3, r: int = 1, s: int = 2
) -> Term:
    """f on the last two of three arrays, then g on the first and the result of f."""
    n = _size_labelled_axes(a=a, b=b, c=c, d=d, p=p, q=q, r=r, s=s)
    f, g = Function("f", "b c, d -> p q", "tanh"), Function("g", "a, p q -> r s", "tanh")
    return n(Id("a") @ f >> g)


def arrays(
    a: int = 3, b: int = 4, c: int = 2, d: int = 6, p: int = 3, q: int = 3, r: int = 1, s: int = 2
) -> Term:
    """Returns the same drawn with one wire for each array, the figure's other style."""
    shapes = {"a": (a,), "b": (b, c), "d": (d,), "p": (p, q), "r": (r, s)}
    n = {
        name: f'{name}"ℝ^{{{"×".join(map(str, shape))}}}":{prod(shape)}'
        for name, shape in shapes.items()
    }
    f = Function("f", "{b}, {d} -> {p}".format_map(n), "tanh")
    g = Function("g", "{a}, {p} -> {r}".format_map(n), "tanh")
    return Id(n["a"]) @ f >> g


def indexes(a: int = 4, b: int = 3, i: int = 2) -> Term:
    """Row i of a table."""
    n = _size_labelled_axes(a=a, b=b)
    return n(Index("a b", a=i))


def subtensors(a: int = 5, b: int = 7, i: int = 2, j: int = 3) -> Term:
    """One number of a table, by both indexes at once and one after the other."""
    return Axes(a=a, b=b)(
        Equation(
            Index("a b", a=i, b=j),
            Index("a b", a=i) >> Index("b", b=j),
            Index("a b", b=j) >> Index("a", a=i),
        )
    )


def row(a: int = 3, b: int = 2, fn: str = "tanh") -> Term:
    """G on one row: ``fn`` of a linear map, as are H and f below."""
    return _size_labelled_axes(a=a, b=b)(Function("G", "a -> b", fn))


def broadcasting(c: int = 4, a: int = 3, b: int = 2, i: int = 2) -> Term:
    """Row i of G on every row, and G on row i."""
    n = _size_labelled_axes(a=a, b=b, c=c)
    index, before = n(Index("c b", c=i)), n(Index("c a", c=i))
    return Equation(rows(c, a, b) >> index, before >> row(a, b), sign="≝")


def rows(c: int = 4, a: int = 3, b: int = 2) -> Term:
    """G on every row."""
    return _size_labelled_axes(a=a, c=c)(Id("c a")) >> row(a, b)


def pair(a: int = 3, d: int = 4, b: int = 2, fn: str = "tanh") -> Term:
    """H on one row and one other array."""
    return _size_labelled_axes(a=a, b=b, d=d)(Function("H", "a, d -> b", fn))


def inner_broadcasting(c: int = 4, a: int = 3, d: int = 4, b: int = 2, i: int = 2) -> Term:
    """Row i of H on every row, and H on row i, beside one other array."""
    n = _size_labelled_axes(a=a, b=b, c=c, d=d)
    index, before = n(Index("c b", c=i)), n(Index("c a", c=i) @ Id("d"))
    return Equation(pairs(c, a, d, b) >> index, before >> pair(a, d, b), sign="≝")


def pairs(c: int = 4, a: int = 3, d: int = 4, b: int = 2) -> Term:
    """H on every row, each with the same other array."""
    return _size_labelled_axes(a=a, c=c, d=d)(Id("c a, d")) >> pair(a, d, b)


def value(fn: str = "tanh") -> Term:
    """f on one number, drawn on its axis of length 1."""
    return Function("f", "1 -> 1", fn)


def elementwise(c: int = 4, a: int = 3, i: int = 2) -> Term:
    """Row i of f on every number, and f on the numbers of row i."""
    index = _size_labelled_axes(a=a, c=c)(Index("c a", c=i))
    return Equation(values(c, a) >> index, index >> _ELEMENT_FUNCTION, sign="≝")


def values(c: int = 4, a: int = 3) -> Term:
    """f on every number."""
    return _size_labelled_axes(a=a, c=c)(Id("c a")) >> _ELEMENT_FUNCTION


_ELEMENT_FUNCTION = Function("f", "() -> ()", "tanh")


# --- the catalogue --------------------------------------------------------------------------------

_SIZE_REASON = "up to 8, so that every number can be seen"


def _size(name: str, default: int, help: str, reason: str = _SIZE_REASON, least: int = 1) -> Knob:
    return Knob(name, least, 8, default, help=help, reason=reason)


def _index(name: str, default: int, below: str, last: int) -> Knob:
    help = f"index along {below}"
    return Knob(name, 0, last, default, help=help, reason="its axis counts from 0", below=below)


def _taking(i: int, **sizes: int) -> dict[str, str]:
    taken = f"grabbing $A[{i}, :]$, by an index applied on the relevant axis."
    return {"": f"We express subtensor extractions, {taken}"}


def _pairs(i: int, j: int, **sizes: int) -> dict[str, str]:
    return {
        "": f"Here, ${i}$ may be any of ${{0 … a-1}}$, and ${j}$ any of ${{0 … b-1}}$. "
        "The diagram holds for all the indexes."
    }


def _definition_notes(what: str, c: int, i: int, **sizes: int) -> dict[str, str]:
    some = ", ".join(map(str, range(c))) if c < 6 else f"0 … {c - 1}"
    return {
        "": f"{what} can be formally defined in terms of indexes. The left and right hand side "
        f"below are equal. Graphically, we see that {what.lower()} allows indexes to pass over "
        f"expressions. Note how the expressions hold for ${i}$ replaced by any valid index "
        f"$i_{{{c}}} ∈ {{{some}}}$."
    }


def _defined_inside(c: int, d: int, i: int, **sizes: int) -> dict[str, str]:
    beside = f"Here, the index is accompanied by an identity on the ${d}$-shaped variable."
    return {**_definition_notes("Inner broadcasting", c, i), "n3": beside}


def _passing_notes(i: int, **sizes: int) -> dict[str, str]:
    some = f"row ${i}$ of $f$ on every number is $f$ on every number of row ${i}$"
    return {"": f"An index passes over $f$ too: {some}."}


_ROWS = _size("c", 4, "rows", "as many as an index can choose from", 2)
_ROW_LENGTH = _size("a", 3, "length of a row")
_RESULT_LENGTH = _size("b", 2, "length of a row that comes out")
_ROW = _index("i", 2, "c", 3)

TENSORS = Entry(
    name="tensors",
    title="Tensors",
    source="Notebook, section 2.3",
    knobs=(
        _size("a", 3, "length of the first array"),
        _size("b", 4, "rows of the second array"),
        _size("c", 2, "columns of the second array"),
        _size("d", 6, "length of the third array"),
        _size("p", 3, "rows of what f gives"),
        _size("q", 3, "columns of what f gives"),
        _size("r", 1, "rows of what g gives"),
        _size("s", 2, "columns of what g gives"),
    ),
    system=tensors,
    section="Tensors",
    type="a, b c, d -> r s",
    notes={"": "We express tensor data types by representing axes with wires."},
    bands=True,
)

INDEXES = Entry(
    name="indexes",
    title="Indexes",
    source="Notebook, figure 8",
    knobs=(
        _size("a", 4, "rows", "as many as an index can choose from", 2),
        _size("b", 3, "columns"),
        _index("i", 2, "a", 3),
    ),
    system=indexes,
    section="Tensors",
    type="a b -> b",
    notes=_taking,
    bands=True,
    cells=True,
)

SUBTENSORS = Entry(
    name="subtensors",
    title="Subtensors",
    source="Notebook, figure 9",
    knobs=(
        _size("a", 5, "rows", "as many as an index can choose from", 2),
        _size("b", 7, "columns", "as many as an index can choose from", 2),
        _index("i", 2, "a", 4),
        _index("j", 3, "b", 6),
    ),
    system=subtensors,
    section="Tensors",
    type="a b -> (), (), ()",
    notes=_pairs,
    bands=True,
)

BROADCASTING = Entry(
    name="broadcasting",
    title="Broadcasting",
    source="Notebook, figure 10",
    knobs=(_ROWS, _ROW_LENGTH, _RESULT_LENGTH, _ROW),
    system=broadcasting,
    section="Tensors",
    type="c a -> b, b",
    notes=partial(_definition_notes, "Broadcasting"),
    bands=True,
)

INNER_BROADCASTING = Entry(
    name="inner-broadcasting",
    title="Inner broadcasting",
    source="Notebook, figure 11",
    knobs=(_ROWS, _ROW_LENGTH, _size("d", 4, "length of the other array"), _RESULT_LENGTH, _ROW),
    system=inner_broadcasting,
    section="Tensors",
    type="c a, d -> b, b",
    notes=_defined_inside,
    bands=True,
)

ELEMENTWISE = Entry(
    name="elementwise",
    title="Elementwise operations",
    source="Notebook, figure 12",
    knobs=(_ROWS, _ROW_LENGTH, _ROW),
    system=elementwise,
    section="Tensors",
    type="c a -> a, a",
    notes=_passing_notes,
    bands=True,
)
