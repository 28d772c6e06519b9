"""The texts that fit in a given memory: the longest one, the most, by the format of weights."""

from __future__ import annotations

from ncd.answers.model_memory import MOST, USUAL, WEIGHTS, ModelMemory, model_memory
from ncd.app.parts import map_component
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.controls import Range
from ncd.site import markup

TOKENS = Range("tokens", range(1, MOST + 1), 8192)
TEXTS = Range("texts", range(1, 100_001), 1)
MEMORY = Range("gigabytes", range(1, 100_001), 24)
GIGA = 10**9
HEAD = ("Format", "Together", "", "Longest text", "Most texts", "Weights", "Cache", "Arrays")
WHY = (
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
        TOKENS.typed("tokens in each text") + TEXTS.typed("texts") + MEMORY.typed("GB of memory")
    )
    map_component.render(
        "what fits",
        MEMORY_FIT.controls,
        head=f'<div class="told">{fields}</div>{_told(found, scene)}',
        foot=_table(found),
    )


MEMORY_FIT = Panel("What fits", show_memory_fit, needs_run=False, controls=(TOKENS, TEXTS, MEMORY))


def _told(found: ModelMemory, scene: Scene) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    total = found.total(tokens, texts)
    what = f"{markup.plural(texts, 'text')} of {markup.plural(tokens, 'token')}"
    fits = "fits" if total <= MEMORY.number * GIGA else "does <b>not</b> fit"
    cache = f", of which {markup.amount(found.cache(tokens, texts), 'B')} are the cache"
    return (
        f"<p>{markup.text(scene.entry.title)} with {what} takes "
        f"<b>{markup.amount(total, 'B')}</b> in {USUAL}{cache if found.kept else ''}: it {fits} in "
        f"{MEMORY.number:,} GB.</p>"
    )


def _table(found: ModelMemory) -> str:
    memory = MEMORY.number * GIGA
    rows = [_row(found, name, memory) for name in WEIGHTS]
    table = markup.table(HEAD, rows, numbers=(1, 3, 4, 5, 6, 7))
    return f'<div class="scroll">{table}</div><p class="muted">{WHY}</p>'


def _row(found: ModelMemory, name: str, memory: int) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    beside = name if name == "float32" else USUAL
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
    counts = ["none" if n == 0 else "no limit" if n >= MOST else f"{n:,}" for n in most]
    cells = (*counts, *(markup.amount(n, "B") for n in parts))
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    whole = f'<td class="number"><b>{markup.amount(total, "B")}</b></td>'
    return f"<tr><td>{name}</td>{whole}<td>{fits}</td>{numbers}</tr>"
