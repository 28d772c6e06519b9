"""Number formats: which of them serve biases and norms, and what a link says of them."""

from __future__ import annotations

import pytest

import ncd
from ncd.circuit.circuit import array_formats
from ncd.circuit.elaborate import elaborate
from ncd.language.number_formats import BITS, read_formats


@pytest.mark.parametrize("weights", BITS)
def test_vectors_keep_16_bits_or_more(weights: str) -> None:
    """Biases and norms are few, and hurt most when they are rounded."""
    formats = ncd.Formats(weights, "bfloat16")
    assert formats.vector_format == (weights if BITS[weights] >= 16 else "bfloat16")
    assert {name for name in BITS if BITS[name] == 16} == {"bfloat16", "float16"}


@pytest.mark.parametrize("weights", BITS)
def test_formats_are_read_as_they_are_written(weights: str) -> None:
    formats = ncd.Formats(weights, cache="int8", cached=("K",))
    assert read_formats(formats.spec, ("K",)) == formats


def test_what_is_no_format_is_refused() -> None:
    with pytest.raises(ncd.ParseError) as error:
        read_formats("speed=int8")
    assert str(error.value) == "formats: 'speed=int8' is no format. Try weights=int8."


def test_of_a_function_with_several_results_those_of_real_numbers_have_a_format() -> None:
    circuit = elaborate(ncd.Top("e:8 -> k:2"))
    largest, places = circuit.outputs
    found = array_formats(circuit, ncd.Formats(activations="bfloat16"))
    assert found == {circuit.inputs[0].id: "bfloat16", largest.id: "bfloat16"}
    assert places.array.below is not None
