"""What an op says of itself: its words, its formula in LaTeX, the name of its result, its signs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import ncd
from ncd.language.op import Mark
from ncd.language.terms import Id, Then

TABLE = Path(__file__).with_name("words.txt").read_text(encoding="utf-8")
CASES = [case.split("\n    ") for case in re.split(r"\n(?! )", TABLE.strip())]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_an_op_says_what_it_does(case: list[str]) -> None:
    text, words, formula, *more = map(str.strip, case)
    source, _, dom = text.partition(" on ")
    op = eval(source, vars(ncd))
    site = ncd.elaborate(Then(Id(dom), op)).cells[-1].site
    assert (op.description(site), op.latex(site)) == (words, formula)
    result = op.result_name(site)
    assert ([f"as {result}"] if result else []) + [*map(drawn, op.glyph(site).marks)] == more


def drawn(mark: Mark) -> str:
    """The shape, the text and the wires of a sign, and what stands beside it."""
    ins, outs = (" ".join(map(str, ports)) for ports in (mark.ins, mark.outs))
    note = f", {mark.note}" if mark.note else ""
    return f"drawn {mark.shape} {mark.text!r}: {ins} -> {outs}".rstrip() + note
