"""What cannot be built or run: where it fails, why, and the nearest settings that work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import streamlit as st

from ncd.lang.axes import Axis
from ncd.lang.elaborate import elaborate
from ncd.lang.errors import LimitError, NCDError
from ncd.lang.op import Op
from ncd.lang.rewrite import rewrite
from ncd.lang.terms import Term
from ncd.models import Entry, Knob
from ncd.run import check
from ncd.run.guard import nearest_fit
from ncd.view.knobs import put

REACH = 32  # how far to look, in steps of a knob, for a size that fits
WAYS = 3


@dataclass(frozen=True)
class Refusal:
    """An error, the op at which it came, and up to three knobs with a value that would work."""

    error: NCDError
    node: str | None
    ways: tuple[tuple[str, int], ...]


def refuse(
    error: NCDError, entry: Entry, settings: Mapping[str, int], drawn: Term | None
) -> Refusal:
    """The refusal for an error, with what would work at these settings."""
    ways: dict[str, int] = {}
    for knob in _most_likely_first(entry, error):
        at, fits = settings[knob.name], partial(works, entry, settings, knob)
        if isinstance(error, LimitError):  # cost grows with every size
            value = nearest_fit(fits, at, knob.min, knob.step)
        else:
            value = _around(knob, at, fits)
        if value is not None:
            ways[knob.name] = value
        if len(ways) == WAYS:
            break
    return Refusal(error, failing(error, drawn), tuple(ways.items()))


def works(entry: Entry, settings: Mapping[str, int], knob: Knob, value: int) -> bool:
    """Whether the system can be built and run with this knob at another value."""
    try:
        check(elaborate(entry.build(**{**settings, knob.name: value})), watched=True)
    except NCDError:
        return False
    return True


def failing(error: NCDError, drawn: Term | None) -> str | None:
    """The id of the op at which an error came, in the circuit that is drawn."""
    if drawn is None or not isinstance(error.op, Op):
        return None
    wanted = (error.op, bare(error.op))
    for cell in elaborate(drawn).cells:
        if cell.op in wanted or bare(cell.op) == wanted[1]:
            return cell.id
    return None


def bare(term: Term) -> Term:
    """The term without its sizes, by which an op of a sketch is known again."""

    def unsized(axis: Axis) -> Axis:
        return replace(axis, size=None, sequence=False)

    bare: Term = rewrite(term, unsized)
    return bare


def show(refusal: Refusal) -> None:
    """The reason in plain words, and buttons that set a knob to what works."""
    with st.container(border=True, key="refusal"):
        st.markdown("**This does not fit yet.**")
        st.text(str(refusal.error))
        if refusal.ways:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.text("What would work:", width="content")
                for name, value in refusal.ways:
                    st.button(
                        f"{name} = {value:,}",
                        key=f"fit {name}",
                        on_click=put,
                        args=({name: value},),
                    )


def _most_likely_first(entry: Entry, error: NCDError) -> list[Knob]:
    knobs = [knob for knob in entry.knobs if not knob.switch]
    return sorted(knobs, key=lambda knob: knob.name != error.axis)


def _around(knob: Knob, at: int, fits: Callable[[int], bool]) -> int | None:
    """The nearest value that fits, on either side."""
    for distance in range(1, REACH + 1):
        for value in (at - distance * knob.step, at + distance * knob.step):
            if knob.min <= value <= knob.max and fits(value):
                return value
    return None
