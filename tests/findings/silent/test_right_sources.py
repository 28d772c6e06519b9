"""No alarm is raised for right sources, also where they look like a silent fault."""

from __future__ import annotations

import pytest

import ncd
from ncd.findings.silent.model_runs import Source
from ncd.findings.silent.silent_search import silent
from ncd.language.terms import Term
from tests.findings.silent.right_sources import RIGHT
from tests.support import sources

FILES = {
    name: text for name, text in vars(sources).items() if isinstance(text, str) and name.isupper()
}


def check_quiet(text: str) -> None:
    """Checks that a source is read to its end, and that nothing is found in it."""
    assert Source(text).readable
    assert silent(text) == []


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_source_is_left_in_peace(name: str) -> None:
    check_quiet(RIGHT[name])


@pytest.mark.parametrize("name", FILES)
def test_a_whole_file_is_left_in_peace(name: str) -> None:
    assert silent(FILES[name]) == []


def with_inputs(term: Term) -> str:
    """Returns the source of a term, with the shapes of its inputs as the last line."""
    arrays = ("x".join(map(str, each.shape)) or "1" for each in term.dom)
    limits = (f"#{each.below.size}" if each.below else "" for each in term.dom)
    shapes = ", ".join(a + b for a, b in zip(arrays, limits, strict=True))
    return f"{ncd.source(term)}\n{shapes}"


@pytest.mark.few(4)
@pytest.mark.parametrize("name", list(ncd.catalogue))
def test_the_source_of_a_system_is_left_in_peace(name: str) -> None:
    term = ncd.catalogue[name].build()
    text = with_inputs(term)
    assert Source(text).readable or not all(each.shape for each in term.dom)  # a line has no scalar
    assert silent(text) == []
