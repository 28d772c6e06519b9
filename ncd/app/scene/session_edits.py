"""The edits of a session: made, taken back and made again, and what the last one has changed."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from ncd.answers.answer_sentences import result_sentence
from ncd.app.scene.edited_system import (
    EDITS_KEY,
    EditedSystem,
    moved_ids,
    read_edits,
    shape,
    system_after,
    write_edits,
)
from ncd.app.scene.own_entry import TEXT_KEY
from ncd.app.scene.scene import Scene, build_term
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.language.terms import Term
from ncd.rewrite.derivations import derivation_of, derivation_sentence
from ncd.rewrite.law_check import compare_sides
from ncd.rewrite.rewriting import Rewrite
from ncd.site import markup

UNDONE_KEY = "undone edits"  # a session key
EQUAL = 1e-9  # of the largest number; in 64 bits rounding is far below
MOTION_KEY = "motion of an edit"  # a session key: the drawing before, and the old id of each part


# --- The edits of the session, and what is done with them


def session_edits() -> tuple[Rewrite, ...]:
    """Returns the edits of the session, in the order in which they were made."""
    return read_edits(str(st.session_state.get(EDITS_KEY, "")))


def undone_edits() -> tuple[Rewrite, ...]:
    """Returns the edits that were taken back, in the order in which they would be made again."""
    found: tuple[Rewrite, ...] = st.session_state.get(UNDONE_KEY, ())
    return found


def session_system() -> EditedSystem:
    """Returns the system of the session's text after its edits; raises NCDError if it has none."""
    return system_after(session_text(), session_edits())


def edit_labels() -> tuple[str, ...]:
    """Returns the words of all edits of the session, also of those that were taken back."""
    return system_after(session_text(), (*session_edits(), *undone_edits())).labels


def clear_edits() -> None:
    """Forgets all edits, as another text comes."""
    st.session_state[EDITS_KEY] = ""
    st.session_state[UNDONE_KEY] = ()
    st.session_state.pop(MOTION_KEY, None)


def offer_derivation() -> None:
    """Lets the rest of a derivation be walked by redo, where its text and first laws are open."""
    found, made = derivation_of(session_text()), session_edits()
    if found is not None and found.rewrites[: len(made)] == made:
        st.session_state[UNDONE_KEY] = found.rewrites[len(made) :]


def make_edit(edit: Rewrite) -> str:
    """Makes an edit after those of the session; returns why it is impossible, or nothing."""
    before = session_edits()
    after = system_after(session_text(), (*before, edit))
    if after.refusal:
        return after.refusal
    st.session_state[UNDONE_KEY] = ()
    _turn_to(before, after.edits)
    _select_new_part(after)
    return ""


def go_to(count: int) -> None:
    """Takes edits back, or makes them again, until so many are made."""
    before = session_edits()
    every = (*before, *undone_edits())
    st.session_state[UNDONE_KEY] = every[count:]
    _turn_to(before, every[:count])


def session_text() -> str:
    """Returns the text of the session, as it was before the edits."""
    return str(st.session_state.get(TEXT_KEY, ""))


def _turn_to(before: Sequence[Rewrite], after: Sequence[Rewrite]) -> None:
    """Puts other edits into the session; the parts that stay keep what is known of them."""
    st.session_state[EDITS_KEY] = write_edits(after)
    text = session_text()
    old, new = system_after(text, before), system_after(text, after)
    ids = moved_ids(text, old.edits, new.edits)
    st.session_state[MOTION_KEY] = {"from": shape(old.system.entry), "ids": ids}
    by_old = {origin: id for id, origin in ids.items()}
    selected = str(st.session_state.get(selection.SELECTED_KEY, ""))
    st.session_state[selection.SELECTED_KEY] = by_old.get(selected, "")
    folded = selection.folded_text()
    if folded not in (selection.AUTO, selection.NONE):
        blocks = (by_old.get(id, "") for id in folded.split(","))
        st.session_state[selection.FOLDED] = ",".join(filter(None, blocks)) or selection.NONE


def _select_new_part(after: EditedSystem) -> None:
    """Selects the op that the last edit has brought, if it has brought one."""
    cells = elaborate(after.term).cells
    new = next((cell.id for cell in cells if cell.id not in after.origins), None)
    if new is not None:
        st.session_state[selection.SELECTED_KEY] = new


# --- What the last edit has changed


def difference_html(now: EditedSystem, scene: Scene) -> str:
    """Returns as HTML by how much the last edit has changed costs and results; empty without one.

    Both systems have the sizes of the scene, but for one that the edit has changed.
    """
    if not now.edits or not scene.has_all_sizes:
        return "" if now.edits else _derivation_words()
    before = system_after(session_text(), now.edits[:-1]).system.entry
    usual = {knob.name: knob.default for knob in now.system.entry.knobs}
    same = {knob.name for knob in before.knobs if usual.get(knob.name) == knob.default}
    sizes = {name: n for name, n in scene.settings.items() if name in same}
    term, refused = build_term(before, sizes)
    words = f"<b>{markup.sentence(now.labels[-1])}</b>"
    if term is None or refused:
        return words
    said = difference_words(cost_of(elaborate(term)), scene.cost)
    if scene.loaded_weights is not None:
        said = f"{said}; weights {scene.loaded_weights.summary}"
    if now.edits[-1].is_law and (sides := law_words(scene, term, now.edits[-1])):
        said = f"{sides}; {said}"
    if term.cod != scene.term.cod:
        shapes = [array.shape for array in scene.term.cod]
        said = f"{said}; {result_sentence(scene.term.cod, shapes)}"
    sentence = derivation_sentence(session_text(), now.edits)
    why = f'<br><span class="sentence">{markup.text(sentence)}</span>' if sentence else ""
    return f"{words}: {markup.text(said)}{why}"


def _derivation_words() -> str:
    """Returns as HTML what a text that begins a derivation leads to; empty for others."""
    found = derivation_of(session_text())
    if found is None:
        return ""
    count = markup.plural(len(found.steps), "law")
    return f"<b>{markup.text(found.title)}</b>, in {count}: press ↷ for each."


def law_words(scene: Scene, term: Term, law: Rewrite) -> str:
    """Returns by how much the results of a law's two sides differ; empty where they do not run."""
    if not scene.can_run or not scene.is_quick:
        return ""
    try:
        found = cached_value(
            "law",
            term,
            law,
            make=lambda: scene.run_in_pool(lambda: compare_sides(term, law)),
        )
    except NCDError:
        return ""
    off = max(found)
    equal = "equal" if off < EQUAL else "not equal"
    return f"{equal}: largest difference {markup.digits(off)}, with gradients, in 64 bits"


def difference_words(old: Cost, new: Cost) -> str:
    """Returns by how much one cost differs from another, in words.

    >>> from ncd import cost, parse
    >>> old, new = (cost(parse(text)) for text in ('Linear("m:4 -> k:4")', 'Linear("m:4 -> k:5")'))
    >>> difference_words(old, new), difference_words(old, old)
    ('+ 4 parameters, + 25 % FLOPs', 'the same parameters and FLOPs')
    """
    more = new.parameters - old.parameters
    said = [f"{_sign(more)} {markup.plural(abs(more), 'parameter')}"] if more else []
    if new.flops != old.flops:
        share = abs(new.flops / old.flops - 1) if old.flops else 0.0
        amount = f"{markup.digits(100 * share)} % FLOPs" if 5e-4 < share < 10 else ""
        far = markup.flops(abs(new.flops - old.flops))
        said.append(f"{_sign(new.flops - old.flops)} {amount or far}")
    return ", ".join(said) or "the same parameters and FLOPs"


def _sign(number: int) -> str:
    return "+" if number > 0 else "−"
