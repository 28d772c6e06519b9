"""The settings of a system of the catalogue, for a page on which they can be moved."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.lang.circuits.sized_system import LARGEST, SizedSystem, SizeRange
from ncd.models import Entry, Knob


def of_entry(entry: Entry, settings: Mapping[str, int]) -> SizedSystem:
    """Returns a system as a function of its settings.

    >>> import ncd
    >>> found = of_entry(ncd.catalogue["multi-head-attention"], {"h": 4})
    >>> found.sizes[0].limits, found.settings["k"], found.plain
    ('1 or more', 16, ('causal',))
    """
    plain = tuple(knob.name for knob in entry.knobs if not knob.is_size or knob.below)
    return SizedSystem(
        tuple(map(_range, entry.knobs)),
        entry.settings(settings),
        lambda given: entry.system(**given),
        plain,
        entry.renamed,
    )


def _range(knob: Knob) -> SizeRange:
    least, most = knob.bounds
    return SizeRange(
        *(knob.name, knob.min, knob.max, knob.step, knob.help),
        least=least,
        most=LARGEST if most is None else min(most, LARGEST),
        multiple=knob.multiple,
        limits=knob.limits,
        switch=knob.switch,
        names=knob.names,
    )
