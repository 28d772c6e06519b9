"""Usual values of arguments that a source does not give, by their names and by their use."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from ncd.read.python_source.interpreter import ClassValue, Scope, SourceFunction, parameters

# --- Usual values of arguments that a class needs and a source does not give, by their names

_NAMES: tuple[tuple[Any, str], ...] = (
    (
        64,
        """
        image_size img_size imsize dim d_model model_dim embed_dim embedding_dim emb_dim emb_size
        embed_size hidden_dim hidden_size hid_dim hidden_channels num_hiddens n_hidden nhid ninp
        n_embd n_embed width features feature_dim feat_dim in_features input_dim input_size
        size in_planes inplanes planes d_word_vec query_dim context_dim latent_dim num_features
        num_node_features normalized_shape n_feat n_feats num_feat num_feats channel
        """,
    ),
    (
        16,
        "patch_size image_patch_size dim_head head_dim d_k d_v d_head frames inner_dim num_patches",
    ),
    (
        128,
        """
        mlp_dim d_ff d_inner ff_dim ffn_dim ffn_hidden hidden_features dim_feedforward
        intermediate_size ffn_num_hiddens mlp_hidden
        """,
    ),
    (
        2,
        """
        depth n_layer n_layers num_layers nlayers num_hidden_layers num_encoder_layers
        num_decoder_layers enc_layers dec_layers n_blocks num_blocks num_blks N cls_depth upscale
        upscale_factor scale scale_factor mlp_mult frame_patch_size temporal_patch_size
        spatial_depth temporal_depth num_hierarchies block_repeats patch_height patch_width
        spatial_dims num_dims n_dims dimensions ndim ndims num_spatial_dims
        """,
    ),
    (4, "heads n_head n_heads num_heads nhead mlp_ratio expansion reduction num_experts h r"),
    (
        3,
        """
        channels n_channels num_channels in_channels in_chans in_ch kernel_size input_channels c_in
        num_in_ch num_out_ch n_colors
        """,
    ),
    (
        10,
        """
        num_classes n_classes num_class n_class nclass classes output_dim out_dim out_features
        output_size c_out
        """,
    ),
    (8, "out_channels out_ch num_output_channels window_size num_groups"),
    (
        1000,
        """
        vocab_size n_vocab num_vocab vocab src_vocab tgt_vocab trg_vocab n_src_vocab n_trg_vocab
        src_vocab_size tgt_vocab_size trg_vocab_size enc_voc_size dec_voc_size ntoken ntokens
        n_tokens num_tokens num_embeddings vocabulary_size num_items n_items num_item n_item
        num_users n_users num_user n_user num_entities n_entities num_relations n_relations
        """,
    ),
    (
        32,
        """
        block_size max_len max_length max_seq_len max_seq_length seq_len seq_length context_length
        context_size context_window sequence_length n_positions n_ctx max_position_embeddings
        num_steps length
        """,
    ),
    (12, "growth_rate"),
    (
        0.0,
        """
        dropout dropout_rate dropout_p drop_rate drop_prob attn_drop attn_dropout emb_dropout
        attn_pdrop resid_pdrop embd_pdrop attention_dropout resid_dropout p_drop
        """,
    ),
    (0, "src_pad_idx trg_pad_idx tgt_pad_idx pad_idx padding_idx pad_token_id layer_idx layer_id"),
    (1, "stride padding dilation trg_sos_idx groups outputsize_multiplier"),
    (1e-5, "eps norm_eps rms_norm_eps layer_norm_eps"),
    (True, "bias"),
    (False, "batch_norm causal bidirectional pretrained verbose debug inplace"),
    ("cpu", "device"),
    ("instance", "norm_name"),
    (None, "model_type"),  # a choice of sizes by a name
)
_PARTS: tuple[tuple[str, Any], ...] = (  # what a name begins or ends with; the first one counts
    (
        r"(use|with|is|has|no|add|return|apply|learned|learnable|shared?|disable|self)_.*",
        False,
    ),
    (r".*_(dropout|drop|rate|prob|p)|dropout_.*", 0.0),
    (r".*_(eps|epsilon)", 1e-5),
    (r".*_ids?x|.*_id|blank", 0),
    (r".*_(depth|layers|blocks|stages)|(num|n)_(.*_)?(layers?|blocks?)", 2),
    (r".*_(heads?|ratio|factor|mult|experts|groups)", 4),
    (r".*_(classes|labels)", 10),
    (r".*_(vocab|vocab_size|tokens|num_embeddings|words)", 1000),
    (r".*_(len|length|steps|positions|seq_len)", 32),
    (r".*_(kernel|kernel_size)|kernel", 3),
    (r".*_(image_size|img_size)", 64),
    (r".*_(patch_size|dim_head|head_dim)", 16),
    (r".*_(path|dir|file|name)|path|source|name", "name"),
    (r"(num|n)_.*", 4),
    (
        r".*_(dims?|dims?_model|size|width|features|channels|chans|planes|nc|hidden)|n[gd]f|(.*_)?dim_.*",
        64,
    ),
)
_LISTS: dict[str, Any] = {  # of names for sizes that come one after the other
    "encoder_channels": (3, 64, 64, 128, 256, 512),
    "decoder_channels": (256, 128, 64, 32, 16),
    "atrous_rates": (12, 24, 36),
    "dim_mults": (1, 2, 4),
    "input_shape": (3, 64, 64),
    "img_shape": (3, 64, 64),
    "image_shape": (3, 64, 64),
    "num_freq_bands": 6,
    "max_freq": 10.0,
    "rank": 4,
    "depths": (2, 2, 2, 2),
    "layers": (2, 2, 2, 2),
    "num_block": (2, 2, 2, 2),
    "dims": (64, 128, 256, 512),
    "channel_multipliers": (1, 2, 4),
    "attention_levels": (1, 2),
    "encoder_depth": 5,
    "output_stride": 16,
    "block_config": (2, 2, 2, 2),
    "nz": 64,
    "nc": 3,
    "in_nc": 3,
    "out_nc": 3,
    "input_nc": 3,
    "output_nc": 3,
    "frame_size": 16,
    "linear_start": 1e-4,
    "linear_end": 0.02,
    "beta_start": 1e-4,
    "beta_end": 0.02,
    "sample_rate": 16000,
    "sampling_rate": 16000,
    "n_fft": 512,
    "hop_length": 128,
    "win_length": 512,
    "n_mels": 80,
    "n_filters": 64,
    "n_times": 1000,
    "n_chans": 22,
    "n_outputs": 4,
    "sfreq": 250,
    "input_window_seconds": 4.0,
    "image_height": 64,
    "image_width": 64,
}
NO_USUAL_VALUE = object()
ROUND_WIDTH = 8  # a number that most others divide
PLAIN_TYPES = (bool, int, float, str, type(None))
VALUES: dict[str, Any] = {
    **{name: value for value, names in _NAMES for name in names.split()},
    **_LISTS,
}


def usual_value(name: str) -> Any:
    """Returns the usual value of an argument, or UNKNOWN.

    >>> usual_value("num_heads")
    4
    >>> usual_value("n_classes")
    10
    >>> usual_value("head_depth")
    2
    >>> usual_value("encoder") is NO_USUAL_VALUE
    True
    """
    for known in (name, name.lower()):
        if known in VALUES:
            return VALUES[known]
    parts = (value for pattern, value in _PARTS if re.fullmatch(pattern, name.lower()))
    return next(parts, NO_USUAL_VALUE)


def call_text(name: str, given: dict[str, Any]) -> str:
    """Returns the call of a class with such values.

    >>> call_text("ViT", {"dim": 64, "heads": 4})
    'ViT(dim=64, heads=4)'
    """
    words = (
        f"{key}={x!r}" if type(x) in (*PLAIN_TYPES, tuple) else f"{key}=…"
        for key, x in given.items()
    )
    return f"{name}({', '.join(words)})"


# --- Usual values of arguments whose names say nothing, by the layers that are given them

LOOPS, TURNS = "range", 2  # a number of turns
LAYERS: dict[str, Any] = {"p": 0.0, "groups": 1}  # arguments of torch.nn
DEEP = 3  # classes inside of each other

Begins = Callable[[ClassValue], SourceFunction | None]


def size_of(
    name: str, function: SourceFunction, scope: Scope, begins: Begins, deep: int = DEEP
) -> Any:
    """Returns the usual value of an argument: by its name, else by what it is given to.

    Args:
        name: The argument.
        function: The function that has it.
        scope: The names of the source.
        begins: Returns the ``__init__`` of a class.
        deep: How many classes may hand it on.

    Returns:
        The value, the largest of several numbers; UNKNOWN where nothing tells.
    """
    named = usual_value(name)
    if deep == 0 or (named is not NO_USUAL_VALUE and len(name) > 1):  # a letter says little
        return named
    found = [
        value
        for kind, place in dict.fromkeys(_uses(function.node, name))
        if (value := _of_use(kind, place, scope, begins, deep)) is not NO_USUAL_VALUE
    ]
    numbers = [one for one in found if type(one) in (int, float)]
    return max(numbers) if numbers else (*found, named)[0]


def _uses(node: ast.AST, name: str) -> Iterator[tuple[str, int | str]]:
    """Yields the classes and functions that are given an argument as it is, and its place there."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        kind = call.func.attr if isinstance(call.func, ast.Attribute) else None
        kind = call.func.id if isinstance(call.func, ast.Name) else kind
        given = [*enumerate(call.args), *((word.arg, word.value) for word in call.keywords)]
        for place, value in given:
            if kind and place is not None and isinstance(value, ast.Name) and value.id == name:
                yield kind, place


def _of_use(kind: str, place: int | str, scope: Scope, begins: Begins, deep: int) -> Any:
    """Returns the usual value of what stands at a place of a call, or UNKNOWN."""
    if kind == LOOPS:
        return TURNS
    value, layer = scope.names.get(kind), getattr(nn, kind, None)
    if isinstance(value, ClassValue):
        inner = begins(value)
        names = parameters(inner)[0] if inner else []
    elif isinstance(layer, type) and issubclass(layer, nn.Module):
        inner, names = None, [*inspect.signature(layer).parameters]
    else:
        return NO_USUAL_VALUE
    own = place if isinstance(place, str) else (*names, *[""] * 99)[place]
    if inner is not None:
        return size_of(own, inner, scope, begins, deep - 1)
    return LAYERS.get(own, usual_value(own))
