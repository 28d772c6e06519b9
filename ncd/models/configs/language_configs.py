"""Configurations of language models."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import log

from ncd.lang.errors import ParseError
from ncd.lang.terms.terms import Term
from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.language_models.bert import bert
from ncd.models.language_models.gemma import Variant, gemma
from ncd.models.language_models.gpt2 import gpt2
from ncd.models.language_models.llama import llama
from ncd.models.language_models.mixtral import mixtral
from ncd.models.language_models.model_parts import tanh_gelu
from ncd.models.language_models.rotary_positions import Rotary
from ncd.ops import Elementwise

SOURCES = {
    "gpt2": "Radford et al. 2019, GPT-2",
    "bert": "Devlin et al. 2019, BERT",
    "llama": "Touvron et al. 2023, LLaMA",
    "mistral": "Jiang et al. 2023, Mistral 7B",
    "mixtral": "Jiang et al. 2024, Mixtral",
    "qwen2": "Yang et al. 2024, Qwen2",
    "qwen3": "Yang et al. 2025, Qwen3",
    "gemma": "Gemma Team 2024, Gemma",
    "gemma2": "Gemma Team 2024, Gemma 2",
    "gemma3_text": "Gemma Team 2025, Gemma 3",
}
TANH = ("gelu_new", "gelu_pytorch_tanh", "gelu_fast")  # three names of one function
KNOWN = ("gelu", "relu", "silu", "swish", "tanh", *TANH)


def activation(fields: Fields, *names: str, default: str) -> Term:
    """Returns the function of the feed-forward.

    Raises:
        UnknownNameError: For one that is not known here.
    """
    return named_activation(fields.choice(*names, default=default, known=KNOWN))


def named_activation(name: str) -> Term:
    """Returns the function of one of the ``KNOWN`` names."""
    return tanh_gelu() if name in TANH else Elementwise("silu" if name == "swish" else name)


def rotary(fields: Fields, base: float = 10000, of: str = "") -> Rotary:
    """Returns the rotation angles of the positions, for one kind of layer.

    Raises:
        UnknownNameError: For a scaling that is not known here.
    """
    inner = fields.inner("rope_parameters", "rope_scaling")
    inner = inner.inner(of) if of and inner.get(of) is not None else inner
    base = inner.number("rope_theta", default=fields.number("rope_theta", default=base))
    known = ("default", "linear", "llama3", "yarn")
    kind = inner.choice("rope_type", "type", default="default", known=known)
    factor = inner.number("factor", default=1)
    positions = inner.whole("original_max_position_embeddings", default=8192)
    if kind == "linear":
        return Rotary.interpolated(base, factor)
    if kind == "llama3":
        low = inner.number("low_freq_factor", default=1)
        high = inner.number("high_freq_factor", default=4)
        return Rotary.llama3(base, factor, low, high, positions)
    if kind == "yarn":
        fast, slow = inner.number("beta_fast", default=32), inner.number("beta_slow", default=1)
        return Rotary.yarn(base, factor, positions, fast, slow, magnitude(inner, factor))
    return Rotary.plain(base)


def magnitude(inner: Fields, factor: float) -> float:
    """Returns the number that YaRN multiplies rotated features by: its section 3.4."""
    if inner.get("attention_factor") is not None:
        return inner.number("attention_factor", default=1)
    whole, every = (inner.get(name) for name in ("mscale", "mscale_all_dim"))
    if whole and every:
        return growth(factor, inner, "mscale") / growth(factor, inner, "mscale_all_dim")
    return growth(factor, inner, "")


def growth(factor: float, inner: Fields, name: str) -> float:
    """Returns how much scores grow when positions are stretched by a factor."""
    by = inner.number(name, default=1) if name else 1
    return 0.1 * by * log(factor) + 1 if factor > 1 else 1


def decoder_sizes(fields: Fields) -> dict[str, int]:
    """Returns the sizes of a model like Llama."""
    heads, m = fields.whole("num_attention_heads"), fields.whole("hidden_size")
    g, q = fields.groups(heads)
    return {
        "n": fields.whole("num_hidden_layers", most=LAYERS),
        "t": min(SHORT, fields.whole("max_position_embeddings", default=2048)),
        "m": m,
        "g": g,
        "q": q,
        "k": fields.heads(m, heads),
        "d": fields.whole("intermediate_size"),
        "v": fields.whole("vocab_size"),
    }


def read_llama(fields: Fields, kind: str) -> Published:
    """Returns Llama, Mistral, Qwen 2 or Qwen 3."""
    qwen = kind == "qwen2"
    system = partial(
        llama,
        rotary=rotary(fields),
        eps=fields.number("rms_norm_eps", default=1e-6),
        tied=fields.flag("tie_word_embeddings"),
        bias=qwen or (kind != "mistral" and fields.flag("attention_bias")),
        out_bias=kind in ("llama", "qwen3") and fields.flag("attention_bias"),
        mlp_bias=fields.flag("mlp_bias"),
        head_norm=kind == "qwen3",
        window=_window(fields, kind),
        activation=activation(fields, "hidden_act", default="silu"),
    )
    titles = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen 2", "qwen3": "Qwen 3"}
    return Published(titles[kind], SOURCES[kind], decoder_sizes(fields), system)


def _window(fields: Fields, kind: str) -> int:
    """Returns how many positions each one sees; 0 for all.

    Raises:
        ParseError: If some layers see all, and others do not.
    """
    kinds = fields.get("layer_types")
    if kind == "llama" or fields.get("sliding_window") is None:
        return 0
    if isinstance(kinds, list):
        if len({str(one) for one in kinds}) > 1:
            fact = "its layers alternate between windows and all positions"
            raise ParseError(fact, where="config.json", cure="a model whose layers are equal")
        return fields.whole("sliding_window") if kinds[:1] == ["sliding_attention"] else 0
    uses = kind == "mistral" or fields.flag("use_sliding_window")
    return fields.whole("sliding_window") if uses else 0


def read_mixtral(fields: Fields, kind: str) -> Published:
    """Returns Mixtral."""
    sizes = decoder_sizes(fields)
    v = sizes.pop("v")
    sizes |= {"e": fields.whole("num_local_experts", default=8)}
    sizes |= {"c": fields.whole("num_experts_per_tok", default=2), "v": v}
    window = fields.whole("sliding_window") if fields.get("sliding_window") is not None else 0
    eps = fields.number("rms_norm_eps", default=1e-5)
    system = partial(mixtral, rotary=rotary(fields, 1e6), eps=eps, window=window)
    return Published("Mixtral", SOURCES[kind], sizes, system)


def read_gemma(fields: Fields, kind: str) -> Published:
    """Returns a generation of Gemma."""
    variant = Variant(
        rotary=rotary(fields, of="full_attention"),
        eps=fields.number("rms_norm_eps", default=1e-6),
    )
    if kind != "gemma":
        variant = replace(
            variant,
            window=fields.whole("sliding_window", default=4096),
            every=_every(fields, 2 if kind == "gemma2" else 6),
            around=True,
            scale=fields.number("query_pre_attn_scalar", default=256),
            local=variant.rotary,
        )
    if kind == "gemma2":
        score = fields.number("attn_logit_softcapping", default=50)
        word = fields.number("final_logit_softcapping", default=30)
        variant = replace(variant, score_cap=score, word_cap=word)
    if kind == "gemma3_text":
        near = fields.number("rope_local_base_freq", default=10000)
        local = rotary(Fields({"rope_parameters": fields.get("rope_parameters")}), near, _LOCAL)
        far = rotary(fields, 1e6, "full_attention")
        variant = replace(variant, head_norm=True, rotary=far, local=local)
    titles = {"gemma": "Gemma", "gemma2": "Gemma 2", "gemma3_text": "Gemma 3"}
    system = partial(gemma, variant=variant)
    return Published(titles[kind], SOURCES[kind], decoder_sizes(fields), system)


_LOCAL = "sliding_attention"


def _every(fields: Fields, default: int) -> int:
    """Returns the number of layers in a round, of which the last sees all positions.

    Raises:
        ParseError: If the rounds differ.
    """
    kinds = fields.get("layer_types")
    if not isinstance(kinds, list):
        return fields.whole(
            "sliding_window_pattern", "_sliding_window_pattern", default=default, most=LAYERS
        )
    places = [i for i, kind in enumerate(kinds) if kind != _LOCAL]
    every = places[0] + 1 if places else len(kinds) + 1
    if len(kinds) > LAYERS or any(b - a != every for a, b in pairwise(places)):
        raise ParseError("its layers follow no pattern", where="config.json", cure="equal rounds")
    return every


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
    return Published("GPT-2", SOURCES[kind], sizes, system, rotary=False, positions=u)


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
    return Published("BERT", SOURCES[kind], sizes, system, rotary=False, positions=u)
