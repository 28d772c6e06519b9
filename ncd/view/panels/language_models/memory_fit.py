"""The texts that fit in a given memory: the longest one, the most, by the format of weights."""

from __future__ import annotations

from ncd.answers.model_memory import MOST, USUAL, WEIGHTS, ModelMemory, model_memory
from ncd.export import markup
from ncd.view.arrays import map_component
from ncd.view.base.cache import SHELF, kept
from ncd.view.base.controls import Range
from ncd.view.session.scene import Scene

TITLE = "What fits"
RUNS = False
TOKENS = Range("tokens", range(1, MOST + 1), 8192)
TEXTS = Range("texts", range(1, 100_001), 1)
MEMORY = Range("gigabytes", range(1, 100_001), 24)
CONTROLS = (TOKENS, TEXTS, MEMORY)
GIGA = 10**9
HEAD = ("Weights", "weights", "cache", "arrays", "together", "", "longest text", "most texts")
WHY = (
    "A GB is 10⁹ bytes. Cache and arrays are in bfloat16, but with weights in float32. Arrays are "
    "those of the largest op while the texts are read, with fused attention, which holds no table "
    "of scores, and with the scores of words for the last token alone. What a runtime needs beside "
    "is not counted. The longest text is for the number of texts above, the most texts for their "
    "length."
)


def show(scene: Scene) -> None:
    """Shows the memory at typed tokens and texts, and what fits in a typed memory."""
    found = kept(
        SHELF,
        ("model memory", scene.entry.key, *scene.settings.items()),
        lambda: model_memory(scene.circuit, scene.entry.cached),
    )
    fields = (
        TOKENS.typed("tokens in each text") + TEXTS.typed("texts") + MEMORY.typed("GB of memory")
    )
    map_component.show(
        "what fits",
        CONTROLS,
        head=f'<div class="told">{fields}</div>{_told(found, scene)}',
        foot=_table(found, scene.dark),
    )


def _told(found: ModelMemory, scene: Scene) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    total = found.total(tokens, texts)
    what = f"{markup.counted(texts, 'text')} of {markup.counted(tokens, 'token')}"
    fits = "fits" if total <= MEMORY.number * GIGA else "does <b>not</b> fit"
    cache = f", of which {markup.amount(found.cache(tokens, texts), 'B')} are the cache"
    return (
        f"<p>{markup.text(scene.entry.title)} with {what} takes "
        f"<b>{markup.amount(total, 'B')}</b> in {USUAL}{cache if found.kept else ''}: it {fits} in "
        f"{MEMORY.number:,} GB.</p>"
    )


def _table(found: ModelMemory, dark: bool) -> str:
    memory = MEMORY.number * GIGA
    rows = "".join(_row(found, name, memory, dark) for name in WEIGHTS)
    table = markup.table(HEAD, [rows], numbers=(1, 2, 3, 4, 6, 7))
    return f'<div class="scroll">{table}</div><p class="muted">{WHY}</p>'


def _row(found: ModelMemory, name: str, memory: int, dark: bool) -> str:
    tokens, texts = TOKENS.number, TEXTS.number
    beside = name if name == "float32" else USUAL
    parts = (
        found.weights[name],
        found.cache(tokens, texts, beside),
        found.activations(tokens, texts, beside),
    )
    total = sum(parts)
    share = min(1, total / memory)
    bar = markup.meter(share, markup.colour("linear" if total <= memory else "softmax", dark), 5.0)
    longest = found.longest(memory, texts, name, beside)
    most = found.most_texts(memory, tokens, name, beside)
    cells = [markup.amount(n, "B") for n in (*parts, total)]
    numbers = "".join(f'<td class="number">{cell}</td>' for cell in cells)
    fitting = "".join(
        f'<td class="number">{"none" if n == 0 else "no limit" if n >= MOST else f"{n:,}"}</td>'
        for n in (longest, most)
    )
    return f"<tr><td>{name}</td>{numbers}<td>{bar}</td>{fitting}</tr>"
