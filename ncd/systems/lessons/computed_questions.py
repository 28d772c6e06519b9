"""Questions whose answers are computed from a term.

A question is a short text in a link: its kind, and what it is about.

| text | asks |
| --- | --- |
| ``shape:v7`` | which shape an array has |
| ``numbers:v7`` | how many numbers are in an array |
| ``gone:n4`` | which axis goes into an op and does not leave it |
| ``along:n6`` | along which axis an op works, as a softmax does |
| ``most:parameters``, ``most:flops`` | which op has the most of them |
| ``parameters:h=8``, ``flops:x=44`` | what becomes of them when sizes change |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256

from ncd.circuit.circuit import Cell, Circuit, array_names
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.axes import Array, Axis
from ncd.systems.catalogue_entry import Entry
from ncd.words import listed

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
QUANTITIES = {"parameters": "parameters", "flops": "floating-point operations"}


@dataclass(frozen=True)
class Question:
    """A question, its answers, the index of the right one, and why that is right.

    ``subject_id`` is the id of the array or op in question; ``hides`` tells that the shape of the
    array would tell the answer.
    """

    text: str
    answers: tuple[Answer, ...]
    answer_index: int
    explanation: str
    subject_id: str = ""
    hides: bool = False


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
        circuit = elaborate(entry.build(**settings))
        if kind in QUANTITIES:
            return _size_change(entry, settings, circuit, kind, about)
        return KINDS[kind](circuit, about) if kind in KINDS else None
    except (_NoQuestion, NCDError):
        return None


# --- arrays ---------------------------------------------------------------------------------------


def _shape(circuit: Circuit, id: str) -> Question:
    right, cell = _array_and_op(circuit, id)
    wrong = [other for other in _like(right, cell) if _parts(other) != _parts(right)]
    text = f"What shape leaves {cell.op.display_name}?"
    return _make_question(
        text, right, wrong, f"{_sentence(cell.description)}.", _shuffle_key, id, hides=True
    )


def _numbers(circuit: Circuit, id: str) -> Question:
    array, cell = _array_and_op(circuit, id)
    name = array_names(circuit).get(id) or f"what leaves {cell.op.display_name}"
    sizes = [axis.numel for axis in array]
    products = " × ".join(f"{size:,}" for size in sizes)
    others = sorted({other.numel for other in _like(array, cell)}, reverse=True)
    wrong = [others[0], sum(sizes), *(array.numel // n for n in sizes), *others[1:]]
    found = _make_question(
        f"How many numbers are in {name}?",
        f"{array.numel:,}",
        [f"{n:,}" for n in wrong if n != array.numel],
        f"{products} = {array.numel:,}." if len(sizes) > 1 else f"{array.numel:,}, one a position.",
        lambda said: f"{int(str(said).replace(',', '')):020}",  # in order
        id,
    )
    return found


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
    return _make_question(text, lost[0], stays, f"{_sentence(cell.description)}.", _axis_name, id)


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
    return _make_question(text, next(iter(own.values())), wrong, why, _axis_name, id)


def _cell(circuit: Circuit, id: str) -> Cell:
    found = next((cell for cell in circuit.cells if cell.id == id), None)
    if found is None:
        raise _NoQuestion
    return found


# --- costs ----------------------------------------------------------------------------------------


def _largest_op(circuit: Circuit, what: str) -> Question:
    """Asks for the op with the most parameters or FLOPs; those of one name count together."""
    if what not in QUANTITIES:
        raise _NoQuestion
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
    text = f"Which operation has the most {QUANTITIES[what]}?"
    return _make_question(text, first, [label for label, _ in others], why, str)


def _places(counts: list[int]) -> str:
    if len(counts) == 1:
        return ""
    alike = "each" if len(set(counts)) == 1 else "the largest"
    return f", in {len(counts):,} places, {max(counts):,} in {alike}"


def _size_change(
    entry: Entry, settings: Mapping[str, int], circuit: Circuit, what: str, change: str
) -> Question:
    """Asks what a change of sizes does to a cost."""
    new = _sizes(entry, settings, change)
    before = getattr(cost_of(circuit), what)
    after = getattr(cost_of(elaborate(entry.build(**{**settings, **new}))), what)
    if not before:
        raise _NoQuestion
    factor = Fraction(*(next((n, settings[name]) for name, n in new.items())))
    ratio = Fraction(after, before)
    usual = (Fraction(1), factor, factor**2, 1 / factor, Fraction(2), Fraction(4), Fraction(1, 2))
    right = in_words(ratio)
    wrong = [
        in_words(each) for each in usual if not 1 / MIN_WRONG_RATIO < each / ratio < MIN_WRONG_RATIO
    ]
    moves = listed(f"{name} goes from {settings[name]} to {n}" for name, n in new.items())
    text = f"{moves}. What becomes of the {before:,} {QUANTITIES[what]}?"
    ratios = {in_words(each): each for each in (*usual, ratio)}
    why = f"There are {after:,} then."
    return _make_question(
        text, right, wrong, why, lambda said: f"{float(ratios[str(said)]):020.9f}"
    )


def _sizes(entry: Entry, settings: Mapping[str, int], change: str) -> dict[str, int]:
    """Reads sizes such as ``h=8,k=8``, all of them other than now."""
    pairs = [pair.partition("=")[::2] for pair in change.split(",")]
    known = {knob.name: knob for knob in entry.knobs if knob.is_size}
    sound = all(name in known and n.isdecimal() and len(n) < 8 for name, n in pairs)
    found = {name: int(n) for name, n in pairs} if sound else {}
    if not found or any(
        n in (0, settings[name]) or not settings[name] for name, n in found.items()
    ):
        raise _NoQuestion
    return found


# --- all of them ----------------------------------------------------------------------------------


def _make_question(
    text: str,
    right: Answer,
    wrong: Iterable[Answer],
    why: str,
    order: Callable[[Answer], str],
    about: str = "",
    hides: bool = False,
) -> Question:
    """Returns a question with the right answer among at most three others, in a fixed order."""
    others: dict[object, Answer] = {}
    for answer in wrong:
        others.setdefault(_identity(answer), answer)
    others.pop(_identity(right), None)
    if not others:
        raise _NoQuestion
    answers = sorted([right, *list(others.values())[: ANSWER_COUNT - 1]], key=order)
    return Question(text, tuple(answers), answers.index(right), why, about, hides)


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
    "most": _largest_op,
}
