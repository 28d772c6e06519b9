"""What waits for the backward pass, its steps, their check, and switches of gradients."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.panels.walk import backward_pass, checkpoint_choice
from ncd.app.parts import charts
from ncd.app.scene.scene import Scene
from ncd.run.checkpointing import Checkpoints
from tests.app.panels.views import scene, shown, tags, text

PLANS = (
    Checkpoints((), 4000, 0, 4000),
    Checkpoints(("0",), 3000, 500, 2000),
    Checkpoints(("0", "1", "2", "3", "4"), 1000, 2500, 1000),
)


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with (
        patch.object(st, "session_state", state),
        patch.object(
            checkpoint_choice, "cached_value", lambda *_, make: make()
        ),  # nothing of a page
    ):
        yield state


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
    covered = checkpoint_choice._disabled_attributes
    assert covered(BLOCK, inner, ()) == covered(BLOCK, outer, (outer.id,)) == ""
    assert "A block around it" in covered(BLOCK, inner, (outer.id,))
    assert covered(BLOCK, outer, (inner.id,)) == ""
    homes = checkpoint_choice._recomputed_titles(BLOCK, (outer.id, inner.id))
    title = dict(zip([one.id for one in own], checkpoint_choice.titles(BLOCK), strict=True))
    assert {homes[id] for id in checkpoint_choice._ops(BLOCK, outer.id)} == {title[outer.id]}
    assert checkpoint_choice._recomputed_titles(BLOCK, ()) == {}


def test_what_is_saved_is_told_with_what_is_recomputed(session: dict[str, Any]) -> None:
    block = checkpoint_choice.blocks(BLOCK)[0].id
    with patch.object(checkpoint_choice, "_measured_cost", lambda *_: (1000, 0.002, 0.001)):
        plain = text(checkpoint_choice.html(BLOCK))
        session["recompute"] = f"{block},nothing"
        assert checkpoint_choice.recomputed_parts(BLOCK) == (block,)
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
            patch.object(checkpoint_choice, "MAX_ROWS", most),
            patch.object(checkpoint_choice, "_measured_cost", lambda *_: (1000, 0.0, 0.0)),
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
    assert checkpoint_choice._measured_cost(small, ())[1:] == (0.0, 0.0)
    block = checkpoint_choice.blocks(small)[0].id
    with patch.object(
        checkpoint_choice, "medians", lambda calls, **_: {n: i for i, n in enumerate(calls)}
    ):
        bytes, now, before = checkpoint_choice._measured_cost(small, (block,))
    assert bytes > 0 and (now, before) == (0, 1)
    assert (checkpoint_choice._layers(1), checkpoint_choice._layers(2)) == (
        "The layer",
        "Each of 2 layers",
    )


# --- the budget -----------------------------------------------------------------------------------


def test_the_curve_is_shown_where_there_is_a_choice(session: dict[str, Any]) -> None:
    with patch.object(checkpoint_choice, "cached_value", lambda *_, make: PLANS[:1]):
        assert shown(checkpoint_choice, scene("lora")).html == ""
    with patch.object(checkpoint_choice, "cached_value", lambda *_, make: PLANS):
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
    assert said.endswith(says) and ("more" in said) == (count > checkpoint_choice.MAX_NAMES)


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


# --- steps ----------------------------------------------------------------------------------------

STEPS = (
    backward_pass.BackwardStep("v9", "", "v9"),
    backward_pass.BackwardStep("v8", "n4", "v8", ("f1", "f0")),
    backward_pass.BackwardStep("v7", "n3", "n3", ("f0",)),
    backward_pass.BackwardStep("v0", "", "v0"),
)


@pytest.mark.parametrize(
    ("back", "selected", "at"),
    [
        ("", "v8", 0),
        ("0", "v8", 0),
        ("1", "", 1),
        ("4", "", 4),
        ("5", "", 4),
        ("2", "v8", 2),
        ("3", "n3", 3),
        ("3", "v8", 2),
        ("3", "n4", 2),
        ("4", "f0", 2),
        ("4", "f1", 2),
        ("2", "v9", 1),
        ("2", "v5", 2),
    ],
)
def test_a_walk_goes_to_the_step_of_what_is_selected(
    back: str, selected: str, at: int, session: dict[str, Any]
) -> None:
    session[backward_pass.STEP.name] = back
    assert backward_pass.place(STEPS, selected) == at


@pytest.mark.parametrize(
    ("at", "picks"), [(1, ("", "2 v8")), (2, ("1 v9", "3 n3")), (4, ("3 n3", ""))]
)
def test_a_walk_turns_to_the_steps_beside_it(at: int, picks: tuple[str, str]) -> None:
    html = backward_pass._turn(STEPS, at)
    buttons = [own["data-pick"] for own in tags(html, "button")]
    assert buttons[:2] == [backward_pass.STEP.action(pick) for pick in picks]
    assert [" disabled" in own for own in html.split("<button")[1:3]] == [not p for p in picks]


@pytest.mark.parametrize(
    ("flops", "parameters", "leaves", "tried"),
    [
        (backward_pass.TRIAL_LIMIT, backward_pass.TRIAL_LIMIT, 1, True),
        (backward_pass.TRIAL_LIMIT + 1, 0, 1, None),
        (0, backward_pass.TRIAL_LIMIT + 1, 1, None),
        (backward_pass.TRIAL_LIMIT // 4, 0, 2, False),
        (backward_pass.TRIAL_LIMIT // 4 + 1, 0, 2, True),
        (0, 0, backward_pass.MAX_ENTRIES, False),
        (0, 0, backward_pass.MAX_ENTRIES + 1, True),
        (0, 0, 0, False),
    ],
)
def test_gradients_are_tried_together_where_one_by_one_takes_too_long(
    flops: int, parameters: int, leaves: int, tried: bool | None
) -> None:
    """Each of them takes two passes; one of three more is off."""
    own = scene("lora")
    runs: list[bool] = []

    def slopes(*_: object, together: bool, **__: object) -> tuple[object, ...]:
        runs.append(together)
        return ()

    with (
        patch.object(Scene, "cost", SimpleNamespace(flops=flops, parameters=parameters)),
        patch.object(Scene, "run_in_pool", lambda _, run: run()),
        patch.object(backward_pass, "cached_value", lambda *_, make: make()),
        patch.object(backward_pass, "leaves", lambda _: range(leaves + 1)),
        patch.object(backward_pass, "slopes", slopes),
        patch.object(backward_pass, "_lines", lambda *_: "tried"),
    ):
        said = backward_pass.check_sentence(own, frozenset({"off"}), {})
    assert runs == ([] if tried is None else [tried])
    late = "Finite differences would take too long at these sizes."
    assert text(said) == ("tried" if runs else late)
