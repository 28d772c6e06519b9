"""A module as a term; of a large one the upper levels, with the modules below them as boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.library import Library
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from ncd.ops.opaque_call import FOLDED_SPACE, LETTERS
from ncd.read.python_source.interpreter import Interpreter, SourceModule, source_attributes
from ncd.read.python_source.other_files import function_words
from ncd.read.torch_module.comparison import PARTLY_USED
from ncd.read.torch_module.from_torch import Imported, from_torch
from ncd.read.torch_module.torch_export import quiet

# --- The functions of torch that stand for folded modules in its graph, without their values

_FUNCTIONS = Library(FOLDED_SPACE, "DEF")
_defined_functions: set[str] = set()


def module_box(kind: str, given: list[Tensor], results: Any) -> Any:
    """Returns the results of a box in the place of those of a module.

    Args:
        kind: The class of the module.
        given: The arrays that it takes.
        results: What it gives: arrays of these shapes, perhaps in tuples or dictionaries.

    >>> x = torch.zeros(2, 3)
    >>> [each.shape for each in module_box("Gate", [x], (x, torch.zeros(4)))]
    [torch.Size([2, 3]), torch.Size([4])]
    """
    leaves, spec = tree_flatten(results)
    shapes = [[int(n) for n in x.shape] for x in leaves if isinstance(x, Tensor)]
    call = _function(function_words(kind), len(shapes))
    found = call(given, [n for shape in shapes for n in shape], [*map(len, shapes)])
    made = iter(found if isinstance(found, tuple) else (found,))
    return tree_unflatten([next(made) if isinstance(x, Tensor) else x for x in leaves], spec)


def _function(name: str, count: int) -> Any:
    """Returns the function with so many results, an overload that is made at its first call."""
    overload = "default" if count == 1 else f"results{count}"
    whole = name if count == 1 else f"{name}.{overload}"
    if whole not in _defined_functions:
        gives = "Tensor" if count == 1 else f"({', '.join(['Tensor'] * count)})"
        _FUNCTIONS.define(f"{whole}(Tensor[] arrays, int[] sizes, int[] ranks) -> {gives}")
        _FUNCTIONS.impl(whole, _zeros, "CompositeExplicitAutograd")
        _defined_functions.add(whole)
    return getattr(getattr(getattr(torch.ops, FOLDED_SPACE), name), overload)


def _zeros(arrays: list[Tensor], sizes: list[int], ranks: list[int]) -> Any:
    """Returns arrays of 0 with such sizes, of which each has so many."""
    like = next((x for x in arrays if x.is_floating_point()), torch.empty(0))
    left = iter(sizes)
    found = tuple(like.new_zeros([next(left) for _ in range(rank)]) for rank in ranks)
    return found if len(found) > 1 else found[0]


# --- Decides which modules of a large model are boxes, by a run on arrays without numbers

MAX_UNBOXED_CALLS = 4  # calls of torch that are no more to draw than a box
PLAIN_TYPES = (bool, int, float, str, type(None), torch.dtype, torch.device)
UNCOUNTED_CALLS = (
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
class FoldedCall:
    """A call of a module: what it gives, how often it calls torch itself, and the calls inside it.

    ``foldable`` is whether a box can stand in its place.
    """

    results: Any = None
    foldable: bool = False
    torch_call_count: int = 0
    inner: list[FoldedCall] = field(default_factory=list)

    def size(self, levels: int) -> int:
        """Returns how many calls and boxes are drawn if so many levels of modules are open."""
        if levels < 0 and self.foldable:
            return 1
        return self.torch_call_count + sum(one.size(levels - 1) for one in self.inner)

    def height(self) -> int:
        """Returns the number of levels of modules inside it."""
        return max((1 + one.height() for one in self.inner), default=0)


class Folding:
    """The calls of the modules in a model, and how many levels of them are open.

    Args:
        model: The model.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model, self.whole, self.levels = model, FoldedCall(), 0
        self.boxes: Counter[str] = Counter()  # the classes of folded modules
        self._calls: dict[Any, FoldedCall] = {}
        self._alike: dict[int, Any] = {}
        self._open: list[FoldedCall] = []

    def record(self, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Runs the model on arrays without numbers; equal modules on equal arrays run once."""
        self._open = [self.whole]
        with _in_place_of(self.model, self._record_call), _Counter(self._open):
            return self.model(*args, **named)

    def choose(self, most: int) -> bool:
        """Opens as many levels as have so many calls at most; returns whether some stay closed."""
        height = self.whole.height()
        self.levels = next((n for n in range(height, -1, -1) if self.whole.size(n) <= most), 0)
        return self.levels < height

    @contextmanager
    def apply(self) -> Iterator[None]:
        """Puts boxes in the place of the modules in closed levels."""
        self.boxes.clear()
        self._open = [self.whole]
        with _in_place_of(self.model, self._box_call):
            yield

    def _record_call(
        self, part: nn.Module, forward: Callable[..., Any], *args: Any, **named: Any
    ) -> Any:
        key = self._key(part, args, named)
        if (found := self._calls.get(key)) is not None and found.foldable:
            self._open[-1].inner.append(found)
            return tree_map_only(Tensor, torch.empty_like, found.results)
        call = self._calls[key] = FoldedCall()
        self._open[-1].inner.append(call)
        call.results = self._run_inside(call, forward, args, named)
        call.foldable = _foldable((args, named), call.results)
        return call.results

    def _box_call(
        self, part: nn.Module, forward: Callable[..., Any], *args: Any, **named: Any
    ) -> Any:
        call = self._calls.get(self._key(part, args, named))
        closed = len(self._open) > self.levels
        if call is None or not closed or not call.foldable or call.size(99) <= MAX_UNBOXED_CALLS:
            return self._run_inside(self.whole, forward, args, named)
        self.boxes[type(part).__name__] += 1
        given = [x for x in tree_leaves((args, named)) if isinstance(x, Tensor)]
        return module_box(type(part).__name__, given, call.results)

    def _run_inside(
        self, call: FoldedCall, forward: Callable[..., Any], args: Any, named: Any
    ) -> Any:
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
        shapes = (
            (*x.shape, x.dtype) if isinstance(x, Tensor) else _comparison_key(x) for x in leaves
        )
        return self._alike[id(part)], tuple(shapes), str(spec)


class _Counter(TorchFunctionMode):
    """Counts the calls of torch that the innermost open module makes."""

    def __init__(self, opened: list[FoldedCall]) -> None:
        super().__init__()
        self.opened = opened

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "__name__", "") not in UNCOUNTED_CALLS:
            self.opened[-1].torch_call_count += 1
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
    plain = all(isinstance(x, (Tensor, *PLAIN_TYPES)) for x in gives)
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
                (key, _comparison_key(x))
                for key, x in one.__dict__.items()
                if key[:1] != "_" and key != RUN
            ),
        )
        for name, one in part.named_modules()
    )


def _comparison_key(x: Any) -> Any:
    """Returns a value that is equal for equal plain values, and for others only for the same one.

    A module counts by its class, as those in another one are compared by themselves.
    """
    if isinstance(x, PLAIN_TYPES):
        return x
    if isinstance(x, nn.Module):
        return type(x)
    if isinstance(x, list | tuple):
        return tuple(map(_comparison_key, x))
    return (
        tuple((key, _comparison_key(each)) for key, each in x.items()) if type(x) is dict else id(x)
    )


# --- A module as a term; of a large one the upper levels, with the modules below them as boxes

PARTS = 40  # modules of a model that may be large
MAX_DRAWN_CALLS = 500  # calls of torch that are drawn in a few seconds


def import_folded(
    machine: Interpreter,
    model: nn.Module,
    inputs: tuple[Any, ...],
    named: dict[str, Any],
    axes: dict[str, str],
) -> Imported:
    """Returns a module as a term, whose modules are folded as far as it is too large otherwise.

    Args:
        machine: The interpretation, which notes what is folded.
        model: The module.
        inputs: What it is called on.
        named: Those by name.
        axes: The axes of inputs, by their names.
    """
    machine.folded_counts.clear()
    folding = _folding(machine, model, inputs, named)
    with folding.apply() if folding else nullcontext():
        found = from_torch(model, *inputs, axes=axes, **named)
    if not folding:
        return found
    machine.folded_counts.update(folding.boxes)
    return replace(found, notes=tuple(x for x in found.notes if not x.startswith(PARTLY_USED)))


def run(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    """Runs a module on arrays without numbers; of a large one the calls inside it are recorded."""
    machine.last_large_run = None
    with _restoring_state(model):
        if not is_large(model):
            return model(*inputs, **named)
        folding = Folding(model)
        found = folding.record(inputs, named)
        machine.last_large_run = _call_of(model, inputs, named), folding
    return found


def is_large(model: nn.Module) -> bool:
    """Returns whether a run of a model is recorded, so that its modules can be folded.

    An input of such a model is tried at once: to draw up to a failure takes seconds, and a run that
    is recorded does not have to be repeated.
    """
    return sum(1 for _ in model.modules()) >= PARTS


@contextmanager
def _restoring_state(model: nn.Module) -> Iterator[None]:
    """Takes back what a run sets on the modules of a source, such as a mask that is made once.

    The arrays of this run have no numbers.
    """
    parts = [part for part in model.modules() if isinstance(part, SourceModule)]
    before = [[{**values} for values in _state(part)] for part in parts]
    try:
        yield
    finally:
        for part, kept in zip(parts, before, strict=True):
            for values, old in zip(_state(part), kept, strict=True):
                for name in [*values]:
                    if name not in old:
                        del values[name]
                values.update(old)


def _state(part: nn.Module) -> tuple[dict[str, Any], ...]:
    """Returns where the attributes of a module of the source are stored."""
    return part.__dict__, source_attributes(part), part._buffers


def _call_of(model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Returns what tells a run of a model from others: its mode and the shapes of its inputs."""
    modes = tuple(part.training for part in model.modules())
    return id(model), modes, str(tree_map_only(Tensor, _kind, (inputs, named)))


def _kind(x: Tensor) -> tuple[Any, ...]:
    return *x.shape, x.dtype


def _folding(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Folding | None:
    """Returns which modules of a model are folded; None for a small one, or one that stops."""
    known = machine.last_large_run
    if known is None or known[0] != _call_of(model, inputs, named):
        try:
            with quiet(), FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.no_grad():
                run(machine, model, *tree_map_only(Tensor, mode.from_tensor, (inputs, named)))
        except Exception:  # what stops is drawn up to the call that does
            machine.failure = None
            return None
    folding: Folding | None = machine.last_large_run[1] if machine.last_large_run else None
    return folding if folding is not None and folding.choose(MAX_DRAWN_CALLS) else None


def folded_modules(machine: Interpreter) -> str:
    """Returns a sentence about the modules that are folded; empty if none is."""
    if not machine.folded_counts:
        return ""
    own = {each.name for each in machine.classes.values()}
    order = sorted(
        machine.folded_counts, key=lambda name: name not in own
    )  # those of the source first
    counts = {name: machine.folded_counts[name] for name in order}
    names = [f"{name} ({n:,} times)" if n > 1 else name for name, n in counts.items()]
    more = f" and {len(names) - 5} more" * (len(names) > 5)
    fact = (
        "It is large, so that its inner modules are folded to boxes, with torch's shapes and "
        f"without values: {', '.join(names[:5])}{more}."
    )
    return f"{fact} A last line `{order[0]}` opens that class." if order[0] in own else fact
