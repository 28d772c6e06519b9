"""The keys of what stands on every page, which no axis may have as its name: a slider has it."""

from __future__ import annotations

_ELEMENTS = (
    "address beyond canvas covered device diagram editor example export field file header heavy "
    "input lead opens pages panels pool positions prediction present preset proofread question "
    "refusal reset seed sizes stale stepping typed unpresented why"
)
_PANELS = "attention budget card code cost equation graph shapes source styles values"
KEYS = frozenset(f"{_ELEMENTS} {_PANELS}".split())
