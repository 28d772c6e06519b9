"""The system that a visitor has written or pasted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import torch

from ncd.answers.answer_sentences import LETTERS, cost_sentence, memory_sentences, result_sentence
from ncd.answers.plain_answer import reading_of
from ncd.app.runtime import scheduler, streamlit_internals
from ncd.app.scene.session_weights import SERVED_WEIGHTS
from ncd.circuit.elaborate import elaborate
from ncd.drawing.pipeline import drawn_wires
from ncd.errors import LimitError, NCDError, UnknownNameError, unknown_name_error
from ncd.jobs.source_reading import reader
from ncd.language.op import Op
from ncd.language.terms import Term, map_fields
from ncd.notation.call_form import ModuleCall
from ncd.notation.term_reader import TextError
from ncd.notation.term_text import spell
from ncd.ops.opaque_call import CLOSED_SPACE, COMMON, EXTERNAL_SPACE, FOLDED_SPACE, closed_name
from ncd.read.configs.config_reader import is_config, read_config
from ncd.read.recognise import Reading, is_source
from ncd.run.module import CircuitModule
from ncd.systems.catalogue_entry import Entry
from ncd.systems.term_entry import term_entry, visitor_system_name
from ncd.systems.training.trained_weights import weights_of_module

# --- PyTorch that a visitor pastes: read in another process, while other visitors go on


def prepare() -> None:
    """Starts the process that reads sources, as a visitor comes who may paste one."""
    reader().workers.prepare()


def reading(text: str) -> Reading:
    """Returns what a text gives: its term, and what a page says about it.

    >>> found = reading("nn.Linear(8, 3)")
    >>> found.term.cod.spec, found.kind
    ('b:1 d:3', 'a line of PyTorch')

    Raises TextError for a text that cannot be read, and ParseError with the explanation of an
    error message.
    """
    return _source_reading(text) if is_source(text) else reading_of(text)


def _source_reading(text: str) -> Reading:
    with scheduler.yielded_turn():
        return reader().read(text, streamlit_internals.session_id())


# --- The system that a visitor has written: an entry made from a text, with a knob for each size

CUSTOM_PAGE, TEXT_KEY = "yours", "text"  # the page's address, and the session key of its text
DEFAULT_TEXT = """Axes(t=seq(12), m=64, d=256)(
    Wire("t m -> t m, t m")
    >> (Linear("m -> d", "gate") >> Elementwise("silu")) @ Linear("m -> d", "up")
    >> Map("d, d -> d", "$1 * $2")
    >> Linear("d -> m", "down")
)
"""
# The overloads without side effects.
OVERLOADS = ("", "Tensor", "Scalar", "dim", "dim_IntList", "int", "correction", "self", "vec")
FUNCTIONS = [f"aten.{name}" for name in sorted(COMMON)]
PARTS, ARRAYS = 8_000, 500  # of a term, and into and out of each part, which take seconds to draw
WIRES = 20_000  # of a diagram, in all of its columns; the largest of the catalogue has 5,670


@dataclass(frozen=True)
class VisitorSystem:
    """The entry of a text, the kind of the text, a note, and the error of its module, if any.

    ``sentence`` says what comes out, ``costs`` what that takes, ``lines`` are the shapes that lines
    of a source make, ``memory`` is whether it is a model whose memory is of interest, ``call`` is
    how its module is made, ``ops`` are the ids of the ops of its lines. With
    ``independent_only`` sizes that follow from others have no sliders.
    """

    entry: Entry
    kind: str
    note: str = ""
    failure: TextError | None = None
    sentence: str = ""
    costs: str = ""
    memory: bool = False
    lines: Mapping[int, tuple[tuple[int, ...], ...]] = field(default_factory=dict)
    call: ModuleCall = field(default_factory=ModuleCall)
    ops: Mapping[int, str] = field(default_factory=dict)
    independent_only: bool = False


def custom_entry(text: str) -> Entry:
    """Returns the entry of a text; its knobs are the sizes in the text and those it leaves open.

    >>> entry = custom_entry('Id("~y:5 m:8") >> Linear("m -> k", "W")')
    >>> [(knob.name, knob.default) for knob in entry.knobs]
    [('y', 5), ('m', 8), ('k', 16)]
    >>> str(entry.build(m=3).dom.spec)
    '~y:5 m:3'

    Raises TextError for text that is no term, and NCDError for one that cannot be built.
    """
    return visitor_system(text).entry


@lru_cache(64)
def visitor_system(text: str) -> VisitorSystem:
    """Returns the entry of a text, and what a page says about it; a text is read once for both.

    Raises TextError for text that is no term, and NCDError for one that cannot be built.
    """
    if is_config(text):
        model = read_config(text)
        entry = model.entry(CUSTOM_PAGE, text)
        costs = "\n".join(memory_sentences(model)[:-1])  # what fits is a panel
        note = " ".join(model.notes)
        sentence = _sentence(entry)
        return VisitorSystem(
            entry, "a published configuration", note, None, sentence, costs, memory=True
        )
    found = reading(text)
    least = is_source(text)
    term = _with_closed_names(found.term) if least else found.term  # a source names no op by itself
    _check_parts(term)
    entry = term_entry(term, CUSTOM_PAGE, "Yours", "Your own text", text, independent_only=least)
    entry = replace(entry, training=found.call.training)
    _check_wires(entry)
    if found.failure is not None:
        sentence = ""
    elif least:
        sentence = result_sentence(found.term.cod, found.shapes, LETTERS)
    else:
        sentence = _sentence(entry)
    costs = cost_sentence(found.term) if least and found.failure is None else ""
    told = found.kind, found.note, found.failure, sentence, costs
    return VisitorSystem(
        entry, *told, lines=found.lines, call=found.call, ops=found.ops, independent_only=least
    )


EDITED_KIND = "this project's language, which holds the changes"  # the kind of its text


def edited_system(before: VisitorSystem, term: Term) -> VisitorSystem:
    """Returns the system of an edited term, whose text is that of the term.

    It has sliders for the same sizes as the one before, and those that the edit has brought.

    Raises NCDError for a term that cannot be drawn.
    """
    _check_parts(term)
    same = before.independent_only
    entry = term_entry(
        term, CUSTOM_PAGE, "Yours", "Your own text", spell(term), independent_only=same
    )
    entry = replace(entry, training=before.entry.training)
    _check_wires(entry)
    return VisitorSystem(entry, EDITED_KIND, sentence=_sentence(entry), independent_only=same)


def _sentence(entry: Entry) -> str:
    """Returns the sentence about the results of a system, or nothing if its sizes do not meet."""
    try:
        term = entry.build()
        return result_sentence(term.cod, [array.shape for array in term.cod])
    except NCDError:  # is told beside what can be drawn
        return ""


def _check_parts(term: Term) -> None:
    """Raises LimitError for too many parts, or one with too many arrays.

    Raises UnknownNameError for a torch function that visitors may not call.
    """
    if term.nodes > PARTS:
        fact = f"it has {term.nodes:,} parts, and at most {PARTS:,} can be drawn"
        raise LimitError(fact, cure="fewer")
    _check_part(term)


def _check_wires(entry: Entry) -> None:
    """Raises LimitError for a diagram with too many wires."""
    try:
        count = drawn_wires(elaborate(entry.build()))
    except NCDError:  # is told beside what can be drawn
        return
    if count > WIRES:
        fact = f"its diagram has {count:,} wires from column to column, and at most {WIRES:,} fit"
        raise LimitError(fact, cure="fewer arrays at once")


def _check_part(term: Term) -> None:
    if (count := len(term.dom) + len(term.origins)) > ARRAYS:
        fact = f"a part takes and gives {count:,} arrays, and at most {ARRAYS} can be drawn"
        raise LimitError(fact, cure="fewer")
    if isinstance(term, Op) and term.torch_function and not _may_run(term):
        raise _no_function(term.torch_function)
    for part in term.children:
        _check_part(part)


def _with_closed_names(value: Any) -> Any:
    """Returns a term whose boxes have names that torch lacks, but for those that visitors may call.

    So they are drawn with their shapes, and nothing can run them.
    """
    if type(value) is tuple:
        return tuple(map(_with_closed_names, value))
    if isinstance(value, Op) and not _may_run(value):
        return map_fields(
            value, lambda own: closed_name(own) if own == value.torch_function else own
        )
    return map_fields(value, _with_closed_names) if isinstance(value, Term) else value


def _may_run(op: Op) -> bool:
    """Returns whether visitors may call the function of an op; of most ops there is none."""
    space, _, name = op.torch_function.partition(".")
    function, _, overload = name.partition(".")
    listed = f"{space}.{function}" in FUNCTIONS and overload in OVERLOADS
    return not op.torch_function or listed or space in (CLOSED_SPACE, EXTERNAL_SPACE, FOLDED_SPACE)


def _no_function(function: str) -> NCDError:
    """Returns the error for a function that visitors may not call; one of torch is no slip."""
    name = function.removeprefix("aten.").partition(".")[0]
    if hasattr(torch.ops.aten, name):
        fact = f"this page does not call {function} of torch"
        return UnknownNameError(fact, cure="an op of the language in its place")
    return unknown_name_error("function on this page", function, FUNCTIONS)


SERVED_MODULES: dict[str, Entry] = {}  # the user's own modules, by the addresses of their pages
FAILURES: dict[str, str] = {}  # the error messages of those that fail, by the same addresses


def add_served_module(
    title: str, term: Term, failure: str = "", module: CircuitModule | None = None
) -> str:
    """Adds a page for the user's own term; returns its address.

    It runs with the weights of ``module`` where the sizes on the page fit them.

    >>> from ncd import parse
    >>> add_served_module("Net", parse('Id("~y:5 m:8") >> Linear("m -> k", "W")'))
    'own-net'
    >>> SERVED_MODULES["own-net"].title
    'Net'

    Raises NCDError for a term that cannot be built.
    """
    name = visitor_system_name(title)
    SERVED_MODULES[name] = term_entry(
        term, name, title, "A module of your own", name, independent_only=True
    )
    FAILURES[name] = failure
    if module is not None and (weights := weights_of_module(module, title)) is not None:
        SERVED_WEIGHTS[name] = weights
    return name
