"""Terms of the catalogue at settings of which some give no term together."""

from __future__ import annotations

from collections.abc import Mapping

from ncd import Entry, SizeError, Term
from ncd.app.scene.refusal import refusal_of


def legal_term(entry: Entry, settings: Mapping[str, int]) -> Term:
    """Returns the term at these settings, or at the nearest ones that the page of it offers."""
    try:
        return entry.build(**settings)
    except SizeError as error:  # such as a window larger than the image
        way, *_ = refusal_of(error, entry, settings, None).fixes
        return entry.build(**{**settings, **way})
