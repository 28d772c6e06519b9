"""Texts that were copied with their indentation, or with prompts, are read as they are meant."""

from __future__ import annotations

import pytest

from ncd import ask
from ncd.app.page.own_page import cleaned_text
from ncd.read.recognise import strip_prompts

PLAIN = """m = nn.Sequential(
    nn.Linear(8, 3),
)
m(torch.randn(5, 6))"""
INDENTED = "\n".join(f"    {line}" for line in PLAIN.split("\n"))
TABS = "\n".join(f"\t{line}" for line in PLAIN.split("\n"))
DOCTEST = PLAIN.replace("\n", "\n... ").replace("... m(", ">>> m(")
CELLS = PLAIN.replace("\n", "\n   ...: ").replace("   ...: m(", "In [2]: m(")
PRINTED = "\n\ntensor([[0.1]])"


@pytest.mark.parametrize(
    "text", [INDENTED, TABS, f"  >>> {DOCTEST}{PRINTED}", f"In [1]: {CELLS}{PRINTED}"]
)
def test_blanks_and_prompts_before_all_lines_are_left_out(text: str) -> None:
    assert strip_prompts(text).rstrip() == cleaned_text(text).rstrip() == PLAIN
    (finding,) = ask(text).findings
    assert (finding.kind, finding.line) == ("failure", 2)
    assert finding.cures[0].text.rstrip() == PLAIN.replace("8, 3", "6, 3")


@pytest.mark.parametrize(
    "text", [PLAIN, "", "\n\nx = 1\n  y", "x >>> y", "{\n  1: 2}", 'Id("m")\n  >> Id("m")']
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    assert strip_prompts(text) == text


def test_a_line_that_is_indented_has_findings_and_the_number_of_its_line() -> None:
    (finding,) = ask("\n   nn.Linear(8, 3)(torch.randn(5, 6))").findings
    assert (finding.line, finding.cures[0].text) == (2, "\nnn.Linear(6, 3)(torch.randn(5, 6))")
