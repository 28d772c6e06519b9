"""The parameters of a term as arrays, under the names that its module gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, Union

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.loops import Repeat
from ncd.lang.terms.op import Op
from ncd.lang.terms.terms import Beside, Id, Term
from ncd.lang.types.axes import Type

Tree: TypeAlias = dict[str, Union[Op, "Tree"]]


@dataclass
class Parameters:
    """Learned and constant arrays by their paths, such as ``layers.0.Q.weight``."""

    ops: dict[str, Op] = field(default_factory=dict)

    def term(self) -> tuple[Term, list[str]]:
        """Returns a term without inputs that gives every array, and their paths in its order."""
        tree: Tree = {}
        for path, op in self.ops.items():
            *scopes, name = path.split(".")
            inner = tree
            for scope in scopes:
                found = inner.setdefault(scope, {})
                assert isinstance(found, dict), path
                inner = found
            inner[name] = op
        whole = _beside(_parts(tree))
        circuit = elaborate(whole)
        made = {value.id: cell.path for cell in circuit.cells for value in cell.outputs}
        return whole, [made[value.id] for value in circuit.outputs]


def _parts(tree: Tree) -> Iterable[Term]:
    """Yields a term for each module and each array of a tree."""
    for name, part in tree.items():
        if isinstance(part, Op):
            yield part
        elif all(key.isdecimal() for key in part):
            yield Repeat(_bodies(part), name)
        else:
            yield Block(_beside(_parts(part)), name=name)


def _bodies(tree: Mapping[str, Op | Tree]) -> tuple[Term, ...]:
    """Returns a body for each number of a repetition, also for those without an array."""
    bodies = []
    for index in range(1 + max(map(int, tree))):
        part = tree.get(str(index), {})
        assert isinstance(part, dict)
        bodies.append(_beside(_parts(part)))
    return tuple(bodies)


def _beside(terms: Iterable[Term]) -> Term:
    """Returns terms without inputs one after the other; each leaves its arrays on top."""
    every = tuple(terms)
    if not every:
        return Id(Type())
    return every[0] if len(every) == 1 else Beside(*every)
