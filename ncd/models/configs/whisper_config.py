"""Configurations of Whisper."""

from __future__ import annotations

from functools import partial

from ncd.models.configs.activation_names import activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.whisper import whisper

MEANINGS = {
    "n": "layers of the encoder",
    "l": "layers of the decoder",
    "s": "positions of the encoder, two frames each",
    "t": "words that are written",
    "c": "frequencies",
    "d": "hidden features of the encoder",
    "e": "hidden features of the decoder",
}


def read_whisper(fields: Fields, kind: str) -> Published:
    """Returns Whisper.

    Raises:
        SizeError: If encoder and decoder have heads of different sizes.
    """
    m, h = fields.whole("d_model", default=384), fields.whole("encoder_attention_heads", default=6)
    fields.same("decoder_attention_heads", h)
    u = fields.whole("max_target_positions", default=448)
    sizes = {
        "n": fields.whole("encoder_layers", default=4, most=LAYERS),
        "l": fields.whole("decoder_layers", default=4, most=LAYERS),
        "s": fields.whole("max_source_positions", default=1500),
        "t": min(SHORT, u),
        "c": fields.whole("num_mel_bins", default=80),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.whole("encoder_ffn_dim", default=1536),
        "e": fields.whole("decoder_ffn_dim", default=1536),
        "u": u,
        "v": fields.whole("vocab_size", default=51865),
    }
    act = activation(fields, "activation_function", default="gelu")
    system = partial(whisper, activation=act)
    source = "Radford et al. 2022, Whisper"
    kept = ("decoder.k_proj", "decoder.v_proj")
    return Published("Whisper", source, sizes, system, False, u, MEANINGS, kept)
