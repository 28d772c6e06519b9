"""Configurations of DeepSeek, and of models that carry a state along the text."""

from __future__ import annotations

from functools import partial
from math import ceil

from ncd.errors import SizeError
from ncd.read.configs.config_fields import (
    LAYERS,
    OPENING_POSITIONS,
    Fields,
    PublishedModel,
    growth,
    rotary,
)
from ncd.systems.language_models.deepseek import DeepSeekDesign, deepseek
from ncd.systems.language_models.expert_mixture import Routing
from ncd.systems.recurrent.selective_state import mamba

# --- Configurations of DeepSeek-V2 and V3

SOURCES = {
    "deepseek_v2": "DeepSeek-AI 2024, DeepSeek-V2",
    "deepseek_v3": "DeepSeek-AI 2024, DeepSeek-V3",
}
TITLES = {"deepseek_v2": "DeepSeek-V2", "deepseek_v3": "DeepSeek-V3"}
DEEPSEEK_MEANINGS = {
    "k": "features of a head that know no position",
    "d": "hidden features of the first layers",
    "s": "groups that are chosen from",
}


def read_deepseek(fields: Fields, kind: str) -> PublishedModel:
    """Returns DeepSeek-V2 or V3."""
    design = DeepSeekDesign(
        dense=_dense(fields),
        compressed_queries=fields.get("q_lora_rank") is not None,
        routing=_routing(fields, kind),
        rotary=rotary(fields),
        scale=_scale(fields),
        eps=fields.number("rms_norm_eps", default=1e-6),
    )
    system = partial(deepseek, design=design)
    sizes, kept = _sizes(fields, design), ("kv_a_proj", "k_rope")
    return PublishedModel(
        TITLES[kind], SOURCES[kind], sizes, system, meanings=DEEPSEEK_MEANINGS, cached=kept
    )


def _dense(fields: Fields) -> int:
    """Returns how many of the first layers have no experts."""
    return (
        0
        if fields.get("first_k_dense_replace") == 0
        else fields.integer("first_k_dense_replace", default=1)
    )


def _routing(fields: Fields, kind: str) -> Routing:
    methods = ("greedy", "group_limited_greedy", "noaux_tc")
    sigmoid = kind == "deepseek_v3"
    usual = "noaux_tc" if sigmoid else "greedy"
    method = fields.choice("topk_method", default=usual, known=methods)
    return Routing(
        sigmoid=sigmoid,
        group_limited=(sigmoid or method != "greedy") and fields.integer("n_group", default=1) > 1,
        normalised=sigmoid and fields.flag("norm_topk_prob", True),
        factor=fields.number("routed_scaling_factor", default=2.5 if sigmoid else 1),
    )


def _scale(fields: Fields) -> float:
    """Returns the number by which scores are multiplied for stretched positions."""
    inner = fields.inner("rope_parameters", "rope_scaling")
    if not inner.get("mscale_all_dim"):
        return 1
    return growth(inner.number("factor", default=1), inner, "mscale_all_dim") ** 2


def _sizes(fields: Fields, design: DeepSeekDesign) -> dict[str, int]:
    """Returns the sizes by their letters.

    Raises:
        SizeError: If the groups do not divide the experts.
    """
    inner = fields.integer("moe_intermediate_size")
    sizes = {
        "n": fields.integer("num_hidden_layers", most=LAYERS),
        "t": min(OPENING_POSITIONS, fields.integer("max_position_embeddings", default=2048)),
        "m": fields.integer("hidden_size"),
        "h": fields.integer("num_attention_heads"),
        "k": fields.integer("qk_nope_head_dim", default=128),
        "b": fields.integer("qk_rope_head_dim", default=64),
        "w": fields.integer("v_head_dim", default=128),
        **({"a": fields.integer("q_lora_rank")} if design.compressed_queries else {}),
        "o": fields.integer("kv_lora_rank", default=512),
        "d": fields.integer("intermediate_size"),
        "f": inner,
        "g": inner * fields.integer("n_shared_experts", default=1),
        "e": fields.integer("n_routed_experts"),
        "c": fields.integer("num_experts_per_tok"),
    }
    if design.routing.group_limited:
        z = fields.integer("n_group")
        if sizes["e"] % z:
            fact = f"{z} groups do not divide {sizes['e']} experts"
            raise SizeError(fact, where="config.json", cure='"n_group": 1')
        sizes |= {"z": z, "s": fields.integer("topk_group")}
    return {**sizes, "v": fields.integer("vocab_size")}


# --- Configurations of Mamba

MAMBA_MEANINGS = {
    "d": "features inside a layer",
    "s": "numbers of the state for each of them",
    "r": "features from which the steps are made",
    "w": "positions that the convolution sees",
}


def rank(fields: Fields, name: str, m: int) -> int:
    """Returns the features from which the steps are made; by default a 16th of all."""
    return ceil(m / 16) if fields.get(name) in (None, "auto") else fields.integer(name)


def read_mamba(fields: Fields, kind: str) -> PublishedModel:
    """Returns Mamba."""
    m = fields.integer("hidden_size", "d_model", default=768)
    sizes = {
        "n": fields.integer("num_hidden_layers", "n_layer", default=32, most=LAYERS),
        "t": OPENING_POSITIONS,
        "m": m,
        "d": m * fields.integer("expand", default=2),
        "s": fields.integer("state_size", default=16),
        "r": rank(fields, "time_step_rank", m),
        "w": fields.integer("conv_kernel", default=4),
        "v": fields.integer("vocab_size", default=50280),
    }
    system = partial(
        mamba,
        eps=fields.number("layer_norm_epsilon", default=1e-5),
        bias=fields.flag("use_bias", False),
    )
    source = "Gu and Dao 2023, Mamba"
    return PublishedModel("Mamba", source, sizes, system, rotary=False, meanings=MAMBA_MEANINGS)
