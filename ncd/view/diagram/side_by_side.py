"""Drawings of other terms side by side, as the two sides of an equation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ncd.drawing import draw
from ncd.drawing.equation import equated
from ncd.drawing.overlays.callouts import noted
from ncd.drawing.pipeline import Folded
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.view.base.cache import remember
from ncd.view.diagram.callout_list import spelled
from ncd.view.diagram.component import FOREIGN
from ncd.view.session.scene import Scene

WIDTH = 1280  # pixels, where the column is not known; wider drawings continue below


def beside(
    terms: Sequence[Term],
    sign: str,
    scene: Scene,
    notes: Mapping[str, str] = MappingProxyType({}),
    *,
    cells: bool = False,
    paint: str = "ink",
    box: str = "",
) -> str:
    """Returns the terms with a sign between them; only their axes take part in highlighting.

    A sign is ``=``, or has words before it, as in ``×4 Broadcasting ↦``. With ``paint`` it stands
    in an arrow of that colour. With ``box``, the title of a block, the first term is collapsed to
    it. The notes are callouts of the last term; on a phone they are sentences above.
    """
    notes = dict(notes) if scene.notes else {}
    bands, room = scene.entry.bands, float(scene.wide or WIDTH)
    above = "".join(f"<p>{spelled(note)}</p>" for note in notes.values() if scene.narrow)

    def make() -> str:
        look: dict[str, Any] = {"bands": bands, "cells": cells, "dark": scene.dark, "width": room}
        shut: list[Folded] = [(box,) if box else "auto", *["auto"] * len(terms[1:])]
        pairs = zip(terms, shut, strict=True)
        parts = [draw(term, scene.labels, folded=own, **look) for term, own in pairs]
        whole = equated(parts, sign, room, paint)
        if not above:
            whole = noted(whole, elaborate(terms[-1]), notes)
        return above + FOREIGN.sub("", f'<div class="drawing">{whole.svg(fonts=False)}</div>')

    key = (*terms[:-1], sign, *notes.items(), box, cells, paint, scene.labels, scene.dark, room)
    return remember("beside", terms[-1], *key, make=make)
