"""A published model: its sizes, and the function from sizes to its term."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ncd.lang.terms.terms import Term
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.models.configs.config_fields import LAYERS

SHORT = 16  # positions of a text, to begin with
MEANINGS: Mapping[str, str] = {
    "a": "features of the compressed queries",
    "b": "features of a rotary key",
    "c": "experts that are chosen",
    "d": "hidden features",
    "e": "experts",
    "f": "hidden features of an expert",
    "g": "heads of keys and values",
    "h": "heads",
    "k": "features of a head",
    "m": "features of a position",
    "n": "layers",
    "o": "features of the compressed keys and values",
    "q": "queries for each of them",
    "s": "sentences",
    "t": "positions",
    "u": "positions that have a vector",
    "v": "words",
    "w": "features of a value",
    "x": "hidden features of the shared expert",
    "z": "groups of experts",
}
SMALL: Mapping[str, int] = {
    **{"n": 2, "t": 12, "m": 64, "g": 2, "q": 2, "h": 4, "k": 16, "d": 128, "v": 256},
    **{"l": 2, "x": 4, "y": 10, "o": 16},
    **{"e": 4, "c": 2, "u": 64, "s": 2, "a": 24, "b": 8, "w": 16, "f": 32},
}
STACKS = ("n", "N", "l")  # layers of which there are many
EVEN = ("k", "b")  # rotary positions turn features in pairs


@dataclass(frozen=True)
class Published:
    """A model as its configuration describes it.

    Args:
        title: Its name.
        source: The paper.
        sizes: Its sizes by their letters.
        system: The function from these sizes to its term.
        rotary: Whether the features of a head turn in pairs.
        positions: The most positions that it has vectors for; 0 for no limit.
        meanings: What a letter means here, where it is something else than usual.
        cached: The names of the ops whose results a text that is written keeps.
        notes: What of the configuration is left out, a sentence each.
        small: Sizes that are small enough to run, where they are others than usual.
        multiples: The numbers of which sizes are multiples.
    """

    title: str
    source: str
    sizes: Mapping[str, int]
    system: Callable[..., Term]
    rotary: bool = True
    positions: int = 0
    meanings: Mapping[str, str] = field(default_factory=dict)
    cached: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    small: Mapping[str, int] = field(default_factory=dict)
    multiples: Mapping[str, int] = field(default_factory=dict)

    def entry(self, name: str, text: str = "") -> Entry:
        """Returns the entry of a page that opens at the published sizes."""
        usual = {**SMALL, **self.small}
        small = {key: min(usual.get(key, n), n) for key, n in self.sizes.items()}
        presets = (
            Preset("published", dict(self.sizes), self.source, "Published"),
            Preset("small", small, self.source, "Small enough to run"),
        )
        return Entry(
            name=name,
            title=self.title,
            source=self.source,
            knobs=tuple(self._knob(key, n) for key, n in self.sizes.items()),
            system=self.system,
            section="Yours",
            presets=presets,
            text=text,
            width=900,
            cached=self.cached,
        )

    def _knob(self, key: str, size: int) -> Knob:
        """Returns the slider of a size."""
        meaning = {**MEANINGS, **self.meanings}[key]
        knob = Knob(key, 1, max(8, 4 * size), size, help=meaning, least=1)
        if key in STACKS:
            return replace(knob, max=min(max(8, 2 * size), LAYERS), most=LAYERS)
        if key == "t" and self.positions:
            return replace(knob, max=self.positions, most=self.positions)
        by = self.multiples.get(key, 2 if self.rotary and key in EVEN else 1)
        if by > 1:
            return replace(knob, min=by, step=by, multiple=by, least=by)
        return knob
