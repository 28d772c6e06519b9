"""A layer of multi-head attention that corrects sentences, with heads that have clear roles."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.attention.multi_head import heads
from ncd.models.catalogue_entry import Entry, Knob
from ncd.models.transformers.encoder_decoder import WIDTH
from ncd.ops import Add, Index, Linear, Param

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
