"""Describes a session key that the link of a page stores."""

from __future__ import annotations

from dataclasses import dataclass

from ncd.view.session import link_text

Value = str | int | bool


@dataclass(frozen=True)
class Kept:
    """A session key: its default, its allowed values, if limited, and its greatest length.

    Pages share the values of keys with the same ``meaning``; a long text may be ``packed``
    (compressed).
    """

    default: Value
    among: tuple[str, ...] = ()
    meaning: str = ""
    longest: int = 100
    packed: bool = False

    def read(self, text: str) -> Value | None:
        """Returns the value that a text stands for, or None if it is not valid.

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
            return text[: self.longest]  # parsed by the knobs
        known = text in self.among if self.among else len(text) <= self.longest
        return text if known else None
