"""Finds the trained weights for a page: from the visitor's training, or from a shipped file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from ncd.app.parts import html_panel
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.controls import Choice
from ncd.app.state.session import session
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.jobs.job_pool import QUIET, Ticket
from ncd.jobs.training_runs import TrainingRun
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.tasks import TASKS
from ncd.systems.training.trained_weights import TrainedWeights, proofreading, shipped_weights

TRAINING_KEY = "training"
STEPS = Choice("steps", ("100", "300", "1000", "3000"), "300")
TRAINED_KEY = "trained"  # the session key, also in the link, that a run of so many steps was begun
POLL_SECONDS = 0.4  # seconds between two checks of a run
ENDS = {1: "st", 2: "nd", 3: "rd"}


@dataclass
class Training:
    """The session's training of one system at some settings; weights from a file fit any seed.

    ``second_run`` is a second run to compare with the first, from which the learned weights are
    taken. ``has_ended`` and ``learned_weights`` change only at the start of a run of the page, so
    that the whole page shows the same state.
    """

    page: str
    settings: Mapping[str, int]
    seed: int | None
    run: TrainingRun | None = None
    learned_weights: TrainedWeights | None = None
    has_ended: bool = False
    second_run: TrainingRun | None = None

    @property
    def runs(self) -> tuple[TrainingRun, ...]:
        """Returns its runs: none, one, or two that are compared."""
        return tuple(run for run in (self.run, self.second_run) if run is not None)

    def matches(self, entry: Entry, settings: Mapping[str, int], seed: int) -> bool:
        """Returns whether the training belongs to this system at these settings."""
        here = self.page == entry.name and dict(self.settings) == dict(settings)
        return here and self.seed in (None, seed)

    @property
    def is_running(self) -> bool:
        """Whether the run was still going on when the page last looked."""
        return self.run is not None and not self.has_ended

    def poll(self) -> None:
        """Takes over the weights of a run that has ended."""
        if self.run is None or self.has_ended:
            return
        for run in self.runs:
            run.poll()
        self.has_ended = all(run.ended for run in self.runs)
        if self.has_ended and self.run.weights:
            steps = self.run.progress[-1].step
            self.learned_weights = TrainedWeights(self.run.weights, f"trained for {steps:,} steps")


def training(entry: Entry, settings: Mapping[str, int], seed: int) -> Training | None:
    """Returns the session's training of this system at these settings, if there is one."""
    found: Training | None = session().get(TRAINING_KEY)
    return found if found is not None and found.matches(entry, settings, seed) else None


def join_linked_training(entry: Entry, settings: Mapping[str, int], seed: int, device: str) -> None:
    """Finds the training run that the link names, and keeps the link right.

    The pool has the run while it goes on and keeps its result for a while, so that a page that is
    loaded again takes part in it; else it begins again.
    """
    found: Training | None = session().get(TRAINING_KEY)
    elsewhere = found is None or found.page != entry.name
    if session().get(TRAINED_KEY) and elsewhere and entry.name in TASKS:
        run = TrainingRun(entry.name, settings, seed, int(STEPS.value), device)
        replace_training(Training(entry.name, settings, seed, run))
    now = training(entry, settings, seed)
    fits = now is not None and now.run is not None and not (now.run.stopping or now.run.failure)
    session()[TRAINED_KEY] = "1" if fits else ""


def weights_for(
    entry: Entry, settings: Mapping[str, int], seed: int, feed: InputSpec
) -> TrainedWeights | None:
    """Returns the trained weights for these settings, if any; called at the start of a run.

    Weights that the session has trained come before shipped ones, which serve every seed.
    """
    if feed.trained:
        return proofreading(settings["h"], seed)
    found = training(entry, settings, seed)
    if found is not None:
        found.poll()
    return (
        found.learned_weights
        if found is not None and found.learned_weights
        else shipped_or_served(entry, settings)
    )


SERVED_WEIGHTS: dict[
    str, TrainedWeights
] = {}  # the weights of modules that the server was started with, by page


def shipped_or_served(entry: Entry, settings: Mapping[str, int]) -> TrainedWeights | None:
    """Returns the weights shipped for these settings, or a served module's own, if any."""
    if entry.name in SERVED_WEIGHTS:
        key = ("own weights", entry.key, tuple(settings.items()))
        return (
            SERVED_WEIGHTS[entry.name]
            if get_or_make(CACHE, key, lambda: _fits(entry, settings))
            else None
        )
    return shipped_weights(entry, settings)


def _fits(entry: Entry, settings: Mapping[str, int]) -> bool:
    """Returns whether all weights have the shapes that they have at the defaults."""
    try:
        return _weight_shapes(entry.build(**settings)) == _weight_shapes(entry.build())
    except NCDError:
        return False


def _weight_shapes(term: Term) -> list[tuple[int, ...]]:
    cells = elaborate(term).cells
    return [own.array.shape for cell in cells for own in cell.initial_values.values()]


def waiting_message(run: Ticket, progress: Sequence[object]) -> str:
    """Returns a message about a run that failed, waits or has not begun; empty for others."""
    if run.failure:
        quiet = run.failure in QUIET
        return "Stopped before its first step." if quiet else f"It has failed: {run.failure}"
    if progress:
        return ""
    again = "Its worker was lost, so it begins again. " if run.again else ""
    if place := run.queue_position:
        return f"{again}Waiting for a worker: {nth(place)} in the queue."
    return again or "Getting ready …"


def nth(place: int) -> str:
    """Returns an ordinal number.

    >>> nth(1), nth(2), nth(3), nth(4), nth(11), nth(22)
    ('1st', '2nd', '3rd', '4th', '11th', '22nd')
    """
    teens = place % 100 in (11, 12, 13)
    return f"{place}{'th' if teens else ENDS.get(place % 10, 'th')}"


def replace_training(training: Training | None) -> None:
    """Replaces the session's training; None removes it."""
    stop_training()
    session()[TRAINING_KEY] = training
    if training is None:
        session()[TRAINED_KEY] = ""  # the link would begin it again


def stop_training() -> None:
    """Stops the session's training run; called when the visitor leaves its page."""
    found: Training | None = session().get(TRAINING_KEY)
    for run in found.runs if found is not None else ():
        run.leave()


def download(entry: Entry, found: TrainedWeights | None) -> None:
    """Shows a button that downloads the weights, if there are any."""
    if found is not None:
        path, kind = f"{entry.name}.safetensors", "application/octet-stream"
        html_panel.button(
            "Download the weights", lambda: found.weights, path, kind, key="download weights"
        )


@st.fragment(run_every=POLL_SECONDS)
def _watch(found: Training) -> None:
    found.poll()
    if found.has_ended:
        st.rerun()


def rerun_when_trained(entry: Entry) -> None:
    """Reruns the page when its training has ended, whatever panel is open."""
    found: Training | None = session().get(TRAINING_KEY)
    if found is not None and found.page == entry.name and found.is_running:
        _watch(found)
