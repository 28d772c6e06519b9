"""Cures that make a state or a mask of another shape, where the text makes it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn
from torch.nn.modules.rnn import RNNCellBase

from ncd.findings.cures.candidate import (
    SHAPE_MAKERS,
    Candidate,
    function_name,
    insertion_edit,
    maker_calls,
    method_edits,
    operands,
    replacement_edit,
)
from ncd.findings.failures.failure import Failure
from ncd.findings.failures.layer_reasons import state_shape
from ncd.findings.failures.masks import wrong_mask
from ncd.findings.reading.finding import Edit

SQUARE = ("eye", "generate_square_subsequent_mask")  # made of one number
COST = 0.5  # of another shape; a number alone costs more, as it may be meant otherwise
MOVED_COST = 0.3  # of a state that has the right sizes in another order
Shape = tuple[int, ...]

# --- The first states of a recurrent layer, which a text makes together: h0 and c0


def state_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields all first states of a recurrent layer with the shape that it takes."""
    layer = failure.layer
    if not isinstance(layer, nn.RNNBase | RNNCellBase) or len(failure.arrays) < 2:
        return
    nodes = [*operands(failure)][-len(failure.arrays[1:]) :]
    wanted, given = state_shape(layer, failure.values()), failure.values(1)
    if getattr(layer, "proj_size", 0) or failure.values()[-1] != layer.input_size:
        return
    for move, cost in _state_moves(given, wanted):
        parts = [method_edits(failure.trace.text, node, move) for node in nodes]
        yield Candidate(tuple(edit for part in parts for edit in part), cost, "state")
    first = next((ast.unparse(one) for one in operands(failure) if one not in nodes), "")
    axis = 0 if isinstance(layer, RNNCellBase) or layer.batch_first else 1
    names = {wanted[-2]: f"{first}.size({axis})"} if first.isidentifier() else {}
    made = [_size_edits(failure, node, given, wanted, names) for node in nodes]
    if made and all(made):
        every = dict.fromkeys(edit for part in made for edit in part)
        yield Candidate(tuple(every), COST, "state")


def _state_moves(given: Shape, wanted: Shape) -> Iterator[tuple[str, float]]:
    """Yields what is put behind a state so that it gets the shape that is taken.

    >>> [*_state_moves((8, 2, 20), (2, 8, 20))], [*_state_moves((8, 20), (2, 8, 20))]
    ([('.transpose(0, 1).contiguous()', 0.3)], [('.repeat(2, 1, 1)', 0.3)])
    """
    if len(given) == len(wanted) == 3 and (given[1], given[0], given[2]) == wanted:
        yield ".transpose(0, 1).contiguous()", MOVED_COST  # as cuDNN wants it
    if given == wanted[1:]:
        yield ".unsqueeze(0)" if wanted[0] == 1 else f".repeat({wanted[0]}, 1, 1)", MOVED_COST
    if given[:1] == (1,) and given[1:] == wanted:
        yield ".squeeze(0)", MOVED_COST
    if len(given) == 3 and given[:1] == (1,) and given[1:] == wanted[1:]:
        yield f".repeat({wanted[0]}, 1, 1)", COST + 0.1


# --- The mask of an attention


def mask_shape_edits(failure: Failure) -> Iterator[Candidate]:
    """Yields the mask of an attention that is made with the sizes of its scores."""
    wrong = wrong_mask(failure)
    if wrong is None or wrong.is_whole:
        return
    wanted = wrong.padding if wrong.is_padding else wrong.shared_shape
    if len(wrong.shape) != len(wanted):
        return
    kept = {wrong.shape, wrong.shape[::-1]}
    for node in operands(failure):
        edits = _size_edits(failure, node, wrong.shape, wanted, {})
        if edits and _names_mask(failure, node):
            turned = 0.2 * (wanted in kept)  # a transposition would do, but hardly is meant
            yield Candidate(edits, COST + turned, "mask")


def _names_mask(failure: Failure, node: ast.expr) -> bool:
    """Returns whether an operand is given as a mask: by its name, or that of its argument."""
    words = [w.arg or "" for w in getattr(failure.node, "keywords", ()) if w.value is node]
    return "mask" in "".join([*words, ast.unparse(node)]).lower()


# --- Another shape for the call that makes an array


def _size_edits(
    failure: Failure, node: ast.expr, given: Shape, wanted: Shape, names: dict[int, str]
) -> tuple[Edit, ...]:
    """Returns the edits after which the text makes an array of another shape; none if unknown.

    Args:
        failure: The failure.
        node: The expression of the array, mostly its name.
        given: The shape that it has.
        wanted: The shape that it is to have.
        names: Expressions of sizes that are to be written so within a function.
    """
    for call in maker_calls(failure, node):
        sizes = _size_nodes(call)
        name = function_name(call)
        if name in SQUARE and len({*wanted}) == 1 == len({*given}):
            pairs = [(one, given[0], wanted[0]) for one in sizes[:2]]
        elif name in SHAPE_MAKERS and len(sizes) == len(given) == len(wanted):
            pairs = list(zip(sizes, given, wanted, strict=True))
        elif name in SHAPE_MAKERS and given == (*wanted[:-2], wanted[-1]):  # without a batch
            new, last = names.get(wanted[-2], str(wanted[-2])), sizes[-1]
            text = failure.trace.text
            return (insertion_edit(text, last.lineno, last.col_offset, f"{new}, "),)
        else:
            continue
        names = {old: ast.unparse(one) for one, old, _ in pairs} | names  # for exchanged sizes
        edits = [
            replacement_edit(failure.trace.text, one, _size_words(one, old, new, names))
            for one, old, new in pairs
            if old != new
        ]
        if edits and all(edits):
            return tuple(one for one in edits if one)
    return ()


def _size_nodes(call: ast.Call) -> list[ast.expr]:
    """Returns the sizes that a call makes an array of: ``(2, 3)`` or ``2, 3``."""
    lists = [one for one in call.args if isinstance(one, ast.Tuple | ast.List)]
    return lists[0].elts if lists else call.args


def _size_words(node: ast.expr, old: int, new: int, names: dict[int, str]) -> str:
    """Returns a size as the text writes it: a multiple of its name, a size of the input, a number.

    >>> node = ast.parse("self.layers").body[0].value
    >>> _size_words(node, 2, 4, {}), _size_words(node, 3, 8, {8: "x.size(0)"})
    ('self.layers * 2', 'x.size(0)')
    """
    if isinstance(node, ast.Constant):
        return str(new)
    if new in names:
        return names[new]
    named = isinstance(node, ast.Name | ast.Attribute) and old > 0 and new % old == 0
    return f"{ast.unparse(node)} * {new // old}" if named else str(new)
