"""The message about a source that could be read: what is assumed, left out, and in which mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Any

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from ncd.notation.term_reader import TextError
from ncd.read.python_source.folding import folded_modules
from ncd.read.python_source.interpreter import (
    Interpreter,
    LayerStops,
    SourceException,
    as_text_error,
)
from ncd.read.python_source.other_files import assumed_boxes
from ncd.read.python_source.usual_sizes import call_text
from ncd.words import list_words

# --- The message about a source that could be read: what is assumed, and what is left out

SHAPES = re.compile(r"[\dx#, ]+")  # of inputs, such as 1x3x64x64
OTHER_INPUT_CURE = "another one in the last line"


def message(machine: Interpreter, inputs: str, call: str) -> str:
    """Returns the message for a visitor whose source could be read.

    Args:
        machine: The interpretation.
        inputs: The inputs that are assumed, in words; empty if the source gives them.
        call: A line that says what is assumed about both; empty if none can be written.
    """
    note = ""
    if inputs and not call:
        note = f"No input is given, so {inputs} is taken. A last line with a shape changes it."
    if machine.example:
        note += f" The example in the docstring of {machine.example} is run."
    if machine.evaluation_reason:
        note += f" It is read in evaluation, as in training {machine.evaluation_reason}."
    for name, fact in machine.instead.items():
        note += f" {name} is not drawn: {fact}."
    written_there = {machine.maker[1], *machine.maker[2]} if call and machine.maker else set()
    for name, given in machine.assumed_settings.items():
        if name in written_there:
            continue
        note += f" {call_text(name, given)} is taken, as not all sizes are given."
    for name, value in machine.assumed_values.items():
        note += f" {name} is taken as {value}, as it is not known."
    for name, count in machine.extra_parameter_counts.items():
        lengths = f"{count:,} length{'s' * (count > 1)}"
        more = f", without the {lengths} that torch counts" if count else ""
        note += f" {name} is left out: its layers are drawn with plain weights{more}."
    for name in machine.own_gradients:
        note += f" {name} is drawn by its forward: the gradient that it has of its own is left out."
    note = " ".join(filter(None, (note, assumed_boxes(machine), *_box_sentences(machine)))).strip()
    if not machine.left_out:
        return note
    lines = ", ".join(map(str, machine.left_out[:5]))
    more = " and more" * (len(machine.left_out) > 5)
    if len(machine.left_out) == 1:
        return f"{note} Line {lines} stands apart from the module, and is left out.".strip()
    return f"{note} Lines {lines}{more} stand apart from the module, and are left out.".strip()


def _box_sentences(machine: Interpreter) -> Iterator[str]:
    """Yields sentences about the models of a library, and about modules that are folded."""
    names, count = list_words([*machine.library_models]), len(machine.library_models)
    if machine.gradient_shapes:
        yield "torch.autograd.grad is a box with the shapes of its inputs. Values end there."
    if count:
        kind = "is a published model" if count == 1 else "are published models"
        results = "a box with its results" if count == 1 else "boxes with their results"
        yield f"{names} {kind}: {results}. Values end there."
    yield folded_modules(machine)


def unfit(inputs: str, taken: Mapping[str, Mapping[str, Any]], sure: bool = False) -> str:
    """Returns the words that what is assumed does not fit, or may not; empty if nothing is.

    Args:
        inputs: The inputs that are assumed, in words; empty if the source gives them.
        taken: The values that are assumed, by the names of what has them.
        sure: Whether it is known that they do not fit.

    >>> unfit("1x8#50", {"Net": {"dim": 64}}), unfit("1x8", {}, sure=True)
    ('the assumed Net(dim=64) and input 1 × 8 may not fit', 'the assumed input 1 × 8 does not fit')
    """
    if SHAPES.fullmatch(inputs):
        inputs = re.sub(r"#\d+", "", inputs).replace("x", " × ")
    parts = [call_text(name, dict(given)) for name, given in taken.items()]
    parts += [f"input {inputs}"] * bool(inputs)
    does = ("do" if len(parts) > 1 else "does") if sure else "may"
    return f"the assumed {' and '.join(parts)} {does} not fit" if parts else ""


def reading_failure(machine: Interpreter, message: str, inputs: str) -> TextError:
    """Returns the error with which the drawn module stops; what is assumed may be its cause.

    Args:
        machine: The interpretation, which has the error.
        message: Its words, if the interpretation has none.
        inputs: The inputs that are assumed, in words.
    """
    failure = machine.failure or TextError(message, 1, 1)
    error = as_text_error(failure) if isinstance(failure, SourceException) else failure
    of_torch = isinstance(failure, SourceException) and failure.error is not error
    words = unfit(inputs, machine.assumed_settings)
    if not words or not (of_torch or isinstance(error, LayerStops)):
        return error
    cure = f"{OTHER_INPUT_CURE}, or {error.cure}" if error.cure else OTHER_INPUT_CURE
    return TextError(f"{words}: {error.fact}", error.line, error.column, error.end, cure)


# --- The sentence about the mode of a module, ``train()`` or ``eval()``

CALLS = ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout")


def in_training(model: nn.Module) -> bool:
    """Returns the mode of a module, whatever a source has set in its place."""
    return model.__dict__.get("training") is not False


def mode_words(model: nn.Module, tree: ast.Module) -> str:
    """Returns a sentence about what the mode of a module means for it; empty if nothing.

    >>> mode_words(nn.Dropout(0.1).eval(), ast.parse("")), mode_words(nn.ReLU(), ast.parse(""))
    ('In evaluation dropout changes nothing.', '')
    """
    words = [*_norm(model), *_dropout_words(model, tree), *_training_flag_words(model, tree)]
    mode = "training" if in_training(model) else "evaluation"
    return f"In {mode} {list_words(words)}." if words else ""


def _norm(model: nn.Module) -> Iterator[str]:
    norms = [part for part in model.modules() if isinstance(part, _BatchNorm)]
    if any(part.track_running_stats for part in norms):
        yield (
            "batch norm takes the mean and the variance of this batch"
            if in_training(model)
            else "batch norm takes the mean and the variance that it has kept (0 and 1 at first)"
        )


def _dropout_words(model: nn.Module, tree: ast.Module) -> Iterator[str]:
    shares = [part.p for part in model.modules() if isinstance(part, _DropoutNd)]
    shares += [
        part.dropout
        for part in model.modules()
        if isinstance(part, nn.MultiheadAttention)
        or (isinstance(part, nn.RNNBase) and part.num_layers > 1)
    ]
    found = sorted({share for share in shares if share > 0})
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    if not found and not any(isinstance(f, ast.Attribute) and f.attr in CALLS for f in calls):
        return
    share = f"{found[0]:.0%} of the numbers" if len(found) == 1 else "some of the numbers"
    yield f"dropout sets {share} to 0" if in_training(model) else "dropout changes nothing"


def _training_flag_words(model: nn.Module, tree: ast.Module) -> Iterator[str]:
    """Yields what becomes of lines that ask for the mode themselves."""
    names = (node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    if "training" in names:
        yield f"self.training is {in_training(model)}"
