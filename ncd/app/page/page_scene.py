"""The scene of a page from the state of its session."""

from __future__ import annotations

from dataclasses import replace

from ncd.app.figure import diagram
from ncd.app.parts import heatmap
from ncd.app.parts import input_feed as inputs
from ncd.app.scene.carried_weights import weights_after
from ncd.app.scene.own_entry import CUSTOM_PAGE
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene, build_term
from ncd.app.scene.session_edits import session_edits, session_text
from ncd.app.scene.session_weights import join_linked_training, weights_for
from ncd.app.state import knobs, selection
from ncd.app.state.knobs import formats
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights


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
        loaded_weights=_loaded_weights(found),
    )


def _loaded_weights(scene: Scene) -> TrainedWeights | None:
    """Returns the trained weights of a scene; those of a text are carried over its edits."""
    if scene.entry.name != CUSTOM_PAGE:
        return weights_for(scene.entry, scene.settings, scene.seed, scene.inputs_spec)
    if not scene.can_run:
        return None
    return weights_after(session_text(), session_edits(), scene.term, scene.seed)
