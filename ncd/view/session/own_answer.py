"""The answer of the page Yours to a text: what comes out, what is wrong, buttons that cure it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncd.answers.plain_answer import sentence_of
from ncd.answers.result_sentence import dimension_names, shape_words
from ncd.findings.finding import Cure, Edit, Finding
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.text.call_form import ModuleCall, call_form
from ncd.text.text_errors import TextError
from ncd.view.editor.text_editor import Fault, Remark, Remedy, Said, faults
from ncd.view.session.own_entry import Own

STOPS = (
    "This module stops with an error. The diagram goes up to the call that fails, if that shows "
    "before it runs."
)
CHANGES = {"model": "", "input": "another input", "meaning": "another meaning"}
LONGEST = 70  # letters of a button
ROOM = 12  # of them behind what is changed
FAILS = " ✗"  # behind the shape that a failing call is given
MARGIN = 2  # arrays beside a line


def said(found: Own, findings: Sequence[Finding] = ()) -> Said:
    """Returns what is said about a text that could be read, with what is found in it."""
    stops = found.failure.line if found.failure else 0
    names = _names(found)
    beside = tuple(
        (line, _beside(shapes) + FAILS * (line == stops), names.get(line, ""))
        for line, shapes in found.lines.items()
    )
    if found.failure is not None:
        plain = Said(f"{STOPS}\n{found.failure}", True, faults(found.failure), beside=beside)
    else:
        read = " ".join(filter(None, (f"Read as {found.kind}.", found.call.modes, found.note)))
        told = f"{found.costs}\n{read}".strip()
        plain = Said(told, sentence=found.sentence, beside=beside)
    plain = _with_form(plain, found.entry.text, found.call)._replace(ops=found.ops)
    return _with(plain, found.entry.text, findings)


def _with_form(plain: Said, text: str, call: ModuleCall) -> Said:
    """Returns what is said about a text, with its last line as a form if it has fields."""
    form = call_form(text, call)
    several = call.classes if len(call.classes) > 1 else ()
    return plain._replace(form=form, drawn=call.drawn, classes=several)


def wrong(error: NCDError, text: str, findings: Sequence[Finding] = ()) -> Said:
    """Returns what is said about a text with an error."""
    plain = Said(str(error), True, faults(error))
    if isinstance(error, TextError) and error.call:
        plain = _with_form(plain, text, error.call)
    return _with(plain, text, findings)


def _with(plain: Said, text: str, findings: Sequence[Finding]) -> Said:
    """Returns what is said about a text together with what is found in it."""
    first = next((each for each in findings if each.kind == "failure"), None)
    rest = [each for each in findings if each is not first]
    said = plain._replace(
        remarks=tuple(
            Remark(each.kind, sentence_of(each), _remedies(each, text), each.line) for each in rest
        ),
        faults=(*plain.faults, *_mild(rest, text)),
    )
    if first is None or not (first.cures or first.layer):  # the message itself says as much
        return said
    return said._replace(
        wrong=True,
        sentence=sentence_of(first),
        remedies=_remedies(first, text),
        faults=(*said.faults, *([] if plain.faults else _mild([first], text, mild=False))),
    )


def _mild(findings: Sequence[Finding], text: str, mild: bool = True) -> Iterator[Fault]:
    """Yields the lines that findings are about, to be underlined."""
    lines = text.split("\n")
    for each in findings:
        if 0 < each.line <= len(lines) and each.kind != "size":
            line = lines[each.line - 1]
            start = len(line) - len(line.lstrip()) + 1
            yield Fault((each.line, start), (each.line, len(line) + 1), each.says, mild=mild)


def _remedies(finding: Finding, text: str) -> tuple[Remedy, ...]:
    return tuple(_remedy(cure, text) for cure in finding.cures)


def _remedy(cure: Cure, text: str) -> Remedy:
    """Returns the button of a cure: the first line that it changes, as it will be."""
    old, new = text.split("\n"), cure.text.split("\n")
    first = min(cure.edits, default=Edit(1, 0, 0, ""))
    line, added = first.line, first.new.startswith("\n")  # a line behind this one
    place = f"after line {line}" if added else f"line {line}"
    changed = "".join(new[line : line + 1]) if added else "".join(new[line - 1 : line])
    words = changed.strip()[:LONGEST] if added else _around(changed, first)
    more = len({edit.line for edit in cure.edits}) - 1
    beside = " and {} more".format("1 line" if more == 1 else f"{more} lines") if more > 0 else ""
    meant = f" ({CHANGES[cure.changes]})" if CHANGES[cure.changes] else ""
    out = ", ".join(shape_words(shape) for shape in cure.shapes)
    was = "".join(old[line - 1 : line]).strip()
    hint = ("a new line" if added else f"in place of {was}") + (f"; out: {out}" if out else "")
    return Remedy(f"{place}: {words}{beside}{meant}", cure.text, hint)


def _around(line: str, edit: Edit) -> str:
    """Returns a line as a button shows it: of a long one the part with the edit.

    >>> _around("    net = f(" + "1, " * 30 + "64)", Edit(1, 102, 104, "64"))
    '…1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 64)'
    """
    words = line.strip()
    start = max(0, edit.start - (len(line) - len(line.lstrip())))
    end = min(start + len(edit.new) + ROOM, len(words))
    cut = min(start, max(0, end - LONGEST))
    cut = words.find(" ", cut, start) + 1 or cut if cut else 0  # at a word
    shown = words[cut : cut + LONGEST]
    return f"{'…' * bool(cut)}{shown}{'…' * (cut + LONGEST < len(words))}"


def _names(found: Own) -> dict[int, str]:
    """Returns the names of the axes of what each line makes, as of the last op that makes it."""
    try:
        circuit = elaborate(found.entry.build())
    except NCDError:  # is told beside what can be drawn
        return {}
    cells = {cell.id: cell for cell in circuit.cells}
    names = {}
    for line, shapes in found.lines.items():
        last = [cells[id] for id in found.ops.get(line, "").split() if id in cells][::-1]
        every = (dimension_names(value.array, shapes[0]) for cell in last for value in cell.outputs)
        names[line] = " ".join(next(filter(None, every), ()))
    return names


def _beside(shapes: Sequence[tuple[int, ...]]) -> str:
    """Returns the shapes of a line's arrays as its margin shows them."""
    first = "×".join(map(str, shapes[0])) or "one number"
    if len(shapes) > 1 and len(set(shapes)) == 1:
        return f"{len(shapes)} of {first}"
    if len(shapes) > MARGIN:
        return f"{first}, …"
    return ", ".join("×".join(map(str, shape)) or "one number" for shape in shapes)
