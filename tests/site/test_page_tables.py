"""The key of a page: its signs, the familiar ones last."""

from __future__ import annotations

import ncd
from ncd.drawing.legend.legend import legend_entries
from ncd.drawing.pipeline import draw
from ncd.site.page_tables import FAMILIAR_SIGNS, key_drawer


def test_the_familiar_signs_of_a_key_come_last() -> None:
    drawing = draw(ncd.catalogue["multi-head-attention"].build())
    signs = [entry.sign for entry in legend_entries(drawing)]
    late = [sign for sign in signs if sign in FAMILIAR_SIGNS]
    early = [sign for sign in signs if sign not in FAMILIAR_SIGNS]
    assert late and early and signs != [*early, *late]
    found = key_drawer(drawing)
    assert list(found.drawings) == [sign.picture(False) for sign in (*early, *late)]
    assert f"Key to the {len(signs)} signs in this diagram" in found.html
    assert "All signs" not in found.html
    assert '<a href="../legend/">All signs' in key_drawer(drawing, "../legend/").html
