"""Tiny models of the library `transformers`, with their weights under this project's names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ncd.read.configs.encoder_configs import ENCODERS
from tests.read.torch_module.published import DEEPSEEK, DISTILLED, GPT, GROUPED, IMAGES, SMALL, T5

Weights = dict[str, Tensor]
HEADS = {**GROUPED, "head_dim": 8}
LLAMA_3 = {
    **{"rope_type": "llama3", "rope_theta": 5e5, "factor": 8.0, "low_freq_factor": 1.0},
    **{"high_freq_factor": 4.0, "original_max_position_embeddings": 16},
}
WINDOW = {"sliding_window": 4}
YARN = {
    **{"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "beta_fast": 32, "beta_slow": 1},
    **{"mscale": 0.7, "mscale_all_dim": 0.5, "original_max_position_embeddings": 64},
}
SPARSE = {
    **{"first_k_dense_replace": 1, "num_hidden_layers": 3, "n_routed_experts": 8},
    **{"num_experts_per_tok": 3, "n_shared_experts": 2, "routed_scaling_factor": 1.5},
}
DEEP = {**DEEPSEEK, **SPARSE}
GROUPS = {"n_group": 4, "topk_group": 2}
WHISPER = {
    **{"vocab_size": 99, "d_model": 32, "num_mel_bins": 8, "max_source_positions": 9},
    **{"encoder_layers": 2, "decoder_layers": 2, "max_target_positions": 20, "pad_token_id": 0},
    **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "decoder_start_token_id": 1},
    **{"encoder_ffn_dim": 48, "decoder_ffn_dim": 64, "bos_token_id": 1, "eos_token_id": 2},
}
MAMBA = {
    **{"vocab_size": 99, "hidden_size": 32, "state_size": 6, "num_hidden_layers": 2},
    **{"time_step_rank": 3, "conv_kernel": 3, "expand": 2},
}
CONFIGS: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "bert": ("Bert", SMALL, "Model"),
    "roberta": ("Roberta", {**SMALL, "pad_token_id": 1, "type_vocab_size": 2}, "Model"),
    "distilbert": ("DistilBert", DISTILLED, "Model"),
    "electra": ("Electra", {**SMALL, "embedding_size": 16}, "Model"),
    "albert": ("Albert", {**SMALL, "embedding_size": 16}, "Model"),
    "deepseek-2": ("DeepseekV2", DEEP, "ForCausalLM"),
    "deepseek-2, grouped": (
        "DeepseekV2",
        {**DEEP, **GROUPS, "topk_method": "group_limited_greedy", "q_lora_rank": None},
        "ForCausalLM",
    ),
    "deepseek-3": ("DeepseekV3", {**DEEP, **GROUPS}, "ForCausalLM"),
    "deepseek-3, yarn": (
        "DeepseekV3",
        {**DEEP, **GROUPS, "rope_parameters": YARN, "norm_topk_prob": False},
        "ForCausalLM",
    ),
    "gemma": ("Gemma", HEADS, "ForCausalLM"),
    "gemma 2": ("Gemma2", {**HEADS, **WINDOW}, "ForCausalLM"),
    "gemma 3": ("Gemma3Text", {**HEADS, **WINDOW, "num_hidden_layers": 7}, "ForCausalLM"),
    "gpt-2": ("GPT2", GPT, "LMHeadModel"),
    "llama": ("Llama", GROUPED, "ForCausalLM"),
    "llama 3": ("Llama", {**GROUPED, "rope_parameters": LLAMA_3}, "ForCausalLM"),
    "llama, biased": (
        "Llama",
        {**GROUPED, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
        "ForCausalLM",
    ),
    "mamba": ("Mamba", MAMBA, "ForCausalLM"),
    "mistral": ("Mistral", {**GROUPED, **WINDOW}, "ForCausalLM"),
    "mixtral": ("Mixtral", {**GROUPED, "num_local_experts": 4}, "ForCausalLM"),
    "qwen 2": ("Qwen2", GROUPED, "ForCausalLM"),
    "t5": ("T5", {**T5, "num_decoder_layers": 2}, "ForConditionalGeneration"),
    "t5, gated": (
        "T5",
        {**T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
        "ForConditionalGeneration",
    ),
    "vit": ("ViT", {**IMAGES, "num_labels": 5}, "ForImageClassification"),
    "whisper": ("Whisper", WHISPER, "ForConditionalGeneration"),
    "qwen 3": ("Qwen3", HEADS, "ForCausalLM"),
}


def published(name: str) -> tuple[Any, nn.Module]:
    """Returns the configuration and a model of it in evaluation mode, with weights from a seed."""
    import transformers

    transformers.logging.set_verbosity_error()
    kind, settings, head = CONFIGS[name]
    config = getattr(transformers, f"{kind}Config")(**settings)
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind.removesuffix('Text')}{head}")(config).eval()
    if hasattr(nn.Module, "smart_apply"):  # which the library gives to all modules
        del nn.Module.smart_apply
    for weight in weights_of(model).values():
        weight.data += torch.randn_like(weight) / 9
    for parameter in model.parameters():
        parameter.requires_grad_()
    return config, model


def weights_of(model: nn.Module) -> Weights:
    """Returns the weights of a model, with the biases of a router that no gradient changes."""
    biases = {key: b for key, b in model.named_buffers() if key.endswith("correction_bias")}
    return {**dict(model.named_parameters()), **biases}


def our_weights(name: str, model: nn.Module, ours: Weights) -> Weights:
    """Returns the model's weights under the names and with the shapes of ours.

    A layer's weights are matched by their names within it, and layers by their order.
    """
    given: dict[str, list[Tensor]] = {}
    for key, value in _tensors(name, model).items():
        given.setdefault(_inside(key), []).append(value)
    queues = {key: iter(values) for key, values in given.items()}
    made = {key: next(queues[_inside(key)]).reshape(was.shape) for key, was in ours.items()}
    assert all(next(queue, None) is None for queue in queues.values()), "a weight is left over"
    return made


def _inside(key: str) -> str:
    """Returns a weight's name within its layer."""
    return re.sub(
        r"^.*\b(layers?|h|local|last|dense|block)\.\d+\.(.*\b(local|last)\.\d+\.)?", "", key
    )


def _tensors(name: str, model: nn.Module) -> Weights:
    """Returns the weights of a model by names like ours."""
    found = {key: value.detach() for key, value in weights_of(model).items()}
    family = name.split()[0].strip(",")
    change = {
        **{"deepseek-2": _of_deepseek, "deepseek-3": _of_deepseek, "t5": _of_t5, "vit": _of_vit},
        **{"whisper": _of_whisper, "mamba": _of_mamba},
        **{
            "gpt-2": _of_gpt2,
            **dict.fromkeys(ENCODERS, _of_bert),
            "gemma": _of_gemma,
            "mixtral": _of_mixtral,
        },
    }
    same: Callable[[Weights], Weights] = dict
    return change.get(family, same)(
        _renamed(found, {"model.": "", "embed_tokens.weight": "embed_tokens"})
    )


def _renamed(weights: Weights, names: Mapping[str, str]) -> Weights:
    """Returns the weights with parts of their names replaced."""
    made = {}
    for key, value in weights.items():
        for old, new in names.items():
            key = key.replace(old, new)
        made[key] = value
    return made


def _of_gpt2(weights: Weights) -> Weights:
    """Returns GPT-2's weights; its maps are stored with the inputs first, its heads in one map."""
    names = {"transformer.": "", "wte.weight": "wte", "wpe.weight": "wpe"}
    made: Weights = {}
    for key, value in _renamed(weights, {**names, "attn.c_proj": "attn.out"}).items():
        value = value.T if value.ndim == 2 and "wte" not in key and "wpe" not in key else value
        if "c_attn" in key:
            for one, part in zip("qkv", value.chunk(3), strict=True):
                made[key.replace("c_attn", one)] = part
        else:
            made[key] = value
    return made


def _of_bert(weights: Weights) -> Weights:
    """Returns BERT's weights."""
    return _renamed(
        weights,
        {
            **{"encoder.": "", "attention.self.query": "attention.q", "self.key": "k"},
            **{"self.value": "v", "attention.output.dense": "attention.out"},
            **{"attention.output.LayerNorm": "attention_norm", "output.LayerNorm": "output_norm"},
            **{"attention.LayerNorm": "attention_norm"},
            **{
                "attention.dense": "attention.out",
                ".dense": "",
                "_embeddings.weight": "_embeddings",
                "transformer.": "",
            },
            **{"attention.q_lin": "attention.q", "attention.k_lin": "attention.k"},
            **{"attention.v_lin": "attention.v", "attention.out_lin": "attention.out"},
            **{"sa_layer_norm": "attention_norm", "output_layer_norm": "output_norm"},
            **{"ffn.lin1": "intermediate", "ffn.lin2": "output"},
            **{"embedding_hidden_mapping_in": "embeddings.project"},
            **{"embeddings_project": "embeddings.project", "full_layer_layer_norm": "output_norm"},
            **{"albert_layer_groups.0.albert_layers.0.": "layer.", "n.query": "n.q"},
            **{"n.key": "n.k", "n.value": "n.v", "ffn_output": "output", "ffn.": "intermediate."},
        },
    )


def _of_gemma(weights: Weights) -> Weights:
    """Returns Gemma's weights; its norms multiply by 1 + w."""
    return {key: value + 1 if "norm" in key else value for key, value in weights.items()}


def _of_mixtral(weights: Weights) -> Weights:
    """Returns Mixtral's weights; it stores gates and values of all experts in one array."""
    made: Weights = {}
    for key, value in _renamed(weights, {"mlp.": "block_sparse_moe."}).items():
        place = key.partition("experts.")[0]
        if "gate_up_proj" in key:
            w1, w3 = value.transpose(1, 2).chunk(2, -1)
            made |= {f"{place}w1": w1.contiguous(), f"{place}w3": w3.contiguous()}
        elif "down_proj" in key:
            made[f"{place}w2"] = value.transpose(1, 2).contiguous()
        else:
            made[key] = value
    return made


def _of_deepseek(weights: Weights) -> Weights:
    """Returns DeepSeek's weights, which come with some maps joined to one."""
    made: Weights = {}
    for key, value in _renamed(
        weights, {"mlp.experts.": "mlp.", "gate.e_score": "e_score"}
    ).items():
        place, _, name = key.removesuffix(".weight").rpartition(".")
        made |= {f"{place}.{new}": one for new, one in _parts(name, value).items()} or {key: value}
    return made


H, K, B, W = 4, 8, 8, 8  # heads and the features of keys, rotary keys and values, all tiny


def _parts(name: str, value: Tensor) -> Weights:
    """Returns the maps that one stored array holds, if it holds several."""
    if name in ("q_proj", "q_b_proj"):
        plain, turned = value.unflatten(0, (H, K + B)).split((K, B), 1)
        return {"q.weight": plain, "q_rope.weight": turned}
    if name == "kv_a_proj_with_mqa":
        kept, key = value.split((value.shape[0] - B, B))
        return {"kv_a_proj.weight": kept, "k_rope.weight": key}
    if name == "kv_b_proj":
        keys, values = value.unflatten(0, (H, K + W)).split((K, W), 1)
        return {"k.weight": keys, "v.weight": values}
    if name == "gate_up_proj":
        gate, up = value.transpose(1, 2).chunk(2, -1)
        return {"gate_proj": gate.contiguous(), "up_proj": up.contiguous()}
    if name == "down_proj" and value.ndim == 3:
        return {"down_proj": value.transpose(1, 2).contiguous()}
    return {}


def _of_t5(weights: Weights) -> Weights:
    """Returns T5's weights; the numbers of its parts tell attention from feed-forward."""
    names = {
        **{"shared.weight": "shared", "layer.0.layer_norm": "attention_norm"},
        **{"SelfAttention.relative_attention_bias.weight": "relative_attention_bias"},
        **{".wi_0.": ".gate_proj.", ".wi_1.": ".up_proj."},
    }
    made: Weights = {}
    for key, value in _renamed(weights, names).items():
        last = "layer.2" if key.startswith("decoder") else "layer.1"
        key = key.replace(f"{last}.layer_norm", "feed_forward_norm")
        key = key.replace("layer.1.layer_norm", "cross_norm")
        key = re.sub(r"block\.0\.layer\.0\.relative", "relative", key)
        made[re.sub(r"\.layer\.\d", "", key)] = value
    gated = any("gate_proj" in key for key in made)
    return _renamed(made, {".wo.": ".down_proj."}) if gated else made


def _of_vit(weights: Weights) -> Weights:
    """Returns ViT's weights."""
    names = {
        **{"vit.": "", "layers.": "layer.", "embeddings.cls": "cls", ".projection": ""},
        **{"embeddings.position": "position", "embeddings.patch_": "patch_", "_proj.": "."},
        **{"attention.o.": "attention.out.", "mlp.fc1": "intermediate", "mlp.fc2": "output"},
    }
    return _renamed(weights, names)


def _of_whisper(weights: Weights) -> Weights:
    """Returns Whisper's weights."""
    names = {"decoder.embed_tokens": "embed_tokens", "embed_positions.weight": "embed_positions"}
    return _renamed(weights, names)


def _of_mamba(weights: Weights) -> Weights:
    """Returns Mamba's weights; it stores two maps in one array, and three in another."""
    names = {
        **{"backbone.": "", "embeddings.weight": "embeddings", "dt_proj.bias": "dt_bias"},
        **{"mixer.A_log": "mixer.ssm.A_log"},
    }
    made: Weights = {}
    for key, value in _renamed(weights, names).items():
        place, _, name = key.removesuffix(".weight").rpartition(".")
        sizes = {"in_proj": (64, 64), "x_proj": (3, 6, 6)}.get(name)
        maps = {"in_proj": ("in_x", "in_z"), "x_proj": ("x_dt", "x_B", "x_C")}.get(name, ())
        parts = zip(maps, value.split(sizes), strict=True) if sizes else ()
        made |= {f"{place}.{new}.weight": part for new, part in parts} or {key: value}
    return made
