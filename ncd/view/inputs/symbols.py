"""Symbol sequences that visitors type, or examples of the task from the seed."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.inputs.symbol_input import SymbolInput, parse
from ncd.train.symbol_sequences import SEQUENCES
from ncd.view.base.controls import Place, Text

MOST = 256  # symbols of a sequence
SEQUENCE, TURN = Text("sequence", longest=2 * MOST), Place("example", None)  # the example's number


def read(name: str, settings: Mapping[str, int], seed: int) -> SymbolInput | None:
    """Returns the input of a system that reads symbols, or None if it does not or is too long."""
    if name not in SEQUENCES or max(settings["t"], settings["v"]) > MOST:
        return None
    return parse(name, settings["t"], settings["v"], seed, TURN.value, SEQUENCE.value)
