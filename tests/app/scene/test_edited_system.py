"""Systems after edits: their texts, what is the same part before and after, and their links."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.app.scene.edited_system import (
    EDITS_KEY,
    MOST_EDITS,
    entry_of,
    moved_ids,
    origins,
    read_edits,
    system_after,
    write_edits,
)
from ncd.app.scene.own_entry import visitor_system
from ncd.app.state.link_text import compress_text
from ncd.circuit.elaborate import elaborate
from ncd.rewrite.rewriting import Rewrite, rewrites
from ncd.rewrite.rules.term_paths import TermPaths

CHAIN = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("relu") >> Linear("k -> n:2", "P")'
REMOVE = Rewrite("remove", "n1")
GELU = Rewrite("insert", "v1", (("op", "gelu"),))
SOURCE = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 16), nn.Linear(16, 4)
    def forward(self, x):
        return self.b(self.a(x).relu())
Net()(torch.randn(5, 8))
"""


def test_a_list_of_edits_is_read_as_it_was_written() -> None:
    assert read_edits(write_edits([REMOVE, GELU])) == (REMOVE, GELU)
    assert read_edits("") == ()
    assert len(read_edits("\n".join([REMOVE.to_json()] * (MOST_EDITS + 9)))) == MOST_EDITS


def test_edits_are_made_one_after_the_other() -> None:
    found = system_after(CHAIN, (REMOVE, GELU))
    term = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("gelu") >> Linear("k -> n:2", "P")'
    assert found.term == visitor_system(term).entry.build()
    assert found.labels == ("Remove Elementwise relu", "Insert GELU on q")
    assert found.refusal == "" and found.edits == (REMOVE, GELU)


def test_no_edit_leaves_the_text_as_it_is() -> None:
    found, plain = system_after(CHAIN, ()), visitor_system(CHAIN)
    assert found.system.entry.text == plain.entry.text and found.edits == ()
    assert found.system.entry.build() == plain.entry.build()


def test_the_text_of_an_edited_system_gives_the_same_term() -> None:
    entry = system_after(CHAIN, (GELU,)).system.entry
    assert visitor_system(entry.text).entry.build() == entry.build()
    assert entry.build(k=7) == visitor_system(entry.text).entry.build(k=7)


def test_the_first_impossible_edit_is_refused_with_its_reason() -> None:
    wrong = Rewrite("remove", "n0")
    found = system_after(CHAIN, (REMOVE, wrong, GELU))
    assert found.edits == (REMOVE,)
    assert found.refusal.startswith("Remove n0: it takes (t m) and gives (t k)")
    with pytest.raises(ncd.NCDError, match="no place 'n9'"):
        ncd.apply(found.term, Rewrite("remove", "n9"))


def test_pasted_source_keeps_its_sliders() -> None:
    knobs = [knob.name for knob in visitor_system(SOURCE).entry.knobs]
    found = system_after(SOURCE, (Rewrite("remove", "n1"),))
    assert [knob.name for knob in found.system.entry.knobs] == knobs
    assert found.system.sentence == "out: 5 × 4 (b, classes)"


def test_an_op_in_the_place_of_another_and_all_around_it_have_an_origin() -> None:
    old, new = (elaborate(ncd.parse(CHAIN.replace("relu", name))) for name in ("relu", "tanh"))
    assert origins(old, new) == {id: id for id in ("n0", "n1", "n2", "v0", "v1", "v2", "v3")}


def test_what_is_new_has_no_origin() -> None:
    found = system_after(CHAIN, (GELU,))
    assert "n1" not in found.origins and found.origins["n2"] == "n1"
    assert found.origins["v3"] == "v2" and found.origins["v1"] == "v1"


def test_the_way_back_is_the_way_there_turned_round() -> None:
    there = moved_ids(CHAIN, (), (REMOVE, GELU))
    assert moved_ids(CHAIN, (REMOVE, GELU), ()) == {old: new for new, old in there.items()}
    assert there["n2"] == "n2" and "n1" not in there
    assert moved_ids(CHAIN, (REMOVE,), (GELU,)) == {}


def test_a_link_with_edits_opens_the_edited_system() -> None:
    asked = {"text": compress_text(CHAIN), EDITS_KEY: compress_text(write_edits([REMOVE]))}
    entry = entry_of("yours", asked)
    assert entry is not None and entry.build() == system_after(CHAIN, (REMOVE,)).term
    plain = entry_of("yours", {**asked, EDITS_KEY: "z.cut"})
    assert plain is not None and plain.build() == visitor_system(CHAIN).entry.build()


@pytest.mark.few(8)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_the_first_edits_of_every_system_run_and_are_undone(name: str) -> None:
    term = ncd.catalogue[name].build()
    text = ncd.spell(term)
    before = system_after(text, ())
    places = TermPaths(elaborate(before.term)).by_id
    edit = next((one for at in places for one in rewrites(before.term, at)), None)
    if edit is None:
        return
    after = system_after(text, (edit,))
    assert after.refusal == ""
    module = ncd.compile(after.term)
    with torch.no_grad():
        outputs = module.execute(ncd.example_inputs(after.term))
    assert [tuple(x.shape) for x in outputs] == [array.shape for array in after.term.cod]
    assert system_after(text, ()).system.entry.text == text
