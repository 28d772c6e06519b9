"""The answer to a text as it is read: its kind and the shapes of its results, without findings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ncd.answers.answer import Answer, Kind
from ncd.answers.answer_sentences import LETTERS, cost_sentence, memory_sentences, result_sentence
from ncd.answers.error_messages import CURE, explain
from ncd.circuit.default_sizes import with_usual_sizes
from ncd.circuit.elaborate import Axes
from ncd.errors import NCDError, ParseError
from ncd.findings.reading.finding import Finding, failure_of
from ncd.language.terms import Term
from ncd.read.configs.config_reader import is_config, read_config
from ncd.read.recognise import MESSAGE, Reading, is_line, is_source, read_any

# --- The answer to a text as it is read: its kind and the shapes of its results, without findings

KINDS: Mapping[str, Kind] = {"an einsum": "einsum", "a line of einops": "einops"}
CALL = re.compile(r"\s*(?:\w+\s*=\s*)?(?:einops\.)?(?:rearrange|reduce|repeat)\(")
PATTERN = re.compile(r"[\w\s,.()…]+->[\w\s.()…]*")
SENTENCE = re.compile(r"(?<=\.)\s+(?=[A-Z0-9])")  # between two


def kind_of(text: str, reading: Reading | None = None) -> Kind:
    """Returns what a text is; of one that could not be read, what it looks like.

    >>> kind_of("nn.Linear(8, 3)"), kind_of("b i, b j -> b i j"), kind_of("rearrange(x, 'a -> b')")
    ('line', 'einsum', 'einops')
    """
    if is_config(text):
        return "config"
    if is_source(text):
        return "line" if is_line(text) else "source"
    if reading is not None:
        return KINDS.get(reading.kind, "term")
    if MESSAGE.search(text) or explain(text) is not None:
        return "traceback"
    if CALL.match(text):
        return "einops"
    return "einsum" if PATTERN.fullmatch(text) or "einsum(" in text else "term"


def reading_of(text: str) -> Reading:
    """Returns what a text gives that is no PyTorch source.

    Raises ParseError with the explanation of an error message, and TextError for a text that cannot
    be read.
    """
    if (explanation := explain(text)) is not None:
        raise ParseError(explanation.removesuffix(f"Try {CURE}.").rstrip(), cure=CURE)
    return read_any(text)


def answer_of(text: str, reading: Reading) -> Answer:
    """Returns the answer to a text that could be read; a failure is its only finding.

    >>> from ncd.read.recognise import read_any
    >>> answer_of(text := "b i d, b j d -> b i j", read_any(text)).sentence
    'out: 8 × 8 × 8 (b, i, j)'
    """
    kind, assumed = kind_of(text, reading), tuple(filter(None, SENTENCE.split(reading.note)))
    if reading.call.assumed:
        line = reading.call.line
        assumed = (f"The text leaves sizes open; with them it ends in `{line}`.", *assumed)
    assumed = (*assumed, *filter(None, (reading.call.modes,)))
    if reading.failure is not None:
        found = failure_of(reading.failure)
        return Answer(kind, reading.term, (), str(found), assumed, (found,))
    if kind in ("source", "line"):
        sentence = result_sentence(reading.term.cod, reading.shapes, LETTERS)
        costs = tuple(filter(None, [cost_sentence(reading.term)]))
        return Answer(kind, reading.term, reading.shapes, sentence, assumed, costs=costs)
    bare, known, usual = with_usual_sizes(reading.term)
    sizes = tuple(f"{name} = {mark.size} was assumed." for name, mark in usual.items())
    return replace(_of_term(kind, Axes(**known, **usual)(bare)), assumed=(*assumed, *sizes))


def config_answer(text: str) -> Answer:
    """Returns the answer to a published configuration; raises NCDError for one that is unknown."""
    model = read_config(text)
    found = _of_term("config", model.system(**model.sizes))
    sentence = f"{model.title}; {found.sentence}"
    return replace(found, sentence=sentence, costs=memory_sentences(model), assumed=model.notes)


def refusal_answer(text: str, error: NCDError) -> Answer:
    """Returns the answer to a text that cannot be read at all."""
    found = failure_of(error)
    return Answer(kind_of(text), None, (), str(found), findings=(found,))


def with_findings(plain: Answer, findings: Sequence[Finding]) -> Answer:
    """Returns an answer with findings in the place of its own.

    Where a part is drawn, as what is assumed does not fit the whole, that is no fault of a text.
    """
    if plain.shapes and not plain.findings and any(" is not drawn: " in x for x in plain.assumed):
        findings = [one for one in findings if not one.says.startswith("The assumed ")]
    failures = [each for each in findings if each.kind == "failure"]
    own = plain.findings if not failures else ()  # the reading fails, so that something is wrong
    sentence = str(failures[0]) if failures else plain.sentence
    costs = plain.costs if not failures else ()
    return replace(plain, sentence=sentence, findings=(*own, *findings), costs=costs)


def _of_term(kind: Kind, term: Term) -> Answer:
    shapes = tuple(array.shape for array in term.cod)
    return Answer(kind, term, shapes, result_sentence(term.cod, shapes))
