"""The text that a tokenizer learns from and cuts: its merges, and its tokens as inputs of a run."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.systems.inputs.byte_pairs import Merges, encode, learn_merges
from ncd.systems.inputs.text_inputs import BLANK_SYMBOL
from ncd.systems.language_models.byte_pair_tokens import BYTES

READER = "tokenizer"  # the system that reads tokens
MOST_MERGES = 1000  # a text as long as is read has fewer
LONGEST_TEXT = 1500  # characters
LETTER_BYTES = 4  # of a character at most
SHOWN_SPACE = "␣"
SAMPLE = (
    "The river is low in summer, and lower in a dry one. When it is at its lowest, the lower "
    "meadow is dry, and the children are walking over to the island. They are looking for shells, "
    "for the newest and the whitest ones, and they are singing. Slower walkers are coming later: "
    "the water is rising slowly, and the wide sand is narrower than it was in the morning. In "
    "winter the river is high, and higher after rain; at its highest it is over the road, and "
    "nobody is walking there. The miller, who is older than the mill, knows every rising of the "
    "river. He is writing the highest ones on the wall of the mill: the oldest writing is lower "
    "than the newest."
)
OTHER_SAMPLE = "The widest rivers are the slowest, and the Rhône is rising."


@dataclass(frozen=True)
class TokenInput:
    """The tokens of a text that go in, and what each of them is."""

    numbers: tuple[int, ...]
    words: tuple[str, ...]


@lru_cache(32)
def text_merges(text: str) -> Merges:
    """Returns the merges of a text, as far as pairs stand in it twice."""
    return learn_merges(text[:LONGEST_TEXT], MOST_MERGES)


def token_input(v: int, t: int, text: str = "") -> TokenInput | None:
    """Returns the first t tokens of a text, cut with v tokens that were learned from it.

    What is left of t places is filled with zeros; for more than a text can have there is none.

    >>> token_input(258, 5, "low lower lowest").words
    ('low', '␣', 'low', 'e', 'r')
    """
    if t > LETTER_BYTES * LONGEST_TEXT:
        return None
    text = (text or SAMPLE)[:LONGEST_TEXT]
    merges = text_merges(text).prefix(v - BYTES)
    numbers = encode(text, merges)[:t]
    shown = (*(token_text(merges.tokens[i]) for i in numbers), *[BLANK_SYMBOL] * (t - len(numbers)))
    return TokenInput((*numbers, *[0] * (t - len(numbers))), shown)


def token_text(token: bytes) -> str:
    """Returns a token to be shown: spaces as a sign, and bytes that are no whole letter in hex.

    >>> token_text(b" low"), token_text("é".encode()), token_text(b"e\\xc3")
    ('␣low', 'é', 'e‹C3›')
    """
    shown = "".join(
        f"‹{ord(letter) - 0xDC00:02X}›" if "\udc80" <= letter <= "\udcff" else letter
        for letter in token.decode(errors="surrogateescape")
    )
    return shown.replace(" ", SHOWN_SPACE).replace("\n", "↵").replace("\t", "⇥")
