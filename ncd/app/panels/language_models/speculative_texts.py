"""The Speculative panel: a draft proposes words, and one pass of the model checks all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor

import ncd
from ncd.app.panels.language_models.sampling_steps import (
    CSS,
    add_or_set,
    chance_bars,
    percent,
    sliders,
    text_field,
    token_html,
)
from ncd.app.parts import html_panel
from ncd.app.parts import input_feed as typed
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Range
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.inputs.story_draft import READ_COUNT, draft_scores
from ncd.systems.inputs.story_model import LONGEST, scores_after
from ncd.systems.inputs.text_inputs import as_text
from ncd.systems.language_models.speculative_decoding import (
    SpeculativePass,
    agreement,
    expected_words,
    leftover,
    speculate,
)
from ncd.systems.language_models.token_sampling import token_chances
from ncd.systems.training.story_grammar import END, STORY_WORDS

AHEAD = Range("ahead", range(1, 9), 4)  # words that the draft proposes
TEXTS, WORD_COUNT = 4, 40  # texts that are written, and words that each of them gets
MAX_ROWS, MAX_PASSES = 8, 6  # words of the table, and passes that are written out

ChanceRule = Callable[[Tensor], Tensor]  # from the scores of all words to their chances


def chance_rule(settings: Mapping[str, int]) -> ChanceRule:
    """Returns the rule of the page: the chances of all words after top-k, temperature and top-p."""
    sizes = {name: settings[name] for name in "ktp"}
    module = ncd.compile(token_chances(v=len(STORY_WORDS), **sizes))

    def chances(scores: Tensor) -> Tensor:
        with torch.no_grad():
            kept, words = module(scores)
        return torch.zeros_like(scores).index_put((words,), kept)

    return chances


def written_passes(
    begin: Sequence[int], count: int, rule: ChanceRule, random: torch.Generator
) -> list[SpeculativePass]:
    """Returns the passes of the small model that write a text on, after ``count`` words each."""

    def check(words: Sequence[int], last: int) -> Tensor:
        behind = scores_after(tuple(words))[-last - 1 :, : len(STORY_WORDS)]
        return torch.stack([rule(scores) for scores in behind])

    def draw(chances: Tensor) -> int:
        return int(torch.multinomial(chances, 1, generator=random))

    words, passes = tuple(begin), list[SpeculativePass]()
    while len(words) < len(begin) + WORD_COUNT and len(words) + count <= LONGEST:
        passes.append(speculate(words, count, lambda text: rule(draft_scores(text)), check, draw))
        words = (*words, *passes[-1].words)
    return passes


# --- The panel


def show_speculation(scene: Scene) -> None:
    """Shows what a draft proposes and what stays, and how many words a pass of the model writes."""
    if not scene.inputs_spec.text:
        html_panel.render(text_field(scene), "speculative")
        return
    begin = [STORY_WORDS.index(word) for word in scene.inputs_spec.text]
    rule, count = chance_rule(scene.settings), AHEAD.number
    texts = cached_value(
        "speculative texts",
        scene.term,
        *scene.run_key,
        count,
        make=lambda: scene.run_in_pool(lambda: _texts(scene, begin, count, rule)),
    )
    ahead = AHEAD.html(f"words ahead {count}")
    html = (
        f'{CSS}{text_field(scene)}<div class="told">{ahead}{sliders(scene)}</div>'
        f"{_passes(scene, texts[0])}{_pass_length(texts, count)}{_next_word(scene, begin, rule)}"
        f'<p class="muted">The draft has no weights: it has counted which word follows two others, '
        f"in {READ_COUNT:,} words of such stories. {numbers_origin(scene)}</p>"
    )
    html_panel.render(html, "speculative", SPECULATIVE.controls, partial(add_or_set, scene))


SPECULATIVE = Panel("Speculative", show_speculation, controls=(AHEAD, typed.SEQUENCE, typed.TURN))


def _texts(
    scene: Scene, begin: Sequence[int], count: int, rule: ChanceRule
) -> list[list[SpeculativePass]]:
    """Returns the passes of several texts, each from its own random numbers."""
    return [
        written_passes(begin, count, rule, generator(scene.seed, f"speculative text {i}"))
        for i in range(TEXTS)
    ]


def _passes(scene: Scene, passes: Sequence[SpeculativePass]) -> str:
    """Returns the first passes: the words that were proposed, and what became of them."""
    if not passes:
        return f"<p>The model reads {LONGEST} words, so that no more can be proposed here.</p>"
    begin = markup.text(as_text(scene.inputs_spec.text))
    shown = []
    for own in passes[:MAX_PASSES]:
        shown.append(own)
        if STORY_WORDS.index(END) in own.words:
            break
    rows = "".join(f"<li>{_pass_words(own)}</li>" for own in shown)
    return f'<p class="muted">{begin} …</p><ol class="passes">{rows}</ol>'


def _pass_words(own: SpeculativePass) -> str:
    """Returns the words of a pass: those that stay, those struck through, and the model's own."""
    words = [markup.text(STORY_WORDS[number]) for number in own.proposals]
    stay, gone = words[: own.accepted_count], words[own.accepted_count :]
    rest = f' <s title="not looked at">{" ".join(gone[1:])}</s>' if gone[1:] else ""
    rejected = f' <s class="rejected" title="rejected">{gone[0]}</s>{rest}' if gone else ""
    return (
        f'<span title="stays">{" ".join(stay)}</span>{rejected} '
        f'<b title="of the model">{markup.text(STORY_WORDS[own.own_word])}</b> '
        f'<span class="muted">{own.accepted_count} of {len(words)} stay</span>'
    )


def _pass_length(texts: Sequence[Sequence[SpeculativePass]], count: int) -> str:
    """Returns how many words a pass writes, beside what the formula says."""
    every = [own for text in texts for own in text]
    if not every:
        return ""
    written = sum(len(own.words) for own in every) / len(every)
    chances = [chance for own in every for chance in own.agreements]
    a = sum(chances) / len(chances)
    return (
        "<p>Struck through is what the model rejects, and what stood behind it; <b>bold</b> is the "
        f"word that it draws itself. Of the words that are checked here <i>a</i> = <b>{a:.2f}</b> "
        "stay on average. If each stayed with that chance, a pass would write "
        f"(1 − <i>a</i><sup>{count + 1}</sup>) / (1 − <i>a</i>) = "
        f"<b>{expected_words(a, count):.2f}</b> words. Over {len(every)} passes it wrote "
        f"<b>{written:.2f}</b>; without a draft it is 1.</p>"
    )


def _next_word(scene: Scene, begin: Sequence[int], rule: ChanceRule) -> str:
    """Returns the chances of the next word by each way to come about, which sum to the model's."""
    p = rule(scores_after(tuple(begin))[-1, : len(STORY_WORDS)])
    q = rule(draft_scores(begin))
    stays, anew = torch.minimum(p, q), (1 - agreement(p, q)) * leftover(p, q)
    columns = torch.stack((q, p, stays, anew, stays + anew))
    order = torch.maximum(p, q).argsort(descending=True, stable=True)
    order = order[torch.maximum(p, q)[order] > 0]
    roles = ("linear", "softmax", "scale", "index", "softmax")
    colours = [markup.colour(role, scene.dark) for role in roles]
    most = float(columns.max())
    head = ("word", "draft q", "model p", "stays min(p, q)", "drawn anew", "together")
    body = [
        f"<tr><td>{token_html(scene, number)}</td>"
        f"{chance_bars(columns[:, number], colours, most)}</tr>"
        for number in order[:MAX_ROWS].tolist()
    ]
    if len(order) > MAX_ROWS:
        rest = columns[:, order[MAX_ROWS:]].sum(1)
        name = markup.plural(len(order) - MAX_ROWS, "other")
        body.append(f"<tr><td>{name}</td>{chance_bars(rest, colours, most)}</tr>")
    table = markup.table(head, body, numbers=range(1, 6))
    return (
        f'<div class="cuts">{table}</div><p>The next word: with {percent(agreement(p, q))} the '
        "draft’s stays, else one is drawn from max(0, <i>p</i> − <i>q</i>). Together that is "
        "<i>p</i>, whatever the draft says: the texts are those of the model.</p>"
    )
