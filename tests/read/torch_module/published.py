"""Architectures of the library `transformers`, at tiny sizes."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

os.environ["HF_HUB_OFFLINE"] = "1"

SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
}
GROUPED = {**SMALL, "num_key_value_heads": 2}
IMAGES = {
    **{key: SMALL[key] for key in SMALL if key != "vocab_size"},
    "image_size": 32,
    "patch_size": 8,
}
IDS = (torch.arange(8) * 7 % 90)[None]
PICTURE = torch.linspace(-1, 1, 3 * 32 * 32).sin().view(1, 3, 32, 32)


class First(nn.Module):
    """A model that gives its first output alone."""

    def __init__(self, model: nn.Module, **settings: Any) -> None:
        super().__init__()
        self.model, self.settings = model, settings

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x, **self.settings)[0]


def _made(
    name: str, config: Mapping[str, Any], x: Tensor = IDS, cached: bool = True, kind: str = "Model"
) -> tuple[nn.Module, tuple[Tensor, ...]]:
    import transformers

    transformers.logging.set_verbosity_error()
    settings = getattr(transformers, f"{name}Config")(**config)
    model = getattr(transformers, f"{name}{kind}")(settings)
    if hasattr(nn.Module, "smart_apply"):  # which the library gives to all modules
        del nn.Module.smart_apply
    return First(model, **({"use_cache": False} if cached else {})).eval(), (x,)


def _encoder(name: str, config: Mapping[str, Any], x: Tensor = IDS, kind: str = "Model") -> Any:
    return partial(_made, name, config, x, False, kind)


def _decoder(name: str, config: Mapping[str, Any]) -> Any:
    return partial(_made, name, config)


DEEPSEEK = {
    **{**GROUPED, "num_key_value_heads": 4, "num_hidden_layers": 2},
    **{"moe_intermediate_size": 16, "q_lora_rank": 16, "kv_lora_rank": 8},
    **{"qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8},
    **{"n_routed_experts": 4, "num_experts_per_tok": 2, "first_k_dense_replace": 2},
    **{"n_group": 1, "topk_group": 1},
}
SWIN = {
    **{"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2]},
    **{"num_heads": [2, 4], "window_size": 4},
}
GEMMA_2 = {**GROUPED, "num_hidden_layers": 4, "head_dim": 8, "sliding_window": 4}
GPT = {"vocab_size": 99, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 32}
OPT = {
    **{key: SMALL[key] for key in SMALL if key != "intermediate_size"},
    **{"ffn_dim": 64, "max_position_embeddings": 32, "word_embed_proj_dim": 32},
}
DISTILLED = {"vocab_size": 99, "dim": 32, "hidden_dim": 64, "n_layers": 3, "n_heads": 4}
T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 3, "num_heads": 4}
MAMBA = {"vocab_size": 99, "hidden_size": 32, "state_size": 4, "num_hidden_layers": 2}

CASES: Mapping[str, Callable[[], tuple[nn.Module, tuple[Tensor, ...]]]] = {
    "gpt-2": _decoder("GPT2", GPT),
    "llama": _decoder("Llama", GROUPED),
    "mistral": _decoder("Mistral", {**GROUPED, "sliding_window": 4}),
    "qwen-2": _decoder("Qwen2", GROUPED),
    "qwen-3": _decoder("Qwen3", {**GROUPED, "head_dim": 8}),
    "gemma": _decoder("Gemma", {**GROUPED, "head_dim": 8}),
    "gemma-2": _decoder("Gemma2", GEMMA_2),
    "opt": _decoder("OPT", OPT),
    "gpt-neox": _decoder("GPTNeoX", SMALL),
    "phi": _decoder("Phi", SMALL),
    "bloom": _decoder("Bloom", {"vocab_size": 99, "hidden_size": 32, "n_layer": 3, "n_head": 4}),
    "mixtral": _decoder("Mixtral", {**GROUPED, "num_local_experts": 4}),
    "deepseek-2": _decoder("DeepseekV2", DEEPSEEK),
    "mamba": _decoder("Mamba", MAMBA),
    "bert": _encoder("Bert", SMALL),
    "roberta": _encoder("Roberta", {**SMALL, "pad_token_id": 1}),
    "distilbert": _encoder("DistilBert", DISTILLED),
    "electra": _encoder("Electra", {**SMALL, "embedding_size": 16}),
    "albert": _encoder("Albert", {**SMALL, "embedding_size": 16}),
    "t5": _encoder("T5", T5, kind="EncoderModel"),
    "vit": _encoder("ViT", IMAGES, PICTURE),
    "deit": _encoder("DeiT", IMAGES, PICTURE),
    "dinov2": _encoder("Dinov2", IMAGES, PICTURE),
    "convnext": _encoder(
        "ConvNext", {"hidden_sizes": [8, 16], "depths": [2, 2], "num_stages": 2}, PICTURE
    ),
    "resnet": _encoder(
        "ResNet", {"hidden_sizes": [8, 16], "depths": [2, 2], "embedding_size": 8}, PICTURE
    ),
    "swin": _encoder("Swin", SWIN, PICTURE),
}

BOXES: Mapping[str, list[str]] = {}
LAYERS = {
    "albert": [("albert_layer_groups", 3)],
    "bert": [("layer", 3)],
    "bloom": [("h", 3)],
    "convnext": [("layers", 2), ("layers", 2)],
    "deepseek-2": [("layers", 2)],
    "dinov2": [("layer", 3)],
    "distilbert": [("layer", 3)],
    "electra": [("layer", 3)],
    "gemma-2": [("layers", 2)],  # of two layers each, which alternate
    "gpt-2": [("h", 3)],
    "mamba": [("layers", 2)],
    "resnet": [("layers", 2)],
    "roberta": [("layer", 3)],
    "swin": [("blocks", 2)],
    "t5": [("block", 2)],
}
