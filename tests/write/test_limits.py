"""Limits of terms as JSON, at their edges."""

from __future__ import annotations

import pytest

from ncd import Id, ParseError, Repeat, from_json, to_json
from ncd.write import term_json
from tests.support.limits import Limit

REPEATED = to_json(Repeat((Id("m"),) * 7, "layer"))
LIMITS = (
    Limit(
        term_json,
        "INDENT",
        3,
        lambda: to_json(Id("m"), indent=3),
        "to_json: indent is 3, but it is a number of spaces, at most 2. Try indent=2.",
    ),
    Limit(
        term_json,
        "NODES",
        7,
        lambda: from_json(REPEATED),
        "the term has more than 6 parts. Try fewer.",
    ),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_larger_than_a_limit_is_refused(limit: Limit) -> None:
    limit.check()


def test_an_indent_is_0_spaces_or_more() -> None:
    assert to_json(Id("m"), indent=0) == '{\n"term": "Id",\n"type": "m"\n}'
    for indent in (-1, 2.0, "2"):
        with pytest.raises(ParseError, match=r"^to_json: indent is .*, but it is a number of"):
            to_json(Id("m"), indent=indent)  # type: ignore[arg-type]
