"""What each family of decoders makes of its fields, and what a field may be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log
from typing import Any

import pytest

from ncd.errors import NCDError
from ncd.read.configs import decoder_family as family
from ncd.read.configs.config_fields import MAX_FIELD_VALUE, Fields, growth, magnitude, rotary
from ncd.read.configs.config_reader import read_config
from ncd.read.configs.decoder_configs import _dense, _notes, _rotary_feature_count, _value
from ncd.read.configs.decoder_family import LOCAL, FieldChoice, FieldValue, layers
from ncd.systems.language_models.decoder import DecoderLayer
from ncd.systems.language_models.model_parts import Rotary

# --- a family's own spelling ----------------------------------------------------------------------

SPELLED: list[tuple[Callable[..., Mapping[str, Any]], dict[str, Any], dict[str, Any]]] = [
    (family.qwen, {"intermediate_size": 12}, {"intermediate_size": 6}),
    (family.qwen, {"intermediate_size": 11}, {}),
    (family.qwen, {"intermediate_size": "12"}, {}),
    (family.falcon, {}, {"num_key_value_heads": 1, "norms beside": 1}),
    (family.falcon, {"multi_query": False}, {"num_key_value_heads": None, "norms beside": 1}),
    (family.falcon, {"parallel_attn": False}, {"num_key_value_heads": 1, "norms beside": 0}),
    (family.falcon, {"new_decoder_architecture": True, "num_kv_heads": 8},
     {"num_key_value_heads": 8, "norms beside": 2}),
    (family.falcon, {"new_decoder_architecture": True, "num_ln_in_parallel_attn": 1},
     {"num_key_value_heads": None, "norms beside": 1}),
    (family.falcon, {"new_decoder_architecture": True, "num_ln_in_parallel_attn": 2},
     {"num_key_value_heads": None, "norms beside": 2}),
    (family.neox, {}, {"norms beside": 2}),
    (family.neox, {"use_parallel_residual": False}, {"norms beside": 0}),
    (family.stablelm, {}, {"norms beside": 0}),
    (family.stablelm, {"use_parallel_residual": True}, {"norms beside": 1}),
    (family.bigcode, {}, {"num_key_value_heads": 1}),
    (family.bigcode, {"multi_query": False}, {"num_key_value_heads": None}),
    (family.neo, {"attention_types": [[["global", "local"], 2]]},
     {"layer_types": ["full_attention", LOCAL] * 2, "sliding_window": 256}),
    (family.neo, {"attention_types": [[["local"], 1], [["global"], 2]], "window_size": 9},
     {"layer_types": [LOCAL, *["full_attention"] * 2], "sliding_window": 9}),
    (family.neo, {"attention_types": 3}, {}),
    (family.baichuan, {}, {"falls": True}),
    (family.baichuan, {"max_position_embeddings": 9}, {"falls": False}),
    (family.granite, {}, {"scores": 1, "words": 1}),
    (family.granite, {"attention_multiplier": 0.25, "logits_scaling": 8},
     {"scores": 16.0, "words": 0.125}),
    (family.granite, {"attention_multiplier": 0, "logits_scaling": True},
     {"scores": 1, "words": 1}),
    (family.granite, {"attention_multiplier": 1e9, "logits_scaling": 1e-9},
     {"scores": 1, "words": 1}),
    (family.granite, {"attention_multiplier": "2", "logits_scaling": 2},
     {"scores": 1, "words": 0.5}),
    (family.smollm, {"num_hidden_layers": 5}, {"no_rope_layers": [1, 1, 1, 0, 1]}),
    (family.smollm, {"num_hidden_layers": 3, "no_rope_layer_interval": 2},
     {"no_rope_layers": [1, 0, 1]}),
    (family.smollm, {"num_hidden_layers": 3, "no_rope_layers": [0]}, {"no_rope_layers": [0]}),
    (family.smollm, {"no_rope_layer_interval": 0}, {"no_rope_layers": None}),
    (family.smollm, {"num_hidden_layers": 257}, {"no_rope_layers": None}),
    (family.smollm, {"num_hidden_layers": 2, "no_rope_layer_interval": 1},
     {"no_rope_layers": [0, 0]}),
    (family.exaone, {}, {"sliding_window_pattern": 4}),
    (family.exaone, {"sliding_window_pattern": "LLG"}, {"sliding_window_pattern": 3}),
    (family.exaone, {"sliding_window_pattern": 7}, {"sliding_window_pattern": 7}),
    (family.sparse, {"num_hidden_layers": 3}, {"experts in": [True] * 3}),
    (family.sparse, {"num_hidden_layers": 5, "decoder_sparse_step": 2},
     {"experts in": [False, True, False, True, False]}),
    (family.sparse, {"num_hidden_layers": 3, "mlp_only_layers": [0, 2]},
     {"experts in": [False, True, False]}),
    (family.sparse, {"num_hidden_layers": 257}, {}),
    (family.sparse, {"num_hidden_layers": 3, "decoder_sparse_step": 0}, {}),
    (family.sparse, {"num_hidden_layers": 3, "mlp_only_layers": 1}, {}),
    (family.jamba, {"num_hidden_layers": 6, "attn_layer_period": 3, "attn_layer_offset": 1},
     {"states in": [True, False, True] * 2, "experts in": [False, True] * 3}),
    (family.jamba, {"num_hidden_layers": 9, "expert_layer_period": 4, "expert_layer_offset": 0},
     {"states in": [i != 4 for i in range(9)], "experts in": [i % 4 == 0 for i in range(9)]}),
    (family.jamba, {"num_hidden_layers": 257}, {"states in": [], "experts in": []}),
    (family.jamba, {"num_hidden_layers": 2, "attn_layer_period": 0},
     {"states in": [], "experts in": [False, True]}),
    (family.jamba, {"num_hidden_layers": 2, "attn_layer_offset": "1"},
     {"states in": [], "experts in": [False, True]}),
    (family.neo, {}, {"layer_types": ["full_attention", LOCAL] * 12, "sliding_window": 256}),
    (family.neo, {"attention_types": [[["local"], 300]]},
     {"layer_types": [LOCAL] * 256, "sliding_window": 256}),
    (family.hybrid, {}, {"states in": []}),
    (family.hybrid, {"num_hidden_layers": 5}, {"states in": [True, True, True, False, True]}),
    (family.hybrid, {"num_hidden_layers": 2, "full_attention_interval": 1},
     {"states in": [False, False]}),
    (family.hybrid, {"num_hidden_layers": 2, "full_attention_interval": 0},
     {"states in": [False, False]}),
    (family.hybrid, {"num_hidden_layers": 2, "full_attention_interval": "2"},
     {"states in": [False, False]}),
    (family.hybrid, {"num_hidden_layers": "2"}, {"states in": []}),
    (family.hybrid, {"num_hidden_layers": 257}, {"states in": []}),
    (family.hybrid, {"layer_types": ["conv", "full_attention", "mamba"]},
     {"kinds": ["conv", "full_attention", "mamba"], "states in": [True, False, True]}),
    (family.hybrid, {"layers_block_type": ["linear_attention", "attention"]},
     {"kinds": ["linear_attention", "attention"], "states in": [True, False]}),
    (family.hybrid, {"hybrid_override_pattern": "M*-E?", "layers_block_type": ["mamba"]},
     {"kinds": ["mamba", "attention", "mlp", "moe", "?"], "states in": [True] + [False] * 4}),
    (family.hybrid, {"num_hidden_layers": 3, "attn_layer_indices": [1]},
     {"states in": [True, False, True]}),
    (family.hybrid_of_parts, {"hybrid_override_pattern": "M-*E"},
     {"kinds": ["mamba", "mlp", "attention", "moe"], "states in": [True, False, False, False],
      "num_hidden_layers": 4, "mixers in": [True, False, True, False],
      "forward in": [False, True, False, True], "layers with experts": 1, "hidden_act": "relu2"}),
    (family.hybrid_of_parts, {"num_hidden_layers": 4, "mlp_hidden_act": "silu"},
     {"states in": [True, True, True, False], "num_hidden_layers": 4, "mixers in": [],
      "forward in": [], "layers with experts": 0, "hidden_act": "silu"}),
    (family.hybrid_granite, {"logits_scaling": 2, "attn_layer_indices": [0]},
     {"scores": 1, "words": 0.5, "states in": [], "turned": 0}),
    (family.hybrid_granite, {"position_embedding_type": "rope", "shared_intermediate_size": 9},
     {"scores": 1, "words": 1, "states in": [], "turned": 1.0, "intermediate_size": 9}),
    (family.hybrid_granite, {"num_local_experts": 2, "shared_intermediate_size": 9},
     {"scores": 1, "words": 1, "states in": [], "turned": 0}),
    (family.hybrid_sparse, {"num_hidden_layers": 4, "decoder_sparse_step": 2},
     {"states in": [True, True, True, False], "experts in": [False, True, False, True]}),
    (family.lfm2, {"intermediate_size": 13, "tie_word_embeddings": True},
     {"states in": [], "intermediate_size": 256, "tie_word_embeddings": True}),
    (family.lfm2, {"block_ff_dim": 13, "block_multiple_of": 3, "intermediate_size": 99},
     {"states in": [], "intermediate_size": 9, "tie_word_embeddings": None}),
    (family.lfm2, {"block_ff_dim": 13, "block_multiple_of": 1, "block_ffn_dim_multiplier": 1.7},
     {"states in": [], "intermediate_size": 13, "tie_word_embeddings": None}),
    (family.lfm2, {"block_ff_dim": 13, "block_auto_adjust_ff_dim": False, "tie_embedding": False},
     {"states in": [], "intermediate_size": 13, "tie_word_embeddings": False}),
    (family.lfm2, {"block_ff_dim": 13, "block_multiple_of": 0, "num_hidden_layers": 2,
                   "full_attn_idxs": [0]},
     {"states in": [False, True], "intermediate_size": 13, "tie_word_embeddings": None}),
    (family.lfm2, {"block_ff_dim": 13, "block_ffn_dim_multiplier": "1"},
     {"states in": [], "intermediate_size": 13, "tie_word_embeddings": None}),
    (family.lfm2, {"block_ff_dim": "13"},
     {"states in": [], "intermediate_size": "13", "tie_word_embeddings": None}),
    (family.states_alone, {"num_hidden_layers": 2},
     {"states in": [True, True], "forward in": [False, False]}),
    (family.states_alone, {}, {"states in": [], "forward in": []}),
    (family.states_alone, {"num_hidden_layers": 257}, {"states in": [], "forward in": []}),
    (family.states_alone, {"num_hidden_layers": 2.0}, {"states in": [], "forward in": []}),
    (family.modern, {"num_hidden_layers": 4, "global_rope_theta": 7, "local_rope_theta": 8},
     {"layer_types": ["full_attention", LOCAL, LOCAL, "full_attention"], "sliding_window": 65,
      "rope_theta": 7, "rope_local_base_freq": 8}),
    (family.modern, {"num_hidden_layers": 2, "global_attn_every_n_layers": 1,
                     "local_attention": 7},
     {"layer_types": ["full_attention"] * 2, "sliding_window": 4, "rope_theta": None,
      "rope_local_base_freq": None}),
    (family.modern, {"global_attn_every_n_layers": 0, "local_attention": "7"},
     {"layer_types": None, "sliding_window": "7", "rope_theta": None,
      "rope_local_base_freq": None}),
    *((family.modern, {"local_attention": 2, **odd},
       {"layer_types": odd.get("layer_types"), "sliding_window": 2, "rope_theta": None,
        "rope_local_base_freq": None})
      for odd in ({"num_hidden_layers": 257}, {"num_hidden_layers": "2"},
                  {"global_attn_every_n_layers": 1.5}, {"layer_types": [LOCAL]})),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(SPELLED)))
def test_a_familys_own_spelling(case: int) -> None:
    rewrite, values, wanted = SPELLED[case]
    assert rewrite(values) == wanted
    assert len(family.smollm({"num_hidden_layers": 256})["no_rope_layers"]) == 256
    assert len(family.sparse({"num_hidden_layers": 256})["experts in"]) == 256
    assert len(family.jamba({"num_hidden_layers": 256})["experts in"]) == 256
    assert len(family.hybrid({"num_hidden_layers": 256})["states in"]) == 256
    assert len(family.modern({"num_hidden_layers": 256})["layer_types"]) == 256
    assert len(family.states_alone({"num_hidden_layers": 256})["states in"]) == 256


@pytest.mark.parametrize(
    ("values", "choice", "found"),
    [
        ({"a": True}, FieldChoice("a", "each"), "each"),
        ({"a": 0}, FieldChoice("a", "each"), ""),
        ({}, FieldChoice("a", "each"), ""),
        ({"a": 7}, "plain", "plain"),
        ({"a": True}, FieldValue("a"), True),
        ({}, FieldValue("a"), False),
        ({}, FieldValue("a", True), True),
        ({"a": 2}, FieldValue("a", 1.0), 2.0),
        ({}, FieldValue("a", 3.0), 3.0),
        ({"a": 0}, FieldValue("a", 0.0), 0.0),
        ({"a": [1]}, FieldValue("a", 1, is_rewritten=True), [1]),
    ],
)
def test_a_choice_is_read_from_its_field(values: Any, choice: Any, found: Any) -> None:
    assert _value(Fields(values), choice) == found


def test_a_number_that_has_to_be_above_zero() -> None:
    with pytest.raises(NCDError):
        _value(Fields({"a": 0}), FieldValue("a", 1.0))


# --- layers ---------------------------------------------------------------------------------------

NEAR, FAR = DecoderLayer(has_window=True), DecoderLayer()


@pytest.mark.parametrize(
    ("values", "choices", "n", "first", "round", "window"),
    [
        ({}, {}, 3, None, (FAR,), 0),
        ({"sliding_window": 9}, {}, 3, None, (FAR,), 0),
        ({}, {"windows": "all"}, 3, None, (FAR,), 0),
        ({"sliding_window": 9}, {"windows": "all"}, 3, None, (NEAR,), 9),
        ({"sliding_window": 9}, {"windows": 2}, 4, None, (NEAR, FAR), 9),
        ({"sliding_window": 9, "sliding_window_pattern": 3}, {"windows": 2}, 6, None,
         (NEAR, NEAR, FAR), 9),
        ({"sliding_window": 9, "_sliding_window_pattern": 3}, {"windows": 2}, 5, None,
         (NEAR, NEAR, FAR), 9),
        ({"sliding_window": 9, "layer_types": [LOCAL, "full_attention", LOCAL]}, {"windows": 2}, 3,
         None, (NEAR, FAR), 9),
        ({"sliding_window": 9, "use": True}, {"windows": "use"}, 2, None, (NEAR,), 9),
        ({"sliding_window": 9, "use": False}, {"windows": "use"}, 2, None, (FAR,), 0),
        ({"sliding_window": 9, "use": True, "max_window_layers": 1}, {"windows": "use"}, 3, None,
         (FAR, NEAR, NEAR), 9),
        ({"sliding_window": 9, "use": True, "max_window_layers": 0}, {"windows": "use"}, 3, None,
         (NEAR,), 9),
        ({"sliding_window": 9}, {"windows": 2, "turns": "windows"}, 2, None,
         (DecoderLayer(has_window=True), DecoderLayer(uses_rotary=False)), 9),
        ({"no_rope_layers": [1, 0]}, {}, 4, None, (FAR, DecoderLayer(uses_rotary=False), FAR), 0),
        ({"experts in": [False, True]}, {}, 2, None, (DecoderLayer(experts=False), FAR), 0),
        ({"states in": [True, False]}, {}, 3, None,
         (DecoderLayer(state=True), FAR), 0),
        ({"experts in": [True] * 2, "mixers in": [False, True]}, {}, 3, None,
         (DecoderLayer(mixes=False), FAR, FAR), 0),
        ({"forward in": [True, False]}, {}, 2, None, (FAR, DecoderLayer(forward=False)), 0),
        ({"states in": []}, {}, 2, None, (FAR,), 0),
        ({"no_rope_layers": [1, 0, 1, 1]}, {"bare": True}, 4, DecoderLayer(attention_norm=False),
         (DecoderLayer(uses_rotary=False), FAR, FAR), 0),
        ({}, {"bare": True}, 3, DecoderLayer(attention_norm=False), (FAR,), 0),
        ({}, {"bare": True}, 1, DecoderLayer(attention_norm=False), (FAR,), 0),
    ],
)  # fmt: skip
def test_layers_of_a_round(
    values: Any, choices: Any, n: int, first: Any, round: Any, window: int
) -> None:
    assert layers(Fields(values), choices, n) == (first, round, window)


# --- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "more", "found"),
    [
        ({}, {}, Rotary.from_base(10000)),
        ({"rope_theta": 5e5}, {}, Rotary.from_base(5e5)),
        ({"rotary_emb_base": 500}, {}, Rotary.from_base(500)),
        ({}, {"base": 100}, Rotary.from_base(100)),
        ({"rope_parameters": {"rope_theta": 7.0}, "rope_theta": 9}, {}, Rotary.from_base(7)),
        ({"rope_scaling": {"type": "linear", "factor": 4}}, {}, Rotary.interpolated(10000, 4)),
        ({"rope_scaling": {"rope_type": "default", "type": "linear", "factor": 4}}, {},
         Rotary.from_base(10000)),
        ({"rope_scaling": {"type": "dynamic", "factor": 4}}, {}, Rotary.from_base(10000)),
        ({"rope_scaling": {"type": "llama3", "factor": 8}}, {},
         Rotary.llama3(10000, 8, 1, 4, 8192)),
        ({"rope_scaling": {"type": "llama3", "factor": 8, "low_freq_factor": 2,
                           "high_freq_factor": 5, "original_max_position_embeddings": 64}}, {},
         Rotary.llama3(10000, 8, 2, 5, 64)),
        ({"rope_scaling": {"type": "yarn", "factor": 4, "original_max_position_embeddings": 64}},
         {}, Rotary.yarn(10000, 4, 64, 32, 1, 0.1 * log(4) + 1, True)),
        ({"rope_scaling": {"type": "yarn", "factor": 4, "beta_fast": 16, "beta_slow": 2,
                           "truncate": False, "attention_factor": 1.5}}, {},
         Rotary.yarn(10000, 4, 8192, 16, 2, 1.5, False)),
        ({"rope_parameters": {"full": {"rope_theta": 7.0}, "near": {"rope_theta": 8.0}}},
         {"of": "near"}, Rotary.from_base(8)),
        ({"rope_parameters": {"rope_theta": 7.0}}, {"of": "near"}, Rotary.from_base(7)),
    ],
)  # fmt: skip
def test_angles_of_positions(values: Any, more: Any, found: Rotary) -> None:
    assert rotary(Fields(values), **more) == found


@pytest.mark.parametrize(
    ("values", "factor", "found"),
    [
        ({}, 1, 1),
        ({}, 0.5, 1),
        ({}, 40, 0.1 * log(40) + 1),
        ({"attention_factor": 2.5, "mscale": 3, "mscale_all_dim": 2}, 40, 2.5),
        ({"mscale": 3, "mscale_all_dim": 2}, 40, (0.3 * log(40) + 1) / (0.2 * log(40) + 1)),
        ({"mscale": 3}, 40, 0.1 * log(40) + 1),
        ({"mscale_all_dim": 3}, 40, 0.1 * log(40) + 1),
        ({"mscale": 0, "mscale_all_dim": 2}, 40, 0.1 * log(40) + 1),
    ],
)
def test_what_rotated_features_are_multiplied_by(values: Any, factor: float, found: float) -> None:
    assert magnitude(Fields(values), factor) == pytest.approx(found)
    assert growth(40, Fields({"mscale": 2}), "mscale") == pytest.approx(0.2 * log(40) + 1)
    assert growth(1, Fields({"mscale": 2}), "mscale") == 1


@pytest.mark.parametrize(
    ("values", "choices", "found"),
    [
        ({}, {}, 64),
        ({}, {"turn": 0.5}, 32),
        ({}, {"turn": 0}, 0),
        ({}, {"turn": 16}, 16),
        ({}, {"turn": 100}, 64),
        ({"rotary_dim": 24}, {"turn": 16}, 24),
        ({"partial_rotary_factor": 0.25}, {}, 16),
        ({"rotary_pct": 0.5}, {}, 32),
        (
            {"partial_rotary_factor": 0.25, "rope_parameters": {"partial_rotary_factor": 0.75}},
            {},
            48,
        ),
        ({"partial_rotary_factor": 1}, {}, 64),
    ],
)
def test_how_many_features_turn(values: Any, choices: Any, found: int) -> None:
    assert _rotary_feature_count(Fields(values), choices, 64) == found
    with pytest.raises(NCDError, match=r"a share of 1\.5 of the features turns"):
        _rotary_feature_count(Fields({"partial_rotary_factor": 1.5}), {}, 64)


def test_what_is_left_out_is_said() -> None:
    for kind in ("longrope", "su", "dynamic"):
        (note,) = _notes(Fields({"rope_scaling": {"type": kind}}), "phi3")
        assert note == f"Its positions are not stretched here, as {kind} does in long texts."
    assert _notes(Fields({"rope_scaling": {"type": "yarn"}}), "phi3") == ()
    assert _notes(Fields({}), "phimoe")[0].startswith("Its chosen experts are weighed by a softmax")
    for name in ("text_config", "vision_config"):
        assert _notes(Fields({name: {"a": 1}}), "llama") == ("Only the part for text is read.",)
    for value, count in ((None, 1), (0, 0), (3, 3)):
        assert _dense(Fields({"first": value}), {"dense": "first"}) == count
    assert _dense(Fields({}), {}) == 0


# --- fields ---------------------------------------------------------------------------------------


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(NCDError) as error:
        read()
    return str(error.value).removeprefix("config.json: ")


def test_the_first_field_with_a_value_counts() -> None:
    fields = Fields({"a": None, "b": 3, "c": 4})
    assert (fields.get("a", "b", "c"), fields.get("a"), fields.read_names) == (3, None, {"a", "b"})
    assert (fields.name_of("a", "c"), fields.name_of("x", "y")) == ("c", "x")
    assert fields.integer("a", default=7) == 7 and fields.integer("a", "b", default=7) == 3


@pytest.mark.parametrize("value", [0, -1, 11, True, 1.0, "3", []])
def test_a_field_that_is_no_whole_number_is_refused(value: Any) -> None:
    for read in (
        lambda: Fields({"a": value}).integer("a", most=10),
        lambda: Fields({"a": [1, value]}).integers("a", (3, 4), most=10),
    ):
        assert "whole number" in refusal(read)


def test_the_least_and_the_largest_values_are_read() -> None:
    for value in (1, 10):
        assert Fields({"a": value}).integer("a", most=10) == value
        assert Fields({"a": [1, value]}).integers("a", (3, 4), most=10) == [1, value]
    assert Fields({}).integers("a", (3, 4)) == [3, 4]
    assert Fields({"a": MAX_FIELD_VALUE}).integer("a") == MAX_FIELD_VALUE
    assert "2 whole numbers" in refusal(lambda: Fields({"a": [1]}).integers("a", (3, 4)))
    for number in (1e-30, 0.5, 3, 1e30):
        assert Fields({"a": number}).number("a", default=1) == number
    for odd in (0, -1, 1e31, float("inf"), float("nan"), True, "2"):
        assert "a number above 0" in refusal(lambda x=odd: Fields({"a": x}).number("a", default=1))
    assert [Fields({"a": x}).flag("a", True) for x in (None, True, False)] == [True, True, False]
    assert "true or false" in refusal(lambda: Fields({"a": 0}).flag("a"))
    fields = Fields({"a": "x", "b": {"c": 3}})
    assert fields.choice("a", default="y", known=("x", "y")) == "x"
    assert fields.choice("z", default="y", known=("x", "y")) == "y"
    assert "no a 'x'" in refusal(lambda: fields.choice("a", default="y", known=("y",)))
    assert (fields.inner("b").values, fields.inner("a").values) == ({"c": 3}, {})


def test_fields_that_have_to_meet() -> None:
    fields = Fields({"a": 3, "n": None})
    fields.check_consistent("a", 3)
    fields.check_consistent("n", 9)
    fields.check_supported("a", 3)
    fields.check_supported("n", 3)
    assert refusal(lambda: fields.check_consistent("a", 4)) == (
        'a is 3, but another field says 4. Try "a": 4.'
    )
    assert (
        refusal(lambda: fields.check_supported("a", 4))
        == 'a is 3, but only 4 is read here. Try "a": 4.'
    )
    assert [fields.heads(64, 4), fields.heads(64, 5, "a"), fields.groups(6, "a")] == [16, 3, (3, 2)]
    assert fields.groups(6, "n") == (6, 1)
    assert "60 features" in refusal(lambda: fields.heads(64, 6))
    assert "3 heads of keys do not divide 8" in refusal(lambda: fields.groups(8, "a"))


# --- knobs ----------------------------------------------------------------------------------------


def test_the_knobs_of_a_published_model() -> None:
    text = (
        '{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "vocab_size": 99, '
        '"num_hidden_layers": 200, "num_attention_heads": 4, "num_key_value_heads": 1}'
    )
    entry = read_config(text).entry("own")
    knobs = {knob.name: (knob.min, knob.max, knob.step, knob.default) for knob in entry.knobs}
    assert knobs["n"] == (1, 256, 1, 200)
    assert knobs["k"] == (2, 64, 2, 16)
    assert knobs["g"] == (1, 8, 1, 1)
    assert knobs["m"] == (1, 256, 1, 64)
    least = {knob.name: (knob.least, knob.multiple, knob.most) for knob in entry.knobs}
    assert [least[name] for name in "nkg"] == [(1, 1, 256), (2, 2, None), (1, 1, None)]
    published, small = (dict(entry.preset(name).knobs) for name in ("published", "small"))
    assert published == {name: knob[3] for name, knob in knobs.items()}
    assert all(1 <= small[name] <= n for name, n in published.items()) and small["n"] < 200
    gpt = read_config('{"model_type": "gpt2", "n_positions": 100}').entry("own")
    knobs = {knob.name: (knob.min, knob.max, knob.step, knob.default) for knob in gpt.knobs}
    assert knobs["t"][1] == 100 and knobs["k"][:3] == (1, 256, 1)
