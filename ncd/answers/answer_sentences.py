"""The sentences of an answer: the shapes of the results, the costs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import prod
from types import MappingProxyType

from ncd.answers.model_memory import USUAL_FORMAT, ModelMemory, model_memory
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import cost_of, inputs_behind_wires
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.formulas.prefixed_amounts import amount
from ncd.language.axes import Array, Type
from ncd.language.terms import Term
from ncd.language.wire import Wire
from ncd.ops import Index, Linear, Param
from ncd.ops.opaque_call import EXTERNAL_SPACE, FOLDED_SPACE
from ncd.read.configs.config_fields import PublishedModel
from ncd.words import list_words

# --- The sentence about the results of a text: their shapes, with the names of their axes

Shape = tuple[int, ...]
NAME = re.compile(r"[^\W\d_]+(_[^\W\d_]+)*")  # a word or a letter, without a number behind it
SIDES = {2: ("height", "width"), 3: ("depth", "height", "width")}  # of a spatial group
LETTERS: Mapping[str, str] = {  # of sources: what the customary names of axes stand for
    "b": "batch",
    "c": "channels",
    "d": "features",
    "e": "features",
    "f": "features",
    "g": "features",
    "k": "features",
    "l": "features",
    "m": "features",
    "p": "positions",
    "s": "keys",
    "t": "tokens",
    "v": "vocabulary",
}
NUMBER_SUFFIX = re.compile(r"_\d+$")
MAX_RESULTS = 6  # results that a sentence lists


def result_sentence(
    arrays: Type, shapes: Sequence[Shape], letters: Mapping[str, str] = MappingProxyType({})
) -> str:
    """Returns the sentence about results of these shapes, whose axes are those of the arrays.

    ``letters`` are the words for names of axes.

    >>> result_sentence(Type.parse("batch:8 classes:10"), [(8, 10)])
    'out: 8 × 10 (batch, classes)'
    >>> result_sentence(Type.parse("b:2 m:4"), [(2, 4, 1, 1)])  # axes of size 1 have no names
    'out: 2 × 4 × 1 × 1 (b, m, 1, 1)'
    """
    matched = len(arrays) == len(shapes)
    words = [
        shape_words(shape, dimension_names(arrays[i], shape, letters) if matched else ())
        for i, shape in enumerate(shapes[:MAX_RESULTS])
    ]
    if len(shapes) > MAX_RESULTS:
        words.append(f"{len(shapes) - MAX_RESULTS} more")
    return f"out: {list_words(words)}"


def shape_words(shape: Shape, names: Iterable[str] = ()) -> str:
    """Returns a shape as people write it, with the names of its axes.

    >>> shape_words((8, 10), ("b", "m")), shape_words(())
    ('8 × 10 (b, m)', 'one number')
    """
    said = f" ({', '.join(names)})" if names else ""
    return f"{' × '.join(f'{n}' for n in shape)}{said}" if shape else "one number"


def dimension_names(
    array: Array, shape: Shape, letters: Mapping[str, str] = MappingProxyType({})
) -> tuple[str, ...]:
    """Returns a name for each dimension of a shape of torch; none if one has no plain name.

    A dimension may be several axes in one, and one of size 1 may be none.

    >>> dimension_names(Array.parse("b:2 h:4 k:8"), (2, 1, 32)), dimension_names(
    ...     Array.parse("b:2 x:6x7"), (2, 6, 7))
    (('b', '1', 'h·k'), ('b', 'height', 'width'))
    >>> dimension_names(Array.parse("t:2 h:4"), (2, 4), {"t": "tokens"})
    ('tokens', 'features')
    """
    image = {"h", "w"} <= {*array.names}
    alone = bool(array) and array[-1].name == "h"  # heads have features; a source calls a width so
    usual = {"h": "height", "w": "width"} if image else {"h": "features" if alone else "heads"}
    known = {**usual, **letters} if letters else {}
    left = [*_dimensions(array)]
    sides = len(shape) == 4 and shape[2:] == (1, 1)  # of an image that is one number
    spatial = sides or any(len(axis.shape) > 1 for axis in array)  # where features are channels
    names: list[str] = []
    for size in shape:
        own: list[tuple[str, int]] = []
        while left and (not own or prod(n for _, n in own) < size) and left[0][1] <= size:
            if size == 1 and left[0][1] != 1:
                break
            own.append(left.pop(0))
        if prod(n for _, n in own) != size:
            return ()
        alone = size == 1 and len(names) > 0  # but a batch of one is a batch
        named = () if alone else [name for name, n in own if n > 1 or len(own) == 1]
        bare = [NUMBER_SUFFIX.sub("", name) if letters else name for name in named]
        words = [known.get(name, name) for name in bare]
        named = ["channels" if spatial and word == "features" else word for word in words]
        names.append("·".join(named) or "1")
    plain = all(NAME.fullmatch(part) or part == "1" for name in names for part in name.split("·"))
    return tuple(names) if plain and not left else ()


def _dimensions(array: Array) -> Iterator[tuple[str, int]]:
    """Yields the name and the size of each dimension of an array."""
    for axis in array:
        sides = axis.shape
        yield from zip(SIDES.get(len(sides), (axis.name,) * len(sides)), sides, strict=True)


# --- The costs of a text, in sentences: parameters, FLOPs, and a published model's memory

MEMORIES = (24, 80)  # GB of common machines
GIGA = 10**9
LONG_TEXT_TOKENS = 8192  # tokens


def cost_sentence(term: Term, at: str = "") -> str:
    """Returns the parameters and the FLOPs of a term; empty if a size is not known.

    ``at`` says of what the FLOPs are, where that is not what the text gives.

    >>> from ncd import Id
    >>> cost_sentence(Id("b:8 m:64") >> Linear("m -> k:32", "L"))
    '2,048 parameters · 32.8 kFLOP (16.4 k multiply–adds)'
    """
    try:
        circuit = elaborate(term)
        cost = cost_of(circuit)
    except NCDError:
        return ""
    if any(cell.op.torch_function.startswith(f"{FOLDED_SPACE}.") for cell in circuit.cells):
        return ""  # the parameters inside it are not known
    parts = [f"{cost.parameters:,} parameters"] if cost.parameters else []
    if cost.flops:
        pairs = f"{amount(cost.flops / 2)} multiply–adds"
        parts.append(f"{amount(cost.flops, 'FLOP')}{at} ({pairs})")
    return " · ".join((*parts, *_words(circuit), *_boxes(circuit, bool(parts))))


def _boxes(circuit: Circuit, counted: bool) -> Iterator[str]:
    """Yields that what is in boxes of other files is not counted, if anything is."""
    space = f"{EXTERNAL_SPACE}."
    count = sum(cell.op.torch_function.startswith(space) for cell in circuit.cells)
    if count and counted:
        yield f"without what is in the {'box' if count == 1 else 'boxes'}"


def _words(circuit: Circuit) -> Iterator[str]:
    """Yields whether a table of words and the map to their scores are one, if there are both."""
    inputs, words = inputs_behind_wires(circuit), {value.id for value in circuit.inputs}
    looked_up = (inputs[cell.id] for cell in circuit.cells if isinstance(cell.op, Index))
    read = {id for ids in looked_up if words.intersection(ids) for id in ids}
    others = (cell for cell in circuit.cells if not isinstance(cell.op, Index | Wire))
    used = {id for cell in others for id in inputs[cell.id]}
    maps = [cell for cell in circuit.cells if isinstance(cell.op, Linear)]
    for table in circuit.cells:
        if not isinstance(table.op, Param) or len(table.outputs[0].array) != 2:
            continue
        id, shape = table.outputs[0].id, table.outputs[0].array.shape
        if id in read & used:
            yield f"{table.name} is also the map to the scores, counted once"
        elif id in read and (
            last := next((m for m in maps[::-1] if _has_weight_shape(m, shape)), None)
        ):
            yield f"{last.name} and {table.name} are not tied: {prod(shape):,} each"


def _has_weight_shape(cell: Cell, shape: tuple[int, ...]) -> bool:
    return cell.initial_values["weight"].array.shape == shape


def memory_sentences(model: PublishedModel) -> tuple[str, ...]:
    """Returns the parameters of a model, the cache of a token, and what fits in common memories.

    >>> from ncd.read.configs.config_reader import read_config
    >>> print(memory_sentences(read_config('{"model_type": "gpt2"}'))[1])
    A token keeps 36.9 kB in a cache of 16 bits (12 layers × 1,536 numbers), 8,192 tokens 302 MB.
    """
    term = model.system(**model.sizes)
    circuit = elaborate(term)
    found = model_memory(circuit, model.cached)
    at = f" for {model.sizes['t']} tokens" if "t" in model.sizes else ""
    return (cost_sentence(term, at), *_cache(model, found), _fits(found))


def _cache(model: PublishedModel, found: ModelMemory) -> Iterator[str]:
    """Yields what a cache keeps of a token, and of a long text."""
    numbers, sizes = sum(found.cache_by_window.values()), model.sizes
    if found.states:
        held = amount(found.cache(0), "B")
        yield f"Its layers with a state keep {held} of a text at 16 bits, however long it is."
    if not numbers:
        return
    both = "l" in sizes  # a text is read, and another is written
    layers = sizes.get("l", sizes["n"])
    each = f"{numbers // layers // (1 + both):,} numbers"
    if "g" in sizes and numbers % (head := 2 * sizes["g"] * sizes["k"]) == 0:
        heads = "1 head" if sizes["g"] == 1 else f"{sizes['g']} heads"
        layers, each = numbers // head, f"2 × {heads} × {sizes['k']}"
    counts = ((found.cache(n) - found.cache(0)) // (1 + both) for n in (1, LONG_TEXT_TOKENS))
    token, long = (amount(count, "B") for count in counts)
    yield (
        f"A token{' that is written' * both} keeps {token} in a cache of 16 bits "
        f"({layers} layers × {each}), {LONG_TEXT_TOKENS:,} tokens {long}"
        f"{'; one that is read keeps as much' * both}."
    )


def _fits(found: ModelMemory) -> str:
    """Returns the bytes of the weights, and which text fits beside them."""
    whole = f"Its weights take {amount(found.weights[USUAL_FORMAT], 'B')} at 16 bits"
    if not found.cache_by_window:
        return f"{whole}, and {amount(found.weights['int4'], 'B')} at 4."
    parts = [_text(found, memory) for memory in MEMORIES]
    return f"{whole}: {'; '.join(parts)}."


def _text(found: ModelMemory, memory: int) -> str:
    """Returns the longest text that fits in a memory, or the format with which one would."""
    if tokens := found.longest(memory * GIGA):
        return f"in {memory} GB fit {tokens:,} tokens"
    for name in ("int8", "int4"):
        if tokens := found.longest(memory * GIGA, weights=name):
            return f"in {memory} GB fit {tokens:,} tokens with weights in {name}"
    return f"{memory} GB are too few, even with weights in int4"
