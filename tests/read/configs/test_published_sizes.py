"""Published configurations at their real sizes have as many parameters as were published."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

import ncd
from ncd.read.configs.config_reader import read_config
from tests.read.configs.published_counts import COUNTS

LLAMA = {
    **{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336},
    **{"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8},
    **{"vocab_size": 128256, "rms_norm_eps": 1e-5, "rope_theta": 500000.0},
}
QWEN = {
    **{"hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28},
    **{"num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064},
}
GEMMA = {
    **{"hidden_size": 2304, "intermediate_size": 9216, "num_hidden_layers": 26, "head_dim": 256},
    **{"num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 256000},
}
DEEPSEEK = {
    **{"hidden_size": 2048, "intermediate_size": 10944, "moe_intermediate_size": 1408},
    **{"num_hidden_layers": 27, "num_attention_heads": 16, "n_shared_experts": 2},
    **{"n_routed_experts": 64, "num_experts_per_tok": 6, "first_k_dense_replace": 1},
    **{"q_lora_rank": None, "kv_lora_rank": 512, "vocab_size": 102400, "v_head_dim": 128},
}
T5 = {"d_model": 768, "d_ff": 2048, "num_layers": 12, "num_heads": 12, "vocab_size": 32128}
# The last number is what the published weights' own index, or the model's paper, adds up to.
SIZES: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "Llama 3 8B": (LLAMA, 8_030_261_248),
    "Llama 3 70B": (
        {
            **LLAMA,
            **{"hidden_size": 8192, "intermediate_size": 28672},
            **{"num_hidden_layers": 80, "num_attention_heads": 64},
        },
        70_553_706_496,
    ),
    "Mistral 7B": ({**LLAMA, "model_type": "mistral", "vocab_size": 32000}, 7_241_732_096),
    "Mixtral 8x7B": ({**LLAMA, "model_type": "mixtral", "vocab_size": 32000}, 46_702_792_704),
    "Qwen2 7B": ({**QWEN, "model_type": "qwen2"}, 7_615_616_512),
    "Gemma 2 2B": ({**GEMMA, "model_type": "gemma2"}, 2_614_341_888),
    "DeepSeek-V2-Lite": ({**DEEPSEEK, "model_type": "deepseek_v2"}, 15_706_484_224),
    "GPT-2": ({"model_type": "gpt2"}, 124_439_808),
    "T5 base": ({**T5, "model_type": "t5", "d_ff": 3072}, 222_903_552),
    "T5 base, version 1.1": (
        {
            **{**T5, "model_type": "t5", "feed_forward_proj": "gated-gelu"},
            "tie_word_embeddings": False,
        },
        247_577_856,
    ),
    "ViT-B/16": ({"model_type": "vit"}, 86_567_656),
    "Whisper tiny": ({"model_type": "whisper"}, 37_760_640),
}


@pytest.mark.parametrize("name", [*SIZES, *COUNTS])
def test_a_published_model_has_its_published_parameters(name: str) -> None:
    config, parameters = {**SIZES, **COUNTS}[name]
    entry = read_config(json.dumps(config)).entry("own")
    assert ncd.cost(entry.build()).parameters == parameters


def test_a_page_opens_at_the_published_sizes_and_has_some_that_run() -> None:
    entry = read_config(json.dumps(LLAMA)).entry("own", "text")
    assert {knob.name: knob.default for knob in entry.knobs} == {
        **{"n": 32, "t": 16, "m": 4096, "g": 8, "q": 4, "k": 128, "d": 14336, "v": 128256}
    }
    small = entry.build(**entry.preset("small").knobs)
    assert [a.shape for a in ncd.compile(small).term.cod] == [(12, 256)]
