"""The sizes for which a source works: of its inputs, and of its model's parameters."""

from __future__ import annotations

import ast
import inspect
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from ncd.findings.reading.finding import LATE_SIZES, Cure, Finding
from ncd.findings.reading.size_table import OutOfTime
from ncd.findings.reading.source_trace import SourceTrace
from ncd.findings.silent.model_runs import SourceRun, run_or_none
from ncd.findings.sizes.parameter_sizes import (
    EqualSizes,
    Parameter,
    ParameterSizes,
    TracedSizes,
    name_swaps,
    size_names,
    swap_cure,
)
from ncd.findings.sizes.size_probe import (
    ANY_SIZE,
    Edits,
    Probe,
    ProbeOutcome,
    Shapes,
    SizeInterval,
    range_words,
    working_range,
)
from ncd.read.python_source.interpreter import SourceModule
from ncd.words import list_words

# --- The axes of a model's inputs: their names, and the sizes of each that work

PICTURE = ("batch", "channels", "height", "width")
NAMES = {  # by the number of axes, and by the first call that takes the input
    (2, "linear"): ("batch", "features"),
    (2, "embedding"): ("batch", "length"),
    (3, "linear"): ("batch", "length", "features"),
    (3, "conv1d"): ("batch", "channels", "length"),
    (4, "conv2d"): PICTURE,
    (5, "conv3d"): ("batch", "channels", "depth", "height", "width"),
}


PATTERN = re.compile(r"b\w* \(?c\b[^)]*\)? ?\(? ?h\b[^)]*\)? ?\(? ?w\b")  # b c (h p1) (w p2)
EQUIVALENT_CALLS = {
    **dict.fromkeys(("max_pool2d", "conv_transpose2d", "avg_pool2d"), "conv2d"),
    **dict.fromkeys(("layer_norm", "lstm", "gru", "rnn_tanh"), "linear"),
    "multi_head_attention_forward": "linear",
}


@dataclass(frozen=True)
class InputAxis:
    """An axis of an input: which, its size, and its name, without that of the input."""

    array: int
    place: int
    size: int
    short_name: str
    input_suffix: str = ""

    @property
    def name(self) -> str:
        """The name with that of the input, where there are several."""
        return self.short_name + self.input_suffix

    @property
    def is_batch(self) -> bool:
        """Whether it is the axis of the batch."""
        return self.place == 0 and self.short_name == "batch"


def input_axes(probe: Probe, run: SourceRun, tree: ast.AST) -> list[InputAxis]:
    """Returns the axes of all inputs of a model, with names that a reader of the source knows."""
    arrays = [x for x in tree_leaves((probe.args, probe.named)) if isinstance(x, Tensor)]
    words = _input_words(probe.model, len(probe.args), [*probe.named])
    named = len(words) == len(arrays)  # not where an input is a list of arrays
    unpacked = _unpacked_names(probe.model, tree)
    found = []
    for i, shape in enumerate(probe.inputs):
        word = words[i] if named else f"input {i + 1}"
        names = unpacked.get((word, len(shape)), ("",) * len(shape))
        usual = _names(probe.model, run, i, len(shape))
        of = f" of `{word}`" if named and len(arrays) > 1 else "" if named else f" of {word}"
        for j, size in enumerate(shape):
            plain = names[j] or (usual[j] if usual else f"axis {j}")
            found.append(InputAxis(i, j, size, plain, of))
    return found


def _input_words(model: nn.Module, count: int, keywords: list[str]) -> list[str]:
    """Returns the names of the inputs, as the model's ``forward`` has them."""
    takes = [*inspect.signature(model.forward).parameters]
    return [*takes[:count], *keywords]


def _unpacked_names(model: nn.Module, tree: ast.AST) -> dict[tuple[str, int], tuple[str, ...]]:
    """Returns the names of an input's axes where ``forward`` says ``b, t, d = x.shape``."""
    kind = next((n for n in ast.walk(tree) if getattr(n, "name", "") == type(model).__name__), None)
    body = getattr(kind, "body", [])
    forward = next((one for one in body if getattr(one, "name", "") == "forward"), None)
    found: dict[tuple[str, int], tuple[str, ...]] = {}
    changed: set[str] = set()  # names that are no longer the input's
    for line in getattr(forward, "body", []):
        word, parts = _unpacking(line)
        if word and word not in changed:
            found.setdefault((word, len(parts)), tuple(map(_size_name, parts)))
        stored = (n for n in ast.walk(line) if isinstance(getattr(n, "ctx", None), ast.Store))
        changed |= {node.id for node in stored if isinstance(node, ast.Name)}
    return found


def _unpacking(line: ast.stmt) -> tuple[str, list[ast.expr]]:
    """Returns the array whose shape a line unpacks, and what its sizes are put into."""
    if not isinstance(line, ast.Assign) or not isinstance(line.targets[0], ast.Tuple):
        return "", []
    value = line.value.func if isinstance(line.value, ast.Call) else line.value
    if not isinstance(value, ast.Attribute) or value.attr not in ("shape", "size"):
        return "", []
    return getattr(value.value, "id", ""), line.targets[0].elts


def _size_name(target: ast.expr) -> str:
    """Returns the name of a size; nothing for one that is not used."""
    return f"`{target.id}`" if isinstance(target, ast.Name) and target.id.strip("_") else ""


def _names(model: nn.Module, run: SourceRun, index: int, rank: int) -> tuple[str, ...]:
    """Returns the usual names of an input's axes; none where it is not known which comes first."""
    if any(getattr(part, "batch_first", True) is False for part in model.modules()):
        return ()
    arrays = {id(run.layers[0].arrays[index])}
    for call in run.calls:
        if not any(id(array) in arrays for array in call.takes):
            continue
        if found := NAMES.get((rank, EQUIVALENT_CALLS.get(call.name, call.name))):
            return found
        pattern = " ".join(str(call.words.get(1, "")).split())
        if call.name == "rearrange" and PATTERN.match(pattern):
            return PICTURE if rank == len(PICTURE) else ()
        if [each.dim() for each in call.gives] == [rank]:  # such as relu
            arrays.add(id(call.gives[0]))
    return ()


# --- The sizes of inputs that work: of each axis alone, or of those that must be equal

MAX_AXES = 12  # axes that are tried


@dataclass(frozen=True)
class EqualAxes:
    """Axes that have one size, and the sizes that work; ``failure`` is where others fail."""

    axes: tuple[InputAxis, ...]
    range: SizeInterval
    failure: ProbeOutcome


def groups(probe: Probe, axes: list[InputAxis], hints: list[int]) -> Iterator[EqualAxes]:
    """Yields the sizes that work for each axis, and for axes that have to change together."""
    left = axes[:MAX_AXES]
    while left:
        axis = left[0]
        together = (axis,) if _moves(probe, (axis,)) else _partners(probe, left)
        left = [one for one in left if one not in together]
        size = axis.size
        works = _works(probe, together)
        if (found := working_range(works, size, hints)) is not None:
            named = together if found.is_free else tuple(map(_without_role, together))
            yield EqualAxes(named, found, _failure(probe, together, found))


def _without_role(axis: InputAxis) -> InputAxis:
    """Returns an axis that is no batch, as it is not free: it may be a sequence without one."""
    return replace(axis, short_name="axis 0") if axis.is_batch else axis


def resized_shapes(shapes: Shapes, axes: Sequence[InputAxis], size: int) -> Shapes:
    """Returns shapes of inputs where some axes have another size."""
    places = {(axis.array, axis.place) for axis in axes}
    return tuple(
        tuple(size if (i, j) in places else n for j, n in enumerate(shape))
        for i, shape in enumerate(shapes)
    )


def _works(probe: Probe, axes: tuple[InputAxis, ...]) -> Callable[[int], bool | None]:
    return lambda size: probe.works(resized_shapes(probe.inputs, axes, size))


def _moves(probe: Probe, axes: tuple[InputAxis, ...]) -> bool:
    """Returns whether axes may have another size, as far as a few tries show."""
    size, works = axes[0].size, _works(probe, axes)
    return bool(works(size + 1) or works(2 * size) or (size > 2 and works(size - 1)))


def _partners(probe: Probe, left: list[InputAxis]) -> tuple[InputAxis, ...]:
    """Returns the axes that may change together with the first one; it alone if none do."""
    first, *others = [axis for axis in left if axis.size == left[0].size]
    same = [axis for axis in others if axis.place == first.place]
    tries = [(first, *some) for some in (same, others) if some]
    tries += [(first, other) for other in others]
    fitting = [some for some in tries if _moves(probe, some)]
    return min(fitting, key=len, default=(first,))


def _failure(probe: Probe, axes: tuple[InputAxis, ...], found: SizeInterval) -> ProbeOutcome:
    """Returns where the model fails at a size that does not work."""
    outside = (
        found.high + found.step if found.high else 0,
        found.low - found.step,
        axes[0].size + 1,
    )
    for size in outside:
        if size > 0:
            outcome = probe.outcome(resized_shapes(probe.inputs, axes, size))
            if outcome.works is False:
                return outcome
    return ProbeOutcome(True)


# --- Findings about the sizes of a model's inputs: their rules, and the parameters that set them


class InputRules:
    """Says what groups of axes have to be, one sentence for all with the same rule.

    Args:
        probe: The source.
        tree: Its syntax tree.
        traced: A reading of it with symbols, if there is one.
    """

    def __init__(self, probe: Probe, tree: ast.AST, traced: TracedSizes | None) -> None:
        self.probe, self.tree, self.traced = probe, tree, traced

    def findings(self, groups: Sequence[EqualAxes]) -> list[Finding]:
        """Returns a finding for each rule; what is free comes first."""

        def rule(group: EqualAxes) -> tuple[object, ...]:
            return not group.range.is_free, _is_tied(group), repr(group.range)

        ordered = sorted(groups, key=rule)
        return [self._finding([*same]) for _, same in groupby(ordered, key=rule)]

    def _finding(self, groups: list[EqualAxes]) -> Finding:
        axes = [axis for group in groups for axis in group.axes]
        failure = next((one.failure for one in groups if one.failure.line), ProbeOutcome(True))
        if _is_tied(groups[0]):
            return self._equality_finding(groups, failure)
        rule = groups[0].range
        names = [*dict.fromkeys(a.short_name if a.is_batch else a.name for a in axes)]
        words = list_words(names)
        source = self._source(groups) if rule.high else None
        sides = len(axes) == 2 and axes[0].array == axes[1].array
        if source is not None and sides and (luck := self._square(axes, source)):
            return luck
        if rule.is_free:
            says = f"{words} {'are' if len(names) > 1 else 'is'} free"
        else:
            said = range_words(rule)
            said = said.replace("must", "must both", 1) if source and len(axes) == 2 else said
            origin = f", as `{source.name}` is {source.place.value:,}" if source else ""
            says = f"{words} {said}{origin}{self._example(groups)}"
        return Finding("size", failure.line, failure.layer, f"{says[0].upper()}{says[1:]}.")

    def _source(self, groups: list[EqualAxes]) -> Parameter | None:
        """Returns the parameter that sets a largest size: twice of it lets twice the size work."""
        largest = groups[0].range.high
        sizes = (largest, groups[0].axes[0].size)
        axes = [axis for group in groups for axis in group.axes]
        for one in self.traced.parameters if self.traced else ():
            value = one.place.value
            sets = value in sizes and 2 * value > largest  # which is too large as it is
            if sets and self.probe.works(*self._doubling_change(one, axes)):
                return one
        return None

    def _doubling_change(
        self, one: Parameter, axes: Sequence[InputAxis], left: Sequence[InputAxis] = ()
    ) -> tuple[Shapes, Edits]:
        """Returns the change to twice a parameter and axes, while others are left as they are."""
        assert self.traced is not None
        size = 2 * one.place.value
        shapes, edits = self.traced.change(
            dict.fromkeys(self.traced.tied_symbols(one.symbol), size)
        )
        for axis in left:
            shapes = resized_shapes(shapes, (axis,), axis.size)
        return resized_shapes(shapes, axes, size), edits

    def _square(self, axes: list[InputAxis], source: Parameter) -> Finding | None:
        """Returns the finding that height has to be width, where an unused name is meant."""
        assert self.traced is not None
        now = source.place.value
        unused = [one for one in self.traced.named if one not in self.traced.parameters]
        names = {one.name for one in unused if one.place.value == now}
        for axis, other in (axes, axes[::-1]) if names else ():
            broken = self._doubling_change(source, [axis], [other])
            failure = self.probe.outcome(*broken)
            if failure.works is not False:
                continue
            edits = name_swaps(self.probe.text, self.tree, failure, (source.name, *sorted(names)))
            if cures := swap_cure(self.probe, edits, broken):
                says = f"Works only while {axes[0].name} = {axes[1].name}: `{source.name}` is both."
                return Finding("size", cures[0].edits[0].line, failure.layer, says, cures)
        return None

    def _equality_finding(self, groups: list[EqualAxes], failure: ProbeOutcome) -> Finding:
        """Returns the finding about axes that have to be equal."""
        cures = self._equality_cures(groups[0]) if len(groups) == 1 else ()
        pairs = [[axis.name for axis in group.axes] for group in groups]
        if cures:
            says = f"Works only while {' = '.join(pairs[0])}."
            return Finding("size", cures[0].edits[0].line, failure.layer, says, cures)
        rule = range_words(groups[0].range)
        also = f", and {rule}" if rule != ANY_SIZE else ""
        words = f"{'; '.join(map(list_words, pairs))} must be equal{also}."
        return Finding("size", failure.line, failure.layer, f"{words[0].upper()}{words[1:]}")

    def _equality_cures(self, group: EqualAxes) -> tuple[Cure, ...]:
        """Returns the cure that puts the name of the right size where another one stands."""
        for axis in group.axes:
            for size in (axis.size + 1, 2 * axis.size):
                broken = resized_shapes(self.probe.inputs, (axis,), size), ()
                failure = self.probe.outcome(*broken)
                function = _function(self.tree, failure.call)
                names = size_names(function) if function else []
                edits = name_swaps(self.probe.text, function or self.tree, failure, names)
                if cures := swap_cure(self.probe, edits, broken):
                    return cures
        return ()

    def _example(self, groups: list[EqualAxes]) -> str:
        """Returns two different sizes of height and width that work, where these have steps."""
        rule = groups[0].range
        if len(groups) != 2 or rule.step == 1:
            return ""
        shapes, sizes = self.probe.inputs, []
        for times, group in enumerate(groups, 1):
            sizes.append(group.axes[0].size + rule.step * times)
            shapes = resized_shapes(shapes, group.axes, sizes[-1])
        fits = not rule.high or max(sizes) <= rule.high
        return f": {sizes[0]} × {sizes[1]} works" if fits and self.probe.works(shapes) else ""


def _is_tied(group: EqualAxes) -> bool:
    """Returns whether axes have to be equal that are not the batch of several inputs."""
    return len(group.axes) > 1 and not all(axis.is_batch for axis in group.axes)


def _function(tree: ast.AST, line: int) -> ast.FunctionDef | None:
    """Returns the innermost function around a line."""
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return found[-1] if found else None


# --- The sizes for which a source works: of its inputs, and of its model's parameters

SECONDS = 20.0
SYMBOLS = 0.5  # of the time that is left, for the reading with symbols
LARGEST = 2**17  # of the numbers that may be a largest size


def sizes(text: str, plain: SourceTrace, seconds: float = SECONDS) -> list[Finding]:
    """Returns for which sizes a source works; each boundary was read, and nothing else is said.

    Args:
        text: The source.
        plain: A reading of it with plain numbers that has come to its end.
        seconds: The time that it may take.

    Source: this project's own.
    """
    deadline = time.process_time() + seconds
    found: list[Finding] = []
    try:
        for some in _finding_groups(text, plain, deadline):
            found += some
    except OutOfTime:
        found.append(LATE_SIZES)
    return found


def _finding_groups(text: str, plain: SourceTrace, deadline: float) -> Iterator[Iterable[Finding]]:
    probe = Probe(text, plain, deadline)
    run = run_or_none(plain.recorder, probe.model, probe.args, probe.named)
    if run is None or (len(run.layers) < 2 and not isinstance(probe.model, SourceModule)):
        return  # a single layer says it itself
    axes = [*groups(probe, input_axes(probe, run, plain.tree), _numbers(plain.tree))]
    traced, in_time = _traced_sizes(text, plain, deadline)
    yield InputRules(probe, plain.tree, traced).findings(axes)
    if not in_time:
        raise OutOfTime
    if traced is not None:
        equal = EqualSizes(probe, traced)
        yield equal.findings()
        yield ParameterSizes(probe, traced, equal.bound).findings()


def _numbers(tree: ast.AST) -> list[int]:
    """Returns the whole numbers of a text that may be a step or a largest size."""
    values = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return sorted(n for n in values if type(n) is int and 1 < n <= LARGEST)


def _traced_sizes(
    text: str, plain: SourceTrace, deadline: float
) -> tuple[TracedSizes | None, bool]:
    """Returns a reading with symbols, if there is one, and whether the time was enough for it."""
    now = time.process_time()
    end = now + SYMBOLS * (deadline - now)
    trace = SourceTrace(text, True, end, plain.assumed or plain.shapes).read()
    known = trace.error is None and trace.refusal is None and not trace.unsure and trace.ran
    return TracedSizes(trace) if known else None, time.process_time() < end
