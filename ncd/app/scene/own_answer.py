"""The answer of the page Yours to a text: what comes out, what is wrong, buttons that cure it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from threading import Lock, Thread

from cachetools import LRUCache

from ncd.answers.answer_sentences import LETTERS, dimension_names, shape_words
from ncd.answers.error_messages import first_words
from ncd.app.parts.text_editor import Diagnostic, EditorMessage, Remark, Remedy, faults
from ncd.app.runtime import streamlit_internals
from ncd.app.scene.own_entry import VisitorSystem
from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import elaborate
from ncd.errors import NCDError
from ncd.findings.reading.finding import LATE, LATE_SIZES, Cure, Edit, Finding
from ncd.jobs.source_reading import reader
from ncd.notation.call_form import ModuleCall, call_form, mode_form
from ncd.notation.term_reader import TextError

# --- The answer of the page Yours to a text: what comes out, what is wrong, buttons that cure it

STOPS = (
    "This module stops with an error. The diagram goes up to the call that fails, if that shows "
    "before it runs."
)
LOOKING = "Looking for the reason, and for edits that cure it …"
ERROR_MESSAGE = (
    re.compile(  # a message of torch or Python, perhaps behind the layer that it is about
        r"(?:(?P<layer>\w+) stops on an array \([^)]*\): |\w*(?:Error|Exception): )(?P<raw>.*)",
        re.S,
    )
)
CHANGES = {"model": "", "input": "another input", "meaning": "another meaning"}
LONGEST = 70  # letters of a button
ROOM = 12  # of them behind what is changed
FAILS = " ✗"  # behind the shape that a failing call is given
MARGIN = 2  # arrays beside a line


def editor_message(
    found: VisitorSystem, findings: Sequence[Finding] = (), complete: bool = True
) -> EditorMessage:
    """Returns what is said about a text that could be read, with what is found in it.

    Until the findings are ``complete``, a failure says that its reason is looked for.
    """
    stops = found.failure.line if found.failure else 0
    cells = _cells(found)
    names = _names(found, cells)
    beside = tuple(
        (line, _margin_text(shapes) + FAILS * (line == stops), names.get(line, ""))
        for line, shapes in found.lines.items()
    )
    if found.failure is not None:
        plain = _failure_message(found.failure, found.entry.text, found.lines.get(stops, ()))
    else:
        read = " ".join(filter(None, (f"Read as {found.kind}.", found.call.modes, found.note)))
        told = f"{found.costs}\n{read}".strip()
        plain = EditorMessage(told, sentence=found.sentence)
    plain = _with_form(plain, found.entry.text, found.call)._replace(
        ops=found.ops, line_notes=beside
    )
    answer = _with_findings(plain, found.entry.text, findings, complete)
    return answer._replace(
        remarks=tuple(_with_line_ops(each, found, cells) for each in answer.remarks)
    )


def _capitalised_sentence(sentence: str) -> str:
    """Returns a sentence with a capital, as it may stand after another one; code is left as it is.

    >>> _capitalised_sentence("line 7, r: the height must be even.")
    'Line 7, r: the height must be even.'
    >>> _capitalised_sentence("`n` is free.")
    '`n` is free.'
    """
    return f"L{sentence[1:]}" if sentence.startswith("line ") else sentence


def _failure_message(
    failure: TextError, text: str, given: Sequence[tuple[int, ...]] = ()
) -> EditorMessage:
    """Returns where and on what a text stops; the message of torch is folded.

    Args:
        failure: The error.
        text: The text.
        given: The shapes of what the line that fails is given.
    """
    found = ERROR_MESSAGE.match(failure.fact)
    if found is None:  # words of ours
        return EditorMessage(STOPS, True, faults(failure), str(failure))
    meaning = first_words(found["raw"])
    shapes = " and ".join(shape_words(shape) for shape in given[:MARGIN])
    stops = f"{found['layer']} stops" if found["layer"] else f"{_code(failure, text)} stops"
    what = "an array" if len(given) == 1 else "arrays"
    arrays = f" on {what} of {shapes}" if shapes and not meaning else ""
    says = f"{stops}{arrays}. {meaning}".strip()
    sentence = str(Finding("failure", failure.line, "", says))
    underlined = tuple(fault._replace(message=sentence) for fault in faults(failure))
    return EditorMessage(STOPS, True, underlined, sentence, raw=failure.fact)


def _code(failure: TextError, text: str) -> str:
    """Returns the code that an error is about, between backticks."""
    line = ("", *text.split("\n"))[failure.line] if failure.line <= text.count("\n") + 1 else ""
    whole = failure.end[0] == failure.line
    code = line[failure.column - 1 : failure.end[1] - 1 if whole else None].strip()
    code = code.replace("`", "")
    return f"`{code[:LONGEST]}{'…' * (len(code) > LONGEST or not whole)}`" if code else "This line"


def _with_form(plain: EditorMessage, text: str, call: ModuleCall) -> EditorMessage:
    """Returns what is said about a text, with its last line as a form if it has fields."""
    form = call_form(text, call)
    modes = [] if any(each.kind == "mode" for each in form.fields) else [mode_form(text, call)]
    several = call.classes if len(call.classes) > 1 else ()
    forms = (form, *filter(None, modes))
    return plain._replace(forms=forms, drawn_text=call.drawn, classes=several)


def error_message(
    error: NCDError, text: str, findings: Sequence[Finding] = (), complete: bool = True
) -> EditorMessage:
    """Returns what is said about a text with an error."""
    plain = EditorMessage(str(error), True, faults(error))
    if isinstance(error, TextError) and ERROR_MESSAGE.match(error.fact):
        plain = _failure_message(error, text)
    if isinstance(error, TextError) and error.call:
        plain = _with_form(plain, text, error.call)
    return _with_findings(plain, text, findings, complete)


def _with_findings(
    plain: EditorMessage, text: str, findings: Sequence[Finding], complete: bool
) -> EditorMessage:
    """Returns what is said about a text together with what is found in it."""
    first = next((each for each in findings if each.kind == "failure"), None)
    rest = [each for each in findings if each is not first]
    said = plain._replace(
        remarks=tuple(
            Remark(
                each.kind,
                _capitalised_sentence(str(each)),
                _remedies(each, text),
                each.line,
            )
            for each in rest
        ),
        faults=(*plain.faults, *_mild(rest, text)),
    )
    if first is None or not (first.cures or first.layer):  # the message itself says as much
        waits = said.sentence and said.is_wrong and first is None and not complete
        return said._replace(waiting=LOOKING) if waits else said
    return said._replace(
        is_wrong=True,
        sentence=str(first),
        remedies=_remedies(first, text),
        faults=(*said.faults, *([] if plain.faults else _mild([first], text, mild=False))),
    )


def _mild(findings: Sequence[Finding], text: str, mild: bool = True) -> Iterator[Diagnostic]:
    """Yields the lines that findings are about, to be underlined."""
    lines = text.split("\n")
    for each in findings:
        if 0 < each.line <= len(lines) and each.kind != "size":
            line = lines[each.line - 1]
            start = len(line) - len(line.lstrip()) + 1
            yield Diagnostic((each.line, start), (each.line, len(line) + 1), each.says, mild=mild)


def _remedies(finding: Finding, text: str) -> tuple[Remedy, ...]:
    return tuple(_remedy(cure, text) for cure in finding.cures)


def _remedy(cure: Cure, text: str) -> Remedy:
    """Returns the button of a cure: the first line that it changes, as it will be."""
    old, new = text.split("\n"), cure.text.split("\n")
    first = min(cure.edits, default=Edit(1, 0, 0, ""))
    line, added = first.line, first.new.startswith("\n")  # a line behind this one
    place = f"after line {line}" if added else f"line {line}"
    changed = "".join(new[line : line + 1]) if added else "".join(new[line - 1 : line])
    words = changed.strip()[:LONGEST] if added else _line_excerpt(changed, first)
    changes = tuple(_changes(old, new))
    more = len({edit.line for edit in cure.edits}) - 1
    beside = f" and {more} more line{'s' * (more > 1)}" * (more > 0)
    meant = f" ({CHANGES[cure.changes]})" if CHANGES[cure.changes] else ""
    out = ", ".join(shape_words(shape) for shape in cure.shapes)
    diff = "\n".join(f"{sign} {number}  {words.strip()}" for sign, number, words in changes)
    hint = diff + (f"\nout: {out}" if out else "")
    return Remedy(f"{place}: {words}{beside}{meant}", cure.text, hint, changes if more > 0 else ())


def _changes(old: list[str], new: list[str]) -> Iterator[tuple[str, int, str]]:
    """Yields the lines that differ: ``-`` or ``+``, the number of the line, and the line."""
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from (("-", n + 1, old[n]) for n in range(a, b))
            yield from (("+", n + 1, new[n]) for n in range(c, d))


def _line_excerpt(line: str, edit: Edit) -> str:
    """Returns a line as a button shows it: of a long one the part with the edit.

    >>> _line_excerpt("    net = f(" + "1, " * 30 + "64)", Edit(1, 102, 104, "64"))
    '…1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 64)'
    """
    words = line.strip()
    start = max(0, edit.start - (len(line) - len(line.lstrip())))
    end = min(start + len(edit.new) + ROOM, len(words))
    cut = min(start, max(0, end - LONGEST))
    cut = words.find(" ", cut, start) + 1 or cut if cut else 0  # at a word
    shown = words[cut : cut + LONGEST]
    return f"{'…' * bool(cut)}{shown}{'…' * (cut + LONGEST < len(words))}"


def _cells(found: VisitorSystem) -> dict[str, Cell]:
    """Returns the ops of a text by their ids; none if its sizes do not meet."""
    try:
        return {cell.id: cell for cell in elaborate(found.entry.build()).cells}
    except NCDError:  # is told beside what can be drawn
        return {}


def _names(found: VisitorSystem, cells: Mapping[str, Cell]) -> dict[int, str]:
    """Returns the names of the axes of what each line makes, as of the last op that makes it."""
    names = {}
    for line, shapes in found.lines.items():
        last = [cells[id] for id in found.ops.get(line, "").split() if id in cells][::-1]
        arrays = [value.array for cell in last for value in cell.outputs]
        named = next(filter(None, (dimension_names(each, shapes[0]) for each in arrays)), ())
        if any(len(name) > 1 for name in named):  # all of them words, or all of them letters
            words = (dimension_names(each, shapes[0], LETTERS) for each in arrays)
            named = next(filter(None, words), ())
        names[line] = " ".join(named)
    return names


def _with_line_ops(remark: Remark, found: VisitorSystem, cells: Mapping[str, Cell]) -> Remark:
    """Returns a remark with the ops of its line, and the wires into and out of these."""
    ops = found.ops.get(remark.line, "")
    near = [cells[id] for id in ops.split() if id in cells]
    wires = dict.fromkeys(value.id for cell in near for value in (*cell.inputs, *cell.outputs))
    return remark._replace(ops=ops, wires=" ".join(wires))


def _margin_text(shapes: Sequence[tuple[int, ...]]) -> str:
    """Returns the shapes of a line's arrays as its margin shows them."""
    first = "×".join(map(str, shapes[0])) or "one number"
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} of {first}"
    if len(shapes) > MARGIN:
        return f"{first}, …"
    return ", ".join("×".join(map(str, shape)) or "one number" for shape in shapes)


# --- Findings in a pasted source, which are searched aside while its page shows all else

MAX_CACHED_TEXTS = 200  # texts

_lock = Lock()  # guards what follows
_findings_cache: LRUCache[str, tuple[Finding, ...]] = LRUCache(MAX_CACHED_TEXTS)
_running: dict[str, str] = {}  # by visitor: each has one search at a time


def findings(text: str) -> tuple[tuple[Finding, ...], bool]:
    """Returns what is found in a source so far, and whether that is all.

    Sizes come last. While another text is searched for the visitor, nothing is found.
    """
    visitor = streamlit_internals.session_id()
    with _lock:
        if text not in _findings_cache and visitor not in _running:
            _running[visitor] = text
            Thread(target=_search, args=(text, visitor), daemon=True).start()
        return _findings_cache.get(text, ()), text in _findings_cache and _running.get(
            visitor
        ) != text


def _search(text: str, visitor: str) -> None:
    """Searches a source: first what is wrong, then the sizes of one that does not fail."""
    found: tuple[Finding, ...] = ()
    late = LATE
    try:
        found = reader().findings(text, visitor)
        _keep(text, found)
        if not any(each.kind == "failure" for each in found):
            late = LATE_SIZES
            _keep(text, (*found, *reader().sizes(text, visitor)))
    except NCDError:
        _keep(text, (*found, late))
    finally:
        with _lock:
            _findings_cache.setdefault(text, ())
            del _running[visitor]


def _keep(text: str, found: tuple[Finding, ...]) -> None:
    with _lock:
        _findings_cache[text] = found
