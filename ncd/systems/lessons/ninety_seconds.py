"""The steps of "Read it in 90 seconds": one growing picture, with a size to drag and a guess each.

The numbers are those of a trained head that reads a sentence. Answers and the numbers in sentences
are computed from the step's term, or from a run of it. In a text an axis stands between asterisks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from torch import Tensor

from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import elaborate
from ncd.language.axes import Array
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Softmax
from ncd.run.guard import compile
from ncd.run.module import trace
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import proofreading, read_weights

WORDS = ("the", "keys", "is", "old", ".")
QUERY = WORDS.index("is")  # the word that is followed
FEATURES, HEADS = 16, 4  # of the trained attention
CLEAR_HEAD = 3  # looks from a verb to its subject; it comes first
Sizes = Mapping[str, int]
AXIS_SIGNS = {"y": "ȳ", "x": "x̄"}  # axes whose places have an order, as they are drawn
FULL_SIZES: Sizes = {"y": len(WORDS), "x": len(WORDS), "k": FEATURES, "h": HEADS}

# --- The trained numbers, and the run of a step on them


@lru_cache(1)
def trained_arrays() -> tuple[Tensor, Tensor, Tensor]:
    """Returns queries, keys and values of the sentence: words × features × heads.

    The queries are divided by the root of the number of features, as the scores of attention are.

    >>> [tuple(array.shape) for array in trained_arrays()]
    [(5, 16, 4), (5, 16, 4), (5, 16, 4)]
    """
    entry = CATALOGUE["multi-head-attention"]
    term = entry.build(**entry.settings(FULL_SIZES))
    module = read_weights(compile(term), proofreading(HEADS, 0).weights)
    inputs = InputSpec({"y": WORDS, "x": WORDS}, trained=True).tensors(term, 0, "cpu")
    values = trace(module, *inputs).values
    heads = {cell.name: values[cell.outputs[0].id] for cell in module.circuit.cells if cell.name}
    order = [CLEAR_HEAD, *(n for n in range(HEADS) if n != CLEAR_HEAD)]
    q, k, v = (heads[name].detach()[..., order] for name in "QKV")
    return q / FEATURES**0.5, k, v


@dataclass(frozen=True)
class StepRun:
    """A step at its sizes: the term, and the value of every array by its id."""

    term: Term
    sizes: Sizes
    values: Mapping[str, Tensor]

    @property
    def outputs(self) -> tuple[Tensor, ...]:
        """The arrays that leave the term."""
        return tuple(self.values[value.id] for value in elaborate(self.term).outputs)

    @property
    def first_output(self) -> Tensor:
        """The first array that leaves the term."""
        return self.outputs[0]

    @property
    def last_cell(self) -> Cell:
        """The last op of the term."""
        return elaborate(self.term).cells[-1]


def run(term: Term, sizes: Sizes) -> StepRun:
    """Returns a run of a term on the trained numbers.

    An array of words has as many as its axis; a single number is the one at its ``place``.
    """
    arrays = iter(trained_arrays())
    inputs = [_part(next(arrays), value.array, sizes) for value in elaborate(term).inputs]
    return StepRun(term, sizes, trace(compile(term), *inputs).values)


def _part(numbers: Tensor, array: Array, sizes: Sizes) -> Tensor:
    """Returns the numbers of an array: the first of each axis, those of the query word without."""
    lengths = {axis.name: axis.numel for axis in array}
    words = next((n for name, n in lengths.items() if name in "yx"), None)
    part = numbers[:words] if words else numbers[QUERY]
    if "place" in sizes:
        return part[sizes["place"] - 1 : sizes["place"], 0]
    part = part[..., : lengths["k"], : lengths.get("h", 1)]
    return part if "h" in lengths else part[..., 0]


# --- A step, and its guess


@dataclass(frozen=True)
class StepGuess:
    """A question, its answers, what is said of each, and the index of the right one."""

    question: str
    answers: tuple[str, ...]
    feedback: tuple[str, ...]
    answer_index: int


@dataclass(frozen=True)
class Step:
    """A step: what it shows at which sizes, the size to drag with its range, and the guess.

    ``line`` is said with it in the presenter, where its arrays are random, and ``ask`` is the
    question there that comes nearest to the guess, if there is one.
    """

    title: str
    line: str
    size: str
    help: str
    range: range
    start: int
    system: Callable[[Sizes], Term]
    words: Callable[[StepRun], str]
    guess: Callable[[], StepGuess]
    ask: str = ""

    def sizes(self, size: int) -> Sizes:
        """Returns all sizes where the one to drag is ``size``."""
        return {**FULL_SIZES, self.size: size}

    def run(self, size: int | None = None) -> StepRun:
        """Returns the run at a size, or at that with which the step opens."""
        sizes = self.sizes(self.start if size is None else size)
        return run(self.system(sizes), sizes)


def _guess(question: str, feedback: Mapping[str, str], right: object) -> StepGuess:
    """Returns a guess whose answers and feedback are given in order."""
    answers = tuple(feedback)
    return StepGuess(question, answers, tuple(feedback.values()), answers.index(str(right)))


def signed_number(number: float) -> str:
    """Returns a number with a sign that is as wide as a plus.

    >>> signed_number(-0.514), signed_number(2)
    ('−0.51', '+2.00')
    """
    return f"{number:+.2f}".replace("-", "−")


def plural(count: int, one: str) -> str:
    """Returns a count with its noun.

    >>> plural(1, "wire"), plural(16, "wire")
    ('1 wire', '16 wires')
    """
    return f"{count} {one}" if count == 1 else f"{count} {one}s"


# --- 1 A number


def _number(sizes: Sizes) -> Term:
    return Id("k:1")


def _number_words(found: StepRun) -> str:
    number, place = found.first_output.item(), found.sizes["place"]
    side = "above 0: orange" if number > 0 else "below 0: blue"
    return (
        f"A network knows the word “{WORDS[QUERY]}” as {FEATURES} numbers. "
        f"Number {place} is {signed_number(number)}, {side}. Zero has no colour."
    )


def _strongest_blue() -> StepGuess:
    numbers = sorted((NUMBER.run(place).first_output.item() for place in NUMBER.range), key=abs)
    least, most, near = min(numbers), max(numbers), numbers[0]
    feedback = {
        signed_number(near): f"{signed_number(near)} is next to 0: its cell has hardly a colour.",
        signed_number(most): f"{signed_number(most)} is above 0: its cell is orange.",
        signed_number(least): f"Right: {signed_number(least)} is the farthest below 0.",
    }
    return _guess("Which of these numbers has the strongest blue?", feedback, signed_number(least))


NUMBER = Step(
    title="A number is a cell",
    line="A wire of size 1 carries one number.",
    size="place",
    help="which number",
    range=range(1, FEATURES + 1),
    start=1,
    system=_number,
    words=_number_words,
    guess=_strongest_blue,
)

# --- 2 A wire


def _wire(sizes: Sizes) -> Term:
    return Id(f"k:{sizes['k']}")


def _wire_words(found: StepRun) -> str:
    count = plural(len(found.first_output), "number")
    return f"“{WORDS[QUERY]}” is now {count}. They travel on one line, the wire *k*. Drag its size."


def _wire_count() -> StepGuess:
    most = WIRE.range[-1]
    found = WIRE.run(most)
    wires, numbers = len(found.term.dom[0]), found.first_output.numel()
    feedback = {
        "1": "Right: a wire is a whole axis. Its size is a number beside its name.",
        "2": f"More numbers bring no second line: {wires} carries all {numbers}.",
        str(numbers): f"That would be a line for each number. All {numbers} share {wires} wire.",
    }
    return _guess(f"At *k* = {most}, how many wires are drawn?", feedback, wires)


WIRE = Step(
    title="A wire is an axis",
    line="A wire is an axis: it carries as many numbers as its size says.",
    size="k",
    help="numbers",
    range=range(1, FEATURES + 1),
    start=8,
    system=_wire,
    words=_wire_words,
    guess=_wire_count,
)

# --- 3 An array


def _array(sizes: Sizes) -> Term:
    return Id(f"~y:{sizes['y']} k:{sizes['k']}")


def _array_words(found: StepRun) -> str:
    rows, columns = found.first_output.shape
    return (
        f"{plural(rows, 'word')} along *ȳ*, {columns} numbers along *k*: a table. "
        "The bar on *ȳ* says that its places have an order."
    )


def _number_count() -> StepGuess:
    found = ARRAY.run()
    rows, columns = found.first_output.shape
    right = found.first_output.numel()
    feedback = {
        str(rows + columns): f"{rows} + {columns} counts the edges of the table, not its cells.",
        str(right): f"Right: {rows} × {columns} = {right}. Sizes of wires in one array multiply.",
        str(right * 2): f"Each number is there once: {rows} × {columns} = {right}.",
    }
    return _guess(f"{rows} words, {columns} numbers each: how many in all?", feedback, right)


ARRAY = Step(
    title="Wires side by side are one array",
    line="Wires side by side are one array, here a table. A bar means that places have an order.",
    size="y",
    help="words",
    range=range(1, len(WORDS) + 1),
    start=len(WORDS),
    system=_array,
    words=_array_words,
    guess=_number_count,
)

# --- 4 A dot product


def _scores(sizes: Sizes, heads: str = "") -> Term:
    """Returns the dot product of queries and keys, in each head if there is an axis of heads."""
    h = f" {heads}:{sizes[heads]}" if heads else ""
    pattern = f"~y:{sizes['y']} k:{sizes['k']}{h}, ~x:{sizes['x']} k{h[:2]} -> y x{h[:2]}"
    return Einsum(pattern)


def _score_words(found: StepRun) -> str:
    rows, columns = found.first_output.shape
    return (
        "Below the dashed line is a second array. Where *k* meets *k*, the numbers are multiplied "
        f"and summed, and *k* ends. What is left is a table of {rows} × {columns} scores."
    )


def _score_count() -> StepGuess:
    half = DOT_PRODUCT.start // 2
    found = DOT_PRODUCT.run(half)
    rows, columns = found.first_output.shape
    right, products = found.first_output.numel(), found.first_output.numel() * half
    feedback = {
        str(right): f"Right: {rows} × {columns}. *k* is summed over, so its size does not count.",
        str(rows * half): f"{rows} × {half} still has *k* in it, and *k* ends where it meets *k*.",
        str(products): f"{products} products are made, but {half} of them make one score.",
    }
    question = f"*k* goes from {DOT_PRODUCT.start} to {half}. How many scores come out then?"
    return _guess(question, feedback, right)


DOT_PRODUCT = Step(
    title="Two wires that meet end",
    line="Where two wires meet, their numbers are multiplied and summed, and both end.",
    size="k",
    help="numbers",
    range=range(1, FEATURES + 1),
    start=FEATURES,
    system=_scores,
    words=_score_words,
    guess=_score_count,
    ask="gone:n0",
)

# --- 5 A softmax


def _weights(sizes: Sizes) -> Term:
    return _scores(sizes) >> Softmax("x")


def _weight_words(found: StepRun) -> str:
    row = found.first_output[QUERY]
    share, word = row.max().item(), WORDS[int(row.argmax())]
    return (
        "The triangle is softmax: along *x̄* it turns the scores of a row into shares. "
        f"“{WORDS[QUERY]}” gives {share:.0%} of its attention to “{word}”."
    )


def _row_sum() -> StepGuess:
    most, fewer = SOFTMAX.start, SOFTMAX.start - 2
    right = f"{SOFTMAX.run(fewer).first_output[QUERY].sum().item():.3g}"
    ratio = f"{fewer / most:.3g}"
    feedback = {
        ratio: "The shares are made anew, of the words that are there.",
        "1": "Right: whatever the size of *x̄*, the shares of a row sum to 1.",
        str(fewer): f"There are {fewer} shares in a row, and together they make {right}.",
    }
    question = f"*x̄* goes from {most} words to {fewer}. What does each row sum to then?"
    return _guess(question, feedback, right)


SOFTMAX = Step(
    title="A triangle makes shares",
    line="The triangle is softmax: along its wire it turns scores into shares that sum to 1.",
    size="x",
    help="words to look at",
    range=range(2, len(WORDS) + 1),
    start=len(WORDS),
    system=_weights,
    words=_weight_words,
    guess=_row_sum,
    ask="along:n1",
)

# --- 6 Heads


def _head_weights(sizes: Sizes) -> Term:
    return _scores(sizes, "h") >> Softmax("x")


def _head_words(found: StepRun) -> str:
    heads = plural(found.sizes["h"], "head")
    return (
        f"*h* counts {heads}. At the dot the two *h* join, and run past the triangle: what a wire "
        "passes is done at each of its places. Each head has its own table."
    )


def _row_count() -> StepGuess:
    found = SIDE_BY_SIDE.run()
    rows, columns, heads = found.first_output.shape
    right = found.first_output.numel() // columns
    feedback = {
        str(heads): f"Each of the {heads} tables has {rows} rows.",
        str(right): f"Right: {rows} rows in each of {heads} tables. Softmax takes *x̄* alone.",
        str(right * columns): f"That is every cell. A row is {columns} cells, along *x̄*.",
    }
    return _guess(f"With {heads} heads, how many rows sum to 1?", feedback, right)


SIDE_BY_SIDE = Step(
    title="A wire that passes repeats",
    line="A wire that passes a sign repeats it: each head has a table of its own.",
    size="h",
    help="heads",
    range=range(1, HEADS + 1),
    start=HEADS,
    system=_head_weights,
    words=_head_words,
    guess=_row_count,
    ask="along:n1",
)

# --- The end: attention, to be read alone


def _attention(sizes: Sizes) -> Term:
    return _head_weights(sizes) >> Einsum("~y x h, ~x k h -> y k h")


def _attention_words(found: StepRun) -> str:
    return (
        "You have not seen this one, and you know every sign in it. A third array waits below "
        "the dashed lines, until the shares meet it. Read from left to right."
    )


def _last_axis() -> StepGuess:
    cell = ALONE.run().last_cell
    inside = [axis.name for value in cell.inputs for axis in value.array]
    outside = {axis.name for value in cell.outputs for axis in value.array}
    (right,) = {name for name in inside if name not in outside}
    names = {name: f"*{AXIS_SIGNS.get(name, name)}*" for name in ("k", "x", "h")}
    feedback = {
        names[
            "k"
        ]: "*k* ended at the first cap. From the third array a new *k* goes on to the end.",
        names[
            "x"
        ]: "Right: each word becomes a mix of all words, by its shares. That is attention.",
        names["h"]: "*h* goes on to the right: each head keeps a mix of its own.",
    }
    return _guess("Which wire ends at the last cap ⊃?", feedback, names[right])


ALONE = Step(
    title="Now you read: this is attention",
    line="This is attention: the shares meet a third array. Which wire ends there?",
    size="h",
    help="heads",
    range=range(1, 3),
    start=1,
    system=_attention,
    words=_attention_words,
    guess=_last_axis,
    ask="gone:n2",
)

STEPS = (NUMBER, WIRE, ARRAY, DOT_PRODUCT, SOFTMAX, SIDE_BY_SIDE, ALONE)
