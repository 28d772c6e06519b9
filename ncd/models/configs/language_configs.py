"""Configurations of GPT-2, of BERT and encoders like it, and of DeBERTa."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from ncd.lang.errors import SizeError
from ncd.models.configs.activation_names import activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.bert import Encoder, bert
from ncd.models.language_models.deberta import Distances, deberta
from ncd.models.language_models.gpt2 import gpt2

MEANINGS = {"a": "features of an embedding"}


def read_gpt2(fields: Fields, kind: str) -> Published:
    """Returns GPT-2."""
    m, h = fields.whole("n_embd", "hidden_size", default=768), fields.whole("n_head", default=12)
    u = fields.whole("n_positions", "n_ctx", default=1024)
    sizes = {
        "n": fields.whole("n_layer", default=12, most=LAYERS),
        "t": min(SHORT, u),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.whole("n_inner", default=4 * m),
        "u": u,
        "v": fields.whole("vocab_size", default=50257),
    }
    eps = fields.number("layer_norm_epsilon", default=1e-5)
    act = activation(fields, "activation_function", default="gelu_new")
    system = partial(gpt2, eps=eps, activation=act)
    source = "Radford et al. 2019, GPT-2"
    return Published("GPT-2", source, sizes, system, rotary=False, positions=u, cached=("k", "v"))


ENCODERS: Mapping[str, tuple[str, str, Encoder]] = {
    "bert": ("BERT", "Devlin et al. 2019, BERT", Encoder()),
    "roberta": ("RoBERTa", "Liu et al. 2019, RoBERTa", Encoder(skipped=2)),
    "camembert": ("CamemBERT", "Martin et al. 2020, CamemBERT", Encoder(skipped=2)),
    "xlm-roberta": ("XLM-R", "Conneau et al. 2020, XLM-R", Encoder(skipped=2)),
    "distilbert": (
        "DistilBERT",
        "Sanh et al. 2019, DistilBERT",
        Encoder(sentences=False, pooler=False),
    ),
    "electra": ("ELECTRA", "Clark et al. 2020, ELECTRA", Encoder(pooler=False, narrow=True)),
    "albert": ("ALBERT", "Lan et al. 2020, ALBERT", Encoder(narrow=True, shared=True)),
}


def read_bert(fields: Fields, kind: str) -> Published:
    """Returns BERT, or an encoder like it."""
    title, source, encoder = ENCODERS[kind]
    m, h = fields.whole("hidden_size", "dim"), fields.whole("num_attention_heads", "n_heads")
    a = fields.whole("embedding_size", default=128) if encoder.narrow else m
    fields.same("num_hidden_groups", 1)
    encoder = replace(
        encoder,
        narrow=a != m or kind == "albert",
        skipped=encoder.skipped and fields.whole("pad_token_id", default=1) + 1,
        eps=fields.number("layer_norm_eps", default=1e-12),
        activation=activation(fields, "hidden_act", "activation", default="gelu"),
    )
    u = fields.whole("max_position_embeddings", default=512)
    sizes = {
        "n": fields.whole("num_hidden_layers", "n_layers", most=LAYERS),
        "t": min(SHORT, u),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.whole("intermediate_size", "hidden_dim"),
        **({"s": fields.whole("type_vocab_size", default=2)} if encoder.sentences else {}),
        "u": u,
        "v": fields.whole("vocab_size"),
        **({"a": a} if encoder.narrow else {}),
    }
    system, places = partial(bert, encoder=encoder), u - encoder.skipped
    return Published(title, source, sizes, system, False, places, MEANINGS)


# What DeBERTa's third version has: distances alone, read by the maps of queries and keys.
DEBERTA = {
    **{"relative_attention": True, "share_att_key": True, "position_biased_input": False},
    **{"norm_rel_ebd": "layer_norm", "type_vocab_size": 0, "conv_kernel_size": 0},
}


def read_deberta(fields: Fields, kind: str) -> Published:
    """Returns the third version of DeBERTa.

    Raises:
        SizeError: For choices of another version.
    """
    for name, value in DEBERTA.items():
        fields.fixed(name, value)
    if not all(each in str(fields.get("pos_att_type")) for each in ("p2c", "c2p")):
        fields.fixed("pos_att_type", "p2c|c2p")
    m, h = fields.whole("hidden_size"), fields.whole("num_attention_heads")
    fields.same("embedding_size", m)
    u, far = (
        fields.whole("max_position_embeddings", default=512),
        fields.get("max_relative_positions"),
    )
    distances = Distances(
        fields.whole("position_buckets", default=256, most=u),
        u if far == -1 else fields.whole("max_relative_positions", default=u),
        fields.number("layer_norm_eps", default=1e-7),
        activation(fields, "hidden_act", default="gelu"),
    )
    if distances.buckets < 2 or distances.far <= distances.buckets // 2 + 1:
        fact = f"{distances.buckets} distances are told apart of {distances.far}"
        raise SizeError(fact, where="config.json", cure='"position_buckets": 256')
    sizes = {
        "n": fields.whole("num_hidden_layers", most=LAYERS),
        **{"t": min(SHORT, u), "h": h, "k": fields.heads(m, h)},
        **{"d": fields.whole("intermediate_size"), "v": fields.whole("vocab_size")},
    }
    system = partial(deberta, distances=distances)
    return Published("DeBERTa v3", "He et al. 2021, DeBERTaV3", sizes, system, False, u)
