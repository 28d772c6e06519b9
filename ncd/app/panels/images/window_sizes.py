"""The number of places that come out of a window, derived beside its sliders."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ncd.site import markup

LONGEST = 300  # places along a side that are drawn
LEVELS = 6  # rows of lines that show which window reaches which place
READABLE = 20  # places along a side whose overlaps are written into them


@dataclass(frozen=True)
class WindowSizes:
    """A window along one dimension of so many places; the letters are those of the formula."""

    x: int
    k: int
    s: int
    p: int
    d: int

    @property
    def padded(self) -> int:
        """The places with the padding at both ends."""
        return self.x + 2 * self.p

    @property
    def span(self) -> int:
        """The places from the first to the last weight."""
        return self.d * (self.k - 1) + 1

    @property
    def room(self) -> int:
        """The number of places by which the first window can move on."""
        return self.padded - self.span

    @property
    def count(self) -> int:
        """The number of windows.

        >>> WindowSizes(x=32, k=5, s=2, p=0, d=1).count
        14
        """
        return self.room // self.s + 1

    @property
    def left(self) -> int:
        """The places at the far end that no window reaches."""
        return self.room % self.s

    def derivation(self, dilated: bool) -> str:
        """Returns the number of windows, step by step; ``dilated`` if they may be."""
        x, k, s, p, d = self.x, self.k, self.s, self.p, self.d
        span = ("<i>d</i>(<i>k</i> − 1) + 1", f"{d}·{k - 1} + 1") if dilated else ("<i>k</i>", "")
        under = "<i>d</i>(<i>k</i> − 1) − 1" if dilated else "<i>k</i>"
        steps = (
            (("<i>x</i> + 2<i>p</i>", f"{x} + 2·{p}"), self.padded, "places"),
            (span, self.span, "under the window"),
            ((f"{self.padded} − {self.span}",), self.room, "places to move on"),
            ((f"⌊{self.room} / {s}⌋ + 1",), self.count, "windows"),
        )
        formula = f"⌊(<i>x</i> + 2<i>p</i> − {under}) / <i>s</i>⌋ + 1"
        return _steps(steps, formula, self.count)

    def strip(self) -> str:
        """Returns one side as a row of cells, with a line for every window."""
        left = markup.plural(self.left, "place")
        said = (
            f"✂ {left} at the far end: in no window" if self.left else "Every place is in a window"
        )
        return _strip(self, [self._kind(i) for i in range(self.padded)], f"{said}.")

    def _kind(self, place: int) -> str:
        """Returns whether a place is padding, a pixel, or fallen off the far end."""
        if place >= self.padded - self.left:
            return "off"
        return "pad" if not self.p <= place < self.p + self.x else "pixel"


@dataclass(frozen=True)
class TransposedSizes:
    """The windows that places are spread over; the letters are those of the formula."""

    x: int
    k: int
    s: int
    p: int
    d: int
    o: int

    @property
    def span(self) -> int:
        """The places from the first to the last weight."""
        return self.d * (self.k - 1) + 1

    @property
    def reached(self) -> int:
        """The places from the first window's beginning to the last one's end."""
        return (self.x - 1) * self.s + self.span

    @property
    def count(self) -> int:
        """The number of places that come out.

        >>> TransposedSizes(x=16, k=3, s=2, p=1, d=1, o=1).count
        32
        """
        return self.reached - 2 * self.p + self.o

    @property
    def overlaps(self) -> list[int]:
        """The number of windows that reach each place that comes out.

        >>> TransposedSizes(x=4, k=3, s=2, p=1, d=1, o=0).overlaps
        [1, 2, 1, 2, 1, 2, 1]
        """
        found = np.zeros(self.reached + self.o, int)
        for weight in range(self.k):
            found[self.d * weight :][: (self.x - 1) * self.s + 1 : self.s] += 1
        return found[self.p : self.p + self.count].tolist()

    @property
    def inner_overlaps(self) -> set[int]:
        """The different overlaps of the places that no end of the picture is near to."""
        edge = max(0, self.span - 1 - self.p)
        most = self.reached - self.p - self.span + 1
        return set(self.overlaps[edge:most]) or set(self.overlaps)

    def derivation(self, dilated: bool) -> str:
        """Returns the number of places, step by step."""
        x, k, s, p, d, o = self.x, self.k, self.s, self.p, self.d, self.o
        steps = (
            (("(<i>x</i> − 1)·<i>s</i>", f"{x - 1}·{s}"), (x - 1) * s, "to the last"),
            (("<i>d</i>(<i>k</i> − 1) + 1", f"{d}·{k - 1} + 1"), self.span, "places in it"),
            ((f"{(x - 1) * s} + {self.span}",), self.reached, "places reached"),
            (("− 2<i>p</i> + <i>o</i>", f"{self.reached} − {2 * p} + {o}"), self.count, "places"),
        )
        formula = "(<i>x</i> − 1)<i>s</i> − 2<i>p</i> + <i>d</i>(<i>k</i> − 1) + <i>o</i> + 1"
        return _steps(steps, formula, self.count)

    def strip(self) -> str:
        """Returns one side as a row of cells with the number of windows over each of them."""
        inner = sorted(self.inner_overlaps)
        said = (
            f"Every inner place is in {markup.plural(inner[0], 'window')}: no checkerboard"
            if len(inner) == 1
            else f"Inner places are in {' or '.join(map(str, inner))} windows: a checkerboard"
        )
        kinds = [
            "pixel" if self.p <= i < self.p + self.count else "pad"
            for i in range(self.reached + self.o)
        ]
        counts = replace(self, p=0, o=0).overlaps + [0] * self.o
        return _strip(self, kinds, f"{said}.", counts)


def _steps(steps: tuple[tuple[tuple[str, ...], int, str], ...], formula: str, result: int) -> str:
    """Returns steps (what is computed, its result, what it is), and the whole formula."""
    rows = "".join(
        f"<p>{' = '.join(filter(None, how))} = <b>{number}</b> "
        f"<span class='muted'>{what}</span></p>"
        for how, number, what in steps
    )
    whole = f"<i>y</i> = {formula} = <b>{result}</b>"
    return f'<div class="steps">{rows}</div><p class="formula">{whole}</p>'


def _strip(
    own: WindowSizes | TransposedSizes, kinds: list[str], said: str, counts: list[int] | None = None
) -> str:
    """Returns places in a row, coloured by their kinds, with a line for every window below."""
    caption, places = f"<p class='fallen'>{said}</p>", len(kinds)
    if places > LONGEST:
        return caption
    windows = own.count if counts is None else own.x
    levels = min(-(-own.span // own.s), LEVELS)
    cells = "".join(_cell(i, kind, counts) for i, kind in enumerate(kinds))
    unit = places / 40  # a line is as thick at any number of cells
    lines = "".join(
        f'<line data-window="{i}" x1="{i * own.s + 0.1:.2f}" x2="{i * own.s + own.span - 0.1:.2f}" '
        f'y1="{1 + unit * (i % levels + 1):.2f}" y2="{1 + unit * (i % levels + 1):.2f}"/>'
        for i in range(windows)
    )
    high = 1 + unit * (levels + 1)
    return (
        f'<svg class="strip" viewBox="0 0 {places} {high:.2f}" role="img" aria-label="'
        f'{windows} windows of {own.span} on {places} places">{cells}{lines}</svg>{caption}'
    )


def _cell(place: int, kind: str, counts: list[int] | None) -> str:
    """Returns a place, the darker the more windows reach it, with their number."""
    box = f'x="{place + 0.06:.2f}" y="0.06" width="0.88" height="0.88" class="{kind}"'
    if counts is None or kind == "pad":
        return f"<rect {box}/>"
    share = counts[place] / max(counts)
    shade = f'style="fill:color-mix(in srgb, var(--here) {round(75 * share)}%, transparent)"'
    number = (
        f'<text x="{place + 0.5}" y="0.72">{counts[place]}</text>'
        if len(counts) <= READABLE
        else ""
    )
    return f"<rect {box} {shade}/>{number}"
