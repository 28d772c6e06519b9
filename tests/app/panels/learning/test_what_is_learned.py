"""Mistakes on unseen examples, what waits for the backward pass, and switches of gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch

import ncd
from ncd.app.panels.attention import sequence_reading
from ncd.app.panels.learning import mistakes
from ncd.app.panels.learning.mistakes import (
    FEWEST,
    MOST,
    UNTRAINED,
    ExamplePicture,
    Mistakes,
    SequenceAnswers,
)
from ncd.app.panels.walk import backward_pass, checkpoint_choice
from ncd.app.parts import charts
from ncd.app.scene.scene import LONG, Scene
from ncd.circuit.costs import Cost
from ncd.run.checkpointing import Checkpoints
from ncd.run.head_switches import Head
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES
from ncd.systems.training.tasks import Data, task
from tests.app.panels.views import images, scene, shown, tags, text

PLANS = (
    Checkpoints((), 4000, 0, 4000),
    Checkpoints(("0",), 3000, 500, 2000),
    Checkpoints(("0", "1", "2", "3", "4"), 1000, 2500, 1000),
)


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def unseen(*shape: int) -> Data:
    return Data(lambda: None, torch.rand(shape), torch.zeros(shape[0]), "source")  # type: ignore[arg-type, return-value]


# --- mistakes -------------------------------------------------------------------------------------


def test_the_surest_misread_digits_come_first() -> None:
    own = unseen(4, 1, 3, 3)
    chances = torch.tensor([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.7, 0.3]])
    wrong, found = mistakes._digits(own, chances, torch.tensor([0, 0, 0, 1]))
    assert (wrong, [one.said for one in found]) == (3, ["0 → 1, 80%", "1 → 0, 70%", "0 → 1, 60%"])
    (seen,) = images(found[0].html)
    assert (seen[..., 0] == np.round(255 * own.unseen[2, 0].numpy())).all()
    many = torch.tensor([[0.0, 1.0]] * 20)
    wrong, found = mistakes._digits(unseen(20, 3, 3), many, torch.zeros(20).long())
    assert (wrong, len(found)) == (20, MOST)


def test_the_masks_with_most_wrong_pixels_come_first() -> None:
    answers = torch.zeros(3, 4, 4).long()
    scores = torch.zeros(3, 2, 4, 4)
    scores[:, 0] = 1
    scores[1, 1, 0, 0] = 2
    scores[2, 1, 0] = 2
    wrong, found = mistakes._masks(unseen(3, 1, 4, 4), scores, answers)
    assert (wrong, [one.said for one in found]) == (2, ["75.0%", "93.8%", "100.0%"])


def test_the_pictures_with_the_largest_errors_come_first() -> None:
    own = unseen(14, 1, 2, 2)
    answers = torch.zeros(14, 1, 2, 2)
    found = answers.clone()
    found[3], found[5] = 2, 1
    count, seen = mistakes._remade(own, found, answers)
    assert (count, len(seen), [one.said for one in seen[:3]]) == (14, MOST, ["4", "1", "0"])


def test_sequences_with_most_wrong_answers_come_first() -> None:
    own = Data(lambda: None, torch.tensor([[0, 1], [1, 0], [1, 1]]), torch.zeros(1), "")  # type: ignore[arg-type, return-value]
    answers = torch.tensor([[0, 1], [1, NOT_ASKED], [1, 0]])
    found = torch.tensor([[0, 1], [0, 0], [0, 1]])
    wrong, lines = mistakes._lines(own, found, answers, ("a", "b"))
    assert wrong == 2
    assert lines == (
        SequenceAnswers(("b", "b"), (("a", True), ("b", True))),
        SequenceAnswers(("b", "a"), (("a", True), ("·", False))),
    )
    assert lines[1].html == "<code>ba\n<mark>a</mark>·</code>"
    words = SequenceAnswers(("one", "b"), (("a", True), ("·", False))).html
    assert words == (
        '<code class="spaced"><span>one\n<mark>a</mark></span><span>b\n·</span></code>'
    )


@pytest.mark.parametrize(
    ("learned", "flops", "tried"),
    [
        (False, UNTRAINED + 1, 0),
        (False, UNTRAINED // (FEWEST - 1), 0),
        (False, UNTRAINED // FEWEST, FEWEST),
        (True, UNTRAINED + 1, LONG // (UNTRAINED + 1)),
        (True, 2 * LONG, 1),
        (True, 0, 40),
    ],
)
def test_as_many_examples_are_tried_as_may_be_spent(learned: bool, flops: int, tried: int) -> None:
    here: Any = SimpleNamespace(
        **{
            "loaded_weights": learned,
            "cost": SimpleNamespace(spec=Cost, flops=flops, parameters=0),
        },
        **{"settings": {"k": 2}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    counts: list[int] = []

    def answered(*parts: Any) -> tuple[torch.Tensor, torch.Tensor]:
        counts.append(parts[-1])
        return torch.rand(parts[-1], 2), torch.zeros(parts[-1]).long()

    with (
        patch.object(mistakes, "examples", lambda *_: unseen(40, 3, 3)),
        patch.object(mistakes, "answered", answered),
        patch.object(mistakes, "check_room"),
    ):
        found = mistakes.measure(here, task("lenet"))
    assert (found.tried, counts) == (tried, [tried] if tried else [])
    assert isinstance(found.blank, ExamplePicture)


def test_answers_at_each_place_are_shown_as_lines() -> None:
    here: Any = SimpleNamespace(
        **{"loaded_weights": None, "cost": SimpleNamespace(spec=Cost, flops=1)},
        **{"settings": {"v": 3}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    symbols = SEQUENCES["reversal"].symbols(3)
    unseen = torch.tensor([[0, 1, 2, 0], [2, 1, 0, 0]])
    answers, found = unseen.flip(1), unseen.flip(1)
    found[1, 3] = 1
    with (
        patch.object(mistakes, "examples", lambda *_: Data(lambda: None, unseen, answers, "here")),  # type: ignore[arg-type, return-value]
        patch.object(mistakes, "answered", lambda *_: (torch.eye(3)[found], answers)),
        patch.object(mistakes, "check_room"),
    ):
        tried = mistakes.measure(here, task("reversal"))
    assert (tried.tried, tried.wrong, tried.score, tried.source) == (2, 1, 7 / 8, "here")
    (line,) = tried.pictures
    assert isinstance(line, SequenceAnswers) and "".join(line.read) == "".join(
        symbols[i] for i in (2, 1, 0, 0)
    )
    assert [wrong for _, wrong in line.said] == [False, False, False, True]
    assert tried.blank == SequenceAnswers((" ",) * 4, ((" ", False),) * 4)


def test_a_task_of_several_examples_a_run_tries_whole_runs() -> None:
    own = replace(task("lenet"), batch_knob="b")
    here: Any = SimpleNamespace(
        **{"loaded_weights": None, "cost": SimpleNamespace(spec=Cost, flops=UNTRAINED // 2)},
        **{"settings": {"b": 5}, "term": ncd.Id("m:3"), "module": None, "device": "cpu"},
    )
    with (
        patch.object(mistakes, "examples", lambda *_: unseen(40, 3, 3)),
        patch.object(mistakes, "check_room"),
        patch.object(mistakes, "answered") as answered,
    ):
        answered.return_value = torch.rand(10, 2), torch.zeros(10).long()
        mistakes.measure(here, own)
    assert answered.call_args.args[-1] == 10


def test_mistakes_are_told_and_keep_their_room() -> None:
    picture = ExamplePicture("data:", "<1>")
    found = Mistakes(20, 5, 0.75, "", (picture, picture), picture)
    html = mistakes.html(found, task("lenet"))
    assert html.count("<figure>") == 2 and html.count('<figure aria-hidden="true">') == MOST - 2
    assert "It reads 15 of 20 digits right" in html and "75.0%" in html and "&lt;1&gt;" in html
    assert mistakes.LATER in mistakes.html(replace(found, tried=0), task("lenet"))
    said = text(mistakes._answered(found))
    assert "all of them in 15 sequences. Below are those that went worst" in said
    assert "None went wrong" in mistakes._answered(replace(found, wrong=0))
    assert "Below are the 2 worst" in text(mistakes._outlined(found))


# --- saved for the backward pass ------------------------------------------------------------------

BLOCK = scene("encoder-block")


def test_a_block_is_recomputed_with_those_inside_it() -> None:
    own = checkpoint_choice.blocks(BLOCK)
    inner = next(
        one
        for one in own
        if any(
            checkpoint_choice._ops(BLOCK, one.id) < checkpoint_choice._ops(BLOCK, o.id) for o in own
        )
    )
    outer = next(
        o
        for o in own
        if checkpoint_choice._ops(BLOCK, inner.id) < checkpoint_choice._ops(BLOCK, o.id)
    )
    covered = checkpoint_choice._covered
    assert covered(BLOCK, inner, ()) == covered(BLOCK, outer, (outer.id,)) == ""
    assert "A block around it" in covered(BLOCK, inner, (outer.id,))
    assert covered(BLOCK, outer, (inner.id,)) == ""
    homes = checkpoint_choice._recomputed(BLOCK, (outer.id, inner.id))
    title = dict(zip([one.id for one in own], checkpoint_choice.titles(BLOCK), strict=True))
    assert {homes[id] for id in checkpoint_choice._ops(BLOCK, outer.id)} == {title[outer.id]}
    assert checkpoint_choice._recomputed(BLOCK, ()) == {}


def test_what_is_saved_is_told_with_what_is_recomputed(session: dict[str, Any]) -> None:
    block = checkpoint_choice.blocks(BLOCK)[0].id
    with patch.object(checkpoint_choice, "_measured", lambda *_: (1000, 0.002, 0.001)):
        plain = text(checkpoint_choice.html(BLOCK))
        session["recompute"] = f"{block},nothing"
        assert checkpoint_choice.chosen(BLOCK) == (block,)
        html = checkpoint_choice.html(BLOCK)
    assert "instead of" not in plain and "Measured: 1 kB." in plain
    assert "Measured: 1 kB; forward and backward take 2 ms instead of 1 ms." in text(html)
    switches = [own for own in tags(html, "button") if own.get("role") == "switch"]
    on = [own["data-pick"] for own in switches if own["aria-checked"] == "true"]
    assert on == [f"recompute={block}"]
    forward, whole = BLOCK.cost.flops, checkpoint_choice.both_passes(BLOCK)
    assert whole > forward
    words = checkpoint_choice._flops(BLOCK, SimpleNamespace(flops=0))  # type: ignore[arg-type]
    assert "recomputed" not in words
    assert words.endswith(f"together {ncd.site.markup.amount(whole, 'FLOP')}")
    with patch.object(Scene, "is_quick", False):
        assert "Measured" not in text(checkpoint_choice.html(BLOCK))
    session.clear()
    count = len(ncd.saved(BLOCK.term).arrays)
    for most, left in ((2, f"{count - 2} more arrays."), (count - 1, "1 more array.")):
        with (
            patch.object(checkpoint_choice, "MOST", most),
            patch.object(checkpoint_choice, "_measured", lambda *_: (1000, 0.0, 0.0)),
        ):
            assert left in text(checkpoint_choice.html(BLOCK))
    assert "more array" not in plain


def test_a_row_says_what_an_array_is_and_who_needs_it() -> None:
    cell = BLOCK.circuit.cells[0]
    value = cell.outputs[0]
    one = ncd.saved(BLOCK.term).arrays[0]
    own = replace(one, node=cell.id, array=value.id, shape=(2, 3))
    row = checkpoint_choice._row(BLOCK, own, {value.id: "q"}, {})
    assert f'data-array="{value.id}"' in row and "2×3" in row and cell.op.display_name in text(row)
    assert "home" in checkpoint_choice._row(BLOCK, own, {}, {cell.id: "home"})
    kept = checkpoint_choice._row(BLOCK, replace(own, array="", shape=()), {}, {})
    assert f'data-node="{cell.id}"' in kept and "kept by the op itself" in kept and ">1<" in kept
    assert "data-" not in checkpoint_choice._row(BLOCK, replace(own, array="", node=""), {}, {})


def test_the_passes_are_measured_beside_each_other() -> None:
    small = scene("multi-head-attention")
    assert checkpoint_choice._measured(small, ())[1:] == (0.0, 0.0)
    block = checkpoint_choice.blocks(small)[0].id
    with patch.object(
        checkpoint_choice, "medians", lambda calls, **_: {n: i for i, n in enumerate(calls)}
    ):
        bytes, now, before = checkpoint_choice._measured(small, (block,))
    assert bytes > 0 and (now, before) == (0, 1)
    assert (checkpoint_choice._layers(1), checkpoint_choice._layers(2)) == (
        "The layer",
        "Each of 2 layers",
    )


# --- the budget -----------------------------------------------------------------------------------


def test_the_curve_is_shown_where_there_is_a_choice(session: dict[str, Any]) -> None:
    with patch.object(checkpoint_choice, "cached", lambda *_, make: PLANS[:1]):
        assert shown(checkpoint_choice, scene("lora")).html == ""
    with patch.object(checkpoint_choice, "cached", lambda *_, make: PLANS):
        found = shown(checkpoint_choice, scene("lora"))
    assert found.sliders == {"budget": (0, 2, 2)}


@pytest.mark.parametrize(
    ("now", "says"),
    [
        (None, "is no point of the curve"),
        (0, "Every layer is saved: 4 kB at one time, and nothing is calculated twice."),
        (
            1,
            "Calculated again: 0. 3 kB at one time, 2 kB between the passes, instead of 4 kB, for "
            "10 % more FLOPs in both passes.",
        ),
        (
            2,
            "Calculated again: 0, 1, 2, 3 and 1 more. 1 kB at one time, instead of 4 kB, for "
            "50 % more FLOPs in both passes.",
        ),
    ],
)
def test_a_point_of_the_curve_is_told(now: int | None, says: str) -> None:
    with patch.object(checkpoint_choice, "both_passes", lambda scene: 5000):
        assert says in text(checkpoint_choice._budget_sentence(BLOCK, PLANS, now))
        html = checkpoint_choice._html(BLOCK, PLANS, now)
    (own,) = (tag for tag in tags(html, "input") if tag.get("type") == "range")
    assert (own["min"], own["max"], own["value"]) == ("0", "2", str(2 - (now or 0)))
    words = checkpoint_choice._words(PLANS, now)
    assert words.startswith("2.5 kFLOP at 1 kB to none at 4 kB")
    assert (", now" in words) == (now is not None)
    figure = checkpoint_choice.curve(PLANS, now)
    assert figure.data[0].x == (4000, 3000, 1000) and figure.data[0].y == (0, 500, 2500)
    assert len(figure.data) == 1 + (now is not None)
    if now is not None:
        assert (figure.data[1].x, figure.data[1].y) == ((PLANS[now].bytes,), (PLANS[now].flops,))
    assert figure.data[0].line.color == charts.COLOURS[0]


@pytest.mark.parametrize(
    ("count", "says"),
    [(1, "0."), (3, "0, 1, 2."), (4, "0, 1, 2, 3."), (5, "0, 1, 2, 3 and 1 more."), (6, "2 more.")],
)
def test_four_recomputed_layers_are_named_and_the_rest_counted(count: int, says: str) -> None:
    plans = PLANS[0], Checkpoints(tuple(map(str, range(count))), 1000, 2500, 1000)
    with patch.object(checkpoint_choice, "both_passes", lambda scene: 5000):
        said = text(checkpoint_choice._budget_sentence(BLOCK, plans, 1)).partition(" 1 kB")[0]
    assert said.endswith(says) and ("more" in said) == (count > checkpoint_choice.FEW)


def test_a_long_curve_has_no_dots() -> None:
    for count, mode in ((checkpoint_choice.DOTS, "lines+markers"), (61, "lines")):
        assert checkpoint_choice.curve((PLANS[0],) * count, None).data[0].mode == mode


@pytest.mark.parametrize(
    ("picked", "names"),
    [
        ("budget=2", ()),
        ("budget=1", ("0",)),
        ("budget=0", PLANS[2].recompute),
        ("budget=99", ()),
        ("budget=1000", None),
        ("budget=x", None),
        ("other=1", None),
    ],
)
def test_the_slider_chooses_what_is_recomputed(
    picked: str, names: tuple[str, ...] | None, session: dict[str, Any]
) -> None:
    checkpoint_choice._pick(picked, PLANS)
    assert session.get("recompute") == (None if names is None else ",".join(names))


# --- gradients ------------------------------------------------------------------------------------


def test_parameters_and_real_inputs_have_a_switch(session: dict[str, Any]) -> None:
    own = scene("multi-head-attention")
    every = backward_pass.leaves(own)
    names = [name for name, _ in own.module.named_parameters()]
    reals = [value.id for value in own.circuit.inputs]
    assert [leaf.name for leaf in every] == [*reals, *names]
    assert all(leaf.light.startswith("data-node=") for leaf in every[len(reals) :])
    tokens = scene("gpt-2", n=1, t=4, v=8)
    assert not {value.id for value in tokens.circuit.inputs} & {
        leaf.name for leaf in backward_pass.leaves(tokens)
    }
    session["frozen"] = f"{names[0]},nothing"
    assert backward_pass.frozen(own) == {names[0]}


@pytest.mark.parametrize(
    ("count", "off", "details"), [(8, 0, False), (9, 0, True), (9, 2, True), (0, 0, False)]
)
def test_many_switches_are_in_a_closed_section(count: int, off: int, details: bool) -> None:
    every = tuple(backward_pass.Leaf(f"w{i}", f"w{i}", "") for i in range(count))
    html = backward_pass.switches(every, [leaf.name for leaf in every[:off]])
    assert ("<details" in html) == details
    assert html.count('aria-checked="false"') == off
    assert html.count('aria-checked="true"') == count - off
    assert ("all on" in html) == bool(off)
    assert not details or f"{count - off} of {count} on" in html


# --- skill ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flops", "learned", "count", "each"),
    [
        (0, True, 512, True),
        (0, False, 64, True),
        (4 * UNTRAINED // (16 * 4), False, 16, True),
        (4 * UNTRAINED // (16 * 4) + 1, False, 31, False),
        (4 * UNTRAINED, False, 1, False),
        (10 * UNTRAINED, False, 1, False),
    ],
)
def test_as_many_sequences_are_tried_as_may_be_spent(
    flops: int, learned: bool, count: int, each: bool
) -> None:
    own = scene("reversal")
    asked: list[tuple[int, bool]] = []

    def skill(module: Any, task: Any, given: torch.Tensor, answers: Any, each: bool) -> str:
        asked.append((len(given), each))
        return "whole"

    data = Data(lambda: None, torch.zeros(600, 4), torch.zeros(600), "")  # type: ignore[arg-type, return-value]
    two = (Head("n1", 0), Head("n2", 0))
    with (
        patch.object(sequence_reading, "cached", lambda *_, make: make()),
        patch.object(sequence_reading, "heads", lambda _: two),
        patch.object(sequence_reading, "skill", skill),
        patch.object(sequence_reading.mistakes, "examples", lambda *_: data),
        patch.object(Scene, "cost", SimpleNamespace(spec=Cost, flops=flops, parameters=0)),
    ):
        here = replace(own, loaded_weights="w" if learned else None)  # type: ignore[arg-type]
        with patch.object(Scene, "weights_key", ()), patch.object(Scene, "module", None):
            assert sequence_reading.measure_skill(here, frozenset()) == "whole"
    assert asked == [(count, each)]


def test_a_sequence_is_run_with_its_answers_and_maps() -> None:
    from ncd.systems.inputs.text_inputs import SymbolInput

    own = scene("reversal")
    t = own.settings["t"]
    read = SymbolInput(tuple("abcdefgh"), tuple(i % 3 for i in range(t)), 3)
    found = sequence_reading.head_look(own, read, frozenset())
    whole = sequence_reading._run(own, frozenset())
    assert torch.equal(found.scores, whole[0][:3]) and len(found.answers) == 3
    assert set(found.maps) == set(sequence_reading.heads(own)) == set(whole[1])
    assert all(each.shape == (3, 3) for each in found.maps.values())
    assert found.cells.shape == (3, 3)
