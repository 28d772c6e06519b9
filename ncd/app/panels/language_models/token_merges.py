"""The Merges panel: a text cut into tokens, merge by merge, and how few are left of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import read_static
from ncd.app.parts.input_feed import LEARNED_FROM
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.controls import TextControl, slider
from ncd.site import markup
from ncd.systems.inputs.byte_pairs import Merges, Pair, encode, pair_counts, split_words
from ncd.systems.inputs.token_inputs import (
    LONGEST_TEXT,
    OTHER_SAMPLE,
    SAMPLE,
    text_merges,
    token_text,
)
from ncd.systems.language_models.byte_pair_tokens import BYTES

OTHER_TEXT = TextControl("other_text", longest=LONGEST_TEXT)
CSS = f"<style>{read_static('panels/language_models/token_merges.css')}</style>"
MOST_PAIRS = 5  # pairs that have a row
TURN = 47  # degrees between the hues of two tokens that follow each other
WIDE, TALL, LEFT = 340, 150, 40  # pixels of the curve, and of the room for its numbers
CURVE_POINTS = 40  # at most
BLUE, BROWN = "#3d7fc6", "#c9732b"


@dataclass(frozen=True)
class CutText:
    """A text cut by some merges: the numbers of its tokens, and the frequent pairs among them."""

    numbers: tuple[int, ...]
    next_pairs: tuple[tuple[Pair, int], ...]


@lru_cache(64)
def cut_text(text: str, merges: Merges) -> CutText:
    """Returns a text cut by some merges.

    >>> found = cut_text("low lower", text_merges("low lower").prefix(1))
    >>> len(found.numbers), found.next_pairs[0]
    (7, ((256, 119), 2))
    """
    words = [encode(word, merges) for word in split_words(text)]
    counts = pair_counts(words, [1] * len(words))
    best = sorted(counts.items(), key=lambda item: -item[1])[:MOST_PAIRS]
    return CutText(tuple(number for word in words for number in word), tuple(best))


def show_merges(scene: Scene) -> None:
    """Shows the text in its tokens, the newest merge, the next ones, and another text."""
    text, other = LEARNED_FROM.value or SAMPLE, OTHER_TEXT.value or OTHER_SAMPLE
    every = text_merges(text)
    count = min(scene.settings["v"] - BYTES, len(every.pairs))
    merges = every.prefix(count)
    here, there = cut_text(text, merges), cut_text(other, merges)
    curve = _curve(every.lengths, count, _other_lengths(other, every))
    html = (
        f"{CSS}{_stepper(count, len(every.pairs))}{_newest(text, merges)}"
        f"{_pieces(here.numbers, merges)}"
        f"<p>Another text, cut by the same merges, has {_amounts(other, there.numbers)}:</p>"
        f"{_pieces(there.numbers, merges)}"
        f'<div class="learn"><div>{_pairs(scene, here, merges)}</div><div>{curve}</div></div>'
        f"{_fields(text, other)}"
    )
    html_panel.render(html, "merges", MERGES.controls, partial(knobs.apply_pick, scene.entry))


MERGES = Panel(
    "Merges", show_merges, controls=(LEARNED_FROM, OTHER_TEXT), follows_moves=True, needs_run=False
)


def _stepper(count: int, most: int) -> str:
    """Returns the slider of the merges, and buttons for one less and one more."""
    at = BYTES + count
    said = f"{at} tokens: 256 bytes and {markup.plural(count, 'merge')}"
    buttons = "".join(
        f'<button type="button" class="plain" data-pick="v={at + step}"'
        f"{'' if 0 <= count + step <= most else ' disabled'}>{label}</button> "
        for step, label in ((-1, "one less"), (1, "one more"))
    )
    bar = slider(said, "v", range(BYTES, BYTES + most + 1), at)
    return f'<div class="told">{bar}<span>{buttons}</span></div>'


def _newest(text: str, merges: Merges) -> str:
    """Returns a sentence about the last merge, and how many tokens are left."""
    now = f"The text has {_amounts(text, range(merges.lengths[-1]))}."
    if not merges.pairs:
        return f"<p>No pair is merged yet: every byte is a token. {now}</p>"
    left, right = (markup.text(token_text(merges.tokens[i])) for i in merges.pairs[-1])
    whole = markup.text(token_text(merges.tokens[-1]))
    return (
        f"<p>Merge {len(merges.pairs)}: <b>{left}</b> + <b>{right}</b> → <b>{whole}</b>, token "
        f"{len(merges.tokens) - 1}. They stood side by side {merges.counts[-1]} times. {now}</p>"
    )


def _amounts(text: str, numbers: Sequence[int]) -> str:
    """Returns how many tokens a text has, beside its bytes.

    >>> _amounts("low é", [1, 2, 3])
    '3 tokens for 6 bytes, 2.00 bytes each'
    """
    size = len(text.encode())
    each = f", {size / len(numbers):.2f} bytes each" if numbers else ""
    return f"{markup.plural(len(numbers), 'token')} for {markup.plural(size, 'byte')}{each}"


def _pairs(scene: Scene, cut: CutText, merges: Merges) -> str:
    """Returns the most frequent pairs; the first is merged next."""
    if not cut.next_pairs or cut.next_pairs[0][1] < 2:
        return "<p>No pair stands side by side twice any more: nothing is left to merge.</p>"
    most, colour = cut.next_pairs[0][1], markup.colour("index", scene.dark)
    rows = [
        f"<tr><td>{_pair_text(pair, merges)}</td>"
        f"<td>{markup.meter(count / most, colour, 6)}</td>"
        f'<td class="number">{count}</td></tr>'
        for pair, count in cut.next_pairs
    ]
    table = markup.table(("Merged next: the most frequent pair", "", "times"), rows, numbers=(2,))
    return f'<div class="next">{table}</div>'


def _pair_text(pair: Pair, merges: Merges) -> str:
    left, right = (markup.text(token_text(merges.tokens[i])) for i in pair)
    return f"<b>{left}</b> + <b>{right}</b>"


def _pieces(numbers: Sequence[int], merges: Merges) -> str:
    """Returns tokens as coloured pieces: bytes grey, equal tokens alike, the newest framed."""
    newest = len(merges.tokens) - 1
    return f'<p class="pieces">{"".join(_piece(n, merges, n == newest) for n in numbers)}</p>'


def _piece(number: int, merges: Merges, is_newest: bool) -> str:
    shown = markup.text(token_text(merges.tokens[number]))
    if number < BYTES:
        return f'<span class="byte" title="byte {number}">{shown}</span>'
    hue = TURN * number % 360
    new = ' class="new"' if is_newest else ""
    return (
        f'<span{new} title="token {number}" style="--piece:light-dark(hsl({hue} 75% 86%),'
        f'hsl({hue} 40% 27%))">{shown}</span>'
    )


# --- The curve of the number of tokens


def _other_lengths(other: str, every: Merges) -> list[tuple[int, int]]:
    """Returns how many tokens the other text has after some numbers of merges."""
    most = len(every.pairs)
    step = max(1, -(-most // CURVE_POINTS))
    places = sorted({*range(0, most + 1, step), most})
    return [(n, len(cut_text(other, every.prefix(n)).numbers)) for n in places]


def _curve(lengths: Sequence[int], count: int, other: Sequence[tuple[int, int]]) -> str:
    """Returns the bytes of each token after every merge, of the text and of the other one."""
    size, other_size = lengths[0], other[0][1]
    own = [(n, size / length) for n, length in enumerate(lengths) if length]
    more = [(n, other_size / length) for n, length in other if length]
    most, top = max(len(lengths) - 1, 1), max(each for _, each in own + more or [(0, 1.0)])

    def points(line: Sequence[tuple[int, float]]) -> str:
        return " ".join(
            f"{LEFT + (WIDE - LEFT - 8) * n / most:.1f},{_y(each, top):.1f}" for n, each in line
        )

    x, y = points(own[count : count + 1] or [(0, 1.0)]).split(",")
    ticks = "".join(
        f'<text x="{LEFT - 6}" y="{_y(n, top) + 4:.1f}" text-anchor="end">{n}</text>'
        for n in range(1, int(top) + 1)
    )
    return (
        f'<svg class="fall" viewBox="0 0 {WIDE} {TALL + 22}" role="img" aria-label="Bytes of a '
        f'token after each merge: {own[0][1]:.1f} at first, {own[-1][1]:.1f} at the end">'
        f'<path d="M{LEFT} 8V{TALL}H{WIDE - 8}" fill="none" stroke="currentColor" opacity="0.4"/>'
        f'<polyline fill="none" stroke="{BROWN}" stroke-width="2" stroke-dasharray="4 4" '
        f'points="{points(more)}"/><polyline fill="none" stroke="{BLUE}" stroke-width="2" '
        f'points="{points(own)}"/><circle cx="{x}" cy="{y}" r="4.5" fill="{BLUE}"/>'
        f'<g font-size="12" fill="currentColor">{ticks}'
        f'<text x="{LEFT + 8}" y="18">bytes of a token: — learned from, - - the other text</text>'
        f'<text x="{WIDE - 8}" y="{TALL + 16}" text-anchor="end">{most} merges</text>'
        f'<text x="{LEFT}" y="{TALL + 16}">0</text></g></svg>'
    )


def _y(each: float, top: float) -> float:
    """Returns the height of a number of bytes, from 1 at the foot to the largest.

    >>> _y(1, 3), _y(3, 3)
    (150.0, 30.0)
    """
    return TALL - (TALL - 30) * (each - 1) / max(top - 1, 0.5)


def _fields(text: str, other: str) -> str:
    """Returns the fields for the two texts, which are closed at first."""
    fields = "".join(
        f'<p><label>{label} <textarea rows="{rows}" maxlength="{LONGEST_TEXT}" '
        f'data-set="{control.name}">{markup.text(now)}</textarea></label></p>'
        for label, rows, control, now in (
            ("The text that merges are learned from", 5, LEARNED_FROM, text),
            ("Another text", 2, OTHER_TEXT, other),
        )
    )
    return f'<details class="texts" open><summary>Your own texts</summary>{fields}</details>'
