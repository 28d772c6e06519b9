"""A configuration that cannot be a model is refused, and a changed one is a model or an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ncd
from ncd.errors import NCDError
from ncd.read.configs.config_reader import READERS, is_config, read_config
from ncd.read.configs.decoder_table import SPARSE
from ncd.read.configs.encoder_configs import BARTS
from ncd.read.configs.vision_configs import VISION
from ncd.systems.language_models.model_parts import Rotary
from tests.support.sampling import count

LLAMA: dict[str, Any] = {
    **{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 99},
    **{"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2},
}
BY_TYPE: dict[str, dict[str, Any]] = {
    **{kind: {**LLAMA, "model_type": kind} for kind in READERS},
    **{kind: {"model_type": kind, "vocab_size": 99} for kind in ("gpt2", "t5", "umt5", "whisper")},
    **{kind: {"model_type": kind} for kind in VISION},
}
for _sparse in SPARSE:
    BY_TYPE[_sparse] |= {"num_experts": 4, "num_experts_per_tok": 2}
for _both in BARTS:
    BY_TYPE[_both] |= {"d_model": 64, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
    BY_TYPE[_both] |= {f"{side}_ffn_dim": 96 for side in ("encoder", "decoder")}
    BY_TYPE[_both] |= {f"{side}_layers": 2 for side in ("encoder", "decoder")}
for _deep in ("deepseek_v2", "deepseek_v3"):
    BY_TYPE[_deep] |= {"moe_intermediate_size": 16, "q_lora_rank": 8, "n_routed_experts": 8}
    BY_TYPE[_deep] |= {"num_experts_per_tok": 2, "n_group": 2, "topk_group": 1}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model_type": "kin", "linear_head_dim": 8},
            "config.json: model_type 'kin' is not read here; the nearest type is yi, which does "
            'not know linear_head_dim. Try "model_type": "yi".',
        ),
        (
            {  # what is left fits no type, as others take their usual sizes for what is missing
                "model_type": "kin",
                **dict.fromkeys(("hidden_size", "num_hidden_layers", "num_attention_heads")),
            },
            "config.json: model_type 'kin' is not read here, and the configuration has no "
            f"hidden_size. Try one of the {len(READERS)} types that are, such as swin, marian, "
            "dinov2, yi, internlm.",
        ),
        (
            {"model_type": "lama", "hidden_size": 64, "num_attention_heads": None, "odd": 3},
            f"config.json: model_type 'lama' is not read here. Try one of the {len(READERS)} types "
            "that are, such as llama, bamba, jamba, glm, olmo.",
        ),
        (
            {"num_attention_heads": 5},
            "config.json: 2 heads of keys do not divide 5 heads of queries. "
            'Try "num_key_value_heads": 5.',
        ),
        (
            {"num_attention_heads": 6},
            "config.json: 6 heads do not divide 64 features. Try 60 features.",
        ),
        (
            {"hidden_size": "64"},
            "config.json: hidden_size is '64', but it is a whole number from 1 to 100000000. "
            'Try "hidden_size": 1.',
        ),
        (
            {"num_hidden_layers": 257},
            "config.json: num_hidden_layers is 257, but it is a whole number from 1 to 256. "
            'Try "num_hidden_layers": 1.',
        ),
        (
            {"vocab_size": None},
            'config.json: the configuration has no vocab_size. Try "vocab_size": 1.',
        ),
        (
            {"rms_norm_eps": 0},
            "config.json: rms_norm_eps is 0, but it is a number above 0. "
            'Try "rms_norm_eps": 1e-06.',
        ),
        (
            {"tie_word_embeddings": 1},
            "config.json: tie_word_embeddings is 1, but it is true or false. "
            'Try "tie_word_embeddings": false.',
        ),
        ({"hidden_act": "swiglu"}, "config.json: there is no hidden_act 'swiglu'. Try silu."),
    ],
)
def test_a_field_that_cannot_be_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(NCDError) as error:
        read_config(json.dumps({**LLAMA, **change}))
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (
            {"model_type": "swin", "depths": [2, 2, 18, 4]},
            "depths is [2, 2, 18, 4], but only [2, 2, 18, 2] is read here. "
            'Try "depths": [2, 2, 18, 2].',
        ),
        (
            {"model_type": "convnext", "hidden_sizes": [96, 192]},
            "hidden_sizes is [96, 192], but it is 4 whole numbers from 1. "
            'Try "hidden_sizes": [96, 192, 384, 768].',
        ),
        (
            {**LLAMA, "model_type": "gpt_oss", "swiglu_limit": 8.0},
            'swiglu_limit is 8.0, but only 7 is read here. Try "swiglu_limit": 7.',
        ),
        (
            {**LLAMA, "model_type": "deberta-v2", "conv_kernel_size": 3},
            'conv_kernel_size is 3, but only 0 is read here. Try "conv_kernel_size": 0.',
        ),
        (
            {
                "model_type": "clip",
                "vision_config": {"hidden_size": 1664, "intermediate_size": 8192},
            },
            "intermediate_size is 8192, but another field says 6656. "
            'Try "intermediate_size": 6656.',
        ),
    ],
)
def test_what_is_not_read_of_a_type_is_said(config: dict[str, Any], message: str) -> None:
    with pytest.raises(NCDError) as error:
        read_config(json.dumps(config))
    assert str(error.value) == f"config.json: {message}"


@pytest.mark.parametrize("text", ["{", "[]", '{"model_type": ' + "[" * 5000, " " * 60_001])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(NCDError):
        read_config(text)


def test_a_term_is_no_configuration() -> None:
    assert not is_config(ncd.to_json(ncd.parse('Id("m")')))
    assert is_config(' {"a": 1, "model_type": "gpt2"}')


ODD = (0, -1, 1, 7, 257, 10**30, 1.5, 1e300, -0.0, True, None, "", "x" * 99, [], {}, [[1]], "gelu")
FIELDS = sorted(
    {
        *(name for config in BY_TYPE.values() for name in config if name != "model_type"),
        *("head_dim", "layer_types", "rope_parameters", "sliding_window", "rope_theta"),
        *("hidden_act", "attention_bias", "rms_norm_eps", "n_embd", "n_head", "d_model"),
        *(
            "feed_forward_proj",
            "num_layers",
            "image_size",
            "patch_size",
            "id2label",
            "decoder_attention_heads",
            "decoder_layers",
        ),
        *("attention_types", "no_rope_layers", "mlp_only_layers", "sliding_window_pattern"),
        *(
            "decoder_sparse_step",
            "attention_multiplier",
            "logits_scaling",
            "multi_query",
            "parallel_attn",
        ),
        *("depths", "hidden_sizes", "num_heads", "embed_dim", "window_size", "vision_config"),
        *("text_config", "local_attention", "global_attn_every_n_layers", "norm_bias"),
        *("position_buckets", "max_relative_positions", "pos_att_type", "conv_kernel_size"),
        *(
            "attn_layer_period",
            "attn_layer_offset",
            "mamba_d_conv",
            "mamba_dt_rank",
            "mamba_expand",
        ),
        *("swiglu_limit", "architectures", "scale_embedding", "encoder_layers"),
        *("first_k_dense_replace", "topk_method", "routed_scaling_factor", "n_layer", "d_kv"),
    }
)
SCALED = [{"rope_type": kind} for kind in ("yarn", "llama3", "linear", "dynamic")]


@pytest.mark.parametrize("times", ["Infinity", "-1", "[1]", '"many"'])
def test_layers_that_come_no_number_of_times_are_usual_ones(times: str) -> None:
    kinds = f'"attention_types": [[["global", "local"], {times}]]'
    text = json.dumps(BY_TYPE["gpt_neo"])
    assert read_config(f"{text[:-1]}, {kinds}}}").title == "GPT-Neo"


@pytest.mark.parametrize("value", ["[]", '""', "Infinity", "2", "true"])
def test_what_is_beside_each_other_is_true_or_not(value: str) -> None:
    text = json.dumps(BY_TYPE["falcon"])
    config = f'{text[:-1]}, "parallel_attn": {value}}}'
    assert read_config(config).title == "Falcon"


@settings(max_examples=count(80, 200), deadline=None)
@given(
    kind=st.sampled_from(sorted(READERS)),
    change=st.dictionaries(
        st.sampled_from(FIELDS), st.sampled_from([*ODD, *SCALED]), min_size=1, max_size=4
    ),
)
def test_a_changed_configuration_is_a_model_or_an_error(kind: str, change: dict[str, Any]) -> None:
    try:
        entry = read_config(json.dumps({**BY_TYPE[kind], **change})).entry("own")
        assert isinstance(entry.build(), ncd.Term)
    except NCDError as error:
        assert "\n" not in str(error)


@pytest.mark.parametrize("kind", READERS)
def test_every_size_can_be_moved(kind: str) -> None:
    entry = read_config(json.dumps(BY_TYPE[kind])).entry("own")
    small = dict(entry.preset("small").knobs)
    for knob in entry.knobs:
        moved = knob.legal(small[knob.name] + 1)
        try:
            ncd.cost(entry.build(**{**small, knob.name: moved}))
        except NCDError as error:
            assert error.cure


def test_stretched_positions_turn_as_their_papers_say() -> None:
    """Frequencies of Llama 3.1 and of YaRN, against the library's own."""
    rope = pytest.importorskip("transformers.modeling_rope_utils")
    config = pytest.importorskip("transformers").LlamaConfig(
        hidden_size=64, num_attention_heads=2, max_position_embeddings=256
    )
    config.rope_parameters = {
        **{"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0},
        **{"high_freq_factor": 4.0, "original_max_position_embeddings": 64},
    }
    wanted, _ = rope.ROPE_INIT_FUNCTIONS["llama3"](config, "cpu")
    assert _angles(Rotary.llama3(1e4, 8, 1, 4, 64)) == pytest.approx(wanted.tolist(), rel=1e-5)
    config.rope_parameters = {
        **{"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0},
        "original_max_position_embeddings": 64,
    }
    wanted, magnitude = rope.ROPE_INIT_FUNCTIONS["yarn"](config, "cpu")
    assert _angles(Rotary.yarn(1e4, 4, 64)) == pytest.approx(wanted.tolist(), rel=1e-5)
    assert magnitude == pytest.approx(1.1386294, rel=1e-6)


def _angles(rotary: Rotary) -> list[float]:
    """Returns the angles of sixteen pairs."""
    term = ncd.Axes(r=16)(ncd.Map("-> r", rotary.turns))
    (found,) = (ncd.compile(term)(),)
    return [float(angle) for angle in found]
