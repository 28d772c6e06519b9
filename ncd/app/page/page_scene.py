"""The scene of a page from the state of its session."""

from __future__ import annotations

from dataclasses import replace

from ncd.app.figure import diagram
from ncd.app.parts import heatmap
from ncd.app.parts import input_feed as inputs
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene, build_term
from ncd.app.scene.session_weights import join_linked_training, weights_for
from ncd.app.state import knobs, selection
from ncd.app.state.knobs import formats
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec


def page_scene(entry: Entry, dark: bool) -> Scene | Refusal:
    """Returns the scene of an entry at the session's settings, without what a quiz hides.

    The colours of maps follow ``dark`` from then on.
    """
    sketch, _ = build_term(entry, entry.settings({}))
    feed = inputs.feed(entry, sketch) if sketch else InputSpec()
    settings = knobs.current(entry) | feed.lengths
    term, refused = build_term(entry, settings)
    if term is None:
        assert refused is not None
        return refused
    feed = feed.fitting(term)
    heatmap.DARK.set(dark)
    source = entry, settings, knobs.seed(), knobs.device(), feed
    found = Scene(
        *source,
        dark=dark,
        selected_id="",
        term=term,
        show_callouts=diagram.callouts_on(),
        column_width=selection.width(),
        build_refusal=refused,
        formats=formats(entry),
        **diagram.wire_options(diagram.current_on_wires()),
    )
    if found.can_run:
        join_linked_training(entry, settings, found.seed, found.device)
    return replace(
        found,
        selected_id=selection.selected_id(found.circuit),
        loaded_weights=weights_for(entry, settings, found.seed, feed),
    )
