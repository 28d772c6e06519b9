"""The parts of a circuit: arrays, ops at their places, and fences."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ncd.lang.formulas.expr import Call, Expr
from ncd.lang.glyph import Glyph
from ncd.lang.once import once
from ncd.lang.terms.op import Op
from ncd.lang.terms.site import Initial, Site
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array

T = TypeVar("T")


@dataclass(frozen=True)
class Value:
    """An array in a circuit, from the op that makes it to the ops that take it.

    Inside a block with local names the same array has other names for its axes, but the same id.

    Args:
        id: Its id, such as ``v3``.
        array: Its axes.

    Source: Notebook, section 2.3: columns of data.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Softmax
    >>> elaborate(Softmax("x:3")).inputs
    (Value(id='v0', array=Array.parse('x:3')),)
    """

    id: str
    array: Array


State = tuple[Value, ...]


@dataclass(frozen=True)
class Cell:
    """An op in a circuit, with the arrays that it takes and gives.

    Args:
        id: Its id, such as ``n2``.
        op: The op.
        site: The op's own axes and whole arrays, with sizes.
        inputs: The arrays that it takes.
        outputs: The arrays that it gives.
        name: The name of its layer in its submodule; empty if it has none.
        fences: The ids of the fences around it, from the outermost.
        scope: The submodules around its layer, such as ``("encoder", "0", "self_attn")``.
        times: How often it runs in one forward pass.

    Source: Notebook, section 2.3: columns of operations.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.ops import Linear
    >>> cell = elaborate(Linear("m:3 -> k:2", "Q")).cells[0]
    >>> cell.id, cell.path, cell.words
    ('n0', 'Q', 'learned linear map Q, m to k')
    """

    id: str
    op: Op
    site: Site
    inputs: State
    outputs: State
    name: str
    fences: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    times: int = 1

    @property
    def path(self) -> str:
        """The layer's name in the compiled module, such as ``Q`` or ``layers.0.conv``."""
        return ".".join((*self.scope, self.name))

    @property
    def flops(self) -> int:
        """The floating-point operations of all its runs in one forward pass."""
        return self.times * self._told("flops")

    @once
    def glyph(self) -> Glyph:
        """The drawing of the op, as marks on its wires."""
        return self._told("glyph")

    @once
    def words(self) -> str:
        """The description of the op, in words that read well aloud."""
        return self._told("words")

    @once
    def torch(self) -> Expr | tuple[Expr, ...]:
        """Its torch code: one expression, or one for each output."""
        return self._told("torch")

    @once
    def layer(self) -> Call | None:
        """The call that makes its layer; None if it has none."""
        return self._told("layer")

    @once
    def initial(self) -> Mapping[str, Initial]:
        """The initial value of each of its parameters and buffers."""
        return self._told("initial")

    def shared(self, name: Hashable, ask: Callable[[Cell], T]) -> T:
        """Returns ``ask(self)``, under a name, which cells share that have the same op and site.

        Equal layers have both in common, so nothing is computed again for each of them.
        """
        op, told = self.site.__dict__.setdefault("_told", (self.op, {}))
        if op is not self.op:
            return ask(self)
        if name not in told:
            told[name] = ask(self)
        known: T = told[name]
        return known

    def _told(self, what: str) -> Any:
        return self.shared(what, lambda cell: getattr(cell.op, what)(cell.site))


@dataclass(frozen=True)
class Fence:
    """A block or a loop in a circuit, with the arrays inside it at each of its states.

    Args:
        id: Its id, such as ``f1``.
        title: The title.
        role: The role that chooses its colour.
        first: The index of its first state in its circuit.
        states: The arrays inside it at each state.
        parent: The id of the fence around it; empty for none.
        repeats: The number of bodies of a repetition; 0 for others.
        term: The block or loop.
        scope: The path of its submodule; empty for none.

    Source: Notebook, figure 20 and later: fenced regions with titles.

    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> from ncd.lang.terms.blocks import Block
    >>> from ncd.ops import Softmax
    >>> (fence,) = elaborate(Block(Softmax("x:3"), "Weights")).fences
    >>> fence.id, fence.title, fence.first, fence.last
    ('f0', 'Weights', 0, 1)
    """

    id: str
    title: str
    role: str
    first: int
    states: tuple[State, ...]
    parent: str = ""
    repeats: int = 0
    term: Term | None = None
    scope: tuple[str, ...] = ()

    @property
    def last(self) -> int:
        """The index of its last state in its circuit."""
        return self.first + len(self.states) - 1
