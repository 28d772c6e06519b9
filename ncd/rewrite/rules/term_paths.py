"""The place of every op and block in the tree of its term, and terms with other parts there.

A circuit numbers the ops and the blocks of a term in the order in which it meets them. The path of
an op is the way to it through the children of terms, so an id of a drawing means one op of a term.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.errors import UnknownNameError
from ncd.language.axes import Array, Type
from ncd.language.blocks import Block, Equation
from ncd.language.cached_property import lazy_property
from ncd.language.fields import field_names
from ncd.language.loops import Repeat, Scan
from ncd.language.op import Op
from ncd.language.terms import Beside, Id, Term, Then, replace_fields
from ncd.rewrite.rules.block_steps import BlockSteps, read_steps

Path = tuple[int, ...]  # the numbers of the children, from the whole term
ANY_ARRAY = Array()


# --- Paths of ops and blocks, by the ids that a circuit gives them


@dataclass(frozen=True, eq=False)
class TermPaths:
    """The path of every op and block of a circuit, by its id.

    The op that copies the inputs of an equation stands in no term, so it has no path.
    """

    circuit: Circuit

    @lazy_property
    def by_id(self) -> Mapping[str, Path]:
        """Each path by the id of its op or block."""
        cells, fences = count(), count()
        return dict(_number_parts(self.circuit.term, (), cells, fences))

    @lazy_property
    def ids(self) -> Mapping[Path, str]:
        """Each id by its path."""
        return {path: id for id, path in self.by_id.items()}

    @lazy_property
    def steps(self) -> BlockSteps:
        """The term as steps on named arrays."""
        return read_steps(self.circuit)

    @lazy_property
    def unwritten_names(self) -> Mapping[Path, str]:
        """The names of layers and blocks that another one of their name precedes.

        Of two layers ``L`` of one module the second is called ``L_2``; without the first it would
        take its name, and its weights.
        """
        found = {}
        for cell in self.circuit.cells:
            if cell.name and cell.name != getattr(cell.op, "name", "") and cell.id in self.by_id:
                found[self.by_id[cell.id]] = cell.name
        for fence in self.circuit.fences:
            if fence.scope and fence.scope[-1] != getattr(fence.term, "name", ""):
                found[self.by_id[fence.id]] = fence.scope[-1]
        return found

    @lazy_property
    def with_own_names(self) -> TermPaths:
        """The same term, in which every layer is called as its parameters are.

        So its ops can be put in another order.
        """
        names = self.unwritten_names
        return TermPaths(elaborate(with_names(self.circuit.term, names))) if names else self

    def path(self, id: str) -> Path:
        """Returns the path of an op or a block; raises UnknownNameError for no such id."""
        if id not in self.by_id:
            raise UnknownNameError(f"there is no op or block {id!r}", cure="an id such as n0 or f0")
        return self.by_id[id]

    def copies(self, id: str) -> tuple[str, ...]:
        """Returns the ids of one op or block in all bodies of the repetitions around it.

        The id itself is the first. Bodies of another structure have no copy.
        """
        path = self.path(id)
        found = [path]
        for depth, part in enumerate(ancestors(self.circuit.term, path)):
            if isinstance(part, Repeat):
                others = (i for i in range(len(part.bodies)) if i != path[depth])
                moved = [(*one[:depth], i, *one[depth + 1 :]) for i in others for one in found]
                found += moved
        kind = type(part_at(self.circuit.term, path))
        ids = [
            self.ids[one]
            for one in found
            if one in self.ids and type(part_at(self.circuit.term, one)) is kind
        ]
        return (*ids, *self._same_layer(ids))

    def _same_layer(self, ids: list[str]) -> list[str]:
        """Returns the other ops whose layer is that of one of these, as on sides of equations."""
        cells = self.circuit.cells_by_id
        layers = {cells[id].path for id in ids if id in cells and cells[id].name}
        alike = (id for id, cell in cells.items() if cell.name and cell.path in layers)
        return [id for id in alike if id not in ids and id in self.by_id]


def _number_parts(
    term: Term, path: Path, cells: Iterator[int], fences: Iterator[int]
) -> Iterator[tuple[str, Path]]:
    """Yields the id and the path of each op and block, in the order of the circuit."""
    if isinstance(term, Op):
        yield f"n{next(cells)}", path
        return
    if isinstance(term, Block | Repeat | Scan):
        yield f"f{next(fences)}", path
    if isinstance(term, Equation):
        next(cells)  # of the op that copies its inputs
    for i, part in enumerate(term.children):
        yield from _number_parts(part, (*path, i), cells, fences)


def ancestors(term: Term, path: Path) -> Iterator[Term]:
    """Yields the terms on the way to a path, without its end."""
    for i in path:
        yield term
        term = term.children[i]


def part_at(term: Term, path: Path) -> Term:
    """Returns the part of a term at a path.

    >>> from ncd.ops import Linear, Softmax
    >>> part_at(Linear("m -> k") >> Softmax("k"), (1,))
    Softmax('k')
    """
    for i in path:
        if i >= len(term.children):
            raise UnknownNameError(f"there is no part {path}", cure="a path of this term")
        term = term.children[i]
    return term


# --- A term with other parts at some paths


def replace_parts(term: Term, parts: Mapping[Path, Term], keep_inputs: bool = True) -> Term:
    """Returns the term with these parts; what nothing is left of goes as well.

    Args:
        term: The term.
        parts: The new part at each path.
        keep_inputs: Whether the term, and each body with names of its own, takes the same arrays as
            before, also where the new parts name fewer axes.

    Raises:
        MismatchError: For parts that do not fit.

    >>> from ncd.ops import Linear, Softmax
    >>> replace_parts(Linear("m:3 -> k:2") >> Softmax("k"), {(1,): Id("k")})
    Linear('m:3 -> k:2')
    """
    new = _TermWriter(keep_inputs).write(term, dict(parts))
    return _with_inputs(new, term) if keep_inputs else new


class _TermWriter:
    """Writes a term anew along the paths of its new parts."""

    def __init__(self, keep_inputs: bool) -> None:
        self.keep_inputs = keep_inputs

    def write(self, term: Term, parts: dict[Path, Term]) -> Term:
        if () in parts:
            return parts[()]
        inner: dict[int, dict[Path, Term]] = {}
        for path, part in parts.items():
            inner.setdefault(path[0], {})[path[1:]] = part
        if isinstance(term, Repeat):
            return replace(term, bodies=self._bodies(term, inner))
        new = [
            self.write(part, inner[i]) if i in inner else part
            for i, part in enumerate(term.children)
        ]
        match term:
            case Then():
                left = [s for i, s in enumerate(new) if i not in inner or not isinstance(s, Id)]
                left = left or new[:1]
                return Then(*left) if len(left) > 1 else left[0]
            case Beside():
                return _join_wires(new)
            case Block():
                return self._block(term, new[0])
            case Scan():
                return replace(term, body=self._body(new[0], term.body))
            case Equation():
                return Equation(*map(self._body, new, term.sides), sign=term.sign)
        raise TypeError(f"{type(term).__name__} is not a kind of term")

    def _bodies(self, term: Repeat, inner: Mapping[int, dict[Path, Term]]) -> tuple[Term, ...]:
        """Returns the new bodies; what is equal before is equal afterwards."""
        known: dict[Term, Term] = {}
        for i in sorted(inner):
            body = term.bodies[i]
            if body not in known:
                known[body] = self._body(self.write(body, inner[i]), body)
        return tuple(known.get(body, body) for body in term.bodies)

    def _body(self, new: Term, old: Term) -> Term:
        return _with_inputs(new, old) if self.keep_inputs else new

    def _block(self, term: Block, body: Term) -> Term:
        if isinstance(body, Id) and not isinstance(term.body, Id):
            return Id(Type(ANY_ARRAY for _ in body.type)) if term.local else body
        new = self._body(body, term.body) if term.local else body
        same = (new.dom, new.cod) == (term.body.dom, term.body.cod)
        return replace(term, body=new, type=term.type if same else None)


def _join_wires(parts: list[Term]) -> Term:
    """Returns parts beside each other; all of them as one if each passes its arrays on."""
    wires = [part.type for part in parts if isinstance(part, Id)]
    if len(wires) < len(parts):
        return Beside(*parts) if len(parts) > 1 else parts[0]
    return Id(Type(array for arrays in wires for array in arrays))


def _with_inputs(new: Term, old: Term) -> Term:
    """Returns the new term on the arrays of the old one, if it names other ones."""
    if new.dom.spec == old.dom.spec or len(new.dom) > len(old.dom):
        return new
    return identity(old.dom) >> new


def with_names(term: Term, names: Mapping[Path, str]) -> Term:
    """Returns the term with other names for the layers and blocks at some paths."""
    if not names:
        return term
    new = dict[str, Any]({name: getattr(term, name) for name in field_names(type(term))})
    inner: dict[int, dict[Path, str]] = {}
    for path, name in names.items():
        if path:
            inner.setdefault(path[0], {})[path[1:]] = name
        else:
            new["name"] = name
    equal: dict[Term, Term] = {}
    parts = [
        equal.setdefault(part := with_names(child, inner.get(i, {})), part)
        for i, child in enumerate(term.children)
    ]
    for field, value in new.items():
        if isinstance(value, Term):
            new[field] = parts[0]
        elif isinstance(value, tuple) and value and isinstance(value[0], Term):
            new[field] = tuple(parts)
    named: Term = replace_fields(term, new)
    return named


def identity(arrays: Type) -> Term:
    """Returns wires for arrays, in which one name may stand for axes of two sizes."""
    sizes: dict[str, object] = {}
    if all(sizes.setdefault(axis.name, axis.size) == axis.size for axis in arrays.axes):
        return Id(arrays)
    return Beside(*(Id(Type((array,))) for array in arrays))


def on_array(part: Term, arrays: Type, place: int) -> Term:
    """Returns a step on one of several arrays, which passes those before it on.

    >>> from ncd.ops import Softmax
    >>> on_array(Softmax("x"), Type.parse("m, x"), 1)
    Id('m') @ Softmax('x')
    """
    return identity(Type(arrays[:place])) @ part if place else part
