"""A published figure: the terms it draws, and how."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ncd
from ncd import Term
from ncd.circuit.elaborate import elaborate
from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.callouts import with_callouts
from ncd.drawing.equation import draw_equation


@dataclass(frozen=True)
class Figure:
    """A term, or several with the signs ``between`` them, and the options of ``ncd.draw``.

    ``signs``, ``names`` and ``titles`` are what the published picture shows: what stands in its
    marks and between its sides, on its wires, and over its fences. ``paint`` is the colour of the
    arrow between the terms, as in :func:`draw_equation`.
    """

    terms: tuple[Term, ...]
    between: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    paint: str = "ink"
    signs: str = ""
    names: str = ""
    titles: tuple[str, ...] = ()

    def parts(self) -> tuple[Drawing, ...]:
        """The drawing of each term."""
        options = {k: v for k, v in self.options.items() if not (self.between and k == "notes")}
        return tuple(ncd.draw(term, **options) for term in self.terms)

    def draw(self) -> Drawing:
        """The drawing of the whole."""
        found = self.parts()
        if not self.between:
            return found[0]
        whole = found[-1]
        for part, sign in reversed(list(zip(found, self.between, strict=False))):
            whole = draw_equation([part, whole], sign, None, self.paint)
        return with_callouts(whole, elaborate(self.terms[-1]), self.options.get("notes", {}))
