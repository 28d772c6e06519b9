"""Configurations of Mamba."""

from __future__ import annotations

from functools import partial
from math import ceil

from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.configs.published import SHORT, Published
from ncd.models.recurrent_networks.selective_state import mamba

MEANINGS = {
    "d": "features inside a layer",
    "s": "numbers of the state for each of them",
    "r": "features from which the steps are made",
    "w": "positions that the convolution sees",
}


def rank(fields: Fields, name: str, m: int) -> int:
    """Returns the features from which the steps are made; by default a 16th of all."""
    return ceil(m / 16) if fields.get(name) in (None, "auto") else fields.whole(name)


def read_mamba(fields: Fields, kind: str) -> Published:
    """Returns Mamba."""
    m = fields.whole("hidden_size", "d_model", default=768)
    sizes = {
        "n": fields.whole("num_hidden_layers", "n_layer", default=32, most=LAYERS),
        "t": SHORT,
        "m": m,
        "d": m * fields.whole("expand", default=2),
        "s": fields.whole("state_size", default=16),
        "r": rank(fields, "time_step_rank", m),
        "w": fields.whole("conv_kernel", default=4),
        "v": fields.whole("vocab_size", default=50280),
    }
    system = partial(
        mamba,
        eps=fields.number("layer_norm_epsilon", default=1e-5),
        bias=fields.flag("use_bias", False),
    )
    source = "Gu and Dao 2023, Mamba"
    return Published("Mamba", source, sizes, system, rotary=False, meanings=MEANINGS)
