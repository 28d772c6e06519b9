"""Holds the training runs of a visitor's system, and finds the weights for a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import streamlit as st

from ncd.jobs.job_pool import QUIET, Ticket
from ncd.jobs.training_runs import Run
from ncd.lang.once import once
from ncd.models import Entry
from ncd.train import attention_weights, noted, proofreader_weights, shipped
from ncd.view.inputs.feed import Feed
from ncd.view.runtime import downloads

STATE = "training"
EVERY = 0.4  # seconds between looks at a run
ENDS = {1: "st", 2: "nd", 3: "rd"}


@dataclass(frozen=True)
class Learned:
    """Weights in the place of those drawn from the seed; ``said`` is how they came about.

    ``ships`` for those that go with the package.
    """

    weights: bytes = field(repr=False)
    said: str
    ships: bool = False

    @once
    def key(self) -> str:
        """The same for the same weights."""
        return sha256(self.weights).hexdigest()


@dataclass
class Training:
    """The session's training of one system at its settings; weights of a file fit any seed.

    ``beside`` is a second run, to be compared with the first; what is learned is the first's.
    ``ended`` and ``learned`` change only where a run of the page begins, so that all of it is of
    one mind, whatever comes meanwhile.
    """

    page: str
    settings: Mapping[str, int]
    seed: int | None
    run: Run | None = None
    learned: Learned | None = None
    ended: bool = False
    beside: Run | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """Returns its runs: none, one, or two that are compared."""
        return tuple(run for run in (self.run, self.beside) if run is not None)

    def of(self, entry: Entry, settings: Mapping[str, int], seed: int) -> bool:
        """Whether it is of this system, at these settings."""
        here = self.page == entry.name and dict(self.settings) == dict(settings)
        return here and self.seed in (None, seed)

    @property
    def going(self) -> bool:
        """Whether its run goes on, as far as the page knows."""
        return self.run is not None and not self.ended

    def look(self) -> None:
        """Takes in what the run has left, if it has ended."""
        if self.run is None or self.ended:
            return
        for run in self.runs:
            run.look()
        self.ended = all(run.over for run in self.runs)
        if self.ended and self.run.weights:
            steps = self.run.progress[-1].step
            self.learned = Learned(self.run.weights, f"trained for {steps:,} steps")


def training(entry: Entry, settings: Mapping[str, int], seed: int) -> Training | None:
    """The session's training of this system at these settings, if there is one."""
    found: Training | None = st.session_state.get(STATE)
    return found if found is not None and found.of(entry, settings, seed) else None


def learned(entry: Entry, settings: Mapping[str, int], seed: int, feed: Feed) -> Learned | None:
    """Returns what the system has learned at these settings, if it has; asked for as a run begins.

    What the session has trained comes before what is shipped, which is of any seed.
    """
    if feed.trained:
        return proofreading(settings["h"], seed)
    found = training(entry, settings, seed)
    if found is not None:
        found.look()
    return found.learned if found is not None and found.learned else ready(entry, settings)


def proofreading(h: int, seed: int) -> Learned:
    """Returns the proofreader's heads, as weights of multi-head attention with h heads."""
    data, own = attention_weights(h, seed), proofreader_weights.OWN["h"]
    more = f", but for its heads from {own} on, drawn from seed {seed}" if h > own else ""
    return Learned(data, f"{_trained(data)} to correct sentences{more}", True)


def ready(entry: Entry, settings: Mapping[str, int]) -> Learned | None:
    """The weights that are shipped for these settings, if there are any."""
    data = shipped(entry, settings)
    if data is None:
        return None
    return Learned(data, _trained(data), True)


def _trained(data: bytes) -> str:
    """Returns how shipped weights were trained."""
    note = noted(data)
    return f"trained for {int(note['steps']):,} steps from seed {note['seed']}"


def without(run: Ticket, progress: Sequence[object]) -> str:
    """Returns a message about a run that failed, waits or has not begun; empty for others."""
    if run.failure:
        quiet = run.failure in QUIET
        return "Stopped before its first step." if quiet else f"It has failed: {run.failure}"
    if progress:
        return ""
    again = "Its worker was lost, so it begins again. " if run.again else ""
    if place := run.place:
        return f"{again}Waiting for a worker: {nth(place)} in the queue."
    return again or "Getting ready …"


def nth(place: int) -> str:
    """A place in a queue.

    >>> nth(1), nth(2), nth(3), nth(4), nth(11), nth(22)
    ('1st', '2nd', '3rd', '4th', '11th', '22nd')
    """
    teens = place % 100 in (11, 12, 13)
    return f"{place}{'th' if teens else ENDS.get(place % 10, 'th')}"


def begin(training: Training | None) -> None:
    """Puts another training, or none, in the place of the session's."""
    leave()
    st.session_state[STATE] = training


def leave() -> None:
    """Ends the session's run, if one goes on; for whoever leaves its page."""
    found: Training | None = st.session_state.get(STATE)
    for run in found.runs if found is not None else ():
        run.leave()


def download(entry: Entry, found: Learned | None) -> None:
    """A button that takes the weights along, if there are any."""
    if found is not None:
        path, kind = f"{entry.name}.safetensors", "application/octet-stream"
        downloads.button(
            "Download the weights", lambda: found.weights, path, kind, key="download weights"
        )


@st.fragment(run_every=EVERY)
def _watch(found: Training) -> None:
    found.look()
    if found.ended:
        st.rerun()


def watch(entry: Entry) -> None:
    """Shows the page anew once its run has ended, whatever panel is open."""
    found: Training | None = st.session_state.get(STATE)
    if found is not None and found.page == entry.name and found.going:
        _watch(found)
