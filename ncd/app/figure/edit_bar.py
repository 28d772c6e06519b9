"""The bar above a diagram by which a system is changed: undo, redo, and menus of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene import session_edits as edits
from ncd.app.scene.edited_system import place_words
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.errors import NCDError
from ncd.rewrite.rewriting import Rewrite, rewrites
from ncd.rewrite.rules.rule import AXIS_PREFIX
from ncd.site import markup
from ncd.site.scripts import script

KEY = "changes"
REFUSAL_KEY = "refusal of an edit"  # a session key
HINT = "Select an op, a wire, a block or an axis to change it."
NOTHING = "Nothing can be changed here."
LAWS, OTHER = "Laws", "Change"
GROUPS = ("Insert", "Replace", "Wrap", OTHER, "Remove", LAWS)  # the menus, in their order
GROUP_OF = {"insert": "Insert", "replace": "Replace", "remove": "Remove", "wrap": "Wrap"}
AXES = "axes"  # the option that says over which axes
FIELD_NAMES: Mapping[str, str] = {"axes": "over", "times": "how many times"}
LARGEST = 4096  # a number in a form

_bar = st.components.v2.component(
    "ncd_edits",
    html=read_static("figure/edit_bar.html"),
    css=read_static("figure/edit_bar.css"),
    js=script("app/figure/edit_bar.js"),
)


# --- The menus: what can be changed at a place


@dataclass(frozen=True)
class EditField:
    """A field of a form: an option of an edit, with what is usual in it.

    ``options`` are its choices, if it has only some; a number has a ``minimum`` and a ``maximum``.
    """

    name: str
    label: str
    value: str
    options: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class EditItem:
    """An item of a menu: an edit as JSON, its words, and the fields of its form."""

    key: str
    words: str
    fields: tuple[EditField, ...] = ()
    removes: bool = False


def menus(found: Sequence[Rewrite]) -> dict[str, tuple[EditItem, ...]]:
    """Returns the items of each menu that is not empty.

    Edits that differ in their axes alone are one item, whose form asks for the axes.

    >>> from ncd import parse
    >>> term = parse('Linear("m:3 -> k:2") >> Softmax("k")')
    >>> {title: len(items) for title, items in menus(rewrites(term, "n1")).items()}
    {'Insert': 11, 'Replace': 2, 'Remove': 1}
    """
    alike: dict[tuple[object, ...], list[Rewrite]] = {}
    for one in found:
        rest = tuple(option for option in one.options if option[0] != AXES)
        alike.setdefault((one.name, one.at, rest), []).append(one)
    items: dict[str, list[EditItem]] = {title: [] for title in GROUPS}
    for own in alike.values():
        title = group(own[0])
        items[title].append(_item(own, title))
    return {title: tuple(own) for title, own in items.items() if own}


def group(edit: Rewrite) -> str:
    """Returns the menu in which an edit stands."""
    return LAWS if edit.is_law else GROUP_OF.get(edit.name, OTHER)


def _item(alike: Sequence[Rewrite], title: str) -> EditItem:
    first, axes = alike[0], [str(dict(own.options).get(AXES, "")) for own in alike]
    words = first.title.removeprefix(f"{title} ").removeprefix("by ")
    fields: list[EditField] = []
    if len(alike) > 1:
        words = words.removesuffix(f" over {axes[0]}")
        fields.append(EditField(AXES, FIELD_NAMES[AXES], axes[0], tuple(axes)))
    fields += [_field(name, value) for name, value in first.options if _is_free(name, value)]
    return EditItem(
        first.to_json(), words[:1].upper() + words[1:], tuple(fields), first.name == "remove"
    )


def _is_free(name: str, value: object) -> bool:
    """Returns whether a visitor may put another value into an option."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _field(name: str, value: Any) -> EditField:
    least = 1 if isinstance(value, int) else None
    return EditField(name, FIELD_NAMES.get(name, name), str(value), (), least, LARGEST)


def with_values(edit: Rewrite, values: Mapping[str, object]) -> Rewrite:
    """Returns an edit with the values of a form, each of the kind that the option has.

    >>> with_values(Rewrite("repeat", "f0", (("times", 2),)), {"times": "3", "other": "x"}).options
    (('times', 3),)
    """
    return replace(
        edit,
        options=tuple((name, _like(value, values.get(name))) for name, value in edit.options),
    )


def _like(value: Any, said: object) -> Any:
    """Returns what a form says as the kind of value that stands there, or that value."""
    if not isinstance(said, str):
        return value
    if isinstance(value, str):
        return said[:100]
    try:
        return type(value)(said)
    except (TypeError, ValueError):
        return value


# --- The place that is selected


def place(scene: Scene) -> str:
    """Returns the place of a scene that is selected: an op, array or block, or else an axis."""
    if scene.selected_id:
        return "" if scene.selected_id.startswith("s") else scene.selected_id
    axes = selection.axes(scene.circuit, scene.entry).split(",")
    return next((f"{AXIS_PREFIX}{name}" for name in reversed(axes) if name), "")


def edits_at(scene: Scene, at: str) -> tuple[Rewrite, ...]:
    """Returns what can be changed at a place of a scene."""

    def make() -> tuple[Rewrite, ...]:
        try:
            return rewrites(scene.term, at)
        except NCDError:
            return ()

    return cached_value("rewrites", scene.term, at, make=make) if at else ()


# --- The bar on the page


def render(scene: Scene | Refusal) -> None:
    """Shows the bar for the system of the session."""
    now = edits.session_system()
    at = place(scene) if isinstance(scene, Scene) and not scene.build_refusal else ""
    found = menus(edits_at(scene, at)) if isinstance(scene, Scene) and at else {}
    refusal = st.session_state.pop(REFUSAL_KEY, "") or now.refusal
    difference = "" if isinstance(scene, Refusal) else edits.difference_html(now, scene)
    data = {
        "at": len(now.edits),
        "first": "As it was",
        "steps": edits.every_label(),
        "subject": _subject(scene, at, bool(found)),
        "groups": [{"title": title, "items": _data(items)} for title, items in found.items()],
        "difference": markup.text(refusal) or difference,
        "wrong": bool(refusal),
    }
    _bar(key=KEY, data=data, on_wish_change=_answer)


def _subject(scene: Scene | Refusal, at: str, changeable: bool) -> str:
    if isinstance(scene, Refusal) or not at:
        return f'<span class="muted">{HINT}</span>'
    words = f"<b>{markup.sentence(place_words(scene.circuit, at))}</b>"
    return words if changeable else f'{words} <span class="muted">{NOTHING}</span>'


def _data(items: Iterable[EditItem]) -> list[dict[str, Any]]:
    return [
        {
            "key": item.key,
            "words": item.words,
            "hint": "",
            "removes": item.removes,
            "fields": [
                {
                    "name": own.name,
                    "label": own.label,
                    "value": own.value,
                    "options": own.options,
                    "minimum": own.minimum,
                    "maximum": own.maximum,
                }
                for own in item.fields
            ],
        }
        for item in items
    ]


def _answer() -> None:
    """Does what was pressed in the bar; a callback."""
    wish = sent_value(KEY, "wish")
    if not isinstance(wish, dict):
        return
    if isinstance(count := wish.get("go"), int) and not isinstance(count, bool):
        edits.go_to(max(0, count))
    elif isinstance(key := wish.get("apply"), str):
        values = wish.get("values")
        try:
            edit = with_values(Rewrite.from_json(key), values if isinstance(values, dict) else {})
            st.session_state[REFUSAL_KEY] = edits.make_edit(edit)
        except NCDError as error:
            st.session_state[REFUSAL_KEY] = str(error)
    st.rerun()  # the text is outside of the fragment that a press reruns
