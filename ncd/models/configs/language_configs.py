"""Configurations of GPT-2 and BERT."""

from __future__ import annotations

from functools import partial

from ncd.models.configs.activation_names import activation
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.bert import bert
from ncd.models.language_models.gpt2 import gpt2


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


def read_bert(fields: Fields, kind: str) -> Published:
    """Returns BERT."""
    m, h = (fields.whole(name) for name in ("hidden_size", "num_attention_heads"))
    u = fields.whole("max_position_embeddings", default=512)
    sizes = {
        "n": fields.whole("num_hidden_layers", most=LAYERS),
        "t": min(SHORT, u),
        "h": h,
        "k": fields.heads(m, h),
        "d": fields.whole("intermediate_size"),
        "s": fields.whole("type_vocab_size", default=2),
        "u": u,
        "v": fields.whole("vocab_size"),
    }
    eps = fields.number("layer_norm_eps", default=1e-12)
    system = partial(bert, eps=eps, activation=activation(fields, "hidden_act", default="gelu"))
    return Published("BERT", "Devlin et al. 2019, BERT", sizes, system, rotary=False, positions=u)
