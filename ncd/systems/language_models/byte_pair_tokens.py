"""From the numbers of tokens to vectors: a row of a table each, or a product with the table."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Index, Map, Param
from ncd.systems.catalogue_entry import Entry, Preset

BYTES = 256  # tokens before the first merge
WAYS = ("row", "product")
ROW, PRODUCT = range(len(WAYS))


def tokenizer(v: int = 296, t: int = 24, m: int = 16, way: int = ROW) -> Term:
    """Returns a vector for each token of a text, ``t#v -> t m``.

    Args:
        v: The tokens that there are: the bytes, and one for each merge.
        t: The tokens of the text that go in.
        m: The features of a token.
        way: How the table is read, a place in ``WAYS``: by its rows, or by a product with vectors
            that are 1 at the number of the token, and 0 elsewhere.

    Source: Sennrich et al. 2016, "Neural Machine Translation of Rare Words with Subword Units",
    section 3.2; Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section
    2.2, for bytes; ``torch.nn.Embedding``.

    >>> str(tokenizer().cod), str(tokenizer(way=PRODUCT).cod)
    ('t m', 't m')
    """
    return Axes(t=seq(t), v=v, m=m)(_embedding(way))


@lru_cache
def _embedding(way: int) -> Term:
    table = Param("v m", "E", "normal")
    if way == ROW:
        return Block(Id("t#v") @ table >> Index("t#v, v m -> t m"), "Embedding", "neutral")
    ones = Map("#v -> v", "where($1 > v - 0.5, where($1 < v + 0.5, 1, 0), 0)", "one-hot")
    body = Id("t#v") >> ones @ table >> Einsum("t v, v m -> t m")
    return Block(body, "Embedding", "neutral")


TOKENIZER = Entry(
    name="tokenizer",
    title="Tokenizer",
    source="Sennrich et al. 2016, section 3.2",
    knobs=(
        Knob("v", BYTES, 336, 296, help="tokens", reason="256 bytes, and one for each merge"),
        Knob(
            "t", 1, 48, 24, help="tokens that go in", reason="up to 48, so that a map is readable"
        ),
        Knob("m", 1, 64, 16, help="features of a token", reason="768 in GPT-2"),
        Knob(
            "way",
            0,
            len(WAYS) - 1,
            ROW,
            help="reading of the table",
            reason="a row for each token, or a product with vectors that have a single 1",
            names=WAYS,
        ),
    ),
    system=tokenizer,
    section="Language models",
    type="t#v -> t m",
    width=900.0,
    height=24,
    presets=(
        Preset(
            "transformer-base",
            {"v": 37_000, "m": 512},
            "Vaswani et al. 2017, section 5.1: about 37,000 tokens for English and German; m in "
            "table 3",
            "Transformer, base",
        ),
        Preset(
            "gpt-2-small",
            {"v": 50_257, "m": 768, "t": 1024},
            "Radford et al. 2019, section 2.3 and table 2: 50,000 merges, 256 bytes and the end of "
            "a text",
            "GPT-2 small",
        ),
        Preset(
            "llama-3-8b",
            {"v": 128_256, "m": 4096, "t": 8192},
            "Grattafiori et al. 2024, table 3, and its published code: 128,000 tokens and 256 that "
            "are reserved",
            "Llama 3 8B",
        ),
    ),
)
