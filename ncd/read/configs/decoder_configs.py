"""Reads the configurations of decoders by their rows in the table of differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields as names_of
from functools import partial
from math import inf
from typing import Any

from ncd.errors import ParseError, SizeError
from ncd.language.terms import Term
from ncd.read.configs.config_fields import (
    LAYERS,
    OPENING_POSITIONS,
    Fields,
    PublishedModel,
    activation,
    rotary,
)
from ncd.read.configs.decoder_family import GLOBAL, Family, FieldChoice, FieldValue, layers
from ncd.read.configs.decoder_table import DENSE, SPARSE
from ncd.read.configs.latent_and_state_configs import rank
from ncd.systems.language_models.decoder import DecoderDesign, Heads, Norm, decoder
from ncd.systems.language_models.expert_mixture import Routing, softmax_router
from ncd.systems.recurrent.gated_convolution import gated_convolution
from ncd.systems.recurrent.selective_state import mamba_block
from ncd.systems.recurrent.state_mixers import StateMixer

FAMILIES: Mapping[str, Family] = {**DENSE, **SPARSE}
FEATURES = ("hidden_size", "n_embd", "d_model")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
GROUPS = ("num_key_value_heads", "num_kv_heads", "kv_n_heads")
DEPTH = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HIDDEN = ("intermediate_size", "ffn_dim", "n_inner", "ffn_hidden_size")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
HEAD = ("head_dim", "kv_channels")
EPS = ("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps")
ACTIVATION = ("hidden_act", "hidden_activation", "activation_function", "activation")
KERNEL = ("conv_L_cache", "mamba_d_conv", "conv_kernel", "linear_conv_kernel_dim")
EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
CHOSEN_EXPERTS = ("num_experts_per_tok", "moe_top_k")
SHARED_EXPERT_WIDTH = ("shared_expert_intermediate_size", "shared_intermediate_size")
INNER = ("text_config", "attn_config", "ffn_config")  # fields that hold further ones
MEANINGS = {
    "b": "features of a head that turn with the position",
    "x": "hidden features of the shared expert",
    "i": "features inside a layer with a state",
    "s": "numbers of the state for each of them",
    "z": "features inside a gated convolution",
    "r": "features from which the steps are made",
}
OF_STATES = {
    "w": "groups of heads with a state, which share keys",
    "h": "heads of each of them",
    "o": "features of such a head",
    "s": "rows of its state",
}


SMALL_STATES = {"w": 2, "h": 2, "o": 8, "s": 8}
LONGEST_STEP = 10**6
NO_ATTENTION = {**dict.fromkeys("gqkdu", 1), "b": 0}


def read_decoder(fields: Fields, kind: str) -> PublishedModel:
    """Returns the decoder that a configuration describes.

    Raises:
        SizeError: For sizes that do not meet.
        ParseError: For a field that is missing.
    """
    family = FAMILIES[kind]
    fields = _normalised_fields(fields, family)
    choices = {name: _value(fields, value) for name, value in family.choices.items()}
    sizes = _sizes(fields, choices)
    design = _design(fields, choices, sizes)
    used = {key: n for key, n in sizes.items() if key not in _unused_sizes(design, sizes)}
    return PublishedModel(
        family.title,
        family.source,
        used,
        partial(decoder, design),
        rotary=design.heads.rotary is not None,
        positions=sizes["u"] - design.positions if design.positions is not None else 0,
        meanings=MEANINGS | (OF_STATES if "o" in used else {}),
        cached=("k_proj", "v_proj") if design.heads.causal and "g" in used else (),
        notes=_notes(fields, kind),
        small_sizes=SMALL_STATES if "o" in used else {},
    )


def _normalised_fields(fields: Fields, family: Family) -> Fields:
    """Returns the fields with those of inner ones, usual ones, and the family's own spelling."""
    values = {key: value for key, value in fields.values.items() if value is not None}
    for name in INNER:
        inner = fields.get(name)
        own = FEATURES if any(each in values for each in FEATURES) else ()
        inner = inner if isinstance(inner, Mapping) else {}
        values = {**{key: inner[key] for key in inner if key not in own}, **values}
    values = {**family.defaults, **values}
    if family.rewrite:
        values |= family.rewrite(values)
    made = Fields(values, fields.read_names)
    for name, value in family.fixed_fields.items():
        made.check_supported(name, value)
    return made


def _value(fields: Fields, choice: Any) -> Any:
    """Returns a choice; that of a field is read from it."""
    if isinstance(choice, FieldChoice):
        return choice.value if fields.get(choice.name) else ""
    if not isinstance(choice, FieldValue):
        return choice
    if choice.is_rewritten:
        return fields.get(choice.name)
    if isinstance(choice.default_value, bool):
        return fields.flag(choice.name, choice.default_value)
    if fields.get(choice.name) in (None, 0) and not choice.default_value:
        return choice.default_value
    return fields.number(choice.name, default=choice.default_value)


def _sizes(fields: Fields, choices: Mapping[str, Any]) -> dict[str, int]:
    """Returns all sizes by their letters."""
    m, u = fields.integer(*FEATURES), fields.integer(*POSITIONS, default=2048)
    sizes = {
        "n": fields.integer(*DEPTH, most=LAYERS),
        **{"t": min(OPENING_POSITIONS, u), "m": m},
        **(NO_ATTENTION if choices.get("alone") else _attention_sizes(fields, choices, m)),
    }
    if choices.get("router"):
        inner = fields.integer("moe_intermediate_size", default=sizes["d"])
        shared = fields.integer("n_shared_experts", default=1) * inner
        sizes |= {"f": inner, "x": fields.integer(*SHARED_EXPERT_WIDTH, default=shared)}
        sizes |= {"e": fields.integer(*EXPERTS), "c": fields.integer(*CHOSEN_EXPERTS)}
    if "mixer" in choices:
        sizes |= _state_sizes(fields, choices["mixer"], m)
    skipped = choices.get("positions") or 0
    return {**sizes, "u": u + skipped, "v": fields.integer("vocab_size")}


def _attention_sizes(fields: Fields, choices: Mapping[str, Any], m: int) -> dict[str, int]:
    """Returns the sizes of attention and of the feed-forward."""
    heads = fields.integer(*HEADS)
    g, q = fields.groups(heads, *GROUPS)
    k = fields.heads(m, heads, *HEAD)
    sizes = {"g": g, "q": q, "k": k, "b": _rotary_feature_count(fields, choices, k)}
    return {**sizes, "d": fields.integer(*HIDDEN, default=4 * m if choices.get("wide") else None)}


def _state_sizes(fields: Fields, mixer: str, m: int) -> dict[str, int]:
    """Returns the sizes of layers with a state."""
    if mixer == "convolution":
        return {"z": m}
    if mixer == "mamba":
        i, s = (
            m * fields.integer("mamba_expand", default=2),
            fields.integer("mamba_d_state", default=16),
        )
        return {"i": i, "s": s, "r": rank(fields, "mamba_dt_rank", m)}
    if mixer == "delta":
        w = fields.integer("linear_num_key_heads", default=16)
        heads = fields.integer("linear_num_value_heads", default=32)
        o, s = (fields.integer(f"linear_{each}_head_dim", default=128) for each in ("value", "key"))
    else:
        heads = fields.integer("mamba_n_heads", "mamba_num_heads", "num_heads", default=128)
        w = fields.integer("mamba_n_groups", "n_groups", default=8 if mixer == "alone" else 1)
        inner = m * fields.integer("mamba_expand", "expand", default=2)
        names = ("mamba_d_head", "mamba_head_dim", "head_dim")
        o = inner // heads if fields.get(*names) == "auto" else fields.integer(*names, default=64)
        s = fields.integer("mamba_d_state", "ssm_state_size", "state_size", default=128)
    if heads % w:
        fact = f"{w} groups do not divide {heads} heads with a state"
        raise SizeError(fact, where="config.json", cure=f"{w} or {2 * w} heads")
    return {"w": w, "h": heads // w, "o": o, "s": s}


def _rotary_feature_count(fields: Fields, choices: Mapping[str, Any], k: int) -> int:
    """Returns how many features of a head turn with the position: all, a share, or a number."""
    usual = choices.get("turn", 1.0)
    if isinstance(usual, int):
        return fields.integer("rotary_dim", default=min(usual, k), most=k) if usual else 0
    inner = fields.inner("rope_parameters", "rope_scaling")
    share = inner.number(
        "partial_rotary_factor",
        default=fields.number("partial_rotary_factor", "rotary_pct", default=usual),
    )
    if share > 1:
        fact = f"a share of {share:g} of the features turns"
        raise ParseError(fact, where="config.json", cure='"partial_rotary_factor": 1')
    return int(k * share)


def _design(fields: Fields, choices: Mapping[str, Any], sizes: Mapping[str, int]) -> DecoderDesign:
    """Returns the choices of a model."""
    flat = {**choices, "norm": choices.get("qk_norm", "")}
    own = {each.name: flat[each.name] for each in names_of(Heads) if each.name in flat}
    first, round, window = layers(fields, choices, sizes["n"])
    usual = "gelu_pytorch_tanh" if choices.get("growth_factor") == 0 else "silu"
    function = choices.get("activation", usual)
    plain = {
        each.name: choices[each.name]
        for each in names_of(DecoderDesign)
        if each.name in choices
        and each.name not in ("norm", "activation", "router", "dense", "mixer")
    }
    more: dict[str, Any] = {
        "heads": Heads(**{**own, **_angles(fields, choices, sizes), "window": window}),
        "norm": Norm(
            choices.get("norm", "rms"), fields.number(*EPS, default=choices.get("eps", 1e-6))
        ),
        "activation": activation(fields, *ACTIVATION, default=function),
        "mixer": _mixer(fields, choices),
        "tied": fields.flag("tie_word_embeddings", choices.get("tied", False)),
        "router": _router(fields, choices),
        "inner": "f" if fields.get("moe_intermediate_size") else "d",
        "dense": _dense(fields, choices),
        "first": first,
        "round": round,
    }
    return DecoderDesign(**{**plain, **more})


def _angles(fields: Fields, choices: Mapping[str, Any], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Returns the angles of the positions, in all layers and in those with a window."""
    if not sizes["b"] or choices.get("distances"):
        return {"rotary": None}
    local = None
    if "local" in choices:
        base = fields.number("rope_local_base_freq", default=choices["local"])
        inner = Fields({"rope_parameters": fields.get("rope_parameters")})
        local = rotary(inner, base, "sliding_attention")
    whole = rotary(fields, choices.get("theta", 1e4), GLOBAL)
    return {"rotary": whole, "local": local, "part": sizes["b"] < sizes["k"]}


def _mixer(fields: Fields, choices: Mapping[str, Any]) -> Callable[..., Term] | None:
    """Returns what layers with a state have in the place of attention, from sizes to a term."""
    if "mixer" not in choices:
        return None
    eps, kernel = fields.number(*EPS, default=choices["eps"]), fields.integer(*KERNEL, default=4)
    bias = fields.flag(fields.name_of("mamba_proj_bias", "use_bias"))
    if choices["mixer"] == "convolution":
        biased = fields.flag("conv_bias")
        return lambda z, **others: gated_convolution(z, kernel, biased)
    if choices["mixer"] == "mamba":
        return lambda i, **others: mamba_block(i, kernel, bias, "i", eps)
    limits = fields.get("time_step_limit")  # infinity is written in several ways
    last = limits[-1] if isinstance(limits, list) and limits else None
    if isinstance(last, int | float) and last < LONGEST_STEP:
        fields.check_supported("time_step_limit", [0, inf])
    corrects = choices["mixer"] == "delta"
    named = fields.name_of("mamba_conv_bias", "use_conv_bias")
    convolution_bias = not corrects and fields.flag(named, True)
    return StateMixer(kernel, corrects, eps, bias, convolution_bias).term


def _router(fields: Fields, choices: Mapping[str, Any]) -> Term | None:
    """Returns the router of a mixture of experts; None without experts."""
    kind = choices.get("router")
    if not kind:
        return None
    if kind == "sigmoid":
        factor = fields.number("routed_scaling_factor", default=1)
        grouped = fields.integer("n_group", default=1) > 1
        if grouped:
            fact = "its experts are chosen in groups, which is read of DeepSeek alone"
            raise ParseError(fact, where="config.json", cure='"n_group": 1')
        return Routing(True, False, fields.flag("norm_topk_prob", True), factor).term()
    if kind == "biased":
        return softmax_router(bias=True)
    if kind == "top" or fields.flag("norm_topk_prob"):
        return softmax_router()
    return Routing(sigmoid=False, normalised=False).term()


def _dense(fields: Fields, choices: Mapping[str, Any]) -> int:
    """Returns how many of the first layers have no experts."""
    name = choices.get("dense")
    return fields.integer(name, default=1) if name and fields.get(name) != 0 else 0


def _unused_sizes(design: DecoderDesign, sizes: Mapping[str, int]) -> set[str]:
    """Returns the letters of sizes that the model does not have."""
    plain = design.router is None or design.dense or not all(x.experts for x in design.round)
    used = {"d"} if plain else {design.inner}
    used = used if any(x.forward for x in design.round) else set()
    used |= {*"gqk"} if any(x.mixes and not x.state for x in design.round) else set()
    if design.router is not None:
        used |= {design.inner, "e", "c"} | ({"x"} if design.shared else set())
    used |= {"u"} if design.positions is not None else set()
    used |= {"b"} if design.heads.part else set()
    return {*"bdfxecugqk"} - used


def _notes(fields: Fields, kind: str) -> tuple[str, ...]:
    """Returns what of a configuration is left out, in sentences."""
    made = []
    scaled = fields.inner("rope_parameters", "rope_scaling")
    stretched = scaled.get("rope_type", "type")
    if stretched in ("longrope", "su", "dynamic"):
        made.append(f"Its positions are not stretched here, as {stretched} does in long texts.")
    if kind == "phimoe":
        made.append("Its chosen experts are weighed by a softmax here, not by SparseMixer.")
    if fields.get("text_config", "vision_config"):
        made.append("Only the part for text is read.")
    return tuple(made)
