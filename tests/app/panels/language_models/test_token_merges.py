"""The Merges panel: pieces of two texts, the newest merge and the next, and the curve of both."""

from __future__ import annotations

import re
from unittest.mock import patch

import pytest

from ncd.app.panels.language_models.token_merges import (
    BLUE,
    BROWN,
    LEFT,
    MERGES,
    OTHER_TEXT,
    TALL,
    WIDE,
    cut_text,
)
from ncd.app.parts import input_feed as typed
from ncd.app.parts.input_feed import LEARNED_FROM
from ncd.app.state.session import session
from ncd.systems.inputs.byte_pairs import decode, encode, pair_counts, split_words
from ncd.systems.inputs.token_inputs import OTHER_SAMPLE, SAMPLE, text_merges, token_text
from ncd.systems.language_models.byte_pair_tokens import BYTES, TOKENIZER
from tests.app.panels.views import Shown, inside, scene, shown, text

OWN = "low lower lowest"


def pieces(found: Shown) -> list[list[str]]:
    """The pieces of the two texts."""
    return [
        [text(piece) for piece in re.findall(r"<span.*?</span>", line)]
        for line in re.findall(r'<p class="pieces">(.*?)</p>', found.html)
    ]


@pytest.mark.parametrize("count", [0, 1, 40, 76])
def test_pieces_are_the_tokens_of_both_texts(count: int) -> None:
    found = shown(MERGES, scene("tokenizer", v=BYTES + count))
    merges = text_merges(SAMPLE).prefix(count)
    for line, own in zip(pieces(found), (SAMPLE, OTHER_SAMPLE), strict=True):
        assert line == [token_text(merges.tokens[i]) for i in encode(own, merges)]
    assert decode(cut_text(OTHER_SAMPLE, merges).numbers, merges) == OTHER_SAMPLE


def test_equal_tokens_are_alike_bytes_grey_and_the_newest_framed() -> None:
    found = shown(MERGES, scene("tokenizer", v=BYTES + 2), **{LEARNED_FROM.name: OWN})
    first = re.findall(r'<p class="pieces">(.*?)</p>', found.html)[0]
    lows = re.findall(r"<span[^>]*>low</span>", first)
    assert len(lows) == 3 and len({*lows}) == 1 and 'class="new"' in lows[0]
    assert 'title="token 257"' in lows[0] and first.count('class="byte"') == 7


def test_the_newest_merge_is_told_and_the_next_ones_are_counted() -> None:
    found = shown(MERGES, scene("tokenizer", v=BYTES + 2), **{LEARNED_FROM.name: OWN})
    assert "Merge 2: lo + w → low, token 257. They stood side by side 3 times." in found.text
    assert "The text has 10 tokens for 16 bytes, 1.60 bytes each." in found.text
    _, *rows = found.rows
    assert [row[0] for row in rows] == ["␣ + low", "low + e", "e + r", "e + s", "s + t"]
    assert [row[-1] for row in rows] == ["2", "2", "1", "1", "1"]
    merges = text_merges(OWN).prefix(2)
    counts = pair_counts([encode(word, merges) for word in split_words(OWN)], [1] * 3)
    assert sorted(counts.values(), reverse=True)[:5] == [int(row[-1]) for row in rows]
    assert text_merges(OWN).tokens[258] == b" low"


def test_before_the_first_merge_and_after_the_last() -> None:
    chosen = {LEARNED_FROM.name: OWN}
    first = shown(MERGES, scene("tokenizer", v=BYTES), **chosen)
    assert "No pair is merged yet: every byte is a token. The text has 16 tokens" in first.text
    last = shown(MERGES, scene("tokenizer", v=BYTES + 70), **chosen)
    assert "nothing is left to merge" in last.text and not last.rows
    every = len(text_merges(OWN).pairs)
    assert f"{BYTES + every} tokens: 256 bytes and {every} merges" in last.text
    for found, at, ends in ((first, BYTES, (True, False)), (last, BYTES + every, (False, True))):
        off = [f'data-pick="v={at + step}" disabled' in found.html for step in (-1, 1)]
        assert tuple(off) == ends


def test_its_buttons_and_its_slider_set_the_knob() -> None:
    found = shown(MERGES, scene("tokenizer"))
    assert found.sliders == {"v": (256, 296, 332)} and found.pick is not None
    assert re.findall(r'data-pick="v=(\d+)"', found.html) == ["295", "297"]
    with patch.object(typed.st, "session_state", {}):
        found.pick("v=297")
        assert session()["v"] == 297


def test_the_curve_is_the_bytes_of_a_token_after_each_merge() -> None:
    found = shown(MERGES, scene("tokenizer"))
    lines = {
        colour: [tuple(map(float, point.split(","))) for point in points.split()]
        for colour, points in re.findall(r'stroke="(#\w+)".*?points="(.*?)"', found.html)
    }
    every = text_merges(SAMPLE)
    own, other = lines[BLUE], lines[BROWN]
    assert len(own) == 77 and own[0] == other[0] == (LEFT, TALL) and own[-1][0] == WIDE - 8
    heights = [TALL - y for _, y in own]
    assert heights == pytest.approx(
        [(649 / n - 1) * heights[-1] / (649 / 240 - 1) for n in every.lengths], abs=0.11
    )
    size = len(OTHER_SAMPLE.encode())
    ends = size / len(encode(OTHER_SAMPLE, every)) - 1
    assert TALL - other[-1][1] == pytest.approx(ends * heights[-1] / (649 / 240 - 1), abs=0.11)
    (mark,) = re.findall(r'<circle cx="(.*?)" cy="(.*?)"', found.html)
    assert tuple(map(float, mark)) == own[40]


@pytest.mark.parametrize("own", ["", "a", "\n", "é" * 700, "<b>&amp;</b> <script>"])
def test_any_text_is_cut_and_shown_as_text(own: str) -> None:
    chosen = {LEARNED_FROM.name: own, OTHER_TEXT.name: own}
    found = shown(MERGES, scene("tokenizer"), **chosen)
    assert ("<script>" not in found.html and "&amp;amp;" in found.html) or "amp" not in own
    assert inside(found.html, "textarea")


def test_what_goes_in_is_cut_from_the_text_that_was_typed() -> None:
    with patch.object(typed.st, "session_state", {LEARNED_FROM.name: OWN}):
        feed = typed.feed(TOKENIZER, TOKENIZER.build(v=258, t=5), {"v": 258, "t": 5})
        assert typed.choices(TOKENIZER, TOKENIZER.build()) == ("random arrays",)
    assert feed.axis_words("t") == ("low", "␣", "low", "e", "r")
