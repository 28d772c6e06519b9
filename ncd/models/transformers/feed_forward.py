"""The feed-forward of a transformer, as linear maps or as convolutions of width 1."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, switch
from ncd.models.shared_parts import feed_forward
from ncd.models.transformers.encoder_decoder import LENGTH
from ncd.ops import Conv, Einsum, Elementwise


def pointwise_feed_forward(t: int = 4, m: int = 6, d: int = 6, conv: int = 1) -> Term:
    """Two affine maps at every position; with ``conv``, as 1 × 1 convolutions along t."""
    return Axes(t=seq(t), m=m, d=d)(_pointwise(conv))


@lru_cache
def _pointwise(conv: int) -> Term:
    if not conv:
        return Id("t m") >> feed_forward()
    return (
        Einsum("t m -> m t")
        >> Conv("m t -> d t", "conv1")
        >> Elementwise("relu")
        >> Conv("d t -> m t", "conv2")
        >> Einsum("m t -> t m")
    )


POINTWISE_FEED_FORWARD = Entry(
    name="pointwise-feed-forward",
    title="Point-wise feed-forward",
    source="Unit tests, Conv1d",
    knobs=(
        Knob("m", 1, 64, 6, help="features of a position", reason="six in the notebook"),
        Knob("d", 1, 256, 6, help="hidden features", reason="often 4 · m"),
        Knob("t", 1, 64, 4, help="positions", reason=LENGTH),
        switch(
            "conv",
            1,
            "as a convolution",
            "on, both maps are convolutions of width 1 along t; off, linear maps",
        ),
    ),
    system=pointwise_feed_forward,
    section="Transformers",
    type="t m -> t m",
)
