"""Sampling: from the scores of a language model to the next token."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Cumulative, Index, Map, Named, Reduce, Softmax, Top
from ncd.systems.catalogue_entry import Entry, Preset

TEMPERATURES = ("0.2", "0.5", "0.7", "1", "1.5", "2")
SHARES = ("0.5", "0.8", "0.9", "0.95", "1")
WHOLE_SHARE = len(SHARES) - 1  # the place of 1: no token is cut by its share
WORD_COUNT = 201  # of the small model that ships
RESOLUTION = 2**16  # random numbers: as many parts has the line from 0 to 1
MOST_KEPT = 40  # as in GPT-2's samples


def sampling(v: int = WORD_COUNT, k: int = 10, b: int = 6, t: int = 2, p: int = 2) -> Term:
    """Returns b draws of the next token and the logarithms of their chances.

    Args:
        v: The tokens that a model knows.
        k: How many of them can be drawn: those with the largest scores.
        b: How many draws are made, each with a number of its own.
        t: The temperature, a place in ``TEMPERATURES``.
        p: The share of the chances that can be drawn, a place in ``SHARES``.

    Returns:
        A term ``v, b#r -> b#v, b`` from scores and whole random numbers below r.

    Source: Fan et al. 2018, "Hierarchical Neural Story Generation", section 5.2, for the k
    largest; Holtzman et al. 2020, "The Curious Case of Neural Text Degeneration", section 3.1, for
    the share.

    >>> sampling().dom.spec, sampling().cod.spec
    ('v:201, b:6#r:65536', 'b:6#v:201, b:6')
    """
    return Axes(v=v, k=k, b=b, r=RESOLUTION)(_sampling(TEMPERATURES[t], SHARES[p]))


@lru_cache
def _sampling(temperature: str, share: str) -> Term:
    return Then(
        Named("v", "scores") @ Named("b#r", "z"),
        _top_k() @ Id("b#r"),
        _chances(temperature, share) @ Id("k#v, b#r"),
        Block(_draw(), "Draw", "neutral"),
    )


def token_chances(v: int, k: int, t: int, p: int) -> Term:
    """Returns the chances of the tokens that can be drawn, and these tokens, ``v -> k, k#v``.

    The arguments are those of :func:`sampling`.

    >>> str(token_chances(v=201, k=10, t=2, p=2).cod)
    'k, k#v'
    """
    chances = _chances(TEMPERATURES[t], SHARES[p])
    return Axes(v=v, k=k)(_top_k() >> chances @ Id("k#v"))


def _top_k() -> Term:
    return Block(Top("v -> k"), "Top-k", "index")


def _chances(temperature: str, share: str) -> Term:
    """Returns the chances of tokens by their scores, ``k -> k``: 0 for those beyond the share."""
    chances: Term = Softmax("k", "p")
    if temperature != "1":
        chances = Map("k -> k", f"$1 / {temperature}", f"÷ {temperature}") >> chances
    chances = Block(chances, "Temperature", "softmax")
    return chances if share == "1" else chances >> Block(_nucleus(share), "Top-p", "scale")


def _nucleus(share: str) -> Term:
    """Returns the chances of the likeliest tokens, ``k -> k``, up to a share of all of them."""
    return Then(
        Wire("k -> k, k"),
        Cumulative("k") @ Id("k"),
        Map("k, k -> k", f"where($1 - $2 < {share}, $2, 0)", f"< {share}"),
        Wire("k -> k, k"),
        Reduce("k ->", "sum") @ Id("k"),
        Map(", k -> k", "$2 / $1", "÷ Σ"),
    )


def _draw() -> Term:
    """Returns the tokens that numbers fall on, and their log chances, ``k, k#v, b#r -> b#v, b``.

    The first place whose sum is above a number gets the largest of the numbers that are compared.
    """
    uniform = Map("b#r -> b", "($1 + 0.5) / n_r", "u")
    first = Map("k, b -> b k", "where($1 > $2, n_k - k, k - n_k)", "> u")
    chance = Index("b#k, k -> b") >> Map("b -> b", "log($1)", "log")
    return Then(
        Wire("k, k#v, b#r -> k, b#r, k#v, k"),
        Cumulative("k") @ uniform @ Id("k#v, k"),
        (first >> Top("k -> j:1")) @ Id("k#v, k"),
        Wire("b j, b j#k, k#v, k -> b j#k, k#v, k"),
        Index("b j#k", j=0) @ Id("k#v, k"),
        Wire("b#k, k#v, k -> b#k, k#v, b#k, k"),
        Index("b#k, k#v -> b#v") @ chance,
    )


_BAR_REASON = "few, so that each has a bar"
SAMPLING = Entry(
    name="sampling",
    title="Sampling",
    source="Holtzman et al. 2020",
    knobs=(
        Knob("k", 1, MOST_KEPT, 10, help="tokens kept by top-k", reason=_BAR_REASON),
        Knob("b", 1, 12, 6, help="draws", reason="each with a number of its own"),
        Knob(
            "v",
            MOST_KEPT,
            256,
            WORD_COUNT,
            help="tokens",
            reason=f"the small model knows {WORD_COUNT}",
            least=1,
        ),
        Knob(
            "t",
            0,
            len(TEMPERATURES) - 1,
            TEMPERATURES.index("0.7"),
            help="temperature",
            reason="what scores are divided by",
            names=TEMPERATURES,
        ),
        Knob(
            "p",
            0,
            WHOLE_SHARE,
            SHARES.index("0.9"),
            help="share kept by top-p",
            reason="the likeliest tokens up to this share; 1 keeps all",
            names=SHARES,
        ),
    ),
    system=sampling,
    section="Language models",
    type="v, b#r -> b#v, b",
    presets=(
        Preset(
            "top-k",
            {"v": 50_257, "k": 10, "t": 3, "p": WHOLE_SHARE},
            "Fan et al. 2018, Hierarchical Neural Story Generation, section 5.2: k = 10",
            "Stories, top-k",
        ),
        Preset(
            "gpt-2-samples",
            {"v": 50_257, "k": 40, "t": 3, "p": WHOLE_SHARE},
            "Radford et al. 2019, section 3.8 and the samples of its appendix: k = 40",
            "GPT-2's samples",
        ),
        Preset(
            "nucleus",
            {"v": 50_257, "k": 50_257, "t": 3, "p": 3},
            "Holtzman et al. 2020, section 3.1 and table 1: p = 0.95 of all tokens",
            "Nucleus",
        ),
    ),
)
