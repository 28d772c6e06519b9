"""Small trained transformers whose attention can be read."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import Add, Index, Linear, Param
from ncd.systems.catalogue_entry import Entry
from ncd.systems.shared_parts import feed_forward, self_attention
from ncd.systems.transformers.encoder_decoder import WIDTH
from ncd.systems.transformers.multi_head import heads

# --- A layer of multi-head attention that corrects sentences, with heads that have clear roles

WORDS = 78  # of the grammar from which it learns


def proofreader(h: int = 4, k: int = 16, m: int = 128, t: int = 24, v: int = WORDS) -> Term:
    """Reads sentences with mistakes, and predicts the right word at each position."""
    return Axes(t=seq(t), v=v, m=m, k=k, h=h)(_proofreader())


@lru_cache
def _proofreader() -> Term:
    return (
        Id("t#v") @ Param("v m", "E", "normal")
        >> Index("t#v, v m -> t m")
        >> Param("t m", "P", "normal")
        >> Add()
        >> Wire("t m -> t m, t m, t m, t m")
        >> Block(heads(), "Multi-Head Attention", "module", local=True) @ Id("t m")
        >> Add()
        >> Linear("m -> v", "U")
    )


PROOFREADER = Entry(
    name="proofreader",
    title="Proofreader",
    source="A task of ours: correct the sentence",
    knobs=(
        Knob("h", 1, 8, 4, help="heads", reason="up to 8: every map stays readable", least=1),
        Knob("k", 4, 64, 16, 4, "features a head", "the length of a query and of a key", least=1),
        Knob("m", 16, 256, 128, 16, "features", "of a word", least=1),
        Knob(
            "t", 8, 48, 24, help="positions", reason="up to 48: every map stays readable", least=1
        ),
        Knob("v", WORDS, WORDS, WORDS, help="words", reason="all that it knows", most=WORDS),
    ),
    system=proofreader,
    section="Learned attention",
    width=WIDTH,
    type="t#v -> t v",
)


# --- Small trained transformers whose attention can be interpreted

TYPE = "t#v -> t v"


def reversal(n: int = 1, h: int = 1, k: int = 32, t: int = 12, v: int = 12) -> Term:
    """Reads t symbols and predicts them in reverse."""
    return _sizes(h, k, t, v)(_reader(n, causal=False))


def recall(n: int = 2, h: int = 1, k: int = 32, t: int = 24, v: int = 16) -> Term:
    """Reads keys with their values, and predicts the value of a key that occurs again."""
    return _sizes(h, k, t, v)(_reader(n, causal=True))


def induction(n: int = 2, h: int = 1, k: int = 32, t: int = 24, v: int = 26) -> Term:
    """Reads a word that repeats, and predicts its next symbol."""
    return _sizes(h, k, t, v)(_reader(n, causal=True))


def brackets(n: int = 2, h: int = 1, k: int = 48, d: int = 96, t: int = 24, v: int = 6) -> Term:
    """Reads v / 2 kinds of brackets, and predicts which one closes the innermost."""
    return _sizes(h, k, t, v, d)(_reader(n, causal=True, thinks=True))


def _sizes(h: int, k: int, t: int, v: int, d: int = 1) -> Axes:
    """Returns the sizes; m is the number of features of all heads together."""
    return Axes(t=seq(t), v=v, m="h*k", h=h, k=k, d=d)


@lru_cache
def _reader(n: int, causal: bool, thinks: bool = False) -> Term:
    """Returns symbol and position embeddings, n layers, and a score for each symbol.

    Without a norm, as the smallest transformers that are taken apart: Elhage et al. 2021, "A
    Mathematical Framework for Transformer Circuits".
    """
    layer = _adds(self_attention("attn", causal))
    if thinks:
        layer = layer >> _adds(feed_forward())
    return (
        Id("t#v") @ Param("v m", "E", "normal")
        >> Index("t#v, v m -> t m")
        >> Param("t m", "P", "normal")
        >> Add()
        >> Repeat((layer,) * n)
        >> Linear("m -> v", "U")
    )


def _adds(part: Term) -> Term:
    return Wire("t m -> t m, t m") >> part @ Id("t m") >> Add()


_T = Knob("t", 4, 48, 24, help="positions", reason="up to 48: every map stays readable", least=1)
_LAYERS = Knob("n", 1, 4, 2, help="layers", reason="one more can build on what one found", most=48)
_HEADS = Knob("h", 1, 4, 1, help="heads", reason="one is enough here, and easiest to read")
_FEATURES = Knob("k", 4, 64, 32, 4, "features", "the length of a query and of a key", least=1)
_LETTERS = Knob("v", 2, 26, 26, help="symbols", reason="letters, so 26 at most", most=26)

REVERSAL = Entry(
    name="reversal",
    title="Reversal",
    source="A task of ours: say it backwards",
    knobs=(
        replace(_LAYERS, default=1),
        _HEADS,
        _FEATURES,
        replace(_T, default=12),
        replace(_LETTERS, default=12),
    ),
    system=reversal,
    section="Learned attention",
    width=WIDTH,
    type=TYPE,
)
RECALL = Entry(
    name="recall",
    title="Recall",
    source="Arora et al. 2024, associative recall",
    knobs=(
        _LAYERS,
        _HEADS,
        _FEATURES,
        _T,
        Knob(
            "v",
            4,
            20,
            16,
            2,
            "symbols",
            "half are keys, half are values: digits, so 20 at most",
            least=2,
            most=20,
            multiple=2,
        ),
    ),
    system=recall,
    section="Learned attention",
    width=WIDTH,
    type=TYPE,
)
INDUCTION = Entry(
    name="induction",
    title="Induction",
    source="Olsson et al. 2022, induction heads",
    knobs=(_LAYERS, _HEADS, _FEATURES, _T, _LETTERS),
    system=induction,
    section="Learned attention",
    width=WIDTH,
    type=TYPE,
)
BRACKETS = Entry(
    name="brackets",
    title="Brackets",
    source="Yao et al. 2021, nested brackets",
    knobs=(
        _LAYERS,
        _HEADS,
        replace(_FEATURES, default=48),
        Knob("d", 8, 256, 96, 8, "hidden features", "twice the features", least=1),
        _T,
        Knob("v", 2, 8, 6, 2, "symbols", "brackets of four kinds at most", most=8, multiple=2),
    ),
    system=brackets,
    section="Learned attention",
    width=WIDTH,
    type=TYPE,
)
