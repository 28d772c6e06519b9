"""Menus of edits: what is one item, what its form asks for, and what comes back from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.figure import edit_bar
from ncd.app.figure.edit_menus import EditField, group, menus, with_values
from ncd.app.scene import session_edits
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.circuit.elaborate import elaborate
from ncd.errors import MismatchError
from ncd.rewrite.rewriting import Rewrite, apply, refusals, rewrites
from ncd.rewrite.rule_catalogue import RULES
from tests.app.panels.views import scene

REPEAT = Rewrite("repeat", "f0", (("times", 2),))
GPT = elaborate(ncd.catalogue["gpt-2"].build())


def items(at: str, title: str) -> dict[str, tuple[EditField, ...]]:
    """The items of a menu at a place of GPT-2, by their words, with their fields."""
    return {item.words: item.fields for item in menus(rewrites(GPT.term, at), GPT)[title]}


def test_a_form_asks_for_what_a_visitor_may_choose() -> None:
    (adapter,) = items("n10", "Wrap")["Low-rank adapter"]
    assert adapter == EditField("rank", "rank", "4", is_number=True)
    (title,) = items("n10", "Wrap")["Fence with a title"]
    assert title == EditField("title", "title", "Block")
    assert items("n8", "Wrap")["Residual connection"] == ()


def test_sizes_of_an_axis_are_one_item() -> None:
    found = items("axis:m", "Change")
    assert list(found) == ["Another name", "Another size", "Split into two axes"]
    assert [field.name for field in found["Another size"]] == ["size"]


def test_an_array_to_skip_from_has_a_name() -> None:
    skips = [item for item in menus(rewrites(GPT.term, "n19"), GPT)["Change"] if item.fields]
    field = skips[0].fields[0]
    assert field.label == "from" and len(field.options) > 1
    for id, words in field.options:
        assert id in GPT.values and words.endswith(f"({GPT.values[id].array})")


def test_every_item_can_be_made_as_it_stands() -> None:
    for at in ("n10", "n14", "n19", "axis:m"):
        for found in menus(rewrites(GPT.term, at), GPT).values():
            for item in found:
                assert apply(GPT.term, Rewrite.from_json(item.key)) != GPT.term, item.words


@pytest.mark.parametrize("name", RULES)
def test_every_rule_has_a_menu(name: str) -> None:
    assert group(Rewrite(name)) == "Laws" or not RULES[name].is_law or name in ("fence", "unwrap")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("8", 8), ("", 4), ("-1", 4), ("1e9", 4), ("٣", 4), (None, 4)),
        *(("9" * 9, 999_999_999), ("9" * 10, 4)),
    ],
)
def test_a_number_of_a_form_is_a_number_or_stays(text: object, value: int) -> None:
    edit = Rewrite("low-rank-adapter", "n10", (("rank", 4),))
    assert with_values(edit, {"rank": text, "nonsense": "1"}).options == (("rank", value),)


@pytest.mark.parametrize(("letters", "kept"), [(100, 100), (101, 100)])
def test_a_text_of_a_form_is_cut_and_a_switch_stays(letters: int, kept: int) -> None:
    edit = Rewrite("fence", "n10", (("title", "Block"), ("open", True)))
    found = with_values(edit, {"title": "x" * letters, "open": "3"})
    assert found.options == (("title", "x" * kept), ("open", True))


CHAIN = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("relu") >> Linear("k -> n:2", "P")'


def test_the_menus_of_an_op_end_with_what_is_not_possible() -> None:
    term = ncd.parse(CHAIN)
    found = menus(rewrites(term, "n0"), elaborate(term), refusals(term, "n0"))
    words = {title: [item.words for item in items] for title, items in found.items()}
    linear, softmax = words["Insert"][-4], words["Insert"][-1]
    assert (linear, softmax) == ("Linear map over k", "Softmax")  # which asks for its axis
    assert {title: own for title, own in words.items() if title != "Insert"} == {
        "Replace": ["An affine map, with a bias"],
        "Wrap": [
            *("Fence with a title", "Low-rank adapter", "A second one beside it, and add both"),
            *("Residual connection", "Repeat, each with its own weights"),
        ],
        "Remove": ["Remove"],
        "Laws": [
            *("Write as a product and a sum over axes", "Split into two linear maps"),
            "Write in simpler ops",
        ],
    }
    every = [item for items in found.values() for item in items]
    assert [item.words for item in every if item.removes] == ["Remove"]
    assert [item.words for item in every if item.refusal] == [*words["Wrap"][3:], "Remove"]


# --- the bar


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {"text": CHAIN}
    with patch.object(st, "session_state", state):
        yield state


def bar(scene: Scene | Refusal) -> dict[str, Any]:
    """What is sent to the bar, without its menus."""
    with patch.object(edit_bar, "_bar") as shown:
        edit_bar.render(scene)
    data: dict[str, Any] = shown.call_args.kwargs["data"]
    return {**data, "groups": [group["title"] for group in data["groups"]]}


def hint(words: str) -> str:
    return f'<span class="muted">{words}</span>'


@pytest.mark.parametrize(
    ("selected", "subject"),
    [
        ("n0", "<b>Linear Q</b>"),
        ("", hint(edit_bar.HINT)),
        ("s0", hint(edit_bar.DRAWN_ONCE)),
    ],
)
def test_the_bar_names_what_is_selected_and_what_was_done(
    selected: str, subject: str, session: dict[str, Any]
) -> None:
    session_edits.make_edit(Rewrite("remove", "n1"))
    entry = session_edits.session_system().system.entry
    here = replace(
        scene("lora"),
        **{"entry": entry, "settings": entry.settings({}), "term": entry.build()},
        selected_id=selected,
    )
    done = "Remove Elementwise relu"
    usual = {
        **{"at": 1, "first": "As it was", "steps": (done,), "subject": subject, "wrong": False},
        "groups": ["Insert", "Replace", "Wrap", "Remove", "Laws"] if selected == "n0" else [],
        "difference": f"<b>{done}</b>: the same parameters and FLOPs",
    }
    assert bar(here) == usual
    session[edit_bar.REFUSAL_KEY] = "No <op>."
    assert bar(here) == {**usual, "difference": "No &lt;op&gt;.", "wrong": True}
    assert edit_bar.REFUSAL_KEY not in session
    refused = Refusal(MismatchError("wrong"), "n0", entry, {})
    nothing = {"subject": hint(edit_bar.HINT), "groups": []}
    assert bar(refused) == {**usual, **nothing, "difference": ""}
    assert bar(replace(here, build_refusal=refused))["groups"] == []


def test_an_op_of_equal_layers_is_changed_in_all_of_them(session: dict[str, Any]) -> None:
    layers = scene("encoder-block", n=3)
    assert edit_bar._subject(layers, "n3", True) == f"<b>Linear q</b> {hint('in each of 3 layers')}"
    assert edit_bar._subject(layers, "n3", False) == f"<b>Linear q</b> {hint(edit_bar.NOTHING)}"


def test_an_axis_is_changed_where_nothing_else_is_selected(session: dict[str, Any]) -> None:
    session["axes"] = "y,m"
    assert edit_bar.place(scene("multi-head-attention")) == "axis:m"  # the last one
    assert edit_bar.place(replace(scene("lora"), selected_id="n1")) == "n1"
    session["axes"] = ""
    assert edit_bar.place(scene("multi-head-attention")) == ""


@pytest.mark.parametrize(
    ("wish", "went", "made"),
    [
        ({"go": 2}, [2], None),
        ({"go": -1}, [0], None),
        ({"go": True}, [], None),
        ({"apply": REPEAT.to_json()}, [], REPEAT),
        ({"apply": REPEAT.to_json(), "values": {"times": "3"}}, [],
         replace(REPEAT, options=(("times", 3),))),
        ({"apply": REPEAT.to_json(), "values": "3"}, [], REPEAT),
        ({"apply": "no edit"}, [], ""),
        ("go", [], None),
    ],
)  # fmt: skip
def test_what_is_pressed_in_the_bar_is_done(
    wish: object, went: list[int], made: Rewrite | str | None, session: dict[str, Any]
) -> None:
    steps: list[int] = []
    with (
        patch.object(edit_bar, "sent_value", lambda key, name: wish),
        patch.object(session_edits, "go_to", steps.append),
        patch.object(session_edits, "make_edit", lambda edit: edit),
        patch.object(st, "rerun") as rerun,
    ):
        edit_bar._answer()
    assert steps == went and rerun.called == isinstance(wish, dict)
    told = session.get(edit_bar.REFUSAL_KEY)
    assert isinstance(told, str) and told if made == "" else told == made
