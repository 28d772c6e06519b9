"""A recurrent encoder and decoder, whose steps look back at everything that was read."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Scan
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Concat, Einsum, Index, Linear, Map, Param, Softmax
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.recurrent.gated_cells import gru_step

LONGEST_DATE, WRITTEN_LENGTH = 18, 10  # of what ``ncd/systems/training/written_dates.py`` makes
READ_COUNT, WRITTEN_COUNT = 40, 12  # the symbols there


def seq2seq_attention(
    s: int = LONGEST_DATE,
    t: int = WRITTEN_LENGTH,
    m: int = 16,
    h: int = 32,
    a: int = 32,
    v: int = READ_COUNT,
    w: int = WRITTEN_COUNT,
    attend: int = 1,
) -> Term:
    """Returns a recurrent network that reads s symbols, and writes t others.

    Args:
        s: The symbols that are read.
        t: The symbols that are written; each step is given the one before.
        m: The features of a symbol.
        h: The features of a state.
        a: The features in which states are compared.
        v: How many symbols there are to read.
        w: How many symbols there are to write.
        attend: Whether each step of the decoder looks at all states of the encoder; without it the
            decoder has the last one alone.

    Returns:
        A term ``s#v, t#w -> t w, t s`` to scores of the next symbol, and how much each step looked
        at each symbol read; without ``attend`` the scores alone.

    Source: Bahdanau et al. 2015, "Neural Machine Translation by Jointly Learning to Align and
    Translate", section 3.1; there the encoder reads both ways. Without ``attend``: Cho et al. 2014.

    >>> str(seq2seq_attention().cod), str(seq2seq_attention(attend=0).cod)
    ('t w, t s', 't w')
    """
    return Axes(s=seq(s), t=seq(t), m=m, h=h, a=a, v=v, w=w)(_model(attend))


@lru_cache
def _model(attend: int) -> Term:
    scores = Linear("h -> w", "out", True)
    return Then(
        Id("s#v, t#w"),
        _encoder() @ Id("t#w"),
        _attending_decoder() if attend else _decoder(),
        scores @ Id("t s") if attend else scores,
    )


def _encoder() -> Term:
    """Returns the last state and the states after each symbol, ``s#v -> h, s h``."""
    reads = Id("s#v") @ Param("v m", "E", "normal") >> Index("s#v, v m -> s m")
    cell = Block(gru_step("m"), "GRU", "folded", "gru")
    scan = Scan(cell >> Wire("h -> h, h"), "s", "steps")
    return Block(Map("-> h", "0", "0") @ reads >> scan, "Encoder", "folded", "encoder")


def _decoder() -> Term:
    """Returns the states of a decoder that begins with the last of the encoder."""
    cell = Id("h") @ _written_before() >> gru_step("m")
    step = Block(cell, "Next State", "folded", "gru") >> Wire("h -> h, h")
    body = Wire("h, s h, t#w -> h, t#w") >> Scan(step, "t", "steps") >> Wire("h, t h -> t h")
    return Block(body, "Decoder", "neutral", "decoder")


def _attending_decoder() -> Term:
    """Returns the states and the weights of a decoder, ``h, s h, t#w -> t h, t s``.

    The states of the encoder go through all steps unchanged.
    """
    cell = Then(
        Id("h") @ _written_before() @ Id("h"),
        Id("h") @ Concat("m, h -> d"),
        gru_step("d"),
    )
    step = Then(
        Wire("h, s h, #w -> h, #w, h, s h"),
        Id("h, #w") @ _additive_attention(),
        Block(cell, "Next State", "folded", "gru") @ Id("s, s h"),
        Wire("h, s, s h -> h, s h, h, s"),
    )
    body = Scan(step, "t", "steps", states=2) >> Wire("h, s h, t h, t s -> t h, t s")
    return Block(body, "Decoder", "neutral", "decoder")


def _written_before() -> Term:
    """Returns the features of the symbol that was written before, ``#w -> m``."""
    return Id("#w") @ Param("w m", "F", "normal") >> Index("#w, w m -> m")


def _additive_attention() -> Term:
    """Returns a mean of states, its weights, and the states, ``h, s h -> h, s, s h``."""
    body = Then(
        Wire("h, s h -> h, s h, s h"),
        Linear("h -> a", "W") @ Linear("h -> a", "U") @ Id("s h"),
        Map("a, s a -> s a", "tanh($1 + $2)", "tanh") @ Id("s h"),
        Linear("a -> ", "e") @ Id("s h"),
        Softmax("s") @ Id("s h"),
        Wire("s, s h -> s, s h, s, s h"),
        Einsum("s, s h -> h", "context") @ Id("s, s h"),
    )
    return Block(body, "Attention", "folded", "attention")


_MAP_REASON = "up to 48, so that the map stays readable"
SEQ2SEQ_ATTENTION = Entry(
    name="seq2seq-attention",
    title="Seq2seq with attention",
    source="Bahdanau et al. 2015, section 3.1",
    knobs=(
        Knob("s", 1, 48, LONGEST_DATE, help="symbols read", reason=_MAP_REASON),
        Knob("t", 1, 48, WRITTEN_LENGTH, help="symbols written", reason=_MAP_REASON),
        Knob("m", 1, 128, 16, help="features of a symbol", reason="620 in the paper"),
        Knob("h", 1, 128, 32, help="features of a state", reason="1000 in the paper"),
        Knob("a", 1, 128, 32, help="features compared", reason="1000 in the paper"),
        Knob(
            "v",
            READ_COUNT,
            64,
            READ_COUNT,
            help="symbols to read",
            reason="letters, digits and signs of a date",
        ),
        Knob(
            "w",
            WRITTEN_COUNT,
            64,
            WRITTEN_COUNT,
            help="symbols to write",
            reason="digits, a dash, and a start mark",
        ),
        switch(
            "attend",
            1,
            "attention",
            "on, each step looks at all that was read; off, it has the last state alone",
        ),
    ),
    system=seq2seq_attention,
    section="Recurrent networks",
    width=900.0,
    notes={"Next State": "A GRU: it also takes what was written one step before."},
    presets=(
        Preset(
            "rnnsearch-50",
            {"s": 50, "t": 50, "m": 620, "h": 1000, "a": 1000, "v": 30_000, "w": 30_000},
            "Bahdanau et al. 2015, appendix A; there the encoder reads both ways, and the scores "
            "come from a maxout layer",
            "Translation, 2015",
        ),
        Preset(
            "rnn-encoder-decoder",
            {"m": 100, "h": 1000, "v": 15_000, "w": 15_000, "attend": 0},
            "Cho et al. 2014, Learning Phrase Representations using RNN Encoder–Decoder, section "
            "4.1",
            "Phrases, 2014",
        ),
    ),
)
