"""The number formats of a page, in its link as ``formats=weights=int8,cache=float8``."""

from __future__ import annotations

import streamlit as st

from ncd.app.state import knobs
from ncd.errors import NCDError
from ncd.language.number_formats import BITS, KINDS, PLAIN_FORMATS, Formats, read_formats
from ncd.systems.catalogue_entry import Entry

FORMATS = "formats"
LONGEST = 60  # letters in a link
HELP = (
    "Numbers are rounded to the format and calculated with in float32; inputs have the format of "
    "activations. Bytes are those of the format; the Cost panel says how far the outputs are from "
    "those of float32."
)


def formats(entry: Entry) -> Formats:
    """Returns the session's formats, for a system; what cannot be read becomes float32."""
    said = str(st.session_state.get(FORMATS, ""))
    found, note = read(entry, said)
    knobs.set_notice(FORMATS, note)
    if found.spec != said:
        st.session_state[FORMATS] = found.spec
    return found


def read(entry: Entry, said: str) -> tuple[Formats, str]:
    """Returns the formats of a text, and a note if it cannot be read.

    >>> import ncd
    >>> entry = ncd.catalogue["multi-head-attention"]
    >>> read(entry, "cache=int8")[0].cached, read(entry, "weights=int3")[1]
    (('K', 'V'), "weights: there is no format 'int3'. Try int8.")
    """
    try:
        return read_formats(said[:LONGEST], entry.cached), ""
    except NCDError as error:
        return Formats(cached=entry.cached), str(error)


def render(entry: Entry) -> None:
    """Shows a choice for each kind of numbers."""
    now = formats(entry)
    title = f"Number formats: {now.spec.replace(',', ', ').replace('=', ' ') or PLAIN_FORMATS}"
    with st.expander(title, expanded=False):
        for kind in KINDS if entry.cached else KINDS[:2]:
            key = _key(kind)
            if st.session_state.get(key) != getattr(now, kind):
                st.session_state[key] = getattr(now, kind)
            st.selectbox(kind.capitalize(), list(BITS), key=key, help=HELP, on_change=_choose)
    if text := knobs.notice_markdown(FORMATS):
        st.caption(f":orange-background[{text}]")


def widget_values(entry: Entry) -> dict[str, str]:
    """Returns what the choices have to show, by their keys."""
    now = formats(entry)
    return {_key(kind): getattr(now, kind) for kind in KINDS}


def _key(kind: str) -> str:
    return f"format of {kind}"


def _choose() -> None:
    """Takes over the choices; a callback."""
    weights, arrays, cache = (
        str(st.session_state.get(_key(kind), PLAIN_FORMATS)) for kind in KINDS
    )
    knobs.clear_notice(FORMATS)
    st.session_state[FORMATS] = Formats(weights, arrays, cache).spec
