"""A name is offered as a cure only if it is nearly the one that was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ncd
from ncd.ops.opaque_call import COMMON
from ncd.words import near_name, nearest_name

SYSTEMS = tuple(ncd.catalogue)
MEANT = {
    ("Linaer", ("Lerp", "Linear")): "Linear",
    ("tahn", ("tanh", "relu")): "tanh",
    ("strde", ("stride", "padding")): "stride",
    ("num_layer", ("num_layers", "bias")): "num_layers",
    ("multiheadAttention", ("MultiheadAttention", "Module")): "MultiheadAttention",
    ("multi-head", SYSTEMS): "multi-head-attention",
    ("multi-haed-attention", SYSTEMS): "multi-head-attention",
    ("gpt", SYSTEMS): "gpt-2",
    ("Conv", ("Conv1d", "ConvTranspose1d")): "Conv1d",
    ("m", ("M", "k")): "M",
}
NONSENSE = (
    ("nope", SYSTEMS),
    ("zzz", SYSTEMS),
    ("rms_norm", tuple(sorted(COMMON - {"rms_norm"}))),
    ("from_file", tuple(sorted(COMMON))),
    ("load", ("float", "add", "log")),
    ("open", ("ones", "einops")),
    ("m", ("k", "h")),
    ("q", ("k",)),
    ("", ("a",)),
    ("a" * 5000, ("a" * 4999,)),
)


@pytest.mark.parametrize(("asked", "meant"), MEANT.items(), ids=[name for name, _ in MEANT])
def test_a_slip_of_the_keys_is_put_right(asked: tuple[str, tuple[str, ...]], meant: str) -> None:
    assert near_name(*asked) == nearest_name(*asked) == meant


@pytest.mark.parametrize(("name", "known"), NONSENSE, ids=[name[:9] for name, _ in NONSENSE])
def test_a_name_that_is_not_near_is_not_offered(name: str, known: tuple[str, ...]) -> None:
    assert near_name(name, known) == ""
    cure = nearest_name(name, known, "something else")
    assert cure == (f"one of {', '.join(known)}" if len(known) <= 12 else "something else")


@given(st.sampled_from(SYSTEMS), st.data())
def test_one_letter_that_is_left_out_doubled_or_swapped_leaves_a_long_name_near(
    name: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    changed = data.draw(
        st.sampled_from(
            (
                name[:at] + name[at + 1 :],
                name[:at] + name[at] + name[at:],
                name[:at] + name[at + 1] + name[at] + name[at + 2 :],
            )
        )
    )
    if len(changed) >= 6:
        assert near_name(changed, (name,)) == name
