"""Sizes of one meaning in two systems, such as heads, so that they are compared at the same."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.errors import NCDError
from ncd.systems.catalogue_entry import Entry, Knob

POSITIONS, HEADS = "positions", "heads"
WIDTH, HEAD = "features of a position", "features of a head"
MEANINGS = {
    "queries": POSITIONS,
    "keys and values": POSITIONS,
    "keys": POSITIONS,
    "positions that are read": POSITIONS,
    "positions that are written": POSITIONS,
    "features a head": HEAD,
    "m: features": WIDTH,
    "k: features": HEAD,
    "query heads for each": "queries for each of them",
}
GROUPS, EACH = "heads of keys and values", "queries for each of them"


def meaning(knob: Knob) -> str:
    """Returns what a knob is the size of, in one word for all systems.

    >>> meaning(Knob("y", 1, 64, 20, help="queries")), meaning(Knob("m", 1, 64, 8, help="features"))
    ('positions', 'features of a position')
    """
    return MEANINGS.get(f"{knob.name}: {knob.help}") or MEANINGS.get(knob.help, knob.help)


def sizes(entry: Entry, settings: Mapping[str, int]) -> dict[str, int]:
    """Returns the size of each meaning; the first knob's, where several have one."""
    found: dict[str, int] = {}
    for knob in entry.knobs:
        if knob.help:  # the axes of one's own text have letters alone
            found.setdefault(meaning(knob), settings[knob.name])
    groups = _grouped(entry)
    if groups is not None:
        found[HEADS] = settings[groups[0].name] * settings[groups[1].name]
    if HEADS in found and HEAD in found:
        found.setdefault(WIDTH, found[HEADS] * found[HEAD])
    return found


def in_line(page: Entry, settings: Mapping[str, int], other: Entry) -> dict[str, int]:
    """Returns the settings of another system at the sizes that a page has, where both have some.

    >>> import ncd
    >>> page, other = ncd.catalogue["multi-head-attention"], ncd.catalogue["grouped-queries"]
    >>> in_line(page, page.settings({}), other)
    {'g': 2, 'q': 2, 'k': 16, 'm': 128, 't': 20}
    """
    asked, own = sizes(page, settings), other.settings({})
    found = {k.name: k.legal(asked.get(meaning(k), own[k.name])) for k in other.knobs}
    groups = _grouped(other)
    if groups is not None and HEADS in asked and GROUPS not in asked:
        shared, each = groups
        fits = max(n for n in range(1, own[shared.name] + 1) if asked[HEADS] % n == 0)
        found |= {shared.name: shared.legal(fits), each.name: each.legal(asked[HEADS] // fits)}
    try:
        other.build(**other.within(found))
    except NCDError:  # some other size of it does not fit these
        return own
    return other.within(found)


def _grouped(entry: Entry) -> tuple[Knob, Knob] | None:
    """Returns the knobs whose product is the number of heads, if there are two."""
    shared = next((knob for knob in entry.knobs if knob.help == GROUPS), None)
    each = next((knob for knob in entry.knobs if meaning(knob) == EACH), None)
    return (shared, each) if shared and each else None
