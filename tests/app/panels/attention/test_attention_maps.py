"""Maps of softmaxes: which are shown, by which names, in what order, and which one is chosen."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import ncd
from ncd.app.figure import picked_cell
from ncd.app.panels.attention import attention_maps
from ncd.app.panels.attention.attention_maps import (
    ATTENTION_MAPS,
    about_softmax,
    attends,
    choice,
    places,
    softmaxes,
)
from ncd.app.scene.scene import Scene
from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from tests.app.panels.views import inside, scene, shown, tags, text

LINE = ncd.Id("~x:4 h:2") >> ncd.Softmax("x")  # weights of the keys, asked for by nothing


def of(term: ncd.Term) -> Scene:
    entry = Entry("own", "Own", "Nowhere", (), lambda: term)
    return Scene(entry, {}, 0, "cpu", InputSpec(), False, "names", "", term)


def names(circuit: Circuit) -> list[str]:
    return [*places(softmaxes(circuit), circuit).values()]


def test_softmaxes_over_positions_are_shown_or_all_if_there_are_none() -> None:
    both = elaborate(LINE @ (ncd.Id("m:3") >> ncd.Softmax("m") >> ncd.Elementwise("relu")))
    over, classes, relu = both.cells
    assert [attends(cell) for cell in (over, classes, relu)] == [True, False, False]
    assert not attends(elaborate(ncd.Id("~x:4") >> ncd.Elementwise("relu")).cells[0])
    assert softmaxes(both) == [over]
    alone = elaborate(ncd.Id("m:3") >> ncd.Softmax("m"))
    assert softmaxes(alone) == [*alone.cells]
    for id in (over.id, over.outputs[0].id):
        assert about_softmax(both, id) == {"softmax": over.id}
    assert about_softmax(both, over.inputs[0].id) is None
    assert about_softmax(both, classes.id) is None


def test_what_all_names_end_with_is_left_out() -> None:
    own = Block(ncd.Id("~x:4") >> ncd.Softmax("x"), "Attention")
    assert names(elaborate(own)) == ["Attention"]
    assert names(elaborate(own @ own)) == ["Attention", "Attention"]
    assert names(elaborate(Repeat((own,) * 2))) == ["layer 1", "layer 2"]
    other = Block(ncd.Id("~x:4") >> ncd.Softmax("x"), "Other")
    assert names(elaborate(Repeat((own >> other,) * 2))) == [
        f"layer {n} · {name}" for n in (1, 2) for name in ("Attention", "Other")
    ]
    assert names(elaborate(LINE)) == [""]


def test_one_of_several_softmaxes_is_chosen_from_a_list() -> None:
    one, two = elaborate(LINE @ LINE).cells
    html = choice([one, two], two, {one.id: "", two.id: "<b>"})
    options = tags(html.replace(" selected", ' selected=""'), "option")
    assert [(own["value"], "selected" in own) for own in options] == [
        (one.id, False),
        (two.id, True),
    ]
    assert inside(html, "option") == ["1. Softmax", "2. &lt;b&gt;"]
    assert choice([one], one, {one.id: ""}) == ""


def test_a_position_has_its_word_if_it_has_one() -> None:
    axis, here = ncd.Array.parse("~x:4")[0], SimpleNamespace(axis_words=lambda name: ("a", "<b>"))
    told = [attention_maps._position_text(axis, i, here) for i in range(3)]  # type: ignore[arg-type]
    assert [text(own) for own in told] == ["x = 0 (a)", "x = 1 (<b>)", "x = 2"]


@pytest.mark.parametrize("spare", [0, -1])
def test_small_maps_of_all_softmaxes_are_shown_if_they_are_few(
    spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_maps, "MAX_PICTURES", 6 + spare)
    here = scene("encoder-decoder", n=1, h=2, k=4)
    cells = softmaxes(here.circuit)
    told = shown(ATTENTION_MAPS, here, softmax=cells[1].id, head=1)
    titles = [
        "Encoder · layer 1 · Self-Attention",
        "Decoder · layer 1 · Masked Self-Attention",
        "Decoder · layer 1 · Cross-Attention",
    ]
    assert [text(own) for own in inside(told.html, "h2")] == (titles if spare == 0 else [])
    buttons = [own for own in tags(told.html, "button") if "aria-pressed" in own]
    pressed = [own["data-pick"] for own in buttons if own["aria-pressed"] == "true"]
    assert pressed == [f"map={cells[1].id}.1" if spare == 0 else "head=1"]
    assert ("<select" in told.html) == (spare < 0)
    assert told.map is not None and told.map.label == (
        f"Weights of every query on every key, {titles[1]}, h = 1"
    )


def test_a_softmax_that_nothing_asks_has_one_row() -> None:
    own = of(ncd.Id("~x:4") >> ncd.Softmax("x"))
    told = shown(ATTENTION_MAPS, own, **{picked_cell.CELL.name: "0,2"})
    assert told.map is not None and not told.map.square_cells and told.map.rows.title == ""
    assert np.allclose(told.map.pooled_maps.maps, own.trace.outputs[0].detach().numpy()[None])
    assert told.map.label.endswith(", one head") and text(told.map.columns.title) == "key x"
    assert "Columns keys x; each row sums to 1." in told.text
    assert told.map.marks == picked_cell.marks((0, 2), (1, 1), whole=False)
    assert "Weight of x = 2" in told.text
    asked = shown(ATTENTION_MAPS, of(LINE)).map  # by heads, which are no positions
    assert asked is not None and not asked.square_cells and asked.rows.title.startswith("query ")


@pytest.mark.parametrize("doubt", [False, True])
@pytest.mark.parametrize("trained", [False, True])
def test_heads_that_learned_a_role_say_it(
    doubt: bool, trained: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention_maps.trained_weights, "roles", lambda: ("finds <x>",))
    monkeypatch.setattr(attention_maps, "doubt", lambda read: doubt)
    here: Any = replace(
        scene("multi-head-attention", y=3, x=4, h=2), inputs_spec=InputSpec(trained=trained)
    )
    (cell,) = softmaxes(here.circuit)
    found = attention_maps.weights(cell, here.trace.values[cell.outputs[0].id])
    with patch("streamlit.session_state", {}):
        _, html = attention_maps._overview(here, found, 1)
    said = [name.partition("<br>")[2] for name in inside(html, "button")]
    roles = trained and not doubt
    assert ("finds <x>" in html, "untrained" in html) == (roles, roles)
    assert len(said) == 2
    alone = replace(found, maps=found.maps[:1], heads=ncd.Array())
    assert attention_maps._overview(here, alone, 0) == ("", "")
