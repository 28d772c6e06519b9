"""Recognises what a pasted text is: JSON, torch, einops, a term, or a configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import dedent

from ncd.language.terms import Term
from ncd.notation.call_form import ModuleCall
from ncd.notation.term_reader import TextError, parse
from ncd.read import arrays_line, einops_line, einsum_line
from ncd.write.term_json import from_json, term_of_file

# --- The term of a text, with what a page says about it


@dataclass(frozen=True)
class Reading:
    """The term of a text, and what is known of it; a text is read once for all of these.

    Args:
        term: The term.
        kind: What the text is, in words for its reader, such as ``a line of PyTorch``.
        note: Sentences about what is assumed or left out.
        failure: The error of its module, if it stops; the term goes up to the call that fails.
        shapes: The shapes of the module's results, as torch has them.
        lines: The shapes of the arrays that a line of the source makes, by its number.
        call: How the module of a source is made and called.
        ops: The ids of the ops that a line of the source makes, such as ``n1 n2``, by its number.

    Source: this project's own, for the caption of a visitor's text.

    >>> from ncd.read.recognise import read_any
    >>> read_any("b i d, b j d -> b i j").kind
    'an einsum'
    """

    term: Term
    kind: str
    note: str = ""
    failure: TextError | None = None
    shapes: tuple[tuple[int, ...], ...] = ()
    lines: Mapping[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    call: ModuleCall = field(default_factory=ModuleCall)
    ops: Mapping[int, str] = field(default_factory=dict)


# --- Texts that were copied with their indentation, or with the prompts of a session

PROMPT = re.compile(r"[ \t]*(?:>>>|\.\.\.:?|In \[\d*\]:)(?: |$)")
LEADING_BLANKS = re.compile(r"\A(\s*\n)?[ \t]+")  # blanks before the first line


def strip_prompts(text: str) -> str:
    """Returns a text without the blanks or prompts before all of its lines, with as many lines.

    What a session printed between its prompts becomes empty lines. Blanks before the first line
    alone are left out too.

    >>> strip_prompts("  x = 1\\n    y = 2"), strip_prompts(">>> f(\\n...   1)\\n8")
    ('x = 1\\n  y = 2', 'f(\\n  1)\\n')
    """
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    if PROMPT.match(first):
        prompts = [PROMPT.match(line) for line in lines]
        pairs = zip(prompts, lines, strict=True)
        text = "\n".join(line[prompt.end() :] if prompt else "" for prompt, line in pairs)
    elif not first[:1].isspace():
        return text
    return LEADING_BLANKS.sub(r"\1", dedent(text))


# --- Reads any text that a visitor pastes, except PyTorch: JSON, an einsum, einops, arrays, a term

SOURCE = re.compile(
    r"^(class\s+\w+\s*[(:]|(import|from)\s+(torch|einops)\b|\w+\s*=\s*(torch\.)?nn\.\w+\("
    r"|(torch|F)\.(?!einsum)\w+\("
    r"|\w+(\s*,\s*\w+)*\s*=\s*torch\.(arange|empty|eye|full|linspace|normal|ones|rand|randint"
    r"|randn|tensor|zeros)\()",
    re.M,
)
LAYER_LINE = re.compile(r"\s*(#[^\n]*\n\s*)*(torch\.)?nn\.[\w.]+\(")  # behind remarks
LAYER_NAME = re.compile(r"(torch\.)?nn\.\w{1,60}")
ONE_SHAPE = re.compile(r"\(?\d{1,12}(\s*[x×,]\s*\d{1,12})+\)?")
NOTEBOOK = re.compile(r'"cell_type"\s*:')
MESSAGE = re.compile(r"^(Traceback \(most recent call last\):|\w*(Error|Exception): )", re.M)
IMPORT = r"^[ \t]*(?:import|from)[ \t]+"
TORCH = re.compile(rf"{IMPORT}torch\b", re.M)
FRAMEWORKS = {
    "tensorflow": "TensorFlow",
    "keras": "Keras",
    "jax": "JAX",
    "flax": "Flax",
    "haiku": "Haiku",
    "mxnet": "MXNet",
    "paddle": "PaddlePaddle",
    "mlx": "MLX",
    "tinygrad": "tinygrad",
}
OF_FRAMEWORK = re.compile(rf"{IMPORT}({'|'.join(FRAMEWORKS)})\b", re.M)
LAYER_LINES, SOURCES = "a line of PyTorch", "PyTorch source"  # the kinds of text that it is


LINES = (  # the texts of one line, in the order in which they are tried
    (einsum_line, "an einsum"),
    (einops_line, "a line of einops"),
    (arrays_line, "arrays, to which nothing is done yet"),
)


def is_source(text: str) -> bool:
    """Returns whether a text is PyTorch source, which is read in a separate process.

    >>> is_source("import torch\\nclass Net(torch.nn.Module): ..."), is_source("nn.Linear(8, 3)")
    (True, True)
    """
    if text.lstrip().startswith(("{", "<")) or _framework_import(text):
        return False
    return is_line(text) or SOURCE.search(text) is not None


def is_line(text: str) -> bool:
    """Returns whether a text is a line of PyTorch: a layer, perhaps with an input."""
    return LAYER_LINE.match(text) is not None


def has_calls(text: str) -> bool:
    """Returns whether a text calls PyTorch, so that its calls can be searched for faults.

    >>> has_calls("torch.einsum('i,j->ij', a, b)"), has_calls("i, j -> i j")
    (True, False)
    """
    line = text.strip()
    parts = (einsum_line, einops_line)
    return is_source(text) or any(part.LINE.match(line) is not None for part in parts)


def is_file(text: str) -> bool:
    """Returns whether a text is an SVG or HTML file."""
    return text.lstrip().startswith("<")


def _framework_import(text: str) -> re.Match[str] | None:
    """Returns the first import of another framework, in a text that does not import torch."""
    return None if TORCH.search(text) else OF_FRAMEWORK.search(text)


def _check_kind(text: str) -> None:
    """Raises TextError for a text that is often pasted, and from which no term can be read."""
    if (other := _framework_import(text)) is not None:
        fact = f"this is written for {FRAMEWORKS[other[1]]}, and PyTorch is what is read here"
        before = text[: other.start(1)]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise TextError(
            fact, line, column, cure="the same layers of torch.nn, such as nn.Linear(8, 3)"
        )
    if MESSAGE.search(text):
        fact = "this is the message of an error, not the code that it is about"
        raise TextError(fact, 1, 1, cure="the class that fails, with its call as the last line")
    if ONE_SHAPE.fullmatch(text):
        fact = "this is a shape, without a layer that takes it"
        raise TextError(fact, 1, 1, cure="a line above it, such as nn.Conv2d(3, 64, 7)")
    if text.startswith("{") and NOTEBOOK.search(text):
        fact = "this is the file of a notebook, but not all of it"
        raise TextError(fact, 1, 1, cure="the whole file, or the code of its cells")
    if LAYER_NAME.fullmatch(text):
        raise TextError(f"{text} stands here without its arguments", 1, 1, cure=f"{text}(…)")


def read_any(text: str) -> Reading:
    """Returns what a text gives that needs no process: an einsum, einops, arrays, or a term.

    Files that were exported here, as JSON, SVG or HTML, are read too. PyTorch source is read by
    :mod:`ncd.read.python_source`.

    >>> found = read_any("b i d, b j d -> b i j")
    >>> found.term.cod.spec, found.kind
    ('b:8 i:8 j:8', 'an einsum')
    >>> read_any('Id("m")').kind
    "this project's language"

    Raises TextError for text that is none of these.
    """
    _check_kind(text.strip())
    if text.lstrip().startswith("{"):
        return Reading(from_json(text), "JSON")
    if is_file(text):
        return Reading(term_of_file(text), "an exported file")
    for line, kind in LINES:
        if (found := line.read(text)) is not None:
            return Reading(found, kind)
    return Reading(parse(text), "this project's language")
