"""Attention whose keys and values are made from a few compressed features."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.terms.wire import Wire
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.components.grouped_queries import LENGTH
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import CausalMask, Einsum, Linear, Map, RMSNorm, Softmax


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
    turned = Rotary.plain(10000).term
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
    body = Id("t m, t m, t m") >> parts >> _scores() >> Linear("h k -> m", "O")
    return Wire("t m -> t m, t m, t m") >> Block(body, "Latent Attention", "module")


def _scores() -> Term:
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


_PUBLISHED = 'DeepSeek-AI 2024, "DeepSeek-V2"'
PRESETS = (
    Preset(
        "deepseek-v2",
        {"h": 128, "k": 128, "b": 64, "c": 512, "d": 1536, "m": 5120},
        f"{_PUBLISHED}, section 3.1.2; its queries and angles are scaled further for long texts",
        "DeepSeek-V2",
    ),
    Preset(
        "deepseek-v3",
        {"h": 128, "k": 128, "b": 64, "c": 512, "d": 1536, "m": 7168},
        'DeepSeek-AI 2024, "DeepSeek-V3", section 4.2',
        "DeepSeek-V3",
    ),
)

_SMALL = "up to 512, as in the paper"
LATENT_ATTENTION = Entry(
    name="latent-attention",
    title="Latent attention",
    source='DeepSeek-AI 2024, "DeepSeek-V2", section 2.1',
    knobs=(
        Knob("c", 1, 512, 16, help="kept for keys and values", reason=_SMALL),
        Knob("b", 2, 64, 8, 2, "turned features", "even: they turn in pairs", multiple=2),
        Knob("h", 1, 16, 4, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 16, help="features a head", reason="of keys that know no position"),
        Knob("d", 1, 512, 24, help="compressed features of queries", reason=_SMALL),
        Knob("m", 1, 512, 64, help="features", reason="of a position"),
        LENGTH,
    ),
    system=latent,
    section="Components",
    type="t m -> t m",
    presets=PRESETS,
    cached=("DKV", "KR"),
    width=900.0,
    notes={
        "kv_norm": "These $c$ features of a position are kept; all keys and values come from them.",
        "KR": "One turned key of $b$ features is kept beside; all heads share it.",
    },
)
