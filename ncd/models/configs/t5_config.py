"""Configurations of T5."""

from __future__ import annotations

from functools import partial

from ncd.lang.terms.terms import Term
from ncd.models.configs.activation_names import KNOWN, named_activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.t5 import Style, t5

MEANINGS = {
    "n": "layers of the encoder",
    "l": "layers of the decoder",
    "s": "positions that are read",
    "t": "positions that are written",
}
TITLES = {
    "t5": ("T5", "Raffel et al. 2020, T5"),
    "mt5": ("mT5", "Xue et al. 2021, mT5"),
    "umt5": ("umT5", "Chung et al. 2023, UniMax"),
}
PROJECTIONS = (*KNOWN, *(f"gated-{name}" for name in KNOWN))


def read_t5(fields: Fields, kind: str) -> Published:
    """Returns T5 or mT5."""
    act, gated = _activation(fields)
    tied = fields.flag("tie_word_embeddings", True)
    style = Style(
        activation=act,
        gated=gated,
        tied=tied,
        scaled=fields.flag("scale_decoder_outputs", tied and kind != "mt5"),
        buckets=fields.whole("relative_attention_num_buckets", default=32),
        each=kind == "umt5",
        far=fields.whole("relative_attention_max_distance", default=128),
        eps=fields.number("layer_norm_epsilon", default=1e-6),
    )
    title, source = TITLES[kind]
    system, kept = partial(t5, style=style), ("decoder.k", "decoder.v")
    return Published(
        title, source, _sizes(fields), system, rotary=False, meanings=MEANINGS, cached=kept
    )


def _sizes(fields: Fields) -> dict[str, int]:
    """Returns the sizes by their letters."""
    n = fields.whole("num_layers", default=6, most=LAYERS)
    return {
        "n": n,
        "l": fields.whole("num_decoder_layers", default=n, most=LAYERS),
        "s": SHORT,
        "t": SHORT,
        "m": fields.whole("d_model", default=512),
        "h": fields.whole("num_heads", default=8),
        "k": fields.whole("d_kv", default=64),
        "d": fields.whole("d_ff", default=2048),
        "v": fields.whole("vocab_size", default=32128),
    }


def _activation(fields: Fields) -> tuple[Term, bool]:
    """Returns the function of the feed-forward, and whether it has a gate.

    Raises:
        UnknownNameError: For a feed-forward that is not known here.
    """
    name = fields.choice("feed_forward_proj", default="relu", known=PROJECTIONS)
    gated = name.startswith("gated-")
    plain = name.removeprefix("gated-")
    return named_activation("gelu_new" if gated and plain == "gelu" else plain), gated
