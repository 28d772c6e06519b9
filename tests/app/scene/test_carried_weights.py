"""Trained weights stay when a system is edited, as far as they fit, and it is said how many."""

from __future__ import annotations

import re

import pytest
import torch

import ncd
from ncd import Rewrite, catalogue, spell
from ncd.app.scene.carried_weights import weights_after
from ncd.app.scene.edited_system import system_after
from ncd.run.module import CircuitModule
from ncd.systems.training.trained_weights import TrainedWeights, read_weights, shipped_weights

LENET = spell(catalogue["lenet"].build())


def carried(*edits: Rewrite, text: str = LENET) -> TrainedWeights | None:
    return weights_after(text, edits, system_after(text, edits).term, 0)


def numbers(found: TrainedWeights | None, *edits: Rewrite) -> CircuitModule:
    assert found is not None
    return read_weights(ncd.compile(system_after(LENET, edits).term), found.weights).eval()


def place(name: str, text: str = LENET) -> str:
    cells = ncd.elaborate(ncd.parse(text)).cells
    return next(cell.id for cell in cells if cell.name == name)


def test_the_text_of_a_trained_system_has_its_weights() -> None:
    entry = catalogue["lenet"]
    shipped = shipped_weights(entry, entry.settings({}))
    found = carried()
    assert shipped is not None and found is not None
    assert found.summary == shipped.summary
    own, theirs = numbers(found).state_dict(), numbers(shipped).state_dict()
    assert all(torch.equal(own[name], theirs[name]) for name in theirs)


def test_an_edit_keeps_the_weights_of_the_other_layers() -> None:
    insert = Rewrite("insert", ncd.elaborate(ncd.parse(LENET)).outputs[0].id, (("op", "linear"),))
    found = carried(insert)
    assert found is not None
    kept, whole = map(int, re.findall(r"(\d+) of (\d+) arrays of weights kept", found.summary)[0])
    assert whole - kept == 2  # the new layer's weight and bias are drawn
    old, new = numbers(carried()).state_dict(), numbers(found, insert).state_dict()
    assert all(torch.equal(x, new[name]) for name, x in old.items())


def test_a_law_makes_its_weights_from_the_trained_ones() -> None:
    split = Rewrite("write", place("linear2"), (("as", "two-maps"),))
    inputs = ncd.example_inputs(ncd.parse(LENET))
    before, after = numbers(carried()), numbers(carried(split), split)
    torch.testing.assert_close(after(*inputs), before(*inputs))


@pytest.mark.parametrize("text", ['Linear("m:3 -> k:2", "Q")', "", "nonsense ("])
def test_another_text_has_none(text: str) -> None:
    assert weights_after(text, (), ncd.Softmax("x:3"), 0) is None
