"""A sentence that says where the numbers of a run come from."""

from __future__ import annotations

from ncd.inputs.run_inputs import Feed

UNTRAINED = "Untrained weights"


def origin(feed: Feed, trained: str, learns: bool, seed: int) -> str:
    """Returns how the weights and inputs of a run were made.

    ``trained`` describes the training of the weights, if there was one; ``learns`` is false for a
    system without weights.

    >>> origin(Feed(), "", True, 0), origin(Feed(), "trained for 3 steps", True, 0)
    ('Untrained weights and random inputs, from seed 0.',
     'Weights trained for 3 steps, and random inputs, from seed 0.')
    """
    given = feed.description.rstrip(" .")
    seeded = f"from seed {seed}"
    if not learns:
        random = f", {seeded}; nothing is learned here" if feed.is_random else ""
        return f"{given[:1].upper()}{given[1:]}{random}."
    if feed.is_random:
        weights = f"Weights {trained}, and" if trained else f"{UNTRAINED} and"
        return f"{weights} {given}, {seeded}."
    weights = f"Weights {trained}" if trained else f"{UNTRAINED} {seeded}"
    return f"{weights}, and {given}."
