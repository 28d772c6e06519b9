"""The attention of the shipped proofreader, for pages that show it on a visitor's sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import torch
from safetensors.torch import load
from torch import Tensor

from ncd.lang.errors import LimitError
from ncd.models import CATALOGUE
from ncd.run import compile
from ncd.run.base.seeding import generator
from ncd.train.head_analysis import attention_shares
from ncd.train.sentence_grammar import RELATIONS, sentences
from ncd.train.sentence_patterns import NUMBER
from ncd.train.tasks import task
from ncd.train.weight_files import noted, read_weights, shipped, written

OWN = {knob.name: knob.default for knob in CATALOGUE["proofreader"].knobs}
LONGEST = OWN["t"]  # words that it reads
TRIED, CLEAR = 64, 0.5  # sequences that are read; the share of weight that names a head


def fits(settings: Mapping[str, int]) -> bool:
    """Returns whether multi-head attention at these settings can have the proofreader's weights.

    >>> fits({"h": 2, "k": 16, "m": 128, "y": 20, "x": 22})
    True
    >>> fits({"h": 2, "k": 16, "m": 128, "y": 20, "x": 25})
    False
    """
    same = all(settings[name] == OWN[name] for name in "km")
    return same and max(settings["y"], settings["x"]) <= LONGEST


def word_vectors(words: Sequence[str]) -> Tensor:
    """Returns a row of features for each word at its position; unknown words get the mean vector.

    >>> word_vectors(["the", "cat"]).shape
    torch.Size([2, 128])
    """
    table, places = _numbers()["E"], _numbers()["P"]
    rows = [table[NUMBER[word]] if word in NUMBER else table.mean(0) for word in words]
    return torch.stack(rows) + places[: len(words)]


@lru_cache(64)
def attention_weights(h: int, seed: int) -> bytes:
    """Returns a weights file for multi-head attention with h heads, the first from the proofreader.

    Heads beyond the proofreader's are drawn from the seed.
    """
    module = compile(CATALOGUE["multi-head-attention"].build(h=h, y=1, x=1), seed)
    k, m, heads = OWN["k"], OWN["m"], min(h, OWN["h"])
    with torch.no_grad():
        for name in "QKV":
            drawn = module.get_parameter(f"{name}.weight").view(k, h, m)
            drawn[:, :heads] = _numbers()[f"{name}.weight"].view(k, OWN["h"], m)[:, :heads]
        drawn = module.get_parameter("O.weight").view(m, k, h)
        drawn[..., :heads] = _numbers()["O.weight"].view(m, k, OWN["h"])[..., :heads]
    return written(module, noted(_file()))


@lru_cache
def roles() -> tuple[str, ...]:
    """Returns what each head of the proofreader looks for: kinds of cells with half of its weight.

    There are none where the limits allow no run of it.

    >>> len(roles())
    4
    """
    entry = CATALOGUE["proofreader"]
    try:
        module = read_weights(compile(entry.build()), _file())
    except LimitError:
        return ()
    tokens = sentences(TRIED, LONGEST, OWN["v"], generator(0, "roles"))
    looks, _ = attention_shares(module, task(entry.name), tokens)
    return tuple(
        ", ".join(name for name in RELATIONS if found[name] > CLEAR) or "nothing in particular"
        for found in looks.values()
    )


def _file() -> bytes:
    """Returns the shipped weights."""
    found = shipped(CATALOGUE["proofreader"], OWN)
    assert found is not None, "assets/weights/proofreader.safetensors is missing"
    return found


@lru_cache
def _numbers() -> Mapping[str, Tensor]:
    """Returns the shipped weights by name."""
    return load(_file())
