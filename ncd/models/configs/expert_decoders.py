"""Decoders with mixtures of experts, a row for each type: what differs from Llama."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.models.configs.decoder_family import (
    AFTER_QWEN,
    BY_FIELD,
    DEEPSEEK_MOE,
    GRANITE,
    LAYER,
    QWEN_2,
    QWEN_3,
    Family,
    Of,
    When,
    granite,
    jamba,
    sparse,
)

OSS_GATE = "(min(max($2, -7), 7) + 1) * min($1, 7) * sigmoid(1.702 * min($1, 7))"
SPARSE: Mapping[str, Family] = {
    "qwen2_moe": Family(
        "Qwen 2 MoE",
        QWEN_2,
        {"bias": Of("qkv_bias", True), "router": "softmax", "shared": "gated", **AFTER_QWEN},
        {},
        sparse,
    ),
    "qwen3_moe": Family(
        "Qwen 3 MoE",
        QWEN_3,
        {**BY_FIELD, "qk_norm": "head", "router": "softmax", **AFTER_QWEN},
        {},
        sparse,
    ),
    "mixtral": Family(
        "Mixtral",
        "Jiang et al. 2024, Mixtral",
        {"router": "top", "windows": "all", "theta": 1e6, "eps": 1e-5},
        {"num_local_experts": 8, "num_experts_per_tok": 2},
    ),
    "phimoe": Family(
        "Phi-3.5 MoE",
        "Abdin et al. 2024, Phi-3",
        {
            **{**LAYER, "bias": Of("attention_bias"), "out_bias": Of("attention_bias")},
            **{"head_bias": Of("lm_head_bias"), "router": "top", "windows": "all", "eps": 1e-5},
        },
        {"num_local_experts": 16, "num_experts_per_tok": 2},
    ),
    "gpt_oss": Family(
        "gpt-oss",
        "OpenAI 2025, gpt-oss",
        {
            **{"bias": Of("attention_bias", True), "out_bias": Of("attention_bias", True)},
            **{"router": "biased", "expert_bias": True, "gate": OSS_GATE, "sinks": True},
            **{"windows": 2, "theta": 1.5e5, "eps": 1e-5},
        },
        {"sliding_window": 128},
        fixed={"swiglu_limit": 7, "swiglu_alpha": 1.702, "hidden_act": "silu"},
    ),
    "jamba": Family(
        "Jamba",
        "Lieber et al. 2024, Jamba",
        {"router": "softmax", "windows": "all", "turn": 0, "mixer": "mamba", "eps": 1e-6},
        {"num_experts": 16, "num_experts_per_tok": 2},
        jamba,
        {"mamba_conv_bias": True},
    ),
    "olmoe": Family(
        "OLMoE",
        "Muennighoff et al. 2024, OLMoE",
        {
            **{**BY_FIELD, "router": "softmax", "qk_norm": "all", "most": Of("clip_qkv", 0.0)},
            "eps": 1e-5,
        },
        {"num_experts": 64, "num_experts_per_tok": 8},
    ),
    "granitemoe": Family(
        "Granite MoE", "IBM 2024, Granite", {**GRANITE, "router": "top"}, {}, granite
    ),
    "granitemoeshared": Family(
        "Granite MoE",
        "IBM 2024, Granite",
        {**GRANITE, "router": "top", "shared": When("shared_intermediate_size", "plain")},
        {},
        granite,
    ),
    "glm4_moe": Family(
        "GLM-4.5",
        "GLM-4.5 Team 2025, GLM-4.5",
        {
            **{**DEEPSEEK_MOE, "turn": 0.5, "qk_norm": When("use_qk_norm", "head")},
            "eps": 1e-5,
        },
    ),
    "dots1": Family(
        "dots.llm1",
        "Huo et al. 2025, dots.llm1",
        {**DEEPSEEK_MOE, "qk_norm": "head", "out_bias": Of("attention_bias")},
    ),
    "dbrx": Family(
        "DBRX",
        "Databricks 2024, DBRX",
        {
            **{"norm": "unbiased", "router": "top", "most": Of("clip_qkv", 0.0), "eps": 1e-5},
        },
        {"moe_num_experts": 4, "moe_top_k": 1},
    ),
}
