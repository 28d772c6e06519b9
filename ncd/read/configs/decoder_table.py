"""Decoders, a row for each type: what differs from Llama."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.read.configs.decoder_family import (
    AFTER_QWEN,
    ALL_BIASES,
    BY_FIELD,
    COHERE,
    DEEPSEEK_MOE,
    GEMMA,
    GEMMA_3,
    GLM,
    GPT,
    GRANITE,
    LAYER,
    NORMS_AROUND,
    PLAIN_FORWARD,
    QWEN_2,
    QWEN_3,
    QWEN_HYBRID,
    Family,
    FieldChoice,
    FieldValue,
    baichuan,
    bigcode,
    exaone,
    falcon,
    granite,
    hybrid,
    hybrid_granite,
    hybrid_of_parts,
    hybrid_sparse,
    jamba,
    lfm2,
    modern,
    neo,
    neox,
    qwen,
    smollm,
    sparse,
    stablelm,
    states_alone,
)

# --- Decoders with one feed-forward, a row for each type: what differs from Llama

DENSE: Mapping[str, Family] = {
    "llama": Family("Llama", "Touvron et al. 2023, LLaMA", {**BY_FIELD, "windows": ""}),
    "mistral": Family("Mistral", "Jiang et al. 2023, Mistral 7B", {"windows": "all"}),
    "ministral": Family("Ministral", "Mistral AI 2024, Ministral", {"windows": "all"}),
    "yi": Family("Yi", "01.AI 2024, Yi"),
    "internlm": Family(
        "InternLM",
        "InternLM 2023",
        {"bias": FieldValue("bias", True), "out_bias": FieldValue("bias", True)},
    ),
    "internlm2": Family(
        "InternLM2",
        "Cai et al. 2024, InternLM2",
        {"bias": FieldValue("bias"), "out_bias": FieldValue("bias")},
    ),
    "internlm3": Family(
        "InternLM3",
        "Cai et al. 2024, InternLM2",
        {
            "bias": FieldValue("qkv_bias"),
            "out_bias": FieldValue("bias"),
            "mlp_bias": FieldValue("bias"),
        },
    ),
    "baichuan": Family(
        "Baichuan",
        "Yang et al. 2023, Baichuan 2",
        {"distances": FieldChoice("falls", "after")},
        {},
        baichuan,
    ),
    "qwen": Family("Qwen", "Bai et al. 2023, Qwen", {"bias": True, "mlp_bias": False}, {}, qwen),
    "qwen2": Family("Qwen 2", QWEN_2, {"bias": True, **AFTER_QWEN}),
    "qwen2_vl": Family("Qwen 2 VL", QWEN_2, {"bias": True, **AFTER_QWEN}),
    "qwen2_5_vl": Family("Qwen 2.5 VL", QWEN_2, {"bias": True, **AFTER_QWEN}),
    "qwen3_vl": Family("Qwen 3 VL", QWEN_3, {**BY_FIELD, "qk_norm": "head", **AFTER_QWEN}),
    "qwen3": Family("Qwen 3", QWEN_3, {**BY_FIELD, "qk_norm": "head", **AFTER_QWEN}),
    "gemma": Family("Gemma", "Gemma Team 2024, Gemma", GEMMA),
    "gemma2": Family(
        "Gemma 2",
        "Gemma Team 2024, Gemma 2",
        {
            **{
                **GEMMA,
                **NORMS_AROUND,
                "windows": 2,
                "cap": FieldValue("attn_logit_softcapping", 50.0),
            },
            "word_cap": FieldValue("final_logit_softcapping", 30.0),
        },
        {"sliding_window": 4096},
    ),
    "gemma3_text": Family("Gemma 3", "Gemma Team 2025, Gemma 3", GEMMA_3, {"sliding_window": 4096}),
    "gemma3": Family("Gemma 3", "Gemma Team 2025, Gemma 3", GEMMA_3, {"sliding_window": 4096}),
    "vaultgemma": Family(
        "VaultGemma",
        "VaultGemma Team 2025",
        {
            **{**GEMMA, "scale": FieldValue("query_pre_attn_scalar", 256), "windows": 2},
            "cap": FieldValue("attn_logit_softcapping", 50.0),
            "word_cap": FieldValue("final_logit_softcapping", 30.0),
        },
        {"sliding_window": 4096},
    ),
    "phi": Family(
        "Phi",
        "Li et al. 2023, Phi-1.5",
        {
            **{**LAYER, **ALL_BIASES, **PLAIN_FORWARD, "parallel": 1, "turn": 0.5},
            **{"head_bias": True, "eps": 1e-5},
        },
    ),
    "phi3": Family(
        "Phi-3", "Abdin et al. 2024, Phi-3", {"windows": "all", "turn": 1.0, "eps": 1e-5}
    ),
    "stablelm": Family(
        "StableLM",
        "Bellagente et al. 2024, Stable LM 2",
        {
            **{
                **LAYER,
                "bias": FieldValue("use_qkv_bias"),
                "parallel": FieldValue("norms beside", 0, is_rewritten=True),
            },
            **{"turn": 0.25, "qk_norm": FieldChoice("qk_layernorm", "each"), "eps": 1e-5},
        },
        {},
        stablelm,
    ),
    "olmo": Family(
        "OLMo",
        "Groeneveld et al. 2024, OLMo",
        {
            **{"norm": "plain", "most": FieldValue("clip_qkv", 0.0), "eps": 1e-5},
            **{"bias": FieldValue("attention_bias"), "out_bias": FieldValue("attention_bias")},
        },
    ),
    "olmo2": Family(
        "OLMo 2",
        "OLMo Team 2024, 2 OLMo 2 Furious",
        {**BY_FIELD, "norms": "after", "qk_norm": "all", "eps": 1e-5},
    ),
    "olmo3": Family(
        "OLMo 3",
        "OLMo Team 2025, OLMo 3",
        {**BY_FIELD, "norms": "after", "qk_norm": "all", "windows": 4, "eps": 1e-5},
        {"sliding_window": 4096},
    ),
    "falcon": Family(
        "Falcon",
        "Almazrouei et al. 2023, Falcon",
        {
            **{**LAYER, "gated": False, "activation": "gelu", "tied": True, "eps": 1e-5},
            **{
                "bias": FieldValue("bias"),
                "out_bias": FieldValue("bias"),
                "mlp_bias": FieldValue("bias"),
            },
            **{
                "parallel": FieldValue("norms beside", 1, is_rewritten=True),
                "distances": FieldChoice("alibi", "before"),
                "wide": True,
            },
        },
        {},
        falcon,
    ),
    "gpt_neox": Family(
        "GPT-NeoX",
        "Black et al. 2022, GPT-NeoX",
        {
            **{**LAYER, "gated": False, "activation": "gelu", "mlp_bias": True, "turn": 0.25},
            **{
                "bias": FieldValue("attention_bias", True),
                "out_bias": FieldValue("attention_bias", True),
            },
            **{"parallel": FieldValue("norms beside", 2, is_rewritten=True), "eps": 1e-5},
        },
        {},
        neox,
    ),
    "gptj": Family(
        "GPT-J",
        "Wang and Komatsuzaki 2021, GPT-J",
        {
            **{**LAYER, **PLAIN_FORWARD, "mlp_bias": True, "parallel": 1, "head_bias": True},
            **{"turn": 64, "adjacent": True, "wide": True, "eps": 1e-5},
        },
    ),
    "codegen": Family(
        "CodeGen",
        "Nijkamp et al. 2022, CodeGen",
        {
            **{**LAYER, **PLAIN_FORWARD, "mlp_bias": True, "parallel": 1, "head_bias": True},
            **{"turn": 64, "adjacent": True, "wide": True, "eps": 1e-5},
        },
    ),
    "gpt_neo": Family(
        "GPT-Neo",
        "Black et al. 2021, GPT-Neo",
        {**GPT, "bias": False, "scale": 1, "windows": "listed", "eps": 1e-5},
        {},
        neo,
    ),
    "gpt_bigcode": Family(
        "StarCoder",
        "Li et al. 2023, StarCoder",
        {**GPT, "activation": "gelu_pytorch_tanh", "eps": 1e-5},
        {},
        bigcode,
    ),
    "opt": Family(
        "OPT",
        "Zhang et al. 2022, OPT",
        {**GPT, "activation": "relu", "positions": 2, "eps": 1e-5},
        {"max_position_embeddings": 2048},
    ),
    "bloom": Family(
        "BLOOM",
        "BigScience 2022, BLOOM",
        {
            **{**LAYER, **ALL_BIASES, **PLAIN_FORWARD, "tied": True, "turn": 0, "eps": 1e-5},
            **{"distances": "after", "first_norm": True, "wide": True},
        },
    ),
    "mpt": Family(
        "MPT",
        "MosaicML 2023, MPT",
        {
            **{"norm": "unbiased", "gated": False, "activation": "gelu", "tied": True},
            **{"distances": "after", "turn": 0, "most": FieldValue("clip_qkv", 0.0), "eps": 1e-5},
            "wide": True,
        },
    ),
    "starcoder2": Family(
        "StarCoder 2",
        "Lozhkov et al. 2024, StarCoder 2",
        {
            **{**LAYER, "gated": False, "activation": "gelu_pytorch_tanh", "tied": True},
            **{"bias": FieldValue("use_bias", True), "out_bias": FieldValue("use_bias", True)},
            **{"mlp_bias": FieldValue("use_bias", True), "windows": "all", "eps": 1e-5},
        },
    ),
    "granite": Family("Granite", "IBM 2024, Granite", GRANITE, {}, granite),
    "smollm3": Family(
        "SmolLM3",
        "Bakouch et al. 2025, SmolLM3",
        {**BY_FIELD, **AFTER_QWEN, "tied": True, "theta": 2e6},
        {},
        smollm,
    ),
    "cohere": Family(
        "Cohere",
        "Cohere 2024, Command R",
        {**COHERE, "qk_norm": FieldChoice("use_qk_norm", "each")},
    ),
    "cohere2": Family(
        "Cohere 2",
        "Cohere 2024, Command R7B",
        {**COHERE, "windows": 4, "turns": "windows"},
        {"sliding_window": 4096},
    ),
    "glm": Family("GLM", "GLM Team 2024, ChatGLM", GLM),
    "glm4": Family("GLM-4", "GLM Team 2024, ChatGLM", {**GLM, "norms": "around"}),
    "ernie4_5": Family(
        "ERNIE 4.5",
        "Baidu 2025, ERNIE 4.5",
        {
            **{"adjacent": True, "tied": True, "eps": 1e-5, "theta": 500000},
            **{
                "bias": FieldValue("use_bias"),
                "out_bias": FieldValue("use_bias"),
                "mlp_bias": FieldValue("use_bias"),
            },
        },
    ),
    "modernbert": Family(
        "ModernBERT",
        "Warner et al. 2024, ModernBERT",
        {
            **{**BY_FIELD, "norm": "unbiased", "causal": False, "scores": False, "bare": True},
            **{"first_norm": True, "windows": "listed", "activation": "gelu", "eps": 1e-5},
            **{"theta": 1.6e5, "local": 1e4},
        },
        {},
        modern,
        {"norm_bias": False},
    ),
    "nemotron": Family(
        "Nemotron",
        "Parmar et al. 2024, Nemotron-4",
        {**LAYER, **BY_FIELD, "gated": False, "activation": "relu2", "turn": 0.5, "eps": 1e-5},
    ),
    "arcee": Family(
        "Arcee", "Arcee 2025, AFM", {**BY_FIELD, "gated": False, "activation": "relu2"}
    ),
    "helium": Family(
        "Helium",
        "Kyutai 2025, Helium",
        {"adjacent": True, "bias": FieldValue("attention_bias"), "eps": 1e-8},
    ),
    "seed_oss": Family(
        "Seed-OSS",
        "ByteDance 2025, Seed-OSS",
        {
            **{
                "bias": FieldValue("attention_bias", True),
                "out_bias": FieldValue("attention_out_bias"),
            },
            "mlp_bias": FieldValue("mlp_bias"),
        },
    ),
    "qwen3_5": Family("Qwen3.5", "Qwen Team 2026, Qwen3.5", QWEN_HYBRID, {}, hybrid),
    "mamba2": Family(
        "Mamba-2",
        "Dao and Gu 2024, Mamba-2",
        {"alone": True, "mixer": "alone", "turn": 0, "eps": 1e-5},
        {"num_hidden_layers": 64, "vocab_size": 32768, "hidden_size": 4096},
        states_alone,
    ),
    "bamba": Family(
        "Bamba",
        "IBM, Princeton, CMU and UIUC 2024, Bamba",
        {**BY_FIELD, "mixer": "mamba2", "turn": 0.5, "eps": 1e-5},
        {"mamba_d_head": "auto", "mamba_d_state": 256, "attn_layer_indices": []},
        hybrid,
    ),
    "lfm2": Family(
        "LFM2",
        "Liquid AI 2025, LFM2",
        {"mixer": "convolution", "qk_norm": "head", "tied": True, "theta": 1e6, "eps": 1e-5},
        {"conv_L_cache": 3},
        lfm2,
    ),
    "nemotron_h": Family(
        "Nemotron-H",
        "NVIDIA 2025, Nemotron-H",
        {
            **{**BY_FIELD, "gated": False, "activation": "relu2", "turn": 0, "eps": 1e-5},
            "mixer": "mamba2",
        },
        {"n_groups": 8},
        hybrid_of_parts,
        {"layers with experts": 0},
    ),
    "exaone4": Family(
        "EXAONE 4",
        "LG AI 2025, EXAONE 4.0",
        {
            **{"norms": "after", "qk_norm": "head", "windows": 4, "eps": 1e-5},
            "turns": FieldChoice("sliding_window", "windows"),
        },
        {},
        exaone,
    ),
}


# --- Decoders with mixtures of experts, a row for each type: what differs from Llama

NO_HIDDEN = {"intermediate_size": 1}  # where all layers have experts
OSS_GATE = "(min(max($2, -7), 7) + 1) * min($1, 7) * sigmoid(1.702 * min($1, 7))"
SPARSE: Mapping[str, Family] = {
    "qwen2_moe": Family(
        "Qwen 2 MoE",
        QWEN_2,
        {
            "bias": FieldValue("qkv_bias", True),
            "router": "softmax",
            "shared": "gated",
            **AFTER_QWEN,
        },
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
            **{
                **LAYER,
                "bias": FieldValue("attention_bias"),
                "out_bias": FieldValue("attention_bias"),
            },
            **{
                "head_bias": FieldValue("lm_head_bias"),
                "router": "top",
                "windows": "all",
                "eps": 1e-5,
            },
        },
        {"num_local_experts": 16, "num_experts_per_tok": 2},
    ),
    "gpt_oss": Family(
        "gpt-oss",
        "OpenAI 2025, gpt-oss",
        {
            **{
                "bias": FieldValue("attention_bias", True),
                "out_bias": FieldValue("attention_bias", True),
            },
            **{"router": "biased", "expert_bias": True, "gate": OSS_GATE, "sinks": True},
            **{"windows": 2, "theta": 1.5e5, "eps": 1e-5},
        },
        {"sliding_window": 128},
        fixed_fields={"swiglu_limit": 7, "swiglu_alpha": 1.702, "hidden_act": "silu"},
    ),
    "jamba": Family(
        "Jamba",
        "Lieber et al. 2024, Jamba",
        {"router": "softmax", "windows": "all", "turn": 0, "mixer": "mamba", "eps": 1e-6},
        {"num_experts": 16, "num_experts_per_tok": 2},
        jamba,
        {"mamba_conv_bias": True},
    ),
    "qwen3_next": Family(
        "Qwen3-Next",
        "Qwen Team 2025, Qwen3-Next",
        {**QWEN_HYBRID, "router": "softmax", "shared": "gated"},
        {"norm_topk_prob": True, "num_experts": 512, "num_experts_per_tok": 10},
        hybrid_sparse,
    ),
    "qwen3_5_moe": Family(
        "Qwen3.5 MoE",
        "Qwen Team 2026, Qwen3.5",
        {**QWEN_HYBRID, "router": "softmax", "shared": "gated"},
        {"norm_topk_prob": True, "num_experts": 256, "num_experts_per_tok": 8, **NO_HIDDEN},
        hybrid,
    ),
    "granitemoehybrid": Family(
        "Granite 4",
        "IBM 2025, Granite 4.0",
        {
            **{**GRANITE, "shared": "plain", "mixer": "mamba2", "eps": 1e-6},
            "router": FieldChoice("num_local_experts", "top"),
            "turn": FieldValue("turned", 0, is_rewritten=True),
        },
        {},
        hybrid_granite,
    ),
    "olmoe": Family(
        "OLMoE",
        "Muennighoff et al. 2024, OLMoE",
        {
            **{
                **BY_FIELD,
                "router": "softmax",
                "qk_norm": "all",
                "most": FieldValue("clip_qkv", 0.0),
            },
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
        {**GRANITE, "router": "top", "shared": FieldChoice("shared_intermediate_size", "plain")},
        {},
        granite,
    ),
    "glm4_moe": Family(
        "GLM-4.5",
        "GLM-4.5 Team 2025, GLM-4.5",
        {
            **{**DEEPSEEK_MOE, "turn": 0.5, "qk_norm": FieldChoice("use_qk_norm", "head")},
            "eps": 1e-5,
        },
    ),
    "dots1": Family(
        "dots.llm1",
        "Huo et al. 2025, dots.llm1",
        {**DEEPSEEK_MOE, "qk_norm": "head", "out_bias": FieldValue("attention_bias")},
    ),
    "dbrx": Family(
        "DBRX",
        "Databricks 2024, DBRX",
        {
            **{
                "norm": "unbiased",
                "router": "top",
                "most": FieldValue("clip_qkv", 0.0),
                "eps": 1e-5,
            },
        },
        {"moe_num_experts": 4, "moe_top_k": 1},
    ),
}
