"""Menus of the edits that apply at a place, and the forms of those that a visitor completes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from ncd.app.scene.edited_system import place_words
from ncd.circuit.circuit import Circuit
from ncd.rewrite.rewriting import Rewrite

INSERT, REPLACE, WRAP, OTHER, REMOVE, LAWS = GROUPS = (  # the menus, in their order
    *("Insert", "Replace", "Wrap", "Change", "Remove"),
    "Laws",
)
GROUP_OF: Mapping[str, str] = {
    "insert": INSERT,
    "replace": REPLACE,
    **dict.fromkeys(("residual", "repeat", "fence", "low-rank-adapter", "duplicate"), WRAP),
    **dict.fromkeys(("remove", "bypass", "unwrap"), REMOVE),
}
WORDS: Mapping[str, str] = {  # of edits whose title names a value that the form asks for
    "repeat": "Repeat, each with its own weights",
    "fence": "Fence with a title",
    "low-rank-adapter": "Low-rank adapter",
    "residual": "Residual connection",
    "duplicate": "A second one beside it, and add both",
    "layer-count": "Another number of layers",
    "rename-axis": "Another name",
    "resize-axis": "Another size",
    "split-axis": "Split into two axes",
    "skip": "Add a skip connection",
}
CHOSEN_OPTION: Mapping[str, str] = {"insert": "axes", "skip": "from"}  # one of those that fit
TYPED_OPTIONS: Mapping[str, str] = {  # the option that a visitor may set to any value
    "repeat": "times",
    "fence": "title",
    "low-rank-adapter": "rank",
    "layer-count": "count",
    "rename-axis": "to",
    "resize-axis": "size",
    "split-axis": "first",
}
FIELD_LABELS: Mapping[str, str] = {
    "axes": "over",
    "times": "how often",
    "count": "layers",
    "to": "its name",
    "first": "size of the first",
}
LARGEST = 1_000_000  # a number in a form
NO_REFUSALS: Mapping[Rewrite, str] = MappingProxyType({})


@dataclass(frozen=True)
class EditField:
    """A field of a form: an option of an edit, with what is usual in it.

    ``options`` are its choices, each with its words, if it has only some; ``is_number`` says
    whether it is a number, which goes up to ``maximum``.
    """

    name: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...] = ()
    is_number: bool = False
    maximum: int = LARGEST


@dataclass(frozen=True)
class EditItem:
    """An item of a menu: an edit as JSON, its words, and the fields of its form.

    ``refusal`` says why it is not possible, if it is not.
    """

    key: str
    words: str
    fields: tuple[EditField, ...] = ()
    removes: bool = False
    refusal: str = ""


def menus(
    found: Sequence[Rewrite], circuit: Circuit, refused: Mapping[Rewrite, str] = NO_REFUSALS
) -> dict[str, tuple[EditItem, ...]]:
    """Returns the items of each menu that is not empty; those that are refused stand at its end.

    Edits that differ in one choice alone, such as their axes, are one item, whose form asks for it.

    >>> from ncd import elaborate, parse
    >>> from ncd.rewrite.rewriting import rewrites
    >>> term = parse('Linear("m:3 -> k:2") >> Softmax("k")')
    >>> [*menus(rewrites(term, "n1"), elaborate(term))]
    ['Insert', 'Replace', 'Wrap', 'Remove', 'Laws']
    """
    alike: dict[tuple[object, ...], list[Rewrite]] = {}
    for one in found:
        asked = CHOSEN_OPTION.get(one.name), TYPED_OPTIONS.get(one.name)
        rest = tuple(option for option in one.options if option[0] not in asked)
        alike.setdefault((one.name, one.at, rest), []).append(one)
    items: dict[str, list[EditItem]] = {title: [] for title in GROUPS}
    for edits in alike.values():
        title = group(edits[0])
        items[title].append(_item(edits, title, circuit))
    for edit, why in refused.items():
        item = _item([edit], group(edit), circuit)
        items[group(edit)].append(replace(item, fields=(), refusal=why))
    return {title: tuple(each) for title, each in items.items() if each}


def group(edit: Rewrite) -> str:
    """Returns the menu in which an edit stands."""
    return GROUP_OF.get(edit.name, LAWS if edit.is_law else OTHER)


def _item(alike: Sequence[Rewrite], title: str, circuit: Circuit) -> EditItem:
    first = alike[0]
    words = first.title.removeprefix(f"{title} ").removeprefix("by ")
    fields: list[EditField] = []
    if len(alike) > 1 and (name := CHOSEN_OPTION.get(first.name)):
        values = [str(dict(one.options)[name]) for one in alike]
        words = words.removesuffix(f" over {values[0]}")
        options = tuple((value, _choice_words(name, value, circuit)) for value in values)
        fields.append(EditField(name, FIELD_LABELS.get(name, name), values[0], options))
    if name := TYPED_OPTIONS.get(first.name):
        value = dict(first.options)[name]
        number = isinstance(value, int)
        fields.append(EditField(name, FIELD_LABELS.get(name, name), str(value), (), number))
    words = WORDS.get(first.name, words)
    removes = first.name == "remove"
    return EditItem(first.to_json(), words[:1].upper() + words[1:], tuple(fields), removes)


def _choice_words(name: str, value: str, circuit: Circuit) -> str:
    """Returns a choice in words; an array has a name, and its axes."""
    if name != "from":
        return value
    return f"{place_words(circuit, value)} ({circuit.values[value].array})"


def with_values(edit: Rewrite, values: Mapping[str, object]) -> Rewrite:
    """Returns an edit with the values of a form, each of the kind that the option has.

    >>> with_values(Rewrite("repeat", "f0", (("times", 2),)), {"times": "3", "other": "x"}).options
    (('times', 3),)
    """
    options = tuple((name, _like(value, values.get(name))) for name, value in edit.options)
    return replace(edit, options=options)


def _like(value: Any, text: object) -> Any:
    """Returns what a form says as the kind of value that stands there, or that value."""
    if not isinstance(text, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else value
    return text[:100] if isinstance(value, str) else value
