"""The angles of rotary positions, from the fields of a configuration."""

from __future__ import annotations

from math import log

from ncd.models.configs.config_fields import Fields
from ncd.models.language_models.rotary_positions import Rotary

UNSTRETCHED = ("default", "mrope", "dynamic", "longrope", "su")  # all alike in a short text


def rotary(fields: Fields, base: float = 10000, of: str = "") -> Rotary:
    """Returns the rotation angles of the positions, for one kind of layer.

    Raises:
        UnknownNameError: For a scaling that is not known here.
    """
    inner = fields.inner("rope_parameters", "rope_scaling")
    inner = inner.inner(of) if of and inner.get(of) is not None else inner
    base = inner.number(
        "rope_theta", default=fields.number("rope_theta", "rotary_emb_base", default=base)
    )
    known = ("linear", "llama3", "yarn", *UNSTRETCHED)
    kind = inner.choice("rope_type", "type", default="default", known=known)
    factor = inner.number("factor", default=1)
    positions = inner.whole("original_max_position_embeddings", default=8192)
    if kind == "linear":
        return Rotary.interpolated(base, factor)
    if kind == "llama3":
        low = inner.number("low_freq_factor", default=1)
        high = inner.number("high_freq_factor", default=4)
        return Rotary.llama3(base, factor, low, high, positions)
    if kind == "yarn":
        by = magnitude(inner, factor)
        fast, slow = inner.number("beta_fast", default=32), inner.number("beta_slow", default=1)
        return Rotary.yarn(base, factor, positions, fast, slow, by, inner.flag("truncate", True))
    return Rotary.plain(base)


def magnitude(inner: Fields, factor: float) -> float:
    """Returns the number that YaRN multiplies rotated features by: its section 3.4."""
    if inner.get("attention_factor") is not None:
        return inner.number("attention_factor", default=1)
    whole, every = (inner.get(name) for name in ("mscale", "mscale_all_dim"))
    if whole and every:
        return growth(factor, inner, "mscale") / growth(factor, inner, "mscale_all_dim")
    return growth(factor, inner, "")


def growth(factor: float, inner: Fields, name: str) -> float:
    """Returns how much scores grow when positions are stretched by a factor."""
    by = inner.number(name, default=1) if name else 1
    return 0.1 * by * log(factor) + 1 if factor > 1 else 1
