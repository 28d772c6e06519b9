"""Controls of panels, as data: session key, default, valid values, HTML and link follow from each.

A panel declares each control once, and lists those that it reads. They belong to the panel: the
link of a page knows the controls of its own panels only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import streamlit as st

from ncd.app.state.session import rerun_page, session

NUMBER = re.compile("-?[0-9]{1,9}")  # int() fails for thousands of digits


class Control:
    """A value that a visitor chooses in a panel; ``name`` is its session key, also in the link."""

    name: str
    default: str
    meaning: ClassVar[str] = ""  # other pages do not take it over
    is_compressed: ClassVar[bool] = False

    def read(self, text: str) -> str | None:
        """Returns the value that a text stands for, or None if it is not valid."""
        raise NotImplementedError

    @property
    def value(self) -> str:
        """The value in the session; the default if there is none, or one that is not valid."""
        found = self.read(str(session().get(self.name, self.default)))
        return self.default if found is None else found

    def put(self, text: str) -> None:
        """Stores a value, if it is valid; a callback."""
        if (value := self.read(text)) is not None:
            session()[self.name] = value

    def action(self, value: object) -> str:
        """Returns what an element asks for that sets the control, as its ``data-pick``."""
        return f"{self.name}={value}"

    def button(
        self, value: object, label: str, pressed: bool | None = None, look: str = "plain"
    ) -> str:
        """Returns a button that sets the control, as HTML.

        Args:
            value: What it sets the control to.
            label: HTML that stands on it.
            pressed: Whether that is its value now, if it is one of several buttons.
            look: Its CSS class.
        """
        state = "" if pressed is None else f' aria-pressed="{str(pressed).lower()}"'
        return (
            f'<button type="button" class="{look}" data-pick="{self.action(value)}"{state}>'
            f"{label}</button>"
        )


@dataclass(frozen=True)
class Choice(Control):
    """One of some values; ``options`` may map each to what stands on its button."""

    name: str
    options: Collection[str]
    default: str

    def read(self, text: str) -> str | None:
        """Returns the text if it is one of the options.

        >>> Choice("shown", ("state", "change"), "state").read("nonsense")
        """
        return text if text in self.options else None

    def html(self) -> str:
        """Returns a button for each option, as HTML."""
        labels = self.options if isinstance(self.options, Mapping) else {n: n for n in self.options}
        return "".join(
            f"{self.button(value, label, value == self.value)} " for value, label in labels.items()
        )

    def segments(self, label: str, on_change: Callable[[], None] | None = None) -> None:
        """Shows the options as a control of Streamlit."""
        st.segmented_control(
            label,
            list(self.options),
            default=self.default,
            required=True,
            key=self.name,
            on_change=on_change,
        )


@dataclass(frozen=True)
class Range(Control):
    """A number out of a range that is the same on every page."""

    name: str
    numbers: range
    start: int

    @property
    def default(self) -> str:  # type: ignore[override]
        """The number at first, as text."""
        return str(self.start)

    def read(self, text: str) -> str | None:
        """Returns the text if it is a number in the range.

        >>> beta = Range("beta", range(-20, 21), 0)
        >>> beta.read("-7"), beta.read("21"), beta.read("1e1")
        ('-7', None, None)
        """
        return text if NUMBER.fullmatch(text) and int(text) in self.numbers else None

    @property
    def number(self) -> int:
        """The chosen number."""
        return int(self.value)

    def html(self, text: str, label: str = "", numbers: range | None = None) -> str:
        """Returns a slider over the range, or over a part of it, as HTML."""
        return slider(text, self.name, numbers or self.numbers, self.number, label)

    def number_field(self, text: str) -> str:
        """Returns a field to type the number in, as HTML."""
        return (
            f'<label class="cut">{text} <input type="number" min="{self.numbers[0]}" '
            f'max="{self.numbers[-1]}" value="{self.number}" data-set="{self.name}"></label>'
        )


@dataclass(frozen=True)
class Place(Control):
    """A place along something, such as a token or a head, whose count only the panel knows.

    Without a ``start`` the panel says at which place it begins.
    """

    name: str
    start: int | None = 0

    @property
    def default(self) -> str:  # type: ignore[override]
        """The place at first, as text; empty if the panel says it."""
        return "" if self.start is None else str(self.start)

    def read(self, text: str) -> str | None:
        """Returns the text if it is a number that is not negative.

        >>> Place("head").read("3"), Place("head").read("-3"), Place("head").read("")
        ('3', None, None)
        """
        fits = text.isascii() and text.isdecimal() and len(text) < 10
        return text if fits or (not text and self.start is None) else None

    def among(self, count: int, start: int = 0) -> int:
        """Returns the chosen place below ``count``, the last one for a larger number.

        The session then has that one as well, and the page runs again, so that its link says what
        is shown.

        Args:
            count: The number of places, at least 1.
            start: The place at which the panel begins, if the control has no start of its own.
        """
        at = int(self.value or start)
        if at >= count and self.name in session():
            self.put(str(count - 1))
            rerun_page()
        return min(at, count - 1)

    def html(self, text: str, count: int, at: int) -> str:
        """Returns a slider over all places, at one of them, as HTML; empty for one place only."""
        return slider(text, self.name, range(count), at)


@dataclass(frozen=True)
class Switches(Control):
    """Names that are switched, separated by commas; a click on one turns it, on none clears all."""

    name: str
    longest: int
    default: str = ""

    def read(self, text: str) -> str | None:
        """Returns the text if it is short enough."""
        return text if len(text) <= self.longest else None

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are switched, in the order in which they were."""
        return tuple(dict.fromkeys(name for name in self.value.split(",") if name))

    def set(self, names: Iterable[str]) -> None:
        """Switches these names, and no others; a callback."""
        super().put(",".join(names))

    def put(self, text: str) -> None:
        """Turns one switch, or all of them back if the name is empty; a callback."""
        others = [name for name in self.names if name != text]
        self.set(() if not text else others if text in self.names else (*others, text))


@dataclass(frozen=True)
class TextControl(Control):
    """A text, such as a sequence of symbols, that matches the whole ``pattern``."""

    name: str
    pattern: str = "(?s:.*)"
    longest: int = 100
    default: str = ""

    def read(self, text: str) -> str | None:
        """Returns the text if it is the default, or matches and is not too long.

        >>> patch = TextControl("patch", r"[0-9]{1,6}\\.[0-9]{1,6}")
        >>> patch.read("3.4"), patch.read("3,4"), patch.read("")
        ('3.4', None, '')
        """
        fits = len(text) <= self.longest and re.fullmatch(self.pattern, text)
        return text if fits or text == self.default else None


@dataclass(frozen=True)
class GridPlace(TextControl):
    """A row and a column of a grid whose size only the panel knows; empty at first."""

    pattern: str = r"[0-9]{1,6}\.[0-9]{1,6}"

    def among(self, rows: int, columns: int) -> tuple[int, int] | None:
        """Returns the chosen row and column, the last ones for larger numbers; None at first.

        As with :meth:`Place.among`, the session then has those as well.

        >>> session()["patch"] = "3.4"
        >>> GridPlace("patch").among(8, 8)
        (3, 4)
        """
        if not self.value:
            return None
        chosen = row, column = tuple(map(int, self.value.split(".")))
        at = min(row, rows - 1), min(column, columns - 1)
        if at != chosen:
            self.put(f"{at[0]}.{at[1]}")
            rerun_page()
        return at


def pick(controls: Iterable[Control], name: str, value: str) -> bool:
    """Sets the control with a name; returns False if there is none. A callback."""
    for control in controls:
        if control.name == name:
            control.put(value)
            return True
    return False


def slider(text: str, name: str, numbers: range, at: int, label: str = "") -> str:
    """Returns a slider over some numbers as HTML; empty for fewer than two.

    Args:
        text: What is read aloud of its position, and stands before it.
        name: The control or the knob that it sets.
        numbers: The numbers, one after the other.
        at: The one where it stands.
        label: HTML that stands before it instead.
    """
    if len(numbers) < 2:
        return ""
    return (
        f'<label class="cut">{label or text} <input type="range" min="{numbers[0]}" '
        f'max="{numbers[-1]}" value="{at}" data-set="{name}" aria-valuetext="{text}"></label>'
    )
