"""The lesson of a system that has no written one, made from its term."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ncd.costs import Cost, cost_of
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Value
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.formulas.expr import Arg
from ncd.lang.plain_text import listed, plain_text
from ncd.lang.types.axes import Axis
from ncd.lessons.computed_questions import Question, question
from ncd.lessons.lesson import LINE, View
from ncd.models import Entry, Knob

BLOCKS, OPS = 2, 2  # views of them, at most
COUNTS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
PASSING = ("copy", "reshape", "neutral")  # roles of ops that only pass arrays on


def default_lesson(entry: Entry) -> tuple[View, ...]:
    """Returns views of a system: the whole, its blocks, its main ops, and what it costs.

    The first has no line, as the page's own first sentence stands there.

    >>> import ncd
    >>> default_lesson(ncd.catalogue["grouped-queries"])[1].says
    'Grouped-Query Attention takes three arrays t̄ m, and gives t̄ m.'
    """
    whole = View(entry.name)
    try:
        circuit = elaborate(entry.build())
        cost = cost_of(circuit)
    except NCDError:  # a text whose sizes are not known
        return (whole,)
    found = [
        *_blocks(circuit),
        *_shapes(entry, circuit),
        *_busiest(entry),
        *_growth(entry),
        ("panel=Cost&with=panel", _total(cost)),
    ]
    views = (View(entry.name, query, says[:LINE]) for query, says in found)
    return (whole, *views)


def _blocks(circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields the first blocks with a title, each title once."""
    seen: dict[str, Fence] = {}
    for fence in circuit.fences:
        inner = [cell for cell in circuit.cells if fence.id in cell.fences]
        if fence.title.strip() and len(inner) > 1:
            seen.setdefault(_title(fence), fence)
    for title, fence in list(seen.items())[:BLOCKS]:
        ins, outs = (_arrays(fence.states[end]) for end in (0, -1))
        takes = f"takes {ins}, and gives" if ins else "gives"
        yield f"select={fence.id}", f"{title} {takes} {outs}."


def _title(fence: Fence) -> str:
    return plain_text(fence.title.strip())


def _arrays(values: Sequence[Value]) -> str:
    """Returns the axes of some arrays: ``ȳ k and two arrays x̄ k``."""
    axes = (" ".join(map(_axis, value.array)) for value in values)
    return listed(_times(name, n) for name, n in Counter(axes).items())


def _times(axes: str, n: int) -> str:
    if n == 1:
        return axes or "a number"
    count = COUNTS[n] if n < len(COUNTS) else f"{n:,}"
    return f"{count} arrays {axes}" if axes else f"{count} numbers"


def _axis(axis: Axis) -> str:
    return f"{axis.called}\u0304" if axis.sequence else axis.called


def _shapes(entry: Entry, circuit: Circuit) -> Iterator[tuple[str, str]]:
    """Yields the ops that change axes the most, each asked for its shape."""
    cells = [cell for cell in circuit.cells if cell.inputs and len(cell.outputs) == 1]
    chosen: dict[str, Cell] = {}  # one of each role
    for cell in sorted(cells, key=_news, reverse=True):
        role = cell.op.role
        worth = _changed(cell) or not chosen
        if len(chosen) < OPS and role not in chosen and worth and _question(entry, _asking(cell)):
            chosen[role] = cell
    for cell in sorted(chosen.values(), key=cells.index):
        yield f"ask={_asking(cell)}", f"{cell.op.label} takes {_arrays(cell.inputs)}."


def _asking(cell: Cell) -> str:
    return f"shape:{cell.outputs[0].id}"


def _question(entry: Entry, ask: str) -> Question | None:
    return question(entry, entry.settings({}), ask)


def _news(cell: Cell) -> int:
    """Returns how many axes an op adds and drops, less for one that changes no numbers."""
    calls = cell.torch if isinstance(cell.torch, tuple) else (cell.torch,)
    passes = all(isinstance(call, Arg) for call in calls)
    return _changed(cell) + (cell.op.role not in PASSING) * 2 - passes * 9


def _changed(cell: Cell) -> int:
    """Returns how many axes go in and do not leave, or the other way."""
    ins = {axis.called for value in cell.inputs for axis in value.array}
    outs = {axis.called for value in cell.outputs for axis in value.array}
    return len(ins ^ outs)


def _busiest(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yields the op with the most parameters, or the most work, asked for first and then shown.

    Where it is another op at the published sizes, those are asked about: what is said of a model is
    true of the published one.
    """
    for what, verb, all_verb in (
        ("parameters", "has parameters", "have parameters"),
        ("flops", "multiplies arrays", "multiply arrays"),
    ):
        ask = f"most:{what}"
        at = _published(entry, ask)
        if found := question(entry, entry.settings(at), ask):
            ops = cost_of(elaborate(entry.build(**entry.settings(at)))).ops
            busy = [op for op in ops if getattr(op, what)]
            sizes = "".join(f"{name}={n}&" for name, n in at.items())
            does = verb if len(busy) == 1 else all_verb
            yield f"{sizes}ask={ask}", f"{len(busy)} of its {len(ops)} operations {does}."
            same = (op for op in busy if op.label == found.answers[found.right])
            largest = max(same, key=lambda op: getattr(op, what))
            yield f"{sizes}select={largest.node}", found.why
            return


def _published(entry: Entry, ask: str) -> dict[str, int]:
    """Returns the sizes that a published model changes, if a question has another answer there."""
    usual = _question(entry, ask)
    if not usual or not entry.presets:
        return {}
    settings = entry.settings(entry.presets[0].knobs)
    there = question(entry, settings, ask)
    if not there or there.answers[there.right] == usual.answers[usual.right]:
        return {}
    return {name: n for name, n in settings.items() if n != entry.settings({})[name]}


def _growth(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yields what doubling a size does to the cost, asked for first and then shown."""
    for what in ("parameters", "flops"):
        for knob in filter(_grows, entry.knobs):
            now, then = knob.default, 2 * knob.default
            found = _question(entry, f"{what}:{knob.name}={then}")
            if found and found.answers[found.right] != "just as many":
                meaning = f" ({knob.help})" if knob.help else ""
                says = f"We double {knob.name}{meaning}, now {now}."
                yield f"ask={what}:{knob.name}={then}", says
                yield f"{knob.name}={then}", f"{knob.name} is {then}. {found.why}"
                return


def _grows(knob: Knob) -> bool:
    return knob.is_size and knob.most is None and not knob.below and 2 * knob.default <= knob.max


def _total(cost: Cost) -> str:
    learned = f"{cost.parameters:,} parameters" if cost.parameters else "Nothing here is learned"
    if not cost.flops:
        return f"{learned}, and no arrays are multiplied: the work counts as 0."
    return f"{learned}; {cost.flops:,} floating-point operations in one pass."
