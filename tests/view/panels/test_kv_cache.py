"""The KV cache switched on: the page of every decoder, whatever else is asked for."""

import pytest

from tests.view.page.test_pages import fine, page

DECODERS = ("decoder-only-block", "decoder-block", "encoder-decoder")


@pytest.mark.parametrize("name", DECODERS)
def test_a_step_goes_with_every_panel_and_with_sentences(name: str) -> None:
    """A step takes what was kept, which no sentence says: then its inputs are random."""
    step = {"cache": "true", "n": "1", "h": "2", "k": "4"}
    fine(page(name, **step, input="sentences", panel="KV cache"))
    fine(page(name, **step, t="1", panel="KV cache"))
    if name != DECODERS[0]:
        fine(page(name, **step, panel="Torch"))
