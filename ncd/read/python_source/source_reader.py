"""Reads PyTorch source as a term, node by node."""

from __future__ import annotations

import ast
import gc
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from time import process_time
from typing import Any

from torch import Tensor, fx, nn
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import tree_leaves

from ncd.errors import NCDError, printable_line, short_repr
from ncd.notation.call_form import shape_line
from ncd.notation.term_reader import TextError
from ncd.read.python_source.assumptions import in_training, message, reading_failure
from ncd.read.python_source.first_layers import (
    in_format,
    in_long_format,
    in_range,
    steps_first,
)
from ncd.read.python_source.folding import import_folded
from ncd.read.python_source.functions_and_classes import LoopExit, ReturnSignal
from ncd.read.python_source.interpreter import (
    LINES,
    PART,
    STEPS,
    ClassValue,
    Interpreter,
    LimitExceeded,
    PlainObject,
    Scope,
    SourceException,
    SourceModule,
    UnknownValue,
    UnknownValueError,
    as_text_error,
    error_at,
)
from ncd.read.python_source.libraries import LIBRARIES, share, unimported_value
from ncd.read.python_source.model_choice import (
    fact_of,
    leans,
    learns,
    model_of,
    module_call,
    open_call,
    other_widths,
)
from ncd.read.python_source.model_classes import candidates, module_classes, outermost_classes
from ncd.read.python_source.model_inputs import (
    NoInput,
    can_run,
    fits_boxes,
    guess_input,
    in_bounds,
    inputs_of_shapes,
    other_input,
)
from ncd.read.python_source.one_line import check_line, take_shape
from ncd.read.python_source.other_files import box, take_results, unknown_box
from ncd.read.python_source.plain_statements import as_class
from ncd.read.python_source.python_names import NAMES
from ncd.read.python_source.source_expressions import EXPRESSIONS
from ncd.read.python_source.source_statements import STATEMENTS
from ncd.read.python_source.source_tree import deep, syntax_tree
from ncd.read.python_source.structured_inputs import Guess, by_name, see_inside
from ncd.read.python_source.torch_layers import layer_failure, lazy_parts, settle
from ncd.read.question import pasted_code
from ncd.read.recognise import LAYER_LINES, SOURCES, Reading, is_line
from ncd.read.torch_module.comparison import EVALUATION_NOTE
from ncd.read.torch_module.from_torch import Imported

# --- Interprets a text line by line; lines outside of classes that it cannot read are skipped

MODE = "training"  # which a source that asks for its mode names
MAIN = ("__name__ == '__main__'", "'__main__' == __name__")
ASIDE = 100_000  # steps of a line that defines nothing


def run_lines(machine: Interpreter, tree: ast.Module, scope: Scope) -> None:
    """Interprets the whole text; unsupported lines outside classes are skipped."""
    take_results(machine, tree)
    first: Exception | None = None
    ran = 0

    def run(node: ast.stmt) -> None:
        nonlocal ran
        ran = len(machine.ran)
        _line(machine, node, scope)
        if isinstance(node, ast.If):
            _take_branch(machine, node, scope)

    for node, error in skipped_lines(tree, scope, run):
        first = first or error
        machine.left_out.append(node.lineno)
        del machine.ran[ran:]
        if machine.modules:
            gc.collect()  # those that the line has made
    if first is not None and not machine.ran and not _has_class(scope):
        raise first


def _take_branch(machine: Interpreter, node: ast.If, scope: Scope) -> None:
    """Sets the numbers that only branches set that do not run, as the first of them does.

    Which one runs depends on a choice that is not made, such as the name of a data set.
    """
    for part in ast.walk(node):
        if not isinstance(part, ast.Assign) or not isinstance(part.value, ast.Constant):
            continue
        value = part.value.value
        for target in part.targets:
            known = not isinstance(target, ast.Name) or target.id in scope.names
            if not known and type(value) in (int, float):
                scope.names[target.id] = value  # type: ignore[attr-defined]
                machine.assumed_values[target.id] = repr(value)  # type: ignore[attr-defined]


def skipped_lines(
    tree: ast.Module, scope: Scope, run: Callable[[ast.stmt], None]
) -> Iterator[tuple[ast.stmt, Exception]]:
    """Runs the lines of a text in order; yields those that fail and stand apart, with the error.

    What such a line would set is unknown afterwards.
    """
    for node in lines_of(tree):
        try:
            run(node)
        except (SourceException, TextError) as error:
            if not stands_apart(node, error):
                raise
            failed = error.with_traceback(None)  # else it would hold all values
        else:
            continue
        forget(node, scope)
        yield node, failed


def lines_of(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yields the statements of a text, also those that it runs only as a script.

    >>> tree = ast.parse("a = 1\\nif __name__ == '__main__':\\n    b = 2\\n    c = 3")
    >>> [ast.unparse(each) for each in lines_of(tree)]
    ['a = 1', 'b = 2', 'c = 3']
    """
    for node in tree.body:
        script = isinstance(node, ast.If) and ast.unparse(node.test) in MAIN
        yield from node.body if script else (node,)  # type: ignore[attr-defined]


def stands_apart(node: ast.stmt, error: SourceException | TextError) -> bool:
    """Returns whether a text may go on without a line that fails: it makes no module."""
    aside = isinstance(node, ast.Expr | ast.If) and isinstance(
        error, LimitExceeded | UnknownValueError
    )
    return aside or not (isinstance(error, LimitExceeded) or getattr(error, "inside", False))


def _line(machine: Interpreter, node: ast.stmt, scope: Scope) -> None:
    """Interprets a top-level line."""
    try:
        with machine.with_step_budget(ASIDE if isinstance(node, ast.Expr | ast.If) else STEPS):
            machine.run([node], scope)
    except (ReturnSignal, LoopExit):
        raise error_at(node, "it stands outside of a function or a loop") from None


def forget(node: ast.stmt, scope: Scope) -> None:
    """Marks the names that a line would set as unknown."""
    why = f"line {node.lineno} is not understood"
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            scope.names.setdefault(part.id, UnknownValue(part.id, why))
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        scope.names[node.name] = UnknownValue(node.name, why)


def _has_class(scope: Scope) -> bool:
    """Returns whether a source defines or creates a module."""
    return any(
        isinstance(value, nn.Module) or (isinstance(value, ClassValue) and value.is_module)
        for value in scope.names.values()
    )


# --- The ops of a term that each line of its source makes

MAX_LINE_OPS = 400  # ops of a line


def line_ops(machine: Interpreter, found: Imported) -> dict[int, str]:
    """Returns the ids of the ops that each line makes, such as ``n1 n2``, by its number.

    A line that calls others makes what these make, and one that defines a layer what the layer
    does.
    """
    nodes = {node.name: node for node in found.exported_module.program.graph.nodes}
    parts = dict(found.exported_module.traced_module.named_modules())
    ids: dict[int, list[str]] = {}
    for i, name in enumerate(found.nodes):
        if (node := nodes.get(name)) is not None:
            for line in dict.fromkeys((*_call_lines(node), *_layer_lines(machine, parts, node))):
                ids.setdefault(line, []).append(f"n{i}")
    return {line: " ".join(own) for line, own in ids.items() if len(own) <= MAX_LINE_OPS}


def _line_of(node: fx.Node | None) -> int:
    """Returns the line whose call a node is; the first line if none is known."""
    return (_call_lines(node)[-1:] or (1,))[0] if node is not None else 1


def _call_lines(node: fx.Node) -> tuple[int, ...]:
    """Returns the lines whose call a node is, the outer ones first."""
    lines: tuple[int, ...] = (node.meta.get("custom") or {}).get(LINES, ())
    return lines


def _layer_lines(
    machine: Interpreter, parts: Mapping[str, nn.Module], node: fx.Node
) -> Iterator[int]:
    """Yields the line that makes the layer of which a node is part."""
    stack = [*(node.meta.get("nn_module_stack") or {}).values()]
    path = stack[-1][0].partition("@")[0] if stack else ""
    place = machine.places.get(id(parts.get(path))) if path else None
    if (line := getattr(place, "lineno", 0)) > 0:
        yield line


# --- Reads PyTorch source as a term by interpreting it node by node; it is never executed

Shapes = tuple[tuple[int, ...], ...]  # of arrays


def read_source(text: str, made: Callable[[], object] = bool, late: str = "") -> Reading:
    """Returns the term of the module that a source describes.

    Args:
        text: The source: classes with ``__init__`` and ``forward``, and perhaps a call of one of
            them, or a last line with the shape of its input, such as ``1x3x224x224``. Or one line:
            a layer of torch, or several in a row, and perhaps its call.
        made: Is called when the module has been made, and is about to be drawn.
        late: Why the classes that no other one uses are not read, if so; then a part of them is.

    Raises:
        TextError: For a source that is not understood, with the place.

    Source: Python's ``ast``, whose nodes are interpreted over a list of known names.

    >>> source = "class Net(nn.Module):\\n    def forward(self, x):\\n        return x.relu()\\n2x3"
    >>> str(read_source(source).term)
    "Id('b:2 m:3') >> Elementwise('relu')"
    """
    text = pasted_code(text)
    source, shapes = shape_line(text)
    tree = syntax_tree(source)
    machine, scope = new_machine(), Scope()
    machine.text = source
    with deep():
        try:
            if is_line(text):
                check_line(tree)
            tree = as_class(tree)
            called = take_shape(tree)
            shapes = shapes or called
            run_lines(machine, tree, scope)
            if late:
                _leave_out_whole_classes(machine, tree, scope, late, shapes)
            given = inputs_of_shapes(shapes, source.count("\n") + 1) if shapes else ()
            found, words = _import_source(machine, tree, scope, given, made)
        except SourceException as raised:
            raise as_text_error(raised) from None
        except LimitExceeded as error:
            if late or "class " not in source:
                raise
            return _part_of_source(text, made, error)
        except RecursionError:
            raise LimitExceeded("it is nested too deep", 1, 1, cure="shorter functions") from None
    kind = LAYER_LINES if is_line(text) else SOURCES
    return replace(_reading(machine, tree, scope, shapes, found, words), kind=kind)


def _part_of_source(text: str, made: Callable[[], object], error: LimitExceeded) -> Reading:
    """Returns a part of a source whose whole takes too many steps; raises the error without one."""
    try:
        return read_source(text, made, error.fact)
    except TextError:
        raise error from None


def _reading(
    machine: Interpreter,
    tree: ast.Module,
    scope: Scope,
    shapes: str,
    found: Imported,
    words: str,
) -> Reading:
    """Returns what a source gives, with all that is told of its module."""
    notes = (each for each in found.notes if each != EVALUATION_NOTE)  # the mode is told
    classes = candidates(machine, tree, scope)
    call = module_call(machine, found, tree, scope, words, shapes, classes)
    note = " ".join((message(machine, words, call.line), *notes)).strip()
    failure = reading_failure(machine, found.failure, words) if found.failure else None
    places = line_ops(machine, found)
    lines = _up_to(failure, machine.line_shapes, found)
    return Reading(
        found.term, SOURCES, note, failure, found.exported_module.shapes, lines, call, places
    )


def _leave_out_whole_classes(
    machine: Interpreter, tree: ast.Module, scope: Scope, reason: str, shapes: str
) -> None:
    """Leaves the classes out that no other one uses; raises the reason if there are no others.

    What a source itself makes, calls or gives a shape for is not replaced by a part of it.
    """
    whole = outermost_classes(machine, tree, scope)
    parts = [one for one in module_classes(machine, scope) if one not in whole]
    own = shapes or machine.ran or machine.last_value_module is not None
    own = own or any(isinstance(value, nn.Module) for value in scope.names.values())
    if own or not parts:
        raise LimitExceeded(reason, 1, 1, cure="fewer layers, or smaller sizes")
    machine.classes_without_input.update(one.real for one in whole)
    machine.instead.update(dict.fromkeys([one.name for one in whole], reason))


def new_machine() -> Interpreter:
    """Returns the state of a new interpretation."""
    names = {
        "torch": LIBRARIES["torch"],
        "nn": LIBRARIES["torch.nn"],
        "einops": LIBRARIES["einops"],
    }
    more = {"F": LIBRARIES["torch.nn.functional"], "math": LIBRARIES["math"]}
    machine = Interpreter(EXPRESSIONS, STATEMENTS, {**NAMES, **names, **more}, LIBRARIES)
    machine.box, machine.name_without_import = box, unimported_value
    share(machine)
    return machine


def _import_source(
    machine: Interpreter,
    tree: ast.Module,
    scope: Scope,
    given: tuple[Tensor, ...],
    made: Callable[[], object],
) -> tuple[Imported, str]:
    """Returns the module of a source as a term, and the inputs that are assumed, in words.

    Of several classes it is the first one of which an input is known.
    """
    attempts = ClassAttempts(machine, tree, scope, given)
    while True:
        try:
            model = model_of(machine, tree, scope)
        except (TextError, SourceException) as error:
            return attempts.end(error)
        if attempts.failure is not None and not learns(model):
            return attempts.end(attempts.failure)
        made()
        if (found := attempts.result(model)) is not None:
            return found


class UnfinishedDrawing:
    """A module that is drawn up to a failure, and what the interpretation knew of it then."""

    def __init__(self, machine: Interpreter, found: tuple[Imported, str]) -> None:
        self.found = found
        self.state = {
            name: copy(value) if isinstance(value, dict | list | set) else value
            for name, value in vars(machine).items()
        }

    def restore(self, machine: Interpreter) -> tuple[Imported, str]:
        """Returns the module, after the interpretation knows again what it did."""
        vars(machine).update(self.state)
        return self.found


class ClassAttempts:
    """The classes of a source that are read one after the other, until one is drawn whole.

    Args:
        machine: The interpretation.
        tree: The source.
        scope: The names of the source.
        given: The inputs that it gives.
    """

    def __init__(
        self, machine: Interpreter, tree: ast.Module, scope: Scope, given: tuple[Tensor, ...]
    ) -> None:
        self.machine, self.tree, self.scope, self.given = machine, tree, scope, given
        self.failure: SourceException | TextError | None = None  # of the first class
        self.unfinished: UnfinishedDrawing | None = None
        self.widths: dict[str, list[dict[str, Any]]] = {}  # with which classes were read
        self.usual: dict[str, Any] = {}  # what became of them with the usual ones
        self.begin = process_time()

    def end(self, error: SourceException | TextError) -> tuple[Imported, str]:
        """Returns what is drawn up to a failure; raises the first error without it."""
        if self.unfinished is not None:
            return self.unfinished.restore(self.machine)
        raise self.failure or error from None

    def result(self, model: nn.Module) -> tuple[Imported, str] | None:
        """Returns a module as a term, or None if another class is read in its place."""
        machine = self.machine
        try:
            found = _import_model(machine, model, self.given)
        except (SourceException, TextError) as error:
            return self._after_error(model, error)
        if not found[0].failure:
            return found if found[0].exported_module.shapes else self._without_result(model, found)
        if machine.example:
            _leave_out_example(machine)
            return None
        if self._with_other_widths(model, machine.failure or found[0].failure, found):
            return None
        if (usual := self.usual.get(type(model).__name__)) and isinstance(usual, UnfinishedDrawing):
            found = usual.restore(machine)
        if self.given or not machine.boxes or not self._may_go_on(model):
            return self.unfinished.restore(machine) if self.unfinished is not None else found
        self.unfinished = self.unfinished or UnfinishedDrawing(machine, found)
        return self._leave_out_class(model, machine.failure or TextError(found[0].failure, 1, 1))

    def _without_result(
        self, model: nn.Module, found: tuple[Imported, str]
    ) -> tuple[Imported, str] | None:
        """Returns a module that gives no arrays, or None if another class is read in its place."""
        if self.given or not self._is_fresh_choice(model):
            return found
        self.unfinished = self.unfinished or UnfinishedDrawing(self.machine, found)
        return self._leave_out_class(model, TextError("it gives no array", 1, 1))

    def _after_error(
        self, model: nn.Module, error: SourceException | TextError
    ) -> tuple[Imported, str] | None:
        """Decides whether another class is read after an error; raises it if none is."""
        machine = self.machine
        if machine.example:
            _leave_out_example(machine)
            return None
        if isinstance(error, SourceException) and self._with_other_widths(model, error):
            return None
        usual = self.usual.get(type(model).__name__, error)
        error = error if isinstance(usual, UnfinishedDrawing) else usual
        chosen = machine.maker is not None and machine.maker[0] is model and not self.given
        if chosen or isinstance(error, NoInput):
            error.call = error.call or open_call(machine, model, self.tree, self.scope)
        others = leans(machine, self.scope, error) or self._has_smaller_classes(error)
        if not isinstance(error, NoInput) and not (chosen and others):
            raise error
        return self._leave_out_class(model, error.with_traceback(None))

    def _has_smaller_classes(self, error: SourceException | TextError) -> bool:
        """Returns whether a class is too large to be drawn, and others of the source are left."""
        large = isinstance(error, TextError) and TOO_LARGE.search(error.fact) is not None
        return large and len(module_classes(self.machine, self.scope)) > 1

    def _with_other_widths(
        self, model: nn.Module, error: Any, found: tuple[Imported, str] | None = None
    ) -> bool:
        """Returns whether a class that stops is read once more, with other widths of its ends.

        What becomes of it with the usual ones is kept, for a class that stops with all.
        """
        machine, name = self.machine, type(model).__name__
        own = machine.assumed_settings.get(name, {})
        tried = self.widths.setdefault(name, [own])
        more = (one for one in other_widths(own, str(error)) if {**own, **one} not in tried)
        if not self._is_fresh_choice(model) or self.given or machine.box_fits:
            return False
        if len(tried) > WIDTHS or (change := next(more, None)) is None:
            return False
        self.usual.setdefault(name, UnfinishedDrawing(machine, found) if found else error)
        tried.append({**own, **change})
        machine.other_widths.setdefault(name, {}).update(change)
        machine.assumed_settings.clear()
        machine.failure = None
        return True

    def _leave_out_class(
        self, model: nn.Module, error: SourceException | TextError
    ) -> tuple[Imported, str] | None:
        """Forgets a class that is not drawn whole, with all that was assumed for it."""
        machine = self.machine
        self.failure = self.failure or error
        if type(model) in machine.classes_without_input or not isinstance(model, SourceModule):
            return self.end(error)
        machine.classes_without_input.add(type(model))
        machine.instead.setdefault(type(model).__name__, fact_of(error))
        machine.assumed_settings.clear()
        machine.box_fits.clear()
        machine.failure = None
        return None

    def _may_go_on(self, model: nn.Module) -> bool:
        """Returns whether another class is tried in the place of one that stops behind a box."""
        failure = self.machine.failure or TextError("", 1, 1)
        return (
            self._is_fresh_choice(model)
            and process_time() - self.begin < SECONDS
            and leans(self.machine, self.scope, failure)
        )

    def _is_fresh_choice(self, model: nn.Module) -> bool:
        """Returns whether a module is of a class that was chosen here, and is not left out yet."""
        machine = self.machine
        chosen = machine.maker is not None and machine.maker[0] is model
        fresh = type(model) not in machine.classes_without_input
        return chosen and fresh and isinstance(model, SourceModule)


TOO_LARGE = re.compile(r"too much memory|more than a million numbers")
SECONDS = 3.5  # of computing after which no other class is tried
WIDTHS = 3  # that are tried for a class


def _leave_out_example(machine: Interpreter) -> None:
    """Forgets the example of a class, which stops: the class is made with usual sizes instead."""
    machine.failed_examples.add(machine.example)
    machine.example, machine.failure = "", None
    machine.ran.clear()


def _import_model(
    machine: Interpreter, model: nn.Module, given: tuple[Tensor, ...]
) -> tuple[Imported, str]:
    """Returns a module as a term, and the inputs that are assumed, in words."""
    if given:
        return _import_on_inputs(
            machine, model, *by_name(model, in_format(model, in_range(model, given)))
        ), ""
    for ran, args, named in reversed(machine.ran):
        for x in (*args, *named.values()):
            if isinstance(x, PlainObject):
                see_inside(type(x))
        every = tree_leaves((args, named))
        known = not any(isinstance(x, UnknownValue) for x in every)
        if ran is model and known and any(isinstance(x, Tensor) for x in every):
            return _with_fits(machine, model, *in_long_format(model, (args, named))), ""
    return _on_guesses(machine, model)


def _on_guesses(machine: Interpreter, model: nn.Module) -> tuple[Imported, str]:
    """Returns a module as a term on inputs that are guessed, and these in words."""
    first = _guess_in_a_mode(machine, model)
    try:
        found: Imported | None = _import_guess(machine, model, first)
        assert found is not None
        if not found.failure or not first.words:
            return found, first.words
        failure: SourceException | TextError = machine.failure or TextError(found.failure, 1, 1)
    except SourceException as error:
        found, failure = None, error
    machine.failure = None
    second = in_bounds(first, str(failure)) or other_input(machine, model, first, str(failure))
    if second is not None:
        return _import_guess(machine, model, second), second.words
    if found is None:
        raise failure
    machine.failure = failure
    return found, first.words


def _import_guess(machine: Interpreter, model: nn.Module, guess: Guess) -> Imported:
    given = by_name(model, in_format(model, guess.inputs))
    machine.tried_inputs = model, *given, guess.words
    return _import_on_inputs(machine, model, *given)


def _guess_in_a_mode(machine: Interpreter, model: nn.Module) -> Guess:
    """Returns an input that a module accepts; in evaluation if none in training."""
    try:
        return guess_input(machine, model)
    except NoInput as error:
        if MODE not in machine.text or not in_training(model):
            raise
        model.eval()
        try:
            first = guess_input(machine, model)
        except TextError:
            model.train()
            raise error from None
        machine.evaluation_reason = "no usual input is accepted"
    return first


def _with_fits(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Imported:
    """Returns a module as a term; boxes in it have the widths that the layers behind them take."""
    found = _import_on_inputs(machine, model, inputs, named)
    if found.failure and machine.boxes:
        failure = machine.failure
        if fits_boxes(machine, model, inputs, named):
            return _import_on_inputs(machine, model, inputs, named)
        machine.failure = failure
    return found


def _import_on_inputs(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Imported:
    """Returns the module as a term; raises its error if nothing can be drawn.

    What training alone does may not be understood: then it is read in evaluation.
    """
    training = in_training(model)
    same = not training or MODE not in machine.text  # in both modes
    for part in model.modules():
        part.training = in_training(part)
    try:
        found = _in_its_mode(machine, model, inputs, named)
        refusal = machine.failure
    except TextError as error:
        if isinstance(error, NoInput) or same:
            raise
        found, refusal = None, error
    if not isinstance(refusal, TextError) or isinstance(refusal, NoInput) or same:
        assert found is not None
        return found
    model.eval()
    machine.failure = None
    try:
        other = _in_its_mode(machine, model, inputs, named)
    except (TextError, SourceException):
        other = None
    if other is not None and not other.failure:
        machine.evaluation_reason = refusal.fact
        return other
    model.train()
    machine.failure = refusal
    if found is None:
        raise refusal
    return found


def _in_its_mode(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> Imported:
    """Returns the module as a term, in the mode in which it is."""
    _check_names(model)
    if lazy_parts(model):
        can_run(machine, model, inputs, named)
        settle(model)
    machine.boxes.clear()
    machine.library_models.clear()
    machine.gradient_shapes = 0
    machine.box_results.clear()
    machine.box_inputs.clear()
    machine.root, machine.tracing, machine.line_shapes = model, True, {}
    try:
        with preserve_node_meta():  # the lines that make them
            found = import_folded(machine, model, inputs, named, steps_first(model, inputs))
    except NCDError as error:
        line = _line_of(getattr(error, "node", None))
        wrong = TextError(str(error).rstrip("."), line, 1)
        raise _stopping_error(machine, model, inputs, named) or wrong from None
    except Exception as error:  # whatever torch raises for what nobody has thought of
        wrong = TextError(_draw_error_text(error), 1, 1, cure="smaller sizes")
        raise _stopping_error(machine, model, inputs, named) or wrong from None
    finally:
        machine.tracing = False
    if found.failure:
        nodes = {node.name: node for node in found.exported_module.program.graph.nodes}
        at = TextError(found.failure, _line_of(nodes.get(found.failure_text)), 1)
        machine.failure = _stopping_error(machine, model, inputs, named) or at
    return found


def _stopping_error(
    machine: Interpreter, model: nn.Module, inputs: tuple[Any, ...], named: dict[str, Any]
) -> SourceException | TextError | None:
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
                fact = f"{short_repr(name)} is no name of a part of {path or 'a module'}"
                raise TextError(fact, 1, 1, cure="letters and digits")


def _draw_error_text(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"it cannot be drawn: {printable_line(lines[0], 200) if lines else type(error).__name__}"
