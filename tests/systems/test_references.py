"""References: each belongs to a block of a system, and a card links to it."""

from __future__ import annotations

import re

import ncd
from ncd.app.figure import op_card
from ncd.systems.catalogue_entry import REFERENCES
from tests.app.panels.attention.test_language_panels import scene

ADDRESS = re.compile(
    r"https://(arxiv\.org/abs/\d{4}\.\d{5}"
    r"|github\.com/huggingface/transformers/blob/[0-9a-f]{40}/src/\S+\.py)"
)


def test_every_reference_belongs_to_a_block() -> None:
    titles = {
        fence.title.strip()
        for entry in ncd.catalogue.values()
        for fence in ncd.elaborate(entry.build()).fences
    }
    assert REFERENCES.keys() <= titles


def test_addresses_are_pinned() -> None:
    for found in REFERENCES.values():
        assert ADDRESS.fullmatch(found.paper_address)
        assert bool(found.code_address) == bool(found.name)
        assert not found.code_address or ADDRESS.fullmatch(found.code_address)


def test_a_card_links_to_the_innermost_block_that_has_a_reference() -> None:
    circuit = scene("mamba").circuit
    forget = next(cell for cell in circuit.cells if cell.op.display_name == "Map forget")
    html = op_card._reference(circuit, forget.fences)
    assert REFERENCES["Selective State Space"].paper_address in html
    assert "MambaMixer in transformers" in html
    first = circuit.cells[0]
    assert op_card._reference(circuit, first.fences) == ""
