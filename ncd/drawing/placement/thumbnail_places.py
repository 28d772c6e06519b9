"""The places of thumbnails: one picture for each array, between its wires or below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ncd.circuit.circuit import Value
from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import Plan, Rows
from ncd.drawing.elements.primitives import DrawnThumbnail, Rectangle, Thumbnail

LABEL = 13.0  # the height of a wire's label, which stands above it
ROUNDING = 0.01  # of coordinates


@dataclass(frozen=True)
class ThumbnailPlaces:
    """The thumbnails of one row of a diagram, and the state at which each one stands."""

    thumbnails: Mapping[str, Thumbnail] = field(default_factory=dict)
    states: Mapping[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.states)

    def stands_at(self, value: Value, s: int) -> bool:
        """Returns whether an array has its thumbnail at a state."""
        return self.states.get(value.id) == s

    def height(self, value: Value, s: int) -> float:
        """Returns the height of an array's thumbnail with its room, 0 where it has none."""
        if not self.stands_at(value, s):
            return 0.0
        return self.thumbnails[value.id].height + 2 * style.THUMBNAIL_ROOM

    def width(self, s: int) -> float:
        """Returns the width that the thumbnails of a state need."""
        here = (self.thumbnails[id].width for id, state in self.states.items() if state == s)
        return max((width + 2 * style.THUMBNAIL_SIDE for width in here), default=0.0)

    def placed(
        self, plan: Plan, rows: Sequence[Rows], middles: Sequence[float]
    ) -> Iterator[DrawnThumbnail]:
        """Yields the thumbnails at their places: in the widest gap of the array, or below it."""
        for s, state in enumerate(plan.states):
            for value in state:
                if self.stands_at(value, s):
                    ys = [rows[s][port] for port in plan.places(value)]
                    yield self._place_thumbnail(value.id, ys, middles[s])

    def _place_thumbnail(self, id: str, ys: Sequence[float], x: float) -> DrawnThumbnail:
        thumbnail = self.thumbnails[id]
        width, height = thumbnail.width, thumbnail.height
        top, bottom = max(pairwise(ys), key=lambda gap: gap[1] - gap[0], default=(0.0, 0.0))
        y = max(ys) + style.THUMBNAIL_ROOM
        if bottom - top > height + 2 * style.THUMBNAIL_ROOM + LABEL - ROUNDING:
            y = (top + bottom - LABEL - height) / 2
        return DrawnThumbnail(id, Rectangle(x - width / 2, y, x + width / 2, y + height), thumbnail)


NOWHERE = ThumbnailPlaces()


def thumbnail_places(
    rows: Sequence[Plan], thumbnails: Mapping[str, Thumbnail]
) -> list[ThumbnailPlaces]:
    """Returns where thumbnails stand in each row: where their array is first, but at no row's end.

    At the end of a row an array goes on in the next one, and has its thumbnail there.
    """
    seen: set[str] = set()
    found = []
    for n, row in enumerate(rows):
        states: dict[str, int] = {}
        for s, state in enumerate(row.states):
            if s == len(row.states) - 1 and n < len(rows) - 1:
                break
            for value in state:
                if value.id in thumbnails and value.id not in seen:
                    seen.add(value.id)
                    states[value.id] = s
        found.append(ThumbnailPlaces(thumbnails, states))
    return found
