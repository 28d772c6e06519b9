"""Tiny decoders of the library `transformers`, with their weights under this project's names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from tests.read.configs.transformers_models import weights_of

Weights = dict[str, Tensor]
TINY: Mapping[str, Any] = {
    **{"vocab_size": 99, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 4},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
}
OWN = ("num_key_value_heads", "intermediate_size")  # which older families spell in other ways
OLD = {key: value for key, value in TINY.items() if key not in OWN}
WINDOW = {"sliding_window": 4}
TURN = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
NEOX = {**OLD, "hidden_size": 64, "intermediate_size": 48}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 24}
DELTA = {
    **{**TINY, "head_dim": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 4},
    **{"linear_key_head_dim": 6, "linear_value_head_dim": 5, "linear_conv_kernel_dim": 3},
}
STATES = {"mamba_n_heads": 8, "mamba_n_groups": 2, "mamba_d_state": 6, "mamba_d_conv": 3}
CONVOLUTIONS = {"conv_L_cache": 3, "block_multiple_of": 8}
# Settings by the type of the configuration, the first word of the name.
DECODERS: Mapping[str, Mapping[str, Any]] = {
    "arcee": TINY,
    "bamba": {**TINY, **STATES, "attn_layer_indices": [1], "mamba_n_groups": 1},
    "bloom": {**OLD, "n_head": 4, "n_layer": 3},
    "bloom, six heads": {**OLD, "hidden_size": 48, "n_head": 6, "n_layer": 2},
    "codegen": {**OLD, "rotary_dim": 4, "n_inner": 48},
    "cohere": {**TINY, "use_qk_norm": True},
    "cohere2": {**TINY, **WINDOW},
    "dbrx": {
        **{key: value for key, value in OLD.items() if key != "hidden_size"},
        "d_model": 32,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 0.5, "rope_theta": 1e4},
        "ffn_config": {
            **{"ffn_hidden_size": 24, "moe_num_experts": 4, "moe_top_k": 2},
            "ffn_act_fn": {"name": "silu"},
        },
    },
    "dots1": {
        **TINY,
        **EXPERTS,
        "n_routed_experts": 4,
        "n_shared_experts": 2,
        "first_k_dense_replace": 1,
    },
    "ernie4_5": {**TINY, "head_dim": 8},
    "exaone4": {**TINY, **WINDOW},
    "exaone4, no windows": {**TINY, "sliding_window": None, "layer_types": ["full_attention"] * 4},
    "falcon": {**OLD, "ffn_hidden_size": 48},
    "falcon, new": {**OLD, "new_decoder_architecture": True, "num_kv_heads": 2},
    "falcon, falling": {
        **OLD,
        "alibi": True,
        "bias": True,
        "multi_query": False,
        "parallel_attn": False,
    },
    "gemma2": {**TINY, **WINDOW, "head_dim": 8},
    "glm": {**TINY, "head_dim": 8},
    "glm4": {**TINY, "head_dim": 8},
    "glm4_moe": {**TINY, **EXPERTS, "head_dim": 8, "n_routed_experts": 4, "use_qk_norm": True},
    "gpt_bigcode": {**OLD, "n_inner": 48, "activation_function": "gelu_pytorch_tanh"},
    "gpt_neo": {**OLD, "attention_types": [[["global", "local"], 2]], "window_size": 4},
    "gpt_neox": NEOX,
    "gpt_neox, one behind the other": {
        **OLD,
        "hidden_size": 64,
        "intermediate_size": 48,
        "use_parallel_residual": False,
    },
    "gptj": {**OLD, "rotary_dim": 4, "n_inner": 48},
    "granite": {
        **{**TINY, "embedding_multiplier": 3.0, "logits_scaling": 2.0},
        **{"residual_multiplier": 0.5, "attention_multiplier": 0.2},
    },
    "granitemoe": {**TINY, "num_local_experts": 4, "residual_multiplier": 0.5},
    "granitemoeshared": {**TINY, "num_local_experts": 4, "shared_intermediate_size": 20},
    "granitemoehybrid": {
        **{**TINY, **STATES, "num_local_experts": 4, "shared_intermediate_size": 20},
        **{"layer_types": ["linear_attention", "full_attention"] * 2, "residual_multiplier": 0.5},
    },
    "granitemoehybrid, dense, turned": {
        **{**TINY, **STATES, "num_local_experts": 0, "shared_intermediate_size": 20},
        **{"position_embedding_type": "rope", "mamba_proj_bias": True},
        "layer_types": ["linear_attention", "linear_attention", "full_attention", "full_attention"],
    },
    "helium": {**TINY, "head_dim": 8},
    "mamba2": {
        **{"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 3, "num_heads": 8},
        **{"head_dim": 8, "n_groups": 2, "state_size": 6, "conv_kernel": 3, "use_conv_bias": False},
    },
    "mamba2, one group": {
        **{"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_heads": 8},
        **{"head_dim": 8, "n_groups": 1, "use_bias": True, "tie_word_embeddings": True},
    },
    "lfm2": {**TINY, **CONVOLUTIONS, "full_attn_idxs": [1, 3]},
    "lfm2, wide": {
        **{**TINY, **CONVOLUTIONS, "conv_bias": True, "block_auto_adjust_ff_dim": False},
        "layer_types": ["conv", "conv", "full_attention", "conv"],
    },
    "mpt": {**OLD, "expansion_ratio": 2},
    "nemotron": TINY,
    "nemotron_h": {
        **{**TINY, "head_dim": 8, "hybrid_override_pattern": "M-*M-", "mamba_num_heads": 8},
        **{"mamba_head_dim": 8, "n_groups": 2, "ssm_state_size": 6},
    },
    "olmo": {**TINY, "clip_qkv": 0.5},
    "olmo2": TINY,
    "olmo3": {**TINY, **WINDOW},
    "olmoe": {**TINY, "num_experts": 4, "num_experts_per_tok": 2, "clip_qkv": 0.5},
    "opt": {**OLD, "ffn_dim": 48, "word_embed_proj_dim": 32},
    "phi": TINY,
    "phi3": {**TINY, **WINDOW},
    "phi3, half turned": {**TINY, "rope_parameters": TURN, "sliding_window": None},
    "qwen2_moe": {
        **{**TINY, **EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 20},
        "mlp_only_layers": [0],
    },
    "qwen3_5_text": DELTA,
    "qwen3_5_moe_text": {
        **{**DELTA, **EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 20},
    },
    "qwen3_next": {
        **{**DELTA, **EXPERTS, "num_experts": 4, "shared_expert_intermediate_size": 20},
        "mlp_only_layers": [0],
    },
    "qwen3_moe": {**TINY, **EXPERTS, "num_experts": 4, "decoder_sparse_step": 2, "head_dim": 8},
    "qwen3_moe, normalised": {**TINY, **EXPERTS, "num_experts": 4, "norm_topk_prob": True},
    "seed_oss": {**TINY, "head_dim": 8},
    "smollm3": TINY,
    "stablelm": {**TINY, "hidden_size": 64, "use_qkv_bias": True},
    "stablelm, parallel": {
        **{**TINY, "hidden_size": 64, "qk_layernorm": True, "use_parallel_residual": True},
    },
    "starcoder2": {**TINY, **WINDOW},
    "vaultgemma": {**TINY, **WINDOW, "head_dim": 8},
}
# Parts of their names in the library, and here.
NAMES = (
    (r"^(model\.decoder|transformer|gpt_neox|backbone|model)\.", ""),
    (r"\b(linear_attn|mamba)\.", "mixer."),
    (r"^embeddings\.weight", "embed_tokens"),
    (r"^(wte|word_embeddings|embed_in|embed_tokens)\.weight", "embed_tokens"),
    (r"^(wpe|embed_positions)\.weight", "embed_positions"),
    (r"^word_embeddings_layernorm", "embed_norm"),
    (r"^(ln_f|norm_f|final_layer_norm|final_layernorm)\b", "norm"),
    (r"^embed_out", "lm_head"),
    (r"^(h|blocks)\.", "layers."),
    (r"norm_attn_norm\.", ""),
    (r"\b(attn\.attention|attn|attention|self_attention|self_attn)\.(?!.*layernorm)", "self_attn."),
    (r"\b(ln_1|norm_1|ln_attn|self_attn_layer_norm)\b", "input_layernorm"),
    (r"\b(ln_2|norm_2|ln_mlp|final_layer_norm)\b", "post_attention_layernorm"),
    (r"\b(dense|(?<!mixer\.)out_proj)\b", "o_proj"),
    (r"self_attn\.c_proj", "self_attn.o_proj"),
    (r"\b(mlp|ffn)\.(fc_in|c_fc|dense_h_to_4h)\b", "mlp.fc1"),
    (r"\b(mlp|ffn)\.(fc_out|c_proj|dense_4h_to_h)\b", "mlp.fc2"),
    (r"(\d)\.(fc[12])\b", r"\1.mlp.\2"),
    (r"\bffn\.router\.layer\.weight|\b\w+\.(gate|router)\.weight", "block_sparse_moe.gate.weight"),
    (r"mlp\.gate\.e_score", "block_sparse_moe.e_score"),
    (r"\b(mlp\.shared_experts?|shared_mlp)\b", "block_sparse_moe.shared_expert"),
    (r"mlp\.shared_expert_gate", "block_sparse_moe.shared_expert_gate"),
    (r"\b(mlp|ffn|block_sparse_moe)\.experts\.(mlp\.)?", "block_sparse_moe."),
    (r"\b([qk])_layernorm\.norms\.(\d+)\.weight", r"\1_norm.\2"),
)
BAMBA = ((r"feed_forward", "mlp"), (r"pre_ff_layernorm", "post_attention_layernorm"))
VAULT = (("pre_feedforward_layernorm", "post_attention_layernorm"),)
LFM2 = (
    (r"\bconv\.o_proj", "mixer.out_proj"),
    (r"\bconv\.(conv|in_proj)", r"mixer.\1"),
    (r"([qk])_layernorm", r"\1_norm"),
    (r"feed_forward\.w1", "mlp.gate_proj"),
    (r"feed_forward\.w3", "mlp.up_proj"),
    (r"feed_forward\.w2", "mlp.down_proj"),
    ("operator_norm", "input_layernorm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("embedding_norm", "norm"),
)
NEMOTRON_H = (
    (r"mixer\.([qkvo]_proj)", r"self_attn.\1"),
    (r"mixer\.(up|down)_proj", r"mlp.\1_proj"),
    (r"(\d)\.norm\.", r"\1.input_layernorm."),
)
GLM4 = (  # which norms before and after each part
    ("post_attention_layernorm", "pre_feedforward_layernorm"),
    ("post_self_attn_layernorm", "post_attention_layernorm"),
    ("post_mlp_layernorm", "post_feedforward_layernorm"),
)
OTHERS = {
    "bamba": BAMBA,
    "glm4": GLM4,
    "vaultgemma": VAULT,
    "lfm2": LFM2,
    "mamba2": NEMOTRON_H,
    "nemotron_h": NEMOTRON_H,
}


def decoder(name: str) -> tuple[Any, nn.Module]:
    """Returns the configuration and a model of it in evaluation mode, with random weights."""
    import transformers

    transformers.logging.set_verbosity_error()
    config = transformers.AutoConfig.for_model(name.split(",")[0], **DECODERS[name])
    torch.manual_seed(0)
    # the library's plain attention adds Falcon's fall with the distance twice
    attention = "sdpa" if "falling" in name else "eager"
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation=attention)
    if hasattr(nn.Module, "smart_apply"):  # which the library gives to all modules
        del nn.Module.smart_apply
    for key, weight in weights_of(model).items():
        weight.data = torch.randn_like(weight) / 4 + (weight.ndim < 2 and key.endswith("weight"))
    return config, model.float().eval()


def decoder_weights(name: str, model: nn.Module, ours: Weights) -> Weights:
    """Returns the model's weights under the names and with the shapes of ours, layer by layer."""
    kind, made = name.split(",")[0], Weights()
    for key, value in weights_of(model).items():
        for old, new in (*NAMES, *OTHERS.get(kind, ())):
            key = re.sub(old, new, key)
        if name.endswith("dense, turned"):  # whose shared expert is the feed-forward
            key = key.replace("block_sparse_moe.shared_expert", "mlp")
        made |= _parts(kind, model.config, key, value.detach())
    split = [key.rpartition(".")[0] for key in made if re.search(r"_norm\.\d+$", key)]
    for place in dict.fromkeys(split):
        made[place] = torch.stack([made.pop(key) for key in [*made] if key.startswith(f"{place}.")])
    queues: dict[str, list[Tensor]] = {}
    for key, value in made.items():
        queues.setdefault(_inside(key), []).append(value)
    if "mixer.norm" in {_inside(key) for key in ours}:  # of groups
        queues["mixer.norm"] = queues.pop("mixer.norm.weight")
    taken = {key: queues[_inside(key)].pop(0).reshape(was.shape) for key, was in ours.items()}
    assert not any(queues.values()), f"left over: {[key for key, left in queues.items() if left]}"
    return taken


def _inside(key: str) -> str:
    """Returns a weight's name within its layer."""
    return re.sub(
        r"^((layers|dense|local\d?|last\d?)\.\d+\.|layers\.\d+\.local\d?\.\d+\.)+", "", key
    )


def _parts(kind: str, config: Any, key: str, value: Tensor) -> Weights:
    """Returns the arrays that one stored array holds: maps that are joined, experts, and others."""
    place, _, last = key.rpartition(".")
    name = place.rpartition(".")[2]
    base = place.rpartition(".")[0]
    if name == "in_proj" and kind == "lfm2":
        parts = dict(zip("BCx", value.chunk(3), strict=True))
        return {f"{base}.in_{one}.{last}": part for one, part in parts.items()}
    if name in ("in_proj", "conv1d", "in_proj_qkvz", "in_proj_ba", "in_proj_qkv"):
        parts = _states(config, name, value)
        return {f"{base}.{one}.{last}": part for one, part in parts.items()}
    if name in ("in_proj_z", "in_proj_b", "in_proj_a"):
        return {f"{base}.in_{'dt' if name[-1] == 'a' else name[-1]}.{last}": value}
    if kind in GATED and name == "q_proj":
        queries, gates = value.unflatten(0, (config.num_attention_heads, 2, -1)).unbind(1)
        return {f"{base}.q_proj.{last}": queries, f"{base}.gate_proj.{last}": gates}
    if kind in GATED and last == "weight" and "norm" in name and "mixer" not in key:
        return {key: value + 1}
    if name in ("query_key_value", "qkv_proj", "Wqkv", "c_attn"):
        parts = _heads(kind, config, value)
        return {f"{base}.{one}_proj.{last}": part for one, part in zip("qkv", parts, strict=True)}
    if last in ("w1", "v1", "w2") and kind == "dbrx":
        table = value.unflatten(0, (config.ffn_config.moe_num_experts, -1))
        return {f"{place}.{last.replace('v1', 'w3')}": table if last == "w2" else table.mT}
    if last == "gate_up_proj":
        gate, up = value.mT.chunk(2, -1)
        return {f"{place}.w1": gate, f"{place}.w3": up}
    if last == "down_proj":
        return {f"{place}.w2": value.mT}
    if name in ("gate_up_proj", "input_linear"):
        gate, up = value.chunk(2)
        return {f"{base}.gate_proj.{last}": gate, f"{base}.up_proj.{last}": up}
    if name == "output_linear":
        return {f"{base}.down_proj.{last}": value}
    if kind in ("arcee", "mpt", "nemotron", "nemotron_h") and name in ("up_proj", "down_proj"):
        return {
            f"{base.replace('ffn', 'mlp')}.{'fc1' if name == 'up_proj' else 'fc2'}.{last}": value
        }
    if kind in ("gemma2", "nemotron", "vaultgemma") and last == "weight" and "norm" in name:
        return {key: value + 1}
    if name in ("q_norm", "k_norm") and value.ndim == 2:
        return {place: value}
    return {key: value}


GATED = ("qwen3_5_text", "qwen3_5_moe_text", "qwen3_next")


def _states(config: Any, name: str, value: Tensor) -> Weights:
    """Returns the maps and the convolutions of a layer with a state, which are stored together."""
    if hasattr(config, "linear_num_key_heads"):
        w, s = config.linear_num_key_heads, config.linear_key_head_dim
        h, o = config.linear_num_value_heads // w, config.linear_value_head_dim
        if name == "in_proj_qkvz":  # for each group all of them
            named = zip(
                ("in_q", "in_k", "in_x", "in_z"),
                value.unflatten(0, (w, -1)).split((s, s, h * o, h * o), 1),
                strict=True,
            )
            return {key: part.flatten(0, 1) for key, part in named}
        if name == "in_proj_ba":
            b, a = value.unflatten(0, (w, -1)).split((h, h), 1)
            return {"in_b": b.flatten(0, 1), "in_dt": a.flatten(0, 1)}
        names, sizes = "qkx", (w * s, w * s, w * h * o)
    else:
        fields = config.to_dict()
        w, s = (
            next(fields[key] for key in keys if key in fields)
            for keys in (
                ("mamba_n_groups", "n_groups"),
                ("mamba_d_state", "ssm_state_size", "state_size"),
            )
        )
        inner = 64
        names, sizes = "xBC", (inner, w * s, w * s)
        if name == "in_proj":
            rest = value.shape[0] - 2 * inner - 2 * w * s
            z, x, writes, reads, dt = value.split((inner, *sizes, rest))
            return {"in_z": z, "in_x": x, "in_B": writes, "in_C": reads, "in_dt": dt}
    head = "conv" if name == "conv1d" else "in"
    parts = value.split(sizes)
    return {f"{head}_{one}": part for one, part in zip(names, parts, strict=True)}


def _heads(kind: str, config: Any, value: Tensor) -> tuple[Tensor, ...]:
    """Returns the weights of queries, keys and values."""
    h = config.num_attention_heads
    k = config.hidden_size // h
    groups = getattr(config, "num_key_value_heads", h)
    if kind in ("gpt_neox", "bloom"):  # for each head all three
        return tuple(value.unflatten(0, (h, 3, k)).transpose(0, 1))
    if kind == "codegen":  # in four parts, each with queries, values and keys
        q, v, k_ = value.unflatten(0, (4, 3, -1)).transpose(0, 1)
        return q, k_, v
    if kind == "falcon":
        groups = config.num_kv_heads if config.new_decoder_architecture else h
        groups = 1 if config.multi_query and not config.new_decoder_architecture else groups
        parts = value.unflatten(0, (groups, h // groups + 2, k))
        return parts[:, :-2], parts[:, -2], parts[:, -1]
    if kind == "gpt_bigcode":
        groups = 1
    if kind == "dbrx":
        groups = config.attn_config.kv_n_heads
    if kind == "mpt":
        groups = h
    return value.split((h * k, groups * k, groups * k))
