"""Symbol sequences that visitors type, or examples of the task from the seed."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from ncd.inputs.symbol_input import SymbolInput, parse
from ncd.train.symbol_sequences import SEQUENCES

SEQUENCE, TURN = "sequence", "example"  # session keys: the typed text, the number of the example
MOST = 256  # symbols of a sequence


def read(name: str, settings: Mapping[str, int], seed: int) -> SymbolInput | None:
    """Returns the input of a system that reads symbols, or None if it does not or is too long."""
    if name not in SEQUENCES or max(settings["t"], settings["v"]) > MOST:
        return None
    text = str(st.session_state.get(SEQUENCE) or "")
    turn = str(st.session_state.get(TURN) or "")
    return parse(name, settings["t"], settings["v"], seed, turn, text)
