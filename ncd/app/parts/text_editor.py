"""The text editor and its completions.

Its script is a file that the browser fetches once, when the editor is first shown. Until it has
come, and where it cannot come, there is a plain text field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from inspect import Parameter, signature
from types import MappingProxyType
from typing import Any, NamedTuple, TypedDict

import streamlit as st

from ncd.app.parts.html_panel import StaticFile, read_static, sent_value
from ncd.errors import NCDError
from ncd.installation import package_path
from ncd.notation.call_form import CallForm
from ncd.notation.term_reader import NAMES, TextError
from ncd.read.python_source.torch_names import FUNCTION_NAMES, FUNCTIONS, LAYER_NAMES
from ncd.site.scripts import script

# --- The names that the text editor completes: ops of the language, and names of torch


class Completion(TypedDict):
    """A name to complete, its arguments, and its meaning in a sentence."""

    label: str
    detail: str
    info: str


def completions() -> dict[str, list[Completion]]:
    """Returns the completions by prefix, such as ``nn.``; ops have the empty prefix.

    >>> known = completions()
    >>> [each["detail"] for each in known[""] if each["label"] == "Softmax"]
    ['(axis, …)']
    >>> sorted(known)
    ['', 'F.', 'nn.', 'torch.']
    """
    return {
        "": [_op_completion(name, make) for name, make in sorted(NAMES.items()) if "." not in name],
        "nn.": _name_completions(LAYER_NAMES),
        "F.": _name_completions(FUNCTION_NAMES),
        "torch.": _name_completions(FUNCTIONS),
    }


def _op_completion(name: str, make: Callable[..., Any]) -> Completion:
    """Returns the completion of an op, with the first line of its description."""
    lines = (make.__doc__ or "").strip().splitlines()
    first = "".join(lines[:1]).replace("`", "")
    return {
        "label": name,
        "detail": f"({', '.join(_arguments(make))})",
        "info": first.replace("`", ""),
    }


def _arguments(make: Callable[..., Any]) -> Iterable[str]:
    """Yields the arguments that an op needs; dots follow for all that may be given beside."""
    found = signature(make).parameters.values()
    several = Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD
    needed = [e.name for e in found if e.default is Parameter.empty and e.kind not in several]
    yield from needed
    if len(needed) < len(found):
        yield "…"


def _name_completions(names: str) -> list[Completion]:
    return [{"label": name, "detail": "", "info": ""} for name in sorted(set(names.split()))]


# --- A text editor with highlighting, completion and underlined errors, based on CodeMirror 6

SCRIPT = StaticFile.from_text(
    "js",
    "text/javascript",
    f"{package_path('assets', 'editor', 'codemirror.js').read_text()}\n"
    f"export const KNOWN = {json.dumps(completions())};\n",
)

_editor = st.components.v2.component(
    "ncd_editor",
    html="""<div class="whole">
<div class="editor"><textarea spellcheck="false"></textarea></div>
<div class="answer" tabindex="-1"><p class="sentence" role="status"></p>
<div class="cures"></div><p class="waiting" role="status" hidden></p>
<div class="form" role="group" aria-label="The last line"></div>
<p class="told" role="status"></p>
<details class="raw" hidden><summary>The message of torch</summary><p></p></details></div>
<ul class="findings" aria-live="polite" aria-label="Findings" tabindex="0" hidden></ul></div>""",
    css=read_static("parts/editor.css"),
    js=script("app/parts/editor.js"),
)


class Diagnostic(NamedTuple):
    """An error in a text: its start, its end, and a replacement that would work.

    A place is a line and a column, both from 1.
    """

    start: tuple[int, int]
    end: tuple[int, int]
    message: str
    instead: str = ""
    mild: bool = False


class Remedy(NamedTuple):
    """A button that puts another text in the place of this one: its words, the text, a hint.

    ``changes`` are the lines that become others: ``-`` or ``+``, the number of the line, the line.
    """

    words: str
    text: str
    hint: str
    changes: tuple[tuple[str, int, str], ...] = ()


class Remark(NamedTuple):
    """Something that is found in a text: its kind, the words, the buttons beside it, its line.

    ``ops`` and ``wires`` are the ids of what its line makes, and of the arrays there.
    """

    kind: str
    words: str
    remedies: tuple[Remedy, ...] = ()
    line: int = 0
    ops: str = ""
    wires: str = ""


class EditorMessage(NamedTuple):
    """The answer to a text, and all that is said around it.

    ``sentence`` is the answer, with buttons that cure what fails, and ``words`` is the message
    below it. ``raw`` is torch's own message, which is folded, and ``waiting`` says what is still to
    come. ``faults`` are underlined, and ``remarks`` stand below the text. ``line_notes`` are the
    words in the margin of a line and the names of axes, ``ops`` the ids of the ops that it makes.
    ``forms`` are the last line with its sizes as fields and perhaps the one that sets the mode,
    ``drawn_text`` the class that is drawn, and
    ``classes`` are those that could be.
    """

    words: str
    is_wrong: bool = False
    faults: tuple[Diagnostic, ...] = ()
    sentence: str = ""
    remedies: tuple[Remedy, ...] = ()
    remarks: tuple[Remark, ...] = ()
    line_notes: tuple[tuple[int, str, str], ...] = ()
    forms: tuple[CallForm, ...] = ()
    drawn_text: str = ""
    classes: tuple[str, ...] = ()
    ops: Mapping[int, str] = MappingProxyType({})
    raw: str = ""
    waiting: str = ""


def faults(error: NCDError) -> tuple[Diagnostic, ...]:
    """Returns the position of an error, or nothing if it has none in the text.

    >>> faults(TextError("there is no op 'Idd'", 1, 1, (1, 4), "Id"))[0].instead
    'Id'
    >>> faults(TextError("the text has no end", 2, 3))[0].end  # only its beginning is known
    (2, 3)
    """
    if not isinstance(error, TextError):
        return ()
    start = (error.line, error.column)
    instead = error.cure if error.cure.isidentifier() else ""
    return (Diagnostic(start, max(error.end, start), str(error), instead),)


def show(
    label: str,
    text: str,
    said: EditorMessage,
    take: Callable[[str], None],
    key: str,
) -> None:
    """Shows the editor; ``take`` is called with the text a moment after each change.

    Args:
        label: The name of the field, for screen readers.
        text: The text of the session.
        said: What is said about it: around it, beside its lines, and underlined.
        take: A callback.
        key: The key of the component.
    """
    data = {
        "text": text,
        "label": label,
        "told": said.words,
        "wrong": said.is_wrong,
        "faults": [
            {"from": start, "to": end, "message": message, "instead": instead, "mild": mild}
            for start, end, message, instead, mild in said.faults
        ],
        "sentence": said.sentence,
        "raw": said.raw,
        "waiting": said.waiting,
        "cures": [each._asdict() for each in said.remedies],
        "remarks": [
            {**each._asdict(), "cures": [cure._asdict() for cure in each.remedies]}
            for each in said.remarks
        ],
        "beside": said.line_notes,
        "ops": {str(line): ids for line, ids in said.ops.items()},
        "forms": [asdict(each) for each in said.forms],
        "drawn": said.drawn_text,
        "classes": said.classes,
        "script": SCRIPT.name,
    }

    def changed() -> None:
        if isinstance(found := sent_value(key, "text"), str):
            take(found)

    _editor(key=key, data=data, on_text_change=changed)
