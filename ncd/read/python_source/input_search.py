"""Searches for inputs, and for results of boxes, on which a module runs to its end."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count, permutations
from time import process_time
from typing import Any

import torch
from torch import Tensor, nn
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map_only, tree_unflatten

from ncd.notation.term_reader import TextError
from ncd.read.python_source.first_layers import in_format
from ncd.read.python_source.folding import run
from ncd.read.python_source.interpreter import Interpreter, Record, SourceException
from ncd.read.python_source.structured_inputs import (
    NOTHING,
    NUMBER_MARK,
    TRUTH_MARK,
    Guess,
    Ways,
    by_name,
    guess_of,
)
from ncd.read.python_source.structured_inputs import (
    fits as fits_memory,
)
from ncd.read.torch_module.torch_export import quiet

# --- One run on arrays without numbers, and how far it comes

STOPS = (SourceException, RuntimeError, TypeError, ValueError, LookupError, AssertionError)
RUN_STEPS = 60_000  # of a run that is tried
LAYER_STEPS = 20  # that a layer counts for


@dataclass
class TriedRun:
    """A run of a module: the shapes of its results, or the error, and how far it came."""

    shapes: list[torch.Size] | None
    error: Exception | None = None
    progress: int = 0


def try_run(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> TriedRun:
    """Runs a module on inputs, computing shapes only."""
    machine.tracing, machine.failure = True, None
    machine.box_calls.clear()
    inputs, named = (inputs, named) if named else by_name(model, inputs)
    before, layers = machine.steps - machine.raising_steps, count()
    counter = register_module_forward_pre_hook(lambda *_: (next(layers), None)[1])
    error: Exception | None = None
    shapes = None
    try:
        fakes = FakeTensorMode(allow_non_fake_inputs=True)
        with quiet(), enable_python_dispatcher(), fakes as mode, torch.no_grad():
            given = tree_map_only(Tensor, mode.from_tensor, in_format(model, inputs))
            words = tree_map_only(Tensor, mode.from_tensor, named)
            found = run(machine, model, given, words)
        shapes = [each.shape for each in tree_leaves(found) if isinstance(each, Tensor)]
    except TextError as refusal:
        error = refusal
    except STOPS as raised:
        error = machine.failure or raised
    finally:
        counter.remove()
        machine.tracing, machine.failure = False, None
    _drop_frames(error)
    taken = machine.steps - machine.raising_steps - before
    return TriedRun(shapes, error, taken + LAYER_STEPS * next(layers))


def has_batch(inputs: tuple[Any, ...], shapes: list[torch.Size]) -> bool:
    """Returns whether a result has as many rows as the first input.

    >>> has_batch((torch.zeros(1, 3, 8, 8),), [torch.Size([1, 10])])
    True
    >>> has_batch((torch.zeros(1, 3, 8, 8),), [torch.Size([16, 10])])
    False
    """
    return len(inputs[0]) in (shape[0] for shape in shapes if shape)


def _drop_frames(error: BaseException | None) -> None:
    """Drops the frames of an error and of those behind it: they hold every array of the run."""
    if error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        for cause in (error.__cause__, error.__context__, getattr(error, "error", None)):
            _drop_frames(cause)


# --- Other arrays for one with which a module stops, the likeliest for its error first

SIZES = re.compile(r"(?<![\w.])\d+")
RANGE_ERROR = re.compile(r"out of (bounds|range)")
RANK_ERROR = re.compile(
    r"[0-9]-?D\b|[Dd]imension out of|dimensions|\bdims\b|rank|subscripts|values for|unpack|"
    r"index out of|too many indices|Wrong shape|\bndim\b|\bdim\(\)"
)
NAMED_RANK = re.compile(r"\b([1-5])(?=-?D\b)|(?<=ndim == )[1-5]|(?<=dim\(\) == )[1-5]")
MOST_SIZES = 6  # of an error
MAIN = "1x16x64"  # beside which inputs are assumed if no array is among them
INDEX_LIMIT = 10  # below which assumed whole numbers are
WIDEST = 10_000
LARGEST = 2**21  # numbers of an input that is tried for another one
RANKS: Mapping[int, tuple[str, ...]] = {  # shapes of so many dimensions, of a width
    1: ("{}", "10"),
    2: ("1x{}", "10x{}"),
    3: ("1x16x{}", "1x{}x64"),
    4: ("1x{}x32x32", "1x4x16x{}", "1x8x8x{}"),
    5: ("1x{}x8x16x16",),
}


def other_arrays(way: str, error: str, main: str = MAIN) -> Iterator[str]:
    """Yields other arrays for one with which a module stops.

    Args:
        way: The array, such as ``1x16#50`` for whole numbers below 50.
        error: The error, whose numbers tell sizes that differ.
        main: The array that stands in the place of one that is left out.

    >>> [*other_arrays("2x16", "cannot be multiplied (2x16 and 128x10)")][:2]
    ['128x16', '2x128']
    >>> [*other_arrays("1x5x8x8", "Expected input to be 1D or 2D, got 4D instead")][2:4]
    ['1x8', '10x8']
    """
    body = way.partition("#")[0]
    below = way[len(body) :]
    if way == NOTHING or way[:1] == NUMBER_MARK:
        yield main
        return
    end = below or TRUTH_MARK * body.endswith(TRUTH_MARK)
    sizes = [int(n) for n in body.rstrip(TRUTH_MARK).split("x")]
    by_size = [_word(one, end) for one in other_sizes(sizes, error)]
    told = {int(one[0]) for one in NAMED_RANK.finditer(error)}
    named = sorted(told - {len(sizes)}, reverse=True)
    near = (len(sizes) + 1, len(sizes) - 1, len(sizes) + 2, len(sizes) - 2)
    ranks = dict.fromkeys((*named, *near))
    by_rank = [one.format(sizes[-1]) + end for n in ranks for one in RANKS.get(n, ())]
    if below and RANGE_ERROR.search(error):
        yield from (_word(sizes, f"#{n}") for n in sizes_in(error) if 0 < n < int(below[1:]))
    if RANK_ERROR.search(error):
        by_size, by_rank = [], [*by_rank, *by_size]
    yield from by_size
    kinds = (TRUTH_MARK, f"#{INDEX_LIMIT}", "") if end else (f"#{INDEX_LIMIT}", TRUTH_MARK)
    yield from (_word(sizes, kind) for kind in kinds if kind[:1] != end[:1])
    yield from by_rank
    if len(sizes) < 2:
        yield f"{NUMBER_MARK}{INDEX_LIMIT}"


def sizes_in(error: str) -> list[int]:
    """Returns the numbers in an error that may be sizes.

    >>> sizes_in("an int64 of 16x64 and 64, 128")
    [16, 64, 128]
    """
    found = SIZES.findall(re.sub(r"(?<=\d)x(?=\d)", " ", error))
    return [int(n) for n in dict.fromkeys(found) if len(n) < 6][:MOST_SIZES]


def _kind(way: str) -> str:
    """Returns the mark of whole numbers, of truths or of no array; empty for real numbers."""
    return way.lstrip("0123456789x")[:1]


def _word(sizes: Sequence[int], end: str) -> str:
    return "x".join(map(str, sizes)) + end


def other_sizes(sizes: list[int], error: str) -> Iterator[list[int]]:
    """Yields other sizes of an array, by the numbers in an error: one in place of another.

    A size from which one of them is computed changes in proportion, or by their difference.

    >>> [*other_sizes([1, 16, 128], "takes 1024, given 512")][:2]
    [[1, 16, 256], [1, 32, 128]]
    """
    seen = {tuple(sizes)}
    pairs = [(have, want) for want, have in permutations(sizes_in(error), 2)]
    pairs.sort(key=lambda pair: pair[1] in sizes)
    for change in (_equal, _in_proportion, _by_difference):
        for have, want in pairs:
            for place in reversed(range(len(sizes))):
                found = [*sizes[:place], change(sizes[place], have, want), *sizes[place + 1 :]]
                if 0 < found[place] < WIDEST and tuple(found) not in seen:
                    seen.add(tuple(found))
                    yield found


def _equal(size: int, have: int, want: int) -> int:
    return want if size == have else 0


def _in_proportion(size: int, have: int, want: int) -> int:
    return size * want // have if size > 1 and have > 1 and size * want % have == 0 else 0


def _by_difference(size: int, have: int, want: int) -> int:
    return size + want - have if size > 1 else 0


def other_ranks(shape: list[int]) -> Iterator[list[int]]:
    """Yields the result of a box with a dimension less or more.

    >>> [*other_ranks([1, 64, 8])]
    [[1, 8], [1, 64], [1, 64, 16, 8], [1, 64, 8, 16]]
    """
    if len(shape) > 1:
        yield from ([*shape[:-2], shape[-1]], shape[:-1])
    if len(shape) < 5:
        yield from ([*shape[:-1], 16, *shape[-1:]], [*shape, 16])


# --- The search: what comes further is taken further

SECONDS = 1.5  # of computing, for all modules of a source
TRIES = 200
REFUSALS = 8  # runs after which what is not understood is the reason, and no input
BOXES = 5  # last ones whose results are tried in other shapes

Fits = dict[tuple[str, tuple[int, ...]], list[int]]
UsualWays = Callable[[str, str], list[str]]  # for the name of an input, and a main shape


@dataclass(order=True)
class _Stop:
    """Inputs and results of boxes on which a module stops, and what is tried in their place."""

    priority: tuple[int, int, int, int]  # usual inputs first, then what comes further
    changes: Iterator[tuple[Ways, Fits]] = field(compare=False)
    later_changes: Iterator[tuple[Ways, Fits]] | None = field(compare=False, default=None)


class InputSearch:
    """Searches for inputs on which a module runs, from some on which it stops.

    Args:
        machine: The interpretation; its ``box_fits`` get the results of boxes that are found.
        model: The module.
        names: Its inputs.
        usual: What is usual for them; None if they are given, so that only boxes change.
        rank: The dimensions of the first one, which do not change; 0 where they are not known.
        keeps_batch: Whether a result has to have the batch of the first one: a view to rows of a
            fixed length may else run with parts of one picture as rows.
    """

    def __init__(
        self,
        machine: Interpreter,
        model: nn.Module,
        names: Sequence[str],
        usual: UsualWays | None,
        rank: int = 0,
        keeps_batch: bool = False,
    ) -> None:
        self.machine, self.model, self.names, self.usual = machine, model, names, usual
        self.rank, self.keeps_batch = rank, keeps_batch
        self.named: dict[str, Any] = {}
        self.stops: list[_Stop] = []
        self.seen: set[str] = set()
        self.found: Guess | None = None
        self.furthest, self.refusals, self.begin = -1, 0, 0.0
        self.error: TextError | None = None  # of the furthest run: something is not understood

    def from_starts(
        self, starts: Iterator[Ways], named: dict[str, Any] | None = None, error: str = ""
    ) -> Guess | None:
        """Returns inputs on which the module runs; None if none are found in a short time.

        Args:
            starts: Inputs, the likeliest first, with a word in the place of each array.
            named: Further ones, which are given.
            error: With which the module stops on the first ones where numbers count.
        """
        self.named, before = named or {}, dict(self.machine.box_fits)
        if error and (ways := next(starts, None)) is not None:
            self._push(ways, {}, RuntimeError(error), (0, 0, 0, 0))
        for ways in starts:
            self._runs(ways, {}, 0)
            if self._ends():
                break
        while self.stops and not self._ends():
            self._change_furthest()
        if self.found is None:
            self._set_fits(before)
        self.machine.search_seconds += process_time() - (self.begin or process_time())
        return self.found

    def _ends(self) -> bool:
        """Returns whether inputs are found, or enough is tried."""
        self.begin = self.begin or process_time()  # the first run in a process takes longer
        late = process_time() - self.begin > SECONDS - self.machine.search_seconds
        tried = len(self.seen) > TRIES or self.refusals > REFUSALS
        return self.found is not None or late or tried

    def _change_furthest(self) -> None:
        """Tries the next change of the inputs with which the module came furthest."""
        stop = self.stops[0]
        if (change := next(stop.changes, None)) is not None:
            self._runs(*change, stop.priority[2] + 1)
            return
        heappop(self.stops)
        if stop.later_changes is not None:
            heappush(self.stops, _Stop((1, *stop.priority[1:]), stop.later_changes))

    def _set_fits(self, fits: Fits) -> None:
        self.machine.box_fits.clear()
        self.machine.box_fits.update(fits)

    def _runs(self, ways: Ways, fits: Fits, depth: int) -> None:
        """Runs the module on inputs, and notes that it comes to its end, or where it stops."""
        leaves, spec = tree_flatten(ways)
        key = f"{leaves} {spec} {sorted(fits.items())}"
        if key in self.seen:
            return
        self.seen.add(key)
        self._set_fits(fits)
        try:
            guess = guess_of(self.names, ways) if self.usual is not None else Guess(ways, "")
        except RuntimeError:  # of arrays for which there is no memory
            return
        steps = self.machine.steps
        with self.machine.with_step_budget(RUN_STEPS):
            done = try_run(self.machine, self.model, guess.inputs, self.named)
        self.machine.steps = steps
        if done.error is None:
            takes = not self.keeps_batch or has_batch(guess.inputs, done.shapes or [])
            self.found = guess if done.shapes and takes else None
            return
        refusal = done.error if isinstance(done.error, TextError) else None
        self._note(done.progress, refusal)
        if refusal is None:
            self._push(ways, fits, done.error, (0, -done.progress, depth, len(self.seen)))

    def _push(self, ways: Ways, fits: Fits, error: Exception, priority: Any) -> None:
        more = self._changes(ways, fits, error, [*self.machine.box_calls])
        heappush(self.stops, _Stop(priority, self._usual_changes(ways, fits), more))

    def _usual_changes(self, ways: Ways, fits: Fits) -> Iterator[tuple[Ways, Fits]]:
        """Yields inputs of which one is another that is usual for its name."""
        if self.usual is None:
            return
        leaves, spec = tree_flatten(ways)
        main = next((one for one in leaves if one[:1].isdigit()), MAIN)
        for i, name in enumerate(leaf_names(self.names, ways)):
            usual = self.usual(name, main)
            for new in usual if i and usual != [main] else ():
                yield tree_unflatten([*leaves[:i], new, *leaves[i + 1 :]], spec), fits

    def _note(self, progress: int, refusal: TextError | None) -> None:
        if progress > self.furthest:
            self.furthest, self.error = progress, refusal
            self.refusals = 0
        self.refusals += refusal is not None and refusal is not self.error

    def _changes(
        self, ways: Ways, fits: Fits, error: Exception, calls: list[Any]
    ) -> Iterator[tuple[Ways, Fits]]:
        """Yields other results of boxes and other inputs, those first that an error speaks of."""
        text = str(getattr(error, "error", error))
        last = [(key, fits.get(key, [*key[1]])) for key in calls[: -BOXES - 1 : -1]]
        for key, shape in last:
            yield from ((ways, {**fits, key: one}) for one in other_sizes(shape, text))
        if self.usual is not None:
            yield from ((one, fits) for one in self._other_inputs(ways, error, text))
        for key, shape in last:
            yield from ((ways, {**fits, key: one}) for one in other_ranks(shape))

    def _other_inputs(self, ways: Ways, error: Exception, text: str) -> Iterator[Ways]:
        """Yields other inputs, by turns those with another one in the place of each array."""
        yield from _with_key(ways, getattr(error, "node", None))
        leaves, spec = tree_flatten(ways)
        main = next((one for one in leaves if one[:1].isdigit()), MAIN)
        streams = [(i, other_arrays(way, text, main)) for i, way in enumerate(leaves)]
        while streams:
            for i, stream in [*streams]:
                if (new := next(stream, None)) is None:
                    streams.remove((i, stream))
                elif i == 0 and self.rank and new.partition("#")[0].count("x") != self.rank - 1:
                    continue
                elif new[:1] == NUMBER_MARK or new == NOTHING or fits_memory(new, LARGEST):
                    alone = leaves.index(leaves[i]) != i or i == len(leaves) - 1
                    if not alone and _kind(new) == _kind(leaves[i]):  # all of its like
                        alike = (new if one == leaves[i] else one for one in leaves)
                        yield tree_unflatten([*alike], spec)
                    yield tree_unflatten([*leaves[:i], new, *leaves[i + 1 :]], spec)


def _with_key(ways: Ways, node: ast.AST | None) -> Iterator[Ways]:
    """Yields inputs, one of which is a dictionary with the key at which a module stops."""
    place = node.slice if isinstance(node, ast.Subscript) else None
    if not isinstance(place, ast.Constant) or not isinstance(place.value, str):
        return
    for i, way in enumerate(ways):
        inner = way if isinstance(way, dict) else {}
        main = next(iter(inner.values()), way)
        if isinstance(main, str):
            yield (*ways[:i], {**inner, place.value: main}, *ways[i + 1 :])


def leaf_names(names: Sequence[str], ways: Ways) -> list[str]:
    """Returns the names of all arrays in inputs, by keys and attributes where they have some.

    >>> leaf_names(["a", "b"], ({"x": "1x8", "y": ["1", "2"]}, "1x8"))
    ['x', 'y', 'y', 'b']
    """
    found: list[str] = []
    for i, way in enumerate(ways):
        inner = way.own if isinstance(way, Record) else way
        parts = inner if isinstance(inner, dict) else {(*names, *[names[-1]] * i)[i]: inner}
        found += [str(key) for key, one in parts.items() for _ in tree_leaves(one)]
    return found


def ways_in(inputs: tuple[Any, ...], words: str) -> Ways:
    """Returns inputs with a word in the place of each array; their words tell whole numbers.

    >>> ways_in((torch.ones(2, 3), {"ids": torch.zeros(4).long()}, None), "x 2x3, ids 4#50")
    ('2x3', {'ids': '4#50'}, 'None')
    """
    below = iter(INDEX_BOUND.findall(words))
    leaves, spec = tree_flatten(inputs)
    return tree_unflatten([_way(x, below) for x in leaves], spec)


INDEX_BOUND = re.compile(r"#\d+")


def _way(x: Any, below: Iterator[str]) -> str:
    if not isinstance(x, Tensor):
        return NOTHING if x is None else f"{NUMBER_MARK}{x!r}"
    if x.dtype == torch.bool:
        return _word(x.shape, TRUTH_MARK)
    return _word(x.shape, "" if x.is_floating_point() else next(below, f"#{INDEX_LIMIT}"))
