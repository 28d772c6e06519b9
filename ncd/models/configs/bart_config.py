"""Configurations of BART, and of models like it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ncd.models.configs.activation_names import activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.bart import Style, bart

MEANINGS = {
    "n": "layers of the encoder",
    "l": "layers of the decoder",
    "s": "positions that are read",
    "t": "positions that are written",
    "d": "hidden features of the encoder",
    "e": "hidden features of the decoder",
}
SINES = Style(before=True, learned=False, skipped=0, first_norm=False)
BARTS: Mapping[str, tuple[str, str, Style]] = {
    "bart": ("BART", "Lewis et al. 2020, BART", Style()),
    "mbart": ("mBART", "Liu et al. 2020, mBART", Style(before=True)),
    "pegasus": ("PEGASUS", "Zhang et al. 2020, PEGASUS", SINES),
    "marian": ("Marian", "Junczys-Dowmunt et al. 2018, Marian", replace(SINES, before=False)),
    "m2m_100": ("M2M-100", "Fan et al. 2021, M2M-100", replace(SINES, skipped=2, slower=1)),
    "blenderbot": (
        "BlenderBot",
        "Roller et al. 2021, BlenderBot",
        Style(before=True, skipped=0, first_norm=False),
    ),
}


def read_bart(fields: Fields, kind: str) -> Published:
    """Returns BART, or a model like it.

    Raises:
        SizeError: If encoder and decoder have other heads or words.
    """
    title, source, style = BARTS[kind]
    m, h = fields.whole("d_model"), fields.whole("encoder_attention_heads")
    fields.same("decoder_attention_heads", h)
    for name in ("share_encoder_decoder_embeddings", "tie_word_embeddings"):
        fields.fixed(name, True)
    u, v = fields.whole("max_position_embeddings", default=1024), fields.whole("vocab_size")
    fields.same("decoder_vocab_size", v)
    style = replace(
        style,
        activation=activation(fields, "activation_function", default="gelu"),
        grown=fields.flag("scale_embedding"),
    )
    sizes = {
        "n": fields.whole("encoder_layers", "num_layers", most=LAYERS),
        "l": fields.whole("decoder_layers", "num_layers", most=LAYERS),
        **{"s": SHORT, "t": min(SHORT, u), "h": h, "k": fields.heads(m, h)},
        "d": fields.whole("encoder_ffn_dim"),
        "e": fields.whole("decoder_ffn_dim"),
        **({"u": u + style.skipped} if style.learned else {}),
        "v": v,
    }
    kept = ("decoder.k_proj", "decoder.v_proj")
    positions = u if style.learned else 0
    system = partial(bart, style=style)
    return Published(title, source, sizes, system, False, positions, MEANINGS, kept)
