"""Settings that cannot be built or run: where they fail, why, and the nearest that work."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from math import isqrt
from time import thread_time

import streamlit as st

from ncd.app.runtime import scheduler
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.knobs import set_values, subscript_name
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.errors import LimitError, NCDError
from ncd.formulas.prefixed_amounts import amount
from ncd.language.axes import Axis
from ncd.language.op import Op
from ncd.language.terms import Term, rewrite_axes
from ncd.run.guard import ValuesEnd, check_calls, fits
from ncd.systems.catalogue_entry import Entry

REACH = 32  # the range of the search for a size that fits, in steps of the knob
WAYS = 3
MAX_LARGE_SIZES = 4  # sizes larger than their sliders go: with more, no single one is the fault
SEARCH_TOLERANCE = 1.03  # the greatest ratio of the largest size that fits to the one found
PATIENCE = 1.0  # seconds of CPU time for the search


@dataclass(frozen=True)
class Refusal:
    """An error at some settings, and the op that caused it."""

    error: NCDError
    op_id: str | None
    entry: Entry
    settings: Mapping[str, int]

    @property
    def is_too_large(self) -> bool:
        """Returns whether it is only too large to run; shapes, cost and source are then known."""
        return isinstance(self.error, LimitError)

    @property
    def is_drawn_only(self) -> bool:
        """Returns whether it holds a box that is drawn and never run, whatever the sizes."""
        return isinstance(self.error, ValuesEnd)

    @property
    def title(self) -> str:
        """The line above the reason."""
        if self.is_drawn_only:
            return "Values end here."
        return "Too large to run here." if self.is_too_large else "This does not fit yet."

    @property
    def reason(self) -> str:
        """The reason in a sentence or two."""
        error = self.error
        if not isinstance(error, LimitError) or not error.need:
            return str(error)
        unit, name = ("B", "NCD_MAX_BYTES") if "bytes" in error.fact else ("FLOP", "NCD_MAX_FLOPS")
        of = " of memory, forward and backward" if unit == "B" else ""
        least = "at least " if "at least" in error.fact else ""
        need = f"{least}{amount(error.need, unit)}"
        return (
            f"A run takes {need}{of}, most of it in {error.where}, and this server "
            f"allows {amount(error.limit, unit)} ({name}). Shapes, cost and source need no run."
        )

    @property
    def fixes(self) -> tuple[Mapping[str, int], ...]:
        """Up to three settings that would work; searched once, for about a second."""
        if self.is_drawn_only:
            return ()
        key = ("ways", self.entry.key, tuple(self.settings.items()), str(self.error))
        return get_or_make(CACHE, key, self._find_fixes)

    def _find_fixes(self) -> tuple[Mapping[str, int], ...]:
        with scheduler.yielded_turn():
            return tuple(islice(_ways(self), WAYS))


def refusal_of(
    error: NCDError, entry: Entry, settings: Mapping[str, int], drawn: Term | None
) -> Refusal:
    """Returns the refusal for an error, with the op that caused it."""
    return Refusal(error, failing_op_id(error, drawn), entry, settings)


def _ways(refusal: Refusal) -> Iterator[dict[str, int]]:
    """Yields settings that change one knob; if none works, settings that change several.

    No size is made smaller than the page has it at first, and of a whole published model no single
    size: 8 features make no small Llama.
    """
    entry, settings, large = refusal.entry, refusal.settings, refusal.is_too_large
    if large and entry.text and (smaller := _smaller_preset(entry, settings)):
        yield smaller
        return
    end, found = thread_time() + PATIENCE, False
    whole = large and _oversize_count(entry, settings) > MAX_LARGE_SIZES
    several = [*islice(_fitting_settings(entry, settings), 1)] if whole else []
    if several:
        yield from several
        return
    for knob in _most_likely_first(entry, refusal.error):
        if not large and knob.name != refusal.error.axis and not _matters(refusal, knob):
            continue
        at, fits = settings[knob.name], partial(_works, entry, settings, knob, end)
        if large:
            value = largest(knob, at, fits, knob.min if entry.text else knob.default)
        else:
            told = refusal.error.nearest if knob.name == refusal.error.axis else None
            value = told if told is not None and fits(told) else _nearest_fitting(knob, at, fits)
        if value is not None:
            found = True
            yield {knob.name: value}
    if not found:
        ways = chain(
            _together(entry, settings, end) if large else (), _fitting_settings(entry, settings)
        )
        yield from islice(ways, 1)


def _oversize_count(entry: Entry, settings: Mapping[str, int]) -> int:
    """Returns how many sizes are larger than their sliders go."""
    return sum(knob.is_size and settings[knob.name] > knob.max for knob in entry.knobs)


def _matters(refusal: Refusal, knob: Knob) -> bool:
    """Returns whether some value of a knob, near or far, leads to another error or to none."""
    entry, settings, fact = refusal.entry, refusal.settings, refusal.error.fact
    far = REACH * knob.step
    steps = (-knob.step, knob.step, -far, far)
    values = [value for step in steps if (value := settings[knob.name] + step) >= knob.min]
    return any(_fact(entry, {**settings, knob.name: value}) != fact for value in values)


def _fact(entry: Entry, settings: Mapping[str, int]) -> str:
    """Returns what is wrong with settings; nothing if they can be built."""
    try:
        entry.build(**settings)
    except NCDError as error:
        return error.fact
    return ""


def _smaller_preset(entry: Entry, settings: Mapping[str, int]) -> dict[str, int]:
    """Returns a smaller preset that runs, if the current settings are a preset."""
    whole = [dict(p.knobs) for p in entry.presets if len(p.knobs) == len(entry.knobs)]
    if settings not in whole:
        return {}
    return next((knobs for knobs in whole if works(entry, knobs)), {})


def _fitting_settings(entry: Entry, settings: Mapping[str, int]) -> Iterator[dict[str, int]]:
    """Yields settings with every size inside its slider, at its default, or at its minimum."""
    knobs = [knob for knob in entry.knobs if knob.is_size]
    for way in (
        {knob.name: knob.nearest(settings[knob.name]) for knob in knobs},
        {knob.name: knob.default for knob in knobs},
        {knob.name: knob.min for knob in knobs},
    ):
        if works(entry, {**settings, **way}):
            yield {name: value for name, value in way.items() if value != settings[name]}


def _together(entry: Entry, settings: Mapping[str, int], end: float) -> Iterator[dict[str, int]]:
    """Yields settings in which the two, three, … largest sizes are halved until they fit.

    More than two are tried only until ``thread_time()`` reaches ``end``.
    """
    knobs = sorted((k for k in entry.knobs if k.is_size), key=lambda k: -settings[k.name])
    for count in range(2, len(knobs) + 1):
        if count > 2 and thread_time() > end:
            return
        tries = [
            {
                knob.name: max(knob.min, knob.legal(settings[knob.name] >> halvings))
                for knob in knobs[:count]
            }
            for halvings in range(1, max(settings.values()).bit_length())
        ]
        at = bisect_left(tries, True, key=lambda ways: works(entry, {**settings, **ways}))
        if at < len(tries):
            yield {name: tries[at][name] for name in settings if name in tries[at]}
            return


def _works(entry: Entry, settings: Mapping[str, int], knob: Knob, end: float, value: int) -> bool:
    """Returns whether a value of one knob works; false without a try after time ``end``."""
    return thread_time() < end and works(entry, {**settings, knob.name: value})


def works(entry: Entry, settings: Mapping[str, int]) -> bool:
    """Returns whether the system can be built and run at these settings."""
    try:
        circuit = elaborate(entry.build(**settings))
        check_calls(circuit)
        return fits(circuit, watched=True)
    except NCDError:
        return False


def largest(knob: Knob, above: int, fits: Callable[[int], bool], least: int) -> int | None:
    """Returns about the largest size from ``least`` on that fits, or None.

    It is rounded to two digits where that fits as well: a U-Net halves its pictures.

    Assumes that every smaller size fits too, as cost grows with size.

    >>> largest(Knob("n", 1, 10, 1), 10**6, lambda n: n < 12_345, 1)
    12000
    >>> largest(Knob("n", 1, 10, 1), 10**6, lambda n: n < 12_345, 20_000) is None
    True
    """
    low, high = least, above
    if high <= low or not fits(low):
        return None
    while high - low > 1 and high > low * SEARCH_TOLERANCE:
        middle = max(low + 1, isqrt(low * high))
        low, high = (middle, high) if fits(middle) else (low, middle)
    ten = 10 ** max(0, len(str(low)) - 2)
    neat = max(low // ten * ten // knob.multiple * knob.multiple, least)
    return neat if fits(neat) else low


def failing_op_id(error: NCDError, drawn: Term | None) -> str | None:
    """Returns the id of the op that caused an error, in the circuit that is drawn."""
    if drawn is None or not isinstance(error.op, Op):
        return None
    wanted = (error.op, without_sizes(error.op))
    for cell in elaborate(drawn).cells:
        if cell.op in wanted or without_sizes(cell.op) == wanted[1]:
            return cell.id
    return None


def without_sizes(term: Term) -> Term:
    """Returns the term without sizes, to recognise an op of a sketch."""

    def unsized(axis: Axis) -> Axis:
        return replace(axis, size=None, sequence=False)

    bare: Term = rewrite_axes(term, unsized)
    return bare


def render(refusal: Refusal) -> None:
    """Shows the reason in plain words, and buttons that set knobs to values that work."""
    with st.container(border=True, key="refusal"):
        st.markdown(f"**{refusal.title}**")
        st.text(refusal.reason)
        if refusal.fixes:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text("What would work:", width="content")
                for way in refusal.fixes:
                    key = f"fit {' '.join(way)}"
                    named = (p.title for p in refusal.entry.presets if dict(p.knobs) == way)
                    st.button(
                        next(named, _button_label(way)), key=key, on_click=partial(set_values, way)
                    )


def _button_label(way: Mapping[str, int]) -> str:
    """Returns the label of a button: the sizes that it sets.

    >>> _button_label({"y": 2048, "x": 2048}), _button_label({"y": 2, "x": 3})
    ('y = x = 2,048', 'y = 2, x = 3')
    """
    if len(set(way.values())) == 1:
        return f"{' = '.join(map(subscript_name, way))} = {next(iter(way.values())):,}"
    return ", ".join(f"{subscript_name(name)} = {value:,}" for name, value in way.items())


def _most_likely_first(entry: Entry, error: NCDError) -> list[Knob]:
    knobs = [knob for knob in entry.knobs if knob.is_size]
    return sorted(knobs, key=lambda knob: knob.name != error.axis)


def _nearest_fitting(knob: Knob, at: int, fits: Callable[[int], bool]) -> int | None:
    """Returns the nearest value that fits, or the one nearest to the range of the slider."""
    for middle in dict.fromkeys((at, knob.nearest(at))):
        for distance in range(REACH + 1):
            for value in (middle - distance * knob.step, middle + distance * knob.step):
                if value >= knob.min and value != at and fits(value):
                    return value
    return None
