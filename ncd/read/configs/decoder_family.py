"""The fields of decoders as families spell them, and the layers that they give.

A row is read by ``decoder_config.py``. Choices are those of ``Design`` and ``Heads`` in
``ncd/systems/language_models/``; an :class:`FieldValue` takes its value from a field of the
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ncd.read.configs.config_fields import LAYERS, Fields
from ncd.systems.language_models.decoder import DecoderLayer

# --- The rows of the tables of decoders, and how families spell their fields

Values = Mapping[str, Any]


@dataclass(frozen=True)
class FieldValue:
    """The value of a field of the configuration, or a usual one where it has none.

    One that a family's own spelling gives is ``is_rewritten``: it is taken as it is.
    """

    name: str
    default_value: bool | float = False
    is_rewritten: bool = False


@dataclass(frozen=True)
class FieldChoice:
    """A choice that is made where a field of the configuration is true, or a number."""

    name: str
    value: str


@dataclass(frozen=True)
class Family:
    """A row of the table.

    Args:
        title: The name of the models.
        source: Their paper or report.
        choices: Their differences from Llama.
        defaults: Fields that a configuration may leave out, with their values.
        rewrite: From the fields of a configuration to further ones, or to others.
        fixed_fields: Fields that have one value alone here.
    """

    title: str
    source: str
    choices: Values = field(default_factory=dict)
    defaults: Values = field(default_factory=dict)
    rewrite: Callable[[Values], Values] | None = None
    fixed_fields: Values = field(default_factory=dict)


def qwen(values: Values) -> Values:
    """Qwen counts the hidden features of gate and values together."""
    inner = values.get("intermediate_size")
    even = isinstance(inner, int) and inner % 2 == 0
    return {"intermediate_size": inner // 2} if even and isinstance(inner, int) else {}


def falcon(values: Values) -> Values:
    """Falcon's newer models have several heads of keys, and two norms beside each other."""
    if values.get("new_decoder_architecture"):
        one = values.get("num_ln_in_parallel_attn") == 1
        return {"num_key_value_heads": values.get("num_kv_heads"), "norms beside": 1 if one else 2}
    groups = 1 if values.get("multi_query", True) else None
    return {
        "num_key_value_heads": groups,
        "norms beside": 1 if values.get("parallel_attn", True) else 0,
    }


def neox(values: Values) -> Values:
    return {"norms beside": 2 if values.get("use_parallel_residual", True) else 0}


def stablelm(values: Values) -> Values:
    return {"norms beside": 1 if values.get("use_parallel_residual") else 0}


def bigcode(values: Values) -> Values:
    return {"num_key_value_heads": 1 if values.get("multi_query", True) else None}


def neo(values: Values) -> Values:
    """GPT-Neo lists its layers as rounds, each with how often it comes."""
    kinds = values.get("attention_types") or [[["global", "local"], 12]]
    try:
        names = [name for round, times in kinds for name in round * min(int(times), 256)]
    except (OverflowError, TypeError, ValueError):
        return {}
    layers = ["sliding_attention" if name == "local" else "full_attention" for name in names]
    return {"layer_types": layers, "sliding_window": values.get("window_size", 256)}


def baichuan(values: Values) -> Values:
    """Baichuan's larger model has no rotary positions, and says so by a field that it lacks."""
    return {"falls": values.get("max_position_embeddings") is None}


def granite(values: Values) -> Values:
    """Granite multiplies scores by a number, and divides those of words by one."""
    by, words = values.get("attention_multiplier", 1), values.get("logits_scaling", 1)
    return {"scores": _inverse(by) ** 2, "words": _inverse(words)}


def _inverse(value: Any) -> float:
    fits = isinstance(value, int | float) and not isinstance(value, bool) and 1e-9 < value < 1e9
    return 1 / value if fits else 1


def smollm(values: Values) -> Values:
    """SmolLM3 says which layers turn: 1 for those that do."""
    step, n = values.get("no_rope_layer_interval", 4), values.get("num_hidden_layers", 36)
    turned = values.get("no_rope_layers")
    if turned is None and isinstance(step, int) and isinstance(n, int) and step > 0 and n <= 256:
        turned = [int((i + 1) % step != 0) for i in range(n)]
    return {"no_rope_layers": turned}


def exaone(values: Values) -> Values:
    """EXAONE 4 turns only in windows, if it has any; its pattern is a text such as LLLG."""
    pattern = values.get("sliding_window_pattern", 4)
    return {"sliding_window_pattern": len(pattern) if isinstance(pattern, str) else pattern}


def sparse(values: Values) -> Values:
    """Qwen's mixtures may have experts in some layers only."""
    n, step = values.get("num_hidden_layers", 0), values.get("decoder_sparse_step", 1)
    plain = values.get("mlp_only_layers") or []
    if not isinstance(n, int) or not isinstance(step, int) or step < 1 or n > 256:
        return {}
    if not isinstance(plain, list):
        return {}
    return {"experts in": [i not in plain and (i + 1) % step == 0 for i in range(n)]}


def jamba(values: Values) -> Values:
    """Jamba has attention in one layer of a round, and experts in one of another."""
    attention, experts = (
        _periodic_layers(values, "attn_layer", 8, 4),
        _periodic_layers(values, "expert_layer", 2, 1),
    )
    return {"states in": [not each for each in attention], "experts in": experts}


def _periodic_layers(values: Values, name: str, usual: int, place: int) -> list[bool]:
    """Returns for each layer whether it has a place in its round; nothing for other values."""
    n, step = values.get("num_hidden_layers", 32), values.get(f"{name}_period", usual)
    at = values.get(f"{name}_offset", place)
    whole = all(type(each) is int for each in (n, step, at)) and step > 0 and n <= 256
    return [i % step == at for i in range(n)] if whole else []


KIND_LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}
STATES, PARTS_ALONE = ("linear_attention", "mamba", "conv"), ("mlp", "moe")


def hybrid(values: Values) -> Values:
    """Hybrids list the kinds of their layers, as words, letters, or places of attention."""
    n, kinds = values.get("num_hidden_layers", 0), values.get("layer_types")
    letters, listed = values.get("hybrid_override_pattern"), values.get("attn_layer_indices")
    step, n = values.get("full_attention_interval", 4), n if type(n) is int and n <= LAYERS else 0
    if isinstance(letters, str):
        kinds = [KIND_LETTERS.get(letter, letter) for letter in letters]
    kinds = kinds or values.get("layers_block_type")
    if isinstance(kinds, list):
        return {"kinds": kinds, "states in": [kind in STATES for kind in kinds]}
    if isinstance(listed, list):
        return {"states in": [i not in listed for i in range(n)]}
    return {"states in": [type(step) is int and step > 0 and (i + 1) % step != 0 for i in range(n)]}


def hybrid_of_parts(values: Values) -> Values:
    """Nemotron-H has one part in each layer: a state, attention, a feed-forward or experts."""
    found = hybrid(values)
    kinds = found.get("kinds", [])
    return {
        **found,
        "num_hidden_layers": len(kinds) or values.get("num_hidden_layers"),
        "mixers in": [kind not in PARTS_ALONE for kind in kinds],
        "forward in": [kind in PARTS_ALONE for kind in kinds],
        "layers with experts": kinds.count("moe"),
        "hidden_act": values.get("mlp_hidden_act", "relu2"),
    }


def hybrid_granite(values: Values) -> Values:
    """Granite 4 turns where it says so; without experts its shared one is the feed-forward."""
    turned = {"turned": 1.0 if values.get("position_embedding_type") == "rope" else 0}
    found = {**granite(values), **hybrid(values), **turned}
    shared = None if values.get("num_local_experts") else values.get("shared_intermediate_size")
    return found if shared is None else {**found, "intermediate_size": shared}


def hybrid_sparse(values: Values) -> Values:
    return {**hybrid(values), **sparse(values)}


def lfm2(values: Values) -> Values:
    """LFM2 takes two thirds of the width of its feed-forward, made a multiple of another number."""
    width = values.get("block_ff_dim", values.get("intermediate_size"))
    if values.get("block_auto_adjust_ff_dim", True) and type(width) is int:
        factor = values.get("block_ffn_dim_multiplier", 1)
        unit = values.get("block_multiple_of", 256)
        if type(factor) in (int, float) and type(unit) is int and unit > 0:
            width = -(-int(factor * (2 * width // 3)) // unit) * unit
    found = hybrid({**values, "attn_layer_indices": values.get("full_attn_idxs")})
    tied = values.get("tie_embedding", values.get("tie_word_embeddings"))
    return {**found, "intermediate_size": width, "tie_word_embeddings": tied}


def states_alone(values: Values) -> Values:
    """Models without attention and without feed-forwards."""
    n = values.get("num_hidden_layers", 0)
    n = n if type(n) is int and n <= LAYERS else 0
    return {"states in": [True] * n, "forward in": [False] * n}


def modern(values: Values) -> Values:
    """ModernBERT sees a window in all but every third layer, with angles of their own."""
    step, n = values.get("global_attn_every_n_layers", 3), values.get("num_hidden_layers", 22)
    kinds, seen = values.get("layer_types"), values.get("local_attention", 128)
    if kinds is None and type(step) is int and type(n) is int and step > 0 and n <= 256:
        kinds = ["sliding_attention" if i % step else "full_attention" for i in range(n)]
    return {
        "layer_types": kinds,
        "sliding_window": seen // 2 + 1 if type(seen) is int else seen,
        "rope_theta": values.get("global_rope_theta"),
        "rope_local_base_freq": values.get("local_rope_theta"),
    }


LAYER: Values = {"norm": "layer"}
ALL_BIASES: Values = {"bias": True, "out_bias": True, "mlp_bias": True}
PLAIN_FORWARD: Values = {"gated": False, "activation": "gelu_new"}
BY_FIELD: Values = {
    "bias": FieldValue("attention_bias"),
    "out_bias": FieldValue("attention_bias"),
    "mlp_bias": FieldValue("mlp_bias"),
}
AFTER_QWEN: Values = {"windows": "use_sliding_window"}
GPT: Values = {
    **LAYER,
    **ALL_BIASES,
    **PLAIN_FORWARD,
    "tied": True,
    "turn": 0,
    "positions": 0,
    "wide": True,
}
GEMMA: Values = {"activation": "gelu_pytorch_tanh", "tied": True, "growth_factor": 0, "eps": 1e-6}
NORMS_AROUND: Values = {"norms": "around", "scale": FieldValue("query_pre_attn_scalar", 256)}
GEMMA_3: Values = {
    **GEMMA,
    **NORMS_AROUND,
    "qk_norm": "head",
    "windows": 6,
    "theta": 1e6,
    "local": 1e4,
}
GRANITE: Values = {
    **BY_FIELD,
    **{
        "growth_factor": FieldValue("embedding_multiplier", 1.0),
        "part_scale": FieldValue("residual_multiplier", 1.0),
    },
    **{"scale": FieldValue("scores", 1.0), "word_scale": FieldValue("words", 1.0)},
}
COHERE: Values = {
    **{"norm": "unbiased", "parallel": 1, "adjacent": True, "tied": True, "eps": 1e-5},
    **{"bias": FieldValue("attention_bias"), "out_bias": FieldValue("attention_bias")},
    "word_scale": FieldValue("logit_scale", 0.0625),
}
DEEPSEEK_MOE: Values = {
    **{"router": "sigmoid", "shared": "plain", "bias": FieldValue("attention_bias")},
    "dense": "first_k_dense_replace",
}
GLM: Values = {
    "adjacent": True,
    "turn": 0.5,
    "bias": FieldValue("attention_bias", True),
    "eps": 1.5625e-7,
}
QWEN_HYBRID: Values = {
    **{**BY_FIELD, "qk_norm": "head", "output_gate": True, "turn": 0.25},
    **{"mixer": "delta", "eps": 1e-6},
}
QWEN_2, QWEN_3 = "Yang et al. 2024, Qwen2", "Yang et al. 2025, Qwen3"


# --- The layers of a decoder: which see a window, which turn, and which have experts

LOCAL, GLOBAL = "sliding_attention", "full_attention"
PATTERN = ("sliding_window_pattern", "_sliding_window_pattern")


def layers(
    fields: Fields, choices: Mapping[str, Any], n: int
) -> tuple[DecoderLayer | None, tuple[DecoderLayer, ...], int]:
    """Returns the first layer if it is another one, the layers of one round, and their window.

    The windows of a family are ``all`` layers', those of a flag's name, or all but the last of a
    round of so many.

    >>> layers(Fields({"sliding_window": 9}), {"windows": 3}, 8)[1] == (
    ...     DecoderLayer(has_window=True), DecoderLayer(has_window=True), DecoderLayer())
    True
    """
    near = _windowed_layers(fields, choices.get("windows", ""), n)
    window = fields.integer("sliding_window") if any(near) else 0
    turned = fields.get("no_rope_layers")
    experts, states = fields.get("experts in"), fields.get("states in")
    mixes, forward = fields.get("mixers in"), fields.get("forward in")
    kinds = [
        DecoderLayer(
            has_window=near[i],
            uses_rotary=near[i]
            if choices.get("turns") == "windows"
            else bool(_layer_value(turned, i)),
            experts=bool(_layer_value(experts, i)),
            state=bool(states) and bool(_layer_value(states, i)),
            mixes=bool(_layer_value(mixes, i)),
            forward=bool(_layer_value(forward, i)),
        )
        for i in range(n)
    ]
    if choices.get("bare"):  # whose first layer has no norm before its attention
        return replace(kinds[0], attention_norm=False), _round(kinds[1:] or kinds), window
    return None, _round(kinds), window


def _layer_value(values: Any, place: int) -> Any:
    """Returns the value of a layer; 1 where the list does not reach."""
    return values[place] if isinstance(values, list) and place < len(values) else 1


def _windowed_layers(fields: Fields, windows: str | int, n: int) -> list[bool]:
    """Returns for each layer whether it sees a window only."""
    kinds = fields.get("layer_types")
    if windows == "" or fields.get("sliding_window") is None:
        return [False] * n
    if isinstance(kinds, list):
        return [_layer_value(kinds, i) == LOCAL for i in range(n)]
    if windows == "all":
        return [True] * n
    if isinstance(windows, int):
        every = fields.integer(*PATTERN, default=windows, most=LAYERS)
        return [(i + 1) % every != 0 for i in range(n)]
    first = fields.integer("max_window_layers") if fields.get("max_window_layers") else 0
    return [fields.flag(windows) and i >= first for i in range(n)]


def _round(kinds: Sequence[DecoderLayer]) -> tuple[DecoderLayer, ...]:
    """Returns the shortest round that makes these layers when it is repeated."""
    n = len(kinds)
    sizes = (
        size for size in range(1, n) if all(kinds[i] == kinds[i - size] for i in range(size, n))
    )
    return tuple(kinds[: next(sizes, n)])
