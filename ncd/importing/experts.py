"""Makes mixtures of experts from ``transformers`` importable, as lookups and products."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

SETTING = "_experts_implementation"
LOOKED_UP = "batched_mm"  # looks up the weights of each token's experts


@contextmanager
def looked_up(module: nn.Module) -> Iterator[None]:
    """Replaces, inside ``with``, each expert layer by a lookup of the chosen experts' weights.

    By default the library sorts the tokens by their experts first, which is faster for many of
    them, but says nothing of the mathematics; both give the same numbers.
    """
    configs = {id(c): c for part in module.modules() if (c := getattr(part, "config", None))}
    before = {key: getattr(c, SETTING) for key, c in configs.items() if getattr(c, SETTING, None)}
    for key in before:
        setattr(configs[key], SETTING, LOOKED_UP)
    try:
        yield
    finally:
        for key, value in before.items():
            setattr(configs[key], SETTING, value)
