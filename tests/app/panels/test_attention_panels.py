"""Panels of attention and gates: whatever a link asks for, they open."""

import pytest

from tests.app.page.test_pages import fine, page

DECODERS = ("decoder-only-block", "decoder-block", "encoder-decoder")


@pytest.mark.parametrize("name", ["lstm", "gru"])
@pytest.mark.parametrize("gate", ["0", "1", "2", "4", "99", "x"])
def test_every_gate_opens(name: str, gate: str) -> None:
    """A link to a gate that is not there opens another."""
    fine(page(name, panel="Gates", gate=gate))


def test_words_stand_along_the_sequence() -> None:
    fine(page("lstm", panel="Gates", input="sentences", text_t="it was tired"))


@pytest.mark.parametrize("name", DECODERS)
def test_a_step_goes_with_every_panel_and_with_sentences(name: str) -> None:
    """A step takes what was kept, which no sentence says: then its inputs are random."""
    step = {"cache": "true", "n": "1", "h": "2", "k": "4"}
    fine(page(name, **step, input="sentences", panel="KV cache"))
    fine(page(name, **step, t="1", panel="KV cache"))
    if name != DECODERS[0]:
        fine(page(name, **step, panel="Torch"))
