"""One run of a page: the term at its knobs, all derived from it, and the origin of its numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from time import sleep
from typing import Any, TypeVar

import torch

import ncd
from ncd.app.runtime import scheduler
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.refusal import Refusal, refusal_of
from ncd.app.state import hide_sizes, selection
from ncd.app.state.cache import CACHE, cached_value, get_or_make, peek
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.circuit.circuit import Circuit
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.drawing.elements.primitives import Thumbnail
from ncd.errors import NCDError
from ncd.explain.thumbnails import thumbnail_frames, thumbnails
from ncd.language.arguments import Labels
from ncd.language.number_formats import Formats
from ncd.language.terms import Term
from ncd.run.device import Timer
from ncd.run.guard import check_run
from ncd.run.measurement import medians
from ncd.run.module import CircuitModule, Trace, with_rounding
from ncd.site import markup
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs import run_inputs
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights, read_weights

# --- The state of one run of a page: the term at its knobs, and everything derived from it

T = TypeVar("T")
FLOAT32 = Formats()
QUICK = 50_000_000  # FLOPs: some milliseconds
MANY_OPS = 50  # ops of a run that takes a millisecond or more whatever their sizes
BRIEF = 0.001  # seconds of a run that is repeated, as anything can interrupt it
LARGE, REST = 500_000_000, 0.2  # FLOPs of a run that waits until a slider rests; seconds
LONG_RUN_FLOPS = 2_000_000_000  # some tenths of a second
SUBSCRIPTS = 0.82  # a drawing may shrink until its names have 11 pixels; this keeps it larger
PHONE = 0.94  # the same where the room is scarce
LABELS: tuple[Labels, ...] = ("names", "sizes", "both")
VALUES = "values"  # names, and the values of the arrays as small pictures
ON_WIRES = (*LABELS, VALUES)  # what a visitor may choose to see on the wires


@dataclass(frozen=True)
class Scene:
    """A system at its settings, with the figure's callouts if ``show_callouts``.

    ``column_width`` is the width of the diagram's column in pixels; files and slides have none.
    ``build_refusal`` says why the settings could not be built, ``loaded_weights`` holds trained
    weights, if any, ``hidden_sizes`` says what a quiz hides, and ``subject_id`` is the array or op
    of a question, whose block is drawn open. With ``shows_values`` the arrays have thumbnails; in a
    preview, while a slider moves, nothing runs and they are empty.
    """

    entry: Entry
    settings: Mapping[str, int]
    seed: int
    device: str
    inputs_spec: InputSpec
    dark: bool
    labels: Labels
    selected_id: str
    term: Term
    show_callouts: bool = True
    column_width: int | None = None
    build_refusal: Refusal | None = None
    loaded_weights: TrainedWeights | None = None
    hidden_sizes: HiddenSizes | None = None
    subject_id: str = ""
    formats: Formats = FLOAT32
    shows_values: bool = False
    is_preview: bool = False

    def with_selection(self, selected: str) -> Scene:
        """Returns the scene with another selection."""
        return replace(self, selected_id=selected)

    @property
    def draw_options(self) -> dict[str, Any]:
        """The options with which :func:`ncd.draw` draws its diagram."""
        own = self.entry.look(self.settings, self.show_callouts and not self.narrow)
        usual = {**own, "labels": self.labels, "dark": self.dark, "width": self.width}
        usual |= {"formats": self.formats, "thumbnails": self.thumbnails}
        return hide_sizes.sizeless_options(usual) if self.hidden_sizes else usual

    @property
    def on_wires(self) -> str:
        """Its choice of ``ON_WIRES``."""
        return VALUES if self.shows_values else self.labels

    @property
    def thumbnails(self) -> Mapping[str, Thumbnail]:
        """Returns the values of its arrays as small pictures; none where they are not shown.

        A long run is not made for them; they come with the run that a panel starts.
        """
        if not (self.shows_values and self.can_run) or self.hidden_sizes:
            return {}
        if self.is_preview:
            return {} if self.starts_on_demand else thumbnail_frames(self.circuit)
        if self.starts_on_demand and peek("trace", self.term, *self.run_key) is None:
            return {}
        return cached_value(
            "thumbnails",
            self.term,
            *self.run_key,
            self.dark,
            make=lambda: thumbnails(self.module, self.trace, dark=self.dark),
        )

    @property
    def width(self) -> float:
        """The width for which its diagram is drawn, in pixels."""
        own, share = self.entry.width, PHONE if self.narrow else SUBSCRIPTS
        return own if self.column_width is None else min(own, share * self.column_width)

    @property
    def narrow(self) -> bool:
        """Returns whether the column is as narrow as a phone; callouts then stand below the
        diagram.
        """
        return self.column_width == selection.WIDTHS[0]

    @property
    def refusal(self) -> Refusal | None:
        """The reason why it cannot run, if it cannot."""
        own = self.entry, self.settings, self.term, self.formats, self.device
        return self.build_refusal or limit_refusal(*own)

    @property
    def can_run(self) -> bool:
        """Returns whether it can be run."""
        return self.refusal is None

    @property
    def has_all_sizes(self) -> bool:
        """Returns whether every axis has its size; shapes and source then need no run."""
        return all(a.size is not None for v in self.circuit.values.values() for a in v.array)

    @property
    def circuit(self) -> Circuit:
        return elaborate(self.term)

    @property
    def cost(self) -> Cost:
        return cost_of(self.circuit, self.formats)

    @property
    def starts_on_demand(self) -> bool:
        """Returns whether a run takes so long that it starts only when asked for."""
        return self.cost.flops > LONG_RUN_FLOPS or self.cost.parameters > LONG_RUN_FLOPS // 100

    @property
    def is_quick(self) -> bool:
        """Returns whether a forward pass takes only some milliseconds."""
        return self.cost.flops < QUICK and self.cost.parameters < QUICK // 100

    def run_in_pool(self, make: Callable[[], T]) -> T:
        """Returns ``make()``, run in a thread for torch; others get the turn if it takes long."""
        if self.is_quick:
            return run_in_thread(make)
        with scheduler.yielded_turn():
            if self.cost.flops > LARGE:
                sleep(REST)  # a slider that moves on ends this run before it costs anything
            return run_in_thread(make, long=self.starts_on_demand)

    @property
    def weights_key(self) -> tuple[Hashable, ...]:
        """Returns everything that the module depends on, apart from the term."""
        trained = self.loaded_weights.key if self.loaded_weights else ""
        return self.seed, self.device, trained, self.formats, self.entry.training

    @property
    def run_key(self) -> tuple[Hashable, ...]:
        """Returns everything that the numbers of a run depend on, apart from the term."""
        return *self.weights_key, self.inputs_spec.key

    @property
    def module(self) -> CircuitModule:
        """The compiled module, shared by all visitors with the same term and never modified."""
        return cached_value(
            "module", self.term, *self.weights_key, make=lambda: self.run_in_pool(self._compile)
        )

    @property
    def is_compiled(self) -> bool:
        """Returns whether its module exists already."""
        return peek("module", self.term, *self.weights_key) is not None

    def _compile(self) -> CircuitModule:
        if not self.loaded_weights and self.formats.is_float32 and self.device == "cpu":
            check_run(self.circuit)
            module = CircuitModule(self.circuit, self.seed, shared=True)
            return module.train(self.entry.training)
        module = ncd.compile(self.term, self.seed, self.device)
        if self.loaded_weights:
            read_weights(module, self.loaded_weights.weights, finite=False)
        return with_rounding(module, self.formats).train(self.entry.training)

    @property
    def inputs(self) -> tuple[torch.Tensor, ...]:
        """The inputs, shared like the module."""
        given = self.term, self.seed, self.device
        return cached_value(
            "inputs", *given, self.inputs_spec.key, make=lambda: self.inputs_spec.tensors(*given)
        )

    @property
    def trace(self) -> Trace:
        """The value of every array."""
        return cached_value(
            "trace", self.term, *self.run_key, make=lambda: self.run_in_pool(self._run)
        )

    def _run(self) -> Trace:
        module, inputs, timer = self.module, self.inputs, Timer(self.device)
        timer.mark()
        with torch.no_grad():
            found = ncd.trace(module, *inputs)
        timer.mark()
        if not self.is_quick or len(self.circuit.cells) > MANY_OPS:  # long enough to be timed
            (taken,) = timer.laps()
            cached_value("run seconds", self.term, self.device, make=lambda: taken)
        return found

    @property
    def seconds(self) -> float:
        """The median time of a forward pass on the device; of a long one that for the panel."""
        return cached_value("seconds", self.term, self.device, make=self._measure_seconds)

    @property
    def known_seconds(self) -> float | None:
        """The median time if it has been measured already, else None."""
        seconds: float | None = peek("seconds", self.term, self.device)
        return seconds

    def _measure_seconds(self) -> float:
        taken: float | None = peek("run seconds", self.term, self.device)
        if taken is not None:
            return taken
        with scheduler.yielded_turn(late=False):  # only a message has to be sent afterwards
            return self.run_in_pool(self._time)

    def _time(self) -> float:
        module, inputs = self.module, self.inputs
        calls = {"forward": lambda: module(*inputs)}  # usually warmed up by the trace
        with torch.no_grad():
            once = medians(calls, device=self.device, rounds=1, warm=0)["forward"]
            if once > BRIEF:
                return once
            return medians(calls, device=self.device, rounds=3, warm=0)["forward"]

    def axis_words(self, axis: str) -> tuple[str, ...]:
        """The words at the positions of an axis, if there are any."""
        return self.inputs_spec.axis_words(axis)


def build_term(entry: Entry, settings: Mapping[str, int]) -> tuple[Term | None, Refusal | None]:
    """Returns the term at these settings; or the part that can be drawn, and the refusal."""
    key = ("built", entry.key, tuple(settings.items()))
    return get_or_make(CACHE, key, lambda: _build(entry, settings))


def _build(entry: Entry, settings: Mapping[str, int]) -> tuple[Term | None, Refusal | None]:
    try:
        return entry.build(**settings), None
    except NCDError as error:
        return error.sketch, refusal_of(error, entry, settings, error.sketch)


def limit_refusal(
    entry: Entry,
    settings: Mapping[str, int],
    term: Term,
    formats: Formats = FLOAT32,
    device: str = "cpu",
) -> Refusal | None:
    """Returns the reason why a term is too large to run here, if it is."""
    limits = (os.environ.get("NCD_MAX_BYTES"), os.environ.get("NCD_MAX_FLOPS"))
    key = ("limited", entry.key, tuple(settings.items()), limits, formats, device)
    return get_or_make(CACHE, key, lambda: _limit(entry, settings, term, formats, device))


def _limit(
    entry: Entry, settings: Mapping[str, int], term: Term, formats: Formats, device: str
) -> Refusal | None:
    try:
        check_run(
            elaborate(term), watched=True, formats=formats, device=device
        )  # shows every array
    except NCDError as error:
        return refusal_of(error, entry, settings, term)
    return None


# --- Captions that say where the numbers on a page come from

UNTRAINED_REASON = (
    "They are as they were drawn, before any training: a pattern in what follows is chance, "
    "not something that was learned."
)


def numbers_origin(scene: Scene) -> str:
    """Returns as HTML where a run's numbers come from: how weights and inputs were made."""
    trained = scene.loaded_weights.summary if scene.loaded_weights else ""
    said = run_inputs.origin(scene.inputs_spec, trained, _learns(scene), scene.seed)
    words = run_inputs.UNTRAINED_TEXT
    return markup.text(said).replace(words, with_tooltip(words, UNTRAINED_REASON), 1)


def with_tooltip(words: str, why: str) -> str:
    """Returns words with a tooltip that explains them.

    >>> with_tooltip("mean", "the sum over the count")
    '<abbr title="the sum over the count">mean</abbr>'
    """
    return f'<abbr title="{markup.text(why)}">{markup.text(words)}</abbr>'


def _learns(scene: Scene) -> bool:
    return any(cell.name for cell in scene.circuit.cells)
