"""The layers of a decoder: which see a window, which turn, and which have experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ncd.models.configs.config_fields import LAYERS, Fields
from ncd.models.language_models.decoder import Layer

LOCAL, GLOBAL = "sliding_attention", "full_attention"
PATTERN = ("sliding_window_pattern", "_sliding_window_pattern")


def layers(
    fields: Fields, choices: Mapping[str, Any], n: int
) -> tuple[Layer | None, tuple[Layer, ...], int]:
    """Returns the first layer if it is another one, the layers of one round, and their window.

    The windows of a family are ``all`` layers', those of a flag's name, or all but the last of a
    round of so many.

    >>> layers(Fields({"sliding_window": 9}), {"windows": 3}, 8)[1] == (
    ...     Layer(near=True), Layer(near=True), Layer())
    True
    """
    near = _near(fields, choices.get("windows", ""), n)
    window = fields.whole("sliding_window") if any(near) else 0
    turned = fields.get("no_rope_layers")
    experts, states = fields.get("experts in"), fields.get("states in")
    kinds = [
        Layer(
            near=near[i],
            turned=near[i] if choices.get("turns") == "windows" else bool(_at(turned, i)),
            experts=bool(_at(experts, i)),
            state=bool(states) and bool(_at(states, i)),
        )
        for i in range(n)
    ]
    if choices.get("bare"):  # whose first layer has no norm before its attention
        return replace(kinds[0], normed=False), _round(kinds[1:] or kinds), window
    return None, _round(kinds), window


def _at(values: Any, place: int) -> Any:
    """Returns the value of a layer; 1 where the list does not reach."""
    return values[place] if isinstance(values, list) and place < len(values) else 1


def _near(fields: Fields, windows: str | int, n: int) -> list[bool]:
    """Returns for each layer whether it sees a window only."""
    kinds = fields.get("layer_types")
    if windows == "" or fields.get("sliding_window") is None:
        return [False] * n
    if isinstance(kinds, list):
        return [_at(kinds, i) == LOCAL for i in range(n)]
    if windows == "all":
        return [True] * n
    if isinstance(windows, int):
        every = fields.whole(*PATTERN, default=windows, most=LAYERS)
        return [(i + 1) % every != 0 for i in range(n)]
    first = fields.whole("max_window_layers", default=1) if fields.get("max_window_layers") else 0
    return [fields.flag(windows) and i >= first for i in range(n)]


def _round(kinds: Sequence[Layer]) -> tuple[Layer, ...]:
    """Returns the shortest round that makes these layers when it is repeated."""
    n = len(kinds)
    sizes = (
        size for size in range(1, n) if all(kinds[i] == kinds[i - size] for i in range(size, n))
    )
    return tuple(kinds[: next(sizes, n)])
