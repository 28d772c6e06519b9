"""Answers a text that somebody pastes: what it is, what comes out, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ncd.answers.answer import Answer
from ncd.answers.opened_files import File, join_files, notebook_code, of_text
from ncd.answers.plain_answer import (
    answer_of,
    config_answer,
    reading_of,
    refusal_answer,
    with_findings,
)
from ncd.errors import NCDError
from ncd.findings.reading.finding import LATE, LATE_SIZES, Finding
from ncd.jobs.source_reading import reader
from ncd.language.arguments import check_text
from ncd.notation.call_form import shape_line
from ncd.read.configs.config_reader import is_config
from ncd.read.question import pasted_code
from ncd.read.recognise import has_calls, is_source

STEPS = ("reading the source", "looking for what is wrong", "trying sizes")
Progress = Callable[[int, int, str], None]  # is told how many steps of how many are done, and one


def ask(
    text: str, files: Sequence[File] = (), *, progress: Progress = lambda done, of, what: None
) -> Answer:
    """Returns the answer to a text: what it is, what comes out, and what is found in it.

    PyTorch is read in a separate process under limits of time and memory, and never executed.

    Args:
        text: PyTorch source, a line of it, an einsum, a line of einops, a published
            ``config.json``, a term, the message of an error, a question about a layer, or a
            notebook, of which the code is taken. Blanks or prompts before all of its lines are left
            out, and words around code are comments.
        files: Further files whose classes the text uses: paths, or pairs of a name and a text.
        progress: Is told of each step of a source: how many are done, of how many, and the next.

    Returns:
        The answer. A text that cannot be read has no term, and a finding that says why.

    Raises:
        ParseError: For something that is no text, or a file that cannot be read.

    Source: this project's own.

    >>> answer = ask("b h i d, b h j d -> b h i j")
    >>> answer.kind, answer.shapes, answer.sentence
    ('einsum', ((8, 8, 8, 8),), 'out: 8 × 8 × 8 × 8 (b, h, i, j)')
    """
    check_text(text, "text", "ask")
    given, text = text, notebook_code(text) or pasted_code(text)
    whole = join_files(text, files)
    try:
        if is_config(text):
            return config_answer(text)
        if not is_source(whole):
            plain = answer_of(text, reading_of(text))
        else:
            progress(0, len(STEPS), STEPS[0])
            plain = answer_of(whole, reader().read(whole))
    except NCDError as error:
        plain = refusal_answer(whole, error)
    found = _findings(whole, progress)
    progress(len(STEPS), len(STEPS), "")
    return of_text(with_findings(_read_as(plain, given, text), found), whole, text)


def _read_as(plain: Answer, given: str, text: str) -> Answer:
    """Returns an answer that says which source was added to a question, or to words with code."""
    added = text.strip().split("\n")[given.strip().count("\n") + 1 :]
    if not added:
        return plain
    note = f"The question is read as `{'; '.join(added)}`."
    if shape_line(text)[1]:
        note = f"The input is that of the words: {shape_line(text)[1]}."
    return replace(plain, assumed=(note, *plain.assumed))


def _findings(text: str, progress: Progress) -> tuple[Finding, ...]:
    """Returns what is found in a source; where that takes too long, that it does."""
    if not has_calls(text):
        return ()
    progress(1, len(STEPS), STEPS[1])
    try:
        found = reader().findings(text)
    except NCDError:
        return (LATE,)
    if any(each.kind == "failure" for each in found):
        return found
    progress(2, len(STEPS), STEPS[2])
    try:
        return found + reader().sizes(text)
    except NCDError:
        return (*found, LATE_SIZES)
