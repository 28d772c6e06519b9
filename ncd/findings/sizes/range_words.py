"""Sentences about sizes that work."""

from __future__ import annotations

from math import isqrt

from ncd.findings.sizes.ranges import Range

FREE = ""


def range_words(found: Range) -> str:
    """Returns the sizes that work in words; none where all do.

    >>> range_words(Range(16, 16)), range_words(Range(32, 1, 35)), range_words(Range(3, high=3))
    ('must be divisible by 16, from 16 up', 'must be 32 to 35', 'must be 3')
    """
    low, step, high = found.low, found.step, found.high
    if found.square:
        root = isqrt(low)
        return f"must be a square, such as {(root + 1) ** 2} or {(root + 2) ** 2}"
    if found.is_fixed:
        return f"must be {low:,}" + " (or 1, which torch broadcasts)" * found.one
    if step == 1 and not high:
        return f"must be at least {low:,}" if low > 1 else FREE
    if step == 1:
        return f"must be {low:,} to {high:,}" if low > 1 else f"must be at most {high:,}"
    ends = f"from {low:,} {f'to {high:,}' if high else 'up'}"
    if low % step == 0:
        return f"must be divisible by {step}, {ends}"
    return f"must be {low % step} more than a multiple of {step}, {ends}"
