"""Questions whose answers are computed from a term.

A question is a short text in a link: its kind, and what it is about.

| text | asks |
| --- | --- |
| ``shape:v7`` | which shape an array has |
| ``numbers:v7`` | how many numbers are in an array |
| ``gone:n4`` | which axis goes into an op and does not leave it |
| ``along:n6`` | along which axis an op works, as a softmax does |
| ``most:parameters``, ``most:flops`` | which op has the most of them |
| ``most:flops:gpt-2-small`` | the same at the sizes of a preset |
| ``parameters:h=8``, ``flops:x=44`` | what becomes of them, ``bytes`` or ``cache`` at other sizes |
| ``order:flops:n4,f2`` | which of two ops, blocks or arrays has more; a preset may follow |
| ``order:cache:llama-7b,mistral-7b`` | which of two presets has more |
| ``estimate:parameters:gpt-2-small`` | about how many there are, within a factor of 10 |
| ``mixes:t``, ``mixes:x,y``, ``mixes:h@v7,h@v12`` | which places of an axis another one reaches |
| ``cut:n6``, ``cut:f2``, ``cut:v3`` | what counts still when an op, block or wire gives zeros |
| ``changes:s=50``, ``changes:s=50,v17`` | whether numbers of the result, or an array, change |
| ``format:float16:2048+1`` | what a number, a sum or a product becomes in a format |
| ``pass:0.8,4`` | how many words a pass writes if 4 are proposed and each stays with 0.8 |

A wrong answer has a sentence of its own that says why. An axis after ``mixes`` is that of the first
input and of the first output that have it, unless an array is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from math import inf, isinf, isnan

import torch

from ncd.circuit.circuit import Cell, Circuit, Value, array_names, input_names
from ncd.circuit.costs import BYTES, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.errors import NCDError
from ncd.formulas.prefixed_amounts import digits
from ncd.language.axes import Array, Axis
from ncd.language.number_formats import Formats
from ncd.run.calculation import calculation_text, number_text, read_calculation
from ncd.run.float_formats import FORMATS, FloatFormat
from ncd.systems.catalogue_entry import Entry
from ncd.systems.language_models.speculative_decoding import expected_words
from ncd.systems.lessons.dependence import (
    ALL,
    EARLIER,
    LATER,
    NEAR,
    NONE,
    SAME,
    SOME_PLACES,
    TOLERANCE,
    DependenceProbe,
    expected_relation,
    relation,
)
from ncd.words import list_words, plain_text

# --- Ratios in words, such as ``almost twice as many``

RATIO_TOLERANCE = 0.03  # a ratio that is so near a plain one is named after that
RATIO_WORDS = {
    Fraction(1, 2): "half as",
    Fraction(1): "just as",
    Fraction(2): "twice as",
    Fraction(4): "4 times as",
}


def in_words(ratio: Fraction) -> str:
    """Returns a ratio of two numbers in words.

    >>> [in_words(Fraction(*pair)) for pair in ((1, 1), (1, 2), (199, 100), (157, 100), (101, 100))]
    ['just as many', 'half as many', 'almost twice as many', '1.57 times as many', 'slightly more']
    """
    for plain, word in RATIO_WORDS.items():
        if ratio == plain:
            return f"{word} many"
        if plain == 1 and abs(ratio - 1) < RATIO_TOLERANCE:
            return "slightly fewer" if ratio < 1 else "slightly more"
        if abs(ratio / plain - 1) < RATIO_TOLERANCE:
            return f"{'almost' if ratio < plain else 'a little over'} {word} many"
    return f"{float(ratio):.3g} times as many"


# --- Predictions with several answers, one of them right, all computed from a term

Answer = Array | Axis | str
ANSWER_COUNT = 4  # answers of a question
MIN_WRONG_RATIO = Fraction(23, 20)  # wrong factors differ from the right one by more
QUANTITIES = {
    "parameters": "parameters",
    "flops": "floating-point operations",
    "bytes": "bytes of arrays",
    "cache": "bytes that its cache keeps of a position",
}
PER_OP = ("parameters", "flops", "bytes")
COMPARED_WORDS = {
    "parameters": "has more parameters",
    "flops": "takes more floating-point operations",
    "bytes": "takes more bytes",
    "cache": "keeps more bytes of a position in its cache",
}


@dataclass(frozen=True)
class Question:
    """A question, its answers, the index of the right one, and why that is right.

    ``subject_id`` is the id of the array or op in question; ``hides`` tells that the shape of the
    array would tell the answer. ``feedback`` says for each answer why it is wrong; empty for the
    right one.
    """

    text: str
    answers: tuple[Answer, ...]
    answer_index: int
    explanation: str
    subject_id: str = ""
    hides: bool = False
    feedback: tuple[str, ...] = ()

    @property
    def answer(self) -> Answer:
        """The right answer."""
        return self.answers[self.answer_index]


@dataclass(frozen=True)
class _Subject:
    """The system of a question, at its settings."""

    entry: Entry
    settings: Mapping[str, int]
    circuit: Circuit

    def with_sizes(self, changed: Mapping[str, int]) -> _Subject:
        """Returns the system with some settings changed."""
        return _subject(self.entry, {**self.settings, **changed})

    def preset(self, name: str) -> _Subject:
        """Returns the system at the sizes of a preset, or as it is if the name is empty."""
        if not name:
            return self
        knobs = self.entry.preset(name).knobs
        return _subject(self.entry, self.entry.settings(knobs))

    def amount(self, what: str) -> int:
        """Returns its parameters, FLOPs, bytes of arrays, or bytes of cache for a position."""
        if what == "cache":
            return cost_of(self.circuit, Formats(cached=self.entry.cached)).cache_bytes
        return int(getattr(cost_of(self.circuit), what))


def _subject(entry: Entry, settings: Mapping[str, int]) -> _Subject:
    return _Subject(entry, settings, elaborate(entry.build(**settings)))


class _NoQuestion(Exception):
    """A question that makes no sense for a term, such as one with two right answers."""


def question(entry: Entry, settings: Mapping[str, int], ask: str) -> Question | None:
    """Returns the question of a link about a system at these settings; None if it has none.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> found = question(entry, entry.settings({}), "parameters:h=8")
    >>> print(found.text, found.answers[found.answer_index])
    h goes from 4 to 8. What becomes of the 32,768 parameters? twice as many
    >>> question(entry, entry.settings({}), "shape:v99") is None
    True
    """
    kind, _, about = ask.partition(":")
    try:
        asked = _subject(entry, settings)
        if kind in QUANTITIES:
            return _size_change(asked, kind, about)
        if kind in SYSTEM_KINDS:
            return SYSTEM_KINDS[kind](asked, about)
        return KINDS[kind](asked.circuit, about) if kind in KINDS else None
    except (_NoQuestion, NCDError):
        return None


# --- arrays ---------------------------------------------------------------------------------------


def _shape(circuit: Circuit, id: str) -> Question:
    right, cell = _array_and_op(circuit, id)
    wrong = [other for other in _like(right, cell) if _parts(other) != _parts(right)]
    name = cell.op.display_name
    return _make_question(
        f"What shape leaves {name}?",
        right,
        wrong,
        f"{_sentence(cell.description)}.",
        _shuffle_key,
        id,
        hides=True,
        feedback=lambda said: _shape_fault(said, right, name),
    )


def _shape_fault(said: Answer, right: Array, name: str) -> str:
    """Returns which axes a wrong shape lacks, and which it has too much."""
    assert isinstance(said, Array)
    lacks, adds = _axes(_parts(right) - _parts(said)), _axes(_parts(said) - _parts(right))
    if not adds:
        return f"It lacks the axis {lacks}."
    doubled = any(said.names.count(name) > 1 for name in said.names)
    also = f", and {lacks} does" if lacks else " so often" if doubled else ""
    return f"The axis {adds} does not leave {name}{also}."


def _axes(parts: Counter[tuple[str, str]]) -> str:
    return list_words(" ".join(filter(None, part)) for part in parts)


def _numbers(circuit: Circuit, id: str) -> Question:
    array, cell = _array_and_op(circuit, id)
    name = array_names(circuit).get(id) or f"what leaves {cell.op.display_name}"
    sizes = [axis.numel for axis in array]
    products = " × ".join(f"{size:,}" for size in sizes)
    faults = {array.numel // axis.numel: f"That leaves out {axis.display_name}." for axis in array}
    faults |= {sum(sizes): "That is the sum of the sizes; places are counted by their product."}
    others = {other.numel: other for other in _like(array, cell)}
    largest, *rest = sorted(others, reverse=True)
    faults = {
        n: f"An array {_named_parts(other)} has so many." for n, other in others.items()
    } | faults
    wrong = [largest, sum(sizes), *(array.numel // n for n in sizes), *rest]
    return _make_question(
        f"How many numbers are in {name}?",
        f"{array.numel:,}",
        [f"{n:,}" for n in wrong if n != array.numel],
        f"{products} = {array.numel:,}." if len(sizes) > 1 else f"{array.numel:,}, one a position.",
        lambda said: f"{_count(said):020}",  # in order
        id,
        feedback=lambda said: faults[_count(said)],
    )


def _count(said: Answer) -> int:
    return int(str(said).replace(",", ""))


def _named_parts(array: Array) -> str:
    return " ".join(f"{axis.display_name} {axis.size_text}" for axis in array)


def _array_and_op(circuit: Circuit, id: str) -> tuple[Array, Cell]:
    """Returns an array with sizes and axes, and the op that makes it and no other."""
    cell = circuit.producers.get(id)
    array = circuit.values[id].array if id in circuit.values else Array()
    if cell is None or len(cell.outputs) > 1 or not array or array.below is not None:
        raise _NoQuestion
    if any(axis.size is None for axis in array):
        raise _NoQuestion
    return array, cell


def _like(right: Array, cell: Cell) -> list[Array]:
    """Returns arrays that one might take for what leaves an op."""
    taken = [value.array for value in cell.inputs if value.array.below is None]
    names = set(right.names)
    extra = {axis.name: axis for array in taken for axis in array if axis.name not in names}
    fewer = [right.with_axes(a for a in right if a.name != name) for name in right.names]
    more = [right.with_axes((*right, axis)) for axis in extra.values()]
    swapped = [
        right.with_axes(axis if own.name == name else own for own in right)
        for axis in extra.values()
        for name in right.names
    ]
    every = [*taken, *more, *fewer, *swapped]
    doubled = [right.with_axes((*right, *right[:1]))] if len(right) == 1 else []
    return [array for array in (*every, *doubled) if len(array)]


def _parts(array: Array) -> Counter[tuple[str, str]]:
    """Returns what is compared of a shape: its axes in any order."""
    return Counter((axis.display_name, axis.size_text) for axis in array)


# --- axes -----------------------------------------------------------------------------------------


def _lost_axis(circuit: Circuit, id: str) -> Question:
    cell = _cell(circuit, id)
    ins = {axis.display_name: axis for value in cell.inputs for axis in value.array}
    outs = {axis.display_name for value in cell.outputs for axis in value.array}
    lost = [axis for name, axis in ins.items() if name not in outs]
    if len(lost) != 1:
        raise _NoQuestion
    stays = [axis for name, axis in ins.items() if name in outs]
    text = f"Which axis goes into {cell.op.display_name} and does not leave it?"
    why = f"{_sentence(cell.description)}."
    return _make_question(
        text,
        lost[0],
        stays,
        why,
        _axis_name,
        id,
        feedback=lambda said: f"The axis {_axis_name(said)} goes in and leaves again.",
    )


def _op_axis(circuit: Circuit, id: str) -> Question:
    cell = _cell(circuit, id)
    own = {axis.display_name: axis for axis in cell.site.own_inputs.axes}
    every = {axis.display_name: axis for value in cell.inputs for axis in value.array}
    if len(own) != 1:
        raise _NoQuestion
    wrong = [axis for name, axis in every.items() if name not in own]
    text = f"Along which axis does {cell.op.display_name} work?"
    over = ", ".join(axis.display_name for axis in wrong)
    why = f"{_sentence(cell.description)}, and the same at every place of {over}."
    return _make_question(
        text,
        next(iter(own.values())),
        wrong,
        why,
        _axis_name,
        id,
        feedback=lambda said: f"At each place of {_axis_name(said)} the same is done again.",
    )


def _cell(circuit: Circuit, id: str) -> Cell:
    found = next((cell for cell in circuit.cells if cell.id == id), None)
    if found is None:
        raise _NoQuestion
    return found


# --- costs ----------------------------------------------------------------------------------------


def _largest_op(asked: _Subject, about: str) -> Question:
    """Asks for the op with the most parameters or FLOPs; those of one name count together."""
    what, _, preset = about.partition(":")
    if what not in ("parameters", "flops"):
        raise _NoQuestion
    circuit = asked.preset(preset).circuit
    counts: dict[str, list[int]] = {}
    for op in cost_of(circuit).ops:
        counts.setdefault(op.label, []).append(getattr(op, what))
    totals = Counter({label: sum(each) for label, each in counts.items()})
    (first, most), *others = totals.most_common() or [("", 0)]
    if not others or not 0 < others[0][1] < most:
        raise _NoQuestion
    whole = sum(totals.values())
    where = _places([n for n in counts[first] if n])
    share = f"{first} has {most:,} of {whole:,}, {most / whole:.0%}{where}"
    why = f"{share}; {others[0][0]} {others[0][1]:,}."
    text = f"Which operation has the most {QUANTITIES[what]}{_at_sizes(asked, preset)}?"
    return _make_question(
        text,
        first,
        [label for label, _ in others],
        why,
        str,
        feedback=lambda said: (
            f"{said} has {f'{totals[str(said)]:,}' if totals[str(said)] else 'none'}."
        ),
    )


def _at_sizes(asked: _Subject, preset: str) -> str:
    """Returns the sizes of a preset, as the end of a question about a model or a part of one."""
    return f" at the sizes of {_preset_title(asked, preset)}" if preset else ""


def _preset_title(asked: _Subject, preset: str) -> str:
    found = asked.entry.preset(preset)
    return found.title or found.name


def _places(counts: list[int]) -> str:
    if len(counts) == 1:
        return ""
    alike = "each" if len(set(counts)) == 1 else "the largest"
    return f", in {len(counts):,} places, {max(counts):,} in {alike}"


def _size_change(asked: _Subject, what: str, change: str) -> Question:
    """Asks what a change of sizes does to a cost."""
    settings, new = asked.settings, _sizes(asked, change)
    before, after = asked.amount(what), asked.with_sizes(new).amount(what)
    if not before:
        raise _NoQuestion
    factor = Fraction(*(next((n, settings[name]) for name, n in new.items())))
    ratio = Fraction(after, before)
    usual = (Fraction(1), factor, factor**2, 1 / factor, Fraction(2), Fraction(4), Fraction(1, 2))
    right = in_words(ratio)
    wrong = [
        in_words(each) for each in usual if not 1 / MIN_WRONG_RATIO < each / ratio < MIN_WRONG_RATIO
    ]
    moves = list_words(f"{name} goes from {settings[name]} to {n}" for name, n in new.items())
    text = f"{moves}. What becomes of the {before:,} {QUANTITIES[what]}?"
    ratios = {in_words(each): each for each in (*usual, ratio)}
    return _make_question(
        text,
        right,
        wrong,
        f"There are {after:,} then.",
        lambda said: f"{float(ratios[str(said)]):020.9f}",
        feedback=lambda said: _change_fault(ratios[str(said)], ratio, factor, list_words(new)),
    )


def _change_fault(said: Fraction, ratio: Fraction, factor: Fraction, names: str) -> str:
    """Returns why a factor is wrong: what it takes for granted of the sizes that change."""
    if said == 1:
        return f"Some of them depend on {names}, so their number changes."
    if ratio == 1:
        several = " and " in names
        return "The changes cancel." if several else f"None of them depends on {names}."
    if (said > 1) != (ratio > 1):
        return f"They become {'more' if ratio > 1 else 'fewer'}."
    weaker = (said > ratio) == (ratio > 1)
    if said == factor:
        return (
            f"Only a part of them grows with {names}: the rest stays."
            if weaker
            else f"Some of them grow with more than one power of {names}."
        )
    return f"They change {'less' if weaker else 'more'} than that."


def _sizes(asked: _Subject, change: str) -> dict[str, int]:
    """Reads sizes such as ``h=8,k=8``, all of them other than now."""
    known = {knob.name: knob for knob in asked.entry.knobs if knob.is_size}
    found = _settings(known, change)
    now = asked.settings
    if any(n in (0, now[name]) or not now[name] for name, n in found.items()):
        raise _NoQuestion
    return found


def _settings(known: Container[str], change: str) -> dict[str, int]:
    """Reads settings such as ``h=8,causal=1``."""
    pairs = [pair.partition("=")[::2] for pair in change.split(",")]
    if not all(name in known and n.isdecimal() and len(n) < 8 for name, n in pairs):
        raise _NoQuestion
    return {name: int(n) for name, n in pairs}


def _order(asked: _Subject, about: str) -> Question:
    """Asks which of two has more: ops, blocks or arrays of a system, or two presets."""
    what, _, rest = about.partition(":")
    pair, _, preset = rest.partition(":")
    names = pair.split(",")
    if what not in QUANTITIES or len(names) != 2:
        raise _NoQuestion
    counts = dict(_amount_of(asked, what, name, preset) for name in names)
    if len(counts) != 2:
        raise _NoQuestion
    (first, n), (second, m) = counts.items()
    same = "both just as many"
    right = same if n == m else first if n > m else second
    why = f"{first}: {n:,}; {second}: {m:,}."
    text = f"Which {COMPARED_WORDS[what]}{_at_sizes(asked, preset)}: {first} or {second}?"
    return _make_question(
        text,
        right,
        [answer for answer in (first, second, same) if answer != right],
        why,
        lambda said: str([first, second, same].index(str(said))),
        feedback=lambda said: (
            "They are equal."
            if n == m
            else f"One has {_times(max(n, m), min(n, m))}."
            if said == same
            else f"It has only {min(n, m):,}."
        ),
    )


def _amount_of(asked: _Subject, what: str, name: str, preset: str) -> tuple[str, int]:
    """Returns the title of a preset, or of a part of the system, and how much it has."""
    if name in {own.name for own in asked.entry.presets}:
        return _preset_title(asked, name), asked.preset(name).amount(what)
    return _part(asked.preset(preset).circuit, what, name)


def _times(more: int, fewer: int) -> str:
    return f"{digits(more / fewer)} times as many" if fewer else "none"


def _part(circuit: Circuit, what: str, id: str) -> tuple[str, int]:
    """Returns the name of an op, a block or an array, and how much it has of something."""
    if what not in PER_OP:
        raise _NoQuestion
    if id in circuit.values and what == "bytes":
        array, cell = _array_and_op(circuit, id)
        title = array_names(circuit).get(id) or f"what leaves {cell.op.display_name}"
        return title, BYTES * array.numel
    cells, title = _cells(circuit, id)
    costs = cost_of(circuit).by_node
    return title, sum(getattr(costs[cell.id], what) for cell in cells)


def _cells(circuit: Circuit, id: str) -> tuple[list[Cell], str]:
    """Returns the ops of an id, an op's or a block's, and its name."""
    fence = next((fence for fence in circuit.fences if fence.id == id), None)
    if fence is None:
        cell = _cell(circuit, id)
        return [cell], cell.op.display_name
    inner = [cell for cell in circuit.cells if id in cell.fences]
    return inner, plain_text(fence.title.strip()) or "the block"


def _estimate(asked: _Subject, about: str) -> Question:
    """Asks for the order of magnitude of a count."""
    what, _, preset = about.partition(":")
    if what not in QUANTITIES:
        raise _NoQuestion
    number = asked.preset(preset).amount(what)
    if number < 1000:  # it would be counted, and not guessed
        raise _NoQuestion
    lowest = int(sha256(about.encode()).hexdigest(), 16) % ANSWER_COUNT
    ratios = [Fraction(10) ** (n - lowest) for n in range(ANSWER_COUNT)]
    sizes = {rounded_count(number * ratio): ratio for ratio in ratios}
    return _make_question(
        f"About how many {QUANTITIES[what]} are there{_at_sizes(asked, preset)}?"
        if what != "cache"
        else f"About how many bytes of a position does a cache keep{_at_sizes(asked, preset)}?",
        rounded_count(number),
        [words for words, ratio in sizes.items() if ratio != 1],
        f"There are {number:,}.",
        lambda said: f"{float(sizes[str(said)]):012.4f}",
        feedback=lambda said: _magnitude_fault(sizes[str(said)]),
    )


def _magnitude_fault(ratio: Fraction) -> str:
    many = ratio > 1
    return f"{int(ratio if many else 1 / ratio):,} times too {'many' if many else 'few'}."


COUNT_WORDS = (
    (10**12, " trillion"),
    (10**9, " billion"),
    (10**6, " million"),
    (10**3, " thousand"),
)


def rounded_count(number: Fraction | int) -> str:
    """Returns a count with two significant digits, in words as they are said.

    >>> [rounded_count(n) for n in (124_439_808, 1_234, 38, 6_997_000_000)]
    ['120 million', '1.2 thousand', '38', '7 billion']
    """
    value = float(f"{float(number):.2g}")
    size, word = next(((size, word) for size, word in COUNT_WORDS if value >= size), (1, ""))
    return f"{value / size:g}{word}"


# --- what depends on what -------------------------------------------------------------------------


def _mixing(asked: _Subject, about: str) -> Question:
    """Asks which places along an axis change when another place does."""
    circuit = asked.circuit
    start, _, end = about.partition(",")
    source = _place(circuit.inputs, circuit, start)
    target = _place(circuit.outputs, circuit, end or start)
    from_axis, to_axis = (_axis_of(circuit, *place) for place in (source, target))
    if min(from_axis.numel, to_axis.numel) < 3:
        raise _NoQuestion
    reached = DependenceProbe(circuit, asked.entry.training).reach(source, target)
    right = relation(reached, from_axis.shape)
    place = "position" if from_axis.sequence else "place"
    name, own = to_axis.display_name, from_axis.display_name
    text = (
        f"We change {_array_words(circuit, source[0])} at one {place} of {own}. "
        f"At which {place}s of {name} does {_array_words(circuit, target[0])} change?"
    )
    usual = (SAME, ALL, LATER) if right in (SAME, ALL, LATER) else (SAME, ALL)
    if from_axis.numel != to_axis.numel:
        usual = (ALL, SOME_PLACES)
    wrong = [words for words in (*usual, NONE) if words != right]
    order = (NONE, SAME, NEAR, SOME_PLACES, EARLIER, LATER, ALL)
    return _make_question(
        text,
        right,
        wrong,
        _reach_words(reached, name),
        lambda said: str(order.index(str(said))),
        target[0] if circuit.producers.get(target[0]) else "",
        feedback=lambda said: _reach_fault(reached, str(said), own, name),
    )


def _place(ends: Sequence[Value], circuit: Circuit, text: str) -> tuple[str, str]:
    """Reads an axis such as ``t``, or ``h@v7``: the id of an array, and the axis in it."""
    name, _, id = text.partition("@")
    arrays = [circuit.values[id]] if id in circuit.values else [] if id else ends
    found = (
        (value.id, axis.name)
        for value in arrays
        for axis in value.array
        if name in (axis.name, axis.display_name)
    )
    place = next(found, None)
    if place is None:
        raise _NoQuestion
    return place


def _axis_of(circuit: Circuit, id: str, name: str) -> Axis:
    return next(axis for axis in circuit.values[id].array if axis.name == name)


def _array_words(circuit: Circuit, id: str) -> str:
    """Returns what an array is called in a question."""
    if any(id == value.id for value in circuit.outputs):
        return "the result"
    cell = circuit.producers.get(id)
    if cell is None:
        name = input_names(circuit).get(id)
        several = len(circuit.inputs) > 1
        axes = " ".join(axis.display_name for axis in circuit.values[id].array)
        return f"the input {name or axes}" if several else "the input"
    return f"what leaves {cell.op.display_name}"


def _reach_words(reached: Mapping[int, Sequence[bool]], name: str) -> str:
    """Returns what a change in the middle reaches."""
    place = sorted(reached)[len(reached) // 2]
    return f"A change at place {place + 1:,} reaches {_listed_places(reached[place], name)}."


def _listed_places(row: Sequence[bool], name: str) -> str:
    at = [n + 1 for n, there in enumerate(row) if there]
    if len(at) in (0, len(row)):
        return f"no place of {name}" if not at else f"all {len(row):,} places of {name}"
    if len(at) == 1:
        return f"place {at[0]} of {name}, and no other"
    if at == list(range(at[0], at[-1] + 1)):
        return f"places {at[0]} to {at[-1]} of {name}, and no others"
    return f"{len(at):,} of the {len(row):,} places of {name}"


def _reach_fault(reached: Mapping[int, Sequence[bool]], said: str, own: str, name: str) -> str:
    """Returns a place where a wrong answer fails."""
    for place, row in reached.items():
        if said in (SOME_PLACES, NEAR):
            continue
        for q, (there, wanted) in enumerate(
            zip(row, expected_relation(said, place, len(row)), strict=True)
        ):
            if there != wanted:
                verb = "reaches" if there else "does not reach"
                where = f"place {q + 1}" if own == name else f"place {q + 1} of {name}"
                return f"A change at place {place + 1} {verb} {where}."
    return "It reaches every place." if all(map(all, reached.values())) else "It reaches no other."


SAME_DEPENDENCE = "on all that it did before"
NOTHING = "on nothing: it is the same for every input"
ALONE = "each place on its own place of the input only"


def _cut(asked: _Subject, id: str) -> Question:
    """Asks what the result still depends on when an op, a block or a wire gives zeros."""
    circuit = asked.circuit
    cut, title = _cut_arrays(circuit, id)
    whole = DependenceProbe(circuit, asked.entry.training)
    rest = DependenceProbe(circuit, asked.entry.training, cut)
    before, after = (_dependence(circuit, probe) for probe in (whole, rest))
    right = _remains(circuit, before, after)
    several = [value.id for value in circuit.inputs if value.id in before.inputs]  # in their order
    every = [_input_words(circuit, {own}) for own in several if len(several) > 1]
    alone = [ALONE] if before.reached_places and before.words != SAME else []
    order = [NOTHING, *alone, *every, right, SAME_DEPENDENCE]
    return _make_question(
        f"{_sentence(title)} gives zeros. What does the result still depend on?",
        right,
        [answer for answer in (SAME_DEPENDENCE, NOTHING, *alone, *every) if answer != right],
        _cut_words(circuit, before, after),
        lambda said: str(order.index(str(said))),
        id if circuit.producers.get(id) or id not in circuit.values else "",
        feedback=lambda said: _cut_fault(circuit, str(said), before, after),
    )


@dataclass(frozen=True)
class _Dependence:
    """The inputs on which a result depends, and the places that one of the first reaches."""

    inputs: frozenset[str]
    reached_places: Mapping[int, Sequence[bool]]
    words: str = ""


def _cut_arrays(circuit: Circuit, id: str) -> tuple[set[str], str]:
    """Returns the ids of the arrays that are zero, and what gives them."""
    if id in circuit.values:
        return {id}, f"a wire of {_array_words(circuit, id).removeprefix('what leaves ')}"
    fence = next((fence for fence in circuit.fences if fence.id == id), None)
    cells, title = _cells(circuit, id)
    ends = fence.states[-1] if fence else cells[0].outputs
    return {value.id for value in ends}, title


def _dependence(circuit: Circuit, probe: DependenceProbe) -> _Dependence:
    """Returns what outputs depend on; places are those of the first axis that both ends have."""
    outputs = [value.id for value in circuit.outputs]
    ids = frozenset(
        value.id
        for value in circuit.inputs
        if any(probe.depends(output, value.id) for output in outputs)
    )
    for source in circuit.inputs:
        for axis in source.array:
            ends = [value for value in circuit.outputs if axis.name in value.array.names]
            if ends and axis.numel >= 3 and (axis.sequence or axis.spatial):
                reached = probe.reach((source.id, axis.name), (ends[0].id, axis.name))
                return _Dependence(ids, reached, relation(reached, axis.shape))
    return _Dependence(ids, {})


def _remains(circuit: Circuit, before: _Dependence, after: _Dependence) -> str:
    if not after.inputs:
        return NOTHING
    if after.inputs != before.inputs:
        return _input_words(circuit, after.inputs)
    if after.reached_places == before.reached_places:
        return SAME_DEPENDENCE
    if after.words == SAME:
        return ALONE
    raise _NoQuestion  # fewer places, which no answer says


def _input_words(circuit: Circuit, ids: Collection[str]) -> str:
    own = [value.id for value in circuit.inputs if value.id in ids]
    return f"on {list_words(_array_words(circuit, id) for id in own)} only"


def _cut_words(circuit: Circuit, before: _Dependence, after: _Dependence) -> str:
    """Returns what was found after the cut."""
    if not after.inputs:
        return "Whatever goes in, the same comes out."
    if after.inputs != before.inputs:
        gone = [v.id for v in circuit.inputs if v.id in before.inputs - after.inputs]
        names = list_words(_array_words(circuit, id) for id in gone)
        return f"The result is the same for another {names.removeprefix('the ')}."
    if after.reached_places:
        return f"{_reach_words(after.reached_places, 'the result')}"
    return "Another input still gives another result."


def _cut_fault(circuit: Circuit, said: str, before: _Dependence, after: _Dependence) -> str:
    """Returns why something else is left than an answer says."""
    if not after.inputs:
        return "Nothing of the input arrives any more."
    if said == NOTHING:
        return "Another input still gives another result, by a way around."
    if said == SAME_DEPENDENCE:
        return "It was on the way of something: less arrives now than before."
    if said == ALONE and after.inputs == before.inputs:
        return "Places still reach each other."
    for id in sorted(before.inputs):
        claimed = said == _input_words(circuit, {id})
        if claimed != (id in after.inputs):
            verb = "no longer changes" if claimed else "still changes"
            return f"{_sentence(_array_words(circuit, id))} {verb} the result."
    return "Less is left than that."


def _changed_numbers(asked: _Subject, about: str) -> Question:
    """Asks whether the numbers of the result, or of an array, are others at other settings."""
    *changes, last = about.split(",")
    is_id = "=" not in last
    change = ",".join(changes if is_id else [*changes, last])
    new = _settings(asked.settings, change)
    if all(asked.settings[name] == n for name, n in new.items()):
        raise _NoQuestion
    then = asked.with_sizes(new)
    ends = [last] * 2 if is_id else [own.circuit.outputs[0].id for own in (asked, then)]
    changed, count = _difference((asked, then), ends)
    none, some, every = "none", "some", "all"
    right = every if changed == count else none if changed == 0 else some
    knobs = {knob.name: knob for knob in asked.entry.knobs}
    moves = list_words(_move(knobs[name], asked.settings[name], n) for name, n in new.items())
    whose = _owner_words(asked.circuit, ends[0])
    how = {none: "None", some: f"{changed:,}", every: "All"}[right]
    why = f"{how} of the {count:,} numbers {'changes' if changed < 2 else 'change'}."
    return _make_question(
        f"{moves}. How many numbers {whose} change?",
        right,
        [answer for answer in (none, some, every) if answer != right],
        why,
        lambda said: str([none, some, every].index(str(said))),
        ends[0] if asked.circuit.producers.get(ends[0]) else "",
        feedback=lambda said: (
            "They do change." if said == none else "Some stay." if changed else "Each stays."
        ),
    )


def _move(knob: Knob, now: int, then: int) -> str:
    """Returns a change of a setting in words."""
    if knob.switch:
        return f"“{knob.help or knob.name}” is switched {'on' if then else 'off'}"
    if knob.names:
        return f"{knob.name} goes from {knob.names[now]} to {knob.names[then]}"
    return f"{knob.name} goes from {now} to {then}"


def _owner_words(circuit: Circuit, id: str) -> str:
    """Returns whose numbers are asked for: ``of the scores``, or ``that leave Group``."""
    words, name = _array_words(circuit, id), array_names(circuit).get(id, "")
    if "what leaves" not in words:
        return f"of {words}"
    return f"of the {name}" if len(name) > 2 else words.replace("what leaves", "that leave")


def _difference(systems: Sequence[_Subject], ids: Sequence[str]) -> tuple[int, int]:
    """Returns how many numbers of an array are others in a second system, of how many."""
    circuits = [own.circuit for own in systems]
    arrays = [
        own.values[id].array if id in own.values else None
        for own, id in zip(circuits, ids, strict=True)
    ]
    if arrays[0] is None or arrays[0] != arrays[1]:
        raise _NoQuestion
    a, b = (
        DependenceProbe(own.circuit, own.entry.training).base[id]
        for own, id in zip(systems, ids, strict=True)
    )
    same = torch.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
    return int((~same).sum()), a.numel()


# --- formats --------------------------------------------------------------------------------------


def _in_format(circuit: Circuit, about: str) -> Question:
    """Asks for the result of a calculation in a format."""
    name, _, text = about.partition(":")
    if name not in FORMATS:
        raise _NoQuestion
    format, asked = FORMATS[name], read_calculation(text)
    right, step = asked.result_in(format), format.spacing(asked.exact)
    if isnan(right):
        raise _NoQuestion
    less = right - step if abs(right) > step else right  # with its sign
    numbers = (right, asked.exact, right + step, less, inf, 0.0, format.largest)
    answers = {number_text(number): number for number in numbers}
    order = sorted(answers, key=lambda said: answers[said])
    verb = "is {} in" if asked.sign else "does {} become in"
    return _make_question(
        f"What {verb.format(calculation_text(text))} {format.name}?",
        number_text(right),
        answers,
        _rounding_words(asked.exact, right, format),
        lambda said: str(order.index(str(said))),
        feedback=lambda said: _rounding_fault(answers[str(said)], format),
    )


def _rounding_words(exact: float, right: float, format: FloatFormat) -> str:
    """Returns why a number becomes another one in a format."""
    step = format.spacing(exact)
    if exact == right:
        return f"It is a number of {format.name}."
    if abs(exact) > format.largest:
        after = "infinite" if format.has_infinity else "that number, as there is no infinity"
        return f"The largest number is {number_text(format.largest)}: more becomes {after}."
    if right == 0:
        return f"The smallest number is {number_text(step)}: up to half of it becomes 0."
    tie = ", and of two that are as near it becomes the one whose last bit is 0"
    near = tie if abs(exact - right) == step / 2 else ""
    return f"Numbers of {format.name} are {number_text(step)} apart there{near}."


def _rounding_fault(said: float, format: FloatFormat) -> str:
    """Returns why a number is not what another one becomes in a format."""
    if isinf(said):
        return f"It is not above the largest number, {number_text(format.largest)}."
    if format.round_number(said) != said:
        return f"There is no such number in {format.name}."
    if said == 0:
        return f"It is above half of the smallest number, {number_text(format.smallest)}."
    return f"That is a number of {format.name}, but not the one to which it is rounded."


def _words_of_pass(circuit: Circuit, about: str) -> Question:
    """Asks how many words a pass of a model writes where a draft proposes some."""
    if not (found := re.fullmatch(r"(0\.\d{1,3}),([1-9]|1\d)", about)):
        raise _NoQuestion
    chance, count = float(found[1]), int(found[2])
    right = f"{expected_words(chance, count):.3g}"
    faults = {
        f"{count * chance + 1:.3g}": "None stays behind a word that is rejected.",
        f"{count * chance:.3g}": "None stays behind a rejected word, and the model adds one.",
        f"{count + 1}": "So many only if all of them stay.",
    }
    return _make_question(
        f"A draft proposes {count} words, and each stays with a chance of {chance:g}. How many "
        "words does a pass of the model write on average?",
        right,
        faults,
        f"One of its own, and the n-th of the draft if all before it stay, with {chance:g} to the "
        f"power of n: (1 − {chance:g}^{count + 1}) / (1 − {chance:g}) = {right}.",
        lambda said: f"{float(str(said)):09.3f}",
        feedback=lambda said: faults[str(said)],
    )


# --- all of them ----------------------------------------------------------------------------------


def _make_question(
    text: str,
    right: Answer,
    wrong: Iterable[Answer],
    why: str,
    order: Callable[[Answer], str],
    about: str = "",
    hides: bool = False,
    *,
    feedback: Callable[[Answer], str],
) -> Question:
    """Returns a question with the right answer among at most three others, in a fixed order.

    ``feedback`` says of a wrong answer why it is wrong.
    """
    others: dict[object, Answer] = {}
    for answer in wrong:
        others.setdefault(_identity(answer), answer)
    others.pop(_identity(right), None)
    if not others:
        raise _NoQuestion
    answers = sorted([right, *list(others.values())[: ANSWER_COUNT - 1]], key=order)
    at = answers.index(right)
    faults = tuple("" if n == at else feedback(answer) for n, answer in enumerate(answers))
    return Question(text, tuple(answers), at, why, about, hides, faults)


def _identity(answer: Answer) -> object:
    if isinstance(answer, Array):
        return frozenset(_parts(answer).items())
    return answer.display_name if isinstance(answer, Axis) else answer


def _shuffle_key(answer: Answer) -> str:
    """Returns what shapes are ordered by: nothing that tells which of them is right."""
    return sha256(repr(answer).encode()).hexdigest()


def _axis_name(answer: Answer) -> str:
    assert isinstance(answer, Axis)
    return answer.display_name


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


KINDS: Mapping[str, Callable[[Circuit, str], Question]] = {
    "shape": _shape,
    "numbers": _numbers,
    "gone": _lost_axis,
    "along": _op_axis,
    "format": _in_format,
    "pass": _words_of_pass,
}
SYSTEM_KINDS: Mapping[str, Callable[[_Subject, str], Question]] = {
    "most": _largest_op,
    "order": _order,
    "estimate": _estimate,
    "mixes": _mixing,
    "cut": _cut,
    "changes": _changed_numbers,
}
