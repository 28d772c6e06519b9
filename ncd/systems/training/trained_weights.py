"""Weights as files, and those that pages open with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Size, Tensor, nn

from ncd.errors import LimitError, MismatchError, ParseError, printable_line, short_repr
from ncd.installation import package_path
from ncd.language.cached_property import lazy_property
from ncd.run.guard import compile
from ncd.run.seeding import generator
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.images.convolution_layers import FILTERS, LEARNED, RANDOM, STAMPS
from ncd.systems.images.image_filters import (
    filter_weights,
    learned_weights,
    stamp_weights,
    written_names,
)
from ncd.systems.training.head_analysis import attention_shares
from ncd.systems.training.sequence_data import NUMBER, RELATIONS, sentences
from ncd.systems.training.tasks import TASKS, task
from ncd.words import list_words

# --- Weights as safetensors files, to be saved and loaded again

MAX_FILE_BYTES = 200_000_000  # bytes
LENGTH = 8  # bytes of the header's length at the start of a file
NOTE = "__metadata__"
M = TypeVar("M", bound=nn.Module)


def write_weights(module: nn.Module, note: Mapping[str, str]) -> bytes:
    """Returns the module's numbers as a ``.safetensors`` file with a ``note``.

    Equal numbers and notes give equal bytes.
    """
    return weights_file(module.state_dict(), note)


def weights_file(numbers: Mapping[str, Tensor], note: Mapping[str, str]) -> bytes:
    """Returns numbers by their names as a ``.safetensors`` file with a ``note``."""
    tensors = {name: x.detach().cpu().contiguous() for name, x in numbers.items()}
    head, data = _parts(save(tensors))
    text = json.dumps({NOTE: dict(note), **head}, separators=(",", ":")).encode()
    text += b" " * (-len(text) % LENGTH)  # the numbers begin at a multiple of 8
    return len(text).to_bytes(LENGTH, "little") + text + data


def _parts(data: bytes) -> tuple[Any, bytes]:
    """Returns the header of a file, and its numbers."""
    end = LENGTH + int.from_bytes(data[:LENGTH], "little")
    if end > len(data):
        raise ValueError("it ends before its header does")
    return json.loads(data[LENGTH:end]), data[end:]


def read_note(data: bytes) -> Mapping[str, str]:
    """Returns the note of a file, empty if it has none.

    >>> read_note(write_weights(nn.Linear(2, 3), {"seed": "0"}))
    {'seed': '0'}

    Raises ParseError for what is no such file.
    """
    try:
        head, _ = _parts(data)
    except (ValueError, RecursionError, OverflowError) as error:
        raise _no_file(error) from None
    note = head.get(NOTE, {}) if isinstance(head, dict) else None
    if not isinstance(note, dict) or not all(isinstance(x, str) for x in note.values()):
        raise _no_file("its header has no texts as its note")
    return note


def _no_file(error: object) -> ParseError:
    reason = printable_line(str(error).partition("\n")[0], 100)
    return ParseError(f"this is no safetensors file: {reason}", cure="a file kept here")


def shipped_file(entry: Entry, settings: Mapping[str, int]) -> bytes | None:
    """Returns the file in ``assets/weights`` for a system at these settings, or None.

    Its name is the system's, with the knobs that differ from their defaults: ``induction-n1``.
    How many examples a run takes together changes no weight, nor does the length of a text. The
    filters of a convolution are written for any settings.

    >>> import ncd
    >>> entry = ncd.catalogue["reversal"]
    >>> read_note(shipped_file(entry, entry.settings({})))["seed"]
    '0'
    >>> print(shipped_file(entry, entry.settings({"t": 7})))
    None
    """
    own = {knob.name: knob.default for knob in entry.knobs}
    if entry.name in FILTER_WRITERS:
        write, names = FILTER_WRITERS[entry.name]
        return write(**{name: settings.get(name, own[name]) for name in names})
    if entry.name in TASKS:
        for name in TASKS[entry.name].weightless_knobs:
            own.pop(name)
    turned = (f"{name}{n}" for name, n in settings.items() if n != own.get(name, n))
    return _read(
        package_path("assets", "weights", f"{'-'.join((entry.name, *turned))}.safetensors")
    )


@lru_cache
def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def read_weights(module: M, data: bytes, *, finite: bool = True) -> M:
    """Puts the numbers of :func:`write_weights` into a module of the same shapes, and returns it.

    Args:
        module: The module; an error leaves it as it was.
        data: The bytes of a ``.safetensors`` file.
        finite: Whether numbers that are infinite or not a number are refused; a training of one's
            own may have come to such.

    Raises:
        ParseError: For what is no such file, or holds no real numbers where the module has some.
        MismatchError: For the weights of another module.

    >>> one, two = nn.Linear(2, 3), nn.Linear(2, 3)
    >>> two = read_weights(two, write_weights(one, {}))
    >>> bool((one.weight == two.weight).all())
    True
    """
    if len(data) > MAX_FILE_BYTES:
        raise ParseError(f"{len(data):,} bytes are too many", cure=f"at most {MAX_FILE_BYTES:,}")
    try:
        found = load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise _no_file(error) from None
    own = module.state_dict()
    _match({name: x.shape for name, x in own.items()}, found)
    for name, x in found.items():
        _check_numbers(name, own[name], x, finite)
    module.load_state_dict(found)
    return module


def _check_numbers(name: str, own: Tensor, found: Tensor, finite: bool) -> None:
    """Raises ParseError for numbers of another kind, or that are not finite in the module."""
    kind = str(found.dtype).removeprefix("torch.")
    if found.dtype != own.dtype and not (own.is_floating_point() and found.is_floating_point()):
        raise ParseError(
            f"{short_repr(name)} holds numbers of type {kind}",
            cure=f"numbers of type {str(own.dtype).removeprefix('torch.')}",
        )
    if finite and not found.to(own.dtype).isfinite().all():
        fact = f"{short_repr(name)} holds numbers that are infinite or not a number"
        raise ParseError(fact, cure="weights of a training that did not diverge")


def _match(own: Mapping[str, Size], found: Mapping[str, Tensor]) -> None:
    """Raises MismatchError unless names and shapes are the same."""
    for name in sorted(own.keys() | found.keys()):
        here, there = own.get(name), found[name].shape if name in found else None
        if here != there:
            words = ("none" if shape is None else str(tuple(shape)) for shape in (here, there))
            raise MismatchError(
                "{}: the module has {}, the file {}".format(repr(name)[:60], *words),
                cure="weights that were trained at these knobs",
            )


# --- The filters that the pages of convolutions begin with

ORIGIN = "origin"  # the phrase in the note of a file that no training made


@lru_cache(64)
def filters(k: int, c: int, f: int, g: int, n: int, filter: int) -> bytes | None:
    """Returns the weights file of a convolution with chosen filters; None for random ones.

    >>> read_note(filters(k=3, c=1, f=3, g=1, n=2, filter=0))[ORIGIN]
    'written by hand (upright edges, level edges and outline)'
    >>> filters(k=3, c=1, f=4, g=1, n=2, filter=FILTERS.index(RANDOM)) is None
    True
    """
    name = FILTERS[filter]
    if name == RANDOM:
        return None
    if name == LEARNED:
        lenet = _read(package_path("assets", "weights", "lenet.safetensors"))
        assert lenet is not None, "assets/weights/lenet.safetensors is missing"
        weight = learned_weights(load(lenet)["conv1.weight"], g * f, c, k, n)
        fitted = "" if (k, n) == (5, 2) else ", fitted to this window"
        origin = f"{_training_phrase(lenet)} in LeNet’s first layer{fitted}"
    else:
        weight = filter_weights(filter, g * f, c, k, n)
        origin = f"written by hand ({list_words(written_names(filter, g * f))})"
    numbers = {"conv.weight": weight, "conv.bias": torch.zeros(g * f)}
    return weights_file(numbers, {"system": "convolution", ORIGIN: origin})


@lru_cache(64)
def stamps(k: int, s: int, c: int, f: int, n: int, filter: int) -> bytes | None:
    """Returns the weights file of a transposed convolution; None for random weights.

    >>> read_note(stamps(k=3, s=2, c=1, f=2, n=2, filter=0))[ORIGIN]
    'written by hand (box and tent)'
    """
    if filter == len(STAMPS):
        return None
    origin = f"written by hand ({list_words(written_names(filter, f, STAMPS))})"
    numbers = {"up.weight": stamp_weights(filter, f, c, k, s, n), "up.bias": torch.zeros(f)}
    return weights_file(numbers, {"system": "transposed-convolution", ORIGIN: origin})


# The systems that have them, what writes them, and the knobs that they depend on.
FILTER_WRITERS: Mapping[str, tuple[Callable[..., bytes | None], tuple[str, ...]]] = {
    "convolution": (filters, ("k", "c", "f", "g", "n", "filter")),
    "transposed-convolution": (stamps, ("k", "s", "c", "f", "n", "filter")),
}


# --- The attention of the shipped proofreader, for pages that show it on a visitor's sentence

PROOFREADER_SIZES = {knob.name: knob.default for knob in CATALOGUE["proofreader"].knobs}
LONGEST = PROOFREADER_SIZES["t"]  # words that it reads
TRIED, CLEAR = 64, 0.5  # sequences that are read; the share of weight that names a head


def fits(settings: Mapping[str, int]) -> bool:
    """Returns whether multi-head attention at these settings can have the proofreader's weights.

    >>> fits({"h": 2, "k": 16, "m": 128, "y": 20, "x": 22})
    True
    >>> fits({"h": 2, "k": 16, "m": 128, "y": 20, "x": 25})
    False
    """
    same = all(settings[name] == PROOFREADER_SIZES[name] for name in "km")
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
    k, m, heads = PROOFREADER_SIZES["k"], PROOFREADER_SIZES["m"], min(h, PROOFREADER_SIZES["h"])
    with torch.no_grad():
        for name in "QKV":
            drawn = module.get_parameter(f"{name}.weight").view(k, h, m)
            drawn[:, :heads] = _numbers()[f"{name}.weight"].view(k, PROOFREADER_SIZES["h"], m)[
                :, :heads
            ]
        drawn = module.get_parameter("O.weight").view(m, k, h)
        drawn[..., :heads] = _numbers()["O.weight"].view(m, k, PROOFREADER_SIZES["h"])[..., :heads]
    return write_weights(module, read_note(_file()))


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
    tokens = sentences(TRIED, LONGEST, PROOFREADER_SIZES["v"], generator(0, "roles"))
    looks, _ = attention_shares(module, task(entry.name), tokens)
    return tuple(
        ", ".join(name for name in RELATIONS if found[name] > CLEAR) or "nothing in particular"
        for found in looks.values()
    )


def _file() -> bytes:
    """Returns the shipped weights."""
    found = shipped_file(CATALOGUE["proofreader"], PROOFREADER_SIZES)
    assert found is not None, "assets/weights/proofreader.safetensors is missing"
    return found


@lru_cache
def _numbers() -> Mapping[str, Tensor]:
    """Returns the shipped weights by name."""
    return load(_file())


# --- Trained weights with a phrase about their training, as a page opens with them


@dataclass(frozen=True)
class TrainedWeights:
    """Trained weights that replace those drawn from the seed; ``summary`` describes their training.

    ``ships`` is true for weights that are part of the package.
    """

    weights: bytes = field(repr=False)
    summary: str
    ships: bool = False

    @lazy_property
    def key(self) -> str:
        """A hash of the weights."""
        return sha256(self.weights).hexdigest()


def shipped_weights(entry: Entry, settings: Mapping[str, int]) -> TrainedWeights | None:
    """Returns the weights shipped for a system at these settings, if there are any.

    >>> import ncd
    >>> shipped_weights(entry := ncd.catalogue["reversal"], entry.settings({})).summary
    'trained for 300 steps from seed 0'
    """
    data = shipped_file(entry, settings)
    return TrainedWeights(data, _training_phrase(data), True) if data is not None else None


# What finds the weights of a system at some settings, if there are any.
WeightSource = Callable[[Entry, Mapping[str, int]], TrainedWeights | None]


def weights_of_module(module: nn.Module, title: str) -> TrainedWeights | None:
    """Returns the weights of the user's own module, or None for more than a file may have."""
    if sum(x.nbytes for x in module.state_dict().values()) >= MAX_FILE_BYTES:
        return None
    return TrainedWeights(write_weights(module, {"system": title}), "of the module itself")


def proofreading(h: int, seed: int) -> TrainedWeights:
    """Returns the proofreader's heads, as weights of multi-head attention with h heads."""
    data, own = attention_weights(h, seed), PROOFREADER_SIZES["h"]
    more = f"; head {own} and later ones are random, from seed {seed}" if h > own else ""
    return TrainedWeights(data, f"{_training_phrase(data)} to correct sentences{more}", True)


def _training_phrase(data: bytes) -> str:
    """Returns a phrase about how shipped weights were made."""
    note = read_note(data)
    if ORIGIN in note:
        return note[ORIGIN]
    return f"trained for {int(note['steps']):,} steps from seed {note['seed']}"
