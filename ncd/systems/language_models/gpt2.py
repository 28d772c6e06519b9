"""GPT-2: a decoder with learned positions."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.language.axes import seq
from ncd.language.loops import Repeat
from ncd.language.terms import Term
from ncd.ops import LayerNorm
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import (
    HEAD,
    HEADS,
    HIDDEN,
    LAYERS,
    POSITIONS,
    SECTION,
    TABLE,
    WIDTH,
    WORDS,
    after_norm,
    feed_forward,
    learned_positions,
    tanh_gelu,
    tied_model,
)
from ncd.systems.shared_parts import self_attention


def gpt2(
    n: int = 2,
    t: int = 12,
    h: int = 4,
    k: int = 16,
    d: int = 128,
    u: int = 64,
    v: int = 256,
    *,
    eps: float = 1e-5,
    activation: Term | None = None,
) -> Term:
    """Returns a language model with a learned vector for each position.

    Args:
        n: The layers.
        t: The positions.
        h: The heads.
        k: The features of a head; a position has h · k.
        d: The hidden features.
        u: The positions that the model has vectors for.
        v: The words.
        eps: The number that the norms add.
        activation: The function of the feed-forward; by default the GELU with a tanh.

    Returns:
        A term from words to the scores of the next word, ``t#v -> t v``.

    Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", section 2.3.

    >>> import ncd
    >>> ncd.cost(gpt2(n=12, t=1, h=12, k=64, d=3072, u=1024, v=50257)).parameters
    124439808
    """
    return Axes(t=seq(t), m="h*k", h=h, k=k, d=d, u=u, v=v)(
        _gpt2(n, eps, activation or tanh_gelu())
    )


@lru_cache(32)
def _gpt2(n: int, eps: float, activation: Term) -> Term:
    layer = after_norm(
        self_attention("attn", causal=True, role="folded"), LayerNorm("m", "ln_1", eps)
    ) >> after_norm(feed_forward(activation, "c_fc", "c_proj", "mlp"), LayerNorm("m", "ln_2", eps))
    layers = Repeat((layer,) * n, "h") >> LayerNorm("m", "ln_f", eps)
    return tied_model(layers, "wte", learned_positions("wpe"))


def _sizes(n: int, h: int) -> dict[str, int]:
    """Returns the sizes of a model with n layers and h heads of 64 features."""
    return {"n": n, "h": h, "k": 64, "d": 256 * h, "u": 1024, "v": 50257}


_RADFORD = 'Radford et al. 2019, "Language Models are Unsupervised Multitask Learners", '
_PRESET_SOURCE = f"{_RADFORD}table 2; the heads stand in its published code"

GPT_2 = Entry(
    name="gpt-2",
    title="GPT-2",
    source="Radford et al. 2019, GPT-2",
    knobs=(LAYERS, POSITIONS, HEADS, HEAD, HIDDEN, TABLE, WORDS),
    system=gpt2,
    section=SECTION,
    type="t#v -> t v",
    cached=("k", "v"),
    width=WIDTH,
    presets=(
        Preset("gpt-2-small", _sizes(12, 12), _PRESET_SOURCE, "GPT-2 small"),
        Preset("gpt-2-medium", _sizes(24, 16), _PRESET_SOURCE, "GPT-2 medium"),
        Preset("gpt-2-large", _sizes(36, 20), _PRESET_SOURCE, "GPT-2 large"),
        Preset("gpt-2-xl", _sizes(48, 25), _PRESET_SOURCE, "GPT-2 XL"),
    ),
)
