"""Every knob of a page at both ends of its slider: the page's own scene is built and drawn."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from tests.app.page.test_pages import fine


def ends(name: str) -> None:
    """A page that moves each knob to both ends, alone and with all others, and keeps refusals."""
    import streamlit as st

    import ncd
    from ncd.app.figure.diagram import diagram_message
    from ncd.app.page.page import _scene
    from ncd.app.scene import url
    from ncd.app.scene.refusal import Refusal
    from ncd.app.state import knobs
    from tests.app.scene.test_url import panels

    entry = ncd.catalogue[name]
    url.load(entry, panels()[name])
    free = [knob for knob in entry.knobs if not knob.is_fixed]
    least, most = {k.name: k.min for k in free}, {k.name: k.max for k in free}
    alone = [{knob: value} for end in (least, most) for knob, value in end.items()]
    refused, drawn, reached = {}, [], set()
    for moved in (*alone, least, most):
        knobs.set_values({**entry.settings({}), **moved})
        scene = _scene(entry)
        refusal = scene if isinstance(scene, Refusal) else scene.refusal
        if refusal:
            refused[str(moved)] = refusal.error, refusal.fixes
        reached.add(tuple(scene.settings.items()))
        if not isinstance(scene, Refusal):
            drawn.append(diagram_message(scene, refusal, "auto").svg)
    st.session_state["found"] = refused, drawn, len(reached) / len(alone)


@pytest.mark.few(20)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_at_the_ends_of_its_knobs_a_page_is_drawn_and_offers_a_cure_for_what_it_refuses(
    name: str,
) -> None:
    app = AppTest.from_function(ends, args=(name,), default_timeout=120).run()
    fine(app)
    refused, drawn, reached = app.session_state["found"]
    assert drawn and all("</svg>" in svg for svg in drawn)
    assert reached > 0.5  # the knobs do move; some are at an end at first
    for moved, (error, ways) in refused.items():
        assert error.cure and ways, (moved, str(error))
