"""Configurations as they were published, with the parameters that their weights add up to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def _llama(kind: str, m: int, d: int, n: int, h: int, v: int, **more: Any) -> dict[str, Any]:
    """Returns a configuration with the names of Llama's fields."""
    return {
        **{"model_type": kind, "hidden_size": m, "intermediate_size": d, "num_hidden_layers": n},
        **{"num_attention_heads": h, "vocab_size": v, **more},
    }


LFM2 = {"layer_types": ["conv", "conv", "full_attention"] * 2 + ["conv", "conv"]}
LFM2["layer_types"] += ["full_attention", "conv"] * 4


def _experts(e: int, c: int, inner: int = 0, **more: Any) -> dict[str, Any]:
    return {
        **{"num_experts": e, "num_experts_per_tok": c, **more},
        **({"moe_intermediate_size": inner} if inner else {}),
    }


def _two_texts(
    kind: str, m: int, d: int, layers: tuple[int, int], h: int, v: int, **more: Any
) -> dict[str, Any]:
    """Returns a configuration with the names of BART's fields."""
    return {
        **{"model_type": kind, "d_model": m, "vocab_size": v, **more},
        **{"encoder_layers": layers[0], "decoder_layers": layers[1]},
        **{f"{side}_attention_heads": h for side in ("encoder", "decoder")},
        **{f"{side}_ffn_dim": d for side in ("encoder", "decoder")},
    }


COUNTS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "Llama 2 7B": (_llama("llama", 4096, 11008, 32, 32, 32000), 6_738_415_616),
    "Yi 6B": (_llama("llama", 4096, 11008, 32, 32, 64000, num_key_value_heads=4), 6_061_035_520),
    "Qwen 7B": (_llama("qwen", 4096, 22016, 32, 32, 151936), 7_721_324_544),
    "Baichuan 7B": (_llama("baichuan", 4096, 11008, 32, 32, 64000), 7_000_559_616),
    "InternLM2 7B": (
        _llama("internlm2", 4096, 14336, 32, 32, 92544, num_key_value_heads=8, bias=False),
        7_737_708_544,
    ),
    "Gemma 3 1B": (
        _llama("gemma3_text", 1152, 6912, 26, 4, 262144, num_key_value_heads=1, head_dim=256),
        999_885_952,
    ),
    "Phi-2": (_llama("phi", 2560, 10240, 32, 32, 51200), 2_779_683_840),
    "Phi-3 mini": (_llama("phi3", 3072, 8192, 32, 32, 32064), 3_821_079_552),
    "Falcon 7B": (
        {
            **{"model_type": "falcon", "hidden_size": 4544, "num_hidden_layers": 32},
            **{"num_attention_heads": 71, "vocab_size": 65024, "multi_query": True},
        },
        6_921_720_704,
    ),
    "Pythia 70M": (_llama("gpt_neox", 512, 2048, 6, 8, 50304), 70_426_624),
    "GPT-NeoX 20B": (_llama("gpt_neox", 6144, 24576, 44, 64, 50432), 20_554_567_680),
    "GPT-J 6B": (
        {"model_type": "gptj", "n_embd": 4096, "n_layer": 28, "n_head": 16, "vocab_size": 50400},
        6_050_882_784,
    ),
    "OPT 125M": (
        {
            **{"model_type": "opt", "hidden_size": 768, "ffn_dim": 3072, "vocab_size": 50272},
            **{"num_hidden_layers": 12, "num_attention_heads": 12},
        },
        125_239_296,
    ),
    "BLOOM 560M": (
        {
            **{"model_type": "bloom", "n_embed": 1024, "hidden_size": 1024, "n_layer": 24},
            **{"num_attention_heads": 16, "vocab_size": 250880},
        },
        559_214_592,
    ),
    "MPT 7B": (
        {
            **{"model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32},
            **{"vocab_size": 50432, "expansion_ratio": 4},
        },
        6_649_286_656,
    ),
    "StarCoder 2 3B": (
        _llama("starcoder2", 3072, 12288, 30, 24, 49152, num_key_value_heads=2),
        3_030_371_328,
    ),
    "StableLM 3B": (_llama("stablelm", 2560, 6912, 32, 32, 50304), 2_795_443_200),
    "OLMo 7B": (_llama("olmo", 4096, 11008, 32, 32, 50304), 6_888_095_744),
    "SmolLM3 3B": (
        _llama("smollm3", 2048, 11008, 36, 16, 128256, num_key_value_heads=4),
        3_075_098_624,
    ),
    "Command R": (_llama("cohere", 8192, 22528, 40, 64, 256000), 34_980_831_232),
    "Qwen 3 30B-A3B": (
        _llama("qwen3_moe", 2048, 6144, 48, 32, 151936, num_key_value_heads=4, head_dim=128)
        | _experts(128, 8, 768),
        30_532_122_624,
    ),
    "Qwen 1.5 MoE A2.7B": (
        _llama("qwen2_moe", 2048, 5632, 24, 16, 151936)
        | _experts(60, 4, 1408, shared_expert_intermediate_size=5632),
        14_315_784_192,
    ),
    "OLMoE 1B-7B": (_llama("olmoe", 2048, 1024, 16, 16, 50304) | _experts(64, 8), 6_919_161_856),
    "Phi-3.5 MoE": (
        _llama("phimoe", 4096, 6400, 32, 32, 32064, num_key_value_heads=8, attention_bias=True)
        | _experts(16, 2, lm_head_bias=True),
        41_873_153_344,
    ),
    "DBRX": (
        {
            **{"model_type": "dbrx", "d_model": 6144, "n_heads": 48, "n_layers": 40},
            **{"vocab_size": 100352, "attn_config": {"kv_n_heads": 8, "clip_qkv": 8}},
            "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
        },
        131_596_523_520,
    ),
    "RoBERTa base": (
        _llama("roberta", 768, 3072, 12, 12, 50265, max_position_embeddings=514)
        | {"type_vocab_size": 1},
        124_645_632,
    ),
    "XLM-R base": (
        _llama("xlm-roberta", 768, 3072, 12, 12, 250002, max_position_embeddings=514)
        | {"type_vocab_size": 1},
        278_043_648,
    ),
    "DistilBERT": (
        {
            **{"model_type": "distilbert", "dim": 768, "hidden_dim": 3072, "n_layers": 6},
            **{"n_heads": 12, "vocab_size": 30522},
        },
        66_362_880,
    ),
    "ALBERT base": (
        _llama("albert", 768, 3072, 12, 12, 30000, embedding_size=128),
        11_683_584,
    ),
    "ModernBERT base": (_llama("modernbert", 768, 1152, 22, 12, 50368), 149_014_272),
    "DeBERTa v3 base": (
        _llama("deberta-v2", 768, 3072, 12, 12, 128100, position_buckets=256)
        | {"pos_att_type": "p2c|c2p", "norm_rel_ebd": "layer_norm", "share_att_key": True}
        | {"relative_attention": True, "position_biased_input": False, "type_vocab_size": 0},
        183_831_552,
    ),
    "gpt-oss 20B": (
        _llama("gpt_oss", 2880, 2880, 24, 64, 201088, num_key_value_heads=8, head_dim=64)
        | {"num_local_experts": 32, "num_experts_per_tok": 4, "swiglu_limit": 7.0},
        20_914_757_184,
    ),
    "gpt-oss 120B": (
        _llama("gpt_oss", 2880, 2880, 36, 64, 201088, num_key_value_heads=8, head_dim=64)
        | {"num_local_experts": 128, "num_experts_per_tok": 4},
        116_829_156_672,
    ),
    "LFM2 350M": (
        _llama("lfm2", 1024, 6656, 16, 16, 65536, num_key_value_heads=8) | LFM2,
        354_483_968,
    ),
    "LFM2 1.2B": (
        _llama("lfm2", 2048, 0, 16, 32, 65536, num_key_value_heads=8)
        | {**LFM2, "block_ff_dim": 12288},
        1_170_340_608,
    ),
    "Jamba": (
        _llama("jamba", 4096, 14336, 32, 32, 65536, num_key_value_heads=8)
        | _experts(16, 2, attn_layer_period=8, attn_layer_offset=4, mamba_dt_rank=256),
        51_570_323_328,
    ),
    "Qwen 3 Next 80B-A3B": (
        _llama("qwen3_next", 2048, 5120, 48, 16, 151936, num_key_value_heads=2, head_dim=256)
        | _experts(512, 10, 512, shared_expert_intermediate_size=512)
        | {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "full_attention_interval": 4},
        79_674_391_296,
    ),
    "Codestral Mamba 7B": ({"model_type": "mamba2", "n_groups": 8}, 7_285_403_648),
    "BART base": (_two_texts("bart", 768, 3072, (6, 6), 12, 50265), 139_420_416),
    "mBART large": (_two_texts("mbart", 1024, 4096, (12, 12), 16, 250027), 610_851_840),
    # Sines are not learned: the library counts their tables, 2 x 1,048,576 and 2 x 262,144 more.
    "PEGASUS large": (_two_texts("pegasus", 1024, 4096, (16, 16), 16, 96103), 568_699_904),
    "Marian, English to German": (
        _two_texts("marian", 512, 2048, (6, 6), 8, 58101, activation_function="swish"),
        73_886_208,
    ),
    "M2M-100 418M": (_two_texts("m2m_100", 1024, 4096, (12, 12), 16, 128112), 483_905_536),
    "BlenderBot 400M": (
        _two_texts("blenderbot", 1280, 5120, (2, 12), 32, 8008, max_position_embeddings=128),
        364_802_560,
    ),
    "umT5 small": (
        {
            **{"model_type": "umt5", "d_model": 512, "d_ff": 1024, "num_layers": 8, "num_heads": 6},
            **{"vocab_size": 256384, "feed_forward_proj": "gated-gelu"},
            "tie_word_embeddings": False,
        },
        306_601_984,
    ),
    "CLIP ViT-B/32": ({"model_type": "clip"}, 151_277_313),
    "CLIP ViT-B/32, pictures": ({"model_type": "clip_vision_model"}, 87_456_000),
    "CLIP ViT-B/32, sentences": ({"model_type": "clip_text_model"}, 63_165_952),
    # The last numbers of DINOv2 are those of its cards without the mask token.
    "DINOv2 small": (
        {
            **{"model_type": "dinov2", "image_size": 518},
            **{"hidden_size": 384, "num_attention_heads": 6},
        },
        22_056_576 - 384,
    ),
    "DINOv2 base": ({"model_type": "dinov2", "image_size": 518}, 86_580_480 - 768),
    "SigLIP base": ({"model_type": "siglip"}, 203_155_970),
    "SigLIP base, pictures": ({"model_type": "siglip_vision_model"}, 92_884_224),
    "SigLIP base, sentences": ({"model_type": "siglip_text_model"}, 110_271_744),
    "DeiT base, distilled": (
        {"model_type": "deit", "architectures": ["DeiTForImageClassificationWithTeacher"]},
        87_338_192,
    ),
    "Swin-T": ({"model_type": "swin", "mlp_ratio": 4.0}, 28_288_354),
    "ConvNeXt-T": ({"model_type": "convnext"}, 28_589_128),
    "ConvNeXt V2-T": ({"model_type": "convnextv2"}, 28_635_496),
}
