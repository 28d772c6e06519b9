"""What a configuration leaves out is as in the library's own configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from math import inf, log
from typing import Any

import pytest

from ncd.errors import NCDError
from ncd.ops import Elementwise
from ncd.read.configs import decoder_configs as decoders
from ncd.read.configs import latent_and_state_configs as latent
from ncd.read.configs.config_fields import Fields
from ncd.read.configs.config_reader import read_config
from ncd.read.configs.decoder_family import Family
from ncd.systems.language_models.expert_mixture import Routing, softmax_router
from ncd.systems.language_models.model_parts import Rotary, tanh_gelu
from ncd.systems.language_models.t5 import T5Style
from ncd.systems.recurrent.state_mixers import StateMixer

BASE = {
    **{"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "vocab_size": 99},
    "num_attention_heads": 4,
}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2}
DEEPSEEK = {
    "moe_intermediate_size": 24,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
}
BART = {
    **{"d_model": 64, "vocab_size": 99, "encoder_attention_heads": 4},
    **{"encoder_ffn_dim": 9, "decoder_ffn_dim": 8},
}
KEYS = ("k_proj", "v_proj")
DECODER_KEYS = ("decoder.k_proj", "decoder.v_proj")
POINTS = {"architectures": ["ModelWithProjection"]}
ROTARY = (  # whose features turn in pairs with the position
    *("llama", "phi", "qwen2_moe", "qwen3_moe", "mixtral", "dots1", "bamba", "qwen3_next", "lfm2"),
    *("deepseek_v2", "deepseek_v3"),
)
VIT, CLIP = "n:12 x:14 s:16 c:3 h:12 k:64 d:3072", "x:7 p:32 h:12"
# A type, its fields, the sizes by their letters, the positions that it has vectors for, and the ops
# whose results are kept: as the classes of `transformers` have them where a field is left out.
MODELS: tuple[tuple[str, Mapping[str, Any], str, int, tuple[str, ...]], ...] = (
    ("llama", BASE, "n:4 t:16 m:64 g:4 q:1 k:16 d:96 v:99", 0, KEYS),
    ("llama", {**BASE, "max_position_embeddings": 7, "num_key_value_heads": 2},
     "n:4 t:7 m:64 g:2 q:2 k:16 d:96 v:99", 0, KEYS),
    ("opt", BASE, "n:4 t:16 m:64 g:4 q:1 k:16 d:96 u:2050 v:99", 2048, KEYS),
    ("gpt_bigcode", {**BASE, "intermediate_size": None, "n_positions": 9},
     "n:4 t:9 m:64 g:1 q:4 k:16 d:256 u:9 v:99", 9, KEYS),
    ("phi", BASE, "n:4 t:16 m:64 g:4 q:1 k:16 b:8 d:96 v:99", 0, KEYS),
    ("qwen2_moe", {**BASE, **EXPERTS, "moe_intermediate_size": 24},
     "n:4 t:16 m:64 g:4 q:1 k:16 f:24 x:24 e:8 c:2 v:99", 0, KEYS),
    ("qwen3_moe", {**BASE, **EXPERTS, "moe_intermediate_size": 24, "mlp_only_layers": [0]},
     "n:4 t:16 m:64 g:4 q:1 k:16 d:96 f:24 e:8 c:2 v:99", 0, KEYS),
    ("mixtral", {**BASE, **EXPERTS}, "n:4 t:16 m:64 g:4 q:1 k:16 d:96 e:8 c:2 v:99", 0, KEYS),
    ("dots1", {**BASE, **EXPERTS, "n_shared_experts": 3, "moe_intermediate_size": 24},
     "n:4 t:16 m:64 g:4 q:1 k:16 d:96 f:24 x:72 e:8 c:2 v:99", 0, KEYS),
    ("jamba", {**BASE, **EXPERTS}, "n:4 t:16 m:64 d:96 e:8 c:2 i:128 s:16 r:4 v:99", 0, ()),
    ("bamba", {**BASE, "attn_layer_indices": [1], "mamba_n_heads": 8},
     "n:4 t:16 m:64 g:4 q:1 k:16 b:8 d:96 w:1 h:8 o:16 s:256 v:99", 0, KEYS),
    ("qwen3_next", {**BASE, **EXPERTS},
     "n:4 t:16 m:64 g:4 q:1 k:16 b:4 d:96 x:96 e:8 c:2 w:16 h:2 o:128 s:128 v:99", 0, KEYS),
    ("mamba2", BASE, "n:4 t:16 m:64 w:8 h:16 o:64 s:128 v:99", 0, ()),
    ("lfm2", {**BASE, "layer_types": ["conv", "full_attention"] * 2},
     "n:4 t:16 m:64 g:4 q:1 k:16 d:256 z:64 v:99", 0, KEYS),
    ("nemotron_h", {**BASE, "hybrid_override_pattern": "M-*-"},
     "n:4 t:16 m:64 g:4 q:1 k:16 d:96 w:8 h:16 o:64 s:128 v:99", 0, KEYS),
    ("gpt2", {}, "n:12 t:16 h:12 k:64 d:3072 u:1024 v:50257", 1024, ("k", "v")),
    ("gpt2", {"n_embd": 24, "n_positions": 7}, "n:12 t:7 h:12 k:2 d:96 u:7 v:50257", 7, ("k", "v")),
    ("bert", BASE, "n:4 t:16 h:4 k:16 d:96 s:2 u:512 v:99", 512, ()),
    ("roberta", {**BASE, "max_position_embeddings": 9},
     "n:4 t:7 h:4 k:16 d:96 s:2 u:9 v:99", 7, ()),  # behind the padding and what comes before it
    ("roberta", {**BASE, "pad_token_id": 4}, "n:4 t:16 h:4 k:16 d:96 s:2 u:512 v:99", 507, ()),
    ("electra", BASE, "n:4 t:16 h:4 k:16 d:96 s:2 u:512 v:99 a:128", 512, ()),
    ("electra", {**BASE, "embedding_size": 64}, "n:4 t:16 h:4 k:16 d:96 s:2 u:512 v:99", 512, ()),
    ("albert", {**BASE, "embedding_size": 64},
     "n:4 t:16 h:4 k:16 d:96 s:2 u:512 v:99 a:64", 512, ()),
    ("distilbert", BASE, "n:4 t:16 h:4 k:16 d:96 u:512 v:99", 512, ()),
    ("deberta-v2", BASE, "n:4 t:16 h:4 k:16 d:96 v:99", 512, ()),
    ("t5", {}, "n:6 l:6 s:16 t:16 m:512 h:8 k:64 d:2048 v:32128", 0, ("decoder.k", "decoder.v")),
    ("whisper", {}, "n:4 l:4 s:1500 t:16 c:80 h:6 k:64 d:1536 e:1536 u:448 v:51865", 448,
     DECODER_KEYS),
    ("whisper", {"max_target_positions": 9},
     "n:4 l:4 s:1500 t:9 c:80 h:6 k:64 d:1536 e:1536 u:9 v:51865", 9, DECODER_KEYS),
    ("bart", {**BART, "encoder_layers": 2, "decoder_layers": 1},
     "n:2 l:1 s:16 t:16 h:4 k:16 d:9 e:8 u:1026 v:99", 1024, DECODER_KEYS),
    ("pegasus", {**BART, "num_layers": 2, "max_position_embeddings": 9},
     "n:2 l:2 s:16 t:9 h:4 k:16 d:9 e:8 v:99", 0, DECODER_KEYS),
    ("vit", {}, f"{VIT} v:1000", 0, ()),
    ("deit", {"id2label": {"0": "cat", "1": "dog"}}, f"{VIT} v:2", 0, ()),
    ("swin", {}, "n:3 w:7 s:4 h:3 k:32 y:1000", 0, ()),
    ("swin", {"depths": [2, 2, 2, 2]}, "n:1 w:7 s:4 h:3 k:32 y:1000", 0, ()),
    ("swin", {"depths": [2, 2, 18, 2], "num_heads": [4, 8, 16, 32], "embed_dim": 128,
              "window_size": 12, "image_size": 384}, "n:9 w:12 s:4 h:4 k:32 y:1000", 0, ()),
    ("convnextv2", {"depths": [2, 2, 8, 2], "hidden_sizes": [40, 80, 160, 320]},
     "n:2 N:8 c:40 r:3 x:224 y:1000", 0, ()),
    ("convnext", {}, "n:3 N:9 c:96 r:3 x:224 y:1000", 0, ()),
    ("clip", {}, f"i:2 j:2 n:12 l:12 {CLIP} s:77 g:8 k:64 v:49408 z:512", 0, ()),
    ("clip", {"text_config": {"num_attention_heads": 4}},
     f"i:2 j:2 n:12 l:12 {CLIP} s:77 g:4 k:64 v:49408 z:512 r:128", 0, ()),
    ("clip_vision_model", {}, f"i:2 n:12 {CLIP} k:64", 0, ()),
    ("clip_vision_model", POINTS, f"i:2 n:12 {CLIP} k:64 z:512", 0, ()),
    ("clip_text_model", {}, "j:2 l:12 s:77 g:8 k:64 v:49408", 0, ()),
    ("clip_text_model", POINTS, "j:2 l:12 s:77 g:8 k:64 v:49408 z:512", 0, ()),
    ("dinov2", {}, "n:12 x:16 s:14 c:3 h:12 k:64 d:3072", 0, ()),
    ("siglip", {}, "i:2 n:12 x:14 p:16 h:12 k:64 d:3072 j:2 l:12 s:64 g:12 r:64 f:3072 v:32000", 0,
     ()),
    ("siglip_vision_model", {}, "i:2 n:12 x:14 p:16 h:12 k:64 d:3072", 0, ()),
    ("siglip_text_model", {}, "j:2 l:12 s:64 g:12 r:64 f:3072 v:32000 h:1 k:768", 0, ()),
    ("mamba", {}, "n:32 t:16 m:768 d:1536 s:16 r:48 w:4 v:50280", 0, ()),
    ("mamba", {"hidden_size": 40, "time_step_rank": "auto", "expand": 1},
     "n:32 t:16 m:40 d:40 s:16 r:3 w:4 v:50280", 0, ()),
    ("mamba", {"time_step_rank": 5}, "n:32 t:16 m:768 d:1536 s:16 r:5 w:4 v:50280", 0, ()),
    ("deepseek_v2", {**BASE, **DEEPSEEK, "max_position_embeddings": 9},
     "n:4 t:9 m:64 h:4 k:128 b:64 w:128 o:512 d:96 f:24 g:24 e:8 c:2 v:99", 0,
     ("kv_a_proj", "k_rope")),
    ("deepseek_v3", {**BASE, **DEEPSEEK, "n_group": 2, "topk_group": 1, "q_lora_rank": 8,
                     "n_shared_experts": 3},
     "n:4 t:16 m:64 h:4 k:128 b:64 w:128 a:8 o:512 d:96 f:24 g:72 e:8 c:2 z:2 s:1 v:99", 0,
     ("kv_a_proj", "k_rope")),
)  # fmt: skip


@pytest.mark.parametrize("case", range(len(MODELS)))
def test_the_sizes_of_a_configuration_that_says_little(case: int) -> None:
    kind, values, sizes, positions, cached = MODELS[case]
    found = read_config(json.dumps({"model_type": kind, **values}))
    assert " ".join(f"{name}:{size}" for name, size in found.sizes.items()) == sizes
    assert (found.positions, found.cached) == (positions, cached)
    assert found.rotary is (kind in ROTARY)


def test_the_routers_of_experts() -> None:
    def router(kind: Any, **values: Any) -> Any:
        return decoders._router(Fields(values), {"router": kind} if kind else {})

    assert router("") is None
    assert router("top") == router("softmax", norm_topk_prob=True) == softmax_router()
    assert router("biased") == softmax_router(bias=True)
    assert router("softmax") == Routing(sigmoid=False, normalised=False).term()
    assert router("sigmoid") == router("sigmoid", n_group=1) == Routing().term()
    with_factor = router("sigmoid", norm_topk_prob=False, routed_scaling_factor=2.5)
    assert with_factor == Routing(normalised=False, factor=2.5).term()
    with pytest.raises(NCDError, match="its experts are chosen in groups"):
        router("sigmoid", n_group=2)

    def groups(kind: str, **values: Any) -> Routing:
        return latent._routing(Fields(values), kind)

    assert groups("deepseek_v2", n_group=2) == Routing(False, False, False)
    assert groups("deepseek_v2", topk_method="group_limited_greedy") == Routing(False, False, False)
    limited = groups("deepseek_v2", topk_method="group_limited_greedy", n_group=2)
    assert limited == Routing(False, True, False)
    assert groups("deepseek_v3") == Routing(factor=2.5)
    limited = groups("deepseek_v3", n_group=2, norm_topk_prob=False, routed_scaling_factor=1)
    assert limited == Routing(True, True, False)
    assert [latent._dense(Fields(x)) for x in ({}, {"first_k_dense_replace": 0})] == [1, 0]
    stretched = {"factor": 40, "mscale_all_dim": 0.5}
    for scaling, scale in (({}, 1), ({"factor": 40}, 1), ({"mscale_all_dim": 2}, 1),
                           (stretched, (0.05 * log(40) + 1) ** 2)):  # fmt: skip
        assert latent._scale(Fields({"rope_scaling": scaling})) == pytest.approx(scale)
    odd = {"model_type": "deepseek_v3", **BASE, **DEEPSEEK, "n_group": 3}
    with pytest.raises(NCDError, match="3 groups do not divide 8 experts"):
        read_config(json.dumps(odd))


def test_what_stands_in_the_place_of_attention() -> None:
    def mixer(kind: str, **values: Any) -> Any:
        made = decoders._mixer(Fields(values), {"mixer": kind, "eps": 1e-5})
        return getattr(made, "__self__", made)

    assert decoders._mixer(Fields({}), {"eps": 1e-5}) is None
    assert mixer("mamba2") == StateMixer()
    assert mixer("mamba2", mamba_d_conv=3, mamba_conv_bias=False, mamba_proj_bias=True) == (
        StateMixer(3, bias=True, convolution_bias=False)
    )
    assert mixer("delta", norm_eps=1e-6) == (
        StateMixer(corrects=True, eps=1e-6, convolution_bias=False)
    )
    for limits in ([0, inf], [0, 10**6], [0.5, None], [], [0.0, "Infinity"]):
        assert mixer("mamba2", time_step_limit=limits) == StateMixer()
    with pytest.raises(NCDError, match="time_step_limit is"):
        mixer("mamba2", time_step_limit=[0, 999])
    named = {"linear_num_key_heads": 3, "linear_num_value_heads": 6, "linear_key_head_dim": 5}
    assert decoders._state_sizes(Fields(named), "delta", 64) == {"w": 3, "h": 2, "o": 128, "s": 5}
    given = {"mamba_n_heads": 6, "mamba_n_groups": 4}
    with pytest.raises(NCDError) as error:
        decoders._state_sizes(Fields(given), "mamba2", 64)
    assert str(error.value) == (
        "config.json: 4 groups do not divide 6 heads with a state. Try 4 or 8 heads."
    )
    wide = {"expand": 3, "num_heads": 8, "mamba_d_head": "auto"}
    assert decoders._state_sizes(Fields(wide), "mamba2", 64)["o"] == 24


def test_the_styles_of_texts_and_pictures() -> None:
    def style(kind: str, **values: Any) -> Any:
        return read_config(json.dumps({"model_type": kind, **values})).system.keywords["style"]

    t5, gelu = T5Style(Elementwise("relu"), gated=False, tied=True, scales_scores=True), "gelu"
    assert style("t5") == t5
    assert style("t5", tie_word_embeddings=False) == replace(t5, tied=False, scales_scores=False)
    assert style("mt5") == replace(t5, scales_scores=False)
    assert style("umt5") == replace(t5, table_per_layer=True)
    for name, gated, function in (
        ("gated-gelu", True, tanh_gelu()), (gelu, False, Elementwise(gelu)),
        ("gated-silu", True, Elementwise("silu")), ("relu", False, Elementwise("relu")),
    ):  # fmt: skip
        wanted = replace(t5, activation=function, gated=gated)
        assert style("t5", feed_forward_proj=name) == wanted
    for kind, title, shares in (
        ("convnext", "ConvNeXt", False),
        ("convnextv2", "ConvNeXt V2", True),
    ):
        found: Any = read_config(json.dumps({"model_type": kind}))
        assert (found.title, found.system.keywords["shared"]) == (title, shares)
    states = read_config(json.dumps({"model_type": "mamba2", **BASE}))
    assert states.small_sizes == {"w": 2, "h": 2, "o": 8, "s": 8} and "w" in states.meanings
    plain = read_config(json.dumps({"model_type": "llama", **BASE}))
    assert plain.small_sizes == {} and "w" not in plain.meanings


def test_the_angles_of_layers_with_a_window() -> None:
    def angles(b: int = 16, choices: Any = None, **values: Any) -> Any:
        return decoders._angles(Fields(values), choices or {}, {"b": b, "k": 16})

    whole = Rotary.from_base(1e4)
    assert angles() == {"rotary": whole, "local": None, "part": False}
    assert angles(8)["part"] and angles(8, {"theta": 7.0})["rotary"] == Rotary.from_base(7)
    assert angles(0) == angles(16, {"distances": "after"}) == {"rotary": None}
    assert angles(16, {"local": 50.0})["local"] == Rotary.from_base(50)
    assert angles(16, {"local": 50.0}, rope_local_base_freq=60)["local"] == Rotary.from_base(60)


def test_fields_of_inner_configurations() -> None:
    def normalised(values: Any, **family: Any) -> Any:
        return decoders._normalised_fields(Fields(values), Family("", "", **family)).values

    inner = {"hidden_size": 8, "d_model": 9, "n_layer": 2}
    assert normalised({"text_config": inner, "n_layer": 3, "head_dim": None}) == {
        **inner, "n_layer": 3, "text_config": inner
    }  # fmt: skip
    assert normalised({"text_config": inner, "n_embd": 7}) == {
        "text_config": inner, "n_embd": 7, "n_layer": 2  # one width alone
    }  # fmt: skip
    assert normalised({"attn_config": "x", "a": 1}, defaults={"a": 2, "b": 3}) == {
        "attn_config": "x", "a": 1, "b": 3
    }  # fmt: skip
    assert normalised({"a": 1}, rewrite=lambda values: {"a": values["a"] + 1}) == {"a": 2}
    with pytest.raises(NCDError, match="a is 1, but only 2 is read here"):
        normalised({"a": 1}, fixed_fields={"a": 2})


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"model_type": "swin", "depths": [2, 2, 1, 2]},
         'depths is [2, 2, 1, 2], but only [2, 2, 2, 2] is read here. Try "depths": [2, 2, 2, 2].'),
        ({"model_type": "swin", "depths": 3},
         'depths is 3, but it is 4 whole numbers from 1. Try "depths": [2, 2, 6, 2].'),
        ({"model_type": "swin", "num_heads": [3, 6, 12, 12]},
         'num_heads is [3, 6, 12, 12], but only [3, 6, 12, 24] is read here. '
         'Try "num_heads": [3, 6, 12, 24].'),
        ({"model_type": "convnext", "depths": [2, 3, 9, 3]},
         'depths is [2, 3, 9, 3], but only [2, 2, 9, 2] is read here. Try "depths": [2, 2, 9, 2].'),
        ({"model_type": "convnext", "hidden_sizes": [96, 192, 384, 760]},
         'hidden_sizes is [96, 192, 384, 760], but only [96, 192, 384, 768] is read here. '
         'Try "hidden_sizes": [96, 192, 384, 768].'),
        ({"model_type": "vit", "image_size": 50},
         "patches of 16 pixels do not divide an image of 50. Try \"image_size\": 48."),
        ({"model_type": "deberta-v2", **BASE, "position_buckets": 1},
         "1 distances are told apart of 512. Try \"position_buckets\": 256."),
        ({"model_type": "deberta-v2", **BASE, "max_relative_positions": 129},
         "256 distances are told apart of 129. Try \"position_buckets\": 256."),
        ({"model_type": "deberta-v2", **BASE, "pos_att_type": ["p2c"]},
         "pos_att_type is ['p2c'], but only p2c|c2p is read here. Try \"pos_att_type\": p2c|c2p."),
    ],
)  # fmt: skip
def test_sizes_at_the_limit(config: dict[str, Any], message: str) -> None:
    with pytest.raises(NCDError) as error:
        read_config(json.dumps({"pos_att_type": "p2c|c2p", **config}))
    assert str(error.value) == f"config.json: {message}"
    fits = {"model_type": "deberta-v2", **BASE, "pos_att_type": ["c2p", "p2c"]}
    for far, distances in ((-1, 512), (130, 130), (None, 512)):
        found: Any = read_config(json.dumps({**fits, "max_relative_positions": far}))
        assert found.system.keywords["distances"].far == distances
    found = read_config(json.dumps({**fits, "position_buckets": 2, "max_relative_positions": 3}))
    assert found.system.keywords["distances"].buckets == 2
