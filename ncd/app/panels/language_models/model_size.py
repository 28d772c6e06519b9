"""Memory of a language model by part and context, and what fits in a given memory."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from ncd.answers.model_memory import (
    MAX_COUNT,
    USUAL_FORMAT,
    WEIGHTS,
    ModelMemory,
    layer_windows,
    model_memory,
)
from ncd.app.panels.attention.kv_cache import CONTEXT
from ncd.app.panels.attention.token_reach import kept_positions
from ncd.app.parts import map_component
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.controls import Range
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import cached_numbers_by_axis, in_bytes
from ncd.circuit.elaborate import elaborate
from ncd.language.number_formats import PLAIN_FORMATS
from ncd.language.terms import Term
from ncd.site import markup

# --- The memory of a language model: parameters by part, cache and FLOPs at a context length

PUBLISHED_FORMAT = "bfloat16"  # the format of published weights and caches, where none is chosen
LONGEST = 5.0  # the longest bar, in em
TRAINING_FACTOR = 3  # times the FLOPs of a forward pass: one more each for inputs and for weights
CONTEXT_REASON = (
    "T is the number of tokens. The first part of the FLOPs is two for each weight that a token "
    "meets; in the second, it is compared with all T, of which a causal model needs half. Training "
    "goes backward as well, which costs twice a forward pass (Kaplan et al. 2020, section 2.1)."
)
NONE = "<p>It keeps no cache: it reads a whole text at once.</p>"
TWO_CACHES_NOTE = (
    "<p>Each layer of its decoder keeps the keys and values of what is written, and those of what "
    "was read, which are calculated once. Here T tokens are read and T are written.</p>"
)
TOKEN_WORDS = ((), ("",), (" written", " read"))  # a token, by how many texts are kept
POSITIONS = ("t", "s")  # the knobs of how much is read or written


@dataclass(frozen=True)
class Work:
    """The FLOPs of a forward pass over T positions: ``once + each * T + pairs * T ** 2``."""

    once: int
    per_position: int
    pairs: int

    def per_token(self, context: int) -> int:
        """Returns the mean FLOPs of one of so many positions."""
        return self.once // context + self.per_position + self.pairs * context


def show_model_size(scene: Scene) -> None:
    """Shows the parameters of each part, and the cache and the FLOPs at the chosen context."""
    context = 1 << CONTEXT.number
    rows = parts(scene.circuit)
    used = work(scene)
    map_component.render(
        "memory",
        MODEL_SIZE.controls,
        head=f'<div class="told">{CONTEXT.html(f"a text of {context:,} tokens")}</div>',
        side=_parts(scene, rows),
        foot=_facts(scene, used, context),
    )


MODEL_SIZE = Panel(
    "Memory", show_model_size, needs_run=False, controls=(CONTEXT,), follows_moves=True
)


def parts(circuit: Circuit) -> dict[str, int]:
    """Returns the parameters of each part, the words first; equal parts of layers are added up.

    >>> import ncd
    >>> parts(ncd.elaborate(ncd.catalogue["gpt-2"].build(n=1)))
    {'words': 16384, 'positions': 4096, 'attention': 16640, 'feed-forward': 16576, 'norms': 384}
    """
    found: dict[str, int] = {}
    seen: set[str] = set()
    for path, cells in groupby(circuit.cells, lambda cell: cell.path):
        cell = next(cells)
        count = sum(value.array.numel for value in cell.initial_values.values() if value.is_learned)
        if count and path not in seen:
            part = _part(cell)
            found[part] = found.get(part, 0) + count
        seen.add(path)
    order = ("words", "positions", "attention", "feed-forward", "experts", "router", "norms")
    return {name: found[name] for name in (*order, *found) if name in found}


PARTS_BY_PATH = {  # the part, by what the path of a layer has in it
    "norm": "norms",
    **dict.fromkeys(("ln_",), "norms"),
    **dict.fromkeys(("embed_tokens", "wte", "shared", "lm_head", "word_embeddings"), "words"),
    **dict.fromkeys(("wpe", "position_embeddings", "relative_attention_bias"), "positions"),
    **dict.fromkeys(("shared_experts",), "feed-forward"),
    **dict.fromkeys(("attn", "attention", "Attention"), "attention"),
    **dict.fromkeys(("mlp", "intermediate", "output", "DenseReluDense"), "feed-forward"),
}


def _part(cell: Cell) -> str:
    """Returns the part of a model to which a learned op belongs."""
    path = cell.path
    weight = next(iter(cell.initial_values.values())).array
    if "e" in weight.names:
        return "router" if cell.layer is not None else "experts"
    if cell.name == "gate" and "moe" in path:
        return "router"
    return next((part for word, part in PARTS_BY_PATH.items() if word in path), "others")


def work(scene: Scene) -> Work:
    """Returns the FLOPs of a forward pass; a move of a length keeps them."""
    others = ((name, n) for name, n in scene.settings.items() if name not in POSITIONS)
    key = "work", scene.entry.key, *others
    return get_or_make(CACHE, key, lambda: _forward_flops(scene))


def _forward_flops(scene: Scene) -> Work:
    """Returns the FLOPs of a forward pass, from those at three lengths of a text."""
    names = [name for name in POSITIONS if name in scene.settings]
    two, three, four = (
        _flops(scene.entry.build(**{**scene.settings, **dict.fromkeys(names, n)}))
        for n in (2, 3, 4)  # a size of 1 is no product for torch, and costs nothing
    )
    pairs = (four - 2 * three + two) // 2
    each = three - two - 5 * pairs
    return Work(two - 2 * each - 4 * pairs, each, pairs)


def _flops(term: Term) -> int:
    return sum(cell.flops for cell in elaborate(term).cells)


def _parts(scene: Scene, rows: dict[str, int]) -> str:
    whole, colour = scene.cost.parameters, markup.colour("linear", scene.dark)
    most = max(rows.values(), default=1)
    name = PUBLISHED_FORMAT if scene.formats.weights == PLAIN_FORMATS else scene.formats.weights
    lines = [
        f"<tr><td>{part}</td><td>{markup.meter(n / most, colour, LONGEST)}</td>"
        f'<td class="number">{n:,}</td><td class="number">{n / whole:.1%}</td>'
        f'<td class="number">{markup.amount(in_bytes(n, name), "B")}</td></tr>'
        for part, n in rows.items()
    ]
    foot = (
        f'<tr><td>Total</td><td></td><td class="number">{whole:,}</td><td></td>'
        f'<td class="number">{markup.amount(in_bytes(whole, name), "B")}</td></tr>'
    )
    table = markup.table(("Part", "", "Parameters", "", name), lines, foot, numbers=(2, 3, 4))
    return f'<div class="scroll">{table}</div>'


def _facts(scene: Scene, used: Work, context: int) -> str:
    token = used.per_token(context)
    sum_ = f"{used.per_position:,} + {used.pairs:,} · T"
    rows = [
        ("FLOPs of a token, forward", sum_, markup.amount(token, "FLOP")),
        (
            "FLOPs of a token, training",
            f"{TRAINING_FACTOR} × the same",
            markup.amount(3 * token, "FLOP"),
        ),
    ]
    name = PUBLISHED_FORMAT if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    numbers = cached_numbers_by_axis(scene.circuit, scene.entry.cached)
    rows += [
        (f"Cache of a token{said}, {name}", f"{n:,} numbers", markup.amount(in_bytes(n, name), "B"))
        for said, n in zip(TOKEN_WORDS[len(numbers)], numbers.values(), strict=True)
    ]
    if numbers:
        kept = in_bytes(kept_positions(scene, context), name)
        what, formula = _whole_cache(scene, len(numbers))
        rows.append((what, formula, f"<b>{markup.amount(kept, 'B')}</b>"))
    lines = [
        f'<tr><td>{what}</td><td>{formula}</td><td class="number">{value}</td></tr>'
        for what, formula, value in rows
    ]
    table = markup.table(("", "formula", f"T = {context:,}"), lines, numbers=(2,))
    note = (NONE, "", TWO_CACHES_NOTE)[len(numbers)]
    return f'<div class="scroll">{table}</div>{note}<p class="muted">{CONTEXT_REASON}</p>'


def _whole_cache(scene: Scene, texts: int) -> tuple[str, str]:
    """Returns what the whole cache is of, and its formula."""
    if texts > 1:
        return "Cache of both texts", "sum of bytes × T"
    windows = any(layer_windows(scene.circuit))
    return "Cache of the text", "bytes × min(T, w), or × T" if windows else "bytes × T"


# --- The texts that fit in a given memory: the longest one, the most, by the format of weights

TOKENS = Range("tokens", range(1, MAX_COUNT + 1), 8192)
TEXTS = Range("texts", range(1, 100_001), 1)
MEMORY = Range("gigabytes", range(1, 100_001), 24)
GIGA = 10**9
HEAD = ("Format", "Together", "", "Longest text", "Most texts", "Weights", "Cache", "Arrays")
MEMORY_REASON = (
    "A GB is 10⁹ bytes. The format is that of the weights: cache and arrays are in bfloat16 beside "
    "all but float32. Arrays are those of the largest op while the texts are read, with fused "
    "attention, which holds no table of scores, and with the scores of words for the last token "
    "alone. What a runtime needs beside is not counted. The longest text is for the number of "
    "texts above, the most texts for their length."
)


def show_memory_fit(scene: Scene) -> None:
    """Shows the memory at typed tokens and texts, and what fits in a typed memory."""
    found = get_or_make(
        CACHE,
        ("model memory", scene.entry.key, *scene.settings.items()),
        lambda: model_memory(scene.circuit, scene.entry.cached),
    )
    fields = (
        TOKENS.number_field("tokens in each text")
        + TEXTS.number_field("texts")
        + MEMORY.number_field("GB of memory")
    )
    map_component.render(
        "what fits",
        MEMORY_FIT.controls,
        head=f'<div class="told">{fields}</div>{_summary_html(found, scene)}',
        foot=_table(found),
    )


MEMORY_FIT = Panel("What fits", show_memory_fit, needs_run=False, controls=(TOKENS, TEXTS, MEMORY))


def _summary_html(found: ModelMemory, scene: Scene) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    total = found.total(tokens, texts)
    what = f"{markup.plural(texts, 'text')} of {markup.plural(tokens, 'token')}"
    fits = "fits" if total <= MEMORY.number * GIGA else "does <b>not</b> fit"
    cache = f", of which {markup.amount(found.cache(tokens, texts), 'B')} are the cache"
    return (
        f"<p>{markup.text(scene.entry.title)} with {what} takes "
        f"<b>{markup.amount(total, 'B')}</b> in "
        f"{USUAL_FORMAT}{cache if found.cache_by_window else ''}: "
        f"it {fits} in {MEMORY.number:,} GB.</p>"
    )


def _table(found: ModelMemory) -> str:
    memory = MEMORY.number * GIGA
    rows = [_row(found, name, memory) for name in WEIGHTS]
    table = markup.table(HEAD, rows, numbers=(1, 3, 4, 5, 6, 7))
    return f'<div class="scroll">{table}</div><p class="muted">{MEMORY_REASON}</p>'


def _row(found: ModelMemory, name: str, memory: int) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    beside = name if name == "float32" else USUAL_FORMAT
    parts = (
        found.weights[name],
        found.cache(tokens, texts, beside),
        found.activations(tokens, texts, beside),
    )
    total = sum(parts)
    fits = "fits" if total <= memory else "does not fit"
    most = (
        found.longest(memory, texts, name, beside),
        found.most_texts(memory, tokens, name, beside),
    )
    counts = ["none" if n == 0 else "no limit" if n >= MAX_COUNT else f"{n:,}" for n in most]
    cells = (*counts, *(markup.amount(n, "B") for n in parts))
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    whole = f'<td class="number"><b>{markup.amount(total, "B")}</b></td>'
    return f"<tr><td>{name}</td>{whole}<td>{fits}</td>{numbers}</tr>"
