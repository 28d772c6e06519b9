"""Decides which modules of a large model are boxes, by a run on arrays without numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only

from ncd.ops.torch_calls.call_arguments import LETTERS
from ncd.pytorch_source.folding.module_boxes import module_box

FEW = 4  # calls of torch that are no more to draw than a box
PLAIN = (bool, int, float, str, type(None), torch.dtype, torch.device)
ASKED = (
    "__get__",
    "size",
    "dim",
    "numel",
    "stride",
    "contiguous",
    "empty_like",
)  # no op of a graph
RUN = "forward"  # the attribute that is set here


@dataclass(eq=False)
class Call:
    """A call of a module: what it gives, how often it calls torch itself, and the calls inside it.

    ``foldable`` is whether a box can stand in its place.
    """

    results: Any = None
    foldable: bool = False
    own: int = 0
    inner: list[Call] = field(default_factory=list)

    def size(self, levels: int) -> int:
        """Returns how many calls and boxes are drawn if so many levels of modules are open."""
        if levels < 0 and self.foldable:
            return 1
        return self.own + sum(one.size(levels - 1) for one in self.inner)

    def height(self) -> int:
        """Returns the number of levels of modules inside it."""
        return max((1 + one.height() for one in self.inner), default=0)


class Folding:
    """The calls of the modules in a model, and how many levels of them are open.

    Args:
        model: The model.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model, self.whole, self.levels = model, Call(), 0
        self.boxes: Counter[str] = Counter()  # the classes of folded modules
        self._calls: dict[Any, Call] = {}
        self._alike: dict[int, Any] = {}
        self._open: list[Call] = []

    def record(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Runs the model on arrays without numbers; equal modules on equal arrays run once."""
        self._open = [self.whole]
        with _in_place_of(self.model, self._recorded), _Counter(self._open):
            return self.model(*args, **named)

    def choose(self, most: int) -> bool:
        """Opens as many levels as have so many calls at most; returns whether some stay closed."""
        height = self.whole.height()
        self.levels = next((n for n in range(height, -1, -1) if self.whole.size(n) <= most), 0)
        return self.levels < height

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Puts boxes in the place of the modules in closed levels."""
        self.boxes.clear()
        self._open = [self.whole]
        with _in_place_of(self.model, self._boxed):
            yield

    def _recorded(
        self, part: nn.Module, forward: Callable[..., Any], *args: Any, **named: Any
    ) -> Any:
        key = self._key(part, args, named)
        if (found := self._calls.get(key)) is not None and found.foldable:
            self._open[-1].inner.append(found)
            return tree_map_only(Tensor, torch.empty_like, found.results)
        call = self._calls[key] = Call()
        self._open[-1].inner.append(call)
        call.results = self._inside(call, forward, args, named)
        call.foldable = _foldable((args, named), call.results)
        return call.results

    def _boxed(self, part: nn.Module, forward: Callable[..., Any], *args: Any, **named: Any) -> Any:
        call = self._calls.get(self._key(part, args, named))
        closed = len(self._open) > self.levels
        if call is None or not closed or not call.foldable or call.size(99) <= FEW:
            return self._inside(self.whole, forward, args, named)
        self.boxes[type(part).__name__] += 1
        given = [x for x in tree_leaves((args, named)) if isinstance(x, Tensor)]
        return module_box(type(part).__name__, given, call.results)

    def _inside(self, call: Call, forward: Callable[..., Any], args: Any, named: Any) -> Any:
        self._open.append(call)
        try:
            return forward(*args, **named)
        finally:
            self._open.pop()

    def _key(self, part: nn.Module, args: Any, named: Any) -> Any:
        """Returns what equal calls of equal modules have in common."""
        if id(part) not in self._alike:
            self._alike[id(part)] = _settings(part)
        leaves, spec = tree_flatten((args, named))
        shapes = ((*x.shape, x.dtype) if isinstance(x, Tensor) else _compared(x) for x in leaves)
        return self._alike[id(part)], tuple(shapes), str(spec)


class _Counter(TorchFunctionMode):
    """Counts the calls of torch that the innermost open module makes."""

    def __init__(self, opened: list[Call]) -> None:
        super().__init__()
        self.opened = opened

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") not in ASKED:
            self.opened[-1].own += 1
        return func(*args, **(kwargs or {}))


@contextmanager
def _in_place_of(model: nn.Module, run: Callable[..., Any]) -> Iterator[None]:
    """Lets a function run the modules in a model; it is given each with its ``forward``."""
    parts = [part for part in model.modules() if part is not model]
    for part in parts:
        part.__dict__[RUN] = partial(run, part, part.forward)
    try:
        yield
    finally:
        for part in parts:
            del part.__dict__[RUN]


def _foldable(given: Any, results: Any) -> bool:
    """Returns whether a box can take and give what a module does: real numbers, and new arrays."""
    takes = [x for x in tree_leaves(given) if isinstance(x, Tensor)]
    gives = tree_leaves(results)
    arrays = [x for x in gives if isinstance(x, Tensor)]
    plain = all(isinstance(x, (Tensor, *PLAIN)) for x in gives)
    real = all(x.dtype.is_floating_point and x.numel() for x in arrays)
    new = not {*map(id, takes)} & {*map(id, arrays)}
    return bool(arrays) and 0 < len(takes) <= len(LETTERS) and plain and real and new


def _settings(part: nn.Module) -> Any:
    """Returns what equal modules have in common: classes, settings and the shapes of weights."""
    return tuple(
        (
            name,
            type(one),
            tuple((key, x.shape) for key, x in one._parameters.items() if x is not None),
            tuple((key, x.shape) for key, x in one._buffers.items() if x is not None),
            tuple(
                (key, _compared(x))
                for key, x in one.__dict__.items()
                if key[:1] != "_" and key != RUN
            ),
        )
        for name, one in part.named_modules()
    )


def _compared(x: Any) -> Any:
    """Returns a value that is equal for equal plain values, and for others only for the same one.

    A module counts by its class, as those in another one are compared by themselves.
    """
    if isinstance(x, PLAIN):
        return x
    if isinstance(x, nn.Module):
        return type(x)
    if isinstance(x, list | tuple):
        return tuple(map(_compared, x))
    return tuple((key, _compared(each)) for key, each in x.items()) if type(x) is dict else id(x)
