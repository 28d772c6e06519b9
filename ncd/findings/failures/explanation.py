"""A failure in words: what came together, where its sizes come from, and the rule."""

from __future__ import annotations

import ast
import re

import torch
from torch import Tensor, nn

from ncd.errors import plain_message, printable_line
from ncd.findings.failures.call_reasons import axis_reason, call_reason
from ncd.findings.failures.failure import Failure, equation, equation_words, shape_words, size_words
from ncd.findings.failures.layer_reasons import layer_reason, subject
from ncd.findings.reading.device_check import OtherDevice
from ncd.findings.reading.format_check import WrongFormat
from ncd.words import list_words

NO_LAYER = "is not a Module subclass"  # torch's words for what stands in the place of a layer
WORDS = 160  # letters of a message of the source's own


def explanation(failure: Failure) -> str:
    """Returns what is wrong and why, without torch's words for its arrays without numbers."""
    return (
        axis_reason(failure)
        or _device_reason(failure)
        or _format_reason(failure)
        or layer_reason(failure)
        or call_reason(failure)
        or _construction_reason(failure)
        or _kinds(failure)
        or _python_error_reason(failure)
        or _general(failure)
    )


def _format_reason(failure: Failure) -> str:
    """Returns which numbers a call gets that it does not take, such as whole ones."""
    error, call = failure.trace.error, failure.call
    if not isinstance(error, WrongFormat) or call is None:
        return ""
    given, taken = (str(one or "").removeprefix("torch.") for one in (error.given, error.taken))
    if error.taken is torch.int64:
        at = next(i for i, one in enumerate(call.takes) if one.dtype is error.given)
        shape = shape_words(failure.trace.recorder.values(call.shapes[at]))
        return f"{_head(failure)} takes whole numbers of int64, but gets {shape} of {given}."
    shape = shape_words(failure.trace.recorder.values(call.shapes[0]))
    if error.taken is None or not (error.given.is_floating_point or error.given.is_complex):
        holds = "True and False" if error.given is torch.bool else "whole ones"
        return f"{_head(failure)} takes real numbers, but its array ({shape}) holds {holds}."
    beside = f"weights of {taken} (line {error.line})" if error.line else f"one of {taken}"
    return (
        f"{_head(failure)} gets an array ({shape}) of {given} beside {beside}; "
        "one format is needed."
    )


def _device_reason(failure: Failure) -> str:
    """Returns which array of a call lies on another device, and where it is put there."""
    error, call = failure.trace.error, failure.call
    if not isinstance(error, OtherDevice) or call is None:
        return ""
    parts = []
    for i, place in zip(error.arrays, error.places, strict=True):
        weights = isinstance(call.takes[i], nn.Parameter)
        shape = shape_words(failure.trace.recorder.values(call.shapes[i]))
        noun = f"weights ({shape})" if weights else f"an array ({shape})"
        line = f" (line {place.line})" if place.line else ""
        device = "the CPU" if place.device == "cpu" else place.device
        parts.append(f"{noun} on {device}{line}")
    placement = failure.trace.machine.placement
    where = ", where there is a GPU" if placement is not None and placement.has_gpu else ""
    return f"{_head(failure)} gets {list_words(parts)}{where}; all have to lie on one device."


def _construction_reason(failure: Failure) -> str:
    """Returns why a layer cannot be made."""
    if failure.constructor_call is None or failure.layer is not None:
        return ""
    found = equation(failure)
    name = f"{failure.path} (`{failure.source}`)" if failure.path else f"`{failure.source}`"
    if found is not None and found[0] == "divisible":
        table = failure.trace.table
        parts, groups = (size_words(failure, one) for one in found[1:])
        noun = next((table.places[s].name for s in table.numbers(found[2])), "")
        return (
            f"{name} cannot be made: {parts} is not divisible by {groups}{_divisor_phrase(noun)}."
        )
    said = _no_layer_words(failure)
    words = [said] if said else [_torch_message(failure), equation_words(failure)]
    return f"{name} cannot be made: {'; '.join(filter(None, words))}."


def _no_layer_words(failure: Failure) -> str:
    """Returns what stands in the place of a layer: a function, or a class that is not called."""
    part, found, _ = failure.message.partition(NO_LAYER)
    part = part.strip().rpartition(".")[2]
    if not found or not part:
        return ""
    if isinstance(getattr(nn, part, None), type):
        return f"{part} is a class; {part}() makes the layer"
    return f"{part} is no layer, and its parts are layers"


def _divisor_phrase(noun: str) -> str:
    return ", its groups" if "group" in noun else ", its heads" if "head" in noun else ""


def _kinds(failure: Failure) -> str:
    """Returns whether real and whole numbers, or several formats, come together."""
    kinds = {str(x.dtype).removeprefix("torch.") for x in failure.arrays if isinstance(x, Tensor)}
    if failure.call is not None:
        kinds |= {str(x.dtype).removeprefix("torch.") for x in failure.call.takes}
    if len(kinds) < 2 or ("dtype" not in failure.message and "type" not in failure.message.lower()):
        return ""
    return f"{_head(failure)}: {' and '.join(sorted(kinds))} come together; one format is needed."


def _python_error_reason(failure: Failure) -> str:
    """Returns an error of Python or of the source itself, with the sizes around it."""
    error = failure.trace.error
    if failure.call is not None:
        return ""
    words = equation_words(failure)
    if isinstance(error, AssertionError):
        return f"`{failure.source}` does not hold" + (f": {words}." if words else ".")
    if isinstance(error, ValueError) and isinstance(failure.node, ast.Tuple | ast.List):
        return f"`{failure.source}`: {failure.message}, as the array has as many axes."
    if (
        isinstance(error, ValueError | RuntimeError | TypeError | IndexError)
        and failure.layer is None
    ):
        return f"`{failure.source}`: {_torch_message(failure)}" + (f"; {words}." if words else ".")
    return ""


def _torch_message(failure: Failure) -> str:
    said = plain_message(failure.message)
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    words = (
        printable_line(lines[0], WORDS).rstrip(".!")
        if lines
        else type(failure.trace.error).__name__
    )
    return _numbers(failure, words)


def _numbers(failure: Failure, words: str) -> str:
    """Returns a message with the values of the symbols in it."""
    values = {str(symbol): str(value) for symbol, value in failure.trace.table.values.items()}
    words = re.sub(r"\w+", lambda word: values.get(word[0], word[0]), words)
    return words.replace("torch.Size(", "(").replace("FakeTensor", "array")


def _head(failure: Failure) -> str:
    return subject(failure) if failure.layer is not None else f"`{failure.source}`"


def _general(failure: Failure) -> str:
    """Returns the shapes of what came together, and the test that came out wrong."""
    arrays = failure.arrays or (failure.call.takes if failure.call else ())
    shapes = [failure.trace.recorder.values(failure.trace.recorder.shape(x)) for x in arrays[:3]]
    given = list_words(map(shape_words, shapes))
    words = equation_words(failure)
    fact = f"gets {given}" if failure.layer is not None else f": {given} do not fit"
    if len(shapes) == 1 and failure.layer is None:
        fact = f": {given} does not fit"
    if not shapes:
        fact = ": it fails"
    name = _head(failure)
    join = " " if failure.layer is not None else ""
    reason = words or _torch_message(failure)
    return f"{name}{join}{fact}: {reason}."
