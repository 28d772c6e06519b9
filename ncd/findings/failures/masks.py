"""The masks of attention: which shape one has, and which shapes it may have."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ncd.findings.failures.failure import Failure, shape_words

Shape = tuple[int, ...]
SCORES = {2: "queries, keys", 3: "batch, queries, keys", 4: "batch, heads, queries, keys"}
MASK_TYPE_ERROR = re.compile(r"only bool and floating types of (\w+) are supported")


@dataclass(frozen=True)
class WrongMask:
    """A mask that an attention refuses: its shape, and the sizes of the attention.

    ``batch`` is 0 for one sequence without a batch; of a mask of whole numbers no sizes are known.
    """

    name: str
    shape: Shape = ()
    batch: int = 0
    heads: int = 0
    queries: int = 0
    keys: int = 0
    is_whole: bool = False

    @property
    def is_padding(self) -> bool:
        """Whether it says which keys of each sequence are padding."""
        return "key_padding" in self.name

    @property
    def padding(self) -> Shape:
        """The shape of a mask of padding."""
        return (self.batch, self.keys) if self.batch else (self.keys,)

    @property
    def shared_shape(self) -> Shape:
        """The shape of a mask that is the same for all sequences and heads."""
        return (self.queries, self.keys)

    @property
    def per_head_shape(self) -> Shape:
        """The shape of a mask with one table for each sequence and head."""
        return ((self.batch or 1) * self.heads, self.queries, self.keys)


def wrong_mask(failure: Failure) -> WrongMask | None:
    """Returns the mask that an attention of torch's layers refuses; None if it takes all."""
    call, layer = failure.call, failure.layer
    if (found := MASK_TYPE_ERROR.search(failure.message)) is not None:
        return WrongMask(found[1], is_whole=True)
    if call is None or not isinstance(layer, nn.MultiheadAttention):
        return None
    query = tuple(map(failure.value, call.shapes[0]))
    batch = query[1] if len(query) == 3 else 0
    sizes = (batch, int(layer.num_heads), query[0], failure.value(call.shapes[1][0]))
    for name in ("key_padding_mask", "attn_mask"):
        mask = call.words.get(name)
        if not isinstance(mask, Tensor):
            continue
        shape = failure.trace.recorder.values(failure.trace.recorder.shape(mask))
        wrong = WrongMask(name, shape, *sizes)
        if shape not in (
            (wrong.padding,) if wrong.is_padding else (wrong.shared_shape, wrong.per_head_shape)
        ):
            return wrong
    return None


def mask_reason(failure: Failure) -> str:
    """Returns which mask an attention gets and which it takes, in words; empty if all fit."""
    wrong = wrong_mask(failure)
    if wrong is None:
        return ""
    given = shape_words(wrong.shape)
    if wrong.is_whole:
        return (
            f"gets a mask of whole numbers ({wrong.name}); it takes bool, where True leaves a key "
            "out, or real numbers, which are added to the scores"
        )
    if wrong.is_padding:
        names = "batch, keys" if wrong.batch else "keys"
        return (
            f"gets a key_padding_mask of {given}; it takes {shape_words(wrong.padding)} ({names})"
        )
    return (
        f"gets an attn_mask of {given}; it takes {shape_words(wrong.shared_shape)} "
        "(queries, keys) for all, "
        f"or {shape_words(wrong.per_head_shape)} (batch {wrong.batch or 1} · heads "
        f"{wrong.heads}, queries, "
        f"keys)"
    )


def scores_shape(failure: Failure) -> Shape:
    """Returns the shape of the scores of ``scaled_dot_product_attention``; empty for other calls.

    A mask has to be broadcast to it.
    """
    call = failure.call
    if call is None or call.name != "scaled_dot_product_attention" or len(call.shapes) < 2:
        return ()
    query, key = (tuple(map(failure.value, one)) for one in call.shapes[:2])
    return (*query[:-1], key[-2]) if len(query) > 1 and len(key) > 1 else ()


def mask_of(call: Any) -> Tensor | None:
    """Returns the mask of a call of ``scaled_dot_product_attention``; None if it has none."""
    mask = call.words.get("attn_mask", call.words.get(3))
    return mask if isinstance(mask, Tensor) else None


def meets(shape: Shape, wanted: Shape) -> bool:
    """Returns whether a shape is broadcast to another one.

    >>> meets((1, 5), (2, 3, 5)), meets((2, 5), (2, 3, 5))
    (True, False)
    """
    pairs = zip(shape[::-1], wanted[::-1], strict=False)
    return len(shape) <= len(wanted) and all(a in (1, b) for a, b in pairs)
