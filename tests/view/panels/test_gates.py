"""The panel of gates: every array opens, and a link to one that is not there opens another."""

import pytest

from tests.view.page.test_pages import fine, page


@pytest.mark.parametrize("name", ["lstm", "gru"])
@pytest.mark.parametrize("gate", ["0", "1", "2", "4", "99", "x"])
def test_every_gate_opens(name: str, gate: str) -> None:
    fine(page(name, panel="Gates", gate=gate))


def test_words_stand_along_the_sequence() -> None:
    fine(page("lstm", panel="Gates", input="sentences", text_t="it was tired"))
