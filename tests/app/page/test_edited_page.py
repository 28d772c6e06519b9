"""The page Yours with edits: its bar, its text, its link, and systems that are opened there."""

from __future__ import annotations

import json
import re
from typing import Any

import ncd
from ncd.app.scene.edited_system import EDITS_KEY, system_after, write_edits
from ncd.app.state.link_text import compress_text
from ncd.rewrite.derivations import LINEAR_ATTENTION
from ncd.rewrite.rewriting import Rewrite
from tests.app.page.test_own_page import editor, sizes
from tests.app.page.test_pages import fine, opened

CHAIN = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("relu") >> Linear("k -> n:2", "P")'
REMOVE = Rewrite("remove", "n1")
LINKED = {"text": CHAIN, EDITS_KEY: compress_text(write_edits([REMOVE]))}


def bar(app: Any) -> dict[str, Any]:
    """What the bar is given to show."""
    (found,) = (e.proto for e in app.get("bidi_component") if e.proto.id.endswith("-changes"))
    given: dict[str, Any] = json.loads(found.json)
    return given


def test_nothing_is_offered_until_something_is_selected() -> None:
    app = opened("pages/yours.py", text=CHAIN)
    fine(app)
    given = bar(app)
    assert (given["at"], given["steps"], given["groups"]) == (0, [], [])
    assert "Select an op, a wire, a block or an axis" in given["subject"]


def test_the_bar_offers_what_can_be_changed_at_the_selected_op() -> None:
    app = opened("pages/yours.py", text=CHAIN, select="n1")
    groups = {each["title"]: each["items"] for each in bar(app)["groups"]}
    assert list(groups) == ["Insert", "Replace", "Wrap", "Remove", "Laws"]
    assert [item["words"] for item in groups["Remove"]] == ["Remove"]
    words = [item["words"] for item in groups["Replace"]]
    assert "GELU" in words and "ReLU" not in words
    (linear,) = (item for item in groups["Insert"] if item["words"].startswith("Linear map"))
    assert json.loads(linear["key"])["op"] == "linear"


def test_what_does_not_fit_is_listed_with_its_reason() -> None:
    groups = {
        each["title"]: each["items"]
        for each in bar(opened("pages/yours.py", text=CHAIN, select="n0"))["groups"]
    }
    refused = {item["words"]: item["refusal"] for item in groups["Remove"]}
    why = "it takes (t m) and gives (t k), so that nothing would give what comes after it"
    assert refused == {"Remove": why}
    refused = {item["words"]: item["refusal"] for item in groups["Wrap"] if item["refusal"]}
    assert refused["Residual connection"] == "it takes (t m) and gives (t k)"


def test_an_edit_in_a_repetition_changes_every_layer_and_says_so() -> None:
    text = 'Repeat((Linear("~t:5 m:4 -> t m", "Q") >> Elementwise("relu"),) * 3)'
    assert "in each of 3 layers" in bar(opened("pages/yours.py", text=text, select="n1"))["subject"]
    edit = Rewrite("replace", "n1", (("by", "gelu"),))
    assert system_after(text, (edit,)).system.entry.text.count("gelu") in (1, 3)


def test_the_text_of_a_derivation_is_walked_by_redo() -> None:
    text, first = LINEAR_ATTENTION.text, LINEAR_ATTENTION.steps[0]
    given = bar(opened("pages/yours.py", text=compress_text(text)))
    assert given["at"] == 0 and len(given["steps"]) == 2
    assert "Linear attention</b>, in 2 laws" in given["difference"]
    link = compress_text(write_edits([first.rewrite]))
    given = bar(opened("pages/yours.py", text=compress_text(text), **{EDITS_KEY: link}))
    assert given["at"] == 1 and len(given["steps"]) == 2
    assert first.sentence in given["difference"] and "equal: largest" in given["difference"]


def test_axes_of_one_edit_are_a_choice_in_its_form() -> None:
    text = ncd.spell(ncd.catalogue["multi-head-attention"].build())
    app = opened("pages/yours.py", text=text, select="n3")
    groups = {each["title"]: each["items"] for each in bar(app)["groups"]}
    (norm,) = (item for item in groups["Insert"] if item["words"] == "Layer norm")
    assert [field["options"] for field in norm["fields"]] == [[["h", "h"], ["k", "k"]]]


def test_a_law_is_shown_with_the_difference_of_its_sides() -> None:
    law = Rewrite("write", "n1", (("as", "steps"),))
    text = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Softmax("k")'
    app = opened("pages/yours.py", text=text, **{EDITS_KEY: compress_text(write_edits([law]))})
    fine(app)
    found = re.search(r"equal: largest difference ([^,]+), with gradients", bar(app)["difference"])
    assert found is not None and (found[1] == "0" or found[1].endswith(("⁻¹⁶", "⁻¹⁷", "⁻¹⁵")))


def test_a_link_makes_its_edits_again() -> None:
    app = opened("pages/yours.py", **LINKED)
    fine(app)
    given = bar(app)
    assert (given["at"], given["steps"]) == (1, ["Remove Elementwise relu"])
    assert "the same parameters and FLOPs" in given["difference"]
    assert editor(app)["text"] == system_after(CHAIN, (REMOVE,)).system.entry.text
    assert sizes(app) == {"t": 5, "m": 4, "k": 3, "n": 2}
    assert app.session_state["text"] == CHAIN  # to which the link adds the edits


def test_sizes_stay_when_an_edit_is_made() -> None:
    app = opened("pages/yours.py", text=CHAIN)
    app.slider(key="k").set_value(7).run()
    app.session_state[EDITS_KEY] = write_edits([Rewrite("insert", "v1", (("op", "linear"),))])
    app.run()
    fine(app)
    assert sizes(app)["k"] == 7
    assert "+ 56 parameters" in bar(app)["difference"]  # 7 · 7 weights and 7 biases


def test_an_edit_of_a_size_moves_its_slider() -> None:
    app = opened("pages/yours.py", text=CHAIN)
    app.slider(key="n").set_value(9).run()
    edit = Rewrite("resize-axis", "axis:k", (("size", 6),))
    app.session_state[EDITS_KEY] = write_edits([edit])
    app.run()
    fine(app)
    assert sizes(app) == {"t": 5, "m": 4, "k": 6, "n": 9}
    assert "+ 327 parameters" in bar(app)["difference"]  # 3 more of 5 · 5 · 4, and of 9
    app.session_state[EDITS_KEY] = ""
    app.run()
    assert sizes(app) == {"t": 5, "m": 4, "k": 3, "n": 9}


def test_typing_into_the_text_makes_it_the_new_beginning() -> None:
    app = opened("pages/yours.py", **LINKED)
    app.session_state["text"], app.session_state[EDITS_KEY] = "b i, i j -> b j", ""
    app.run()
    fine(app)
    assert (bar(app)["at"], sizes(app)) == (0, {"b": 8, "i": 8, "j": 8})


def test_a_link_whose_edit_is_impossible_says_why() -> None:
    wrong = compress_text(write_edits([REMOVE, Rewrite("remove", "n0")]))
    app = opened("pages/yours.py", text=CHAIN, **{EDITS_KEY: wrong})
    fine(app)
    given = bar(app)
    assert given["at"] == 1 and given["wrong"]
    assert given["difference"].startswith("Remove n0: it takes (t m) and gives (t k)")


def test_a_system_opens_to_be_changed_with_its_sizes() -> None:
    """Its switch for a mask is no size: it is in the term."""
    query = {"of": "multi-head-attention", "h": "2", "causal": "true", "select": "n5"}
    app = opened("pages/yours.py", **query)
    fine(app)
    term = ncd.catalogue["multi-head-attention"].build(h=2, causal=1)
    assert app.session_state["text"] == ncd.spell(term)
    assert sizes(app) == {"y": 20, "m": 128, "x": 22, "k": 16, "h": 2}
    assert bar(app)["subject"] == "<b>Scale</b>"
    assert not any("does not know" in caption.value for caption in app.caption)


def test_a_system_that_does_not_exist_opens_what_it_always_has() -> None:
    app = opened("pages/yours.py", of="nonsense")
    fine(app)
    assert sizes(app) == {"t": 12, "m": 64, "d": 256}


def test_a_text_that_fails_offers_no_edits() -> None:
    app = opened("pages/yours.py", text="nn.Linear(8, 3)(torch.randn(5, 9))")
    assert not [e for e in app.get("bidi_component") if e.proto.id.endswith("-changes")]
