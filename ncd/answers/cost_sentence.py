"""The costs of a text, in sentences: parameters, FLOPs, and a published model's memory."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ncd.answers.model_memory import USUAL, ModelMemory, model_memory
from ncd.costs import cost_of, inputs_behind_wires
from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.formulas.prefixed_amounts import amount
from ncd.lang.terms.terms import Term
from ncd.lang.terms.wire import Wire
from ncd.models.configs.published import Published
from ncd.ops import Index, Linear, Param
from ncd.ops.torch_calls.opaque import FOLDED

MEMORIES = (24, 80)  # GB of common machines
GIGA = 10**9
LONG = 8192  # tokens


def cost_sentence(term: Term, at: str = "") -> str:
    """Returns the parameters and the FLOPs of a term; empty if a size is not known.

    ``at`` says of what the FLOPs are, where that is not what the text gives.

    >>> from ncd.lang.terms.terms import Id
    >>> cost_sentence(Id("b:8 m:64") >> Linear("m -> k:32", "L"))
    '2,048 parameters · 32.8 kFLOP (16.4 k multiply–adds)'
    """
    try:
        circuit = elaborate(term)
        cost = cost_of(circuit)
    except NCDError:
        return ""
    if any(cell.op.calls.startswith(f"{FOLDED}.") for cell in circuit.cells):
        return ""  # the parameters inside it are not known
    parts = [f"{cost.parameters:,} parameters"] if cost.parameters else []
    if cost.flops:
        pairs = f"{amount(cost.flops / 2)} multiply–adds"
        parts.append(f"{amount(cost.flops, 'FLOP')}{at} ({pairs})")
    return " · ".join((*parts, *_words(circuit)))


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
        elif id in read and (last := next((m for m in maps[::-1] if _same(m, shape)), None)):
            yield f"{last.name} and {table.name} are not tied: {prod(shape):,} each"


def _same(cell: Cell, shape: tuple[int, ...]) -> bool:
    return cell.initial["weight"].array.shape == shape


def memory_sentences(model: Published) -> tuple[str, ...]:
    """Returns the parameters of a model, the cache of a token, and what fits in common memories.

    >>> from ncd.models.configs.config_reader import read_config
    >>> print(memory_sentences(read_config('{"model_type": "gpt2"}'))[1])
    A token keeps 36.9 kB in a cache of 16 bits (12 layers × 1,536 numbers), 8,192 tokens 302 MB.
    """
    term = model.system(**model.sizes)
    circuit = elaborate(term)
    found = model_memory(circuit, model.cached)
    at = f" for {model.sizes['t']} tokens" if "t" in model.sizes else ""
    return (cost_sentence(term, at), *_cache(model, found), _fits(found))


def _cache(model: Published, found: ModelMemory) -> Iterator[str]:
    """Yields what a cache keeps of a token, and of a long text."""
    numbers, sizes = sum(found.kept.values()), model.sizes
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
    counts = ((found.cache(n) - found.cache(0)) // (1 + both) for n in (1, LONG))
    token, long = (amount(count, "B") for count in counts)
    yield (
        f"A token{' that is written' * both} keeps {token} in a cache of 16 bits "
        f"({layers} layers × {each}), {LONG:,} tokens {long}"
        f"{'; one that is read keeps as much' * both}."
    )


def _fits(found: ModelMemory) -> str:
    """Returns the bytes of the weights, and which text fits beside them."""
    whole = f"Its weights take {amount(found.weights[USUAL], 'B')} at 16 bits"
    if not found.kept:
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
