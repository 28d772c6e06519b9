"""Attention that keeps less: grouped queries, compressed keys, a window."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, CausalMask, Einsum, Linear, Map, RMSNorm, Scale, Softmax
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import Rotary
from ncd.systems.shared_parts import scaled_dot_product

# --- Attention in which several query heads share one head of keys and values

LENGTH = Knob(
    "t", 1, 128, 12, help="positions", reason="up to 128, so that an attention map stays readable"
)


def grouped_queries(g: int = 2, q: int = 4, k: int = 16, m: int = 128, t: int = 12) -> Term:
    """Attention with g heads of keys and values, each used by q heads of queries.

    Source: Ainslie et al. 2023, "GQA", section 2.2; with g = 1 Shazeer 2019, "Fast Transformer
    Decoding", section 3.
    """
    return Axes(t=seq(t), m=m, g=g, q=q, k=k)(_grouped_queries())


@lru_cache
def _grouped_queries() -> Term:
    maps = (
        Block(Linear("m -> g q k", "Q"), "Linear", "linear")
        @ Block(Linear("m -> g k", "K"), "", "linear")
        @ Block(Linear("m -> g k", "V"), "", "linear")
    )
    scores = Block(
        Then(
            Einsum("y g q k, x g k -> y x g q", "scores"),
            Scale("k"),
            CausalMask("y x"),
            Softmax("x"),
            Einsum("y x g q, x g k -> y g q k", "out"),
        ),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )
    heads = Id("t m, t m, t m") >> maps >> scores
    return Wire("t m -> t m, t m, t m") >> Block(
        heads >> Block(Linear("g q k -> m", "O"), "Linear", "linear"),
        "Grouped-Query Attention",
        "module",
    )


_SHARING_REASON = "1 for multi-head attention"
GROUPED_QUERIES_PRESETS = (
    Preset(
        "transformer-base",
        {"g": 8, "q": 1, "k": 64, "m": 512},
        'Vaswani et al. 2017, "Attention Is All You Need", table 3: every query head has keys and '
        "values of its own",
        "Transformer, base (multi-head)",
    ),
    Preset(
        "mistral-7b",
        {"g": 8, "q": 4, "k": 128, "m": 4096, "t": 8192},
        'Jiang et al. 2023, "Mistral 7B", table 1; its window is left out here',
        "Mistral 7B (grouped)",
    ),
    Preset(
        "llama-2-70b",
        {"g": 8, "q": 8, "k": 128, "m": 8192, "t": 4096},
        'Touvron et al. 2023, "Llama 2", section 2.2 and table 1; its 64 heads stand in its '
        "published code",
        "Llama 2 70B (grouped)",
    ),
    Preset(
        "palm-8b",
        {"g": 1, "q": 16, "k": 256, "m": 4096, "t": 2048},
        'Chowdhery et al. 2022, "PaLM", section 2 and table 1',
        "PaLM 8B (multi-query)",
    ),
)

GROUPED_QUERIES = Entry(
    name="grouped-queries",
    title="Grouped queries",
    source='Ainslie et al. 2023, "GQA", section 2.2',
    knobs=(
        Knob("g", 1, 16, 2, help="heads of keys and values", reason="1 for multi-query attention"),
        Knob("q", 1, 16, 4, help="query heads for each", reason=_SHARING_REASON),
        Knob("k", 1, 128, 16, help="features a head", reason="up to 128, as in large models"),
        Knob("m", 1, 512, 128, help="features", reason="of a position"),
        LENGTH,
    ),
    system=grouped_queries,
    section="Components",
    type="t m -> t m",
    presets=GROUPED_QUERIES_PRESETS,
    cached=("K", "V"),
    notes={
        "K": "Keys and values have the axis $g$ only: this is all that a cache keeps.",
        "scores": "The axis $q$ passes the keys by: $q$ query heads ask the same keys.",
    },
)


# --- Layers of attention that see a window of the last positions


def sliding_window(n: int = 3, w: int = 4, h: int = 2, k: int = 8, t: int = 20) -> Term:
    """n layers of attention in which a position sees itself and the w - 1 before it.

    Source: Jiang et al. 2023, "Mistral 7B", section 2; Beltagy et al. 2020, "Longformer", section
    3.1, for windows that also see ahead.
    """
    return Axes(t=seq(t), m="h*k", h=h, k=k)(_layers(n, w))


@lru_cache(64)
def _layers(n: int, w: int) -> Term:
    window = Map("y x h -> y x h", f"where(x > y, -inf, where(y - x < {w}, $1, -inf))", "window")
    attention = Block(
        Id("t m, t m, t m")
        >> Linear("m -> h k", "Q") @ Linear("m -> h k", "K") @ Linear("m -> h k", "V")
        >> scaled_dot_product(window)
        >> Linear("h k -> m", "O"),
        "Sliding-Window Attention",
        "module",
    )
    layer = Wire("t m -> t m, t m, t m, t m") >> attention @ Id("t m") >> Add()
    return Id("t m") >> Repeat((layer,) * n)


SLIDING_WINDOW = Entry(
    name="sliding-window",
    title="Sliding window",
    source='Jiang et al. 2023, "Mistral 7B", section 2',
    knobs=(
        Knob("w", 1, 32, 4, help="positions that one sees", reason="itself and those before it"),
        Knob("n", 1, 8, 3, help="layers", reason="each reaches further back", most=64),
        Knob("h", 1, 16, 2, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 8, help="features a head", reason="up to 128, as in large models"),
        Knob("t", 1, 64, 20, help="positions", reason="up to 64, as each is changed in turn"),
    ),
    system=sliding_window,
    section="Components",
    type="t m -> t m",
    cached=("K", "V"),
    presets=(
        Preset(
            "mistral-7b",
            {"n": 32, "w": 4096, "h": 32, "k": 128, "t": 8192},
            'Jiang et al. 2023, "Mistral 7B", table 1; its 32 heads share 8 heads of keys and '
            "values, and its feed-forwards and norms are left out here",
            "Mistral 7B",
        ),
    ),
    notes={"window": "A query $y$ sees keys $x$ from $y$ back to the edge of its window."},
)


# --- Attention whose keys and values are made from a few compressed features


def latent(
    h: int = 4, k: int = 16, b: int = 8, c: int = 16, d: int = 24, m: int = 64, t: int = 12
) -> Term:
    """h heads with keys and values from c cached features, and b rotated ones for positions.

    Source: DeepSeek-AI 2024, "DeepSeek-V2", section 2.1 and appendix C, whose names the maps have;
    section 3.1.2 for the norms.
    """
    return Axes(t=seq(t), m=m, h=h, k=k, b=b, c=c, d=d)(_latent())


@lru_cache
def _latent() -> Term:
    turned = Rotary.from_base(10000).term
    queries = (
        Linear("m -> d", "DQ")
        >> RMSNorm("d", "q_norm", 1e-6)
        >> Wire("t d -> t d, t d")
        >> Linear("d -> h k", "UQ") @ (Linear("d -> h b", "QR") >> turned("h", "b"))
    )
    kept = (
        Linear("m -> c", "DKV")
        >> RMSNorm("c", "kv_norm", 1e-6)
        >> Wire("t c -> t c, t c")
        >> Linear("c -> h k", "UK") @ Linear("c -> h k", "UV")
    )
    key = Linear("m -> b", "KR") >> turned("", "b")
    parts = (
        Block(queries, "Queries", "linear")
        @ Block(kept, "Keys and Values", "linear")
        @ Block(key, "Shared Key", "linear")
    )
    body = Id("t m, t m, t m") >> parts >> _two_part_attention() >> Linear("h k -> m", "O")
    return Wire("t m -> t m, t m, t m") >> Block(body, "Latent Attention", "module")


def _two_part_attention() -> Term:
    """Returns attention whose scores are a sum over plain and over rotated features."""
    given = "y h k, y h b, x h k, x h k, x b"
    return Block(
        Wire(f"{given} -> y h k, x h k, y h b, x b, x h k", "1 3 2 5 4")
        >> Einsum("y h k, x h k -> y x h") @ Einsum("y h b, x b -> y x h") @ Id("x h k")
        >> Map("y x h, y x h -> y x h", "($1 + $2) / sqrt(n_k + n_b)", "", "k b") @ Id("x h k")
        >> CausalMask("y x") @ Id("x h k")
        >> Softmax("x") @ Id("x h k")
        >> Einsum("y x h, x h k -> y h k"),
        "Scaled Dot-Product Attention",
        "einsum",
        local=True,
    )


_DEEPSEEK_PAPER = 'DeepSeek-AI 2024, "DeepSeek-V2"'
LATENT_ATTENTION_PRESETS = (
    Preset(
        "deepseek-v2",
        {"h": 128, "k": 128, "b": 64, "c": 512, "d": 1536, "m": 5120},
        f"{_DEEPSEEK_PAPER}, section 3.1.2; its queries and angles are scaled further for "
        "long texts",
        "DeepSeek-V2",
    ),
    Preset(
        "deepseek-v3",
        {"h": 128, "k": 128, "b": 64, "c": 512, "d": 1536, "m": 7168},
        'DeepSeek-AI 2024, "DeepSeek-V3", section 4.2',
        "DeepSeek-V3",
    ),
)

_SIZE_REASON = "up to 512, as in the paper"
LATENT_ATTENTION = Entry(
    name="latent-attention",
    title="Latent attention",
    source='DeepSeek-AI 2024, "DeepSeek-V2", section 2.1',
    knobs=(
        Knob("c", 1, 512, 16, help="kept for keys and values", reason=_SIZE_REASON),
        Knob("b", 2, 64, 8, 2, "turned features", "even: they turn in pairs", multiple=2),
        Knob("h", 1, 16, 4, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 16, help="features a head", reason="of keys that know no position"),
        Knob("d", 1, 512, 24, help="compressed features of queries", reason=_SIZE_REASON),
        Knob("m", 1, 512, 64, help="features", reason="of a position"),
        LENGTH,
    ),
    system=latent,
    section="Components",
    type="t m -> t m",
    presets=LATENT_ATTENTION_PRESETS,
    cached=("DKV", "KR"),
    width=900.0,
    notes={
        "kv_norm": "These $c$ features of a position are kept; all keys and values come from them.",
        "KR": "One turned key of $b$ features is kept beside; all heads share it.",
    },
)
