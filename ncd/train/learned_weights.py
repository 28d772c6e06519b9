"""Trained weights with a phrase about their training, as a page opens with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from ncd.lang.once import once
from ncd.models import Entry
from ncd.train import proofreader_weights
from ncd.train.proofreader_weights import attention_weights
from ncd.train.weight_files import noted, shipped


@dataclass(frozen=True)
class Learned:
    """Trained weights that replace those drawn from the seed; ``said`` describes their training.

    ``ships`` is true for weights that are part of the package.
    """

    weights: bytes = field(repr=False)
    said: str
    ships: bool = False

    @once
    def key(self) -> str:
        """A hash of the weights."""
        return sha256(self.weights).hexdigest()


def shipped_weights(entry: Entry, settings: Mapping[str, int]) -> Learned | None:
    """Returns the weights shipped for a system at these settings, if there are any.

    >>> import ncd
    >>> shipped_weights(entry := ncd.catalogue["reversal"], entry.settings({})).said
    'trained for 300 steps from seed 0'
    """
    data = shipped(entry, settings)
    return Learned(data, _trained(data), True) if data is not None else None


def proofreading(h: int, seed: int) -> Learned:
    """Returns the proofreader's heads, as weights of multi-head attention with h heads."""
    data, own = attention_weights(h, seed), proofreader_weights.OWN["h"]
    more = f"; head {own} and later ones are random, from seed {seed}" if h > own else ""
    return Learned(data, f"{_trained(data)} to correct sentences{more}", True)


def _trained(data: bytes) -> str:
    """Returns a phrase about the training of shipped weights."""
    note = noted(data)
    return f"trained for {int(note['steps']):,} steps from seed {note['seed']}"
