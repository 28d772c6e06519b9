"""Random well-typed terms, for properties that every system must have.

``terms()`` draws small pipelines out of all ops of ``ncd.ops.CATALOGUE``, with blocks and
repetitions; ``types()`` draws what goes in. All sizes are known, and every array stays small.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import rshift
from typing import TypeVar

from hypothesis import strategies as st

from ncd.axes import Array, Axis, Type
from ncd.ops import (
    Add,
    BatchNorm,
    CausalMask,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Einsum,
    Elementwise,
    Group,
    LayerNorm,
    Linear,
    MaxPool,
    Named,
    Scale,
    Softmax,
    Split,
    Swap,
)
from ncd.ops.elementwise import FUNCTIONS
from ncd.terms import Block, Id, Repeat, Term

PLAIN = ("a", "b", "c", "d", "h", "k", "m", "y", "n_0", "2c")
SPATIAL = ("x", "u")
FRESH = (*"efgijlopqrstvwz", "n_b", "m_1", "m_2", "x/s", "k/h", "4m", "3c")
LARGEST = 4096  # numbers in one array
TITLES = ("Attention", "Residual", "", "Feed-Forward Network")
ROLES = ("neutral", "linear", "einsum", "softmax", "residual", "module")
NAMES = ("Q", "K", "V", "O", "L", "proj")
T = TypeVar("T")


@st.composite
def types(draw: st.DrawFn, arrays: int = 3, axes: int = 4) -> Type:
    """One to ``arrays`` arrays of one to ``axes`` axes; a name has one size throughout."""
    sizes = {name: draw(st.integers(1, 4)) for name in PLAIN}
    edges = {name: draw(st.sampled_from(((4, 4), (2, 3), (3,)))) for name in SPATIAL}
    marked = draw(st.sets(st.sampled_from(PLAIN[:-2]), max_size=2))
    known = [Axis(n, s, sequence=n in marked) for n, s in sizes.items()]
    known += [Axis(n, s if len(s) > 1 else s[0]) for n, s in edges.items()]
    array = st.lists(st.sampled_from(known), min_size=1, max_size=axes, unique=True)
    return Type(map(Array, draw(st.lists(array, min_size=1, max_size=arrays))))


@st.composite
def terms(draw: st.DrawFn, steps: int = 5, arrays: int = 3, axes: int = 4) -> Term:
    """A pipeline of one to ``steps`` steps on arrays of :func:`types`."""
    dom = draw(types(arrays, axes))
    return _chain([Id(dom), *_pipeline(_Draw(draw), dom, draw(st.integers(1, steps)), depth=0)])


def _chain(steps: list[Term]) -> Term:
    return reduce(rshift, steps)


class _Draw:
    """Draws, and gives out names and sizes for new axes."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.used = 0

    def one(self, values: list[T] | tuple[T, ...]) -> T:
        return self.draw(st.sampled_from(values))

    def yes(self) -> bool:
        return self.draw(st.booleans())

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def some(self, values: list[T] | tuple[T, ...], least: int = 0) -> list[T]:
        """A random selection, in the order in which they stand."""
        places = st.sets(st.sampled_from(range(len(values))), min_size=least)
        chosen = self.draw(places) if values else set()
        return [value for i, value in enumerate(values) if i in chosen]

    def shuffled(self, values: list[T]) -> list[T]:
        return self.draw(st.permutations(values))

    def name(self) -> str:
        """A name that no axis has yet."""
        self.used += 1
        turn, at = divmod(self.used - 1, len(FRESH))
        return FRESH[at] + (f"_{turn}x" if turn else "")

    def axis(self) -> str:
        return f"{self.name()}:{self.number(1, 4)}"


Maker = Callable[[_Draw, Type], Term | None]


def _pipeline(d: _Draw, state: Type, count: int, depth: int) -> list[Term]:
    steps: list[Term] = []
    for _ in range(count):
        start = d.number(0, len(state) - 1)
        skipped, given = Type(state[:start]), Type(state[start:])
        step = _block(d, given, depth) if depth < 2 and d.number(0, 4) == 0 else _step(d, given)
        if step is None:
            continue
        own = len(step.dom)
        after = Type((*skipped, *step.lift(Type(given[:own])), *given[own:]))
        if len(after) > 5 or any(array.numel > LARGEST or len(array) > 6 for array in after):
            continue
        steps.append(Id(skipped) @ step if skipped else step)
        state = after
    return steps


def _block(d: _Draw, given: Type, depth: int) -> Term | None:
    inputs = Type(given[: d.number(1, len(given))])
    body = _pipeline(d, inputs, d.number(1, 3), depth + 1)
    if not body:
        return None
    return Block(_chain([Id(inputs), *body]), d.one(TITLES), d.one(ROLES))


def _step(d: _Draw, given: Type) -> Term | None:
    return d.one(MAKERS)(d, given)


# --- one maker a kind of op; None where it has nothing to work on --------------------------------


def _plain(array: Array) -> list[Axis]:
    return [axis for axis in array if not axis.spatial]


def _words(axes: list[Axis] | list[str]) -> str:
    return " ".join(a if isinstance(a, str) else a.name for a in axes) or "()"


def _einsum(d: _Draw, given: Type) -> Term | None:
    arrays = given[: d.number(1, min(3, len(given)))]
    own = d.some(list(dict.fromkeys(axis.name for array in arrays for axis in array)))
    rests = [_rest(array.names, own) for array in arrays]
    if {n for before, _ in rests for n in before} & {n for _, after in rests for n in after}:
        return None  # it would stand on both sides of the result
    ins = ", ".join(_words([n for n in array.names if n in own]) for array in arrays)
    return Einsum(f"{ins} -> {_words(d.shuffled(d.some(own)))}", d.one(("x", "scores", "out")))


def _rest(names: tuple[str, ...], own: list[str]) -> tuple[list[str], list[str]]:
    """The axes before the first of an op's own, and the other ones after it."""
    first = next((i for i, name in enumerate(names) if name in own), 0)
    return list(names[:first]), [name for name in names[first:] if name not in own]


def _linear(d: _Draw, given: Type) -> Term | None:
    own, new = d.some(given[0]), [d.axis() for _ in range(d.number(0, 2))]
    return Linear(f"{_words(own)} -> {_words(new)}", d.one(NAMES), d.yes())


def _softmax(d: _Draw, given: Type) -> Term | None:
    return Softmax(d.one(given[0]).name) if given[0] else None


def _mask(d: _Draw, given: Type) -> Term | None:
    if len(_plain(given[0])) < 2:
        return None
    y, x = d.shuffled(list(range(len(_plain(given[0])))))[:2]
    names = [axis.name for axis in _plain(given[0])]
    one, two = names[min(y, x)], names[max(y, x)]
    return CausalMask(f"{one} {two}") >> Softmax(two)  # softmax at once, so that −∞ stays finite


def _scale(d: _Draw, given: Type) -> Term | None:
    if not given[0]:
        return None
    return Scale(Array((d.one(given[0]),)), d.one(("-1/2", "1/2", "-1", "2")))


def _elementwise(d: _Draw, given: Type) -> Term | None:
    return Elementwise(d.one(tuple(FUNCTIONS)))


def _copy(d: _Draw, given: Type) -> Term | None:
    return Copy(_words(list(given[0])))


def _residual(d: _Draw, given: Type) -> Term | None:
    whole = Id(_words(list(given[0])))
    inner = d.one((_elementwise, _softmax, _layer_norm, _feed_forward))(d, given)
    copy = Copy(_words(list(given[0])))
    return copy >> (whole if inner is None else inner) @ whole >> Add()


def _concat(d: _Draw, given: Type) -> Term | None:
    if not _plain(given[0]):
        return None
    name = d.one(_plain(given[0])).name
    concat = Concat(f"{name}, {name} -> {d.name()}")
    return Copy(_words(list(given[0]))) >> _elementwise(d, given) >> concat


def _layer_norm(d: _Draw, given: Type) -> Term | None:
    return LayerNorm(_words(d.some(given[0], least=1))) if given[0] else None


def _batch_norm(d: _Draw, given: Type) -> Term | None:
    array = given[0]
    if len(_plain(array)) < 2 or len(array.shape) > 5:
        return None
    own = d.some(_plain(array), least=2)[:2]
    return BatchNorm(_words(own)) if array.numel > own[1].numel else None


def _group(d: _Draw, given: Type) -> Term | None:
    if len(given[0]) < 2:
        return None
    return Group(f"{_words(d.some(given[0], least=2))} -> {d.name()}")


def _split(d: _Draw, given: Type) -> Term | None:
    if not _plain(given[0]):
        return None
    axis = d.one(_plain(given[0]))
    factor = d.one([n for n in range(1, axis.numel + 1) if axis.numel % n == 0])
    new = d.shuffled([f"{d.name()}:{factor}", d.name()])
    return Split(f"{axis.name} -> {_words(new)}")


def _swap(d: _Draw, given: Type) -> Term | None:
    return Swap(*(_words(list(array)) for array in given[:2])) if len(given) > 1 else None


def _named(d: _Draw, given: Type) -> Term | None:
    return Named(_words(list(given[0])), d.one(("Q", "K", "X", "A")))


def _window(d: _Draw, given: Type) -> tuple[str, Axis] | None:
    """A channel axis and, behind it, one to slide over."""
    array = given[0]
    pairs = [(c, x) for i, c in enumerate(array) for x in array[i + 1 :] if not c.spatial]
    pairs = [(c, x) for c, x in pairs if x.spatial] or pairs
    if not pairs:
        return None
    channel, places = d.one(pairs)
    return channel.name, places


def _conv(d: _Draw, given: Type) -> Term | None:
    found = _window(d, given)
    if found is None:
        return None
    channel, places = found
    if d.yes():
        pattern = f"{channel} {places.name} -> {d.axis()} {places.name}"
        return Conv(pattern, kernel=d.one((1, 3)), bias=d.yes())
    pattern = f"{channel} {places.name} -> {d.axis()} {d.name()}"
    return Conv(pattern, kernel=d.one((1, 3)), stride=2, bias=d.yes())


def _conv_transpose(d: _Draw, given: Type) -> Term | None:
    found = _window(d, given)
    if found is None or max(found[1].shape) > 4:
        return None
    channel, places = found
    return ConvTranspose(f"{channel} {places.name} -> {d.axis()} {d.name()}", bias=d.yes())


def _max_pool(d: _Draw, given: Type) -> Term | None:
    wide = [axis for axis in given[0] if min(axis.shape) > 1]
    return MaxPool(f"{d.one(wide).name} -> {d.name()}") if wide else None


def _feed_forward(d: _Draw, given: Type) -> Term | None:
    """A linear map to a wider axis, an activation, and a linear map back: its type is kept."""
    if not given[0]:
        return None
    axis, wide = d.one(given[0]).spec.lstrip("~"), d.axis()
    name = axis.partition(":")[0]
    inner = wide.partition(":")[0]
    up, down = Linear(f"{name} -> {wide}", "up"), Linear(f"{inner} -> {axis}", "down", d.yes())
    return up >> Elementwise("relu") >> down


def _repeat(d: _Draw, given: Type) -> Term | None:
    """Bodies that keep the type; their inner sizes may differ."""
    maker = d.one((_feed_forward, _residual, _layer_norm, _softmax))
    bodies = [maker(d, given) for _ in range(d.number(1, 3))]
    if bodies[0] is None:
        return None
    if d.yes():
        bodies = bodies[:1] * len(bodies)
    whole, title = Id(Type(given[:1])), d.one(TITLES)
    inner = [Block(whole >> body, title, "residual") for body in bodies if body]
    return Repeat(tuple(inner), d.one(("layers", "blocks")))


MAKERS: tuple[Maker, ...] = (
    _elementwise,
    _named,
    _copy,
    _softmax,
    _scale,
    _linear,
    _einsum,
    _layer_norm,
    _group,
    _split,
    _swap,
    _mask,
    _residual,
    _concat,
    _batch_norm,
    _conv,
    _conv_transpose,
    _max_pool,
    _feed_forward,
    _repeat,
)
