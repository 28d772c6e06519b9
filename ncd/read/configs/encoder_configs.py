"""Configurations of encoders, and of models that read one text and write another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ncd.errors import SizeError
from ncd.language.terms import Term
from ncd.read.configs.config_fields import (
    ACTIVATION_NAMES,
    LAYERS,
    OPENING_POSITIONS,
    Fields,
    PublishedModel,
    activation,
    named_activation,
)
from ncd.systems.language_models.bart import BartStyle, bart
from ncd.systems.language_models.bert import Distances, Encoder, bert, deberta
from ncd.systems.language_models.gpt2 import gpt2
from ncd.systems.language_models.t5 import T5Style, t5
from ncd.systems.language_models.whisper import whisper

# --- Configurations of GPT-2, of BERT and encoders like it, and of DeBERTa

ENCODER_MEANINGS = {"a": "features of an embedding"}


def read_gpt2(fields: Fields, kind: str) -> PublishedModel:
    """Returns GPT-2."""
    m, h = (
        fields.integer("n_embd", "hidden_size", default=768),
        fields.integer("n_head", default=12),
    )
    u = fields.integer("n_positions", "n_ctx", default=1024)
    sizes = {
        "n": fields.integer("n_layer", default=12, most=LAYERS),
        "t": min(OPENING_POSITIONS, u),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.integer("n_inner", default=4 * m),
        "u": u,
        "v": fields.integer("vocab_size", default=50257),
    }
    eps = fields.number("layer_norm_epsilon", default=1e-5)
    act = activation(fields, "activation_function", default="gelu_new")
    system = partial(gpt2, eps=eps, activation=act)
    source = "Radford et al. 2019, GPT-2"
    return PublishedModel(
        "GPT-2", source, sizes, system, rotary=False, positions=u, cached=("k", "v")
    )


ENCODERS: Mapping[str, tuple[str, str, Encoder]] = {
    "bert": ("BERT", "Devlin et al. 2019, BERT", Encoder()),
    "roberta": ("RoBERTa", "Liu et al. 2019, RoBERTa", Encoder(skipped_positions=2)),
    "camembert": ("CamemBERT", "Martin et al. 2020, CamemBERT", Encoder(skipped_positions=2)),
    "xlm-roberta": ("XLM-R", "Conneau et al. 2020, XLM-R", Encoder(skipped_positions=2)),
    "distilbert": (
        "DistilBERT",
        "Sanh et al. 2019, DistilBERT",
        Encoder(sentences=False, pooler=False),
    ),
    "electra": ("ELECTRA", "Clark et al. 2020, ELECTRA", Encoder(pooler=False, narrow=True)),
    "albert": ("ALBERT", "Lan et al. 2020, ALBERT", Encoder(narrow=True, shares_weights=True)),
}


def read_bert(fields: Fields, kind: str) -> PublishedModel:
    """Returns BERT, or an encoder like it."""
    title, source, encoder = ENCODERS[kind]
    m, h = fields.integer("hidden_size", "dim"), fields.integer("num_attention_heads", "n_heads")
    a = fields.integer("embedding_size", default=128) if encoder.narrow else m
    fields.check_consistent("num_hidden_groups", 1)
    encoder = replace(
        encoder,
        narrow=a != m or kind == "albert",
        skipped_positions=encoder.skipped_positions
        and fields.integer("pad_token_id", default=1) + 1,
        eps=fields.number("layer_norm_eps", default=1e-12),
        activation=activation(fields, "hidden_act", "activation", default="gelu"),
    )
    u = fields.integer("max_position_embeddings", default=512)
    places = u - encoder.skipped_positions
    sizes = {
        "n": fields.integer("num_hidden_layers", "n_layers", most=LAYERS),
        "t": min(OPENING_POSITIONS, places),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.integer("intermediate_size", "hidden_dim"),
        **({"s": fields.integer("type_vocab_size", default=2)} if encoder.sentences else {}),
        "u": u,
        "v": fields.integer("vocab_size"),
        **({"a": a} if encoder.narrow else {}),
    }
    system = partial(bert, encoder=encoder)
    return PublishedModel(title, source, sizes, system, False, places, ENCODER_MEANINGS)


# What DeBERTa's third version has: distances alone, read by the maps of queries and keys.
DEBERTA = {
    **{"relative_attention": True, "share_att_key": True, "position_biased_input": False},
    **{"norm_rel_ebd": "layer_norm", "type_vocab_size": 0, "conv_kernel_size": 0},
}


def read_deberta(fields: Fields, kind: str) -> PublishedModel:
    """Returns the third version of DeBERTa.

    Raises:
        SizeError: For choices of another version.
    """
    for name, value in DEBERTA.items():
        fields.check_supported(name, value)
    if not all(each in str(fields.get("pos_att_type")) for each in ("p2c", "c2p")):
        fields.check_supported("pos_att_type", "p2c|c2p")
    m, h = fields.integer("hidden_size"), fields.integer("num_attention_heads")
    fields.check_consistent("embedding_size", m)
    u, far = (
        fields.integer("max_position_embeddings", default=512),
        fields.get("max_relative_positions"),
    )
    distances = Distances(
        fields.integer("position_buckets", default=256, most=u),
        u if far == -1 else fields.integer("max_relative_positions", default=u),
        fields.number("layer_norm_eps", default=1e-7),
        activation(fields, "hidden_act", default="gelu"),
    )
    if distances.buckets < 2 or distances.far <= distances.buckets // 2 + 1:
        fact = f"{distances.buckets} distances are told apart of {distances.far}"
        raise SizeError(fact, where="config.json", cure='"position_buckets": 256')
    sizes = {
        "n": fields.integer("num_hidden_layers", most=LAYERS),
        **{"t": min(OPENING_POSITIONS, u), "h": h, "k": fields.heads(m, h)},
        **{"d": fields.integer("intermediate_size"), "v": fields.integer("vocab_size")},
    }
    system = partial(deberta, distances=distances)
    return PublishedModel("DeBERTa v3", "He et al. 2021, DeBERTaV3", sizes, system, False, u)


# --- Configurations of T5

T5_MEANINGS = {
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
PROJECTIONS = (*ACTIVATION_NAMES, *(f"gated-{name}" for name in ACTIVATION_NAMES))


def read_t5(fields: Fields, kind: str) -> PublishedModel:
    """Returns T5 or mT5."""
    act, gated = _activation(fields)
    tied = fields.flag("tie_word_embeddings", True)
    style = T5Style(
        activation=act,
        gated=gated,
        tied=tied,
        scales_scores=fields.flag("scale_decoder_outputs", tied and kind != "mt5"),
        buckets=fields.integer("relative_attention_num_buckets", default=32),
        table_per_layer=kind == "umt5",
        far=fields.integer("relative_attention_max_distance", default=128),
        eps=fields.number("layer_norm_epsilon", default=1e-6),
    )
    title, source = TITLES[kind]
    system, kept = partial(t5, style=style), ("decoder.k", "decoder.v")
    return PublishedModel(
        title, source, _sizes(fields), system, rotary=False, meanings=T5_MEANINGS, cached=kept
    )


def _sizes(fields: Fields) -> dict[str, int]:
    """Returns the sizes by their letters."""
    n = fields.integer("num_layers", default=6, most=LAYERS)
    return {
        "n": n,
        "l": fields.integer("num_decoder_layers", default=n, most=LAYERS),
        "s": OPENING_POSITIONS,
        "t": OPENING_POSITIONS,
        "m": fields.integer("d_model", default=512),
        "h": fields.integer("num_heads", default=8),
        "k": fields.integer("d_kv", default=64),
        "d": fields.integer("d_ff", default=2048),
        "v": fields.integer("vocab_size", default=32128),
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


# --- Configurations of Whisper

WHISPER_MEANINGS = {
    "n": "layers of the encoder",
    "l": "layers of the decoder",
    "s": "positions of the encoder, two frames each",
    "t": "words that are written",
    "c": "frequencies",
    "d": "hidden features of the encoder",
    "e": "hidden features of the decoder",
}


def read_whisper(fields: Fields, kind: str) -> PublishedModel:
    """Returns Whisper.

    Raises:
        SizeError: If encoder and decoder have heads of different sizes.
    """
    m, h = (
        fields.integer("d_model", default=384),
        fields.integer("encoder_attention_heads", default=6),
    )
    fields.check_consistent("decoder_attention_heads", h)
    u = fields.integer("max_target_positions", default=448)
    sizes = {
        "n": fields.integer("encoder_layers", default=4, most=LAYERS),
        "l": fields.integer("decoder_layers", default=4, most=LAYERS),
        "s": fields.integer("max_source_positions", default=1500),
        "t": min(OPENING_POSITIONS, u),
        "c": fields.integer("num_mel_bins", default=80),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.integer("encoder_ffn_dim", default=1536),
        "e": fields.integer("decoder_ffn_dim", default=1536),
        "u": u,
        "v": fields.integer("vocab_size", default=51865),
    }
    act = activation(fields, "activation_function", default="gelu")
    system = partial(whisper, activation=act)
    source = "Radford et al. 2022, Whisper"
    kept = ("decoder.k_proj", "decoder.v_proj")
    return PublishedModel("Whisper", source, sizes, system, False, u, WHISPER_MEANINGS, kept)


# --- Configurations of BART, and of models like it

BART_MEANINGS = {
    "n": "layers of the encoder",
    "l": "layers of the decoder",
    "s": "positions that are read",
    "t": "positions that are written",
    "d": "hidden features of the encoder",
    "e": "hidden features of the decoder",
}
SINES = BartStyle(pre_norm=True, has_position_table=False, skipped_positions=0, first_norm=False)
BARTS: Mapping[str, tuple[str, str, BartStyle]] = {
    "bart": ("BART", "Lewis et al. 2020, BART", BartStyle()),
    "mbart": ("mBART", "Liu et al. 2020, mBART", BartStyle(pre_norm=True)),
    "pegasus": ("PEGASUS", "Zhang et al. 2020, PEGASUS", SINES),
    "marian": ("Marian", "Junczys-Dowmunt et al. 2018, Marian", replace(SINES, pre_norm=False)),
    "m2m_100": (
        "M2M-100",
        "Fan et al. 2021, M2M-100",
        replace(SINES, skipped_positions=2, slower=1),
    ),
    "blenderbot": (
        "BlenderBot",
        "Roller et al. 2021, BlenderBot",
        BartStyle(pre_norm=True, skipped_positions=0, first_norm=False),
    ),
}


def read_bart(fields: Fields, kind: str) -> PublishedModel:
    """Returns BART, or a model like it.

    Raises:
        SizeError: If encoder and decoder have other heads or words.
    """
    title, source, style = BARTS[kind]
    m, h = fields.integer("d_model"), fields.integer("encoder_attention_heads")
    fields.check_consistent("decoder_attention_heads", h)
    for name in ("share_encoder_decoder_embeddings", "tie_word_embeddings"):
        fields.check_supported(name, True)
    u, v = fields.integer("max_position_embeddings", default=1024), fields.integer("vocab_size")
    fields.check_consistent("decoder_vocab_size", v)
    style = replace(
        style,
        activation=activation(fields, "activation_function", default="gelu"),
        scales_embeddings=fields.flag("scale_embedding"),
    )
    sizes = {
        "n": fields.integer("encoder_layers", "num_layers", most=LAYERS),
        "l": fields.integer("decoder_layers", "num_layers", most=LAYERS),
        **{"s": OPENING_POSITIONS, "t": min(OPENING_POSITIONS, u), "h": h, "k": fields.heads(m, h)},
        "d": fields.integer("encoder_ffn_dim"),
        "e": fields.integer("decoder_ffn_dim"),
        **({"u": u + style.skipped_positions} if style.has_position_table else {}),
        "v": v,
    }
    kept = ("decoder.k_proj", "decoder.v_proj")
    positions = u if style.has_position_table else 0
    system = partial(bart, style=style)
    return PublishedModel(title, source, sizes, system, False, positions, BART_MEANINGS, kept)
