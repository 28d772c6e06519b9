"""Menus of edits: what is one item, what its form asks for, and what comes back from it."""

from __future__ import annotations

import pytest

import ncd
from ncd.app.figure.edit_menus import EditField, group, menus, with_values
from ncd.circuit.elaborate import elaborate
from ncd.rewrite.rewriting import Rewrite, apply, rewrites
from ncd.rewrite.rule_catalogue import RULES

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
    ("text", "value"), [("8", 8), ("", 4), ("-1", 4), ("1e9", 4), ("9" * 12, 4), (None, 4)]
)
def test_a_number_of_a_form_is_a_number_or_stays(text: object, value: int) -> None:
    edit = Rewrite("low-rank-adapter", "n10", (("rank", 4),))
    assert with_values(edit, {"rank": text, "nonsense": "1"}).options == (("rank", value),)
