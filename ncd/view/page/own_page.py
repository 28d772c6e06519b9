"""The page of a visitor's own system: a text, and every view of its term."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import streamlit as st

from ncd.answers.opened_files import notebook_code, opened
from ncd.findings.finding import Finding
from ncd.lang.errors import NCDError, SizeError
from ncd.serial import term_of_file
from ncd.text import spell
from ncd.text.recognise import has_calls, is_file
from ncd.text.unindented import unindented
from ncd.view.editor import text_editor
from ncd.view.page import page_keys
from ncd.view.page.own_examples import EXAMPLES, OPENING
from ncd.view.page.page import EVERYWHERE, page, page_without_diagram
from ncd.view.panels.attention import attention_maps
from ncd.view.panels.common import autograd_graph, cost_table, shapes, source, values
from ncd.view.panels.language_models import memory_fit, model_size
from ncd.view.runtime import downloads, streamlit_internals
from ncd.view.session import own_answer, own_entry, pasted_findings, pasted_source, url
from ncd.view.session.link_text import LINK, LONGEST, packed, unpacked
from ncd.view.session.own_entry import NAME, SAMPLE, TEXT, Own

TITLE = "Yours"
LEAD = """
Paste PyTorch, an einsum or a `config.json`: here is what comes out, what fails and why, a diagram,
and what it costs.
"""
WHY = """
Nothing that you type is run as Python. Its syntax tree is read name by name against a list of known
operations, and becomes the same kind of term that every other page is made from.

- **PyTorch source** is one or more classes with `__init__` and `forward`, pasted whole, and the
  shape of an input: a last line `Net()(torch.randn(1, 3, 64, 64))`, `1x3x64x64`, or `1x64#50257`
  for tokens below 50257. Methods that the run does not call may hold anything.

- **What fails** is said with its reason, and with edits that cure it: each was tried by reading the
  edited text again. What runs and is hardly meant stands in amber. `ncd ask FILE` says the same.
- **A line of PyTorch** is any layer of `torch.nn`, or an `nn.Sequential` of them, and perhaps its
  input: `nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))`.
- **An einsum** is its pattern: `b h i d, b h j d -> b h i j`, or `bhid,bhjd->bhij`; or a call,
  `torch.einsum("bid,bjd->bij", torch.randn(2, 5, 8), torch.randn(2, 6, 8))`.
- **A line of einops** may have a shape below it: `rearrange(x, "b (h w) c -> b h w c", h=4)`.
- **The language** puts operations behind each other by `>>`, and beside each other by `@`. Axes are
  named, and an operation is written on its own axes only: over all others it is broadcast. Sizes
  stand in `Axes(…)`, and what is not given is solved for. The *Export* menu of any page opens its
  system here as such a text.
  Or as a function: its arguments are arrays with their axes, each line names what an operation
  gives, and the wires follow from the names.
- **A published configuration** is the `config.json` of one of over 60 types, from GPT-2 and BERT to
  Llama, Qwen, Gemma, Phi and DeepSeek. It opens at its real sizes, which need no run, with what it
  takes of a memory, and which texts fit in one.
- **A file** that was exported here, as JSON, SVG or HTML: it contains its term. A notebook gives
  the code of its cells; several sources, or a zip of them, become one text.

Sources: Abbott 2024, *Neural Circuit Diagrams*, sections 2 and 3, for what the notation means.
"""
SETTINGS = ("seed", "panel", "step", "stop", TEXT)  # of every page
FIELD, FILE = "field", "opened file"  # session keys
UPLOAD = 4  # megabytes of a file
EVERY = 0.4  # seconds between two looks at what is found in a source
LAST = "last text that could be read"  # a session key
LAST_SHOWN = "Below is still the last text that could be read."
PANELS = (shapes, source, cost_table, values, attention_maps, autograd_graph)
OF_CONFIGS = (memory_fit, model_size, *PANELS)
CONTROLS = url.controls((*OF_CONFIGS, *EVERYWHERE))


def show() -> None:
    """Shows the page for the text of the session, or of the link with which it opened."""
    pasted_source.prepare()
    moved = url.followed() or streamlit_internals.went_back()
    if TEXT not in st.session_state or moved:
        bare = not {*st.query_params} - {url.GO}  # such an address opens on PyTorch
        usual = OPENING if bare else SAMPLE
        linked = unpacked(st.query_params.get(TEXT, usual)) or SAMPLE
        st.session_state[TEXT] = unindented(linked)
    text = str(st.session_state[TEXT])
    found, error = _read(text)
    if found is None:
        assert error is not None
        url.take(NAME, (*OF_CONFIGS, *EVERYWHERE))
        if st.session_state[TEXT] != text:  # after a reconnection the browser knows a newer one
            st.rerun()
        return page_without_diagram(
            TITLE, LEAD, WHY, above=lambda: _editor(text, partial(own_answer.wrong, error, text))
        )

    def above() -> None:
        if error is None:
            _editor(text, partial(own_answer.said, found))
        else:
            _editor(text, partial(own_answer.wrong, error, text))
            _stale()

    page(found.entry, LEAD, WHY, OF_CONFIGS if found.memory else PANELS, above=above)


SERVED_LEAD = """
Your own module, read by `torch.export`: what each axis is for, what comes out, what it costs. It
runs with its own weights, wherever the sizes are those that they have.
"""
SERVED_WHY = """
Equal layers are one repetition, and a function that the language has no operation for is a box with
its name. Sliders change the sizes of all axes that have one name.

Source: `torch.export`, whose graph of the module is read.
"""


def show_served(name: str) -> None:
    """Shows the page of a module that the server was started with."""
    page(own_entry.SERVED[name], SERVED_LEAD, SERVED_WHY, PANELS, above=lambda: _failure(name))


def _failure(name: str) -> None:
    """Shows the error with which the module stops, if it does."""
    if own_entry.FAILURES[name]:
        st.warning(own_answer.STOPS)
        st.code(own_entry.FAILURES[name], language=None, wrap_lines=True)


def _read(text: str) -> tuple[Own | None, NCDError | None]:
    """Returns a text as read, or the last one that could be read, if any, and the error."""
    error: NCDError | None = None
    try:
        found: Own | None = _checked(own_entry.own(text))
        st.session_state[LAST] = text
    except NCDError as wrong:
        last = st.session_state.get(LAST)
        found, error = own_entry.own(last) if last else None, wrong
    if found and found.entry.text != st.session_state.get(f"{NAME} shown"):
        url.change(found.entry)
        st.session_state[f"{NAME} shown"] = found.entry.text
    return found, error


def _checked(found: Own) -> Own:
    """Returns a text as read; raises SizeError for an axis with the name of a setting."""
    for knob in found.entry.knobs:
        if knob.name in (*url.ON_SYSTEMS, *CONTROLS, *SETTINGS, *page_keys.KEYS):
            raise SizeError(f"axis {knob.name} has the name of a setting", cure="another name")
    return found


def _stale() -> None:
    """Says whose diagram it is, where the text has an error; the page draws all of it in grey."""
    with st.container(key="stale"):
        st.caption(LAST_SHOWN)


def _editor(opened: str, say: Callable[[Sequence[Finding], bool], text_editor.Said]) -> None:
    """Shows the text editor, examples to start from, and what is said about the text.

    What is found in a source comes later: then the page is shown again.
    """
    text = str(st.session_state.setdefault(TEXT, opened))  # where a link leaves it out
    findings, complete = pasted_findings.findings(text) if has_calls(text) else ((), True)
    with st.container(key="editor"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.pills(
                "Begin with",
                list(EXAMPLES),
                key="example",
                on_change=_begin,
                label_visibility="collapsed",
            )
            _opener()
        text_editor.show("Your text", text, say(findings, complete), _take, FIELD)
        _saver(text)
        if not complete:
            st.fragment(_searching, run_every=EVERY)(text, findings)


def _searching(text: str, shown: Sequence[Finding]) -> None:
    """Shows the page again when more is found in a text than it shows, or all has come."""
    if pasted_findings.findings(text) != (shown, False):
        st.rerun()


def _opener() -> None:
    """Opens a text from files."""
    with st.popover("Open a file"):
        st.file_uploader(
            "A file with the text, a notebook, several sources or a zip of them",
            ("py", "ipynb", "txt", "json", "svg", "html", "zip"),
            key=FILE,
            accept_multiple_files=True,
            on_change=_open,
            max_upload_size=UPLOAD,
        )


def _saver(text: str) -> None:
    """Saves a text that is too long for a link as a file."""
    if packed(text):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"This text is too long for a link of {LINK:,} letters: links leave it out.")
        downloads.button("Save the text", lambda: text, "yours.txt", "text/plain", key="save text")


def _open() -> None:
    """Puts the text of files into the field; a callback."""
    if files := st.session_state.get(FILE):
        try:
            _take(opened([(file.name, file.getvalue()) for file in files]))
        except NCDError as error:
            st.toast(str(error))


def _take(text: str) -> None:
    """Puts what was typed into the session; a callback."""
    st.session_state[TEXT] = edited(text)


def edited(text: str) -> str:
    """Returns a text shortened to the limit, without blanks or prompts before all of its lines.

    An exported file is replaced by its term, and a notebook by its code.
    """
    text = notebook_code(text) or unindented(text)
    with suppress(NCDError):  # the error is shown when the text is read
        text = spell(term_of_file(text)) if is_file(text) else text
    return text[:LONGEST]


def _begin() -> None:
    """Puts an example into the field; a callback."""
    chosen = st.session_state.get("example")
    if chosen in EXAMPLES:
        st.session_state[TEXT] = EXAMPLES[chosen]
    st.session_state["example"] = None
