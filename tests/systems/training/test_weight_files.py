"""The note of a file of weights, and what is no such file."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

import ncd
from ncd.systems.training.trained_weights import (
    FILTER_WRITERS,
    read_note,
    read_weights,
    write_weights,
)
from tests.support.sampling import count

WHOLE = write_weights(nn.Linear(2, 3), {"seed": "0"})


def headed(header: bytes) -> bytes:
    return len(header).to_bytes(8, "little") + header


HOSTILE = {
    "nothing": b"",
    "three letters": b"abc",
    "a length without a header": (2**63).to_bytes(8, "little"),
    "the largest length": b"\xff" * 8 + b"{}",
    "no UTF-8": headed(b"\xff\xfe{}"),
    "no JSON": headed(b"{"),
    "nested too deep": headed(b"[" * 100_000),
    "a number of many digits": headed(b"9" * 10_000),
    "a list": headed(b"[]"),
    "a number": headed(b"3"),
    "nothing in JSON": headed(b"null"),
    "a note that is a list": headed(b'{"__metadata__": []}'),
    "a note that is null": headed(b'{"__metadata__": null}'),
    "a note of numbers": headed(b'{"__metadata__": {"seed": 0}}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_file_of_weights_says_so(name: str) -> None:
    for read in (read_note, lambda data: read_weights(nn.Linear(2, 3), data)):
        with pytest.raises(ncd.NCDError) as error:
            read(HOSTILE[name])
        assert str(error.value).isprintable() and len(str(error.value)) < 250
    with pytest.raises(ncd.ParseError, match=r"^this is no safetensors file: "):
        read_note(HOSTILE[name])


@pytest.mark.parametrize(
    ("name", "sizes", "origin"),
    [
        ("convolution", {"k": 3, "c": 2, "f": 3, "g": 2, "n": 1, "filter": 0},
         "written by hand (upright edges, level edges, outline, blur and sharpen)"),
        ("convolution", {"k": 5, "c": 2, "f": 3, "g": 2, "n": 2, "filter": 5}, "first layer"),
        ("convolution", {"k": 3, "c": 1, "f": 7, "g": 1, "n": 2, "filter": 5},
         "first layer, fitted to this window"),
        ("convolution", {"k": 5, "c": 1, "f": 1, "g": 1, "n": 1, "filter": 5},
         "first layer, fitted to this window"),
        ("transposed-convolution", {"k": 4, "s": 2, "c": 2, "f": 3, "n": 2, "filter": 1},
         "written by hand (tent, single pixel and box)"),
        ("convolution", {"filter": 6}, ""),
        ("transposed-convolution", {"filter": 3}, ""),
    ],
)  # fmt: skip
def test_filters_fit_their_convolution(name: str, sizes: dict[str, int], origin: str) -> None:
    entry = ncd.catalogue[name]
    settings = entry.settings(sizes)
    write, knobs = FILTER_WRITERS[name]
    data = write(**{knob: settings[knob] for knob in knobs})
    assert (data is None) == (not origin)
    if data is not None:
        assert read_note(data)["origin"].endswith(origin)
        module = read_weights(ncd.compile(entry.build(**settings), 0), data)
        (weight, bias) = module.parameters()
        assert bias.count_nonzero() == 0 and weight.count_nonzero() > 0


def test_a_note_comes_back() -> None:
    assert read_note(WHOLE) == {"seed": "0"}
    assert read_note(headed(json.dumps({"a": {}}).encode())) == {}


@settings(max_examples=count(100, 5000), deadline=None)
@given(st.integers(0, len(WHOLE) - 1), st.integers(0, 255))
def test_one_wrong_byte_is_told_of_or_harmless(place: int, byte: int) -> None:
    data = WHOLE[:place] + bytes([byte]) + WHOLE[place + 1 :]
    try:
        note = read_note(data)
    except ncd.NCDError:
        return
    assert all(isinstance(word, str) for pair in note.items() for word in pair)
