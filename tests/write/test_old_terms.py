"""Terms that were written before still mean what they meant: as JSON and as text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ncd
from ncd import NCDError, Term
from ncd.write.term_json import from_json

FILE = Path(__file__).with_name("old_terms.jsonl")  # every op and 16 systems, before names changed
ROWS = [json.loads(line) for line in FILE.read_text(encoding="utf-8").splitlines()]


def facts(term: Term) -> dict[str, Any]:
    """Returns its types, parameters and FLOPs; None for what an axis without a size leaves open."""
    try:
        cost = ncd.cost(term)
        counts = {"parameters": cost.parameters, "flops": cost.flops}
    except NCDError:
        counts = {"parameters": None, "flops": None}
    return {"dom": term.dom.spec, "cod": term.cod.spec, **counts}


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_an_old_term_is_what_it_was(row: dict[str, Any]) -> None:
    term = from_json(json.dumps(row["json"]))
    assert facts(term) == {key: row[key] for key in ("dom", "cod", "parameters", "flops")}
    assert ncd.parse(row["text"]) == term


def test_there_is_one_of_every_op_of_that_time() -> None:
    assert len({row["name"].split()[0] for row in ROWS if " " in row["name"]}) >= 40
