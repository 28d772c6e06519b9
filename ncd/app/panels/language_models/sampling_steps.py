"""Panels of sampling: the next token's chances after each step, and texts that are written so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import exp

import torch
from torch import Tensor

import ncd
from ncd.app.parts import html_panel
from ncd.app.parts import input_feed as typed
from ncd.app.parts.html_panel import read_static
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import slider
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.knob import Knob
from ncd.explain.text_writing import WrittenText, search_beams, write_on
from ncd.run.module import Trace
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.inputs.story_model import LONGEST, word_scores
from ncd.systems.inputs.text_inputs import as_text, symbol
from ncd.systems.language_models.token_sampling import RESOLUTION, TEMPERATURES, WHOLE_SHARE
from ncd.systems.training.story_grammar import END, STORY_WORDS

MAX_ROWS = 14  # tokens that have a row
WIDE_ENOUGH = 0.07  # share of the line that has room for its token
SLIDERS = {"t": "temperature", "k": "top-k", "p": "top-p"}
CSS = f"<style>{read_static('panels/language_models/sampling_steps.css')}</style>"
ADD, ANOTHER = "add", "another"  # what presses ask for
LONG_TEXT, BEAMS, WRITERS = 20, 4, 3  # words, texts kept, texts by the rule of the page
RARE = 0.01  # the chance of a word that is marked


@dataclass(frozen=True)
class Cuts:
    """The chances of the tokens, the likeliest first, after each step; 0 where one is left out.

    Each row of ``chances`` has a number for every token: of all, of the k likeliest, with the
    temperature, and of those that top-p keeps. ``uniform`` are the numbers that are drawn, and
    ``places`` the tokens, by their place in the order, that they fall on.
    """

    order: tuple[int, ...]
    chances: Tensor
    uniform: tuple[float, ...]
    places: tuple[int, ...]

    def unsureness(self, step: int) -> float:
        """Returns the number of equally likely tokens that are as unsure as a step's chances."""
        return exp(float(torch.special.entr(self.chances[step]).sum()))

    def token_count(self, step: int) -> int:
        """Returns how many tokens a step leaves."""
        return int((self.chances[step] > 0).sum())


def cuts(circuit: Circuit, trace: Trace) -> Cuts:
    """Returns the chances after each step of a run.

    >>> term = ncd.catalogue["sampling"].build(v=40, k=2, b=1, t=3, p=WHOLE_SHARE)
    >>> module = ncd.compile(term)
    >>> found = cuts(module.circuit, ncd.trace(module, torch.arange(40.0), torch.tensor([0])))
    >>> found.order[:2], found.chances[2, :2].tolist() == [*torch.tensor([1.0, 0]).softmax(0)]
    ((39, 38), True)
    >>> found.uniform, found.places
    ((7.62939453125e-06,), (0,))
    """
    softmax, top = (_cells(circuit, name)[0] for name in ("Softmax", "Top"))
    sums = _cells(circuit, "Cumulative sum")[-1]
    compare = circuit.consumers[sums.outputs[0].id]
    scores, best, first, warmed, left, uniform, drawn = (
        trace.values[value.id].detach().cpu()
        for value in (
            circuit.inputs[0],
            *top.outputs,
            *(softmax.outputs[0], sums.inputs[0]),
            *(compare.inputs[1], circuit.outputs[0]),
        )
    )
    ranked = scores.argsort(descending=True, stable=True).tolist()
    kept = first.tolist()
    order = (*kept, *(i for i in ranked if i not in set(kept)))
    chances = torch.zeros(4, len(order))
    chances[0] = scores.softmax(0)[list(order)]
    chances[1:, : len(kept)] = torch.stack((best.softmax(0), warmed, left))
    places = tuple(map(order.index, drawn.tolist()))
    return Cuts(order, chances, tuple(uniform.tolist()), places)


def _cells(circuit: Circuit, name: str) -> list[Cell]:
    return [cell for cell in circuit.cells if cell.op.display_name.startswith(name)]


# --- The panel of one token


def show_cuts(scene: Scene) -> None:
    """Shows a row for each token with its chance after each step, and where the draws fall."""
    found = cuts(scene.circuit, scene.trace)
    html = (
        f'{CSS}{text_field(scene)}<div class="told">{sliders(scene)}</div>{_table(scene, found)}'
        f"{_draws(scene, found)}{_sentences(scene, found)}"
    )
    html_panel.render(html, "cuts", CUTS.controls, partial(add_or_set, scene))


CUTS = Panel("Cuts", show_cuts, controls=(typed.SEQUENCE, typed.TURN), follows_moves=True)


def sliders(scene: Scene) -> str:
    """Returns the sliders of temperature, top-k and top-p."""
    return "".join(
        slider(f"{label} {_value(scene, name)}", name, _numbers(scene, name), scene.settings[name])
        for name, label in SLIDERS.items()
    )


def _knob(scene: Scene, name: str) -> Knob:
    return next(knob for knob in scene.entry.knobs if knob.name == name)


def _value(scene: Scene, name: str) -> str:
    names, at = _knob(scene, name).names, scene.settings[name]
    return names[at] if names else str(at)


def _numbers(scene: Scene, name: str) -> range:
    knob = _knob(scene, name)
    return range(knob.min, max(knob.max, scene.settings[name]) + 1)


def add_or_set(scene: Scene, picked: str) -> None:
    """Sets a knob, adds a token to the text, or takes another text; a callback."""
    name, _, value = picked.partition("=")
    if name == ADD and value.isdecimal() and int(value) < len(STORY_WORDS):
        words = (*scene.inputs_spec.text, STORY_WORDS[int(value)])
        typed.SEQUENCE.put(as_text(words[: LONGEST - 1]))
    elif name == ANOTHER:
        typed.TURN.put(str(int(typed.TURN.value or 0) + 1))
        typed.SEQUENCE.put("")
    else:
        knobs.apply_pick(scene.entry, picked)


def text_field(scene: Scene) -> str:
    """Returns the field for the text; nothing where the scores are random."""
    if not scene.inputs_spec.text:
        return "<p>The scores are random: the small model that ships knows 256 tokens.</p>"
    read = typed.story_text(scene.seed)
    wrong = f"<p><b>{markup.text(read.error_text)}</b> Below stands an example.</p>"
    text = markup.text(as_text(scene.inputs_spec.text))
    return (
        f'<p class="text"><label>A text <input type="text" maxlength="400" value="{text}" '
        f'data-set="{typed.SEQUENCE.name}"></label> '
        f'<button type="button" class="plain" data-pick="{ANOTHER}=">Another text</button></p>'
        f"{wrong if read.error_text else ''}"
    )


def token_html(scene: Scene, number: int) -> str:
    """Returns a token as HTML: a word of the small model, or its number."""
    words = STORY_WORDS if scene.inputs_spec.text else ()
    return markup.text(symbol(tuple(words), number))


def _table(scene: Scene, found: Cuts) -> str:
    """Returns the table: the likeliest tokens, and the others in one row."""
    count = len(found.order)
    rows = min(count, MAX_ROWS if count <= MAX_ROWS + 1 else MAX_ROWS - 1)
    head = ("token", f"all {count:,}", *(f"{SLIDERS[n]} {_value(scene, n)}" for n in "ktp"))
    colours = [markup.colour(role, scene.dark) for role in ("linear", "index", "softmax", "scale")]
    most = float(found.chances.max())
    body = [
        f"<tr><td>{token_html(scene, number)}</td>{chance_bars(chances, colours, most)}</tr>"
        for number, chances in zip(found.order[:rows], found.chances.T, strict=False)
    ]
    if rows < count:
        rest = found.chances[:, rows:].sum(1)
        body.append(f"<tr><td>{count - rows:,} others</td>{chance_bars(rest, colours, most)}</tr>")
    return f'<div class="cuts">{markup.table(head, body, numbers=(1, 2, 3, 4))}</div>'


def chance_bars(chances: Tensor, colours: Sequence[str], most: float) -> str:
    """Returns a cell for each step, with its chance on a bar."""
    return "".join(
        f'<td class="number bar{"" if share else " idle"}" style="--bar:{colour};'
        f'--share:{min(100 * share / most, 100):.1f}%">{percent(share)}</td>'
        for share, colour in zip(chances.tolist(), colours, strict=True)
    )


def percent(share: float) -> str:
    """Returns a chance in per cent.

    >>> percent(0), percent(1e-5), percent(0.25)
    ('–', '&lt; 0.1%', '25.0%')
    """
    if not share:
        return "–"
    return markup.text("< 0.1%") if share < 0.001 else f"{share:.1%}"


def _draws(scene: Scene, found: Cuts) -> str:
    """Returns the chances that are left one after the other, and where each number falls."""
    colour = markup.colour("scale", scene.dark)
    parts = "".join(
        f'<span style="width:{100 * share:.2f}%;--bar:{colour}" title="{percent(share)}">'
        f"{token_html(scene, found.order[i]) if share > WIDE_ENOUGH else ''}</span>"
        for i, share in enumerate(found.chances[-1].tolist())
        if share
    )
    marks = "".join(f'<i style="left:{100 * u:.2f}%"></i>' for u in found.uniform)
    adds = bool(scene.inputs_spec.text) and len(scene.inputs_spec.text) < LONGEST - 1
    drawn = "".join(
        _token_button(token_html(scene, found.order[place]), found.order[place], u, adds)
        for u, place in zip(found.uniform, found.places, strict=True)
    )
    more = " Press a token to add it to the text." if adds else ""
    return (
        f'<div class="chances">{parts}</div><div class="draws">{marks}</div>'
        f"<p>{markup.plural(len(found.uniform), 'number')} from 0 to 1, and the tokens on which "
        f'they fall:{more}</p><div class="drawn">{drawn}</div>'
    )


def _token_button(word: str, number: int, u: float, adds: bool) -> str:
    said = f"{u:.3f} → <b>{word}</b>"
    adds = adds and number < len(STORY_WORDS)
    return (
        f'<button type="button" class="plain" data-pick="{ADD}={number}">{said}</button>'
        if adds
        else f"<span>{said}</span>"
    )


def _sentences(scene: Scene, found: Cuts) -> str:
    """Returns what each step left out, and how unsure the choice was before and is now."""
    best, left = found.token_count(1), found.token_count(3)
    tail, rest = float(found.chances[0, best:].sum()), float(found.chances[2, left:best].sum())
    return (
        f"<p>Top-k leaves {best:,} of {len(found.order):,} tokens; the others had {percent(tail)} "
        f"together. Top-p leaves {left:,}; the others had {percent(rest)}. At first the model is "
        f"as unsure as between <b>{found.unsureness(0):.1f}</b> tokens of equal chance, and the "
        f"draw as between <b>{found.unsureness(3):.1f}</b>.</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )


# --- The panel of whole texts


def show_texts(scene: Scene) -> None:
    """Shows the same beginning written on by several rules."""
    if not scene.inputs_spec.text:
        html_panel.render(text_field(scene), "texts")
        return
    rows = cached_value(
        "written texts",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: written_texts(scene)),
    )
    begin = markup.text(as_text(scene.inputs_spec.text))
    body = "".join(
        f"<p><b>{rule}</b><span class='muted'>perplexity {text.perplexity:.2f}</span><br>"
        f"<span class='muted'>{begin}</span> {_words_html(text)}</p>"
        for rule, text in rows
    )
    html = (
        f'{CSS}{text_field(scene)}<div class="written">{body}</div><p>{TEXTS_TEXT}</p>'
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "texts", TEXTS.controls, partial(add_or_set, scene))


TEXTS = Panel("Texts", show_texts, controls=(typed.SEQUENCE, typed.TURN))
TEXTS_TEXT = (
    "The perplexity is the model’s own: the number of equally likely words between which it was "
    f"unsure, on average. Words with a chance of less than {RARE:.0%} are underlined. Greedy and "
    "beams look for what is likely and always write the same; the others draw."
)


def written_texts(scene: Scene) -> list[tuple[str, WrittenText]]:
    """Returns the name of each rule with the text that it writes."""
    begin = [STORY_WORDS.index(word) for word in scene.inputs_spec.text]
    count, end = min(LONG_TEXT, LONGEST - len(begin)), STORY_WORDS.index(END)
    own = "top-k {}, temperature {}, top-p {}".format(*(_value(scene, n) for n in "ktp"))
    every = {"k": len(STORY_WORDS), "p": WHOLE_SHARE}
    rules: list[tuple[str, dict[str, int], int]] = [(own, {}, i) for i in range(1, WRITERS + 1)] + [
        (f"all tokens, temperature {TEMPERATURES[t]}", {**every, "t": t}, 0)
        for t in (TEMPERATURES.index("1"), TEMPERATURES.index("2"))
    ]
    beams = [
        (name, search_beams(begin, count, end, _next_scores, width))
        for name, width in (("greedy", 1), (f"{BEAMS} beams", BEAMS))
    ]
    return beams + [
        (name, write_on(begin, count, end, _next_scores, _chooser(scene, settings, i)))
        for name, settings, i in rules
    ]


def _next_scores(numbers: Sequence[int]) -> Tensor:
    return word_scores([STORY_WORDS[i] for i in numbers])[: len(STORY_WORDS)]


def _chooser(scene: Scene, settings: dict[str, int], text: int) -> Callable[[Tensor, int], int]:
    """Returns what the circuit draws at some settings, from the seed."""
    sizes = {**scene.settings, "v": len(STORY_WORDS), "b": 1, **settings}
    module = ncd.compile(scene.entry.build(**sizes))
    random = generator(scene.seed, f"text {text}")

    def choose(scores: Tensor, _: int) -> int:
        with torch.no_grad():
            return int(module(scores, torch.randint(RESOLUTION, (1,), generator=random))[0])

    return choose


def _words_html(text: WrittenText) -> str:
    """Returns the words, those that were unlikely marked."""
    words = (
        (markup.text(STORY_WORDS[number]), exp(log))
        for number, log in zip(text.numbers, text.log_chances, strict=True)
    )
    return as_text(
        f'<span class="rare" title="{chance:.2%}">{word}</span>' if chance < RARE else word
        for word, chance in words
    )
