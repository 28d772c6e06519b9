"""A name of the session that the link of a page keeps."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.view.session import link_text

Value = str | int | bool


@dataclass(frozen=True)
class Kept:
    """A name that is kept: how it begins, what it may be, if that is a choice, and how long.

    Settings of one ``meaning`` go along from page to page; a long text may be ``packed``.
    """

    default: Value
    among: tuple[str, ...] = ()
    meaning: str = ""
    longest: int = 100
    packed: bool = False

    def read(self, text: str) -> Value | None:
        """Returns the value of a text, or None for a text that is no valid value.

        >>> Kept(False).read("1"), Kept("op", ("op", "all")).read("no")
        (True, None)
        """
        if isinstance(self.default, bool):
            return {"true": True, "1": True, "false": False, "0": False}.get(text.lower())
        if self.packed:
            return link_text.unpacked(text)
        if self.default == "0" and not (text.isdecimal() and len(text) < 10):
            return None
        if isinstance(self.default, int):
            return text[: self.longest]  # the knobs read it
        known = text in self.among if self.among else len(text) <= self.longest
        return text if known else None
