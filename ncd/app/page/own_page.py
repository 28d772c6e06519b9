"""The page of a visitor's own system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from functools import partial

import streamlit as st

from ncd.answers.opened_files import notebook_code, text_of_files
from ncd.app.figure import edit_bar
from ncd.app.page.page import COMMON_PANELS, page_without_diagram, render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.model_size import MEMORY_FIT, MODEL_SIZE
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES
from ncd.app.parts import html_panel, text_editor
from ncd.app.runtime import streamlit_internals
from ncd.app.scene import own_answer, own_entry, url
from ncd.app.scene import session_edits as edits
from ncd.app.scene.edited_system import EDITS_KEY, read_edits, system_after, write_edits
from ncd.app.scene.own_entry import CUSTOM_PAGE, DEFAULT_TEXT, TEXT_KEY, VisitorSystem, prepare
from ncd.app.state.link_text import LINK, LONGEST, compress_text, decompress_text
from ncd.errors import NCDError, SizeError
from ncd.findings.reading.finding import Finding
from ncd.notation.term_text import spell
from ncd.read.question import pasted_code
from ncd.read.recognise import has_calls, is_file
from ncd.rewrite.derivations import derivation_of
from ncd.write.term_json import term_of_file

# --- The keys of what stands on every page, which no axis may have as its name: a slider has it

_ELEMENTS = (
    "address beyond canvas changes covered device diagram editor example export field file header "
    "heavy input lead opens pages panels pool positions prediction present preset proofread "
    "question refusal reset seed sizes stale stepping tools typed unpresented why"
)
_PANELS = "attention budget card code cost equation graph shapes source styles values"
PAGE_KEYS = frozenset(f"{_ELEMENTS} {_PANELS}".split())


# --- Example texts on the page Yours

DELTA_RULE = """@define(h=2, v=8, k=8)
def step(S: "h v k", k: "h k", v: "h v", a: "h", b: "h", q: "h k"):
    S = Map("h v k, h -> h v k", "$1 * $2", "decay")(S, a)
    old = Einsum("h v k, h k -> h v")(S, k)
    new = Map("h v, h v, h -> h v", "$3 * ($2 - $1)", "delta")(old, v, b)
    S = Map("h v k, h k, h v -> h v k", "$1 + $2 * $3", "write")(S, k, new)
    return S, Einsum("h v k, h k -> h v")(S, q)
"""
LLAMA_3 = """{
  "model_type": "llama", "vocab_size": 128256,
  "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
  "num_attention_heads": 32, "num_key_value_heads": 8,
  "max_position_embeddings": 8192, "rope_theta": 500000.0, "rms_norm_eps": 1e-05
}
"""
SMALL_GPT = """import torch
from torch import nn
from torch.nn import functional as F

class Attention(nn.Module):
    def __init__(self, m, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(m, 3 * m)
        self.out = nn.Linear(m, m)

    def forward(self, x):
        b, t, m = x.shape
        parts = self.qkv(x).split(m, dim=2)
        q, k, v = (y.view(b, t, self.heads, m // self.heads).transpose(1, 2) for y in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(b, t, m))

class Layer(nn.Module):
    def __init__(self, m, heads):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(m), nn.LayerNorm(m)
        self.attention = Attention(m, heads)
        self.mlp = nn.Sequential(nn.Linear(m, 4 * m), nn.GELU(), nn.Linear(4 * m, m))

    def forward(self, x):
        x = x + self.attention(self.norm_1(x))
        return x + self.mlp(self.norm_2(x))

class GPT(nn.Module):
    def __init__(self, vocabulary=65, context=32, m=64, heads=4, layers=3):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, m)
        self.positions = nn.Embedding(context, m)
        self.layers = nn.ModuleList([Layer(m, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(m)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for layer in self.layers:
            x = layer(x)
        return self.norm(x) @ self.tokens.weight.T

GPT()(torch.randint(65, (1, 16)))
"""
OPENING = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 16 * 16, 10)
    def forward(self, x):
        x = F.max_pool2d(self.conv(x).relu(), 2)
        return self.fc(x.flatten(1))
Net()(torch.randn(8, 3, 32, 32))
"""
EMPTY_CANVAS = '"t m, s m"'
EXAMPLES = {
    "A small network": OPENING,
    "Empty canvas": EMPTY_CANVAS,
    "Gated layer": DEFAULT_TEXT,
    "nn.Conv2d": "nn.Conv2d(3, 64, 7, stride=2, padding=3)(torch.randn(1, 3, 224, 224))",
    "LeNet": """nn.Sequential(
    nn.Conv2d(1, 6, 5, padding=2), nn.Tanh(), nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5), nn.Tanh(), nn.MaxPool2d(2), nn.Flatten(),
    nn.Linear(400, 120), nn.Tanh(), nn.Linear(120, 84), nn.Tanh(), nn.Linear(84, 10),
)(torch.randn(1, 1, 28, 28))""",
    "A small GPT": SMALL_GPT,
    "einsum": "b h i d, b h j d -> b h i j",
    "einops": 'rearrange(x, "b (h p) (w q) c -> b (h w) (p q c)", p=4, q=4)\n2x32x32x3',
    "Delta rule": DELTA_RULE,
    "Llama 3 8B": LLAMA_3,
    "Grouped queries": """Axes(t=seq(12), s=seq(12), m=64, g=2, q=4, k=16)(
    Linear("t m -> t g q k", "Q") @ (Linear("s m -> s g k", "K") @ Linear("s m -> s g k", "V"))
    >> Einsum("t g q k, s g k -> t s g q") >> Scale("k") >> Softmax("s")
    >> Einsum("t s g q, s g k -> t g q k") >> Linear("g q k -> m", "O")
)""",
}


# --- The page of a visitor's own system: a text, and every view of its term

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
SETTINGS = ("seed", "panel", "step", "stop", TEXT_KEY, EDITS_KEY)  # of every page
FIELD, FILE = "field", "opened file"  # session keys
UPLOAD = 4  # megabytes of a file
POLL_SECONDS = 0.4  # seconds between two looks at what is found in a source
LAST_TEXT_KEY = "last text that could be read"  # a session key
FOLD_KEY = "text is folded"  # a session key: the diagram stands above the fold
SHOWN_KEY = "text that is shown"  # a session key: with its edits, and without them
LAST_SHOWN = "Below is still the last text that could be read."
PANELS = (SHAPES, SOURCE, COST_TABLE, VALUES, ATTENTION_MAPS, CACHED_PASS, AUTOGRAD_GRAPH)
OF_CONFIGS = (MEMORY_FIT, MODEL_SIZE, *PANELS)
CONTROLS = url.controls((*OF_CONFIGS, *COMMON_PANELS))


def show() -> None:
    """Shows the page for the text of the session, or of the link with which it opened."""
    prepare()
    moved = url.opened_by_link() or streamlit_internals.went_back()
    if TEXT_KEY not in st.session_state or moved:
        _open_link({**st.query_params})
    written, changes = (str(st.session_state.get(key, "")) for key in (TEXT_KEY, EDITS_KEY))
    found, error = _read(written)
    if found is None:
        assert error is not None
        url.load(CUSTOM_PAGE, (*OF_CONFIGS, *COMMON_PANELS))
        if st.session_state[TEXT_KEY] != written:  # after a reconnection the browser knows a newer
            st.rerun()
        message = partial(own_answer.error_message, error, written)
        return page_without_diagram(TITLE, LEAD, WHY, above=lambda: _editor(written, message))

    def above() -> None:
        st.session_state.setdefault(EDITS_KEY, changes)  # where a link leaves them out
        if st.session_state.setdefault(TEXT_KEY, written) != written:
            st.rerun()  # after a reconnection the browser knows a newer one
        if error is None:
            _editor(found.entry.text, partial(own_answer.editor_message, found))
        else:
            _editor(written, partial(own_answer.error_message, error, written))
            _show_stale_caption()

    panels = OF_CONFIGS if found.memory else PANELS
    tools = None if error or found.failure else edit_bar.render
    render_page(found.entry, LEAD, WHY, panels, above=above, tools=tools)


def _open_link(asked: Mapping[str, str]) -> None:
    """Puts the text and the edits of a link into the session."""
    bare = not {*asked} - {url.LINK_MARK}  # such an address opens on PyTorch
    usual = OPENING if bare else DEFAULT_TEXT
    linked = decompress_text(asked.get(TEXT_KEY, usual)) or DEFAULT_TEXT
    of_system = url.linked_system(asked)
    st.session_state[FOLD_KEY] = of_system is not None or derivation_of(linked) is not None
    st.session_state[TEXT_KEY] = pasted_code(linked) if of_system is None else spell(of_system)
    edits.clear_edits()
    made = "" if of_system else decompress_text(asked.get(EDITS_KEY, "")) or ""
    st.session_state[EDITS_KEY] = write_edits(read_edits(made))
    edits.offer_derivation()


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
    render_page(
        own_entry.SERVED_MODULES[name],
        SERVED_LEAD,
        SERVED_WHY,
        PANELS,
        above=lambda: _failure(name),
    )


def _failure(name: str) -> None:
    """Shows the error with which the module stops, if it does."""
    if own_entry.FAILURES[name]:
        st.warning(own_answer.STOPS)
        st.code(own_entry.FAILURES[name], language=None, wrap_lines=True)


def _read(text: str) -> tuple[VisitorSystem | None, NCDError | None]:
    """Returns a text as read, or the last one that could be read, if any, and the error."""
    error: NCDError | None = None
    try:
        now = system_after(text, edits.session_edits()).system
        found: VisitorSystem | None = _check_axis_names(now)
        st.session_state[LAST_TEXT_KEY] = now.entry.text
    except NCDError as wrong:
        last = st.session_state.get(LAST_TEXT_KEY)
        found, error = own_entry.visitor_system(last) if last else None, wrong
    shown, base = st.session_state.get(SHOWN_KEY, ("", ""))
    if found and found.entry.text != shown:
        url.switch_entry(found.entry, edited=base == text)
        st.session_state[SHOWN_KEY] = found.entry.text, text
    return found, error


def _check_axis_names(found: VisitorSystem) -> VisitorSystem:
    """Returns a text as read; raises SizeError for an axis with the name of a setting."""
    for knob in found.entry.knobs:
        if knob.name in (*url.SYSTEM_PARAMETERS, *CONTROLS, *SETTINGS, *PAGE_KEYS):
            raise SizeError(f"axis {knob.name} has the name of a setting", cure="another name")
    return found


def _show_stale_caption() -> None:
    """Says whose diagram it is, where the text has an error; the page draws all of it in grey."""
    with st.container(key="stale"):
        st.caption(LAST_SHOWN)


def _editor(text: str, say: Callable[[Sequence[Finding], bool], text_editor.EditorMessage]) -> None:
    """Shows the text editor, examples to start from, and what is said about the text.

    What is found in a source comes later: then the page is shown again.
    """
    findings, complete = own_answer.findings(text) if has_calls(text) else ((), True)
    folded = bool(st.session_state.get(FOLD_KEY))
    with st.expander("Its text") if folded else nullcontext(), st.container(key="editor"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.pills(
                "Begin with",
                list(EXAMPLES),
                key="example",
                on_change=_begin,
                label_visibility="collapsed",
            )
            _opener()
        text_editor.show("Your text", text, say(findings, complete), take_text, FIELD)
        _saver(str(st.session_state[TEXT_KEY]))
        if not complete:
            st.fragment(_searching, run_every=POLL_SECONDS)(text, findings)


def _searching(text: str, shown: Sequence[Finding]) -> None:
    """Shows the page again when more is found in a text than it shows, or all has come."""
    if own_answer.findings(text) != (shown, False):
        st.rerun()


def _opener() -> None:
    """Opens a text from files."""
    with st.popover("Open a file"):
        st.file_uploader(
            "A file with the text, a notebook, several sources or a zip of them",
            ("py", "ipynb", "txt", "json", "svg", "html", "zip"),
            key=FILE,
            accept_multiple_files=True,
            on_change=_open_files,
            max_upload_size=UPLOAD,
        )


def _saver(text: str) -> None:
    """Saves a text that is too long for a link as a file."""
    if compress_text(text):
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(f"This text is too long for a link of {LINK:,} letters: links leave it out.")
        html_panel.button("Save the text", lambda: text, "yours.txt", "text/plain", key="save text")


def _open_files() -> None:
    """Puts the text of files into the field; a callback."""
    if files := st.session_state.get(FILE):
        try:
            take_text(text_of_files([(file.name, file.getvalue()) for file in files]))
        except NCDError as error:
            st.toast(str(error))


def take_text(text: str) -> None:
    """Puts what was typed into the session; a callback."""
    st.session_state[TEXT_KEY] = cleaned_text(text)
    edits.clear_edits()


def cleaned_text(text: str) -> str:
    """Returns a text shortened to the limit, without blanks or prompts before all of its lines.

    An exported file is replaced by its term, and a notebook by its code.
    """
    text = notebook_code(text) or pasted_code(text)
    with suppress(NCDError):  # the error is shown when the text is read
        text = spell(term_of_file(text)) if is_file(text) else text
    return text[:LONGEST]


def _begin() -> None:
    """Puts an example into the field; a callback."""
    chosen = st.session_state.get("example")
    if chosen in EXAMPLES:
        take_text(EXAMPLES[chosen])
    st.session_state["example"] = None
