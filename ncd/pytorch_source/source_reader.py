"""Reads PyTorch source as a term by interpreting it node by node; it is never executed."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from torch import Tensor, nn
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import tree_leaves

from ncd.importing.comparison import EVALUATED
from ncd.importing.imported import Imported
from ncd.lang.errors import NCDError, readable, shown
from ncd.pytorch_source.base.line_ops import line_ops
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.model_classes import candidates
from ncd.pytorch_source.base.source_errors import Raised, Stopped, told
from ncd.pytorch_source.base.source_tree import deep, syntax_tree
from ncd.pytorch_source.base.source_values import PART, Interpreted, Plain, Scope, Unknown
from ncd.pytorch_source.expressions import EXPRESSIONS
from ncd.pytorch_source.folding.large_models import drawn
from ncd.pytorch_source.known_libraries import LIBRARIES
from ncd.pytorch_source.listed.elsewhere import box, unknown_box
from ncd.pytorch_source.listed.layer_failures import layer_failure
from ncd.pytorch_source.listed.lazy_layers import lazy_parts, settle
from ncd.pytorch_source.model_choice import learns, model_of
from ncd.pytorch_source.model_inputs import (
    NoArray,
    NoInput,
    accepted,
    given_inputs,
    guessed,
)
from ncd.pytorch_source.one_line import check_line, take_shape
from ncd.pytorch_source.python_names import NAMES
from ncd.pytorch_source.source_statements import STATEMENTS
from ncd.pytorch_source.top_lines import run_lines
from ncd.pytorch_source.usual.assumed_call import blank_call, module_call
from ncd.pytorch_source.usual.assumptions import message, reading_failure
from ncd.pytorch_source.usual.input_formats import in_format, in_range, steps_first
from ncd.pytorch_source.usual.mode_words import in_training
from ncd.pytorch_source.usual.object_inputs import by_name, required, see_inside
from ncd.pytorch_source.usual.plain_statements import as_class
from ncd.pytorch_source.usual_parts import share
from ncd.text.reading import Reading
from ncd.text.recognise import LINES, SOURCES, is_line
from ncd.text.shape_lines import shape_line
from ncd.text.text_errors import TextError
from ncd.text.unindented import unindented

Shapes = tuple[tuple[int, ...], ...]  # of arrays


def read_source(text: str, made: Callable[[], object] = bool) -> Reading:
    """Returns the term of the module that a source describes.

    Args:
        text: The source: classes with ``__init__`` and ``forward``, and perhaps a call of one of
            them, or a last line with the shape of its input, such as ``1x3x224x224``. Or one line:
            a layer of torch, or several in a row, and perhaps its call.
        made: Is called when the module has been made, and is about to be drawn.

    Raises:
        TextError: For a source that is not understood, with the place.

    Source: Python's ``ast``, whose nodes are interpreted over a list of known names.

    >>> source = "class Net(nn.Module):\\n    def forward(self, x):\\n        return x.relu()\\n2x3"
    >>> str(read_source(source).term)
    "Id('b:2 m:3') >> Elementwise('relu')"
    """
    text = unindented(text)
    source, shapes = shape_line(text)
    tree = syntax_tree(source)
    machine, scope = new_machine(), Scope()
    machine.text = source
    with deep():
        try:
            tree = as_class(tree)
            if is_line(text):
                check_line(tree)
            called = take_shape(tree)
            shapes = shapes or called
            run_lines(machine, tree, scope)
            line = source.count("\n") + 1
            given = given_inputs(shapes, line) if shapes else ()
            found, words = _chosen(machine, tree, scope, given, made)
        except Raised as raised:
            raise told(raised) from None
        except RecursionError:
            raise Stopped("it is nested too deep", 1, 1, cure="shorter functions") from None
    kind = LINES if is_line(text) else SOURCES
    notes = (each for each in found.notes if each != EVALUATED)  # the mode is told
    classes = candidates(machine, tree, scope)
    call = module_call(machine, found, tree, scope, words, shapes, classes)
    note = " ".join((message(machine, words, call.line), *notes)).strip()
    failure = reading_failure(machine, found.failure, words) if found.failure else None
    places = line_ops(machine, found)
    lines = _up_to(failure, machine.line_shapes, found)
    return Reading(found.term, kind, note, failure, found.exported.shapes, lines, call, places)


def new_machine() -> Machine:
    """Returns the state of a new interpretation."""
    names = {
        "torch": LIBRARIES["torch"],
        "nn": LIBRARIES["torch.nn"],
        "einops": LIBRARIES["einops"],
    }
    more = {"F": LIBRARIES["torch.nn.functional"], "math": LIBRARIES["math"]}
    machine = Machine(EXPRESSIONS, STATEMENTS, {**NAMES, **names, **more}, LIBRARIES)
    machine.box = box
    share(machine)
    return machine


def _chosen(
    machine: Machine,
    tree: ast.Module,
    scope: Scope,
    given: tuple[Tensor, ...],
    made: Callable[[], object],
) -> tuple[Imported, str]:
    """Returns the module of a source as a term, and the inputs that are assumed, in words.

    Of several classes it is the first one of which an input is known.
    """
    first: NoInput | None = None
    while True:
        try:
            model = model_of(machine, tree, scope)
        except (TextError, Raised) as error:
            raise first or error from None
        if first is not None and not learns(model):
            raise first
        made()
        try:
            return _drawn(machine, model, given)
        except NoInput as error:
            if not isinstance(error, NoArray):
                error.call = blank_call(machine, model, required(model), tree, scope)
            first = first or error
            if type(model) in machine.skipped or not isinstance(model, Interpreted):
                raise first from None
            machine.skipped.add(type(model))
            machine.instead.setdefault(type(model).__name__, error.fact)
            machine.taken.clear()


def _drawn(machine: Machine, model: nn.Module, given: tuple[Tensor, ...]) -> tuple[Imported, str]:
    """Returns a module as a term, and the inputs that are assumed, in words."""
    if given:
        return _imported(machine, model, *by_name(model, in_range(model, given))), ""
    for ran, args, named in reversed(machine.ran):
        for x in (*args, *named.values()):
            if isinstance(x, Plain):
                see_inside(type(x))
        every = tree_leaves((args, named))
        known = not any(isinstance(x, Unknown) for x in every)
        if ran is model and known and any(isinstance(x, Tensor) for x in every):
            return _imported(machine, model, args, named), ""
    first = guessed(machine, model)
    assert first is not None
    try:
        found: Imported | None = _imported(
            machine, model, *by_name(model, in_format(model, first[0]))
        )
        assert found is not None
        if not found.failure or not first[1]:
            return found, first[1]
        failure: Raised | TextError = machine.failure or TextError(found.failure, 1, 1)
    except Raised as error:
        found, failure = None, error
    machine.failure = None
    second = guessed(machine, model, failed=first[1])
    if second is not None:
        return _imported(machine, model, *by_name(model, in_format(model, second[0]))), second[1]
    if found is None:
        raise failure
    machine.failure = failure
    return found, first[1]


def _imported(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Imported:
    """Returns the module as a term; raises its error if nothing can be drawn.

    What training alone does may not be understood: then it is read in evaluation.
    """
    training = in_training(model)
    for part in model.modules():
        part.training = in_training(part)
    try:
        found = _in_its_mode(machine, model, inputs, named)
        refusal = machine.failure
    except TextError as error:
        if isinstance(error, NoInput) or not training:
            raise
        found, refusal = None, error
    if not isinstance(refusal, TextError) or isinstance(refusal, NoInput) or not training:
        assert found is not None
        return found
    model.eval()
    machine.failure = None
    try:
        other = _in_its_mode(machine, model, inputs, named)
    except (TextError, Raised):
        other = None
    if other is not None and not other.failure:
        machine.evaluated = refusal.fact
        return other
    model.train()
    machine.failure = refusal
    if found is None:
        raise refusal
    return found


def _in_its_mode(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Imported:
    """Returns the module as a term, in the mode in which it is."""
    _check_names(model)
    if lazy_parts(model):
        accepted(machine, model, inputs, named)
        settle(model)
    machine.boxes.clear()
    machine.box_results.clear()
    machine.root, machine.tracing, machine.line_shapes = model, True, {}
    try:
        with preserve_node_meta():  # the lines that make them
            found = drawn(machine, model, inputs, named, steps_first(model, inputs))
    except NCDError as error:
        wrong = TextError(str(error).rstrip("."), 1, 1)
        raise _stopped(machine, model, inputs, named) or wrong from None
    except Exception as error:  # whatever torch raises for what nobody has thought of
        wrong = TextError(_told(error), 1, 1, cure="smaller sizes")
        raise _stopped(machine, model, inputs, named) or wrong from None
    finally:
        machine.tracing = False
    if found.failure:
        machine.failure = _stopped(machine, model, inputs, named)
    return found


def _stopped(
    machine: Machine, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Raised | TextError | None:
    """Returns the error with which a module stops: of its source, or of a layer of torch.

    What stops behind a box may do so because of what is assumed of the box.
    """
    unknown = unknown_box(machine)
    if isinstance(unknown, TextError):
        return unknown
    return machine.failure or layer_failure(machine, model, inputs, named)


def _up_to(
    failure: TextError | None, lines: dict[int, Shapes], found: Imported
) -> dict[int, Shapes]:
    """Returns the shapes of lines; where one stops, what it is given, and none of those behind it.

    The lines stand in the order in which they ran first.
    """
    order = [*lines]
    if failure is None or failure.line not in order:
        return lines
    before = order[: order.index(failure.line)]
    given = tuple(array.shape for array in found.term.cod)
    return {**{line: lines[line] for line in before}, failure.line: given}


def _check_names(model: nn.Module) -> None:
    """Raises TextError for a submodule whose name is not a plain identifier."""
    for path, part in model.named_modules():
        held = (part._parameters, part._buffers, part._modules)
        for name in (*part.__dict__, *(name for names in held for name in names)):
            if not PART.fullmatch(name):
                fact = f"{shown(name)} is no name of a part of {path or 'a module'}"
                raise TextError(fact, 1, 1, cure="letters and digits")


def _told(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"it cannot be drawn: {readable(lines[0], 200) if lines else type(error).__name__}"
