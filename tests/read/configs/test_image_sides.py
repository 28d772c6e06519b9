"""Configurations of DINOv2, the sides of CLIP, and SigLIP: the model of `transformers`, exactly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.errors import SizeError
from ncd.read.configs.config_reader import read_config

VISION = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 128, "image_size": 32, "patch_size": 8},
}
TEXT = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"intermediate_size": 128, "vocab_size": 99, "max_position_embeddings": 9},
    **{"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0},
}
DINO = {key: n for key, n in VISION.items() if key != "intermediate_size"}
PAIR = {
    "vision_config": {**VISION, "intermediate_size": 48},
    "text_config": {**TEXT, "intermediate_size": 40, "projection_size": 32},
}
PICTURES = torch.linspace(-2, 2, 2 * 3 * 32 * 32).sin().view(2, 3, 32, 32)
WORDS = torch.arange(18).view(2, 9) * 7 % 90 + 3
WORDS[:, -1] = 98  # the end of a text, which CLIP finds as the largest of its numbers
Outputs = Callable[[Any], Tensor]
MODELS: Mapping[str, tuple[str, str, Mapping[str, Any], tuple[Tensor, ...], Outputs]] = {
    "DINOv2": ("Dinov2Config", "Dinov2Model", DINO, (PICTURES[0],), lambda x: x[0][0]),
    "CLIP, pictures": (
        *("CLIPVisionConfig", "CLIPVisionModel", VISION, (PICTURES,)),
        lambda x: x.pooler_output,
    ),
    "CLIP, points of pictures": (
        *("CLIPVisionConfig", "CLIPVisionModelWithProjection", {**VISION, "projection_dim": 16}),
        *((PICTURES,), lambda x: x.image_embeds),
    ),
    "CLIP, sentences": (
        *("CLIPTextConfig", "CLIPTextModel", TEXT, (WORDS,)),
        lambda x: x.pooler_output,
    ),
    "CLIP, points of sentences": (
        *("CLIPTextConfig", "CLIPTextModelWithProjection", {**TEXT, "projection_dim": 16}),
        *((WORDS,), lambda x: x.text_embeds),
    ),
    "SigLIP, pictures": (
        *("SiglipVisionConfig", "SiglipVisionModel", {**VISION, "intermediate_size": 48}),
        *((PICTURES,), lambda x: x.pooler_output),
    ),
    "SigLIP, sentences": (
        *("SiglipTextConfig", "SiglipTextModel", {**TEXT, "projection_size": 24}, (WORDS,)),
        lambda x: x.pooler_output,
    ),
    "SigLIP": (
        *("SiglipConfig", "SiglipModel", PAIR, (PICTURES, WORDS)),
        lambda x: x.logits_per_image,
    ),
}
NAMES = {
    **{"position_embedding.weight": "position_embedding", "embeddings.": "", "encoder.": ""},
    **{"token_embedding.weight": "token_embedding", "out_proj.": "out.", "mlp.": ""},
    **{"q_proj.": "q.", "k_proj.": "k.", "v_proj.": "v.", "attention.o_proj": "attention.out"},
}
DINO_NAMES = {
    **{"embeddings.patch_embeddings.projection": "patch_embeddings", "embeddings.cls": "cls"},
    **{"embeddings.position": "position", "embeddings.mask": "mask", "layers.": "layer."},
    **{"norm1.": "layernorm_before.", "norm2.": "layernorm_after.", ".lambda1": ""},
    **{"attention.attention.query": "attention.q", "attention.attention.key": "attention.k"},
    **{"attention.attention.value": "attention.v", "attention.output.dense": "attention.out"},
    **{"mlp.fc1": "intermediate", "mlp.fc2": "output", "encoder.": "", "_proj.": "."},
    "attention.o.": "attention.out.",
}


def _named(name: str, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Returns weights under this project's names."""
    sides = ("vision.", "text.") if name == "SigLIP" else ("", "")
    names = dict(zip(("vision_model.", "text_model."), sides, strict=True))
    names |= DINO_NAMES if name == "DINOv2" else NAMES
    found: dict[str, Tensor] = {}
    for key, value in weights.items():
        for old, new in names.items():
            key = key.replace(old, new)
        stem, joined, kind = key.partition("attention.in_proj_")
        if joined:  # one map for queries, keys and values
            parts = zip("qkv", value.chunk(3), strict=True)
            found |= {f"{stem}{one}.{kind}": part for one, part in parts}
        else:
            found[key.replace("head.attention.out", "head.out")] = value
    return found


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_the_published_code(name: str) -> None:
    transformers = pytest.importorskip("transformers")
    kind, model, settings, inputs, outputs = MODELS[name]
    config = getattr(transformers, kind)(**settings)
    torch.manual_seed(0)
    theirs: nn.Module = getattr(transformers, model)(config).eval()
    for weight in theirs.parameters():
        weight.data += torch.randn_like(weight) / 9
    fields = {**json.loads(config.to_json_string(use_diff=False)), "architectures": [model]}
    found = read_config(json.dumps(fields))
    ours = ncd.compile(found.system(**found.sizes)).eval()
    weights = _named(name, dict(theirs.named_parameters()))
    own = {key: weights.pop(key).detach().reshape(x.shape) for key, x in ours.state_dict().items()}
    assert [*weights] == (["mask_token"] if name == "DINOv2" else [])  # of the training alone
    ours.load_state_dict(own)

    with torch.no_grad():
        if name == "SigLIP":
            wanted = outputs(theirs(pixel_values=PICTURES, input_ids=WORDS))
        else:
            wanted = outputs(theirs(*(x if x.dim() != 3 else x[None] for x in inputs)))
        made = ours(*inputs)
    torch.testing.assert_close(made, wanted, atol=1e-5, rtol=1e-4)


def test_what_is_not_read_is_told() -> None:
    with pytest.raises(SizeError, match="use_swiglu_ffn is True, but only False is read here"):
        read_config('{"model_type": "dinov2", "use_swiglu_ffn": true}')
    with pytest.raises(SizeError, match="projection_size is 512, but another field says 768"):
        read_config('{"model_type": "siglip", "text_config": {"projection_size": 512}}')
    note = "The mask token, 768 numbers that its training alone uses, is left out."
    assert read_config('{"model_type": "dinov2"}').notes == (note,)
